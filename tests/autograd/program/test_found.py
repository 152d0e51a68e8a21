"""Functions that `tools/fuzz_compile.py` found unequal once, reduced: compiled at one point, called at the others."""

import copy
import math

import numpy as np

import autograd as ag
from autograd import Value, compile
from tests.sweep import sweep

X, Y = np.array([1.0, -2.0, 3.0]), np.array([-1.5, 0.5, 0.25])
POINTS = [(X, Y, 0.5), (Y, X, -1.5), (X * np.nan, Y, 2.0), (0.0 * X, -Y, 0.0)]
K = np.array([1, 2, 0])


def under_no_grad(f):
    def g(*xs):
        with ag.no_grad():
            return f(*xs)

    return g


FOUND = {
    "a Value and a Number": lambda x, y, s: np.maximum(x, y.data.mean()) + np.fmod(x, np.isfinite(y)),
    "min is the item itself": lambda x, y, s: ag.grad(lambda z: under_no_grad(min)(z, 0.25) * 1.0)(s),
    "a deep copy has a gradient of its own": lambda x, y, s: ag.grad(lambda z: copy.deepcopy(z) * 2.0 + z)(s),
    "a copy of a leaf too": lambda x, y, s: ag.grad(lambda z: copy.copy(z) * 2.0 + z)(s),
    "isposinf with out": lambda x, y, s: x if isinstance(s, str) else np.isposinf(x),
    "full_like": lambda x, y, s: np.full_like(x, s) + np.full_like(x.data, s.data),
    "a list of numbers": lambda x, y, s: np.maximum(x.data.tolist(), x.data @ y.data),
    "a gradient in a truth": lambda x, y, s: ag.grad(lambda z: ag.sum(z * x))((x > 0).all()),
    "asinh of -0": lambda x, y, s: np.arctan2(np.arcsinh(x * -0.0), np.log(s * s)),
    "tolist has 64 bits": lambda x, y, s: np.asarray([1.0])[0] * x.astype(np.float32).tolist()[0],
    "item of one entry": lambda x, y, s: x[:1].item(),
    "a slope in an exponent of -0": lambda x, y, s: ag.grad(lambda z: np.power(s * -0.0, z))(s - 5.0),
    "the sign of a quotient of 0": lambda x, y, s: 1.0 / ((0.5 * x) // (2.0 * x)) + 1.0 / (0.9 // (s * s + 1.0)),
    "a quotient of truths": lambda x, y, s: (x > 0) // (y > 0),
    "a quotient of integers": lambda x, y, s: K // K + 2 // K,
    "lowered with constants": lambda x, y, s: ag.nan_to_num(ag.grad(lambda z: ag.sum(np.trunc(x)))(s)) + x,
    "isinstance": lambda x, y, s: x * isinstance(x.data, np.ndarray) + isinstance(s.data, float) + np.isscalar(s.data),
    "nan_to_num of an integer": lambda x, y, s: ag.nan_to_num(np.argmin(x)) + x,
    "a float32 beside a float": lambda x, y, s: s + ag.sum(x.data.astype(np.float32)) * 1.25,
    "a choice by a real number": lambda x, y, s: ag.grad(lambda z: ag.sum(ag.where(ag.tan(z), x > 0, y > 0) * z))(x),
    "digamma at 0": lambda x, y, s: ag.digamma(x - 1.0),
    "searchsorted": lambda x, y, s: np.searchsorted(np.array([-1.0, 0.0, 2.0]), x) * x,
    "a NaN and a mask": lambda x, y, s: x * (x > 0),
    "the smaller of two precisions": lambda x, y, s: min(s, np.float32(0.25)),
    "a truth as an index": lambda x, y, s: s[isinstance(s, str)],
    "the imaginary part of NaN": lambda x, y, s: np.imag(np.linalg.norm(x.data)),
    "the sign of a rest of 0": lambda x, y, s: 1.0 / np.mod(0.0 * x, y),
    "the sign of a product of one with 0": lambda x, y, s: 1.0 / (x[1:2] @ (0.0 * y[:1])),
    "an array of integers": lambda x, y, s: integers(s),
    "the product of one infinity": lambda x, y, s: ag.grad(np.prod)(s * np.inf),
    "a result that no input reaches": lambda x, y, s: x * isinstance(ag.value_and_grad(np.sum)(K * 1.0)[0], float),
    "a gradient that no input reaches": lambda x, y, s: x * isinstance(ag.grad(np.sum)(K * 1.0), np.ndarray),
    "a tangent that no input reaches": lambda x, y, s: x * isinstance(ag.jvp(np.sum, (Y,), (Y,))[1], float),
    "a gradient at plain numbers": lambda x, y, s: x * isinstance(ag.grad(lambda z: ag.sum(z * z))(x.data), np.ndarray),
    "a plain gradient": lambda x, y, s: x * isinstance(ag.grad(lambda z: ag.sum(z * y))(K * 1.0), np.ndarray),
    "the memory of an array": lambda x, y, s: [x * 2.0, np.asarray(ag.one_hot(K, 3)[0].data)],
    "numbers as a cotangent": lambda x, y, s: x * isinstance(ag.vjp(np.sin, Y)[1](x.data)[0], np.ndarray),
}  # fmt: skip
REFUSED = {
    "searchsorted of what has no order": lambda x, y, s: np.searchsorted(x.data, s.data),
    "an integer's reciprocal": lambda x, y, s: np.reciprocal(x.data.astype(int)),
    "a caught error": lambda x, y, s: attempted(lambda: np.linalg.cholesky(np.outer(x, x))),
    "a caught place": lambda x, y, s: attempted(lambda: x[ag.argmax(x) + 7]),
    "a caught infinity": lambda x, y, s: attempted(lambda: x[int(s * np.inf)]),
    "a partition": lambda x, y, s: np.partition(x, 1),
    "out by its place": lambda x, y, s: np.isposinf(x.data, y.data),
    "a caught error that NumPy does not raise": lambda x, y, s: attempted(lambda: x.data.max().argsort()),
    "degrees of a truth, which have 16 bits": lambda x, y, s: np.degrees(np.array_equal(x, x)),
    "a number by way of text": lambda x, y, s: x * float(f"{s.data:.1f}"),
    "text that decides": lambda x, y, s: x * 3.0 if f"{s:.0f}" == "2" else x,
    "the length of text": lambda x, y, s: x * len(str(s.data)),
    "the sign of NaN": lambda x, y, s: np.signbit(x * np.nan),
    "an error that an ordinary call does not raise": lambda x, y, s: np.hanning(min(s, 0)),
}


def integers(s):
    """What code that asks for the class of an id finds in a program."""
    f = compile(lambda k: k * (2 if isinstance(k, np.ndarray) and not isinstance(k, Value) else 3), gradients=False)
    return f(K) + s


def attempted(f):
    try:
        return f()
    except Exception:
        return 0.0


def flat(x):
    return [part for item in x for part in flat(item)] if isinstance(x, list) else [getattr(x, "_data", x)]


@sweep("name, backend", [(name, backend) for name in FOUND for backend in ("numpy", "interpreter")])
def test_equal_at_all_points(name, backend):
    f = FOUND[name]
    with np.errstate(all="ignore"):
        g = compile(f, backend, gradients=False)
        for point in POINTS:
            got, want = flat(g(*point)), flat(f(*map(Value, point)))
            for a, b in zip(got, want, strict=True):
                assert np.shape(a) == np.shape(b)
                np.testing.assert_allclose(np.asarray(a, float), np.asarray(b, float), rtol=1e-12)


PRECISIONS = ["s.data", "x.sum().item()", "x.data.sum()", "x.data", "z.data", "np.sin(s.data)", "max(x.data.tolist())",
              "ag.value_and_grad(ag.sin)(s.data)[0]", "divmod(s.data, 2.0)[1]"]  # fmt: skip
BESIDE = ["s.data * 2.0", "x.data.sum()", "math.floor(s.data)", "np.float32(0.3)", "np.float64(0.3)", "0.3", "Z",
          "(x.data > 0.0)"]  # fmt: skip
Z = np.array([0.3, 0.7, 1.1], np.float32)


@sweep("one, other", [(one, other) for one in PRECISIONS for other in BESIDE])
def test_a_python_float_takes_the_precision_of_what_it_meets(one, other):
    text = f"[{one} * {other}, {other} // {one}, np.maximum({one}, {other}), {one} > {other}]"
    f = eval(f"lambda x, z, s: {text}", {"np": np, "ag": ag, "math": math, "Z": Z})
    point = X, Z[::-1].copy(), 3.3
    with np.errstate(all="ignore"):
        both = zip(compile(f, gradients=False)(*point), f(*map(Value, point)), strict=True)
    for got, want in both:
        assert np.asarray(got).dtype == np.asarray(want).dtype and np.array_equal(got, want, equal_nan=True)


def test_a_derivative_in_f_that_an_input_reaches_keeps_its_gradient():
    def f(x):
        slopes = ag.grad(lambda z: ag.sum(z * z * x))(Y)  # of which the gradient of x is a part
        return ag.sum(slopes * x) * (1.0 if isinstance(slopes, Value) else 7.0)

    (value, (slope,)), (want, want_slope) = compile(f)(X), ag.value_and_grad(f)(X)
    assert value == want and np.array_equal(slope, want_slope)


@sweep("name", list(REFUSED))
def test_refused_with_the_line(name):
    try:
        got = compile(REFUSED[name], gradients=False)(X, Y, 0.5)
    except ag.errors.TraceError as error:
        assert "test_found.py:" in str(error)
    else:
        raise AssertionError(f"gave {got}")
