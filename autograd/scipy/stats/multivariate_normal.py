"""The normal distribution of vectors; what is not here (`rvs`) is SciPy's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.stats import multivariate_normal as _normal

from autograd.extend import getval

_LOG_2PI = math.log(2.0 * math.pi)


def __getattr__(name: str) -> Any:
    return getattr(_normal, name)


def _inverse(cov: Any, allow_singular: bool) -> tuple[Any, Any, int]:
    """The inverse, the logarithm of the determinant, and the rank; if singular, along the axes that have a variance."""
    if not allow_singular:
        return np.linalg.inv(cov), np.linalg.slogdet(cov)[1], cov.shape[-1]
    spreads = np.linalg.eigvalsh(getval(cov))
    real = spreads > 1e6 * np.finfo(float).eps * np.abs(spreads).max()
    return np.linalg.pinv(cov, hermitian=True), np.log(spreads[real]).sum(), int(real.sum())


def logpdf(x: Any, mean: Any = None, cov: Any = 1.0, allow_singular: bool = False) -> Any:
    """The logarithm of the density at each vector, along the last axis of x."""
    off = x if mean is None else x - mean
    size = np.shape(off)[-1] if np.ndim(off) else 1
    cov = cov if np.ndim(cov) == 2 else cov * np.eye(size)
    inverse, log_det, rank = _inverse(cov, allow_singular)
    off = off if np.ndim(off) else np.reshape(off, (1,))
    return -0.5 * (np.sum((off @ inverse) * off, axis=-1) + log_det + rank * _LOG_2PI)


def pdf(x: Any, mean: Any = None, cov: Any = 1.0, allow_singular: bool = False) -> Any:
    """The density."""
    return np.exp(logpdf(x, mean, cov, allow_singular))


def entropy(mean: Any = None, cov: Any = 1.0) -> Any:
    """The entropy, in nats; it does not depend on the mean."""
    cov = cov if np.ndim(cov) == 2 else cov * np.eye(1 if mean is None else np.size(mean))
    return 0.5 * (np.linalg.slogdet(cov)[1] + cov.shape[-1] * (1.0 + _LOG_2PI))
