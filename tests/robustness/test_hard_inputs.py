"""Inputs that break engines: the gradient is right, or there is a clear error; never a silent slip.

Expected numbers are closed forms, worked out by hand, not the engine's own.
"""

import math

import numpy as np
import pytest

import autograd as ag
import nn
from autograd import Value, grad
from autograd.errors import HandgradError
from tests.sweep import sweep

INF = np.inf
TINY = 5e-324  # the smallest denormal


def gradient(f, x):
    """The gradient of sum(f(x))."""
    return np.asarray(grad(lambda v: ag.sum(f(v)))(x))


def weighted(f, u):
    """f with its results weighted: sums of softmax and its kin are constant."""
    return lambda x: f(x) * np.asarray(u)


RIGHT = {
    # --- extreme logits
    "softmax, far apart": (weighted(ag.softmax, [1.0, 2.0]), [1e4, -1e4], [0.0, 0.0]),
    "softmax, huge and equal": (weighted(ag.softmax, [1.0, 2.0]), [1e300, 1e300], [-0.25, 0.25]),
    "log_softmax, far apart": (weighted(ag.log_softmax, [1.0, 2.0]), [1e4, -1e4], [-2.0, 2.0]),
    "logsumexp, huge": (ag.logsumexp, [1e308, 1e308], [0.5, 0.5]),
    "logsumexp, far below zero": (ag.logsumexp, [-1e308, -1e308], [0.5, 0.5]),
    "sigmoid, saturated": (ag.sigmoid, [1000.0, -1000.0], [0.0, 0.0]),
    "softplus, both ends": (ag.softplus, [1000.0, -1000.0, 0.0], [1.0, 0.0, 0.5]),
    "silu, both ends": (ag.silu, [1e17, -1e17, 1000.0], [1.0, 0.0, 1.0]),
    "gelu, both ends": (ag.gelu, [1e10, -1e10], [1.0, 0.0]),
    "gelu tanh, both ends": (lambda x: ag.gelu(x, approximate="tanh"), [1e5, -1e5], [1.0, 0.0]),
    "tanh, saturated": (ag.tanh, [1e4, -1e4], [0.0, 0.0]),
    "erf, saturated": (ag.erf, [50.0, -50.0], [0.0, 0.0]),
    "cross entropy, sure and wrong": (lambda z: nn.functional.cross_entropy(z, [1]), [[1000.0, 0.0]], [[1.0, -1.0]]),
    "cross entropy, sure and right": (lambda z: nn.functional.cross_entropy(z, [0]), [[1000.0, 0.0]], [[0.0, 0.0]]),
    "binary cross entropy, sure and wrong": (
        lambda z: nn.functional.binary_cross_entropy_with_logits(z, np.array([0.0])), [1000.0], [1.0]),
    # --- denormals and the ends of the range
    "product of denormals": (lambda x: x * 2.0, [TINY, 1e-310], [2.0, 2.0]),
    "square of a denormal": (lambda x: x * x, [1e-310], [2e-310]),
    "exp at the bottom": (ag.exp, [-745.0, -800.0], [math.exp(-745.0), 0.0]),
    "expm1 near zero": (ag.expm1, [1e-300, -1e-300], [1.0, 1.0]),
    "log1p near zero": (ag.log1p, [1e-300, -1e-300], [1.0, 1.0]),
    "sqrt of a denormal": (ag.sqrt, [1e-310], [0.5 / math.sqrt(1e-310)]),
    "arctan, far out": (ag.arctan, [1e150], [1e-300]),
    # --- infinities
    "relu of infinity": (ag.relu, [INF, -INF], [1.0, 0.0]),
    "tanh of infinity": (ag.tanh, [INF, -INF], [0.0, 0.0]),
    "sigmoid of infinity": (ag.sigmoid, [INF, -INF], [0.0, 0.0]),
    "exp of minus infinity": (ag.exp, [-INF], [0.0]),
    "softmax with a masked entry": (weighted(ag.softmax, [1.0, 2.0, 4.0]), [0.0, -INF, 0.0], [-0.75, 0.0, 0.75]),
    "softmax, all masked": (weighted(ag.softmax, [1.0, 2.0]), [-INF, -INF], [0.0, 0.0]),
    "logsumexp with a masked entry": (ag.logsumexp, [0.0, -INF], [1.0, 0.0]),
    "max beside minus infinity": (lambda x: x.max(), [-INF, 3.0], [0.0, 1.0]),
    "where hides a log of zero": (
        lambda x: ag.where(x > 0, ag.log(ag.where(x > 0, x, 1.0)), 0.0), [0.0, 2.0], [0.0, 0.5]),
    "clip of infinity": (lambda x: ag.clip(x, -1.0, 1.0), [INF, -INF, 0.5], [0.0, 0.0, 1.0]),
    # --- ties and zero norms
    "max of three equal": (lambda x: x.max(), [2.0, 2.0, 2.0], [1 / 3] * 3),
    "min of two equal": (lambda x: x.min(), [1.0, 5.0, 1.0], [0.5, 0.0, 0.5]),
    "maximum of equals": (lambda x: ag.maximum(x, x * 1.0), [1.0], [1.0]),
    "abs at zero": (abs, [0.0, -0.0], [0.0, 0.0]),
    "relu at zero": (ag.relu, [0.0, -0.0], [0.0, 0.0]),
    "norm of zeros": (lambda x: ag.norm(x), [0.0, 0.0], [0.0, 0.0]),
    "std of equals": (lambda x: x.std(), [3.0, 3.0], [0.0, 0.0]),
    "prod with one zero": (lambda x: x.prod(), [2.0, 0.0, 5.0], [0.0, 10.0, 0.0]),
    "prod with two zeros": (lambda x: x.prod(), [0.0, 0.0, 5.0], [0.0, 0.0, 0.0]),
    "0 ** 0": (lambda x: x**0, [0.0], [0.0]),
    "0 ** 1": (lambda x: x**1, [0.0], [1.0]),
    "0 ** 2": (lambda x: x**2, [0.0], [0.0]),
    "negative base, whole exponent": (lambda x: x**3, [-2.0], [12.0]),
    # --- indices, shapes, sizes
    "repeated indices": (lambda x: x[[0, 0, 0, 2]], [1.0, 2.0, 3.0], [3.0, 0.0, 1.0]),
    "negative steps": (lambda x: x[::-2] * np.array([1.0, 2.0]), [1.0, 2.0, 3.0], [2.0, 0.0, 1.0]),
    "an empty slice": (lambda x: x[3:], [1.0, 2.0, 3.0], [0.0, 0.0, 0.0]),
    "an empty mask": (lambda x: x[x > 9], [1.0, 2.0], [0.0, 0.0]),
    "sum over an empty axis": (lambda x: x.reshape(0, 2).sum(axis=0), np.empty((2, 0)), np.empty((2, 0))),
    "no columns, stretched": (lambda x: x * np.ones((2, 0)), np.empty((2, 1)), np.zeros((2, 1))),
    "softmax of nothing": (ag.softmax, np.empty((2, 0)), np.empty((2, 0))),
    "log softmax of nothing": (ag.log_softmax, np.empty((2, 0)), np.empty((2, 0))),
    "attention to nothing": (lambda x: ag.attention(x, np.empty((0, 3)), np.empty((0, 3))), np.ones((2, 3)), 0.0),
    "products of nothing": (lambda x: x.prod(axis=-1), np.empty((0, 3)), np.empty((0, 3))),
    "a product of no numbers": (lambda x: x.prod(axis=0), np.empty((0, 3)), np.empty((0, 3))),
    "mean over an axis of one": (lambda x: x.mean(axis=0), [[1.0, 2.0]], [[1.0, 1.0]]),
    "layer norm of one feature": (lambda x: ag.layer_norm(x, 1.0, 0.0) * 3.0, [[2.0], [5.0]], [[0.0], [0.0]]),
    "layer norm of a constant row": (lambda x: ag.layer_norm(x, 1.0, 0.0), [[4.0, 4.0]], [[0.0, 0.0]]),
}  # fmt: skip


@sweep("name", RIGHT)
def test_the_gradient_is_right(name):
    f, x, expected = RIGHT[name]
    np.testing.assert_allclose(gradient(f, np.array(x)), expected, rtol=1e-12, atol=1e-300)


@sweep("name", [n for n in RIGHT if "prod" not in n])
def test_the_second_gradient_is_finite_there_too(name):
    """At a kink it is a choice, at the edge of the range it may overflow; NaN it must not be."""
    f, x, _ = RIGHT[name]
    with np.errstate(over="ignore"):
        second = gradient(lambda v: grad(lambda w: ag.sum(f(w)))(v) * 0.5, np.array(x))
    assert not np.isnan(second).any(), second


@pytest.mark.parametrize("f", [ag.maximum, ag.minimum])
def test_equals_share_the_gradient_of_the_larger_and_the_smaller(f):
    x, y = np.array([1.0, 2.0, 3.0]), np.array([1.0, 3.0, 2.0])
    dx, dy = grad(lambda x, y: ag.sum(f(x, y) * 2.0), wrt=(0, 1))(x, y)
    first, second = ([0.0, 2.0], [2.0, 0.0]) if f is ag.maximum else ([2.0, 0.0], [0.0, 2.0])
    np.testing.assert_array_equal(dx, [1.0, *first])
    np.testing.assert_array_equal(dy, [1.0, *second])


def test_logsumexp_keeps_what_the_smaller_add():
    assert ag.logsumexp(np.array([0.0, -30.0])) == np.log1p(np.exp(-30.0))
    assert ag.logsumexp(np.array([2.0, 2.0])) == 2.0 + np.log(2.0)


def test_scalars_are_as_hard_as_arrays():
    assert grad(ag.sigmoid)(-1000.0) == 0.0
    assert grad(ag.softplus)(1000.0) == 1.0
    assert grad(ag.exp)(-1e4) == 0.0
    assert grad(lambda x: x**0)(0.0) == 0.0
    assert grad(ag.silu)(1e17) == 1.0


def test_a_masked_row_of_attention():
    q, k, v = (np.random.default_rng(i).normal(size=(2, 3)) for i in range(3))
    mask = np.array([[True, False], [False, False]])
    for x in (q, k, v):
        assert x is not None
    grads = grad(lambda q, k, v: (ag.attention(q, k, v, mask) * 2.0).sum(), wrt=(0, 1, 2))(q, k, v)
    np.testing.assert_array_equal(grads[0], np.zeros((2, 3)))  # one key only, or none: no choice to shift
    np.testing.assert_array_equal(grads[1], np.zeros((2, 3)))
    np.testing.assert_array_equal(grads[2], [[2.0] * 3, [0.0] * 3])


@pytest.mark.parametrize("layout", [np.asfortranarray, lambda x: x[::-1], lambda x: np.repeat(x, 2, axis=1)[:, ::2]])
def test_any_memory_layout(layout):
    x = layout(np.random.default_rng(0).normal(size=(3, 4)))
    x.flags.writeable = False
    got = gradient(lambda v: ag.softmax(v @ v.mT) * v[:, :3], x)
    np.testing.assert_array_equal(got, gradient(lambda v: ag.softmax(v @ v.mT) * v[:, :3], np.array(x)))


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_coarse_dtypes_are_kept(dtype):
    x = Value(np.array([0.5, -1.0, 2.0], dtype))
    y = (ag.softmax(x) * x).sum()
    y.backward()
    assert y.dtype == dtype and x.grad.dtype == dtype
    exact = gradient(lambda v: ag.softmax(v) * v, np.array([0.5, -1.0, 2.0]))
    np.testing.assert_allclose(x.grad, exact, atol=4 * np.finfo(dtype).eps)


ERRORS = {
    "max of nothing": lambda: Value(np.empty((0, 3))).max(axis=0),
    "mean of nothing": lambda: Value(np.empty(0)).mean(),
    "softmax features of nothing": lambda: ag.layer_norm(Value(np.empty((2, 0))), 1.0, 0.0),
    "an index beyond the end": lambda: Value(np.ones(3))[5],
    "a NaN index": lambda: Value(np.ones(3))[float("nan")],
    "shapes that do not chain": lambda: Value(np.ones((2, 3))) @ np.ones((2, 3)),
    "shapes that do not broadcast": lambda: Value(np.ones((2, 3))) + np.ones((2, 4)),
    "complex numbers": lambda: Value(np.ones(2) * 1j),
    "text": lambda: Value("one"),
    "objects": lambda: Value(np.array([object()])),
    "an axis out of range": lambda: Value(np.ones(3)).sum(axis=2),
    "a target beyond the classes": lambda: nn.functional.cross_entropy(Value(np.ones((1, 2))), [5]),
}


@pytest.mark.parametrize("name", ERRORS)
def test_what_cannot_be_is_a_clear_error(name):
    with pytest.raises((HandgradError, ValueError, IndexError, TypeError)) as raised:
        ERRORS[name]()
    assert len(str(raised.value)) > 20


def test_a_negative_base_with_a_fraction_is_nan_not_complex():
    with np.errstate(invalid="ignore"):
        assert math.isnan(grad(lambda x: x**0.5)(-1.0))
        assert np.isnan(gradient(lambda x: x**0.5, np.array([-1.0]))).all()


@pytest.mark.slow
def test_a_huge_graph():
    x = Value(0.5)
    y = x
    for _ in range(100_000):
        y = y + x * 1e-5
    y.backward()
    assert x.grad == pytest.approx(2.0)
