"""Norms of images and sequences, (batch, channels, *places): batch norm and group norm, each as one node."""

import math

import numpy as np

from autograd.errors import ShapeError
from autograd.op import Op, rank_of, shape_of
from autograd.samples import Sample

from .._axes import plain_number
from ..fused._stash import Stash
from ..fused.norm import norm_pull, standard_rows
from ..reduce import sum_
from ..shape import moveaxis, reshape
from .convolution import in_groups, out_of_groups


def _check_channels(who, x, gamma, beta):
    if rank_of(x) < 2:
        raise ShapeError(f"{who}: x is (batch, channels, *places); got shape {shape_of(x)}")
    for name, vector in (("gamma", gamma), ("beta", beta)):
        if shape_of(vector) not in ((), shape_of(x)[1:2]):
            raise ShapeError(f"{who}: x has {shape_of(x)[1]} channels (shape {shape_of(x)}); {name} must have shape "
                             f"({shape_of(x)[1]},), not {shape_of(vector)}")


def per_channel(vector, x):
    """A vector with one number a channel, in a shape that lines up with x."""
    return reshape(vector, (-1, *(1,) * (rank_of(x) - 2))) if rank_of(vector) else vector


def channel_sums(g, vector):
    """The sum over everything but the channels; over the channels too, for a single number."""
    axes = tuple(a for a in range(rank_of(g)) if a != 1 or not rank_of(vector))
    return sum_(g, axis=axes)


# --- batch norm: each channel on its own, over the whole batch -------------------------------------------------


def channel_rows(x):
    """One row a channel."""
    first = moveaxis(x, 1, 0)
    return reshape(first, (shape_of(first)[0], math.prod(shape_of(first)[1:])))


def from_channel_rows(rows, x):
    """The rows back in the shape of x."""
    shape = shape_of(x)
    return moveaxis(reshape(rows, (shape[1], shape[0], *shape[2:])), 0, 1)


def _batch_norm_defined(x, gamma=1.0, beta=0.0, eps=1e-5):
    rows, _ = standard_rows(channel_rows(x), eps)
    return from_channel_rows(rows, x) * per_channel(gamma, x) + per_channel(beta, x)


def _norm_vjp(rows_of, back):
    """The gradients of x, gamma and beta, for a norm of the rows that x is parted into."""

    def vjp(g, out, x, gamma, beta, *, eps, **settings):
        rows, scale = standard_rows(rows_of(x, **settings), eps)
        sent = rows_of(g * per_channel(gamma, x), **settings)
        return (back(norm_pull(sent, rows, scale), x),
                channel_sums(g * back(rows, x), gamma),
                channel_sums(g, beta))

    return vjp


def _joined(vector):
    return vector if not rank_of(vector) else vector.reshape(-1) if rank_of(vector) > 1 else None


def _batched_batch_norm(op, n, x, gamma, beta):
    """A batch axis in front becomes part of the channels, which do not mix."""
    gamma, beta = _joined(gamma), _joined(beta)
    if gamma is None or beta is None:
        return None
    return out_of_groups(op.forward(in_groups(x, n), gamma, beta), n)


_batch_norm_in_ops = _norm_vjp(channel_rows, from_channel_rows)
_standard = Stash()


def _standardized(x, eps):
    """x with mean 0 and variance 1 in each channel, and what it was multiplied by."""
    axes = (0, *range(2, x.ndim))
    out = x - x.mean(axis=axes, keepdims=True)
    scale = 1.0 / np.sqrt(np.square(out).mean(axis=axes, keepdims=True) + eps)
    out *= scale
    return out, scale


def _batch_norm(x, gamma, beta, *, eps):
    if x.__class__ is not np.ndarray or not x.size or x.dtype.kind != "f":
        return _batch_norm_defined(x, gamma, beta, eps)
    standard, scale = _standardized(x, eps)
    out = standard * per_channel(gamma, x)
    out += per_channel(beta, x)
    _standard.keep(out, (standard, scale))
    return out


def _batch_norm_vjp(g, out, x, gamma, beta, *, eps):
    """dx = γ · scale · (g - mean(g) - x̂ · mean(g · x̂)), each mean over a channel."""
    if g.__class__ is not np.ndarray or x.__class__ is not np.ndarray or not x.size:
        return _batch_norm_in_ops(g, out, x, gamma, beta, eps=eps)
    standard, scale = _standard.take(out, lambda: _standardized(x, eps))
    axes, count = (0, *range(2, x.ndim)), x.size // x.shape[1]
    along, total = (g * standard).sum(axis=axes, keepdims=True), g.sum(axis=axes, keepdims=True)
    dx = standard * (along / -count)
    dx += g
    dx -= total / count
    dx *= scale * per_channel(gamma, x)
    dgamma, dbeta = along.reshape(-1), total.reshape(-1)
    return dx, dgamma if rank_of(gamma) else dgamma.sum(), dbeta if rank_of(beta) else dbeta.sum()

batch_norm = Op("batch_norm", "batch_norm(x, gamma, beta, eps=eps)",
                normalize=lambda x, gamma=1.0, beta=0.0, eps=1e-5: (
                    _check_channels("batch_norm", x, gamma, beta) or (x, gamma, beta),
                    {"eps": plain_number("batch_norm", "eps", eps)}),
                forward=_batch_norm, vjp=_batch_norm_vjp,
                definition=_batch_norm_defined, lower=True, batch=_batched_batch_norm,
                samples=[Sample("4,3 3 3"), Sample("2,3,4 3 3"), Sample("2,2,2,3 2 2", eps=1e-3)],
                doc="Each channel shifted to mean 0 and scaled to variance 1 over batch and places, then times gamma "
                    "plus beta: batch norm in training.")

# --- group norm: groups of channels, each image on its own -----------------------------------------------------


def group_rows(x, groups):
    """One row a group of an image."""
    shape = shape_of(x)
    return reshape(x, (shape[0] * groups, math.prod(shape[1:]) // groups))


def _group_norm_defined(x, gamma=1.0, beta=0.0, groups=1, eps=1e-5):
    rows, _ = standard_rows(group_rows(x, groups), eps)
    return reshape(rows, shape_of(x)) * per_channel(gamma, x) + per_channel(beta, x)


def _normalize_group_norm(x, gamma=1.0, beta=0.0, groups=1, eps=1e-5):
    _check_channels("group_norm", x, gamma, beta)
    if groups < 1 or shape_of(x)[1] % groups:
        raise ShapeError(f"group_norm: {shape_of(x)[1]} channels cannot be parted into {groups} equal groups")
    return (x, gamma, beta), {"groups": int(groups), "eps": plain_number("group_norm", "eps", eps)}


def _batched_group_norm(op, n, x, gamma, beta):
    gamma, beta = _joined(gamma), _joined(beta)
    if gamma is None or beta is None:
        return None
    more = op.settings | {"groups": n * op.settings["groups"]}
    return out_of_groups(op.base.forward(in_groups(x, n), gamma, beta, **more), n)


_group_norm_vjp = _norm_vjp(group_rows, lambda rows, x: reshape(rows, shape_of(x)))

group_norm = Op("group_norm", "group_norm(x, gamma, beta, groups=groups, eps=eps)", normalize=_normalize_group_norm,
                forward=lambda x, gamma, beta, *, groups, eps: _group_norm_defined(x, gamma, beta, groups, eps),
                vjp=lambda g, out, x, gamma, beta, *, groups, eps: _group_norm_vjp(
                    g, out, x, gamma, beta, groups=groups, eps=eps),
                definition=_group_norm_defined, lower=True, batch=_batched_group_norm,
                samples=[Sample("2,4,3 4 4", groups=2), Sample("1,4,2,2 4 4", groups=4, eps=1e-3)],
                doc="Each group of channels of each image shifted to mean 0 and scaled to variance 1, then times gamma "
                    "plus beta. One group a channel is instance norm, one in all a layer norm of images.")
