"""Norms: rows, channels or groups of channels brought to a standard size, then scaled by learned factors."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograd import Value
from autograd.ops.images.channels import channel_moments
from nn import functional as F
from nn.buffer import Buffer
from nn.module import Module, Parameter, as_input, whole_size


def checked(layer: Any, x: Any) -> Any:
    """The input of a norm, whose rows must be as long as its gamma."""
    width = layer.gamma._data.shape
    if x.__class__ is not Value:
        x = as_input(x, layer.gamma._data.dtype)
    if x.shape[-1:] != width or width == (0,):
        layer._refuse(f"an input of shape (..., {width[0]})", x)
    return x


class LayerNorm(Module):
    """Each row shifted to mean 0 and scaled to variance 1, then `· gamma + beta`.

    `(x - mean) / √(variance + eps) · gamma + beta`, over the last axis; x (..., width), gamma and beta (width,).

    >>> LayerNorm(2)([[1.0, 3.0]]).data.round(3)
    array([[-1.,  1.]])
    """

    def __init__(self, width: int, eps: float = 1e-5, dtype: Any = np.float64) -> None:
        width = whole_size("LayerNorm", "width", width)
        self.gamma = Parameter(np.ones(width, dtype))
        self.beta = Parameter(np.zeros(width, dtype))
        self.eps = eps

    def forward(self, x: Any) -> Any:
        """The rows of x, normed, times gamma plus beta: (..., width) → the same shape."""
        return F.layer_norm(checked(self, x), self.gamma, self.beta, self.eps)

    def extra(self) -> str:
        return str(self.gamma.size)


class RMSNorm(Module):
    """Each row scaled to mean square 1, then `· gamma`: layer norm without the mean and without beta.

    >>> RMSNorm(2)([[3.0, 3.0]]).data.round(3)
    array([[1., 1.]])
    """

    def __init__(self, width: int, eps: float = 1e-5, dtype: Any = np.float64) -> None:
        self.gamma = Parameter(np.ones(whole_size("RMSNorm", "width", width), dtype))
        self.eps = eps

    def forward(self, x: Any) -> Any:
        """The rows of x, normed, times gamma: (..., width) → the same shape."""
        return F.rms_norm(checked(self, x), self.gamma, self.eps)

    def extra(self) -> str:
        return str(self.gamma.size)


class BatchNorm(Module):
    """What the batch norms share; each says how many axes its input may have."""

    ranks: tuple[int, ...] = ()
    running_mean: Any
    running_var: Any
    num_batches_tracked: Any

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
        track_running_stats: bool = True, *, dtype: Any = np.float64,
    ) -> None:  # fmt: skip
        self.num_features = whole_size(type(self).__name__, "num_features", num_features)
        self.eps, self.momentum, self.track_running_stats = eps, momentum, track_running_stats
        self.weight = Parameter(np.ones(num_features, dtype)) if affine else None
        self.bias = Parameter(np.zeros(num_features, dtype)) if affine else None
        if track_running_stats:
            self.running_mean = Buffer(np.zeros(num_features, dtype))
            self.running_var = Buffer(np.ones(num_features, dtype))
            self.num_batches_tracked = Buffer(0)
        self._dtype = np.dtype(dtype)

    def forward(self, x: Any) -> Any:
        """`(x - mean) / √(variance + eps) · weight + bias`, channel by channel."""
        x = as_input(x, self._dtype)
        if x.ndim not in self.ranks or x.shape[1] != self.num_features:
            more = {2: "", 3: ", places", 4: ", rows, columns"}
            shapes = " or ".join(f"(batch, {self.num_features}{more[n]})" for n in self.ranks)
            self._refuse(f"an input of shape {shapes}", x)
        by_batch = self.training or not self.track_running_stats
        if by_batch and x.size <= self.num_features:
            self._refuse("more than one number for each channel while training", x)
        if self.training and self.track_running_stats:
            self._track(x)
        mean, variance = (None, None) if by_batch else (self.running_mean, self.running_var)
        return F.batch_norm(x, mean, variance, self.weight, self.bias, by_batch, self.momentum or 0.0, self.eps)

    def _track(self, x: Any) -> None:
        """Move the running mean and variance towards those of this batch; without momentum, to the mean of all."""
        count = x.size // self.num_features
        mean, variance = channel_moments(x.data if isinstance(x, Value) else x)
        self.num_batches_tracked = self.num_batches_tracked + 1
        share: Any = self.momentum if self.momentum is not None else 1.0 / self.num_batches_tracked
        self.running_mean = (1.0 - share) * self.running_mean + share * mean
        self.running_var = (1.0 - share) * self.running_var + (share * count / (count - 1)) * variance

    def extra(self) -> str:
        return str(self.num_features)


class BatchNorm1d(BatchNorm):
    """Each channel shifted to mean 0 and scaled to variance 1 over the batch, then `· weight + bias`.

    x (batch, num_features) or (batch, num_features, places). In training by the batch's own mean and variance, and
    the running ones, which are buffers, move towards them by `momentum` (None: they are means of all batches). In
    evaluation by the running ones. affine: whether there are weight and bias.

    >>> layer = BatchNorm1d(2)
    >>> layer([[1.0, 10.0], [3.0, 30.0]]).data.round(2)
    array([[-1., -1.],
           [ 1.,  1.]])
    >>> layer.running_mean
    array([0.2, 2. ])
    """

    ranks = (2, 3)


class BatchNorm2d(BatchNorm):
    """`BatchNorm1d` for images: x (batch, num_features, rows, columns).

    >>> BatchNorm2d(3)(np.random.default_rng(0).normal(size=(2, 3, 4, 4))).shape
    (2, 3, 4, 4)
    """

    ranks = (4,)


class GroupNorm(Module):
    """Each group of channels of each image shifted to mean 0 and scaled to variance 1, then `· weight + bias`.

    x (batch, num_channels, *places). One group in all is a layer norm of images, one a channel an instance norm.

    >>> GroupNorm(1, 2)([[1.0, 3.0]]).data.round(2)
    array([[-1.,  1.]])
    """

    def __init__(
        self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True, *, dtype: Any = np.float64
    ) -> None:
        if num_groups < 1 or num_channels % num_groups:
            raise ValueError(f"GroupNorm: num_groups divides num_channels; got {num_groups} and {num_channels}")
        self.num_groups, self.num_channels, self.eps = num_groups, num_channels, eps
        self.weight = Parameter(np.ones(num_channels, dtype)) if affine else None
        self.bias = Parameter(np.zeros(num_channels, dtype)) if affine else None
        self._dtype = np.dtype(dtype)

    def forward(self, x: Any) -> Any:
        """The groups of channels, normed, times weight plus bias."""
        x = as_input(x, self._dtype)
        if x.ndim < 2 or x.shape[1] != self.num_channels:
            self._refuse(f"an input of shape (batch, {self.num_channels}, ...)", x)
        return F.group_norm(x, self.num_groups, self.weight, self.bias, self.eps)

    def extra(self) -> str:
        return f"{self.num_groups} groups of {self.num_channels} channels"
