"""A graph as one straight-line program of scalars: every entry of every value, step and gradient is a line.

    >>> from autograd import Value
    >>> x, w = Value([1.0, 2.0], name="x"), Value([3.0, -1.0], name="w")
    >>> L = (x * w).sum() ** 2
    >>> for line in scalar_program(L).lines:
    ...     print(line.id, "=", line.text, "=", line.value)
    t1[0] = x[0] * w[0] = 3.0
    t1[1] = x[1] * w[1] = -2.0
    t2 = t1[0] + t1[1] = 1.0
    L = t2 ** 2 = 1.0
    dL/dt2 = 2 * t2 = 2.0
    dL/dx[0] = dL/dt2 * w[0] = 6.0
    dL/dx[1] = dL/dt2 * w[1] = -2.0
    dL/dw[0] = dL/dt2 * x[0] = 2.0
    dL/dw[1] = dL/dt2 * x[1] = 4.0

`scalar_program(root)` gives a `Program`: `.inputs` (the leaves) and `.tables` (everything computed, in an order in
which it can be computed, forward then backward), each a `Table` of entries; `.lines` is all entries of all tables in a
row, `.run(numbers)` computes every line from the leaves' numbers, `.values[node]` and `.gradients[node]` say which
lines hold a node's entries.

The formulas use the functions of `scalars.VOCABULARY` alone. An op outside it is opened by its definition;
what definitions and rules name with `let` (softmax's e and z, layer norm's μ and σ) is a table of its own, called after
the result it belongs to: `P.e[0]`. What only moves numbers (a transpose without a name) is no table: its entries are
those it was made of. Plain numbers and arrays are constants in the formulas; nothing is multiplied by a constant 0 or
1.

    ids     an entry of a value `Q[0][1]`, a scalar `L`; of a step `P.e[0]`; of a gradient `dL/dQ[0][1]`; of one of
            several contributions to a gradient `dL/dx:y`, the one that comes through y (a second one: `dL/dx:y#2`);
            of the gradient of a slice `dL/d(x[0])`, which is not that of the entry
"""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter
from typing import Any

import numpy as np

from autograd.engine import Value
from autograd.errors import DataError
from autograd.expr import UNKNOWN, Expr
from autograd.expr.rules import rule_as_text
from autograd.op import OPS, Op, apply

from ..lines import Derivation
from ..names import Names
from ..walk import Walk
from .formulas import Entries, Opener, object_array, plain_number
from .tables import Program, Table

FORWARD, BACKWARD = "forward", "backward"
LONGEST_HIDDEN = 24  # characters of the expression that stands for a transpose or an index without a name
AGREEMENT = 1e-9  # relative to the table's largest number; a program that differs more from the engine is refused


def scalar_program(root: Value, *, backward: bool = True, grad: Any = None, names: Names | None = None) -> Program:
    """The graph of `root` as scalar lines, forward and, with `backward`, backward; see the top of this module.

    `grad` is the gradient to start from, where the root is no scalar; `names` are a reader's own names.
    Raises DataError for an op that cannot be spelled out: a rule or forward function that only runs on numbers.
    """
    walk = Walk(root, grad, backward, noise=False)
    root, nodes = walk.root, walk.nodes
    builder = _Builder(root, nodes, names or Names(nodes, nest=False))
    builder.write(walk, backward)
    values = {node: entries.array for node, entries in builder.values.items()}
    gradients = {node: entries.array for node, entries in builder.slopes.items()}
    for whole, parts in walk.parts.items():  # of packed weights, such as those of q, k and v
        values[whole], gradients[whole] = np.empty((2, *whole.shape), object)
        for index, part in parts:
            values[whole][index] = values[part]
            if part in gradients:
                gradients[whole][index] = gradients[part]
    return Program(root, builder.words.top, builder.words, builder.inputs, builder.tables, values, gradients)


class _Builder:
    """Writes the program, table after table."""

    def __init__(self, root: Value, nodes: list[Value], names: Names) -> None:
        self.names = names
        self._hidden = {node for node in nodes if node is not root and self._is_hidden(node)}
        for node in nodes:  # t1, t2, ... in the order in which a sheet asks for them
            if node.op is not None and node is not root and node not in self._hidden:
                names.name(node)
        self.words = Derivation(names, nodes, root)
        self.inputs: list[Table] = []
        self.tables: list[Table] = []
        self.values: dict[Value, _Opened] = {}
        self.slopes: dict[Value, _Opened] = {}
        self._used: Counter[str] = Counter()
        self._steps: dict[Any, Table] = {}  # by their formulas: what two rules both need is computed once
        self._owner: Any = None
        self._through: Value | None = None
        self._open = Opener()
        self._plain = {self.words.name(node) for node in nodes}
        for node in nodes:  # results come before steps in the choice of names
            self._used[self._name(node)] += 1

    def _is_hidden(self, node: Value) -> bool:
        """Does it only move numbers, without a name? Then it reads as its short expression, `K.T`, and has no table."""
        if node.op is None or not node.op.view or self.names.own_name(node):
            return False
        text = self.names.expression(node)
        if len(text) <= LONGEST_HIDDEN:
            self.names.stand_in({node: text})
        return True

    def _name(self, node: Value) -> str:
        """The name of its table. A node called `x[0]` is no entry of x, and becomes `(x[0])`."""
        name = self.words.name(node)
        return f"({name})" if "[" in name and name.partition("[")[0] in self._plain else name

    # --- forward -------------------------------------------------------------------------------------------------

    @np.errstate(all="ignore")
    def write(self, walk: Walk, backward: bool) -> None:
        """The lines of every node and, with `backward`, of every gradient."""
        for node in walk.nodes:
            self.add_node(node)
        if backward:
            self.go_back(walk)

    def add_node(self, node: Value) -> None:
        name = self._name(node)
        if node.op is None:
            table = Table(name, name, "input", FORWARD, node, np.asarray(node.data, dtype=float))
            self.inputs.append(table)
            self.values[node] = self._symbols(table)
            return
        self._owner, self._through = node, None
        found = apply(node.op, tuple(self.values[x] if isinstance(x, Value) else x for x in node.inputs))
        table = Table(name, name, "value", FORWARD, node, _numbers(node.data), self._simplified(found, node.shape))
        self.values[node] = self._placed(table, self._is_unnamed(node))

    # --- backward ------------------------------------------------------------------------------------------------

    def go_back(self, walk: Walk) -> None:
        """The chain rule in the engine's order; a gradient is complete with its last contribution."""
        root, seed = walk.root, self._simplified(walk.seed, walk.root.shape)
        if root.op is not None:
            self.slopes[root] = _Opened(seed, self)
        else:
            self._gradient(root, seed, walk.seed, None)
        parts: dict[Value, list[_Opened]] = {}
        for _, group in itertools.groupby(walk.sent, key=lambda sent: id(sent.node)):
            sent = [*group]
            node = sent[0].node
            for one, formula in zip(sent, self._sent(node, walk.incoming[node]), strict=True):
                x = one.parent
                if walk.paths[x] == 1:
                    self._gradient(x, formula, one.total, node)
                    continue
                name = self._unique(f"{self._slope(x)}:{self._name(node)}")
                table = Table(name, name, "contribution", BACKWARD, x, _numbers(one.value), formula, node)
                parts.setdefault(x, []).append(self._placed(table, unnamed=True))
                if len(parts[x]) == walk.paths[x]:
                    whole = functools.reduce(OPS["add"], parts[x])
                    self._gradient(x, self._simplified(whole, x.shape), one.total, None)

    def _sent(self, node: Value, gradient: Any) -> list[Any]:
        """For each input that wants a gradient, in operand order, what the node sends, entry by entry."""
        assert node.op is not None
        self._owner = self._through = node
        inputs: list[Any] = []
        for x in node.inputs:  # an array is a formula too, so that the rule runs on text; a number stays as it is
            is_array = isinstance(x, np.ndarray)
            inputs.append(Expr("x", x.data, node=x) if isinstance(x, Value) else Expr.number(x) if is_array else x)
        g = Expr("g", gradient, node=node, is_gradient=True)
        rules = rule_as_text(node.op, g, Expr("out", node.data, node=node), inputs)
        known: dict[int, Any] = {}

        def get(e: Expr) -> Any:
            if isinstance(e.node, Value):
                return self.slopes[e.node] if e.is_gradient else self.values[e.node]
            if e.formula is None:
                return UNKNOWN
            if id(e) not in known:
                found = e.formula.run(get)
                known[id(e)] = found.__let__(e.name, e.says) if isinstance(found, _Opened) else found
            return known[id(e)]

        wanted = [(x, part) for x, part in zip(node.inputs, rules) if isinstance(x, Value) and x.requires_grad]
        return [self._simplified(part.run(get), x.shape) for x, part in wanted if part is not None]

    def _gradient(self, x: Value, formulas: Any, value: Any, through: Value | None) -> None:
        name = self._slope(x)
        table = Table(name, name, "gradient", BACKWARD, x, _numbers(value), formulas, through)
        if x in self._hidden and through is not None:
            # A transpose without a name has no table: what is sent to it is sent to K.
            self._check(table)
            self.slopes[x] = _Opened(formulas, self)
        else:
            self.slopes[x] = self._placed(table, self._is_unnamed(x))

    def _is_unnamed(self, x: Value) -> bool:
        return x in self._hidden or (x.op is not None and self.names.is_made_up(x))

    def _slope(self, x: Value) -> str:
        return f"d{self.words.top}/d{self._name(x)}"

    # --- tables --------------------------------------------------------------------------------------------------

    def step(self, name: str, says: str, array: Any) -> _Opened:
        """A step that a definition or a rule names; the same step is written once."""
        formulas = self._simplified(Entries(array), array.shape)
        if all(e.op is None for e in formulas.flat):
            return _Opened(formulas, self)
        key = formulas.shape, tuple(_key(e) for e in formulas.flat)
        if key not in self._steps:
            values = np.array([float(e.value) for e in formulas.flat]).reshape(formulas.shape)
            full = self._unique(f"{self._name(self._owner)}.{name}")
            phase = FORWARD if self._through is None else BACKWARD
            label = self.names.step_name(name)
            table = Table(full, label, "step", phase, self._owner, values, formulas, self._through, says)
            self._symbols(table)
            self._steps[key] = table
            self.tables.append(table)
        return _Opened(self._steps[key].symbols, self)

    def _placed(self, table: Table, unnamed: bool) -> _Opened:
        """Add a finished table. Copies without a name of their own are left out."""
        self._check(table)
        if unnamed and table.is_copy:
            return _Opened(table.formulas, self)
        self.tables.append(table)
        return self._symbols(table)

    def _check(self, table: Table) -> None:
        found = np.array([float(e.value) for e in table.formulas.flat]).reshape(table.shape)
        size = np.max(np.abs(table.values), initial=1e-3, where=np.isfinite(table.values))
        if not np.allclose(found, table.values, rtol=AGREEMENT, atol=AGREEMENT * size, equal_nan=True):
            raise DataError(
                f"{table.name} cannot be spelled out: in simple steps it does not give the engine's numbers. A "
                "number may be beyond what exp can hold, or a hook may have changed a gradient"
            )

    def _symbols(self, table: Table) -> _Opened:
        def symbol(index: tuple[int, ...]) -> Expr:
            formula = None if table.formulas is None else table.formulas[index]
            if formula is not None and formula.is_constant and (table.kind == "step" or math.isinf(formula.value)):
                return formula  # nothing is computed from a masked score
            return Expr(table.ids[index], float(table.values[index]))

        table.symbols = object_array(table.shape, symbol)
        return _Opened(table.symbols, self)

    def _unique(self, name: str) -> str:
        self._used[name] += 1
        return name if self._used[name] == 1 else f"{name}#{self._used[name]}"

    def _simplified(self, found: Any, shape: tuple[int, ...]) -> Any:
        """Every entry in the vocabulary, as a person writes it."""
        array = found.array if isinstance(found, Entries) else np.asarray(found)

        def entry(index: tuple[int, ...]) -> Expr:
            x = plain_number(array[index])
            return self._open(x if isinstance(x, Expr) else Expr.number(x))

        return object_array(array.shape, entry).reshape(shape)


class _Opened(Entries):
    """Entries that open fused ops by their definitions, and write down what those name on the way."""

    __slots__ = ("builder",)

    def __init__(self, array: Any, builder: _Builder) -> None:
        super().__init__(array)
        self.builder = builder

    T = property(lambda self: _Opened(self.array.T, self.builder))
    mT = property(lambda self: _Opened(self.array.mT, self.builder))

    def __let__(self, name: str, says: str) -> _Opened:
        return self.builder.step(name, says, self.array)

    @staticmethod
    def __apply__(op: Op, inputs: tuple[Any, ...]) -> _Opened:
        builder = next(x.builder for x in inputs if isinstance(x, _Opened))
        found: Any = Entries.__apply__(op, inputs)
        if isinstance(found, _Opened):
            return found
        return _Opened(found.array if isinstance(found, Entries) else found, builder)


def _key(e: Expr) -> Any:
    """The key of a scalar formula."""
    if e.op is None:
        return e.name or float(e.value)
    return (e.op.name, *map(_key, e.args))


def _numbers(x: Any) -> Any:
    return np.array(x, dtype=float)
