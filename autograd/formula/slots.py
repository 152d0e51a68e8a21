"""Formulas in numbers with the numbers left open: what a page fills in again when somebody changes one.

The pieces are texts and slots. A slot names the block of registers it shows, which of them (-1: all), whether the table
is turned, and when the number is bracketed: a scalar after a sign if it is negative, the base of a power also if it has
a power of ten of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from autograd.expr import UNKNOWN, Expr
from autograd.formula.arithmetic import Arithmetic, Number, Piece, merged
from autograd.formula.numbers import Notation
from autograd.formula.writer import ATOM, SIGN, Side

IF_NEGATIVE, IF_RAISED = 1, 2  # when a number is bracketed


@dataclass(frozen=True)
class Slot(Number):
    """A place for numbers. Its `value` only says that there may be a minus, or how many axes there are."""

    block: int = 0
    offset: int = -1
    turned: bool = False
    raised: bool = False  # it is the base of a power

    @property
    def data(self) -> list[int]:
        brackets = IF_NEGATIVE * self.bracketed + IF_RAISED * self.raised
        return [self.block, self.offset, int(self.turned), brackets, int(self.is_gradient)]


class Slots(Arithmetic):
    """Writes a formula as pieces. `place` gives a symbol's or constant's block, or a register of one."""

    def __init__(self, place: Callable[[Expr], Any], is_shown: bool) -> None:
        super().__init__(self._notation)
        self.place, self.is_shown = place, is_shown

    def _notation(self, e: Expr) -> Notation | None:
        """Constants with many digits are spelled as the page chooses, in lines whose numbers are shown."""
        return Notation() if self.is_shown else None

    def pieces(self, formula: Expr) -> list[Any]:
        """The formula as data: texts, and slots as lists."""
        return [_as_data(piece) for piece in merged(self.write(formula))]

    def _slot(self, e: Expr, turned: bool = False) -> Slot:
        place = self.place(e)
        block, offset = (place.block.number, place.offset) if hasattr(place, "offset") else (place.number, -1)
        like = np.zeros(np.shape(e.value)) if np.ndim(e.value) else -1.0
        return Slot(like, e.is_gradient, block=block, offset=offset, turned=turned)

    def symbol(self, e: Expr) -> tuple[int, list[Piece]]:
        if e.value is UNKNOWN:
            return ATOM, [e.name]
        return (ATOM if np.ndim(e.value) else SIGN), [self._slot(e)]

    def number(self, value: Any) -> tuple[int, list[Piece]]:
        if isinstance(value, np.ndarray):
            return ATOM, [self._slot(Expr.number(value))]
        return super().number(value)

    def unbracketed(self, e: Expr) -> tuple[int, list[Piece]]:
        if e.op is None and not e.name and isinstance(e.value, float) and self.is_shown:
            return (SIGN if e.value < 0 else ATOM), [replace(self._slot(e), value=e.value)]
        return super().unbracketed(e)

    def power(self, base: Side, exponent: Side) -> tuple[int, list[Piece]]:
        tightness, pieces = super().power(base, exponent)
        first, second = pieces[0], pieces[1]
        if isinstance(first, Slot) and np.ndim(first.value) == 0 and isinstance(second, str):
            return tightness, [replace(first, raised=True), *pieces[1:]]
        return tightness, pieces

    def view(self, inner: Expr, view: str) -> tuple[int, list[Piece]]:
        if not inner.is_symbol or inner.value is UNKNOWN:
            return super().view(inner, view)
        return ATOM, [self._slot(inner, turned=True)]


def _as_data(piece: Piece) -> Any:
    if isinstance(piece, Slot):
        return piece.data
    return piece if isinstance(piece, str) else piece.text


def as_data(x: Any) -> Any:
    """A number for JSON, which has no infinities."""
    if isinstance(x, float) and not math.isfinite(x):
        return "NaN" if math.isnan(x) else "Infinity" if x > 0 else "-Infinity"
    return int(x) if isinstance(x, bool) else x
