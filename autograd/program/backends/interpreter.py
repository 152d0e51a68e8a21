"""The reference: a program run one instruction at a time, by the ops' own forward functions.

It gives the bits that the engine gave when the call was recorded. Every backend is held to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..program import Instruction, Program
from . import Runner


def build(program: Program) -> Runner:
    """The reference as a backend: slow, and right to the bit."""

    def runner(inputs: Sequence[Any]) -> list[Any]:
        return [x.copy() if isinstance(x, np.ndarray) else x for x in run(program, inputs)]

    return runner


def run(program: Program, inputs: Sequence[Any]) -> list[Any]:
    """The results of a program for plain inputs, in the order of `program.inputs`."""
    return [registers[r] for registers in [run_all(program, inputs)] for r in program.outputs]


def run_all(program: Program, inputs: Sequence[Any]) -> list[Any]:
    """The contents of every register after a run."""
    registers: list[Any] = [None] * len(program.types)
    for r, data in program.constants.items():
        registers[r] = data
    for r, data in zip(program.inputs, inputs, strict=True):
        registers[r] = data
    return run_code(program.code, registers)


def run_code(code: Iterable[Instruction], registers: Sequence[Any]) -> list[Any]:
    """The contents of every register after some instructions."""
    registers = list(registers)
    for i in code:
        registers[i.out] = i.op.compute(*[registers[r] for r in i.inputs])
    return registers
