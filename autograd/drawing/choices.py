"""What a caller picks by name: modules to fold, leaves to show as inputs. A name that nothing has is refused."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from autograd.drawing.folding import Collapse, chooser
from autograd.formula.names import Names
from autograd.recording import Scope
from autograd.value import Value

MOST_LISTED = 12  # names in a message


class UnknownChoice(ValueError):
    """An option that picks nothing. Its parts let the command line spell it as it was typed."""

    def __init__(self, option: str, choice: Any, told: str) -> None:
        super().__init__(f"{option}={choice!r}: {told}")
        self.option, self.choice, self.told = option, choice, told


def as_inputs(inputs: Any) -> tuple[Any, ...]:
    """The caller's `inputs`, where one alone need not stand in a list."""
    if isinstance(inputs, str | Value):
        return (inputs,)
    if not isinstance(inputs, Iterable):
        raise TypeError(
            "inputs: expected leaves or their names; "
            f"got {inputs!r:.80} ({type(inputs).__name__}). Write inputs=['x'], or inputs=[x]"
        )
    return tuple(inputs)


def refuse_unknown(nodes: Sequence[Value], names: Names, collapse: Collapse, inputs: Iterable[Any]) -> None:
    """Raises for a name that nothing in the graph has, with the names there are."""
    patterns = list(_patterns(collapse))
    scopes = _scopes(nodes) if patterns else []
    for pattern in patterns:
        if not any(map(chooser(pattern), scopes)):
            raise UnknownChoice("collapse", pattern, f"folds no module of this graph, which has {_described(scopes)}")
    leaves = [names.name(node) for node in nodes if node.op is None and names.name(node)]
    for one in inputs:
        if isinstance(one, str) and one not in leaves:
            raise UnknownChoice("inputs", one, f"no leaf is called that; there are {_listed(leaves)}")
        if isinstance(one, Value) and not any(one is node for node in nodes):
            raise UnknownChoice("inputs", one, f"is not in this graph; its leaves are {_listed(leaves)}")


def _patterns(collapse: Collapse) -> Iterator[str]:
    """The names in `collapse`. A depth may be deeper than the model, and what a function picks is its own affair."""
    if isinstance(collapse, str):
        yield collapse
    elif isinstance(collapse, Iterable):
        for part in collapse:
            yield from _patterns(part)


def _scopes(nodes: Iterable[Value]) -> list[Scope]:
    """Every module call around a node, outer ones before inner ones."""
    found: dict[int, Scope] = {}
    for node in nodes:
        if node.scope is not None and node.scope.serial not in found:
            found |= {scope.serial: scope for scope in reversed(list(node.scope.chain()))}
    return list(found.values())


def _described(scopes: Sequence[Scope]) -> str:
    """The modules by path, and what kinds of modules they are."""
    kinds = [scope.kind for scope in scopes if scope.kind]
    return _listed(scope.path for scope in scopes if scope.path) + (f" (kinds: {_listed(kinds)})" if kinds else "")


def _listed(names: Iterable[str]) -> str:
    each = list(dict.fromkeys(names))
    more = f" and {len(each) - MOST_LISTED} more" if len(each) > MOST_LISTED else ""
    return ", ".join(each[:MOST_LISTED]) + more or "none"
