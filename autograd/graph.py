"""Reading a graph: its nodes in topological order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .attached import by_stamp
from .engine import Value, reach
from .modes import Scope, scope

__all__ = ["Scope", "leaves", "made_from", "reach_from", "scope", "topological"]


def topological(root: Value) -> list[Value]:
    """Every node that `root` was made from, oldest first: each input before its results, leaves included.

    Iterative and deterministic: nodes are collected depth first and sorted by their creation stamp. A leaf whose data
    was edited carries a later stamp, so leaves come first by themselves.
    """
    seen = {root}
    stack = [root]
    made: list[Value] = []
    leaves: list[Value] = []
    while stack:
        node = stack.pop()
        (leaves if node.op is None else made).append(node)
        for x in node.inputs:
            if isinstance(x, Value) and x not in seen:
                seen.add(x)
                stack.append(x)
    leaves.sort(key=by_stamp)
    made.sort(key=by_stamp)
    return leaves + made


def made_from(outs: Iterable[Any], stop: Iterable[Value], since: int = 0) -> list[Value]:
    """The nodes that were computed on the way to `outs`, oldest first. The walk back ends at `stop`, and at nodes made
    before the stamp `since`, which are still among them.
    """
    seen = set(stop)
    made = []
    waiting = list(outs)
    while waiting:
        x = waiting.pop()
        if isinstance(x, Value) and x.op is not None and x not in seen:
            seen.add(x)
            made.append(x)
            if x.stamp > since:
                waiting += x.inputs
    made.sort(key=by_stamp)
    return made


def reach_from(roots: Iterable[Value], sources: Iterable[Value]) -> tuple[list[Value], set[Value]]:
    """What lies between some roots and the `sources`, newest first; and the set of all that want a gradient."""
    sources = set(sources)
    order = sorted({node for root in roots for node in reach(root)}, key=by_stamp, reverse=True)
    wanted = set(sources)
    for node in reversed(order):  # oldest first: a node is wanted if one of its inputs is
        if node not in sources and any(x in wanted for x in node.parents):
            wanted.add(node)
    return [node for node in order if node in wanted and node not in sources], wanted


def calls_around(node: Value) -> list[Scope]:
    """The module calls that a node was made in, innermost first."""
    return list(node.scope.chain()) if node.scope is not None else []


def leaves(root: Value) -> list[Value]:
    """The leaves `root` was made from, oldest first."""
    return [node for node in topological(root) if node.op is None]


def name(names: Mapping[str, Any]) -> None:
    """Name the Values in a mapping, as in `name(locals())`. A name that is there already stays.

    >>> x, y = Value(1.0), Value(2.0)
    >>> name({"x": x, "y": y})
    >>> x
    Value(1.0, name='x')
    """
    for key, value in names.items():
        if isinstance(value, Value) and value.name is None and not key.startswith("_"):
            value.name = key
