"""Hints: how each table of a sheet is computed, in the symbols of whole tables."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from autograd.engine import Value
from autograd.expr import Expr
from autograd.formula.scalars.formulas import VOCABULARY, plain_number
from autograd.formula.scalars.program import FORWARD
from autograd.formula.scalars.tables import Program, Table
from autograd.formula.text import clipped, visible
from autograd.formula.writers.python import nested

from .mathematics import Mathematics, transposed
from .parts import UPDATE, as_slope

LONGEST_ENTRY = 70  # characters of the formula of a single number
LONGEST_SUM = 90  # characters of a gradient as the sum of its paths


class Hints:
    """How each table is computed, in the symbols of whole tables: `Q = X @ WQ`."""

    def __init__(self, program: Program, steps: bool = True) -> None:
        self.words = program.words
        self.program = program
        self._maths = Mathematics(program.words)
        self._steps = steps  # whether the sheet asks for the named steps inside of an op
        self._entries = {  # by id: the table, and the place in it
            table.ids[index]: (table, index)
            for table in (*program.inputs, *program.tables)
            for index in np.ndindex(table.shape)
        }
        self._asked_slopes = {table.owner for table in program.tables if table.kind == "gradient"}
        self._forward: dict[Value, list[Any]] = {}
        self._sent: dict[Value, list[Any]] = {}

    def of(self, table: Table) -> str:
        if table.phase == UPDATE:
            name = self.words.name(table.owner)
            return f"{name} − η · {as_slope(f'd{self.program.top}/d{name}')}"
        if table.kind == "gradient" and table.through is None:
            found = self._of_entries(table)
            return found if 0 < len(found) <= LONGEST_SUM else "the sum of what comes along each path"
        if not self._steps:
            return self._at_once(table)
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

    def _at_once(self, table: Table) -> str:
        """Without blanks for its steps: the call itself, softmax(x); a rule with what it names: P * u, where u = …"""
        if table.phase == FORWARD:
            return self._written(self.words.formula(table.owner))
        assert table.through is not None
        *named, last = self._lines(table)
        names = "; ".join(f"{line.result.name} = {self._written(line.formula)}" for line in named)
        return self._in_full(self._written(last.formula), table.through) + (f", where {names}" if names else "")

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
            text = self._without_step(self._maths.write(formulas[0]), table)
            return text if len(text) <= LONGEST_ENTRY else ""
        if text := self._of_rows(formulas):
            return text
        names = {e.name for e in formulas[0].symbols()}
        tables = {self._entries[name][0].name for name in names}
        if len(tables) < len(names) or len(set(map(outline, formulas))) > 1 or formulas[0].op is None:
            return ""
        if not all(map(self._is_entry_by_entry, formulas)):
            return ""
        whole = formulas[0].replaced(self._table_of)
        return self._without_step(self._maths.write(whole), table)

    def _of_rows(self, formulas: list[Expr]) -> str:
        """`the largest of each row of scores`, `the sum of each row of e`."""
        first = next((self._entries[e.name][0] for e in formulas[0].symbols()), None)
        if first is None or first.values.ndim < 2 or len(formulas) != first.values.size // first.shape[-1]:
            return ""
        rows = first.ids.reshape(-1, first.shape[-1]).tolist()
        for word, op in (("largest", "maximum"), ("sum", "add")):
            if all(e.op is not None and e.op.name == op and [part.name for part in nested(e)] == row
                   for e, row in zip(formulas, rows, strict=True)):  # fmt: skip
                return f"the {word} of each row of {first.label if first.kind == 'step' else first.name}"
        return ""

    def _table_of(self, e: Expr) -> Expr | None:
        """The whole table in the place of an entry."""
        if e.op is not None or not e.name:
            return None
        table = self._entries[e.name][0]
        return Expr(table.label if table.kind == "step" else table.name, e.value)

    def _is_entry_by_entry(self, e: Expr) -> bool:
        """Do its names stand for entries at one place, as in e[0][1] / z[0]? In outer's x[0] * g[1] they do not."""
        places = []
        for symbol in e.symbols():
            table, place = self._entries[symbol.name]
            places.append([at for at, size in zip(place, table.shape, strict=True) if size > 1])
        places.sort(key=len)
        return all(_is_within(shorter, longer) for shorter, longer in itertools.pairwise(places))

    def _without_step(self, text: str, table: Table) -> str:
        owner = table.owner if table.through is None else table.through
        return text.replace(f"{self.words.name(owner)}.", "")

    def _in_full(self, text: str, node: Value) -> str:
        """A rule that speaks of a gradient that the sheet does not ask for, because it is a mere number or a copy
        (that of K.T, of a sum's input): with what is sent there in its place."""
        slope = self.words.slope(node)
        text = text.replace("ᵀᵀ", "")
        if slope not in text or node in self._asked_slopes:
            return text
        users = [user for user in self.words.nodes if user.requires_grad and any(x is node for x in user.inputs)]
        lines = self._part(users[0], node) if len(users) == 1 else []
        if not lines:
            return text
        inner = self._in_full(self._written(lines[-1].formula), users[0])
        if text in (slope, f"{slope}ᵀ"):
            return inner if text == slope else transposed(inner)
        is_alone = " " not in inner or text.startswith((f"{slope} in ", f"{slope} at "))
        return text.replace(slope, inner if is_alone else f"({inner})")

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
        whole = _without_ones(formula.replaced(self._whole_number))
        return clipped(visible(self._maths.write(whole)), 90)

    def _whole_number(self, e: Expr) -> Expr | None:
        """A gradient that is an integer whatever the inputs are: the root's own, 1, or the −1 of −x."""
        if not e.is_gradient or np.ndim(e.value) or e.node in self._asked_slopes:
            return None
        (entry,) = self.program.gradients[e.node].flat
        number = plain_number(entry.value) if entry.is_constant else None
        return Expr.number(number) if isinstance(number, int) else None


def _is_call(e: Expr) -> bool:
    """Does it only name a function that is a calculation of its own, such as softmax?"""
    return e.op is not None and e.op.base.name not in VOCABULARY and e.op.definition is not None


def _has_steps(table: Table) -> bool:
    return table.kind == "value" and table.owner.op is not None and table.owner.op.definition is not None


def _is_within(few: list[int], many: list[int]) -> bool:
    """Do the numbers of `few` stand in `many`, in the same order?"""
    rest = iter(many)
    return all(number in rest for number in few)


def outline(e: Expr) -> Any:
    """A formula without its names: equal for lines that do the same."""
    if e.op is None:
        return "x" if e.name else e.value
    return (e.op.name, *map(outline, e.args))


def _without_ones(e: Expr) -> Expr:
    """Without factors of 1."""
    if e.op is None:
        return e
    parts = tuple(map(_without_ones, e.args))
    if e.op.name == "mul":
        others = [part for part in parts if not (part.is_constant and np.all(np.equal(part.value, 1)))]
        if len(others) == 1:
            return others[0]
    return e.with_args(parts)
