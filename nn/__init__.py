"""nn: layers, losses and training on the `autograd` engine.

>>> import nn
>>> model = nn.Sequential(nn.Linear(2, 8, rng=0), nn.functional.relu, nn.Linear(8, 1, rng=1))
>>> model.count()
33
"""

import autograd

from ._clash import check_ours as _check_ours

_check_ours(autograd)

from . import functional, init, io, optim, train  # noqa: E402
from .attention import KeyValues, MultiHeadAttention  # noqa: E402
from .buffer import Buffer  # noqa: E402
from .dropout import Dropout  # noqa: E402
from .embedding import Embedding, LearnedPositions, RotaryPositions, SinusoidalPositions  # noqa: E402
from .feedforward import FeedForward  # noqa: E402
from .interop import from_torch, to_torch  # noqa: E402
from .io import load, save  # noqa: E402
from .linear import Linear  # noqa: E402
from .memory import keep_freed_memory  # noqa: E402
from .module import Module, Parameter, Sequential  # noqa: E402
from .norm import LayerNorm, RMSNorm  # noqa: E402
from .scalar import MLP, Layer, Neuron  # noqa: E402
from .train import fit  # noqa: E402
from .transformer import GPT, TransformerBlock  # noqa: E402

__all__ = [
    "Buffer",
    "Dropout",
    "Embedding",
    "FeedForward",
    "GPT",
    "KeyValues",
    "Layer",
    "LayerNorm",
    "LearnedPositions",
    "Linear",
    "MLP",
    "Module",
    "MultiHeadAttention",
    "Neuron",
    "Parameter",
    "RMSNorm",
    "RotaryPositions",
    "Sequential",
    "SinusoidalPositions",
    "TransformerBlock",
    "fit",
    "from_torch",
    "functional",
    "init",
    "io",
    "keep_freed_memory",
    "load",
    "optim",
    "save",
    "to_torch",
    "train",
]
