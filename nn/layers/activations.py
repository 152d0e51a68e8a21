"""Functions as modules, for `Sequential`: activations, Flatten, Identity. Each calls the function of its name."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import autograd as ag
from nn import functional as F
from nn.module import Module, as_input


def _floats(x: Any) -> Any:
    return as_input(x, getattr(x, "dtype", np.dtype(np.float64)))


class Identity(Module):
    """x as it is, whatever it is made with."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def forward(self, x: Any) -> Any:
        """x as it is."""
        return x


class Flatten(Module):
    """The axes from start_dim to end_dim as one: (batch, channels, rows, columns) → (batch, numbers).

    >>> Flatten()(np.ones((2, 3, 4, 4))).shape
    (2, 48)
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, x: Any) -> Any:
        """x with some axes as one."""
        x = _floats(x)
        start, end = self.start_dim % x.ndim, self.end_dim % x.ndim
        return ag.reshape(x, (*x.shape[:start], math.prod(x.shape[start : end + 1]), *x.shape[end + 1 :]))


class ReLU(Module):
    """`max(x, 0)`.

    >>> ReLU()([-1.0, 2.0]).tolist()
    [0.0, 2.0]
    """

    def __init__(self, inplace: bool = False) -> None:
        pass  # nothing here is changed in place

    def forward(self, x: Any) -> Any:
        """`max(x, 0)`."""
        return F.relu(_floats(x))


class LeakyReLU(Module):
    """x above 0, `negative_slope · x` below."""

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        self.negative_slope = negative_slope

    def forward(self, x: Any) -> Any:
        """x above 0, `negative_slope · x` below."""
        return F.leaky_relu(_floats(x), self.negative_slope)


class ELU(Module):
    """x above 0, `alpha · (eˣ - 1)` below."""

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        self.alpha = alpha

    def forward(self, x: Any) -> Any:
        """x above 0, `alpha · (eˣ - 1)` below."""
        return F.elu(_floats(x), self.alpha)


class GELU(Module):
    """x times the normal distribution function; approximate="tanh" as in GPT-2."""

    def __init__(self, approximate: str = "none") -> None:
        self.approximate = approximate

    def forward(self, x: Any) -> Any:
        """x times the normal distribution function."""
        return F.gelu(_floats(x), self.approximate)


class Softplus(Module):
    """`log(1 + exp(beta · x)) / beta`."""

    def __init__(self, beta: float = 1.0) -> None:
        self.beta = beta

    def forward(self, x: Any) -> Any:
        """`log(1 + exp(beta · x)) / beta`."""
        return F.softplus(_floats(x), self.beta)


class Softmax(Module):
    """exp(x), each divided by the sum along an axis, by default the last."""

    def __init__(self, dim: int = -1) -> None:
        self.dim = dim

    def forward(self, x: Any) -> Any:
        """Numbers that add up to 1 along the axis."""
        return F.softmax(_floats(x), self.dim)


class LogSoftmax(Softmax):
    """The logarithm of `Softmax`."""

    def forward(self, x: Any) -> Any:
        """`log(softmax(x))`."""
        return F.log_softmax(_floats(x), self.dim)


class Hardtanh(Module):
    """x, cut off below min_val and above max_val."""

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> None:
        self.min_val, self.max_val = min_val, max_val

    def forward(self, x: Any) -> Any:
        """x, cut off on both sides."""
        return F.hardtanh(_floats(x), self.min_val, self.max_val)


class Tanh(Module):
    """The hyperbolic tangent."""

    def forward(self, x: Any) -> Any:
        """`tanh(x)`."""
        return F.tanh(_floats(x))


class Sigmoid(Module):
    """`1 / (1 + exp(-x))`."""

    def forward(self, x: Any) -> Any:
        """`sigmoid(x)`."""
        return F.sigmoid(_floats(x))


class LogSigmoid(Module):
    """`log(sigmoid(x))`."""

    def forward(self, x: Any) -> Any:
        """`log(sigmoid(x))`."""
        return F.logsigmoid(_floats(x))


class SiLU(Module):
    """`x · sigmoid(x)`."""

    def __init__(self, inplace: bool = False) -> None:
        pass  # nothing here is changed in place

    def forward(self, x: Any) -> Any:
        """`x · sigmoid(x)`."""
        return F.silu(_floats(x))
