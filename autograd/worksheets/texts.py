"""How each table of a sheet is computed, in the symbols of whole tables; and how its numbers are written."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any

import numpy as np

from autograd.expr import Expr
from autograd.formula.scalar_program import FORWARD
from autograd.formula.scalar_tables import Program, Table
from autograd.formula.text import clipped, visible
from autograd.value import Value

UPDATE = "update"
SMALLEST_PLAIN = -7  # power of ten below which a number is written as 1.2e-9


def shown(x: Decimal, digits: int) -> str:
    """A number with so many significant digits; an exact one as short as it is.

    >>> shown(Decimal("0.25062056827"), 4), shown(Decimal("0.10"), 4), shown(Decimal("-1.768E-5"), 4)
    ('0.2506', '0.1', '-0.00001768')
    """
    if not x:
        return "0"
    unit = Decimal(1).scaleb(x.adjusted() - digits + 1)
    rounded = x.quantize(unit, rounding=ROUND_HALF_EVEN)
    if rounded == x:
        rounded = rounded.normalize()
    return f"{rounded:f}" if rounded.adjusted() >= SMALLEST_PLAIN and rounded.adjusted() < 15 else f"{rounded:e}"


def as_slope(name: str) -> str:
    """`dL/dQ` as people write it: ∂L/∂Q."""
    top, slash, rest = name.partition("/d")
    return f"∂{top[1:]}/∂{rest}" if slash and top.startswith("d") else name


class Texts:
    """How each table is computed, in the symbols of whole tables: `Q = X @ WQ`."""

    def __init__(self, program: Program) -> None:
        self.words = program.words
        self.program = program
        self._forward: dict[Value, dict[str, str]] = {}
        self._sent: dict[Value, list[Any]] = {}

    def of(self, table: Table) -> str:
        if table.phase == UPDATE:
            name = self.words.name(table.owner)
            return f"{name} − η · {as_slope(f'd{self.program.top}/d{name}')}"
        if table.phase == FORWARD:
            found = self._of_node(table.owner)
            return found.get(table.label if table.kind == "step" else "", table.says)
        if table.through is None:
            return "the sum of what comes along each path"
        lines = self._lines(table)
        if table.kind == "step":
            found = {line.result.name: self._written(line.formula) for line in lines}
            return found.get(table.label, table.says)
        return self._in_full(self._written(lines[-1].formula), table.through) if lines else ""

    def _in_full(self, text: str, node: Value) -> str:
        """A rule that speaks of the gradient of a K.T that has no line: with what is sent to it in its place."""
        slope = self.words.slope(node)
        if slope not in text or any(node is table.owner for table in self.program.tables):
            return text.replace(".T.T", "")
        users = [user for user in self.words.nodes if any(x is node for x in user.inputs)]
        if len(users) != 1:
            return text
        lines = self._part(users[0], node)
        inner = self._in_full(self._written(lines[-1].formula), users[0]) if lines else slope
        return text.replace(slope, f"({inner})")

    def _of_node(self, node: Value) -> dict[str, str]:
        if node not in self._forward:
            lines = self.words.forward(node)
            self._forward[node] = {line.result.name: self._written(line.formula) for line in lines[:-1]}
            self._forward[node][""] = self._written(lines[-1].formula)
        return self._forward[node]

    def _lines(self, table: Table) -> list[Any]:
        node = table.through
        assert node is not None
        parts = self._all_sent(node)
        if table.kind == "step":
            return [line for part in parts if part for line in part]
        place = int(table.name.rpartition("#")[2]) - 1 if "#" in table.name.partition(":")[2] else 0
        return self._part(node, table.owner, place)

    def _part(self, node: Value, x: Value, place: int = 0) -> list[Any]:
        """The lines of what a node sends to x, its `place`-th such operand."""
        parts = self._all_sent(node)
        mine = [part for y, part in zip(node.inputs, parts, strict=True) if y is x and part]
        return mine[min(place, len(mine) - 1)] if mine else []

    def _all_sent(self, node: Value) -> list[Any]:
        if node not in self._sent:
            slopes = self.program.gradients[node]
            g = np.array([float(e.value) for e in slopes.flat]).reshape(slopes.shape)
            self._sent[node] = self.words.backward(node, g if g.ndim else float(g))
        return self._sent[node]

    def _written(self, formula: Expr) -> str:
        return clipped(visible(self.words.names.written(formula, "")), 90)
