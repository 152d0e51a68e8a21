"""Simpler instructions: `x ** 2` as `x * x`, a sum of slices in zeros as one concatenation."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograd.op import OPS

from ..program import Instruction, Program, is_weak
from .opening import Builder


def simplify(program: Program) -> Program:
    """`x ** 2` as `x * x`, `x ** 0.5` as a root; what gives back what it gets (`1 * x`, a reshape to the same shape)
    left out; a sum of slices in zeros as one concatenation.
    """
    builder = Builder(program)
    for i in program.code:
        _SIMPLER.get(i.op.base.name, _as_it_is)(builder, i)
    return builder.program()


def _as_it_is(builder: Builder, i: Instruction) -> None:
    builder.add(i)


def _simpler_power(builder: Builder, i: Instruction) -> None:
    x, y = (builder.becomes.get(r, r) for r in i.inputs)
    exponent = builder.constants.get(y)
    if not is_weak(exponent) or x in builder.constants:
        builder.add(i)
    elif exponent == 2:
        builder.code.append(i._replace(op=OPS["mul"], inputs=(x, x)))
    elif exponent in (3, 4):
        builder.types.append(builder.types[i.out])
        square = len(builder.types) - 1
        builder.code.append(i._replace(op=OPS["mul"], inputs=(x, x), out=square))
        builder.code.append(i._replace(op=OPS["mul"], inputs=(square, x if exponent == 3 else square)))
    elif exponent == 1:
        builder.stand_for(i.out, x)
    elif exponent == 0.5:
        builder.code.append(i._replace(op=OPS["sqrt"], inputs=(x,)))
    elif exponent == -0.5:
        builder.types.append(builder.types[i.out])
        root = len(builder.types) - 1
        builder.code.append(i._replace(op=OPS["sqrt"], inputs=(x,), out=root))
        builder.code.append(i._replace(op=OPS["div"], inputs=(builder.constant(1.0), root)))
    elif exponent == -1:
        builder.code.append(i._replace(op=OPS["div"], inputs=(builder.constant(1.0), x)))
    else:
        builder.add(i)


def _without_idle(builder: Builder, i: Instruction) -> None:
    """An op that gives back what it gets, left out: a reshape to the same shape, a transpose of a transpose."""
    (x,) = (builder.becomes.get(r, r) for r in i.inputs)
    i = i._replace(inputs=(x,))
    before = builder.made.get(x)
    if before is not None and before.op.base is i.op.base and i.op.base.name in ("reshape", "transpose"):
        (x,) = before.inputs  # two in a row are one
        if i.op.base.name == "transpose":
            order = before.op.settings["axes"]
            i = i._replace(op=i.op.base.bind({"axes": tuple(order[a] for a in i.op.settings["axes"])}))
        i = i._replace(inputs=(x,))
    idle = builder.types[x] == builder.types[i.out]
    if i.op.base.name == "transpose":
        axes = i.op.settings["axes"]
        idle = tuple(axes) == tuple(range(-len(axes), 0))
    if i.op.base.name == "sum":
        idle = idle and not i.op.settings["axis"]
    if idle:
        builder.stand_for(i.out, x)
    else:
        builder.add(i)


def _without_factor_1(builder: Builder, i: Instruction) -> None:
    """`1 * x` and `x * 1`, also with an array of ones, where x has the type of the result."""
    inputs = [builder.becomes.get(r, r) for r in i.inputs]
    for x, other in (inputs, inputs[::-1]):
        ones = builder.constants.get(x)
        if ones is not None and np.all(np.equal(ones, 1)) and builder.types[other] == builder.types[i.out]:
            return builder.stand_for(i.out, other)
    builder.add(i)


def _side_by_side(builder: Builder, i: Instruction) -> None:
    """A sum of neighbouring slices, each in zeros of its own, as these side by side: what `split` sends back."""
    shape, dtype = kind = builder.types[i.out]
    found = []
    for r in i.inputs:
        part = builder.made.get(builder.becomes.get(r, r))
        in_zeros = part is not None and part.op.base.name == "scatter" and builder.types[part.out] == kind
        cut = _one_slice(part.op.settings["index"], shape) if part is not None and in_zeros else None
        if part is None or cut is None:
            return builder.add(i)
        found.append((*cut, part.inputs[0]))
    (axis, start, middle, first), (other, begin, stop, second) = sorted(found)
    if (axis, middle) != (other, begin):
        return builder.add(i)
    sources: list[int] = []
    for r in (first, second):
        before = builder.made.get(r)
        joined = before is not None and before.op.settings == {"axis": axis} and before.op.base.name == "concatenate"
        sources += before.inputs if before is not None and joined else (r,)
    join = i._replace(op=OPS["concatenate"].bind({"axis": axis}), inputs=tuple(sources), part=i.part or "split")
    if (start, stop) == (0, shape[axis]):
        return builder.add(join)
    place = len(shape) + axis
    builder.types.append(((*shape[:place], stop - start, *shape[place + 1 :]), dtype))
    builder.add(join._replace(out=len(builder.types) - 1))
    index = (*(slice(None),) * place, slice(start, stop))
    scatter = OPS["scatter"].bind({"index": index, "shape": shape})
    builder.add(join._replace(op=scatter, inputs=(len(builder.types) - 1,)))


def _one_slice(index: tuple[Any, ...], shape: tuple[int, ...]) -> tuple[int, int, int] | None:
    """(axis from the end, start, stop) of an index that cuts along one axis only; None if it does anything else."""
    if not all(part is Ellipsis or isinstance(part, slice) for part in index):
        return None
    if Ellipsis in index:
        place = index.index(Ellipsis)
        index = (*index[:place], *(slice(None),) * (len(shape) - len(index) + 1), *index[place + 1 :])
    index = (*index, *(slice(None),) * (len(shape) - len(index)))
    cuts = [(a, *part.indices(n)) for a, (part, n) in enumerate(zip(index, shape)) if part.indices(n) != (0, n, 1)]
    if len(cuts) != 1 or cuts[0][3] != 1:
        return None
    axis, start, stop, _ = cuts[0]
    return axis - len(shape), start, stop


_SIMPLER = {
    "add": _side_by_side, "power": _simpler_power, "mul": _without_factor_1, "reshape": _without_idle,
    "broadcast_to": _without_idle, "astype": _without_idle, "transpose": _without_idle, "sum": _without_idle,
}  # fmt: skip
