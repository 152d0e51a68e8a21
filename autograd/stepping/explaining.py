"""`explain`: why a gradient is what it is, zero or small or NaN, and why there is none."""

from __future__ import annotations

import functools
import gc
import operator
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from autograd.engine import Value
from autograd.errors import printable
from autograd.formula.digits import Digits
from autograd.formula.lines import Line
from autograd.formula.numbers import Notation, norm, rough
from autograd.formula.writers.pieces import shown
from autograd.graph import topological

from .questions import listed, name_of, why_bad_gradient, why_bad_value, why_plus, why_small
from .stepper import Stepper


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
    stepper = _stepper(root)
    value = stepper.twin(value)
    if root.size != 1:
        lines.append(f"({name_of(root)} has shape {root.shape}; this is about the gradient of its sum.)")
    lines += [_its_gradient(stepper, value), why_plus(stepper, value), why_bad_gradient(stepper, value)]
    if not trouble:
        lines.append(why_small(stepper, value))
    return Explanation(printable("\n".join(line for line in lines if line)))


def _stepper(root: Value) -> Stepper:
    """The steps from a result; from an array's sum."""
    return Stepper(root, grad=None if root.size == 1 else np.ones(root.shape))


# --- None ------------------------------------------------------------------------------------------------------------


def why_none(value: Value, root: Value | None) -> str:
    """Why no gradient reaches `value`; "" if one does."""
    lost = f"{value.name}.grad is None" if value.name else "Its .grad is None"
    if not value.requires_grad:
        return f"{lost} because {_why_constant(value)}"
    if root is None and value.grad is not None:
        held = lost.removesuffix("None") + _shown(value.grad)
        return f"{held}, but nothing holds the graph it came from: keep the result."
    if root is None:
        twin = _detached_twin(value, _live_values())
        cut = (
            f" (there is a detached copy of {value.name or 'it'}; detach() cuts the graph)" if twin is not None else ""
        )
        return f"{lost}: nothing was computed from it yet{cut}."
    if root is not value and root in set(topological(value)):
        return (
            f"{value.name or 'It'} was made from {name_of(root)}, not the other way round: explain takes first the "
            f"value whose gradient is asked about, then the result it comes from. Write {_swapped(value, root)}."
        )
    if not root.requires_grad:
        op = root.op.name if root.op is not None else "detach"
        return f"{lost} because all that was made from it ends in {op}, which passes no gradient on."
    return _why_no_path(value, root, lost)


def _why_constant(value: Value) -> str:
    if value.op is None:
        return (
            f"{value.name or 'it'} is a constant (requires_grad=False): made so, by detach(), or inside no_grad(). "
            "Make it with Value(..., requires_grad=True) to get a gradient."
        )
    if not value.op.differentiable:
        return f"{value.op.name} passes no gradient on: its result jumps."
    return f"it was made from constants only: {listed(dict.fromkeys(map(name_of, value.parents)))}."


def _why_no_path(value: Value, root: Value, lost: str) -> str:
    """Why backprop from `root` does not reach `value`, or has not been run yet; "" if its gradient is there."""
    it, start, nodes = value.name or "it", name_of(root), topological(root)
    there = set(nodes)
    if value not in there and _detached_twin(value, nodes) is not None:
        return (
            f"{lost} because {start} was computed from a detached copy of {it}: detach() cuts the graph there. Use the "
            "value itself."
        )
    if value not in there:
        says = f"{lost} because no" if value.grad is None else "No"  # it may have one from elsewhere
        return f"{says} path leads from {start} back to {it}: it was not used there."
    if (stepper := _stepper(root)).twin(value) not in stepper.walk.incoming:
        ends = [node for node in nodes if node.op and not node.requires_grad]
        stops = [node.op.name for node in ends if node.op and value in set(topological(node))]
        where = f" ({stops[0]})" if stops else ""
        return f"{lost} because every path from {start} to it passes an op without a slope{where}."
    if value.grad is None:
        call = f"{root.name}.backward()" if root.name else f"backward() on {start}"
        return f"{lost} because backward() has not been called; {call} would set it."
    return ""


def _detached_twin(value: Value, nodes: Iterable[Value]) -> Value | None:
    def is_twin(node: Value) -> bool:
        looks_so = node.op is None and not node.requires_grad and (node.name, node.shape) == (value.name, value.shape)
        return looks_so and np.array_equal(node.data, value.data, equal_nan=True)

    return next(filter(is_twin, nodes), None)


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
    gradient = f"{words.slope(value)} = {_shown(stepper.walk.gradient(value))}"
    if words.names.is_made_up(value):  # t1 is no name that the user gave
        gradient += f", with {words.name(value)} for this {'leaf' if value.op is None else 'result'}"
    if not ledger:
        return f"{gradient}: it is where backprop starts."
    if len(ledger) == 1:
        return f"{gradient}: one path leads to it, through {ledger[0].via}."
    whole = Line(ledger[-1].summed, functools.reduce(operator.add, (entry.added for entry in ledger)))
    digits = Digits([whole])
    if whole.is_shown and not digits.confirms(whole):  # the terms cancel: no digits that fit show what is left
        return f"{gradient}: {len(ledger)} paths lead to it, through {listed(entry.via for entry in ledger)}."
    added = (f"{entry.via} adds {_shown(entry.added.value, digits.written(entry.added))}" for entry in ledger)
    return f"{gradient}: {listed(added)}."


def _swapped(value: Value, root: Value) -> str:
    """The call that was meant by `explain(value, root)`."""
    return f"explain({root.name or 'value'}, {value.name or 'result'})"


def _shown(gradient: Any, written: Notation | None = None) -> str:
    text = shown(gradient, written=written)
    return text if np.size(gradient) <= 16 else f"{text} of norm {rough(norm(gradient))}"


def _live_values() -> Iterator[Value]:
    """Every Value there is. `isinstance` would read the `__class__` of every object, and some warn when it is read."""
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
