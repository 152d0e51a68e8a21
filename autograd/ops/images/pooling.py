"""Pooling: a window moved over an image or a sequence, of which the largest number or the mean is kept.

Arrays are (batch, channels, *places), as in `convolution.py`.
"""

import functools
import math

import numpy as np

from autograd.errors import ShapeError
from autograd.op import Op, nothing, rank_of, shape_of
from autograd.samples import Sample

from ..arithmetic import equal
from ..elementwise import where
from ..reduce import cumsum, max_, mean, sum_
from ..shape import broadcast_to, expand_dims, reshape
from .convolution import each_axis, folded, seen_by, sent_back, slots, spelled, steps, windows


def _normalize(who, x, window, stride, padding, dilation=1):
    axes = rank_of(x) - 2
    if axes < 1:
        raise ShapeError(f"{who}: x is (batch, channels, *places); got shape {shape_of(x)}")
    window = each_axis(who, "window", window, axes)
    settings = {"window": window, "stride": window if stride is None else each_axis(who, "stride", stride, axes),
                "padding": each_axis(who, "padding", padding, axes)}
    if min(steps(shape_of(x)[2:], *(spelled(v, axes) for v in (*settings.values(), dilation)))) < 1:
        raise ShapeError(f"{who}: a window of {window} does not fit into places {shape_of(x)[2:]}")
    return settings


def _spelled(x, *settings):
    return tuple(spelled(value, rank_of(x) - 2) for value in settings)


def _seen(x, window, stride, padding, dilation, fill):
    """(batch, channels, places of the window, *places of the result)."""
    window, stride, padding, dilation = _spelled(x, window, stride, padding, dilation)
    columns = windows(x, window, stride, padding, dilation, fill)
    return columns.reshape(*x.shape[:2], math.prod(window), *columns.shape[2 + len(window):])


def _seen_in_ops(x, window, stride, padding, dilation, fill):
    window, stride, padding, dilation = _spelled(x, window, stride, padding, dilation)
    columns = seen_by(x, window, stride, padding, dilation, fill)
    return reshape(columns, (*shape_of(x)[:2], math.prod(window), *shape_of(columns)[2 + len(window):]))


def _batched(op, n, *xs):
    """A batch axis in front joins the one of the images."""
    out = op.forward(*(x.reshape(-1, *x.shape[2:]) for x in xs))
    return out.reshape(n, -1, *out.shape[1:])


# --- the largest --------------------------------------------------------------------------------------------


def _normalize_max(x, window, stride=None, padding=0, dilation=1):
    settings = _normalize("max_pool", x, window, stride, padding, dilation)
    return (x,), settings | {"dilation": each_axis("max_pool", "dilation", dilation, rank_of(x) - 2)}


def _looks(x, window, stride, padding, dilation):
    """What each entry of the window sees at all places, as views of x with its border: no window is copied."""
    window, stride, padding, dilation = _spelled(x, window, stride, padding, dilation)
    count = steps(x.shape[2:], window, stride, padding, dilation)
    if any(padding):
        x = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in padding)], constant_values=-np.inf)
    return [x[(slice(None),) * 2 + slots(offset, count, stride, dilation)] for offset in np.ndindex(*window)]


def _max_pool(x, *, window, stride, padding, dilation):
    first, *others = _looks(as_floats(x), window, stride, padding, dilation)
    out = first.copy()
    for look in others:
        np.maximum(out, look, out=out)
    return out


def as_floats(x):
    """Integers as floats: a border of them cannot be -inf."""
    return x if x.dtype.kind == "f" else x.astype(np.float64)


def _max_pool_defined(x, window, stride=None, padding=0, dilation=1):
    return max_(_seen_in_ops(x, window, stride or window, padding, dilation, -np.inf), axis=2)


POOLED = [Sample("1,2,6", settings={"window": 2}), Sample("2,2,4,4", settings={"window": 2}),
          Sample("1,2,5,4", settings={"window": (3, 2), "stride": 1, "padding": 1})]

max_pool = Op("max_pool", "max_pool(x, window=window, stride=stride, padding=padding, dilation=dilation)",
              normalize=_normalize_max,
              forward=_max_pool,
              vjp=lambda g, out, x, *, window, stride, padding, dilation: (
                  max_unpool(g, max_winners(x, window, stride, padding, dilation), window, stride, padding, dilation,
                             shape_of(x)[2:]),),
              definition=_max_pool_defined, lower=True, batch=_batched,
              samples=(*POOLED, Sample("1,1,7", settings={"window": 2, "stride": 2, "dilation": 2})),
              doc="The largest number of each window; its gradient goes to where that stands, the first of equals.")


def _winners(x, *, window, stride, padding, dilation):
    """True at the first of the largest in each window; nowhere where that is NaN."""
    looks = _looks(as_floats(np.asarray(x)), window, stride, padding, dilation)
    largest = functools.reduce(np.maximum, looks)
    winners = np.empty((*largest.shape[:2], len(looks), *largest.shape[2:]), bool)
    open_yet = np.ones(largest.shape, bool)  # the windows in which none of the largest was met so far
    for k, look in enumerate(looks):
        won = np.equal(look, largest, out=winners[:, :, k])
        won &= open_yet
        open_yet &= ~won
    return winners


def _winners_in_ops(x, window, stride=None, padding=0, dilation=1):
    seen = _seen_in_ops(x, window, stride or window, padding, dilation, -np.inf)
    largest = equal(seen, max_(seen, axis=2, keepdims=True)) * 1.0
    return equal(largest * cumsum(largest, axis=2), 1.0)


max_winners = Op("max_winners", "max_winners(x, window=window, stride=stride, padding=padding, dilation=dilation)",
                 normalize=_normalize_max, forward=_winners, vjp=nothing,
                 definition=_winners_in_ops, lower=True, batch=_batched, samples=POOLED,
                 doc="(batch, channels, window, *places): where in its window the largest number stands, as True.",
                 inner=True)


def _normalize_unpool_max(y, winners, window, stride=None, padding=0, dilation=1, size=None):
    axes, who = rank_of(y) - 2, "max_unpool"
    window = each_axis(who, "window", window, axes)
    stride = window if stride is None else each_axis(who, "stride", stride, axes)
    return (y, winners), {"window": window, "stride": stride,
                          "padding": each_axis(who, "padding", padding, axes),
                          "dilation": each_axis(who, "dilation", dilation, axes),
                          "size": spelled(each_axis(who, "size", size, axes), axes)}


def _max_unpool(y, winners, *, window, stride, padding, dilation, size):
    sent = np.where(winners, y[:, :, None], y.dtype.type(0))
    window, stride, padding, dilation = _spelled(y, window, stride, padding, dilation)
    return folded(sent.reshape(*sent.shape[:2], *window, *sent.shape[3:]), size, window, stride, padding, dilation)


def _max_unpool_defined(y, winners, window, stride=None, padding=0, dilation=1, size=None):
    sent = where(winners, expand_dims(y, 2), 0.0)
    size = spelled(each_axis("max_unpool", "size", size, rank_of(y) - 2), rank_of(y) - 2)
    window, stride, padding, dilation = _spelled(y, window, stride or window, padding, dilation)
    sent = reshape(sent, (*shape_of(y)[:2], *window, *shape_of(y)[2:]))
    return sent_back(sent, size, window, stride, padding, dilation)


def _max_pick(y, winners, *, window, stride, padding, dilation):
    seen = _seen(y, window, stride, padding, dilation, 0.0)
    return np.where(winners, seen, seen.dtype.type(0)).sum(axis=2)


_WON = np.array([[[[True, False, True], [False, True, False]], [[False, False, True], [True, True, False]]]])

max_unpool = Op("max_unpool", "max_unpool(y, winners, window=window, stride=stride, padding=padding, "
                "dilation=dilation, size=size)", normalize=_normalize_unpool_max,
                forward=_max_unpool,
                vjp=lambda g, out, y, winners, *, window, stride, padding, dilation, size: (
                    max_pick(g, winners, window, stride, padding, dilation), None),
                definition=_max_unpool_defined, lower=True, batch=_batched,
                samples=[Sample("1,2,3", _WON, settings={"window": 2, "size": 6}),
                         Sample("1,2,3", _WON, settings={"window": 2, "stride": 1, "size": 4})],
                doc="Each number of y sent to where the largest of its window stood: what max_pool sends back.",
                inner=True)

max_pick = Op("max_pick", "max_pick(y, winners, window=window, stride=stride, padding=padding, dilation=dilation)",
              normalize=lambda y, winners, window, stride=None, padding=0, dilation=1: (
                  (y, winners), _normalize_max(y, window, stride, padding, dilation)[1]),
              forward=_max_pick,
              vjp=lambda g, out, y, winners, *, window, stride, padding, dilation: (
                  max_unpool(g, winners, window, stride, padding, dilation, shape_of(y)[2:]), None),
              definition=lambda y, winners, window, stride=None, padding=0, dilation=1: sum_(where(
                  winners, _seen_in_ops(y, window, stride or window, padding, dilation, 0.0), 0.0), axis=2),
              lower=True, batch=_batched,
              samples=[Sample("1,2,6", _WON, settings={"window": 2}),
                       Sample("1,2,4", _WON, settings={"window": 2, "stride": 1})],
              doc="The numbers of y at the places where the largest of each window stood.", inner=True)

# --- the mean -----------------------------------------------------------------------------------------------


def _normalize_mean(x, window, stride=None, padding=0):
    return (x,), _normalize("avg_pool", x, window, stride, padding)


def _avg_pool(x, *, window, stride, padding):
    return _seen(x, window, stride, padding, 1, 0.0).mean(axis=2)


avg_pool = Op("avg_pool", "avg_pool(x, window=window, stride=stride, padding=padding)", normalize=_normalize_mean,
              forward=_avg_pool,
              vjp=lambda g, out, x, *, window, stride, padding: (
                  avg_unpool(g, window, stride, padding, shape_of(x)[2:]),),
              definition=lambda x, window, stride=None, padding=0: mean(
                  _seen_in_ops(x, window, stride or window, padding, 1, 0.0), axis=2),
              lower=True, batch=_batched, samples=POOLED,
              doc="The mean of each window; a border of zeros (`padding`) counts too.")


def _normalize_unpool(x, window, stride=None, padding=0, size=None):
    axes = rank_of(x) - 2
    window = each_axis("avg_unpool", "window", window, axes)
    stride = window if stride is None else each_axis("avg_unpool", "stride", stride, axes)
    return (x,), {"window": window, "stride": stride, "padding": each_axis("avg_unpool", "padding", padding, axes),
                  "size": spelled(each_axis("avg_unpool", "size", size, axes), axes)}


def _avg_unpool(x, *, window, stride, padding, size):
    window, stride, padding, dilation = _spelled(x, window, stride, padding, 1)
    share = x / math.prod(window)
    columns = np.broadcast_to(share.reshape(*x.shape[:2], *(1,) * len(window), *x.shape[2:]),
                              (*x.shape[:2], *window, *x.shape[2:]))
    return folded(columns, size, window, stride, padding, dilation)


def _avg_unpool_defined(x, window, stride=None, padding=0, size=None):
    axes = rank_of(x) - 2
    size = spelled(each_axis("avg_unpool", "size", size, axes), axes)
    full, places = spelled(window, axes), shape_of(x)[2:]
    share = reshape(x / math.prod(full), (*shape_of(x)[:2], *(1,) * axes, *places))
    columns = broadcast_to(share, (*shape_of(x)[:2], *full, *places))
    return sent_back(columns, size, full, *_spelled(x, stride or window, padding, 1))


avg_unpool = Op("avg_unpool", "avg_unpool(x, window=window, stride=stride, padding=padding, size=size)",
                normalize=_normalize_unpool,
                forward=_avg_unpool,
                vjp=lambda g, out, x, *, window, stride, padding, size: (avg_pool(g, window, stride, padding),),
                definition=_avg_unpool_defined, lower=True, batch=_batched,
                samples=[Sample("1,2,3", settings={"window": 2, "size": (6,)}),
                         Sample("1,2,2,2", settings={"window": 2, "size": (5, 4)}),
                         Sample("1,2,5,5", settings={"window": (3, 2), "stride": 1, "padding": 1, "size": (5, 4)})],
                doc="Each number shared evenly over its window: what average pooling sends back.", inner=True)
