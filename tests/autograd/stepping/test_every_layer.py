"""A stepper of every layer of `nn`: its steps end where backward() ends, and its page is written."""

import json
import re

import numpy as np
import pytest

import nn
from autograd import Value, step
from autograd.stepping.page.packing import unpacked
from tests.sweep import slow_but

CAUSAL = "causal"
LAYERS = {
    "linear": (lambda: nn.Linear(4, 3, rng=0), ()),
    "layer norm": (lambda: nn.LayerNorm(4), ()),
    "rms norm": (lambda: nn.RMSNorm(4), ()),
    "feed forward": (lambda: nn.FeedForward(4, 6, rng=0), ()),
    "attention": (lambda: nn.MultiHeadAttention(4, 2, rng=0), ()),
    "causal attention": (lambda: nn.MultiHeadAttention(4, 2, rng=0), (CAUSAL,)),
    "one head": (lambda: nn.MultiHeadAttention(4, 1, rng=0), ()),
    "block": (lambda: nn.TransformerBlock(4, 2, rng=0), ()),
    "causal block": (lambda: nn.TransformerBlock(4, 2, rng=0), (CAUSAL,)),
}
SHAPES = {"rank 2": (3, 4), "rank 3": (2, 2, 4)}


def panels(stepper):
    page = stepper.html()
    data = json.loads(re.search(r'<script id="hg-data"[^>]*>(.*?)</script>', page, re.S)[1])
    return [one["panel"] for one in unpacked(data)[0]["steps"]]


@pytest.mark.parametrize("shape", slow_but(SHAPES, ["rank 2"]))
@pytest.mark.parametrize("layer", slow_but(LAYERS, ["linear", "feed forward"]))
def test_a_layer(layer, shape):
    make, how = LAYERS[layer]
    module = make()
    x = Value(np.random.default_rng(0).normal(size=SHAPES[shape]), name="x")
    given = {"mask": how[0]} if how else {}
    loss = (module(x, **given) ** 2).sum()
    stepper = step(loss)
    loss.backward()
    for leaf in (x, *module.parameters()):
        np.testing.assert_array_equal(stepper.ledger(leaf).total, leaf.grad)
    assert len(panels(stepper)) == len(stepper)
    assert "attention" not in layer or any("softmax" in str(one) for one in stepper)


@pytest.mark.slow
@pytest.mark.parametrize("n_layers", [1, 2])
def test_a_gpt(n_layers):
    gpt = nn.GPT(vocab_size=5, block_size=3, d_model=4, n_heads=2, n_layers=n_layers, rng=0)
    ids = np.array([[1, 2, 3]])
    loss = nn.functional.cross_entropy(gpt(ids), np.array([[2, 3, 4]]))
    stepper = step(loss)
    loss.backward()
    for leaf in gpt.parameters():
        np.testing.assert_array_equal(stepper.ledger(leaf).total, leaf.grad)
    text = "".join(panels(stepper))
    assert "softmax" in text and "pull_" not in text
