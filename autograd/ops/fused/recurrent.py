"""Recurrent layers: the state after one step, from the input and the state before, as one node.

Weights are (gates · width, in) and (gates · width, width), as torch keeps them.
"""

import numpy as np

from autograd.errors import ShapeError
from autograd.expr.rules import by_definition
from autograd.op import Op, let, shape_of
from autograd.samples import Sample

from ..elementwise import sigmoid, tanh
from ..indexing.join import concatenate
from ._stash import Stash
from .dense import linear_rows


def _check(who, gates, x, h, w_ih, w_hh, b_ih, b_hh):
    if (b_ih is None) != (b_hh is None):
        raise ShapeError(f"{who}: give both biases, or none")
    if not (shape_of(x) and shape_of(w_hh)):
        raise ShapeError(f"{who}: x and w_hh are arrays; got {x!r:.40} and {w_hh!r:.40}")
    width = shape_of(w_hh)[-1]
    rows = gates * width
    expected = {"h": (*shape_of(x)[:-1], width), "w_ih": (rows, shape_of(x)[-1]), "w_hh": (rows, width)}
    for name, given in (("h", h), ("w_ih", w_ih), ("w_hh", w_hh)):
        if shape_of(given) != expected[name]:
            raise ShapeError(f"{who}: {name} should have shape {expected[name]} beside x of shape {shape_of(x)} and "
                             f"w_hh of shape {shape_of(w_hh)}; got {shape_of(given)}")


def in_ops(definition, unbiased):
    """The rule on Values and on text, from the definition, or from that without biases."""
    whole, plain = by_definition(definition), by_definition(unbiased)

    def rule(g, out, *inputs):
        return (*plain(g, out, *inputs[:-2]), None, None) if inputs[-1] is None else whole(g, out, *inputs)

    return rule


def _summed_rows(z):
    return z if z.ndim == 1 else z.reshape(-1, z.shape[-1]).sum(axis=0)


def _outer(z, x):
    """What goes to a weight: each row of z with each row of x."""
    return z.reshape(-1, z.shape[-1]).T @ x.reshape(-1, x.shape[-1])


def _logistic(z):
    """The sigmoid, in place; where exp overflows it is 0."""
    with np.errstate(over="ignore"):
        np.exp(np.negative(z, out=z), out=z)
    z += 1.0
    return np.reciprocal(z, out=z)


def _part(z, k, width):
    return z[..., k * width : (k + 1) * width]


# --- LSTM -----------------------------------------------------------------------------------------------------


def _normalize_lstm(x, h, c, w_ih, w_hh, b_ih=None, b_hh=None):
    _check("lstm_step", 4, x, h, w_ih, w_hh, b_ih, b_hh)
    if shape_of(c) != shape_of(h):
        raise ShapeError(f"lstm_step: h and c have one shape; got {shape_of(h)} and {shape_of(c)}")
    return (x, h, c, w_ih, w_hh, b_ih, b_hh), {}


def _lstm_defined(x, h, c, w_ih, w_hh, b_ih=None, b_hh=None):
    """Three gates say what is taken in, kept and shown: c' = f c + i n, h' = o tanh(c')."""
    width = shape_of(h)[-1]
    z = let("z", linear_rows(x, w_ih, b_ih) + linear_rows(h, w_hh, b_hh))
    i = let("i", sigmoid(_part(z, 0, width)), "input gate")
    f = let("f", sigmoid(_part(z, 1, width)), "forget gate")
    n = let("n", tanh(_part(z, 2, width)), "what is new")
    o = let("o", sigmoid(_part(z, 3, width)), "output gate")
    cell = let("cell", f * c + i * n)
    return concatenate([let("hidden", o * tanh(cell)), cell], axis=-1)


def _lstm_parts(x, h, c, w_ih, w_hh, b_ih, b_hh):
    """The gates, all in one array, and tanh(c')."""
    width = h.shape[-1]
    z = x @ w_ih.T
    z += h @ w_hh.T
    if b_ih is not None:
        z += b_ih + b_hh
    _logistic(z[..., : 2 * width])
    np.tanh(z[..., 2 * width : 3 * width], out=z[..., 2 * width : 3 * width])
    _logistic(z[..., 3 * width :])
    out = np.empty((*h.shape[:-1], 2 * width), z.dtype)
    cell = np.multiply(_part(z, 1, width), c, out=out[..., width:])
    cell += _part(z, 0, width) * _part(z, 2, width)
    t = np.tanh(cell)
    np.multiply(_part(z, 3, width), t, out=out[..., :width])
    return out, z, t


_lstm_kept = Stash()


def _lstm(*inputs):
    out, gates, t = _lstm_parts(*inputs)
    _lstm_kept.keep(out, (gates, t))
    return out


_lstm_in_ops = in_ops(_lstm_defined, lambda x, h, c, w_ih, w_hh: _lstm_defined(x, h, c, w_ih, w_hh))


def _lstm_vjp(g, out, x, h, c, w_ih, w_hh, b_ih, b_hh):
    inputs = x, h, c, w_ih, w_hh, b_ih, b_hh
    if g.__class__ is not np.ndarray or out.__class__ is not np.ndarray:
        return _lstm_in_ops(g, out, *inputs)
    width = h.shape[-1]
    gates, t = _lstm_kept.take(out, lambda: _lstm_parts(*inputs)[1:])
    i, f, new, o = (_part(gates, k, width) for k in range(4))
    dh = g[..., :width]
    dc = g[..., width:] + dh * o * (1.0 - t * t)
    dz = np.empty_like(gates)
    np.multiply(dc * new, i * (1.0 - i), out=_part(dz, 0, width))
    np.multiply(dc * c, f * (1.0 - f), out=_part(dz, 1, width))
    np.multiply(dc * i, 1.0 - new * new, out=_part(dz, 2, width))
    np.multiply(dh * t, o * (1.0 - o), out=_part(dz, 3, width))
    db = None if b_ih is None else _summed_rows(dz)
    return dz @ w_ih, dz @ w_hh, dc * f, _outer(dz, x), _outer(dz, h), db, db


lstm_step = Op("lstm_step", "lstm_step(x, h, c, w_ih, w_hh, b_ih, b_hh)", normalize=_normalize_lstm,
               forward=_lstm, vjp=_lstm_vjp, definition=_lstm_defined, lower=True,
               samples=[Sample("2,3 2,2 2,2 8,3 8,2 8 8"), Sample("3 2 2 8,3 8,2", None, None)],
               doc="One step of an LSTM: the hidden state and the cell after it, side by side.")


# --- GRU ------------------------------------------------------------------------------------------------------


def _normalize_gru(x, h, w_ih, w_hh, b_ih=None, b_hh=None):
    _check("gru_step", 3, x, h, w_ih, w_hh, b_ih, b_hh)
    return (x, h, w_ih, w_hh, b_ih, b_hh), {}


def _gru_defined(x, h, w_ih, w_hh, b_ih=None, b_hh=None):
    """Two gates say what of the old state is used for the new, n, and how much of it is kept: h' = (1-u) n + u h."""
    width = shape_of(h)[-1]
    a, b = let("a", linear_rows(x, w_ih, b_ih)), let("b", linear_rows(h, w_hh, b_hh))
    r = let("r", sigmoid(_part(a, 0, width) + _part(b, 0, width)), "reset gate")
    u = let("u", sigmoid(_part(a, 1, width) + _part(b, 1, width)), "update gate")
    n = let("n", tanh(_part(a, 2, width) + r * _part(b, 2, width)), "what is new")
    return (1.0 - u) * n + u * h


def _gru_parts(x, h, w_ih, w_hh, b_ih, b_hh):
    """The state after the step, both gates in one array, what is new, and what the reset gate meets."""
    width = h.shape[-1]
    a, b = x @ w_ih.T, h @ w_hh.T
    if b_ih is not None:
        a += b_ih
        b += b_hh
    gates = _logistic(a[..., : 2 * width] + b[..., : 2 * width])
    r, u, met = gates[..., :width], gates[..., width:], b[..., 2 * width :]
    n = np.tanh(a[..., 2 * width :] + r * met)
    return n + u * (h - n), gates, n, met


_gru_kept = Stash()


def _gru(*inputs):
    out, *kept = _gru_parts(*inputs)
    _gru_kept.keep(out, kept)
    return out


_gru_in_ops = in_ops(_gru_defined, lambda x, h, w_ih, w_hh: _gru_defined(x, h, w_ih, w_hh))


def _gru_vjp(g, out, x, h, w_ih, w_hh, b_ih, b_hh):
    inputs = x, h, w_ih, w_hh, b_ih, b_hh
    if g.__class__ is not np.ndarray or out.__class__ is not np.ndarray:
        return _gru_in_ops(g, out, *inputs)
    width = h.shape[-1]
    gates, n, met = _gru_kept.take(out, lambda: _gru_parts(*inputs)[1:])
    r, u = gates[..., :width], gates[..., width:]
    dn = g * (1.0 - u) * (1.0 - n * n)
    da = np.concatenate([dn * met * r * (1.0 - r), g * (h - n) * u * (1.0 - u), dn], axis=-1)
    db = da.copy()
    db[..., 2 * width :] *= r
    biases = (None, None) if b_ih is None else (_summed_rows(da), _summed_rows(db))
    return da @ w_ih, g * u + db @ w_hh, _outer(da, x), _outer(db, h), *biases


gru_step = Op("gru_step", "gru_step(x, h, w_ih, w_hh, b_ih, b_hh)", normalize=_normalize_gru,
              forward=_gru, vjp=_gru_vjp, definition=_gru_defined, lower=True,
              samples=[Sample("2,3 2,2 6,3 6,2 6 6"), Sample("3 2 6,3 6,2", None, None)],
              doc="One step of a gated recurrent unit: the state after it.")
