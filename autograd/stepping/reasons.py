"""Why an op passes on less than it got: one reason an op, read off the numbers of a contribution."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from autograd.drawing.cards import norm
from autograd.formula.arithmetic import shown
from autograd.formula.numbers import count, rough
from autograd.stepping.walk import Contribution
from autograd.value import Value

SATURATED = 0.99  # of the most that a squashing function can give


def reason(contribution: Contribution) -> str:
    """What in the op makes a contribution smaller than what arrived, read off its numbers."""
    op = contribution.step.node.op
    assert op is not None
    told = _REASONS.get(op.name)
    text = told(contribution) if told is not None else ""
    slope = norm(contribution.value) / (norm(contribution.step.incoming) or 1)
    return text or f"There, {op.name} has a slope of about {rough(slope)}."


def _saturated(contribution: Contribution) -> str:
    out = np.asarray(contribution.step.value)
    name = contribution.step.node.op.name  # type: ignore[union-attr]
    slope = "1 − out²" if name == "tanh" else "out (1 − out)"
    flat = np.abs(out) > SATURATED if name == "tanh" else np.abs(out - 0.5) > SATURATED - 0.5
    if not np.any(flat):
        return ""
    part = "" if np.all(flat) else f" at {count(int(np.sum(flat)))} of {count(out.size)} entries"
    return (
        f"{name} is saturated{part}: at an input this far from 0 its slope, {slope}, is almost 0. "
        "Scale its inputs down, or start with smaller weights."
    )


def _dead(contribution: Contribution) -> str:
    x = np.asarray(contribution.step.words.data(contribution.parent))
    dead = int(np.sum(x <= 0))
    which = "its input is" if x.size == 1 else f"{count(dead)} of its {count(x.size)} inputs are"
    return (
        f"A dead ReLU: {which} not above 0, and there relu passes nothing on. "
        "A smaller learning rate, a positive bias or leaky_relu keeps units alive."
    )


def _softmax(contribution: Contribution) -> str:
    p, g = np.asarray(contribution.step.value), np.asarray(contribution.step.incoming)
    if np.any(p.sum(axis=-1) == 0):
        return "A row of its input is masked out completely, so it is all zeros and passes nothing on."
    if np.max(np.ptp(g, axis=-1)) <= 1e-9 * np.max(np.abs(g)):
        return "What arrives is the same all along a row, and softmax does not change when all its inputs rise alike."
    if np.min(np.max(p, axis=-1)) > SATURATED:
        return (
            "softmax is saturated: one probability in each row is almost 1, and then small changes of the inputs "
            "change nothing. Divide the scores by a larger number (√d), or make them smaller."
        )
    return ""


def _normalised(contribution: Contribution) -> str:
    g = np.asarray(contribution.step.incoming)
    if np.max(np.ptp(g, axis=-1)) <= 1e-6 * np.max(np.abs(g)):
        return (
            "What arrives is the same for every feature of a row (a plain sum does that), and layer norm takes the "
            "mean off: a change that lifts all features alike is undone. Let the loss weigh features differently."
        )
    return "layer norm takes off the mean and the scale of each row, so changes in those directions leave no trace."


def _other_factor(contribution: Contribution) -> str:
    others = [x for x in contribution.step.node.inputs if x is not contribution.parent]
    words = contribution.step.words
    for other in others:
        data = words.data(other)
        name = words.name(other) if isinstance(other, Value) else shown(other)
        if not np.any(data):
            return f"It is multiplied by {name}, which is {'0' if np.ndim(data) == 0 else 'all zeros'}."
        return f"It is multiplied by {name}, whose largest entry is {rough(float(np.max(np.abs(data))))}."
    return ""


def _picked(contribution: Contribution) -> str:
    kept = int(np.count_nonzero(contribution.value))
    whole = np.size(contribution.value)
    return f"Only {count(kept)} of its {count(whole)} entries were used; the others get 0."


def _selected(contribution: Contribution) -> str:
    return "where took the other branch there, so nothing flows to this one."


def _not_extreme(contribution: Contribution) -> str:
    name = contribution.step.node.op.name  # type: ignore[union-attr]
    return f"{name} passes its gradient only to the entry it chose."


_REASONS: dict[str, Callable[[Contribution], str]] = {
    "tanh": _saturated, "sigmoid": _saturated, "relu": _dead, "softmax": _softmax, "log_softmax": _softmax,
    "layer_norm": _normalised, "rms_norm": _normalised, "mul": _other_factor, "matmul": _other_factor,
    "linear": _other_factor, "getitem": _picked, "where": _selected, "max": _not_extreme, "min": _not_extreme,
    "maximum": _not_extreme, "minimum": _not_extreme,
}  # fmt: skip
