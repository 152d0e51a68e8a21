"""Optimizers for `grad(x, i)`, where x is an array or any nest of them: `adam(grad(loss), params, num_iters=100)`.

`callback(x, i, gradient)` is called before each step. To train modules, `nn.optim` has more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .flatten import flatten

__all__ = ["adam", "rmsprop", "sgd"]

Gradient = Callable[[Any, int], Any]
Callback = Callable[[Any, int, Any], Any] | None


def _descend(grad: Gradient, x0: Any, callback: Callback, num_iters: int, step: Callable[[Any, int], Any]) -> Any:
    """Add `step(gradient, i)` to the numbers, again and again."""
    x, unflatten = flatten(x0)
    for i in range(num_iters):
        at = unflatten(x)
        slope = grad(at, i)
        if callback:
            callback(at, i, slope)
        x = x + step(flatten(slope)[0], i)
    return unflatten(x)


def sgd(
    grad: Gradient, x0: Any, callback: Callback = None, num_iters: int = 200, step_size: float = 0.1, mass: float = 0.9
) -> Any:
    """Gradient descent with momentum.

    >>> round(sgd(lambda x, i: 2 * x, 1.0, num_iters=100), 3)
    0.004
    """
    velocity: Any = 0.0

    def step(g: Any, i: int) -> Any:
        nonlocal velocity
        velocity = mass * velocity - (1.0 - mass) * g
        return step_size * velocity

    return _descend(grad, x0, callback, num_iters, step)


def rmsprop(
    grad: Gradient, x0: Any, callback: Callback = None, num_iters: int = 100, step_size: float = 0.1,
    gamma: float = 0.9, eps: float = 1e-8,
) -> Any:  # fmt: skip
    """Each gradient divided by the root of its mean square."""
    square: Any = 1.0

    def step(g: Any, i: int) -> Any:
        nonlocal square
        square = square * gamma + g**2 * (1.0 - gamma)
        return -step_size * g / (np.sqrt(square) + eps)

    return _descend(grad, x0, callback, num_iters, step)


def adam(
    grad: Gradient, x0: Any, callback: Callback = None, num_iters: int = 100, step_size: float = 0.001,
    b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8,
) -> Any:  # fmt: skip
    """Adam: mean gradients, divided by the root of mean squares."""
    m: Any = 0.0
    v: Any = 0.0

    def step(g: Any, i: int) -> Any:
        nonlocal m, v
        m, v = (1.0 - b1) * g + b1 * m, (1.0 - b2) * g**2 + b2 * v
        return -step_size * (m / (1.0 - b1 ** (i + 1))) / (np.sqrt(v / (1.0 - b2 ** (i + 1))) + eps)

    return _descend(grad, x0, callback, num_iters, step)
