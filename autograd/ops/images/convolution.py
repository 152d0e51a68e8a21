"""Convolutions: a small window of weights moved over an image or a sequence, and the same backwards.

Arrays are (batch, channels, *places), with one axis of places for a sequence, two for an image; weights are
(out channels, in channels / groups, *window). Three ops that are linear in each input, and each other's rules:

    conv             x, weight → result
    conv_transpose   result, weight → x: each number of the result sent back to the window it was made from
    conv_weight      x, result → weight: which window met which number
"""

import math

import numpy as np

from autograd.errors import ShapeError
from autograd.op import Op, rank_of, shape_of
from autograd.samples import Sample

from ..arrange import pad
from ..reduce import sum_
from ..shape import getitem, reshape, scatter, swapaxes

# --- windows ------------------------------------------------------------------------------------------------


def each_axis(who, name, value, axes):
    """A setting given once for all axes of places, or once for each: a number where they agree, else a tuple."""
    values = (value,) * axes if isinstance(value, int | np.integer) else tuple(int(v) for v in value)
    if len(values) != axes:
        raise ShapeError(f"{who}: {name} is one number, or one for each of {axes} axes; got {value!r}")
    return int(values[0]) if len(set(values)) == 1 else values


def spelled(value, axes):
    """A setting as a tuple, one number an axis."""
    return value if isinstance(value, tuple) else (value,) * axes


def steps(size, window, stride, padding, dilation):
    """How many places a window can take along each axis."""
    return tuple((n + 2 * p - d * (k - 1) - 1) // s + 1
                 for n, k, s, p, d in zip(size, window, stride, padding, dilation, strict=True))


def slots(offset, count, stride, dilation):
    """Where entry `offset` of a window falls, for each place the window takes."""
    return tuple(slice(o * d, o * d + s * (n - 1) + 1, s)
                 for o, n, s, d in zip(offset, count, stride, dilation, strict=True))


def windows(x, window, stride, padding, dilation, fill=0.0):
    """(batch, channels, *window, *places): what each entry of the window sees at each place."""
    count = steps(x.shape[2:], window, stride, padding, dilation)
    if any(padding):
        x = x if math.isfinite(fill) or x.dtype.kind == "f" else x.astype(np.float64)
        x = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in padding)], constant_values=fill)
    out = np.empty((*x.shape[:2], *window, *count), x.dtype)
    for offset in np.ndindex(*window):
        out[(slice(None),) * 2 + offset] = x[(slice(None),) * 2 + slots(offset, count, stride, dilation)]
    return out


def folded(columns, size, window, stride, padding, dilation):
    """The sum of what every window sends back to the places it saw: `windows` the other way round."""
    count = columns.shape[2 + len(window):]
    out = np.zeros((*columns.shape[:2], *(n + 2 * p for n, p in zip(size, padding, strict=True))), columns.dtype)
    for offset in np.ndindex(*window):
        out[(slice(None),) * 2 + slots(offset, count, stride, dilation)] += columns[(slice(None),) * 2 + offset]
    return out[(slice(None),) * 2 + tuple(slice(p, p + n) for n, p in zip(size, padding, strict=True))]


def _spelled(settings, axes):
    return tuple(spelled(settings[name], axes) for name in ("stride", "padding", "dilation"))


# --- the same in ops, for definitions -----------------------------------------------------------------------


def window_index(size, window, stride, padding, dilation):
    """The index that picks the windows out of a padded array: the axes of the window, then those of the places."""
    axes, count = len(window), steps(size, window, stride, padding, dilation)
    parts = []
    for a in range(axes):
        at = np.arange(window[a])[:, None] * dilation[a] + np.arange(count[a]) * stride[a]
        parts.append(at.reshape([window[a] if i == a else count[a] if i == axes + a else 1 for i in range(2 * axes)]))
    return (slice(None), slice(None), *parts)


def bordered(x, padding, fill=0.0):
    """x with a border around its places."""
    return pad(x, ((0, 0), (0, 0), *((p, p) for p in padding)), constant_values=fill) if any(padding) else x


def seen_by(x, window, stride, padding, dilation, fill=0.0):
    """`windows` in ops."""
    return getitem(bordered(x, padding, fill), window_index(shape_of(x)[2:], window, stride, padding, dilation))


def sent_back(columns, size, window, stride, padding, dilation):
    """`folded` in ops."""
    whole = (*shape_of(columns)[:2], *(n + 2 * p for n, p in zip(size, padding, strict=True)))
    out = scatter(columns, window_index(size, window, stride, padding, dilation), whole)
    inside = (slice(None), slice(None), *(slice(p, p + n) for n, p in zip(size, padding, strict=True)))
    return getitem(out, inside) if any(padding) else out


def with_bias(out, bias):
    """A bias for each channel added."""
    return out if bias is None else out + reshape(bias, (-1, *(1,) * (rank_of(out) - 2)))


def in_groups(x, n):
    """A batch axis in front of (batch, channels, *places) folded into the channels: as many more groups."""
    return np.moveaxis(x, 0, 1).reshape(x.shape[1], n * x.shape[2], *x.shape[3:])


def out_of_groups(x, n):
    """And back again."""
    return np.moveaxis(x.reshape(len(x), n, x.shape[1] // n, *x.shape[2:]), 1, 0)


def _joined(weight):
    """(n, out, ...) as (n · out, ...)."""
    return None if weight is None else weight.reshape(-1, *weight.shape[2:])


# --- the three ----------------------------------------------------------------------------------------------


def _settings(who, axes, stride, padding, dilation, groups):
    return {"stride": each_axis(who, "stride", stride, axes), "padding": each_axis(who, "padding", padding, axes),
            "dilation": each_axis(who, "dilation", dilation, axes), "groups": int(groups)}


def _check_weight(who, x, weight, groups, own):
    """The number of axes of places. x has as many channels as axis `own` of weight says, for all groups together."""
    axes = rank_of(weight) - 2
    if axes < 1 or rank_of(x) != axes + 2:
        raise ShapeError(f"{who}: x is (batch, channels, *places) and weight (out, in / groups, *window), with as many "
                         f"axes of places as of window; got shapes {shape_of(x)} and {shape_of(weight)}")
    channels = shape_of(weight)[own] * (groups if own else 1)
    if shape_of(x)[1] != channels:
        raise ShapeError(f"{who}: x has {shape_of(x)[1]} channels (shape {shape_of(x)}); weight of shape "
                         f"{shape_of(weight)} in {groups} group{'s' * (groups != 1)} needs {channels}")
    return axes


def _normalize_conv(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    axes = _check_weight("conv", x, weight, groups, own=1)
    settings = _settings("conv", axes, stride, padding, dilation, groups)
    if min(steps(shape_of(x)[2:], shape_of(weight)[2:], *_spelled(settings, axes))) < 1:
        raise ShapeError(f"conv: a window of {shape_of(weight)[2:]} does not fit into places {shape_of(x)[2:]}")
    return (x, weight, bias), settings


def _conv(x, weight, bias, *, stride, padding, dilation, groups):
    window = weight.shape[2:]
    seen = windows(x, window, *_spelled(locals(), len(window)))
    count = seen.shape[2 + len(window):]
    # one product a group: (out / groups, in / groups · window) @ (batch, groups, in / groups · window, places)
    seen = seen.reshape(len(x), groups, -1, math.prod(count))
    out = (weight.reshape(groups, len(weight) // groups, -1) @ seen).reshape(len(x), len(weight), *count)
    return out if bias is None else out + bias.reshape(-1, *(1,) * len(count))


def _conv_defined(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """Each place: the weights times the window there, summed."""
    window = shape_of(weight)[2:]
    seen = seen_by(x, window, *_spelled(locals(), len(window)))
    count = shape_of(seen)[2 + len(window):]
    images, outs = shape_of(x)[0], shape_of(weight)[0]
    seen = reshape(seen, (images, groups, math.prod(shape_of(weight)[1:]), math.prod(count)))
    out = reshape(weight, (groups, outs // groups, math.prod(shape_of(weight)[1:]))) @ seen
    return with_bias(reshape(out, (images, outs, *count)), bias)


def _batched_conv(op, n, x, weight, bias):
    more = op.settings | {"groups": n * op.settings["groups"]}
    return out_of_groups(op.base.forward(in_groups(x, n), _joined(weight), _joined(bias), **more), n)


def channel_sums(g):
    """The sum over everything but the channels: a bias met every place of every image."""
    return sum_(g, axis=(0, *range(2, rank_of(g))))


CONVOLVED = [Sample("2,3,5 4,3,2 4"), Sample("1,2,4,4 3,2,2,3", None), Sample("2,2,5,4 4,1,2,2 4", groups=2, stride=2),
             Sample("1,2,5,5 2,2,3,3 2", settings={"padding": 1, "stride": (2, 1)}),
             Sample("1,1,6 2,1,2 2", settings={"dilation": 2, "padding": 1})]

conv = Op("conv", "conv(x, weight, bias, stride=stride, padding=padding, dilation=dilation, groups=groups)",
          normalize=_normalize_conv, forward=_conv,
          vjp=(lambda g, out, x, weight, bias, *, stride, padding, dilation, groups: conv_transpose(
                   g, weight, None, stride, padding, dilation, groups, shape_of(x)[2:]),
               lambda g, out, x, weight, bias, *, stride, padding, dilation, groups: conv_weight(
                   x, g, shape_of(weight)[2:], stride, padding, dilation, groups),
               lambda g, out, x, weight, bias, **settings: None if bias is None else channel_sums(g)),
          definition=_conv_defined, lower=True, batch=_batched_conv,
          samples=CONVOLVED,
          doc="A window of weights moved over x: (batch, in, *places) → (batch, out, *places). `padding` is a border "
              "of zeros, `groups` parts the channels.")


def _usual_size(places, window, stride, padding, dilation):
    """The smallest size whose convolution has these places."""
    return tuple((n - 1) * s - 2 * p + d * (k - 1) + 1
                 for n, k, s, p, d in zip(places, window, stride, padding, dilation, strict=True))


def _normalize_transpose(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, size=None):
    axes = _check_weight("conv_transpose", x, weight, groups, own=0)
    settings = _settings("conv_transpose", axes, stride, padding, dilation, groups)
    strides, borders, spread = _spelled(settings, axes)
    usual = _usual_size(shape_of(x)[2:], shape_of(weight)[2:], strides, borders, spread)
    size = None if size is None else spelled(each_axis("conv_transpose", "size", size, axes), axes)
    size = None if size == usual else size
    if size is not None and steps(size, shape_of(weight)[2:], strides, borders, spread) != shape_of(x)[2:]:
        raise ShapeError(f"conv_transpose: no convolution makes places {shape_of(x)[2:]} of {size}; the usual size is "
                         f"{usual}")
    return (x, weight, bias), settings | {"size": size}


def _conv_transpose(x, weight, bias, *, stride, padding, dilation, groups, size):
    window = weight.shape[2:]
    strides, borders, spread = _spelled(locals(), len(window))
    if size is None:
        size = _usual_size(x.shape[2:], window, strides, borders, spread)
    into = weight.reshape(groups, len(weight) // groups, -1).mT  # (groups, out / groups · window, in / groups)
    sent = into @ x.reshape(len(x), groups, len(weight) // groups, -1)
    sent = sent.reshape(len(x), groups * weight.shape[1], *window, *x.shape[2:])
    out = folded(sent, size, window, strides, borders, spread)
    return out if bias is None else out + bias.reshape(-1, *(1,) * len(window))


def _conv_transpose_defined(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, size=None):
    """Each number times the weights, added to the window that it belongs to."""
    window = shape_of(weight)[2:]
    strides, borders, spread = _spelled(locals(), len(window))
    size = _usual_size(shape_of(x)[2:], window, strides, borders, spread) if size is None else size
    images, ins = shape_of(x)[0], shape_of(weight)[0]
    into = swapaxes(reshape(weight, (groups, ins // groups, math.prod(shape_of(weight)[1:]))), -1, -2)
    sent = into @ reshape(x, (images, groups, ins // groups, math.prod(shape_of(x)[2:])))
    sent = reshape(sent, (images, groups * shape_of(weight)[1], *window, *shape_of(x)[2:]))
    return with_bias(sent_back(sent, size, window, strides, borders, spread), bias)


conv_transpose = Op("conv_transpose", "conv_transpose(x, weight, bias, stride=stride, padding=padding, "
                    "dilation=dilation, groups=groups, size=size)",
                    normalize=_normalize_transpose, forward=_conv_transpose,
                    vjp=(lambda g, out, x, weight, bias, *, stride, padding, dilation, groups, size: conv(
                             g, weight, None, stride, padding, dilation, groups),
                         lambda g, out, x, weight, bias, *, stride, padding, dilation, groups, size: conv_weight(
                             g, x, shape_of(weight)[2:], stride, padding, dilation, groups),
                         lambda g, out, x, weight, bias, **settings: None if bias is None else channel_sums(g)),
                    definition=_conv_transpose_defined, lower=True, batch=_batched_conv,
                    samples=[Sample("2,4,4 4,3,2 3"), Sample("1,3,2,2 3,2,2,3", None, stride=2),
                             Sample("1,4,2,2 4,1,2,2 2", groups=2),
                             Sample("1,2,2,3 2,2,3,3 2", settings={"padding": 1, "stride": 2, "size": (4, 6)})],
                    doc="A convolution turned round: each number sent to the window it would have been made from. "
                        "weight is (in, out / groups, *window); `size` the places of the result.")


def _normalize_weight(x, y, window, stride=1, padding=0, dilation=1, groups=1):
    axes = rank_of(x) - 2
    return (x, y), _settings("conv_weight", axes, stride, padding, dilation, groups) | {
        "window": spelled(each_axis("conv_weight", "window", window, axes), axes)}


def _conv_weight(x, y, *, window, stride, padding, dilation, groups):
    seen = windows(x, window, *_spelled(locals(), len(window)))
    seen = seen.reshape(len(x), groups, -1, math.prod(seen.shape[2 + len(window):]))
    out = (y.reshape(len(x), groups, y.shape[1] // groups, -1) @ seen.mT).sum(axis=0)
    return out.reshape(y.shape[1], x.shape[1] // groups, *window)


def _conv_weight_defined(x, y, window, stride=1, padding=0, dilation=1, groups=1):
    """Each weight: what its entry of the window saw, times the numbers it helped to make, summed."""
    seen = seen_by(x, window, *_spelled(locals(), len(window)))
    images, outs = shape_of(x)[0], shape_of(y)[1]
    places = math.prod(shape_of(y)[2:])
    seen = reshape(seen, (images, groups, math.prod(shape_of(seen)[1:2 + len(window)]) // groups, places))
    out = sum_(reshape(y, (images, groups, outs // groups, places)) @ swapaxes(seen, -1, -2), axis=0)
    return reshape(out, (outs, shape_of(x)[1] // groups, *window))


def _batched_conv_weight(op, n, x, y):
    more = op.settings | {"groups": n * op.settings["groups"]}
    out = op.base.forward(in_groups(x, n), in_groups(y, n), **more)
    return out.reshape(n, len(out) // n, *out.shape[1:])


conv_weight = Op("conv_weight", "conv_weight(x, y, window=window, stride=stride, padding=padding, dilation=dilation, "
                 "groups=groups)",
                 normalize=_normalize_weight, forward=_conv_weight,
                 vjp=(lambda g, out, x, y, *, window, stride, padding, dilation, groups: conv_transpose(
                          y, g, None, stride, padding, dilation, groups, shape_of(x)[2:]),
                      lambda g, out, x, y, *, window, stride, padding, dilation, groups: conv(
                          x, g, None, stride, padding, dilation, groups)),
                 definition=_conv_weight_defined, lower=True, batch=_batched_conv_weight,
                 samples=[Sample("2,3,5 2,4,4", settings={"window": (2,)}),
                          Sample("1,2,4,4 1,4,2,2", settings={"window": (2, 2), "stride": 2, "groups": 2}),
                          Sample("1,2,4,4 1,3,4,4", settings={"window": (3, 3), "padding": 1})],
                 doc="What a convolution sends to its weights: x as each entry of the window saw it, times y, summed.",
                 inner=True)
