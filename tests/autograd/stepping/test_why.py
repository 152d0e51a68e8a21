"""Why a gradient is what it is: each answer against a case made to have it."""

import numpy as np
import pytest

import autograd as ag
from autograd import Value, explain, step
from autograd.formula.text import xml
from autograd.stepping import questions as why
from autograd.stepping.faces.terminal import Player
from autograd.stepping.page.panel import Panels


@pytest.fixture
def after():
    """Calls backward and keeps the graph, as a program does while it looks into it."""
    kept = []

    def run(loss):
        with np.errstate(all="ignore"):
            loss.backward()
        kept.append(loss)
        return loss

    return run


def test_a_sum_of_paths(after):
    a = Value(2.0, name="a")
    after(a * a + a)
    text = explain(a)
    assert "∂L/∂a = 5" in text and "a * a, operand 1 adds 2" in text and "used 3 times" in text


def test_saturated_tanh(after):
    x = Value(np.array([20.0, -30.0]), name="x")
    after((ag.tanh(x) * 3.0).sum())
    assert "tanh is saturated" in explain(x) and "smaller weights" in explain(x)


def test_partly_saturated_sigmoid(after):
    x = Value(np.array([40.0, 60.0]), name="x")
    after((ag.sigmoid(x) * 1.0).sum())
    assert "sigmoid is saturated" in explain(x)


def test_dead_relu(after):
    x = Value(np.array([-1.0, -2.0]), name="x")
    after((ag.relu(x) * 2.0).sum())
    assert "A dead ReLU: 2 of its 2 inputs" in explain(x)


def test_masked_row(after):
    x = Value(np.array([[0.5, 1.0]]), name="x")
    masked = ag.where(np.array([[False, False]]), x, -np.inf)
    after((ag.softmax(masked) * np.array([[1.0, 2.0]])).sum())
    assert "masked out completely" in explain(x)


def test_layer_norm_summed(after):
    x = Value(np.array([[1.0, 2.0, 4.0]]), name="x")
    after(ag.layer_norm(x).sum())
    assert "subtracts the mean" in explain(x)


def test_softmax_summed_and_saturated(after):
    x = Value(np.array([1.0, 2.0]), name="x")
    after(ag.softmax(x).sum())
    assert "rise alike" in explain(x)
    y = Value(np.array([100.0, 0.0]), name="y")
    after((ag.softmax(y) * np.array([1.0, 2.0])).sum())
    assert "softmax is saturated" in explain(y)


def test_times_zero(after):
    x, w = Value(2.0, name="x"), Value(0.0, name="w")
    after(x * w)
    assert "multiplied by w, which is 0" in explain(x)


def test_an_ordinary_gradient_needs_no_excuse(after):
    x = Value(2.0, name="x")
    after(x * 3.0)
    assert "Why" not in explain(x) and explain(x).endswith("through L.")


def test_cancelling(after):
    x = Value(2.0, name="x")
    after(x * 3.0 - x * 3.0)
    assert "its contributions cancel" in explain(x)


def test_first_nan_forwards_with_its_remedy(after):
    x = Value(0.0, name="x")
    with np.errstate(all="ignore"):
        loss = ag.log(x) * 0.0
    after(loss)
    text = explain(x)
    assert "going forward, the first is made by log, from x = 0" in text and "log_softmax" in text


def test_first_infinity_backwards(after):
    x = Value(0.0, name="x")
    after(ag.sqrt(x) * 2.0)
    text = explain(x)
    assert "going back, the first is what sqrt(x) sends to x" in text and "sqrt(x + 1e-12)" in text


def test_a_mask_is_no_trouble(after):
    x = Value(np.array([1.0, 2.0]), name="x")
    for masked in (ag.where(np.array([True, False]), x, -np.inf), x + np.array([0.0, -np.inf])):
        loss = after((ag.softmax(masked) * 3.0).sum())
        assert why.why_bad_value(loss) == ""


def test_none_because(after):
    constant = Value(1.0, name="c", requires_grad=False)
    assert "is a constant" in explain(constant)
    alone = Value(1.0, name="alone")
    assert "nothing was computed from it yet" in explain(alone)
    x, y = Value(2.0, name="x"), Value(3.0, name="y")
    loss = after(x * 2.0)
    assert "no path leads from" in explain(y, loss)
    cut = after(y.detach() * x)
    assert "detached copy of y" in explain(y, cut)
    late = Value(2.0, name="late")
    result = late * 2.0
    assert "backward() has not been called" in explain(late, result)
    jumpy = Value(2.0, name="jumpy")
    flag = jumpy > 1.0
    assert "greater passes no gradient on" in explain(flag)
    total = after(flag * x)
    assert "op without a slope" in explain(jumpy, total) or "passes no gradient" in explain(jumpy, total)
    made = constant * 2.0
    assert "made from constants only: c" in explain(made)


def test_the_root_is_found(after):
    w = Value(np.ones((2, 2)), name="w")
    hidden = ag.tanh(w @ np.ones(2))
    after((hidden * hidden).sum())
    assert "through" in explain(w)


def test_a_vector_root_is_explained_by_its_sum():
    x = Value(np.array([1.0, 2.0]), name="x")
    y = x * 3.0
    y.backward(grad=np.ones(2))
    assert "the gradient of its sum" in explain(x, y)


def test_wrong_argument():
    with pytest.raises(TypeError, match="expected a Value"):
        explain(3.0)


def test_the_wrong_way_round(after):
    x = Value(2.0, name="x")
    loss = ag.log(x) * x
    loss.name = "loss"
    after(loss)
    text = explain(loss, x)
    assert "loss was made from x" in text and "Write explain(x, loss)." in text and "None" not in text
    assert "Write" not in explain(x, loss) and "Write" not in explain(loss, loss)
    unrelated = after(Value(3.0, name="y") * 2.0)
    assert "No path leads" in explain(loss, unrelated) and "None" not in explain(loss, unrelated)


def test_an_unnamed_result_is_not_told_twice(after):
    middle = ag.log(Value(2.0, name="x"))
    total = after(middle * 3.0)
    assert explain(middle, total).startswith("A result of log; its value is 0.6931.")


def test_why_now_and_plus_in_a_step():
    x = Value(2.0, name="x")
    a, b = x * 2.0, x * 3.0
    a.name, b.name = "a", "b"
    loss = a * b
    loss.name = "loss"
    steps = step(loss)
    assert why.why_now(steps, steps[3]) == "loss is where backprop starts: if it grows by 1, it grows by 1."
    assert why.why_now(steps, steps[4]) == "b feeds only loss, and that is finished: nothing more can arrive at b."
    assert why.why_now(steps, steps[0]) == "x is known, so a can be computed."
    assert "used 2 times: in b and a" in why.why_plus(steps, x)


def test_explanations_show_themselves(after):
    x = Value(2.0, name="x")
    after(x * 3.0)
    assert repr(explain(x)) == str(explain(x))


def test_a_graph_that_is_gone():
    x = Value(2.0, name="x")
    (x * 3.0).backward()
    assert "nothing holds the graph" in explain(x)


# --- values without a name --------------------------------------------------------------------------------------------


def test_an_unnamed_leaf_before_backward():
    x = Value(20.0)
    kept = x * 3.0
    assert kept.op is not None and explain(x).splitlines() == [
        "A leaf without a name that asks for a gradient; its value is 20.",
        "Its .grad is None because backward() has not been called; backward() on the result of mul would set it.",
    ]


def test_an_unnamed_leaf_is_told_what_it_is_called(after):
    x = Value(np.array([1.0, 2.0]))
    after((x * 3.0).sum())
    assert explain(x).splitlines()[1] == "∂L/∂t1 = [3, 3], with t1 for this leaf: one path leads to it, through t1 * 3."


def test_unnamed_constants_and_strangers():
    constant, x, y = Value(1.0, requires_grad=False), Value([2.0, 3.0]), Value(5.0, name="y")
    assert explain(constant).splitlines()[1].startswith("Its .grad is None because it is a constant")
    product = (x * 2.0).sum()
    assert explain(y, product).endswith("no path leads from the result of sum back to y: it was not used there.")
    assert "It was made from a leaf of shape (2,), not" in explain(product, x)


def test_an_unnamed_leaf_that_makes_a_nan():
    x = Value(-1.0)
    with np.errstate(all="ignore"):
        y = ag.log(x)
    assert "is made by log, from an unnamed leaf (−1). Keep its input above 0" in explain(x, y)


def test_strangers_among_the_objects_are_left_alone(after):
    class Shy:
        @property
        def __class__(self):
            raise AssertionError("nobody asks for this")

    stranger = [Shy()]  # the garbage collector knows it
    x = Value(2.0, name="x")
    after(x * 3.0)
    assert "∂L/∂x = 3" in explain(x) and "nothing was computed" in explain(Value(1.0, name="alone"))
    assert len(stranger) == 1


def test_no_op_is_blamed_for_what_is_rounding_noise():
    """All entries of the row get the same gradient, so softmax's terms cancel; floats leave about 10⁻¹⁷ of them."""
    x = Value(np.array([[0.3, 0.1, 0.7]]), name="x")
    stepper = step((x.softmax() * 0.1).sum())
    place = next(i for i, one in enumerate(stepper) if one.contributions and one.node.op.name == "softmax")
    inside = [one for one in stepper.inside(place) if one.node.op.name in ("exp", "sub")]
    noise = [sent for one in inside for sent in one.contributions if 0 < np.abs(sent.value).max() < 1e-15]
    assert len(noise) == 3
    for sent in noise:
        assert not np.any(sent.added.value) and "slope" not in why.why_sent_little(sent)


def _rows(x):
    exponentials = np.exp(x)
    p = exponentials / exponentials.sum()
    s = np.sqrt(x.var() + 1e-5)
    return p, (x - x.mean()) / s, s


# The last line of each derivation, and the slopes ∂out_j/∂x_i in it, beside what backward() gives.
DERIVED = {
    "softmax": ("= p_i (g_i − Σ_j g_j p_j)", lambda p, z, s, one: p[:, None] * (one - p),
                lambda p, z, s, g: p * (g - g @ p)),
    "log_softmax": ("g_i − p_i Σ_j g_j", lambda p, z, s, one: one - p, lambda p, z, s, g: g - p * g.sum()),
    "layer_norm": ("(h_i − mean(h) − z_i mean(h z)) / s",
                   lambda p, z, s, one: (one - 1 / len(z) - np.outer(z, z) / len(z)) / s,
                   lambda p, z, s, g: (g - g.mean() - z * (g * z).mean()) / s),
}  # fmt: skip


@pytest.mark.parametrize("name", DERIVED)
def test_a_rule_is_derived_from_its_definition(name):
    written, slopes, rule = DERIVED[name]
    x, g = Value([0.3, -1.2, 0.8, 2.0], name="x"), np.array([1.0, -0.5, 2.0, 0.25])
    ones = (Value(np.ones(4)), Value(np.zeros(4))) if name == "layer_norm" else ()
    steps = step((ag.OPS[name](x, *ones) * g).sum())
    gradient = steps.walk.gradient(steps.twin(x))
    parts, made = _rows(x.data), next(one for one in steps if one.kind == "backward" and one.twin.op.name == name)
    first, *derived = why.why_this_rule(made)
    assert first.endswith(".") and len(derived) == 3 and derived[-1].endswith(written)
    np.testing.assert_allclose(rule(*parts, g), gradient, rtol=1e-9)
    np.testing.assert_allclose(g @ slopes(*parts, np.eye(4)), gradient, rtol=1e-9)
    assert "<br>".join(map(xml, derived)) in Panels(steps).panel(made)


def test_the_terminal_derives_a_rule():
    logits = Value([[0.3, -1.2, 0.8]], name="logits")
    steps = step(ag.cross_entropy(logits, [2]))
    steps.goto(len(steps) - 1)
    player = Player(steps, ask=lambda prompt: "", read_key=lambda: "q")
    player.do_why()
    assert "That is P − onehot(t)" in player.note and player.note.count("\n") >= 4
