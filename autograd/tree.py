"""Nested lists, tuples and dicts of numbers: taken apart into a flat list, and put together again."""

from __future__ import annotations

from typing import Any

from .errors import ShapeError

LEAF = object()


def flatten(tree: Any) -> tuple[list[Any], Any]:
    """The leaves in order, and the structure that `unflatten` needs. A list of plain numbers is a nest too.

    >>> flatten({"w": [1.0, 2.0], "b": 3.0})[0]
    [1.0, 2.0, 3.0]
    """
    if not isinstance(tree, (dict, list, tuple)):
        return [tree], LEAF
    flat: list[Any] = []
    return flat, _walk(tree, flat)


def _walk(tree: Any, flat: list[Any]) -> Any:
    if not isinstance(tree, (dict, list, tuple)):
        flat.append(tree)
        return LEAF
    if isinstance(tree, dict):
        return {key: _walk(part, flat) for key, part in tree.items()}
    if hasattr(tree, "_fields"):  # a namedtuple
        return type(tree)(*(_walk(part, flat) for part in tree))
    return type(tree)(_walk(part, flat) for part in tree)


def paths(structure: Any) -> list[str]:
    """How each leaf is reached, in the order of `flatten`.

    >>> paths(flatten({"w": [1.0, 2.0], "b": 3.0})[1])
    ["['w'][0]", "['w'][1]", "['b']"]
    """
    if structure is LEAF:
        return [""]
    if isinstance(structure, dict):
        parts = [(f"[{key!r}]", part) for key, part in structure.items()]
    elif hasattr(structure, "_fields"):  # a namedtuple
        parts = [(f".{name}", part) for name, part in zip(structure._fields, structure)]
    else:
        parts = [(f"[{i}]", part) for i, part in enumerate(structure)]
    return [step + path for step, part in parts for path in paths(part)]


def leaves_like(tree: Any, structure: Any, what: str = "this") -> list[Any]:
    """The leaves of a tree in the order of a structure that `flatten` gave: dicts by key, whatever their own order.

    >>> leaves_like({"b": 1.0, "a": 2.0}, flatten({"a": 0.0, "b": 0.0})[1])
    [2.0, 1.0]
    """
    if structure is LEAF:
        return [tree]
    if isinstance(structure, dict):
        if not isinstance(tree, dict) or tree.keys() != structure.keys():
            raise ShapeError(f"{what} needs a dict with the keys {list(structure)}; got {tree!r:.60}")
        pairs = [(tree[key], part) for key, part in structure.items()]
    else:
        if not isinstance(tree, (list, tuple)) or len(tree) != len(structure):
            raise ShapeError(f"{what} needs a {type(structure).__name__} of {len(structure)} parts; got {tree!r:.60}")
        pairs = list(zip(tree, structure, strict=True))
    return [leaf for part, inner in pairs for leaf in leaves_like(part, inner, what)]


def unflatten(structure: Any, leaves: list[Any]) -> Any:
    """Put leaves back in the place they came from.

    >>> flat, structure = flatten((1, [2, 3]))
    >>> unflatten(structure, [10, 20, 30])
    (10, [20, 30])
    """
    return _build(structure, iter(leaves))


def _build(structure: Any, leaves: Any) -> Any:
    if structure is LEAF:
        return next(leaves)
    if isinstance(structure, dict):
        return {key: _build(part, leaves) for key, part in structure.items()}
    if hasattr(structure, "_fields"):
        return type(structure)(*(_build(part, leaves) for part in structure))
    return type(structure)(_build(part, leaves) for part in structure)
