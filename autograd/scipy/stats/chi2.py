"""The chi-squared distribution: twice a gamma of half the degrees; what is not here (`rvs`, `ppf`) is SciPy's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.stats import chi2 as _chi2

from . import gamma


def __getattr__(name: str) -> Any:
    return getattr(_chi2, name)


def logpdf(x: Any, df: Any) -> Any:
    """The logarithm of the density."""
    return gamma.logpdf(0.5 * x, 0.5 * df) - math.log(2.0)


def pdf(x: Any, df: Any) -> Any:
    """The density."""
    return np.exp(logpdf(x, df))


def cdf(x: Any, df: Any) -> Any:
    """The probability of a number up to x; its gradient with respect to df is not known."""
    return gamma.cdf(0.5 * x, 0.5 * df)
