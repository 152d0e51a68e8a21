"""Expr: the carrier that is a formula. Run a rule on Exprs and it writes itself down.

    >>> from autograd import OPS
    >>> [str(e) for e in rule(OPS["tanh"])]
    ['g * (1 - out ** 2)']

An Expr is a tree: a symbol, a plain number, or an op of the table applied to other Exprs. It carries its value where
there is one, so that rules may look at shapes, and it runs again on other numbers (`Expr.run`). A part that the rule
names with `let` is a symbol with a formula of its own: a line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from autograd.engine import Value
from autograd.errors import DataError
from autograd.op import OPS, Op, apply

from .operators import Operators


class _Unknown:
    """The value of an Expr that has no number."""

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN: Any = _Unknown()


class Expr(Operators):
    """A formula: a symbol, a plain number, or an op applied to formulas; and its value, if it is known.

    name, formula  of a symbol: what it is called, and, of a line that `let` named, how it is computed
    op, args       of an application
    node           the Value that a symbol stands for; `is_gradient`: it stands for that node's gradient
    inline         a symbol without a name of its own: its formula is written in its place
    says           a few words that explain a line: "sum of the row"

    >>> x, y = Expr("x", 2.0), Expr("y", 3.0)
    >>> e = x * (y - 1)
    >>> print(e, "=", e.value)
    x * (y - 1) = 4.0
    >>> e.run({"x": 5.0, "y": 3.0})
    10.0
    """

    __slots__ = ("args", "formula", "inline", "is_gradient", "name", "node", "op", "says", "value")
    __hash__ = object.__hash__

    def __init__(
        self, name: str, value: Any = UNKNOWN, *, formula: Expr | None = None, says: str = "",
        node: Any = None, is_gradient: bool = False, inline: bool = False,
    ) -> None:  # fmt: skip
        self.op: Op | None = None
        self.args: tuple[Expr, ...] = ()
        self.name, self.value, self.formula, self.says = name, value, formula, says
        self.node, self.is_gradient, self.inline = node, is_gradient, inline

    @staticmethod
    def number(x: Any) -> Expr:
        """A plain number, array or None as it is."""
        return Expr("", x)

    @staticmethod
    def applied(op: Op, args: Sequence[Any], value: Any = UNKNOWN) -> Expr:
        """An op applied to formulas, also one that `__apply__` would write as its definition."""
        whole = Expr("", value)
        whole.op = op
        whole.args = tuple(x if isinstance(x, Expr) else Expr.number(x) for x in args)
        if value is UNKNOWN and all(x.value is not UNKNOWN for x in whole.args):
            whole.value = _number(op, whole.args)
        return whole

    @staticmethod
    def __apply__(op: Op, inputs: tuple[Any, ...]) -> Expr:
        """Apply an op to formulas; one that exists only for speed is written as the steps of its definition."""
        if op.unfolds:
            assert op.definition is not None
            return op.definition(*inputs, **op.settings)
        return Expr.applied(op, inputs)

    def __let__(self, name: str, says: str) -> Expr:
        return self if self.op is None else Expr(name, self.value, formula=self, says=says)

    # --- the tree -------------------------------------------------------------------------------------------

    @property
    def is_symbol(self) -> bool:
        """Is it a name, and no number or op?"""
        return self.op is None and bool(self.name)

    @property
    def is_constant(self) -> bool:
        """Is it plain data, without a name?"""
        return self.op is None and not self.name

    @property
    def is_number(self) -> bool:
        """Is it a plain int or float, without a name?"""
        return self.is_constant and isinstance(self.value, int | float) and not isinstance(self.value, bool)

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of its op; a symbol and a number have none."""
        return {} if self.op is None else self.op.settings

    def symbols(self) -> Iterator[Expr]:
        """The symbols in the formula, as often as they occur; lines that it uses are not opened."""
        waiting = [self]  # a sum of many terms is nested as deeply
        while waiting:
            e = waiting.pop()
            if e.op is not None:
                waiting += reversed(e.args)
            elif e.name:
                yield e

    def replaced(self, new: Callable[[Expr], Expr | None]) -> Expr:
        """The same formula with some parts replaced: those for which `new` gives something."""
        found = new(self)
        if found is not None:
            return found
        if self.op is None:
            return self
        return self.with_args([part.replaced(new) for part in self.args])

    def with_args(self, args: Sequence[Expr]) -> Expr:
        """The same op and value with other formulas for its inputs; itself, if they are the same ones."""
        assert self.op is not None
        same = all(a is b for a, b in zip(args, self.args, strict=True))
        return self if same else Expr.applied(self.op, args, self.value)

    @np.errstate(all="ignore")
    def run(self, values: Any) -> Any:
        """Compute the formula again: on numbers, or on any other carrier of the table's ops.

        `values` gives what a symbol stands for: a mapping from names, or a function of the symbol. A symbol with a
        formula that `values` does not know is computed from that.
        """
        known: dict[int, Any] = {}
        get = values if callable(values) else lambda symbol: values.get(symbol.name, UNKNOWN)

        def run(e: Expr) -> Any:
            if e.op is not None:
                return apply(e.op, tuple(run(part) for part in e.args))
            if not e.name:
                return e.value
            if id(e) not in known:
                found = get(e)
                if found is UNKNOWN and e.formula is None:
                    raise DataError(f"{e.name} has no value here; the formula {self} needs one")
                known[id(e)] = run(e.formula) if found is UNKNOWN else found  # type: ignore[arg-type]
            return known[id(e)]

        return run(self)

    # --- what it looks like ---------------------------------------------------------------------------------

    def __str__(self) -> str:
        from autograd.formula.writers.symbols import text

        return text(self)

    def __repr__(self) -> str:
        return f"Expr({str(self)!r})"

    @property
    def code(self) -> str:
        """Python that computes it from the table's functions; lines come first, each an assignment.

        >>> print(Expr("x", np.ones((2, 3))).mT.code)
        swapaxes(x, -1, -2)
        """
        from autograd.formula.writers.symbols import code

        return code(self)

    # --- what rules ask of their operands -------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        return () if self.value is UNKNOWN else np.shape(self.value)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return np.size(self._known())

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.asarray(self._known()).dtype

    def _known(self) -> Any:
        if self.value is UNKNOWN:
            raise DataError(f"{str(self)!r} has no number, so it has no size and no dtype")
        return self.value

    @property
    def T(self) -> Expr:
        return Expr.applied(OPS["transpose"].bind({"axes": tuple(range(-1, -max(self.ndim, 2) - 1, -1))}), (self,))

    @property
    def mT(self) -> Expr:
        return Expr.applied(OPS["swapaxes"].bind({"a": -1, "b": -2}), (self,))

    def __bool__(self) -> bool:
        raise TypeError(f"a rule must not branch on {str(self)!r}: write where(...) instead of if")

    def __eq__(self, other: object) -> bool:
        raise TypeError("formulas are not compared by `==`; in a rule, write equal(x, y) instead")


@np.errstate(all="ignore")  # a formula is needed also where its number is not
def _number(op: Op, args: Sequence[Expr]) -> Any:
    return op.compute(*(x.value for x in args))


def lines_of(*formulas: Expr | None) -> list[Expr]:
    """The lines that formulas use, each before the first line that uses it."""
    found: dict[int, Expr] = {}

    def visit(e: Expr) -> None:
        for symbol in e.symbols():
            if symbol.formula is not None and not symbol.inline and id(symbol) not in found:
                visit(symbol.formula)
                found[id(symbol)] = symbol

    for formula in formulas:
        if formula is not None:
            visit(formula)
    return list(found.values())


def terms_of(formula: Expr, sign: int = 1) -> list[tuple[int, Expr]]:
    """The terms of a sum, each with its sign; any other formula is one term."""
    if formula.op is None or formula.op.name not in ("add", "sub"):
        return [(sign, formula)]
    left, right = formula.args
    return [*terms_of(left, sign), *terms_of(right, -sign if formula.op.name == "sub" else sign)]


def in_one_line(formula: Expr) -> Expr:
    """The same formula with each line's own formula in its place."""

    def opened(e: Expr) -> Expr | None:
        if e.op is not None or e.formula is None or e.inline:
            return None
        return in_one_line(e.formula)

    return formula.replaced(opened)


def rule(
    op: Op | Value, values: tuple[Any, ...] | None = None, g: Any = UNKNOWN, out: Any = UNKNOWN
) -> tuple[Expr | None, ...]:
    """The rule of an op, or of the op that made a node, as text: one Expr per input, None where no gradient flows.

    It is written in `g` (the gradient of the result), `out` (the result) and the inputs' names: the op's own ones, or
    those of a node's inputs. With numbers (a node's, or `values`; g is ones unless given) each Expr has a value,
    and what broadcasting stretched is summed again, as in the backward pass.

    >>> from autograd import softmax
    >>> print(*rule(OPS["mul"]), sep=",  ")
    g * y,  g * x
    >>> a, b = Value(2.0, name="a"), Value(3.0, name="b")
    >>> print(*rule(a * b), sep=",  ")
    g * b,  g * a

    A rule that depends on shapes or settings needs a node; what it computes on the way has names:

    >>> print(*rule(softmax(Value(np.array([[1.0, 2.0]])))))
    dot = sum(g * out, axis=1); u = g - dot; out * u
    """
    from .rules import rule_of_node, rule_of_op

    if isinstance(op, Op):
        return rule_of_op(op, values, g, out)
    if values is not None or out is not UNKNOWN:
        raise DataError("a node has its own inputs and result: write rule(node), or rule(node.op, values)")
    return rule_of_node(op, g)
