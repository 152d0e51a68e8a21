"""Lines: one rule told alike by every face, in words a learner knows, with numbers that a calculator confirms."""

import functools
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

import autograd as ag
import examples
import nn
from autograd import OPS, Value, draw, step
from autograd.expr import Expr, rule
from autograd.formula.numbers import cell
from autograd.formula.writers.html import symbol_mathml
from autograd.formula.writers.pieces import has_numbers, plain_text
from tests.autograd.formula.calculator import FUNCTIONS, confirms
from tests.autograd.programs import OURS, programs
from tests.sweep import slow_but, sweep

WORDS = Path(__file__).parents[3] / "docs" / "formulas.md"


# --- one rule, told alike ---------------------------------------------------------------------------------------------


def told(root, leaf):
    """The rule to a leaf, by the label on its edge, the stepper, and `rule` itself."""
    (edge,) = [e for e in draw(root, edges="rule").scene.edges if e.title.startswith(f"{leaf.name} → ")]
    (sent,) = [c for one in step(root.sum()) for c in one.contributions if c.parent is leaf]
    node = next(one for one in (root, *root.parents) if leaf in one.parents)
    return edge.label, sent.rule, str(rule(node)[node.inputs.index(leaf)])


def test_the_sum_over_rows_is_in_every_rule_for_a_bias():
    x, w, b = Value(np.ones((2, 3)), name="x"), Value(np.ones((3, 4)), name="W"), Value(np.ones(4), name="b")
    assert told(x @ w + b, b) == ("sum(g, axis=0)",) * 3


def test_what_was_picked_goes_back_to_its_place_in_every_rule():
    x = Value(np.ones((2, 3)), name="x")
    assert told(x[1], x) == ("g at [1]", "g at [1], 0 elsewhere", "g at [1], 0 elsewhere")  # an edge says it shorter


def test_attention_is_written_in_its_steps():
    x = Value(np.random.default_rng(0).normal(size=(3, 4)), name="x")
    steps = step(nn.MultiHeadAttention(4, 2, rng=0)(x).sum())
    assert "softmax" in {one.node.op.name for one in steps}
    rules = " ".join(c.rule for one in steps for c in one.contributions)
    assert "pull" not in rules and "self_attention" not in rules


# --- words a learner knows --------------------------------------------------------------------------------------------


@functools.cache
def known_words():
    table = re.findall(r"^\| (.*?) \|", WORDS.read_text(encoding="utf-8"), re.M)
    return {word for row in table for word in functions_in(row)}


def functions_in(text):
    return set(re.findall(r"\b([a-z_]\w*)\(", text))


SAMPLES = [(name, i) for name, op in OPS.items() if op.differentiable for i in range(len(op.samples))]


@functools.cache
def stepped(name, i):
    f, inputs = OPS[name].on(OPS[name].samples[i])
    values = [
        Value(x, name=f"x{k}") if isinstance(x, float | np.ndarray) and np.asarray(x).dtype.kind == "f" else x
        for k, x in enumerate(inputs)
    ]
    out = f(*values)
    rng = np.random.default_rng(i)
    return step(out, grad=rng.normal(size=out.shape) if out.shape else 1.7)


@sweep("name, i", SAMPLES, slow=lambda name, i: i > 0)
def test_rules_use_words_that_are_explained(name, i):
    for one in stepped(name, i):
        for contribution in one.contributions:
            assert functions_in(contribution.rule) <= (known_words() | OPS.keys()) - HELPERS, contribution.rule
            assert "axis=(" not in contribution.rule
            names = [line.result.name for line in contribution.lines[:-1]]
            for place, line in enumerate(contribution.lines[:-1]):  # no name before its line
                used = {symbol.name for symbol in line.formula.symbols() if symbol.formula is not None}
                assert not used & set(names[place:]) - {line.result.name}


HELPERS = {name for name, op in OPS.items() if op.unfolds == "graph"}


# --- numbers that a calculator confirms -------------------------------------------------------------------------------


def printed_lines(stepper):
    """Every line of scalar arithmetic that the stepper prints: whole lines, entries, and running sums."""
    for one in stepper:
        for line in one.lines:
            if np.ndim(line.result.value) == 0:
                text = plain_text(one.in_numbers(line))
                if re.search(" [=≈] ", text) and "[" not in text and " of " not in text:
                    yield text
            elif line.is_shown and np.size(line.result.value) <= 24 and line.formula.op is not None:
                for index in np.ndindex(np.shape(line.result.value)):
                    text = plain_text(one.entry_in_numbers(line, index))
                    if not text.startswith("= ") and " copied " not in text and " at [" not in text:
                        yield text
        for contribution in one.contributions:
            for entry in contribution.ledger()[1:]:
                sums = entry.previous.summed, entry.added, entry.summed
                if all(has_numbers(quantity.value) for quantity in sums):
                    for index in np.ndindex(np.shape(entry.value)):
                        yield "{} + {} ≈ {}".format(*(_printed(quantity, index, one.digits) for quantity in sums))


def _printed(quantity, index, digits):
    """One entry of a quantity, with the digits that its table has."""
    text = cell(float(np.asarray(quantity.value)[index]), written=digits.written(quantity)).text
    return f"({text})" if text.startswith("−") else text


def unconfirmed(stepper):
    lines = [text for text in printed_lines(stepper) if functions_in(text) <= FUNCTIONS.keys()]
    return len(lines), [text for text in lines if not confirms(text)]


def test_the_calculator_itself():
    assert confirms("1 − (−0.96403)² ≈ 0.07065") and confirms("0.5 × 3 = 1.5")
    assert not confirms("1 − (−0.9640)² ≈ 0.07065") and not confirms("1 − 1.000² ≈ 2.458×10⁻⁵")
    assert not confirms("0.07065 × (−3) = −0.2120") and confirms("2.4577×10⁻⁵ × (−3) ≈ −7.373×10⁻⁵")


@pytest.mark.parametrize("name", slow_but([example.name for example in examples.EXAMPLES], ["example2", "example3"]))
def test_every_line_of_the_examples_confirms(name):
    root = examples.find(name).module.graph()
    count, wrong = unconfirmed(step(root, grad=np.arange(1.0, root.size + 1).reshape(root.shape)))
    assert count > 40 and not wrong, wrong[:5]


def scalar_mlp():
    mlp = nn.MLP(2, [3, 1], rng=0)
    return (mlp([0.3, -1.2]) - 1.0) ** 2


def block():
    x = Value(np.random.default_rng(0).normal(size=(3, 4)), name="x")
    return (nn.TransformerBlock(4, 2, rng=0)(x) ** 2).mean()


def saturated():
    x = Value(6.0, name="x")
    return (x.tanh() * 3 + (x / 2).sigmoid()) * x.tanh()


def nearly_one():
    """Of tanh(x) 13 digits are those of 1, or all but the last: it is not 1, and its line says ≈."""
    x = Value(np.array([16.07, 15.441, -16.15]), name="x")
    return ((x.tanh() + 1) * np.array([1.0, 2.0, 3.0])).sum()


@pytest.mark.parametrize(
    "graph", slow_but([scalar_mlp, block, saturated, nearly_one], [scalar_mlp, saturated, nearly_one])
)
def test_every_line_of_models_confirms(graph):
    count, wrong = unconfirmed(step(graph()))
    assert count > 10 and not wrong, wrong[:5]


@pytest.mark.slow
@sweep("name, i", SAMPLES, slow=lambda name, i: i > 0)
def test_every_line_of_an_op_confirms(name, i):
    _, wrong = unconfirmed(stepped(name, i))
    assert not wrong, wrong[:5]


@given(programs())
def test_every_line_of_random_graphs_confirms(program):
    root = program.run(OURS, [Value(x, name=f"x{i}") for i, x in enumerate(program.leaves)])
    _, wrong = unconfirmed(step(root))
    assert not wrong, wrong[:5]


def equal_halves():
    """Two pairs of equal contributions to x: rounded to equal decimals they add up only with a dozen digits."""
    x = Value(1.3459483414117317, name="x")
    return x / (2.0 + x * x) * x * 0.8118314520104855


def test_a_ledger_of_equal_halves_needs_few_digits():
    stepper = step(equal_halves())
    count, wrong = unconfirmed(stepper)
    assert count > 10 and not wrong, wrong
    assert not re.search(r"\d\.\d{8}", str(stepper))


TIES = {
    "maximum": lambda x: ag.maximum(x, 2.3).sum(),
    "max": lambda x: x.max() * 3,
    "median": lambda x: ag.abs(x - x.mean()).max(),
    "a scalar": lambda x: x[0].max() * x[1].sum(),
}


@pytest.mark.parametrize("name", TIES)
def test_a_tie_is_no_rounding_noise(name):
    """Moved by a rounding error, equal numbers are no longer equal; the gradient that they share stays one."""
    x = Value(np.array([2.3, 2.3, 1.1]), name="x")
    root = TIES[name](x)
    root.backward()
    steps = step(root)
    np.testing.assert_allclose(steps.ledger("x")[-1].summed.value, x.grad)
    for one in steps:
        for line in one.lines:
            np.testing.assert_allclose(line.result.value, np.asarray(line.formula.value, dtype=float), atol=1e-15)
    assert "axes )" not in str(steps)


def test_a_gradient_that_came_a_long_way_is_no_rounding_noise():
    """What rounding may have moved grows by a little at each step, not by a factor."""
    x = y = Value(0.3, name="x")
    for _ in range(60):
        y = (y * 1.1).tanh()
    stepper = step(y)
    y.backward()
    assert x.grad > 1e-6 and stepper.walk.gradient(x) == x.grad
    assert stepper.walk.noise[x] < 1e-13 * x.grad


def test_rounding_noise_is_no_gradient():
    """A row of softmax's gradient that cancels is 0 on the page, and no slope is blamed for it."""
    x = Value(np.array([[0.3, 0.1, 0.7]]), name="x")
    steps = step((x.softmax() * 0.1).sum())
    (sent,) = [c for one in steps for c in one.contributions if c.parent is x]
    assert np.all(sent.added.value == 0) and np.all(np.abs(sent.value) < 1e-15)


def test_a_stepper_keeps_the_numbers_it_was_made_of():
    a, b = Value(1.0, name="a"), Value(5.0, name="b")
    steps = step(a + b)
    a.data = 4.0
    assert steps[0].numbers == "1 + 5 = 6"


def test_a_line_runs_again_on_other_numbers():
    x = Value(np.array([[1.0, 2.0, 4.0]]), name="x")
    one = step(x.softmax(), grad=np.array([[1.0, 0.0, 0.0]]))[0]
    e = one.lines[1]
    assert isinstance(e.result, Expr)
    moved = e.formula.run({"x": np.array([[0.0, 1.0]]), "m": 1.0})
    np.testing.assert_allclose(moved, np.exp([[-1.0, 0.0]]))


def test_a_step_inside_an_op_is_not_called_as_a_node_is():
    """Softmax calls its sum z, and rules call a gradient u: where the learner has a z and a u, they get a prime."""
    z = Value(np.array([1.0, 2.0, 0.5]), name="z")
    u = z.softmax()
    u.name = "u"
    loss = -u[1].log()
    steps = step(loss)
    assert [line.result.name for line in steps[0].lines] == ["m", "e", "z′", "u"]
    (sent,) = [c for one in steps for c in one.contributions if c.parent is z]
    assert sent.rule == "dot = sum(g * u); u′ = g − dot; u * u′"
    assert "{z}' &=" in steps.latex() and symbol_mathml("z′").startswith("<mrow><mi>z</mi><mo")
    sheet = ag.worksheet(loss)
    assert "z′ = sum(e)" in sheet.markdown() and "u = e / z′" in sheet.markdown()
    assert {"u.z[0]", "u.u[0]"} <= {blank.id for blank in sheet.blanks}  # ids say whose step it is
    assert ag.grade(sheet, {blank.id: blank.answer for blank in sheet.blanks}).score == 1


def test_a_short_name_is_written_whole_inside_its_module():
    """`.weight` is for long paths: two modules' weights in one formula would both be called that."""
    gpt = nn.GPT(vocab_size=3, block_size=2, d_model=2, n_heads=1, n_layers=1, rng=0)
    readings = [one.reading for one in step(gpt(np.array([[0, 1]])).sum())]
    assert readings[:2] == ["tokens = tokens.weight[[[0, 1]]]", "t1 = positions.weight[0:2]"]
