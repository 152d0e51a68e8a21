"""Rules that one cotangent does not give away, on numbers alone; edges of domains; one wrong entry among thousands."""

import math

import numpy as np
import pytest

import autograd as ag
from autograd import check_formula, check_grads, custom_op
from autograd.check.slopes.probe import Probe
from autograd.op import OPS

MANY = 15_000


@pytest.fixture
def square():
    """Make x² an op, with a rule of one's own."""

    def make(vjp):
        return custom_op("square_of_a_test", forward=lambda x: x * x, vjp=vjp)

    yield make
    OPS.pop("square_of_a_test", None)


# --- linear in g --------------------------------------------------------------------------------------------

NOT_LINEAR = {
    "abs": lambda g: np.abs(g),
    "negative abs": lambda g: -np.abs(g),
    "maximum": lambda g: np.maximum(g, 0.0),
    "minimum": lambda g: np.minimum(g, 0.0),
    "clip": lambda g: np.clip(g, -2.0, 2.0),
    "a wide clip": lambda g: np.clip(g, -10.0, 10.0),
    "sign": lambda g: np.sign(g),
    "root": lambda g: np.sqrt(g) ** 2,
    "a constant": lambda g: g + 1e-3,
}


@pytest.mark.parametrize("name", NOT_LINEAR)
@pytest.mark.parametrize("x", [1.5, np.array([1.0, -2.0, 3.0]), np.array([1.0, -2.0], np.float32)], ids=repr)
def test_a_rule_that_is_not_linear_in_g_is_wrong(square, name, x):
    op = square(lambda g, out, x: (NOT_LINEAR[name](g) * 2 * x,))
    for seed in range(2):
        for f in (op, lambda x: ag.sum(op(ag.tanh(x)) * 0.75)):
            report = check_grads(f, x, seed=seed)
            assert report.verdict == "wrong" and "not linear in g" in str(report)


@pytest.mark.slow
def test_such_a_rule_is_found_among_thousands_of_entries(square):
    def rule(g, out, x):
        g = np.array(g)
        g[1234] = abs(g[1234])
        return (g * 2 * x,)

    x = np.random.default_rng(0).normal(size=MANY)
    for seed in (0, 1, 2):  # the weight of that entry is of either sign
        report = check_grads(square(rule), x, seed=seed)
        assert report.verdict == "wrong" and [entry.index for entry in report.failures] == [(1234,)]


def test_linear_rules_of_every_size_pass(square):
    op = square(lambda g, out, x: (g * 2 * x,))
    for x in (np.array([1e150, 1e-150, 3.0]), np.array([5e-320, 1e-310]), np.array([60.0, 6e-5], np.float16), 1e-300):
        report = check_grads(op, x)
        assert report.verdict in ("pass", "precision") and "not linear" not in str(report)


def test_a_hook_that_clips_is_named():
    def f(x):
        y = x * x
        y.hook(lambda g: np.clip(g, -2.0, 2.0))
        return y.sum()

    report = check_grads(f, np.array([1.0, 2.0]))
    assert report.verdict == "wrong" and "(or a hook) is not linear in g" in str(report)


# --- on Values as on numbers --------------------------------------------------------------------------------


def test_order_2_compares_the_gradient_on_values_with_the_one_on_numbers(square):
    op = square(lambda g, out, x: (g * (2 if isinstance(x, float | np.ndarray) else 3) * x,))
    for x in (1.5, np.array([1.0, -2.0, 3.0])):
        assert check_grads(lambda x: ag.sum(op(x)), x).ok
        report = check_grads(lambda x: ag.sum(op(ag.tanh(x))), x, order=2)
        assert report.verdict == "wrong"
        assert {round(entry.ratio, 6) for entry in report.failures} == {1.5}
        assert "the rule of square_of_a_test gives another gradient on Values" in str(report)


def test_order_2_of_a_rule_that_is_one_thing_on_both(square):
    op = square(lambda g, out, x: (g * 2 * x,))
    for x in (1.5, np.array([1.0, -2.0, 3.0]), np.array([1.0, -2.0], np.float32)):
        assert check_grads(lambda x: ag.sum(op(ag.tanh(x))), x, order=2).ok


# --- the edge of a domain -----------------------------------------------------------------------------------


@pytest.mark.parametrize("distance", [1e-9, 1e-10, 1e-11, 1e-13, 1e-15])
@pytest.mark.parametrize("f", [ag.log, ag.sqrt], ids=["log", "sqrt"])
def test_an_edge_nearer_than_the_shortest_step_is_no_mistake(f, distance):
    report = check_grads(lambda p: f(1.0 - p), 1.0 - distance)
    assert report.ok and report.entries[0].error == 0  # steps of 1e-30 stay inside


def test_an_edge_nearer_than_any_step_where_there_are_no_digits():
    """Called on plain floats: the slope grows as the step shrinks, so the steeper gradient is not called wrong."""
    report = check_formula(lambda p: math.log(float(1 - p)), lambda p: -1 / (1 - p), 1 - 1e-11)
    assert report.verdict == "precision"


def test_an_edge_farther_than_one_step_only():
    assert check_grads(lambda p: ag.log(1.0 - p), 1.0 - 1e-8).verdict in ("pass", "precision")


@pytest.mark.parametrize("slope", [-5.0, 5.0])
def test_a_wrong_gradient_at_an_edge_is_wrong(slope):
    assert check_formula(lambda x: x**1.5, lambda x: slope, 0.0).verdict == "wrong"


# --- one entry among thousands ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "factor"),
    [(np.float64, 1.5), (np.float32, 1.01)]
    + [pytest.param(np.float64, f, marks=pytest.mark.slow) for f in (1.01, -1.0)]
    + [pytest.param(np.float32, f, marks=pytest.mark.slow) for f in (1.5, -1.0)],
)
def test_one_wrong_entry_among_thousands_is_found_and_soon(square, monkeypatch, dtype, factor):
    factors = np.ones(MANY)
    factors[7777] = factor
    op = square(lambda g, out, x: (g * 2 * x * factors.astype(out.dtype),))
    evaluated = 0
    changes = Probe.changes

    def counted(probe, rows):
        nonlocal evaluated
        evaluated += len(rows)
        return changes(probe, rows)

    monkeypatch.setattr(Probe, "changes", counted)
    x = np.random.default_rng(0).normal(size=MANY).astype(dtype)
    report = check_grads(lambda x: op(x).sum(), x)
    assert report.verdict == "wrong"
    assert [(entry.index, round(entry.ratio, 3)) for entry in report.failures] == [((7777,), factor)]
    assert evaluated < 6000  # it was searched for again in each of 20 directions, here and for the op alone: 45,000


def test_several_wrong_entries_among_thousands_are_found(square):
    wrong = [5, 700, 9000]
    factors = np.ones(MANY)
    factors[wrong] = 1.1
    op = square(lambda g, out, x: (g * 2 * x * factors,))
    report = check_grads(lambda x: op(x).sum(), np.random.default_rng(0).normal(size=MANY))
    assert sorted(entry.index[0] for entry in report.failures) == wrong


def test_rounding_in_float32_is_not_taken_for_an_error():
    x = np.random.default_rng(0).normal(size=(120, 125)).astype(np.float32)
    w = np.random.default_rng(1).normal(size=(125, 4)).astype(np.float32)
    assert check_grads(lambda x: ag.softmax(ag.tanh(x @ w) * 3).sum(), x).verdict in ("pass", "precision")
    assert check_grads(lambda x: ag.tanh(x @ w).sum(), x).ok
