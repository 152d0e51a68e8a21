"""Exact fractions: the value of a line where nothing but + - * / and choices was used since the given numbers."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

from autograd.expr import Expr

from .marking.intervals import divide

LONGEST_CONSTANT = 6  # digits of a plain number that is meant as it stands: 0.7071067811865475 is not
LARGEST = 10**6  # of a denominator that people write


def _power(x: Fraction, n: Fraction) -> Fraction | None:
    return x ** int(n) if n.denominator == 1 and abs(n) <= 8 and (x or n > 0) else None


RATIONAL: dict[str, Callable[..., Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "neg": operator.neg, "abs": abs, "power": _power,
    "div": lambda x, y: x / y if y else None, "relu": lambda x: max(x, 0), "maximum": max, "minimum": min,
    "sign": lambda x: (x > 0) - (x < 0), "where": lambda condition, x, y: x if condition else y,
    "less": operator.lt, "less_equal": operator.le, "greater": operator.gt, "greater_equal": operator.ge,
    "equal": operator.eq, "not_equal": operator.ne,
}  # fmt: skip


def fraction_of(e: Expr, known: Mapping[str, Fraction]) -> Fraction | None:
    """The value of a formula, exactly; None if it uses more than rational ops, or the fraction grows too long.

    >>> x, y = Expr("x", 2.0), Expr("y", 3.0)
    >>> fraction_of(x / y - 1, {"x": Fraction(2), "y": Fraction(3)})
    Fraction(-1, 3)
    """
    found = _evaluate(e, known)
    return found if found is not None and found.denominator <= LARGEST else None


def _evaluate(e: Expr, known: Mapping[str, Fraction]) -> Fraction | None:
    if e.op is None:
        return known.get(e.name) if e.name else _constant(e.value)
    function = RATIONAL.get(e.op.base.name)
    parts = [_evaluate(part, known) for part in e.args] if function is not None else [None]
    if function is None or any(part is None for part in parts):
        return None
    found = function(*parts)
    return None if found is None else Fraction(found)


def _constant(x: Any) -> Fraction | None:
    value = Decimal(repr(x) if not isinstance(x, bool) else int(x))
    if not value.is_finite() or len(value.normalize().as_tuple().digits) > LONGEST_CONSTANT:
        return None
    return Fraction(value)


def as_decimal(x: Fraction) -> Decimal:
    """With the digits of an interval."""
    return divide(Decimal(x.numerator), Decimal(x.denominator))


def as_text(x: Fraction) -> str:
    """1/3; "" for an integer or one that ends as a decimal."""
    rest = x.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    return f"{x.numerator}/{x.denominator}" if rest > 1 and x.denominator < 10_000 else ""
