"""W5: a chain of 1,000 adds and muls, forward and backward, scalars and 4×4 arrays: the cost of one node."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import harness
from benchmarks.harness import US

OPS = 1000
FACTOR = np.linspace(0.98, 1.01, 16).reshape(4, 4)
TERM = np.linspace(-0.02, 0.03, 16).reshape(4, 4)


def chain(x: Any, factor: Any, term: Any) -> Any:
    for _ in range(OPS // 2):
        x = x * factor + term
    return x


class Chain:
    """The chain on the leaves of one library."""

    def __init__(self, leaf: Callable[[Any], Any], factor: Any, term: Any, cotangent: Any = None) -> None:
        self.leaves = [leaf(data) for data in (factor, factor, term)]
        self.cotangent = () if cotangent is None else (cotangent,)

    def __call__(self) -> None:
        for leaf in self.leaves:
            leaf.grad = None
        chain(*self.leaves).backward(*self.cotangent)

    def answer(self) -> list[Any]:
        self()
        return [np.asarray(leaf.grad) for leaf in self.leaves]


class MicrogradChain(Chain):
    """micrograd adds to gradients, so they begin at 0; its sort is recursive, so the limit is raised."""

    def __call__(self) -> None:
        for leaf in self.leaves:
            leaf.grad = 0
        chain(*self.leaves).backward()


def scalars(names: list[str]) -> dict[str, Chain]:
    factor, term = float(FACTOR[1, 1]), float(TERM[1, 1])
    made: dict[str, Chain] = {}
    from autograd import Value

    made[US] = Chain(Value, factor, term)
    if "micrograd" in names:
        from micrograd.engine import Value as MicrogradValue

        sys.setrecursionlimit(10 * OPS)
        made["micrograd"] = MicrogradChain(MicrogradValue, factor, term)
    if "torch" in names:
        import torch

        made["torch"] = Chain(lambda a: torch.tensor(a, requires_grad=True, dtype=torch.double), factor, term)
    return made


def arrays(names: list[str]) -> dict[str, Chain]:
    ones = np.ones((4, 4))
    made: dict[str, Chain] = {}
    from autograd import Value

    made[US] = Chain(Value, FACTOR, TERM, ones)
    if "torch" in names:
        import torch

        made["torch"] = Chain(lambda a: torch.tensor(a, requires_grad=True), FACTOR, TERM, torch.tensor(ones))
    if "mygrad" in names:
        import mygrad

        sys.setrecursionlimit(10 * OPS)
        made["mygrad"] = MyGradChain(mygrad.tensor, FACTOR, TERM)
    return made


class MyGradChain(Chain):
    """MyGrad's gradients cannot be set; its backward begins anew each time."""

    def __call__(self) -> None:
        chain(*self.leaves).sum().backward()


def main() -> None:
    harness.pin()
    names = harness.those_installed(["micrograd", "torch", "mygrad"])
    for title, contenders in (("scalars", scalars(names)), ("4×4 arrays", arrays(names))):
        harness.heading(f"W5: a chain of 1,000 adds and muls, {title}")
        harness.assert_same({name: contender.answer() for name, contender in contenders.items()})
        timings = harness.take_turns(contenders)
        harness.table(("contender", "one op", f"× {US}'s time"), harness.standing(timings, of=US, call=OPS))
        marks = {"scalars": {"micrograd": 3.4, "torch": 8.0}, "4×4 arrays": {"torch": 2.6}}[title]
        for name, mark in marks.items():
            if name in timings:
                harness.aim(f"times as fast as {name}, {title}", timings.ratio(name, to=US), at_least=mark)
        print()


if __name__ == "__main__":
    main()
