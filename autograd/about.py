"""What an op's block tells a learner: its rule in words, why gradients become small in it, classic mistakes.

    exp = Op("exp", ..., about=About(rule="g times the result, because exp is its own derivative."))
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Slip:
    """A classic mistake: its name, a sentence that teaches, and, in an op's block, a wrong rule of its first input."""

    name: str
    teaches: str
    rule: Callable[..., Any] | None = None


@dataclass(frozen=True)
class About:
    """What a learner should know about an op.

    rule    its rule in words, one sentence
    small   why a gradient becomes small in it: a sentence, cases of its numbers (`ops/_reasons.py`), or a function of
            a `Passage` that reads a sentence off the numbers; a live page cannot ask that one again
    bad     what to do where its result or its slope is infinite or NaN
    total   what its result adds up to, row by row: 1 for probabilities
    slope_total     the same of the gradient it sends to its first input: 0 where a shift of the row changes nothing
    slips   classic mistakes in its rule
    opens   False if its definition says no more than its rule, so that there is nothing to see inside
    """

    rule: str = ""
    small: str | tuple[Any, ...] | Callable[[Any], str] = ""
    bad: str = ""
    total: float | None = None
    slope_total: float | None = None
    slips: tuple[Slip, ...] = ()
    opens: bool = True
