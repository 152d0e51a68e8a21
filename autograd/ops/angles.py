"""Angles and their kin: inverse trigonometric and hyperbolic functions, degrees, sinc."""

import math

import numpy as np

from autograd.op import Op
from autograd.samples import samples

from ._functions import function
from .arithmetic import equal
from .elementwise import (
    BINARY,
    LN2,
    UNARY,
    abs_,
    arctan,
    by_kind,
    fmax,
    log,
    log1p,
    maximum,
    minimum,
    on_numbers,
    sin,
    sqrt,
    where,
)  # fmt: skip
from .reduce import over

INSIDE = samples(".", "3", "2,3", low=-0.8, high=0.8)

arcsin = Op("arcsin", forward=by_kind(math.asin, np.arcsin),
            vjp=lambda g, out, x: (g / sqrt(1 - x**2),),
            lower=lambda x: arctan(x / sqrt((1.0 - x) * (1.0 + x))),
            samples=INSIDE, numpy=np.arcsin, batch="align",
            doc="The angle, from -π/2 to π/2, whose sine is x; NaN outside -1 to 1.")

arccos = Op("arccos", forward=by_kind(math.acos, np.arccos),
            vjp=lambda g, out, x: (-g / sqrt(1 - x**2),),
            lower=lambda x: 2.0 * arctan(sqrt((1.0 - x) / (1.0 + x))),
            samples=INSIDE, numpy=np.arccos, batch="align",
            doc="The angle, from 0 to π, whose cosine is x; NaN outside -1 to 1.")

arctan2 = Op("arctan2", "arctan2(y, x)", forward=on_numbers(np.arctan2),
             vjp=lambda g, out, y, x: (g * x / (x**2 + y**2), -g * y / (x**2 + y**2)),
             c="atan2(y, x)", samples=BINARY, numpy=np.arctan2, batch="align",
             doc="The angle, from -π to π, of the point (x, y); y comes first.")

LARGE = 2.0**28  # from here on, x² + 1 and x² are one number, and sqrt(x² ± 1) is x


def _arcsinh_lowered(x):
    size = abs_(x)
    t = minimum(size, LARGE)
    out = where(size > LARGE, log(size) + LN2, log1p(t + t * t / (1.0 + sqrt(1.0 + t * t))))
    return where(x > 0, out, where(x < 0, -out, x))


def _arccosh_lowered(x):
    t = minimum(x, LARGE) - 1.0
    return where(x > LARGE, log(x) + LN2, log1p(t + sqrt(t) * sqrt(2.0 + t)))


def _hypot_lowered(x, y):
    """Divided by the larger, so that no square overflows; infinite where one is, whatever the other."""
    large, small = maximum(abs_(x), abs_(y)), minimum(abs_(x), abs_(y))
    ratio = small / where(equal(large, 0.0), 1.0, large)
    return where(equal(fmax(abs_(x), abs_(y)), math.inf), math.inf, large * sqrt(1.0 + ratio * ratio))


arcsinh = Op("arcsinh", forward=by_kind(math.asinh, np.arcsinh),
             vjp=lambda g, out, x: (g / sqrt(1 + x**2),), lower=_arcsinh_lowered,
             samples=UNARY, numpy=np.arcsinh, batch="align", doc="The number whose hyperbolic sine is x.")

arccosh = Op("arccosh", forward=by_kind(math.acosh, np.arccosh),
             vjp=lambda g, out, x: (g / sqrt(x**2 - 1),), lower=_arccosh_lowered,
             samples=samples(".", "3", "2,3", low=1.3, high=3.0), numpy=np.arccosh, batch="align",
             doc="The number, 0 or more, whose hyperbolic cosine is x; NaN below 1.")

arctanh = Op("arctanh", forward=by_kind(math.atanh, np.arctanh),
             vjp=lambda g, out, x: (g / (1 - x**2),), lower=lambda x: (log1p(x) - log1p(-x)) / 2.0,
             samples=INSIDE, numpy=np.arctanh, batch="align",
             doc="The number whose hyperbolic tangent is x; NaN outside -1 to 1.")

hypot = Op("hypot", forward=on_numbers(np.hypot),
           vjp=lambda g, out, x, y: (over(g, out) * x, over(g, out) * y),
           definition=lambda x, y: sqrt(x**2 + y**2), lower=_hypot_lowered,
           samples=BINARY, numpy=np.hypot, batch="align",
           doc="`sqrt(x**2 + y**2)`, without overflow; its derivative at (0, 0) is 0.")


@function(np.degrees, np.rad2deg)
def degrees(x):
    """An angle in radians as one in degrees, `x * 180 / π`."""
    return x * (180 / math.pi)


@function(np.radians, np.deg2rad)
def radians(x):
    """An angle in degrees as one in radians, `x * π / 180`."""
    return x * (math.pi / 180)


# --- sinc: each derivative is again finite at 0 -------------------------------------------------------------


def _normalize_sinc(x, order=0):
    return (x,), {"order": int(order)}


def _sinc(x, *, order):
    """The derivative of sin(πx) / πx of this order: a series near 0, where the recurrence would cancel."""
    y = x * math.pi
    near = abs_(y) < order + 1
    small, large = where(near, y, 0.0), where(near, 1.0, y)
    far = sin(large) / large
    for n in range(1, order + 1):  # y s⁽ⁿ⁾ + n s⁽ⁿ⁻¹⁾ is the n-th derivative of sin y
        far = (sin(large + n * math.pi / 2) - n * far) / large
    series = 0.0
    for k in range(order + 24, (order + 1) // 2 - 1, -1):
        falling = math.perm(2 * k, order) / math.factorial(2 * k + 1)
        series = series * (small * small) + (-1) ** k * falling
    return where(near, series * small if order % 2 else series, far) * math.pi**order


sinc = Op("sinc", "sinc(x, order=order)", normalize=_normalize_sinc,
          forward=_sinc, lower=_sinc,
          vjp=lambda g, out, x, *, order: (g * sinc(x, order + 1),),
          samples=(*UNARY, *samples("3", order=1)), numpy=np.sinc, batch="align",
          doc="`sin(πx) / (πx)`, and 1 at 0; with `order`, its derivative of that order.")
