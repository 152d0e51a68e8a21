"""An image or a sequence brought to another size: every new number is a weighted sum of old ones, axis by axis."""

import functools
import math

import numpy as np

from autograd.errors import ShapeError
from autograd.op import Op, rank_of, shape_of
from autograd.samples import Sample

from ..shape import moveaxis

MODES = ("nearest", "linear", "cubic")


@functools.lru_cache(maxsize=64)
def weights(old, new, mode, aligned, scale):
    """(new, old): how much of each old place there is in each new one.

    `aligned` puts the corners on the corners; else numbers are cells and their edges are aligned. `scale` is new / old
    unless the caller named a scale that does not divide evenly.
    """
    out = np.zeros((new, old))
    step = (old - 1) / (new - 1) if aligned and new > 1 else 0.0 if aligned else 1.0 / scale if scale else old / new
    for i in range(new):
        if mode == "nearest":
            out[i, min(math.floor(i * step), old - 1)] = 1.0
            continue
        at = i * step if aligned else (i + 0.5) * step - 0.5
        at = max(at, 0.0) if mode == "linear" else at
        first = math.floor(at)
        shares = (1.0 - (at - first), at - first) if mode == "linear" else _cubic(at - first)
        for k, share in enumerate(shares, first - (mode == "cubic")):
            out[i, min(max(k, 0), old - 1)] += share
    out.setflags(write=False)
    return out


def _cubic(t, a=-0.75):
    """Keys' cubic weights of the four places around a point."""
    near = [((a + 2) * d - (a + 3)) * d * d + 1 for d in (t, 1 - t)]
    far = [((a * d - 5 * a) * d + 8 * a) * d - 4 * a for d in (1 + t, 2 - t)]
    return far[0], near[0], near[1], far[1]


def _scales(scale, axes):
    return scale if isinstance(scale, tuple) else (scale,) * axes


def _sizes(x, size):
    return (int(size),) * (rank_of(x) - 2) if isinstance(size, int | np.integer) else tuple(int(n) for n in size)


def _normalize(x, size, mode="nearest", aligned=False, scale=None):
    axes = rank_of(x) - 2
    size = _sizes(x, size)
    if mode not in MODES:
        raise ValueError(f"interpolate: mode is {', '.join(MODES)}; got {mode!r}")
    if axes < 1 or len(size) != axes:
        raise ShapeError(f"interpolate: x is (batch, channels, *places), and size one number for each axis of places; "
                         f"got shape {shape_of(x)} and size {size}")
    return (x,), {"size": size, "mode": mode, "aligned": bool(aligned), "scale": scale}


def _along_each(x, matrices):
    kind = x.dtype if x.dtype.kind == "f" else np.float64
    for axis, matrix in enumerate(matrices, 2):
        x = np.moveaxis(np.moveaxis(x, axis, -1) @ matrix.T.astype(kind), -1, axis)
    return np.ascontiguousarray(x)


def _interpolate(x, *, size, mode, aligned, scale):
    return _along_each(x, _matrices(x.shape[2:], size, mode, aligned, scale))


def _interpolate_back(x, *, size, mode, aligned, scale):
    return _along_each(x, [m.T for m in _matrices(size, x.shape[2:], mode, aligned, scale)])


def _in_ops(x, matrices):
    """Along each axis of places, a product with the weights."""
    for axis, matrix in enumerate(matrices, 2):
        x = moveaxis(moveaxis(x, axis, -1) @ matrix.T.astype(getattr(x, "dtype", np.float64)), -1, axis)
    return x


def _matrices(old, new, mode, aligned, scale):
    return [weights(n, m, mode, bool(aligned), s) for n, m, s in zip(old, new, _scales(scale, len(new)), strict=True)]


def _interpolate_defined(x, size, mode="nearest", aligned=False, scale=None):
    return _in_ops(x, _matrices(shape_of(x)[2:], _sizes(x, size), mode, aligned, scale))


def _interpolate_back_defined(x, size, mode="nearest", aligned=False, scale=None):
    return _in_ops(x, [m.T for m in _matrices(_sizes(x, size), shape_of(x)[2:], mode, aligned, scale)])


def _batched(op, n, x):
    out = op.forward(x.reshape(-1, *x.shape[2:]))
    return out.reshape(n, -1, *out.shape[1:])


RESIZED = [Sample("1,2,3", settings={"size": 6}), Sample("1,1,3,2", settings={"size": (4, 5), "mode": "linear"}),
           Sample("1,1,3,2", settings={"size": (6, 4), "mode": "linear", "aligned": True}),
           Sample("1,1,4,4", settings={"size": (7, 3), "mode": "cubic"})]

interpolate = Op("interpolate", "interpolate(x, size=size, mode=mode, aligned=aligned, scale=scale)",
                 normalize=_normalize,
                 forward=_interpolate,
                 vjp=lambda g, out, x, *, size, mode, aligned, scale: (
                     interpolate_back(g, shape_of(x)[2:], mode, aligned, scale),),
                 definition=_interpolate_defined, lower=True, batch=_batched, samples=RESIZED,
                 doc='The places of x brought to another size, "nearest", "linear" or "cubic"; `aligned`: corner on '
                     "corner.")

interpolate_back = Op("interpolate_back", "interpolate_back(x, size=size, mode=mode, aligned=aligned, scale=scale)",
                      normalize=_normalize,
                      forward=_interpolate_back,
                      vjp=lambda g, out, x, *, size, mode, aligned, scale: (
                          interpolate(g, shape_of(x)[2:], mode, aligned, scale),),
                      definition=_interpolate_back_defined, lower=True, batch=_batched,
                      samples=[Sample("1,2,6", settings={"size": 3}),
                               Sample("1,1,4,5", settings={"size": (3, 2), "mode": "linear"})],
                      doc="Each number shared out over the old places it was made from: what interpolate sends back.",
                      inner=True)
