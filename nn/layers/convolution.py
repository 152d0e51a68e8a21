"""Convolutions: a small window of weights moved along a sequence or over an image, with torch's arguments."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nn import functional as F
from nn import init
from nn.functional.images import by_name, each, padded
from nn.module import Module, Parameter, as_input, whole_number

MODES = {"zeros": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}  # torch's and NumPy's


class Convolution(Module):
    """What convolutions share: their numbers of channels, their window, and how it moves."""

    axes = 2  # of places
    transposed = False

    def _make(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any, padding: Any, dilation: Any,
        groups: int, bias: bool, padding_mode: str, rng: Any, dtype: Any,
    ) -> None:  # fmt: skip
        who = type(self).__name__
        for name, number in (("in_channels", in_channels), ("out_channels", out_channels), ("groups", groups)):
            whole_number(f"{who}: {name}", number, 1)
        if in_channels % groups or out_channels % groups:
            raise ValueError(
                f"{who}: groups must divide both numbers of channels; got groups={groups}, in_channels={in_channels}, "
                f"out_channels={out_channels}"
            )
        if padding_mode not in MODES:
            raise ValueError(f"{who}: padding_mode is one of {', '.join(map(repr, MODES))}; got {padding_mode!r}")
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size = each(who, "kernel_size", kernel_size, self.axes)
        self.stride = each(who, "stride", stride, self.axes)
        self.dilation = each(who, "dilation", dilation, self.axes)
        if isinstance(padding, str):
            by_name(who, padding, self.kernel_size, self.stride, self.dilation)  # raises if it does not fit
        self.padding = padding if isinstance(padding, str) else each(who, "padding", padding, self.axes)
        self.padding_mode = padding_mode
        rng = init.generator(rng)
        outer, inner = (in_channels, out_channels) if self.transposed else (out_channels, in_channels)
        bound = 1.0 / math.sqrt(inner // groups * math.prod(self.kernel_size))
        self.weight = Parameter(init.uniform(rng, (outer, inner // groups, *self.kernel_size), bound, dtype))
        self.bias = Parameter(init.uniform(rng, (out_channels,), bound, dtype)) if bias else None

    def _checked(self, x: Any) -> Any:
        """The input, which has in_channels, with or without a batch axis in front."""
        x = as_input(x, self.weight._data.dtype)
        if x.ndim not in (self.axes + 1, self.axes + 2) or x.shape[-self.axes - 1] != self.in_channels:
            places = "places" if self.axes == 1 else "rows, columns"
            self._refuse(f"an input of shape (batch, {self.in_channels}, {places})", x)
        return x

    def extra(self) -> str:
        shown = [f"{self.in_channels} → {self.out_channels}", "×".join(map(str, self.kernel_size))]
        usual = {"stride": 1, "padding": 0, "dilation": 1}
        for name, value in usual.items():
            own = getattr(self, name)
            if own != (value,) * self.axes:
                shown.append(f"{name} {own if isinstance(own, str) or len(set(own)) > 1 else own[0]}")
        shown += [f"{self.groups} groups"] * (self.groups > 1) + ["no bias"] * (self.bias is None)
        return ", ".join(shown)


class Conv2d(Convolution):
    """At each place of an image: weights times what the window sees there, summed, plus a bias.

    x (batch, in_channels, rows, columns) → (batch, out_channels, rows', columns'), weight
    (out_channels, in_channels / groups, *kernel_size). One image without the batch axis works too.

    - stride: how far the window moves; dilation: how far apart its entries look.
    - padding: a border around the image, a number, one for each axis, or "same"; padding_mode fills it.
    - groups: channels in so many groups that do not see each other.

    >>> layer = Conv2d(1, 2, 3, padding=1, rng=0)
    >>> layer
    Conv2d(1 → 2, 3×3, padding 1)  weight (2, 1, 3, 3), bias (2,)  20 parameters
    >>> layer(np.ones((5, 1, 8, 8))).shape
    (5, 2, 8, 8)
    """

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
        dilation: Any = 1, groups: int = 1, bias: bool = True, padding_mode: str = "zeros", *, rng: Any = None,
        dtype: Any = np.float64,
    ) -> None:  # fmt: skip
        self._make(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode, rng,
                   dtype)  # fmt: skip

    def forward(self, x: Any) -> Any:
        """The window at every place: (batch, in, *places) → (batch, out, *places')."""
        x = self._checked(x)
        padding: Any = self.padding
        if self.padding_mode != "zeros":
            wide = by_name("", padding, self.kernel_size, self.stride, self.dilation) if isinstance(
                padding, str) else [(n, n) for n in padding]  # fmt: skip
            x, padding = padded(x, wide, MODES[self.padding_mode]), 0
        conv = F.conv1d if self.axes == 1 else F.conv2d
        return conv(x, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)


class Conv1d(Conv2d):
    """At each place of a sequence: weights times what the window sees there, summed, plus a bias.

    x (batch, in_channels, places) → (batch, out_channels, places'); the arguments are those of `Conv2d`.

    >>> Conv1d(3, 4, 5, stride=2, rng=0)(np.ones((2, 3, 11))).shape
    (2, 4, 4)
    """

    axes = 1


class ConvTranspose2d(Convolution):
    """A convolution turned round: each number of an image, times the weights, is added where the window lies.

    x (batch, in_channels, rows, columns) → a larger image of out_channels; weight
    (in_channels, out_channels / groups, *kernel_size). With the same arguments it undoes the shapes of `Conv2d`;
    where several shapes fit, output_padding makes the result larger.

    >>> ConvTranspose2d(2, 1, 3, stride=2, padding=1, output_padding=1, rng=0)(np.ones((5, 2, 4, 4))).shape
    (5, 1, 8, 8)
    """

    transposed = True

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
        output_padding: Any = 0, groups: int = 1, bias: bool = True, dilation: Any = 1, padding_mode: str = "zeros",
        *, rng: Any = None, dtype: Any = np.float64,
    ) -> None:  # fmt: skip
        who = type(self).__name__
        if isinstance(padding, str) or padding_mode != "zeros":
            raise ValueError(f"{who}: padding is an integer or one for each axis, with padding_mode='zeros'")
        self._make(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode, rng,
                   dtype)  # fmt: skip
        self.output_padding = each(who, "output_padding", output_padding, self.axes)
        for more, s, d in zip(self.output_padding, self.stride, self.dilation, strict=True):
            if more >= max(s, d):
                raise ValueError(f"{who}: output_padding is below stride or dilation; got {output_padding!r}")

    def forward(self, x: Any) -> Any:
        """Each number sent to its window: (batch, in, *places) → (batch, out, *places')."""
        x = self._checked(x)
        convolve = F.conv_transpose1d if self.axes == 1 else F.conv_transpose2d
        return convolve(
            x, self.weight, self.bias, self.stride, self.padding, self.output_padding, self.groups, self.dilation
        )


class ConvTranspose1d(ConvTranspose2d):
    """`ConvTranspose2d` for sequences: x (batch, in_channels, places).

    >>> ConvTranspose1d(2, 3, 4, stride=2, rng=0)(np.ones((1, 2, 5))).shape
    (1, 3, 12)
    """

    axes = 1
