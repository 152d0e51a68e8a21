"""How parameters start: explicit, seeded, the same bits on every run.

`rng` is a NumPy Generator, an integer (a seed), or None: numbers that differ from run to run, unless `nn.seed(0)`
was called.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

__all__ = ["generator", "glorot", "he", "linear", "normal", "seed", "uniform"]

_source = np.random.default_rng()  # what gives a Generator to those who name none


def seed(number: int) -> None:
    """Make all that follows the same on every run: layers and dropouts that are given no `rng` of their own.

    >>> seed(0)
    >>> first = normal(None, (2,))
    >>> seed(0)
    >>> bool((normal(None, (2,)) == first).all())
    True
    """
    global _source
    _source = np.random.default_rng(number)


def generator(rng: Any = None) -> np.random.Generator:
    """A Generator from a seed, or the one given: a module hands its own to each of its layers, in order.

    >>> int(generator(0).integers(100))
    85
    """
    if rng is None:
        return _source.spawn(1)[0]
    if isinstance(rng, np.random.Generator | int | np.integer):
        return np.random.default_rng(rng)
    raise TypeError(f"rng is a seed (an integer), a numpy.random.Generator, or None; got {rng!r:.60}")


def normal(rng: Any, shape: tuple[int, ...], std: float = 1.0, dtype: Any = np.float64) -> np.ndarray:
    """Draws from the normal distribution with mean 0.

    >>> normal(0, (2,)).round(4)
    array([ 0.1257, -0.1321])
    """
    return (generator(rng).standard_normal(shape) * std).astype(dtype)


def uniform(rng: Any, shape: tuple[int, ...], bound: float = 1.0, dtype: Any = np.float64) -> np.ndarray:
    """Draws between -bound and bound, all equally likely.

    >>> uniform(0, (2,), bound=0.5).round(4)
    array([ 0.137 , -0.2302])
    """
    return generator(rng).uniform(-bound, bound, shape).astype(dtype)


def linear(rng: Any, n_in: int, n_out: int, dtype: Any = np.float64) -> np.ndarray:
    """A weight (n_in, n_out) uniform in ±1/√n_in, as torch's Linear starts: outputs neither vanish nor blow up."""
    return uniform(rng, (n_in, n_out), 1.0 / math.sqrt(max(n_in, 1)), dtype)


def he(rng: Any, n_in: int, n_out: int, dtype: Any = np.float64) -> np.ndarray:
    """A weight (n_in, n_out) normal with std √(2/n_in): keeps the variance through a ReLU."""
    return normal(rng, (n_in, n_out), math.sqrt(2.0 / max(n_in, 1)), dtype)


def glorot(rng: Any, n_in: int, n_out: int, dtype: Any = np.float64) -> np.ndarray:
    """A weight (n_in, n_out) uniform in ±√(6/(n_in + n_out)): keeps the variance forwards and backwards."""
    return uniform(rng, (n_in, n_out), math.sqrt(6.0 / max(n_in + n_out, 1)), dtype)
