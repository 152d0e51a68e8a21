"""Differential fuzzing: random graphs on our engine and on others, values and gradients to second order held equal.

    python -m tools.fuzz --minutes 60 --log tools/fuzz.log
    python -m tools.fuzz --seed 1234            # one graph again

Judges are torch and JAX where they are installed; without either, the gradient check with its complex step. Where an
engine and ours differ, the gradient check decides between them: torch has slips of its own (the second derivative of
a product that holds a tiny number), and they are counted. A failure is shrunk to a smaller graph that still fails, and
printed as code that runs.
"""

from __future__ import annotations

import argparse
import mmap
import platform
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import autograd as ag
from autograd import OPS

from .child import in_a_child
from .graphs import apply, build
from .makers import MAKERS
from .oracles import Answer, Unsupported, installed, leaf_data
from .program import Program, literal

ORDER_2 = 3  # every so many graphs, second derivatives too
PORTION = 500  # graphs in one process


class Disagreement(Exception):
    """Two engines differ."""


def ours(program: Program, second: bool) -> Answer:
    """The loss and its gradients, on our engine."""
    leaves = [ag.Value(x) for x in leaf_data(program)]
    loss = loss_of(program, leaves)
    if not isinstance(loss, ag.Value) or not loss.requires_grad:
        return float(loss), [np.zeros(x.shape) for x in leaves], None
    loss.backward()
    grads = [np.zeros(x.shape) if x.grad is None else np.asarray(x.grad) for x in leaves]
    again = None
    if second:

        def weighted(xs: list[Any]) -> Any:
            slopes = ag.grad(lambda ys: loss_of(program, ys))(xs)
            return sum((ag.sum(s * np.cos(x.data)) for s, x in zip(slopes, leaves)), 0.0)

        again = ag.grad(weighted)([x.data for x in leaves])
    return float(loss), grads, again


def loss_of(program: Program, leaves: list[Any]) -> Any:
    values = program.run(leaves, apply)
    total: Any = 0.0
    for i, weights in program.results(values):
        w = np.asarray(weights, dtype=values[i].dtype) if hasattr(values[i], "dtype") else weights
        total = total + ag.sum(values[i] * (w if np.ndim(w) else float(w)))
    return total


# --- comparing ----------------------------------------------------------------------------------------------


def examine(program: Program, oracles: dict[str, Any], second: bool) -> str:
    """Raise Disagreement if our engine differs from an oracle; else say who judged."""
    with np.errstate(all="ignore"):
        mine = ours(program, second)
        judges = []
        for name, oracle in oracles.items():
            try:
                theirs = oracle.answer(program, second)
            except Unsupported:
                continue
            if finite(mine) and not finite(theirs):  # at the tip of a cone, say: no second derivative there
                judges.append(f"{name} not finite")
                continue
            try:
                compare(name, program, mine, theirs)
            except Disagreement:
                if not passes(program, second):
                    raise
                name += " outvoted by differences"
            judges.append(name)
        if not judges:
            report = check(program, second)
            if report.verdict == "wrong":
                raise Disagreement(str(report))
            judges.append("differences")
    return "+".join(judges)


def finite(answer: Answer) -> bool:
    return all(np.isfinite(g).all() for grads in answer[1:] for g in grads or ()) and bool(np.isfinite(answer[0]))  # type: ignore[attr-defined]


def compare(name: str, program: Program, mine: Answer, theirs: Answer) -> None:
    single = any(np.asarray(x).dtype == np.float32 for x in leaf_data(program))
    tolerance = 3e-4 if single else 1e-8
    scale = max(1.0, abs(theirs[0]), *(float(np.max(np.abs(g), initial=0.0)) for g in theirs[1]))
    if not abs(mine[0] - theirs[0]) <= tolerance * scale * 10:
        raise Disagreement(f"the loss is {mine[0]!r}; {name} has {theirs[0]!r}")
    for order, (a, b) in enumerate(((mine[1], theirs[1]), (mine[2], theirs[2])), 1):
        if a is None or b is None:
            continue
        scale = max(1.0, *(float(np.max(np.abs(g), initial=0.0)) for g in b))
        for leaf, (x, y) in zip(program.leaves, zip(a, b)):
            if np.shape(x) != np.shape(y):
                raise Disagreement(f"the gradient of v{leaf} has shape {np.shape(x)}; {name} has {np.shape(y)}")
            gap = np.max(np.abs(np.asarray(x, float) - np.asarray(y, float)), initial=0.0)
            if not gap <= tolerance * scale * 10 ** (order - 1):
                what = "gradient" if order == 1 else "gradient of the gradient"
                raise Disagreement(
                    f"the {what} of v{leaf} is {np.array2string(np.asarray(x))}; {name} has {np.array2string(y)}"
                )


def check(program: Program, second: bool) -> ag.Report:
    """Our own differences and complex step."""
    return ag.check_grads(lambda *xs: loss_of(program, list(xs)), *leaf_data(program), order=2 if second else 1)


def passes(program: Program, second: bool) -> bool:
    """Whether differences are on our side: at every entry, or, at a kink, with both of its slopes around ours."""
    return all(entry.between for entry in check(program, second).failures)


# --- shrinking and showing ----------------------------------------------------------------------------------


def fails(program: Program, oracles: dict[str, Any], second: bool) -> str | None:
    """Why the program fails, or None. A program that no longer makes sense does not fail."""
    try:
        examine(program, oracles, second)
    except Disagreement as error:
        return str(error)
    except Exception:
        return None
    return None


def shrink(program: Program, oracles: dict[str, Any], second: bool) -> Program:
    """A smaller program that fails too: take the first smaller one that does, as long as there is one."""
    for _ in range(500):
        smaller = next((p for p in program.smaller() if fails(p, oracles, second)), None)
        if smaller is None:
            break
        program = smaller
    return program


def as_code(program: Program) -> str:
    """The program as Python that runs, with its loss and backward."""

    def call(op: str, operands: list[str], settings: dict[str, Any]) -> str:
        ours = OPS[op]
        args = ours.pack(tuple(operands)) if ours.pack else tuple(operands)
        texts = [f"[{', '.join(a)}]" if isinstance(a, tuple) else a for a in args]
        texts += [f"{key}={literal(value)}" for key, value in settings.items()]
        return f"ag.OPS[{op!r}]({', '.join(texts)})"

    values = program.run(leaf_data(program), apply)
    sums = [f"ag.sum(v{i} * {literal(w if np.ndim(w) else float(w))})" for i, w in program.results(values)]
    leaves = ", ".join(f"v{i}.grad" for i in program.leaves)
    loss = f"loss = {' + '.join(sums) or 'ag.Value(0.0)'}"
    end = f"if loss.requires_grad:\n    loss.backward()\nprint(loss.data, {leaves})"
    return f"{program.code(call)}\n{loss}\n{end}\n"


# --- the run ------------------------------------------------------------------------------------------------


@dataclass
class Tally:
    """What was seen so far."""

    graphs: int = 0
    nodes: int = 0
    ops: Counter[str] = field(default_factory=Counter)
    judges: Counter[str] = field(default_factory=Counter)
    failures: list[int] = field(default_factory=list)

    def add(self, other: dict[str, Any]) -> None:
        """Take in the tally of a portion, which comes as plain data."""
        self.graphs += other["graphs"]
        self.nodes += other["nodes"]
        self.ops.update(other["ops"])
        self.judges.update(other["judges"])
        self.failures += other["failures"]


def run(minutes: float, first: int, count: int | None, log: Any = None) -> int:
    """Fuzz for so long, or for so many graphs, in portions; the number of failures.

    A portion is a process of its own, which notes the seed it is at: where an oracle crashes, the run goes on after it.
    """
    oracles = installed()
    tally = Tally()
    crashed: list[int] = []
    here = mmap.mmap(-1, 8)
    begin = time.monotonic()
    seed = first
    stop = sys.maxsize if count is None else first + count
    while seed < stop and (count is not None or time.monotonic() - begin < 60 * minutes):
        last = min(seed + PORTION, stop)
        found = in_a_child(lambda a=seed, b=last: portion(range(a, b), oracles, here, set(crashed)), limit=3600)
        if found is None:
            crashed.append(int.from_bytes(here[:], "little"))
            print(f"seed {crashed[-1]}: {blame(crashed[-1])} crashed", file=sys.stderr, flush=True)
            if blame(crashed[-1]) == "handgrad":
                tally.failures.append(crashed[-1])
            else:
                tally.judges["an oracle crashed"] += 1
            continue
        tally.add(found)
        seed = last
        if sys.stderr.isatty():
            print(f"\r{seed - first:,} graphs, {len(tally.failures)} failures", end="", file=sys.stderr, flush=True)
    report(first, seed, tally, oracles, time.monotonic() - begin, log)
    return len(tally.failures)


def blame(seed: int) -> str:
    """Who crashes on the graph of this seed: we, or an oracle."""
    alone = in_a_child(lambda: [ours(build(seed), True) is not None])
    return "an oracle" if alone is not None else "handgrad"


def portion(seeds: range, oracles: dict[str, Any], here: mmap.mmap, crashed: set[int]) -> dict[str, Any]:
    """Examine the graphs of some seeds."""
    tally = Tally()
    for seed in seeds:
        here[:] = seed.to_bytes(8, "little")
        program = build(seed)
        if not program.steps or seed in crashed:
            continue
        second = seed % ORDER_2 == 0
        try:
            tally.judges[examine(program, oracles, second)] += 1
        except Exception as error:  # a disagreement, or an error that a right graph must not raise
            tally.failures.append(seed)
            show(seed, program, error, oracles, second)
        tally.graphs += 1
        tally.nodes += len(program.nodes)
        tally.ops.update(step.op for step in program.steps)
    return vars(tally)


def show(seed: int, program: Program, error: Exception, oracles: dict[str, Any], second: bool) -> None:
    """Print a failure as the smallest code that still fails."""
    print(f"\nseed {seed}: {type(error).__name__}: {error}", file=sys.stderr)
    small = shrink(program, oracles, second) if isinstance(error, Disagreement) else program
    print(f"{as_code(small)}# {fails(small, oracles, second) or error}\n", file=sys.stderr, flush=True)


def report(first: int, last: int, tally: Tally, oracles: dict[str, Any], seconds: float, log: Any) -> None:
    """Print what was done, and write it to the log."""
    versions = [f"handgrad {ag.__version__}", f"Python {platform.python_version()}", f"numpy {np.__version__}"]
    versions += [oracle.version for oracle in oracles.values()]
    failures = f": seeds {', '.join(map(str, tally.failures))}" if tally.failures else ""
    lines = [
        f"versions   {', '.join(versions)}",
        f"seeds      {first} to {last - 1}",
        f"graphs     {tally.graphs:,} with {tally.nodes:,} nodes, in {seconds / 60:.1f} minutes; "
        f"every {ORDER_2}rd to second order",
        f"judges     {', '.join(f'{name}: {n:,}' for name, n in tally.judges.most_common())}",
        f"failures   {len(tally.failures)}{failures}",
        f"ops        {len(tally.ops)} of the {len(MAKERS)} that graphs are grown from, so often:",
    ]
    seen = tally.ops
    row = ""
    for op, n in sorted(seen.items()):
        cell = f"{op} {n:,}"
        if len(row) + len(cell) > 96:
            lines.append(f"           {row.rstrip(', ')}")
            row = ""
        row += f"{cell}, "
    lines.append(f"           {row.rstrip(', ')}")
    text = "\n".join(lines)
    print(text)
    if log is not None:
        with open(log, "w", encoding="utf-8") as file:
            file.write(text + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz", description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, help="so many graphs, however long it takes")
    parser.add_argument("--seed", type=int, help="one graph: print its code and examine it")
    parser.add_argument("--log", help="write the summary to this file too")
    arguments = parser.parse_args()
    if arguments.seed is not None:
        print(as_code(build(arguments.seed)))
        return min(1, run(0, arguments.seed, 1))
    return min(1, run(arguments.minutes, arguments.first, arguments.count, arguments.log))


if __name__ == "__main__":
    sys.exit(main())
