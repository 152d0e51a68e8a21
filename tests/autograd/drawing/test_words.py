"""Words of Graphviz and of the micrograd lecture, several roots, own colours: accepted, or answered."""

import re

import numpy as np
import pytest

import autograd
import nn
from autograd import Value, draw


def product():
    a, b = Value(2.0, name="a"), Value(-3.0, name="b")
    return a * b, (a * b) + a


def headers(drawing):
    return [card.name or card.expression for card in drawing.scene.cards]


def test_rankdir_and_small_letters():
    _, root = product()
    assert draw(root, rankdir="TB").scene.direction == draw(root, direction="tb").scene.direction == "TB"
    assert draw(root, rankdir="LR").scene.direction == draw(root, direction="lr").scene.direction == "LR"
    with pytest.raises(ValueError, match="direction is one of None, 'TB', 'LR'; got 'BT'"):
        draw(root, rankdir="BT")


def test_format_and_render_write_a_file_as_graphviz_does(tmp_path):
    _, root = product()
    assert draw(root, format="dot").render(tmp_path / "graph").read_text().startswith("digraph")
    assert draw(root).render(tmp_path / "graph", cleanup=True).suffix == ".svg"
    assert draw(root).render(str(tmp_path / "g"), format="mmd").suffix == ".mmd"


def test_several_roots_share_one_picture():
    first, second = product()
    drawing = draw([first, second])
    assert drawing.scene.title == "computation graph of a * b and a * b + a"
    assert sum(card.role == "output" for card in drawing.scene.cards) == 2
    with autograd.no_grad():
        assert headers(draw((first, second))) == headers(drawing)
    assert headers(draw([second])) == headers(draw(second))
    for nothing in ([], [1.0], 3.0):
        with pytest.raises(TypeError, match="draw: expected a Value"):
            draw(nothing)


def test_two_losses_after_one_backward_show_their_gradients():
    w = Value([1.0, 2.0], name="w")
    data, penalty = (w * 3.0).sum(), (w * w).sum()
    data.name, penalty.name = "data_loss", "penalty_loss"
    penalty.backward()
    words = {card.name: card.word for card in draw([data, penalty]).scene.cards if card.name}
    assert words == {"w": "parameter", "data_loss": "loss", "penalty_loss": "loss"}


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ({"color": "red"}, "no option color=; write theme=…"),
        ({"colapse": 1}, "no option colapse=; write collapse=…"),
        ({"expand_nested": True}, "no option expand_nested=; write collapse=…"),
        ({"forward_only": True}, "no option forward_only=; write backward=False"),
        ({"dpi": 300}, "no option dpi=; write draw(…).save("),
        ({"width": 300}, "no option width=; write fit=(width, height)"),
        ({"nonsense": 1}, "no option nonsense=; it has backward, "),
    ],
)
def test_an_unknown_word_is_answered(words, answer):
    with pytest.raises(TypeError, match=re.escape(answer)):
        draw(product()[1], **words)


def test_a_depth_below_zero_is_refused():
    with pytest.raises(ValueError, match="collapse=-1: a depth counts from outside"):
        draw(nn.Linear(2, 1, rng=0)([[1.0, 2.0]]), collapse=-1)


def test_backward_false_shows_the_values_alone():
    _, root = product()
    root.backward()
    plain = draw(root, backward=False)
    assert {row.caption for card in plain.scene.cards for row in card.rows} == {"value"}
    assert "grad" not in re.sub(r"<style>.*?</style>", "", plain.svg)
    tables = draw(Value([[1.0, 2.0]], name="x") * 2, backward=False)
    assert all(block.caption == "value" for card in tables.scene.cards for block in card.blocks)


def test_own_colours_and_fonts_reach_the_screen_and_the_paper(tmp_path):
    _, root = product()
    root.backward()
    svg = draw(root, theme={"grad": "#123456", "parameter-fill": "gold", "mono": "Fira Code"}).svg
    assert svg.count("--hg-grad:#123456;") == svg.count("--hg-grad:") > 2
    assert 'fill="#A84300"' not in svg and 'fill="#123456"' in svg and 'fill="gold"' in svg
    assert "Fira Code" in svg and "--hg-grad-line:#D96300" in svg  # a token whose name only begins so is left alone
    assert 'data-theme="dark"' in draw(root, theme="dark").svg
    assert 'data-theme="dark"' in draw(root, theme="dark").save(tmp_path / "dark.svg").read_text()
    for theme, message in (
        ("blue", "theme is 'auto', 'light', 'dark' or a dict"),
        ({"gras": "red"}, "theme has no 'gras'; it has surface"),
        ({"grad": '"/><script>'}, "is a colour or font as CSS writes it"),
    ):
        with pytest.raises(ValueError, match=message):
            draw(root, theme=theme)


# --- the same graph, the same bytes ---------------------------------------------------------------------------


def a_model():
    rng = np.random.default_rng(0)
    x = Value(rng.normal(size=(2, 3)), name="x")
    return nn.Sequential(nn.Linear(3, 4, rng=rng), nn.Linear(4, 2, rng=rng))(x).sum()


@pytest.mark.parametrize("collapse", [None, 1])
def test_equal_graphs_give_equal_bytes(collapse):
    first, again = draw(a_model(), collapse=collapse), draw(a_model(), collapse=collapse)
    assert first.svg == again.svg and first.dot == again.dot
    assert draw(product()[1]).svg == draw(product()[1]).svg


def test_pictures_of_different_graphs_share_no_id():
    ids = [set(re.findall(r' id="([^"]*)"', draw(root).svg)) for root in (*product(), a_model())]
    assert all(ids) and not ids[0] & ids[1] and not ids[1] & ids[2]
    svg = draw(a_model()).svg
    labels = re.search(r'aria-labelledby="([^"]*)"', svg)[1].split()
    assert all(f' id="{label}"' in svg for label in labels)


# --- a mask ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("hidden", [-1e4, -65504.0, -1e9, -3.4e38, -np.inf])
def test_a_mask_leaves_the_scores_their_digits(hidden):
    scores = Value([[0.126, 7.0], [0.105, -0.536]], name="scores")
    masked = scores + np.array([[0.0, hidden], [0.0, 0.0]])
    block = next(card for card in draw(masked).scene.cards if card.role == "output").blocks[0]
    texts = [[cell.text for cell in row] for row in block.table.rows]
    assert texts[0][0] == "0.126" and texts[1] == ["0.105", "−0.536"] and not block.table.power
    assert block.table.rows[0][1].kind == "zero" and len(texts[0][1]) <= 9
    wide = autograd.where(np.eye(9) > 0, Value(np.full((9, 9), 0.25), name="s"), hidden)
    assert {row.caption: row.text for row in draw(wide).scene.cards[-2].rows}["range, unmasked"] == "0.25 … 0.25"


def test_large_numbers_that_are_no_mask_share_one_power_of_ten():
    x = Value([[2e9, -1e9], [3e9, 4e8]], name="x")
    assert "×10⁹" in draw(x * 1.0).scene.cards[0].blocks[0].caption
    tiny = Value([1.0, 1e-9], name="tiny")
    assert str(draw(tiny * 1.0).scene.cards[0].blocks[0].table) == "[1, ≈0]"
