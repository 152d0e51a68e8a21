"""The numbers of a card that stands for several nodes: a value that is carried, first → last; values side by side,
low … high; of arrays the range of all, and the norm of each gradient."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from autograd.engine import Value
from autograd.formula.numbers import DIGITS, ROUGH_DIGITS, UNKNOWN, dimensions, norm, rough, short, span

from ..scene import WIDEST_NUMBER, Row

ARROW = " → "
PAIR = 17  # characters of two numbers with three digits, `0.00676 → 0.00661`
FAR_APART = 0.1  # of two norms: then they share no notation
FAR = 0.1  # of the way between first and last: an extreme that lies further outside is shown


def fold_rows(
    members: Sequence[Value], in_a_row: bool, totals: Sequence[Value], brief: bool, wants_gradient: bool
) -> list[Row]:
    """The rows of a card that stands for these nodes. `totals` are the last ones, if they are running sums."""
    scalar = not np.ndim(members[0].data)
    values = [float(node.data) for node in members] if scalar else []
    gradient = gradient_text(members, in_a_row)
    bad = any(not np.all(np.isfinite(node.data)) for node in members)
    if brief:
        what = size_text(members[0])
        if scalar:
            what = _total(totals, ROUGH_DIGITS) if totals else ends(values, in_a_row)
        word = "g" if scalar else "‖g‖"
        return [Row(what, f"{word} {gradient}" if wants_gradient else "", _kind(gradient), bad=bad, plain_caption=True)]
    if scalar:
        caption, text = ("total", _total(totals)) if totals else ("value", ends(values, in_a_row))
        rows = [Row(caption, text, strong=True, bad=bad, roomy=_room(text))]
        rows += _extremes(values, in_a_row and not totals) if not bad else [_first_bad(values)]
    else:
        entries = np.concatenate([np.ravel(node.data) for node in members])
        finite = entries[np.isfinite(entries)]
        rows = [Row("shape", f"{dimensions(members[0].shape)} each", "info")]
        if finite.size:
            rows.append(Row("range of all", span(float(finite.min()), float(finite.max())), "info", bad=bad))
    if wants_gradient:
        caption = "grad" if scalar else "‖grad‖ each"
        rows.append(Row(caption, gradient, _kind(gradient), strong=scalar, roomy=_room(gradient)))
    return rows


def _total(totals: Sequence[Value], digits: int = DIGITS) -> str:
    """What a running sum came to; of several their range."""
    return short(float(totals[0].data), digits) if len(totals) == 1 else ends([float(x.data) for x in totals], False)


def gradient_text(members: Sequence[Value], in_a_row: bool) -> str:
    """The gradients of scalars, or the norms of those of arrays."""
    gradients = [node.grad for node in members]
    if any(gradient is None for gradient in gradients):
        return UNKNOWN
    if np.ndim(members[0].data):
        return ends([norm(gradient) for gradient in gradients], in_a_row, sizes=True)
    return ends([float(gradient) for gradient in gradients], in_a_row)


def joint_norm(members: Sequence[Value]) -> str:
    """The norm of all their gradients together."""
    if any(node.grad is None for node in members):
        return UNKNOWN
    return rough(math.hypot(*(norm(node.grad) for node in members)))


def ends(numbers: Sequence[float], in_a_row: bool, sizes: bool = False) -> str:
    """First → last, or low … high; one number where all are alike. `sizes`: each end to its own digits, for a small
    norm is no zero."""
    low, high = min(numbers), max(numbers)
    if low == high or any(map(math.isnan, numbers)):
        return rough(next((x for x in numbers if math.isnan(x)), low))
    if in_a_row:
        return rough(numbers[0]) + ARROW + rough(numbers[-1])
    return f"{rough(low)} … {rough(high)}" if sizes and low < FAR_APART * high else span(low, high)


def size_text(node: Value) -> str:
    """`4×3`; a vector's length in brackets, so that it does not read as a number."""
    return dimensions(node.shape) if len(node.shape) != 1 else f"[{node.shape[0]}]"


def _extremes(values: Sequence[float], in_a_row: bool) -> list[Row]:
    """Where the largest or smallest lies far outside the ends: an explosion that comes back."""
    if not in_a_row:
        return []
    first, last = values[0], values[-1]
    room = FAR * abs(last - first)
    rows = []
    for caption, extreme, beyond in (("max", max(values), max(first, last)), ("min", min(values), min(first, last))):
        if abs(extreme - beyond) > room:
            rows.append(Row(f"{caption}, at {list(values).index(extreme) + 1}", rough(extreme), "info"))
    return rows


def _first_bad(values: Sequence[float]) -> Row:
    """Which of them was the first that is NaN or infinite."""
    first = next(index for index, x in enumerate(values) if not math.isfinite(x))
    return Row("first that is not finite", f"number {first + 1}", "info", bad=True)


def _room(text: str) -> int:
    """Characters that such numbers may take, so that pictures of one structure are alike."""
    return PAIR if ARROW in text or "…" in text else WIDEST_NUMBER


def _kind(text: str) -> str:
    return "unknown" if text == UNKNOWN else "grad"


def parameter_row(members: Sequence[Value], name: str) -> Row:
    """A parameter as a row of the card that uses it: `Wx 4×3   ‖g‖ 2.72`."""
    one, times = members[0], f" ×{len(members)}" if len(members) > 1 else ""
    scalar = not np.ndim(one.data)
    if len(members) > 1:
        gradient: Any = joint_norm(members)
        word = "‖g‖ of all" if scalar else "‖g‖"
    else:
        gradient = UNKNOWN if one.grad is None else rough(float(one.grad) if scalar else norm(one.grad))
        word = "g" if scalar else "‖g‖"
    what = short(one.data, ROUGH_DIGITS) if scalar and not times else "" if scalar else size_text(one)
    return Row(f"{name} {what}".strip() + times, f"{word} {gradient}", _kind(gradient), plain_caption=True)
