"""Interval arithmetic in decimal: it holds every number that the float function gives, and little more."""

import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograd import OPS
from autograd.expr import Expr
from autograd.formula.scalars.formulas import VOCABULARY
from autograd.worksheets.marking.intervals import FUNCTIONS, CannotJudge, Interval, evaluate

numbers = st.floats(-3, 3).map(lambda x: round(x, 6))
POSITIVE = {"log", "sqrt", "power"}


def test_every_function_of_the_vocabulary_runs_on_intervals():
    assert set(FUNCTIONS) == VOCABULARY


@pytest.mark.parametrize("name", sorted(VOCABULARY))
@given(st.lists(numbers, min_size=3, max_size=3), st.lists(st.floats(0, 0.1), min_size=3, max_size=3), st.data())
def test_an_interval_holds_what_the_op_gives_on_any_numbers_in_it(name, middles, radii, data):
    op = OPS[name]
    count = len(op.names)
    if name in POSITIVE:
        middles = [abs(x) + 0.2 for x in middles]
    if name == "div":
        middles[1] = math.copysign(abs(middles[1]) + 0.2, middles[1])
    lows = [Decimal(repr(x - r)) for x, r in zip(middles, radii, strict=True)][:count]
    highs = [Decimal(repr(x + r)) for x, r in zip(middles, radii, strict=True)][:count]
    inside = [data.draw(st.floats(float(a), float(b))) for a, b in zip(lows, highs, strict=True)]
    found = FUNCTIONS[name](*map(Interval, lows, highs))
    with np.errstate(all="ignore"):
        value = float(op.compute(*inside))
    slack = Decimal(repr(1e-14 * max(1.0, abs(value))))  # the floats' own rounding
    assert found.low - slack <= Decimal(repr(value)) <= found.high + slack


@pytest.mark.parametrize(("name", "on_floats"), [
    ("exp", math.exp), ("log", math.log), ("sqrt", math.sqrt), ("tanh", math.tanh), ("sin", math.sin),
    ("cos", math.cos), ("arctan", math.atan), ("erf", math.erf), ("sigmoid", lambda x: 1 / (1 + math.exp(-x))),
])  # fmt: skip
@given(st.floats(0.001, 9))
def test_an_exact_number_gives_an_exact_number(name, on_floats, x):
    found = FUNCTIONS[name](Interval.exactly(repr(x)))
    assert float(found.middle) == pytest.approx(on_floats(x), rel=1e-14)
    assert found.width <= found.size * Decimal("1e-34")


@pytest.mark.parametrize("formula", [
    Expr.number(1.0) / Expr("x"), OPS["log"](Expr("x")), OPS["sqrt"](Expr("x")), Expr("x") ** 0.5,
    OPS["exp"](Expr("x") * 1e9),
])  # fmt: skip
def test_what_has_no_bounds_is_said(formula):
    with pytest.raises(CannotJudge):
        evaluate(formula, {"x": Interval("-0.1", "0.2")}, Interval.exactly)


def test_a_wave_turns_inside_an_interval():
    assert FUNCTIONS["sin"](Interval("1", "2")).high >= 1
    assert FUNCTIONS["cos"](Interval("3", "4")).low <= -1
    assert FUNCTIONS["cos"](Interval("-1", "1")).high >= 1
