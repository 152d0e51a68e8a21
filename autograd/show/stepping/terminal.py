"""The terminal face: a step as plain text, tables written out side by side; and a player with keys."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from autograd.show.numbers import Table, table
from autograd.show.stepping.pieces import Number, Piece, merged, one_page, shown
from autograd.show.text import columns
from autograd.show.value_cards import is_small

if TYPE_CHECKING:
    from autograd.show.stepping.walk import Contribution, Step

WIDTH = 100
INDENT = "    "

Picture = list[str]  # lines of equal length


def describe(step: Step, colour: bool = False) -> str:
    """A whole step as text."""
    paint = Paint(colour)
    head = f"{paint.bold(step.title)}  {step.reading}"
    if step.node.line:
        head += f"   {paint.dim(step.node.line)}"
    lines = [head]
    if step.kind == "forward":
        lines += indented(forward_line(step), paint)
        return "\n".join(lines)
    slope = step.words.slope(step.node)
    lines += indented(beside([f"arrives  {slope} = ", Number(step.incoming, True)]), paint)
    for contribution in step.contributions:
        lines += contribution_lines(contribution, paint)
    if not step.contributions:
        lines.append(f"{INDENT}sends nothing on: no input asks for a gradient")
    return "\n".join(lines)


def forward_line(step: Step) -> Picture:
    """`Q = X @ WQ = …` in numbers."""
    if step.formula is None or step.formula.is_operand:
        return beside([f"{step.name} = ", Number(step.value)])
    return beside([f"{step.name} = ", *step.formula.equation(step.value)])


def contribution_lines(contribution: Contribution, paint: Paint) -> list[str]:
    words = contribution.step.words
    paths = f"path {contribution.path} of {contribution.paths}" if contribution.paths > 1 else "only path"
    name = paint.bold(words.name(contribution.parent))
    lines = [f"{INDENT}to {name}   {paint.grad(contribution.symbols)}   {paint.dim(paths)}"]
    if contribution.formula is None or contribution.formula.is_operand:
        numbers: list[Piece] = [Number(contribution.value, True)]
    else:
        numbers = contribution.formula.equation(contribution.value, is_gradient=True)
    lines += indented(beside(numbers), paint, 2)
    if contribution.before is not None:
        running = beside(["now ", Number(contribution.before, True), " → ", Number(contribution.total, True)])
        lines += indented(running, paint, 2)
    return lines


def beside(pieces: Iterable[Piece]) -> Picture:
    """Pieces next to one another, tables as rows in brackets; on one line if there is no table or no room."""
    pieces = merged(pieces)
    blocks = [block_of(piece) for piece in pieces]
    if sum(columns(block[0]) for block in blocks) > WIDTH:
        return wrapped(pieces)
    height = max(len(block) for block in blocks)
    rows = [""] * height
    for block in blocks:
        top = (height - len(block)) // 2
        blank = " " * columns(block[0])
        for row in range(height):
            inside = 0 <= row - top < len(block)
            rows[row] += block[row - top] if inside else blank
    return [row.rstrip() for row in rows]


def wrapped(pieces: list[Piece]) -> Picture:
    """Too wide for one line: a new line before each sign that stands outside tables."""
    lines: list[str] = []
    row: list[Piece] = []
    for piece in pieces:
        if isinstance(piece, str) and piece.strip() in ("=", "≈", "→") and row:
            lines += _fitted(row)
            row = [piece.lstrip()]
        else:
            row.append(piece)
    return lines + _fitted(row)


def _fitted(row: list[Piece]) -> Picture:
    blocks = [block_of(piece) for piece in row]
    if sum(columns(block[0]) for block in blocks) <= WIDTH:
        return beside(row)
    return ["".join(piece if isinstance(piece, str) else shown(piece.value, piece.bracketed) for piece in row)]


def block_of(piece: Piece) -> Picture:
    if isinstance(piece, str):
        return [piece]
    page = one_page(piece.value)
    if np.ndim(page) == 2 and is_small(np.shape(page)):
        return drawn(table(page))
    return [shown(piece.value, piece.bracketed)]


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


def indented(lines: Picture, paint: Paint, times: int = 1) -> list[str]:
    return [INDENT * times + line for line in lines]


class Paint:
    """Colours on a terminal that has them."""

    def __init__(self, colour: bool) -> None:
        self.colour = colour

    def _styled(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour else text

    def bold(self, text: str) -> str:
        return self._styled("1", text)

    def dim(self, text: str) -> str:
        return self._styled("2", text)

    def grad(self, text: str) -> str:
        return self._styled("33", text)
