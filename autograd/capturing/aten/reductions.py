"""Operators that make one number of many: sums, spreads, extremes; and running ones."""

from __future__ import annotations

import math

import numpy as np

import autograd as ag

from .table import ATEN, aten, axis_or_all, rank_of, shape_of, unless


def typed(x, dtype):
    """x in the precision that the caller named, if any."""
    return x if dtype is None else ag.astype(x, dtype)


@aten("sum")
def sum_(x, dim=None, keepdim=False, dtype=None):
    return ag.sum(typed(x, dtype), axis=_axis(x, dim), keepdims=keepdim)


def _axis(x, dim):
    return None if not rank_of(x) else axis_or_all(dim)


@aten("mean")
def mean(x, dim=None, keepdim=False, dtype=None):
    return ag.mean(typed(x, dtype), axis=_axis(x, dim), keepdims=keepdim)


def _ddof(x, dim, correction):
    """torch divides by n - 1 unless asked otherwise; where that is 0 it gives NaN."""
    ddof = 1 if correction is None else correction
    shape = shape_of(x)
    axes = range(len(shape)) if dim is None else dim if isinstance(dim, tuple) else (dim,)
    unless(math.prod(shape[a] for a in axes) <= ddof, "the spread of too few numbers")
    return ddof


def _spread(op):
    def spread(x, dim=None, correction=1, keepdim=False):
        dim = axis_or_all(dim)
        return op(x, axis=dim, ddof=_ddof(x, dim, correction), keepdims=keepdim)

    return spread


for _name in ("var", "std"):
    _of = _spread(ag.OPS[_name])
    ATEN.update({
        f"{_name}.correction": _of,
        f"{_name}.dim": lambda x, dim, unbiased=True, keepdim=False, of=_of: of(x, dim, int(unbiased), keepdim),
        _name: lambda x, unbiased=True, of=_of: of(x, None, int(unbiased)),
        f"{_name}_mean.correction": lambda x, dim=None, correction=1, keepdim=False, of=_of: (
            of(x, dim, correction, keepdim), mean(x, dim, keepdim)),
    })  # fmt: skip

for _name, _op, _where in (("max", ag.max, ag.argmax), ("min", ag.min, ag.argmin)):
    ATEN.update({
        _name: _op,
        f"a{_name}": lambda x, dim=None, keepdim=False, op=_op: op(x, axis=axis_or_all(dim), keepdims=keepdim),
        f"{_name}.dim": lambda x, dim, keepdim=False, where=_where: (
            picked(x, where(x, axis=dim, keepdims=True), dim, keepdim), None),
    })  # fmt: skip

ATEN.update({
    "prod": lambda x, dtype=None: ag.prod(typed(x, dtype)),
    "prod.dim_int": lambda x, dim, keepdim=False, dtype=None: ag.prod(typed(x, dtype), axis=dim, keepdims=keepdim),
    "cumsum": lambda x, dim, dtype=None: ag.cumsum(typed(x, dtype), axis=dim),
    "cumprod": lambda x, dim, dtype=None: ag.cumprod(typed(x, dtype), axis=dim),
    "logcumsumexp": lambda x, dim: ag.logcumsumexp(x, axis=dim),
})


@aten("linalg_vector_norm")
def vector_norm(x, ord=2, dim=None, keepdim=False, dtype=None):
    unless(not 1 <= ord < math.inf, f"a norm of order {ord}")
    x, dim = typed(x, dtype), axis_or_all(dim)
    if ord == 2:
        return ag.norm(x, axis=dim, keepdims=keepdim)
    total = ag.sum(ag.abs(x) ** ord if ord > 1 else ag.abs(x), axis=dim, keepdims=keepdim)
    if ord == 1:
        return total
    return ag.where(total > 0, ag.where(total > 0, total, 1.0) ** (1 / ord), 0.0)  # a root of 0 has an infinite slope


@aten("norm")
def norm(x, p=2, dim=None, keepdim=False, dtype=None):
    return vector_norm(x, 2 if p is None else p, dim, keepdim, dtype)


@aten("logsumexp")
def logsumexp(x, dim, keepdim=False):
    return ag.logsumexp(x, axis=_axis(x, dim), keepdims=keepdim)


@aten("softmax", "_softmax", "_safe_softmax")
def softmax(x, dim=-1, dtype=None):
    """Also of a row of -inf alone, which torch makes NaN: then its number is not ours, and the call stays opaque."""
    return ag.softmax(x if dtype in (None, False) else ag.astype(x, dtype), axis=dim)


@aten("log_softmax", "_log_softmax")
def log_softmax(x, dim=-1, dtype=None):
    return ag.log_softmax(x if dtype in (None, False) else ag.astype(x, dtype), axis=dim)


@aten("median.dim")
def median_along(x, dim=-1, keepdim=False):
    """The lower of two middle ones, as torch says."""
    return kthvalue(x, (shape_of(x)[dim] + 1) // 2, dim, keepdim)


@aten("median")
def median_of_all(x):
    return median_along(ag.reshape(x, (-1,)), 0)[0]


@aten("kthvalue")
def kthvalue(x, k, dim=-1, keepdim=False):
    """The k-th smallest, counted from 1."""
    order = ag.argsort(x, axis=dim, kind="stable")
    return picked(x, ag.take(order, np.array([k - 1]), axis=dim), dim, keepdim), None


def picked(x, places, dim, keepdim):
    """The entries at some places along an axis; one that stays of size 1 may be taken away."""
    out = ag.take_along_axis(x, places, axis=dim)
    return out if keepdim else ag.squeeze(out, axis=dim)
