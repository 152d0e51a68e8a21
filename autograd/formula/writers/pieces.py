"""A line of arithmetic as pieces, texts and the numbers between them; and pieces as rows of text, tables in brackets.

A row of text is a list of runs, each with a style: "strong", "muted", "gradient" or "". What a style looks like is said
where the text is shown: in colours of a terminal, in type on a slide.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..numbers import MINUS, Notation, NumberTable, Window, cell, dimensions, notation, shows_entries, table
from ..text import columns

EQUALITY = "=≈→"  # a line too wide breaks before these first
OPERATORS = (*EQUALITY, *"+−×⊙·/^@*", "**", "^⊙", "+=")  # and never after one of these
HANG = "  "  # before the later rows of a line that takes several

_ENDS_IN_EQUALITY = re.compile(f"(.*) ([{EQUALITY}] )")


@dataclass(frozen=True)
class Number:
    """An operand in a line of numbers. `bracketed`: it is negative and stands after a sign."""

    value: Any
    is_gradient: bool = False
    bracketed: bool = False
    written: Notation | None = None

    @functools.cached_property
    def text(self) -> str:
        return shown(self.value, self.bracketed, self.written)

    @property
    def has_power(self) -> bool:
        """Does it show a power of ten, which is not a shape such as 5×10?"""
        return has_numbers(self.value) and "×10" in self.text

    @property
    def is_negative(self) -> bool:
        return np.ndim(self.value) == 0 and self.text.removeprefix("(").startswith(MINUS)


Piece = str | Number
Run = tuple[str, str]  # a text and its style
TextRow = list[Run]
Picture = list[Run]  # a piece as it is shown: one run under the other, of equal width


def merged(pieces: Iterable[Piece]) -> list[Piece]:
    """Neighbouring texts as one; a negative number after a sign in brackets: `−20 × (−2)`."""
    joined: list[Piece] = []
    for piece in pieces:
        before = joined[-1] if joined else ""
        if isinstance(piece, str) and joined and isinstance(before, str):
            joined[-1] = before + piece
        elif isinstance(piece, Number) and piece.is_negative and _ends_in_sign(before):
            joined.append(replace(piece, bracketed=True))
        else:
            joined.append(piece)
    return joined


def _ends_in_sign(piece: Piece) -> bool:
    return isinstance(piece, str) and piece.rstrip().endswith(tuple("+−×⊙·/^"))


def plain_text(pieces: Iterable[Piece]) -> str:
    """The pieces in one row."""
    return "".join(piece if isinstance(piece, str) else piece.text for piece in pieces)


def units(pieces: Iterable[Piece]) -> Iterator[list[Piece]]:
    """Pieces that stay in one row: parted at the spaces of the texts, but not after an operator. A row may begin with
    an operator; it does not end with one."""
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


# --- values ---------------------------------------------------------------------------------------------------------


def shown(value: Any, bracketed: bool = False, written: Notation | None = None) -> str:
    """A value in one row: a number, small tables, or the shape of a large one."""
    if np.ndim(value) == 0:
        text = cell(value, written=written).text
    elif has_numbers(value):
        text = ", ".join(str(table(page, written=written)) for page in pages(value))
        text = f"[{text}]" if np.ndim(one_page(value)) > 2 else text
    else:
        text = f"[{dimensions(np.shape(value))}]"
    return f"({text})" if bracketed else text


def has_numbers(value: Any) -> bool:
    """Is the value small enough for its numbers to be shown, and not just its shape?"""
    return np.ndim(value) == 0 or shows_entries(np.shape(value))


def one_page(value: Any) -> Any:
    """A batch of one, `1×2×4`, as its only table."""
    shape = np.shape(value)
    return np.reshape(value, shape[-2:]) if len(shape) > 2 and set(shape[:-2]) == {1} else value


def pages(value: Any) -> list[Any]:
    """The tables that an array is shown as: itself, or the matrices of a small stack of them."""
    value = one_page(value)
    return [value] if np.ndim(value) <= 2 else list(np.reshape(value, (-1, *np.shape(value)[-2:])))


# --- rows of text ---------------------------------------------------------------------------------------------------


def row_text(row: TextRow) -> str:
    """The row without its styles, and without spaces at its end."""
    return "".join(text for text, _ in row).rstrip()


def laid_out(pieces: Iterable[Piece], width: int) -> list[TextRow]:
    """All pieces side by side if there is room; else a new row before each sign of equality, and more where needed."""
    pieces = merged(pieces)
    whole = [_picture(piece) for piece in pieces]
    if _width(whole) <= width:
        return _side_by_side(whole)
    return [row for side in _sides(pieces) for row in flowed(side, width)]


def flowed(pieces: Iterable[Piece], width: int) -> list[TextRow]:
    """As much in each row as fits, broken at the spaces of the texts; only a single piece may be wider than that."""
    rows: list[list[Picture]] = [[]]
    for unit in units(pieces):
        room = width - (columns(HANG) if len(rows) > 1 else 0)
        if rows[-1] and _width([*rows[-1], *(_fitting(piece, room) for piece in unit)]) > room:
            rows.append([])
        if not rows[-1] and isinstance(unit[0], str):
            unit[0] = unit[0].lstrip()
        rows[-1] += [_fitting(piece, room) for piece in unit]
    return [[(HANG, "")] * (index > 0) + line for index, row in enumerate(rows) if row for line in _side_by_side(row)]


def bracketed(numbers: NumberTable) -> list[str]:
    """A table as rows of text: brackets, and columns aligned at the decimal point."""
    lines = []
    last = len(numbers.rows) - 1
    for index, row in enumerate(numbers.aligned):
        left, right = "[]" if last == 0 else "⎡⎤" if index == 0 else "⎣⎦" if index == last else "⎢⎥"
        lines.append(f"{left}{row}{right}")
    if numbers.power:
        blank = " " * columns(numbers.power)
        lines = [line + (numbers.power if index == len(lines) // 2 else blank) for index, line in enumerate(lines)]
    return lines


def _picture(piece: Piece) -> Picture:
    """A text as one row; a small table as its rows, a stack of tables side by side."""
    if isinstance(piece, str):
        return [(piece, "")]
    page, style = one_page(piece.value), "gradient" if piece.is_gradient else ""
    if not has_numbers(page) and np.size(page):
        window = Window(np.shape(page))
        lines = [*bracketed(table(window.of(page), written=piece.written or notation(page))), f"({window.note})"]
        wide = max(map(columns, lines))
        return [(line + " " * (wide - columns(line)), style) for line in lines]
    if np.ndim(page) < 2 or not has_numbers(page):
        return [(piece.text, style)]
    tables = [[(row, style) for row in bracketed(table(one, written=piece.written))] for one in pages(page)]
    if np.ndim(page) == 2:
        return tables[0]
    parted = [part for one in tables for part in ([(", ", style)], one)][1:]
    rows = _side_by_side([[("[", style)], *parted, [("]", style)]])
    return [("".join(text for text, _ in row), style) for row in rows]


def _fitting(piece: Piece, width: int) -> Picture:
    """A piece as it fits: of what is too wide, a vector takes two rows, and the tables of a stack stand in a column."""
    picture = _picture(piece)
    if isinstance(piece, str) or np.ndim(one_page(piece.value)) in (0, 2) or _width([picture]) <= width:
        return picture
    if np.ndim(piece.value) > 1:
        rows = [row for page in pages(piece.value) for row in bracketed(table(page, written=piece.written))]
        rows = [row.ljust(max(map(columns, rows))) for row in rows]
    else:
        entries = piece.text.split(", ")
        half = (len(entries) + 1) // 2
        rows = [", ".join(entries[:half]) + ",", " " + ", ".join(entries[half:])]
        rows = [row.ljust(max(map(columns, rows))) for row in rows]
    return [(row, picture[0][1]) for row in rows]


def _sides(pieces: list[Piece]) -> list[list[Piece]]:
    """What stands before the first sign of equality, then each sign with what follows it."""
    sides: list[list[Piece]] = [[]]
    for piece in pieces:
        parted = _ENDS_IN_EQUALITY.fullmatch(piece) if isinstance(piece, str) and sides[-1] else None
        if parted:
            sides[-1] += [parted[1]] if parted[1] else []
            sides.append([parted[2]])
        else:
            sides[-1].append(piece)
    return sides


def _width(pictures: Iterable[Picture]) -> int:
    return sum(columns(picture[0][0]) for picture in pictures)


def _side_by_side(pictures: list[Picture]) -> list[TextRow]:
    """Pictures in rows, each in the middle of the highest."""
    height = max(map(len, pictures))
    return [list(row) for row in zip(*(_in_the_middle(picture, height) for picture in pictures))]


def _in_the_middle(picture: Picture, height: int) -> Picture:
    space, above = [(" " * _width([picture]), "")], (height - len(picture)) // 2
    return space * above + picture + space * (height - len(picture) - above)
