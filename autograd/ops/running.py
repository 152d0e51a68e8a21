"""Running results along an axis that are no plain sums."""

import numpy as np

from autograd.op import Op, rank_of, shape_of
from autograd.samples import Sample

from ._axes import negative_axis
from .elementwise import exp, log, on_numbers, where
from .fused.softmax import logsumexp
from .reduce import cumsum, sum_
from .shape import expand_dims, moveaxis


def _logcumsumexp(x, *, axis):
    return on_numbers(np.logaddexp.accumulate)(x, axis=axis)


def _logcumsumexp_vjp(g, out, x, *, axis):
    """Entry j is in every later result i, with the share exp(x_j - out_i) of its sum; none of them exceeds 1."""
    n = shape_of(x)[axis]
    x, g, out = (moveaxis(v, axis, -1) for v in (x, g, out))
    apart = where(np.triu(np.ones((n, n), bool)), expand_dims(x, -1) - expand_dims(out, -2), -np.inf)
    return (moveaxis(sum_(exp(apart) * expand_dims(g, -2), axis=-1), -1, axis),)


def _logcumsumexp_lowered(x, axis=-1):
    """Each result is computed alone, so that a large one does not cost another its digits."""
    n = shape_of(x)[axis]
    if not n:
        return x
    rows = expand_dims(moveaxis(x, axis, -1), -2)
    return moveaxis(logsumexp(where(np.tril(np.ones((n, n), bool)), rows, -np.inf), axis=-1), -1, axis)


logcumsumexp = Op("logcumsumexp", "logcumsumexp(x, axis=axis)",
                  normalize=lambda x, axis=-1: ((x,), {"axis": negative_axis("logcumsumexp", rank_of(x), axis)}),
                  forward=_logcumsumexp,
                  vjp=_logcumsumexp_vjp,
                  definition=lambda x, axis=-1: log(cumsum(exp(x), axis=axis)), lower=_logcumsumexp_lowered,
                  samples=[Sample("4"), Sample("2,3", axis=0), Sample("2,3", axis=1)], batch="align",
                  doc="Running `log(sum(exp(x)))` along an axis, without overflow.")
