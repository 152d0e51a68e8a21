"""Op: one block is the whole op; settings, names, samples, and rules that are looked up when backward runs."""

import ast
import operator
import pickle

import numpy as np
import pytest

from autograd import OPS, Expr, Op, Value, grad, softmax
from autograd.arrays.plain import as_plain
from autograd.errors import DataError, ShapeError
from autograd.expr import rule
from autograd.op import nothing, template, with_settings
from autograd.samples import Sample, samples
from tests.autograd.judges import every_op, is_real, judge_first_order, judge_second_order
from tests.sweep import sweep


@pytest.fixture
def arctan2():
    """An op as a user adds it: one block, nothing else."""
    return Op("arctan2", forward=np.arctan2,
              vjp=lambda g, out, y, x: (g * x / (x**2 + y**2), -g * y / (x**2 + y**2)),
              samples=samples(". .", "2,3 3", low=0.5), numpy=np.arctan2, batch="align")  # fmt: skip


def test_one_block_is_a_whole_op(arctan2):
    assert arctan2.reads == "arctan2(y, x)"
    assert [str(e) for e in rule(arctan2)] == ["g * x / (x ** 2 + y ** 2)", "-g * y / (x ** 2 + y ** 2)"]
    y, x = Value(1.0), Value(2.0)
    out = arctan2(y, x)
    out.backward()
    assert (out.op, out.parents) == (arctan2, (y, x))
    assert (y.grad, x.grad) == (2.0 / 5.0, -1.0 / 5.0)
    for sample in arctan2.samples:
        judge_first_order(arctan2, sample)
        judge_second_order(arctan2, sample)


def test_the_table_is_keyed_by_name():
    assert all(name == op.name for name, op in OPS.items())


@pytest.mark.parametrize("replace", [
    pytest.param(lambda: OPS["exp"], id="an op without settings"),
    pytest.param(lambda: OPS["sum"], id="an op with settings"),
])  # fmt: skip
def test_a_replaced_rule_changes_the_gradient_of_a_graph_that_exists(replace, monkeypatch):
    x = Value(np.array([0.3, 0.4]))
    out = x.exp().sum()
    out.backward()
    honest, x.grad = x.grad, None
    op = replace()
    before = op.vjp
    monkeypatch.setattr(op, "vjp", lambda g, out, x, **settings: (2.0 * before(g, out, x, **settings)[0],))
    out.backward()
    np.testing.assert_array_equal(x.grad, 2.0 * honest)
    assert grad(lambda x: x.exp().sum())(np.zeros(2)).tolist() == [2.0, 2.0]


def test_settings_are_normalised_and_bound_once():
    x = Value(np.ones((2, 3)))
    a, b = softmax(x, axis=1).op, softmax(x, axis=-1).op
    assert a is b
    assert a.settings == {"axis": (-1,)}
    assert a.base is OPS["softmax"]
    assert softmax(x, axis=0).op.settings == {"axis": (-2,)}


def test_bound_variants_are_not_kept_without_limit():
    x = Value(np.ones(2000))
    for i in range(1, 2000):
        x[:i].sum(), x.clip(0, i)
    assert all(len(op._bound) <= 512 for op in OPS.values())


def test_an_op_is_a_method_and_a_function():
    x = Value(np.array([1.0, 2.0]))
    np.testing.assert_array_equal(x.softmax().data, OPS["softmax"](x).data)
    np.testing.assert_array_equal(x.exp().data, np.exp(x.data))
    assert x.exp.__name__ == "exp"


def test_a_bound_op_survives_pickling():
    op = softmax(Value(np.ones(3)), axis=0).op
    again = pickle.loads(pickle.dumps(op))
    assert (again.base, again.settings) == (op.base, op.settings)


def test_an_op_outside_the_table_says_why_it_cannot_be_pickled():
    op = Op("mine", forward=operator.neg, vjp=lambda g, out, x: (-g,), register=False)
    assert "mine" not in OPS
    with pytest.raises(TypeError, match="'mine' is not in the table"):
        pickle.dumps(op)


def test_names_come_from_the_rule():
    assert OPS["layer_norm"].names == ("x", "gamma", "beta")
    assert OPS["less"].names == ("x", "y")
    assert OPS["one_hot"].names == ("targets",)
    assert (OPS["stack"].names, OPS["stack"].variadic) == (("xs",), True)


@every_op()
def test_an_op_says_its_inputs_and_its_settings_apart(op):
    """Names are of inputs alone, and `reads` has a place for every setting: a label would lose what it leaves out."""
    said = {node.id for node in ast.walk(template(op.reads)) if isinstance(node, ast.Name)}
    assert set(op.names) <= said
    for sample in op.samples:
        f, xs = op.on(sample)
        node = f(*(Value(x) if is_real(x) else x for x in xs))
        settings = set() if not isinstance(node, Value) else set(node.op.settings)
        assert settings <= said
        assert not settings & set(op.names)


def test_a_setting_that_is_not_the_usual_one_is_written():
    x = Expr("x", np.array([[1.0, 2.0], [3.0, 0.0]]))
    assert str(OPS["argmax"](x)) == "argmax(x)"
    assert str(OPS["argmin"](x, axis=0, keepdims=True)) == "argmin(x, axis=0)"
    assert str(OPS["pad"](x, 1)) == "pad(x, ((1, 1), (1, 1)))"
    assert str(OPS["pad"](x, 1, constant_values=3.0)) == "pad(x, ((1, 1), (1, 1)), constant_values=3.0)"


def test_ops_without_gradient_are_known():
    without = {name for name, op in OPS.items() if not op.differentiable}
    assert without >= {"less", "less_equal", "greater", "greater_equal", "equal", "not_equal", "sign", "argmax",
                       "argmin", "one_hot"}  # fmt: skip
    assert nothing(1.0, 2.0, 3.0, 4.0) == (None, None)


def test_settings_are_filled_in_without_a_partial():
    def f(x, *, k=1, m):
        return x * k + m

    assert with_settings(f, {"m": 2})(3) == 5
    assert with_settings(lambda x, **settings: settings, {"m": 2})(3) == {"m": 2}


def test_plain_data_has_one_form():
    for data, kept in [(np.float64(2.5), float), (np.array(2.5), float), (3, float), (np.float32(2), np.float32),
                       (np.array(2, np.float32), np.float32), (np.bool_(True), bool), (True, bool)]:  # fmt: skip
        assert type(as_plain(data)) is kept


class TestCarriers:
    def test_plain_in_plain_out(self):
        assert type(OPS["exp"](0.0)) is float
        assert type(OPS["exp"](np.zeros(2))) is np.ndarray
        assert OPS["exp"]([0.0, 0.0]).tolist() == [1.0, 1.0]
        assert OPS["softmax"]([1, 1]).tolist() == [0.5, 0.5]

    def test_a_value_in_a_value_out(self):
        assert isinstance(OPS["add"](1.0, Value(2.0)), Value)
        assert isinstance(OPS["concatenate"]([np.ones(2), Value(np.ones(3))]), Value)

    def test_an_expr_in_text_out(self):
        assert str(OPS["where"](Expr("m"), Expr("x") + 1, 0.0)) == "where(m, x + 1, 0.0)"

    @sweep("name", sorted(OPS))
    def test_integers_are_promoted(self, name):
        """The same numbers as whole-number arrays and as floats give the same result."""
        op = OPS[name]
        for sample in op.samples:
            f, xs = op.on(sample)
            floats, ints = [], []
            for name_of_input, x in zip(op.names * len(xs), xs, strict=False):
                real = x is not None and np.asarray(x).dtype.kind == "f" and np.isfinite(x).all()
                whole = np.ceil(x) + 0.0 if real else x  # integers have no -0
                floats.append(whole)
                ints.append(np.asarray(whole).astype(int)[()] if real and name_of_input != "mask" else whole)
            with np.errstate(all="ignore"):  # a log of 0 here and there
                np.testing.assert_allclose(f(*ints), f(*floats), rtol=1e-14, equal_nan=True, err_msg=f"{name} {sample}")


class TestFloatsThatRaise:
    """Python's floats raise where NumPy's give an infinity or NaN: the op gives NumPy's answer."""

    @pytest.mark.parametrize("f, expected", [
        (lambda v: v.exp(), np.inf), (lambda v: 1.0 / (v * 0.0), np.inf), (lambda v: (-v).log(), np.nan),
        (lambda v: (v * 0.0).log(), -np.inf), (lambda v: (-v) ** 0.5, np.nan), (lambda v: (v * 0.0) ** -1, np.inf),
        (lambda v: v.cosh(), np.inf), (lambda v: (-v).sqrt(), np.nan), (lambda v: v**300, np.inf),
    ])  # fmt: skip
    def test_scalar_and_array_agree(self, f, expected):
        with np.errstate(all="ignore"):
            np.testing.assert_equal(f(Value(1000.0)).data, expected)
            np.testing.assert_equal(f(Value(np.array([1000.0]))).data[0], expected)

    def test_a_rule_that_divides_by_zero_gives_an_infinity(self):
        x = Value(0.0)
        with np.errstate(all="ignore"):
            x.sqrt().backward()
        assert x.grad == np.inf

    def test_numpys_own_settings_are_obeyed(self):
        with np.errstate(all="raise"), pytest.raises(FloatingPointError):
            Value(np.zeros(2)).log()
        with pytest.warns(RuntimeWarning, match="divide by zero"):
            Value(np.zeros(2)).log()


class TestCalls:
    def test_a_wrong_number_of_inputs(self):
        with pytest.raises(TypeError, match=r"exp takes 1 input, as in exp\(x\); got 2"):
            OPS["exp"](Value(1.0), Value(2.0))
        with pytest.raises(TypeError, match=r"add takes 2 inputs, as in x \+ y; got 1"):
            OPS["add"](Value(1.0))

    def test_an_unknown_setting(self):
        with pytest.raises(TypeError, match=r"exp\(\) takes no setting named 'base'"):
            OPS["exp"](Value(1.0), base=2)
        expected = r"sum\(x, axis=None, keepdims=False\): got an unexpected keyword argument 'axes'"
        with pytest.raises(TypeError, match=expected):
            OPS["sum"](Value(1.0), axes=0)

    def test_inputs_that_are_no_numbers(self):
        with pytest.raises(DataError, match=r"exp: expected real numbers, as in exp\(x\); got 'two' \(str\)"):
            OPS["exp"]("two")

    def test_shapes_that_do_not_fit_name_the_values(self):
        q, k = Value(np.ones((2, 3)), name="q"), Value(np.ones(2), name="k")
        with pytest.raises(ShapeError, match=r"shapes \(2, 3\) and \(2,\) do not broadcast.*Here x is 'q', y is 'k'"):
            q + k


class TestSamples:
    def test_the_same_sample_gives_the_same_inputs(self):
        a, b = Sample("2,3 ."), Sample("2,3 .")
        for x, y in zip(a.inputs("exp"), b.inputs("exp"), strict=True):
            np.testing.assert_array_equal(x, y)
        assert not np.array_equal(a.inputs("exp")[0], a.inputs("log")[0])

    def test_shapes_are_read_from_text(self):
        x, y, z = Sample("2,3 4 .", low=1, high=2).inputs()
        assert (x.shape, y.shape, type(z)) == ((2, 3), (4,), float)
        assert x.min() >= 1
        assert x.max() <= 2

    def test_given_arrays_stay(self):
        mask = np.array([True, False])
        assert Sample(mask, "2").inputs()[0] is mask


@every_op(lambda op: op.view)
def test_a_view_only_moves_numbers(op):
    for sample in op.samples:
        f, (x,) = op.on(sample)
        assert np.isin(f(x), x).all()


@sweep("name", sorted(name for name, op in OPS.items() if op.normalize is None and not op.variadic))
def test_one_input_too_many_is_refused_and_left_alone(name):
    """A ufunc would take it for `out=` and write the result into it."""
    op = OPS[name]
    given = [Value(np.array([1.0, 2.0])) for _ in range(len(op.names) + 1)]
    with pytest.raises(TypeError, match=f"{name} takes {len(op.names)} input"):
        op(*given)
    assert given[-1].tolist() == [1.0, 2.0]
