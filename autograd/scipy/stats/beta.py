"""The beta distribution; what is not here (`rvs`, `ppf`) is SciPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special as _scipy
from scipy.stats import beta as _beta

from ..special import betainc


def __getattr__(name: str) -> Any:
    return getattr(_beta, name)


def logpdf(x: Any, a: Any, b: Any) -> Any:
    """The logarithm of the density."""
    return (a - 1.0) * np.log(x) + (b - 1.0) * np.log1p(-x) - _scipy.betaln(a, b)


def pdf(x: Any, a: Any, b: Any) -> Any:
    """The density."""
    return np.exp(logpdf(x, a, b))


def cdf(x: Any, a: Any, b: Any) -> Any:
    """The probability of a number up to x; its gradients with respect to a and b are not known."""
    return betainc(a, b, x)
