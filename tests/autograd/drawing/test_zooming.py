"""Inside a tensor op: the same numbers from scalars, for every op of the table."""

import numpy as np
import pytest

import autograd
from autograd import OPS, Value, zoom
from autograd.drawing import zooming
from autograd.drawing.zooming import scalar_graph
from autograd.errors import GradientError
from tests.sweep import sweep


def product():
    x, w = Value([[1.0, 2.0], [3.0, 4.0]], name="X"), Value([[0.5, -1.0], [2.0, 0.1]], name="W")
    y = x @ w
    y.name = "Y"
    return x, w, y


def test_a_product_is_its_dot_products():
    _, _, y = product()
    expressions = {card.name: card.expression for card in zoom(y).scene.cards}
    assert expressions["Y[0,1]"] == "X[0,0] * W[0,1] + X[0,1] * W[1,1]"
    assert sum(card.expression.count("*") == 1 for card in zoom(y).scene.cards) == 8


def test_its_gradients_are_those_of_the_op():
    x, w, y = product()
    (y * y).sum().backward()
    shown = {card.name: card.rows[1].text for card in zoom(y).scene.cards if card.rows}
    for leaf in (x, w):
        for index in np.ndindex(2, 2):
            expected = autograd.formula.numbers.short(float(leaf.grad[index]))
            assert shown[f"{leaf.name}[{index[0]},{index[1]}]"] == expected


def test_one_entry_on_request():
    _, _, y = product()
    cards = zoom(y, entry=(0, 1)).scene.cards
    assert len(cards) == 7 and cards[-1].name == "Y[0,1]"


def test_the_graph_it_looked_into_is_untouched():
    x, _, y = product()
    zoom(y)
    assert x.grad is None and y.grad is None
    assert "—" in {row.text for card in zoom(y).scene.cards for row in card.rows}


BY_ITERATION = {"pinv", "eigenvalues", "eigenvectors", "singular_values", "left_singular_vectors",
                "right_singular_vectors"}  # fmt: skip


def drawable():
    """Every sample of every differentiable op, unless it is empty or too large to draw."""
    for name, op in OPS.items():
        for index, sample in enumerate(op.samples if op.differentiable else ()):
            sizes = [np.size(x) for x in op.on(sample)[1]]
            if min(sizes) and max(sizes) <= zooming.MOST_ENTRIES:
                yield name, index


@sweep("name, index", drawable(), slow=lambda name, index: index > 0)
def test_every_op_agrees_with_its_scalars(name, index):
    """`scalar_graph` raises if value or gradient differ from the op's."""
    op = OPS[name]
    apply, plain = op.on(op.samples[index])
    inputs = [
        Value(x) if isinstance(x, float) or (isinstance(x, np.ndarray) and x.dtype.kind == "f") else x for x in plain
    ]
    out = apply(*inputs)
    if out.op is None or op.name == "astype":  # a cast computes nothing
        return
    if op.name in BY_ITERATION:
        with pytest.raises(ValueError, match="found by iteration, not by a formula"):
            scalar_graph(out)
        return
    masks = [x for x in plain if isinstance(x, np.ndarray) and x.dtype == bool]
    if any(not mask.any(axis=-1).all() for mask in masks):
        with pytest.raises(GradientError, match="nan"), np.errstate(all="ignore"):
            scalar_graph(out)  # by hand, a row with everything masked is 0/0; the op says 0, and zoom says they differ
    else:
        root = scalar_graph(out)
        assert np.shape(root.data) == out.shape


def test_a_wrong_rule_is_caught(monkeypatch):
    _, _, y = product()
    monkeypatch.setattr(OPS["matmul"], "vjp", lambda g, out, x, y: (g @ y, x @ g))
    with pytest.raises(GradientError, match="matmul sends"):
        zoom(y)


def test_refusals_say_what_to_do():
    with pytest.raises(ValueError, match="is a leaf"):
        zoom(Value(1.0, name="a"))
    with pytest.raises(TypeError, match="expected a Value"):
        zoom(3.0)
    large = Value(np.ones((20, 20)), name="a") @ Value(np.ones((20, 20)))
    with pytest.raises(ValueError, match=r"entry=\(0, 0\)"):
        zoom(large)
    assert len(zoom(large, entry=(0, 0), max_nodes=100).scene.cards) <= 100
    _, _, y = product()
    with pytest.raises(IndexError, match=r"shape \(2, 2\); give 2 numbers"):
        zoom(y, entry=0)
    with pytest.raises(IndexError, match="is not in a result"):
        zoom(y, entry=(5, 5))
