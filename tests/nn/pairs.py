"""Layers of ours and the modules of torch.nn that they exchange weights with."""

import numpy as np

import nn
from nn import functional as F


def block(torch, **settings):
    return torch.nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True, **settings)


# ours, theirs (given torch), the shape of an input, how torch's module is called
PAIRS = {
    "Linear": (lambda: nn.Linear(4, 3), lambda t: t.nn.Linear(4, 3)),
    "Linear without bias": (lambda: nn.Linear(4, 3, bias=False), lambda t: t.nn.Linear(4, 3, bias=False)),
    "LayerNorm": (lambda: nn.LayerNorm(4), lambda t: t.nn.LayerNorm(4)),
    "RMSNorm": (lambda: nn.RMSNorm(4), lambda t: t.nn.RMSNorm(4, eps=1e-5)),
    "MultiheadAttention": (lambda: nn.MultiHeadAttention(4, 2),
                           lambda t: t.nn.MultiheadAttention(4, 2, batch_first=True)),
    "MultiheadAttention without bias": (lambda: nn.MultiHeadAttention(4, 2, bias=False),
                                        lambda t: t.nn.MultiheadAttention(4, 2, bias=False, batch_first=True)),
    "TransformerEncoderLayer": (lambda: nn.TransformerBlock(4, 2, 8, pre_norm=False), lambda t: block(t)),
    "TransformerEncoderLayer, norm first": (lambda: nn.TransformerBlock(4, 2, 8),
                                            lambda t: block(t, norm_first=True)),
    "TransformerEncoderLayer, gelu": (lambda: nn.TransformerBlock(4, 2, 8, activation="gelu"),
                                      lambda t: block(t, norm_first=True, activation="gelu")),
    "Sequential": (lambda: nn.Sequential(nn.Linear(4, 5), F.relu, nn.LayerNorm(5)),
                   lambda t: t.nn.Sequential(t.nn.Linear(4, 5), t.nn.ReLU(), t.nn.LayerNorm(5))),
}  # fmt: skip


def run_theirs(theirs, x):
    """torch's attention wants its input three times; everything else once."""
    return theirs(x, x, x, need_weights=False)[0] if type(theirs).__name__ == "MultiheadAttention" else theirs(x)


def recorded(torch, name):
    """The state dict of a torch module with random weights, an input, and its output."""
    torch.manual_seed(0)
    theirs = PAIRS[name][1](torch).double()
    for p in theirs.parameters():
        torch.nn.init.normal_(p, 0, 0.5)
    x = np.random.default_rng(3).normal(size=(2, 3, 4))
    found = {f"state.{key}": tensor.numpy() for key, tensor in theirs.state_dict().items()}
    return found | {"x": x, "out": run_theirs(theirs, torch.tensor(x)).detach().numpy()}
