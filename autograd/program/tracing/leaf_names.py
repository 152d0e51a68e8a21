"""What the leaves of a compiled function's inputs are called, and which of them belong together."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from autograd.engine import Value
from autograd.errors import DataError

from .inputs import is_leaf, is_module, take_apart


def leaf_names(f: Callable[..., Any], args: Sequence[Any]) -> list[str]:
    """What people call each leaf: the function's name for an input, with its keys; a parameter by its dotted name."""
    own = list(parameter_names(f, len(args)))
    return [name for who, x in zip(own, args) for name in _names(who, x)]


def _names(who: str, x: Any) -> Iterator[str]:
    if isinstance(x, dict):
        for key, part in x.items():
            yield from _names(f"{who}.{key}" if not isinstance(key, str) else f"{key}", part)
    elif isinstance(x, (list, tuple)):
        fields = getattr(x, "_fields", range(len(x)))
        for key, part in zip(fields, x):
            yield from _names(f"{who}_{key}", part)
    elif is_module(x):
        yield from (path for path, _ in x.named_parameters())
    elif is_leaf(x):
        yield (x.name if isinstance(x, Value) else None) or who


def kinds_of_leaves(args: Sequence[Any]) -> list[tuple[Any, ...]]:
    """For each leaf, by which names it is reached: the place of its argument and the keys of dicts. Leaves at other
    places of the same lists are of the same kind.
    """
    return [kind for n, x in enumerate(args) for kind in _kinds((n,), x)]


def _kinds(who: tuple[Any, ...], x: Any) -> Iterator[tuple[Any, ...]]:
    if isinstance(x, dict):
        for key, part in x.items():
            yield from _kinds((*who, key), part)
    elif isinstance(x, (list, tuple)):
        for part in x:
            yield from _kinds(who, part)
    elif is_module(x):
        yield from ((*who, path) for path, _ in x.named_parameters())
    elif is_leaf(x):
        yield who


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
    return [split for split, x in zip(chosen, args) for _ in take_apart([x])[0]]
