"""Which nodes share a card: modules by depth, name or predicate; repeats; sums; what is left out."""

import time
from functools import reduce
from operator import add

import numpy as np
import pytest

import autograd
import nn
from autograd import Value, draw, scope
from autograd.graph import topological


@pytest.fixture(scope="module")
def gpt():
    """A small GPT's loss after backward, with its inputs."""
    rng = np.random.default_rng(0)
    model = nn.GPT(vocab_size=11, block_size=8, d_model=8, n_heads=2, n_layers=4, rng=rng)
    ids, targets = rng.integers(0, 11, (2, 2, 8))
    loss = nn.functional.cross_entropy(model(ids), targets)
    loss.backward()
    loss.name = "loss"
    return loss, model, {"ids": ids, "targets": targets}


def names(drawing):
    return [card.name or card.expression for card in drawing.scene.cards]


def card_of(drawing, name):
    return next(card for card in drawing.scene.cards if card.name == name)


def rows(card):
    return {row.caption: row.text for row in card.rows}


def test_a_folded_model_is_a_few_cards(gpt):
    loss, model, given = gpt
    drawing = draw(loss, collapse=1, names=given)
    assert names(drawing) == ["tokens", "positions", "blocks[0…3]", "norm", "head", "loss", "ids", "targets"]
    block = card_of(drawing, "blocks[0…3]")
    assert block.copies == 4 and len(block.rows[-1].bars) == 4
    assert rows(block)["parameters"] == f"{sum(one.count() for one in model.blocks):,}".replace(",", "\u2009")


def test_every_parameter_is_counted_once(gpt):
    loss, model, given = gpt
    drawing = draw(loss, collapse=1, names=given)
    counted = sum(int(rows(card)["parameters"].replace("\u2009", "")) for card in drawing.scene.cards
                  if card.role == "module")  # fmt: skip
    assert counted == model.count()


def test_a_modules_gradient_norm_is_that_of_its_parameters(gpt):
    loss, model, given = gpt
    shown = rows(card_of(draw(loss, collapse=1, names=given), "head"))["‖grad‖ of its parameters"]
    exact = np.sqrt(sum(np.sum(p.grad**2) for p in model.head.parameters()))
    assert float(shown) == pytest.approx(exact, rel=2e-3)


def test_what_a_folded_module_hides_is_not_opened(gpt):
    loss, _, given = gpt
    ops = {collapse: {node.op.name for node in draw(loss, collapse=collapse, names=given).reader.nodes if node.op}
           for collapse in (1, False)}  # fmt: skip
    assert "self_attention" in ops[1] and "self_attention" not in ops[False] and "softmax" in ops[False]


def test_by_name_by_pattern_by_kind_and_by_predicate(gpt):
    loss, _, given = gpt
    by_name = draw(loss, collapse="blocks.0", names=given, fit=None)
    assert [card.name for card in by_name.scene.cards if card.role == "module" and card.rows] == ["blocks.0"]
    by_kind = draw(loss, collapse="LayerNorm", names=given, fit=None)
    assert {"norm", "blocks.3.norm1"} <= set(names(by_kind))
    several = draw(loss, collapse=["blocks.*", "head"], names=given, fit=None)
    assert {"blocks[0…3]", "head"} <= set(names(several))
    deep = draw(loss, collapse=lambda scope: scope.path.endswith("attention"), names=given, fit=None)
    assert sum(name.endswith(".attention") for name in names(deep)) == 4


def test_depth_opens_one_level_at_a_time(gpt):
    loss, _, _ = gpt
    sizes = [len(draw(loss, collapse=depth, fit=None).scene.cards) for depth in (1, 2, 3, 4)]
    assert sizes == sorted(sizes) and sizes[0] < sizes[1] < sizes[2]


def test_open_modules_are_framed_and_folded_ones_are_not(gpt):
    loss, _, given = gpt
    drawing = draw(loss, collapse=2, names=given, fit=None)
    frames = {scope.name for scope in drawing.scene.frames}
    assert "blocks.0" in frames and "blocks.0.attention" not in frames


def test_above_max_nodes_it_folds_by_itself_and_says_so(gpt):
    loss, _, _ = gpt
    drawing = draw(loss, max_nodes=40)
    assert len(drawing.scene.cards) <= 40
    assert drawing.scene.notes[0].startswith(f"{len(drawing.reader.nodes)} nodes, shown folded to ")
    assert drawing.scene.notes[0] in drawing.svg


def test_a_model_shows_one_of_its_blocks_and_how_often_it_comes(gpt):
    loss, _, given = gpt
    drawing = draw(loss, names=given)
    frame = next(frame for frame in drawing.scene.frames if frame.copies > 1)
    assert frame.shown_label == "blocks[i]  TransformerBlock  ×4 in a row"
    (note,) = drawing.scene.notes
    assert note == f"{len(drawing.reader.nodes)} nodes, shown folded to {len(drawing.scene.cards)}; " \
                   "collapse=False opens them all"  # fmt: skip
    assert note in drawing.svg and not drawing.advice


@pytest.mark.slow
def test_a_long_model_stays_open_for_who_asks_for_what_is_inside(gpt):
    loss, _, _ = gpt
    everything = len(draw(loss, collapse=False).scene.cards)
    assert everything > len(topological(loss))  # its plain arrays too
    for options in ({"edges": "rule"}, {"edges": "numbers"}, {"max_nodes": 301}):
        assert len(draw(loss, **options).scene.cards) == everything


def test_a_model_inside_another_is_called_by_its_whole_path(gpt):
    _, model, given = gpt
    with autograd.scope("reader"):
        out = model(given["ids"])
    frames = draw(nn.functional.cross_entropy(out, given["targets"])).scene.frames
    assert "reader.blocks[i]" in {frame.name for frame in frames}


def test_without_a_size_to_fit_a_short_model_stays_open():
    out = nn.MLP(3, [4, 4, 1], rng=0)([1.0, 2.0, 3.0])
    assert len(draw(out, fit=None).scene.cards) == len(draw(out, collapse=False).scene.cards) > 40


def test_a_long_graph_folds_to_its_outermost_modules_where_that_halves_it():
    x = Value(np.ones(3), name="x")
    for part in range(15):
        with autograd.scope(f"part_{'abcdefghijklmno'[part]}"):
            x = x.sin().cos().tanh()
    assert len(draw(x).scene.cards) == 15 and draw(x).scene.notes  # x, used there alone, is in the first


def test_collapse_false_never_folds(gpt):
    loss, _, _ = gpt
    assert not any(card.role == "module" and card.rows for card in draw(loss, collapse=False).scene.cards)


def test_a_result_hidden_in_a_module_is_called_by_the_module(gpt):
    loss, _, given = gpt
    assert card_of(draw(loss, collapse=1, names=given), "loss").expression == "cross_entropy(head, targets)"


def test_a_hidden_result_is_called_by_its_module_even_if_it_has_a_name():
    x = Value(2.0, name="x")
    with autograd.scope("inside"):
        hidden = x.tanh() * 3
    hidden.name = "hidden"
    assert draw(hidden + 1, collapse=1).scene.cards[-1].expression == "inside + 1"


def test_a_weight_shared_by_two_modules_stays_visible():
    x, w = Value([[1.0, 2.0]], name="x", requires_grad=False), Value(np.eye(2), name="w")
    with autograd.scope("first"):
        y = autograd.tanh(x @ w)
    with autograd.scope("second"):
        z = autograd.tanh(y @ w)
    drawing = draw(z.sum(), collapse=1)
    assert {"w", "first", "second"} <= set(names(drawing))


def test_parallel_copies_fold_too():
    x = Value(0.5, name="x")
    outs = []
    for number in range(3):
        with autograd.scope(f"neurons.{number}", kind="Neuron"):
            outs.append((x * Value(float(number))).tanh())
    drawing = draw(reduce(add, outs), collapse=1)
    assert card_of(drawing, "neurons[0…2]").copies == 3


def test_modules_that_differ_do_not_fold_together():
    x = Value(np.ones((1, 3)), name="x")
    model = nn.Sequential(nn.Linear(3, 3, rng=0), nn.Linear(3, 2, rng=1))
    drawing = draw(model(x).sum(), collapse=1)
    assert sum(card.role == "module" for card in drawing.scene.cards) == 2


def test_without_modules_it_shows_both_ends_and_counts_the_rest():
    x = Value(1.0, name="x")
    y = x
    for _ in range(500):
        y = y * 1.01 + 0.1
    drawing = draw(y, max_nodes=50, collapse=False)
    assert len(drawing.scene.cards) <= 50
    assert any(card.expression.endswith("nodes not shown") for card in drawing.scene.cards)
    assert "left out" in drawing.scene.notes[0] and "max_nodes=1001" in drawing.scene.notes[0]
    assert {"x"} <= set(names(drawing))


@pytest.mark.slow
def test_depth_is_no_limit():
    x = Value(1.0, name="x")
    for _ in range(100_000):
        x = x * 1.0
    assert len(draw(x).scene.cards) <= 300


@pytest.mark.slow
def test_a_large_graph_expands_in_seconds():
    """The aims are benchmarked; here only that nothing is quadratic."""
    layer = [Value(float(i)) for i in range(20)]
    for _ in range(100):
        layer = [layer[i] * layer[i - 1] + 0.1 for i in range(20)]
    root = reduce(add, layer)
    begin = time.process_time()
    drawing = draw(root, max_nodes=10**6)
    svg = drawing.svg
    assert drawing.placement.engine == "layered" and time.process_time() - begin < 20
    from xml.etree import ElementTree

    ElementTree.fromstring(svg)


def test_plain_arrays_that_read_alike_stay_in_their_folded_modules():
    x = Value(np.ones((4, 20)), name="x")
    for i in range(2):
        with scope(f"blocks.{i}", "Block"):
            x = x * np.full((4, 20), 0.5 + i) + np.full((4, 20), 0.1)  # numbered, so that they are told apart
    drawing = draw(x.sum(), collapse=1)
    assert not any(card.role == "constant" for card in drawing.scene.cards)
