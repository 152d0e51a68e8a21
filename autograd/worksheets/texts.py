"""How each table of a sheet is computed, in the symbols of whole tables; and how its numbers are written."""

from __future__ import annotations

import re
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any

import numpy as np

from autograd.expr import Expr
from autograd.formula.scalar_program import FORWARD
from autograd.formula.scalar_tables import Program, Table
from autograd.formula.scalars import VOCABULARY, is_constant, python_text
from autograd.formula.text import clipped, visible
from autograd.op import OPS
from autograd.value import Value

UPDATE = "update"
PLACES, SLOPE = re.compile(r"(\[\d+\])+"), re.compile(r"\bd(\w+)/d")
LONGEST_ENTRY = 70  # characters of the formula of a single number
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
        self._forward: dict[Value, list[Any]] = {}
        self._sent: dict[Value, list[Any]] = {}

    def of(self, table: Table) -> str:
        if table.phase == UPDATE:
            name = self.words.name(table.owner)
            return f"{name} − η · {as_slope(f'd{self.program.top}/d{name}')}"
        if table.kind == "gradient" and table.through is None:
            return "the sum of what comes along each path"
        line = self._line(table)
        if line is None or _is_call(line.formula) or (table.values.size == 1 and _has_steps(table)):
            found = self._of_entries(table)
            if found:
                return found
        if line is None:
            return table.says
        if table.phase == FORWARD or table.kind == "step":
            return self._written(line.formula)
        assert table.through is not None
        return self._in_full(self._written(line.formula), table.through)

    def _line(self, table: Table) -> Any:
        """The line that gives a whole table; None for a step inside another op's step."""
        if table.phase == FORWARD:
            lines = self._of_node(table.owner)
        else:
            lines = self._lines(table)
        if table.kind == "step":
            return next((line for line in lines if line.result.name == table.label), None)
        return lines[-1] if lines else None

    def _of_entries(self, table: Table) -> str:
        """From the formulas of the entries: of one, that; of many that are alike, theirs without places: e / z."""
        formulas = list(table.formulas.flat)
        if len(formulas) == 1 and formulas[0].op is not None:
            text = self._without_step(python_text(formulas[0]), table)
            return text if len(text) <= LONGEST_ENTRY else ""
        names = {e.name for e in formulas[0].symbols()}
        tables = {name.partition("[")[0] for name in names}
        if len(tables) < len(names) or len(set(map(outline, formulas))) > 1 or formulas[0].op is None:
            return ""
        return self._without_step(PLACES.sub("", python_text(formulas[0])), table)

    def _without_step(self, text: str, table: Table) -> str:
        owner = table.owner if table.through is None else table.through
        text = text.replace(f"{self.words.name(owner)}.", "")
        return SLOPE.sub(r"∂\1/∂", text).replace(" - ", " − ")

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

    def _of_node(self, node: Value) -> list[Any]:
        if node not in self._forward:
            self._forward[node] = self.words.forward(node)
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
        whole = _without_ones(formula.replaced(self._seed))
        if whole.op is not None and whole.op.base is OPS["linear"]:
            product: Any = OPS["matmul"](*whole.args[:2])
            bias = [part for part in whole.args[2:] if part.value is not None]
            whole = sum(bias, product)  # as people write it
        return clipped(visible(self.words.names.written(whole, "")), 90)

    def _seed(self, e: Expr) -> Expr | None:
        """The gradient of the root itself is 1."""
        return Expr.number(1) if e.is_gradient and e.node is self.program.root and np.ndim(e.value) == 0 else None


def _is_call(e: Expr) -> bool:
    """Does it only name a function that is a calculation of its own, such as softmax?"""
    return e.op is not None and e.op.base.name not in VOCABULARY and e.op.definition is not None


def _has_steps(table: Table) -> bool:
    return table.kind == "value" and table.owner.op is not None and table.owner.op.definition is not None


def outline(e: Expr) -> Any:
    """A formula without its names: what tells the target's line from the others."""
    if e.op is None:
        return "x" if e.name else e.value
    return (e.op.name, *map(outline, e.args))


def _without_ones(e: Expr) -> Expr:
    """Without factors of 1."""
    if e.op is None:
        return e
    parts = tuple(map(_without_ones, e.args))
    if e.op.name == "mul":
        others = [part for part in parts if not (is_constant(part) and np.all(np.equal(part.value, 1)))]
        if len(others) == 1:
            return others[0]
    return e if all(a is b for a, b in zip(parts, e.args, strict=True)) else Expr.applied(e.op, parts, e.value)
