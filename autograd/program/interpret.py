"""The reference: a program run one instruction at a time, by the ops' own forward functions.

It gives the bits that the engine gave when the call was recorded. Every backend is held to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .program import Program


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
    for instruction in program.code:
        registers[instruction.out] = instruction.op.compute(*[registers[r] for r in instruction.inputs])
    return registers
