"""Every input and convention is a keyword of `run`, and changes the result; the documents' open variants among them."""

from __future__ import annotations

import importlib
import inspect

import numpy as np
import pytest

import nn
from autograd import Value
from examples import EXAMPLES, UnknownExample, find, keywords
from examples import cat_sleeps as cat
from examples import example1_forward_pass as one
from examples import example2_single_step as two
from examples import example3_full_backprop as three
from examples import example4_multiple_patterns as four
from examples import example5_feed_forward as five
from examples import example6_complete_transformer as six
from examples.checking.sheet import load
from examples.mini_transformer import MiniTransformer, softmax_dot, softmax_steps
from nn import functional as F

CLOSE = {"rtol": 1e-11, "atol": 1e-16}
OTHER = {   # another value for every keyword
    "tokens": {"A": [1.0, 0.5]}, "sequence": ["B", "A"], "target": "A", "eta": 0.2, "causal": True, "d_k": 5.0,
    "WQ": [[0.3, 0.1], [0.2, 0.1]], "WK": [[0.3, 0.1], [0.2, 0.1]], "WV": [[0.3, 0.1], [0.2, 0.1]],
    "WO": [[0.3, 0.1], [0.2, 0.1]], "WO4": [[0.1, 0.2, 0.3, 0.4], [0.5, 0.6, 0.7, 0.8]],
    "WO_2x4": [[0.1, 0.2, 0.3, 0.4], [0.5, 0.6, 0.7, 0.8]],
    "fig_logit": [1.0, 2.0, 3.0, 4.0], "reduction": "sum", "batch": [[["B", "B"], "A"]],
    "W1": [[-0.3, 0.1], [0.2, 0.1]], "W2": [[0.3, 0.1], [0.2, 0.1]], "row0": "copied", "residual": False,
    "relu_demo_in": 2.0, "epochs": 3, "d_model": 6, "d_hidden": 5, "n_blocks": 1, "eps": 0.1, "seed": 1,
    "pre_norm": True,
    "X": [[0.5, 0.1, 0.2, 0.3, 0.4]] * 2 + [[0.0, 1.0, 0.0, 1.0, 0.0]], "y": [0.0, 1.0, 0.0],
    "W_Q": np.full((5, 3), 0.2) * [1, 2, 3], "W_K": np.full((5, 3), 0.2) * [3, 2, 1], "W_V": np.full((5, 3), 0.3),
    "W_FFN1": np.full((3, 3), 0.3), "W_FFN2": np.full((3, 1), 0.3),
}
OTHER_UPDATE = {"example2": "full", "example3": "live2", "example4": "live2"}


def every_keyword():
    return [(example.name, keyword) for example in EXAMPLES for keyword in keywords(example)]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "keyword"), every_keyword())
def test_every_keyword_changes_the_result(name, keyword, quantities):
    other = OTHER_UPDATE[name] if keyword == "update" else OTHER[keyword]
    base, changed = quantities(name), find(name).module.run(**{keyword: other})
    assert base.keys() != changed.keys() or any(
        np.shape(base[key]) != np.shape(changed[key]) or not np.array_equal(base[key], changed[key]) for key in base)


@pytest.mark.parametrize("example", [example for example in EXAMPLES if example.printed], ids=lambda e: e.name)
def test_the_defaults_are_the_sheets_inputs(example, quantities):
    """`run` with the sheet's own inputs, spelled out, is `run` with none."""
    again = example.module.run(**load(example.name).inputs)
    base = quantities(example.name)
    assert base.keys() == again.keys()
    for key in base:
        np.testing.assert_array_equal(base[key], again[key], err_msg=key)


def test_nothing_is_read_from_the_answer_file():
    """No example opens a sheet to compute; only the report at the end does."""
    for example in EXAMPLES:
        source = inspect.getsource(example.module)
        assert ".json" not in source and "checking.sheet" not in source
        assert "load(" not in source


@pytest.mark.parametrize(("module", "bad"), [
    (two, {"update": "live9"}), (two, {"target": "Z"}), (two, {"target": 7}), (one, {"sequence": ["A", "Z"]}),
    (four, {"reduction": "median"}), (five, {"row0": "moved"}), (cat, {"reduction": "median"}),
    (six, {"batch": [[["A", "Z"], "C"]]})])
def test_a_wrong_setting_says_which_are_right(module, bad):
    with pytest.raises(ValueError, match=r"expected one of|tokens"):
        module.run(**bad)


def test_an_unknown_keyword_is_refused():
    with pytest.raises(TypeError, match="momentum"):
        three.run(momentum=0.9)


# ---- values that the sheets list but no document prints -------------------------------------------------------------

@pytest.mark.parametrize("update", ["live2", "live3", "full"])
def test_example_2_after_each_kind_of_update(update):
    expected = load("example2").unprinted[f"after_{update}"]
    found = two.run(update=update)
    np.testing.assert_allclose(found["WO4_new"], expected["WO_new"], **CLOSE)
    np.testing.assert_allclose(found["logit_new"], expected["logits"], **CLOSE)
    np.testing.assert_allclose(found["P_new"], expected["P"], **CLOSE)
    assert found["L_new"] == pytest.approx(expected["L"], rel=1e-12)


def test_example_3_gradients_that_similar_calculations_skips(quantities):
    expected, found = load("example3").unprinted, quantities("example3")
    for name, table in expected["gradients"].items():
        np.testing.assert_allclose(found[f"dL/d{name}"], table, **CLOSE, err_msg=name)
    for name, table in expected["updated"].items():
        np.testing.assert_allclose(found["WO4_new" if name == "WO_new" else name], table, **CLOSE, err_msg=name)


@pytest.mark.parametrize(("variant", "names", "update"), [
    ("after_all_four", three.WEIGHTS, "full"), ("after_all_four_WO_live2", three.WEIGHTS, "live2"),
    ("after_WO_only", ["WO4"], "full"), ("after_WO_only_live2", ["WO4"], "live2")])
def test_example_3_against_WO_only(variant, names, update):
    expected = load("example3").unprinted[variant]
    assert three.losses(1, names, update=update)[1] == pytest.approx(expected["L"], rel=1e-12)


@pytest.mark.parametrize("update", ["full", "live2"])
def test_example_4_after_each_kind_of_update(update):
    found = four.run(update=update)
    for key, value in load("example4").unprinted[f"after_{update}"].items():
        assert found[key] == pytest.approx(value, rel=1e-12), key


def test_example_4_gradients_no_document_prints(quantities):
    expected, found = load("example4").unprinted, quantities("example4")
    for name, table in expected["mean_gradients"].items():
        np.testing.assert_allclose(found[f"dL/d{name}"], table, **CLOSE)
    for n, gradients in enumerate(expected["per_example_gradients"], 1):
        for name, table in gradients.items():
            np.testing.assert_allclose(found[f"dL/d{name}{n}"], table, **CLOSE)


@pytest.mark.parametrize(("variant", "given"), [
    ("no_mask", {}), ("causal", {"causal": True}), ("tiled", {"row0": "copied"})])
def test_example_5_variants(variant, given):
    found = five.run(**given)
    for name, table in load("example5").unprinted[variant].items():
        np.testing.assert_allclose(found[name], table, **CLOSE, err_msg=name)


@pytest.mark.parametrize(("variant", "residual"), [("with_residual", True), ("without_residual", False)])
def test_example_5_gradients(variant, residual):
    found = five.run(residual=residual)
    for name, table in load("example5").unprinted["d_sum_final"][variant].items():
        np.testing.assert_allclose(found[f"d(sum final)/d{name}"], table, **CLOSE, err_msg=name)


@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_every_gradient_of_the_cat_sleeps(reduction):
    found = find("cat_sleeps").module.run(reduction=reduction)
    for name, table in load("cat_sleeps").unprinted[f"gradients_{reduction}"].items():
        np.testing.assert_allclose(found[f"dL/d{name}"], table, rtol=1e-9, atol=1e-15, err_msg=name)
    for name, table in load("cat_sleeps").unprinted["forward"].items():
        np.testing.assert_allclose(found[name], table, **CLOSE, err_msg=name)
    assert found["L"] == found[f"L_{reduction}"]


def test_example_4_sum_is_three_times_the_mean(quantities):
    found = four.run(reduction="sum")
    np.testing.assert_allclose(found["dL/dWO"], 3 * quantities("example4")["dL/dWO"], **CLOSE)
    assert found["L"] == pytest.approx(3 * found["L_mean"])


# ---- the examples and nn say the same -------------------------------------------------------------------------------

@pytest.mark.parametrize("causal", [False, True])
def test_named_steps_agree_with_nn_attention(causal):
    rng = np.random.default_rng(3)
    given = {name: rng.normal(size=(2, 2)) for name in ("WQ", "WK", "WV")} | {"causal": causal}
    found = one.run(**given)
    mask = "causal" if causal else None
    np.testing.assert_allclose(found["attn"], F.attention_weights(found["Q"], found["K"], mask), rtol=1e-13)
    np.testing.assert_allclose(found["out"], F.attention(found["Q"], found["K"], found["V"], mask), rtol=1e-13)


def test_named_loss_agrees_with_nn_cross_entropy(quantities):
    found = quantities("example2")
    assert found["L"] == pytest.approx(F.cross_entropy(found["logit"], found["target"]), rel=1e-14)


def test_the_stacked_batch_agrees_with_the_patterns_one_by_one(quantities):
    for given in ({}, {"d_k": 7.0}, {"causal": True}):
        stacked = four.stacked_loss(MiniTransformer(**given), four.BATCH)
        assert float(stacked.data) == pytest.approx(four.run(**given)["L_mean"], rel=1e-13)


@pytest.mark.parametrize("pre_norm", [False, True])
def test_the_block_of_example_6_is_nn_TransformerBlock(pre_norm):
    """Same weights, same numbers: the spelled-out block and the layer people use."""
    ours = six.Block(4, 8, 1e-5, np.random.default_rng(1))
    layer = nn.TransformerBlock(4, 1, 8, pre_norm=pre_norm, bias=True, rng=0)
    layer.attention.qkv.weight.data = np.concatenate(
        [ours.WQ.weight.data, ours.WK.weight.data, ours.WV.weight.data], axis=1)
    layer.attention.qkv.bias.data = np.zeros(12)
    layer.attention.out.weight.data, layer.attention.out.bias.data = ours.WO.weight.data, np.zeros(4)
    for theirs, mine in ((layer.feed_forward.up, ours.W1), (layer.feed_forward.down, ours.W2)):
        theirs.weight.data, theirs.bias.data = mine.weight.data, mine.bias.data
    x = np.random.default_rng(2).normal(size=(3, 2, 4))
    result = ours(six.Steps(), Value(x), causal=False, pre_norm=pre_norm)
    np.testing.assert_allclose(result.data, layer(x).data, rtol=1e-12)


def test_inner_numbers_of_a_softmax_come_from_its_definition(monkeypatch):
    """Replace the op's definition, and the worksheet's inner numbers follow it."""
    from autograd import exp
    from autograd import max as largest
    from autograd import sum as total
    from autograd.op import OPS

    def shifted_further(x, axis=-1):
        powers = exp(x - (largest(x, axis=axis, keepdims=True) * 2.0))
        return powers / total(powers, axis=axis, keepdims=True)

    before = softmax_steps("s", [1.0, 3.0])
    monkeypatch.setattr(OPS["softmax"], "definition", shifted_further)
    assert before["s_shift"].tolist() == [-2.0, 0.0]
    assert softmax_steps("s", [1.0, 3.0])["s_shift"].tolist() == [-5.0, -3.0]


def test_softmax_dot():
    assert softmax_dot([1.0, -2.0], [0.25, 0.75]) == pytest.approx(-1.25)


# ---- the catalogue --------------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("text", "name"), [
    ("3", "example3"), ("example3", "example3"), ("example 3", "example3"), ("Example 3", "example3"),
    ("example3_full_backprop", "example3"), ("cat_sleeps", "cat_sleeps"), ("cat sleeps", "cat_sleeps"),
    ("The cat sleeps", "cat_sleeps"), ("cat-sleeps", "cat_sleeps"), ("example_6", "example6")])
def test_find(text, name):
    assert find(text).name == name


@pytest.mark.parametrize("text", ["7", "", "cat", "example", "33"])
def test_find_lists_the_right_names(text):
    with pytest.raises(UnknownExample, match=r"example1, .*example6, cat_sleeps"):
        find(text)


def test_every_module_has_the_same_parts():
    for example in EXAMPLES:
        module = importlib.import_module(f"examples.{example.module_name}")
        for part in ("TITLE", "run", "TAKES", "main", "EXERCISES", "graph", "plots"):
            assert hasattr(module, part), f"{example.module_name} has no {part}"
        assert module.graph().grad is not None or example.name == "example1"
