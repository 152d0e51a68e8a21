"""Angles and their kin: inverse trigonometric and hyperbolic functions, degrees, sinc."""

import math

import numpy as np

from ..op import Op, samples
from ._functions import as_written, function
from .elementwise import BINARY, UNARY, by_kind, sqrt
from .reduce import over

INSIDE = samples(".", "3", "2,3", low=-0.8, high=0.8)

arcsin = Op("arcsin", forward=by_kind(math.asin, np.arcsin),
            vjp=lambda g, out, x: (g / sqrt(1 - x**2),),
            c="asin(x)", samples=INSIDE, numpy=np.arcsin, batch="align",
            doc="The angle, from -π/2 to π/2, whose sine is x; NaN outside -1 to 1.")

arccos = Op("arccos", forward=by_kind(math.acos, np.arccos),
            vjp=lambda g, out, x: (-g / sqrt(1 - x**2),),
            c="acos(x)", samples=INSIDE, numpy=np.arccos, batch="align",
            doc="The angle, from 0 to π, whose cosine is x; NaN outside -1 to 1.")

arctan2 = Op("arctan2", "arctan2(y, x)", forward=np.arctan2,
             vjp=lambda g, out, y, x: (g * x / (x**2 + y**2), -g * y / (x**2 + y**2)),
             c="atan2(y, x)", samples=BINARY, numpy=np.arctan2, batch="align",
             doc="The angle, from -π to π, of the point (x, y); y comes first.")

arcsinh = Op("arcsinh", forward=by_kind(math.asinh, np.arcsinh),
             vjp=lambda g, out, x: (g / sqrt(1 + x**2),),
             c="asinh(x)", samples=UNARY, numpy=np.arcsinh, batch="align", doc="The number whose hyperbolic sine is x.")

arccosh = Op("arccosh", forward=by_kind(math.acosh, np.arccosh),
             vjp=lambda g, out, x: (g / sqrt(x**2 - 1),),
             c="acosh(x)", samples=samples(".", "3", "2,3", low=1.3, high=3.0), numpy=np.arccosh, batch="align",
             doc="The number, 0 or more, whose hyperbolic cosine is x; NaN below 1.")

arctanh = Op("arctanh", forward=by_kind(math.atanh, np.arctanh),
             vjp=lambda g, out, x: (g / (1 - x**2),),
             c="atanh(x)", samples=INSIDE, numpy=np.arctanh, batch="align",
             doc="The number whose hyperbolic tangent is x; NaN outside -1 to 1.")

hypot = Op("hypot", forward=np.hypot,
           vjp=lambda g, out, x, y: (over(g, out) * x, over(g, out) * y),
           definition=lambda x, y: sqrt(x**2 + y**2),
           c="hypot(x, y)", samples=BINARY, numpy=np.hypot, batch="align",
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
    x = np.asarray(x)
    y = x.astype(np.result_type(x, np.float64)) * np.pi
    near = np.abs(y) < order + 1
    small, large = np.where(near, y, 0.0), np.where(near, 1.0, y)
    out = np.sin(large) / large
    for n in range(1, order + 1):  # y s⁽ⁿ⁾ + n s⁽ⁿ⁻¹⁾ is the n-th derivative of sin y
        out = (np.sin(large + n * np.pi / 2) - n * out) / large
    series = np.zeros_like(y)
    for k in range((order + 1) // 2, order + 25):
        falling = math.perm(2 * k, order) / math.factorial(2 * k + 1)
        series = series + (-1) ** k * falling * small ** (2 * k - order)
    return (np.where(near, series, out) * np.pi**order).astype(x.dtype if x.dtype.kind == "f" else np.float64)[()]


sinc = Op("sinc", "sinc(x, order=order)", normalize=_normalize_sinc,
          forward=_sinc,
          vjp=lambda g, out, x, *, order: (g * sinc(x, order + 1),),
          written=as_written(_sinc, "sinc"),
          samples=(*UNARY, *samples("3", order=1)), numpy=np.sinc, batch="align",
          doc="`sin(πx) / (πx)`, and 1 at 0; with `order`, its derivative of that order.")
