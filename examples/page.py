"""A worksheet as text: headings, formulas, the arithmetic of each step, matrices as matrices.

    Q = X @ WQ
        Q[0][0] = 1 × 0.1 + 0 × 0 = 0.1
        ...
    Q = ⎡0.1  0  ⎤
        ⎣0    0.1⎦

Formulas and arithmetic are the stepper's own lines (`autograd/formula/`), so that a sheet, a page and a terminal tell
the same. Colours appear on a terminal and nowhere else.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TextIO

import numpy as np

from autograd import Value, step
from autograd.formula.lines import Line
from autograd.formula.numbers import Notation, table
from autograd.formula.writers import pieces
from autograd.formula.writers.pieces import Piece, plain_text
from autograd.stepping import Contribution, Step, Stepper

DIGITS = 6
ALMOST = 1e-14          # 0.1×0.1 is a little off 0.01 in binary; by hand it is 0.01, and is written so
WIDTH = 100
INDENT = "    "

_PLAIN = str.maketrans({
    "−": "-", "×": "x", "≈": "~", "·": ".", "→": ">", "←": "<", "√": "sqrt", "∂": "d", "⊙": "*", "…": "...", "█": "#",
    "▁": "_", "─": "-", "│": "|", "•": "*", "┤": "|", "└": "+", "η": "eta", "Σ": "sum", "⁻": "^-", "≥": ">=", "≤": "<=",
    **dict.fromkeys("⎡⎢⎣", "["), **dict.fromkeys("⎤⎥⎦", "]"), **dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789"))})


class Page:
    """Where an example prints its steps.

    >>> page = Page(colour=False)
    >>> page.matrix("W", [[0.1, 0.0], [0.0, -2.5]])
        W = ⎡0.1   0  ⎤
            ⎣0    −2.5⎦
    """

    def __init__(self, stream: TextIO | None = None, colour: bool | None = None) -> None:
        self.stream = stream or sys.stdout
        self.colour = wants_colour(self.stream) if colour is None else colour
        self._told: set[Any] = set()  # the steps and contributions that were written already

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

    def matrix(self, name: str, entries: Any, notes: Sequence[str] = (), written: Notation | None = None) -> None:
        """A matrix or vector under its name, columns aligned on the decimal point; `notes` stand beside its rows."""
        head = f"{name} = "
        for number, row in enumerate(pieces.bracketed(table(np.asarray(entries, dtype=float), written=written))):
            beside = f"   ← {notes[number]}" if number < len(notes) else ""
            self.say((" " * len(head) if number else head) + row + beside)

    def value(self, name: str, *arithmetic: str, value: float, deeper: str = "") -> None:
        """`ctx[0] = 0.498×0.1 + 0.502×0 = 0.0498`: a name, sums that lead to it, and its value."""
        self.say(deeper + " = ".join((name, *arithmetic, written(value))))

    def update(self, name: str, gradient: str, found: Mapping[str, Any]) -> None:
        """One step of gradient descent, weight by weight."""
        slope = "∂" + gradient[1:].replace("/d", "/∂")
        new = Value(found[name], name=name) - found["eta"] * Value(found[gradient], name=slope)
        new.name = f"{name}_new"
        self.computed(step(new, backward=False), new.name)

    # ---- the lines of a derivation ------------------------------------------------------------------------------

    def computed(self, steps: Stepper, *names: str, entries: bool = True) -> None:
        """How named results were computed, entry by entry unless asked otherwise; before each, the results without a
        name that it is made of."""
        for name in names:
            self._forward(steps, steps[steps.find(name, "forward")], entries)

    def _forward(self, steps: Stepper, one: Step, entries: bool) -> None:
        if one in self._told:
            return
        self._told.add(one)
        for x in one.node.parents:
            if x.op is not None and not x.op.view and not x.name:
                self._forward(steps, steps[steps.find(x, "forward")], entries=False)
        for line in one.lines:
            self._derived(one, line, entries=entries)

    def received(self, steps: Stepper, *names: str) -> None:
        """How named gradients come about: what each path adds, and, where several meet, their sum."""
        for name in names:
            self._gradient(steps, steps.node(name))

    def _gradient(self, steps: Stepper, node: Value, entries: bool = True) -> None:
        paths = steps.ledger(node)
        for path in paths:
            if path not in self._told:
                self._told.add(path)
                if not path.step.node.name:  # what has no name is written on the way
                    self._gradient(steps, path.step.node, entries=False)
                self._contribution(path, entries)
                if path.previous is not None:
                    self.matrix(f"{path.step.words.slope(node)}, {path.path} of {path.paths} paths", path.summed.value)

    def _contribution(self, path: Contribution, entries: bool) -> None:
        for line in path.lines[:-1]:
            if line.result not in self._told:  # rules of one op may share it
                self._told.add(line.result)
                self._derived(path.step, line, entries=entries)
        assert path.line is not None
        self._derived(path.step, path.line, path.own_symbols, entries)

    def _derived(self, one: Step, line: Line, symbols: str = "", entries: bool = True) -> None:
        """A line in symbols, each of its entries in numbers, and its result."""
        name, formula, value = line.result.name, one.words.names.written(line.formula), np.asarray(line.result.value)
        symbols = symbols or (formula if formula == name else f"{name} = {formula}")
        self.formula(f"{symbols}{f'   {line.says}' if line.says else ''}")
        if not value.ndim:
            self.say(f"{INDENT}{name} = {in_numbers(one.in_numbers(line))}")
            return
        if formula == name:
            name = f"({name})"  # what has no name is called by its formula
        if line.is_spelled and entries:
            for index in np.ndindex(value.shape):
                self.say(f"{INDENT}{name}{subscript(index)} = {in_numbers(one.entry_in_numbers(line, index))}")
        self.matrix(name, value.reshape(-1, value.shape[-1]), written=one.digits.written(line.result))

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


def listed(entries: Iterable[float]) -> str:
    """A vector on one line.

    >>> listed([0.25, -1.0])
    '[0.25, −1]'
    """
    numbers = [float(entry) for entry in entries]
    return "[" + ", ".join(written(number, decimals_for(numbers)) for number in numbers) + "]"


def in_numbers(pieces: Sequence[Piece]) -> str:
    """Arithmetic and its result; only that where it is all there is to say."""
    *arithmetic, _, result = ["", "", *pieces]
    before = plain_text(arithmetic)
    return plain_text([result]) if before in ("", plain_text([result])) else plain_text(pieces)


def subscript(index: tuple[int, ...]) -> str:
    """`[0][1]`"""
    return "".join(f"[{i}]" for i in index)
