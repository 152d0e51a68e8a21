"""Why an op passes on less than it got: what its block says about it, read off the numbers of a contribution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from autograd.drawing.cards import norm
from autograd.formula.arithmetic import shown
from autograd.formula.numbers import rough
from autograd.stepping.walk import Contribution
from autograd.value import Value


@dataclass(frozen=True)
class Passage:
    """The numbers of one contribution, as `About.small` sees them.

    op      the op's name
    g, out  the gradient that arrives, and the op's result
    x       the input that the contribution goes to; `others` are the op's other inputs, each with its name
    sent    what goes to x
    """

    op: str
    g: Any
    out: Any
    x: Any
    others: list[tuple[str, Any]]
    sent: Any


def reason(contribution: Contribution) -> str:
    """What in the op makes a contribution smaller than what arrived."""
    step, words = contribution.step, contribution.step.words
    op = step.node.op
    assert op is not None
    others = [
        (words.name(x) if isinstance(x, Value) else shown(x), words.data(x))
        for x in step.node.inputs
        if x is not None and x is not contribution.parent
    ]
    passage = Passage(op.name, step.incoming, step.value, words.data(contribution.parent), others, contribution.value)
    small = op.about.small
    text = small(passage) if callable(small) else small
    if not text and not norm(contribution.added.value) and norm(contribution.value):
        return "Its terms cancel; what is left of them is rounding error, which counts as 0."
    slope = norm(contribution.added.value) / (norm(step.incoming) or 1)
    return text or f"There, {op.name} has a slope of about {rough(slope)}."
