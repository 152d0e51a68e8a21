"""A graph as lines: how each node is computed, and what it sends back, in names, formulas and numbers.

A line is a name, a formula over earlier names and ops of the table, and its value. Everything that
explains a graph reads these: the stepper's panels, the terminal, `explain`, the sheets. What an op's rule or definition
names with `let` is a line of its own, so that no line is longer than a person would write.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograd.engine import Value
from autograd.errors import DataError
from autograd.expr import UNKNOWN, Expr
from autograd.expr.expr import lines_of, terms_of
from autograd.expr.rules import rule_or_its_name

from .names import Names
from .noise import noises_of, without_noise
from .numbers import agree
from .scalars.formulas import spelled
from .text import abridged, clipped, visible
from .writers.maths import SIMPLE_NAME, TOP_NAME
from .writers.pieces import has_numbers

LONGEST_NAME = 40
NAMED_UP_TO = 2000  # nodes; names of a larger graph are made up as they are needed
LARGEST_SHAKEN = 64  # numbers of an operand up to which rounding noise is looked for
LONGEST_TOP = 20  # characters of the root's own name in ∂loss/∂x; a longer one becomes L
MOST_SPELLED = 24  # entries of a table that are spelled out one by one


@dataclass
class Line:
    """One line, `name = formula`. `result` is the symbol on its left, with its value."""

    result: Expr
    formula: Expr
    says: str = ""
    sign: str = "="  # or "←": the result takes the place of what has its name so far

    @property
    def quantities(self) -> list[Expr]:
        """The symbols and the constants with many digits that the line is computed from."""
        return list(_operands(self.formula))

    @functools.cached_property
    def entries(self) -> Any:
        """Every entry as a formula of scalars; None where an op of the user's own cannot be spelled out."""
        try:
            return spelled(self.formula)
        except DataError:
            return None

    @property
    def is_shown(self) -> bool:
        """Are all its numbers small enough to be printed?"""
        return all(e.value is not UNKNOWN and has_numbers(e.value) for e in (self.result, *self.quantities))

    @property
    def is_spelled(self) -> bool:
        """Are the entries of its result few enough to be spelled out, and is there something to spell?"""
        shape, op = np.shape(self.result.value), self.formula.op
        return len(shape) > 0 and np.prod(shape) <= MOST_SPELLED and self.is_shown and op is not None and not op.view


def _operands(e: Expr) -> Iterator[Expr]:
    if e.op is not None:
        for part in e.args:
            yield from _operands(part)
    elif e.name or isinstance(e.value, float):
        yield e


def summed(line: Line) -> list[Expr]:
    """The quantities that a line adds up, and their sum; [] for a line that is no sum."""
    terms = [term for _, term in terms_of(line.formula) if term.op is None]
    return [*terms, line.result] if len(terms) > 1 else []


def descended(p: Any, g: Any, rate: Any) -> Any:
    """A parameter after a step of gradient descent."""
    return p - rate * g


def quantity(e: Expr) -> Any:
    """The key of a quantity: the node and whether it is its gradient, the line, or the constant's number."""
    if e.op is None and not e.name:
        return e.value
    return id(e if e.node is None else e.node), e.is_gradient


class Derivation:
    """The lines of one graph. `data` holds the numbers to show in place of some nodes' own; `twins` are the
    nodes of the caller, each with the node of this graph that stands for it."""

    def __init__(
        self, names: Names, nodes: Iterable[Value], root: Value, data: dict[Value, Any] | None = None, top: str = "",
        twins: dict[Value, Value] | None = None,
    ) -> None:  # fmt: skip
        self.names = names
        self.nodes = list(nodes)
        self._data, self._twins = data or {}, twins or {}
        self._originals = {twin: node for node, twin in self._twins.items()}
        if len(self.nodes) <= NAMED_UP_TO:
            names.read(self.nodes)
        self._symbols: dict[int, Expr] = {}
        self._root = root
        self.top = top or self._top()
        self.is_of_root = not top  # inside a step the gradients are of what lies outside

    @functools.cached_property
    def users(self) -> dict[Value, list[Value]]:
        """The nodes that each node is an input of."""
        users: dict[Value, list[Value]] = {node: [] for node in self.nodes}
        for node in self.nodes:
            for x in node.parents:
                users[x].append(node)
        return users

    def _top(self) -> str:
        """What the gradients are of: the root's own name if it is a short word or such as P(C), else L."""
        name = self.names.own_name(self._root)
        if TOP_NAME.fullmatch(name) and len(name) <= LONGEST_TOP and not self.names.is_made_up(self._root):
            return name
        used = {self.names.own_name(node) for node in self.nodes if node is not self._root}
        return "L" if "L" not in used else "out"

    # --- words --------------------------------------------------------------------------------------------------

    def data(self, x: Any) -> Any:
        """The numbers of a node or plain operand."""
        if not isinstance(x, Value):
            return x
        x = self._twins.get(x, x)
        return self._data.get(x, x.data)

    def original(self, x: Value) -> Value:
        """The caller's node that `x` stands for; itself where there is none."""
        return self._originals.get(x, x)

    def name(self, x: Value) -> str:
        """What a text says for a node, as `Names.name`; for the root without a name what the gradients are of, `L`."""
        x = self._twins.get(x, x)
        top = self.top if x is self._root else ""
        return clipped(visible(self.names.own_name(x) or top or self.names.name(x)), LONGEST_NAME)

    def slope(self, x: Value) -> str:
        """The symbol of a node's gradient: `∂L/∂K`."""
        x = self._twins.get(x, x)
        name = self.name(x)
        is_word = bool(self.names.own_name(x)) or x is self._root
        return f"∂{self.top}/∂{name if is_word and SIMPLE_NAME.fullmatch(name) else f'({name})'}"

    def reading(self, node: Value) -> str:
        """`K = X @ WK`: a node's name and how it was made, or the one of them that there is."""
        name, expression = self.names.own_name(node), self.names.expression(node)
        parts = [clipped(visible(name), LONGEST_NAME), abridged(visible(expression), LONGEST_NAME)]
        return " = ".join(filter(None, parts)) or self.name(node)

    # --- symbols ------------------------------------------------------------------------------------------------

    def symbol(self, x: Value) -> Expr:
        """A node in formulas: by its name, or, without one, by the expression that made it."""
        found = self._symbols.get(id(x))
        if found is None:
            inline = x is not self._root and self.names.nestable(x)
            formula = self.formula(x) if inline else None
            found = Expr(self.name(x), self.data(x), node=x, formula=formula, inline=inline)
            self._symbols[id(x)] = found
        return found

    def gradient(self, node: Value, value: Any) -> Expr:
        """The gradient of a node in formulas, `∂L/∂K`."""
        return Expr(self.slope(node), value, node=node, is_gradient=True, formula=None)

    def operand(self, x: Any, node: Value) -> Any:
        """An input of a node's op: a node's symbol, an array's, a plain number as it is; None stays None."""
        if isinstance(x, Value):
            return self.symbol(x)
        if isinstance(x, np.ndarray) and x.ndim:
            return self._symbols.setdefault(id(x), Expr(visible(self.names.operand_name(x, node)), x, node=x))
        return x

    def formula(self, node: Value) -> Expr:
        """How a node was made: its op applied to its operands: `softmax(x)`."""
        assert node.op is not None
        return Expr.applied(node.op, [self.operand(x, node) for x in node.inputs], self.data(node))

    # --- lines --------------------------------------------------------------------------------------------------

    def forward(self, node: Value) -> list[Line]:
        """How a node is computed: one line, or those of its op's definition if that has named steps."""
        assert node.op is not None
        whole = self.formula(node)
        result = Expr(self.name(node), self.data(node), node=node)
        if node.op.definition is not None:
            steps = node.op.definition(*(self.operand(x, node) for x in node.inputs), **node.op.settings)
            # Where a definition written for people overflows or loses digits, the op itself is shown.
            if isinstance(steps, Expr) and lines_of(steps) and _agree(steps.value, result.value):
                return [*self.steps(steps), Line(result, steps)]
        return [Line(result, whole)]

    def backward(self, node: Value, gradient: Any) -> list[list[Line] | None]:
        """What a node sends to each input, as lines: those that the rule names, then the contribution itself."""
        assert node.op is not None
        inputs = [self.operand(x, node) for x in node.inputs]
        parts = rule_or_its_name(node.op, self.gradient(node, gradient), self.symbol(node), inputs)
        return [None if part is None else self._contribution(part, x) for part, x in zip(parts, node.inputs)]

    def _contribution(self, part: Expr, x: Any) -> list[Line]:
        name = self.slope(x) if isinstance(x, Value) else ""
        return [*self.steps(part), Line(Expr(name, part.value, is_gradient=True), part)]

    def steps(self, *formulas: Expr) -> list[Line]:
        """The named steps of formulas, with 0 in place of rounding noise."""
        found = []
        for symbol in lines_of(*formulas):
            assert symbol.formula is not None
            symbol.name, symbol.value = self.names.step_name(symbol.name), clean_value(symbol.formula)
            found.append(Line(symbol, symbol.formula, symbol.says))
        return found


def _agree(x: Any, y: Any) -> bool:
    return np.shape(x) == np.shape(y) and agree(x, y, 1e-6, 1e-12)


def clean_value(formula: Expr) -> Any:
    """The value of a formula, with 0 in place of rounding noise."""
    symbols = list({id(e): e for e in formula.symbols()}.values())
    values = [e.value for e in symbols]
    if any(value is UNKNOWN or np.size(value) > LARGEST_SHAKEN for value in values):
        return formula.value
    places = {id(e): i for i, e in enumerate(symbols)}

    def compute(*values: Any) -> list[Any]:
        return [formula.run(lambda e: values[places[id(e)]])]

    results = compute(*values)
    return without_noise(results[0], noises_of(compute, values, results)[0])
