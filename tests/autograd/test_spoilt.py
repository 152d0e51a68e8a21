"""The suite can fail: every gradient of every op is spoilt, the walk too, and the generated judgements reject each.

Mistakes that people make are planted by hand in test_planted.py.
"""

import numpy as np
import pytest

from autograd import OPS, Op, Value, derivatives, engine
from autograd.errors import HandgradError, LostGradientWarning
from tests.autograd.judges import (
    assert_close,
    case_name,
    cases,
    judge_first_order,
    judge_second_order,
    numeric_gradients,
    real_positions,
)
from tests.sweep import sweep

REJECTION = (AssertionError, HandgradError, ValueError, LostGradientWarning)  # a wrong number or shape, or none


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


@pytest.mark.slow
@sweep("op, i", every_gradient(), ids=lambda x: getattr(x, "name", x))
def test_a_spoilt_gradient_is_rejected(op, i):
    right = op.vjp
    for how in SPOILT:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(op, "vjp", spoil(right, i, SPOILT[how]))
            assert rejected(op), how


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
    return (h * h * x.mean() + h).sum()


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
                for x, dx in engine.contributions(node, g, wanted, taped):
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

    monkeypatch.setattr(engine, "conform", conform)
    broadcast = [(op, s) for op, s in cases() if op.name in ("add", "mul", "sub") and case_name(s) == "2,3 3"]
    assert len(broadcast) == 3
    for op, sample in broadcast:
        with pytest.raises(REJECTION):
            judge_first_order(op, sample)


def test_an_op_without_samples_is_rejected():
    from tests.autograd.test_ops import test_an_op_has_samples

    with pytest.raises(AssertionError, match="silent says nowhere how to test it"):
        silent = Op("silent", forward=np.negative, vjp=lambda g, out, x: (-g,), register=False)
        test_an_op_has_samples.__wrapped__(silent)
