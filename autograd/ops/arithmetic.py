"""Arithmetic and comparisons: what Python's operators do."""

import math
import operator

import numpy as np

from autograd.about import About, other_factor
from autograd.op import OPS, Op, nothing
from autograd.samples import Sample, samples

BINARY = samples(". .", "2,3 2,3", "2,3 3", "2,1 1,3", ". 2,3", "2,3 .", "0,3 3")
NONZERO = samples(". .", "2,3 2,3", "2,3 3", "2,1 1,3", ". 2,3", "2,3 .", low=0.5, high=2.0)

add = Op("add", "x + y",
         forward=operator.add,
         vjp=lambda g, out, x, y: (g, g),
         c="x + y", samples=BINARY, numpy=np.add, batch="align",
         about=About(rule="A sum hands the gradient on unchanged: one more in a term is one more in the sum."),
         doc="The sum, `x + y`.")

sub = Op("sub", "x - y",
         forward=operator.sub,
         vjp=lambda g, out, x, y: (g, -g),
         c="x - y", samples=BINARY, numpy=np.subtract, batch="align",
         about=About(rule="A difference hands the gradient on unchanged to the first term, and with its sign turned "
                          "to the second.",
                     bad="Infinity minus infinity is NaN: look for the infinities before it."),
         doc="The difference, `x - y`.")

mul = Op("mul", "x * y",
         forward=operator.mul,
         vjp=lambda g, out, x, y: (g * y, g * x),
         c="x * y", samples=BINARY, numpy=np.multiply, batch="align",
         about=About(rule="A product sends to each factor the gradient times the other factor.",
                     small=other_factor,
                     bad="0 times infinity is NaN: look for the infinity before it."),
         doc="The product, number by number, `x * y`.")

div = Op("div", "x / y",
         forward=operator.truediv,
         vjp=(lambda g, out, x, y: g / y,
              lambda g, out, x, y: -g * out / y),
         c="x / y", samples=NONZERO, numpy=np.divide, batch="align",
         about=About(rule="A quotient sends the gradient divided by the divisor; the divisor itself gets it with a "
                          "minus sign.",
                     bad="Keep the divisor away from 0: x / (y + 1e-12)."),
         doc="The quotient, `x / y`; what divides by 0 is infinite or NaN, as in NumPy.")

neg = Op("neg", "-x",
         forward=operator.neg,
         vjp=lambda g, out, x: (-g,),
         c="-x", samples=samples(".", "2,3"), numpy=np.negative, batch="align",
         about=About(rule="A minus sign turns the gradient's sign."),
         doc="x with its sign turned, `-x`.")


def _is_real_array(x):
    return x.__class__ is np.ndarray and x.dtype.kind == "f"


def _power(x, y):
    """x ** y, real: a negative base with a fractional exponent is NaN, never a complex number."""
    if y.__class__ in (int, float) and (y == 3 or y == 4) and _is_real_array(x):  # NumPy's power takes 10 times as long
        square = x * x
        return square * (x if y == 3 else square)
    out = x**y
    if out.__class__ is np.ndarray and out.dtype.kind in "iu" and x.dtype.kind == "b":
        return _power(x * 1.0, y)  # NumPy counts in int8 here
    return float("nan") if out.__class__ is complex else out


power = Op("power", "x ** y",
           forward=_power,
           vjp=(lambda g, out, x, y: g * power_slope(x, y),
                lambda g, out, x, y: g * exponent_slope(x, y)),
           c="pow(x, y)", samples=(*NONZERO, Sample(". .", low=1.0)), numpy=np.power, batch="align",
           about=About(rule="A power x ** n has the slope n · x ** (n − 1).",
                       bad="A fractional power needs a base above 0; at 0 its slope may be infinite."),
           doc="`x ** y`; both may be Values.")


def _power_slope(x, y):
    """y * x ** (y - 1), and 0 where y is 0: x ** 0 is flat also at x = 0."""
    if y.__class__ in (int, float) and (x.__class__ is float or _is_real_array(x)):
        return y * _power(x, y - 1) if y else 0.0 if x.__class__ is float else np.zeros_like(x)
    return np.where(np.equal(y, 0), 0.0, y * np.power(x, np.where(np.equal(y, 0), 1, np.subtract(y, 1.0))))


power_slope = Op("power_slope", "power_slope(x, y)",
                 forward=_power_slope,
                 # where y is 0 the slope is 0 everywhere; 0 * inf at x = 0 must not make it NaN.
                 # 1.0, not 1: y may be an array of small integers, and np.int8(-128) - 1 is 127
                 vjp=(lambda g, out, x, y: g * y * power_slope(x, OPS["where"](equal(y, 0), 1.0, y - 1.0)),
                      lambda g, out, x, y: g * (power(x, y - 1.0) + OPS["xlogy"](out, x))),  # a float's ** goes complex
                 definition=lambda x, y: y * x ** (y - 1), unfolds="graph",
                 lower=lambda x, y: y * power(x, y - 1.0) if y.__class__ in (int, float) and y else OPS["where"](
                     equal(y, 0), 0.0, y * power(x, OPS["where"](equal(y, 0), 1.0, y - 1.0))),
                 samples=NONZERO, batch="align",
                 doc="The derivative of `x ** y` with respect to x.", inner=True)


def _exponent_slope(x, y):
    """x ** y * log(x), and 0 where x is 0 and y is not below: there 0 ** y is 0, but for the one point 0 ** 0."""
    if x.__class__ is float and y.__class__ in (int, float) and x > 0.0:
        return x**y * math.log(x)
    flat = np.equal(x, 0) & np.greater_equal(y, 0)
    return np.where(flat, 0.0, np.power(x, y) * np.log(np.where(flat, 1.0, x)))


def _exponent_slope_lowered(x, y):
    where, none = OPS["where"], equal(x, 0.0)
    slope = power(x, y) * OPS["log"](where(none, 1.0, x))  # 0 where x is 0, but NaN if y is below
    return where(none, where(less(y, 0.0), power(x, y) * -math.inf, slope), slope)


exponent_slope = Op("exponent_slope", "exponent_slope(x, y)",
                    forward=_exponent_slope,
                    vjp=(lambda g, out, x, y: g * (OPS["xlogy"](power_slope(x, y), x) + power(x, y - 1.0)),
                         lambda g, out, x, y: g * OPS["xlogy"](out, x)),
                    definition=lambda x, y: x**y * OPS["log"](x), unfolds="graph",
                    lower=_exponent_slope_lowered,
                    samples=NONZERO, batch="align",
                    doc="The derivative of `x ** y` with respect to y.", inner=True)


COMPARED = samples(". .", "2,3 3")

less = Op("less", "x < y", forward=operator.lt, vjp=nothing, c="x < y", samples=COMPARED, numpy=np.less, batch="align",
          doc="True where `x < y`; no gradient flows.")
less_equal = Op("less_equal", "x <= y", forward=operator.le, vjp=nothing, c="x <= y",
                samples=COMPARED, numpy=np.less_equal,
                batch="align", doc="True where `x <= y`; no gradient flows.")
greater = Op("greater", "x > y", forward=operator.gt, vjp=nothing, c="x > y",
             samples=COMPARED, numpy=np.greater, batch="align",
             doc="True where `x > y`; no gradient flows.")
greater_equal = Op("greater_equal", "x >= y", forward=operator.ge, vjp=nothing, c="x >= y", samples=COMPARED,
                   numpy=np.greater_equal, batch="align", doc="True where `x >= y`; no gradient flows.")
equal = Op("equal", "equal(x, y)", forward=operator.eq, vjp=nothing, c="x == y",
           samples=COMPARED, numpy=np.equal, batch="align",
           doc="True where x and y are equal, `x == y`; no gradient flows.")
not_equal = Op("not_equal", "not_equal(x, y)", forward=operator.ne, vjp=nothing, c="x != y", samples=COMPARED,
               numpy=np.not_equal, batch="align",
               doc="True where x and y differ, `x != y`; no gradient flows.")
