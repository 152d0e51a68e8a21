"""Every message says what was expected, what came, and what to write instead; and bad input changes nothing."""

import builtins
import inspect
import re

import numpy as np
import pytest

import autograd
from autograd import Value, errors, grad, no_grad
from autograd.errors import AxisError, BackwardError, DataError, HandgradError, ShapeError, StaleDataError
from tests.autograd.judges import every_op, is_real
from tests.sweep import sweep


def m():
    return Value(np.arange(6.0).reshape(2, 3), name="m")


def column():
    return Value(np.ones((2, 1)), name="column")


def edited():
    w = Value(2.0, name="w")
    out = w * w
    w.data = 3.0
    out.backward()


# what is written, the exception, and the parts of its message: expected, received, what to write
TABLE = [
    # data
    (lambda: Value("two"), DataError, ["real numbers", "str", "'two'", "Write Value(2.0)"]),
    (lambda: Value(None), DataError, ["real numbers", "NoneType", "Write Value(2.0)"]),
    (lambda: Value(2 + 1j), DataError, ["real numbers", "complex128", "(2+1j)", "Write Value(2.0)"]),
    (lambda: Value([1.0, "x"]), DataError, ["real numbers", "list", "Write Value(2.0)"]),
    (lambda: Value([[1.0], [2.0, 3.0]]), ShapeError, ["rectangular", "[[1.0], [2.0, 3.0]]", "differ in length"]),
    (lambda: Value(m()), DataError, ["cannot hold a Value", "v.detach()"]),
    (lambda: Value([m(), m()]), DataError, ["'m'", "autograd.stack([...])"]),
    (lambda: np.array([m(), m()]), DataError, ["'m'", "plain array", "autograd.stack([...])"]),
    (lambda: m() + "x", DataError, ["a real number or an array", "str: 'x'"]),
    (lambda: m() * 1j, DataError, ["a real number or an array", "complex"]),
    (lambda: m() + None, DataError, ["add: expected real numbers, as in x + y", "None", "x is 'm'"]),
    (lambda: m().astype(complex), DataError, ["real numbers", "complex128", "v.data.astype"]),
    (lambda: autograd.exp("x"), DataError, ["exp: expected real numbers", "'x' (str)"]),
    # indices
    (lambda: m()[float("nan")], DataError, ["integers", "nan"]),
    (lambda: m()[0.5], DataError, ["integers", "0.5"]),
    (lambda: m()[np.array([0.0, np.nan])], DataError, ["integers or booleans", "float64", "astype(int)"]),
    (lambda: m()["row"], DataError, ["integers", "'row'"]),
    (lambda: m()[Value(1.0)], DataError, ["integers", "1.0"]),
    (lambda: m()[5], AxisError, ["index 5", "shape (2, 3)"]),
    (lambda: m()[0, 0, 0], AxisError, ["(0, 0, 0)", "shape (2, 3)"]),
    (lambda: Value(1.0)[0], AxisError, ["scalar Value cannot be indexed"]),
    (lambda: m().take([7], axis=1), AxisError, ["7", "shape (2, 3)"]),
    (lambda: m().__setitem__(0, 1.0), TypeError, ["'m'", "cannot be changed in place", "where(mask, new, v)"]),
    # shapes
    (lambda: m() + np.ones(2), ShapeError, ["shapes (2, 3) and (2,)", "equal or one of them 1", "reshape", "x is 'm'"]),
    (lambda: np.ones(2) * m(), ShapeError, ["mul", "shapes (2,) and (2, 3)", "y is 'm'"]),
    (lambda: autograd.maximum(m(), np.ones(2)), ShapeError, ["maximum", "(2, 3) and (2,)", "x is 'm'"]),
    (lambda: autograd.where(m() > 0, m(), np.ones(2)), ShapeError, ["where", "(2, 3) and (2, 3) and (2,)"]),
    (lambda: m() @ m(), ShapeError, ["(2, 3) and (2, 3) do not chain", "3 must equal 2", "Did you mean x @ y.mT?"]),
    (lambda: m() @ column(), ShapeError, ["3 must equal 2", "Did you mean x.mT @ y?", "y is 'column'"]),
    (lambda: m() @ 2.0, ShapeError, ["scalar has no matrix product", "Did you mean x * y?"]),
    (lambda: Value(np.ones((2, 2, 3))) @ np.ones((5, 3, 2)), ShapeError, ["batch axes", "(2, 2, 3)", "(5, 3, 2)"]),
    (lambda: m().reshape(4, 2), ShapeError, ["6 numbers of shape (2, 3)", "(4, 2)"]),
    (lambda: m().reshape(-1, -1), ShapeError, ["(2, 3)", "(-1, -1)"]),
    (lambda: m().reshape(1.5), ShapeError, ["integers", "1.5"]),
    (lambda: m().broadcast_to((2, 4)), ShapeError, ["(2, 3) does not broadcast to (2, 4)", "1 or the same"]),
    (lambda: m().squeeze(0), ShapeError, ["(2, 3)", "size 1"]),
    (lambda: autograd.concatenate([m(), column(), Value(1.0)]), ShapeError, ["(2, 3), (2, 1), ()"]),
    (lambda: autograd.concatenate([]), ShapeError, ["at least one", "none"]),
    (lambda: autograd.stack([m(), column()]), ShapeError, ["all shapes must be equal", "(2, 1), (2, 3)"]),
    (lambda: m().split(2, axis=1), ShapeError, ["3 along axis -1", "2 equal parts"]),
    (lambda: m().pad((1, 2, 3)), ShapeError, ["(before, after)", "(1, 2, 3)"]),
    (lambda: m().pad(-1), ShapeError, ["narrower than 0", "-1", "slice"]),
    (lambda: Value([1.0]).tril(), ShapeError, ["matrix", "(1,)"]),
    (lambda: autograd.dot([1.0], [m(), m()]), ShapeError, ["1 numbers on the left, 2 on the right", "pair up"]),
    (lambda: autograd.einsum("ij,jk->ik", m(), m()), ShapeError, ["'ij,jk->ik'", "(2, 3), (2, 3)"]),
    (lambda: autograd.einsum("ij,jk", m()), ShapeError, ["names 2 operands; got 1"]),
    (lambda: autograd.einsum("ijk->i", m()), ShapeError, ["names 3 axes", "(2, 3)"]),
    (lambda: float(m()), ShapeError, ["exactly one number", "'m'", "(2, 3)", "v[i]"]),
    (lambda: int(m()), ShapeError, ["exactly one number", "'m'"]),
    (lambda: bool(m()), ShapeError, ["exactly one number", "'m'", "(v.data > 0).all()"]),
    (lambda: m().item(), ShapeError, ["exactly one number", "'m'", "v.data"]),
    (lambda: f"{m():.2f}", ShapeError, ["exactly one number", "'m'"]),
    (lambda: setattr(m(), "data", np.ones(3)), ShapeError, ["'m' has shape (2, 3)", "(3,)", "Make a new Value"]),
    # axes and empty reductions
    (lambda: m().sum(axis=2), AxisError, ["axis 2", "2 axes", "use -2 to 1"]),
    (lambda: m().sum(axis=1.5), AxisError, ["integer", "1.5"]),
    (lambda: m().sum(axis=(0, -2)), AxisError, ["named twice", "(0, -2)"]),
    (lambda: Value(1.0).softmax(), AxisError, ["softmax", "scalar has no axis -1"]),
    (lambda: m().transpose(0, 0), AxisError, ["(0, 0)", "each of the 2 axes once"]),
    (lambda: m().swapaxes(0, 5), AxisError, ["swapaxes", "axis 5", "use -2 to 1"]),
    (lambda: m().flip(3), AxisError, ["flip", "axis 3"]),
    (lambda: m().cumsum(axis=4), AxisError, ["cumsum", "axis 4"]),
    (lambda: m().expand_dims(7), AxisError, ["expand_dims", "axis 7"]),
    (lambda: Value([]).mean(), ShapeError, ["mean of no numbers", "(0,)"]),
    (lambda: Value(np.ones((0, 3))).max(axis=0), ShapeError, ["max", "no numbers", "(0, 3)"]),
    (lambda: Value([]).logsumexp(), ShapeError, ["logsumexp of no numbers", "(0,)"]),
    (lambda: Value([]).var(), ShapeError, ["var of no numbers", "(0,)"]),
    (lambda: Value([1.0]).std(ddof=1), ShapeError, ["ddof=1", "more than 1"]),
    # calls
    (lambda: m().cumsum(axes=0), TypeError, ["cumsum(x, axis=None)", "unexpected", "'axes'"]),
    (lambda: m().sum(axes=0), TypeError, ["sum()", "unexpected", "'axes'"]),
    (lambda: autograd.exp(m(), m()), TypeError, ["exp takes 1 input, as in exp(x)", "got 2"]),
    (lambda: autograd.gelu(m(), approximate="sigmoid"), ValueError, ['"none" (exact) or "tanh"', "'sigmoid'"]),
    (lambda: np.linalg.norm(m(), ord="no"), ValueError, ["of a matrix ord is", "'no'"]),
    (lambda: np.pad(m(), 1, mode="mean"), ValueError, ['mode is "constant"', "'edge'", "mode='mean'"]),
    (lambda: np.unwrap(m()), TypeError, ["np.unwrap", "no gradient", "v.data"]),
    (lambda: np.nextafter(m(), 1.0), TypeError, ["np.nextafter", "no gradient", "v.data"]),
    (lambda: np.exp(m(), out=np.ones((2, 3))), TypeError, ["np.exp", "lost silently", "v.data"]),
    # backward
    (lambda: m().backward(), BackwardError, ["'m' is not a scalar (shape (2, 3))", ".sum()", "np.ones((2, 3))"]),
    (lambda: (m() * 2).backward(np.ones(2)), ShapeError, ["cotangent", "(2,)", "needs (2, 3)"]),
    (lambda: m().detach().sum().backward(), BackwardError, ["nothing to differentiate", "requires_grad=True"]),
    (lambda: setattr(m() * 2, "data", 1.0), BackwardError, ["result of mul", "only a leaf", "detach()"]),
    (edited, StaleDataError, ["'w' was edited", "in mul", "Compute the result again"]),
    (lambda: grad(lambda x: x * 2)(np.ones(2)), BackwardError, ["one scalar result", "(2,)", "jacobian or vjp"]),
]  # fmt: skip


@sweep("f, kind, parts", TABLE, ids=lambda part: " ".join(part)[:60] if isinstance(part, list) else "")
def test_the_message(f, kind, parts):
    with pytest.raises(kind) as caught:
        f()
    for part in parts:
        assert part in str(caught.value), f"{part!r} is missing from: {caught.value}"
    assert not re.search(r"<locals>|<lambda>|\b_[a-z]+\(\)|\bdoor\(\)", str(caught.value)), "an inner name shows"


def test_the_tree_on_top_of_the_file_is_the_tree():
    """Each is a HandgradError, documented, and also the built-in exception that the drawing says."""
    drawn = dict(re.findall(r"[├└]── (\w+)(?: +\(([\w, ]+)\))?", errors.__doc__))
    ours = {name: e for name, e in inspect.getmembers(errors, inspect.isclass) if e is not HandgradError}
    assert issubclass(ours.pop("LostGradientWarning"), UserWarning)
    assert drawn.keys() == ours.keys()
    for name, e in ours.items():
        assert issubclass(e, HandgradError)
        assert e.__doc__
        assert all(issubclass(e, getattr(builtins, base)) for base in drawn[name].split(", ") if base)


def test_bad_input_changes_nothing():
    v = m()
    (v * v).sum().backward()
    data, gradient, stamp = v.data.copy(), v.grad.copy(), v.stamp
    for f in (lambda: v + np.ones(2), lambda: v @ v, lambda: v[9], lambda: setattr(v, "data", "x"),
              lambda: (v * 2).backward(np.ones(2)), lambda: v.sum(axis=5), lambda: v.__setitem__(0, 1.0)):  # fmt: skip
        with pytest.raises((HandgradError, TypeError)):
            f()
    assert (v.op, v.parents, v.stamp, v.name) == (None, (), stamp, "m")
    np.testing.assert_array_equal(v.data, data)
    np.testing.assert_array_equal(v.grad, gradient)


def test_errors_inside_no_grad_are_the_same():
    with no_grad(), pytest.raises(ShapeError, match="Here x is 'm'"):
        m() + np.ones(2)


@every_op(lambda op: len(op.samples[0].parts) > 1)
def test_an_op_refuses_text_beside_a_value(op):
    """Whatever the op, text in place of numbers never becomes a result in silence."""
    f, xs = op.on(op.samples[0])
    for i in range(len(xs)):
        with pytest.raises((HandgradError, TypeError, ValueError)):
            f(*["two" if j == i else Value(x) if is_real(x) else x for j, x in enumerate(xs)])
