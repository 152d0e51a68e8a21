"""The gamma distribution of scale 1; what is not here (`rvs`, `ppf`) is SciPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special as _scipy
from scipy.stats import gamma as _gamma

from ..special import gammainc


def __getattr__(name: str) -> Any:
    return getattr(_gamma, name)


def logpdf(x: Any, a: Any) -> Any:
    """The logarithm of the density."""
    return (a - 1.0) * np.log(x) - x - _scipy.gammaln(a)


def pdf(x: Any, a: Any) -> Any:
    """The density."""
    return np.exp(logpdf(x, a))


def cdf(x: Any, a: Any) -> Any:
    """The probability of a number up to x; its gradient with respect to a is not known."""
    return gammainc(a, x)
