"""Expr: rules that print themselves, as a person would write them."""

import re

import numpy as np
import pytest

from autograd import OPS, Expr, Op, Value
from autograd.errors import DataError
from autograd.expr import UNKNOWN, rule
from tests.sweep import sweep


@pytest.mark.parametrize("name, printed", [
    ("add", ["g", "g"]), ("sub", ["g", "-g"]), ("mul", ["g * y", "g * x"]), ("div", ["g / y", "-g * out / y"]),
    ("exp", ["g * out"]), ("log", ["g / x"]), ("tanh", ["g * (1 - out ** 2)"]), ("relu", ["g * (x > 0)"]),
    ("sqrt", ["g / (2 * out)"]), ("sigmoid", ["g * out * (1 - out)"]), ("cos", ["-g * sin(x)"]),
    ("abs", ["g * sign(x)"]), ("where", ["None", "where(condition, g, 0.0)", "where(condition, 0.0, g)"]),
])  # fmt: skip
def test_rules_read_as_a_person_writes_them(name, printed):
    assert [str(e) for e in rule(OPS[name])] == printed


@pytest.mark.parametrize("make, printed", [
    (lambda a, b: a @ b, ["g @ y.T", "x.T @ g"]),
    (lambda a, b: (a @ b).softmax(), ["dot = sum(g * out, axis=1); u = g - dot; out * u"]),
    (lambda a, b: a.sum(), ["g copied to 2×3"]),
    (lambda a, b: a.sum(axis=0), ["g copied to 2×3"]),
    (lambda a, b: a.mean(axis=-1, keepdims=True), ["g / 3 copied to 2×3"]),
    (lambda a, b: a.T, ["g.T"]),
    (lambda a, b: a[0], ["g at [0], 0 elsewhere"]),
    (lambda a, b: a[:, 1:], ["g at [:, 1:], 0 elsewhere"]),
])  # fmt: skip
def test_rules_of_a_node_know_its_shapes(make, printed):
    node = make(Value(np.ones((2, 3))), Value(np.ones((3, 4))))
    values = tuple(x.data if isinstance(x, Value) else x for x in node.inputs)
    texts = [str(e) for e in rule(node.op, values, np.ones(node.shape), node.data)]
    assert texts == printed


class TestRuleOfANode:
    a, b, w = Value(2.0, name="a"), Value(3.0, name="b"), Value(np.ones((2, 3)), name="layer.weight")

    @pytest.mark.parametrize("node, printed", [
        (a * b, ["g * b", "g * a"]), (a * a, ["g * a", "g * a"]), (a**2, ["g * (2 * a)", "None"]),
        (w.mean(axis=-1), ["g / 3 copied to 2×3"]),
        (w.log_softmax(), ["g - exp(out) * sum(g, axis=1)"]),
        (w @ np.ones((3, 4)), ["g @ y.T", "None"]),
        (OPS["linear"](a * np.ones((2, 3)), w.T, None), ["g @ weight.T", "x.T @ g", "None"]),
        (OPS["concatenate"]([w, w]), ["g[0:2]", "g[2:4]"]),
        (a * Value(1.0), ["g * y", "g * a"]),
    ], ids=repr)  # fmt: skip
    def test_it_speaks_of_its_own_inputs(self, node, printed):
        assert [str(e) for e in rule(node)] == printed

    @pytest.mark.parametrize("one, two", [
        (Value(1.0), Value(2.0, name="x")), (Value(1.0, name="a"), Value(2.0, name="a")),
        (Value(1.0, name="g"), Value(2.0)), (Value(1.0, name="my weight"), Value(2.0, name="1st")),
    ])  # fmt: skip
    def test_names_that_clash_or_are_no_formula_give_way_to_the_ops_own(self, one, two):
        assert [str(e) for e in rule(one * two)] == ["g * y", "g * x"]

    def test_numbers_travel_with_it(self):
        assert [e.value for e in rule(self.a * self.b)] == [3.0, 2.0]
        assert [e.value for e in rule(self.a * self.b, g=10.0)] == [30.0, 20.0]

    @sweep("name", [name for name, op in OPS.items() if op.differentiable])
    def test_every_op_prints_its_rule_or_says_how_to(self, name):
        op = OPS[name]
        for sample in op.samples:
            f, inputs = op.on(sample)
            node = f(*(Value(x) if np.asarray(x).dtype.kind == "f" else x for x in inputs))
            if isinstance(node, Value):
                assert any(isinstance(e, Expr) for e in rule(node))
        try:
            assert any(isinstance(e, Expr) for e in rule(op))
        except DataError as error:
            assert re.fullmatch(rf"the rule of {name} depends on .*\. Give the node: rule\(node\), .*", str(error))


class TestText:
    x, y = Expr("x"), Expr("y")

    @pytest.mark.parametrize("e, text", [
        (x + y, "x + y"), (x * (y - 1), "x * (y - 1)"), (-x, "-x"), (-(x**2), "-x ** 2"), ((-x) ** 2, "(-x) ** 2"),
        (x / (y * 2), "x / (y * 2)"), (x / y * 2, "x / y * 2"), (2 - x, "2 - x"), (x @ y, "x @ y"),
        (x.mT @ y, "x.mT @ y"), (x.T, "x.T"), (x > 0, "x > 0"), (abs(x), "abs(x)"), (x[0], "x[0]"),
        (x[1:, None], "x[1:, None]"),
        (x[::-1], "x[::-1]"), (OPS["exp"](x * y), "exp(x * y)"), (x * -2.5, "x * -2.5"), (x ** 0.5, "x ** 0.5"),
        (OPS["maximum"](x, np.array([1.0, 2.0])), "maximum(x, array([1.0, 2.0]))"), (x - (y - x), "x - (y - x)"),
        (np.float64(2) * x, "2.0 * x"), (np.array([1.0]) * x, "array([1.0]) * x"),
    ], ids=str)  # fmt: skip
    def test_brackets_where_a_person_puts_them(self, e, text):
        assert str(e) == text

    def test_settings_left_at_their_default_are_not_said(self):
        x = Expr("x", np.ones((2, 3)))
        said = [str(OPS[name](x, **settings)) for name, settings in [
            ("sum", {}), ("sum", {"axis": 0}), ("sum", {"axis": 1, "keepdims": True}), ("softmax", {}),
            ("softmax", {"axis": 0}), ("mean", {"axis": (0, 1)}), ("gelu", {}), ("gelu", {"approximate": "tanh"}),
        ]]  # fmt: skip
        assert said == ["sum(x)", "sum(x, axis=0)", "sum(x, axis=1)", "softmax(x)",
                        "softmax(x, axis=0)", "mean(x)", "gelu(x)", "gelu(x, approximate='tanh')"]  # fmt: skip

    def test_lists_of_inputs(self):
        x, y = Expr("x", np.ones((2, 3))), Expr("y", np.ones((3, 2)))
        assert str(OPS["concatenate"]([x, x * 2])) == "concatenate([x, x * 2])"
        assert str(OPS["stack"]([x, x], axis=1)) == "stack([x, x], axis=1)"
        assert str(OPS["dot"]([x], [x], x)) == "dot(x, x, x)"
        assert str(OPS["einsum"]("ij,jk->ik", x, y)) == "einsum('ij,jk->ik', x, y)"

    @pytest.mark.parametrize("reads, text", [("x.mT @ y", "(a + 1).mT @ b"), ("x.dot(y)", "(a + 1).dot(b)"),
                                             ("f(y, x)", "f(b, a + 1)"), ("x[y]", "(a + 1)[b]")])  # fmt: skip
    def test_an_op_may_read_as_it_likes(self, reads, text):
        op = Op("mine", reads, forward=np.multiply, vjp=lambda g, out, x, y: (g * y, g * x), register=False)
        assert str(op(Expr("a") + 1, Expr("b"))) == text

    def test_repr(self):
        assert repr(Expr("x") + 1) == "Expr('x + 1')"


class TestValueBeside:
    def test_numbers_travel_with_the_text(self):
        e = Expr("x", 2.0) * (Expr("y", 3.0) - 1)
        assert (str(e), e.value) == ("x * (y - 1)", 4.0)

    def test_unknown_stays_unknown(self):
        assert (Expr("x") * Expr("y", 3.0)).value is UNKNOWN

    def test_shapes_come_from_the_value(self):
        e = Expr("x", np.ones((2, 3)))
        assert (e.shape, e.ndim, e.size, e.dtype, e.mT.shape, e.T.shape) == ((2, 3), 2, 6, np.float64, (3, 2), (3, 2))

    def test_an_unknown_value_prints_the_same_at_every_run(self):
        assert repr(UNKNOWN) == "UNKNOWN"

    def test_a_rule_with_inputs_needs_no_g(self):
        x = np.array([[1.0, 2.0]])
        (dx,) = rule(Value(x).log_softmax().op, (x,))
        assert str(dx) == "g - exp(out) * sum(g, axis=1)"

    def test_a_rule_with_numbers(self):
        dx, dy = rule(OPS["mul"], (2.0, 3.0), g=10.0)
        assert [(str(e), e.value) for e in (dx, dy)] == [("g * y", 30.0), ("g * x", 20.0)]


class TestRefusals:
    @pytest.mark.parametrize("op, needed", [
        (OPS["softmax"], "settings (axis)"), (OPS["matmul"], "the shapes of its inputs (x, y)"),
        (Value(np.ones(3)).mean(axis=-1).op, "the shapes of its inputs (x)"),
    ])  # fmt: skip
    def test_a_rule_that_needs_more_than_the_op_says_so(self, op, needed):
        with pytest.raises(DataError, match=re.escape(f"the rule of {op.name} depends on {needed}, so the op alone")):
            rule(op)

    def test_settings_are_not_guessed_from_values(self):
        with pytest.raises(DataError, match=r"depends on settings \(axis\)"):
            rule(OPS["softmax"], (np.ones(3),))

    @pytest.mark.parametrize("given", [Value(1.0, name="leaf"), 2.0, "mul"])
    def test_a_rule_belongs_to_what_an_op_made(self, given):
        with pytest.raises(DataError, match=r"rule takes an op, .* or a Value that an op made; got"):
            rule(given)

    def test_a_node_has_its_own_inputs(self):
        with pytest.raises(DataError, match=r"write rule\(node\), or rule\(node.op, values\)"):
            rule(Value(1.0) * 2, (1.0, 2.0))

    def test_a_rule_must_not_branch(self):
        with pytest.raises(TypeError, match=r"must not branch on 'x > 0': write where\(\.\.\.\) instead of if"):
            bool(Expr("x") > 0)

    def test_a_rule_must_not_compare_with_double_equals(self):
        with pytest.raises(TypeError, match=r"write equal\(x, y\) instead"):
            assert Expr("x") == 0


def test_a_concatenation_says_its_axis_unless_it_is_the_usual_one():
    concatenate = OPS["concatenate"]
    tall, wide = Value(np.ones((2, 3)), name="x"), Value(np.ones((2, 1)), name="y")
    beside = concatenate([tall, wide], axis=-1).op
    exprs = Expr("x", tall.data), Expr("y", wide.data)
    assert str(Expr.__apply__(beside, exprs)) == "concatenate([x, y], axis=1)"
    assert str(Expr.__apply__(beside, (Expr("x"), Expr("y")))) == "concatenate([x, y], axis=-1)"
    assert str(Expr.__apply__(concatenate([tall, tall]).op, (exprs[0], exprs[0]))) == "concatenate([x, x])"


def test_a_rule_that_asks_for_a_size_needs_a_node():
    mean = Op("my_mean", forward=np.mean, vjp=lambda g, out, x: (g / x.size + 0 * x,), register=False)
    with pytest.raises(DataError, match=r"depends on the shapes of its inputs \(x\)"):
        rule(mean)
    assert str(rule(mean(Value(np.ones(3))))[0]) == "g / 3 + 0 * x"


def test_numpys_functions_write_themselves_down():
    x, y = Expr("x", 2.0), Expr("y", np.array([3.0, 4.0]))
    assert str(np.multiply(2.0, np.sqrt(x), out=None) - np.square(y)) == "2.0 * sqrt(x) - y ** 2"
    assert (np.array([1.0, 2.0]) * y).value.tolist() == [3.0, 8.0]
    x *= 0.5
    assert str(x) == "0.5 * x"  # as a person says it
    for reads_numbers in (np.isfinite, np.frexp):
        with pytest.raises(TypeError):
            reads_numbers(y)


def test_the_symbols_of_a_long_sum_are_read_in_order():
    names = [f"x{i}" for i in range(3000)]  # nested deeper than Python can call
    whole = Expr(names[0], 1.0)
    for name in names[1:]:
        whole = whole + Expr(name, 1.0)
    assert [e.name for e in whole.symbols()] == names
