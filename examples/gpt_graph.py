"""The training step of a GPT of four blocks, as a graph to draw: what the seven examples grow into."""

from __future__ import annotations

import numpy as np

import nn
from autograd import Value

DRAWINGS = {
    "graph.svg": {"collapse": 1},
    "graph_flow.svg": {"collapse": 1, "flow": True},
    "graph.html": {"collapse": 1},
}


def graph(n_layers: int = 4, d_model: int = 128, seed: int = 0) -> Value:
    """The loss of a GPT on random tokens, after its backward pass."""
    tokens = np.random.default_rng(seed).integers(0, 65, (4, 33))
    model = nn.GPT(vocab_size=65, block_size=64, d_model=d_model, n_heads=4, n_layers=n_layers, rng=seed)
    loss = nn.functional.cross_entropy(model(tokens[:, :-1]), tokens[:, 1:])
    loss.name = "loss"
    loss.backward()
    return loss
