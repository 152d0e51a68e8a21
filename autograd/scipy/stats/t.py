"""Student's t distribution; what is not here (`rvs`, `ppf`) is SciPy's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special as _scipy
from scipy.stats import t as _t

from autograd.extend import defvjp, primitive


def __getattr__(name: str) -> Any:
    return getattr(_t, name)


def logpdf(x: Any, df: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """The logarithm of the density."""
    z = (x - loc) / scale
    norm = _scipy.gammaln(0.5 * (df + 1.0)) - _scipy.gammaln(0.5 * df) - 0.5 * np.log(df * math.pi) - np.log(scale)
    return norm - 0.5 * (df + 1.0) * np.log1p(z**2 / df)


def pdf(x: Any, df: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """The density."""
    return np.exp(logpdf(x, df, loc, scale))


_below = primitive(_scipy.stdtr)
defvjp(_below, lambda ans, df, z: lambda g: g * pdf(z, df), argnums=[1])


def cdf(x: Any, df: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """The probability of a number up to x; its gradient with respect to df is not known."""
    return _below(df, (x - loc) / scale)


def logcdf(x: Any, df: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """The logarithm of `cdf`."""
    return np.log(cdf(x, df, loc, scale))
