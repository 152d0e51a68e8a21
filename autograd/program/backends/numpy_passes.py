"""Rewrites for NumPy, where a call on few numbers costs more than its arithmetic, and broadcasting doubles that cost.

`wide_rows`: the sum of each short row as a product with a matrix of ones, so that it stands in every column and what
follows needs no broadcasting; a mean as a product with 1/n. In such a program a register that had one column has many.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autograd.op import OPS

from ..passes.opening import Builder
from ..program import Instruction, Program, is_weak
from .plan import SMALL

SHORT = 16  # numbers in a row, up to which a loop over rows costs more than its arithmetic


def wide_rows(program: Program) -> Program:
    """Sums over short rows in every column."""
    readers = program.readers()
    builder = Builder(program)
    wide: dict[int, int] = {}  # register → how many equal columns it has
    narrow: dict[int, int] = {}  # the first column of a wide register
    sums: dict[int, Instruction] = {}  # wide registers that are a product with ones
    for i in program.code:
        if _is_row_sum(program, i):
            n = program.types[i.inputs[0]][0][-1]
            _add_product(builder, i, np.ones((n, n), program.types[i.out][1]))
            wide[i.out], sums[i.out] = n, i
        elif (mean := _mean_of(builder, i, sums, readers)) is not None:
            of, count = mean
            wide[i.out] = n = wide[of.out]
            share = np.full((n, n), 1.0 / count, program.types[i.out][1])
            _add_product(builder, i._replace(inputs=of.inputs), share)
        elif any(r in wide for r in i.inputs):
            _add_reader(builder, i, wide, narrow)
        else:
            builder.add(i)
    outputs = [_narrowed(builder, r, narrow) if r in wide else r for r in program.outputs]
    builder.source = program.but(outputs=tuple(outputs))
    return builder.program()


def _is_row_sum(program: Program, i: Instruction) -> bool:
    if i.op.base.name != "sum" or i.op.settings["axis"] != (-1,) or not i.op.settings["keepdims"]:
        return False
    (shape, dtype), (_, out) = program.types[i.inputs[0]], program.types[i.out]
    n = shape[-1]
    few = 0 < math.prod(shape) <= SMALL or n <= SHORT
    return few and n > 1 and len(shape) > 1 and dtype == out and dtype.kind == "f"


def _mean_of(
    builder: Builder, i: Instruction, sums: dict[int, Instruction], readers: list[int]
) -> tuple[Instruction, float] | None:
    """The sum that this instruction divides by a plain number, if nobody else reads it; and the number."""
    if i.op.base.name != "div" or i.inputs[0] not in sums or readers[i.inputs[0]] != 1:
        return None
    count = builder.constants.get(i.inputs[1])
    return (sums[i.inputs[0]], float(count)) if is_weak(count) and count else None


def _add_product(builder: Builder, i: Instruction, matrix: Any) -> None:
    (x,) = i.inputs[:1]
    shape, dtype = builder.types[builder.becomes.get(x, x)]
    builder.types[i.out] = ((*shape[:-1], matrix.shape[0]), dtype)
    builder.add(i._replace(op=OPS["matmul"], inputs=(x, builder.constant(matrix))))


def _add_reader(builder: Builder, i: Instruction, wide: dict[int, int], narrow: dict[int, int]) -> None:
    """An elementwise op takes wide rows as they are, and gives wide ones if its result had one column."""
    (shape, dtype) = builder.types[i.out]
    widths = {wide[r] for r in i.inputs if r in wide}
    elementwise = i.op.base.pointwise and bool(i.op.numpy) and isinstance(i.op.numpy[0], np.ufunc)
    if elementwise and len(widths) == 1 and shape:
        (n,) = widths
        if shape[-1] == n or shape[-1] == 1:
            if shape[-1] == 1:
                builder.types[i.out] = ((*shape[:-1], n), dtype)
                wide[i.out] = n
            return builder.add(i)
    builder.add(i._replace(inputs=tuple(_narrowed(builder, r, narrow) if r in wide else r for r in i.inputs)))


def _narrowed(builder: Builder, r: int, narrow: dict[int, int]) -> int:
    if r not in narrow:
        shape, dtype = builder.types[r]
        builder.types.append(((*shape[:-1], 1), dtype))
        narrow[r] = out = len(builder.types) - 1
        builder.add(Instruction(OPS["getitem"].bind({"index": (Ellipsis, slice(0, 1))}), (r,), out))
    return narrow[r]
