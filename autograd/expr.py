"""Expr: the carrier that is text. Run a rule on Exprs and it prints itself.

    >>> from autograd import OPS
    >>> [str(e) for e in rule(OPS["tanh"])]
    ['g * (1 - out ** 2)']

An Expr is a syntax tree, so brackets come out where a person would put them, and it carries its value beside the
text when there is one, so that rules may look at shapes.
"""

from __future__ import annotations

import ast
import copy
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .errors import DataError, HandgradError
from .op import OPS, Op, template
from .value import Value


class _Unknown:
    """The value of an Expr that nobody gave a number."""

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN: Any = _Unknown()


class Expr:
    """A formula: its syntax tree, and the number it stands for, if somebody said.

    >>> x, y = Expr("x", 2.0), Expr("y", 3.0)
    >>> e = x * (y - 1)
    >>> print(e, "=", e.value)
    x * (y - 1) = 4.0
    """

    __slots__ = ("tree", "value")
    __array_ufunc__ = None  # an array on the left defers to our reflected operators
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, text: str | ast.expr, value: Any = UNKNOWN) -> None:
        self.tree = ast.parse(text, mode="eval").body if isinstance(text, str) else text
        self.value = value

    def __str__(self) -> str:
        return ast.unparse(self.tree)

    def __repr__(self) -> str:
        return f"Expr({str(self)!r})"

    @staticmethod
    def __apply__(op: Op, inputs: tuple[Any, ...]) -> Expr:
        """The op written out: its own reading, with the inputs' texts in place of its names."""
        exprs = [x if isinstance(x, Expr) else Expr(_literal(x), x) for x in inputs]
        filling: dict[str, Any] = {name: _setting(name, setting) for name, setting in op.settings.items()}
        if op.variadic:
            fixed = len(op.names) - 1
            filling[op.names[-1]] = [e.tree for e in exprs[fixed:]]
        filling.update(zip(op.names[: len(op.names) - op.variadic], (e.tree for e in exprs), strict=False))
        tree = _Fill(op.name, filling, _unsaid(op, exprs)).visit(copy.deepcopy(template(op.reads)))
        known = all(e.value is not UNKNOWN for e in exprs)
        return Expr(tree, op.compute(*(e.value for e in exprs)) if known else UNKNOWN)

    @staticmethod
    def call(function: str, *inputs: Any) -> Expr:
        """The text of a function applied to some inputs, without a value."""
        trees = [x.tree if isinstance(x, Expr) else _literal(x) for x in inputs]
        return Expr(ast.Call(ast.Name(function, ast.Load()), trees, []))

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
            raise DataError(f"nobody gave {str(self)!r} a number, so it has no size and no dtype")
        return self.value

    @property
    def T(self) -> Expr:
        return self._view("T", np.transpose)

    @property
    def mT(self) -> Expr:
        return self._view("mT", np.matrix_transpose)

    def _view(self, attribute: str, view: Callable[[Any], Any]) -> Expr:
        value = UNKNOWN if self.value is UNKNOWN else view(self.value)
        return Expr(ast.Attribute(self.tree, attribute, ast.Load()), value)

    def __bool__(self) -> bool:
        raise TypeError(f"a rule must not branch on {str(self)!r}: write where(...) instead of if")

    def __eq__(self, other: object) -> bool:
        raise TypeError("`==` in a rule compares identities; write equal(x, y) instead")


class _Fill(ast.NodeTransformer):
    """Put operands' trees in place of names; `[*xs]` takes a list of them."""

    def __init__(self, name: str, filling: dict[str, Any], unsaid: set[str]) -> None:
        self.name, self.filling, self.unsaid = name, filling, unsaid

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.filling.get(node.id, node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        return ast.Attribute(self.visit(node.value), node.attr, ast.Load())

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if isinstance(node.func, ast.Attribute):  # `x.sum()`: x is an operand
            node.func = self.visit_Attribute(node.func)
        node.args = self._spread(node.args)
        own = isinstance(node.func, ast.Name) and node.func.id == self.name
        node.keywords = [
            ast.keyword(k.arg, self.visit(k.value)) for k in node.keywords if not (own and self._is_unsaid(k))
        ]
        return node

    def _is_unsaid(self, keyword: ast.keyword) -> bool:
        return isinstance(keyword.value, ast.Name) and keyword.value.id in self.unsaid

    def visit_List(self, node: ast.List) -> ast.expr:
        return ast.List(self._spread(node.elts), ast.Load())

    def _spread(self, elements: list[ast.expr]) -> list[ast.expr]:
        spread: list[ast.expr] = []
        for e in elements:
            if isinstance(e, ast.Starred) and isinstance(e.value, ast.Name):
                spread.extend(self.filling[e.value.id])
            else:
                spread.append(_outside_brackets(self.visit(e)))
        return spread


def _outside_brackets(tree: ast.expr) -> ast.expr:
    """An index written where no brackets are: `1:` alone is no Python, NumPy spells it `s_[1:]`."""
    parts = tree.elts if isinstance(tree, ast.Tuple) else [tree]
    if any(isinstance(part, ast.Slice) for part in parts):
        return ast.Subscript(ast.Name("s_", ast.Load()), tree, ast.Load())
    return tree


def _unsaid(op: Op, inputs: list[Expr]) -> set[str]:
    """The settings that a person would leave out, because they are what the op does anyway."""
    unsaid = set()
    for name, setting in op.settings.items():
        if name in op.defaults:
            default = op.defaults[name]
            if name == "axis" and op.pack:  # `concatenate(xs)` means axis 0, which the door counts from the end
                try:
                    default = op.door(*op.pack(tuple(inputs)))[1][name]  # type: ignore[misc]
                except HandgradError:  # the usual axis would not fit these inputs, or nobody gave their shapes
                    continue
            everything = tuple(range(-inputs[0].ndim, 0)) if default is None and inputs else default
            if setting in (default, (default,)) or setting == everything:
                unsaid.add(name)
    return unsaid


def _setting(name: str, setting: Any) -> ast.expr:
    """A setting as a person writes it: `axis=-1` for `axis=(-1,)`, `x[0]` for `x[0,]`."""
    if name in ("axis", "index") and isinstance(setting, tuple) and len(setting) == 1:
        setting = setting[0]
    return _literal(setting)


def _literal(x: Any) -> ast.expr:
    """A plain number, setting or array, as the text that makes it again."""
    if isinstance(x, np.ndarray):
        return ast.parse(f"array({x.tolist()!r})", mode="eval").body
    if isinstance(x, np.generic):
        x = x.item()
    if isinstance(x, slice):
        return ast.Slice(*(None if part is None else _literal(part) for part in (x.start, x.stop, x.step)))
    if isinstance(x, tuple):
        return ast.Tuple([_literal(part) for part in x], ast.Load())
    if x is Ellipsis or x is None or isinstance(x, bool | str):
        return ast.Constant(x)
    if isinstance(x, int | float) and np.isfinite(x) and x >= 0:
        return ast.Constant(x)
    return ast.parse(repr(x), mode="eval").body


def rule(
    op: Op | Value, values: tuple[Any, ...] | None = None, g: Any = UNKNOWN, out: Any = UNKNOWN
) -> tuple[Expr | None, ...]:
    """The rule of an op, or of the op that made a node, as text: one Expr per input, None where no gradient flows.

    It is written in `g` (the gradient of the result), `out` (the result) and the inputs' names: the op's own ones, or
    those of a node's inputs. With numbers (a node's, or `values`; g is ones unless given) each Expr carries its own.

    >>> from autograd import softmax
    >>> print(*rule(OPS["mul"]), sep=",  ")
    g * y,  g * x
    >>> a, b = Value(2.0, name="a"), Value(3.0, name="b")
    >>> print(*rule(a * b), sep=",  ")
    g * b,  g * a

    A rule that depends on shapes or settings needs a node:

    >>> print(*rule(softmax(Value(np.array([[1.0, 2.0]])))))
    out * (g - sum(g * out, axis=-1, keepdims=True))
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
    with np.errstate(all="ignore"):  # the text is wanted of every input, also where its number is not
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
    called: dict[str, Any] = {"g": UNKNOWN, "out": UNKNOWN}  # what the rule speaks of besides
    clash = any(called.setdefault(name, x) is not x for name, x in zip(names, node.inputs, strict=True))
    return own if clash else tuple(names)


def _readable(name: str | None) -> str | None:
    """A name that can stand in a formula, such as `w` or `layer.weight`; None for another."""
    try:
        ast.parse(name or "", mode="eval")
    except (SyntaxError, ValueError):
        return None
    return name


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
    vjp = op.vjp
    if isinstance(vjp, tuple):
        return tuple(r and r(g, out, *inputs) for r in vjp)
    return tuple(vjp(g, out, *inputs))


def rule_as_text(op: Op, g: Expr, out: Expr, inputs: Sequence[Any]) -> tuple[Expr | None, ...]:
    """An op's rule run on Exprs. DataError for a rule that can only be run: it branches, or calls NumPy itself."""
    try:
        parts = pulled(op, g, out, inputs)
    except Exception as error:  # a user's rule fails in its own way on what is no number
        raise DataError(f"the rule of {op.name} can only be run, not written as text: {error}") from error
    for part in parts:
        if not isinstance(part, Expr | float | int | None):
            raise DataError(f"the rule of {op.name} can only be run, not written as text: it gave {part!r:.60}")
    return tuple(part if isinstance(part, Expr | None) else Expr(_literal(part), part) for part in parts)


def rule_or_its_name(op: Op, g: Expr, out: Expr, inputs: Sequence[Any]) -> tuple[Expr | None, ...]:
    """An op's rule run on Exprs; `pull_clip(g, x)` for each input where the rule can only be run."""
    try:
        return rule_as_text(op, g, out, inputs)
    except DataError:
        return (Expr.call(f"pull_{op.name}", g, *(x for x in inputs if x is not None)),) * len(inputs)


def bind_operators(binary: dict[str, str], unary: dict[str, str]) -> None:
    """Give Expr the operators of the table: {"truediv": "div"} makes `/`."""

    def forward(op: Op) -> Any:
        return lambda self, other: op(self, other)

    def reflected(op: Op) -> Any:
        return lambda self, other: op(other, self)

    for method, name in binary.items():
        setattr(Expr, f"__{method}__", forward(OPS[name]))
        setattr(Expr, f"__r{method}__", reflected(OPS[name]))
    for method, name in unary.items():
        setattr(Expr, f"__{method}__", lambda self, op=OPS[name]: op(self))
    setattr(Expr, "__getitem__", lambda self, index: OPS["getitem"](self, index))  # noqa: B010
