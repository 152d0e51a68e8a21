"""The Dirichlet distribution; what is not here (`rvs`, `mean`) is SciPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special as _scipy
from scipy.stats import dirichlet as _dirichlet


def __getattr__(name: str) -> Any:
    return getattr(_dirichlet, name)


def logpdf(x: Any, alpha: Any) -> Any:
    """The logarithm of the density at x, whose first axis adds up to 1."""
    norm = _scipy.gammaln(np.sum(alpha)) - np.sum(_scipy.gammaln(alpha))
    return norm + np.sum((alpha - 1.0) * np.log(x).T, axis=-1)


def pdf(x: Any, alpha: Any) -> Any:
    """The density."""
    return np.exp(logpdf(x, alpha))
