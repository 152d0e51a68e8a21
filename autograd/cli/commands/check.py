"""`handgrad check FILE.py[:function]`: the gradients of a file's functions, or with `--all` of every op and layer."""

from __future__ import annotations

import argparse
import inspect
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from autograd.errors import counted, printable
from autograd.saving.files import check_folder, write_whole

from .. import CommandError, Subparsers, whole
from ..target import failed, functions_of, listed, run_script, split

if TYPE_CHECKING:
    from autograd.op import Op

LONGEST_REASON = 60  # characters of what a function raised, in the table; below it there is room for all


def register(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "check", help="compare the gradients of your functions with finite differences",
        description="Check the gradients of a file's functions: each at the defaults of its parameters, def f(x=2.0), "
                    "or at its check_inputs, f.check_inputs = (2.0,). With --all: every op and every layer.",
    )  # fmt: skip
    parser.add_argument("what", nargs="?", metavar="FILE.py[:FUNCTION]", help="a file, and perhaps one function in it")
    parser.add_argument("--all", action="store_true", help="every op of the table and every layer of nn")
    parser.add_argument("--order", type=int, choices=(1, 2), default=1, help="2: the gradient of the gradient too")
    parser.add_argument("--seed", type=whole(0), default=0, help="of the random weights on the results (default: 0)")
    parser.add_argument("--step", type=float, help="the step size of differences, in place of one fitted to each entry")
    parser.add_argument("--mode", choices=("reverse", "forward"), default="reverse", help="check backward, or jvp")
    parser.add_argument("--rtol", type=float, help="accept a gap of atol + rtol times the slope")
    parser.add_argument("--atol", type=float, help="the same, absolute")
    parser.add_argument("--allow", action="append", choices=("kink",), default=[], help="accept entries at a kink")
    parser.add_argument("--points", type=whole(1), default=1, metavar="N", help="2: also at a random point")
    parser.add_argument("--entries", type=_entries, metavar="all|N", help="look at all entries, or at N, one by one")
    parser.add_argument("--digits", choices=("always",), help="settle every entry in 90 digits")
    parser.add_argument("--json", metavar="PATH", help="write the outcome as JSON")
    parser.add_argument("--junit", metavar="PATH", help="write the outcome as JUnit XML, which CI systems read")
    parser.set_defaults(run=run)


def _entries(text: str) -> Any:
    return text if text == "all" else whole(0)(text)


Case: TypeAlias = tuple[Callable[..., Any], Sequence[Any]]  # a function, and inputs to check it at


@dataclass
class Task:
    """One line of the table: something to check, perhaps at several inputs. They are made when it is its turn."""

    name: str
    cases: Callable[[], Iterable[Case]]


@dataclass
class Line:
    """What came of a task. `trouble` is all there is to say of one that did not pass."""

    name: str
    verdict: str
    trouble: str = ""
    entries: int = 0
    gap: float = 0.0
    seconds: float = 0.0
    ok: bool = False
    reports: Sequence[Any] = ()


def run(arguments: argparse.Namespace) -> int:
    if arguments.all == bool(arguments.what):
        both = ", not both" if arguments.all else ""
        raise CommandError(f"give a file (FILE.py or FILE.py:FUNCTION), or --all{both}")
    unchecked: dict[str, str] = {}
    if arguments.all:
        tasks = [*tasks_of_ops(), *tasks_of_layers()]
    else:
        tasks, unchecked = tasks_of_file(arguments.what)
    options = {name: getattr(arguments, name) for name in
               ("order", "seed", "step", "mode", "rtol", "atol", "points", "entries", "digits")}  # fmt: skip
    try:
        lines = [done(task, {**options, "allow": tuple(arguments.allow)}) for task in _with_progress(tasks)]
    except ValueError as error:
        raise CommandError(str(error)) from None
    for path, write in ((arguments.json, as_json), (arguments.junit, as_junit)):
        if path:
            check_folder(Path(path))
            write_whole(Path(path), write(lines).encode())
    print(printable(table(lines)))
    for name, reason in unchecked.items():
        print(printable(f"not checked: {name} ({reason})"))
    for line in lines:
        if line.trouble:
            print(printable(f"\n{line.trouble}"))
    return int(not all(line.ok for line in lines))


def _with_progress(tasks: list[Task]) -> Any:
    if not sys.stderr.isatty():
        return tasks
    from tqdm import tqdm

    return tqdm(tasks, desc="checking", unit="function", leave=False)


def done(task: Task, options: dict[str, Any]) -> Line:
    """Check one task; its line has the worst of its verdicts. What it raises is an outcome too."""
    from autograd.check import check_grads
    from autograd.check.options import VERDICTS, Options

    Options(**options)  # an option that is refused is no outcome of a check

    begin = time.perf_counter()
    try:
        reports = [check_grads(f, *inputs, **options) for f, inputs in task.cases()]
    except (Exception, SystemExit) as error:
        return Line(task.name, f"raised {type(error).__name__}: {error}", trouble=str(failed(task.name, error)))
    worst = max(reports, key=lambda report: VERDICTS.index(report.verdict))
    return Line(
        task.name, worst.verdict, "" if worst.ok else str(worst), sum(report.count for report in reports),
        max(report.worst for report in reports), time.perf_counter() - begin, all(report.ok for report in reports),
        reports,
    )  # fmt: skip


def shortened(text: str) -> str:
    """One line of bounded length."""
    line = text.partition("\n")[0]
    return line if len(line) <= LONGEST_REASON else f"{line[: LONGEST_REASON - 1]}…"


def table(lines: list[Line]) -> str:
    """The outcome in columns, and a sentence below."""
    width = max((len(line.name) for line in lines), default=8)
    rows = [f"{'':<{width}}  {'verdict':<16}  {'entries':>8}  {'gap':>8}  {'time':>8}"]
    for line in lines:
        if line.verdict.startswith("raised"):
            rows.append(f"{line.name:<{width}}  {shortened(line.verdict)}")
            continue
        gap = f"{line.gap:.0e}" if line.verdict == "pass" else ""
        rows.append(
            f"{line.name:<{width}}  {line.verdict:<16}  {line.entries:>8,}  {gap:>8}  {line.seconds * 1e3:>5.0f} ms"
        )
    bad = sum(not line.ok for line in lines)
    entries = counted(sum(line.entries for line in lines), "entry", "entries")
    rows.append(f"\n{len(lines)} checked, {entries}: {f'{bad} did not pass' if bad else 'all pass'}.")
    return "\n".join(rows)


def as_json(lines: list[Line]) -> str:
    """The outcome of every check as JSON."""
    import json

    every = [
        {"name": line.name, "verdict": line.verdict, "ok": line.ok, "seconds": round(line.seconds, 6),
         "trouble": line.trouble, "reports": [report.as_dict() for report in line.reports]} for line in lines
    ]  # fmt: skip
    return json.dumps({"ok": all(line.ok for line in lines), "checks": every}, indent=2) + "\n"


def as_junit(lines: list[Line]) -> str:
    """The same as JUnit XML: a test case for each function."""
    from xml.sax.saxutils import quoteattr

    bad = sum(not line.ok for line in lines)
    rows = ['<?xml version="1.0" encoding="utf-8"?>']
    rows.append(f'<testsuite name="handgrad check" tests="{len(lines)}" failures="{bad}">')
    for line in lines:
        case = f'  <testcase classname="handgrad" name={quoteattr(line.name)} time="{line.seconds:.6f}"'
        said = f"<failure message={quoteattr(shortened(line.verdict))}>{_escaped(line.trouble)}</failure>"
        rows.append(f"{case}/>" if line.ok else f"{case}>\n    {said}\n  </testcase>")
    return "\n".join([*rows, "</testsuite>"]) + "\n"


def _escaped(text: str) -> str:
    from xml.sax.saxutils import escape

    return escape("".join(c for c in text if c >= " " or c in "\n\t"))


# --- functions of a file ------------------------------------------------------------------------------------


def tasks_of_file(what: str) -> tuple[list[Task], dict[str, str]]:
    """A task for the function that is named, or for every function of the file that says where; and why the others
    have none.
    """
    path, name = split(what)
    made = run_script(path)
    functions = functions_of(made)
    if name and not callable(made.get(name)):
        raise CommandError(f"{path.name} has no function {name!r}; it has {listed(functions) if functions else 'none'}")
    if name:
        functions = {name: made[name]}
    if not functions:
        raise CommandError(
            f"{path.name} has no function to check. Write one whose parameters have defaults, such as def f(x=2.0)"
        )
    unchecked = {key: reason for key, f in functions.items() if (reason := why_unchecked(f)) is not None}
    tasks = [Task(key, partial(_as_it_says, f)) for key, f in functions.items() if key not in unchecked]
    if not tasks:
        reasons = ", ".join(f"{key} ({reason})" for key, reason in unchecked.items())
        raise CommandError(
            f"no function of {path.name} says where to check it: {reasons}. Give all its parameters defaults, "
            f"def f(x=2.0), or write {name or 'f'}.check_inputs = (...) with one input for each, below it"
        )
    return tasks, unchecked


def _as_it_says(f: Callable[..., Any]) -> list[Case]:
    from autograd.check.subjects.inputs import inputs_of

    return [(f, inputs_of(f))]


def why_unchecked(f: Callable[..., Any]) -> str | None:
    """Why a function cannot be checked, where it does not say at which inputs."""
    from autograd.check.subjects.inputs import NoInputs, inputs_of

    try:
        inputs_of(f)
    except NoInputs as unsaid:
        return str(unsaid)
    except Exception:  # a check_inputs() of the user's that fails does so again when the function is checked
        return None
    return None


# --- every op and every layer -------------------------------------------------------------------------------


def tasks_of_ops() -> list[Task]:
    """A task for every op through which a gradient flows, on all its samples."""
    from autograd.op import OPS

    return [Task(op.name, partial(_on_samples, op)) for op in OPS.values() if op.differentiable and op.samples]


def _on_samples(op: Op) -> Iterator[Case]:
    for sample in op.samples:
        f, inputs = op.on(sample)
        f.__name__ = op.name
        yield f, inputs


def tasks_of_layers() -> list[Task]:
    """A task for every layer that nn exports, all its parameters checked together with its input."""
    import nn

    exported = [getattr(nn, name) for name in nn.__all__]
    holders = (nn.Module, nn.ModuleDict, nn.ModuleList)  # which compute nothing themselves
    layers = [x for x in exported if inspect.isclass(x) and issubclass(x, nn.Module) and x not in holders]
    recipes = layer_recipes()
    unknown = [layer.__name__ for layer in layers if layer.__name__ not in recipes]
    if unknown:
        raise CommandError(f"no recipe says how to make {', '.join(unknown)}: add one in cli/commands/check.py")
    return [Task(layer.__name__, partial(_on_its_input, *recipes[layer.__name__])) for layer in layers]


def layer_recipes() -> dict[str, tuple[Callable[[], Any], Any]]:
    """For each layer: how to make a small one, and its inputs."""
    import numpy as np

    import nn

    rng = np.random.default_rng(0)
    rows, ids = rng.normal(size=(3, 4)), np.array([[1, 0, 3], [2, 2, 0]])
    signals, images = rng.normal(size=(2, 4, 6)), rng.normal(size=(2, 4, 4, 4))
    chances = (rng.uniform(0.1, 0.9, (3, 4)), rng.uniform(0.1, 0.9, (3, 4)))
    plain = ("ELU", "Flatten", "GELU", "Hardtanh", "Identity", "LeakyReLU", "LogSigmoid", "LogSoftmax", "ReLU", "SiLU",
             "Sigmoid", "Softmax", "Softplus", "Tanh", "RotaryPositions")  # fmt: skip
    losses = ("BCELoss", "BCEWithLogitsLoss", "HuberLoss", "KLDivLoss", "L1Loss", "MSELoss", "SmoothL1Loss")
    recurrent = ("GRU", "GRUCell", "LSTM", "LSTMCell", "RNN", "RNNCell")
    return {
        **{name: (getattr(nn, name), (rows,)) for name in plain},
        **{name: (getattr(nn, name), chances) for name in losses},
        **{name: (getattr(nn, name), (rows, np.array([1, 0, 3]))) for name in ("CrossEntropyLoss", "NLLLoss")},
        **{name: (partial(getattr(nn, name), 4, 3, rng=0), (rows,)) for name in recurrent},
        **{f"{name}{n}d": (partial(getattr(nn, f"{name}{n}d"), size), (x,)) for n, x in ((1, signals), (2, images))
           for name, size in (("AdaptiveAvgPool", 2), ("AvgPool", 2), ("MaxPool", 2), ("BatchNorm", 4))},
        **{f"{name}{n}d": (partial(getattr(nn, f"{name}{n}d"), 4, 2, 3, rng=0), (x,))
           for n, x in ((1, signals), (2, images)) for name in ("Conv", "ConvTranspose")},
        "Dropout": (lambda: nn.Dropout(0.0), (rows,)),
        "Embedding": (lambda: nn.Embedding(4, 3, rng=0), (ids,)),
        "FeedForward": (lambda: nn.FeedForward(4, 5, activation="swiglu", rng=0), (rows,)),
        "GPT": (lambda: nn.GPT(5, 4, 4, 2, 1, rng=0), (ids,)),
        "GroupNorm": (lambda: nn.GroupNorm(2, 4), (signals,)),
        "Layer": (lambda: nn.Layer(4, 3, nonlin=False, rng=0), (list(rows[0]),)),
        "LayerNorm": (lambda: nn.LayerNorm(4), (rows,)),
        "LearnedPositions": (lambda: nn.LearnedPositions(5, 4, rng=0), (rows,)),
        "Linear": (lambda: nn.Linear(4, 2, rng=0), (rows,)),
        "MLP": (lambda: nn.MLP(4, [5, 1], rng=0), (list(rows[0]),)),
        "MultiHeadAttention": (lambda: nn.MultiHeadAttention(4, 2, causal=True, rng=0), (rows,)),
        "Neuron": (lambda: nn.Neuron(4, nonlin=False, rng=0), (list(rows[0]),)),
        "RMSNorm": (lambda: nn.RMSNorm(4), (rows,)),
        "Sequential": (lambda: nn.Sequential(nn.Linear(4, 3, rng=0), nn.Tanh(), nn.Linear(3, 2, rng=1)), (rows,)),
        "SinusoidalPositions": (lambda: nn.SinusoidalPositions(4), (rows,)),
        "TransformerBlock": (lambda: nn.TransformerBlock(4, 2, activation="gelu", rng=0), (rows,)),
    }


def _on_its_input(make: Callable[[], Any], inputs: tuple[Any, ...]) -> list[Case]:
    layer = make()

    def forward(inputs: Any, parameters: Any) -> Any:  # the layer reaches its parameters on its own
        return layer(*inputs)

    forward.__name__ = type(layer).__name__
    return [(forward, (inputs, dict(layer.named_parameters())))]
