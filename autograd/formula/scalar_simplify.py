"""Scalar formulas in a small vocabulary, as a person writes them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from autograd.errors import DataError
from autograd.expr import Expr
from autograd.op import OPS

VOCABULARY = frozenset(
    ("add", "sub", "mul", "div", "neg", "power", "exp", "log", "sqrt", "tanh", "sigmoid", "sin", "cos", "arctan", "erf",
     "relu", "abs", "sign", "maximum", "minimum", "where",
     "less", "less_equal", "greater", "greater_equal", "equal", "not_equal")
)  # fmt: skip


class ScalarSimplifier:
    """Scalar formulas in the vocabulary: other ops opened, constants worked out, nothing times a constant 0 or 1."""

    def __init__(self) -> None:
        self.done: dict[int, tuple[Expr, Expr]] = {}

    def __call__(self, e: Expr) -> Expr:
        if e.op is None:
            return e if e.name else Expr.number(plain_number(e.value))
        found = self.done.get(id(e))
        if found is None:
            found = self.done[id(e)] = (e, self._simplified(e))
        return found[1]

    def _simplified(self, e: Expr) -> Expr:
        assert e.op is not None
        args = tuple(map(self, e.args))
        name = e.op.base.name
        short = _SHORTER.get(name, _as_it_is)(*args)
        if short is not None:
            return short
        if all(map(is_constant, args)):
            return Expr.number(plain_number(e.op.compute(*(a.value for a in args))))
        if name not in VOCABULARY:
            if e.op.definition is None:
                raise DataError(f"{name} cannot be spelled out in scalars: it has no definition in simpler ops")
            return self(e.op.definition(*args, **e.op.settings))
        return e if all(a is b for a, b in zip(args, e.args, strict=True)) else Expr.applied(e.op, args)


def _as_it_is(*args: Expr) -> None:
    return None


def is_constant(e: Expr) -> bool:
    """Is it a plain number?"""
    return e.op is None and not e.name


def _is(e: Expr, number: float) -> bool:
    return is_constant(e) and e.value == number


def _shorter_mul(x: Expr, y: Expr) -> Expr | None:
    if _is(x, 0) or _is(y, 0):
        return Expr.number(0)
    return y if _is(x, 1) else x if _is(y, 1) else None


def _shorter_add(x: Expr, y: Expr) -> Expr | None:
    if _is(x, -math.inf) or _is(y, -math.inf):  # a mask that is added
        return Expr.number(-math.inf)
    return y if _is(x, 0) else x if _is(y, 0) else None


def _shorter_sub(x: Expr, y: Expr) -> Expr | None:
    if _is(x, -math.inf):  # a masked score less the largest of its row, which may be masked too
        return x
    return x if _is(y, 0) else OPS["neg"](y) if _is(x, 0) and not is_constant(y) else None


def _shorter_div(x: Expr, y: Expr) -> Expr | None:
    return Expr.number(0) if _is(x, 0) else x if _is(y, 1) else None


def _shorter_power(x: Expr, y: Expr) -> Expr | None:
    return x if _is(y, 1) else Expr.number(1) if _is(y, 0) else None


def _shorter_neg(x: Expr) -> Expr | None:
    return x.args[0] if x.op is not None and x.op.name == "neg" else None


def _shorter_maximum(x: Expr, y: Expr) -> Expr | None:
    return y if _is(x, -math.inf) else x if _is(y, -math.inf) else None


def _shorter_where(condition: Expr, x: Expr, y: Expr) -> Expr | None:
    if not is_constant(condition):
        return None
    return x if condition.value else y


_SHORTER: dict[str, Callable[..., Expr | None]] = {
    "mul": _shorter_mul, "add": _shorter_add, "sub": _shorter_sub, "div": _shorter_div, "power": _shorter_power,
    "neg": _shorter_neg, "maximum": _shorter_maximum, "where": _shorter_where,
}  # fmt: skip


def plain_number(x: Any) -> Any:
    """A whole number as int, so that rules print `2 * x`."""
    x = x.item() if isinstance(x, np.generic | np.ndarray) else x
    if isinstance(x, float) and math.isfinite(x) and x.is_integer() and abs(x) < 1e15:
        return int(x) if x or math.copysign(1.0, x) > 0 else 0
    return x
