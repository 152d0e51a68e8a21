"""NaN, infinities and signed zeros: a Python float and an array of one number give the same bits, op by op.

Floats go through Python's own arithmetic and `math`, arrays through NumPy: two ways that could part unnoticed where
no sample lies. Every op of the table that takes floats is swept, because it is in the table.
"""

import itertools
import math

import numpy as np
import pytest

from autograd import grad, relu, vjp
from autograd.expr import rule
from autograd.op import OPS
from tests.autograd.judges import case_name, cases, of_the_reals
from tests.sweep import sweep

SPECIAL = (math.nan, math.inf, -math.inf, 0.0, -0.0)
ORDINARY = (1.0, -2.0, 3.0)  # beside a special value, in ops of several inputs; by themselves they round as they like
CARRIERS = {"array of one": lambda x: np.array([x]), "array of no axes": np.array, "NumPy's float": np.float64}
MOST_INPUTS = 3  # a dot of seven numbers would be two million calls


def on_floats(sample):
    """Whether all the real inputs of a sample are Python floats, and few."""
    reals = [part for part in sample.parts if isinstance(part, str)]
    return all(part == "." for part in reals) and 0 < len(reals) <= MOST_INPUTS


SWEPT = [(op, sample) for op, sample in cases() if on_floats(sample)]


def swept(op, sample):
    """A function of real numbers, and every tuple of them in which one at least is special."""
    f, xs = of_the_reals(*op.on(sample))
    points = itertools.product(SPECIAL + ORDINARY if len(xs) > 1 else SPECIAL, repeat=len(xs))
    return f, [point for point in points if not set(map(str, point)) <= set(map(str, ORDINARY))]


def bits(x):
    """Numbers as text that tells -0.0 from 0.0; one NaN is like another."""
    return [str(number) for number in np.ravel(x).astype(float).tolist()]


def gradients(f, xs):
    """The gradients of f's sum, one for each input."""
    out, pull = vjp(f, *xs)
    return pull(np.ones(np.shape(out)) if np.shape(out) else 1.0)


def assert_alike(f, points, carrier):
    """f gives the same bits at floats as at the same numbers on another carrier."""
    with np.errstate(all="ignore"):
        apart = {
            point: (ours, theirs)
            for point in points
            if (ours := bits(f(*point))) != (theirs := bits(f(*map(carrier, point))))
        }
    assert not apart


def test_the_sweep_reaches_the_arithmetic_and_the_elementwise_ops():
    reached = {op.name for op, _ in SWEPT}
    assert reached >= {"add", "mul", "div", "power", "less", "exp", "log", "relu", "gelu", "maximum", "where", "clip"}
    assert len(reached) > 50


@sweep("op, sample", SWEPT, ids=case_name)
@pytest.mark.parametrize("carrier", CARRIERS)
def test_floats_and_arrays_give_the_same_result(op, sample, carrier):
    assert_alike(*swept(op, sample), CARRIERS[carrier])


@pytest.mark.slow
@sweep("op, sample", [case for case in SWEPT if case[0].differentiable], ids=case_name)
def test_floats_and_arrays_give_the_same_gradients(op, sample):
    f, points = swept(op, sample)
    for i in range(len(points[0])):
        assert_alike(lambda *xs, i=i: gradients(f, xs)[i], points, CARRIERS["array of one"])


def test_a_nan_goes_through_relu_and_takes_no_gradient_back():
    """As its rule says, g * (x > 0): on floats, arrays and Values alike."""
    assert str(rule(OPS["relu"])[0]) == "g * (x > 0)"
    assert math.isnan(relu(math.nan)) and np.isnan(relu(np.array([math.nan]))).all()
    assert grad(relu)(math.nan) == 0.0
    assert grad(lambda x: relu(x).sum())(np.array([math.nan, 2.0, -2.0])).tolist() == [0.0, 1.0, 0.0]


def test_the_second_derivative_of_a_root_of_a_negative_number_is_nan_and_not_complex():
    for i in range(2):
        for carrier in (float, CARRIERS["array of one"]):
            with np.errstate(invalid="ignore"):
                second = gradients(lambda *xs, i=i: gradients(OPS["power"], xs)[i], [carrier(-2.0), carrier(0.5)])
            assert np.isnan(second).all()
