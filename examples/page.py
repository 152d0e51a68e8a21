"""A worksheet as text: headings, formulas, the arithmetic of each step, matrices as matrices.

    Q = X × WQ
        Q[0][0] = 1×0.1 + 0×0 = 0.1
        ...
        Q = [0.1  0  ]
            [0    0.1]

Colours appear on a terminal and nowhere else.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TextIO

import numpy as np

DIGITS = 6
ALMOST = 1e-14          # 0.1×0.1 is a little off 0.01 in binary; by hand it is 0.01, and is written so
WIDTH = 100
INDENT = "    "

_PLAIN = str.maketrans({"−": "-", "×": "x", "≈": "~", "·": ".", "→": ">", "←": "<", "√": "sqrt", "Σ": "sum",
                        "█": "#", "▁": "_", "─": "-", "│": "|", "•": "*", "┤": "|", "└": "+", "η": "eta"})


class Page:
    """Where an example prints its steps.

    >>> page = Page(colour=False)
    >>> page.matrix("W", [[0.1, 0.0], [0.0, -2.5]])
        W = [0.1   0  ]
            [0    −2.5]
    """

    def __init__(self, stream: TextIO | None = None, colour: bool | None = None) -> None:
        self.stream = stream or sys.stdout
        self.colour = wants_colour(self.stream) if colour is None else colour

    # ---- headings and sentences ---------------------------------------------------------------------------------

    def title(self, text: str, goal: str = "") -> None:
        self.line("=" * WIDTH)
        self.line(text, "bold")
        if goal:
            self.line(goal, "dim")
        self.line("=" * WIDTH)

    def part(self, text: str) -> None:
        self.line(f"\n{text}", "bold")
        self.line("-" * WIDTH)

    def step(self, text: str) -> None:
        self.line(f"\n{text}", "blue")

    def say(self, *lines: str) -> None:
        for text in lines:
            self.line(INDENT + text)

    def formula(self, text: str) -> None:
        self.line(INDENT + text, "bold")

    def note(self, *lines: str) -> None:
        for text in lines:
            self.line(INDENT + text, "dim")

    # ---- numbers ------------------------------------------------------------------------------------------------

    def matrix(self, name: str, entries: Any, notes: Sequence[str] = ()) -> None:
        """A matrix or vector under its name, columns aligned on the decimal point; `notes` stand beside its rows."""
        head = f"{name} = "
        for number, row in enumerate(aligned(np.atleast_2d(np.asarray(entries, dtype=float)))):
            beside = f"   ← {notes[number]}" if number < len(notes) else ""
            self.say((" " * len(head) if number else head) + row + beside)

    def value(self, name: str, *arithmetic: str, value: float, deeper: str = "") -> None:
        """`ctx[0] = 0.498×0.1 + 0.502×0 = 0.0498`: a name, sums that lead to it, and its value."""
        self.say(deeper + " = ".join((name, *arithmetic, written(value))))

    def product(self, name: str, left: str, right: str, found: Mapping[str, Any], *,
                formula: str = "", labels: Sequence[str] = ()) -> None:
        """A matrix product: the formula, a line of arithmetic for each entry, the result.

        `labels` name the columns where they are tokens: `logit(A)` rather than `logit[0]`.
        """
        self.formula(formula or f"{name} = {left} × {right}")
        A, B, C = (np.asarray(found[key], dtype=float) for key in (left, right, name))
        for index in np.ndindex(C.shape):
            row = A[index[0]] if A.ndim == 2 else A
            column = B[:, index[-1]] if B.ndim == 2 else B
            self.value(name + subscript(index, labels), sum_of_products(row, column),
                       value=float(C[index]), deeper=INDENT)
        self.matrix(name, C)

    def entrywise(self, name: str, found: Mapping[str, Any], arithmetic: Callable[[tuple[int, ...]], str], *,
                  formula: str = "", labels: Sequence[str] = ()) -> None:
        """A table computed entry by entry; `arithmetic` writes one entry's sum."""
        if formula:
            self.formula(formula)
        entries = np.asarray(found[name], dtype=float)
        for index in np.ndindex(entries.shape):
            self.value(name + subscript(index, labels), arithmetic(index), value=float(entries[index]), deeper=INDENT)
        if entries.ndim == 2:
            self.matrix(name, entries)

    def update(self, name: str, gradient: str, found: Mapping[str, Any]) -> None:
        """One step of gradient descent, weight by weight."""
        eta = written(found["eta"])
        self.entrywise(f"{name}_new", found,
                       lambda at: f"{written(found[name][at])} − {eta}×{bracketed(found[gradient][at])}",
                       formula=f"{name}_new = {name} − η × {gradient}")

    def softmax(self, found: Mapping[str, Any], prefix: str, scores: str, result: str, suffix: str = "") -> None:
        """The five steps of a softmax: maximum, shifts, exponentials, sum, quotients."""
        shift, powers = (np.asarray(found[f"{prefix}_{part}{suffix}"]) for part in ("shift", "exp"))
        total = found[f"{prefix}_expsum{suffix}"]
        self.say(f"1. maximum:      {written(found[f'{prefix}_max{suffix}'])}",
                 f"2. take it off:  {listed(shift)}      {scores} − maximum",
                 f"3. exponentials: {listed(powers)}      exp of each",
                 f"4. their sum:    {' + '.join(written(power) for power in powers)} = {written(total)}",
                 f"5. divide:       {listed(powers / total)}      → {result}")

    def compare(self, heading: str, rows: Iterable[tuple[str, float, float]]) -> None:
        """Before and after, with the change."""
        rows = list(rows)
        width = max(len(heading), *(len(name) for name, *_ in rows))
        self.say(f"{heading:<{width}}  {'before':>14}  {'after':>14}  {'change':>14}")
        for name, before, after in rows:
            cells = (written(number) for number in (before, after, after - before))
            self.say(f"{name:<{width}}  " + "  ".join(f"{cell:>14}" for cell in cells))

    # ---- writing ------------------------------------------------------------------------------------------------

    def line(self, text: str = "", style: str = "") -> None:
        text = text.rstrip()
        if self.colour and style:
            text = f"{_STYLES[style]}{text}\x1b[0m"
        try:
            print(text, file=self.stream)
        except UnicodeEncodeError:      # a terminal that knows no − or ×
            encoding = self.stream.encoding or "ascii"
            print(text.translate(_PLAIN).encode(encoding, "replace").decode(encoding), file=self.stream)


_STYLES = {"bold": "\x1b[1m", "dim": "\x1b[2m", "blue": "\x1b[34;1m", "good": "\x1b[32m", "bad": "\x1b[31;1m"}


def wants_colour(stream: TextIO) -> bool:
    """Colours on a terminal, unless NO_COLOR is set or the terminal is dumb; plain text in a pipe or file."""
    return stream.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def decimals_for(entries: Any) -> int:
    """The decimals that show `DIGITS` digits of the largest entry."""
    largest = float(np.max(np.abs(entries), initial=0.0))
    return max(0, DIGITS - math.ceil(math.log10(largest))) if largest else 0


def written(number: float, decimals: int | None = None) -> str:
    """A number in plain decimals, as a worksheet writes it; one that *is* shorter is written short.

    >>> written(0.1 * 0.1), written(-2 / 3), written(1.7677e-5), written(0.2500001, 3)
    ('0.01', '−0.666667', '0.000017677', '0.250')
    """
    text = f"{number:.{decimals_for(number) if decimals is None else decimals}f}"
    if "." in text and abs(float(text) - number) <= ALMOST * max(1.0, abs(number)):
        text = text.rstrip("0").rstrip(".")
    return text.replace("-", "−") if float(text) else "0"


def bracketed(number: float) -> str:
    """A second operand: a negative one stands in brackets, `0.498×(−0.749)`."""
    text = written(number)
    return f"({text})" if text.startswith("−") else text


def aligned(matrix: np.ndarray) -> list[str]:
    """The rows of a matrix in brackets, every column lined up on its decimal point."""
    decimals = decimals_for(matrix)
    columns = []
    for column in matrix.T:
        parts = [written(number, decimals).partition(".") for number in column]
        before = max(len(whole) for whole, _, _ in parts)
        after = max(len(point + rest) for _, point, rest in parts)
        columns.append([whole.rjust(before) + (point + rest).ljust(after) for whole, point, rest in parts])
    return [f"[{'  '.join(row)}]" for row in zip(*columns)]


def listed(entries: Iterable[float]) -> str:
    """A vector on one line.

    >>> listed([0.25, -1.0])
    '[0.25, −1]'
    """
    numbers = [float(entry) for entry in entries]
    return "[" + ", ".join(written(number, decimals_for(numbers)) for number in numbers) + "]"


def sum_of_products(left: Iterable[float], right: Iterable[float]) -> str:
    """`1×0.1 + 0×0`: the arithmetic of a row times a column.

    >>> sum_of_products([1, -2], [0.5, 3])
    '1×0.5 + (−2)×3'
    """
    first, *rest = ((float(a), float(b)) for a, b in zip(left, right, strict=True))
    return " + ".join((f"{written(first[0])}×{bracketed(first[1])}",
                       *(f"{bracketed(a)}×{bracketed(b)}" for a, b in rest)))


def subscript(index: tuple[int, ...], labels: Sequence[str] = ()) -> str:
    """`[0][1]`, or `(B)` when the entries of a vector belong to tokens."""
    if labels and len(index) == 1:
        return f"({labels[index[0]]})"
    return "".join(f"[{i}]" for i in index)
