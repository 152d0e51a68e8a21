"""Norms of images and sequences, (batch, channels, *places): batch norm and group norm, each as one node."""

import math

import numpy as np

from autograd.errors import ShapeError
from autograd.expr.rules import by_definition
from autograd.op import Op, rank_of, shape_of
from autograd.samples import Sample

from .._axes import plain_number
from ..fused._rows import column_sums, row_sums
from ..fused._stash import Stash
from ..fused.norm import norm_pull, standard_rows
from ..indexing.join import stack
from ..reduce import mean, sum_, var
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


# --- on numbers: x as (batch, channels, places) ---------------------------------------------------------------


def on_numbers(defined, vjp_in_ops, pool):
    """The forward function and the rule of a norm on plain arrays.

    pool    from the mean of each channel of each image, (batch, channels), the mean of all that is normed together
    """
    kept = Stash()

    def standardized(x, eps, settings):
        x = _by_channel(x)
        centred = x - pool(_means(x), **settings)[..., None]
        return centred, 1.0 / np.sqrt(pool(_mean_products(centred, centred), **settings) + eps)

    def forward(x, gamma, beta, *, eps, **settings):
        if x.__class__ is not np.ndarray or not x.size or x.dtype.kind != "f":
            return defined(x, gamma, beta, eps=eps, **settings)
        centred, scale = standardized(x, eps, settings)
        out = centred * (scale * gamma)[..., None]
        out += beta[:, None] if rank_of(beta) else beta
        out = out.reshape(x.shape)
        kept.keep(out, (centred, scale))
        return out

    def vjp(g, out, x, gamma, beta, *, eps, **settings):
        """dx = scale · (ĝ - mean(ĝ) - x̂ · mean(ĝ · x̂)), with ĝ = γ g."""
        if g.__class__ is not np.ndarray or x.__class__ is not np.ndarray or not x.size:
            return vjp_in_ops(g, out, x, gamma, beta, eps=eps, **settings)
        centred, scale = kept.take(out, lambda: standardized(x, eps, settings))
        g = _by_channel(g)
        along, total, factor = _mean_products(g, centred), _means(g), scale * gamma
        dx = centred * (-scale * scale * scale * pool(along * gamma, **settings))[..., None]
        dx -= (scale * pool(total * gamma, **settings))[..., None]
        dx += g * factor[..., None]
        dgamma, dbeta = ((v * g.shape[2]).sum(axis=0 if rank_of(to) else None)
                         for v, to in ((along * scale, gamma), (total, beta)))
        return dx.reshape(x.shape), dgamma, dbeta

    return forward, vjp


def _by_channel(x):
    return x.reshape(*x.shape[:2], math.prod(x.shape[2:]))


def _means(x):
    """The mean of each channel of each image."""
    return row_sums(x)[..., 0] / x.shape[2] if x.shape[2] > 1 else x[..., 0]


def _mean_products(x, y):
    return np.vecdot(x, y) / x.shape[2] if x.shape[2] > 1 else x[..., 0] * y[..., 0]


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


def _mean_of_images(of_channels):
    return column_sums(of_channels)[None] / len(of_channels)


_batch_norm, _batch_norm_vjp = on_numbers(
    _batch_norm_defined, _norm_vjp(channel_rows, from_channel_rows), _mean_of_images)

batch_norm = Op("batch_norm", "batch_norm(x, gamma, beta, eps=eps)",
                normalize=lambda x, gamma=1.0, beta=0.0, eps=1e-5: (
                    _check_channels("batch_norm", x, gamma, beta) or (x, gamma, beta),
                    {"eps": plain_number("batch_norm", "eps", eps)}),
                forward=_batch_norm,
                vjp=lambda g, out, x, gamma, beta, *, eps: _batch_norm_vjp(g, out, x, gamma, beta, eps=eps),
                definition=_batch_norm_defined, lower=True, batch=_batched_batch_norm,
                samples=[Sample("4,3 3 3"), Sample("2,3,4 3 3"), Sample("2,2,2,3 2 2", eps=1e-3)],
                doc="Each channel shifted to mean 0 and scaled to variance 1 over batch and places, then times gamma "
                    "plus beta: batch norm in training.")


def _moments_defined(x):
    rows = channel_rows(x)
    return stack([mean(rows, axis=1), var(rows, axis=1)])


def _moments(x):
    if x.__class__ is not np.ndarray or not x.size or x.dtype.kind != "f":
        return _moments_defined(x)
    x = _by_channel(x)
    middle = _mean_of_images(_means(x))
    x = x - middle[..., None]
    return np.concatenate([middle, _mean_of_images(_mean_products(x, x))])


channel_moments = Op("channel_moments", "channel_moments(x)",
                     normalize=lambda x: _check_channels("channel_moments", x, 1.0, 0.0) or ((x,), {}),
                     forward=_moments, vjp=by_definition(_moments_defined), definition=_moments_defined, lower=True,
                     batch=None, samples=[Sample("4,3"), Sample("2,3,4")], inner=True,
                     doc="The mean and the variance of each channel, one row each: what batch norm keeps track of.")

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



def _means_of_groups(of_channels, groups):
    batch, channels = of_channels.shape
    means = of_channels.reshape(batch, groups, channels // groups).mean(axis=-1)
    return np.repeat(means, channels // groups, axis=1)


_group_norm, _group_norm_vjp = on_numbers(
    _group_norm_defined, _norm_vjp(group_rows, lambda rows, x: reshape(rows, shape_of(x))), _means_of_groups)

group_norm = Op("group_norm", "group_norm(x, gamma, beta, groups=groups, eps=eps)", normalize=_normalize_group_norm,
                forward=_group_norm,
                vjp=lambda g, out, x, gamma, beta, *, groups, eps: _group_norm_vjp(
                    g, out, x, gamma, beta, groups=groups, eps=eps),
                definition=_group_norm_defined, lower=True, batch=_batched_group_norm,
                samples=[Sample("2,4,3 4 4", groups=2), Sample("1,4,2,2 4 4", groups=4, eps=1e-3)],
                doc="Each group of channels of each image shifted to mean 0 and scaled to variance 1, then times gamma "
                    "plus beta. One group a channel is instance norm, one in all a layer norm of images.")
