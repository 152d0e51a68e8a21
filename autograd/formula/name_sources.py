"""Where names come from: a mapping such as `locals()`, the modules that own parameters, the calls that made results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from autograd.recording import Scope
from autograd.value import Value


def named_in(given: Mapping[str, Any]) -> Iterator[tuple[Any, str]]:
    """Values and arrays in a mapping such as `locals()`, also inside lists, tuples, dicts and modules."""
    if not isinstance(given, Mapping):
        raise TypeError(
            "names: expected a mapping from names to Values and arrays; "
            f"got {given!r:.80} ({type(given).__name__}). Write names=locals(), or names={{'x': x}}"
        )
    for key, x in given.items():
        if not str(key).startswith("_"):
            yield from _unpacked(x, str(key), depth=3)


def _unpacked(x: Any, name: str, depth: int) -> Iterator[tuple[Any, str]]:
    if isinstance(x, Value | np.ndarray):
        yield x, name
    elif depth and isinstance(x, list | tuple):
        for index, entry in enumerate(x):
            yield from _unpacked(entry, f"{name}[{index}]", depth - 1)
    elif depth and isinstance(x, dict):
        for key, entry in x.items():
            yield from _unpacked(entry, f"{name}[{key!r}]", depth - 1)
    elif hasattr(x, "named_parameters"):
        for path, parameter in x.named_parameters():
            yield parameter, f"{name}.{path}"


def parameter_paths(nodes: Iterable[Value]) -> Iterator[tuple[Value, str]]:
    """Parameters under the dotted path of the outermost module that was called and owns them."""
    outermost = {}
    for node in nodes:
        if node.scope is not None:
            *_, top = node.scope.chain()
            outermost[id(top)] = top
    for scope in outermost.values():
        if hasattr(scope.module, "named_parameters"):
            for path, parameter in scope.module.named_parameters():
                yield parameter, path


def module_results(nodes: Iterable[Value]) -> Iterator[tuple[Value, str]]:
    """Nodes used outside the call that made them, with the path of the outermost call whose only result each is."""
    exits: dict[Scope, dict[Value, None]] = {}
    left: dict[Value, list[Scope]] = {}
    for node in nodes:
        around = set(node.scope.chain()) if node.scope is not None else set()
        for x in node.parents:
            if x.scope is not None and x.scope is not node.scope and x.scope not in around:
                scopes = [scope for scope in x.scope.chain() if scope.name and scope not in around]
                left[x] = max(left.get(x, []), scopes, key=len)
                for scope in scopes:
                    exits.setdefault(scope, {})[x] = None
    for x, scopes in left.items():
        alone = [scope for scope in scopes if len(exits[scope]) == 1]
        if alone:
            yield x, _as_a_name(alone[-1])


def _as_a_name(scope: Scope) -> str:
    """The path of a call; one that reads as a number, as in torch's Sequential, has its kind before it: Linear_0."""
    path = scope.path
    return path if any(character.isalpha() for character in path) else f"{scope.kind or 'module'}_{path}"
