"""Random graphs: ops, shapes, broadcasting, nodes used again; judged by the complex step, by torch and by JAX."""

import importlib.util

import numpy as np
import pytest
from hypothesis import given, settings

from autograd import Value, jvp, vjp
from autograd.graph import topological
from tests.autograd.judges import assert_close, numeric_gradients, uneven
from tests.autograd.programs import NUMPY, OURS, jax_words, programs, torch_words


def complex_step(program):
    """The derivative of NumPy's own run in every entry, without a difference: Im f(x + i·h) / h, exact as h → 0."""
    h = 1e-200
    gradients = []
    for i, leaf in enumerate(program.leaves):
        gradient = np.zeros(np.shape(leaf))
        for entry in np.ndindex(gradient.shape):
            moved = [np.array(x, dtype=complex) for x in program.leaves]
            moved[i][entry] += 1j * h
            gradient[entry] = np.imag(program.run(NUMPY, [x[()] for x in moved])) / h
        gradients.append(gradient)
    return gradients


@given(programs())
def test_backward_agrees_with_the_complex_step(program):
    leaves = [Value(x) for x in program.leaves]
    out = program.run(OURS, leaves)
    assert_close(out, program.run(NUMPY, program.leaves), "value", tolerance=1e-12)
    if out.requires_grad:
        out.backward()
    for leaf, expected in zip(leaves, complex_step(program), strict=True):
        got = np.zeros(leaf.shape) if leaf.grad is None else leaf.grad
        assert_close(got, expected, repr(program), tolerance=1e-10)


@given(programs())
def test_forward_mode_agrees_with_the_complex_step(program):
    h = 1e-200
    along = [uneven(np.shape(x), seed=i)[()] for i, x in enumerate(program.leaves)]
    moved = [x + 1j * h * v for x, v in zip(program.leaves, along, strict=True)]
    _, tangent = jvp(lambda *xs: program.run(OURS, list(xs)), tuple(program.leaves), tuple(along))
    assert_close(tangent, np.imag(program.run(NUMPY, moved)) / h, repr(program), tolerance=1e-10)


@given(programs(smooth=True, steps=5))
@settings(max_examples=15)
def test_second_order_agrees_with_finite_differences(program):
    def weighed_gradients(*xs):
        _, pull = vjp(lambda *xs: program.run(OURS, list(xs)), *xs)
        return sum((g * uneven(np.shape(g), seed=7)).sum() for g in pull(1.0))

    value, pull = vjp(weighed_gradients, *program.leaves)
    expected = numeric_gradients(weighed_gradients, program.leaves, 1.0)
    for got, second in zip(pull(1.0), expected, strict=True):
        assert_close(got, second, repr(program), tolerance=1e-6, floor=max(1.0, abs(value)))


@given(programs())
def test_a_pass_is_deterministic_and_adds_up(program):
    leaves = [Value(x) for x in program.leaves]
    out = program.run(OURS, leaves)
    if not out.requires_grad:
        return
    out.backward()
    once = [leaf.grad for leaf in leaves]
    order = topological(out)
    place = {node: i for i, node in enumerate(order)}
    assert all(place[x] < place[node] for node in order for x in node.parents)
    out.backward()
    for leaf, g in zip(leaves, once, strict=True):
        if g is not None:
            np.testing.assert_array_equal(leaf.grad, 2 * np.asarray(g))


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="NOT TESTED: torch is not installed")
@given(programs())
def test_backward_agrees_with_torch(program):
    import torch

    tensors = [torch.tensor(np.array(x), requires_grad=True) for x in program.leaves]
    theirs = program.run(torch_words(), tensors)
    grads = torch.autograd.grad(theirs, tensors, allow_unused=True, create_graph=True)
    out, pull = vjp(lambda *xs: program.run(OURS, list(xs)), *program.leaves)
    assert_close(out, theirs.item(), repr(program), tolerance=1e-12)
    for got, g, t in zip(pull(1.0), grads, tensors, strict=True):
        expected = np.zeros(tuple(t.shape)) if g is None else g.detach().numpy()
        assert_close(got, expected, repr(program), tolerance=1e-10, floor=1.0)


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="NOT TESTED: jax is not installed")
@given(programs())
def test_backward_agrees_with_jax(program):
    import jax

    with jax.enable_x64(True):
        words = jax_words()
        grads = jax.grad(lambda xs: program.run(words, xs))([np.asarray(x) for x in program.leaves])
    _, pull = vjp(lambda *xs: program.run(OURS, list(xs)), *program.leaves)
    for got, expected in zip(pull(1.0), grads, strict=True):
        assert_close(got, np.asarray(expected), repr(program), tolerance=1e-10, floor=1.0)


@pytest.mark.slow
@given(programs(steps=25))
@settings(max_examples=300)
def test_wide_run(program):
    leaves = [Value(x) for x in program.leaves]
    out = program.run(OURS, leaves)
    if out.requires_grad:
        out.backward()
    for leaf, expected in zip(leaves, complex_step(program), strict=True):
        got = np.zeros(leaf.shape) if leaf.grad is None else leaf.grad
        assert_close(got, expected, repr(program), tolerance=1e-9, floor=1.0)
