"""LayerNorm and RMSNorm: rows brought to a standard size, then scaled by learned factors."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import functional as F
from .module import Module, Parameter, as_input


class LayerNorm(Module):
    """Each row shifted to mean 0 and scaled to variance 1, then `· gamma + beta`.

    `(x - mean) / √(variance + eps) · gamma + beta`, over the last axis; x (..., width), gamma and beta
    (width,).

    >>> LayerNorm(2)([[1.0, 3.0]]).data.round(3)
    array([[-1.,  1.]])
    """

    def __init__(self, width: int, eps: float = 1e-5, dtype: Any = np.float64) -> None:
        self.gamma = Parameter(np.ones(width, dtype))
        self.beta = Parameter(np.zeros(width, dtype))
        self.eps = eps

    def forward(self, x: Any) -> Any:
        x = as_input(x, self.gamma._data.dtype)
        if x.shape[-1:] != self.gamma._data.shape:
            self._refuse(f"an input of shape (..., {self.gamma.size})", x)
        return F.layer_norm(x, self.gamma, self.beta, self.eps)

    def extra(self) -> str:
        return str(self.gamma.size)


class RMSNorm(Module):
    """Each row scaled to mean square 1, then `· gamma`: layer norm without the mean and without beta.

    >>> RMSNorm(2)([[3.0, 3.0]]).data.round(3)
    array([[1., 1.]])
    """

    def __init__(self, width: int, eps: float = 1e-5, dtype: Any = np.float64) -> None:
        self.gamma = Parameter(np.ones(width, dtype))
        self.eps = eps

    def forward(self, x: Any) -> Any:
        x = as_input(x, self.gamma._data.dtype)
        if x.shape[-1:] != self.gamma._data.shape:
            self._refuse(f"an input of shape (..., {self.gamma.size})", x)
        return F.rms_norm(x, self.gamma, self.eps)

    def extra(self) -> str:
        return str(self.gamma.size)
