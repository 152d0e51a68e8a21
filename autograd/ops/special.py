"""Special functions: the gamma function's logarithm and its derivatives, erfc, logit; and SciPy's names.

`scipy.special.expit(v)` works where SciPy is in use: its functions ask a Value as NumPy's do. Nothing here imports it.
"""

import math

import numpy as np

from autograd.arrays.numpy_calls import answers_scipy
from autograd.op import Op
from autograd.samples import samples

from ._functions import as_written, function
from .elementwise import POSITIVE, UNARY, erf, exp, log, log1p, sigmoid, softplus, xlogy


def each_number(f):
    """One of Python's functions on each number of an array, in its precision."""
    every = np.vectorize(f, otypes=[np.float64])

    def on(x):
        if x.__class__ is float:
            return f(x)
        x = np.asarray(x)
        out = every(x) if x.size else np.zeros(x.shape)
        return out.astype(x.dtype if x.dtype.kind == "f" else np.float64)[()]

    return on


def _gammaln(x):
    pole = x <= 0 and (math.isinf(x) or x == math.floor(x))
    return math.inf if pole else math.lgamma(x)


gammaln = Op("gammaln", forward=each_number(_gammaln),
             vjp=lambda g, out, x: (g * digamma(x),),
             written="def gammaln(x):\n"
                     "    log = lambda t: math.inf if t in (0, -math.inf) or t < 0 == t % 1 else math.lgamma(t)\n"
                     "    return np.vectorize(log, otypes=[np.float64])(x).astype(np.asarray(x).dtype)",
             c="lgamma(x)", samples=POSITIVE, batch="align",
             doc="The logarithm of the gamma function's size: log((x - 1)!) for integers x.")


def _digamma(x, *, order):
    """By the recurrence up to where the asymptotic series has all digits, then by the series."""
    bernoulli = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)
    x = np.asarray(x)
    z = np.where(x < -1e4, np.nan, x).astype(np.float64)  # so far below 0, too many steps would be needed
    sign, factorial = (-1.0) ** (order + 1), math.factorial(order)
    far = 15.0 + 2 * order
    out = np.zeros(z.shape)
    while np.any(z < far):
        low = z < far
        out = out + np.where(low, sign * factorial / np.where(low, z, 1.0) ** (order + 1), 0.0)
        z = np.where(low, z + 1.0, z)
    series = np.log(z) if order == 0 else sign * math.factorial(order - 1) / z**order
    series = series + sign * factorial / (2 * z ** (order + 1))
    for k, number in enumerate(bernoulli, 1):
        power = math.factorial(2 * k + order - 1) / math.factorial(2 * k)
        series = series + sign * number * power / z ** (2 * k + order)
    return (out + series).astype(x.dtype if x.dtype.kind == "f" else np.float64)[()]


digamma = Op("digamma", "digamma(x, order=order)",
             normalize=lambda x, order=0: ((x,), {"order": int(order)}),
             forward=np.errstate(divide="ignore", invalid="ignore")(_digamma),
             vjp=lambda g, out, x, *, order: (g * digamma(x, order=order + 1),),
             written=as_written(_digamma, "digamma"),
             samples=(*POSITIVE, *samples("3", low=0.3, high=2.5, order=1)), batch="align",
             doc="The derivative of gammaln; with `order`, its own derivative of that order, also called polygamma.")

erfc = Op("erfc", forward=each_number(math.erfc),
          vjp=lambda g, out, x: (-g * (2 / math.sqrt(math.pi)) * exp(-(x**2)),),
          definition=lambda x: 1 - erf(x),
          written="def erfc(x):\n"
                  "    return np.vectorize(math.erfc, otypes=[np.float64])(x).astype(np.asarray(x).dtype)",
          c="erfc(x)", samples=UNARY, batch="align", doc="`1 - erf(x)`, with all digits also where x is large.")


@function(method=True)
def logit(x):
    """The number whose sigmoid is x, `log(x / (1 - x))`.

    >>> logit(0.5)
    0.0
    """
    return log(x) - log1p(-x)


# SciPy's names. What is no op of ours is written with ops.
answers_scipy("expit")(sigmoid)
answers_scipy("erf")(erf)
answers_scipy("erfc")(erfc)
answers_scipy("gammaln")(gammaln)
answers_scipy("digamma", "psi")(lambda x: digamma(x))
answers_scipy("xlogy")(xlogy)
answers_scipy("logit")(logit)
answers_scipy("xlog1py")(lambda x, y: xlogy(x, 1.0 + y))
answers_scipy("log_expit")(lambda x: -softplus(-x))
answers_scipy("ndtr")(lambda x: 0.5 * erfc(x * -math.sqrt(0.5)))
answers_scipy("entr")(lambda x: -xlogy(x, x))
answers_scipy("rel_entr")(lambda x, y: xlogy(x, x) - xlogy(x, y))
answers_scipy("kl_div")(lambda x, y: xlogy(x, x) - xlogy(x, y) - x + y)
answers_scipy("betaln")(lambda a, b: gammaln(a) + gammaln(b) - gammaln(a + b))
