"""Threads that build and differentiate graphs at once do not hear of each other."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import autograd as ag
from autograd import Value, detect_nan, grad, no_grad, scope
from autograd.modes import USUAL, modes, modes_in_use

WORKERS = 8


def together(work, count=WORKERS):
    """Run work(i) in many threads that start at the same moment; their answers in order."""
    barrier = threading.Barrier(count)

    def run(i):
        barrier.wait()
        return work(i)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))


def block(seed, steps=30):
    """A small training run, its losses as the answer."""
    rng = np.random.default_rng(seed)
    w, gamma = Value(rng.normal(size=(4, 4))), Value(np.ones(4))
    x = rng.normal(size=(3, 4))
    losses = []
    for _ in range(steps):
        h = ag.layer_norm(ag.attention(x @ w, x @ w, x @ w), gamma, 0.0)
        loss = (ag.gelu(h) ** 2).mean()
        w.grad = gamma.grad = None
        loss.backward()
        w.data = w.data - 0.1 * w.grad
        losses.append(loss.data)
    return losses


def test_no_cross_talk():
    alone = [block(i) for i in range(WORKERS)]
    assert together(block) == alone


def test_functions_of_shared_data():
    x = np.random.default_rng(0).normal(size=(5, 5))
    shared = Value(np.random.default_rng(1).normal(size=(5, 5)), requires_grad=False)
    f = grad(lambda v: (ag.softmax(v @ shared) * v).sum())
    expected = f(x)
    for got in together(lambda i: f(x)):
        np.testing.assert_array_equal(got, expected)


def test_modes_belong_to_their_thread():
    def work(i):
        seen = []
        for _ in range(200):
            if i % 2:
                with no_grad():
                    seen.append((Value(2.0) * 3).parents == ())
            else:
                seen.append(len((Value(2.0) * 3).parents) == 1)
        return all(seen)

    assert all(together(work))
    assert modes.now is USUAL and not modes_in_use


def test_scopes_belong_to_their_thread():
    def work(i):
        with scope(f"layer{i}"):
            return {(Value(1.0) * j).scope.path for j in range(300)}

    assert together(work) == [{f"layer{i}"} for i in range(WORKERS)]


def test_an_error_in_one_thread_leaves_the_others_alone():
    def work(i):
        if i % 2:
            with pytest.raises(ArithmeticError), detect_nan(), np.errstate(all="ignore"):
                ag.log(Value(-1.0))
            return True
        return block(i, steps=10) == block(i, steps=10)

    assert all(together(work))
    assert modes.now is USUAL and not modes_in_use


def test_stamps_are_never_given_twice():
    stamps = [s for many in together(lambda i: [Value(1.0).stamp for _ in range(2000)]) for s in many]
    assert len(set(stamps)) == len(stamps)


def test_checks_in_threads():
    reports = together(
        lambda i: ag.check_grads(lambda x, w: ag.softmax(x @ w), np.ones((2, 3)) * i, np.eye(3), order=2)
    )
    assert all(report.ok for report in reports)
