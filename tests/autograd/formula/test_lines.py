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
from autograd.formula.numbers import Notation
from autograd.formula.writers.html import symbol_mathml, value_html
from autograd.formula.writers.pieces import Number, flowed, laid_out, plain_text, row_text
from autograd.stepping.page.panel import Panels
from autograd.stepping.questions import why_sent_little
from tests.autograd.formula.calculator import FUNCTIONS, confirms
from tests.autograd.formula.ledgers import FACES
from tests.autograd.programs import OURS, WIDE_SHAPES, programs
from tests.sweep import slow_but, sweep

WORDS = Path(__file__).parents[3] / "docs" / "formulas.md"


# --- one rule, told alike ---------------------------------------------------------------------------------------------


def told(root, leaf):
    """The rule to a leaf, by the label on its edge, the stepper, and `rule` itself."""
    (edge,) = [e for e in draw(root, edges="rule").scene.edges if e.title.startswith(f"{leaf.name} → ")]
    (sent,) = [c for one in step(root.sum()) for c in one.contributions if c.parent is leaf]
    node = next(one for one in (root, *root.parents) if leaf in set(one.parents))
    return edge.label, sent.rule, str(rule(node)[[x is leaf for x in node.inputs].index(True)])


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
    """Every line of scalar arithmetic that the stepper prints: whole lines, entries, and in each face running sums."""
    for one in stepper:
        for line in one.lines:
            if np.ndim(line.result.value) == 0:
                text = plain_text(one.in_numbers(line))
                if re.search(" [=≈] ", text) and "[" not in text and " of " not in text:
                    yield text
            elif line.is_shown and np.size(line.result.value) <= 24 and line.formula.op is not None:
                for index in np.ndindex(np.shape(line.result.value)):
                    text = plain_text(one.entry_in_numbers(line, index))
                    if not text.startswith(("= ", "≈ ")) and " copied " not in text and " at [" not in text:
                        yield text
    for face in FACES:
        yield from face(stepper)


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


@given(programs() | programs(shapes=WIDE_SHAPES))
def test_every_line_of_random_graphs_confirms(program):
    root = program.run(OURS, [Value(x, name=f"x{i}") for i, x in enumerate(program.leaves)])
    _, wrong = unconfirmed(step(root))
    assert not wrong, wrong[:5]


# --- ledgers: every running sum, in every face -----------------------------------------------------------------------


def row_of_six():
    """Two equal contributions to each of six numbers: a fifth decimal of all six takes more than a panel's width."""
    x = Value(np.array([0.41088506, -0.69063986, -1.37707943]), name="x")
    y = ag.concatenate([x, x * x])
    w = np.array([1.31327024, 1.41275558, 1.10663578, 1.22949656, 1.04362499, 1.43507242])
    return (w * ag.log(2.0 + y * y)).sum()


def many_paths(shape, paths):
    rng = np.random.default_rng(0)
    x = Value(rng.normal(size=shape)[()], name="x")
    y = x
    for _ in range(paths - 1):
        y = y + x * rng.normal(size=shape)[()]
    return y.sum()


def cancelling():
    """What is left of two contributions to x is far smaller than a dozen of their digits, and no rounding error."""
    x = Value(0.1 + 1e-13, name="x")
    return x * 0.123456789 - x * (0.123456789 - 3.21e-14)


LEDGERS = {
    "a row of six": (row_of_six, "whole"),
    "many scalars": (lambda: many_paths((), 14), "whole"),
    "many rows of six": (lambda: many_paths((6,), 9), "last"),
    "many tables": (lambda: many_paths((4, 4), 6), "last"),
    "terms that cancel": (cancelling, "none"),
}


@pytest.mark.parametrize("name", slow_but(LEDGERS, ["a row of six", "terms that cancel"]))
def test_every_sum_of_a_ledger_confirms(name):
    graph, shows = LEDGERS[name]
    stepper = step(graph())
    assert {c.shows_before for one in stepper for c in one.contributions} == {"whole", shows}
    found = {face.__name__: list(face(stepper)) for face in FACES}
    assert all(found.values()) != (shows == "none")
    wrong = [(face, line) for face, lines in found.items() for line in lines if not confirms(line)]
    assert not wrong, wrong[:5]


def test_a_row_that_is_too_wide_is_broken_in_two():
    """`[a b c` over `d e f]`, which is no table of two rows: only its ends have a bracket."""
    wide, short = np.arange(1.0, 7.0) / 7, np.arange(6.0)
    html = value_html(wide, written=Notation(0, 7))
    (first, rest) = re.findall("<tr>(.*?)</tr>", html)
    assert html.count("hg-broken") == 1 and (first.count("<td"), rest.count("<td")) == (3, 3)
    assert "hg-broken" not in value_html(short) and "hg-broken" not in value_html(np.ones((2, 3)) / 7)
    five = value_html(wide[:5], written=Notation(0, 9))
    assert [row.count("<td") for row in re.findall("<tr>(.*?)</tr>", five)] == [3, 2]
    rows = flowed([Number(wide, written=Notation(0, 7))], 40)
    assert [*map(row_text, rows)] == ["[0.1428571, 0.2857143, 0.4285714,", " 0.5714286, 0.7142857, 0.8571429]"]


def test_stacks_of_tables_side_by_side_line_up():
    stack = Number(np.arange(12.0).reshape(2, 3, 2))
    upper, middle, lower = map(row_text, laid_out([stack, " / ", stack], 100))
    places = [[i for i, c in enumerate(row) if c in brackets] for row, brackets in
              [(upper, "⎡⎤"), (middle, "⎢⎥"), (lower, "⎣⎦")]]  # fmt: skip
    assert len(places[0]) == 8 and places[0] == places[1] == places[2]


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


def test_rounding_noise_that_arrives_at_a_tie_is_no_gradient():
    """Inside a softmax the gradient of its maximum cancels; two equal maxima share what is left of it: nothing."""
    x = Value(np.array([0.3, 0.7, 0.7, 0.1]), name="x")
    weights = np.array([0.31, 0.27, 1.3, 0.77])
    steps = step((x.softmax() * weights).sum())
    (place,) = [one.index for one in steps if one.kind == "backward" and one.node.op.name == "softmax"]
    inside = steps.inside(place)
    (sent,) = [c for one in inside for c in one.contributions if one.node.op.name == "max"]
    assert np.any(sent.value) and np.all(np.abs(sent.value) < 1e-15)
    assert not np.any(sent.added.value) and "0000000" not in str(inside)
    (cancels,) = [c for one in inside for c in one.contributions if c.parent is sent.step.node]
    assert "rounding error" in why_sent_little(cancels) and not why_sent_little(sent)  # nothing arrives there


def test_a_gradient_that_came_a_long_way_is_no_rounding_noise():
    """What rounding may have moved grows by a little at each step, not by a factor."""
    x = y = Value(0.3, name="x")
    for _ in range(60):
        y = (y * 1.1).tanh()
    stepper = step(y)
    y.backward()
    assert x.grad > 1e-6 and stepper.walk.gradient(stepper.twin(x)) == x.grad
    assert stepper.walk.noise[stepper.twin(x)] < 1e-13 * x.grad


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
    assert "z′ = Σ e" in sheet.markdown() and "u = e / z′" in sheet.markdown()
    assert {"u.z[0]", "u.u[0]"} <= {blank.id for blank in sheet.blanks}  # ids say whose step it is
    assert ag.grade(sheet, {blank.id: blank.answer for blank in sheet.blanks}).score == 1
    nested = ag.worksheet(nn.functional.cross_entropy(z, 1)).markdown()  # a softmax inside of it
    assert "z′ = e" in nested and "p = e / z′" in nested


def test_a_sum_of_products_opens_into_them():
    a, b = Value(2.0, name="a"), Value(3.0, name="b")
    steps = step(ag.dot([a, b], [5.0, b], 7.0))
    assert [one.numbers for one in steps.inside(0)] == ["2 × 5 = 10", "3 × 3 = 9", "10 + 9 = 19", "19 + 7 = 26"]


def test_the_letter_e_is_no_number_beside_a_step_of_that_name():
    """Softmax calls its exponentials e: so the function is written exp, as a terminal writes it."""
    x = Value(np.array([0.3, 0.1]), name="x")
    steps = step(x.softmax()[0])
    assert str(steps[0]).splitlines()[3].strip() == "e = exp(x − m)"
    assert r"e &= \operatorname{exp}(x- m)" in steps.latex() and "e^" not in steps.latex()
    assert "<msup><mi>e</mi>" not in Panels(steps).panel(steps[0])


def test_a_short_name_is_written_whole_inside_its_module():
    """`.weight` is for long paths: two modules' weights in one formula would both be called that."""
    gpt = nn.GPT(vocab_size=3, block_size=2, d_model=2, n_heads=1, n_layers=1, rng=0)
    readings = [one.reading for one in step(gpt(np.array([[0, 1]])).sum())]
    assert readings[:2] == ["tokens = tokens.weight[[0, 1]]", "t1 = positions.weight[0:2]"]


@pytest.mark.parametrize("index, written", [
    ([[0, 1]], "[0, 1]"), ([[[2]]], "[2]"), ([[0, 1], [1, -1]], "[[0, 1], [1, −1]]"), ([], "[]"),
    (range(10, 20), "[10, 11, …, 19]"), (np.zeros((2, 9), int), "2×9 array"),
])  # fmt: skip
def test_an_index_says_the_rows_that_it_picks(index, written):
    weight = Value(np.ones((20, 2)), name="weight")
    assert f"weight[{written}]" in str(step(weight[np.array(index, int)].sum())[0])
