"""Reading a graph: its nodes in topological order."""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter
from typing import Any

from .recording import Note, Scope, scope
from .value import Value

__all__ = ["Note", "Scope", "leaves", "made_from", "scope", "topological"]

by_stamp = attrgetter("stamp")


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
            if x.stamp > since:  # then what `x.inputs` gives, for a million nodes
                a, b = x._a, x._b
                if a.__class__ is tuple:
                    waiting += a
                elif b is None:
                    waiting.append(a)
                else:
                    waiting += (a, b)
    made.sort(key=by_stamp)
    return made


def edited_inputs(node: Value) -> list[Value]:
    """The leaves whose data was edited after `node` had used it: editing gives a leaf a later stamp."""
    return [x for x in node.parents if x.op is None and x.stamp > node.stamp]


def calls_around(node: Value) -> list[Scope]:
    """The module calls that a node was made in, innermost first."""
    return list(node.scope.chain()) if node.scope is not None else []


def leaves(root: Value) -> list[Value]:
    """The leaves `root` was made from, oldest first."""
    return [node for node in topological(root) if node.op is None]
