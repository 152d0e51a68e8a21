"""Guards: decisions that a compiled function makes at each call, beside random draws, errors, nesting and threads."""

import threading

import numpy as np
import pytest

import autograd as ag
import nn
from autograd import Value, compile, value_and_grad
from autograd.errors import TraceError

SIGNS = [np.array(signs) for signs in ([1.0, 2.0], [-1.0, -2.0], [3.0, 1.0], [-4.0, 0.5], [0.0, 1.0], [-1.0, 2.0])]


def agree(got, want):
    np.testing.assert_allclose(got[0], want[0], rtol=1e-12)
    np.testing.assert_allclose(got[1][0], want[1], rtol=1e-12)


def test_every_version_draws_what_an_eager_run_draws():
    """Another version runs after the generator was set back: no number is drawn twice or left out."""

    def function_of(drop):
        def f(x):
            h = drop(x)
            return (h * h).sum() if (h.sum() > 0 and x.sum() > 0) else (drop(h) * 3.0).sum()

        return f

    compiled, eager = compile(function_of(nn.Dropout(0.5, rng=7))), value_and_grad(function_of(nn.Dropout(0.5, rng=7)))
    for _ in range(4):
        for x in SIGNS:
            agree(compiled(x), eager(x))


def test_an_error_after_a_decision_that_came_out_otherwise_is_none():
    """The program of the first way looks up a place that is not there; the function would not have come so far."""

    def f(x, ids):
        if ids.max() > 1:
            return (x * 2.0).sum()
        return (x[ids] * 3.0).sum()

    g, ids = compile(f), np.array([1, 0, 1])
    agree(g(SIGNS[0], ids), value_and_grad(f)(SIGNS[0], ids))
    beyond = np.array([7, 0, 1])
    agree(g(SIGNS[0], beyond), value_and_grad(f)(SIGNS[0], beyond))
    agree(g(SIGNS[1], ids), value_and_grad(f)(SIGNS[1], ids))


def test_an_error_where_all_decisions_hold_is_raised():
    def f(x, ids):
        return (x[ids] * 3.0).sum() if x.sum() > 0 else x.sum()

    g = compile(f)
    g(SIGNS[0], np.array([1, 0]))
    with pytest.raises(IndexError):
        g(SIGNS[2], np.array([1, 5]))
    agree(g(SIGNS[1], np.array([1, 5])), value_and_grad(f)(SIGNS[1], np.array([1, 5])))


def test_a_compiled_function_that_decides_inside_of_another():
    inner = compile(lambda x: (x * 2.0).sum() if x.max() > 1.5 else (x * x).sum())

    def outer(x):
        value, (slope,) = inner(x)
        return (x * slope).sum() * value if x.sum() > 0 else x.sum()

    def plain(x):
        f = lambda x: (x * 2.0).sum() if x.max() > 1.5 else (x * x).sum()  # noqa: E731
        value, slope = value_and_grad(f)(x.data)
        return (x * slope).sum() * value if x.sum() > 0 else x.sum()

    g = compile(outer)
    for x in [*SIGNS, np.array([1.0, 0.5])]:
        agree(g(x), value_and_grad(plain)(x))


def test_decisions_inside_derivatives():
    def f(x):
        return ag.grad(lambda z: (z**3).sum() if z.sum() > 0 else (z * z).sum())(x)

    g = compile(f, gradients=False)
    for x in SIGNS:
        np.testing.assert_allclose(g(x), f(Value(x))._data, rtol=1e-12)


def test_threads_decide_each_for_itself():
    def f(x):
        y = x
        for _ in range(3):
            y = y * 2.0 if y.sum() > 0 else 1.0 - y
        return (y * y).sum()

    g, eager, wrong = compile(f), value_and_grad(f), []

    def work(seed):
        rng = np.random.default_rng(seed)
        for _ in range(30):
            x = rng.normal(size=2)
            value, (slope,) = g(x)
            want, there = eager(x)
            if not (np.isclose(value, want) and np.allclose(slope, there)):
                wrong.append((x, value, want))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_more_ways_than_are_kept_name_the_line():
    def f(x):
        return sum(x * n for n in range(int(x) + 1))

    g = compile(f)
    for n in range(16):
        assert g(n + 0.5)[0] == value_and_grad(f)(n + 0.5)[0]
    with pytest.raises(TraceError, match=r"test_guards\.py:\d+: .*\n.*in more than 16 ways"):
        g(16.5)


def test_what_a_function_changes_follows_its_decisions():
    class Steps(nn.Module):
        def __init__(self):
            self.up, self.mean = 0, np.zeros(2)

        def forward(self, x):
            if x.sum() > 0:
                self.up += 1
                self.mean = 0.5 * self.mean + x.data
            return (x * x).sum() + (self.mean * x).sum()

    ours, theirs = Steps(), Steps()
    g = compile(ours)
    for x in SIGNS:
        agree(g(x), value_and_grad(theirs)(x))
        assert ours.up == theirs.up
        np.testing.assert_allclose(ours.mean, theirs.mean)
