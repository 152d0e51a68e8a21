"""Functions of one number in 90 digits, on `decimal.Decimal`: those that Decimal lacks, from their series.

    >>> FUNCTIONS["erf"](Decimal("0.5"))
    Decimal('0.5204998778130465376827466538919645287364515757579637000588057...')
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from functools import cache
from typing import Any

EXACT = Context(prec=90, Emax=999999, Emin=-999999, traps=[])
GUARD = 20  # digits that a series is computed with beyond those asked for

NAN, INFINITY, ZERO, ONE, TWO, HALF = map(Decimal, ("NaN", "Infinity", "0", "1", "2", "0.5"))


@contextmanager
def precision(digits: int) -> Iterator[None]:
    """Compute with fewer digits for a while."""
    before, EXACT.prec = EXACT.prec, digits
    try:
        yield
    finally:
        EXACT.prec = before


def _context(more: int = 0) -> Context:
    """A context with more digits than the result is to have."""
    return Context(prec=EXACT.prec + GUARD + min(more, 1500), Emax=EXACT.Emax, Emin=EXACT.Emin, traps=[])


def _lost(x: Decimal) -> int:
    """How many digits are lost where a small x is added to 1."""
    return max(0, -x.adjusted()) if x else 0


@cache
def _pi(digits: int) -> Decimal:
    """By Machin's formula, 16 arctan(1/5) - 4 arctan(1/239), in integers."""
    unit = 10 ** (digits + 10)

    def arctan_of_one_over(n: int) -> int:
        total = term = unit // n
        k = 1
        while term:
            term //= -n * n
            k += 2
            total += term // k
        return total

    value = 16 * arctan_of_one_over(5) - 4 * arctan_of_one_over(239)
    return Decimal(value).scaleb(-(digits + 10), Context(prec=digits + 20))


def _half_pi(c: Context) -> Decimal:
    return c.divide(_pi(c.prec), TWO)


def _series(term: Decimal, ratio: Callable[[int], Decimal], c: Context) -> Decimal:
    """term · (1 + r₁ + r₁r₂ + …), until a term no longer counts."""
    total, n = term, 1
    while term:
        term = c.multiply(term, ratio(n))
        if term.is_nan() or not term or term.adjusted() < total.adjusted() - c.prec:
            break
        total = c.add(total, term)
        n += 1
    return total


def _sin_cos(x: Decimal) -> tuple[Decimal, Decimal]:
    c = _context(max(0, x.adjusted()))
    quarter = _half_pi(c)
    turns = c.divide(x, quarter).to_integral_value(ROUND_HALF_EVEN, c)
    r = c.subtract(x, c.multiply(turns, quarter))
    square = c.multiply(r, r).copy_negate()
    sin = _series(r, lambda n: c.divide(square, Decimal(2 * n * (2 * n + 1))), c)
    cos = _series(ONE, lambda n: c.divide(square, Decimal((2 * n - 1) * 2 * n)), c)
    k = int(turns) % 4
    minus_sin, minus_cos = sin.copy_negate(), cos.copy_negate()
    return ((sin, cos), (cos, minus_sin), (minus_sin, minus_cos), (minus_cos, sin))[k]


def _arctan(x: Decimal) -> Decimal:
    if x.is_infinite():
        return _half_pi(_context()).copy_sign(x)
    c = _context()
    if x.copy_abs() > 1:
        return c.subtract(_half_pi(c).copy_sign(x), _arctan(c.divide(ONE, x)))
    halved = 0
    while x.copy_abs() > Decimal("0.05"):
        x = c.divide(x, c.add(ONE, c.sqrt(c.fma(x, x, ONE))))
        halved += 1
    square, power, total, n = c.multiply(x, x).copy_negate(), x, x, 1
    while power and power.adjusted() > total.adjusted() - c.prec:
        power = c.multiply(power, square)
        n += 2
        total = c.add(total, c.divide(power, Decimal(n)))
    return c.multiply(total, Decimal(2**halved))


def _arctan2(y: Decimal, x: Decimal) -> Decimal:
    if x == 0 and y == 0:
        return ZERO if not x.is_signed() else _pi(110).copy_sign(y)
    c = _context()
    if x.copy_abs() >= y.copy_abs():
        angle = _arctan(c.divide(y, x))
        return angle if x > 0 else c.add(angle, _pi(c.prec).copy_sign(y))
    return c.subtract(_half_pi(c).copy_sign(y), _arctan(c.divide(x, y)))


def _expm1(x: Decimal) -> Decimal:
    c = _context(_lost(x))
    return x if _lost(x) > 1000 else c.subtract(c.exp(x), ONE)


def _log1p(x: Decimal) -> Decimal:
    c = _context(_lost(x))
    return x if _lost(x) > 1000 else c.ln(c.add(ONE, x))


def _tanh(x: Decimal) -> Decimal:
    if x.copy_abs() > 1000:
        return ONE.copy_sign(x)
    c = _context()
    e = _expm1(c.multiply(TWO, x))
    return c.divide(e, c.add(e, TWO))


def _sinh(x: Decimal) -> Decimal:
    c, e = _context(), _expm1(x)
    return c.multiply(HALF, c.add(e, c.divide(e, c.add(e, ONE)))) if e.is_finite() else INFINITY.copy_sign(x)


def _cosh(x: Decimal) -> Decimal:
    c = _context()
    return c.multiply(HALF, c.add(c.exp(x), c.exp(x.copy_negate())))


def _arcsin(x: Decimal) -> Decimal:
    c = _context()
    return _arctan2(x, c.sqrt(c.multiply(c.subtract(ONE, x), c.add(ONE, x)))) if x.copy_abs() <= 1 else NAN


def _arccos(x: Decimal) -> Decimal:
    c = _context()
    return _arctan2(c.sqrt(c.multiply(c.subtract(ONE, x), c.add(ONE, x))), x) if x.copy_abs() <= 1 else NAN


def _arcsinh(x: Decimal) -> Decimal:
    c, size = _context(), x.copy_abs()
    root = c.add(ONE, c.sqrt(c.fma(size, size, ONE)))
    return _log1p(c.add(size, c.divide(c.multiply(size, size), root))).copy_sign(x)


def _arccosh(x: Decimal) -> Decimal:
    c = _context()
    return c.ln(c.add(x, c.sqrt(c.multiply(c.subtract(x, ONE), c.add(x, ONE))))) if x >= 1 else NAN


def _arctanh(x: Decimal) -> Decimal:
    c = _context()
    if x.copy_abs() > 1:
        return NAN
    return c.multiply(HALF, c.subtract(_log1p(x), _log1p(x.copy_negate())))


def _power(x: Decimal, y: Decimal) -> Decimal:
    if not y:
        return ONE
    if x == 0 and y < 0:
        return INFINITY
    return _context().power(x, y)


# --- erf ------------------------------------------------------------------------------------------------------------

FAR = 30  # from here on the asymptotic series of erfc has all digits


def _erf(x: Decimal, more: int = 0) -> Decimal:
    if x.copy_abs() > FAR:
        return ONE.copy_sign(x)
    c = _context(more)
    square = c.multiply(x, x)
    total = _series(x, lambda n: c.divide(c.multiply(TWO, square), Decimal(2 * n + 1)), c)
    return c.divide(c.multiply(c.multiply(TWO, total), c.exp(square.copy_negate())), c.sqrt(_pi(c.prec)))


def _erfc(x: Decimal) -> Decimal:
    if x > FAR:
        c = _context()
        square = c.multiply(x, x)
        tail = _series(ONE, lambda n: c.divide(Decimal(1 - 2 * n), c.multiply(TWO, square)), c)
        return c.divide(c.multiply(c.exp(square.copy_negate()), tail), c.multiply(x, c.sqrt(_pi(c.prec))))
    more = int(float(x) ** 2 / 2) if x > 0 else 0  # digits that 1 - erf loses
    return _context(more).subtract(ONE, _erf(x, more))


# --- the gamma function ---------------------------------------------------------------------------------------------

SHIFTED = 80  # Stirling's series has all digits from here on


@cache
def _bernoulli(n: int) -> Fraction:
    """The number B_2n, by the sum over those before it."""
    m = 2 * n
    total = Fraction(1) - Fraction(m + 1, 2)  # of B_0 = 1 and B_1 = -1/2
    for k in range(1, n):
        total += math.comb(m + 1, 2 * k) * _bernoulli(k)
    return -total / (m + 1)


@cache
def _stirling(n: int, order: int) -> Decimal:
    """The n-th factor of the series of gammaln (order -1) or of polygamma."""
    factor = _bernoulli(n) * Fraction(math.factorial(2 * n + order - 1), math.factorial(2 * n))
    return _context(10).divide(Decimal(factor.numerator), Decimal(factor.denominator))


def _is_pole(x: Decimal) -> bool:
    return x <= 0 and x == x.to_integral_value()


def _gammaln(x: Decimal) -> Decimal:
    """The logarithm of the gamma function's size."""
    if _is_pole(x):
        return INFINITY
    c = _context(10)
    below = ONE  # the product of what was shifted over
    while x < SHIFTED:
        below = c.multiply(below, x)
        x = c.add(x, ONE)
    out = c.subtract(c.multiply(c.subtract(x, HALF), c.ln(x)), x)
    out = c.add(out, c.multiply(HALF, c.ln(c.multiply(TWO, _pi(c.prec)))))
    power = c.divide(ONE, x)
    for n in range(1, 60):
        out = c.add(out, c.multiply(_stirling(n, -1), power))
        power = c.divide(power, c.multiply(x, x))
    return c.subtract(out, c.ln(below.copy_abs()))


def _polygamma(x: Decimal, order: int = 0) -> Decimal:
    """The derivative of gammaln, and its own derivative of an order."""
    if _is_pole(x):
        return NAN
    c = _context(10)
    sign, factorial = Decimal((-1) ** (order + 1)), Decimal(math.factorial(order))
    out = ZERO
    while x < SHIFTED:
        out = c.add(out, c.divide(c.multiply(sign, factorial), c.power(x, Decimal(order + 1))))
        x = c.add(x, ONE)
    if order == 0:
        out = c.add(out, c.ln(x))
    else:
        out = c.add(out, c.divide(c.multiply(sign, Decimal(math.factorial(order - 1))), c.power(x, Decimal(order))))
    out = c.add(out, c.divide(c.multiply(sign, factorial), c.multiply(TWO, c.power(x, Decimal(order + 1)))))
    power = c.power(x, Decimal(-order))
    for n in range(1, 60):
        power = c.divide(power, c.multiply(x, x))
        out = c.add(out, c.multiply(sign, c.multiply(_stirling(n, order), power)))
    return out


def _of_limits(f: Callable[..., Decimal], at_minus: Decimal, at_plus: Decimal) -> Callable[..., Decimal]:
    """The function rounded to 90 digits, with its limits at the infinities, and NaN of NaN."""

    def run(x: Decimal, *more: Any) -> Decimal:
        if x.is_nan():
            return NAN
        if x.is_infinite():
            return at_minus if x < 0 else at_plus
        return EXACT.plus(f(x, *more))

    return run


def _rounded(f: Callable[..., Decimal]) -> Callable[..., Decimal]:
    return lambda x, y: NAN if x.is_nan() or y.is_nan() else EXACT.plus(f(x, y))


def _fmod(x: Decimal, y: Decimal) -> Decimal:
    return EXACT.remainder(x, y)


FUNCTIONS: dict[str, Callable[..., Decimal]] = {
    "exp": EXACT.exp, "log": EXACT.ln, "log10": EXACT.log10, "sqrt": EXACT.sqrt,
    "log2": lambda x: EXACT.divide(EXACT.ln(x), EXACT.ln(TWO)), "exp2": lambda x: EXACT.power(TWO, x),
    "square": lambda x: EXACT.multiply(x, x), "reciprocal": lambda x: EXACT.divide(ONE, x),
    "cbrt": lambda x: EXACT.power(x.copy_abs(), EXACT.divide(ONE, Decimal(3))).copy_sign(x),
    "expm1": _of_limits(_expm1, -ONE, INFINITY), "log1p": _of_limits(_log1p, NAN, INFINITY),
    "sin": _of_limits(lambda x: _sin_cos(x)[0], NAN, NAN), "cos": _of_limits(lambda x: _sin_cos(x)[1], NAN, NAN),
    "tan": _of_limits(lambda x: EXACT.divide(*_sin_cos(x)), NAN, NAN),
    "arctan": _of_limits(_arctan, _half_pi(_context()).copy_negate(), _half_pi(_context())),
    "arctan2": _rounded(_arctan2),
    "arcsin": _of_limits(_arcsin, NAN, NAN), "arccos": _of_limits(_arccos, NAN, NAN),
    "sinh": _of_limits(_sinh, -INFINITY, INFINITY), "cosh": _of_limits(_cosh, INFINITY, INFINITY),
    "tanh": _of_limits(_tanh, -ONE, ONE), "arcsinh": _of_limits(_arcsinh, -INFINITY, INFINITY),
    "arccosh": _of_limits(_arccosh, NAN, INFINITY), "arctanh": _of_limits(_arctanh, NAN, NAN),
    "erf": _of_limits(_erf, -ONE, ONE), "erfc": _of_limits(_erfc, TWO, ZERO),
    "gammaln": _of_limits(_gammaln, INFINITY, INFINITY), "polygamma": _of_limits(_polygamma, NAN, INFINITY),
    "power": _rounded(_power), "fmod": _rounded(_fmod),
    "hypot": _rounded(lambda x, y: _context().sqrt(_context().fma(x, x, _context().multiply(y, y)))),
}  # fmt: skip
