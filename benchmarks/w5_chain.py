"""W5: a chain of 1,000 adds and muls, forward and backward, scalars and 4×4 arrays: the cost of one node.

One contender a process, collector on, as in a training loop.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import harness
from benchmarks.harness import US

OPS = 1000
REPEATS = 20  # chains in a step: enough for the collector to take its turn in each
FACTOR = np.linspace(0.98, 1.01, 16).reshape(4, 4)
TERM = np.linspace(-0.02, 0.03, 16).reshape(4, 4)


class Chain:
    """The chain on the leaves of one library; gradients are cleared by setting them to `clear`."""

    clear: Any = None

    def __init__(self, leaf: Callable[[Any], Any], factor: Any, term: Any, *cotangent: Any) -> None:
        self.leaves = [leaf(data) for data in (factor, factor, term)]
        self.cotangent = cotangent

    def step(self) -> None:
        for _ in range(REPEATS):
            for leaf in self.leaves:
                leaf.grad = self.clear
            self.chain().backward(*self.cotangent)

    def chain(self) -> Any:
        x, factor, term = self.leaves
        for _ in range(OPS // 2):
            x = x * factor + term
        return x

    def answer(self) -> list[Any]:
        return [np.ravel(leaf.grad).tolist() for leaf in self.leaves]


class MicrogradChain(Chain):
    clear = 0


class MyGradChain(Chain):
    """MyGrad's gradients cannot be set; they begin again with each pass."""

    def step(self) -> None:
        for _ in range(REPEATS):
            self.chain().backward(*self.cotangent)


def with_handgrad(*data: Any) -> Chain:
    from autograd import Value

    return Chain(Value, *data)


def with_micrograd(*data: Any) -> Chain:
    from micrograd.engine import Value

    sys.setrecursionlimit(10 * OPS)  # its sort is recursive
    return MicrogradChain(Value, *data)


def with_torch(*data: Any) -> Chain:
    import torch

    torch.set_num_threads(1)
    factor, term, *cotangent = (torch.tensor(a, dtype=torch.float64) for a in data)
    return Chain(lambda a: a.clone().requires_grad_(), factor, term, *cotangent)


def with_mygrad(*data: Any) -> Chain:
    import mygrad

    sys.setrecursionlimit(10 * OPS)
    return MyGradChain(mygrad.tensor, *data)


LIBRARIES = {US: with_handgrad, "micrograd": with_micrograd, "torch": with_torch, "mygrad": with_mygrad}
DATA = {"scalars": (float(FACTOR[1, 1]), float(TERM[1, 1])), "4×4 arrays": (FACTOR, TERM, np.ones((4, 4)))}
CONTENDERS = {"scalars": (US, "micrograd", "torch"), "4×4 arrays": (US, "torch", "mygrad")}
MARKS = {"scalars": {"micrograd": 3.4, "torch": 8.0}, "4×4 arrays": {"torch": 2.6}}


def main() -> None:
    harness.pin()
    installed = harness.those_installed(LIBRARIES)
    for kind, libraries in CONTENDERS.items():
        harness.heading(f"W5: a chain of 1,000 adds and muls, {kind}")
        names = [name for name in libraries if name in installed]
        timings, answers = harness.take_turns_in_processes("benchmarks.w5_chain", names, kind)
        harness.assert_same(answers)
        rows = harness.standing(timings, of=US, calls=REPEATS * OPS)
        harness.table(("contender", "one op", f"× {US}'s time"), rows)
        for name, mark in MARKS[kind].items():
            if name in timings:
                harness.aim(f"times as fast as {name}, {kind}", timings.ratio(name, to=US), at_least=mark)
        print()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        chain = LIBRARIES[sys.argv[1]](*DATA[sys.argv[2]])
        harness.report_steps(chain.step, chain.answer)
    else:
        main()
