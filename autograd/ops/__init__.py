"""The table of ops, family by family; and the operators and methods it gives to Value and Expr."""

import numpy as np

from ..fast import binary, unary
from ..numpy_calls import answers, on_data
from ..op import OPERATORS, OPS, Op
from ..value import Value
from . import arithmetic, attention, elementwise, fused, heads, linear, norm, reduce, rows, shape

__all__ = ["FUNCTIONS", "OPERATORS", "arithmetic", "attention", "bind", "elementwise", "fused", "heads", "linear",
           "norm", "reduce", "rows", "shape"]  # fmt: skip

# Functions of ops: they have no rule of their own.
FUNCTIONS = {"split": shape.split, "take": rows.take}

_NOT_METHODS = {"dot", "einsum"}  # their first argument is not the array whose method they would be


def bind(op: Op) -> None:
    """Make an op a method of Value, and an answer to NumPy's functions."""
    answers(*op.numpy)(op)
    if op.name not in _NOT_METHODS:
        plain = op.door is None and len(op.names) == 1 and not op.variadic
        setattr(Value, op.name, unary(op) if plain else op)


for _family in (arithmetic, elementwise):  # functions of each number by itself
    for _member in vars(_family).values():
        if isinstance(_member, Op):
            _member.pointwise = True
for _op in OPS.values():
    bind(_op)
for _name, _function in FUNCTIONS.items():
    setattr(Value, _name, _function)

for _method, _name in OPERATORS.items():
    _forward, _reflected = binary(OPS[_name])
    setattr(Value, f"__{_method}__", _forward)
    if _method not in ("lt", "le", "gt", "ge"):
        setattr(Value, f"__r{_method}__", _reflected)
for _method, _special in {
    "neg": unary(OPS["neg"]),
    "abs": unary(OPS["abs"]),
    "pos": lambda self: self,
    "getitem": rows.pick,
}.items():
    setattr(Value, f"__{_method}__", _special)


def _numpy_dot(x, y):
    """np.dot, where it is a product that we have: of scalars, or with a vector or matrix on the right."""
    if np.ndim(x) == 0 or np.ndim(y) == 0:
        return OPS["mul"](x, y)
    if np.ndim(y) > 2:
        raise TypeError("np.dot of a batch pairs every matrix with every other. Write x @ y, or einsum to say which.")
    return OPS["matmul"](x, y)


setattr(Value, "dot", _numpy_dot)  # noqa: B010 (Value.dot is not declared)

answers(np.dot)(_numpy_dot)
answers(np.square)(lambda x: x**2)
answers(np.reciprocal)(lambda x: 1.0 / x)
on_data(np.shape, np.ndim, np.size, np.zeros_like, np.ones_like, np.empty_like, np.full_like, reads=False)
on_data(np.isnan, np.isinf, np.isfinite, np.allclose, np.isclose, np.array_equal)
