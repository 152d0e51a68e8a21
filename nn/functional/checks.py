"""What the formulas accept: numbers as arrays of floats, ids, targets, reductions."""

from __future__ import annotations

from typing import Any

import numpy as np

import autograd as ag
from autograd.arrays.plain import as_array
from autograd.errors import AxisError, DataError, ShapeError
from autograd.modes import plain_data
from autograd.ops.indexing.rows import as_value, is_whole

Array = Any  # a Value, or whatever NumPy makes an array of


def as_ids(who: str, ids: Any, n: int) -> np.ndarray:
    """Integers from 0 to n - 1, as an integer array."""
    given = as_value(as_array(ids))
    ids = np.asarray(given._data if is_whole(given) else plain_data(given, "np.asarray(v)"))
    if (ids.dtype.kind == "f" and ids.size and np.array_equal(ids, np.floor(ids))) or not ids.size:
        ids = ids.astype(np.intp)
    if ids.dtype.kind not in "iu":
        raise DataError(f"{who}: ids are integers from 0 to {n - 1}; got {ids.dtype}: {ids!r:.60}")
    if ids.size and (ids.min() < 0 or ids.max() >= n):
        wrong = ids[(ids < 0) | (ids >= n)].flat[0]
        raise AxisError(f"{who}: ids run from 0 to {n - 1}; got {wrong}")
    return given if is_whole(given) else ids


def check_probabilities(p: Any) -> None:
    """Logits in the place of probabilities would give a number that looks like a loss and is none."""
    data = np.asarray(getattr(p, "_data", 0.0) if hasattr(p, "__apply__") else p)
    outside = data[(data < 0) | (data > 1)]
    if outside.size:
        raise DataError(
            f"binary_cross_entropy takes probabilities, from 0 to 1; got {outside[0]:.6g}. Of logits write "
            "binary_cross_entropy_with_logits(z, y), or binary_cross_entropy(sigmoid(z), y)"
        )


def as_floats(x: Any) -> Any:
    """A Value or an Expr as it is; anything else as an array of floats."""
    if hasattr(x, "__apply__") or (isinstance(x, np.ndarray) and x.dtype.kind == "f"):
        return x
    return np.asarray(as_array(x), dtype=np.float64)


def like(y: Any, x: Any) -> Any:
    """Targets as an array of x's dtype, in x's shape: a silent broadcast of targets is nearly always a slip."""
    if not isinstance(y, ag.Value):
        y = np.asarray(as_array(y), dtype=x.dtype)
    if np.ndim(y) and np.shape(y) != np.shape(x):
        raise ShapeError(f"the targets have shape {np.shape(y)}, the predictions {np.shape(x)}; make them alike")
    return y


def reduced(losses: Array, reduction: str) -> Array:
    """One number from many losses: their "mean" or "sum"; "none" leaves them."""
    if reduction == "mean":
        return ag.mean(losses)
    if reduction == "sum":
        return ag.sum(losses)
    if reduction == "none":
        return losses
    raise ValueError(f'reduction is "mean", "sum" or "none"; got {reduction!r}')
