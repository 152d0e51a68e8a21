"""Formulas in numbers: `0.5 × 3`, as texts and the numbers between them."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from autograd.expr import UNKNOWN, Expr
from autograd.formula.numbers import MINUS, Notation, cell, dimensions, shows_entries, table
from autograd.formula.operands import literal
from autograd.formula.scalars import NAMES, nested
from autograd.formula.writer import ATOM, POWER, SAID, SIGN, Side, Writer, axis_words, from_the_front, times_sign

SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
SIGNS = "=≈→"  # a line too wide breaks before these first
OPERATORS = (*SIGNS, *"+−×⊙·/^@*", "**", "+=")  # and never after one of these


@dataclass(frozen=True)
class Number:
    """An operand in a line of numbers. `bracketed`: it is negative and stands after a sign."""

    value: Any
    is_gradient: bool = False
    bracketed: bool = False
    written: Notation | None = None

    @property
    def text(self) -> str:
        return shown(self.value, self.bracketed, self.written)


Piece = str | Number
Written = Callable[[Expr], Notation | None]


class Arithmetic(Writer):
    """A formula with numbers in its symbols' places. `written` tells how a quantity's numbers are spelled."""

    def __init__(self, written: Written = lambda e: None) -> None:
        self.written = written

    def symbol(self, e: Expr) -> tuple[int, list[Piece]]:
        if e.value is UNKNOWN:
            return ATOM, [e.name]
        number = Number(e.value, e.is_gradient, written=self.written(e))
        return (SIGN if is_negative(number) else ATOM), [number]

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
        if e.op is None and not e.name and isinstance(e.value, float) and self.written(e) is not None:
            number = Number(e.value, written=self.written(e))
            return (SIGN if is_negative(number) else ATOM), [number]
        if e.op is not None and e.op.name == "neg" and e.args[0].is_number:
            return SIGN, [Number(-e.args[0].value)]  # a number like another, not a sign before one
        return super().unbracketed(e)

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
        below = base.write(ATOM)
        if len(below) == 1 and isinstance(below[0], Number) and "×10" in below[0].text and not below[0].bracketed:
            below = ["(", *below, ")"]  # (5×10⁻⁶)²
        raised = exponent.formula
        if raised is not None and raised.is_number and float(raised.value).is_integer():
            return POWER, [*below, str(int(raised.value)).translate(SUPERSCRIPTS)]
        return POWER, [*below, " ^ ", *exponent.write(SIGN)]

    def look_root(self, e: Expr) -> tuple[int, list[Piece]]:
        return ATOM, ["√(", *self.write(e.args[0]), ")"]

    def look_bars(self, e: Expr) -> tuple[int, list[Piece]]:
        return ATOM, ["|", *self.write(e.args[0]), "|"]

    def look_extreme(self, e: Expr) -> tuple[int, list[Piece]]:
        """`max(0.1, 0.3, 0.2)`: the entries of a row in one list."""
        assert e.op is not None
        parts = [self.write(part) for part in nested(e)]
        return ATOM, [f"{NAMES[e.op.name]}(", *parts[0], *(p for part in parts[1:] for p in (", ", *part)), ")"]

    def look_sum(self, e: Expr) -> tuple[int, list[Piece]]:
        return self._reduced("sum", e)

    def look_mean(self, e: Expr) -> tuple[int, list[Piece]]:
        return self._reduced("mean", e)

    def _reduced(self, word: str, e: Expr) -> tuple[int, list[Piece]]:
        """`sum of each row of [0.1 0.2]`"""
        assert e.op is not None
        along = axis_words(from_the_front(e, e.op.settings["axis"]), e.args[0].ndim)
        return SAID, [f"{word} of {f'{along} of ' if along else ''}", *self.write(e.args[0], ATOM)]

    def view(self, inner: Expr, view: str) -> tuple[int, list[Piece]]:
        if not inner.is_symbol or inner.value is UNKNOWN:
            return ATOM, [*self.write(inner, ATOM), "ᵀ"]
        turned = np.transpose(inner.value) if view == "T" else np.matrix_transpose(inner.value)
        return ATOM, [Number(turned, inner.is_gradient, written=self.written(inner))]


# --- lines of pieces --------------------------------------------------------------------------------------------


def merged(pieces: Iterable[Piece]) -> list[Piece]:
    """Neighbouring texts as one; a negative number after a sign in brackets: `−20 × (−2)`."""
    joined: list[Piece] = []
    for piece in pieces:
        before = joined[-1] if joined else ""
        if isinstance(piece, str) and joined and isinstance(before, str):
            joined[-1] = before + piece
        elif isinstance(piece, Number) and is_negative(piece) and _ends_in_sign(before):
            joined.append(replace(piece, bracketed=True))
        else:
            joined.append(piece)
    return joined


def units(pieces: Iterable[Piece]) -> Iterator[list[Piece]]:
    """What no line end may part: pieces parted at the spaces of the texts, except after an operator. A line begins
    with one and does not end with one."""
    unit: list[Piece] = []
    for piece in _words(pieces):
        if isinstance(piece, str) and piece.startswith(" ") and unit and not _is_operator(unit):
            yield unit
            unit = []
        unit.append(piece)
    if unit:
        yield unit


def _words(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Texts as words, each with the spaces before it; numbers as they are."""
    for piece in pieces:
        yield from re.findall(r" *[^ ]+| +$", piece) if isinstance(piece, str) else [piece]


def _is_operator(unit: list[Piece]) -> bool:
    return len(unit) == 1 and isinstance(unit[0], str) and unit[0].strip() in OPERATORS


def _ends_in_sign(piece: Piece) -> bool:
    return isinstance(piece, str) and piece.rstrip().endswith(tuple("+−×⊙·/^"))


def is_negative(number: Number) -> bool:
    return np.ndim(number.value) == 0 and shown(number.value, False, number.written).startswith(MINUS)


def plain_text(pieces: Iterable[Piece]) -> str:
    return "".join(piece if isinstance(piece, str) else piece.text for piece in pieces)


def one_page(value: Any) -> Any:
    """A batch of one, `1×2×4`, as its only table."""
    shape = np.shape(value)
    return np.reshape(value, shape[-2:]) if len(shape) > 2 and set(shape[:-2]) == {1} else value


def pages(value: Any) -> list[Any]:
    """The tables that an array is shown as: itself, or the matrices of a small stack of them."""
    value = one_page(value)
    return [value] if np.ndim(value) <= 2 else list(np.reshape(value, (-1, *np.shape(value)[-2:])))


def shown(value: Any, bracketed: bool = False, written: Notation | None = None) -> str:
    """A value on one line: a number, small tables, or the shape of a large one."""
    if np.ndim(value) == 0:
        text = cell(value, written=written).text
    elif has_numbers(value):
        text = ", ".join(str(table(page, written=written)) for page in pages(value))
        text = f"[{text}]" if np.ndim(one_page(value)) > 2 else text
    else:
        text = f"[{dimensions(np.shape(value))}]"
    return f"({text})" if bracketed else text


def has_numbers(value: Any) -> bool:
    """Does `shown` print the value's numbers, and not just its shape?"""
    return np.ndim(value) == 0 or shows_entries(np.shape(value))
