"""Ops that are constant nearly everywhere: rounding, remainders, truths. No gradient flows through steps."""

import operator

import numpy as np

from autograd.arrays.numpy_calls import answers
from autograd.errors import DataError
from autograd.modes import plain_data
from autograd.op import Op, dtype_of, nothing
from autograd.samples import Sample, samples

from ._functions import function
from .arithmetic import COMPARED, equal, not_equal
from .elementwise import BOOL, UNARY, on_numbers, sign, where

floor = Op("floor", forward=np.floor, vjp=nothing, c="floor(x)", samples=UNARY, numpy=np.floor, batch="align",
           doc="The largest integer that is not above x; no gradient flows.")

ceil = Op("ceil", forward=np.ceil, vjp=nothing, c="ceil(x)", samples=UNARY, numpy=np.ceil, batch="align",
          doc="The smallest integer that is not below x; no gradient flows.")

trunc = Op("trunc", forward=np.trunc, vjp=nothing, lower=lambda x: where(x < 0, ceil(x), floor(x)),
           samples=UNARY, numpy=(np.trunc, np.fix), batch="align",
           doc="x without its fraction; no gradient flows.")

rint = Op("rint", forward=on_numbers(np.rint), vjp=nothing, c="rint(x)", samples=UNARY, numpy=np.rint, batch="align",
          doc="The nearest integer, of two the even one; no gradient flows.")


def _round_lowered(x, decimals):
    """As NumPy does it: the comma moved, the nearest integer, and back."""
    scale = 10.0 ** abs(decimals)
    return rint(x) if not decimals else rint(x * scale) / scale if decimals > 0 else rint(x / scale) * scale


round_ = Op("round", "round(x, decimals=decimals)",
            normalize=lambda x, decimals=0: ((x,), {"decimals": operator.index(decimals)}),
            forward=lambda x, *, decimals: np.round(+x, decimals), vjp=nothing, lower=_round_lowered,
            samples=(*UNARY, Sample("3", decimals=1)), numpy=(np.round, np.around), batch="align",
            doc="x to so many decimals; no gradient flows.")

# --- remainders ---------------------------------------------------------------------------------------------

STEPS = samples(". .", "2,3 2,3", "2,3 3", ". 2,3", low=0.6, high=2.9)  # no quotient of these is near an integer


def _passed(rest, y):
    """Whether fmod stopped on the other side of 0 from y, one step of y too far for `//` and `%`."""
    return logical_and(not_equal(rest, 0.0), not_equal(rest < 0, y < 0))


def _floor_divide_lowered(x, y):
    rest = fmod(x, y)
    times = rint((x - rest) / y)
    whole = all(dtype_of(z).kind in "iub" for z in (x, y))  # by 0, NumPy gives 0 there
    times = where(_passed(rest, y), times - 1.0, times)
    if not whole:
        times = where(equal(times, 0.0), 0.0 * (x / y), times)  # 0 has the sign of the quotient
    return where(equal(y, 0.0), 0.0 if whole else x / y, times)


def _mod_lowered(x, y):
    rest = fmod(x, y)
    return where(equal(rest, 0.0), sign(y) * 0, where(_passed(rest, y), rest + y, rest))  # 0 has the sign of y


def _of_numbers(operation):
    """A Python operator on numbers; of truths NumPy would give int8."""
    return lambda x, y: operation(x * 1.0 if getattr(x, "dtype", None) is BOOL else x, y)


floor_divide = Op("floor_divide", "floor_divide(x, y)", forward=_of_numbers(operator.floordiv), vjp=nothing,
                  lower=_floor_divide_lowered, samples=STEPS, numpy=np.floor_divide, batch="align",
                  doc="`x // y`: how often y goes into x, as an integer; no gradient flows.")

mod = Op("mod", "mod(x, y)", forward=_of_numbers(operator.mod),
         vjp=(lambda g, out, x, y: g,
              lambda g, out, x, y: -g * floor(x / y)),
         definition=lambda x, y: x - y * floor(x / y),
         lower=_mod_lowered,
         samples=STEPS, numpy=np.mod, batch="align",
         doc="`x % y`, what is left of x when y is taken away as often as it goes in, `x - y * floor(x / y)`.")

fmod = Op("fmod", forward=_of_numbers(np.fmod),
          vjp=(lambda g, out, x, y: g,
               lambda g, out, x, y: -g * trunc(x / y)),
          definition=lambda x, y: x - y * trunc(x / y),
          c="fmod(x, y)", samples=STEPS, numpy=np.fmod, batch="align",
          doc="What is left of x when y is taken away, `x - y * trunc(x / y)`; it has the sign of x.")

# --- truths -------------------------------------------------------------------------------------------------

logical_and = Op("logical_and", "logical_and(x, y)", forward=np.logical_and, vjp=nothing, c="x != 0 && y != 0",
                 samples=COMPARED,
                 numpy=np.logical_and, batch="align", doc="True where both are true, that is not 0.")
logical_or = Op("logical_or", "logical_or(x, y)", forward=np.logical_or, vjp=nothing, c="x != 0 || y != 0",
                samples=COMPARED,
                numpy=np.logical_or, batch="align", doc="True where one is true or both.")
logical_xor = Op("logical_xor", "logical_xor(x, y)", forward=np.logical_xor, vjp=nothing, c="(x != 0) != (y != 0)",
                 samples=COMPARED,
                 numpy=np.logical_xor, batch="align", doc="True where one is true and the other is not.")
logical_not = Op("logical_not", "logical_not(x)", forward=np.logical_not, vjp=nothing, c="x == 0", samples=UNARY,
                 numpy=np.logical_not, batch="align", doc="True where x is 0 or False.")


def _check_truths(symbol, *inputs):
    """`&`, `|`, `^` and `~` are for comparisons: `(x > 0) & (x < 1)`."""
    for x in inputs:
        if dtype_of(x).kind != "b":
            got = " ".join(repr(x).split())
            raise DataError(f"{symbol} is for truths, as in (x > 0) & ~(y > 0); got numbers: {got:.60}. Mind the "
                            "brackets, or write logical_and, logical_or, logical_not.")


def _of_two_truths(symbol, op):
    def f(x, y):
        _check_truths(symbol, x, y)
        return op(x, y)

    return f


def _opposite(x):
    _check_truths("~", x)
    return logical_not(x)


BITWISE = {
    "and": answers(np.bitwise_and)(_of_two_truths("&", logical_and)),
    "or": answers(np.bitwise_or)(_of_two_truths("|", logical_or)),
    "xor": answers(np.bitwise_xor)(_of_two_truths("^", logical_xor)),
    "invert": answers(np.invert)(_opposite),
}

@function(np.nonzero, method=True)
def nonzero(x):
    """The places of the numbers that are not 0: an array of indices for each axis, plain, to index with."""
    return np.nonzero(plain_data(x, "np.nonzero"))
