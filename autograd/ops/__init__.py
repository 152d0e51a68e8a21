"""The table of ops, family by family; and the operators and methods it gives to Value and Expr."""

import numpy as np

from autograd.arrays.numpy_calls import answers, on_data
from autograd.engine import Value, unary
from autograd.names import EDITS, SAME, VALUE, give_other_names
from autograd.op import OPERATORS, OPS, Op

from . import angles, arithmetic, arrange, elementwise, reduce, rounding, running, selected, shape, special
from ._functions import FUNCTIONS, METHODS
from .fused import attention, dense, gelu, heads, norm, recurrent
from .fused import softmax as fused
from .images import channels, convolution, interpolation, pooling
from .indexing import join, placing, rows  # fmt: skip
from .matrices import eigen, linalg, linear

__all__ = [
    "FUNCTIONS", "POINTWISE", "OPERATORS", "angles", "arithmetic", "arrange", "attention", "bind", "channels",
    "convolution", "dense", "eigen", "elementwise", "fused", "gelu", "heads", "interpolation", "join", "linalg",
    "linear", "norm", "placing", "pooling", "recurrent", "reduce", "rounding", "rows", "running",
    "selected", "shape", "special",
]  # fmt: skip

POINTWISE = (arithmetic, elementwise, gelu, angles, rounding, special)  # families of functions of each number alone

_NOT_METHODS = {"dot", "einsum"}  # their first argument is not the array whose method they would be


def bind(op: Op) -> None:
    """Make an op a method of Value, and an answer to NumPy's functions."""
    answers(*op.numpy)(op)
    if op.name not in _NOT_METHODS:
        plain = op.normalize is None and len(op.names) == 1 and not op.variadic
        setattr(Value, op.name, unary(op.name) if plain else op)


for _family in POINTWISE:
    for _member in vars(_family).values():
        if isinstance(_member, Op):
            _member.pointwise = True
for _op in OPS.values():
    bind(_op)
for _name, _function in METHODS.items():
    setattr(Value, _name, _function)

for _method, _special in {
    "getitem": rows.pick,
    "round": lambda self, decimals=0: OPS["round"](self, decimals or 0),
    **rounding.BITWISE,
    **{f"r{_name}": _f for _name, _f in rounding.BITWISE.items() if _name != "invert"},
}.items():
    setattr(Value, f"__{_method}__", _special)

setattr(Value, "dot", linear.numpy_dot)  # noqa: B010 (Value.dot is not declared)

give_other_names(Value)

_UNLISTED = {
    "neg", "equal", "not_equal", "getitem", "floor_divide", "mod", "touch", "stamp", "label",
    *(name for name in OPERATORS.values() if name != "matmul"), *(op.name for op in OPS.values() if op.inner),
    *SAME, *VALUE, *EDITS,
}  # fmt: skip


def _listed(value: Value) -> list[str]:
    """Tab after a Value: what a person calls, without what is written as an operator and what only rules call."""
    return sorted({*object.__dir__(value)} - _UNLISTED)


setattr(Value, "__dir__", _listed)  # noqa: B010 (Value.__dir__ is not declared)

answers(np.square)(lambda x: x**2)
answers(np.reciprocal)(lambda x: 1.0 / x)
answers(np.imag)(lambda x: OPS["where"](False, x, 0))  # and not x * 0, which is NaN at infinity
answers(np.angle)(lambda x, deg=False: OPS["arctan2"](0.0, OPS["detached"](x)) * (180.0 / np.pi if deg else 1.0))
answers(np.real, np.conjugate, np.positive, np.real_if_close)(lambda x: x)  # a Value is real
on_data(np.shape, np.ndim, np.size, np.zeros_like, np.ones_like, np.empty_like, np.result_type,
        np.iscomplexobj, np.isrealobj, reads=False)
on_data(np.isnan, np.isinf, np.isfinite, np.isneginf, np.isposinf, np.isreal, np.iscomplex, np.signbit, np.allclose,
        np.isclose, np.array_equal, np.array_equiv, np.argwhere, np.flatnonzero, np.searchsorted,
        np.full_like)  # fmt: skip
