"""Expr: the carrier that is a formula. Run a rule on Exprs and it writes itself down.

    >>> from autograd import OPS
    >>> [str(e) for e in rule(OPS["tanh"])]
    ['g * (1 - out ** 2)']

An Expr is a tree: a symbol, a plain number, or an op of the table applied to other Exprs. It carries its value where
there is one, so that rules may look at shapes, and it runs again on other numbers (`Expr.run`). A part that the rule
names with `let` is a symbol with a formula of its own: a line.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import DataError
from .op import OPERATORS, OPS, Op, apply
from .value import Value


class _Unknown:
    """The value of an Expr that has no number."""

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN: Any = _Unknown()


class Expr:
    """A formula: a symbol, a plain number, or an op applied to formulas; and its value, if it is known.

    name, formula  of a symbol: what it is called, and, of a line that `let` named, how it is computed
    op, args       of an application
    node           the Value that a symbol stands for; `is_gradient`: it stands for that node's gradient
    inline         a symbol without a name that people know: its formula is written in its place
    says           a few words that explain a line: "sum of the row"

    >>> x, y = Expr("x", 2.0), Expr("y", 3.0)
    >>> e = x * (y - 1)
    >>> print(e, "=", e.value)
    x * (y - 1) = 4.0
    >>> e.run({"x": 5.0, "y": 3.0})
    10.0
    """

    __slots__ = ("args", "formula", "inline", "is_gradient", "name", "node", "op", "says", "value")
    __array_ufunc__ = None  # an array on the left defers to our reflected operators
    __hash__ = object.__hash__

    if TYPE_CHECKING:  # bound below, from the table

        def __add__(self, other: Any) -> Expr: ...
        def __sub__(self, other: Any) -> Expr: ...
        def __mul__(self, other: Any) -> Expr: ...
        def __truediv__(self, other: Any) -> Expr: ...
        def __pow__(self, other: Any) -> Expr: ...

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
        """An op written down, not opened: as `apply` gives it, but for helpers too."""
        whole = Expr("", value)
        whole.op = op
        whole.args = tuple(x if isinstance(x, Expr) else Expr.number(x) for x in args)
        if value is UNKNOWN and all(x.value is not UNKNOWN for x in whole.args):
            with np.errstate(all="ignore"):  # a formula is wanted also where its number is not
                whole.value = op.compute(*(x.value for x in whole.args))
        return whole

    @staticmethod
    def __apply__(op: Op, inputs: tuple[Any, ...]) -> Expr:
        """An op of a formula; one that exists for speed alone is written as the steps of its definition."""
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

    def symbols(self) -> Iterator[Expr]:
        """The symbols in the formula, as often as they occur; lines that it uses are not opened."""
        if self.op is None:
            if self.name:
                yield self
        else:
            for part in self.args:
                yield from part.symbols()

    def replaced(self, new: Callable[[Expr], Expr | None]) -> Expr:
        """The same formula with some parts replaced: those for which `new` gives something."""
        found = new(self)
        if found is not None:
            return found
        if self.op is None:
            return self
        parts = tuple(part.replaced(new) for part in self.args)
        if all(a is b for a, b in zip(parts, self.args, strict=True)):
            return self
        return Expr.applied(self.op, parts, self.value)

    def run(self, values: Any) -> Any:
        """The formula computed anew: on numbers, or on any other carrier of the table's ops.

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

        with np.errstate(all="ignore"):
            return run(self)

    # --- what it looks like ---------------------------------------------------------------------------------

    def __str__(self) -> str:
        from .formula.symbols import text

        return text(self)

    def __repr__(self) -> str:
        return f"Expr({str(self)!r})"

    @property
    def code(self) -> str:
        """Python that computes it from the table's functions; lines come first, each an assignment.

        >>> print(Expr("x", np.ones((2, 3))).mT.code)
        swapaxes(x, -1, -2)
        """
        from .formula.symbols import code

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
        raise TypeError("`==` in a rule compares identities; write equal(x, y) instead")

    def __getitem__(self, index: Any) -> Expr:
        return OPS["getitem"](self, index)

    def __neg__(self) -> Expr:
        return OPS["neg"](self)

    def __abs__(self) -> Expr:
        return OPS["abs"](self)


def _bind_operators() -> None:
    """Give Expr Python's operators; each looks its op up in the table."""
    for method, name in OPERATORS.items():
        setattr(Expr, f"__{method}__", lambda self, other, name=name: OPS[name](self, other))
        setattr(Expr, f"__r{method}__", lambda self, other, name=name: OPS[name](other, self))


_bind_operators()


def lines_of(*formulas: Expr | None) -> list[Expr]:
    """The lines that formulas are made of, each before the first that uses it."""
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
    """The terms of a sum, each with its sign; of another formula itself."""
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


# --- rules as formulas ------------------------------------------------------------------------------------------


def rule(
    op: Op | Value, values: tuple[Any, ...] | None = None, g: Any = UNKNOWN, out: Any = UNKNOWN
) -> tuple[Expr | None, ...]:
    """The rule of an op, or of the op that made a node, as text: one Expr per input, None where no gradient flows.

    It is written in `g` (the gradient of the result), `out` (the result) and the inputs' names: the op's own ones, or
    those of a node's inputs. With numbers (a node's, or `values`; g is ones unless given) each Expr carries its own,
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
    if not isinstance(op, Op):
        if values is not None or out is not UNKNOWN:
            raise DataError("a node has its own inputs and result: write rule(node), or rule(node.op, values)")
        return _rule_of_node(op, g)
    if missing := _missing_settings(op):
        raise _not_as_text(op, "settings", ", ".join(missing))
    names = own_names(op, len(op.names) if values is None else len(values))
    data = (UNKNOWN,) * len(names) if values is None else values
    inputs = [None if x is None else Expr(name, x) for name, x in zip(names, data, strict=False)]
    if values is not None:
        out = op.compute(*values) if out is UNKNOWN else out
        g = np.ones(np.shape(out)) if g is UNKNOWN else g
        return rule_as_text(op, Expr("g", g), Expr("out", out), inputs)
    try:
        return rule_as_text(op, Expr("g", g), Expr("out", out), inputs)
    except DataError as error:  # without shapes, a rule that looks at them fails in its own way
        raise _not_as_text(op, "the shapes of its inputs", ", ".join(op.names)) from error


def _rule_of_node(node: Value, g: Any) -> tuple[Expr | None, ...]:
    if not isinstance(node, Value) or node.op is None:
        raise DataError(f"rule takes an op, as in rule(OPS['mul']), or a Value that an op made; got {node!r:.60}")
    inputs = [
        x if x is None or isinstance(x, int | float) else Expr(name, x.data if isinstance(x, Value) else x)
        for x, name in zip(node.inputs, _names_of_inputs(node), strict=True)
    ]
    g = np.ones(node.shape) if g is UNKNOWN else g
    parts = rule_as_text(node.op, Expr("g", g), Expr("out", node.data), inputs)
    return tuple(part if isinstance(x, Value) else None for part, x in zip(parts, node.inputs, strict=True))


def own_names(op: Op, count: int) -> tuple[str, ...]:
    """What an op calls its inputs; of a list it names at least two."""
    if not op.variadic:
        return op.names
    fixed = len(op.names) - 1
    return (*op.names[:fixed], *(f"{op.names[-1]}[{i}]" for i in range(max(count, fixed + 2) - fixed)))


def _names_of_inputs(node: Value) -> tuple[str, ...]:
    """The names of a node's inputs, the op's own for those that have none; all the op's own if two would clash."""
    assert node.op is not None
    own = own_names(node.op, len(node.inputs))[: len(node.inputs)]
    names = [_readable(getattr(x, "name", None)) or name for x, name in zip(node.inputs, own, strict=True)]
    called: dict[str, Any] = {"g": UNKNOWN, "out": UNKNOWN}  # the other names in a rule
    clash = any(called.setdefault(name, x) is not x for name, x in zip(names, node.inputs, strict=True))
    return own if clash else tuple(names)


def _readable(name: str | None) -> str | None:
    """A name that can stand in a formula, such as `w` or `layer.weight`; None for another."""
    return name if name and all(part.isidentifier() for part in name.split(".")) else None


def _missing_settings(op: Op) -> list[str]:
    """The settings without which the rule cannot run, and which this op has not been given."""
    rules = op.vjp if isinstance(op.vjp, tuple) else (op.vjp,)
    parameters = [p for r in rules if r is not None for p in inspect.signature(r).parameters.values()]
    return list(dict.fromkeys(p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is p.empty))


def _not_as_text(op: Op, needed: str, which: str) -> DataError:
    return DataError(
        f"the rule of {op.name} depends on {needed} ({which}), so the op alone does not print it. Give the "
        f"node: rule(node), where node = {op.reads} was computed from Values"
    )


def pulled(op: Op, g: Any, out: Any, inputs: Any) -> tuple[Any, ...]:
    """Run an op's rule on any carrier, all inputs."""
    vjp: Any = op.vjp
    if isinstance(vjp, tuple):
        return tuple(r and r(g, out, *inputs) for r in vjp)
    return tuple(vjp(g, out, *inputs))


def rule_as_text(op: Op, g: Expr, out: Expr, inputs: Sequence[Any]) -> tuple[Expr | None, ...]:
    """An op's rule run on Exprs, each part summed to the shape of its input and simplified.

    DataError for a rule that can only be run: it branches, or calls NumPy itself.
    """
    simplify = Simplifier()
    return tuple(None if part is None else simplify(part) for part in _summed_parts(op, g, out, inputs))


def _summed_parts(op: Op, g: Expr, out: Expr, inputs: Sequence[Any]) -> list[Expr | None]:
    try:
        parts = pulled(op, g, out, inputs)
    except Exception as error:  # a user's rule fails in its own way on what is no number
        raise DataError(f"the rule of {op.name} can only be run, not written as text: {error}") from error
    for part in parts:
        if not isinstance(part, Expr | float | int | None):
            raise DataError(f"the rule of {op.name} can only be run, not written as text: it gave {part!r:.60}")
    exprs = (part if isinstance(part, Expr | None) else Expr.number(part) for part in parts)
    return [None if part is None else summed_to(part, x) for part, x in zip(exprs, inputs, strict=True)]


def rule_or_its_name(op: Op, g: Expr, out: Expr, inputs: Sequence[Any]) -> tuple[Expr | None, ...]:
    """An op's rule run on Exprs; a custom rule that needs numbers is written as a call, `backward_clip(g, x)`."""
    try:
        return rule_as_text(op, g, out, inputs)
    except DataError:
        names = ", ".join(["g", *(x.name or "…" for x in inputs if isinstance(x, Expr))])
        return tuple(None if x is None else Expr(f"backward_{op.name}({names})") for x in inputs)


def summed_to(part: Expr, x: Any) -> Expr:
    """A gradient summed over the axes that broadcasting added to the input x."""
    shape = x.shape if isinstance(x, Expr) else np.shape(x)
    if part.value is UNKNOWN or (isinstance(x, Expr) and x.value is UNKNOWN) or part.shape == shape:
        return part
    return OPS["sum_to"](part, shape)


class Simplifier:
    """Formulas as a person writes them: `2 * x` for `2 * x ** (2 - 1)`, nothing times or over 1.

    One for all formulas that share lines: a line is simplified once, and stays the same line for all of them.
    """

    def __init__(self) -> None:
        self.done: dict[int, tuple[Expr, Expr]] = {}  # with the formula itself, so that its id stays its own

    def __call__(self, e: Expr) -> Expr:
        found = self.done.get(id(e))
        if found is None:
            found = self.done[id(e)] = (e, self._simplified(e))
        return found[1]

    def _simplified(self, e: Expr) -> Expr:
        if e.op is None:
            return e if e.formula is None or e.inline else self._line(e, self(e.formula))
        args = tuple(map(self, e.args))
        if len(args) == 2:
            name, first, last = e.op.name, _whole(args[0]), _whole(args[1])
            if name in ("add", "sub") and first is not None and last is not None:
                return Expr.number(first + last if name == "add" else first - last)
            if last == 1 and name in ("power", "mul", "div"):
                return args[0]
            if name == "mul" and first == 1 and args[1].shape == e.shape:
                return args[1]
        return e if all(a is b for a, b in zip(args, e.args, strict=True)) else Expr.applied(e.op, args, e.value)

    def _line(self, line: Expr, formula: Expr) -> Expr:
        if formula is line.formula:
            return line
        return formula if formula.op is None else Expr(line.name, line.value, formula=formula, says=line.says)


def _whole(e: Expr) -> int | None:
    """The whole number that a constant is."""
    if e.op is not None or e.name or isinstance(e.value, bool) or not isinstance(e.value, int | float):
        return None
    return int(e.value) if float(e.value).is_integer() else None


def pull_back(result: Expr, g: Expr, inputs: Sequence[Expr]) -> tuple[Expr | None, ...]:
    """Backpropagation through a formula: the gradients of `inputs`, as formulas, for a result computed from them.

    Lines keep their names, and the gradient of a line `k` is a line `dk`.
    """
    order = _parts_in_order(result)
    grads: dict[int, Expr] = {id(result): g}
    for part in reversed(order):
        arrived = grads.get(id(part))
        source = part if part.op is not None else part.formula
        if arrived is None or source is None:
            continue
        if part.name:
            arrived = arrived.__let__(f"d{part.name}", "")
        assert source.op is not None
        for x, dx in zip(source.args, _summed_parts(source.op, arrived, part, source.args), strict=True):
            if dx is not None and (x.op is not None or x.name):
                before = grads.get(id(x))
                grads[id(x)] = dx if before is None else before + dx
    return tuple(grads.get(id(x)) for x in inputs)


def _parts_in_order(result: Expr) -> list[Expr]:
    """Every part of a formula that something was computed for, its lines opened: each before its users."""
    seen: dict[int, Expr] = {}

    def visit(e: Expr) -> None:
        if id(e) in seen:
            return
        source = e if e.op is not None else e.formula
        if source is not None:
            for part in source.args:
                visit(part)
            seen[id(e)] = e

    visit(result)
    return list(seen.values())
