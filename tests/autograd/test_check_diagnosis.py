"""What is said of a wrong gradient: the pattern of its numbers, and the op and line at fault."""

import math

import numpy as np
import pytest

import autograd as ag
from autograd import OPS, Value, check_grads, custom_op
from autograd.check.api import check_subject
from autograd.check.diagnosis import diagnose_report
from autograd.check.subjects.subject import Subject

RNG = np.random.default_rng(1)


def draw(*shape):
    return RNG.normal(size=shape)


@pytest.fixture
def op():
    """Make an op with a wrong rule; it is gone after the test."""
    made = []

    def make(name, forward, vjp):
        made.append(name)
        return custom_op(name, forward=forward, vjp=vjp)

    yield make
    for name in made:
        OPS.pop(name, None)


def said(f, *inputs):
    report = check_grads(f, *inputs)
    assert report.verdict == "wrong", report
    return "\n".join(report.diagnosis)


@pytest.mark.parametrize(
    "factor, pattern",
    [
        (2.0, "twice too large"),
        (-1.0, "the sign is flipped"),
        (0.5, "half of what it should be"),
        (1 / 3, "too small by the factor 3"),
        (12.0, "too large by the factor 12"),
        (1.7, "the same factor 1.7"),
    ],
)
def test_a_constant_ratio(op, factor, pattern):
    f = op("scaled", lambda x: x**3, lambda g, out, x: (factor * 3 * g * x**2,))
    assert pattern in said(f, draw(3, 4))


@pytest.mark.parametrize("point", [2.0, np.array([2.0, 3.0])])
def test_a_rule_that_forgets_g(op, point):
    cube = op("cube", lambda x: x**3, lambda g, out, x: (3 * x**2,))
    assert "does a rule forget g?" in said(lambda x: ag.sum(cube(x)), point)


def test_transposed(op):
    f = op("gram", lambda x, y: x @ y, lambda g, out, x, y: ((g @ y.mT).mT, x.mT @ g))
    assert "x: transposed: axes 0 and 1" in said(f, draw(3, 3), draw(3, 3))


def test_transposed_and_not_square(op):
    f = op("square", lambda x: x**2, lambda g, out, x: (ag.reshape((2 * g * x).mT, np.shape(x)),))
    assert "in the order of the transpose" in said(f, draw(2, 3))


def test_one_entry_only(op):
    spoilt = np.ones((2, 3))
    spoilt[1, 2] = 3.0
    f = op("spoilt", lambda x: x**2, lambda g, out, x: (2 * g * x * spoilt,))
    assert "only x[1, 2] is wrong; the other 5 entries are right" in said(f, draw(2, 3))


def test_no_gradient_arrives(op):
    f = op("cut", lambda x: x**2, lambda g, out, x: (None,))
    assert "no gradient arrives" in said(f, draw(3))


def test_a_path_cut_by_detach():
    text = said(lambda x: x * x.detach(), draw(3))
    assert "half of what it should be" in text or "a path is missing" in text
    assert "a path is missing from the graph" in text


def test_a_term_is_missing(op):
    f = op("off", lambda x: x**2, lambda g, out, x: (2 * g * x + 0.25,))
    assert "off by 0.25 everywhere" in said(f, draw(4))


def test_swapped_inputs(op):
    f = op("swapped", lambda x, y: x * ag.exp(y), lambda g, out, x, y: (g * x * ag.exp(y), g * ag.exp(y)))
    assert "this is the gradient of y: two inputs are swapped" in said(f, draw(3), draw(3))


def test_the_line_and_the_rule_are_shown(op):
    cube = op("cube3", lambda x: x**3, lambda g, out, x: (2 * g * x**2,))

    def loss(x, w):
        hidden = ag.tanh(x @ w)
        cubed = cube(hidden)
        return (cubed * cubed).sum()

    report = check_grads(loss, draw(2, 3), draw(3, 2))
    assert report.culprit == "cube3"
    text = "\n".join(report.diagnosis)
    assert "test_check_diagnosis.py" in text and "cubed = cube(hidden)" in text
    assert "`2 * g * x ** 2`" in text


def test_the_rule_is_shown_with_the_sizes_it_saw(op):
    mean = op("my_mean", lambda x: x.mean(), lambda g, out, x: (g / x.size + 0 * x + 0.1,))
    assert "Its rule `g / 3 + 0 * x + 0.1` gives" in said(lambda x: mean(x), draw(3))


def test_a_rule_of_one_of_many_inputs_is_shown(op):
    def vjp(g, out, *xs):
        return (g, 2 * g, g)

    add = op("add_all", lambda *xs: sum(xs), vjp)
    text = said(lambda a, b, c: add(a, b, c), 1.0, 2.0, 3.0)
    assert "Its rule `2 * g` gives 2 for xs[1]; differences give 1" in text


def test_a_long_rule_is_not_printed(op):
    spoilt = np.arange(100.0)
    f = op("long", lambda x: x * spoilt, lambda g, out, x: (g * (2 * spoilt),))
    assert "Its rule gives" in said(f, draw(100))


def test_the_first_wrong_op_is_named_not_a_later_one(op):
    first = op("first_wrong", lambda x: x**3, lambda g, out, x: (2 * g * x**2,))
    then = op("then_wrong", lambda x: x**2, lambda g, out, x: (g * x,))
    assert check_grads(lambda x: then(first(x)).sum(), draw(3)).culprit == "first_wrong"


@pytest.mark.parametrize("leave", [lambda x: x.data, lambda x: x.detach()])
def test_a_rule_whose_own_gradient_is_wrong_is_named(op, leave):
    def vjp(g, out, x):
        return (3 * g * (leave(x) if isinstance(x, Value) else x) ** 2,)

    cube = op("left_cube", lambda x: x**3, vjp)
    first = Subject(lambda x: cube(ag.sin(x)).sum(), [draw(3)])
    second = Subject(lambda x: Subject(first.f, [x]).taped_gradients([1.0]), first.leaves)
    report = check_subject(second, diagnose=False)
    assert report.verdict == "wrong"
    diagnose_report(report, second, primal=first)
    assert report.culprit == "left_cube"
    assert "the first op whose rule has a wrong gradient of its own is left_cube, used in" in report.diagnosis[-1]
    assert "Does the rule `3 * g * x ** 2` leave the graph" in report.diagnosis[-1]


@pytest.mark.slow
def test_a_large_graph_is_searched_in_time(op):
    bad = op("bad_in_many", lambda x: x * 1.0, lambda g, out, x: (3 * g,))

    def f(x):
        for _ in range(400):
            x = x + 0.01 * ag.sin(x)
        return bad(x)

    assert check_grads(f, 0.5).culprit == "bad_in_many"


def test_a_hook_that_edits_gradients_is_hinted_at():
    def f(x):
        y = x * x
        y.hook(lambda g: 2 * g)
        return y

    report = check_grads(f, 1.5)
    assert report.verdict == "wrong" and report.culprit is None
    assert "look for a hook" in str(report)


class TestEveryRuleIsRight:
    """What makes a gradient wrong when no rule is."""

    def test_a_value_made_before_the_call(self):
        leaf = Value(draw(3))
        twice = leaf * 2
        text = said(lambda p: (p * twice).sum(), leaf)
        assert "there is a path too many: what mul made of an input before this call" in text
        assert "missing" not in text

    @pytest.mark.parametrize("make", [Value, np.array])
    def test_a_function_that_remembers(self, make):
        kept = {}

        def remembers(x):
            y = kept.setdefault("y", ag.exp(x))
            return (x * y).sum()

        assert "what exp made of an input before this call of remembers" in said(remembers, make(draw(3)))

    def test_what_was_made_before_of_other_leaves_is_nobody_s_fault(self):
        weight = Value(draw(3)) * 2
        text = said(lambda p: (p * p.data * weight).sum(), draw(3))
        assert "too many" not in text and "a path is missing" in text

    @pytest.mark.parametrize("point", [0.0, np.array([1.0, 0.0])])
    def test_kinks_that_cancel(self, point):
        text = said(lambda x: ag.sum(ag.relu(x) - ag.relu(-x)), point)
        assert "every op's own rule is right, but relu is at a breakpoint, used in" in text
        assert "hook" not in text and "detach" not in text

    def test_an_infinite_derivative_in_the_branch_not_chosen(self):
        text = said(lambda x: ag.where(x > 0, ag.sqrt(x), 0.0).sum(), np.array([0.0, 1.0]))
        assert "but sqrt, used in" in text and "has no finite derivative at x[0] = 0" in text
        assert "write where(..., x, 1.0) in the place of x" in text
        kept_out = lambda x: ag.where(x > 0, ag.sqrt(ag.where(x > 0, x, 1.0)), 0.0).sum()  # noqa: E731
        assert check_grads(kept_out, np.array([-1.0, 1.0])).ok

    @pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
    def test_a_branch_not_chosen_that_is_not_finite(self):
        text = said(lambda x: ag.where(ag.equal(x, 0), 1.0, ag.sin(x) / x).sum(), np.array([0.0, 1.0]))
        assert "but div, used in" in text and "has no finite derivative at" in text


def test_values_are_left_alone_by_the_search(op):
    cube = op("cube4", lambda x: x**3, lambda g, out, x: (g,))
    leaf = Value(draw(3))
    before = leaf.data.copy()
    check_grads(cube, leaf)
    np.testing.assert_array_equal(leaf.data, before)
    assert leaf.grad is None


def test_a_result_that_is_not_finite_blames_no_rule():
    report = check_grads(lambda x: x.sum() * math.nan, np.array([1.0, 2.0]))
    assert report.verdict == "wrong"
    assert report.culprit is None
    assert "the result itself is not finite: run the function under autograd.detect_nan()" in str(report)
