"""`handgrad draw FILE.py:loss -o graph.svg`: the computation graph of a file's result, or of a worked example."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autograd.cli import CommandError, Subparsers
from autograd.cli.script import failed, run_script
from autograd.errors import printable

if TYPE_CHECKING:
    from autograd.drawing.options import UnknownChoice
    from autograd.value import Value

USUAL_NAMES = ("loss", "L", "root", "out", "output", "y")  # looked for, in this order, when no name is given
FOLD_NOTHING = "none"  # what --collapse says for Python's False


def register(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "draw", help="draw a computation graph to SVG, PNG, PDF, HTML, DOT or Mermaid",
        description="Run a Python file of yours and draw a Value it made, or draw a worked example. "
                    f"Without NAME the Value called {', '.join(USUAL_NAMES[:-1])} or {USUAL_NAMES[-1]} is drawn (the "
                    "first there is), else the only result that no other was made from.")  # fmt: skip
    parser.add_argument("what", metavar="FILE.py[:NAME] | EXAMPLE",
                        help="a file, with the name of a Value or of a function that returns one (its parameters have "
                             "defaults to start from); or example3, cat_sleeps, ...")  # fmt: skip
    parser.add_argument("-o", "--output", default="graph.svg", metavar="PATH",
                        help=".svg .png .pdf .html .dot .mmd (default: graph.svg)")  # fmt: skip
    parser.add_argument(
        "--collapse", action="append", metavar="DEPTH|NAME", help="fold modules: 1, blocks.*, LayerNorm; or none"
    )
    parser.add_argument("--direction", choices=("TB", "LR"), help="top to bottom or left to right")
    parser.add_argument("--detail", choices=("full", "brief"), default="full")
    parser.add_argument("--edges", choices=("rule", "numbers"), help="what to write on the edges")
    parser.add_argument("--flow", action="store_true", help="edges as wide as the gradient along them")
    parser.add_argument("--inputs", action="append", default=[], metavar="NAME", help="a leaf to show as an input")
    parser.add_argument("--max-nodes", type=int, default=300, metavar="N", help="fold above so many cards")
    parser.add_argument("--digits", type=int, default=4, metavar="N", help="significant digits (default: 4)")
    parser.add_argument("--theme", choices=("light", "dark"), default="light", help="colours of a PNG or PDF")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from autograd.drawing.drawing import draw
    from autograd.drawing.options import UnknownChoice

    root, names = root_of(arguments.what, backward=True)
    collapse = list(map(as_collapse, arguments.collapse or [])) or None
    try:
        drawing = draw(
            root, collapse=collapse, direction=arguments.direction, detail=arguments.detail, edges=arguments.edges,
            flow=arguments.flow, inputs=arguments.inputs, max_nodes=arguments.max_nodes, digits=arguments.digits,
            names=names,
        )  # fmt: skip
        path = drawing.save(arguments.output, theme=arguments.theme)
    except UnknownChoice as error:
        raise misspelled(error) from error
    except (ValueError, OSError, RuntimeError) as error:
        raise CommandError(str(error)) from error
    print(f"{path}: {len(drawing.scene.cards)} cards, {drawing.placement.width:.0f}×{drawing.placement.height:.0f} px")
    for line in drawing.remarks(typed, "an earlier value: FILE.py:NAME"):
        print(printable(f"  {line}"))
    return 0


def misspelled(error: UnknownChoice) -> CommandError:
    """A name that picks nothing, as it was typed."""
    return CommandError(f"--{error.option} {error.choice}: {error.reason}")


def as_collapse(part: str) -> bool | int | str:
    """`1` is a depth, `none` folds nothing, anything else is a name or pattern."""
    if part == FOLD_NOTHING:
        return False
    return int(part) if part.isdigit() else part


def typed(option: str, value: Any) -> str:
    """An option as it is typed here."""
    text = {None: "…", False: FOLD_NOTHING}.get(value, value)
    return f"--{option.replace('_', '-')} {text}"


def root_of(what: str, backward: bool = False) -> tuple[Value, dict[str, Any]]:
    """The graph meant by `FILE.py`, `FILE.py:name` or `example3`, and the names around it.

    `backward` gives the result of a function its gradients; the file could not, since it never saw the result.
    """
    path, _, name = what.partition(":") if ".py" in what else (what, "", "")
    if path.endswith(".py"):
        return from_file(Path(path), name, backward)
    return from_example(what), {}


def from_example(name: str) -> Value:
    from autograd.cli.example import check_examples

    if Path(name).is_file():
        raise CommandError(f"{name} is no Python file: give FILE.py or FILE.py:NAME, or the name of a worked example")
    check_examples()
    from examples import EXAMPLES, UnknownExample, find

    if name.strip().lower() == "all":
        raise CommandError(f"one example at a time: {', '.join(example.name for example in EXAMPLES)}")
    try:
        root: Value = find(name).module.graph()
    except UnknownExample as error:
        raise CommandError(f"{error}, or give FILE.py or FILE.py:NAME") from None
    return root


def from_file(path: Path, name: str, backward: bool = False) -> tuple[Value, dict[str, Any]]:
    """Runs the file and finds the Value (or the function that makes one) in it."""
    made = run_script(path)
    chosen = made.get(name) if name else _likely(made)
    if name and name not in made:
        raise CommandError(f"{path.name} has no {name!r}; it has {_listed(made) or 'no Value at all'}")
    if chosen is None:
        raise CommandError(
            f"which Value of {path.name}? Write {path}:NAME with one of {_listed(made) or '(none found)'}"
        )
    called = f"{path.name}:{name}"
    root = _as_value(chosen, called)
    if backward and root is not chosen:
        _backprop(root, called)
    return root, made


def _likely(made: dict[str, Any]) -> Any:
    """The usual name, or the only result that nothing else was made from."""
    from autograd.graph import topological
    from autograd.value import Value

    for name in USUAL_NAMES:
        if isinstance(made.get(name), Value):
            return made[name]
    results = {value for value in made.values() if isinstance(value, Value) and value.op is not None}
    used = {node for result in results for node in topological(result) if node is not result}
    ends = results - used
    return ends.pop() if len(ends) == 1 else None


def _as_value(chosen: Any, called: str) -> Value:
    from autograd.value import Value

    if isinstance(chosen, Value):
        return chosen
    if not callable(chosen):
        raise CommandError(f"{called} is of type {type(chosen).__name__}, not a Value or a function that returns one")
    result = _result_of(chosen, called)
    if not isinstance(result, Value):
        raise CommandError(
            f"the function {called} returned no Value ({type(result).__name__}). Let it compute with Values, or give "
            "its parameters floats or float arrays as defaults: def f(x=0.7)"
        )
    return result


def _result_of(function: Callable[..., Any], called: str) -> Any:
    """What a function gives at its defaults (or `check_inputs`), the floats and float arrays among them as Values."""
    from autograd.check.inputs import NoInputs, inputs_of

    parameters = [
        p for p in signature(function).parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    try:
        given = inputs_of(function) if parameters else ()
    except NoInputs:
        unsaid = ", ".join(p.name for p in signature(function).parameters.values() if p.default is p.empty)
        example = f"{parameters[0].name}=0.7"
        raise CommandError(f"{called} needs a default for {unsaid} to start from, such as {example}") from None
    try:
        return function(*(_varied(x, p.name) for x, p in zip(given, parameters)))
    except Exception as error:
        raise failed(called, error) from error


def _backprop(root: Value, called: str) -> None:
    """Backprop from a number that has seen none yet; what the file's own passes left behind does not count."""
    from autograd.graph import topological

    if root.grad is not None or root.size != 1 or not root.requires_grad:
        return
    for node in topological(root):
        node.grad = None
    try:
        root.backward()
    except Exception as error:
        raise failed(called, error) from error


def _varied(x: Any, name: str) -> Any:
    """A float or float array as a named Value; whole numbers, flags and the like as they are."""
    import numpy as np

    from autograd.value import Value

    is_float = isinstance(x, float | np.floating) or (isinstance(x, np.ndarray) and x.dtype.kind == "f")
    return Value(x, name=name) if is_float else x


def _listed(made: dict[str, Any]) -> str:
    from autograd.value import Value

    return ", ".join(name for name, value in made.items() if isinstance(value, Value) and not name.startswith("_"))
