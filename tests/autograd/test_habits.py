"""What people write from habit in NumPy and expect to hold here: truths as numbers, dtypes, einsum's dots."""

import numpy as np
import pytest

import autograd as ag
from autograd import OPS, Value, compile, grad
from autograd.errors import ShapeError
from tests.autograd.judges import assert_close

X = np.array([0.5, -0.5, 2.0])


def test_no_op_computes_truths_in_few_bits():
    """NumPy gives float16 for `np.exp` of bools, int8 for `**`; every op of real numbers gives float64."""
    mask, one = Value(X) > 0, Value(0.5) > 0
    halves = []
    tried = 0
    for name, op in OPS.items():
        for inputs in ([mask], [one], [mask, mask], [mask.data], [True], [mask, Value(X)], [Value(X), mask.data]):
            try:
                with np.errstate(all="ignore"):
                    out = op(*inputs)
            except (TypeError, ValueError, LookupError):  # another number of inputs, or a matrix
                continue
            tried += 1
            if np.asarray(getattr(out, "_data", out)).dtype in (np.float16, np.int8):
                halves.append((name, inputs))
    assert not halves and tried > 300


def test_truths_add_up_as_numbers():
    mask = Value(np.array([[0.0, 1.0, 1.0], [1.0, 1.0, 1.0]])) > 0
    for f in (np.median, np.trapezoid):
        assert f(mask, axis=0).data.tolist() == f(mask.data * 1.0, axis=0).tolist()


@pytest.mark.parametrize("name", ["exp", "sqrt", "tanh", "cosh", "log1p", "round", "sigmoid", "softmax", "gelu"])
def test_a_function_of_a_mask_is_compiled_too(name):
    def f(x):
        return (getattr(ag, name)(x > 0) * x).sum()

    expected = (getattr(ag, name)((X > 0).astype(float)) * X).sum()
    for value, gradients in (compile(f)(X), (f(Value(X)).data, (grad(f)(X),))):
        assert_close(value, expected, name, tolerance=1e-14)
        assert_close(gradients[0], getattr(ag, name)((X > 0).astype(float)), name, tolerance=1e-14)
    assert (Value(X).mean() * 0 + getattr(ag, name)(Value(X) > 0)).dtype == np.float64


def test_a_float64_number_and_a_float32_one_are_float64():
    v = Value(np.array([1.0, 2.0]))
    for out in (v[1] / np.float32(0.3), np.float32(0.3) * v[1],
                v[1] - np.float16(0.3), np.hypot(v[1], np.float32(0.3))):
        assert out.dtype == np.float64
    assert (v[1] / np.float32(0.3)).data == np.float64(2.0) / np.float32(0.3)
    for out in (Value(np.float32(1.0)) / np.float32(0.3), Value(np.ones(2, np.float32)) * np.float32(0.3)):
        assert out.dtype == np.float32


def test_einsum_keeps_the_dots_as_numpy_does():
    x = np.ones((2, 3, 4))
    with pytest.raises(ValueError):
        np.einsum("jk...->j", x)
    with pytest.raises(ShapeError, match="leaves out the axes"):
        ag.einsum("jk...->j", Value(x))
    assert ag.einsum("jk...->j", Value(x[..., 0])).shape == np.einsum("jk...->j", x[..., 0]).shape
    assert ag.einsum("jk...->j...", Value(x)).shape == (2, 4)
