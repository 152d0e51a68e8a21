"""Fewer instructions: each result computed once, none of constants alone, none that nobody needs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..program import Program, constant_key, renumbered, settings_key
from .opening import inherit


def share(program: Program) -> Program:
    """Each result computed once: the first of several equal instructions stands for all, and so with constants."""
    stands: dict[int, int] = {}
    first: dict[Any, int] = {}
    for r, data in program.constants.items():
        stands[r] = first.setdefault(constant_key(data), r)
    settings: dict[int, Any] = {}
    code, names, slopes = [], dict(program.names), dict(program.slopes)
    for i in program.code:
        inputs = tuple([stands.get(r, r) for r in i.inputs])
        if id(i.op) not in settings:
            settings[id(i.op)] = settings_key(i.op)
        key = (settings[id(i.op)], inputs)
        if key in first:
            stands[i.out] = first[key]
            inherit(names, i.out, first[key])
            inherit(slopes, i.out, first[key])
        else:
            first[key] = i.out
            code.append(i._replace(inputs=inputs, of=None if i.of is None else stands.get(i.of, i.of)))
    constants = {r: data for r, data in program.constants.items() if stands[r] == r}
    outputs = [stands.get(r, r) for r in program.outputs]
    slopes = {r: stands.get(of, of) for r, of in slopes.items()}
    return renumbered(program.inputs, constants, code, outputs, program.types, names, slopes)


@np.errstate(all="ignore")
def fold(program: Program, largest: int = 1 << 16) -> Program:
    """What depends on constants alone, computed now; unless it is large and a constant is not."""
    constants = dict(program.constants)
    code = []
    for i in program.code:
        if i.inputs and all([r in constants for r in i.inputs]) and math.prod(program.types[i.out][0]) <= largest:
            data = i.op.compute(*(constants[r] for r in i.inputs))
            is_array = isinstance(data, np.ndarray)  # of its type, where a plain number had a wider one
            constants[i.out] = data.astype(program.types[i.out][1]) if is_array else data
        else:
            code.append(i)
    outputs, types = program.outputs, program.types
    return renumbered(program.inputs, constants, code, outputs, types, program.names, program.slopes)


def drop_dead(program: Program) -> Program:
    """Without the instructions and constants that no result needs. The inputs stay: a call still gives them."""
    needed = set(program.outputs)
    code = []
    for i in reversed(program.code):
        if i.out in needed or i.op.base.name == "within":  # whose use is the error that it raises
            needed.update(i.inputs)
            code.append(i)
    constants = {r: data for r, data in program.constants.items() if r in needed}
    outputs, types = program.outputs, program.types
    return renumbered(program.inputs, constants, reversed(code), outputs, types, program.names, program.slopes)
