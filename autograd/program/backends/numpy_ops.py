"""The core ops in NumPy, each as lines that write into a place made beforehand."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from autograd.arrays.plain import as_plain
from autograd.ops.indexing.rows import _check_rows, _check_within, _put_rows

from ..program import Instruction, common_dtype
from .plan import Array, Plan

LARGE = 4096  # numbers, from which on `matmul` is faster than `dot`, and a sum is done by pairs, not as a product

Emit = Callable[[Plan, Instruction], None]


def _ufunc(function: Any) -> Emit:
    def emit(plan: Plan, i: Instruction) -> None:
        dtype, shape = common_dtype(plan.program, i), plan.shape(i.out)
        operands = [plan.read_spread(r, dtype, shape) for r in i.inputs]
        out = plan.out(i.out, over=i.inputs)
        named = "out=" if function in (np.maximum, np.minimum) else ""  # which take no third argument
        plan.lines.append(f"{plan.function_named(function)}({', '.join(operands)}, {named}{out})")

    return emit


def _copied(plan: Plan, i: Instruction) -> None:
    """astype: the same numbers in another dtype."""
    x = plan.read(i.inputs[0])
    plan.lines.append(f"{plan.out(i.out)}[...] = {x}")


def _where(plan: Plan, i: Instruction) -> None:
    condition = plan.read(i.inputs[0])
    if plan.dtype(i.inputs[0]).kind != "b":  # a number is true where it is not 0
        truth = plan.spare(plan.shape(i.inputs[0]), bool)
        plan.lines.append(f"{plan.function_named(np.not_equal)}({condition}, 0, {truth})")
        condition = truth
    x, y = (plan.read(r, plan.dtype(i.out)) for r in i.inputs[1:])
    out, copyto = plan.out(i.out), plan.share("copyto", np.copyto)
    plan.lines.append(f"{out}[...] = {y}")
    plan.lines.append(f"{copyto}({out}, {x}, where={condition})")


# --- views ------------------------------------------------------------------------------------------------------------


def _reshape(plan: Plan, i: Instruction) -> None:
    (x,), shape = i.inputs, plan.shape(i.out)
    if x not in plan.text:
        return plan.stand_for(i.out, x) if shape == () else _filled(plan, i)
    if not plan.is_fixed(x) or _shares(plan.fixed[x].reshape(shape), plan.fixed[x]):
        return plan.view(i.out, x, lambda a: a.reshape(shape), f"{_array(plan, x)}.reshape({shape})")
    source, given = plan.read(x), plan.shape(x)
    out = plan.out(i.out)
    part = plan.part_of_out(out, i.out, lambda a: a.reshape(given), f"{out}.reshape({given})")
    plan.lines.append(f"{part}[...] = {source}")


def _array(plan: Plan, r: int) -> str:
    """A given input as an array: a scalar may come as a Python float."""
    return plan.text[r] if plan.shape(r) else f"{plan.share('asarray', np.asarray)}({plan.text[r]})"


def _filled(plan: Plan, i: Instruction) -> None:
    x = plan.read(i.inputs[0], plan.dtype(i.out))
    plan.lines.append(f"{plan.out(i.out)}[...] = {x}")


def _shares(a: Array, b: Array) -> bool:
    return a.base is b or (a.base is not None and a.base is b.base) or np.may_share_memory(a, b)


def _transpose(plan: Plan, i: Instruction) -> None:
    axes = tuple(a + len(plan.shape(i.out)) for a in i.op.settings["axes"])
    how = ".T" if axes == tuple(range(len(axes)))[::-1] else f".transpose({axes})"
    plan.view(i.out, i.inputs[0], lambda a: a.transpose(axes), f"{_array(plan, i.inputs[0])}{how}")


def _broadcast_to(plan: Plan, i: Instruction) -> None:
    (x,), shape = i.inputs, plan.shape(i.out)
    if x not in plan.text:
        return _filled(plan, i)
    broadcast = plan.share("broadcast_to", np.broadcast_to)
    plan.view(i.out, x, lambda a: np.broadcast_to(a, shape), f"{broadcast}({plan.text[x]}, {shape})")


def _is_basic(index: tuple[Any, ...]) -> bool:
    return not any(isinstance(part, np.ndarray | bool) for part in index)


def _getitem(plan: Plan, i: Instruction) -> None:
    (x,), index = i.inputs, i.op.settings["index"]
    name = plan.share(f"i{i.out}", index)
    if _is_basic(index):
        index = index if Ellipsis in index else (*index, Ellipsis)  # a view also of one number
        plan.share(name, index)
        plan.view(i.out, x, lambda a: a[index], f"{_array(plan, x)}[{name}]")
    else:
        source = plan.read(x)  # which keeps its buffer until here
        source = _array(plan, x) if x in plan.text else source
        plan.lines.append(f"{plan.out(i.out)}[...] = {source}[{name}]")


def _scatter(plan: Plan, i: Instruction) -> None:
    (x,), index = i.inputs, i.op.settings["index"]
    source = plan.read(x, plan.dtype(i.out))
    out, name = plan.out(i.out), plan.share(f"i{i.out}", index)
    plan.lines.append(f"{out}.fill(0)")
    if _is_basic(index):
        index = index if Ellipsis in index else (*index, Ellipsis)
        plan.share(name, index)
        part = plan.part_of_out(out, i.out, lambda a: a[index], f"{out}[{name}]")
        plan.lines.append(f"{part}[...] = {source}")
    else:
        plan.lines.append(f"{plan.function_named(np.add.at)}({out}, {name}, {source})")


def _concatenate(plan: Plan, i: Instruction) -> None:
    axis = i.op.settings["axis"] + len(plan.shape(i.out))
    sources = [plan.read(r) for r in i.inputs]
    out = plan.out(i.out)
    plan.lines.append(f"{plan.function_named(np.concatenate)}(({', '.join(sources)},), {axis}, {out})")


# --- rows by ids ------------------------------------------------------------------------------------------------------


def _take_rows(plan: Plan, i: Instruction) -> None:
    x, ids = map(plan.read, i.inputs)
    checked = plan.share("check_rows", _check_rows)
    out = plan.out(i.out)
    rows = plan.shape(i.inputs[0])[0]
    plan.lines.append(f"{x}.take({checked}({ids}, {rows}), 0, {out}, 'clip')")


def _emit_put_rows(plan: Plan, i: Instruction) -> None:
    x, ids = map(plan.read, i.inputs)
    put = plan.share("put_rows", _put_rows)
    plan.lines.append(f"{plan.out(i.out)}[...] = {put}({x}, {ids}, rows={i.op.settings['rows']})")


def _within(plan: Plan, i: Instruction) -> None:
    (ids,), s = i.inputs, i.op.settings
    check = plan.share("check_within", _check_within)
    plan.lines.append(f"{check}({plan.read(ids)}, {s['low']}, {s['high']}, {s['also']})")
    plan.stand_for(i.out, ids)


# --- reductions -------------------------------------------------------------------------------------------------------


def _reduce(ufunc: Any) -> Emit:
    def emit(plan: Plan, i: Instruction) -> None:
        x = i.inputs[0]
        axes = tuple(a + len(plan.shape(x)) for a in i.op.settings["axis"])
        source, out = plan.read(x), plan.out(i.out)
        keep = bool(i.op.settings["keepdims"])
        plan.lines.append(f"{plan.function_named(ufunc.reduce)}({source}, {axes}, None, {out}, {keep})")

    return emit


def _sum(plan: Plan, i: Instruction) -> None:
    """Sums over the last axes, or the first, as a product with ones: half the time, if there are few numbers."""
    (x,) = i.inputs
    shape, axes = plan.shape(x), tuple(sorted(a + len(plan.shape(x)) for a in i.op.settings["axis"]))
    kept = len(shape) - len(axes)
    small = math.prod(shape[a] for a in axes) <= LARGE and plan.dtype(i.out).kind == "f"
    if not (small and axes and plan.dtype(x) == plan.dtype(i.out) and len(shape) and math.prod(shape)):
        return _reduce(np.add)(plan, i)
    if axes == tuple(range(kept, len(shape))):
        rows, columns, last = math.prod(shape[:kept]), math.prod(shape[kept:]), True
    elif axes == tuple(range(len(axes))):
        rows, columns, last = math.prod(shape[: len(axes)]), math.prod(shape[len(axes) :]), False
    else:
        return _reduce(np.add)(plan, i)
    flat = _flat(plan, x, (rows, columns))
    if flat is None:
        return _reduce(np.add)(plan, i)
    out = plan.out(i.out)
    n = rows if last else columns
    place = out
    if plan.shape(i.out) != (n,):
        place = plan.part_of_out(out, i.out, lambda a: a.reshape(n), f"{out}.reshape({n})")
    many = columns if last else rows
    ones = plan.share(f"ones_{many}_{plan.dtype(x).name}", np.ones(many, plan.dtype(x)))
    plan.lines.append(f"{flat}.dot({ones}, {place})" if last else f"{ones}.dot({flat}, {place})")


def _flat(plan: Plan, r: int, shape: tuple[int, ...]) -> str | None:
    """A register in another shape, if that needs no copy."""
    if plan.shape(r) == shape:
        return plan.read(r)
    if plan.is_fixed(r):
        if not _shares(plan.fixed[r].reshape(shape), plan.fixed[r]):
            return None
        return plan.fixed_view(r, lambda a: a.reshape(shape))
    return f"{plan.read(r)}.reshape({shape})"


def _argument(function: Any) -> Emit:
    def emit(plan: Plan, i: Instruction) -> None:
        source = plan.read(i.inputs[0])
        axis, keep = i.op.settings["axis"], i.op.settings["keepdims"]
        found = f"{plan.function_named(function)}({source}, axis={axis}, keepdims={keep})"
        plan.lines.append(f"{plan.out(i.out)}[...] = {found}")

    return emit


def _cumsum(plan: Plan, i: Instruction) -> None:
    source = plan.read(i.inputs[0])
    plan.lines.append(f"{plan.share('cumsum', np.cumsum)}({source}, {i.op.settings['axis']}, None, {plan.out(i.out)})")


# --- products ---------------------------------------------------------------------------------------------------------


def _matmul(plan: Plan, i: Instruction) -> None:
    x, y = i.inputs
    a, b = plan.shape(x), plan.shape(y)
    one_dtype = plan.dtype(x) == plan.dtype(y) == plan.dtype(i.out)
    left = None
    rows, size = math.prod(a[:-1]), plan.size(x)
    if len(a) > 2 and len(b) == 2 and one_dtype and size:  # a batch of rows is one tall matrix
        left = _flat(plan, x, (rows, a[-1]))
    if left is not None:
        right, tall = plan.read(y), (rows, b[-1])
        out = plan.out(i.out)
        place = plan.part_of_out(out, i.out, lambda array: array.reshape(tall), f"{out}.reshape({tall})")
        plan.lines.append(_product(plan, size, left, right, place))
        return
    if one_dtype and len(a) > 2 and len(b) > 2 and math.prod(a[:-2]) == math.prod(b[:-2]) == 1:  # a batch of one
        first, second = _flat(plan, x, a[-2:]), _flat(plan, y, b[-2:])
        if first is not None and second is not None:
            matrix = (a[-2], b[-1])
            out = plan.out(i.out)
            place = plan.part_of_out(out, i.out, lambda array: array.reshape(matrix), f"{out}.reshape({matrix})")
            plan.lines.append(_product(plan, size, first, second, place))
            return
    left, right = plan.read(x), plan.read(y)
    out = plan.out(i.out)
    plain = len(a) <= 2 and len(b) <= 2 and one_dtype and a[-1] != 1  # (-1) * 0 alone is -0 by dot, and 0 by matmul
    plan.lines.append(_product(plan, size if plain else LARGE, left, right, out))


def _product(plan: Plan, size: int, left: str, right: str, out: str) -> str:
    """A line for `left @ right`: the method `dot` takes a third of the time to call."""
    if size < LARGE:
        return f"{left}.dot({right}, {out})"
    return f"{plan.share('matmul', np.matmul)}({left}, {right}, {out})"


def _called(plan: Plan, i: Instruction) -> None:
    """Any other op, such as a user's own: its forward function, and a copy of what it gives."""
    compute = plan.share(f"op{i.out}", lambda *inputs: i.op.compute(*map(_as_engine_keeps, inputs)))
    operands = [plan.read(r) if plan.program.constants.get(r, 0) is not None else "None" for r in i.inputs]
    plan.lines.append(f"{plan.out(i.out)}[...] = {compute}({', '.join(operands)})")


def _as_engine_keeps(x: Any) -> Any:
    return as_plain(x) if isinstance(x, np.ndarray) else x


def emit(plan: Plan, i: Instruction) -> None:
    """Write the lines of an instruction: by its own entry here, by NumPy's ufunc of the same meaning, or by a call."""
    op = i.op.base
    if op.name in EMIT:
        EMIT[op.name](plan, i)
    elif op.numpy and isinstance(op.numpy[0], np.ufunc):
        _ufunc(op.numpy[0])(plan, i)
    else:
        _called(plan, i)


EMIT: dict[str, Emit] = {  # those for which NumPy has no ufunc
    "where": _where, "astype": _copied, "reshape": _reshape, "transpose": _transpose, "broadcast_to": _broadcast_to,
    "concatenate": _concatenate, "getitem": _getitem, "scatter": _scatter, "take_rows": _take_rows,
    "put_rows": _emit_put_rows, "within": _within, "sum": _sum, "prod": _reduce(np.multiply),
    "max": _reduce(np.maximum), "min": _reduce(np.minimum), "argmax": _argument(np.argmax),
    "argmin": _argument(np.argmin), "cumsum": _cumsum, "matmul": _matmul,
}  # fmt: skip
