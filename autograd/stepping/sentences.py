"""A step in words: its op's rule (from the op's own block), and the question that it asks first."""

from __future__ import annotations

from collections.abc import Callable

from autograd.stepping.walk import BACKWARD, Step

MOST_LISTED = 4  # names in a sentence

def in_words(step: Step) -> str:
    """The step's rule in words; "" where nobody wrote one."""
    return step.node.op.about.rule if step.node.op is not None and step.module is None else ""


def asked_of(step: Step, mark: Callable[[str], str] = str) -> str:
    """What a reader may guess before a step is shown; `mark` writes the names in it."""
    if step.kind != BACKWARD:
        return "What will it be?"
    sent = sorted(step.contributions, key=lambda c: step.module is not None and c.parent.op is None)  # inputs first
    names = [mark(name) for name in dict.fromkeys(step.words.name(c.parent) for c in sent)]
    if not names:
        return "It sends nothing on."
    if len(names) > MOST_LISTED:
        names = [*names[: MOST_LISTED - 1], f"{len(names) - MOST_LISTED + 1} others"]
    *first, last = names
    return f"What will it send to {', '.join(first)} and {last}?" if first else f"What will it send to {last}?"
