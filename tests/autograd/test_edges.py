"""Edges that outside suites found: other kinds of arrays, empty ones, saturated ones, small integers, many rows."""

import copy
import pickle
import time

import numpy as np
import pytest

import autograd as ag
from autograd import OPS, Value, custom_op, grad, hessian, hvp, vjp
from autograd.errors import DataError, ShapeError
from tests.autograd.judges import assert_close, numeric_gradients

ROW = [[1.0, 2.0], [3.0, 4.0]]


class TestOtherKindsOfArrays:
    """`np.matrix` multiplies by its own rules and masked arrays have a mask: both are refused with what to write."""

    KINDS = {"asarray": np.array(ROW).view(np.matrix), "filled": np.ma.array(ROW, mask=[[0, 1], [0, 0]])}
    USES = {
        "v * x": lambda v, x: v * x, "x * v": lambda v, x: x * v, "x + v": lambda v, x: x + v,
        "x - v": lambda v, x: x - v, "v / x": lambda v, x: v / x, "x @ v": lambda v, x: x @ v,
        "np.multiply": lambda v, x: np.multiply(x, v), "Value(x)": lambda v, x: Value(x),
        "where": lambda v, x: ag.where(v > 0, v, x), "stack": lambda v, x: ag.stack([x, v]),
        "a cotangent": lambda v, x: (v * 1.0).backward(x), "data": lambda v, x: setattr(v, "data", x),
        "grad": lambda v, x: grad(lambda w: (w * w).sum())(x), "plain": lambda v, x: OPS["mul"](x, x),
        "linear": lambda v, x: ag.linear(x, v, np.zeros(2)), "fused, plain": lambda v, x: ag.softmax(x),
        "an index": lambda v, x: v[x.astype(int) - 1], "targets": lambda v, x: ag.cross_entropy(v, x[0].astype(int)),
        "compiled": lambda v, x: ag.compile(lambda w: (w * w).sum())(x),
    }  # fmt: skip

    @pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")  # NumPy's own, about np.matrix
    @pytest.mark.parametrize("use", USES)
    @pytest.mark.parametrize("instead", KINDS)
    def test_are_refused(self, instead, use):
        v = Value(np.ones((2, 2)))
        with pytest.raises(DataError, match=instead):
            self.USES[use](v, self.KINDS[instead])
        assert v.grad is None and v.data.tolist() == [[1.0, 1.0], [1.0, 1.0]]

    def test_a_memory_map_is_an_array(self, tmp_path):
        x = np.memmap(tmp_path / "x", dtype=float, mode="w+", shape=(2, 2))
        x[:] = ROW
        v = Value(np.ones((2, 2)))
        out = v * x
        out.sum().backward()
        assert type(out.data) is np.ndarray and v.grad.tolist() == ROW


class TestEinsum:
    def test_a_letter_twice_for_axes_of_different_sizes(self):
        for shape in ((1, 5), (5, 1), (2, 3)):
            with pytest.raises(ValueError):
                np.einsum("ii->", np.ones(shape))
            with pytest.raises(ShapeError, match="'i' stands twice in 'ii'"):
                ag.einsum("ii->", Value(np.ones(shape)))

    @pytest.mark.parametrize("subscripts, shapes", [
        ("ij,jk->ik", [(2, 1), (3, 4)]), ("ij,jk->ik", [(2, 3), (1, 4)]), ("ij,ij->", [(1, 3), (2, 1)]),
        ("ij,j->j", [(2, 3), (1,)]), ("ij,jk,k->i", [(2, 1), (3, 4), (1,)]), ("...i,...i->...", [(2, 1, 3), (4, 1)]),
    ])  # fmt: skip
    def test_an_axis_of_size_1_is_spread(self, subscripts, shapes):
        rng = np.random.default_rng(0)
        xs = [rng.normal(size=shape) for shape in shapes]
        out, pull = vjp(lambda *xs: ag.einsum(subscripts, *xs), *xs)
        np.testing.assert_allclose(out, np.einsum(subscripts, *xs))
        u = rng.normal(size=np.shape(out))
        expected = numeric_gradients(lambda *xs: ag.einsum(subscripts, *xs), xs, u)
        for got, by_differences, x in zip(pull(u if u.shape else float(u)), expected, xs, strict=True):
            assert got.shape == x.shape
            assert_close(got, by_differences)


class TestNumbers:
    def test_small_integers_as_exponents_do_not_wrap(self):
        small = np.array([-128], np.int8)
        expected = hessian(lambda v: (v**-128.0).sum())(np.array([1.1]))
        np.testing.assert_allclose(hessian(lambda v: (v**small).sum())(np.array([1.1])), expected)
        np.testing.assert_allclose(hessian(lambda v: v ** small[0])(1.1), expected.item())

    def test_complex_results_of_a_custom_op_are_refused(self):
        turned = custom_op("turned_into_complex", forward=lambda x: x * 1j, vjp=lambda g, out, x: (g,))
        for x in (1.0, np.ones(2)):
            with pytest.raises(DataError, match=r"forward gave complex numbers.*Return out\.real"):
                turned(Value(x))

    @pytest.mark.parametrize("condition", [True, False, np.array([True, False])])
    def test_where_has_the_dtype_of_both(self, condition):
        x = np.float32(1.0)
        assert ag.where(condition, Value(x), 2.0).dtype == np.where(condition, x, 2.0).dtype == np.float32
        assert ag.where(condition, 2.0, Value(x)).dtype == np.float32
        assert ag.where(condition, Value(x), np.ones(2)).dtype == np.where(condition, x, np.ones(2)).dtype

    @pytest.mark.parametrize("y, slope", [(0.0, 0.0), (0.5, 0.0), (2.0, 0.0)])
    def test_the_slope_of_0_to_the_y(self, y, slope):
        """As torch has it: 0 ** y is 0 from 0 on, and the one point 0 ** 0 = 1 does not count."""
        assert grad(lambda y: 0.0**y)(y) == slope
        assert grad(lambda y: (np.zeros(2) ** y).sum())(np.full(2, y)).tolist() == [slope] * 2
        assert grad(grad(lambda y: 0.0**y))(y) == slope

    def test_the_slope_of_x_to_the_y_elsewhere(self):
        for x, y in ((2.0, 3.0), (0.5, -1.5), (1e-8, 0.0)):
            assert grad(lambda y, x=x: x**y)(y) == pytest.approx(x**y * np.log(x), rel=1e-14)
        with np.errstate(all="ignore"):
            assert grad(lambda y: 0.0**y)(-1.0) == -np.inf


class TestEmptyArrays:
    @pytest.mark.parametrize("shape, axis", [((0,), None), ((0, 2), 0), ((2, 0), 1), ((2, 0), None), ((3, 0), 0)])
    def test_second_derivatives_of_prod(self, shape, axis):
        x = np.ones(shape)
        assert hvp(lambda y: y.prod(axis=axis).sum(), x, x).shape == shape
        assert grad(lambda y: grad(lambda z: z.prod(axis=axis).sum())(y).sum())(x).shape == shape

    def test_split(self):
        for parts in (1, 3):
            assert [part.shape for part in ag.split(Value(np.ones(0)), parts)] == [(0,)] * parts
            assert [part.shape for part in np.split(np.ones(0), parts)] == [(0,)] * parts


    @pytest.mark.parametrize("order", [1, 2])
    def test_a_check_of_an_op_that_the_replay_loops_over(self, order):
        def f(x, y):
            return ag.einsum("ij,jk->ik", x, y)

        report = ag.check_grads(f, np.ones((3, 0)), np.ones((0, 2)), order=order)
        assert report.ok and {entry.input for entry in report.entries} <= {"cotangent"}  # of (3, 2), all zero


class TestRounding:
    @pytest.mark.parametrize("heads, batch", [(1, ()), (2, ()), (2, (3,))])
    def test_saturated_self_attention_in_float32(self, heads, batch):
        """One weight is 1, the others 0: the gradient of the scores is 0, and not the rounding of large numbers."""
        rng = np.random.default_rng(0)
        qkv = (100.0 * rng.normal(size=(*batch, 16, 24 * heads))).astype(np.float32)
        u = rng.normal(size=(*batch, 16, 8 * heads)).astype(np.float32)
        fine, coarse = Value(qkv.astype(np.float64)), Value(qkv)
        for x in (fine, coarse):
            ag.self_attention(x, heads=heads).backward(u)
        assert np.abs(coarse.grad - fine.grad).max() < 2e-6  # 3e-3 to 7e-3 before

    @pytest.mark.slow
    @pytest.mark.parametrize("add", [
        lambda x, b: x + b, lambda x, b: ag.linear(np.zeros((len(x), 1), np.float32), np.zeros((1, 4), np.float32), b),
        lambda x, b: x + b.reshape(1, 4), lambda x, b: x.reshape(-1, 2, 2) + b.reshape(2, 2),
        lambda x, b: ag.layer_norm(x, np.ones(4, np.float32), b),
    ], ids=["add", "linear", "a row", "a matrix", "layer_norm"])  # fmt: skip
    def test_a_sum_over_a_million_rows_in_float32(self, add):
        rows = 1_000_001
        u = np.random.default_rng(0).uniform(0.9, 1.1, (rows, 4)).astype(np.float32)
        b = Value(np.zeros(4, np.float32))
        out = add(np.zeros((rows, 4), np.float32), b)
        out.backward(u.reshape(out.shape))
        np.testing.assert_allclose(b.grad, u.sum(axis=0, dtype=np.float64), rtol=1e-6)


class Tagged(Value):
    """A subclass with attributes of both kinds."""

    __slots__ = ("__dict__", "unit")


@pytest.mark.parametrize("twin", [
    copy.copy, copy.deepcopy, lambda v: pickle.loads(pickle.dumps(v)), lambda v: copy.deepcopy(v * 2).parents[0],
    lambda v: pickle.loads(pickle.dumps(v * 2)).parents[0],
])  # fmt: skip
def test_a_copy_keeps_the_attributes_of_a_subclass(twin):
    v = Tagged(2.0, name="v")
    v.unit, v.source = "mV", ["sensor 1"]
    same = twin(v)
    assert (type(same), same.name, same.unit, same.source) == (Tagged, "v", "mV", ["sensor 1"])
    assert (same.source is v.source) == (twin is copy.copy)


@pytest.mark.slow
def test_stack_of_many_numbers_takes_linear_time():
    def seconds(n):
        xs = [1] * n + [Value(1.0)]
        best = []
        for _ in range(3):
            start = time.process_time()
            ag.stack(xs)
            best.append(time.process_time() - start)
        return min(best)

    assert seconds(16_000) < 8 * max(seconds(4_000), 1e-4)  # 4 where it is linear, 16 where it is quadratic
