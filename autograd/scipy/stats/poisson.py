"""The Poisson distribution; what is not here (`rvs`, `ppf`) is SciPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special as _scipy
from scipy.stats import poisson as _poisson

from ..special import gammaincc


def __getattr__(name: str) -> Any:
    return getattr(_poisson, name)


def logpmf(k: Any, mu: Any) -> Any:
    """The logarithm of the probability of k."""
    return k * np.log(mu) - mu - _scipy.gammaln(k + 1.0)


def pmf(k: Any, mu: Any) -> Any:
    """The probability of k."""
    return np.exp(logpmf(k, mu))


def cdf(k: Any, mu: Any) -> Any:
    """The probability of a number up to k."""
    return gammaincc(np.floor(k) + 1.0, mu)
