"""Entries: the carrier of arrays whose entries are scalars of another carrier. It spells a tensor op out.

    >>> from autograd.expr import Expr
    >>> x, w = Expr("x", np.array([1.0, 2.0])), Expr("w", np.array([[3.0], [4.0]]))
    >>> print(spelled(x @ w)[0])
    x[0] * w[0][0] + x[1] * w[1][0]

An op that works on each number by itself becomes that op on every entry; a fused one is spelled out by its definition;
what moves numbers or adds them up runs on the array of scalars as it would on one of numbers. The scalars are Exprs
(every entry of a formula) or Values (`zoom` draws the graph of one).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autograd.errors import DataError, HandgradError
from autograd.expr import Expr
from autograd.op import OPERATORS, OPS, Op, apply


class Entries:
    """An array of scalars: Exprs, Values or plain numbers."""

    __slots__ = ("array",)
    __array_ufunc__ = None  # an array on the left defers to our reflected operators

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

    def __getitem__(self, index: Any) -> Entries:
        return OPS["getitem"](self, index)

    def __neg__(self) -> Entries:
        return OPS["neg"](self)

    def __abs__(self) -> Entries:
        return OPS["abs"](self)

    @staticmethod
    def __apply__(op: Op, inputs: tuple[Any, ...]) -> Entries:
        if op.pointwise:
            return Entries(_one_by_one(op, inputs))
        if op.definition is not None:
            return op.definition(*inputs, **op.settings)
        arrays = [x.array if isinstance(x, Entries) else x for x in inputs]
        if op.base in (OPS["max"], OPS["min"]):
            return Entries(_extreme(op, arrays[0]))
        try:
            return Entries(op.forward(*arrays))
        except Exception as error:  # a forward function of somebody's own asks for real numbers
            why = error if isinstance(error, HandgradError) else "it needs the numbers themselves"
            raise DataError(f"{op.name} cannot be spelled out in scalars: {why}") from error


def _one_by_one(op: Op, inputs: tuple[Any, ...]) -> Any:
    arrays = [x.array if isinstance(x, Entries) else np.asarray(x) for x in inputs]
    shape = np.broadcast_shapes(*(array.shape for array in arrays))
    stretched = [np.broadcast_to(array, shape) for array in arrays]
    result = np.empty(shape, object)
    for index in np.ndindex(shape):
        result[index] = apply(op, tuple(_number(array[index]) for array in stretched))
    return result


def _extreme(op: Op, array: Any) -> Any:
    """max and min as pairwise maximum and minimum."""
    pairwise = np.frompyfunc(lambda x, y: OPS[f"{op.name}imum"](x, y), 2, 1)
    for axis in op.settings["axis"]:
        array = pairwise.reduce(array, axis=axis, keepdims=True)
    return array if op.settings["keepdims"] else np.squeeze(array, op.settings["axis"])


def _number(x: Any) -> Any:
    return x.item() if isinstance(x, np.generic | np.ndarray) else x


def _bind_operators() -> None:
    for method, name in OPERATORS.items():
        setattr(Entries, f"__{method}__", lambda self, other, name=name: OPS[name](self, other))
        setattr(Entries, f"__r{method}__", lambda self, other, name=name: OPS[name](other, self))


_bind_operators()

# --- the entries of a formula -----------------------------------------------------------------------------------


def entries_of(symbol: Expr) -> Entries:
    """The entries of a symbol, `Q[0][1]`, each with its number. They stand for the same quantity as the symbol."""
    value = np.asarray(symbol.value)
    array = np.empty(value.shape, object)
    whole = symbol if symbol.node is None else symbol.node
    for index in np.ndindex(value.shape):
        name = symbol.name + "".join(f"[{i}]" for i in index)
        array[index] = Expr(name, value[index].item(), node=whole, is_gradient=symbol.is_gradient)
    return Entries(array)


def spelled(formula: Expr, entries: Callable[[Expr], Any] = entries_of) -> Any:
    """Every entry of a formula as a formula of scalars: an object array of Exprs (of none, for a scalar)."""
    known: dict[int, Any] = {}
    found = formula.run(lambda symbol: known.setdefault(id(symbol), entries(symbol)))
    array: Any = found.array if isinstance(found, Entries) else Entries(found).array
    result = np.empty(array.shape, object)
    for index in np.ndindex(array.shape):
        entry = _number(array[index])
        result[index] = entry if isinstance(entry, Expr) else Expr.number(entry)
    return result
