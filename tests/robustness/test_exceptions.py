"""Exceptions and signals in the middle of things leave everything usable."""

import signal
import threading

import numpy as np
import pytest

import autograd as ag
from autograd import Value, custom_op, no_grad
from autograd.modes import USUAL, modes, modes_in_use


@pytest.fixture
def fragile():
    """An op whose rule raises as long as `trouble` is not empty."""
    trouble = [RuntimeError("the rule broke")]

    def vjp(g, out, x):
        if trouble:
            raise trouble[0]
        return (2 * g,)

    return custom_op("fragile", forward=lambda x: 2 * x, vjp=vjp), trouble


@pytest.mark.parametrize("shape", [(), (3,)])
def test_an_exception_inside_a_rule_leaves_the_graph_usable(fragile, shape):
    op, trouble = fragile
    a, b = Value(np.full(shape, 2.0)), Value(np.full(shape, 3.0))
    a.grad = np.full(shape, 7.0) if shape else 7.0
    hidden = a * b
    root = (op(hidden) * b + hidden).sum()
    with pytest.raises(RuntimeError, match="the rule broke"):
        root.backward()
    np.testing.assert_array_equal(a.grad, np.full(shape, 7.0))
    assert b.grad is None
    trouble.clear()
    a.grad = None
    root.backward()
    np.testing.assert_allclose(a.grad, np.full(shape, 2 * 3 * 3 + 3.0))  # d(2ab·b + ab)/da
    np.testing.assert_allclose(b.grad, np.full(shape, 2 * 2 * 2 * 3 + 2.0))


def test_an_exception_in_a_rule_within_grad(fragile):
    op, trouble = fragile
    with pytest.raises(RuntimeError, match="the rule broke"):
        ag.grad(lambda x: op(x) * x)(2.0)
    trouble.clear()
    assert ag.grad(lambda x: op(x) * x)(2.0) == 8.0
    assert modes.now is USUAL and not modes_in_use


def test_an_exception_in_forward_changes_nothing():
    x = Value(np.ones((2, 3)))
    with pytest.raises(ValueError, match="shape"):
        x @ np.ones((2, 3))
    (x * 2).sum().backward()
    np.testing.assert_array_equal(x.grad, np.full((2, 3), 2.0))


def test_an_exception_in_a_hook():
    x = Value(2.0)
    y = x * 3
    remove = y.hook(lambda g: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        (y * y).backward()
    assert x.grad is None
    remove()
    (y * y).backward()
    assert x.grad == 36.0


class Interrupted(Exception):
    """What the signal handler raises."""


needs_signals = pytest.mark.skipif(
    not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread(),
    reason="this system has no interval timer",
)


@needs_signals
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # Python drops one in a callback
def test_signals_at_any_moment_leave_the_engine_usable():
    """A handler that raises, again and again, somewhere in forward, backward or update."""
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(8, 8)), Value(rng.normal(size=(8, 8)))
    before = w.data.copy()

    armed = False

    def raise_(number, frame):
        if armed:  # the last signal may arrive late, when nobody waits for it any more
            raise Interrupted

    def train():
        with no_grad():
            ag.tanh(x @ w)
        for _ in range(50):
            loss = (ag.layer_norm(ag.attention(x @ w, x @ w, x), 1.0, 0.0) ** 2).sum()
            loss.backward()
            w.data = w.data - 1e-3 * w.grad
            w.grad = None

    old = signal.signal(signal.SIGALRM, raise_)
    hit = 0
    try:
        for i in range(60):
            try:
                armed = True
                signal.setitimer(signal.ITIMER_REAL, 0.0002 + 0.0003 * (i % 20))
                train()
                armed = False
            except Interrupted:
                armed = False
                hit += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    assert hit > 10
    assert modes.now is USUAL and not modes_in_use
    assert w.shape == (8, 8) and np.isfinite(w.data).all()
    w.data, w.grad = before, None
    loss = (ag.tanh(x @ w) ** 2).sum()
    loss.backward()
    t = np.tanh(x @ before)
    np.testing.assert_allclose(w.grad, x.T @ (2 * t * (1 - t**2)), rtol=1e-12)
