"""Compiled functions at large: random graphs, first calls from many threads, shapes that come back."""

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
def test_a_long_chain_compiles_in_time_that_grows_with_its_length():
    """20,000 ops one after the other, and 60,000 back: no pass may look at all of them for each of them."""

    def chain(x, a):
        for _ in range(5_000):
            x = x * a + 0.001 * x.tanh()
        return x

    g = compile(chain)
    value, (dx, da) = g(0.5, 0.999)
    want, grads = value_and_grad(chain, wrt=(0, 1))(0.5, 0.999)
    np.testing.assert_allclose([value, dx, da], [want, *grads], rtol=1e-12)
    assert len(g.program()) > 50_000
