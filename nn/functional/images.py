"""The formulas for images and sequences: convolutions, pooling, norms of channels, with torch's arguments.

Arrays are (batch, channels, *places), one axis of places for a sequence, two for an image; one without a batch axis
is taken too. A convolution's weight is (out channels, in channels / groups, *window).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import autograd as ag
from autograd.errors import ShapeError

from .checks import Array, as_floats

Sizes = int | tuple[int, ...]


def each(who: str, name: str, value: Any, axes: int) -> tuple[int, ...]:
    """A setting as one integer for each axis of places."""
    values = tuple(value) if isinstance(value, list | tuple) else (value,) * axes
    if len(values) != axes or not all(isinstance(n, int | np.integer) and not isinstance(n, bool) for n in values):
        raise ShapeError(f"{who}: {name} is an integer, or one for each of {axes} axes; got {value!r}")
    return tuple(int(n) for n in values)


def _in_a_batch(who: str, layer: Callable[[Any], Any], x: Array, axes: int) -> Array:
    """The layer's result for a batch, or for one image, which gets a batch axis for the time."""
    x = as_floats(x)
    if np.ndim(x) == axes + 2:
        return layer(x)
    if np.ndim(x) != axes + 1:
        places = ", ".join(("places",) if axes == 1 else ("rows", "columns"))
        raise ShapeError(f"{who} expected x of shape (batch, channels, {places}), got {np.shape(x)}")
    return layer(ag.expand_dims(x, 0))[0]


# --- convolutions -------------------------------------------------------------------------------------------


def _conv(
    axes: int, x: Array, weight: Array, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int
) -> Array:
    who = f"conv{axes}d"
    weight = as_floats(weight)
    if np.ndim(weight) != axes + 2:
        raise ShapeError(f"{who} expected a weight (out, in / groups, *window); got shape {np.shape(weight)}")
    stride, dilation = each(who, "stride", stride, axes), each(who, "dilation", dilation, axes)
    if not isinstance(padding, str):
        padding = each(who, "padding", padding, axes)
        return _in_a_batch(who, lambda x: ag.conv(x, weight, bias, stride, padding, dilation, groups), x, axes)
    borders = by_name(who, padding, np.shape(weight)[2:], stride, dilation)
    return _in_a_batch(who, lambda x: ag.conv(padded(x, borders), weight, bias, stride, 0, dilation, groups), x, axes)


def by_name(
    who: str, padding: str, window: tuple[int, ...], stride: tuple[int, ...], dilation: tuple[int, ...]
) -> list[tuple[int, int]]:
    """The border that "valid" or "same" means: none, or as much as keeps the places, one more at the end if odd."""
    if padding not in ("valid", "same"):
        raise ValueError(f'{who}: padding is an integer, one an axis, "same" or "valid"; got {padding!r}')
    if padding == "same" and set(stride) != {1}:
        raise ValueError(f'{who}: padding="same" keeps the places, which stride {stride} does not; use stride=1')
    wide = [d * (k - 1) if padding == "same" else 0 for k, d in zip(window, dilation, strict=True)]
    return [(n // 2, n - n // 2) for n in wide]


def padded(x: Array, borders: list[tuple[int, int]], mode: str = "constant", fill: float = 0.0) -> Array:
    """x with a border around its places, before and after each axis."""
    if not any(n for border in borders for n in border):
        return x
    more = {"constant_values": fill} if mode == "constant" else {"mode": mode}
    return ag.pad(x, [(0, 0)] * (np.ndim(x) - len(borders)) + borders, **more)


def conv1d(
    x: Array, weight: Array, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Array:
    """A window of weights moved along a sequence: at each place, weights times what the window sees, summed.

    >>> conv1d(np.array([[1.0, 2.0, 4.0]]), np.array([[[1.0, -1.0]]])).tolist()
    [[-1.0, -2.0]]
    """
    return _conv(1, x, weight, bias, stride, padding, dilation, groups)


def conv2d(
    x: Array, weight: Array, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Array:
    """A window of weights moved over an image: at each place, weights times what the window sees, summed.

    >>> conv2d(np.ones((1, 3, 3)), np.ones((1, 1, 2, 2))).tolist()
    [[[4.0, 4.0], [4.0, 4.0]]]
    """
    return _conv(2, x, weight, bias, stride, padding, dilation, groups)


def _conv_transpose(
    axes: int, x: Array, weight: Array, bias: Any, stride: Any, padding: Any, output_padding: Any, groups: int,
    dilation: Any,
) -> Array:  # fmt: skip
    who = f"conv_transpose{axes}d"
    stride, padding, dilation, more = (
        each(who, name, value, axes) for name, value in (
            ("stride", stride), ("padding", padding), ("dilation", dilation), ("output_padding", output_padding))
    )  # fmt: skip
    settings = zip(np.shape(x)[-axes:], np.shape(weight)[2:], stride, padding, dilation, more, strict=True)
    size = tuple((n - 1) * s - 2 * p + d * (k - 1) + o + 1 for n, k, s, p, d, o in settings)
    return _in_a_batch(
        who, lambda x: ag.conv_transpose(x, weight, bias, stride, padding, dilation, groups, size), x, axes
    )


def conv_transpose1d(
    x: Array, weight: Array, bias: Any = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0,
    groups: int = 1, dilation: Any = 1,
) -> Array:  # fmt: skip
    """A convolution turned round: each number times the weights, added up where the window lies. weight (in, out, k).

    >>> conv_transpose1d(np.array([[1.0, 2.0]]), np.array([[[1.0, 10.0]]])).tolist()
    [[1.0, 12.0, 20.0]]
    """
    return _conv_transpose(1, x, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose2d(
    x: Array, weight: Array, bias: Any = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0,
    groups: int = 1, dilation: Any = 1,
) -> Array:  # fmt: skip
    """A convolution turned round: each number times the weights, added up where the window lies.

    >>> conv_transpose2d(np.ones((1, 1, 2)), np.ones((1, 1, 1, 2))).tolist()
    [[[1.0, 2.0, 1.0]]]
    """
    return _conv_transpose(2, x, weight, bias, stride, padding, output_padding, groups, dilation)


# --- pooling ------------------------------------------------------------------------------------------------


def _over_the_edge(
    places: tuple[int, ...], window: tuple[int, ...], stride: tuple[int, ...], padding: tuple[int, ...],
    dilation: tuple[int, ...],
) -> list[tuple[int, int]]:  # fmt: skip
    """The border with which also the last window fits that begins inside (`ceil_mode`)."""
    borders = []
    for n, k, s, p, d in zip(places, window, stride, padding, dilation, strict=True):
        reach = d * (k - 1) + 1
        count = math.ceil((n + 2 * p - reach) / s) + 1
        count -= (count - 1) * s >= n + p
        borders.append((p, max((count - 1) * s + reach - n - p, p)))
    return borders


def _max_pool(axes: int, x: Array, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil: bool) -> Array:
    who = f"max_pool{axes}d"
    window = each(who, "kernel_size", kernel_size, axes)
    stride = window if stride is None else each(who, "stride", stride, axes)
    padding, dilation = each(who, "padding", padding, axes), each(who, "dilation", dilation, axes)
    _check_border(who, padding, window)
    if not ceil:
        return _in_a_batch(who, lambda x: ag.max_pool(x, window, stride, padding, dilation), x, axes)
    borders = _over_the_edge(np.shape(x)[-axes:], window, stride, padding, dilation)
    return _in_a_batch(
        who, lambda x: ag.max_pool(padded(x, borders, fill=-np.inf), window, stride, 0, dilation), x, axes
    )


def _check_border(who: str, padding: tuple[int, ...], window: tuple[int, ...]) -> None:
    if any(2 * p > k for p, k in zip(padding, window, strict=True)):
        raise ShapeError(f"{who}: padding is at most half the window, or a window sees nothing; got padding={padding} "
                         f"and kernel_size={window}")  # fmt: skip


def max_pool1d(
    x: Array, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
) -> Array:
    """The largest number of each window of a sequence.

    >>> max_pool1d(np.array([[1.0, 3.0, 2.0, 0.0]]), 2).tolist()
    [[3.0, 2.0]]
    """
    return _max_pool(1, x, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool2d(
    x: Array, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
) -> Array:
    """The largest number of each window of an image.

    >>> max_pool2d(np.arange(4.0).reshape(1, 2, 2), 2).tolist()
    [[[3.0]]]
    """
    return _max_pool(2, x, kernel_size, stride, padding, dilation, ceil_mode)


def _avg_pool(
    axes: int, x: Array, kernel_size: Any, stride: Any, padding: Any, ceil: bool, include_pad: bool, divisor: Any
) -> Array:
    who = f"avg_pool{axes}d"
    window = each(who, "kernel_size", kernel_size, axes)
    stride = window if stride is None else each(who, "stride", stride, axes)
    padding = each(who, "padding", padding, axes)
    _check_border(who, padding, window)
    places = np.shape(x)[-axes:]
    borders = [(p, p) for p in padding]
    if ceil:
        borders = _over_the_edge(places, window, stride, padding, (1,) * axes)
    if divisor is not None:
        share: Any = math.prod(window) / divisor
    else:  # what counts: the image, with the padding if asked for; never what lies over the edge
        own = [(p, p) for p in padding] if include_pad else [(0, 0)] * axes
        counted = np.pad(np.ones(places), own, constant_values=1.0)
        rest = [(b - p, a - q) for (b, a), (p, q) in zip(borders, own, strict=True)]
        share = 1.0 / np.asarray(ag.avg_pool(np.pad(counted, rest)[None, None], window, stride, 0))
    plain = borders == [(p, p) for p in padding]

    def pooled(x: Any) -> Any:
        means = ag.avg_pool(x if plain else padded(x, borders), window, stride, padding if plain else 0)
        return means if np.all(share == 1.0) else means * np.asarray(share, dtype=x.dtype)

    return _in_a_batch(who, pooled, x, axes)


def avg_pool1d(
    x: Array, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Array:  # fmt: skip
    """The mean of each window of a sequence.

    >>> avg_pool1d(np.array([[1.0, 3.0, 2.0, 0.0]]), 2).tolist()
    [[2.0, 1.0]]
    """
    return _avg_pool(1, x, kernel_size, stride, padding, ceil_mode, count_include_pad, None)


def avg_pool2d(
    x: Array, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: int | None = None,
) -> Array:  # fmt: skip
    """The mean of each window of an image.

    >>> avg_pool2d(np.arange(4.0).reshape(1, 2, 2), 2).tolist()
    [[[1.5]]]
    """
    return _avg_pool(2, x, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def _adaptive(axes: int, x: Array, output_size: Any) -> Array:
    """A mean for each of so many equal parts of each axis; parts may overlap where the places do not part evenly."""
    who = f"adaptive_avg_pool{axes}d"
    sizes = tuple(output_size) if isinstance(output_size, list | tuple) else (output_size,) * axes
    places = np.shape(x)[-axes:]
    sizes = each(who, "output_size", tuple(n if m is None else m for n, m in zip(places, sizes, strict=False)), axes)
    if all(n % m == 0 for n, m in zip(places, sizes, strict=True)):
        window = tuple(n // m for n, m in zip(places, sizes, strict=True))
        return _in_a_batch(who, lambda x: ag.avg_pool(x, window), x, axes)
    x = as_floats(x)
    for axis, (n, m) in enumerate(zip(places, sizes, strict=True), start=-axes):
        means = np.zeros((n, m), x.dtype)
        for i in range(m):
            part = slice(i * n // m, -(-(i + 1) * n // m))
            means[part, i] = 1.0 / (part.stop - part.start)
        x = ag.moveaxis(ag.matmul(ag.moveaxis(x, axis, -1), means), -1, axis)
    return x


def adaptive_avg_pool1d(x: Array, output_size: Any) -> Array:
    """The means of `output_size` parts of a sequence."""
    return _adaptive(1, x, output_size)


def adaptive_avg_pool2d(x: Array, output_size: Any) -> Array:
    """The means of parts of an image, as many along each axis as `output_size` says.

    >>> adaptive_avg_pool2d(np.arange(4.0).reshape(1, 2, 2), 1).tolist()
    [[[1.5]]]
    """
    return _adaptive(2, x, output_size)


# --- norms of channels --------------------------------------------------------------------------------------


def batch_norm(
    x: Array, running_mean: Any, running_var: Any, weight: Any = None, bias: Any = None, training: bool = False,
    momentum: float = 0.1, eps: float = 1e-5,
) -> Array:  # fmt: skip
    """`(x - mean) / √(variance + eps) · weight + bias` for each channel; in training by the batch's own mean.

    The running numbers are only read: `nn.BatchNorm2d` moves its own. `momentum` is there as in torch.

    >>> batch_norm(np.array([[1.0], [3.0]]), None, None, training=True).round(3).tolist()
    [[-1.0], [1.0]]
    """
    x = as_floats(x)
    gamma, beta = 1.0 if weight is None else weight, 0.0 if bias is None else bias
    if training or running_mean is None:
        return ag.batch_norm(x, gamma, beta, eps)
    shape = (-1, *(1,) * (np.ndim(x) - 2))
    gamma, beta = (ag.reshape(v, shape) if np.ndim(v) else v for v in (gamma, beta))
    mean, variance = (ag.reshape(v, shape) for v in (running_mean, running_var))
    return (x - mean) / ag.sqrt(variance + eps) * gamma + beta


def group_norm(x: Array, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Array:
    """Each group of channels of each image shifted to mean 0 and scaled to variance 1, then `· weight + bias`.

    >>> group_norm(np.array([[1.0, 3.0]]), 1).round(3).tolist()
    [[-1.0, 1.0]]
    """
    gamma, beta = 1.0 if weight is None else weight, 0.0 if bias is None else bias
    return ag.group_norm(as_floats(x), gamma, beta, num_groups, eps)
