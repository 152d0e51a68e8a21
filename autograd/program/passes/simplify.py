"""Simpler instructions: `x ** 2` as `x * x`, a sum of slices in zeros as one concatenation."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograd.op import OPS

from ..program import Instruction, Program, is_weak
from .opening import Builder


def simplify(program: Program) -> Program:
    """`x ** 2` as `x * x`, `x ** 0.5` as a root; what gives back what it gets (`1 * x`, a reshape to the same shape)
    left out.
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


_SIMPLER = {
    "power": _simpler_power, "mul": _without_factor_1, "reshape": _without_idle, "broadcast_to": _without_idle,
    "astype": _without_idle, "transpose": _without_idle, "sum": _without_idle,
}  # fmt: skip


# --- join -----------------------------------------------------------------------------------------------------------


def join(program: Program) -> Program:
    """A sum of parts, each in its own slice of zeros, as the parts side by side: what `split` sends back."""
    readers = program.readers()
    made = {i.out: i for i in program.code}
    builder = Builder(program)
    whole = _sums_of_scatters(program, made, readers)
    for i in program.code:
        parts = _parts_of(program, i, made, readers) if i.out in whole else None
        if parts is None:
            builder.add(i)
        else:
            axis, registers = parts
            op = OPS["concatenate"].bind({"axis": axis})
            builder.add(i._replace(op=op, inputs=registers, part=i.part or "split"))
    return builder.program()


def _sums_of_scatters(program: Program, made: dict[int, Instruction], readers: list[int]) -> set[int]:
    """The sums whose terms are all scatters; of one inside another the outer one."""
    sums: set[int] = set()
    inner: set[int] = set()
    for i in program.code:
        if i.op.base.name == "add":
            own = [r for r in i.inputs if r in sums and readers[r] == 1]
            if all(r in own or (r in made and made[r].op.base.name == "scatter") for r in i.inputs):
                sums.add(i.out)
                inner.update(own)
    return sums - inner


def _parts_of(
    program: Program, i: Instruction, made: dict[int, Instruction], readers: list[int]
) -> tuple[int, tuple[int, ...]] | None:
    """The axis and the registers that a sum of scatters joins, if they tile the result along one axis."""
    terms: list[int] = []
    waiting = [i.out]
    while waiting:
        r = waiting.pop()
        term = made.get(r)
        if term is not None and term.op.base.name == "add" and (r == i.out or readers[r] == 1):
            waiting += term.inputs[::-1]
        elif term is None or term.op.base.name != "scatter":
            return None
        else:
            terms.append(r)
    shape = program.types[i.out][0]
    if len(terms) < 2 or any(program.types[r] != program.types[i.out] for r in terms):
        return None
    slices = [_one_slice(made[r].op.settings["index"], shape) for r in terms]
    if any(found is None for found in slices) or len({found[0] for found in slices if found}) != 1:
        return None
    placed = sorted((start, stop, r) for (_, start, stop), r in zip(filter(None, slices), terms))
    edges = [0, *(stop for _, stop, _ in placed)]
    axis = slices[0][0]  # type: ignore[index]
    if [start for start, _, _ in placed] != edges[:-1] or edges[-1] != shape[axis]:
        return None
    return axis, tuple(made[r].inputs[0] for _, _, r in placed)


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
