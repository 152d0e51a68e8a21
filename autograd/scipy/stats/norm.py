"""The normal distribution; what is not here (`rvs`, `ppf`) is SciPy's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special as _scipy
from scipy.stats import norm as _norm

from ..special import log_ndtr


def __getattr__(name: str) -> Any:
    return getattr(_norm, name)


def logpdf(x: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """The logarithm of the density."""
    return -0.5 * ((x - loc) / scale) ** 2 - np.log(scale) - 0.5 * math.log(2.0 * math.pi)


def pdf(x: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """The density."""
    return np.exp(logpdf(x, loc, scale))


def cdf(x: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """The probability of a number up to x."""
    return _scipy.ndtr((x - loc) / scale)


def sf(x: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """The probability of a number above x."""
    return _scipy.ndtr((loc - x) / scale)


def logcdf(x: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """The logarithm of `cdf`, also far below the mean."""
    return log_ndtr((x - loc) / scale)


def logsf(x: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """The logarithm of `sf`, also far above the mean."""
    return log_ndtr((loc - x) / scale)
