"""The book's exercises, answered by the program: the facts each of them states."""

from __future__ import annotations

import io

import numpy as np
import pytest

from examples import EXAMPLES, find
from examples.checking.sheet import load
from examples.page import Page

CLOSE = {"rtol": 1e-12, "atol": 1e-15}


def answer(name, function, **given):
    """What an exercise returns, and what it printed."""
    stream = io.StringIO()
    result = getattr(find(name).module, function)(Page(stream), **given)
    return result, stream.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "heading", "exercise"), [
    (example.name, heading, exercise) for example in EXAMPLES for heading, exercise in example.module.EXERCISES])
def test_every_exercise_prints_and_returns_its_answer(name, heading, exercise):
    stream = io.StringIO()
    result = exercise(Page(stream))
    assert len(result) > 0
    assert stream.getvalue().strip()
    assert exercise.__doc__


def test_softmax_shifted_and_unshifted():
    result, text = answer("1", "verify_softmax")
    np.testing.assert_allclose(result["shifted"], result["unshifted"], **CLOSE)
    assert "[1000, 1001]" in text


def test_loss_by_hand_three_ways():
    result, _ = answer("2", "loss_by_hand")
    assert result["by_hand"] == pytest.approx(result["from_logits"], rel=1e-14) == pytest.approx(result["engine"])


def test_the_gradient_of_WO_by_outer_product_and_by_differences():
    result, _ = answer("2", "WO_gradient")
    np.testing.assert_allclose(result["engine"], result["by_hand"], **CLOSE)
    np.testing.assert_allclose(result["engine"], result["measured"], rtol=1e-7)


def test_the_prediction_improves_under_every_convention():
    before = find("2").module.run()["L"]
    result, _ = answer("2", "conventions")
    losses = [result[update]["L_new"] for update in ("live2", "live3", "full")]
    assert before > losses[0] > losses[1] > losses[2]


def test_a_small_step_gains_what_the_gradient_promises():
    two = find("2").module
    found = two.run(eta=1e-4)
    assert found["L"] - found["L_new"] == pytest.approx(two.predicted_gain(found, "live2"), rel=1e-6)


@pytest.mark.slow
def test_all_four_matrices_train_faster_than_WO_alone():
    result, _ = answer("3", "against_WO_only")
    for update in ("live2", "full"):
        alone, together = result["WO only", update], result["all four", update]
        assert all(b < a for a, b in zip(alone[1:], together[1:]))


def test_the_average_of_the_gradients_is_the_gradient_of_the_average():
    result, _ = answer("4", "average_gradients")
    np.testing.assert_allclose(result["average"], result["of_mean"], **CLOSE)


@pytest.mark.slow
def test_losses_over_the_epochs():
    """The losses the sheet lists, up to epoch 1000, with WO alone."""
    losses = answer("4", "loss_over_time")[0]
    for epoch, loss in load("example4").unprinted["mean_loss_after_epochs_WO_only"].items():
        if int(epoch) < len(losses):
            assert losses[int(epoch)] == pytest.approx(loss, rel=1e-12), epoch


@pytest.mark.slow
def test_loss_after_ten_thousand_epochs():
    four = find("4").module
    expected = load("example4").unprinted["mean_loss_after_epochs_WO_only"]["10000"]
    assert four.train(10_000, ["WO4"])["loss"][-1] == pytest.approx(expected, rel=1e-10)


@pytest.mark.slow
def test_all_three_patterns_are_right_from_epoch_30():
    first, text = answer("4", "all_learned", count=200)
    assert first["WO only"] == load("example4").unprinted["epochs_until_all_three_argmax_right_WO_only"] == 30
    assert "from epoch 30" in text


def test_one_epoch_earlier_they_are_not_all_right():
    right = find("4").module.train(30, ["WO4"])["right"]
    assert all(right[30]) and not all(right[29])


def test_relu_mask():
    masks, _ = answer("5", "relu_gradients")
    given, negated = masks.values()
    assert given.tolist() == [[1, 1], [1, 1]] and negated.tolist() == [[0, 1], [0, 1]]


def test_jacobian_with_and_without_residual():
    result, _ = answer("5", "jacobians")
    for formula in ("I + W1·W2", "W1·W2"):
        np.testing.assert_allclose(result[formula]["engine"], result[formula]["formula"], **CLOSE)
    asymmetric, _ = answer("5", "jacobians", W1=[[0.3, 0.1], [0.2, 0.5]])
    np.testing.assert_allclose(asymmetric["W1·W2"]["engine"], asymmetric["W1·W2"]["formula"], **CLOSE)


def test_the_residual_keeps_the_gradient_alive():
    result, _ = answer("5", "residual_helps", depth=10)
    assert result["with"][-1] > 1 and result["without"][-1] < 1e-9


@pytest.mark.slow
def test_example_6_learns_all_patterns():
    result, _ = answer("6", "training")
    assert result["losses"][-1] < 0.01 < result["losses"][0]
    assert result["first_all_right"] is not None


@pytest.mark.slow
@pytest.mark.parametrize("given", [{}, {"pre_norm": True}, {"causal": True, "seed": 4}])
def test_example_6_gradients_against_differences(given):
    six = find("6").module
    assert six.verify(**given) == []
    assert len(list(six.differences(**given))) == six.Transformer(**given).count() == 344


@pytest.mark.slow
def test_example_6_verification_can_fail(monkeypatch):
    from autograd.op import OPS

    right = OPS["relu"].vjp
    monkeypatch.setattr(OPS["relu"], "vjp", lambda g, out, x: (1.01 * right(g, out, x)[0],))
    assert find("6").module.verify()


@pytest.mark.slow
def test_example_6_gamma_and_beta_have_gradients_and_two_features_have_none():
    result, _ = answer("6", "full_backprop")
    for block in (0, 1):
        for part in ("norm1.gamma", "norm1.beta", "norm2.gamma", "norm2.beta"):
            assert np.linalg.norm(result[f"dL/dblocks.{block}.{part}"]) > 0.01
    assert np.linalg.norm(result["two_features"]["dL/dembedding.weight"]) < 1e-6


def test_example_6_layer_norm_rows_are_standardised():
    found = find("6").module.run(epochs=0)
    for name in ("norm_attn1", "norm_ffn1", "norm_attn2", "norm_ffn2"):
        np.testing.assert_allclose(found[name].mean(axis=-1), 0, atol=1e-14)
        np.testing.assert_allclose(found[name].var(axis=-1), 1, atol=1e-3)


def test_every_gradient_of_the_cat_with_mean_and_sum():
    result, _ = answer("cat_sleeps", "every_gradient")
    for name in ("W_Q", "W_K", "W_V", "X", "W_FFN1", "W_FFN2"):
        np.testing.assert_allclose(3 * result["mean"][f"dL/d{name}"], result["sum"][f"dL/d{name}"], rtol=1e-12)


def test_the_cat_beside_fifty_digits():
    worst, _ = answer("cat_sleeps", "judged")
    assert max(worst.values()) < 1e-13
