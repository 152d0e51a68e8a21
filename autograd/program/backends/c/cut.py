"""What C cannot do, NumPy does in between: a program cut into parts that run one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from autograd.arrays.plain import as_plain

from ...program import Instruction, Program, renumbered
from .. import Runner
from .ops import runs_in_c
from .steps import C_TYPES


class Part:
    """Some instructions of a program: the registers they read from outside, and those that others read."""

    def __init__(self, program: Program, code: Sequence[Instruction], in_c: bool, needed: set[int]) -> None:
        made = {i.out for i in code}
        read = {r for i in code for r in i.inputs} - made
        self.in_c, self.code = in_c, code
        self.reads = sorted(r for r in read if r not in program.constants)
        self.writes = sorted(made & needed)
        constants = {r: program.constants[r] for r in sorted(read) if r in program.constants}
        self.program = renumbered(self.reads, constants, code, self.writes, program.types, {}, {})


def cut(program: Program) -> list[Part]:
    """The parts of a program, in order. If all of it runs in C, that is the program itself."""
    part_of: dict[int, int] = {}
    codes: dict[int, list[Instruction]] = {0: []}
    for i in program.code:
        number = max((part_of.get(r, 0) for r in i.inputs), default=0)
        number += (number % 2 == 0) != runs_in_c(program, i)  # even: C, odd: NumPy
        part_of[i.out] = number
        codes.setdefault(number, []).append(i)
    needed = set(program.outputs)
    needed |= {r for i in program.code for r in i.inputs if part_of.get(r) != part_of[i.out]}
    parts = [Part(program, codes[n], n % 2 == 0, needed) for n in sorted(codes)]
    if len(parts) > 1:
        return parts
    if any(program.types[r][1].name not in C_TYPES for r in program.outputs):  # constants
        return parts if program.code else []
    parts[0].program = program
    return parts


def joined(program: Program, parts: Sequence[Part], runners: Iterator[Runner]) -> Runner:
    """The parts one after the other. `runners` has one for each part in C."""
    if parts and parts[0].program is program:
        return next(runners)
    steps = [(part, next(runners) if part.in_c else None) for part in parts]

    @np.errstate(all="ignore")
    def run(inputs: Sequence[Any]) -> list[Any]:
        registers = {**program.constants, **dict(zip(program.inputs, inputs, strict=True))}
        for part, in_c in steps:
            if in_c is not None:
                registers |= zip(part.writes, map(_plain, in_c([registers[r] for r in part.reads])))
                continue
            for i in part.code:
                registers[i.out] = i.op.compute(*(registers[r] for r in i.inputs))
        return [np.array(registers[r], program.types[r][1]) for r in program.outputs]

    return run


def _plain(x: Any) -> Any:
    """As the engine keeps it: a float64 alone is a plain number."""
    return x if x.ndim else as_plain(x)
