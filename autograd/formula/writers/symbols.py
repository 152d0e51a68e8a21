"""Formulas as text: for people, `g * (1 − L ** 2)`; for an edge, the shortest form; as code that runs."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np

from autograd.expr import Expr
from autograd.expr.expr import lines_of

from ..numbers import MINUS, literal
from .settings import is_default, without_new_axes
from .writer import ATOM, SAID, SIGN, Writer, hold_of_name

IDENTIFIERS = str.maketrans("₀₁₂₃₄₅₆₇₈₉⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789" * 2)  # m₁ is no name in Python


def text(e: Expr) -> str:
    """A formula for people, in plain characters; the lines it uses come first: `u = g - dot; p * u`."""
    return "; ".join(_with_lines(e, Text().write, str))


def code(e: Expr) -> str:
    """A formula as Python over the table's functions; its lines are assignments before it."""
    return "\n".join(_with_lines(e, Code().write, lambda name: name.translate(IDENTIFIERS)))


def _with_lines(e: Expr, write: Callable[[Expr], str], called: Callable[[str], str]) -> list[str]:
    """A formula, after the lines that it uses."""
    lines = [(line.name, line.formula) for line in lines_of(e)]
    return [*(f"{called(name)} = {write(formula)}" for name, formula in lines if formula is not None), write(e)]


class Symbols(Writer):
    """One line of text, written like Python: `g * (1 − out ** 2)`.

    `gradient` is a name for the gradient that arrives, instead of its own symbol; `array_name` gives the name of an
    array. In a rule (`as_rule`) ops that only change a shape are left out; in an expression of the user's they stay.
    """

    def __init__(self, gradient: str = "", array_name: Any = None, as_rule: bool = True) -> None:
        self.gradient, self.array_name, self.as_rule = gradient, array_name, as_rule

    def look_same(self, e: Expr) -> tuple[int, str] | None:  # type: ignore[override]
        return super().look_same(e) if self.as_rule else None

    def symbol(self, e: Expr) -> tuple[int, str]:
        if e.inline and e.formula is not None:
            return self.unbracketed(e.formula)
        if e.is_gradient and self.gradient and e.formula is None:
            return ATOM, self.gradient
        return (ATOM if e.is_gradient else hold_of_name(e.name)), e.name

    def number(self, value: Any) -> tuple[int, str]:
        return ATOM, literal(value)

    def array_text(self, array: Any) -> str:
        name = self.array_name(array) if self.array_name is not None else ""
        return name or super().array_text(array)


class Edge(Symbols):
    """The shortest form, for the label of an edge: what flows along it has the shape of the card it flows to."""

    def look_copied(self, e: Expr) -> tuple[int, str]:
        return self.unbracketed(without_new_axes(e.args[0]))

    whole: Expr | None = None  # the formula on the edge

    def write(self, e: Expr, outer: int = SAID) -> str:
        self.whole = e if self.whole is None else self.whole
        return str(super().write(e, outer))

    def look_reshaped(self, e: Expr) -> tuple[int, str]:
        return self.unbracketed(e.args[0]) if e is self.whole else super().look_reshaped(e)

    def look_placed(self, e: Expr) -> tuple[int, str]:
        tightness, written = super().look_placed(e)
        return tightness, written.removesuffix(", 0 elsewhere")

    def is_implied(self, e: Expr, name: str) -> bool:
        return name not in ("axis", "k") or super().is_implied(e, name)


class Text(Symbols):
    """The same in the characters of a keyboard, as `str(expr)` prints it: numbers as Python writes them."""

    def sign(self, text: str) -> str:
        return text.replace(MINUS, "-").replace("≤", "<=").replace("≥", ">=").replace("≠", "!=")

    setting = sign

    def number(self, value: Any) -> tuple[int, str]:
        return _python(value)


class Code(Text):
    """Python that computes the formula again: every setting said, no word in place of a function."""

    def looked(self, e: Expr) -> None:
        return None

    def symbol(self, e: Expr) -> tuple[int, str]:
        return ATOM, e.name.translate(IDENTIFIERS)

    def is_implied(self, e: Expr, name: str) -> bool:
        return is_default(e, name)

    def keyword_text(self, e: Expr, name: str, setting: Any) -> str:
        return f"{name}={_python_setting(setting, alone=name == 'axis')}"

    def setting_text(self, e: Expr, name: str, setting: Any) -> str:
        assert e.op is not None
        return _python_setting(setting, alone=name == "index", in_brackets=e.op.reads.endswith("[index]"))


def _python(value: Any) -> tuple[int, str]:
    if isinstance(value, np.ndarray):
        return ATOM, f"array({value.tolist()!r})"
    if isinstance(value, np.generic):
        value = value.item()
    negative = isinstance(value, int | float) and not isinstance(value, bool) and value < 0
    return (SIGN if negative else ATOM), repr(value)


def _python_setting(setting: Any, alone: bool = False, in_brackets: bool = False) -> str:
    """A setting as Python; `alone`: a tuple of one is that one; `in_brackets`: it is an index in its place."""
    if isinstance(setting, tuple) and any(isinstance(p, slice | np.ndarray) or p is Ellipsis for p in setting):
        inside = ", ".join(_python_index(part) for part in setting)
        return inside if in_brackets else f"s_[{inside}]"
    if alone and isinstance(setting, tuple) and len(setting) == 1:
        return repr(setting[0])
    return repr(setting)


def _python_index(part: Any) -> str:
    if isinstance(part, slice):
        index = ast.Slice(*(None if end is None else ast.Constant(end) for end in (part.start, part.stop, part.step)))
        return ast.unparse(index)
    if part is Ellipsis:
        return "..."
    return _python(part)[1]
