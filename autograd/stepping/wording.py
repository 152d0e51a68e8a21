"""How a step reads: each node's name, its gradient's symbol, its rule as a `Formula` with those names."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

import numpy as np

from autograd.expr import Expr, rule_or_its_name
from autograd.formula.algebra import expanded, simplified, with_parts
from autograd.formula.formula import Formula
from autograd.formula.names import Names
from autograd.formula.operands import literal
from autograd.formula.text import abridged, clipped, visible
from autograd.formula.tidy import Ranked, summed_to, tidied
from autograd.formula.valued import MARK, Operand
from autograd.formula.writers import SIMPLE_NAME
from autograd.value import Value

LONGEST_NAME = 40
SETTLED_UP_TO = 2000  # nodes; names of a larger graph are made up as they are needed
LONGEST_TOP = 20  # characters up to which the root's own name stands in ∂loss/∂x; a longer one becomes L


class Words:
    """The words for one graph. `data` holds the numbers at the time of stepping, where they may since have changed."""

    def __init__(
        self, names: Names, nodes: Iterable[Value], root: Value, data: dict[Value, Any], top: str = ""
    ) -> None:
        self.names = names
        self.nodes = list(nodes)
        self._data = data
        if len(self.nodes) <= SETTLED_UP_TO:
            names.settle(self.nodes, {})  # which unnamed nodes get a name
        self.operands: dict[str, Operand] = {}
        self._marks: dict[int, str] = {}
        self._root = root
        self.top = top or self._top()

    def _top(self) -> str:
        """What the fractions differentiate: the root's own name if it is a short word, else L."""
        name = self.names.name(self._root)
        if SIMPLE_NAME.fullmatch(name) and len(name) <= LONGEST_TOP and not self.names.is_made_up(self._root):
            return name
        used = {self.names.name(node) for node in self.nodes if node is not self._root}
        return "L" if "L" not in used else "out"

    def data(self, x: Any) -> Any:
        """The numbers of a node or plain operand."""
        return self._data.get(x, x.data) if isinstance(x, Value) else x

    def name(self, x: Value) -> str:
        """What a node is called in a sentence: its name, a short expression, or a name made up for it."""
        name = self.names.name(x)
        if not name and x is self._root:
            name = self.top
        return clipped(visible(name or self.names.in_a_sentence(x)), LONGEST_NAME)

    def symbol(self, x: Value) -> Formula:
        """A node as formulas show it: by its name, or by the expression that stands in place of one."""
        return Formula(ast.Name(self._mark(x), ast.Load()), self.operands)

    def slope(self, x: Value) -> str:
        """The symbol of a node's gradient: `∂L/∂K`."""
        name = self.name(x)
        whole = bool(self.names.name(x)) or x is self._root
        return f"∂{self.top}/∂{name if whole and SIMPLE_NAME.fullmatch(name) else f'({name})'}"

    def reading(self, node: Value) -> str:
        """`K = X @ WK`: a node's name and how it was made; the one or the other where that is all there is."""
        name, expression = self.names.name(node), self.names.expression(node)
        parts = [clipped(visible(name), LONGEST_NAME), abridged(visible(expression), LONGEST_NAME)]
        return " = ".join(filter(None, parts)) or self.name(node)

    def made(self, node: Value) -> Formula:
        """How a node was computed, as a formula of its operands."""
        assert node.op is not None
        inputs = tuple(self._operand(x) for x in node.inputs)
        with np.errstate(all="ignore"):
            whole = Expr.__apply__(node.op, inputs)
        return self._formula(whole, node)

    def rules(self, node: Value, gradient: Any) -> list[Formula | None]:
        """The op's own rule for each operand, in the operands' names; `gradient` is what arrives."""
        assert node.op is not None
        inputs = [None if x is None else self._operand(x) for x in node.inputs]
        g, out = self._gradient(node, gradient), self._operand(node)
        with np.errstate(all="ignore"):
            parts = rule_or_its_name(node.op, g, out, inputs)
        return [
            None if part is None else self._formula(summed_to(part, np.shape(self.data(x))), node)
            for part, x in zip(parts, node.inputs)
        ]

    def named_parts(self, formula: Formula) -> tuple[Formula, list[tuple[str, Formula]]]:
        """A long formula with its repeated parts named."""
        taken = {operand.symbol for operand in self.operands.values()}
        return with_parts(formula, taken.__contains__)

    def _formula(self, expression: Expr, node: Value) -> Formula:
        tree = simplified(tidied(expression.tree, self._rank(node)), self.operands)
        return expanded(Formula(tree, self.operands))

    def _rank(self, node: Value) -> int:
        """The most axes that a node or an operand of it has: those that its op's `axis` may be one of."""
        return max([node.ndim, *(np.ndim(self.data(x)) for x in node.inputs)])

    def _operand(self, x: Any) -> Ranked:
        """An operand as the rule sees it: a mark, or a plain short number as it is."""
        if not isinstance(x, Value | np.ndarray) and not literal(x).startswith("√"):
            return Ranked(_number(x), x)
        return Ranked(ast.Name(self._mark(x), ast.Load()), self.data(x))

    def _mark(self, x: Any) -> str:
        mark = self._marks.get(id(x))
        if mark is None:
            mark = self._marks[id(x)] = f"{MARK}{len(self._marks)}"
            self.operands[mark] = self._described(x)
        return mark

    def _described(self, x: Any) -> Operand:
        if not isinstance(x, Value):
            return Operand(visible(self.names.name(x) or literal(x)), x)
        nested = None
        if x is not self._root and self.names.nestable(x):
            assert x.op is not None
            with np.errstate(all="ignore"):
                whole = Expr.__apply__(x.op, tuple(self._operand(y) for y in x.inputs))
            nested = tidied(whole.tree, self._rank(x))
        return Operand(self.name(x), self.data(x), nested=nested)

    def _gradient(self, node: Value, gradient: Any) -> Ranked:
        mark = f"{MARK}g{id(node)}"
        self.operands[mark] = Operand(self.slope(node), gradient, is_gradient=True, of=self.operands[self._mark(node)])
        return Ranked(ast.Name(mark, ast.Load()), gradient)


def _number(x: Any) -> ast.expr:
    """A plain operand as a constant; whole floats lose their point."""
    value = x.item() if isinstance(x, np.generic) else x
    if value is None or isinstance(value, bool):
        return ast.Constant(value)
    if isinstance(value, float) and not np.isfinite(value):
        return ast.Name({"inf": "∞", "-inf": "−∞"}.get(repr(value), "NaN"), ast.Load())
    if float(value).is_integer() and abs(value) < 1e15:
        value = int(value)
    return ast.Constant(value) if value >= 0 else ast.UnaryOp(ast.USub(), ast.Constant(-value))
