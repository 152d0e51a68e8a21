"""Steps folded and opened: a module's call as one step; what one step does inside, as a stepper of its own."""

from __future__ import annotations

import copy
from collections.abc import Callable
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from autograd.drawing.groups import chooser, depth_of
from autograd.engine import Value
from autograd.graph import calls_around, leaves
from autograd.modes import Scope, enable_grad
from autograd.op import apply
from autograd.stepping.steps import BACKWARD, Contribution, Step, numbered

if TYPE_CHECKING:
    from autograd.stepping.stepper import Stepper

MOST_STEPS = 1000  # beyond so many, modules close by themselves

Closed = Callable[[Scope], bool]


def enough_closed(steps: list[Step]) -> Closed:
    """The modules that must close for the steps to become few enough: the innermost first."""
    if len(steps) <= MOST_STEPS:
        return chooser(None)
    depth = max((depth_of(step.twin.scope) for step in steps if step.twin.scope is not None), default=0)
    while depth > 1 and len(folded(steps, chooser(depth))) > MOST_STEPS:
        depth -= 1
    return chooser(depth or None)


def closed_call(node: Value, closed: Closed) -> Scope | None:
    """The outermost closed call that a node was made in."""
    return next(filter(closed, reversed(calls_around(node))), None)


def folded(steps: list[Step], closed: Closed) -> list[Step]:
    """The steps with each closed call as one. A call's steps follow one another: it was computed in one go."""
    result: list[Step] = []
    for (_, call), run in groupby(steps, key=lambda step: (step.kind, closed_call(step.twin, closed))):
        members = list(run)
        result += members if call is None else [_module_step(members, call)]
    return numbered(result)


def _module_step(members: list[Step], call: Scope) -> Step:
    """One step for a whole call: what arrives at its result, and what leaves it for inputs and parameters."""
    twins = tuple(member.twin for member in members)
    first = members[0]
    result = first.twin if first.kind == BACKWARD else members[-1].twin
    step = Step(first.words, first.kind, result, first.incoming, call, twins, first.noise)
    step.starts_hooked = first.starts_hooked
    inside = set(twins)
    sent: dict[Value, list[Contribution]] = {}
    for member in members:
        for contribution in member.contributions:
            if contribution.twin not in inside:
                sent.setdefault(contribution.twin, []).append(contribution)
    step.contributions = tuple(_joined(step, parent, parts) for parent, parts in sent.items())
    return step


def _joined(step: Step, parent: Value, parts: list[Contribution]) -> Contribution:
    value = parts[0].value
    for part in parts[1:]:
        value = value + part.value
    noise = sum(part.noise[0] for part in parts), parts[-1].noise[1]
    return Contribution(step, parent, value, parts[-1].sum, noise, parts[-1].left)


# --- steps opened up ------------------------------------------------------------------------------------------------


def inside(step: Step) -> Stepper | None:
    """The stepper of what a step does inside, on copies: gradients start at what arrives at the step. It shows a fused
    op by its definition, a closed module by its own nodes; None where nothing smaller is inside."""
    from autograd.stepping.stepper import Stepper

    if not _can_open(step):
        return None
    originals: dict[Value, Value] = {}
    root = _opened(step, originals)
    if not isinstance(root, Value) or root.op is None or not root.requires_grad:
        return None
    backward = step.incoming is not None
    grad = step.incoming if backward else None
    copies = [leaf for leaf in leaves(root) if type(leaf) is Value]
    title = f"inside {step.name}"
    opened = Stepper(root, grad=grad, backward=backward, inputs=copies, title=title, top=step.words.top,
                     noise=step.noise, stands_for=originals)  # fmt: skip
    return opened if len(opened) > (2 if backward else 1) else None


@np.errstate(all="ignore")
def _opened(step: Step, originals: dict[Value, Value]) -> Any:
    """The root of what a step does inside."""
    with enable_grad():
        return _replayed(step, originals) if step.module is not None else _defined(step)


def _can_open(step: Step) -> bool:
    if step.module is not None:
        return _has_one_exit(step)
    op = step.twin.op
    return op is not None and op.definition is not None and op.about.opens


def _defined(step: Step) -> Any:
    op = step.twin.op
    assert op is not None and op.definition is not None
    result = op.definition(*(_leaf(step, x) for x in step.twin.inputs), **op.settings)
    if isinstance(result, Value):
        result.name = step.words.name(step.twin)
    return result


def _replayed(step: Step, originals: dict[Value, Value]) -> Any:
    """The module's nodes computed again, from leaves that stand for what came from outside; notes whose copy
    each is."""
    twins: dict[Value, Value] = {}
    nodes = sorted(step.twins, key=lambda node: node.stamp)
    members = set(nodes)
    for node in nodes:
        for x in node.parents:
            if x not in members and x not in twins:
                twins[x] = _leaf(step, x)
    for node in nodes:
        assert node.op is not None
        twin = apply(node.op, tuple(twins[x] if isinstance(x, Value) else x for x in node.inputs))
        if isinstance(twin, Value):
            twin._note = node._note
            twins[node] = twin
    originals.update((twin, node) for node, twin in twins.items())
    return twins.get(step.twin)


def _leaf(step: Step, x: Any) -> Any:
    """A fresh leaf with an operand's numbers and name."""
    if not isinstance(x, Value):
        return x
    if x.op is None:
        twin = copy.copy(x)
        twin.grad = None
        return twin
    return Value(x.data, name=step.words.name(x), requires_grad=x.requires_grad)


def _has_one_exit(step: Step) -> bool:
    """Does only the module's result leave it?"""
    inner = set(step.twins) - {step.twin}
    return not any(
        x in inner for node in step.words.nodes if node not in inner and node is not step.twin for x in node.parents
    )
