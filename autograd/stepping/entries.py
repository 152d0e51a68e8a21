"""Any entry of any array of a graph: the line that made it, or the lines of its gradient, with numbers.

    >>> from autograd import step
    >>> x, w = Value([[1.0, 2.0]], name="x"), Value([[0.5, 3.0], [-1.5, 4.0]], name="w")
    >>> h = x @ w
    >>> h.name = "h"
    >>> steps = step((h * h).sum())
    >>> print(steps.entry("h", [0, 1]))
    h[0][1] = 1 × 3 + 2 × 4 = 11
    >>> print(steps.entry("w", [1, 0], "grad"))
    ∂L/∂w[1][0] = 2 × (−5) = −10
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from autograd.engine import Value
from autograd.errors import StepError
from autograd.formula.numbers import as_printed, dimensions
from autograd.formula.scalars.formulas import entry_name
from autograd.formula.writers.pieces import plain_text, shown

from .steps import BACKWARD

if TYPE_CHECKING:
    from .stepper import Stepper

KINDS = ("value", "grad")


def entry(stepper: Stepper, node: Value | str, index: Sequence[int], kind: str = "value") -> str:
    """The lines of one entry, as text."""
    if kind not in KINDS:
        raise ValueError(f'entry: kind is "value" or "grad"; got {kind!r}')
    twin = stepper.twin(stepper.node(node))
    name, place = stepper.words.name(twin), _place(twin, index, stepper.words.name(twin))
    return _value(stepper, twin, name, place) if kind == "value" else _gradient(stepper, twin, place)


def _place(node: Value, index: Any, name: str) -> tuple[int, ...]:
    asked = (index,) if isinstance(index, int) else tuple(index)
    shape = node.shape
    if len(asked) != len(shape) or not all(isinstance(i, int) and -n <= i < n for i, n in zip(asked, shape)):
        raise StepError(f"{name} has shape {dimensions(shape)}: there is no entry {list(asked)} of it")
    return tuple(i % n for i, n in zip(asked, shape))


def _value(stepper: Stepper, node: Value, name: str, place: tuple[int, ...]) -> str:
    what = entry_name(name, place)
    made = next((step for step in stepper.every if step.kind != BACKWARD and step.twin is node), None)
    if made is None:
        return f"{what} = {shown(np.asarray(stepper.words.data(node))[place].item())}, given"
    if not place:
        return f"{what} = {plain_text(made.pieces())}"
    return f"{what} = {_equation(plain_text(made.entry_in_numbers(made.lines[-1], place)))}"


def _gradient(stepper: Stepper, node: Value, place: tuple[int, ...]) -> str:
    what = entry_name(stepper.words.slope(node), place)
    total = stepper.walk.incoming.get(node)
    if total is None:
        raise StepError(f"{stepper.words.name(node)} has no gradient")
    sent = [one for step in stepper.every for one in step.contributions if one.twin is node]
    number = shown(np.asarray(total)[place].item())
    if not sent:
        return f"{what} = {number}, where backprop starts"
    rest = np.asarray(total)[place].item() if np.asarray(stepper.walk.gradient(node))[place] == 0 else 0.0
    rounded = f" ({shown(rest)} is rounding)" if rest else ""
    sign = "=" if len(sent) == 1 else "+="
    lines = [f"{what} {sign} {_equation(one.entry(*place))}" for one in sent]
    if len(sent) > 1:
        first, *others = (np.asarray(one.value)[place].item() for one in sent)
        terms = [shown(first), *(shown(x, bracketed=x < 0) for x in others)]
        of_printed = shown(sum(map(as_printed, (first, *others))))
        lines.append(f"{what} = {' + '.join(terms)} {'=' if of_printed == number else '≈'} {number}")
    return "\n".join(lines) + rounded


def _equation(text: str) -> str:
    """Arithmetic, or, where a number was only moved, the number."""
    return text.removeprefix("= ")
