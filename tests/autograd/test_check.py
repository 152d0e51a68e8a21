"""check_grads: the verdicts, what they rest on, and what is said of them."""

import math
import re

import numpy as np
import pytest

import autograd as ag
from autograd import OPS, Value, assert_grads, check_formula, check_grads
from autograd.check.options import VERDICTS
from autograd.errors import DataError, GradientError
from tests.sweep import sweep

RNG = np.random.default_rng(0)


def draw(*shape):
    return RNG.normal(size=shape)


def attention(x, wq, wk, wv):
    return ag.attention(x @ wq, x @ wk, x @ wv)


@pytest.fixture
def wrong_rule(monkeypatch):
    """Replace an op's rule for one test."""

    def plant(name, rule):
        monkeypatch.setattr(OPS[name], "vjp", rule)

    return plant


# --- pass ---------------------------------------------------------------------------------------------------

RIGHT = {
    "a scalar": (lambda x: x**3, [2.0]),
    "attention": (attention, [draw(4, 3), draw(3, 3), draw(3, 3), draw(3, 3)]),
    "nested inputs and results": (
        lambda p, xs: {"a": [xs[0] @ p["w"]], "b": xs[1] * p["c"]},
        [{"w": draw(3, 2), "c": 2.0}, [draw(2, 3), draw(2)]],
    ),
    "sum over all axes": (lambda x: (x * x).sum(), [draw(3, 4)]),
    "transpose": (lambda x: x.T @ x, [draw(3, 4)]),
    "axis 0": (lambda x: ag.softmax(x, axis=0) * x.max(axis=0), [draw(3, 4)]),
    "an integer is held": (lambda x, n: x**n, [2.0, 3]),
    "indices are held": (lambda x, i: x[i], [draw(4, 2), np.array([0, 2, 2])]),
    "no axes": (lambda x: x * 2, [np.array(3.0)]),
    "no entries": (lambda x, y: x + y, [np.ones((0, 3)), np.ones(3)]),
    "an axis of one": (lambda x: x.mean(axis=0), [draw(1, 3)]),
    "huge numbers": (lambda x: x * x, [1e8]),
    "tiny numbers": (lambda x: x.log(), [1e-12]),
    "steep": (lambda x: ag.exp(50 * x), [0.3]),
    "wiggly": (lambda x: ag.sin(1000 * x), [0.3]),
    "cancellation": (lambda x: (x + 1e9) - 1e9, [0.3]),
    "beside a large number": (lambda x: x + 1e10, [3.0]),
    "near a kink": (lambda x: ag.relu(x), [1e-7]),
    "saturated": (lambda x: ag.tanh(x), [12.0]),
    "a looped op": (lambda x: ag.einsum("ii->i", x), [draw(3, 3)]),
    "apart": (lambda x: x[:, [0, 1], :, [1, 0]], [draw(2, 2, 2, 2)]),
    "one input in a list": (lambda xs: xs[0] ** 2, [[draw(3)]]),
}


@pytest.mark.parametrize("mode", ["reverse", "forward"])
@sweep("name", RIGHT)
def test_a_right_gradient_passes(name, mode):
    f, inputs = RIGHT[name]
    report = check_grads(f, *inputs, mode=mode)
    assert report.ok and report.verdict == "pass", report


@pytest.mark.parametrize("name", [n for n in RIGHT if n not in ("an integer is held",)])
def test_second_order_passes_too(name):
    f, inputs = RIGHT[name]
    first, report = check_grads(f, *inputs), check_grads(f, *inputs, order=2)
    assert report.ok, report
    assert len(report.entries) >= 2 * len(first.entries)  # the gradient also depends on the cotangent


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_coarse_dtypes_are_handled(dtype):
    """The differences are taken in float64 from the same forward functions, so float16 is no harder."""
    x, w = draw(3, 4).astype(dtype), draw(4, 2).astype(dtype)
    assert_grads(lambda x, w: ag.softmax(ag.tanh(x @ w)), x, w)


def test_every_entry_of_every_input_is_there():
    report = check_grads(attention, draw(4, 3), draw(3, 3), draw(3, 3), draw(3, 3))
    assert [e.where for e in report.entries[:4]] == ["x[0, 0]", "x[0, 1]", "x[0, 2]", "x[1, 0]"]
    assert len(report.entries) == report.count == 12 + 27
    for e in report.entries:
        assert e.gradient == pytest.approx(e.difference, rel=1e-6, abs=1e-7)


def test_zeros_that_are_right_pass_and_are_remarked():
    report = check_grads(lambda x: ag.layer_norm(x, 1.0, 0.0).sum(), draw(3, 4))
    assert report.verdict == "pass"
    assert any("zero everywhere, and that is right" in note for note in report.notes)
    assert "zero everywhere" in str(report)


def test_a_plain_array_beside_the_results_does_not_change():
    assert check_grads(lambda x: (x * 2, np.ones(3)), draw(2)).ok


def test_a_plain_array_that_does_change_leaves_the_graph():
    report = check_grads(lambda x: (x * 2, x.data * 3), draw(2))
    assert report.verdict == "wrong" and report.by == "calls"


def test_an_input_without_influence_passes():
    report = check_grads(lambda x, y: x * 2, 1.0, draw(3))
    assert report.ok
    assert any("gradient of y is zero" in note for note in report.notes)


# --- wrong --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [100.0, 2.0, 1.01, 1.0001, 0.5, -1.0, 0.0])
@pytest.mark.parametrize("scale", [1e-12, 1e-6, 1.0, 1e6])
def test_a_scaled_gradient_is_wrong_at_any_scale(wrong_rule, factor, scale):
    wrong_rule("sin", lambda g, out, x: (factor * g * ag.cos(x),))
    report = check_grads(lambda x: (scale * ag.sin(x)).sum(), draw(3))
    assert report.verdict == "wrong" and not report.ok
    assert all(e.ratio == pytest.approx(factor, rel=1e-3, abs=1e-5) for e in report.entries)


def test_a_small_wrong_entry_beside_large_right_ones(wrong_rule):
    wrong_rule("sin", lambda g, out, x: (2 * g * ag.cos(x),))
    report = check_grads(lambda x, y: x * 1e3 + 1e-3 * ag.sin(y), 2.0, 0.3)
    assert [e.verdict for e in report.entries] == ["pass", "wrong"]


def test_nan_is_a_failure(wrong_rule):
    wrong_rule("sin", lambda g, out, x: (g * math.nan,))
    assert check_grads(ag.sin, draw(3)).verdict == "wrong"


def test_a_wrong_second_order_is_found_where_the_first_is_right(wrong_rule):
    wrong_rule("cos", lambda g, out, x: (g * ag.sin(x),))  # the rule of sin uses cos: only its derivative is wrong
    assert check_grads(ag.sin, 0.7).ok
    report = check_grads(ag.sin, 0.7, order=2)
    assert report.verdict == "wrong"
    assert report.failures[0].order == 2 and "∇" in str(report)


def test_the_report_names_function_input_index_both_numbers_and_ratio(wrong_rule):
    wrong_rule("mul", lambda g, out, x, y: (g * y, 2 * g * x))

    def scores(query, key):
        return query * key

    report = check_grads(scores, np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]), seed=5)
    said = str(report)
    assert said.startswith("scores: wrong  (4 entries of 2 inputs, seed 5; results weighted with [")
    worst = report.failures[0]
    assert worst.where == "key[0, 1]" and worst.ratio == pytest.approx(2)
    for part in ("key[0, 1]", f"{worst.gradient:.8g}", f"{worst.difference:.8g}", "twice too large", "seed 5"):
        assert part in said


def test_assert_grads_raises_with_the_report(wrong_rule):
    assert assert_grads(ag.sin, 0.3).ok
    wrong_rule("sin", lambda g, out, x: (g,))
    with pytest.raises(GradientError, match="sin: wrong") as raised:
        assert_grads(ag.sin, 0.3)
    assert raised.value.report.verdict == "wrong"
    assert isinstance(raised.value, AssertionError)


# --- kink ---------------------------------------------------------------------------------------------------

KINKS = {
    # function, input, place of the kink, one-sided derivatives (for a cotangent of 1), engine's answer between them
    "relu": (ag.relu, np.array([0.0, 1.0, -1.0]), (0,), (0.0, 1.0)),
    "abs, where differences agree": (abs, np.array([0.5, 0.0]), (1,), (-1.0, 1.0)),
    "max of a tie": (lambda x: x.max(), np.array([1.0, 1.0, 0.0]), (0,), (0.0, 1.0)),
    "min of a tie": (lambda x: x.min(), np.array([0.0, 1.0, 0.0]), (2,), (0.0, 1.0)),
    "maximum": (lambda x: ag.maximum(x, 2.0), np.array([2.0]), (0,), (0.0, 1.0)),
    "clip": (lambda x: ag.clip(x, -1.0, 1.0), np.array([1.0]), (0,), (0.0, 1.0)),
    "leaky_relu": (lambda x: ag.leaky_relu(x, 0.9), np.array([0.0]), (0,), (0.9, 1.0)),
    "norm at zero": (lambda x: ag.norm(x), np.array([0.0, 0.0]), (0,), (-1.0, 1.0)),
    "a kink deep inside": (lambda x: ag.tanh(ag.relu(x * 3) + x) * 2, np.array([0.0]), (0,), (2.0, 8.0)),
    "a branch in Python": (lambda x: x * 2 if x.data > 1.0 else x + 1, np.array(1.0), (), (1.0, 2.0)),
}


@pytest.mark.parametrize("name", KINKS)
def test_a_kink_is_a_kink(name):
    f, x, index, sides = KINKS[name]
    report = check_grads(f, x)
    assert report.verdict == "kink", report
    entry = next(e for e in report.entries if e.index == index)
    assert entry.verdict == "kink"
    weight = np.reshape(report.cotangents[0], -1)
    found = sorted((entry.left, entry.right))
    assert any(found == pytest.approx(sorted(np.multiply(sides, w)), rel=1e-5, abs=1e-6) for w in weight)
    assert entry.between is True
    assert "at a kink" in str(report) and "lies between them" in str(report)


@pytest.mark.parametrize("f", [ag.sign, lambda x: (x > 0) * 2.0 + x, lambda x: ag.where(x > 0, x + 1.0, x)])
def test_a_jump_is_a_kink_too(f):
    report = check_grads(f, np.array([0.0, 1.0]))
    assert [e.verdict for e in report.entries] == ["kink", "pass"], report


def test_an_upright_tangent_is_a_kink_too():
    assert check_grads(lambda x: ag.sign(x) * ag.sqrt(abs(x)), 0.0).verdict in ("kink", "wrong")
    assert check_grads(lambda x: abs(x) ** 0.5, 1e-6).ok


def test_the_entries_beside_a_kink_pass():
    report = check_grads(ag.relu, np.array([0.0, 1.0, -1.0]))
    assert [e.verdict for e in report.entries] == ["kink", "pass", "pass"]


def test_an_answer_outside_the_one_sided_derivatives_is_said(wrong_rule):
    wrong_rule("abs", lambda g, out, x: (5 * g,))
    report = check_grads(abs, 0.0)
    assert report.verdict == "kink"
    assert report.entries[0].between is False
    assert "does not lie between them" in str(report)


def test_nan_at_a_kink_is_wrong(wrong_rule):
    wrong_rule("abs", lambda g, out, x: (g * math.nan,))
    assert check_grads(abs, 0.0).verdict == "wrong"


@pytest.mark.parametrize(
    "f", [lambda x: x * x, lambda x: x**3, lambda x: x * abs(x), ag.silu, lambda x: ag.exp(-x * x)]
)
def test_a_smooth_extremum_is_no_kink(f):
    assert check_grads(f, np.array([0.0, 0.5])).ok
    assert check_grads(f, 1e-9).ok


# --- precision ----------------------------------------------------------------------------------------------


def test_float32_with_a_tiny_step_is_the_steps_fault():
    x = np.array([0.5, 0.1, 0.3], np.float32)
    assert check_grads(ag.tanh, x, step=1e-7).ok  # replayed in float64
    coarse, slope = lambda x: np.tanh(x.astype(np.float32)), lambda x: np.diag(1 - np.tanh(x) ** 2)
    report = check_formula(coarse, slope, x, step=1e-7)
    assert report.verdict == "precision", report
    assert "the step is at fault, not the gradient" in str(report)
    assert check_grads(ag.tanh, x).ok


@pytest.mark.parametrize("step", [1e-4, 1e-6])
def test_a_sensible_step_is_accepted(step):
    assert check_grads(ag.tanh, draw(3), step=step).ok


def test_a_step_that_leaves_the_domain():
    report = check_grads(ag.log, 0.01, step=0.02)
    assert report.verdict == "precision"
    assert check_grads(ag.log, 0.01).ok


@pytest.mark.parametrize("f", [ag.sqrt, lambda x: x**1.5])
def test_the_edge_of_a_domain_has_one_side_only(f):
    report = check_grads(f, 0.0)
    assert report.verdict == "precision"
    assert "one-sided" in str(report)
    assert math.isnan(report.entries[0].left) and not math.isnan(report.entries[0].right)


def test_a_wrong_gradient_at_the_edge_of_a_domain(wrong_rule):
    wrong_rule("power", (lambda g, out, x, y: 7.0 * g, lambda g, out, x, y: g * 0.0))
    assert check_grads(lambda x: x**1.5, 0.0).verdict == "wrong"


def test_hopeless_cancellation_is_settled_in_digits():
    def f(x):
        return abs(x + 1e17) - 1e17  # x is lost in it

    report = check_grads(f, 0.3)
    assert report.ok and report.entries[0].difference == 1.0


def test_a_function_that_is_not_finite_does_not_pass():
    with np.errstate(all="ignore"):
        assert check_grads(lambda x: ag.log(x), -1.0).verdict in ("precision", "wrong")


# --- nondeterministic ---------------------------------------------------------------------------------------


def test_unseeded_dropout_is_nondeterministic():
    rng = np.random.default_rng(0)
    report = check_grads(lambda x: x * (rng.random(8) > 0.5), draw(8))
    assert report.verdict == "nondeterministic"
    assert not report.ok and "fix the seed" in str(report)


def test_seeded_dropout_passes():
    assert check_grads(lambda x: x * (np.random.default_rng(3).random(8) > 0.5), draw(8)).ok


def test_a_counter_is_nondeterministic():
    calls = []

    def f(x):
        calls.append(1)
        return x * float(len(calls))

    assert check_grads(f, 2.0).verdict == "nondeterministic"


# --- calls beside the replay --------------------------------------------------------------------------------


def test_numbers_that_leave_the_graph_are_noticed():
    report = check_grads(lambda x: x * x.data, 3.0)
    assert report.verdict == "wrong" and report.by == "calls"
    assert "a path is missing from the graph" in str(report)


def test_python_branches_are_followed_by_calls():
    """On the branch exactly: a replay would freeze it and find nothing."""
    report = check_grads(lambda x: x.sum() if x.data[0] > 1 else 3 * x.sum(), np.array([1.0, 2.0]))
    assert report.by == "calls"
    assert [e.verdict for e in report.entries] == ["kink", "pass"]


def test_a_branch_far_away_keeps_the_replay():
    report = check_grads(lambda x: x * 2 if x.data > 0 else x * 3, 5.0)
    assert report.ok and report.by == "replay"


# --- inputs -------------------------------------------------------------------------------------------------


def test_inputs_are_restored_bit_for_bit():
    array = draw(3)
    array[1] = -0.0
    array.flags.writeable = False
    leaf = Value(draw(2, 2), name="w")
    leaf.grad = np.ones((2, 2))
    before, data, stamp = (array.tobytes(), leaf.data.tobytes()), leaf.data, leaf.stamp
    check_grads(lambda x, w: (x.sum() * w) if w.data[0, 0] > 0 else w * 2, array, leaf, order=2)
    assert (array.tobytes(), leaf.data.tobytes()) == before
    assert leaf.data is data and leaf.stamp == stamp
    np.testing.assert_array_equal(leaf.grad, np.ones((2, 2)))


def test_a_function_that_succeeds_only_once_is_reported_and_its_input_restored():
    leaf = Value(2.0)
    calls = []

    def f(x):
        calls.append(1)
        if len(calls) > 1:
            raise RuntimeError("no")
        return x * 2

    report = check_grads(f, leaf)
    assert report.verdict == "nondeterministic"
    assert "one raised RuntimeError: no" in report.notes[0]
    assert leaf.data == 2.0


def test_a_leaf_that_the_function_reaches_by_itself():
    """As a module reaches its parameters: the Value itself is varied."""
    w = Value(draw(3, 2), name="w")
    report = check_grads(lambda x, _: x @ w, draw(2, 3), w, order=2)
    assert report.ok
    assert [e for e in report.entries if e.input == "w" and e.gradient != 0]


def test_a_wrong_rule_is_found_in_a_leaf_reached_from_outside(wrong_rule):
    w = Value(draw(3, 2), name="w")
    wrong_rule("matmul", (lambda g, out, x, y: g @ y.mT, lambda g, out, x, y: 2 * x.mT @ g))
    report = check_grads(lambda x, _: x @ w, draw(2, 3), w)
    assert {e.input for e in report.failures} == {"w"}


def test_aliases_are_noticed():
    x = draw(4)
    report = check_grads(lambda a, b: a * b, x, x[::-1])
    assert report.ok and any("share memory" in note for note in report.notes)
    v = Value(draw(3))
    report = check_grads(lambda a, b: a * b, v, v)
    assert report.ok and any("the same Value" in note for note in report.notes)
    assert len(report.entries) == 3


def test_inputs_that_depend_on_each_other_are_noticed():
    a = Value(2.0)
    b = a * 3
    report = check_grads(lambda a, b: a * b, a, b)
    assert report.ok and any("was computed by mul" in note for note in report.notes)
    assert [round(e.ratio, 6) for e in report.entries] == [1, 1]


def test_non_contiguous_and_read_only_arrays():
    x = np.asfortranarray(draw(4, 6))[::2, ::-3]
    x.flags.writeable = False
    assert_grads(lambda x: ag.softmax(x) * x, x)


def test_infinite_entries_are_held():
    mask = np.array([[0.0, -np.inf], [0.5, 0.0]])
    report = check_grads(lambda q, m: ag.softmax(q + m), draw(2, 2), mask)
    assert report.ok and any("cannot be moved" in note for note in report.notes)


@pytest.mark.parametrize(
    "inputs, message",
    [([True], "nothing to check"), (["text"], "nothing to check"), ([object()], "give numbers, arrays or Values")],
)
def test_nothing_to_check(inputs, message):
    with pytest.raises(DataError, match=message):
        check_grads(lambda x: x, *inputs)


def test_nothing_real_comes_out():
    with pytest.raises(DataError, match="returned nothing real"):
        check_grads(lambda x: "text", 1.0)


@pytest.mark.parametrize("wrong", [{"order": 3}, {"mode": "sideways"}, {"step": 0.0}, {"step": -1.0}])
def test_bad_options_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        check_grads(lambda x: x, 1.0, **wrong)


@pytest.mark.parametrize("seed", range(3))
def test_the_gradient_of_a_scalar_is_reported_as_it_is(seed):
    (entry,) = check_grads(lambda x: x * x, 1.0, seed=seed).entries
    assert (entry.gradient, entry.difference) == (2.0, pytest.approx(2.0))
    (entry,) = check_grads(lambda x: x * x, 1.0, seed=seed, mode="forward").entries
    assert entry.gradient == 2.0
    assert [e.gradient for e in check_grads(lambda x: x**3, 1.0, seed=seed, order=2).entries] == [3.0, 6.0, 3.0]
    wrong = check_grads(lambda x: x * x.data, 1.0, seed=seed)
    assert (wrong.entries[0].gradient, wrong.entries[0].ratio) == (1.0, pytest.approx(0.5))
    assert "weighted" not in str(wrong) and f"seed {seed})" in str(wrong)
    kink = check_grads(lambda x: abs(x), 0.0, seed=seed)
    assert "the slope is -1 to the left and 1 to the right; the gradient 0 lies between them" in str(kink)


def test_weighted_results_say_their_weights():
    report = check_grads(lambda x: x * x.data, np.array([1.0, 2.0]))
    assert re.search(r"seed 0; results weighted with \[.*\]\)", str(report))


def test_seeds_change_the_weights_and_nothing_else():
    one, two = check_grads(ag.softmax, draw(3), seed=1), check_grads(ag.softmax, draw(3), seed=2)
    assert one.ok and two.ok
    assert not np.array_equal(one.cotangents[0], two.cotangents[0])
    again = check_grads(ag.softmax, draw(3), seed=1)
    np.testing.assert_array_equal(one.cotangents[0], again.cotangents[0])


# --- large inputs: directions -------------------------------------------------------------------------------


def test_a_large_input_is_checked_along_directions():
    x = RNG.normal(size=(200, 100))
    report = check_grads(lambda x: ag.tanh(x), x)
    assert report.ok
    assert any("along 8 random lines: an error of" in note for note in report.notes)


def test_one_wrong_entry_of_many_is_found(wrong_rule):
    x = RNG.normal(size=20_000)
    spoilt = np.ones(20_000)
    spoilt[12_345] = 1.5
    wrong_rule("tanh", lambda g, out, x: (g * (1 - out**2) * spoilt,))
    report = check_grads(ag.tanh, x)
    assert report.verdict == "wrong"
    assert (12_345,) in {e.index for e in report.failures}


def test_a_large_and_a_small_input_together():
    x, b, seventh = RNG.normal(size=(150, 100)), draw(100), np.eye(100)[7]
    assert check_grads(lambda x, b: ag.tanh(x) + b, x, b).ok
    report = check_grads(lambda x, b: ag.tanh(x) + b + 1e-5 * seventh * b.detach(), x, b)
    assert [e.where for e in report.failures] == ["b[7]"]


def test_verdicts_are_the_public_ones():
    assert set(VERDICTS) == {"pass", "wrong", "kink", "precision", "nondeterministic"}


@pytest.mark.parametrize("order", [1, 2])
def test_a_derivative_inside_the_function_reaches_the_inputs_around_it(order):
    """A gradient penalty: the inner gradient, with respect to plain x, still depends on w."""
    x = np.array([[0.5, -1.2, 0.3], [1.1, 0.4, -0.7]])

    def penalty(w):
        inner = ag.grad(lambda x: ag.tanh(x @ w).sum())(x)
        return ((inner * inner).sum() - 1.0) ** 2

    assert check_grads(penalty, np.array([0.9, -0.5, 1.5]), order=order).verdict == "pass"
