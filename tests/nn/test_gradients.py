"""Every formula and layer against finite differences, to second order where it is smooth."""

import numpy as np
import pytest

import nn
from nn import functional as F
from tests.nn.derivatives import judge, pure
from tests.sweep import slow_but

RNG = np.random.default_rng(0)


def draw(*shape, low=-1.5, high=1.5):
    return RNG.uniform(low, high, shape)


SEES = np.array([[True, False], [True, True], [False, False]])  # the last query sees nothing
ADDED = np.array([[0.0, -1.0], [0.5, 0.0], [0.0, -np.inf]])
TARGETS = np.array([2, 0, 1])

SMOOTH = {
    "softmax": (F.softmax, [draw(2, 3)]),
    "log_softmax": (F.log_softmax, [draw(2, 3)]),
    "attention_weights": (F.attention_weights, [draw(3, 2), draw(2, 2)]),
    "attention": (F.attention, [draw(3, 2), draw(2, 2), draw(2, 2)]),
    "attention, boolean mask": (lambda q, k, v: F.attention(q, k, v, SEES), [draw(3, 2), draw(2, 2), draw(2, 2)]),
    "attention, additive mask": (lambda q, k, v: F.attention(q, k, v, ADDED), [draw(3, 2), draw(2, 2), draw(2, 2)]),
    "attention, causal": (lambda q, k, v: F.attention(q, k, v, "causal"), [draw(2, 3, 2) for _ in range(3)]),
    "layer_norm": (F.layer_norm, [draw(2, 3), draw(3), draw(3)]),
    "rms_norm": (F.rms_norm, [draw(2, 3), draw(3)]),
    "feed_forward": (lambda *xs: F.feed_forward(*xs, activation=F.gelu),
                     [draw(2, 2), draw(2, 3), draw(3), draw(3, 2), draw(2)]),
    "swiglu": (F.swiglu, [draw(2, 2), draw(2, 3), draw(2, 3), draw(3, 2)]),
    "gelu": (F.gelu, [draw(5)]),
    "gelu tanh": (lambda x: F.gelu(x, approximate="tanh"), [draw(5)]),
    "dropout": (lambda x: F.dropout(x * x, 0.5, rng=3), [draw(6)]),
    "embedding": (lambda table: F.embedding(table * table, [2, 0, 2]), [draw(3, 2)]),
    "rotate": (F.rotate, [draw(3, 4)]),
    "split_heads": (lambda x: F.split_heads(x * x, 2), [draw(3, 4)]),
    "merge_heads": (lambda x: F.merge_heads(x * x), [draw(2, 3, 2)]),
    "cross_entropy": (lambda z: F.cross_entropy(z, TARGETS), [draw(3, 4)]),
    "cross_entropy, ignored": (lambda z: F.cross_entropy(z, TARGETS, ignore_index=2), [draw(3, 4)]),
    "cross_entropy, smoothed": (lambda z: F.cross_entropy(z, TARGETS, label_smoothing=0.2, reduction="none"),
                                [draw(3, 4)]),
    "cross_entropy, probabilities": (lambda z, y: F.cross_entropy(z, y), [draw(3, 4), draw(3, 4, low=0.1, high=1.0)]),
    "binary_cross_entropy": (lambda p: F.binary_cross_entropy(p, [1.0, 0.0, 0.3]), [draw(3, low=0.2, high=0.8)]),
    "binary_cross_entropy_with_logits": (lambda z: F.binary_cross_entropy_with_logits(z, [1.0, 0.0, 0.3]), [draw(3)]),
    "mse": (F.mse, [draw(2, 3), draw(2, 3)]),
}  # fmt: skip

IDS = np.array([[1, 0, 1], [2, 2, 0]])

LAYERS = {
    "Linear": (lambda: nn.Linear(3, 2, rng=0), [draw(2, 3)]),
    "Linear, rank 3": (lambda: nn.Linear(2, 2, rng=0), [draw(2, 2, 2)]),
    "LayerNorm": (lambda: nn.LayerNorm(3), [draw(2, 3)]),
    "LayerNorm, rank 3": (lambda: nn.LayerNorm(3), [draw(2, 2, 3)]),
    "RMSNorm": (lambda: nn.RMSNorm(3), [draw(2, 3)]),
    "MultiHeadAttention": (lambda: nn.MultiHeadAttention(4, 2, rng=0), [draw(2, 4)]),
    "MultiHeadAttention, causal": (lambda: nn.MultiHeadAttention(2, 1, causal=True, rng=0), [draw(2, 3, 2)]),
    "MultiHeadAttention, grouped": (lambda: nn.MultiHeadAttention(4, 2, n_kv_heads=1, rng=0), [draw(2, 4)]),
    "MultiHeadAttention, rotary": (lambda: nn.MultiHeadAttention(4, 2, rotary=True, rng=0), [draw(3, 4)]),
    "MultiHeadAttention, cross": (lambda: nn.MultiHeadAttention(2, 1, d_context=3, rng=0), [draw(2, 2), draw(3, 3)]),
    "FeedForward, gelu": (lambda: nn.FeedForward(2, 3, "gelu", rng=0), [draw(2, 2)]),
    "FeedForward, swiglu": (lambda: nn.FeedForward(2, 3, "swiglu", rng=0), [draw(2, 2)]),
    "TransformerBlock, pre-norm": (lambda: nn.TransformerBlock(3, 1, 2, activation="gelu", rng=0), [draw(2, 3)]),
    "TransformerBlock, post-norm": (lambda: nn.TransformerBlock(3, 1, 2, activation="tanh", pre_norm=False, rng=0),
                                    [draw(2, 3)]),
    "Sequential": (lambda: nn.Sequential(nn.Linear(2, 3, rng=0), F.tanh, nn.Linear(3, 1, rng=1)), [draw(2, 2)]),
    "LearnedPositions": (lambda: nn.LearnedPositions(3, 2, rng=0), [draw(2, 2)]),
}  # fmt: skip


@pytest.mark.parametrize("name", SMOOTH)
def test_a_formula(name):
    f, xs = SMOOTH[name]
    judge(f, xs, name)


SLOW = {"MultiHeadAttention, rotary", "TransformerBlock, post-norm", "TransformerBlock, pre-norm"}


@pytest.mark.parametrize("name", slow_but(LAYERS, LAYERS.keys() - SLOW))
def test_a_layer(name):
    make, xs = LAYERS[name]
    f, parameters = pure(make())
    rng = np.random.default_rng(1)
    judge(f, [p + rng.normal(0, 0.3, p.shape) for p in parameters] + xs, name)


@pytest.mark.slow
def test_a_whole_gpt():
    model = nn.GPT(3, 4, 4, 2, 1, rng=0, tie_weights=True)
    f, parameters = pure(model, lambda model: model(IDS))
    rng = np.random.default_rng(1)
    judge(f, [p + rng.normal(0, 0.3, p.shape) for p in parameters], "GPT", second=False)


def test_away_from_the_kink_relu_layers_agree_too():
    f, parameters = pure(nn.FeedForward(2, 3, "relu", rng=0))
    judge(f, [*parameters, np.array([[0.7, -0.4], [0.2, 0.9]])], "FeedForward, relu")


def test_the_judge_refuses_a_wrong_gradient():
    def wrong(x, w):
        return F.linear(x, w.detach() if hasattr(w, "detach") else w)

    with pytest.raises(AssertionError):
        judge(wrong, [draw(2, 3), draw(3, 2)], "a lost path")
