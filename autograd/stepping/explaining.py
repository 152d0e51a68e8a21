"""Why a gradient is what it is: `explain`, and the answers that the stepper gives beside each step.

Why this order, why `+=`, why zero or tiny, why NaN or infinite, why None: each answer is read off the numbers of
one backward pass (`Walk`), never guessed from the names of things.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograd.drawing.cards import norm
from autograd.errors import printable
from autograd.formula.arithmetic import shown
from autograd.formula.numbers import count, rough
from autograd.graph import topological
from autograd.stepping.reasons import reason
from autograd.stepping.stepper import Stepper
from autograd.stepping.walk import BACKWARD, Contribution, Step
from autograd.value import Value

TINY = 1e-6  # a gradient this much smaller than the one it started from asks for a reason
LOSSY = 0.5  # a factor below this is worth naming


class Explanation(str):
    """Text that a notebook and a prompt show as it is."""

    def __repr__(self) -> str:
        return str(self)


def explain(value: Value, root: Value | None = None) -> Explanation:
    """Why `value` has the gradient it has, from `root` (by default the newest result that was made from it).

    >>> x = Value(20.0, name="x")
    >>> loss = x.tanh() * 3
    >>> loss.backward()
    >>> print(explain(x))
    x is a leaf that asks for a gradient; its value is 20.
    ∂L/∂x = 0: one path leads to it, through tanh(x).
    Why so small: between tanh(x) and x the gradient shrinks from 3 to 0. tanh is saturated: at an input this far from 0
    its slope, 1 − out², is almost 0. Scale its inputs down, or start with smaller weights.
    """
    if not isinstance(value, Value):
        raise TypeError(f"explain: expected a Value; got {value!r:.60} ({type(value).__name__})")
    root = _newest_result_of(value) if root is None else root
    lines = [_what_it_is(value)]
    trouble = why_bad_value(value) or (why_bad_value(root) if root is not None else "")
    if trouble:
        lines.append(trouble)
    missing = why_none(value, root)
    if missing or root is None:
        lines.append(missing)
        return Explanation(printable("\n".join(line for line in lines if line)))
    stepper = Stepper(root, grad=None if root.size == 1 else np.ones(root.shape))
    if root.size != 1:
        lines.append(f"({_name(root)} has shape {root.shape}; this is about the gradient of its sum.)")
    lines += [_its_gradient(stepper, value), why_plus(stepper, value), why_bad_gradient(stepper, value)]
    if not trouble:
        lines.append(why_small(stepper, value))
    return Explanation(printable("\n".join(line for line in lines if line)))


# --- order and sums -----------------------------------------------------------------------------------------------


def why_now(stepper: Stepper, step: Step) -> str:
    """Why this step's turn has come."""
    words = stepper.words
    if step.kind != BACKWARD:
        ready = list(dict.fromkeys(words.name(x) for x in step.node.parents))
        return f"{_listed(ready)} {'is' if len(ready) == 1 else 'are'} known, so {step.name} can be computed."
    senders = stepper.received.get(step.node, [])
    if not senders:
        return f"{step.name} is where backprop starts: if it grows by 1, it grows by 1."
    names = list(dict.fromkeys(sender.step.name for sender in senders))
    if len(names) == 1:
        fed = f"feeds only {names[0]}, and that is finished"
    else:
        fed = f"feeds {_listed(names)}, and all of these are finished"
    return f"{step.name} {fed}: nothing more can arrive at {step.name}."


def why_plus(stepper: Stepper, node: Value) -> str:
    """Why contributions are added; "" where only one arrives."""
    senders = stepper.received.get(node, [])
    if len(senders) < 2:
        return ""
    name = stepper.words.name(node)
    names = list(dict.fromkeys(sender.via for sender in senders))
    return (
        f"Why +=: {name} is used {count(len(senders))} times: in {_listed(names)}. A change in {name} reaches "
        f"{stepper.words.top} along each of these paths, so their shares are added."
    )


# --- zero and tiny -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Link:
    """One edge on the way from the root: how large the gradient was before and after it."""

    contribution: Contribution
    before: float
    after: float

    @property
    def factor(self) -> float:
        return self.after / self.before if self.before else 1.0


def dominant_path(stepper: Stepper, node: Value) -> list[Link]:
    """The edges along which most of a node's gradient came, from the root down."""
    links: list[Link] = []
    while True:
        senders = stepper.ledger(node)
        if not senders:
            return links[::-1]
        sender = max(senders, key=lambda c: (norm(c.value), norm(c.step.incoming)))
        links.append(Link(sender, norm(sender.step.arrives.value), norm(sender.added.value)))
        node = sender.step.node


def why_small(stepper: Stepper, node: Value) -> str:
    """The factor along the dominant path that makes a gradient zero or tiny; "" if it is neither."""
    gradient = stepper.walk.gradient(node)
    if gradient is None or not np.all(np.isfinite(gradient)):
        return ""
    start, size = norm(stepper.walk.seed), norm(gradient)
    if size > TINY * start:
        return ""
    path = dominant_path(stepper, node)
    lossy = [link for link in path if link.factor < LOSSY]
    if not lossy:
        if size == 0 and len(stepper.ledger(node)) > 1:
            return "Why so small: its contributions cancel."
        return f"Why so small: {count(len(path))} steps each take a little."
    worst = min(lossy, key=lambda link: link.factor)
    words = stepper.words
    sent = worst.contribution
    text = (
        f"Why so small: between {sent.step.name} and {words.name(sent.parent)} the gradient shrinks from "
        f"{rough(worst.before)} to {rough(worst.after)}. {reason(sent)}"
    )
    others = len(lossy) - 1
    if others:
        text += f" {count(others)} other step{'s shrink' if others > 1 else ' shrinks'} it on the way."
    return text


def why_sent_little(contribution: Contribution) -> str:
    """Why one step passes almost nothing on; "" if it does."""
    before, after = norm(contribution.step.incoming), norm(contribution.added.value)
    if not np.isfinite(after) or contribution.step.module is not None or before == 0 or after > 1e-3 * before:
        return ""
    return reason(contribution)


# --- NaN and infinity ------------------------------------------------------------------------------------------------

ANY_REMEDY = "Look at its inputs."


def why_bad_value(value: Value) -> str:
    """The first NaN or infinity on the way forward to `value`; "" if it has none."""
    for node in topological(value):
        if np.all(np.isfinite(node.data)) or any(not np.all(np.isfinite(x.data)) for x in node.parents):
            continue
        if _is_mask(node):
            continue
        if node.op is None:
            return f"Why {_bad_word(node.data)}: {_name(node)} was given as {_bad_word(node.data)}."
        made = " and ".join(map(_name_and_value, dict.fromkeys(node.parents)))
        remedy = node.op.about.bad or ANY_REMEDY
        return f"Why {_bad_word(node.data)}: going forward, the first is made by {node.op.name}, from {made}. {remedy}"
    return ""


def why_bad_gradient(stepper: Stepper, node: Value) -> str:
    """The first NaN or infinity on the way back to `node`; "" if its gradient has none."""
    gradient = stepper.walk.incoming.get(node)
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
    inputs = " and ".join(f"{words.name(x)} = {shown(words.data(x))}" for x in dict.fromkeys(step.node.parents))
    remedy = (step.node.op.about.bad or ANY_REMEDY) if step.node.op is not None else ""
    return (
        f"Why {_bad_word(contribution.value)}: going back, the first is what {step.name} sends to "
        f"{words.name(contribution.parent)}: {contribution.numbers}, with {inputs}. {remedy}"
    )


def _is_mask(node: Value) -> bool:
    """−∞ put in on purpose, for a softmax to make zeros of."""
    return node.op is not None and node.op.name == "where" and not np.any(np.isnan(node.data) | np.isposinf(node.data))


def _bad_word(data: Any) -> str:
    return "NaN" if np.any(np.isnan(data)) else "infinite"


# --- None ------------------------------------------------------------------------------------------------------------


def why_none(value: Value, root: Value | None) -> str:
    """Why no gradient reaches `value`; "" if one does."""
    it = value.name or "it"
    lost = f"{value.name}.grad is None" if value.name else "Its .grad is None"
    if not value.requires_grad:
        if value.op is None:
            return (
                f"{lost} because {it} is a constant (requires_grad=False): made so, by detach(), or inside no_grad(). "
                "Make it with Value(..., requires_grad=True) to get a gradient."
            )
        if not value.op.differentiable:
            return f"{lost} because {value.op.name} passes no gradient on: its result jumps."
        made_from = _listed(dict.fromkeys(map(_name, value.parents)))
        return f"{lost} because it was made from constants only: {made_from}."
    if root is None:
        twin = _detached_twin(value, _live_values())
        cut = f" (there is a detached copy of {it}; detach() cuts the graph)" if twin is not None else ""
        if value.grad is not None:
            held = lost.removesuffix("None") + _told(value.grad)
            return f"{held}, but nothing holds the graph it came from: keep the result."
        return f"{lost}: nothing was computed from it yet{cut}."
    if root is not value and root in topological(value):
        return (
            f"{value.name or 'It'} was made from {_name(root)}, not the other way round: explain takes first the value "
            f"whose gradient is asked about, then the result it comes from. Write {_swapped(value, root)}."
        )
    if not root.requires_grad:
        op = root.op.name if root.op is not None else "detach"
        return f"{lost} because all that was made from it ends in {op}, which passes no gradient on."
    nodes = topological(root)
    if value not in nodes:
        twin = _detached_twin(value, nodes)
        if twin is not None:
            return (
                f"{lost} because {_name(root)} was computed from a detached copy of {it}: detach() cuts the graph "
                "there. Use the value itself."
            )
        says = f"{lost} because no" if value.grad is None else "No"  # it may have one from elsewhere
        return f"{says} path leads from {_name(root)} back to {it}: it was not used there."
    stepper = Stepper(root, grad=None if root.size == 1 else np.ones(root.shape))
    if value not in stepper.walk.incoming:
        stops = [
            node for node in nodes if not node.requires_grad and node.op is not None and value in topological(node)
        ]
        where = f" ({stops[0].op.name})" if stops and stops[0].op is not None else ""
        return f"{lost} because every path from {_name(root)} to it passes an op without a slope{where}."
    if value.grad is None:
        call = f"{root.name}.backward()" if root.name else f"backward() on {_name(root)}"
        return f"{lost} because backward() has not been called; {call} would set it."
    return ""


def _detached_twin(value: Value, nodes: Iterable[Value]) -> Value | None:
    return next(
        (
            node
            for node in nodes
            if node.op is None
            and not node.requires_grad
            and node.shape == value.shape
            and (node.name == value.name)
            and np.array_equal(node.data, value.data, equal_nan=True)
        ),
        None,
    )


# --- words -----------------------------------------------------------------------------------------------------------


def _what_it_is(value: Value) -> str:
    held = f"its value is {shown(value.data)}" if value.size <= 16 else f"it has shape {value.shape}"
    if value.op is None:
        asks = "asks for a gradient" if value.requires_grad else "asks for no gradient"
        return f"{f'{value.name} is a leaf' if value.name else 'A leaf without a name'} that {asks}; {held}."
    made = f"{value.name} was made by" if value.name else "A result of"
    return f"{made} {value.op.name}; {held}."


def _its_gradient(stepper: Stepper, value: Value) -> str:
    ledger = stepper.ledger(value)
    words = stepper.words
    gradient = f"{words.slope(value)} = {_told(stepper.walk.gradient(value))}"
    if words.names.is_made_up(value):  # nobody but us has heard of t1
        gradient += f", with {words.name(value)} for this {'leaf' if value.op is None else 'result'}"
    if not ledger:
        return f"{gradient}: it is where backprop starts."
    if len(ledger) == 1:
        return f"{gradient}: one path leads to it, through {ledger[0].via}."
    return f"{gradient}: {_listed(f'{entry.via} adds {_told(entry.added.value)}' for entry in ledger)}."


def _swapped(value: Value, root: Value) -> str:
    """The call that was meant by `explain(value, root)`."""
    return f"explain({root.name or 'value'}, {value.name or 'result'})"


def _told(gradient: Any) -> str:
    return shown(gradient) if np.size(gradient) <= 16 else f"{shown(gradient)} of norm {rough(norm(gradient))}"


def _name(value: Value) -> str:
    """What a sentence calls a value that it is not about."""
    if value.name:
        return value.name
    if value.op is not None:
        return f"the result of {value.op.name}"
    return f"a leaf of shape {value.shape}" if value.shape else "an unnamed leaf"


def _name_and_value(value: Value) -> str:
    """`x = −1`, or `the result of sub (−1)`"""
    return f"{value.name} = {shown(value.data)}" if value.name else f"{_name(value)} ({shown(value.data)})"


def _listed(texts: Iterable[str]) -> str:
    """`a, b and c`"""
    *first, last = list(texts) or [""]
    return f"{', '.join(first)} and {last}" if first else last


def _live_values() -> Iterator[Value]:
    """Every Value there is. `isinstance` would ask strangers for their `__class__`, and some warn when asked."""
    return (x for x in gc.get_objects() if issubclass(type(x), Value))


def _newest_result_of(value: Value) -> Value | None:
    """The newest live node made from `value`: most often the loss. Nodes point to their inputs only, so ask the
    garbage collector, which knows them all."""
    made = sorted((node for node in _live_values() if node.op is not None), key=lambda n: n.stamp)
    descends = {value}
    newest = value if value.op is not None else None
    for node in made:
        if any(x in descends for x in node.parents):
            descends.add(node)
            if node.requires_grad or newest is None:
                newest = node
    return newest
