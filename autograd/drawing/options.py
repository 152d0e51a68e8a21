"""The keywords of `draw`, checked as soon as they are given; a name that nothing in the graph has is refused."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from autograd.engine import Value
from autograd.formula.names import Names
from autograd.graph import calls_around
from autograd.modes import Scope

from .groups import Collapse, chooser
from .roles import as_leaves

EDGES = (None, "rule", "numbers")
DETAILS = (None, "full", "brief")
DIRECTIONS = (None, "TB", "LR")
MAX_NODES = 300
MOST_LISTED = 12  # names in a message


@dataclass(frozen=True)
class Options:
    """The keywords of `draw`; see there."""

    collapse: Collapse = None
    direction: str | None = None
    detail: str | None = None
    edges: str | None = None
    max_nodes: int = MAX_NODES
    names: Mapping[str, Any] | None = None
    flow: bool | float = False
    inputs: Any = ()
    parameters: Any = None
    digits: int = 4
    title: str = ""
    backward: bool = True
    fit: Any = None
    stepping: bool = False  # for a stepper: copies keep a card each, and modules show the gradient that arrives

    def __post_init__(self) -> None:
        object.__setattr__(self, "inputs", as_leaves(self.inputs, "inputs"))
        if isinstance(self.direction, str):
            object.__setattr__(self, "direction", self.direction.upper())
        if self.fit == "auto" and self.opens_all:
            object.__setattr__(self, "fit", None)
        for field, allowed in (("edges", EDGES), ("detail", DETAILS), ("direction", DIRECTIONS)):
            if getattr(self, field) not in allowed:
                choices = ", ".join(map(repr, allowed[field == "detail" :]))
                raise ValueError(f"draw: {field} is one of {choices}; got {getattr(self, field)!r}")
        if not isinstance(self.max_nodes, int) or self.max_nodes < 2:
            raise ValueError(f"draw: max_nodes is an integer of at least 2; got {self.max_nodes!r}")
        if not isinstance(self.digits, int) or not 1 <= self.digits <= 17:
            raise ValueError(f"draw: digits is an integer from 1 to 17; got {self.digits!r}")

    @property
    def beside(self) -> bool:
        """Does the gradient stand beside the value? From left to right, where cards are to be narrow, below it."""
        return self.direction != "LR"

    @property
    def wants_numbers(self) -> bool:
        """Is anything on or along the edges computed from the last backward?"""
        return self.flow is not False or self.edges == "numbers"

    @property
    def opens_all(self) -> bool:
        """Did the caller ask for all cards, for more than usual, or for labels on edges that folding would hide?"""
        return self.collapse is False or self.edges is not None or self.max_nodes > MAX_NODES


class UnknownChoice(ValueError):
    """An option that picks nothing. Its parts let the command line spell it as it was typed."""

    def __init__(self, option: str, choice: Any, reason: str) -> None:
        super().__init__(f"{option}={choice!r}: {reason}")
        self.option, self.choice, self.reason = option, choice, reason


def refuse_unknown(
    nodes: Sequence[Value], names: Names, collapse: Collapse, inputs: Iterable[Any], parameters: Any = None
) -> None:
    """Raises for a name that nothing in the graph has, with the names there are."""
    patterns = list(_patterns(collapse))
    scopes = _scopes(nodes) if patterns else []
    for pattern in patterns:
        if not any(map(chooser(pattern), scopes)):
            known = f"there are {_described(scopes)}" if scopes else "it has none"
            raise UnknownChoice("collapse", pattern, f"folds no module of this graph; {known}")
    leaves = [names.own_name(node) for node in nodes if node.op is None and names.own_name(node)]
    whole = hasattr(parameters, "named_parameters")  # an optimizer or module may own more than this graph uses
    listed = () if parameters is None or whole else as_leaves(parameters, "parameters")
    for option, one in (*(("inputs", one) for one in inputs), *(("parameters", one) for one in listed)):
        if isinstance(one, str) and one not in leaves:
            raise UnknownChoice(option, one, f"no leaf is called that; there are {_listed(leaves)}")
        if isinstance(one, Value) and not any(one is node for node in nodes):
            raise UnknownChoice(option, one, f"is not in this graph; its leaves are {_listed(leaves)}")


def _patterns(collapse: Collapse) -> Iterator[str]:
    """The names in `collapse`. A depth may be deeper than the model, and a function may pick nothing."""
    if isinstance(collapse, str):
        yield collapse
    elif isinstance(collapse, Iterable):
        for part in collapse:
            yield from _patterns(part)


def _scopes(nodes: Iterable[Value]) -> list[Scope]:
    """Every module call around a node, outer ones before inner ones."""
    found: dict[int, Scope] = {}
    for node in nodes:
        found |= {scope.serial: scope for scope in reversed(calls_around(node))}
    return list(found.values())


def _described(scopes: Sequence[Scope]) -> str:
    """The modules by path, and what kinds of modules they are."""
    kinds = [scope.kind for scope in scopes if scope.kind]
    return _listed(scope.path for scope in scopes if scope.path) + (f" (kinds: {_listed(kinds)})" if kinds else "")


def _listed(names: Iterable[str]) -> str:
    each = list(dict.fromkeys(names))
    more = f" and {len(each) - MOST_LISTED} more" if len(each) > MOST_LISTED else ""
    return ", ".join(each[:MOST_LISTED]) + more or "none"


INSTEAD = {  # what to write here, and the words of other programs for it
    "theme=…": "color colors colour colours font fontname bgcolor dark node_attr edge_attr graph_attr",
    "fit=(width, height)": "size figsize width height ratio",
    "collapse=…": "depth expand_nested roll",
    "detail=…": "show_shapes",
    "names=…": "label labels",
    "direction=…": "graph_dir",
    "title=…": "graph_name name",
    "parameters=…": "params",
    "backward=False": "grad grads show_grad show_grads gradients forward forward_only",
    "draw([a, b])": "roots",
    'draw(…).save("graph.svg")': "filename directory dpi scale save_graph",
}
OPTIONS = ("backward", "collapse", "detail", "digits", "direction", "edges", "engine", "fit", "flow",
           "format", "inputs", "max_nodes", "names", "parameters", "rankdir", "theme", "title")  # fmt: skip


def refuse_words(unknown: Mapping[str, Any]) -> None:
    """Raises for keywords that `draw` does not have, with what to write instead."""
    for word in unknown:
        instead = [text for text, words in INSTEAD.items() if word in words.split()]
        instead += [f"{near}=…" for near in difflib.get_close_matches(word, OPTIONS, 1)]
        helps = f"write {instead[0]}" if instead else f"it has {', '.join(OPTIONS)}"
        raise TypeError(f"draw has no option {word}=; {helps}")
