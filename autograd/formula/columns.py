"""Pieces of a formula next to one another in lines of text, tables as rows in brackets, none wider than asked for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

import numpy as np

from autograd.formula.arithmetic import SIGNS, Piece, has_numbers, merged, one_page, pages, units
from autograd.formula.numbers import Table, dimensions, table
from autograd.formula.text import columns

_ENDS_IN_SIGN = re.compile(f"(.*) ([{SIGNS}] )")
HANG = "  "  # before the later lines of a formula that takes several

Picture = list[str]  # lines of equal length
Tint = Callable[[str], str]


def beside(pieces: Iterable[Piece], width: int, tint: Tint = str) -> Picture:
    """All in one row if there is room; else a new row before each sign of equality, and further ones where need be.
    Gradients get a `tint`."""
    pieces = merged(pieces)
    whole = [block_of(piece, tint) for piece in pieces]
    if _width(whole) <= width:
        return _row(whole)
    return [line for side in _sides(pieces) for line in flowed(side, width, tint)]


def flowed(pieces: Iterable[Piece], width: int, tint: Tint = str) -> Picture:
    """As much in each row as fits, broken at the spaces of the texts; only one thing too wide by itself is wider."""
    rows: list[list[Picture]] = [[]]
    for unit in units(pieces):
        room = width - (columns(HANG) if len(rows) > 1 else 0)
        if rows[-1] and _width([*rows[-1], *(_fitting(piece, room, tint) for piece in unit)]) > room:
            rows.append([])
        if not rows[-1] and isinstance(unit[0], str):
            unit[0] = unit[0].lstrip()
        rows[-1] += [_fitting(piece, room, tint) for piece in unit]
    return [(HANG if index else "") + line for index, row in enumerate(rows) if row for line in _row(row)]


def block_of(piece: Piece, tint: Tint = str) -> Picture:
    """A text on one line; a small table as its rows, a stack of them side by side."""
    if isinstance(piece, str):
        return [piece]
    page, lines = one_page(piece.value), [piece.text]
    if np.ndim(page) >= 2 and has_numbers(page):
        tables = [drawn(table(one, written=piece.written)) for one in pages(page)]
        lines = tables[0] if np.ndim(page) == 2 else _row([["["], *_parted(tables), ["]"]])
    return [tint(line) for line in lines] if piece.is_gradient else lines


def _parted(tables: list[Picture]) -> list[Picture]:
    return [part for table in tables for part in ([", "], table)][1:]


def _fitting(piece: Piece, width: int, tint: Tint) -> Picture:
    """A piece as it fits: a stack of tables too wide for a line as its shape."""
    block = block_of(piece, tint)
    if isinstance(piece, str) or np.ndim(one_page(piece.value)) < 3 or _width([block]) <= width:
        return block
    shape = f"[{dimensions(np.shape(piece.value))}]"
    return [tint(shape) if piece.is_gradient else shape]


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
