"""LayerNorm and RMSNorm: rows brought to a standard size, then scaled by learned factors."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograd import OPS, Value

from .module import Module, Parameter, as_input, record, whole_size

LAYER_NORM, RMS_NORM = OPS["layer_norm"], OPS["rms_norm"]


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
        x = checked(self, x)
        return record(LAYER_NORM.bind({"eps": self.eps}), x, self.gamma, self.beta)

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
        x = checked(self, x)
        return record(RMS_NORM.bind({"eps": self.eps}), x, self.gamma)

    def extra(self) -> str:
        return str(self.gamma.size)
