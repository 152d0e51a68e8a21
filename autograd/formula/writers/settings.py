"""The settings of an op as people read them: axes counted from the front, indices, transposes; no defaults."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograd.errors import HandgradError
from autograd.expr import UNKNOWN, Expr
from autograd.op import Op

from ..numbers import MINUS, dimensions


def is_default(e: Expr, name: str) -> bool:
    """Is a setting a default: the op's own, all axes, or the only axis there is?"""
    assert e.op is not None
    op, setting = e.op, e.op.settings[name]
    if name not in op.defaults:
        return False
    default = op.defaults[name]
    rank = axes_of(e)
    if name == "axis":
        if op.pack:
            return _usual_axis(op, e) == setting
        if rank == 1 and default in (None, -1) and setting in ((-1,), -1):
            return True
        if default is None and rank and setting == tuple(range(-rank, 0)):
            return True
    return setting in (default, (default,))


def _usual_axis(op: Op, e: Expr) -> Any:
    """The axis that `concatenate(xs)` means, counted from the end; None if that cannot be known."""
    try:
        return op.normalize(*op.pack(e.args))[1]["axis"]  # type: ignore[misc]
    except HandgradError:  # the usual axis does not fit these inputs, or their shapes are unknown
        return None


def axes_of(e: Expr) -> int:
    """The number of axes that an op's `axis` counts in: its operand's, or its result's where that has more."""
    if e.value is UNKNOWN or any(part.value is UNKNOWN for part in e.args[:1]):
        return 0
    return max([e.ndim, *(part.ndim for part in e.args[:1])])


def from_the_front(e: Expr, axis: Any) -> tuple[int, ...]:
    """Axes as people count them: the last axis of a matrix, -1 to the ops, is 1."""
    rank = axes_of(e)
    axes = axis if isinstance(axis, tuple) else (axis,)
    return tuple(a % rank if rank else a for a in axes)


def over(e: Expr) -> str:
    """Over what a sum or mean runs: each row, each column, or axes by number; "" for everything."""
    axes, rank = from_the_front(e, e.settings["axis"]), e.args[0].ndim
    if len(axes) == rank or rank < 2:
        return ""
    if axes == (rank - 1,):
        return "each row"
    if axes == tuple(range(rank - 1)):
        return "each column"
    return axes_text(axes, "axis ")


def axes_text(axes: tuple[int, ...], one: str) -> str:
    return f"{one}{axes[0]}" if len(axes) == 1 else f"axes {' and '.join(map(str, axes))}"


def turned_once(e: Expr) -> tuple[Expr, str]:
    """What a formula is the transpose of, and which, `T` or `mT`; of what is turned twice, the thing itself and ""."""
    view = transposed(e) if e.op is not None and e.op.look == "transpose" else ""
    if not view:
        return e, ""
    inner = e.args[0]
    before = inner.formula if inner.inline and inner.formula is not None else inner
    twice = before.op is not None and before.op.look == "transpose" and transposed(before) == view
    return (before.args[0], "") if twice else (inner, view)


def transposed(e: Expr) -> str:
    """`T` or `mT` if the op swaps the last two axes, or reverses all; "" if it does something else."""
    settings = e.settings
    if "axes" in settings:
        return "T" if settings["axes"] == tuple(range(-1, -len(settings["axes"]) - 1, -1)) else ""
    if {settings.get("a"), settings.get("b")} == {-1, -2}:
        return "T" if e.value is not UNKNOWN and e.ndim == 2 else "mT"
    return ""


def without_new_axes(e: Expr) -> Expr:
    """What is copied, without the axes put in for it: the shape that it is copied to says them."""
    return e.args[0] if e.op is not None and e.op.look == "stood" else e


def index_text(index: Any, array_text: Any) -> str:
    """What stands between the brackets of `x[:, 1:3]`; the dots of `x[..., 1]` stay."""
    parts = index if isinstance(index, tuple) else (index,)
    return ", ".join(_index_part(part, array_text) for part in parts)


def without_dots(index: Any, x: Expr) -> Any:
    """`[1]` for `[..., 1, :]` of a matrix: dots become colons, and colons at the end are left out."""
    if not isinstance(index, tuple) or index[0] is not Ellipsis or x.value is UNKNOWN:
        return index
    if any(part is None or isinstance(part, np.ndarray) for part in index):
        return index
    parts = (slice(None),) * (x.ndim - len(index) + 1) + index[1:]
    while len(parts) > 1 and parts[-1] == slice(None) and parts[0] != slice(None):
        parts = parts[:-1]
    return parts


def _index_part(part: Any, array_text: Any) -> str:
    if isinstance(part, slice):
        ends = ["" if end is None else str(end).replace("-", MINUS) for end in (part.start, part.stop)]
        step = "" if part.step is None else ":" + str(part.step).replace("-", MINUS)
        return ":".join(ends) + step
    if part is Ellipsis:
        return "..."
    if isinstance(part, np.ndarray):
        return str(array_text(part))
    return str(part).replace("-", MINUS)


LONGEST_ARRAY = 24  # characters


def short_array(array: Any) -> str:
    """`[0, 2, 1]` of a short array; of a long one the ends of its only row, `[17, 4, …, 25]`, or its shape. Indices of
    a batch of one are those of its row: `weight[[0, 1]]` picks the rows of `weight[[[0, 1]]]`."""
    array = np.asarray(array)
    is_index = array.dtype.kind in "iu"
    while is_index and array.ndim > 1 and len(array) == 1:
        array = array[0]
    numbers = array.tolist()
    text = str(numbers).replace("-", MINUS)
    if len(text) <= LONGEST_ARRAY:
        return text
    if array.ndim > 1 or not is_index:
        return f"{dimensions(array.shape)} array"
    return f"[{numbers[0]}, {numbers[1]}, …, {numbers[-1]}]".replace("-", MINUS)
