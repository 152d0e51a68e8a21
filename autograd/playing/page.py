"""The pages of `handgrad play`: a formula as a stepper that a page around it can read and change."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from autograd.drawing.paint.theme import MONO, SANS, variables_css
from autograd.engine import Value
from autograd.errors import HandgradError, StepError
from autograd.formula.numbers import short
from autograd.graph import topological
from autograd.saving.pages import asset, embedded, filled
from autograd.stepping import Stepper, step
from autograd.stepping.page import document

from .code import Piece, code, result_name
from .formula import Formula, FormulaError
from .graph import build, with_numbers
from .parser import parse

file = functools.partial(asset, "autograd.playing")
DATA = re.compile(r"([xyXYt]|inputs?|targets?|labels?)(_?[\w₀-₉]*\d|_(train|true|test))?")
MOST_CARDS = 40  # of a page that is made again while somebody types


@dataclass(frozen=True)
class Sample:
    """A formula to begin with."""

    formula: str
    about: str
    values: Mapping[str, float]


SAMPLES = (
    Sample("tanh(a*b + a^2)", "two paths to a", {"a": 2.0, "b": -3.0}),
    Sample("tanh(x1*w1 + x2*w2 + b)", "one neuron", {"x1": 2.0, "w1": -3.0, "x2": 0.5, "w2": 1.0, "b": 6.7}),
    Sample("(w*x + b - y)^2", "the error of a line", {"w": 0.5, "x": 3.0, "b": 1.0, "y": 2.0}),
    Sample("-log(sigmoid(w*x + b))", "the loss of a yes-or-no guess", {"w": 1.0, "x": -2.0, "b": 0.5}),
    Sample("log(exp(a) + exp(b) + exp(c)) - a", "cross entropy: softmax and log", {"a": 1.0, "b": 2.0, "c": -1.0}),
    Sample("relu(w*x + b) + 0.1x", "a dead unit and the way past it", {"w": -1.0, "x": 2.0, "b": 0.5}),
    Sample("x^3 - 2x", "one name, two paths", {"x": 1.5}),
)


@dataclass(frozen=True)
class Play:
    """A formula with numbers for all its names, computed."""

    formula: Formula
    values: dict[str, float]
    root: Value

    @property
    def has_gradient(self) -> bool:
        return self.root.size == 1 and self.root.requires_grad

    @property
    def note(self) -> str:
        """What a reader should know about it; mostly nothing."""
        if self.has_gradient:
            return ""
        if self.root.size == 1:
            return "A small change of a number changes nothing here, so there is the forward pass alone."
        ends = f"This ends in an array of shape {self.root.shape}, so there is the forward pass alone"
        return f"{ends}; .sum() makes it one number, with gradients."

    def stepper(self) -> Stepper:
        try:
            title = self.formula.text.strip()
            return step(self.root, title=title, backward=self.has_gradient, inputs=data_in(self.formula.names))
        except HandgradError as error:
            raise FormulaError(str(error), 0, len(self.formula.text)) from error

    def code(self) -> list[Piece]:
        return code(self.formula, backward=self.has_gradient)

    @np.errstate(all="ignore")  # the steps themselves show where a number stops being finite
    def page(self, back: str = "") -> str:
        """The stepper's page, with a script that answers the page around it. `back`: the address of a link back."""
        stepper = self.stepper()
        text = document.write(stepper, back)
        leaves = [{"name": name, "value": x, **_shown(stepper, x, name)} for name, x in self.values.items()]
        result = {"name": self.root.name, **_shown(stepper, self.root.data, self.root.name or "")}
        told = embedded({"leaves": leaves, "result": result})
        data = f'<script id="play-numbers" type="application/json">{told}</script>'
        before, body, after = text.rpartition("</body>")
        return f"{before}{data}<script>{file('bridge.js')}</script>{body}{after}"


def _shown(stepper: Stepper, value: Any, name: str) -> dict[str, str]:
    """A number and its gradient as sliders show them; a page that is live finds these on its own."""
    try:
        grad = stepper.ledger(name).total
    except StepError:  # the name stands in the formula, but nothing is computed from it
        grad = None
    numbers = {"shownValue": value, "shownGrad": grad}
    return {key: "" if x is None or np.size(x) != 1 else short(np.ravel(x)[0].item()) for key, x in numbers.items()}


def play(text: str, values: Mapping[str, float]) -> Play:
    """Read and compute a formula. A name without a number gets one."""
    formula = parse(text)
    numbers = with_numbers(formula, values)
    root = build(formula, numbers)
    cards = len(topological(root))
    if cards > MOST_CARDS:
        raise FormulaError(f"it makes {cards} cards, and {MOST_CARDS} are as many as a page follows while you type", 0)
    root.name = result_name(formula)
    return Play(formula, numbers, root)


def data_in(names: Sequence[str]) -> list[str]:
    """The names that are data by convention: x, y, t, x1 and their like; none if nothing would be left to move.

    >>> data_in(["w", "x", "b", "y"]), data_in(["x"])
    (['x', 'y'], [])
    """
    found = [name for name in names if DATA.fullmatch(name)]
    return found if len(found) < len(names) else []


def playground() -> str:
    """The page in which a formula is typed."""
    parts = {"samples": "".join(map(_option, SAMPLES)), "first": escape(SAMPLES[0].formula)}
    return filled(file("play.html"), parts)


def _option(sample: Sample) -> str:
    formula, values = escape(sample.formula), escape(embedded(dict(sample.values)))
    return f'<option value="{formula}" data-values="{values}">{formula}: {escape(sample.about)}</option>'


def style() -> str:
    """The style sheet of a page with sliders."""
    return f"{variables_css(':root')}:root{{--mono:{MONO};--sans:{SANS}}}{file('play.css')}"
