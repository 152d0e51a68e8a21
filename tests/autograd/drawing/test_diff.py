"""Two runs of one graph: what changed, and where it began."""

from xml.etree import ElementTree

import numpy as np
import pytest

import autograd
from autograd import Value, draw_diff


def run(w=((0.1, 0.0), (0.0, 0.1)), scale=2**0.5, extra=False):
    x, w = Value(np.eye(2), name="X"), Value(w, name="W")
    q = x @ w
    scaled = q / scale
    weights = autograd.softmax(scaled)
    loss = (weights * weights).sum()
    if extra:
        loss = loss + weights.sum()
    autograd.name({"q": q, "scaled": scaled, "weights": weights, "loss": loss})
    loss.backward()
    return loss


def marks(drawing):
    return {card.name or card.expression: card.word for card in drawing.scene.cards if card.mark}


def test_the_same_run_twice_has_no_difference():
    drawing = draw_diff(run(), run())
    assert drawing.first is None and drawing.changes == [] and marks(drawing) == {}
    assert drawing.scene.notes[-1].startswith("no difference: all")


def test_after_an_update_the_parameter_is_first():
    drawing = draw_diff(run(), run(((0.2, 0.0), (0.0, 0.1))))
    assert drawing.first.name == "W" and marks(drawing)["W"] == "first change"
    assert marks(drawing)["q"] == "changed" and "X" in marks(drawing)  # X's gradient changed
    assert marks(drawing)["X"] == "grad changed"
    ElementTree.fromstring(drawing.svg)


def test_a_wrong_step_is_named():
    drawing = draw_diff(run(), run(scale=2.0))
    assert drawing.first.name == "scaled"
    assert "first difference: scaled = q / 2" in drawing.scene.notes[-1]


def test_both_numbers_are_shown_with_enough_digits_to_differ():
    a = Value(1.0, name="a")
    drawing = draw_diff(a * 1.0, Value(1.00001, name="a") * 1.0)
    (card, *_) = drawing.scene.cards
    assert card.rows[0].text == "1 → 1.00001"


def test_before_and_after_stand_side_by_side():
    drawing = draw_diff(run(), run(((0.2, 0.0), (0.0, 0.1))))
    card = next(card for card in drawing.scene.cards if card.name == "W")
    assert [block.caption for block in card.blocks] == ["before", "now"]


def test_only_gradients_differ():
    a = run()
    b = run()
    b.backward(3.0)
    drawing = draw_diff(a, b)
    assert drawing.first is b and all(not change.value for change in drawing.changes)


def test_a_node_without_a_twin_is_only_here():
    drawing = draw_diff(run(), run(extra=True))
    assert "only here" in marks(drawing).values() and "exist only here" in drawing.scene.notes[-1]


def test_tolerance():
    a, b = Value(1.0, name="a") * 1.0, Value(1.0 + 1e-6, name="a") * 1.0
    assert draw_diff(a, b, rtol=1e-5).first is None
    assert draw_diff(a, b).first is not None


def test_refusals():
    with pytest.raises(TypeError, match="expected two Values"):
        draw_diff(run(), 3.0)
