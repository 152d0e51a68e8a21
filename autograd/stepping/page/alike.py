"""The entries of a formula of arrays that are all computed alike, as one formula of scalars.

    >>> x, w = Expr("x", np.ones((2, 2)), node=Places([[0, 1], [2, 3]])), Expr("w", np.ones(2), node=Places([4, 5]))
    >>> product = alike(x @ w, lambda symbol: symbol.node)
    >>> [symbol.node.numbers.tolist() for symbol in product.symbols()]
    [[0, 2], [4, 4], [1, 3], [5, 5]]

Each symbol of it is a number of an operand, another one in each entry: `Places` says which register, entry by entry. So
a product of 8 × 16 and 16 × 64 numbers is one line of 16 terms, and not 512 of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from autograd.expr import Expr
from autograd.expr.operators import Operators
from autograd.formula.scalars.formulas import in_order
from autograd.op import OPS, Op, apply


class NotAlike(Exception):
    """The entries differ in how they are computed, as those of a scatter do."""


class Places:
    """The register of a number, for each entry of the result."""

    def __init__(self, numbers: Any) -> None:
        self.numbers = np.asarray(numbers)


class _Token:
    """A number that can be moved and not computed with."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number


class _Alike(Operators):
    """The carrier: an array as one formula whose symbols know their `Places`."""

    __slots__ = ("formula", "shape")

    def __init__(self, formula: Expr, shape: tuple[int, ...]) -> None:
        self.formula, self.shape = formula, tuple(shape)

    ndim = property(lambda self: len(self.shape))
    size = property(lambda self: int(np.prod(self.shape)))
    dtype = property(lambda self: np.dtype(np.float64))
    T = property(lambda self: OPS["transpose"](self))
    mT = property(lambda self: OPS["swapaxes"](self, -1, -2))

    @staticmethod
    def __apply__(op: Op, inputs: tuple[Any, ...]) -> Any:
        if op.pointwise:
            return _pointwise(op, inputs)
        if op.base is OPS["matmul"]:
            return _product(*inputs)
        if op.pairwise is not None or op.base is OPS["sum"]:
            return _reduced(op, inputs[0])
        if op.definition is not None:
            return op.definition(*inputs, **op.settings)
        return _moved(op, inputs)

    def map(self, change: Callable[[Any], Any], shape: tuple[int, ...]) -> _Alike:
        """The same formula with the places of each symbol changed."""
        places = {id(symbol): change(symbol.node.numbers) for symbol in leaves(self.formula)}
        return _Alike(replaced(self.formula, places), shape)

    def part(self, index: Any) -> _Alike:
        shape = np.empty(self.shape, bool)[index].shape
        return self.map(lambda numbers: numbers[index], shape)


def leaves(e: Expr) -> list[Expr]:
    """The numbers of a formula of scalars that are in registers, each once."""
    return [part for part in in_order(e) if part.op is None and isinstance(part.node, Places)]


def replaced(e: Expr, places: Mapping[int, Any]) -> Expr:
    """The same formula with other places, by the id of each symbol; a part that is used twice stays one."""
    known: dict[int, Expr] = {}
    for part in in_order(e):
        if part.op is not None:
            known[id(part)] = part.with_args([known[id(x)] for x in part.args])
        else:
            known[id(part)] = _symbol(part, places[id(part)]) if id(part) in places else part
    return known[id(e)]


def _symbol(like: Expr, numbers: Any) -> Expr:
    return Expr("x", like.value, node=Places(numbers), is_gradient=like.is_gradient)


def alike(formula: Expr, places: Callable[[Expr], Places]) -> Expr:
    """The one formula of all entries; `places` gives the registers of a symbol. `NotAlike` if there is none."""
    known: dict[int, _Alike] = {}

    def carried(symbol: Expr) -> _Alike:
        if id(symbol) not in known:
            found, value = places(symbol), np.ravel(symbol.value)
            like = Expr("x", value[0].item() if value.size else 0.0, is_gradient=symbol.is_gradient)
            known[id(symbol)] = _Alike(_symbol(like, found.numbers), found.numbers.shape)
        return known[id(symbol)]

    found = formula.run(carried)
    if not isinstance(found, _Alike) or found.shape != np.shape(formula.value):
        raise NotAlike
    return found.formula


def _pointwise(op: Op, inputs: tuple[Any, ...]) -> _Alike:
    if any(isinstance(x, np.ndarray) and x.ndim for x in inputs):
        raise NotAlike  # a mask, say, picks another operand in each entry
    shape = np.broadcast_shapes(*(x.shape for x in inputs if isinstance(x, _Alike)))
    parts = [
        x if not isinstance(x, _Alike) else x.formula if x.shape == shape
        else x.map(lambda numbers: np.broadcast_to(numbers, shape), shape).formula
        for x in inputs
    ]  # fmt: skip
    return _Alike(apply(op, tuple(parts)), shape)


def _product(a: Any, b: Any) -> _Alike:
    """A matrix product, as the sum of its terms."""
    if not (isinstance(a, _Alike) and isinstance(b, _Alike)):
        raise NotAlike
    column = (None,) if b.ndim > 1 else ()
    columns = [a.part((..., k, *column) if a.ndim > 1 else k) for k in range(a.shape[-1])]
    row = (None,) if a.ndim > 1 else ()
    rows = [b.part((..., k, *row, slice(None)) if b.ndim > 1 else k) for k in range(a.shape[-1])]
    return _sum([OPS["mul"](column, row) for column, row in zip(columns, rows, strict=True)], OPS["add"])


def _sum(parts: list[Any], op: Op) -> Any:
    if not parts:
        raise NotAlike
    total, *others = parts
    for part in others:
        total = op(total, part)
    return total


def _reduced(op: Op, x: _Alike) -> Any:
    """A reduction as its op of two inputs, again and again: max as maximum."""
    axes = [axis % x.ndim for axis in op.settings["axis"]]
    for axis in axes:
        index = (slice(None),) * axis
        parts = [x.part((*index, slice(k, k + 1))) for k in range(x.shape[axis])]
        x = _sum(parts, OPS["add"] if op.pairwise is None else op.pairwise)
    if op.settings["keepdims"]:
        return x
    shape = tuple(size for axis, size in enumerate(x.shape) if axis not in axes)
    return x.map(lambda numbers: numbers.reshape(shape), shape)


def _moved(op: Op, inputs: tuple[Any, ...]) -> _Alike:
    """What an op makes that only moves numbers: it is run on tokens with which nothing can be computed."""
    carried = [x for x in inputs if isinstance(x, _Alike)]
    if len(carried) == 1:
        (x,) = carried
        places = _run_on_tokens(op, inputs, {id(x): np.arange(x.size).reshape(x.shape)})
        return x.map(lambda numbers: numbers.ravel()[places], places.shape)
    if any(x.formula.op is not None for x in carried):
        raise NotAlike
    like = carried[0].formula
    numbers = _run_on_tokens(op, inputs, {id(x): x.formula.node.numbers for x in carried})
    return _Alike(_symbol(like, numbers), numbers.shape)


def _run_on_tokens(op: Op, inputs: tuple[Any, ...], numbers: dict[int, Any]) -> Any:
    """Where an op moves the numbers of its inputs."""
    make = np.frompyfunc(_Token, 1, 1)
    arrays = [make(numbers[id(x)]) if isinstance(x, _Alike) else x for x in inputs]
    arrays = [x if isinstance(x, np.ndarray) or not isinstance(x, _Token) else np.asarray(x) for x in arrays]
    try:
        moved = np.asarray(op.forward(*arrays), object)
        if not moved.size:
            raise NotAlike
        return np.frompyfunc(lambda token: token.number, 1, 1)(moved).astype(np.int64)
    except Exception as error:  # it computes
        raise NotAlike from error
