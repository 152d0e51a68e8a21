"""The NumPy backend: a program as one Python function that writes into buffers made beforehand.

`plan.py` decides where each register lives; here each core op becomes one or two calls of NumPy with `out=`. Constants
and views of buffers are made once. A thread that calls the runner for the first time gets buffers of its own.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from autograd.op import Op

from ..passes import drop_dead
from ..program import Program
from . import Runner, interpreter
from .numpy_ops import emit
from .numpy_passes import wide_rows
from .plan import Plan

LONGEST = 20_000  # instructions that are written out as Python; a longer program is interpreted


def build(program: Program) -> Runner:
    """A function from inputs to results, for any thread."""
    if len(program.code) > LONGEST:
        return interpreter.build(program)
    return _Runner(emitted(drop_dead(wide_rows(program))))


def keeps(op: Op, inputs: Sequence[Any]) -> bool:
    """Whether an op is faster as it is: large windows are read through strided views, which core ops do not have; sin
    and cos take NumPy longer than tan.
    """
    return op.base.name == "tan" or (op.base.name in _WINDOWS and np.size(inputs[0]) >= _LARGE)


_WINDOWS = frozenset((
    "conv", "conv_transpose", "conv_weight", "max_pool", "max_winners", "max_unpool", "max_pick", "avg_pool",
    "avg_unpool", "interpolate", "interpolate_back",
))  # fmt: skip
_LARGE = 1 << 13  # numbers


def emitted(program: Program) -> Plan:
    """The plan of a program, all its instructions written."""
    plan = Plan(program)
    for place, instruction in enumerate(program.code):
        plan.at(place)
        emit(plan, instruction)
    plan.finish()
    return plan


class _Runner(threading.local):
    """One set of buffers a thread: two calls at once must not write into the same."""

    def __init__(self, plan: Plan) -> None:
        # As in every compiled program: an overflow that a where() hides is no news.
        self.run = np.errstate(all="ignore")(plan.function())

    def __call__(self, inputs: Sequence[Any]) -> list[Any]:
        return self.run(inputs)
