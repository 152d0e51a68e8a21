"""The formulas at their edges: masks, saturated losses, reductions, empty and single inputs, wrong inputs."""

import numpy as np
import pytest

import autograd as ag
from autograd import Value
from autograd.errors import AxisError, DataError, ShapeError
from nn import functional as F

RNG = np.random.default_rng(0)
Q, K, V = RNG.normal(size=(3, 2)), RNG.normal(size=(4, 2)), RNG.normal(size=(4, 5))


# --- attention ----------------------------------------------------------------------------------------------


def test_attention_is_the_weights_times_the_values():
    np.testing.assert_allclose(F.attention(Q, K, V), F.attention_weights(Q, K) @ V, rtol=1e-14)


def test_weights_by_hand():
    # scores 1·1 + 0·0 = 1 and 0, over √2; softmax of (0.7071, 0)
    weights = F.attention_weights([[1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]])
    a = np.exp(1 / np.sqrt(2))
    np.testing.assert_allclose(weights, [[a / (a + 1), 1 / (a + 1)]], rtol=1e-15)


def test_a_boolean_mask_is_the_additive_mask_of_minus_infinity():
    may = RNG.random((3, 4)) < 0.6
    may[:, 0] = True
    np.testing.assert_array_equal(F.attention(Q, K, V, may), F.attention(Q, K, V, np.where(may, 0.0, -np.inf)))


def test_causal_is_the_lower_triangle():
    np.testing.assert_array_equal(F.attention(Q, Q, Q, "causal"), F.attention(Q, Q, Q, np.tri(3, dtype=bool)))


def test_causal_queries_are_the_last_of_the_keys():
    np.testing.assert_array_equal(
        F.attention(Q, K, V, "causal"), F.attention(Q, K, V, F.causal_mask(3, 4))
    )
    np.testing.assert_allclose(F.attention(K[-1:], K, V, "causal"), F.attention(K[-1:], K, V), rtol=1e-14)


@pytest.mark.parametrize("shut", [False, -np.inf], ids=["boolean", "additive"])
def test_a_fully_masked_row_gives_zeros_and_zero_gradients(shut):
    nothing = np.full((3, 4), shut)
    nothing[1] = True if nothing.dtype == bool else 0.0
    q, k, v = Value(Q), Value(K), Value(V)
    out = F.attention(q, k, v, nothing)
    np.testing.assert_array_equal(out.data[[0, 2]], 0.0)
    out.backward(RNG.normal(size=out.shape))
    np.testing.assert_array_equal(q.grad[[0, 2]], 0.0)
    assert np.isfinite(k.grad).all() and np.isfinite(v.grad).all() and q.grad[1].any()


def test_gradients_do_not_pass_a_mask():
    v = Value(V)
    may = np.array([[True, True, False, True]] * 3)
    F.attention(Q, K, v, may).sum().backward()
    np.testing.assert_array_equal(v.grad[2], 0.0)
    assert v.grad[[0, 1, 3]].all()


@pytest.mark.parametrize("shift", [1000.0, -1000.0])
def test_large_scores_do_not_overflow(shift):
    np.testing.assert_allclose(F.softmax(np.array([1.0, 2.0]) + shift), F.softmax(np.array([1.0, 2.0])), rtol=1e-12)
    weights = F.attention_weights(np.array([[shift, 0.0]]), np.array([[shift, 0.0], [0.0, 1.0]]))
    assert np.isfinite(weights).all()


def test_a_batch_is_each_alone():
    q, k, v = RNG.normal(size=(2, 3, 4)), RNG.normal(size=(2, 5, 4)), RNG.normal(size=(2, 5, 4))
    alone = [F.attention(*parts) for parts in zip(q, k, v, strict=True)]
    np.testing.assert_allclose(F.attention(q, k, v), alone, rtol=1e-13)


@pytest.mark.parametrize(
    "mask, error, words",
    [
        ("casual", (ShapeError, ValueError), "causal"),
        (np.ones((3, 5), bool), ShapeError, "(3, 5)"),
        (np.ones((3, 4), int), DataError, "bool"),
        (np.ones((2, 2, 3, 4), bool), ShapeError, "(2, 2, 3, 4)"),
    ],
    ids=["a slip of the pen", "wrong shape", "integers", "too many axes"],
)
def test_a_wrong_mask_is_refused(mask, error, words):
    with pytest.raises(error) as caught:
        F.attention(Q, K, V, mask)
    assert words in str(caught.value)


def test_wrong_widths_are_refused():
    with pytest.raises(ShapeError, match=r"\(3, 2\).*\(4, 5\)"):
        F.attention(Q, V, V)
    with pytest.raises(ShapeError, match=r"\(4, 2\).*\(3, 2\)"):
        F.attention(Q, K, Q)


def test_heads_split_and_merge():
    x = RNG.normal(size=(2, 3, 8))
    heads = F.split_heads(x, 4)
    assert heads.shape == (2, 4, 3, 2)
    np.testing.assert_array_equal(heads[1, 2], x[1, :, 4:6])
    np.testing.assert_array_equal(F.merge_heads(heads), x)


def test_rotary_products_depend_on_the_distance_alone():
    q, k = RNG.normal(size=(1, 6)), RNG.normal(size=(1, 6))
    products = [(F.rotate(q, start=t) @ F.rotate(k, start=t + 3).T).item() for t in (0, 1, 17)]
    np.testing.assert_allclose(products, products[0], rtol=1e-12)
    with pytest.raises(ShapeError, match="even"):
        F.rotate(np.ones((2, 3)))


# --- normalisation ------------------------------------------------------------------------------------------


def test_layer_norm_rows_have_mean_0_and_variance_1():
    rows = F.layer_norm(RNG.normal(3.0, 5.0, (2, 3, 6)), np.ones(6), np.zeros(6), eps=0.0)
    np.testing.assert_allclose(rows.mean(-1), 0.0, atol=1e-14)
    np.testing.assert_allclose(rows.var(-1), 1.0, rtol=1e-12)


def test_constant_rows_and_a_single_feature_give_beta():
    np.testing.assert_array_equal(F.layer_norm(np.full((2, 3), 7.0), np.ones(3), np.arange(3.0)), [[0, 1, 2]] * 2)
    x, gamma, beta = Value(RNG.normal(size=(4, 1))), Value([2.0]), Value([5.0])
    out = F.layer_norm(x, gamma, beta)
    np.testing.assert_array_equal(out.data, 5.0)
    out.sum().backward()
    np.testing.assert_array_equal(x.grad, 0.0)
    assert gamma.grad.tolist() == [0.0] and beta.grad.tolist() == [4.0]


# --- losses -------------------------------------------------------------------------------------------------


def test_cross_entropy_of_equal_logits_is_the_log_of_the_classes():
    assert F.cross_entropy(np.zeros((2, 5)), [0, 4]) == pytest.approx(np.log(5), rel=1e-15)


def test_cross_entropy_of_one_hot_probabilities_is_that_of_whole_numbers():
    z, y = RNG.normal(size=(2, 3, 4)), RNG.integers(0, 4, (2, 3))
    for reduction in ("mean", "sum", "none"):
        hard = F.cross_entropy(z, y, reduction=reduction)
        np.testing.assert_allclose(hard, F.cross_entropy(z, F.one_hot(y, 4), reduction=reduction), rtol=1e-13)


def test_cross_entropy_is_finite_at_extreme_logits():
    z = Value([[1000.0, -1000.0], [-1000.0, 1000.0]])
    loss = F.cross_entropy(z, [1, 1])
    assert loss.item() == 1000.0
    loss.backward()
    np.testing.assert_array_equal(z.grad, [[0.5, -0.5], [0.0, 0.0]])


def test_ignored_targets_count_for_nothing():
    z, y = RNG.normal(size=(4, 3)), np.array([0, -100, 2, -100])
    kept = F.cross_entropy(z[[0, 2]], y[[0, 2]])
    assert F.cross_entropy(z, y, ignore_index=-100) == pytest.approx(kept, rel=1e-14)
    v = Value(z)
    F.cross_entropy(v, y, ignore_index=-100).backward()
    np.testing.assert_array_equal(v.grad[[1, 3]], 0.0)


@pytest.mark.parametrize("reduction", ["sum", "none"])
def test_the_losses_of_targets_that_are_not_ignored(reduction):
    z, y = np.random.default_rng(0).normal(size=(3, 4)), np.array([2, 0, 3])
    each = np.log(np.exp(z).sum(axis=1)) - z[np.arange(3), y]
    each[1] = 0.0
    expected = each.sum() if reduction == "sum" else each
    np.testing.assert_allclose(F.cross_entropy(z, y, reduction=reduction, ignore_index=0), expected, rtol=1e-12)


def test_one_target_left_is_its_own_mean():
    z = np.array([[0.3, -1.0, 2.0], [1.0, 1.0, 1.0]])
    left = F.cross_entropy(z, [2, -1], ignore_index=-1)
    assert left == pytest.approx(F.cross_entropy(z[:1], [2]), rel=1e-15)
    assert F.cross_entropy(z, [-1, -1], ignore_index=-1) == 0.0


@pytest.mark.parametrize("y", [0.0, 1.0, 0.5])
def test_binary_losses_are_finite_at_0_and_1(y):
    p = Value([0.0, 1.0])
    loss = F.binary_cross_entropy(p, [y, y], reduction="none")
    assert np.isfinite(loss.data).all() and loss.data.max() <= 100.0
    loss.sum().backward()
    assert np.isfinite(p.grad).all()
    z = Value([-800.0, 800.0])
    loss = F.binary_cross_entropy_with_logits(z, [y, y], reduction="none")
    np.testing.assert_allclose(loss.data, [800 * y, 800 * (1 - y)])
    loss.sum().backward()
    np.testing.assert_allclose(z.grad, [-y, 1 - y])


def test_both_binary_losses_agree():
    z, y = RNG.normal(size=10), RNG.random(10)
    np.testing.assert_allclose(
        F.binary_cross_entropy(F.sigmoid(z), y, reduction="none"),
        F.binary_cross_entropy_with_logits(z, y, reduction="none"), rtol=1e-12,
    )  # fmt: skip


@pytest.mark.parametrize("loss", [F.mse, F.binary_cross_entropy, F.binary_cross_entropy_with_logits])
def test_reductions(loss):
    x, y = RNG.uniform(0.1, 0.9, (2, 3)), RNG.uniform(0.1, 0.9, (2, 3))
    each = loss(x, y, reduction="none")
    assert each.shape == (2, 3)
    assert loss(x, y, reduction="sum") == pytest.approx(each.sum())
    assert loss(x, y) == pytest.approx(each.mean())
    with pytest.raises(ValueError, match='"mean", "sum" or "none"; got \'average\''):
        loss(x, y, reduction="average")


def test_targets_are_never_broadcast_in_silence():
    with pytest.raises(ShapeError, match=r"\(3,\).*\(3, 1\)"):
        F.mse(np.ones((3, 1)), np.ones(3))
    with pytest.raises(ShapeError, match=r"\(2, 3\).*\(3,\)"):
        F.cross_entropy(np.ones((2, 3)), [0, 1, 2])


def test_weights_of_classes():
    z, y, w = np.array([[0.0, 1.0, -np.inf], [2.0, 0.0, 1.0]]), [0, 2], [0.5, 7.0, 2.0]
    each = F.cross_entropy(z, y, reduction="none")  # the class with the logit -inf is never right, and weighs nothing
    np.testing.assert_allclose(F.cross_entropy(z, y, weight=w, reduction="none"), each * [0.5, 2.0], rtol=1e-14)
    assert F.cross_entropy(z, y, weight=w) == pytest.approx((each @ [0.5, 2.0]) / 2.5, rel=1e-14)
    assert F.cross_entropy(z, [-1, -1], weight=w, ignore_index=-1) == 0.0  # as without weights
    single = Value(z[1:].astype(np.float32))
    assert F.cross_entropy(single, [0], weight=w).dtype == np.float32
    assert F.binary_cross_entropy_with_logits(single, [[1, 0, 1]], pos_weight=w).dtype == np.float32
    with pytest.raises(ShapeError, match=r"one number for each class, shape \(3,\); got \(2,\)"):
        F.cross_entropy(z, y, weight=[1.0, 2.0])
    with pytest.raises(ShapeError, match=r"pos_weight of shape \(2,\) cannot be broadcast .*\(2, 3\)"):
        F.binary_cross_entropy_with_logits(z, z, pos_weight=[1.0, 2.0])
    with pytest.raises(ShapeError, match=r"pos_weight of shape \(1, 2, 3\)"):
        F.binary_cross_entropy_with_logits(z, z, pos_weight=np.ones((1, 2, 3)))


def test_wrong_classes_are_refused():
    with pytest.raises(ShapeError, match="3"):
        F.cross_entropy(np.ones((2, 3)), [0, 3])
    with pytest.raises(DataError, match="integers"):
        F.cross_entropy(np.ones((2, 3)), [0.5, 1.0])
    with pytest.raises(AxisError, match="0 to 2; got 5"):
        F.one_hot([0, 5], 3)
    with pytest.raises(AxisError, match="0 to 2; got -1"):
        F.embedding(np.ones((3, 2)), [-1])
    with pytest.raises(DataError, match="integers"):
        F.embedding(np.ones((3, 2)), [0.5])


# --- dropout, embedding, positions --------------------------------------------------------------------------


def test_dropout_keeps_the_mean_and_uses_one_mask_for_both_passes():
    x = Value(np.ones(10_000))
    out = F.dropout(x, 0.3, rng=0)
    out.sum().backward()
    np.testing.assert_array_equal(out.data, x.grad)  # the same entries, the same factor
    assert set(np.round(out.data, 12)) == {0.0, round(1 / 0.7, 12)}
    assert abs(out.data.mean() - 1) < 0.03
    assert F.dropout(x, 0.0) is x
    with pytest.raises(ValueError, match="below 1"):
        F.dropout(x, 1.0)


def test_repeated_ids_add_their_gradients():
    table = Value(np.zeros((3, 2)))
    F.embedding(table, [1, 1, 0, 1]).sum().backward()
    np.testing.assert_array_equal(table.grad, [[1, 1], [3, 3], [0, 0]])


def test_sinusoids_of_odd_width():
    table = F.sinusoidal_positions(4, 5)
    assert table.shape == (4, 5) and np.abs(table).max() <= 1
    np.testing.assert_array_equal(F.sinusoidal_positions(2, 5, start=2), table[2:])


# --- carriers -----------------------------------------------------------------------------------------------


def test_plain_arrays_give_plain_arrays_and_values_give_values():
    assert isinstance(F.attention(Q, K, V), np.ndarray)
    assert isinstance(F.attention(Value(Q), K, V), Value)
    assert isinstance(F.cross_entropy(np.zeros((1, 2)), [0]), float)
    assert isinstance(F.cross_entropy(Value(np.zeros((1, 2))), [0]).data, float)


def test_nested_lists_are_taken_for_arrays():
    q, k, v = Q.tolist(), K.tolist(), V.tolist()
    np.testing.assert_array_equal(F.attention(q, k, v), F.attention(Q, K, V))
    np.testing.assert_array_equal(F.attention_weights(q, k), F.attention_weights(Q, K))
    np.testing.assert_array_equal(F.embedding(q, [0, 0]), Q[[0, 0]])
    np.testing.assert_array_equal(F.rotate([[1.0, 2.0]]), [[1.0, 2.0]])
    np.testing.assert_array_equal(F.dropout([2.0, 4.0], 0.5, rng=0), F.dropout(np.array([2.0, 4.0]), 0.5, rng=0))
    eye = np.eye(2)
    np.testing.assert_array_equal(F.swiglu([1.0, 2.0], eye, eye, eye), F.swiglu(np.array([1.0, 2.0]), eye, eye, eye))
    assert F.mse([1.0, 3.0], [1.0, 1.0]) == 2.0
    assert F.binary_cross_entropy([0.5], [1.0]) == pytest.approx(np.log(2))
    assert F.binary_cross_entropy_with_logits([0.0], [1.0]) == pytest.approx(np.log(2))
    assert F.cross_entropy([[0.0, 0.0]], [1]) == pytest.approx(np.log(2))


def test_a_causal_mask_of_as_many_keys_as_queries():
    np.testing.assert_array_equal(F.causal_mask(3), np.tri(3, dtype=bool))
    np.testing.assert_array_equal(F.causal_mask(3), F.causal_mask(3, 3))


def test_float32_stays_float32():
    q, k, v = (Value(x.astype(np.float32)) for x in (Q, K, V))
    gamma, beta = Value(np.ones(5, np.float32)), Value(np.zeros(5, np.float32))
    hidden = F.layer_norm(F.attention(q, k, v, "causal"), gamma, beta)
    loss = F.cross_entropy(F.gelu(F.dropout(hidden, 0.1, rng=0)), [0, 1, 2], label_smoothing=0.1)
    assert loss.dtype == np.float32
    loss.backward()
    assert {x.grad.dtype for x in (q, k, v, gamma, beta)} == {np.dtype(np.float32)}
    x = Value(np.array([0.2, 0.7], np.float32))
    for f in (F.mse, F.binary_cross_entropy, F.binary_cross_entropy_with_logits):
        assert f(x, [0.0, 1.0]).dtype == np.float32


def test_empty_batches():
    empty = Value(np.zeros((0, 3, 4)))
    assert F.attention(empty, empty, empty).shape == (0, 3, 4)
    assert F.layer_norm(empty, np.ones(4), np.zeros(4)).shape == (0, 3, 4)
    assert F.feed_forward(empty, np.ones((4, 2)), np.zeros(2), np.ones((2, 4)), np.zeros(4)).shape == (0, 3, 4)
    out = F.cross_entropy(empty, np.zeros((0, 3), int), reduction="sum")
    out.backward()
    assert empty.grad.shape == (0, 3, 4)


def test_nothing_is_recorded_under_no_grad():
    with ag.no_grad():
        assert F.attention(Value(Q), K, V).parents == ()


@pytest.mark.parametrize("loss", [
    lambda z, y: F.cross_entropy(z, y.astype(int)[:, 0]), lambda z, y: F.cross_entropy(z, y),
    lambda z, y: F.cross_entropy(z, [0, 1], weight=y[0]), lambda z, y: F.binary_cross_entropy(ag.sigmoid(z), y),
    lambda z, y: F.binary_cross_entropy_with_logits(z, y), lambda z, y: F.mse(z, y),
    lambda z, y: F.binary_cross_entropy_with_logits(z, [[0, 1], [1, 0]], pos_weight=y),
    lambda z, y: F.embedding(z, y.astype(int)),
])  # fmt: skip
def test_what_is_masked_does_not_count_in_silence(loss):
    """A masked array says which targets to leave out; taken for an array, they would all count."""
    masked = np.ma.array([[1.0, 0.0], [0.0, 1.0]], mask=[[1, 0], [0, 0]])
    with pytest.raises(DataError, match="mask would be lost"):
        loss(Value([[0.3, -1.0], [2.0, 0.5]]), masked)


@pytest.mark.parametrize("p", [Value([0.2, 1.5]), np.array([-0.1, 0.3]), 3.0])
def test_logits_are_no_probabilities(p):
    """-log(1.5) looks like a loss, and falls for ever."""
    with pytest.raises(DataError, match=r"takes probabilities, from 0 to 1; got (1\.5|-0\.1|3)\. Of logits write"):
        F.binary_cross_entropy(p, np.ones(np.shape(p)))
    assert np.isnan(F.binary_cross_entropy(np.array([np.nan, 0.0, 1.0]), np.ones(3), reduction="none")[0])
