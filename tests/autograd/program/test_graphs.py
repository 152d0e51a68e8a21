"""Compiled functions at large: random graphs, first calls from many threads, shapes that come back."""

import os
import threading

import numpy as np
import pytest
from hypothesis import given

from autograd import Value, compile, value_and_grad
from tests.autograd.program.programs import assert_near
from tests.autograd.programs import OURS, programs


def gradients_of_the_engine(program, leaves):
    values = [Value(x) for x in leaves]
    out = program.run(OURS, values)
    if out.requires_grad:
        out.backward()
    return out.data, [np.zeros(x.shape) if x.grad is None else x.grad for x in values]


@given(programs())
def test_a_random_graph_compiles_to_what_the_engine_gives(program):
    """At the numbers it was traced at and at others; and its printed source gives the same."""
    leaves = [float(x) if np.ndim(x) == 0 else x for x in program.leaves]
    g = compile(lambda *xs: program.run(OURS, list(xs)))
    for scale in (1.0, 0.6):
        inputs = [x * scale for x in leaves]
        value, grads = g(*inputs)
        want, expected = gradients_of_the_engine(program, inputs)
        largest = max([1.0, abs(float(want)), *(float(np.max(np.abs(x), initial=0.0)) for x in expected)])
        assert_near(value / largest, want / largest, 512)
        for ours, theirs in zip(grads, expected, strict=True):
            assert_near(ours / largest, theirs / largest, 512)
    namespace = {}
    exec(g.source, namespace)
    outside = {"captured": program.weights} if np.ndim(program.weights) else {}  # the array that f knows from outside
    printed, slopes = namespace["program"](*inputs, **outside)
    assert_near(printed / largest, value / largest, 512)
    for ours, theirs in zip(slopes, grads, strict=True):
        assert_near(np.asarray(ours) / largest, np.asarray(theirs) / largest, 512)


def test_first_calls_from_many_threads_trace_each_shape_once():
    calls, wrong = [], []

    def f(x):
        calls.append(x.shape)
        return (x * x).tanh().sum()

    g = compile(f)
    once = compile(f)
    once(np.ones(3))
    per_trace = len(calls)
    calls.clear()
    barrier = threading.Barrier(6)

    def work(number):
        x = np.linspace(0.1, 1.0, 3 + number % 2)
        barrier.wait()
        for _ in range(20):
            value, (dx,) = g(x)
            want, slopes = value_and_grad(lambda x: (x * x).tanh().sum())(x)
            if abs(value - want) > 1e-14 or not np.allclose(dx, slopes, rtol=1e-13):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert len(calls) == 2 * per_trace


def test_changing_shapes_back_and_forth_traces_no_shape_twice():
    calls = []

    def f(x):
        calls.append(x.shape)
        return (x * 2.0).sum()

    g = compile(f)
    for n in (2, 3, 2, 3, 2):
        value, (dx,) = g(np.ones(n))
        assert value == 2.0 * n and dx.shape == (n,)
    assert calls.count((2,)) == calls.count((3,))
    assert "2 program(s)" in repr(g)


@pytest.mark.slow
def test_many_scalar_ops_become_a_few_array_ops():
    """The squared entries of points @ weights.T, each product and sum a scalar op of its own: 250,000 of them, or a
    million with HANDGRAD_LONG=1."""
    rows = 400 if os.environ.get("HANDGRAD_LONG") else 100

    def f(weights, points):
        total = 0.0
        for row in weights:
            for point in points:
                h = 0.0
                for w, x in zip(row, point):
                    h = h + w * x
                total = total + h * h
        return total

    rng = np.random.default_rng(0)
    weights, points = rng.normal(size=(rows, 4)), rng.normal(size=(250, 4))
    g = compile(f)
    value, (dw, dx) = g(weights.tolist(), points.tolist())
    assert f"{rows * 2500:,} scalars as 2 arrays" in g.notes[1] and len(g.program()) < 50
    h = points @ weights.T
    np.testing.assert_allclose(value, (h * h).sum(), rtol=1e-12)
    np.testing.assert_allclose(dw, 2.0 * h.T @ points, rtol=1e-11)
    np.testing.assert_allclose(dx, 2.0 * h @ weights, rtol=1e-11)


@pytest.mark.slow
def test_a_long_chain_compiles_in_time_that_grows_with_its_length():
    """20,000 ops one after the other, and 40,000 back: no pass may look at all of them for each of them. Nothing in
    it is re-rolled. x is reflected and drawn to a fixed point, c: x = c + (-a)ⁿ (start - c).
    """
    n, start, a = 10_000, 0.5, 0.999

    def chain(x, a):
        for _ in range(n):
            x = 1.0 - x * a
        return x

    g = compile(chain)
    value, (dx, da) = g(start, a)
    assert len(g.program()) > 50_000 and "stay so" in g.notes[1]
    c, power = 1.0 / (1.0 + a), (-a) ** n
    slope = -c * c * (1.0 - power) + n * power / a * (start - c)
    np.testing.assert_allclose([value, dx, da], [c + power * (start - c), power, slope], rtol=1e-9)
