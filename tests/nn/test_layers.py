"""What the layers promise beyond their formulas: embeddings, dropout, heads, caches, empty and short inputs."""

import numpy as np
import pytest

import nn
from autograd import Value
from autograd.errors import AxisError, DataError, ShapeError
from tests.sweep import sweep

RNG = np.random.default_rng(0)


# --- linear -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sizes", "error", "words"),
    [
        (("a", 3), DataError, r"Linear: n_in is an integer from 0 up; got 'a' \(str\)"),
        ((2.0, 3), DataError, r"n_in .* got 2\.0 \(float\)"),
        ((True, 3), DataError, r"n_in .* got True \(bool\)"),
        ((3, None), DataError, r"n_out .* got None"),
        ((3, -1), ShapeError, r"n_out .* got -1"),
    ],
)
def test_sizes_of_a_linear_layer_that_are_none(sizes, error, words):
    with pytest.raises(error, match=words):
        nn.Linear(*sizes)


@sweep(
    "make, name",
    [
        (nn.LayerNorm, "LayerNorm: width"),
        (nn.RMSNorm, "RMSNorm: width"),
        (lambda size: nn.Embedding(size, 2), "Embedding: n"),
        (lambda size: nn.Embedding(2, size), "Embedding: width"),
        (nn.Embedding.one_hot, "Embedding.one_hot: n"),
        (lambda size: nn.LearnedPositions(size, 2), "LearnedPositions: block_size"),
        (lambda size: nn.LearnedPositions(2, size), "LearnedPositions: width"),
        (nn.SinusoidalPositions, "SinusoidalPositions: width"),
        (nn.FeedForward, "FeedForward: d_model"),
        (lambda size: nn.MultiHeadAttention(size, 1), "MultiHeadAttention: d_model"),
        (lambda size: nn.MultiHeadAttention(4, size), "MultiHeadAttention: n_heads"),
        (lambda size: nn.MultiHeadAttention(4, 2, n_kv_heads=size), "MultiHeadAttention: n_kv_heads"),
        (lambda size: nn.GPT(3, size, 2, 1, 1), "GPT: block_size"),
        (lambda size: nn.GPT(3, 4, 2, 1, size), "GPT: n_layers"),
        (nn.Neuron, "Neuron: n_in"),
        (lambda size: nn.Layer(2, size), "Layer: n_out"),
        (lambda size: nn.MLP(2, [3, size]), "Layer: n_out"),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
@pytest.mark.parametrize(("size", "error"), [("a", DataError), (2.0, DataError), (True, DataError), (-1, ShapeError)])
def test_sizes_that_are_none_are_refused_by_the_layer(make, name, size, error):
    with pytest.raises(error, match=f"{name} is an integer from 0 up; got {size!r}"):
        make(size)


def test_sizes_of_a_linear_layer_from_numpy():
    assert nn.Linear(np.int64(2), np.int32(3)).weight.shape == (2, 3)


# --- embeddings ---------------------------------------------------------------------------------------------


def test_the_three_kinds_of_embedding():
    learned = nn.Embedding(4, 3, rng=0)
    learned([1, 1]).sum().backward()
    np.testing.assert_array_equal(learned.weight.grad[1], 2.0)
    fixed = nn.Embedding.fixed([[1, 2], [3, 4]])
    np.testing.assert_array_equal(fixed([1]).data, [[3, 4]])
    assert not fixed.weight.requires_grad
    np.testing.assert_array_equal(nn.Embedding.one_hot(3)([[2], [0]]).data, [[[0, 0, 1]], [[1, 0, 0]]])


@pytest.mark.parametrize("table", [[1.0, 2.0], 1.0, np.ones((2, 2, 2))], ids=["row", "number", "rows of rows"])
def test_a_table_that_is_none_is_refused(table):
    with pytest.raises(ShapeError, match=r"a table is \(tokens, width\), a row for each token; got \("):
        nn.Embedding.fixed(table)


def test_an_unknown_token_is_refused_by_the_layer_that_met_it():
    model = nn.GPT(5, 4, 4, 2, 1, rng=0)
    with pytest.raises(AxisError, match=r"^tokens: Embedding\(5 × 4\).*from 0 to 4; got 7"):
        model([[0, 7]])
    with pytest.raises(DataError, match="integers"):
        model([[0.5]])


def test_positions_are_added():
    x = RNG.normal(size=(2, 3, 4))
    learned = nn.LearnedPositions(5, 4, rng=0)
    np.testing.assert_array_equal(learned(x, start=2).data, x + learned.weight.data[2:5])
    np.testing.assert_allclose(nn.SinusoidalPositions(4)(x), x + nn.functional.sinusoidal_positions(3, 4))


@pytest.mark.parametrize("make", [lambda: nn.SinusoidalPositions(2), lambda: nn.LearnedPositions(4, 2, rng=0)])
def test_positions_take_whole_numbers_and_lists(make):
    layer, x = make(), np.arange(6).reshape(3, 2)
    floats, whole, listed = (layer(given) for given in (x.astype(float), x, x.tolist()))
    difference = [abs(floats - other).sum() for other in (whole, listed)]
    assert [float(total) for total in difference] == [0.0, 0.0]


def test_sines_keep_the_dtype_of_floats():
    assert nn.SinusoidalPositions(2)(np.zeros((3, 2), np.float32)).dtype == np.float32


@pytest.mark.parametrize("turn", [nn.RotaryPositions(), nn.functional.rotate])
def test_turning_what_are_no_tokens_is_refused(turn):
    with pytest.raises(ShapeError, match=r"tokens of shape \(\.\.\., tokens, d\), got an input of shape \(4,\)"):
        turn(np.ones(4))


# --- dropout ------------------------------------------------------------------------------------------------


def test_dropout_drops_only_while_training_and_by_its_seed():
    layer, twin = nn.Dropout(0.5, rng=7), nn.Dropout(0.5, rng=7)
    x = np.ones(1000)
    np.testing.assert_array_equal(layer(x), twin(x))
    assert 400 < np.count_nonzero(layer(x)) < 600
    assert layer.eval()(x) is x
    assert nn.Dropout()(x) is x  # none unless asked for
    with pytest.raises(ValueError, match="below 1"):
        nn.Dropout(1.0)


def test_the_same_mask_serves_forward_and_backward():
    layer = nn.Dropout(0.5, rng=0)
    x = Value(np.ones(50))
    out = layer(x)
    out.sum().backward()
    np.testing.assert_array_equal(x.grad, out.data)


def test_a_block_with_dropout_is_quiet_in_evaluation():
    noisy, quiet = (nn.TransformerBlock(4, 2, dropout=p, rng=0) for p in (0.5, 0.0))
    x = RNG.normal(size=(3, 4))
    assert not np.array_equal(noisy(x).data, noisy(x).data)
    np.testing.assert_array_equal(noisy.eval()(x).data, quiet(x).data)


def test_gradients_through_a_block_with_dropout_agree_with_a_fixed_mask():
    """The same seed drops the same entries, so finite differences see the function that was differentiated."""

    def run(x):
        return nn.TransformerBlock(4, 2, 8, dropout=0.3, activation="gelu", rng=0)(x).sum()

    x = Value(RNG.normal(size=(3, 4)))
    run(x).backward()
    for entry in np.ndindex(3, 4):
        h = np.zeros((3, 4))
        h[entry] = 1e-5
        slope = (run(x.data + h).item() - run(x.data - h).item()) / 2e-5
        assert slope == pytest.approx(x.grad[entry], rel=1e-6, abs=1e-8)


# --- attention ----------------------------------------------------------------------------------------------


def test_heads_work_on_their_own_columns():
    """With identity projections, each head is plain attention on its slice."""
    layer = nn.MultiHeadAttention(4, 2, bias=False, rng=0)
    layer.qkv.weight.data = np.concatenate([np.eye(4)] * 3, axis=1)
    layer.out.weight.data = np.eye(4)
    x = RNG.normal(size=(3, 4))
    parts = [nn.functional.attention(h, h, h) for h in (x[:, :2], x[:, 2:])]
    np.testing.assert_allclose(layer(x).data, np.concatenate(parts, axis=1), rtol=1e-13)


def test_a_batch_of_masks_and_a_mask_for_each_head():
    layer = nn.MultiHeadAttention(4, 2, rng=0)
    x = RNG.normal(size=(2, 3, 4))
    masks = RNG.random((2, 3, 3)) < 0.7
    together = layer(x, mask=masks).data
    for i in range(2):
        np.testing.assert_allclose(together[i], layer(x[i], mask=masks[i]).data, rtol=1e-12)
    np.testing.assert_allclose(layer(x, mask=masks[:, None].repeat(2, axis=1)).data, together, rtol=1e-12)


def test_weights_are_the_attention_map():
    layer = nn.MultiHeadAttention(4, 2, causal=True, rng=0)
    maps = layer.weights(RNG.normal(size=(5, 3, 4)))
    assert type(maps) is np.ndarray and maps.shape == (5, 2, 3, 3)
    np.testing.assert_allclose(maps.sum(-1), 1.0)
    assert not maps[..., np.triu_indices(3, 1)[0], np.triu_indices(3, 1)[1]].any()


def test_a_context_of_the_wrong_width_is_refused():
    with pytest.raises(ShapeError, match=r"a context of shape \(\.\.\., tokens, 6\), got shape \(3, 4\)"):
        nn.MultiHeadAttention(4, 2, d_context=6, rng=0)(np.ones((2, 4)), np.ones((3, 4)))
    with pytest.raises(ShapeError, match="a context to attend to, got none"):
        nn.MultiHeadAttention(4, 2, d_context=6, rng=0)(np.ones((2, 4)))


@pytest.mark.parametrize(
    "arguments, words",
    [((4, 3), "d_model = 4, n_heads = 3"), ((4, 0), "n_heads = 0"), ((8, 4, 3), "got 3 and n_heads = 4")],
)
def test_heads_that_do_not_fit_are_refused(arguments, words):
    d_model, n_heads, *kv = arguments
    with pytest.raises(ValueError, match=words):
        nn.MultiHeadAttention(d_model, n_heads, n_kv_heads=kv[0] if kv else None)


def test_unknown_words_are_refused():
    with pytest.raises(ValueError, match=r"relu, gelu.*swiglu.*got 'rleu'"):
        nn.FeedForward(2, activation="rleu")
    with pytest.raises(ValueError, match="layer, rms; got 'batch'"):
        nn.TransformerBlock(2, 1, norm="batch")
    with pytest.raises(ValueError, match="GPT: norm is one of layer, rms; got 'batch'"):
        nn.GPT(2, 2, 2, 1, n_layers=0, norm="batch")
    with pytest.raises(ValueError, match="learned"):
        nn.GPT(2, 2, 2, 1, 1, positions="none")


# --- shapes at the edge -------------------------------------------------------------------------------------

EDGES = {
    "Linear": lambda: nn.Linear(4, 4, rng=0),
    "LayerNorm": lambda: nn.LayerNorm(4),
    "RMSNorm": lambda: nn.RMSNorm(4),
    "MultiHeadAttention": lambda: nn.MultiHeadAttention(4, 2, causal=True, rng=0),
    "MultiHeadAttention grouped": lambda: nn.MultiHeadAttention(4, 2, n_kv_heads=1, rotary=True, rng=0),
    "FeedForward": lambda: nn.FeedForward(4, rng=0),
    "FeedForward swiglu": lambda: nn.FeedForward(4, activation="swiglu", rng=0),
    "TransformerBlock": lambda: nn.TransformerBlock(4, 2, causal=True, rng=0),
}


@pytest.mark.parametrize("name", EDGES)
@pytest.mark.parametrize("shape", [(0, 3, 4), (2, 1, 4), (1, 1, 4), (2, 0, 3, 4)], ids=str)
def test_empty_batches_and_single_tokens(name, shape):
    layer, x = EDGES[name](), Value(RNG.normal(size=shape))
    out = layer(x)
    assert out.shape == shape
    out.sum().backward()
    assert x.grad.shape == shape
    assert all(p.grad is not None and p.grad.shape == p.shape for p in layer.parameters())


@pytest.mark.parametrize("make", [lambda: nn.TransformerBlock(1, 1, 1, rng=0), lambda: nn.LayerNorm(1)])
def test_a_single_feature(make):
    layer, x = make(), Value(RNG.normal(size=(3, 1)))
    layer(x).sum().backward()
    assert np.isfinite(x.grad).all()


@pytest.mark.parametrize("name", EDGES)
def test_float32_layers_stay_float32(name):
    layer = EDGES[name]()
    for p in layer.parameters():
        p._data = p._data.astype(np.float32)
    x = Value(RNG.normal(size=(2, 3, 4)).astype(np.float32))
    out = layer(x)
    out.sum().backward()
    assert out.dtype == x.grad.dtype == np.float32
    assert {p.grad.dtype for p in layer.parameters()} == {np.dtype(np.float32)}
