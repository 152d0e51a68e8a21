"""The parts of a scalar program: tables of quantities, and a line for each of their entries."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from autograd.engine import Value
from autograd.expr import Expr

from ..lines import Derivation
from ..writers.python import python_text
from .formulas import entry_name, object_array


@dataclass
class Table:
    """One quantity: a leaf, a result, a named step of one, a gradient, or a contribution to one.

    name      `Q`, `P.e`, `dL/dQ`, `dL/dx:y`; `label` is the short form in its own step: `e`
    kind      "input", "value", "step", "gradient" or "contribution"
    phase     "forward" or "backward"
    owner     the node that it belongs to: whose value, step or gradient it is
    through   of a backward table the node whose rule gives it
    formulas  an array of scalar Exprs, one for each entry; None for an input
    values    the numbers
    says      a few words that explain it: "sum of the row"
    """

    name: str
    label: str
    kind: str
    phase: str
    owner: Value
    values: Any
    formulas: Any = None
    through: Value | None = None
    says: str = ""
    symbols: Any = field(default=None, repr=False)  # one for each entry, for later formulas

    @property
    def shape(self) -> tuple[int, ...]:
        return self.values.shape

    @functools.cached_property
    def ids(self) -> Any:
        """The id of each entry."""
        return object_array(self.shape, lambda index: entry_name(self.name, index))

    @property
    def is_copy(self) -> bool:
        """Is every entry another entry as it is, or a constant?"""
        return self.formulas is not None and all(e.op is None for e in self.formulas.flat)

    def lines(self) -> Iterator[Scalar]:
        """Its entries in order; of an input none."""
        if self.formulas is not None:
            for index in np.ndindex(self.shape):
                yield Scalar(self.ids[index], self.formulas[index], float(self.values[index]), self, index)


@dataclass
class Scalar:
    """One line: `id = formula`, a scalar Expr whose symbols are called by the ids of earlier lines."""

    id: str
    formula: Expr
    value: float
    table: Table
    index: tuple[int, ...]

    @property
    def operands(self) -> list[str]:
        """The ids in the formula, each once."""
        return list(dict.fromkeys(e.name for e in self.formula.symbols()))

    @property
    def text(self) -> str:
        """The formula as arithmetic over ids, in Python's notation."""
        return python_text(self.formula)


@dataclass
class Program:
    """The lines of one graph.

    root        its root, with fused ops replaced by their steps
    words       the names of the nodes, and the lines of whole tables
    inputs      the leaves
    tables      everything computed, each table after those it is computed from
    top         what the gradients are of: the root's name, or L
    values      for each node an array of Exprs, its entries: symbols of lines, or constants
    gradients   for each node that has one, the same of its gradient
    """

    root: Value
    top: str
    words: Derivation
    inputs: list[Table]
    tables: list[Table]
    values: dict[Value, Any]
    gradients: dict[Value, Any]

    @property
    def lines(self) -> Iterator[Scalar]:
        """Every line, each after those it is computed from."""
        for table in self.tables:
            yield from table.lines()

    def start(self) -> dict[str, float]:
        """The numbers of the inputs by their ids."""
        return {name: float(x) for t in self.inputs for name, x in zip(t.ids.flat, t.values.flat)}

    def run(self, numbers: Mapping[str, Any] | None = None) -> dict[str, float]:
        """Every id's number, computed again; `numbers` replaces those of some inputs."""
        found: dict[str, Any] = self.start()
        found.update(numbers or {})
        for line in self.lines:
            found[line.id] = float(line.formula.run(lambda e: found[e.name]))
        return found
