"""Rows brought to a standard size: layer norm and RMS norm, over the last axis, each as one node."""

import numpy as np

from autograd.about import About, Slip, normalised
from autograd.errors import ShapeError
from autograd.expr.rules import by_definition
from autograd.op import Op, let, rank_of, shape_of
from autograd.samples import Sample

from .._axes import plain_number
from ..elementwise import sqrt
from ..reduce import mean
from . import _blocks
from ._blocks import pieces
from ._rows import column_sums, mean_products, tall, tools_for
from ._stash import Stash
from .softmax import summed

_rows = Stash()


def _check_features(who, x, **vectors):
    d = shape_of(x)[-1] if rank_of(x) else 0
    if not d:
        raise ShapeError(f"{who} needs a last axis of features to normalise; got shape {shape_of(x)}")
    for name, v in vectors.items():
        if shape_of(v) not in ((d,), ()):
            raise ShapeError(f"{who}: x has shape {shape_of(x)}; {name} must have shape ({d},), not {shape_of(v)}")


def _standardise(x, eps, centre):
    """The rows of a matrix with mean 0 (if centred) and mean square 1, and the factor that scaled them."""
    if centre:
        total, _, n = tools_for(x)
        middle = x.dot(total)
        middle /= n  # divided, not multiplied by 1/n: the mean of equal numbers is that number
        rows = x - middle
    else:
        rows = x.copy()
    scale = mean_products(rows, rows)
    scale += eps
    np.sqrt(scale, out=scale)
    np.reciprocal(scale, out=scale)
    rows *= scale
    return rows, scale


def standard_rows(x, eps, centre=True):
    """The same in ops, for Values and text: the rows, and what they were divided by."""
    if centre:
        middle = let("μ", mean(x, axis=-1, keepdims=True), "mean of the row")
        x = let("c", x - middle, "centred")
    square = let("σ²" if centre else "q", mean(x**2, axis=-1, keepdims=True), "mean square")
    spread = let("σ" if centre else "s", sqrt(square + eps))
    return let("x̂", x / spread), spread


def _norm_forward(centre):
    def forward(x, gamma, beta=None, *, eps):
        if x.ndim == 2:
            rows, scale = _standardise(x, eps, centre)
            out = rows * gamma
        else:
            rows, scale = _standardise(tall(x), eps, centre)
            out = rows.reshape(x.shape) * gamma
        if beta is not None:
            out += beta
        _rows.keep(out, (rows, scale))
        return out

    return forward


def _norm_vjp(g, out, x, gamma, eps, centre):
    """The gradients of x, gamma and beta."""
    if g.__class__ is not np.ndarray:
        rows, spread = standard_rows(x, eps, centre)
        h = let("ĝ", g * gamma)
        return norm_pull(h, rows, spread, centre=centre), summed(g * rows, gamma), summed(g, gamma)
    rows, scale = _rows.take(out, lambda: _standardise(tall(x), eps, centre))
    if g.nbytes > _blocks.BLOCK:
        return _norm_pull_in_blocks(tall(g), rows, scale, gamma, centre, x.shape)
    h = g * gamma
    if x.ndim == 2:
        dx = _pull_rows(h, rows, scale, centre)
    else:
        dx = _pull_rows(tall(h), rows, scale, centre).reshape(x.shape)
        g = tall(g)
    return dx, column_sums(g * rows), column_sums(g)


def _norm_pull_in_blocks(g, rows, scale, gamma, centre, shape):
    """The same for many rows, a block at a time; h = g * gamma is met in sums only, and not built for them."""
    dx, dgamma, dbeta = np.empty_like(rows), np.zeros_like(rows[0]), np.zeros_like(rows[0])
    column = np.empty((rows.shape[1], 1), rows.dtype)
    column[:, 0] = gamma
    column /= rows.shape[1]
    for piece in pieces(len(g), g[:1].nbytes):
        part, row, out = g[piece], rows[piece], dx[piece]
        along = part * row
        dgamma += column_sums(along)
        dbeta += column_sums(part)
        np.multiply(row, along.dot(column), out=along)
        if centre:
            along += part.dot(column)
        np.multiply(part, gamma, out=out)
        out -= along
        out *= scale[piece]
    return dx.reshape(shape), dgamma, dbeta


def _normalize_layer_norm(x, gamma=1.0, beta=0.0, eps=1e-5):
    if not shape_of(x)[-1:] == shape_of(gamma) == shape_of(beta) != ():
        _check_features("layer_norm", x, gamma=gamma, beta=beta)
    return (x, gamma, beta), {"eps": eps if eps.__class__ is float else plain_number("layer_norm", "eps", eps)}


layer_norm = Op("layer_norm", "layer_norm(x, gamma, beta, eps=eps)", normalize=_normalize_layer_norm,
                forward=_norm_forward(centre=True),
                vjp=lambda g, out, x, gamma, beta, *, eps: _norm_vjp(g, out, x, gamma, eps, True),
                definition=lambda x, gamma=1.0, beta=0.0, eps=1e-5: standard_rows(x, eps)[0] * gamma + beta, lower=True,
                samples=[Sample("3,4 4 4"), Sample("2,3,4 4 4"), Sample("4 4 4", eps=1e-3), Sample("2,1 1 1")],
                batch="align",
                about=About(rule="Layer norm subtracts each row's mean and divides by its spread, so the gradient "
                                 "loses those two directions as well.",
                            derived=("z = (x − μ) / s, with μ = mean(x) and s = √(mean((x − μ)²) + eps), whose slopes "
                                     "are ∂μ/∂x_i = 1/n and ∂s/∂x_i = z_i/n in a row of n.",
                                     "So ∂z_j/∂x_i = ([i = j] − 1/n − z_i z_j/n) / s, and h = gamma · g arrives at z.",
                                     "∂L/∂x_i = Σ_j h_j ∂z_j/∂x_i = (h_i − mean(h) − z_i mean(h z)) / s"),
                            small=normalised, slope_total=0.0, slips=(
                                Slip("layer norm without its mean terms",
                                     "A row's mean and spread depend on every entry: their part is subtracted.",
                                     lambda g, out, x, gamma, beta, eps: g * gamma / standard_rows(x, eps)[1]),)),
                doc="Each row (last axis) shifted to mean 0 and scaled to variance 1, then times gamma plus beta.")


def _normalize_rms_norm(x, gamma=1.0, eps=1e-5):
    _check_features("rms_norm", x, gamma=gamma)
    return (x, gamma), {"eps": plain_number("rms_norm", "eps", eps)}


rms_norm = Op("rms_norm", "rms_norm(x, gamma, eps=eps)", normalize=_normalize_rms_norm,
              forward=_norm_forward(centre=False),
              vjp=lambda g, out, x, gamma, *, eps: _norm_vjp(g, out, x, gamma, eps, False)[:2],
              definition=lambda x, gamma=1.0, eps=1e-5: standard_rows(x, eps, centre=False)[0] * gamma, lower=True,
              samples=[Sample("3,4 4"), Sample("2,3,4 4"), Sample("4 4", eps=1e-3)], batch="align",
              about=About(small=normalised),
              doc="Each row (last axis) scaled to mean square 1, then times gamma.")


def _pull_rows(h, rows, scale, centre):
    """What the rows of a matrix send back."""
    out = rows * mean_products(h, rows)
    if centre:
        out += h.dot(tools_for(h)[1])
    np.subtract(h, out, out=out)
    out *= scale
    return out


def _norm_pull(h, rows, spread, *, centre):
    return _pull_rows(tall(h), tall(rows), 1.0 / tall(spread), centre).reshape(rows.shape)


def _norm_pull_defined(h, rows, spread, centre=True):
    along = let("m₂" if centre else "m", mean(h * rows, axis=-1, keepdims=True), "the part the spread takes")
    if centre:
        middle = let("m₁", mean(h, axis=-1, keepdims=True), "the part the mean takes")
        u = let("u", h - middle - rows * along)
    else:
        u = let("u", h - rows * along)
    return u / spread


norm_pull = Op("norm_pull", "norm_pull(h, rows, spread, centre=centre)",
               normalize=lambda h, rows, spread, centre=True: ((h, rows, spread), {"centre": bool(centre)}),
               forward=_norm_pull,
               vjp=by_definition(_norm_pull_defined),
               definition=_norm_pull_defined, lower=True, unfolds="graph",
               samples=[Sample("2,3 2,3 2,1", low=0.5), Sample("2,3 2,3 2,1", low=0.5, centre=False)], batch="align",
               doc="What a normalised row sends back: h minus its mean and its part along the row, over the spread.",
               inner=True)
