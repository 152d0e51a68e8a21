"""Operators of linear algebra, and distances."""

from __future__ import annotations

import numpy as np

import autograd as ag

from .table import aten, operands, plain, rank_of, shape_of, unless

aten("linalg_det", "det")(ag.det)
aten("linalg_inv", "inverse")(ag.inv)


@aten("linalg_slogdet", "slogdet")
def slogdet(a):
    return tuple(ag.slogdet(a))


@aten("logdet")
def logdet(a):
    sign, log = ag.slogdet(a)
    unless((sign.data <= 0).any() if sign.ndim else sign.data <= 0, "a determinant that has no logarithm")
    return log


@aten("linalg_pinv")
def pinv(a, *args, **kwargs):
    unless(args or kwargs, "a tolerance of its own")
    return ag.pinv(a)


@aten("linalg_solve")
def solve(a, b, left=True):
    return _solved(a, b, left)


@aten("linalg_solve_triangular")
def solve_triangular(a, b, upper, left=True, unitriangular=False):
    """Only one triangle of `a` is looked at, so only that gets a gradient."""
    unless(unitriangular, "a diagonal that is taken to be 1")
    a, b = operands(a, b)
    return _solved(ag.triu(a) if upper else ag.tril(a), b, left)


def _solved(a, b, left):
    """`b` is a matrix beside `a`, or a vector where torch takes it for one."""
    if rank_of(b) == rank_of(a) - 1 and (rank_of(b) == 1 or shape_of(b) == shape_of(a)[:-1]):
        unless(not left, "a row vector")
        return ag.solve(a, b[..., None])[..., 0]
    turned = (lambda x: x) if left else (lambda x: ag.swapaxes(x, -1, -2))
    return turned(ag.solve(turned(a), turned(b)))


@aten("linalg_cholesky", "cholesky")
def cholesky(a, upper=False):
    lower = ag.cholesky(a)
    return ag.swapaxes(lower, -1, -2) if upper else lower


@aten("cholesky_solve")
def cholesky_solve(b, factor, upper=False):
    b, factor = operands(b, factor)
    return ag.solve(_squared(factor, upper), b)


@aten("cholesky_inverse")
def cholesky_inverse(factor, upper=False):
    return ag.inv(_squared(factor, upper))


def _squared(factor, upper):
    """The matrix that a triangle is the factor of. Zeros beside it get a gradient too, as torch gives them one."""
    half = ag.triu(factor) if upper else ag.tril(factor)
    half = factor if not plain(factor) and np.array_equal(half.data, factor.data) else half
    turned = ag.swapaxes(half, -1, -2)
    return turned @ half if upper else half @ turned


@aten("_grouped_mm")
def grouped_mm(a, b, offs=None, bias=None, out_dtype=None):
    """Rows of `a` times a matrix for each group of them, as mixtures of experts do."""
    unless(bias is not None or rank_of(b) != 3, "a product of other groups than those of rows")
    if rank_of(a) == 3:
        return a @ b
    ends = [int(n) for n in offs]
    unless(ends[-1] != shape_of(a)[0], "rows of no group")
    groups = [(i, start, end) for i, (start, end) in enumerate(zip([0, *ends], ends)) if end > start]
    return ag.concatenate([a[start:end] @ b[i] for i, start, end in groups])


@aten("cdist", "_cdist_forward")
def cdist(x, y, p=2.0, compute_mode=None):
    unless(p not in (1, 2), f"distances of order {p}")
    apart = ag.expand_dims(x, -2) - ag.expand_dims(y, -3)
    return ag.norm(apart, axis=-1) if p == 2 else ag.sum(ag.abs(apart), axis=-1)
