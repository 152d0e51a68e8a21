"""Reductions of selected numbers (`where=`), from a start (`initial=`), weighted, or without NaN.

All of them are written with the ops of `reduce.py`: a number that is left out is replaced by one that changes nothing.
"""

import numpy as np

from autograd.arrays.numpy_calls import data_of
from autograd.arrays.plain import as_plain
from autograd.errors import ShapeError
from autograd.op import dtype_of, rank_of, shape_of

from . import reduce
from ._axes import negative_axes, negative_axis
from ._functions import function
from .arithmetic import equal
from .elementwise import maximum, minimum
from .elementwise import where as choose
from .reduce import count, norm, sum_
from .shape import astype, broadcast_to, reshape, transpose


def only(who, x, where, instead):
    """x with `instead` in place of the numbers that are not selected."""
    if where is True:
        return x
    mask = np.asarray(data_of(where))
    if mask.dtype != bool:
        raise TypeError(f"{who}: where is True or False for each number, as in where=x > 0; got {mask.dtype} numbers")
    try:
        np.broadcast_to(mask, shape_of(x))
    except ValueError:
        shapes = f"{mask.shape}, which does not broadcast to x's, {shape_of(x)}"
        raise ShapeError(f"{who}: where has shape {shapes}") from None
    return choose(where, x, instead)


def selected(who, x, axis, keepdims, where, ddof=0):
    """How many numbers each result is made of, minus ddof."""
    mask = np.broadcast_to(data_of(where), shape_of(x))
    counted = np.sum(mask, axis=axis, keepdims=keepdims) - ddof
    if np.any(counted <= 0):
        raise ShapeError(f"{who}: where selects too few numbers for one of the results; it needs more than {ddof}")
    return as_plain(np.asarray(counted, dtype_of(x)))


@function(np.sum, method=True)
def sum(x, axis=None, keepdims=False, *, initial=None, where=True):
    """The sum over an axis, several, or all; of the numbers that `where` selects, added to `initial`.

    >>> sum(np.array([1.0, 2.0, 4.0]), where=np.array([True, False, True]), initial=10.0)
    15.0
    """
    total = sum_(only("sum", x, where, 0.0), axis, keepdims)
    return total if initial is None else total + initial


@function(np.prod, method=True)
def prod(x, axis=None, keepdims=False, *, initial=None, where=True):
    """The product over an axis, several, or all; of the numbers that `where` selects, times `initial`."""
    total = reduce.prod(only("prod", x, where, 1.0), axis, keepdims)
    return total if initial is None else total * initial


def extreme(op, x, axis, keepdims, initial, where, farthest, larger):
    """The largest or smallest of the selected numbers and `initial`."""
    if initial is None:
        if where is not True:
            raise ValueError(f"{op.name}: with where there may be nothing to choose from; say what it is then, as in "
                             f"initial={farthest}")
        return op(x, axis, keepdims)
    x = only(op.name, x, where, farthest)
    if count(x, negative_axes(op.name, x, axis)) == 0:
        return sum_(x, axis, keepdims) + initial
    return larger(op(x, axis, keepdims), initial)


@function(np.max, np.amax, method=True)
def max(x, axis=None, keepdims=False, *, initial=None, where=True):
    """The largest; of `initial` and the numbers that `where` selects. Ties share the gradient evenly."""
    return extreme(reduce.max_, x, axis, keepdims, initial, where, -np.inf, maximum)


@function(np.min, np.amin, method=True)
def min(x, axis=None, keepdims=False, *, initial=None, where=True):
    """The smallest; of `initial` and the numbers that `where` selects. Ties share the gradient evenly."""
    return extreme(reduce.min_, x, axis, keepdims, initial, where, np.inf, minimum)


@function(np.mean, method=True)
def mean(x, axis=None, keepdims=False, *, where=True):
    """The mean over an axis, several, or all; of the numbers that `where` selects."""
    if where is True:
        return reduce.mean(x, axis, keepdims)
    return sum(x, axis, keepdims, where=where) / selected("mean", x, axis, keepdims, where)


def distances(x, axis, where):
    """The distance of each selected number from their mean, and 0 for the others."""
    return only("var", x - mean(x, axis, keepdims=True, where=where), where, 0.0)


@function(np.var, method=True)
def var(x, axis=None, ddof=0, keepdims=False, correction=None, *, where=True):
    """The mean squared distance from the mean; of the numbers that `where` selects, divided by n - `ddof`."""
    if where is True:
        return reduce.var(x, axis, ddof, keepdims, correction)
    number = selected("var", x, axis, keepdims, where, ddof if correction is None else correction)
    return sum_(distances(x, axis, where) ** 2, axis, keepdims) / number


@function(np.std, method=True)
def std(x, axis=None, ddof=0, keepdims=False, correction=None, *, where=True):
    """The square root of var; its derivative is 0 where all numbers are equal."""
    if where is True:
        return reduce.std(x, axis, ddof, keepdims, correction)
    number = selected("std", x, axis, keepdims, where, ddof if correction is None else correction)
    return norm(distances(x, axis, where), axis, keepdims) / number**0.5


@function(np.any, method=True)
def any(x, axis=None, keepdims=False, *, where=True):
    """Whether any number is true, that is not 0; of those that `where` selects."""
    return reduce.any_(only("any", x, where, 0.0), axis, keepdims)


@function(np.all, method=True)
def all(x, axis=None, keepdims=False, *, where=True):
    """Whether all numbers are true, that is not 0; of those that `where` selects."""
    return reduce.all_(only("all", x, where, 1.0), axis, keepdims)


@function(np.average)
def average(x, axis=None, weights=None, keepdims=False):
    """The mean, where each number counts as much as its weight says."""
    if weights is None:
        return reduce.mean(x, axis, keepdims)
    if shape_of(weights) != shape_of(x):
        axes = negative_axes("average", x, axis)
        asked = [negative_axis("average", rank_of(x), a) for a in (axis if isinstance(axis, tuple | list) else axes)]
        if shape_of(weights) != tuple(shape_of(x)[a] for a in asked):
            raise ShapeError(f"average: weights need the shape of x, {shape_of(x)}, or of its axes {axis}; got "
                             f"{shape_of(weights)}")
        weights = transpose(weights, tuple(np.argsort(asked).tolist()))  # the axes may be named in any order
        weights = reshape(weights, tuple(n if i - rank_of(x) in axes else 1 for i, n in enumerate(shape_of(x))))
    weighted = x * weights
    weights = astype(broadcast_to(weights, shape_of(x)), dtype_of(weighted))  # so that float32 weights add up exactly
    return sum_(weighted, axis, keepdims) / sum_(weights, axis, keepdims)


@function(np.ptp)
def ptp(x, axis=None, keepdims=False):
    """The largest minus the smallest."""
    return reduce.max_(x, axis, keepdims) - reduce.min_(x, axis, keepdims)


# --- without NaN --------------------------------------------------------------------------------------------


@function(np.nansum)
def nansum(x, axis=None, keepdims=False, *, initial=None, where=True):
    """The sum of the numbers that are not NaN."""
    return sum(choose(equal(x, x), x, 0.0), axis, keepdims, initial=initial, where=where)


@function(np.nanmean)
def nanmean(x, axis=None, keepdims=False, *, where=True):
    """The mean of the numbers that are not NaN."""
    total = nansum(x, axis, keepdims, where=where)
    return total / sum(astype(equal(x, x), dtype_of(total)), axis, keepdims, where=where)


@function(np.nanmax)
def nanmax(x, axis=None, keepdims=False, *, initial=None, where=True):
    """The largest of the numbers that are not NaN."""
    found = max(choose(equal(x, x), x, -np.inf), axis, keepdims, initial=initial, where=where)
    return found if initial is not None else choose(any(equal(x, x), axis, keepdims, where=where), found, np.nan)


@function(np.nanmin)
def nanmin(x, axis=None, keepdims=False, *, initial=None, where=True):
    """The smallest of the numbers that are not NaN."""
    found = min(choose(equal(x, x), x, np.inf), axis, keepdims, initial=initial, where=where)
    return found if initial is not None else choose(any(equal(x, x), axis, keepdims, where=where), found, np.nan)
