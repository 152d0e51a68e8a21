"""Functions of each number alone, under torch's names; `relu`, `tanh` and their kin are `autograd`'s own ops."""

from __future__ import annotations

import autograd as ag

from .checks import Array, as_floats


def leaky_relu(x: Array, negative_slope: float = 0.01) -> Array:
    """x above 0, `negative_slope · x` below.

    >>> import numpy as np
    >>> leaky_relu(np.array([-1.0, 2.0]), 0.1).tolist()
    [-0.1, 2.0]
    """
    return ag.leaky_relu(as_floats(x), negative_slope)


def elu(x: Array, alpha: float = 1.0) -> Array:
    """x above 0, `alpha · (eˣ - 1)` below."""
    x = as_floats(x)
    return ag.where(x > 0, x, alpha * ag.expm1(ag.minimum(x, 0.0)))


def softplus(x: Array, beta: float = 1.0) -> Array:
    """`log(1 + exp(beta · x)) / beta`: relu with its corner rounded off."""
    x = as_floats(x)
    return ag.softplus(x) if beta == 1.0 else ag.softplus(beta * x) / beta


def hardtanh(x: Array, min_val: float = -1.0, max_val: float = 1.0) -> Array:
    """x, cut off below and above."""
    return ag.clip(as_floats(x), min_val, max_val)


def logsigmoid(x: Array) -> Array:
    """`log(sigmoid(x))`, without overflow."""
    return -ag.softplus(-as_floats(x))
