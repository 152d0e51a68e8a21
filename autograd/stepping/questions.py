"""Questions about a step, and their answers: why now, why +=, why so small, why NaN; and what a reader may guess first.

Each answer is read off the numbers of one backward pass (`Walk`) and the words in the op's own block, never guessed
from the names of things.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from autograd.drawing.cards import is_masked
from autograd.engine import Value
from autograd.formula.numbers import count, norm, rough
from autograd.formula.writers.pieces import shown
from autograd.graph import topological

from .steps import BACKWARD, Contribution, Step

if TYPE_CHECKING:
    from .stepper import Stepper

TINY = 1e-6  # a gradient this much smaller than the one it started from asks for a reason
LOSSY = 0.5  # a factor below this is worth naming
MOST_LISTED = 4  # names in a sentence
ANY_REMEDY = "Look at its inputs."

# --- order and sums -----------------------------------------------------------------------------------------------


def why_now(stepper: Stepper, step: Step) -> str:
    """Why this step's turn has come."""
    words = stepper.words
    if step.kind != BACKWARD:
        ready = list(dict.fromkeys(words.name(x) for x in step.twin.parents))
        return f"{listed(ready)} {'is' if len(ready) == 1 else 'are'} known, so {step.name} can be computed."
    senders = stepper.received.get(step.twin, [])
    if not senders:
        return f"{step.name} is where backprop starts: if it grows by 1, it grows by 1."
    names = list(dict.fromkeys(sender.step.name for sender in senders))
    if len(names) == 1:
        fed = f"feeds only {names[0]}, and that is finished"
    else:
        fed = f"feeds {listed(names)}, and all of these are finished"
    return f"{step.name} {fed}: nothing more can arrive at {step.name}."


def why_plus(stepper: Stepper, node: Value) -> str:
    """Why contributions are added; "" where only one arrives."""
    senders = stepper.received.get(stepper.twin(node), [])
    if len(senders) < 2:
        return ""
    name = stepper.words.name(node)
    names = list(dict.fromkeys(sender.via for sender in senders))
    return (
        f"Why +=: {name} is used {count(len(senders))} times: in {listed(names)}. A change in {name} reaches "
        f"{stepper.words.top} along each of these paths, so their shares are added."
    )


# --- zero and tiny -------------------------------------------------------------------------------------------------


def dominant_path(stepper: Stepper, node: Value) -> list[Contribution]:
    """The contributions by which most of a node's gradient came, from the root down."""
    path: list[Contribution] = []
    while senders := stepper.ledger(node):
        path.append(max(senders, key=lambda c: (norm(c.value), norm(c.step.incoming))))
        node = path[-1].step.twin
    return path[::-1]


def factor(sent: Contribution) -> float:
    """How much of the gradient that arrives a step sends on, in size."""
    before = norm(sent.step.arrives.value)
    return norm(sent.added.value) / before if before else 1.0


def why_small(stepper: Stepper, node: Value) -> str:
    """The factor along the dominant path that makes a gradient zero or tiny; "" if it is neither."""
    gradient = stepper.walk.gradient(stepper.twin(node))
    if gradient is None or not np.all(np.isfinite(gradient)):
        return ""
    start, size = norm(stepper.walk.seed), norm(gradient)
    if size > TINY * start:
        return ""
    path = dominant_path(stepper, node)
    lossy = [sent for sent in path if factor(sent) < LOSSY]
    if not lossy:
        if size == 0 and len(stepper.ledger(node)) > 1:
            return "Why so small: its contributions cancel."
        return f"Why so small: {count(len(path))} steps each take a little."
    worst = min(lossy, key=factor)
    text = (
        f"Why so small: between {worst.step.name} and {stepper.words.name(worst.twin)} the gradient shrinks from "
        f"{rough(norm(worst.step.arrives.value))} to {rough(norm(worst.added.value))}. {reason(worst)}"
    )
    if others := len(lossy) - 1:
        text += f" {count(others)} other step{'s shrink' if others > 1 else ' shrinks'} it on the way."
    return text


def why_sent_little(contribution: Contribution) -> str:
    """Why one step passes almost nothing on; "" if it does."""
    before, after = norm(contribution.step.arrives.value), norm(contribution.added.value)
    if not np.isfinite(after) or contribution.step.module is not None or before == 0 or after > 1e-3 * before:
        return ""
    return reason(contribution)


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
    op = step.twin.op
    assert op is not None
    others = [(name, words.data(x)) for name, x in contribution.others]
    passage = Passage(op.name, step.incoming, step.value, words.data(contribution.twin), others, contribution.value)
    small = op.about.small
    text = small(passage) if callable(small) else small if isinstance(small, str) else first_case(small, passage)
    if not text and not norm(contribution.added.value) and norm(contribution.value):
        return "Its terms cancel; what is left of them is rounding error, which counts as 0."
    slope = norm(contribution.added.value) / (norm(step.incoming) or 1)
    return text or f"There, {op.name} has a slope of about {rough(slope)}."


# What a case of about.py asks of each number, or of each row; whys.js has the same names.
SO: dict[str, Callable[[Any, float], Any]] = {
    "near ±1": lambda rows, limit: np.abs(rows) > limit,
    "near 0 or 1": lambda rows, limit: (rows > limit) | (rows < 1 - limit),
    "not above 0": lambda rows, limit: rows <= 0,
    "not 0": lambda rows, limit: rows != 0,
    "0": lambda rows, limit: rows == 0,
    "row of zeros": lambda rows, limit: rows.sum(axis=-1) == 0,
    "level row": lambda rows, limit: np.ptp(rows, axis=-1) <= limit * np.max(np.abs(rows)),
    "row with one near 1": lambda rows, limit: np.max(rows, axis=-1) > limit,
}


def first_case(cases: Iterable[Any], passage: Passage) -> str:
    """What the first case that holds says; "" if none does."""
    for case in cases:
        name, other = passage.others[0] if passage.others else ("", 0.0)
        data = np.asarray(other if case.of == "other" else getattr(passage, case.of))
        if not data.size or (case.of == "other" and not passage.others):
            continue
        so = SO[case.so](np.atleast_2d(data), case.limit)
        k, n = int(np.sum(so)), so.size
        if {"all": k == n, "any": k > 0, "one": n == 1, "always": True}[case.when]:
            zeros, largest = "all zeros" if np.ndim(other) else "0", rough(np.max(np.abs(data)))
            return str(case.says.format(op=passage.op, name=name, k=k, n=n, zeros=zeros, largest=largest))
    return ""


# --- NaN and infinity ------------------------------------------------------------------------------------------------


def why_bad_value(value: Value) -> str:
    """The first NaN or infinity on the way forward to `value`; "" if it has none."""
    for node in topological(value):
        if not _is_bad(node) or any(map(_is_bad, node.parents)):
            continue
        if node.op is None:
            return f"Why {_bad_word(node.data)}: {name_of(node)} was given as {_bad_word(node.data)}."
        made = " and ".join(map(_name_and_value, dict.fromkeys(node.parents)))
        remedy = node.op.about.bad or ANY_REMEDY
        return f"Why {_bad_word(node.data)}: going forward, the first is made by {node.op.name}, from {made}. {remedy}"
    return ""


def why_bad_gradient(stepper: Stepper, node: Value) -> str:
    """The first NaN or infinity on the way back to `node`; "" if its gradient has none."""
    gradient = stepper.walk.incoming.get(stepper.twin(node))
    if gradient is None or np.all(np.isfinite(gradient)):
        return ""
    for step in stepper:
        if step.kind != BACKWARD or not np.all(np.isfinite(step.incoming)):
            continue
        for contribution in step.contributions:
            if not np.all(np.isfinite(contribution.value)):
                return _bad_step(contribution)
    return ""


def _bad_step(contribution: Contribution) -> str:
    step, words = contribution.step, contribution.step.words
    inputs = " and ".join(f"{words.name(x)} = {shown(words.data(x))}" for x in dict.fromkeys(step.twin.parents))
    remedy = (step.twin.op.about.bad or ANY_REMEDY) if step.twin.op is not None else ""
    return (
        f"Why {_bad_word(contribution.value)}: going back, the first is what {step.name} sends to "
        f"{words.name(contribution.twin)}: {contribution.numbers}, with {inputs}. {remedy}"
    )


def _is_bad(node: Value) -> bool:
    """Does it hold a NaN or an infinity, other than the −∞ of a mask?"""
    return not np.all(np.isfinite(node.data) | (np.isneginf(node.data) & is_masked(node)))


def _bad_word(data: Any) -> str:
    return "NaN" if np.any(np.isnan(data)) else "infinite"


# --- words -------------------------------------------------------------------------------------------------------


def in_words(step: Step) -> str:
    """The step's rule in words; "" where nobody wrote one."""
    return step.twin.op.about.rule if step.twin.op is not None and step.module is None else ""


def why_this_rule(step: Step) -> list[str]:
    """The rule of a backward step in words, and where its block has it, from the definition, line by line."""
    if step.kind != BACKWARD or step.module is not None or step.twin.op is None or not step.twin.op.about.rule:
        return []
    return [step.twin.op.about.rule, *step.twin.op.about.derived]


def asked_of(step: Step, mark: Callable[[str], str] = str) -> str:
    """What a reader may guess before a step is shown; `mark` writes the names in it."""
    if step.kind != BACKWARD:
        return "What will it be?"
    sent = sorted(step.contributions, key=lambda c: step.module is not None and c.twin.op is None)  # inputs first
    names = [mark(name) for name in dict.fromkeys(step.words.name(c.twin) for c in sent)]
    if not names:
        return "It sends nothing on."
    if len(names) > MOST_LISTED:
        names = [*names[: MOST_LISTED - 1], f"{len(names) - MOST_LISTED + 1} others"]
    return f"What will it send to {listed(names)}?"


def question_of(step: Step) -> str:
    """The question of a slide, in full."""
    if step.kind != BACKWARD:
        return f"What is {step.name}?"
    names = list(dict.fromkeys(step.words.name(sent.twin) for sent in step.contributions))
    return f"How much does {step.words.top} change with {listed(names)}?" if names else asked_of(step)


def name_of(value: Value) -> str:
    """What a sentence calls a value that it is not about."""
    if value.name:
        return value.name
    if value.op is not None:
        return f"the result of {value.op.name}"
    return f"a leaf of shape {value.shape}" if value.shape else "an unnamed leaf"


def _name_and_value(value: Value) -> str:
    """`x = −1`, or `the result of sub (−1)`"""
    return f"{value.name} = {shown(value.data)}" if value.name else f"{name_of(value)} ({shown(value.data)})"


def listed(texts: Iterable[str]) -> str:
    """`a, b and c`"""
    *first, last = list(texts) or [""]
    return f"{', '.join(first)} and {last}" if first else last
