"""What cards show: small arrays of any rank entry by entry, masks, and folded modules with what belongs to them."""

import re

import numpy as np
import pytest

import autograd
import nn
from autograd import Value, draw, step
from autograd.drawing.cards import DRAWN, shows_entries
from autograd.stepping.faces.picture import View


def card_of(drawing, name):
    return next(card for card in drawing.scene.cards if card.name == name)


def rows(card):
    return {row.caption: row.text for row in card.rows}


def cube():
    x = Value(np.arange(12.0).reshape(2, 3, 2) / 8, name="x")
    loss = (x * x).sum()
    loss.name = "loss"
    loss.backward()
    return loss


@pytest.mark.parametrize("shape, shown", [
    ((), True), ((6,), True), ((7,), False), ((4, 4), True), ((5, 4), False), ((0, 2), False),
    ((2, 3, 2), True), ((4, 4, 4), True), ((5, 1, 1), False), ((2, 2, 2, 2), True), ((2, 3, 1, 1), False),
    ((1, 1, 1, 5), False), ((0, 2, 2), False), ((1, 1, 1, 1, 1), True),
])  # fmt: skip
def test_which_arrays_are_shown_entry_by_entry(shape, shown):
    assert shows_entries(shape, DRAWN) is shown
    card = draw(Value(np.ones(shape), name="x") * 2.0).scene.cards[0]
    assert bool(card.blocks or card.rows[0].caption == "value") is shown


def test_a_small_array_of_rank_3_is_its_slices():
    loss = cube()
    value, gradient = card_of(draw(loss), "x").blocks
    assert value.slices == gradient.slices == ("[0]", "[1]")
    assert [cell.text for row in value.table.rows for cell in row] == [
        "0", "0.125", "0.25", "0.375", "0.5", "0.625", "0.75", "0.875", "1", "1.125", "1.25", "1.375"]  # fmt: skip
    assert gradient.table.rows[-1][-1].text == "2.75" and gradient.kind == "grad"


def test_slices_of_rank_4_have_two_numbers():
    x = Value(np.arange(16.0).reshape(2, 2, 2, 2), name="x")
    block = card_of(draw((x * 2.0).sum()), "x").blocks[0]
    assert block.slices == ("[0, 0]", "[0, 1]", "[1, 0]", "[1, 1]")


def test_slices_are_painted_in_brackets_of_their_own_and_stay_inside_the_card():
    loss = cube()
    drawing = draw(loss)
    painted = re.search(r'<g id="hg-\w+-n0".*?</g></g></g>', drawing.svg, re.DOTALL)[0]
    assert painted.count(">[0]<") == painted.count(">[1]<") == 2  # of the value and of the gradient
    assert len(re.findall(r'<path d="M[^"]*H[^"]*V[^"]*H[^"]*M', painted)) == 4  # brackets
    box = drawing.placement.boxes["n0"]
    for y in re.findall(r'<text x="[^"]*" y="([^"]*)"', painted):
        assert box.y < float(y) < box.bottom


def test_the_gradient_of_wide_slices_stands_below_the_value():
    narrow, wide = Value(np.ones((2, 3, 2)), name="narrow"), Value(np.full((2, 2, 4, 4), -0.1234), name="wide")
    assert card_of(draw(narrow.sum()), "narrow").beside and not card_of(draw(wide.sum()), "wide").beside


def test_every_other_form_shows_slices_too():
    loss = cube()
    drawing = draw(loss)
    assert "[1]" in drawing.dot and "0.875" in drawing.dot and "#91;1#93;" in drawing.mermaid
    assert "[1] 0.75" in card_of(drawing, "x").title
    mask = np.ones((2, 2, 2))
    constant = draw((Value(np.ones((2, 2, 2))) * mask).sum(), names={"mask": mask})
    assert card_of(constant, "mask").blocks[0].slices == ("[0]", "[1]")


def test_the_dash_of_a_gradient_below_stays_inside_the_card():
    drawing = draw(Value(np.full((2, 2, 4, 4), -0.1234), name="wide").sum())
    first = drawing.svg.partition("—<")[0].rpartition("<text ")[2]
    y = float(re.search(r' y="([^"]*)"', first)[1])
    assert y < drawing.placement.boxes["n0"].bottom


def test_a_stepped_card_of_rank_3_fills_in():
    loss = cube()
    page = step(loss).html()
    assert "[1]" in page and "0.875" in page


# --- masks --------------------------------------------------------------------------------------------------


def masked(n):
    scores = Value(np.arange(float(n * n)).reshape(n, n) / 4, name="scores")
    kept = autograd.where(np.tril(np.ones((n, n), dtype=bool)), scores, -np.inf)
    kept.name = "masked"
    return autograd.softmax(kept).sum()


def test_what_a_mask_hides_is_left_out_of_the_range_and_is_no_alarm():
    drawing = draw(masked(8))
    card = card_of(drawing, "masked")
    assert rows(card)["range, unmasked"] == "0 … 15.8" and not card.bad and not card.trouble


def test_a_small_masked_table_shows_minus_infinity_quietly():
    card = card_of(draw(masked(3)), "masked")
    cells = [cell for row in card.blocks[0].table.rows for cell in row]
    assert [cell.text for cell in cells].count("−∞") == 3 and "bad" not in {cell.kind for cell in cells}
    assert not card.bad


def test_an_infinity_that_nobody_put_there_is_still_an_alarm():
    x = Value([0.0, 1.0], name="x")
    with np.errstate(divide="ignore"):
        y = autograd.log(x)
    y.name = "y"
    card = card_of(draw(y), "y")
    assert card.bad and card.trouble == "first ∞"


# --- folded modules -----------------------------------------------------------------------------------------


class Relu(nn.Module):
    def forward(self, x):
        return autograd.relu(x)


def test_a_module_that_gives_a_list_of_scalars_shows_all_of_them():
    model = nn.MLP(2, [3, 1], rng=0)
    out = model([1.0, -2.0])
    out.backward()
    layers = [rows(card) for card in draw(out, collapse=1).scene.cards if card.role == "module"]
    hidden = [float(value.data) for value in model.layers[0]([1.0, -2.0])]
    assert len(set(hidden)) == 3
    assert layers[0]["out"] == "3 numbers" and layers[0]["range"] == f"0 … {max(hidden):.2f}"
    assert layers[1]["out"] == "1 number" and layers[1]["value"] == f"{float(out.data):.3f}"


def test_a_module_card_says_whose_norm_it_shows():
    x = Value(np.ones((2, 4)), name="x")
    out = nn.Sequential(nn.Linear(4, 4, rng=0), Relu())(x)
    out.sum().backward()
    linear, relu = [rows(card) for card in draw(out, collapse=1).scene.cards if card.role == "module"]
    assert "‖grad‖ of its parameters" in linear
    assert relu["‖grad‖ of its output"] == "2.83" and "parameters" not in relu  # eight ones: √8


def test_while_stepping_a_module_shows_the_gradient_that_arrives():
    x = Value(np.ones((2, 4)), name="x")
    loss = nn.Sequential(nn.Linear(4, 4, rng=0))(x).sum()
    (face,) = [rows(card) for card in View(step(loss, collapse=1)).scene.cards if card.role == "module"]
    assert face["‖grad‖ of its output"] == "2.83" and "‖grad‖ of its parameters" not in face


def test_while_stepping_a_module_with_several_outputs_shows_the_norm_of_all_their_gradients():
    model = nn.MLP(2, [3, 1], rng=0)
    out = model([1.0, -2.0])
    view = View(step(out, collapse=1))
    first = next(rows(card) for card in view.scene.cards if card.name == "layers.0")
    (neuron,) = model.layers[1].neurons
    slopes = [float(w.data) for w in neuron.w]
    assert len(slopes) == 3 and first["‖grad‖ of its output"] == f"{np.linalg.norm(slopes):.3f}"
