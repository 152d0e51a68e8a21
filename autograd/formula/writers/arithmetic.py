"""Formulas in numbers, `0.5 × 3`, as pieces: with the numbers in place, or with slots that a page fills."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from autograd.expr import UNKNOWN, Expr

from ..numbers import ALMOST_ZERO, MINUS, SUPERSCRIPTS, Notation, literal
from .pieces import Number, Piece, merged
from .python import nested
from .settings import over
from .writer import ATOM, POWER, SAID, SIGN, Side, Writer, entry_by_entry, hold_of_name, times_sign

Written = Callable[[Expr], Notation | None]


class Arithmetic(Writer):
    """A formula with numbers in its symbols' places. `written` gives the notation of a quantity's numbers."""

    def __init__(self, written: Written = lambda e: None) -> None:
        self.written = written

    def symbol(self, e: Expr) -> tuple[int, list[Piece]]:
        if e.value is UNKNOWN:
            return hold_of_name(e.name), [e.name]
        return self._number(Number(e.value, e.is_gradient, written=self.written(e)))

    def number(self, value: Any) -> tuple[int, list[Piece]]:
        if isinstance(value, bool | str) or value is None:
            return ATOM, [str(value)]
        if isinstance(value, np.ndarray):
            return ATOM, [Number(value)]
        text = literal(value)
        if text.startswith("√"):
            return ATOM, [Number(float(value), written=self.written(Expr.number(value)))]
        if text.startswith("("):
            return SIGN, [Number(value)]
        return ATOM, [text]

    def unbracketed(self, e: Expr) -> tuple[int, list[Piece]]:
        if e.is_number and isinstance(e.value, float) and self.written(e) is not None:
            return self._number(Number(e.value, written=self.written(e)))
        if e.op is not None and e.op.name == "neg" and e.args[0].is_number:
            return SIGN, [Number(-e.args[0].value)]  # a number like another, not a sign before one
        return super().unbracketed(e)

    def _number(self, number: Number) -> tuple[int, list[Piece]]:
        return (SIGN if number.is_negative else ATOM), [number]

    def join(self, *parts: list[Piece]) -> list[Piece]:
        return [piece for part in parts for piece in part]

    def sign(self, text: str) -> list[Piece]:
        return [text]

    def setting(self, text: str) -> list[Piece]:
        return [text]

    def bracketed(self, written: list[Piece]) -> list[Piece]:
        if len(written) == 1 and isinstance(written[0], Number) and np.ndim(written[0].value) == 0:
            return [replace(written[0], bracketed=True)]
        return ["(", *written, ")"]

    def times(self, op: ast.operator, left: Side, right: Side) -> str:
        return times_sign(op, left, right)

    def power(self, base: Side, exponent: Side) -> tuple[int, list[Piece]]:
        below, mark, raised = self.raised(base.write(ATOM)), entry_by_entry(base), exponent.formula
        if raised is None or not raised.is_number or not float(raised.value).is_integer():
            return POWER, [*below, f" ^{mark} ", *exponent.write(SIGN)]
        power = str(int(raised.value))
        return POWER, [*below, f"^{mark}{power.replace('-', MINUS)}" if mark else power.translate(SUPERSCRIPTS)]

    def raised(self, below: list[Piece]) -> list[Piece]:
        """What an exponent or the sign of a transpose follows: `(5×10⁻⁶)²`."""
        alone = len(below) == 1 and isinstance(below[0], Number) and below[0].has_power and not below[0].bracketed
        return ["(", *below, ")"] if alone else below

    def look_root(self, e: Expr) -> tuple[int, list[Piece]]:
        return ATOM, ["√(", *self.write(e.args[0]), ")"]

    def look_bars(self, e: Expr) -> tuple[int, list[Piece]]:
        return ATOM, ["|", *self.write(e.args[0]), "|"]

    def look_max(self, e: Expr) -> tuple[int, list[Piece]]:
        """`max(0.1, 0.3, 0.2)`: the entries of a row in one list."""
        assert e.op is not None
        return ATOM, [f"{e.op.look}(", *self.join(*self.listed([self.write(part) for part in nested(e)])), ")"]

    look_min = look_max

    def look_sum(self, e: Expr) -> tuple[int, list[Piece]]:
        return self._reduced("sum", e)

    def look_mean(self, e: Expr) -> tuple[int, list[Piece]]:
        return self._reduced("mean", e)

    def look_largest(self, e: Expr) -> tuple[int, list[Piece]] | None:
        return self._reduced("largest", e) if over(e) else None

    def look_smallest(self, e: Expr) -> tuple[int, list[Piece]] | None:
        return self._reduced("smallest", e) if over(e) else None

    def _reduced(self, word: str, e: Expr) -> tuple[int, list[Piece]]:
        """`sum of each row of [0.1 0.2]`"""
        along = over(e)
        return SAID, [f"{word} of {f'{along} of ' if along else ''}", *self.write(e.args[0], ATOM)]

    def view(self, inner: Expr, view: str) -> tuple[int, list[Piece]]:
        return ATOM, [*self.raised(self.write(inner, ATOM)), "ᵀ"]

    def turned(self, inner: Expr, view: str) -> tuple[int, list[Piece]] | None:
        if not inner.is_symbol or inner.value is UNKNOWN:
            return None
        turned = np.transpose(inner.value) if view == "T" else np.matrix_transpose(inner.value)
        return ATOM, [Number(turned, inner.is_gradient, written=self.written(inner))]


def equation(line: Any, digits: Any) -> list[Piece]:
    """A line in numbers with its result, `0.5 × 3 = 1.5`, each number as the `Digits` say."""
    result = Number(line.result.value, line.result.is_gradient, written=digits.written(line.result))
    sign, result = equals(digits.sign(line), result)
    return [*merged(Arithmetic(digits.written).line(line.formula)), f" {sign} ", result]


def equals(sign: str, result: Number) -> tuple[str, Number]:
    """A sign of equality and what follows it. An entry that rounds to 0 in its table's digits is `≈ 0`, not `= ≈0`."""
    return ("≈", replace(result, value=0.0)) if result.text == ALMOST_ZERO else (sign, result)


# --- slots ------------------------------------------------------------------------------------------------------------

IF_NEGATIVE, IF_RAISED = 1, 2  # when a page brackets a number: if it is negative, if it has a power of ten of its own


@dataclass(frozen=True)
class Slot(Number):
    """A place that a page fills with numbers of a block of registers. Its `value` only tells the number of axes, and is
    negative where there may be a minus.

    offset  which register of the block; -1 for all
    turned  the table is transposed
    raised  it is the base of a power, or of a transpose
    """

    block: int = 0
    offset: int = -1
    turned: bool = False
    raised: bool = False

    @property
    def data(self) -> list[int]:
        brackets = IF_NEGATIVE * self.bracketed + IF_RAISED * self.raised
        return [self.block, self.offset, int(self.turned), brackets, int(self.is_gradient)]


class Slots(Arithmetic):
    """A formula with slots in its symbols' places. `place` gives a symbol's or constant's block, or a register of one.
    Constants with many digits are slots too, in lines whose numbers are shown."""

    def __init__(self, place: Callable[[Expr], Any], is_shown: bool) -> None:
        super().__init__(lambda e: Notation() if is_shown else None)
        self.place, self.is_shown = place, is_shown

    def pieces(self, formula: Expr) -> list[Any]:
        """The formula as data: texts, and slots as lists."""
        return [_as_data(piece) for piece in merged(self.line(formula))]

    def _slot(self, e: Expr, turned: bool = False) -> Slot:
        place = self.place(e)
        block, offset = (place.block.number, place.offset) if hasattr(place, "offset") else (place.number, -1)
        like = np.zeros(np.shape(e.value)) if np.ndim(e.value) else -1.0
        return Slot(like, e.is_gradient, block=block, offset=offset, turned=turned)

    def symbol(self, e: Expr) -> tuple[int, list[Piece]]:
        if e.value is UNKNOWN:
            return hold_of_name(e.name), [e.name]
        return (ATOM if np.ndim(e.value) else SIGN), [self._slot(e)]

    def number(self, value: Any) -> tuple[int, list[Piece]]:
        if isinstance(value, np.ndarray):
            return ATOM, [self._slot(Expr.number(value))]
        return super().number(value)

    def unbracketed(self, e: Expr) -> tuple[int, list[Piece]]:
        if e.is_number and isinstance(e.value, float) and self.is_shown:
            return (SIGN if e.value < 0 else ATOM), [replace(self._slot(e), value=e.value)]
        return super().unbracketed(e)

    def raised(self, below: list[Piece]) -> list[Piece]:
        return [replace(below[0], raised=True)] if len(below) == 1 and isinstance(below[0], Slot) else below

    def turned(self, inner: Expr, view: str) -> tuple[int, list[Piece]] | None:
        return (ATOM, [self._slot(inner, turned=True)]) if inner.is_symbol and inner.value is not UNKNOWN else None


def _as_data(piece: Piece) -> Any:
    if isinstance(piece, Slot):
        return piece.data
    return piece if isinstance(piece, str) else piece.text
