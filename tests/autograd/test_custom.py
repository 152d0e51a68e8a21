"""custom_op: an op of one's own in one block, drawn, printed, checked and differentiated like those of the table."""

import copy
import functools
import math
import pickle

import numpy as np
import pytest

import autograd as ag
from autograd import OPS, Value, assert_grads, custom_op, grad
from autograd.errors import BackwardError, DataError, GradientError
from autograd.expr import rule


def make_cube(**more):
    return custom_op("cube", forward=lambda x: x**3, vjp=lambda g, out, x: (3 * g * x**2,), **more)


def test_one_block_makes_an_op():
    cube = make_cube()
    x = Value(np.array([1.0, 2.0]), name="x")
    y = cube(x)
    assert y.op is cube and y.op.name == "cube" and y.parents == (x,)
    y.sum().backward()
    np.testing.assert_array_equal(x.grad, [3.0, 12.0])
    assert cube(2.0) == 8.0
    assert OPS["cube"] is cube


def test_it_is_differentiable_again_and_checked():
    cube = make_cube()
    assert grad(grad(cube))(2.0) == 12.0
    assert_grads(cube, np.array([1.0, -2.0]), order=2)
    assert_grads(cube, np.array([1.0, -2.0]), mode="forward")


def test_its_rule_prints_itself():
    assert [str(e) for e in rule(make_cube())] == ["3 * g * x ** 2"]
    for reads in ("x ** 3", "third_power(x)", "x.cubed()"):
        assert make_cube(reads=reads).reads == reads
    assert str(make_cube(reads="x ** 3")(ag.Expr("y") + 1)) == "(y + 1) ** 3"


def test_a_rule_may_call_its_parameters_anything():
    square = custom_op("square", forward=lambda x: x * x, vjp=lambda dout, y, x: (2 * dout * x,))
    assert grad(square)(3.0) == 6.0 and assert_grads(square, np.array([1.0, -2.0]), order=2)
    of_g = custom_op("of_g", forward=lambda g, out: g * out, vjp=lambda d, y, g, out: (d * out, d * g))
    assert grad(of_g, wrt=(0, 1))(3.0, 5.0) == (5.0, 3.0)
    assert [str(e) for e in rule(of_g)] == ["grad * out", "grad * g"]
    assert [str(e) for e in rule(of_g(Value(3.0, name="a"), Value(5.0, name="b")))] == ["g * b", "g * a"]


class Rule:
    def __call__(self, dout, out, x):
        return (2 * dout * x,)

    method = __call__


def with_factor(g, out, x, factor=2):
    return (factor * g * x,)


@pytest.mark.parametrize("vjp", [
    lambda *given: (2 * given[0] * given[2],), lambda x, y, g: (2 * x * g,), Rule(), Rule().method, with_factor,
    functools.partial(with_factor, factor=2), functools.wraps(with_factor)(lambda *given: with_factor(*given)),
])  # fmt: skip
def test_a_rule_may_be_any_callable_with_any_names(vjp):
    square = custom_op("square", forward=lambda g: g * g, vjp=vjp)
    assert_grads(square, np.array([1.0, 2.0]), order=2)
    assert grad(square)(3.0) == 6.0


def test_samples_check_it_when_it_is_made():
    make_cube(samples=[2.0, (np.ones((2, 2)),)])
    with pytest.raises(GradientError, match="wrong_cube: wrong"):
        custom_op("wrong_cube", forward=lambda x: x**3, vjp=lambda g, out, x: (2 * g * x**2,), samples=[2.0])
    assert "wrong_cube" not in OPS


def test_several_inputs_broadcasting_and_none():
    blend = custom_op(
        "blend", forward=lambda x, y, t: x * t + y * (1 - t), vjp=lambda g, out, x, y, t: (g * t, g * (1 - t), None)
    )
    x, y = Value(np.ones((2, 3))), Value(np.ones(3))
    blend(x, y, np.array(0.25)).sum().backward()
    np.testing.assert_allclose(x.grad, np.full((2, 3), 0.25))
    np.testing.assert_allclose(y.grad, np.full(3, 1.5))


def test_settings_are_keyword_only_parameters():
    scale = custom_op(
        "scale", forward=lambda x, *, by=2.0: x * by, vjp=lambda g, out, x, *, by: (g * by,),
        reads="x * by", samples=[1.0],
    )  # fmt: skip
    assert scale(Value(3.0)).data == 6.0
    assert grad(lambda x: scale(x, by=5.0))(1.0) == 5.0
    assert scale(Value(3.0), by=5.0).op.settings == {"by": 5.0}
    with pytest.raises(TypeError, match="no setting of; it has by"):
        scale(1.0, of=2)
    with pytest.raises(TypeError, match="takes 1 input; got 2"):
        scale(1.0, 2.0)


def test_a_setting_without_default_is_asked_for():
    power = custom_op("topower", forward=lambda x, *, n: x**n, vjp=lambda g, out, x, *, n: (g * n * x ** (n - 1),))
    with pytest.raises(TypeError, match="needs n="):
        power(2.0)
    assert grad(lambda x: power(x, n=3))(2.0) == 12.0


def test_forward_may_be_a_function_of_numpy():
    e = custom_op("e_to", forward=np.exp, vjp=lambda g, out, x: (g * out,), samples=[0.5, np.arange(3.0)])
    assert grad(e)(0.0) == 1.0
    custom_op("times", forward=np.multiply, vjp=lambda g, out, x, y: (g * y, g * x), samples=[(2.0, np.arange(3.0))])
    with pytest.raises(DataError, match=r"forward takes 2 inputs, .* got vjp\(g, out, x\)"):
        custom_op("times_one", forward=np.multiply, vjp=lambda g, out, x: (g,))


def test_it_can_be_made_again():
    """As when a notebook cell is run twice."""
    make_cube()
    again = custom_op("cube", forward=lambda x: x**3, vjp=lambda g, out, x: (3.0 * g * x * x,))
    assert OPS["cube"] is again


def test_it_survives_copies_and_pickles():
    cube = make_cube()
    y = cube(Value(2.0, name="x"))
    for twin in (copy.deepcopy(y), pickle.loads(pickle.dumps(y))):
        twin.backward()
        assert twin.parents[0].grad == 12.0


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"name": "exp"}, "an op of the table already"),
        ({"name": "not a name"}, "a Python name"),
        ({"vjp": lambda g, x: (g,)}, r"the rule is vjp\(g, out, and these\); got vjp\(g, x\)"),
        ({"vjp": np.sin}, "Wrap it in a lambda"),
        ({"forward": lambda x, **more: x}, "cannot take"),
        ({"reads": "y ** 3"}, r"names y; the rule calls its inputs and settings x"),
        ({"reads": "x **"}, r"a Python expression, such as cube\(x\); got 'x \*\*'"),
    ],
)
def test_bad_declarations_are_refused(arguments, message):
    before = dict(OPS)
    block = {"name": "cube", "forward": lambda x: x**3, "vjp": lambda g, out, x: (3 * g * x**2,)} | arguments
    with pytest.raises(DataError, match=message):
        custom_op(block.pop("name"), **block)
    assert before == OPS


@pytest.mark.parametrize(
    "vjp, message",
    [
        (lambda g, out, x: 3 * g * x**2, "not a tuple"),
        (lambda g, out, x: (g, g), "gave 2 gradients for 1 inputs"),
        (lambda g, out, x: (np.ones(5),), r"a gradient of shape \(5,\); the input has \(3,\)"),
        (lambda g, out, x: (1.0,), r"a gradient of shape \(\); the input has \(3,\)"),
        (lambda g, out, x: (g * 1j,), r"a complex gradient, .*Return its \.real"),
    ],
)
def test_bad_answers_of_a_rule_are_refused(vjp, message):
    op = custom_op("odd", forward=lambda x: x**3, vjp=vjp)
    x = Value(np.ones(3))
    y = op(x).sum()
    with pytest.raises(BackwardError, match=message):
        y.backward()
    assert x.grad is None


def test_what_it_edits_is_its_own():
    """Written as NumPy code is: the caller's arrays, the result and the gradients of others stay as they are."""

    def forward(x):
        x *= 2.0
        return x

    def vjp(g, out, x):
        g *= 2.0
        out *= 0.0
        x *= 0.0
        return (g,)

    double = custom_op("double_in_place", forward=forward, vjp=vjp)
    x, y, array = Value(np.ones(2)), Value(np.ones(2)), np.ones(2)
    doubled = double(x)
    (doubled + y).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0] and y.grad.tolist() == [1.0, 1.0]
    assert x.data.tolist() == [1.0, 1.0] and doubled.data.tolist() == [2.0, 2.0]
    assert double(array).tolist() == [2.0, 2.0] and array.tolist() == [1.0, 1.0]
    same = custom_op("same_array", forward=lambda x: x, vjp=lambda g, out, x: (g,))(x)
    x.data += 1.0
    assert same.data.tolist() == [1.0, 1.0]


MATRIX = np.array([[2.0, 1.0], [0.5, 3.0]])


@pytest.mark.parametrize(
    "forward, vjp, x",
    [
        (np.sin, lambda g, out, x: (g * np.array([math.cos(t) for t in x]),), np.arange(3.0)),
        (lambda x: np.maximum(x, 0), lambda g, out, x: (np.where(x > 0, g, 0.0),), np.arange(3.0)),
        (lambda x: x[:2], lambda g, out, x: (np.concatenate([g, np.zeros(1)]),), np.arange(3.0)),
        (lambda x: x.mean(), lambda g, out, x: (g / len(x) * np.ones(x.shape),), np.arange(3.0)),
        (lambda x: x * 2, lambda g, out, x: ((g * 2).astype(float),), np.arange(3.0)),
        (lambda x: x * 2, lambda g, out, x: (np.array([2 * t for t in g]),), np.arange(3.0)),
        (np.linalg.det, lambda g, out, x: (g * out * np.linalg.inv(x).T,), MATRIX),
        (lambda x: x * x, lambda g, out, x: (2 * x * g if x > 0 else x * g,), 2.0),
    ],
)
def test_a_rule_that_can_only_be_run_is_drawn_and_stepped_by_its_name(forward, vjp, x):
    op = custom_op("mine", forward=forward, vjp=vjp)
    result = ag.sum(op(Value(x, name="q")))
    drawing, steps = ag.draw(result, edges="rule"), ag.step(result)
    assert "mine′(g)" in drawing.svg
    rules = [c.rule for step in steps for c in step.contributions if c.parent.name == "q"]
    assert len(rules) == 1 and rules[0].startswith("backward_mine(") and rules[0].endswith(", q)")
    assert "backward_mine" in steps.html()
    with pytest.raises(DataError, match="the rule of mine can only be run, not written as text"):
        rule(op(Value(x)))


def test_a_rule_that_gives_a_plain_number_is_text():
    steady = custom_op("steady", forward=lambda x: x * 0 + 1, vjp=lambda g, out, x: (0.0,))
    assert [str(e) for e in rule(steady(Value(2.0)))] == ["0.0"]
    assert ag.draw(steady(Value(2.0, name="q")), edges="rule").svg
