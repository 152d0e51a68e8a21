"""The scalar program of a graph: plain Python floats on its lines give the engine's values and gradients."""

import math

import numpy as np
import pytest
from hypothesis import given

import nn
from autograd import Value, layer_norm, softmax
from autograd.errors import DataError
from autograd.formula.scalars.formulas import VOCABULARY, in_order
from autograd.formula.scalars.program import scalar_program
from examples import EXAMPLES
from tests.autograd.judges import every_sample, uneven
from tests.autograd.programs import OURS, programs

PYTHON = {  # the vocabulary in plain Python, written for this test
    "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y, "div": lambda x, y: x / y,
    "neg": lambda x: -x, "power": lambda x, y: x**y, "exp": math.exp, "log": math.log, "sqrt": math.sqrt,
    "tanh": math.tanh, "sigmoid": lambda x: 1 / (1 + math.exp(-x)), "sin": math.sin, "cos": math.cos,
    "arctan": math.atan, "erf": math.erf, "relu": lambda x: max(x, 0.0), "abs": abs,
    "sign": lambda x: float((x > 0) - (x < 0)), "maximum": max, "minimum": min, "less": lambda x, y: x < y,
    "less_equal": lambda x, y: x <= y, "greater": lambda x, y: x > y, "greater_equal": lambda x, y: x >= y,
    "equal": lambda x, y: x == y, "not_equal": lambda x, y: x != y, "where": lambda c, x, y: x if c else y,
}  # fmt: skip
TEXT = {"exp": math.exp, "log": math.log, "sqrt": math.sqrt, "tanh": math.tanh, "sigmoid": PYTHON["sigmoid"],
        "sin": math.sin, "cos": math.cos, "arctan": math.atan, "erf": math.erf, "sign": PYTHON["sign"], "max": max,
        "min": min, "abs": abs}  # fmt: skip


def in_plain_python(program):
    """Run the program on Python's floats, with the functions above in place of the engine's."""
    found = program.start()
    assert len(found) == sum(table.values.size for table in program.inputs)

    def run(e):
        if e.op is not None:
            return PYTHON[e.op.base.name](*map(run, e.args))
        return found[e.name] if e.name else float(e.value)

    for line in program.lines:
        assert line.id not in found, f"{line.id} is written twice"
        found[line.id] = float(run(line.formula))
    return found


def assert_agrees(root, leaves=(), grad=None):
    """Every table has the engine's numbers, and so has every leaf's gradient."""
    program = scalar_program(root, grad=grad, backward=root.requires_grad)
    found = in_plain_python(program)
    for table in program.tables:
        ours = np.array([found[name] for name in table.ids.flat]).reshape(table.shape)
        size = np.max(np.abs(table.values), initial=1.0, where=np.isfinite(table.values))
        np.testing.assert_allclose(ours, table.values, rtol=1e-11, atol=1e-12 * size, err_msg=table.name)
    if root.requires_grad:
        for leaf in leaves:
            leaf.grad = None
        root.backward(grad)
    for leaf in leaves:
        if leaf.grad is not None:
            sent = program.gradients[leaf]
            ours = [found[e.name] if e.name else e.value for e in sent.flat]
            size = max(1.0, np.abs(leaf.grad).max(initial=0.0))
            np.testing.assert_allclose(ours, np.ravel(leaf.grad), rtol=1e-11, atol=1e-12 * size)
    return program


@pytest.mark.slow
@every_sample()
def test_every_op_is_spelled_out(op, sample):
    f, inputs = op.on(sample)
    leaves = [Value(x) if np.asarray(x).dtype.kind == "f" else x for x in inputs]
    out = f(*leaves)
    if not isinstance(out, Value) or not np.size(out.data):
        return
    try:
        assert_agrees(out, [x for x in leaves if isinstance(x, Value)], uneven(out.shape))
    except DataError:
        assert op.name in ONLY_ON_NUMBERS or not op.differentiable


# No formula in the vocabulary gives these; whoever writes one takes its op off the list.
ONLY_ON_NUMBERS = {
    "arctan2", "digamma", "eigenvalues", "eigenvectors", "fmod", "gammaln", "left_singular_vectors", "max_pool", "mod",
    "pinv", "right_singular_vectors", "singular_values",
}  # fmt: skip


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.name)
def test_the_examples(example):
    root = example.module.graph()
    leaves = [table.owner for table in scalar_program(root, backward=False).inputs]
    program = assert_agrees(root, leaves, None if root.size == 1 else uneven(root.shape))
    assert len(list(program.lines)) > 20


@given(programs())
def test_random_graphs(program):
    leaves = [Value(x, name=f"x{i}") for i, x in enumerate(program.leaves)]
    out = program.run(OURS, leaves)
    if isinstance(out, Value) and out.requires_grad:
        assert_agrees(out, leaves)


@pytest.mark.slow
def test_a_whole_transformer():
    model = nn.GPT(5, 3, 4, 2, 1, rng=np.random.default_rng(0))
    loss = nn.functional.cross_entropy(model(np.array([1, 4, 2])), np.array([4, 2, 0]))
    program = assert_agrees(loss, list(model.parameters()))
    used = {part.op.name for line in program.lines for part in in_order(line.formula) if part.op is not None}
    assert {"exp", "mul"} < used <= VOCABULARY


def test_the_text_of_a_formula_is_arithmetic_that_anyone_can_evaluate():
    x = Value(np.array([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]]), name="x")
    w = Value(np.array([0.3, -0.2, 0.7]), name="w")
    y = named("p", softmax(layer_norm(x, w, 0.1)))
    loss = ((y * x - abs(w) / (1 + w**2)) ** 3 - (-(x.relu() + y.gelu())).tanh()).sum()
    program = scalar_program(loss)
    found = program.start()
    for line in program.lines:
        text = line.text
        for i, name in enumerate(sorted(line.operands, key=len, reverse=True)):
            text = text.replace(name, f"v{i}_")
        names = {f"v{i}_": found[name] for i, name in enumerate(sorted(line.operands, key=len, reverse=True))}
        found[line.id] = eval(text, {"__builtins__": {}}, TEXT | names)
        assert found[line.id] == pytest.approx(line.value, rel=1e-11, abs=1e-13), line.text


def named(name, x):
    x.name = name
    return x


def lines(root):
    return {line.id: line.text for line in scalar_program(root).lines}


def test_what_is_multiplied_by_a_constant_0_or_1_is_not_written():
    w = Value(np.array([[1.0, 2.0], [3.0, 4.0]]), name="W")
    found = lines((np.array([[0.0, 1.0]]) @ w).sum())
    assert found["L"] == "W[1][0] + W[1][1]"
    assert [found[f"dL/dW[{i}][{j}]"] for i in (0, 1) for j in (0, 1)] == ["0", "0", "1", "1"]


def test_paths_that_meet_are_contributions_and_a_sum():
    x = Value(3.0, name="x")
    found = lines(x * x + x.exp())
    assert found["dL/dx"] == "t2 + x + x"  # what each path sends is a number that is there already
    y = Value(2.0, name="y")
    found = lines((x * y).tanh() * (x * x * y).exp())
    assert found["dL/dx"] == "dL/dx:t3 + dL/dx:t3#2 + dL/dx:t1"


def test_softmax_has_its_steps_once_forward_and_backward():
    x = Value(np.array([1.0, 2.0]), name="x")
    found = lines((named("P", softmax(x)) ** 2).sum())
    assert found["P.e[0]"] == "exp(x[0] - P.m[0])" and found["P[1]"] == "P.e[1] / P.z[0]"
    assert found["dL/dx[0]"] == "P[0] * P.u[0]"


def test_a_transpose_without_a_name_leaves_no_trace():
    q, k = (Value(uneven((2, 2), seed=i), name=name) for i, name in enumerate("QK"))
    found = lines((q @ k.T).sum())
    assert "dL/dK[0][1]" in found and not any("t1" in text for text in found.values() if "K" in text)


def test_a_slice_is_no_entry():
    """Two paths meet in x[0]; what they send it is part of what the entry of x gets."""
    x = Value(np.array([1.0, 2.0]), name="x")
    first = x[0]
    loss = first.tanh() * first.exp() + x.sin().sum()
    assert_agrees(loss, [x])
    assert lines(loss)["dL/dx[0]"] == "dL/dx:t4[0] + dL/d(x[0])"
    x = Value(np.array([[1.0, 2.0], [3.0, 4.0]]), name="x")
    row = x[0]
    assert_agrees((row.tanh() * row).sum(), [x])


def test_a_leaf_called_as_an_entry_is_called():
    x, y = Value(np.array([1.0, 2.0]), name="x"), Value(3.0, name="x[0]")
    assert_agrees((x * y).sum(), [x, y])
    assert lines((x * y).sum())["dL/d(x[0])"] == "x[0] + x[1]"


def test_run_computes_everything_from_other_inputs():
    x = Value(2.0, name="x")
    program = scalar_program(x**3)
    found = program.run({"x": 3.0})
    assert (found["L"], found["dL/dx"]) == (27.0, 27.0)


def test_numbers_that_no_definition_gives_are_refused():
    x = Value(np.array([1000.0, 0.0]), name="x")
    with pytest.raises(DataError, match="cannot be spelled out"):
        scalar_program(x.logsumexp())
