"""Value: what it holds, how it meets Python and NumPy, and its copies."""

import copy
import math
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest

import autograd
from autograd import OPS, Value, engine, name, no_grad
from autograd.errors import BackwardError, DataError, ShapeError, StaleDataError
from autograd.graph import topological
from autograd.op import OPERATORS


class Leaf(Value):
    """A subclass, as nn.Parameter is one."""

    __slots__ = ("note",)


class TestData:
    @pytest.mark.parametrize("data", [2, 2.0, True, np.float64(2), np.array(2.0), np.int64(2), np.array(2)])
    def test_numbers_become_python_floats(self, data):
        assert type(Value(data).data) is float

    def test_a_full_reduction_of_float64_is_a_python_float(self):
        x = Value(np.arange(4.0))
        assert [type(f(x).data) for f in (OPS["sum"], OPS["mean"], OPS["max"], OPS["logsumexp"])] == [float] * 4
        assert type(autograd.xlogy(Value(2.0), 3.0).data) is float
        assert type((x @ x).data) is float
        assert type(x[1].data) is float

    @pytest.mark.parametrize("dtype", [np.float16, np.float32, np.longdouble])
    def test_other_precisions_keep_their_own(self, dtype):
        """float16 works too: results and gradients are float16, with the few digits that it has."""
        scalar, array = Value(dtype(1.5)), Value(np.array([1.5, 2.5], dtype))
        out = (array * scalar + 1).sum()
        out.backward()
        for got in (scalar.data, array.data, out.data, scalar.grad, array.grad):
            assert got.dtype == dtype
        assert (float(scalar.grad), array.grad.tolist()) == (4.0, [1.5, 1.5])

    @pytest.mark.parametrize("data", [[1, 2], np.array([1, 2]), np.array([1, 2], np.uint8), [True, False], (1, 2)])
    def test_integers_become_float64(self, data):
        assert Value(data).dtype == np.float64

    def test_the_array_is_copied(self):
        mine = np.ones(2)
        v = Value(mine)
        mine[0] = 9
        assert v.data.tolist() == [1, 1]
        v.data -= 1
        assert mine.tolist() == [9, 1]

    def test_shapes(self):
        v = Value(np.ones((2, 3), np.float32))
        assert (v.shape, v.ndim, v.size, v.dtype) == ((2, 3), 2, 6, np.float32)
        assert (Value(1.0).shape, Value(1.0).ndim, Value(1.0).size, Value(1.0).dtype) == ((), 0, 1, np.float64)
        assert Value(np.ones((2, 3, 4))).T.shape == (4, 3, 2)
        assert Value(np.ones((2, 3, 4))).mT.shape == (2, 4, 3)

    @pytest.mark.parametrize("data", [[], np.ones((0, 3))])
    def test_no_numbers_at_all(self, data):
        v = Value(data)
        out = (v * 2 + 1).sum()
        out.backward()
        assert out.data == 0.0
        assert v.grad.shape == v.shape

    @pytest.mark.parametrize("data", [1j, np.array([1j]), "2", None, object(), {}, ["a"], [None], 10**400, b"1"])
    def test_what_is_no_real_number_is_refused(self, data):
        with pytest.raises(DataError):
            Value(data)

    def test_ragged_rows_are_refused(self):
        with pytest.raises(ShapeError, match="rectangular array"):
            Value([[1.0, 2.0], [3.0]])

    def test_values_inside_a_value_are_refused(self):
        v = Value(1.0)
        with pytest.raises(DataError, match=r"v\.detach\(\)"):
            Value(v)
        with pytest.raises(DataError, match=r"stack\(\[\.\.\.\]\)"):
            Value([v, v])


class TestSettingData:
    def test_a_leaf_takes_new_data_of_its_shape_and_dtype(self):
        v = Value(np.ones(2, np.float32))
        v.data = [3, 4]
        assert v.data.dtype == np.float32
        assert v.data.tolist() == [3, 4]
        s = Value(1.0)
        s.data -= 0.5
        assert s.data == 0.5
        s.data = np.array(3)
        assert type(s.data) is float

    def test_another_shape_is_refused_and_changes_nothing(self):
        v = Value(np.ones(2), name="w")
        with pytest.raises(ShapeError, match=r"Value 'w' has shape \(2,\); data of shape \(3,\)"):
            v.data = np.ones(3)
        with pytest.raises(DataError):
            v.data = "two"
        assert v.data.tolist() == [1, 1]

    def test_a_result_is_refused(self):
        out = Value(1.0) * 2
        with pytest.raises(BackwardError, match="result of mul; only a leaf's data may be set"):
            out.data = 3.0
        assert out.data == 2.0

    def test_new_data_is_copied(self):
        mine = np.zeros(2)
        v = Value(np.ones(2))
        v.data = mine
        mine[0] = 9
        assert v.data.tolist() == [0, 0]

    def test_detach_copies(self):
        v = Value(np.ones(2), name="v")
        d = v.detach()
        d.data -= 1
        assert v.data.tolist() == [1, 1]
        assert (d.parents, d.requires_grad, d.name) == ((), False, "v")


class TestNamesOfTheDesign:
    """What users (and tests outside this repository) call."""

    METHODS = """exp log sqrt sin cos tanh sigmoid relu gelu abs maximum minimum where sum mean var max min logsumexp
        softmax log_softmax layer_norm matmul reshape transpose swapaxes broadcast_to concatenate stack getitem take
        cross_entropy"""

    @pytest.mark.parametrize("name", METHODS.split())
    def test_a_method_and_a_function_of_the_same_name(self, name):
        assert callable(getattr(Value, name))
        assert callable(getattr(autograd, name))

    def test_keywords(self):
        v = Value(data=[1.0, 2.0], name="v", requires_grad=True)
        (v * v).backward(grad=np.array([1.0, 0.0]))
        assert v.grad.tolist() == [2.0, 0.0]
        assert v.layer_norm(gamma=2.0, beta=1.0, eps=1e-5).shape == (2,)
        assert Value([[1.0, 2.0]]).softmax().data.sum() == pytest.approx(1.0)
        assert type(v.sum().data) is float

    def test_methods_take_what_functions_take(self):
        x = Value(np.arange(6.0).reshape(2, 3))
        assert x.sum(axis=0).shape == x.sum(0).shape == (3,)
        assert x.reshape(3, 2).shape == x.reshape((3, 2)).shape == (3, 2)
        assert x.transpose().shape == x.transpose(1, 0).shape == x.transpose((1, 0)).shape == (3, 2)
        assert x.maximum(2.0).data.min() == 2.0
        assert x.cross_entropy(np.array([0, 1])).shape == ()
        assert (x > 2).where(x, 0.0).data.tolist() == [[0, 0, 0], [3, 4, 5]]


class TestGraph:
    def test_a_leaf(self):
        v = Value(1.0)
        assert (v.op, v.parents, v.inputs, v.grad, v.requires_grad) == (None, (), (), None, True)

    def test_parents_are_values_and_inputs_also_plain_numbers(self):
        a, b = Value(2.0), Value(3.0)
        assert (a * b).parents == (a, b)
        assert (a * a).parents == (a, a)
        assert ((a * 2).parents, (a * 2).inputs) == ((a,), (a, 2))
        assert ((2 - a).parents, (2 - a).inputs) == ((a,), (2, a))
        assert autograd.stack([a, b, 1.0]).inputs == (a, b, 1.0)
        assert autograd.stack([a, b, 1.0]).parents == (a, b)

    def test_a_list_beside_a_value_becomes_an_array(self):
        out = autograd.maximum(Value(np.zeros(2)), [1, -1])
        assert isinstance(out.inputs[1], np.ndarray)

    def test_stamps_increase(self):
        a = Value(1.0)
        b = a * 2
        assert a.stamp < b.stamp < (b + a).stamp

    def test_requires_grad_flows_on(self):
        data, weight = Value(1.0, requires_grad=False), Value(2.0)
        assert not (data * 2).requires_grad
        assert (data * weight).requires_grad
        assert not (weight > 0).requires_grad

    def test_a_node_is_small(self):
        """Three words would be 24 bytes more: slots, no dict, no tuple for one or two inputs."""
        node = Value(1.0) * 2
        assert not hasattr(node, "__dict__")
        assert sys.getsizeof(node) <= 104

    def test_aliases_of_micrograd(self):
        a = Value(2.0)
        assert ((a + a)._prev, (a + a)._op) == ((a, a), "+")
        assert (a._prev, a._op) == ((), "")
        assert [(a * a)._op, (a - a)._op, (a / a)._op, (a**2)._op, a.relu()._op] == ["*", "-", "/", "**", "relu"]


class TestNames:
    def test_by_keyword_and_attribute(self):
        v = Value(1.0, name="v")
        v.name = "w"
        assert v.name == "w"
        v.name = None
        assert v.name is None

    def test_from_the_callers_variables(self):
        x, y = Value(1.0, name="first"), Value(2.0)
        z = x * y
        _hidden = Value(3.0)
        name(locals())
        assert (x.name, y.name, z.name, _hidden.name) == ("first", "y", "z", None)

    def test_a_name_does_not_travel(self):
        a = Value(1.0, name="a")
        assert (a * 1).name is None


class TestPython:
    def test_numbers(self):
        v = Value(2.75)
        assert (float(v), int(v), bool(v), bool(Value(0.0)), v.item()) == (2.75, 2, True, False, 2.75)
        assert float(Value([[1.5]])) == 1.5
        assert math.exp(Value(0.0)) == 1.0
        assert float(Value(np.float32(0.5))) == 0.5

    def test_len_and_iteration(self):
        v = Value(np.arange(6.0).reshape(2, 3))
        assert len(v) == 2
        rows = list(v)
        assert [r.data.tolist() for r in rows] == [[0, 1, 2], [3, 4, 5]]
        assert all(r.parents == (v,) for r in rows)
        a, b, _ = rows[0]
        (a + 2 * b).backward()
        assert v.grad.tolist() == [[1, 2, 0], [0, 0, 0]]

    @pytest.mark.parametrize("ask", [len, iter, list])
    def test_a_scalar_has_no_length(self, ask):
        with pytest.raises(TypeError, match="scalar Value"):
            ask(Value(1.0))

    def test_membership_asks_the_numbers(self):
        v = Value([1.0, 2.0])
        assert 2.0 in v
        assert 3.0 not in v
        assert v in {Value(1.0), v}

    def test_equality_compares_entry_by_entry(self):
        a = Value([0.0, 1.0, 2.0])
        for out, expected in [(a == 1, [0, 1, 0]), (a != 1.0, [1, 0, 1]), (a == a, [1, 1, 1]),
                              (np.float64(1) == a, [0, 1, 0]), (a == np.array([0.0, 5.0, 2.0]), [1, 0, 1]),
                              (np.ones(3) == a, [0, 1, 0]), (a != [0, 1, 3], [0, 0, 1])]:  # fmt: skip
            assert out.data.tolist() == [bool(e) for e in expected]
            assert out.op.name in ("equal", "not_equal") and not out.requires_grad
        assert np.where(a == 0, 1.0, np.sin(a) / np.where(a == 0, 1.0, a)).data[0] == 1.0
        assert np.mean(np.argmax(Value(np.eye(3)), axis=1) == np.array([0, 1, 0])).data == 2 / 3
        with pytest.raises(ShapeError):
            a == np.ones(2)  # noqa: B015

    def test_equality_with_what_is_no_number_is_plain(self):
        a = Value([1.0, 2.0])
        for other in (None, "a", object(), {}):
            assert (a == other) is False and (a != other) is True and (other == a) is False

    def test_sets_and_dicts_go_by_identity(self):
        a, b = Value([1.0, 2.0]), Value([1.0, 2.0])
        assert len({a, b, a}) == 2
        assert {a: 1, b: 2}[a] == 1
        assert b not in {a} and b in {a, b}
        assert list({(1, a): 0}) == [(1, a)]

    @pytest.mark.parametrize("dtype", [np.float64, np.float32, int, complex])
    def test_a_plain_array_filled_entry_by_entry_is_refused(self, dtype):
        v, out = Value(3.0), np.zeros((2, 2), dtype)

        def by_index():
            out[0, 1] = v * v

        def by_number():
            out[1][0] = v

        for fill in (by_index, by_number):
            with pytest.raises((TypeError, ValueError)) as caught:  # a float array raises NumPy's own error from ours
                fill()
            assert "written into a plain array" in str(caught.value.__cause__ or caught.value)
        assert not out.any()
        with autograd.no_grad():
            out[0, 0] = v * v
        out[0, 1] = v.data
        out[1, 0] = v > 1
        out[1, 1] = Value(2.0, requires_grad=False)
        assert out.tolist() == [[9, 3], [1, 2]]
        numbers, objects = [0.0], np.empty(1, object)
        numbers[0] = objects[0] = v
        assert numbers[0] is objects[0] is v and math.sqrt(v) == 3**0.5

    def test_comparisons_are_ops(self):
        a = Value(np.array([1.0, 2.0, 3.0]))
        for out, expected in [(a < 2, [1, 0, 0]), (a <= 2, [1, 1, 0]), (a > 2, [0, 0, 1]), (a >= 2, [0, 1, 1]),
                              (autograd.equal(a, 2), [0, 1, 0]), (autograd.not_equal(a, 2), [1, 0, 1]),
                              (np.full(3, 2.0) > a, [1, 0, 0])]:  # fmt: skip
            assert out.data.tolist() == [bool(e) for e in expected]
            assert out.op is not None
        assert sorted([Value(3.0), Value(1.0)])[0].data == 1.0
        assert max(Value(3.0), Value(1.0)).data == 3.0

    def test_formatting(self):
        v = Value(1.23456)
        assert f"{v:.2f}" == "1.23"
        assert f"{v}" == repr(v) == "Value(1.23456)"

    @pytest.mark.parametrize("value, text", [
        (Value(2.0), "Value(2.0)"),
        (Value(2.0, name="a"), "Value(2.0, name='a')"),
        (Value([1.0, 2.0]), "Value([1., 2.])"),
        (Value(np.float32(1.5)), "Value(1.5, dtype=float32)"),
        (Value(np.ones(2, np.float32)), "Value([1., 1.], dtype=float32)"),
        (Value(2.0) * 3, "Value(6.0, op='mul')"),
        (Value(2.0) > 1, "Value(True, op='greater')"),
        (Value(np.ones(100)), "Value([1., 1., 1., ..., 1., 1., 1.], shape=(100,))"),
        (Leaf(1.0), "Leaf(1.0)"),
    ])  # fmt: skip
    def test_repr(self, value, text):
        assert repr(value) == text

    def test_repr_shows_a_scalar_gradient(self):
        v = Value(3.0, name="v")
        (v * v).backward()
        assert repr(v) == "Value(3.0, name='v', grad=6.0)"

    def test_item_assignment_is_refused(self):
        v = Value([1.0, 2.0], name="v")
        with pytest.raises(TypeError, match=r"Value 'v' cannot be changed in place.*where\(mask, new, v\)"):
            v[0] = 3.0
        assert v.data.tolist() == [1, 2]


class TestOperators:
    @pytest.mark.parametrize("method", OPERATORS)
    def test_each_is_its_op_of_the_table(self, method):
        v = Value([2.0])
        assert getattr(v, f"__{method}__")([3.0]).op is OPS[OPERATORS[method]]
        assert f"__{method}__" in Path(engine.__file__).read_text(encoding="utf-8")

    CASES = [(lambda a, b: a + b, 1), (lambda a, b: a - b, 2), (lambda a, b: a * b, 3), (lambda a, b: a / b, 4),
             (lambda a, b: a**b, 5)]  # fmt: skip
    LEFT = [2, 2.0, np.float64(2), np.float32(2), np.int64(2), np.array(2.0), np.full((2, 3), 2.0), np.full(3, 2),
            [2.0, 2.0, 2.0]]  # fmt: skip

    @pytest.mark.parametrize("f", [c[0] for c in CASES], ids=["add", "sub", "mul", "div", "power"])
    @pytest.mark.parametrize("left", LEFT, ids=lambda x: f"{type(x).__name__}{np.shape(x)}")
    def test_anything_real_on_the_left_and_right(self, f, left):
        data = np.linspace(0.5, 2.0, 6).reshape(2, 3)
        for v in (Value(data), Value(1.5)):
            for out, expected in [(f(left, v), f(np.asarray(left), v.data)), (f(v, left), f(v.data, np.asarray(left)))]:
                assert isinstance(out, Value)
                assert out.parents == (v,)
                np.testing.assert_allclose(out.data, expected, rtol=1e-7)
            f(left, v).sum().backward()
            assert np.shape(v.grad) == v.shape

    @pytest.mark.parametrize("number", [2, 2.0, np.float64(2), np.int64(2), np.array(2.0), np.array(2), np.float32(2)],
                             ids=lambda x: f"{type(x).__name__}{np.shape(x)}")  # fmt: skip
    def test_a_number_leaves_float32_in_float32(self, number):
        v = Value(np.ones((2, 3), np.float32))
        outs = [v * number, number * v, v / number, number - v, v**number, v * np.sqrt(number), np.maximum(number, v)]
        assert {out.dtype for out in outs} == {np.dtype(np.float32)}
        sum(out.sum() for out in outs).backward()
        assert v.grad.dtype == np.float32

    def test_numpys_numbers_become_pythons(self):
        out = np.array(3.0) * Value(2.0)
        assert [type(x) for x in (out.data, *out.inputs)] == [float, float, Value]
        assert type((Value(2.0) * np.int64(3)).inputs[1]) is int

    def test_truths_can_be_counted_and_subtracted(self):
        a, b = Value([1.0, 2.0, 3.0]), Value([2.0, 2.0, 2.0])
        assert (a > 1).sum().data == 2
        assert (a > 1).mean().data == pytest.approx(2 / 3)
        assert ((a > b) - (a < b)).data.tolist() == [-1.0, 0.0, 1.0]
        assert (1.0 * (a > b) + (a >= b)).data.tolist() == [0.0, 1.0, 2.0]

    def test_matmul_with_an_array_on_either_side(self):
        v = Value(np.arange(6.0).reshape(2, 3))
        for out in (np.ones((1, 2)) @ v, v @ np.ones((3, 1)), np.ones(2) @ v, v @ [1, 1, 1]):
            assert isinstance(out, Value)
            assert out.op.name == "matmul"

    def test_signs(self):
        v = Value(-2.0)
        assert ((-v).data, abs(v).data, (+v) is v) == (2.0, 2.0, True)

    def test_augmented_assignment_makes_a_new_node(self):
        a = b = Value(1.0)
        a += 1
        assert a is not b
        assert (a.parents, b.data) == ((b,), 1.0)

    @pytest.mark.parametrize("other", ["x", None, 1j, {}, object(), b"1", np.array(["a"])])
    def test_an_operand_that_is_no_number_is_refused(self, other):
        v = Value(1.0)
        with pytest.raises(DataError):
            v * other
        with pytest.raises(DataError):
            other * v

    def test_a_list_of_values_as_an_operand_names_the_cure(self):
        v = Value(1.0)
        with pytest.raises(DataError, match="stack"):
            v + [v, v]


class TestNumpy:
    """NumPy's functions on a Value become ops of the same meaning."""

    M = np.arange(1.0, 7.0).reshape(2, 3) / 3

    @pytest.mark.parametrize("f", [
        pytest.param(lambda np, v: np.exp(v), id="exp"), pytest.param(lambda np, v: np.sum(v, axis=0), id="sum"),
        pytest.param(lambda np, v: np.concatenate([v, v], axis=1), id="concatenate"),
        pytest.param(lambda np, v: np.stack([v, v]), id="stack"),
        pytest.param(lambda np, v: np.mean(v, axis=-1, keepdims=True), id="mean"),
        pytest.param(lambda np, v: np.var(v, axis=0, ddof=1), id="var"),
        pytest.param(lambda np, v: np.std(v), id="std"),
        pytest.param(lambda np, v: np.max(v, axis=1), id="max"), pytest.param(lambda np, v: np.min(v), id="min"),
        pytest.param(lambda np, v: np.prod(v, axis=1), id="prod"),
        pytest.param(lambda np, v: np.cumsum(v), id="cumsum"),
        pytest.param(lambda np, v: np.where(v > 1, v, 0.0), id="where"),
        pytest.param(lambda np, v: np.maximum(v, 1.0), id="maximum"),
        pytest.param(lambda np, v: np.clip(v, 0.5, 1.5), id="clip"),
        pytest.param(lambda np, v: np.reshape(v, (3, 2)), id="reshape"),
        pytest.param(lambda np, v: np.transpose(v), id="transpose"),
        pytest.param(lambda np, v: np.swapaxes(v, 0, 1), id="swapaxes"),
        pytest.param(lambda np, v: np.expand_dims(v, 1), id="expand_dims"),
        pytest.param(lambda np, v: np.squeeze(np.expand_dims(v, 1)), id="squeeze"),
        pytest.param(lambda np, v: np.broadcast_to(v, (4, 2, 3)), id="broadcast_to"),
        pytest.param(lambda np, v: np.moveaxis(v, 0, -1), id="moveaxis"),
        pytest.param(lambda np, v: np.take(v, [0, 0, 2], axis=1), id="take"),
        pytest.param(lambda np, v: np.take(v, [0, 5]), id="take of all"),
        pytest.param(lambda np, v: np.split(v, 3, axis=1)[1], id="split"),
        pytest.param(lambda np, v: np.pad(v, 1), id="pad"), pytest.param(lambda np, v: np.tril(v), id="tril"),
        pytest.param(lambda np, v: np.triu(v, 1), id="triu"), pytest.param(lambda np, v: np.flip(v, 0), id="flip"),
        pytest.param(lambda np, v: np.dot(v, v.T), id="dot"),
        pytest.param(lambda np, v: np.matmul(v, v.T), id="matmul"),
        pytest.param(lambda np, v: np.einsum("ij,kj->ik", v, v), id="einsum"),
        pytest.param(lambda np, v: np.outer(v[0], v[1]), id="outer"),
        pytest.param(lambda np, v: np.linalg.norm(v, axis=1), id="norm"),
        pytest.param(lambda np, v: np.square(v), id="square"),
        pytest.param(lambda np, v: np.reciprocal(v), id="reciprocal"),
        pytest.param(lambda np, v: np.ravel(v), id="ravel"), pytest.param(lambda np, v: np.copy(v), id="copy"),
        pytest.param(lambda np, v: np.power(v, 2), id="power"), pytest.param(lambda np, v: np.abs(v), id="abs"),
        pytest.param(lambda np, v: np.tanh(v), id="tanh"), pytest.param(lambda np, v: np.log1p(v), id="log1p"),
    ])  # fmt: skip
    def test_the_same_numbers_and_a_gradient(self, f):
        v = Value(self.M)
        out = f(np, v)
        np.testing.assert_allclose(out.data, f(np, self.M), rtol=1e-14)
        assert out.requires_grad
        assert v in topological(out)

    @pytest.mark.parametrize("a, b", [((), (3,)), ((3,), (3,)), ((2, 3), (3,)), ((2, 3), (3, 4)), ((5, 2, 3), (3, 4)),
                                      ((5, 2, 3), (3,)), ((5, 2, 3), (5, 3, 4)), ((2, 3), (5, 3, 4))])  # fmt: skip
    def test_dot_is_numpys_dot(self, a, b):
        rng = np.random.default_rng(0)
        x, y = np.asarray(rng.normal(size=a)), rng.normal(size=b)
        np.testing.assert_allclose(np.dot(Value(x), y).data, np.dot(x, y), rtol=1e-14)

    def test_shape_ndim_and_size_are_plain(self):
        v = Value(self.M)
        assert (np.shape(v), np.ndim(v), np.size(v)) == ((2, 3), 2, 6)

    def test_argmax_can_index(self):
        v = Value(np.array([1.0, 3.0, 2.0]))
        assert v[np.argmax(v)].data == 3.0

    @pytest.mark.parametrize("f, which", [
        (lambda v: np.unwrap(v), "unwrap"), (lambda v: np.nextafter(v, 1.0), "nextafter"),
        (lambda v: np.add.reduce(v), "add.reduce"), (lambda v: np.fft.fft(v), "fft"),
    ])  # fmt: skip
    def test_a_function_without_an_op_is_refused_by_name(self, f, which):
        with pytest.raises(TypeError, match=f"np.{which} of a Value has no gradient here. .*v.data"):
            f(Value(self.M))

    def test_it_never_becomes_a_plain_array_in_silence(self):
        v = Value(self.M, name="v")
        for convert in (np.array, np.asarray, lambda v: np.array([v, v]), lambda v: np.asarray([v])):
            with pytest.raises(DataError, match=r"Value 'v' cannot become a plain array on its own"):
                convert(v)
        array = np.ones((2, 3))
        with pytest.raises(TypeError, match="array = array - v"):
            array -= v
        assert array.tolist() == np.ones((2, 3)).tolist()

    def test_numpy_gives_a_copy(self):
        v = Value(self.M)
        v.numpy()[0, 0] = 99
        assert v.data[0, 0] == self.M[0, 0]


class TestSubclasses:
    """A subclass is a Value everywhere; results are plain Values."""

    def test_in_every_place_of_an_operator(self):
        p, v = Leaf(2.0), Value(3.0)
        for out in (p * v, v * p, p * p, 2 * p, p * 2, p.exp(), autograd.stack([p, v])):
            assert type(out) is Value
            assert p in set(out.parents)

    def test_gradients(self):
        p, v = Leaf(np.array([1.0, 2.0])), Value(np.array([3.0, 4.0]))
        (p * v + v * p + p.exp() * 0 + autograd.where(True, p, v)).sum().backward()
        assert p.grad.tolist() == [7.0, 9.0]
        assert v.grad.tolist() == [2.0, 4.0]

    def test_grad_of_a_function(self):
        p = Leaf(2.0)
        g = autograd.grad(lambda x: x * x)(p)
        assert isinstance(g, Value)
        assert g.data == 4.0

    def test_copies_keep_the_class(self):
        p = Leaf(2.0, name="p")
        assert type(copy.copy(p)) is type(copy.deepcopy(p)) is type(pickle.loads(pickle.dumps(p))) is Leaf
        out = copy.deepcopy(p * 2)
        assert [type(x) for x in out.parents] == [Leaf]


def through_pickle(v):
    return pickle.loads(pickle.dumps(v))


both_ways = pytest.mark.parametrize("again", [copy.deepcopy, through_pickle])


class TestCopies:
    def test_a_copy_of_a_leaf_owns_its_data(self):
        v = Value(np.ones(2), name="v")
        (v * v).sum().backward()
        twin = copy.copy(v)
        twin.data -= 1
        twin.grad -= 1
        assert (v.data.tolist(), v.grad.tolist()) == ([1, 1], [2, 2])
        assert (twin.name, twin.requires_grad) == ("v", True)

    def test_a_copy_of_a_result_has_the_same_parents(self):
        a = Value(2.0)
        twin = copy.copy(a * 3)
        twin.backward()
        assert (twin.parents, a.grad) == ((a,), 3.0)

    @both_ways
    def test_a_graph_stays_a_graph(self, again):
        a, b = Value(2.0, name="a"), Value(np.array([1.0, 2.0]), name="b", requires_grad=False)
        shared = a * a
        out = autograd.where(np.array([True, False]), shared * b, shared + b).softmax().sum() + shared
        twin = again(out)
        nodes = topological(twin)
        assert [n.op and n.op.name for n in nodes] == [n.op and n.op.name for n in topological(out)]
        assert [n.name for n in nodes if n.name] == ["a", "b"]
        assert twin.data == out.data
        twin.backward()
        out.backward()
        assert nodes[0].grad == a.grad
        assert nodes[0] is not a
        assert not next(n for n in nodes if n.name == "b").requires_grad

    def test_deepcopy_of_a_container_keeps_shared_nodes_shared(self):
        a = Value(1.0)
        twins = copy.deepcopy({"a": a, "out": a * 2})
        assert twins["out"].parents == (twins["a"],)
        assert twins["a"] is not a

    def test_a_leaf_under_no_grad_stays_without_gradient(self):
        with no_grad():
            v = Value(1.0) * 2
        assert not pickle.loads(pickle.dumps(v)).requires_grad


class TestWhatANewcomerTries:
    def test_a_name_is_text_and_a_flag_is_a_truth(self):
        with pytest.raises(TypeError, match=r"name is text; got 2.0"):
            Value(1.0, 2.0)
        v = Value(1.0)
        with pytest.raises(TypeError, match=r"name is text; got 3"):
            v.name = 3
        with pytest.raises(TypeError, match=r"True or False; got 'no'"):
            Value(1.0, requires_grad="no")

    def test_a_nan_goes_through_relu(self):
        assert math.isnan(Value(float("nan")).relu().data)

    def test_a_copy_of_a_stale_graph_is_stale(self):
        a = Value(2.0, name="a")
        b = a * a
        a.data = 5.0
        for twin in (copy.deepcopy(b), pickle.loads(pickle.dumps(b))):
            with pytest.raises(StaleDataError, match="'a' was edited"):
                twin.backward()

    def test_a_copy_of_a_fresh_graph_is_fresh(self):
        a = Value(2.0)
        a.data = 5.0
        for twin in (copy.deepcopy(a * a), pickle.loads(pickle.dumps(a * a))):
            twin.backward()
            assert twin.parents[0].grad == 10.0

    def test_the_callers_cotangent_stays_the_callers(self):
        x = Value([1.0, 2.0])
        y = x + 1.0
        cotangent = np.ones(2)
        y.backward(cotangent)
        cotangent *= 7
        assert y.grad.tolist() == [1.0, 1.0]

    def test_questions_about_the_numbers_have_plain_answers(self):
        v = Value([1.0, np.nan])
        assert np.isnan(v).tolist() == [False, True]
        assert np.zeros_like(v).tolist() == [0.0, 0.0]
        assert not np.allclose(v, v)

    def test_the_larger_of_two_is_not_max(self):
        with pytest.raises(TypeError, match=r"maximum\(x, y\)"):
            Value(1.0).max(Value(2.0))
        with pytest.raises(ShapeError, match=r"concatenate\(\[x, y\]\)"):
            autograd.concatenate(Value(1.0), Value(2.0))

    def test_the_lazy_names_are_listed(self):
        assert {"draw", "step", "explain", "check_grads", "custom_op"} <= set(dir(autograd))
