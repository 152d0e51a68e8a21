"""Operators on images and sequences: convolutions, pooling, norms of channels, other sizes."""

from __future__ import annotations

import functools
import math

import numpy as np

import autograd as ag

from .table import aten, rank_of, shape_of, unless


def batched(layer, x, axes):
    """torch takes one image without a batch axis too."""
    return layer(x) if rank_of(x) == axes + 2 else layer(ag.expand_dims(x, 0))[0]


def spelled(value, axes):
    """torch's lists of one number stand for all axes."""
    values = list(value) if isinstance(value, list | tuple) else [value]
    return tuple(values * axes if len(values) == 1 else values)


# --- convolutions -------------------------------------------------------------------------------------------


@aten("conv1d", "conv2d", "conv3d")
def conv(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    unless(isinstance(padding, str), "padding by name")
    axes = rank_of(weight) - 2
    settings = [spelled(v, axes) for v in (stride, padding, dilation)]
    return batched(lambda x: ag.conv(x, weight, bias, *settings, groups), x, axes)


@aten("conv1d.padding", "conv2d.padding", "conv3d.padding")
def conv_by_name(x, weight, bias=None, stride=1, padding="valid", dilation=1, groups=1):
    axes = rank_of(weight) - 2
    spread = spelled(dilation, axes)
    borders = [0 if padding == "valid" else d * (k - 1) for k, d in zip(shape_of(weight)[2:], spread, strict=True)]
    unless(any(n % 2 for n in borders), "a border that is wider on one side")
    return conv(x, weight, bias, stride, [n // 2 for n in borders], dilation, groups)


@aten("convolution")
def convolution(x, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    if transposed:
        return conv_transpose(x, weight, bias, stride, padding, output_padding, groups, dilation)
    return conv(x, weight, bias, stride, padding, dilation, groups)


@aten("conv_transpose1d", "conv_transpose2d.input", "conv_transpose3d.input")
def conv_transpose(x, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    axes = rank_of(weight) - 2
    stride, padding, more, dilation = (spelled(v, axes) for v in (stride, padding, output_padding, dilation))
    places = shape_of(x)[-axes:]
    size = tuple((n - 1) * s - 2 * p + d * (k - 1) + o + 1 for n, s, p, d, k, o in zip(
        places, stride, padding, dilation, shape_of(weight)[2:], more, strict=True))
    return batched(lambda x: ag.conv_transpose(x, weight, bias, stride, padding, dilation, groups, size), x, axes)


# --- pooling ------------------------------------------------------------------------------------------------


def _max_pool(axes):
    def max_pool(x, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
        unless(ceil_mode, "windows over the edge")
        window, padding, dilation = (spelled(v, axes) for v in (kernel_size, padding, dilation))
        stride = spelled(stride, axes) if stride else window
        return batched(lambda x: ag.max_pool(x, window, stride, padding, dilation), x, axes)

    return max_pool


def _avg_pool(axes):
    def avg_pool(x, kernel_size, stride=(), padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
        window, padding = spelled(kernel_size, axes), spelled(padding, axes)
        stride = spelled(stride, axes) if stride else window
        whole = count_include_pad or not any(padding)

        def pooled(x):
            if whole and not (ceil_mode or divisor_override):
                return ag.avg_pool(x, window, stride, padding)
            parts = [windows(*each, ceil_mode) for each in zip(x.shape[-axes:], window, stride, padding, strict=True)]
            wide = ag.pad(x, [(0, 0)] * (x.ndim - axes) + [(p, over) for p, (_, _, over) in zip(padding, parts)])
            sums = ag.avg_pool(wide, window, stride, 0) * math.prod(window)
            counted = [in_sight if count_include_pad else inside for in_sight, inside, _ in parts]
            return sums / (divisor_override or functools.reduce(np.multiply.outer, counted))

        return batched(pooled, x, axes)

    return avg_pool


def windows(size, window, stride, padding, ceil_mode):
    """Of the windows along an axis, how many places of each are in the padded axis, and in the axis itself; and how far
    the last one reaches over the end of the axis."""
    count = (size + 2 * padding - window + (stride - 1 if ceil_mode else 0)) // stride + 1
    count -= ceil_mode and (count - 1) * stride >= size + padding  # none begins in the padding at the end
    start = np.arange(count) * stride - padding
    end = np.minimum(start + window, size + padding)
    inside = np.minimum(end, size) - np.maximum(start, 0)
    return end - start, inside, max(int(start[-1]) + window - size, 0)


for _axes in (1, 2, 3):
    aten(f"max_pool{_axes}d")(_max_pool(_axes))
    aten(f"avg_pool{_axes}d")(_avg_pool(_axes))


@aten("max_pool2d_with_indices", "max_pool3d_with_indices")
def max_pool_with_indices(x, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
    return _max_pool(len(kernel_size))(x, kernel_size, stride, padding, dilation, ceil_mode), None


@aten("adaptive_avg_pool1d", "adaptive_avg_pool2d", "_adaptive_avg_pool2d", "adaptive_avg_pool3d")
def adaptive_avg_pool(x, output_size):
    places = shape_of(x)[-len(output_size):]
    if all(n == 1 for n in output_size):
        return ag.mean(x, axis=tuple(range(-len(places), 0)), keepdims=True)
    unless(any(n % m for n, m in zip(places, output_size, strict=True)), "windows of different sizes")
    window = [n // m for n, m in zip(places, output_size, strict=True)]
    return _avg_pool(len(places))(x, window)


# --- norms --------------------------------------------------------------------------------------------------


@aten("batch_norm")
def batch_norm(x, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled=True):
    """In training by the numbers of the batch; else by the running mean and variance, which are constants."""
    if training or running_mean is None:
        return ag.batch_norm(x, *_or_usual(weight, bias), eps=eps)
    shape = (-1, *(1,) * (rank_of(x) - 2))
    rows = (x - np.reshape(running_mean, shape)) * np.reshape(running_var + eps, shape) ** -0.5
    return _scaled(rows, weight, bias, shape)


def _or_usual(weight, bias):
    return 1.0 if weight is None else weight, 0.0 if bias is None else bias


def _scaled(rows, weight, bias, shape):
    rows = rows if weight is None else rows * ag.reshape(weight, shape)
    return rows if bias is None else rows + ag.reshape(bias, shape)


@aten("native_batch_norm", "_native_batch_norm_legit", "_native_batch_norm_legit_functional")
def native_batch_norm(x, weight, bias, running_mean, running_var, training, momentum, eps):
    return batch_norm(x, weight, bias, running_mean, running_var, training, momentum, eps), None, None


@aten("group_norm")
def group_norm(x, num_groups, weight=None, bias=None, eps=1e-5, cudnn_enabled=True):
    return ag.group_norm(x, *_or_usual(weight, bias), groups=num_groups, eps=eps)


@aten("instance_norm")
def instance_norm(x, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, cudnn_enabled=True):
    if not use_input_stats:
        return batch_norm(x, weight, bias, running_mean, running_var, False, momentum, eps)
    return ag.group_norm(x, *_or_usual(weight, bias), groups=shape_of(x)[1], eps=eps)


# --- other sizes --------------------------------------------------------------------------------------------


def _scale(scales):
    """torch computes places from the scale it was given; None where it is just new / old."""
    given = tuple(None if s is None else float(s) for s in scales)
    return None if all(s is None for s in given) else given


@aten("upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d")
def upsample_nearest(x, output_size, *scales):
    return ag.interpolate(x, tuple(output_size), "nearest", False, _scale(scales))


@aten("upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d")
def upsample_linear(x, output_size, align_corners, *scales):
    return ag.interpolate(x, tuple(output_size), "linear", align_corners, None if align_corners else _scale(scales))


@aten("upsample_bicubic2d")
def upsample_cubic(x, output_size, align_corners, *scales):
    return ag.interpolate(x, tuple(output_size), "cubic", align_corners, None if align_corners else _scale(scales))


def _of_factors(function):
    """The same, called with factors in place of sizes."""

    def by_factors(x, size, *more):
        factors = more[-1]
        if size is None:
            size = [int(n * f) for n, f in zip(shape_of(x)[2:], factors, strict=True)]
        return function(x, size, *more[:-1], *(factors or ()))

    return by_factors


for _name, _function in {
    "upsample_nearest1d": upsample_nearest, "upsample_nearest2d": upsample_nearest,
    "upsample_linear1d": upsample_linear, "upsample_bilinear2d": upsample_linear, "upsample_bicubic2d": upsample_cubic,
}.items():  # fmt: skip
    aten(f"{_name}.vec")(_of_factors(_function))
