"""Each core op as steps: pointwise ops by the C in their blocks, views as places, all others here."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import numpy as np

from ...program import Instruction, Program, common_dtype
from .places import Place, Shape, contiguous, is_basic, whole
from .products import matmul
from .steps import C_TYPES, REDUCTIONS, Call, Check, Dtype, Loop, Steps, Writer, literal


def steps_of(program: Program, has_blas: bool) -> Steps:
    """All steps of a program."""
    steps = Steps(program, has_blas)
    for i in program.code:
        EMIT.get(i.op.base.name, _point)(steps, i)
    return steps


def runs_in_c(program: Program, i: Instruction) -> bool:
    """Whether an instruction can be written in C; if not, NumPy runs it."""
    types = [program.types[r] for r in (*i.inputs, i.out)]
    if any(dtype.name not in C_TYPES or 0 in shape for shape, dtype in types):
        return False
    if any(program.constants.get(r, 0) is None for r in i.inputs):
        return False
    name, (_, out) = i.op.base.name, types[-1]
    if i.op.base.c:
        if out.kind == "f":
            return True
        if _kind(program, i).kind == "b" and re.search(r"[+-]", i.op.base.c):  # a sum of truths is a truth
            return False
        return not re.search(r"[a-z]\(", i.op.base.c)  # a function would be one of reals
    if name in ("matmul", "put_rows", "cumsum"):
        return out.kind == "f"
    if name in ("argmax", "argmin"):
        return types[0][1].kind == "f"
    if name in ("getitem", "scatter") and not is_basic(i.op.settings["index"]):
        return out.kind == "f"
    return name in EMIT


def _kind(program: Program, i: Instruction) -> Dtype:
    """The dtype in which the operands of a pointwise op meet."""
    return program.types[i.out][1] if i.op.base.name == "where" else common_dtype(program, i)


# --- each op as steps -------------------------------------------------------------------------------------------------


def _for_dtype(c: str, dtype: Dtype) -> str:
    """An expression that is written for doubles, for another dtype: C's functions for floats end in f."""
    return re.sub(r"\b([a-z]\w*)\(", r"\1f(", c) if dtype == np.float32 else c


def _point(s: Steps, i: Instruction) -> None:
    """A pointwise op, by the expression in its block."""
    kind = _kind(s.program, i)
    operands = tuple(s.operand(r, kind) for r in i.inputs)
    numbered = {name: f"{{{n}}}" for n, name in enumerate(i.op.base.names)}
    c = re.sub(r"\b[a-z]+\b(?!\()", lambda word: numbered.get(word[0], word[0]), _for_dtype(i.op.base.c, kind))
    s.steps.append(Loop(c, kind, operands, s.made(i.out), s.shape(i.out)))


def _astype(s: Steps, i: Instruction) -> None:
    s.copy(s.operand(i.inputs[0], s.dtype(i.out)), s.made(i.out))


def _view(look: Callable[[Place, Instruction, Shape], Place | None]) -> Callable[[Steps, Instruction], None]:
    def emit(s: Steps, i: Instruction) -> None:
        shape = s.shape(i.out)
        x = s.in_memory(i.inputs[0])
        view = look(x, i, shape)
        if view is None:  # a reshape for which numbers have to move
            target = whole(i.out, s.shape(i.inputs[0]))
            s.copy(x, target)
            view = whole(i.out, shape)
        s.places[i.out] = view

    return emit


def _moved(x: Place, i: Instruction, shape: Shape) -> Place:
    return x.moved(tuple(a + len(shape) for a in i.op.settings["axes"]))


def _getitem(s: Steps, i: Instruction) -> None:
    index = i.op.settings["index"]
    if is_basic(index):
        return _view(lambda x, i, shape: x.at(index))(s, i)
    x = s.side_by_side(s.in_memory(i.inputs[0]))
    places = np.arange(x.size).reshape(x.shape)[index]
    _call(s, i, "gather", (x, s.table(places)), places.size)


def _scatter(s: Steps, i: Instruction) -> None:
    index, dtype = i.op.settings["index"], s.dtype(i.out)
    out = whole(i.out, s.shape(i.out))
    if not is_basic(index):
        places = np.arange(out.size).reshape(out.shape)[index]
        x = s.copied(s.in_memory(i.inputs[0], dtype).broadcast(places.shape), dtype, places.shape)
        _call(s, i, "scatter", (x, s.table(places)), places.size, out.size)
        return
    part = out.at(index)
    if part.size < out.size:
        s.steps.append(Loop("{0}", dtype, (literal(0, dtype),), out, out.shape))
    numbers = s.operand(i.inputs[0], dtype)
    s.copy(numbers.broadcast(part.shape) if isinstance(numbers, Place) else numbers, part)
    s.places[i.out] = out


def _concatenate(s: Steps, i: Instruction) -> None:
    out = s.made(i.out)
    axis, start = i.op.settings["axis"] + len(out.shape), 0
    for r in i.inputs:
        n = s.shape(r)[axis]
        part = out.at((*(slice(None),) * axis, slice(start, start + n)))
        if part.size:
            s.copy(s.operand(r, s.dtype(i.out)), part)
        start += n


def _reduce(s: Steps, i: Instruction) -> None:
    x, dtype = i.inputs[0], s.dtype(i.out)
    domain = s.shape(x)
    axes = {a % max(len(domain), 1) for a in i.op.settings["axis"]}
    kept = tuple(1 if a in axes else n for a, n in enumerate(domain))
    s.made(i.out)
    target = Place(i.out, 0, domain, tuple(0 if a in axes else t for a, t in enumerate(contiguous(kept))))
    s.steps.append(Loop("{0}", dtype, (s.operand(x, dtype),), target, domain, i.op.base.name))


def _call(s: Steps, i: Instruction, name: str, reads: tuple[Place, ...], *numbers: int) -> None:
    """A function of real.c: what it reads, where it writes, and some sizes."""
    out = s.made(i.out)
    real = next(s.dtype(r) for r in (i.out, i.inputs[0]) if s.dtype(r).kind == "f")
    name += "f" if real == np.float32 else ""

    def lines(writer: Writer) -> list[str]:
        return [f"{name}({', '.join([*map(writer.pointer, (*reads, out)), *map(str, numbers)])});"]

    s.steps.append(Call(lines, reads, (i.out,)))


def _around(shape: Shape, axis: int) -> tuple[int, int, int]:
    """How many numbers lie before, along and after an axis."""
    axis %= max(len(shape), 1)
    return math.prod(shape[:axis]), math.prod(shape[axis : axis + 1]), math.prod(shape[axis + 1 :])


def _cumsum(s: Steps, i: Instruction) -> None:
    x = s.side_by_side(s.in_memory(i.inputs[0], s.dtype(i.out)))
    axis = i.op.settings["axis"]
    _call(s, i, "cumsum", (x,), *(_around(x.shape, axis) if axis is not None else (1, x.size, 1)))


def _argument(sign: int) -> Callable[[Steps, Instruction], None]:
    def emit(s: Steps, i: Instruction) -> None:
        x = s.side_by_side(s.in_memory(i.inputs[0]))
        axis = i.op.settings["axis"]
        _call(s, i, "argmax", (x,), *(_around(x.shape, axis) if axis is not None else (1, x.size, 1)), sign)

    return emit


# --- rows by ids: integers are checked before they are used ------------------------------------------------------


def _ids(s: Steps, r: int) -> Place:
    return s.side_by_side(s.in_memory(r, np.dtype(np.int64)))


def _checked(s: Steps, ids: Place, low: int, high: int, also: int | None, fail: Check) -> None:
    """Stop with the number of the check, and the first wrong id where Python finds it."""
    s.checks.append(fail)
    number = len(s.checks)
    limits = f"{low}, {high}, {also or 0}, {int(also is not None)}"

    def lines(writer: Writer) -> list[str]:
        found = f"first_outside({writer.pointer(ids)}, {ids.size}, {limits})"
        return [
            f"if ((found = {found})) {{",
            f"    *(i64 *)w = {writer.pointer(ids)}[found - 1];",
            f"    return {number};",
            "}",
        ]

    s.steps.append(Call(lines, (ids,), ()))


def _check_rows(s: Steps, ids: Place, rows: int) -> None:
    from autograd.ops.indexing.rows import _check_rows as fail

    _checked(s, ids, 0, rows - 1, None, lambda wrong: fail(wrong, rows))


def _within(s: Steps, i: Instruction) -> None:
    from autograd.ops.indexing.rows import _check_within as fail

    low, high, also = (i.op.settings[name] for name in ("low", "high", "also"))
    _checked(s, _ids(s, i.inputs[0]), low, high, also, lambda wrong: fail(wrong, low, high, also))
    s.places[i.out] = s.in_memory(i.inputs[0])


def _take_rows(s: Steps, i: Instruction) -> None:
    x, ids = s.side_by_side(s.in_memory(i.inputs[0])), _ids(s, i.inputs[1])
    _check_rows(s, ids, x.shape[0])
    out = s.made(i.out)
    width = math.prod(x.shape[1:]) * s.dtype(i.out).itemsize

    def lines(writer: Writer) -> list[str]:
        table, rows = writer.pointer(x), writer.pointer(out)
        return [f"take_rows((const char *)({table}), {writer.pointer(ids)}, (char *)({rows}), {ids.size}, {width});"]

    s.steps.append(Call(lines, (x, ids), (i.out,)))


def _put_rows(s: Steps, i: Instruction) -> None:
    ids, rows = _ids(s, i.inputs[1]), i.op.settings["rows"]
    _check_rows(s, ids, rows)
    shape = (*ids.shape, *s.shape(i.out)[1:])
    x = s.side_by_side(s.in_memory(i.inputs[0], s.dtype(i.out)).broadcast(shape))
    _call(s, i, "put_rows", (x, ids), ids.size, math.prod(s.shape(i.out)[1:]), rows)


EMIT: dict[str, Callable[[Steps, Instruction], None]] = {
    "astype": _astype, "reshape": _view(lambda x, i, shape: x.reshaped(shape)), "transpose": _view(_moved),
    "broadcast_to": _view(lambda x, i, shape: x.broadcast(shape)), "getitem": _getitem, "scatter": _scatter,
    "concatenate": _concatenate, **dict.fromkeys(REDUCTIONS, _reduce), "cumsum": _cumsum, "argmax": _argument(1),
    "argmin": _argument(-1), "within": _within, "take_rows": _take_rows, "put_rows": _put_rows,
    "matmul": matmul,
}  # fmt: skip
