"""scipy.special on Values: each function's slope with respect to its last argument, in a table.

>>> from autograd import grad
>>> f"{grad(gamma)(3.0):.6f}"
'1.845569'
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special as _scipy
from scipy.special import *  # noqa: F403

from autograd.engine import Value
from autograd.extend import defvjp, getval, primitive
from autograd.op import OPS

_HALF_ROOT_PI = 0.5 * math.sqrt(math.pi)


def _with_slope(name: str, slope: Callable[..., Any] | None, argument: int = 0) -> Any:
    """A function of scipy.special as an op with one slope; `slope(ans, *args)`, None: 0 everywhere."""
    made = primitive(getattr(_scipy, name))
    rule = None if slope is None else lambda ans, *args: lambda g: g * slope(ans, *args)
    defvjp(made, rule, argnums=[argument])
    return made


# Derivatives as the Digital Library of Mathematical Functions has them: chapters 5, 7, 8 and 10.
polygamma: Any = _with_slope("polygamma", lambda ans, n, x: polygamma(n + 1, x), 1)
psi: Any = _with_slope("psi", lambda ans, x: polygamma(1, x))
digamma = psi
gamma: Any = _with_slope("gamma", lambda ans, x: ans * psi(x))
gammasgn: Any = _with_slope("gammasgn", None)
rgamma: Any = _with_slope("rgamma", lambda ans, x: -ans * psi(x))
gammainc: Any = _with_slope("gammainc", lambda ans, a, x: np.exp((a - 1.0) * np.log(x) - x - _scipy.gammaln(a)), 1)
gammaincc: Any = _with_slope("gammaincc", lambda ans, a, x: -np.exp((a - 1.0) * np.log(x) - x - _scipy.gammaln(a)), 1)
betainc: Any = _with_slope(
    "betainc", lambda ans, a, b, x: np.exp((a - 1.0) * np.log(x) + (b - 1.0) * np.log(1.0 - x) - _scipy.betaln(a, b)), 2
)
erfinv: Any = _with_slope("erfinv", lambda ans, x: _HALF_ROOT_PI * np.exp(ans**2))
erfcinv: Any = _with_slope("erfcinv", lambda ans, x: -_HALF_ROOT_PI * np.exp(ans**2))
log_ndtr: Any = _with_slope("log_ndtr", lambda ans, x: np.exp(-0.5 * x**2 - ans) / math.sqrt(2.0 * math.pi))
j1: Any = _with_slope("j1", lambda ans, x: 0.5 * (j0(x) - jn(2, x)))
j0: Any = _with_slope("j0", lambda ans, x: -j1(x))
y1: Any = _with_slope("y1", lambda ans, x: 0.5 * (y0(x) - yn(2, x)))
y0: Any = _with_slope("y0", lambda ans, x: -y1(x))
jn: Any = _with_slope("jn", lambda ans, n, x: 0.5 * (jn(n - 1, x) - jn(n + 1, x)), 1)
yn: Any = _with_slope("yn", lambda ans, n, x: 0.5 * (yn(n - 1, x) - yn(n + 1, x)), 1)
iv: Any = _with_slope("iv", lambda ans, n, x: 0.5 * (iv(n - 1, x) + iv(n + 1, x)), 1)
ive: Any = _with_slope("ive", lambda ans, n, x: ans * (n / x - np.sign(x)) + ive(n + 1, x), 1)
i0: Any = _with_slope("i0", lambda ans, x: i1(x))
i1: Any = _with_slope("i1", lambda ans, x: 0.5 * (i0(x) + iv(2, x)))


def beta(a: Any, b: Any) -> Any:
    """Γ(a) Γ(b) / Γ(a + b)."""
    return np.exp(_scipy.betaln(a, b))


def multigammaln(a: Any, d: int) -> Any:
    """The logarithm of the gamma function of d dimensions."""
    return 0.25 * d * (d - 1) * math.log(math.pi) + sum(_scipy.gammaln(a - 0.5 * i) for i in range(d))


def logsumexp(a: Any, axis: Any = None, b: Any = None, keepdims: bool = False) -> Any:
    """`log(sum(b * exp(a)))` without overflow."""
    if b is None:
        return OPS["logsumexp"](a, axis=axis, keepdims=keepdims)
    top = np.max(getval(a), axis=axis, keepdims=True)
    total = np.log(np.sum(b * np.exp(a - top), axis=axis, keepdims=keepdims))
    return total + (top if keepdims else np.squeeze(top, axis))


def softmax(x: Any, axis: Any = None) -> Any:
    """exp(x) divided by its sum, over all axes if none is named."""
    return OPS["softmax"](x, axis=tuple(range(np.ndim(x))) if axis is None else axis)


def log_softmax(x: Any, axis: Any = None) -> Any:
    """The logarithm of `softmax`."""
    return x - logsumexp(x, axis, keepdims=True) if isinstance(x, Value) else _scipy.log_softmax(x, axis)
