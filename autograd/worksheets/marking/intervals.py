"""Interval: a number that may have been rounded. Scalar formulas run on intervals, in decimal, bounds inclusive.

    >>> product = Interval("0.24", "0.26") * Interval("2", "2")
    >>> float(product.low), float(product.high)
    (0.48, 0.52)

Numbers are decimals of 40 digits, so that what a person writes is exact, and the rounding of this arithmetic itself
lies far below the last place anyone writes.

`assets/intervals.js` is the same, function by function, for a page that marks itself. Both give the same digits by
construction: + - * / sqrt exp ln are rounded correctly, half to even, to 40 digits (`decimal` promises it; decimals.js
computes until the rounding is certain), everything else is made of these in the same order, and each bound is then
moved outward by `GUARD` of its size.
"""

from __future__ import annotations

import decimal
import functools
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from autograd.errors import DataError
from autograd.expr import Expr

CONTEXT = decimal.Context(
    prec=40, rounding=decimal.ROUND_HALF_EVEN, Emin=-999999, Emax=999999,
    traps=[decimal.InvalidOperation, decimal.DivisionByZero, decimal.Overflow, decimal.Subnormal],
)  # fmt: skip
add, subtract, multiply, divide = CONTEXT.add, CONTEXT.subtract, CONTEXT.multiply, CONTEXT.divide
sqrt, ln, exp = CONTEXT.sqrt, functools.lru_cache(2000)(CONTEXT.ln), functools.lru_cache(2000)(CONTEXT.exp)
GUARD = Decimal("1e-36")  # relative: what the arithmetic itself may lose
ONE, ZERO, TWO = Decimal(1), Decimal(0), Decimal(2)
LESS, MORE = subtract(ONE, GUARD), add(ONE, GUARD)  # exactly: 37 digits
LARGEST_EXPONENT, LARGEST_ANGLE = Decimal(100_000), Decimal(100_000)
TINY = Decimal("1e-60")  # where a series ends
NEARLY_ONE = Decimal("0.99999999999999999999")


REASONS = {  # why a line has no interval; the page says the same
    "divide": "it divides by a number that may be 0",
    "power": "it raises a number that may not be positive to a power that is not whole",
    "exp": "an exponential is too large to write",
    "log": "it takes the logarithm of a number that may not be positive",
    "sqrt": "it takes the root of a number that may be negative",
    "angle": "an angle is too large to turn back",
    "range": "a number is too large, too small or not defined",
}


class CannotJudge(ArithmeticError):
    """A line that has no bounded interval on these numbers: a division by what may be 0, the log of a negative one."""


class Interval:
    """All numbers from `low` to `high`."""

    __slots__ = ("high", "low")

    def __init__(self, low: Any, high: Any) -> None:
        self.low = low if low.__class__ is Decimal else Decimal(low)
        self.high = high if high.__class__ is Decimal else Decimal(high)

    @staticmethod
    def exactly(x: Any) -> Interval:
        x = x if x.__class__ is Decimal else Decimal(x)
        return Interval(x, x)

    @staticmethod
    def around(x: Decimal, by: Decimal) -> Interval:
        """All numbers that differ from it by so much at most."""
        return Interval(subtract(x, by), add(x, by))

    @property
    def middle(self) -> Decimal:
        return divide(add(self.low, self.high), TWO)

    @property
    def width(self) -> Decimal:
        return subtract(self.high, self.low)

    @property
    def size(self) -> Decimal:
        """The largest magnitude in it."""
        return max(self.low.copy_abs(), self.high.copy_abs())

    def wider(self, by: Decimal) -> Interval:
        return Interval(subtract(self.low, by), add(self.high, by))

    def __contains__(self, x: Decimal) -> bool:
        return self.low <= x <= self.high

    def reaches(self, x: Decimal, unit: Decimal) -> bool:
        """Is x less than a unit away from it? The arithmetic's own rounding counts as nothing."""
        less = multiply(unit, NEARLY_ONE)
        return subtract(self.low, less) < x < add(self.high, less)

    def __str__(self) -> str:
        return f"[{self.low}, {self.high}]"

    __repr__ = __str__

    # --- arithmetic ----------------------------------------------------------------------------------------------

    def __add__(self, other: Interval) -> Interval:
        return _outward(add(self.low, other.low), add(self.high, other.high))

    def __sub__(self, other: Interval) -> Interval:
        return _outward(subtract(self.low, other.high), subtract(self.high, other.low))

    def __neg__(self) -> Interval:
        return Interval(self.high.copy_negate(), self.low.copy_negate())

    def __mul__(self, other: Interval) -> Interval:
        return _outward(*_corners(multiply, self, other))

    def __truediv__(self, other: Interval) -> Interval:
        if other.low <= 0 <= other.high:
            raise CannotJudge(REASONS["divide"])
        return _outward(*_corners(divide, self, other))

    def __pow__(self, other: Interval) -> Interval:
        if other.low == other.high and other.low == other.low.to_integral_value():
            return self._whole_power(int(other.low))
        if self.low <= 0:
            raise CannotJudge(REASONS["power"])
        return _outward(*_corners(_power, self, other))

    def _whole_power(self, n: int) -> Interval:
        if n < 0:
            return Interval(1, 1) / self._whole_power(-n)
        ends = [_whole_power(self.low, n), _whole_power(self.high, n)]
        low = ZERO if n and n % 2 == 0 and self.low <= 0 <= self.high else min(ends)
        return _outward(low, max(ends))


def _corners(f: Callable[[Decimal, Decimal], Decimal], x: Interval, y: Interval) -> tuple[Decimal, Decimal]:
    """The smallest and the largest of f at the ends of both; an exact number has one end."""
    a, b, c, d = x.low, x.high, y.low, y.high
    found = [f(a, c)] if a is b else [f(a, c), f(b, c)]
    if c is not d:
        found += [f(a, d)] if a is b else [f(a, d), f(b, d)]
    return min(found), max(found)


def _outward(low: Decimal, high: Decimal) -> Interval:
    """Bounds that hold although the arithmetic itself rounds."""
    return Interval(
        multiply(low, MORE if low.is_signed() else LESS),  # rounded once: low - GUARD |low|
        multiply(high, LESS if high.is_signed() else MORE),
    )


# --- functions -----------------------------------------------------------------------------------------------------


def _exp(x: Decimal) -> Decimal:
    if x.copy_abs() > LARGEST_EXPONENT:
        raise CannotJudge(REASONS["exp"])
    return exp(x)


def _whole_power(x: Decimal, n: int) -> Decimal:
    """x to the power n, an integer from 0 on: squares and products."""
    result = ONE
    while n:
        if n % 2:
            result = multiply(result, x)
        n //= 2
        if n:
            x = multiply(x, x)
    return result


def _power(x: Decimal, y: Decimal) -> Decimal:
    return _exp(multiply(y, ln(x)))


def _sigmoid(x: Decimal) -> Decimal:
    return divide(ONE, add(ONE, _exp(x.copy_negate())))


def _tanh(x: Decimal) -> Decimal:
    e = _exp(multiply(TWO, x))
    return divide(subtract(e, ONE), add(e, ONE))


def _sine_series(x: Decimal, term: Decimal, n: int) -> Decimal:
    """term - term x² / ((n+1)(n+2)) + ...: sine from (x, 1), cosine from (1, 0)."""
    total, square = term, multiply(x, x)
    while term.copy_abs() > TINY:
        term = divide(multiply(term.copy_negate(), square), Decimal((n + 1) * (n + 2)))
        total, n = add(total, term), n + 2
    return total


PI = Decimal("3.141592653589793238462643383279502884197")  # 40 digits
TURN, QUARTER = multiply(TWO, PI), divide(PI, TWO)


def _turned(x: Decimal) -> Decimal:
    """The same angle between -π and π."""
    return subtract(x, multiply(TURN, divide(x, TURN).to_integral_value()))


def _sin(x: Decimal) -> Decimal:
    x = _turned(x)
    return _sine_series(x, x, 1)


def _cos(x: Decimal) -> Decimal:
    return _sine_series(_turned(x), ONE, 0)


def _arctan(x: Decimal) -> Decimal:
    """Halve the angle until the series is short."""
    halvings = 0
    while x.copy_abs() > Decimal("0.05"):
        x = divide(x, add(ONE, sqrt(add(ONE, multiply(x, x)))))
        halvings += 1
    total = term = x
    square, n = multiply(x, x), 1
    while term.copy_abs() > TINY:
        term, n = multiply(term.copy_negate(), square), n + 2
        total = add(total, divide(term, Decimal(n)))
    return multiply(total, Decimal(2**halvings))


def _erf(x: Decimal) -> Decimal:
    """2/√π Σ (-1)ⁿ x²ⁿ⁺¹ / (n! (2n+1)), as a sum of positive terms: exp(-x²) Σ 2ⁿ x²ⁿ⁺¹ / (1·3·5 ... (2n+1))."""
    if x.copy_abs() > 12:
        return ONE.copy_sign(x)
    total = term = x
    square, n = multiply(x, x), 0
    while term.copy_abs() > TINY:
        n += 1
        term = divide(multiply(term, multiply(TWO, square)), Decimal(2 * n + 1))
        total = add(total, term)
    return multiply(multiply(total, _exp(square.copy_negate())), divide(TWO, sqrt(PI)))


def _rising(f: Callable[[Decimal], Decimal]) -> Callable[[Interval], Interval]:
    """A function that never falls, on intervals."""

    def on(x: Interval) -> Interval:
        low = f(x.low)
        return _outward(low, low if x.high is x.low else f(x.high))  # an exact number has one end

    return on


def _log(x: Decimal) -> Decimal:
    if x <= 0:
        raise CannotJudge(REASONS["log"])
    return ln(x)


def _sqrt(x: Decimal) -> Decimal:
    if x < 0:
        raise CannotJudge(REASONS["sqrt"])
    return sqrt(x)


def _wave(f: Callable[[Decimal], Decimal], top: Decimal) -> Callable[[Interval], Interval]:
    """Sine or cosine, whose largest value is at `top`: the ends, and the turning points between them."""

    def on(x: Interval) -> Interval:
        if x.size > LARGEST_ANGLE:
            raise CannotJudge(REASONS["angle"])
        ends = [f(x.low), f(x.high)]
        low, high = min(ends), max(ends)
        if _has_turn(x, top):
            high = ONE
        if _has_turn(x, add(top, PI)):
            low = ONE.copy_negate()
        return _outward(low, high)

    return on


def _has_turn(x: Interval, at: Decimal) -> bool:
    turns = divide(subtract(x.low, at), TURN).to_integral_value(rounding=decimal.ROUND_CEILING)
    return add(at, multiply(turns, TURN)) <= x.high


def _abs(x: Interval) -> Interval:
    return x if x.low >= 0 else -x if x.high <= 0 else Interval(0, x.size)


def _sign(x: Interval) -> Interval:
    return Interval(_sign_of(x.low), _sign_of(x.high))


def _sign_of(x: Decimal) -> int:
    return (x > 0) - (x < 0)


def _comparison(holds: Callable[[Interval, Interval], bool], fails: Callable[[Interval, Interval], bool]) -> Any:
    """1 where it holds for all numbers of the two intervals, 0 where for none, else anything between."""
    return lambda x, y: Interval(1, 1) if holds(x, y) else Interval(0, 0) if fails(x, y) else Interval(0, 1)


def _where(condition: Interval, x: Interval, y: Interval) -> Interval:
    if condition.low > 0:
        return x
    if condition.high == 0:
        return y
    return Interval(min(x.low, y.low), max(x.high, y.high))


def _same(x: Interval, y: Interval) -> bool:
    return x.low == x.high == y.low == y.high


def _apart(x: Interval, y: Interval) -> bool:
    return x.high < y.low or y.high < x.low


FUNCTIONS: dict[str, Callable[..., Interval]] = {
    "add": Interval.__add__, "sub": Interval.__sub__, "mul": Interval.__mul__, "div": Interval.__truediv__,
    "neg": Interval.__neg__, "power": Interval.__pow__, "exp": _rising(_exp), "log": _rising(_log),
    "sqrt": _rising(_sqrt), "tanh": _rising(_tanh), "sigmoid": _rising(_sigmoid), "arctan": _rising(_arctan),
    "erf": _rising(_erf), "sin": _wave(_sin, QUARTER), "cos": _wave(_cos, ZERO), "abs": _abs, "sign": _sign,
    "relu": lambda x: Interval(max(x.low, ZERO), max(x.high, ZERO)),
    "maximum": lambda x, y: Interval(max(x.low, y.low), max(x.high, y.high)),
    "minimum": lambda x, y: Interval(min(x.low, y.low), min(x.high, y.high)),
    "less": _comparison(lambda x, y: x.high < y.low, lambda x, y: x.low >= y.high),
    "less_equal": _comparison(lambda x, y: x.high <= y.low, lambda x, y: x.low > y.high),
    "greater": _comparison(lambda x, y: x.low > y.high, lambda x, y: x.high <= y.low),
    "greater_equal": _comparison(lambda x, y: x.low >= y.high, lambda x, y: x.high < y.low),
    "equal": _comparison(_same, _apart), "not_equal": _comparison(_apart, _same),
    "where": _where,
}  # fmt: skip


def evaluate(e: Expr, numbers: Mapping[str, Interval], constant: Callable[[Any], Interval]) -> Interval:
    """A scalar formula on intervals; `constant` says how exact its plain numbers are. CannotJudge if unbounded."""
    if e.op is None:
        return numbers[e.name] if e.name else constant(e.value)
    function = FUNCTIONS.get(e.op.base.name)
    if function is None:
        raise DataError(f"{e.op.base.name} does not run on intervals")
    try:
        return function(*[evaluate(part, numbers, constant) for part in e.args])
    except decimal.DecimalException as error:
        raise CannotJudge(REASONS["range"]) from error
