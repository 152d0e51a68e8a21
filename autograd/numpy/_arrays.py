"""Arrays made of Values: what `autograd.numpy` has in place of NumPy's own functions.

>>> from autograd import Value
>>> array([Value(1.0), 2.0])
Value([1., 2.], op='stack')
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autograd.engine import Value
from autograd.op import OPS


def _holds_values(x: Any) -> bool:
    return isinstance(x, Value) or (isinstance(x, list | tuple) and any(map(_holds_values, x)))


def _stacked(x: Any) -> Any:
    """A list with Values in it as one Value."""
    return OPS["stack"]([_stacked(part) for part in x]) if isinstance(x, list | tuple) else x


def array(object: Any, dtype: Any = None, *, ndmin: int = 0, **settings: Any) -> Any:
    """An array of numbers; of Values and lists of them, one Value."""
    if not _holds_values(object):
        return np.array(object, dtype, ndmin=ndmin, **settings)
    made = _stacked(object)
    made = made if dtype is None else made.astype(dtype)
    return made.reshape((1,) * (ndmin - made.ndim) + made.shape) if made.ndim < ndmin else made


def asarray(a: Any, dtype: Any = None, **settings: Any) -> Any:
    """`array`, without a copy of what is an array already."""
    return array(a, dtype) if _holds_values(a) else np.asarray(a, dtype, **settings)


def full(shape: Any, fill_value: Any, dtype: Any = None, **settings: Any) -> Any:
    """An array of the same number everywhere."""
    if not _holds_values(fill_value):
        return np.full(shape, fill_value, dtype, **settings)
    return array(OPS["broadcast_to"](_stacked(fill_value), (shape,) if isinstance(shape, int) else shape), dtype)


def of_lists(function: Any) -> Any:
    """A function of NumPy that also takes lists with Values in place of arrays: `mean([v, 1.0])`."""

    def run(*args: Any, **settings: Any) -> Any:
        args = tuple(_stacked(x) if isinstance(x, list | tuple) and _holds_values(x) else x for x in args)
        return function(*args, **settings)

    run.__name__, run.__doc__ = function.__name__, function.__doc__
    return run


OF_LISTS = {}
for _name in ("all", "any", "append", "argmax", "argmin", "cumsum", "diff", "dot", "matmul", "max", "mean", "median",
              "min", "outer", "prod", "ravel", "reshape", "sort", "std", "sum", "transpose", "var"):  # fmt: skip
    OF_LISTS[_name] = of_lists(getattr(np, _name))


def make_diagonal(D: Any, offset: int = 0, axis1: int = -1, axis2: int = -2) -> Any:
    """Matrices with the last axis of D on their diagonal: what `diagonal(axis1=-1, axis2=-2)` takes out."""
    if (offset, {axis1, axis2}) != (0, {-1, -2}):
        raise NotImplementedError("make_diagonal takes offset=0, axis1=-1, axis2=-2")
    return D[..., None] * np.eye(D.shape[-1])


class _Row:
    """`np.r_[a, b]` and `np.c_[a, b]`, also of Values."""

    def __init__(self, plain: Any, join: Any) -> None:
        self.plain, self.join = plain, join

    def __getitem__(self, parts: Any) -> Any:
        parts = parts if isinstance(parts, tuple) else (parts,)
        if not _holds_values(parts):
            return self.plain[parts]
        return self.join([self.plain[part] if isinstance(part, slice) else array(part, ndmin=1) for part in parts])


r_, c_ = _Row(np.r_, np.concatenate), _Row(np.c_, np.column_stack)
