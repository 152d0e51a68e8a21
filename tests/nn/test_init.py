"""Starting values: seeded, of the right spread, and in the asked precision."""

import numpy as np
import pytest

import nn
from nn import init


@pytest.mark.parametrize("make", [
    lambda rng: nn.Linear(3, 4, rng=rng), lambda rng: nn.Embedding(3, 4, rng=rng),
    lambda rng: nn.MultiHeadAttention(4, 2, rng=rng), lambda rng: nn.FeedForward(4, rng=rng),
    lambda rng: nn.TransformerBlock(4, 2, rng=rng), lambda rng: nn.LearnedPositions(3, 4, rng=rng),
])  # fmt: skip
def test_a_seed_fixes_every_bit_and_no_seed_fixes_none(make):
    one, two, other, loose = (make(rng).state_dict() for rng in (5, np.random.default_rng(5), 6, None))
    assert all(np.array_equal(one[name], two[name]) for name in one)
    for different in (other, loose):
        assert any(not np.array_equal(one[name], different[name]) for name in one)


def test_these_bits_are_the_same_on_every_run():
    assert nn.Linear(2, 2, rng=0).weight.data[0, 0] == 0.19369307573550387


def test_one_generator_serves_layer_after_layer():
    rng = np.random.default_rng(0)
    assert not np.array_equal(nn.Linear(2, 2, rng=rng).weight.data, nn.Linear(2, 2, rng=rng).weight.data)


def test_spreads():
    assert init.he(0, 400, 300).std() == pytest.approx((2 / 400) ** 0.5, rel=0.02)
    assert np.abs(init.glorot(0, 400, 200)).max() == pytest.approx(0.1, rel=0.01)
    assert np.abs(init.linear(0, 100, 200)).max() == pytest.approx(0.1, rel=0.01)
    assert init.normal(0, (200, 200), 3.0).std() == pytest.approx(3.0, rel=0.02)
    assert init.normal(0, (2,), dtype=np.float32).dtype == np.float32


def test_something_else_is_refused():
    with pytest.raises(TypeError, match="a seed"):
        nn.Linear(2, 2, rng="seed")
