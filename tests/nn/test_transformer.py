"""GPT: no look into the future, weight tying, seeds, generation with and without a cache, attention maps."""

import copy
import pickle

import numpy as np
import pytest

import nn
from autograd.errors import DataError, ShapeError
from nn.layers.transformer import draw

RNG = np.random.default_rng(0)
KINDS = {
    "learned": {},
    "tied": {"tie_weights": True},
    "sinusoidal": {"positions": "sinusoidal"},
    "rotary, grouped": {"positions": "rotary", "n_kv_heads": 1},
}


def gpt(kind="learned", **more):
    model = nn.GPT(7, 8, 8, 2, 2, rng=0, **KINDS[kind], **more)
    for p in model.parameters():  # larger than GPT-2 starts, so that every token matters to every later one
        p.data = np.random.default_rng(p.size).normal(0, 0.5, p.shape)
    return model


@pytest.mark.parametrize("kind", KINDS)
def test_changing_a_token_changes_no_logits_before_it(kind):
    model = gpt(kind)
    ids = RNG.integers(0, 7, (2, 8))
    logits = model(ids).data
    for t in range(8):
        other = ids.copy()
        other[:, t] = (other[:, t] + 1) % 7
        changed = model(other).data
        np.testing.assert_array_equal(changed[:, :t], logits[:, :t])
        assert (np.abs(changed[:, t:] - logits[:, t:]).max(axis=-1) > 1e-9).all()


def test_no_gradient_comes_from_the_future():
    model = gpt()
    logits = model(RNG.integers(0, 7, 8))
    logits[3].sum().backward()
    assert model.positions.weight.grad[:4].any(axis=-1).all()
    assert not model.positions.weight.grad[4:].any()


def test_the_number_of_parameters():
    assert nn.GPT(65, 64, 128, 4, 4, rng=0, dtype=np.float32).count() == 818_176
    untied, tied = nn.GPT(7, 8, 4, 2, 1), nn.GPT(7, 8, 4, 2, 1, tie_weights=True)
    assert untied.count() - tied.count() == 7 * 4


def test_tied_weights_get_both_gradients():
    model = gpt("tied")
    ids = np.array([[1, 2]])
    model(ids).sum().backward()
    whole = model.tokens.weight.grad.copy()
    # The same model with the two uses of the table apart:
    apart = gpt("learned")
    apart.load_state_dict({**model.state_dict(), "head.weight": model.tokens.weight.data.T.copy()})
    apart(ids).sum().backward()
    np.testing.assert_allclose(whole, apart.tokens.weight.grad + apart.head.weight.grad.T, rtol=1e-12)


def test_the_same_seed_gives_the_same_bits():
    one, two, other = (nn.GPT(7, 8, 4, 2, 2, rng=seed).state_dict() for seed in (3, np.random.default_rng(3), 4))
    assert all(np.array_equal(one[name], two[name]) for name in one)
    assert not np.array_equal(one["tokens.weight"], other["tokens.weight"])


def test_initial_values_follow_gpt2():
    state = nn.GPT(50, 32, 64, 4, 8, rng=0).state_dict()
    assert state["blocks.0.attention.qkv.weight"].std() == pytest.approx(0.02, rel=0.05)
    assert state["blocks.3.feed_forward.down.weight"].std() == pytest.approx(0.02 / 4, rel=0.05)
    assert not state["blocks.0.attention.qkv.bias"].any()


def test_float32_throughout():
    model = nn.GPT(7, 8, 8, 2, 2, rng=0, dtype=np.float32, dropout=0.1, positions="sinusoidal")
    loss = model.loss([[0, 1, 2]], [[1, 2, 3]])
    loss.backward()
    assert loss.dtype == np.float32
    assert {p.grad.dtype for p in model.parameters()} == {np.dtype(np.float32)}
    optimizer = nn.optim.AdamW(model)
    optimizer.step()
    assert {p.dtype for p in model.parameters()} == {np.dtype(np.float32)}


def test_one_sequence_is_a_batch_of_one():
    model = gpt()
    np.testing.assert_allclose(model([1, 2, 3]).data, model([[1, 2, 3]]).data[0], rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_without_layers_generates(kind):
    model = nn.GPT(7, 4, 4, 2, 0, rng=0, **KINDS[kind])
    assert model.generate([1], 8, rng=0).shape == (9,)
    np.testing.assert_array_equal(model.generate([1], 8, rng=0), model.generate([1], 8, rng=0, use_cache=False))


def test_too_long_a_sequence_is_refused():
    with pytest.raises(ShapeError, match=r"at most 8 tokens \(block_size\), got ids of shape \(1, 9\)"):
        gpt()(np.zeros((1, 9), int))
    with pytest.raises(ShapeError, match="after 6 tokens"):
        model = gpt()
        cache = model.new_cache()
        model(np.zeros(6, int), cache)
        model(np.zeros(3, int), cache)


# --- generation ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("pieces", [[1] * 8, [3, 1, 4], [8]], ids=str)
def test_the_cache_gives_the_same_logits(kind, pieces):
    model = gpt(kind).eval()
    ids = RNG.integers(0, 7, (2, 8))
    whole = model(ids).data
    cache, start = model.new_cache(), 0
    for n in pieces:
        part = model(ids[:, start : start + n], cache).data
        np.testing.assert_allclose(part, whole[:, start : start + n], rtol=1e-10, atol=1e-12)
        start += n


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("settings", [{"temperature": 0}, {}, {"temperature": 0.7, "top_k": 3}], ids=str)
def test_generation_is_the_same_with_and_without_the_cache(kind, settings):
    model = gpt(kind)
    for prompt in ([1], [[1, 2], [3, 4]]):
        with_cache = model.generate(prompt, 12, rng=5, **settings)
        without = model.generate(prompt, 12, rng=5, use_cache=False, **settings)
        np.testing.assert_array_equal(with_cache, without)
        assert with_cache.shape == (*np.shape(prompt)[:-1], np.shape(prompt)[-1] + 12)
        np.testing.assert_array_equal(with_cache[..., : np.shape(prompt)[-1]], prompt)


def test_generation_depends_on_its_seed_alone_and_leaves_the_model_alone():
    model = gpt(dropout=0.5).train()
    before = model.state_dict()
    assert np.array_equal(model.generate([1], 6, rng=1), model.generate([1], 6, rng=1))
    assert np.array_equal(model.generate([1], 6, seed=1), model.generate([1], 6, rng=np.random.default_rng(1)))
    assert not np.array_equal(model.generate([1], 30, rng=1), model.generate([1], 30, rng=2))
    assert model.training and all(p.grad is None for p in model.parameters())
    assert all(np.array_equal(before[k], v) for k, v in model.state_dict().items())


@pytest.mark.parametrize("n", [-1, 2.5, "3"])
def test_how_many_tokens_follow_is_a_whole_number(n):
    with pytest.raises(DataError, match="how many tokens follow, is an integer from 0 up; got"):
        gpt().generate([1], n)


def test_stop_ends_a_sequence():
    model = gpt()
    words = model.generate([[1], [2], [3]], 60, rng=0, stop=0)
    for word in words:
        ends = np.flatnonzero(word[1:] == 0)
        if len(ends):
            assert not word[1 + ends[0] :].any()
    assert words.shape[1] < 61


def test_drawing_follows_the_probabilities():
    logits = np.log(np.array([0.5, 0.3, 0.2]))
    rng = np.random.default_rng(0)
    counts = np.bincount(draw(np.tile(logits, (20_000, 1)), 1.0, None, rng), minlength=3) / 20_000
    np.testing.assert_allclose(counts, [0.5, 0.3, 0.2], atol=0.015)
    assert set(draw(np.tile(logits, (500, 1)), 1.0, 2, rng)) == {0, 1}
    assert (draw(np.tile(logits, (50, 1)), 0, None, rng) == 0).all()


@pytest.mark.parametrize("prompt", [[], [[]], [0.5], 3, [[[1]]]], ids=str)
def test_a_wrong_prompt_is_refused(prompt):
    with pytest.raises(DataError, match="integers"):
        gpt().generate(prompt, 2)


def test_wrong_settings_are_refused():
    with pytest.raises(ValueError, match="temperature"):
        gpt().generate([1], 2, temperature=-1)
    with pytest.raises(ValueError, match="top_k"):
        gpt().generate([1], 2, top_k=0)
    with pytest.raises(TypeError, match="seed=, an integer, or rng=, a Generator; got both"):
        gpt().generate([1], 2, seed=1, rng=1)


def test_the_attention_maps_are_those_that_made_the_logits():
    model = gpt(dropout=0.5)
    ids = RNG.integers(0, 7, (2, 5))
    maps = model.attention_maps(ids)
    assert all(module.training for _, module in model.named_modules())  # as they were
    model.eval()
    x = model.positions(model.tokens(ids)).data
    for block, weights in zip(model.blocks, maps, strict=True):
        values = np.split(block.attention.qkv(block.norm1(x)).data[..., 16:], 2, axis=-1)  # after queries and keys
        x = x + block.attention.out(np.concatenate([weights[:, i] @ values[i] for i in range(2)], axis=-1)).data
        x = x + block.feed_forward(block.norm2(x)).data
    np.testing.assert_allclose(model.head(model.norm(x)).data, model(ids).data, rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_an_attention_map_has_a_row_of_weights_for_each_token(kind):
    for weights in gpt(kind).attention_maps([1, 2, 3]):
        assert weights.shape == (2, 3, 3)
        np.testing.assert_allclose(weights.sum(axis=-1), 1.0, rtol=1e-14)
        assert not np.triu(weights, 1).any()


@pytest.mark.slow
@pytest.mark.parametrize("options", [
    {}, {"positions": "rotary", "n_kv_heads": 2}, {"positions": "sinusoidal", "norm": "rms", "dropout": 0.3},
], ids=["learned", "rotary", "sinusoidal"])  # fmt: skip
def test_generation_by_a_program_draws_the_same_tokens(options):
    model = nn.GPT(11, 10, 8, 4, 2, rng=0, **options)
    for prompt, settings in (([1, 2, 3], {}), ([[1, 2], [3, 4]], {"temperature": 0}), ([5], {"use_cache": False}),
                             (np.arange(11), {"top_k": 3}), ([[1], [2]], {"stop": 4})):  # fmt: skip
        want = model.generate(prompt, 14, seed=1, **settings)  # beyond the block too
        np.testing.assert_array_equal(model.generate(prompt, 14, seed=1, compile=True, **settings), want)
    shapes = {f.__name__: len(program._versions()) for (f, _), program in vars(model)["_programs"].items()}
    assert shapes == {"_one_more": 2, "_whole_block": 2}  # one for a sequence, one for a batch of two; none a token


def test_generation_by_a_program_follows_the_weights_and_leaves_copies_alone():
    model = nn.GPT(11, 10, 8, 2, 1, rng=0)
    model.generate([1], 5, seed=0, compile=True)
    for parameter in model.parameters():
        parameter.data = parameter.data * 3.0
    np.testing.assert_array_equal(model.generate([1], 5, seed=0, compile=True), model.generate([1], 5, seed=0))
    twin = pickle.loads(pickle.dumps(copy.deepcopy(model)))
    np.testing.assert_array_equal(twin.generate([1], 5, seed=0, compile=True), model.generate([1], 5, seed=0))
