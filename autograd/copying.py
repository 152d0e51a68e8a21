"""Copies and pickles of graphs of any depth: the nodes in a row, oldest first, so that nothing recurses."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from .graph import edited_inputs, topological
from .plain import copy_array
from .recording import Note
from .value import Value, counter, new


def deep_copy(root: Value, memo: dict[int, Any]) -> Value:
    """A copy of the whole graph behind a node; `memo` keeps what is shared with other copies shared."""
    for node in topological(root):  # oldest first: a copy's inputs are there already
        if id(node) not in memo:
            twin = memo[id(node)] = node.__copy__()
            if type(node) is not Value:
                give(twin, deepcopy(extras(node), memo))
            if node.op is not None:
                twin._set_inputs(tuple(memo[id(x)] if isinstance(x, Value) else copy_array(x) for x in node.inputs))
    for leaf in edited_since(root):
        memo[id(leaf)].touch()
    return memo[id(root)]


def reduced(root: Value) -> Any:
    """What pickle stores of a node: a leaf alone; a result with its graph, in which each leaf stays an object."""
    if root.op is None:
        return _leaf, _fields(root)
    nodes = topological(root)
    place = {node: _Place(i) for i, node in enumerate(nodes)}
    rows = [node if node.op is None else (*_fields(node), node.op, _places(node, place)) for node in nodes]
    return _graph, (rows, edited_since(root))


def extras(node: Value) -> dict[str, Any]:
    """The attributes that a subclass of Value added, in its `__dict__` or in slots of its own."""
    found = dict(getattr(node, "__dict__", ()))
    for cls in type(node).__mro__[: -len(Value.__mro__)]:
        slots = cls.__dict__.get("__slots__", ())
        for slot in (slots,) if isinstance(slots, str) else slots:
            if slot not in ("__dict__", "__weakref__") and hasattr(node, slot):
                found[slot] = getattr(node, slot)
    return found


def give(node: Value, extra: dict[str, Any]) -> None:
    """Set such attributes of a copy."""
    for name, attribute in extra.items():
        object.__setattr__(node, name, attribute)


def edited_since(root: Value) -> list[Value]:
    """The leaves that were edited after this graph had used them: their copies are stale in its copy too."""
    return list(dict.fromkeys(x for node in topological(root) for x in edited_inputs(node)))


def _fields(node: Value) -> tuple[Any, ...]:
    note = node._note and node._note.but(scope=None, hooks=())
    return type(node), node._data, node.grad, note, node.requires_grad, extras(node)


def _places(node: Value, place: dict[Value, _Place]) -> tuple[Any, ...]:
    return tuple(place[x] if isinstance(x, Value) else x for x in node.inputs)


class _Place(int):
    """A row number in a pickled graph."""


def _leaf(
    cls: type[Value], data: Any, grad: Any, note: Note | None, requires_grad: bool, extra: dict[str, Any]
) -> Value:
    node: Value = new(cls)
    node._data, node.grad, node._note, node.requires_grad = data, grad, note, requires_grad
    node.op = node._a = node._b = None
    node.stamp = next(counter)
    give(node, extra)
    return node


def _graph(rows: list[Any], edited: list[Value]) -> Value:
    nodes: list[Value] = []
    for row in rows:
        if isinstance(row, Value):
            nodes.append(row)
            continue
        *fields, op, inputs = row
        node = _leaf(*fields)
        node.op = op
        node._set_inputs(tuple(nodes[x] if isinstance(x, _Place) else x for x in inputs))
        nodes.append(node)
    for leaf in edited:
        leaf.touch()
    return nodes[-1]
