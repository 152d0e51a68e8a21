"""Pieces of a formula next to one another in lines of text, tables as rows in brackets, none wider than asked for."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from autograd.formula.arithmetic import SIGNS, Piece, merged, one_page, units
from autograd.formula.numbers import Table, is_small, table
from autograd.formula.text import columns

_ENDS_IN_SIGN = re.compile(f"(.*) ([{SIGNS}] )")
HANG = "  "  # before the later lines of a formula that takes several

Picture = list[str]  # lines of equal length


def beside(pieces: Iterable[Piece], width: int) -> Picture:
    """All in one row if there is room; else a new row before each sign of equality, and further ones where need be."""
    pieces = merged(pieces)
    whole = [block_of(piece) for piece in pieces]
    if _width(whole) <= width:
        return _row(whole)
    return [line for side in _sides(pieces) for line in flowed(side, width)]


def flowed(pieces: Iterable[Piece], width: int) -> Picture:
    """As much in each row as fits, broken at the spaces of the texts; only one thing too wide by itself is wider."""
    rows: list[list[Picture]] = [[]]
    for unit in units(pieces):
        room = width - (columns(HANG) if len(rows) > 1 else 0)
        if rows[-1] and _width([*rows[-1], *map(block_of, unit)]) > room:
            rows.append([])
        if not rows[-1] and isinstance(unit[0], str):
            unit[0] = unit[0].lstrip()
        rows[-1] += map(block_of, unit)
    return [(HANG if index else "") + line for index, row in enumerate(rows) if row for line in _row(row)]


def block_of(piece: Piece) -> Picture:
    """A text on one line; a small table as its rows."""
    if isinstance(piece, str):
        return [piece]
    page = one_page(piece.value)
    if np.ndim(page) == 2 and is_small(np.shape(page)):
        return drawn(table(page, written=piece.written))
    return [piece.text]


def drawn(numbers: Table) -> Picture:
    """A table as lines: brackets, and columns aligned on the decimal point."""
    lines = []
    last = len(numbers.rows) - 1
    for index, row in enumerate(numbers.rows):
        cells = []
        for cell, (before, after) in zip(row, numbers.columns):
            cells.append((" " * (before - cell.before_point) + cell.text).ljust(before + after))
        left, right = "[]" if last == 0 else "⎡⎤" if index == 0 else "⎣⎦" if index == last else "⎢⎥"
        lines.append(f"{left}{'  '.join(cells)}{right}")
    if numbers.power:
        blank = " " * columns(numbers.power)
        lines = [line + (numbers.power if index == len(lines) // 2 else blank) for index, line in enumerate(lines)]
    return lines


def _sides(pieces: list[Piece]) -> list[list[Piece]]:
    """What stands before the first sign of equality, then each sign with what follows it."""
    sides: list[list[Piece]] = [[]]
    for piece in pieces:
        parted = _ENDS_IN_SIGN.fullmatch(piece) if isinstance(piece, str) and sides[-1] else None
        if parted:
            sides[-1] += [parted[1]] if parted[1] else []
            sides.append([parted[2]])
        else:
            sides[-1].append(piece)
    return sides


def _width(pictures: Iterable[Picture]) -> int:
    return sum(columns(picture[0]) for picture in pictures)


def _row(pictures: Iterable[Picture]) -> Picture:
    """Pictures side by side, each in the middle of the highest."""
    pictures = list(pictures)
    height = max(map(len, pictures))
    rows = [""] * height
    for picture in pictures:
        top = (height - len(picture)) // 2
        blank = " " * columns(picture[0])
        for row in range(height):
            inside = 0 <= row - top < len(picture)
            rows[row] += picture[row - top] if inside else blank
    return [row.rstrip() for row in rows]
