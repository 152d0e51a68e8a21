"""Modules as single steps: which calls are closed, and the steps of a graph with those calls folded."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import groupby
from typing import Any

from autograd.drawing.groups import depth_of
from autograd.recording import Scope
from autograd.stepping.walk import BACKWARD, Contribution, Step, numbered
from autograd.value import Value

MOST_STEPS = 1000  # beyond so many, modules close by themselves

Closed = Callable[[Scope], bool]


def nothing_closed(scope: Scope) -> bool:
    return False


def enough_closed(steps: list[Step]) -> Closed:
    """The modules that must close for the steps to become few enough: the innermost first."""
    if len(steps) <= MOST_STEPS:
        return nothing_closed
    deepest = max((depth_of(step.node.scope) for step in steps if step.node.scope is not None), default=0)
    closed: Closed = nothing_closed
    for depth in range(deepest, 0, -1):
        closed = _at_least(depth)
        if len(folded(steps, closed)) <= MOST_STEPS:
            break
    return closed


def _at_least(depth: int) -> Closed:
    return lambda scope: depth_of(scope) >= depth


def closed_call(node: Value, closed: Closed) -> Scope | None:
    """The outermost closed call that a node was made in."""
    if node.scope is None:
        return None
    return next((scope for scope in reversed(list(node.scope.chain())) if closed(scope)), None)


def folded(steps: list[Step], closed: Closed) -> list[Step]:
    """The steps with each closed call as one. A call's steps follow one another: it was computed in one go."""
    result: list[Step] = []

    def place(step: Step) -> Any:
        call = closed_call(step.node, closed)
        return step.kind, (call.serial if call is not None else -1 - step.index)

    for _, run in groupby(steps, key=place):
        members = list(run)
        call = closed_call(members[0].node, closed)
        result.append(members[0] if call is None else _module_step(members, call))
    if len(result) < len(steps):
        _count_paths(result)
    return numbered(result)


def _module_step(members: list[Step], call: Scope) -> Step:
    """One step for a whole call: what arrives at its result, and what leaves it for inputs and parameters."""
    nodes = tuple(member.node for member in members)
    first = members[0]
    result = first.node if first.kind == BACKWARD else members[-1].node
    step = Step(first.words, first.kind, result, first.incoming, call, nodes, first.noise)
    inside = set(nodes)
    sent: dict[Value, list[Contribution]] = {}
    for member in members:
        for contribution in member.contributions:
            if contribution.parent not in inside:
                sent.setdefault(contribution.parent, []).append(contribution)
    step.contributions = tuple(_joined(step, parent, parts) for parent, parts in sent.items())
    return step


def _joined(step: Step, parent: Value, parts: list[Contribution]) -> Contribution:
    value = parts[0].value
    for part in parts[1:]:
        value = value + part.value
    noise = sum(part.noise[0] for part in parts), parts[-1].noise[1]
    return Contribution(step, parent, value, parts[0].before, parts[-1].total, parts[-1].path, parts[-1].paths, noise)


def _count_paths(steps: Iterable[Step]) -> None:
    """Paths as they look while some modules are closed."""
    latest: dict[Value, Contribution] = {}
    counted: list[Contribution] = []
    for step in steps:
        again = []
        for c in step.contributions:
            previous = latest.get(c.parent)
            path = previous.path + 1 if previous else 1
            made = Contribution(step, c.parent, c.value, c.before, c.total, path, 0, c.noise, previous)
            latest[c.parent] = made
            again.append(made)
        step.contributions = tuple(again)
        counted += again
    for contribution in counted:
        contribution.paths = latest[contribution.parent].path
