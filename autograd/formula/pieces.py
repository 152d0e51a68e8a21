"""A line of numbers: texts, the numbers between them, and how those print."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograd.drawing.cards import is_small
from autograd.formula.numbers import MINUS, as_printed, cell, dimensions, short, table


@dataclass(frozen=True)
class Number:
    """An operand in a line of numbers. `bracketed`: it is negative and stands after a sign."""

    value: Any
    is_gradient: bool = False
    bracketed: bool = False


Piece = str | Number

SIGNS = "=≈→"  # a line too wide breaks before these first
OPERATORS = (*SIGNS, *"+−×⊙·/^@*", "**", "+=")  # and never after one of these


def merged(pieces: Iterable[Piece]) -> list[Piece]:
    """Neighbouring texts as one; a negative number after a sign in brackets: `−20 × (−2)`."""
    joined: list[Piece] = []
    for piece in pieces:
        before = joined[-1] if joined else ""
        if isinstance(piece, str) and joined and isinstance(before, str):
            joined[-1] = before + piece
        elif isinstance(piece, Number) and is_negative(piece.value) and _ends_in_sign(before):
            joined.append(Number(piece.value, piece.is_gradient, bracketed=True))
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


def is_negative(value: Any) -> bool:
    return np.ndim(value) == 0 and short(value).startswith(MINUS)


def plain_text(pieces: Iterable[Piece]) -> str:
    return "".join(piece if isinstance(piece, str) else shown(piece.value, piece.bracketed) for piece in pieces)


def one_page(value: Any) -> Any:
    """A batch of one, `1×2×4`, as its only table."""
    shape = np.shape(value)
    return np.reshape(value, shape[-2:]) if len(shape) > 2 and set(shape[:-2]) == {1} else value


def shown(value: Any, bracketed: bool = False) -> str:
    """A value on one line: a number, a small table, or the shape of a large one."""
    if np.ndim(value) == 0:
        text = cell(value).text
    elif has_numbers(value):
        text = str(table(one_page(value)))
    else:
        text = f"[{dimensions(np.shape(value))}]"
    return f"({text})" if bracketed else text


def has_numbers(value: Any) -> bool:
    """Does `shown` print the value's numbers, and not just its shape?"""
    return np.ndim(value) == 0 or is_small(np.shape(one_page(value)))


def has_power(value: Any) -> bool:
    """Does it print with a power of ten, `5×10⁻⁶`?"""
    return "×10" in shown(value)


def read_off(value: Any) -> Any:
    """The value that a reader sees: rounded as it is printed. An array shown by its shape stands for itself."""
    if np.ndim(value) == 0:
        return as_printed(value)
    return np.reshape(as_printed(one_page(value)), np.shape(value)) if has_numbers(value) else value
