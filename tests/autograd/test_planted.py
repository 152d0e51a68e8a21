"""The suite can fail: wrong rules and a wrong walk are planted, and the generated judgements must reject each."""

import numpy as np
import pytest

from autograd import OPS, Value, backprop, derivatives, expand_dims, mean, outer, sum
from autograd.errors import HandgradError
from tests.autograd.judges import (
    assert_close,
    case_name,
    cases,
    judge_first_order,
    judge_second_order,
    numeric_gradients,
    real_positions,
)

REJECTION = (AssertionError, HandgradError, ValueError)  # a wrong number, or a wrong shape


def rejected(op, judge=judge_first_order):
    """Whether the judge refuses the op on one of its samples."""
    for sample in op.samples:
        try:
            judge(op, sample)
        except REJECTION:
            return True
    return False


def plain(x):
    """A number that has forgotten how it was made: right at first order, wrong at the second."""
    return x.data if isinstance(x, Value) else x


def honest(name, *args, **settings):
    """What the op's own rule gives, while another stands in its place."""
    rule = OPS[name].before
    return tuple(r(*args, **settings) for r in rule) if isinstance(rule, tuple) else rule(*args, **settings)


# --- by hand: one wrong rule for each class of mistake people make ----------------------------------------------

WRONG = {
    "a lost path": ("mul", lambda g, out, x, y: (g * y, None)),
    "a double count": ("mul", lambda g, out, x, y: (2 * g * y, g * x)),
    "a sign": ("sub", lambda g, out, x, y: (g, g)),
    "operands swapped": ("mul", lambda g, out, x, y: (g * x, g * y)),
    "a missing square": ("div", (lambda g, out, x, y: g / y, lambda g, out, x, y: -g * x / y)),
    "the derivative of another function": ("sigmoid", lambda g, out, x: (g * (1 - out**2),)),
    "the output where the input belongs": ("tanh", lambda g, out, x: (g * (1 - x**2),)),
    "the incoming gradient forgotten": ("exp", lambda g, out, x: (out,)),
    "a kink the wrong way round": ("relu", lambda g, out, x: (g * (x < 0),)),
    "a missing transpose": ("matmul", (lambda g, out, x, y: g @ y, lambda g, out, x, y: x.mT @ g)),
    "factors in the wrong order": ("matmul", (lambda g, out, x, y: g @ y.mT, lambda g, out, x, y: g.mT @ x)),
    "all axes reversed in a batch": ("matmul", (lambda g, out, x, y: g @ y.T, lambda g, out, x, y: x.T @ g)),
    "the diagonal of softmax alone": ("softmax", lambda g, out, x, *, axis: (g * out * (1 - out),)),
    "softmax as if it were elementwise": ("softmax", lambda g, out, x, *, axis: (g * out,)),
    "log_softmax without its sum": ("log_softmax", lambda g, out, x, *, axis: (g,)),
    "a mean without its 1/n": ("mean", lambda g, out, x, *, axis, keepdims: OPS["sum"].vjp(
        g, out, x, axis=axis, keepdims=keepdims)),
    "a variance without its 2": ("var", lambda *args, **settings: (honest("var", *args, **settings)[0] / 2,)),
    "layer norm without its mean term": ("layer_norm", lambda g, out, x, gamma, beta, *, eps: (
        _layer_norm_dx(g, x, gamma, eps, centre=False, along=True),
        *honest("layer_norm", g, out, x, gamma, beta, eps=eps)[1:])),
    "layer norm without its variance term": ("layer_norm", lambda g, out, x, gamma, beta, *, eps: (
        _layer_norm_dx(g, x, gamma, eps, centre=True, along=False),
        *honest("layer_norm", g, out, x, gamma, beta, eps=eps)[1:])),
    "the loser takes it": ("maximum", lambda *args: honest("maximum", *args)[::-1]),
    "a repeated index that overwrites": ("getitem", lambda g, out, x, *, index: (_overwritten(g, np.shape(x), index),)),
    "cross entropy without the target": ("cross_entropy", lambda g, out, logits, targets, **settings: (
        OPS["softmax"](logits) * g, None)),
    "a stack's parts exchanged": ("stack", lambda *args, **settings: honest("stack", *args, **settings)[::-1]),
    "a sum with a cotangent of ones": ("sum", lambda g, out, x, *, axis, keepdims: (np.ones(np.shape(x)),)),
    "an outer product the wrong way round": ("linear", lambda g, out, x, weight, bias: (
        g @ weight.mT, outer(g, x) if np.ndim(x) == 1 else g.mT @ x, g)),
    "a bias as a mean over rows": ("linear", lambda g, out, x, weight, bias: (
        *honest("linear", g, out, x, weight, bias)[:2], g if np.ndim(g) == 1 else mean(g, axis=0))),
    "attention without its 1/√d": ("attention_weights", lambda g, out, q, k, mask, *, causal: (
        OPS["softmax_pull"](g, out) @ k, OPS["softmax_pull"](g, out).mT @ q, None)),
    "a reduction spread along the wrong axis": ("sum", lambda g, out, x, *, axis, keepdims: (
        g * np.ones(np.shape(x)) if keepdims or np.ndim(g) == 0 else expand_dims(g, -1) * np.ones(np.shape(x)),)),
}  # fmt: skip


def _layer_norm_dx(g, x, gamma, eps, centre, along):
    rows = x - mean(x, axis=-1, keepdims=True)
    scale = (mean(rows * rows, axis=-1, keepdims=True) + eps) ** -0.5
    rows, h = rows * scale, g * gamma
    out = h
    if along:
        out = out - rows * mean(h * rows, axis=-1, keepdims=True)
    if centre:
        out = out - mean(h, axis=-1, keepdims=True)
    return out * scale


def _overwritten(g, shape, index):
    out = np.zeros(shape)
    out[index] = g
    return out


@pytest.mark.parametrize("name, wrong", list(WRONG.values()), ids=list(WRONG))
def test_a_classic_mistake_is_rejected(name, wrong, monkeypatch):
    op = OPS[name]
    assert not rejected(op)
    monkeypatch.setattr(op, "before", op.vjp, raising=False)
    monkeypatch.setattr(op, "vjp", wrong)
    assert rejected(op)


# --- by machine: every gradient of every op, spoilt ------------------------------------------------------------------

SPOILT = {
    "too large by 0.01%": lambda dx: dx * 1.0001,
    "of the other sign": lambda dx: -1.0 * dx,
    "lost": lambda dx: None,
}


def spoil(rule, i, how):
    """The rule with its i-th gradient spoilt."""
    if isinstance(rule, tuple):
        return tuple(
            (lambda *args, r=r, **settings: how(r(*args, **settings))) if j == i else r for j, r in enumerate(rule)
        )

    def wrong(g, out, *xs, **settings):
        grads = rule(g, out, *xs, **settings)
        return tuple(how(dx) if j == i else dx for j, dx in enumerate(grads))

    return wrong


def every_gradient():
    """(op, i) for each input of each op that a gradient flows to."""
    for op in OPS.values():
        if op.differentiable:
            first = op.samples[0].inputs(op.name)
            for i in real_positions(first):
                yield op, i


@pytest.mark.parametrize("how", list(SPOILT.values()), ids=list(SPOILT))
@pytest.mark.parametrize("op, i", list(every_gradient()), ids=lambda x: x.name if hasattr(x, "name") else str(x))
def test_a_spoilt_gradient_is_rejected(op, i, how, monkeypatch):
    monkeypatch.setattr(op, "vjp", spoil(op.vjp, i, how))
    assert rejected(op)


@pytest.mark.parametrize("name, wrong", [
    ("tanh", lambda g, out, x: (g * (1 - plain(out) ** 2),)),
    ("exp", lambda g, out, x: (g * plain(out),)),
    ("mul", lambda g, out, x, y: (g * plain(y), g * plain(x))),
    ("softmax", lambda g, out, x, *, axis: (OPS["softmax_pull"](g, plain(out), axis=axis),)),
    ("sum", lambda g, out, x, **settings: (Value(plain(honest("sum", plain(g), None, plain(x), **settings)[0])),)),
], ids=lambda x: x if isinstance(x, str) else "")  # fmt: skip
def test_a_rule_that_forgets_the_graph_is_rejected_at_second_order(name, wrong, monkeypatch):
    op = OPS[name]
    monkeypatch.setattr(op, "before", op.vjp, raising=False)
    monkeypatch.setattr(op, "vjp", wrong)
    assert rejected(op, judge_second_order)


# --- the walk itself --------------------------------------------------------------------------------------------------


def diamond(x, y):
    """Shared nodes, the same operand twice, and broadcasting in one function."""
    h = x * y + y
    return sum(h * h * x.mean() + h)


POINT = [np.array([[0.3, -0.2, 0.9], [1.1, 0.4, -0.6]]), np.array([0.5, -1.5, 0.7])]


def judge_diamond():
    _, pull = derivatives.vjp(diamond, *POINT)
    for got, expected in zip(pull(1.0), numeric_gradients(diamond, POINT, 1.0), strict=True):
        assert_close(got, expected)


def walk_that(join):
    """The walk, with another way to join what a node has and what comes."""

    def walk(order, grads, wanted=None, taped=False):
        for node in order:
            g = grads.pop(node, None)
            if g is not None:
                for x, dx in backprop.contributions(node, g, wanted, taped):
                    grads[x] = dx if x not in grads else join(grads[x], dx)
        return []

    return walk


@pytest.mark.parametrize("join, accepted", [
    pytest.param(lambda total, dx: total + dx, True, id="adds"),
    pytest.param(lambda total, dx: dx, False, id="overwrites"),
    pytest.param(lambda total, dx: total, False, id="keeps the first"),
    pytest.param(lambda total, dx: total + 2 * dx, False, id="counts twice"),
])  # fmt: skip
def test_a_walk_that_loses_or_repeats_a_path_is_rejected(join, accepted, monkeypatch):
    monkeypatch.setattr(derivatives, "walk", walk_that(join))
    if accepted:
        judge_diamond()
    else:
        with pytest.raises(AssertionError):
            judge_diamond()


@pytest.mark.parametrize("undo", [
    pytest.param(lambda dx, shape: dx.reshape(-1, *shape)[0], id="the first row"),
    pytest.param(lambda dx, shape: dx.reshape(-1, *shape).mean(axis=0), id="the mean of the rows"),
])  # fmt: skip
def test_broadcasting_that_is_not_summed_is_rejected(undo, monkeypatch):
    def conform(dx, x, taped=False):
        return dx if np.shape(dx) == x.shape else undo(dx, x.shape)

    monkeypatch.setattr(backprop, "conform", conform)
    broadcast = [(op, s) for op, s in cases() if op.name in ("add", "mul", "sub") and case_name(s) == "2,3 3"]
    assert len(broadcast) == 3
    for op, sample in broadcast:
        with pytest.raises(REJECTION):
            judge_first_order(op, sample)


def test_an_op_without_samples_is_rejected():
    from autograd import Op
    from tests.autograd.test_ops import test_an_op_has_samples

    with pytest.raises(AssertionError, match="silent says nowhere how to test it"):
        test_an_op_has_samples(Op("silent", forward=np.negative, vjp=lambda g, out, x: (-g,), register=False))
