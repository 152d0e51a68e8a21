"""The keywords of `draw`, checked as soon as they are given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from autograd.drawing.choices import as_inputs
from autograd.drawing.folding import Collapse

EDGES = (None, "rule", "numbers")
DETAILS = ("full", "brief")
DIRECTIONS = (None, "TB", "LR")
MAX_NODES = 300


@dataclass(frozen=True)
class Options:
    """The keywords of `draw`; see there."""

    collapse: Collapse = None
    direction: str | None = None
    detail: str = "full"
    edges: str | None = None
    max_nodes: int = MAX_NODES
    names: Mapping[str, Any] | None = None
    flow: bool | float = False
    inputs: Iterable[Any] = ()
    chains: bool | None = None
    digits: int = 4
    title: str = ""
    repeats: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "inputs", as_inputs(self.inputs))
        for field, allowed in (("edges", EDGES), ("detail", DETAILS), ("direction", DIRECTIONS)):
            if getattr(self, field) not in allowed:
                choices = ", ".join(map(repr, allowed))
                raise ValueError(f"draw: {field} is one of {choices}; got {getattr(self, field)!r}")
        if not isinstance(self.max_nodes, int) or self.max_nodes < 2:
            raise ValueError(f"draw: max_nodes is a whole number of at least 2; got {self.max_nodes!r}")
        if not isinstance(self.digits, int) or not 1 <= self.digits <= 17:
            raise ValueError(f"draw: digits is a whole number from 1 to 17; got {self.digits!r}")

    @property
    def may_be_long(self) -> bool:
        """Did the caller ask for more cards than usual, or for labels on edges that folding would hide?"""
        return self.edges is not None or self.max_nodes > MAX_NODES
