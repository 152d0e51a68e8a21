"""Formulas of scalars: tensors spelled out entry by entry, in a small vocabulary of functions.

    >>> x, w = Expr("x", np.array([1.0, 2.0])), Expr("w", np.array([[3.0], [4.0]]))
    >>> print(spelled(x @ w)[0])
    x[0] * w[0][0] + x[1] * w[1][0]

`Entries` is the carrier that spells a tensor op out; `Opener` replaces ops outside a vocabulary by their definitions.
A person with a calculator, intervals, a spreadsheet and a page can each run such a formula (`writers/python.py` writes
it down).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from autograd.errors import DataError, HandgradError
from autograd.expr import Expr
from autograd.expr.operators import Operators
from autograd.op import OPS, Op, apply

VOCABULARY = frozenset(
    ("add", "sub", "mul", "div", "neg", "power", "exp", "log", "sqrt", "tanh", "sigmoid", "sin", "cos", "arctan", "erf",
     "relu", "abs", "sign", "maximum", "minimum", "where",
     "less", "less_equal", "greater", "greater_equal", "equal", "not_equal")
)  # fmt: skip
# For code that must give the engine's numbers: also the ops whose definitions lose digits.
ALL_DIGITS = VOCABULARY | {"expm1", "log1p", "tan", "sinh", "cosh", "alias"}


# --- tensors as entries -----------------------------------------------------------------------------------------------


class Entries(Operators):
    """The carrier of arrays of scalars: Exprs (every entry of a formula), Values (`zoom` draws their graph) or numbers.

    An op that works on each number alone is applied to every entry; a fused op is spelled out by its definition; what
    moves numbers or adds them up runs on the array of scalars as on one of numbers.
    """

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        if isinstance(array, np.ndarray):
            self.array = array.astype(object, copy=False)
        else:  # one scalar alone
            self.array = np.empty((), object)
            self.array[()] = array

    shape = property(lambda self: self.array.shape)
    ndim = property(lambda self: self.array.ndim)
    size = property(lambda self: self.array.size)
    T = property(lambda self: Entries(self.array.T))
    mT = property(lambda self: Entries(self.array.mT))
    dtype = property(lambda self: np.dtype(np.float64))

    @staticmethod
    def __apply__(op: Op, inputs: tuple[Any, ...]) -> Entries:
        if op.pointwise:
            return Entries(_one_by_one(op, inputs))
        if op.definition is not None:
            return op.definition(*inputs, **op.settings)
        arrays = [x.array if isinstance(x, Entries) else x for x in inputs]
        if op.pairwise is not None:
            return Entries(_reduced(op, arrays[0]))
        try:
            return Entries(op.forward(*arrays))
        except Exception as error:  # a custom forward function may need real numbers
            why = error if isinstance(error, HandgradError) else "it needs the numbers themselves"
            raise DataError(f"{op.name} cannot be spelled out in scalars: {why}") from error


def _one_by_one(op: Op, inputs: tuple[Any, ...]) -> Any:
    arrays = [x.array if isinstance(x, Entries) else np.asarray(x) for x in inputs]
    shape = np.broadcast_shapes(*(array.shape for array in arrays))
    stretched = [np.broadcast_to(array, shape) for array in arrays]
    return object_array(shape, lambda index: apply(op, tuple(_plain_entry(array[index]) for array in stretched)))


def _reduced(op: Op, array: Any) -> Any:
    """A reduction as its op of two inputs, again and again: max as maximum."""
    pairwise: Any = np.frompyfunc(op.pairwise, 2, 1)  # type: ignore[arg-type]
    for axis in op.settings["axis"]:
        array = pairwise.reduce(array, axis=axis, keepdims=True)
    return array if op.settings["keepdims"] else np.squeeze(array, op.settings["axis"])


def object_array(shape: tuple[int, ...], entry: Callable[[tuple[int, ...]], Any]) -> Any:
    """An array of objects: `entry(index)` at each index."""
    array = np.empty(shape, object)
    for index in np.ndindex(shape):
        array[index] = entry(index)
    return array


def _plain_entry(x: Any) -> Any:
    return x.item() if isinstance(x, np.generic | np.ndarray) else x


def entry_name(name: str, index: tuple[int, ...]) -> str:
    """`Q[0][1]`"""
    return name + "".join(f"[{i}]" for i in index)


def entries_of(symbol: Expr) -> Entries:
    """The entries of a symbol, `Q[0][1]`, each with its number. They are the same quantity as the symbol."""
    value = np.asarray(symbol.value)
    node = symbol if symbol.node is None else symbol.node

    def entry(index: tuple[int, ...]) -> Expr:
        name = entry_name(symbol.name, index)
        return Expr(name, value[index].item(), node=node, is_gradient=symbol.is_gradient)

    return Entries(object_array(value.shape, entry))


def spelled(formula: Expr, entries: Callable[[Expr], Any] = entries_of) -> Any:
    """Every entry of a formula as a formula of scalars: an array of Exprs."""
    known: dict[int, Any] = {}
    found = formula.run(lambda symbol: known.setdefault(id(symbol), entries(symbol)))
    array: Any = found.array if isinstance(found, Entries) else Entries(found).array

    def entry(index: tuple[int, ...]) -> Expr:
        x = _plain_entry(array[index])
        return x if isinstance(x, Expr) else Expr.number(x)

    return object_array(array.shape, entry)


# --- ops in the vocabulary --------------------------------------------------------------------------------------------


def in_order(e: Expr) -> Iterator[Expr]:
    """Every part of a formula once, each after its own parts. Sums are deep, so there is no recursion."""
    seen: set[int] = set()
    stack = [e]
    while stack:
        part = stack[-1]
        waiting = [x for x in _parts(part) if id(x) not in seen]
        stack += waiting
        if not waiting:
            stack.pop()
            if id(part) not in seen:
                seen.add(id(part))
                yield part


def _parts(e: Expr) -> tuple[Expr, ...]:
    """The parts of a formula; for a line that a definition names, its formula."""
    return (e.formula,) if e.op is None and e.node is None and e.formula is not None else e.args


class Opener:
    """Scalar formulas in a vocabulary: other ops are replaced by their definitions. With `shorten` as a person writes
    them: constants worked out, nothing times a constant 0 or 1."""

    def __init__(self, vocabulary: frozenset[str] = VOCABULARY, shorten: bool = True) -> None:
        self.vocabulary, self.shorten = vocabulary, shorten
        self.done: dict[int, tuple[Expr, Expr]] = {}

    def __call__(self, e: Expr) -> Expr:
        for part in in_order(e):
            if id(part) not in self.done:
                self.done[id(part)] = (part, self._opened(part))
        return self.done[id(e)][1]

    def _opened(self, e: Expr) -> Expr:
        args = tuple(self.done[id(x)][1] for x in _parts(e))
        if e.op is None:
            if args:  # a line: its formula stands for it
                return args[0]
            return e if e.name or not self.shorten else Expr.number(plain_number(e.value))
        name = e.op.base.name
        if self.shorten:
            short = _shorter(name, args)
            if short is not None:
                return short
            if all(a.is_constant for a in args):
                return Expr.number(plain_number(e.op.compute(*(a.value for a in args))))
        if name not in self.vocabulary:
            ways = (e.op.definition, e.op.lower) if self.shorten else (e.op.lower, e.op.definition)
            definition = ways[0] or ways[1]  # people read the definition; code runs the lowering, which loses no digits
            if definition is None:
                raise DataError(f"{name} cannot be spelled out in scalars: it has no definition in simpler ops")
            return self(definition(*args, **e.op.settings))
        return e if all(a is b for a, b in zip(args, e.args, strict=True)) else Expr.applied(e.op, args)


def _is(e: Expr, number: float) -> bool:
    return e.is_constant and e.value == number


def _shorter(name: str, args: tuple[Expr, ...]) -> Expr | None:
    """What a person writes instead of an op of these scalars; None if that is the op itself."""
    match name, args:
        case ("mul" | "div", (x, _)) if _is(x, 0):
            return Expr.number(0)
        case ("mul", (_, y)) if _is(y, 0):
            return Expr.number(0)
        case ("mul", (x, y)) if _is(x, 1):
            return y
        case ("mul" | "div" | "power", (x, y)) if _is(y, 1):
            return x
        case ("power", (_, y)) if _is(y, 0):
            return Expr.number(1)
        case ("add", (x, y)) if _is(x, -math.inf) or _is(y, -math.inf):  # a mask that is added
            return Expr.number(-math.inf)
        case ("sub", (x, _)) if _is(x, -math.inf):  # a masked score less the largest of its row, also if that is masked
            return x
        case ("add", (x, y)) if _is(x, 0):
            return y
        case ("add" | "sub", (x, y)) if _is(y, 0):
            return x
        case ("sub", (x, y)) if _is(x, 0) and not y.is_constant:
            return OPS["neg"](y)
        case ("neg", (x,)) if x.op is not None and x.op.name == "neg":
            return x.args[0]
        case ("maximum", (x, y)) if _is(x, -math.inf):
            return y
        case ("maximum", (x, y)) if _is(y, -math.inf):
            return x
        case ("where", (condition, x, y)) if condition.is_constant:
            return x if condition.value else y
    return None


def plain_number(x: Any) -> Any:
    """An integer as int, so that rules print `2 * x`."""
    x = x.item() if isinstance(x, np.generic | np.ndarray) else x
    if isinstance(x, float) and math.isfinite(x) and x.is_integer() and abs(x) < 1e15:
        return int(x) if x or math.copysign(1.0, x) > 0 else 0
    return x
