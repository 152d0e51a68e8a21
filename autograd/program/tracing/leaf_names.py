"""What the leaves of a compiled function's inputs are called, and which of them belong together."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from autograd.engine import Value
from autograd.errors import DataError

from .inputs import is_leaf, is_module


class Reached(NamedTuple):
    """A leaf of an argument, and how it is reached: ("key", "w") of a dict, ("field", "x") of a namedtuple,
    ("place", 0) of a list, ("parameter", "lin.weight") of a module.
    """

    steps: tuple[tuple[str, Any], ...]
    leaf: Any


def reached(x: Any, steps: tuple[tuple[str, Any], ...] = ()) -> Iterator[Reached]:
    """The leaves of an argument, in order."""
    if isinstance(x, dict):
        for key, part in x.items():
            yield from reached(part, (*steps, ("key", key)))
    elif isinstance(x, (list, tuple)):
        fields = getattr(x, "_fields", None)
        for n, part in enumerate(x):
            yield from reached(part, (*steps, ("field", fields[n]) if fields else ("place", n)))
    elif is_module(x):
        yield from (Reached((*steps, ("parameter", path)), p) for path, p in x.named_parameters())
    elif is_leaf(x):
        yield Reached(steps, x)


def leaf_names(f: Callable[..., Any], args: Sequence[Any]) -> list[str]:
    """What people call each leaf: the function's name for an input, with its keys; a parameter by its dotted name."""
    return [_name(who, one) for who, x in zip(parameter_names(f, len(args)), args) for one in reached(x)]


def _name(who: str, one: Reached) -> str:
    for kind, key in one.steps:
        plain = kind == "parameter" or (kind == "key" and isinstance(key, str))
        who = key if plain else f"{who}.{key}" if kind == "key" else f"{who}_{key}"
    in_module = one.steps and one.steps[-1][0] == "parameter"
    return (one.leaf.name if isinstance(one.leaf, Value) and not in_module else None) or who


def kinds_of_leaves(args: Sequence[Any]) -> list[tuple[Any, ...]]:
    """For each leaf, by which names it is reached: the place of its argument and the keys of dicts. Leaves at other
    places of the same lists are of the same kind.
    """
    named = ("key", "parameter")
    return [(n, *(key for kind, key in one.steps if kind in named)) for n, x in enumerate(args) for one in reached(x)]


def parameter_names(f: Callable[..., Any], count: int) -> Iterator[str]:
    """The names of a function's positional parameters, those of `*xs` numbered; of a module, those of its `forward`."""
    try:
        called = f.forward if is_module(f) else f  # type: ignore[attr-defined]
        parameters = list(inspect.signature(called).parameters.values())
    except (TypeError, ValueError):  # a function written in C may not say
        parameters = []
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "x")
    for i in range(count):
        yield positional[i].name if i < len(positional) else f"{rest}{i - len(positional)}"


def split_leaves(f: Callable[..., Any], args: Sequence[Any], batch: Sequence[str] | None) -> list[bool]:
    """For each leaf, whether it is part of the batch: in an argument that `batch` names, or, without, in no module."""
    names = list(parameter_names(f, len(args)))
    if batch is None:
        if not any(is_module(x) for x in args):
            raise DataError(f"which of {', '.join(names)} are split over the devices? Say batch=({names[-1]!r},)")
        chosen = [not is_module(x) for x in args]
    else:
        batch = (batch,) if isinstance(batch, str) else tuple(batch)
        unknown = [name for name in batch if name not in names]
        if unknown:
            raise DataError(f"batch={batch!r}: the function has no argument {unknown[0]!r}, only {', '.join(names)}")
        chosen = [name in batch for name in names]
    return [split for split, x in zip(chosen, args) for _ in reached(x)]
