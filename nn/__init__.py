"""nn: layers, losses and training on the `autograd` engine.

>>> import nn
>>> model = nn.Sequential(nn.Linear(2, 8, rng=0), nn.functional.relu, nn.Linear(8, 1, rng=1))
>>> model.count()
33

module       Module, Parameter; buffer, containers, printing   functional/   the formulas of the layers
layers/      one file a family; scalar: micrograd's network    init          how parameters start
optim        optimizers, on _cells; schedules                  train         fit, on _steps; history, plot
io           files; checkpoint: a run as a file                interop       weights to and from PyTorch
memory       a setting for long trainings                      _clash        is the package beside ours?
"""

from typing import NoReturn as _NoReturn

import autograd

from ._clash import check_ours as _check_ours

_check_ours(autograd)

from autograd import names as _names  # noqa: E402

from . import functional, init, io, optim, train  # noqa: E402
from .buffer import Buffer  # noqa: E402
from .containers import ModuleDict, ModuleList, Sequential  # noqa: E402
from .init import seed  # noqa: E402
from .interop import from_torch, to_torch  # noqa: E402
from .io import load, save  # noqa: E402
from .layers.activations import (  # noqa: E402
    ELU,
    GELU,
    Flatten,
    Hardtanh,
    Identity,
    LeakyReLU,
    LogSigmoid,
    LogSoftmax,
    ReLU,
    Sigmoid,
    SiLU,
    Softmax,
    Softplus,
    Tanh,
)
from .layers.attention import KeyValues, MultiHeadAttention  # noqa: E402
from .layers.convolution import Conv1d, Conv2d, ConvTranspose1d, ConvTranspose2d  # noqa: E402
from .layers.dropout import Dropout  # noqa: E402
from .layers.embedding import Embedding, LearnedPositions, RotaryPositions, SinusoidalPositions  # noqa: E402
from .layers.feedforward import FeedForward  # noqa: E402
from .layers.linear import Linear  # noqa: E402
from .layers.losses import (  # noqa: E402
    BCELoss,
    BCEWithLogitsLoss,
    CrossEntropyLoss,
    HuberLoss,
    KLDivLoss,
    L1Loss,
    MSELoss,
    NLLLoss,
    SmoothL1Loss,
)
from .layers.norm import BatchNorm1d, BatchNorm2d, GroupNorm, LayerNorm, RMSNorm  # noqa: E402
from .layers.pooling import (  # noqa: E402
    AdaptiveAvgPool1d,
    AdaptiveAvgPool2d,
    AvgPool1d,
    AvgPool2d,
    MaxPool1d,
    MaxPool2d,
)
from .layers.recurrent import GRU, LSTM, RNN, GRUCell, LSTMCell, RNNCell  # noqa: E402
from .layers.transformer import GPT, TransformerBlock  # noqa: E402
from .memory import keep_freed_memory  # noqa: E402
from .module import Module, Parameter  # noqa: E402
from .scalar import MLP, Layer, Neuron  # noqa: E402
from .train import fit  # noqa: E402

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AvgPool1d",
    "AvgPool2d",
    "BCELoss",
    "BCEWithLogitsLoss",
    "BatchNorm1d",
    "BatchNorm2d",
    "Buffer",
    "Conv1d",
    "Conv2d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "CrossEntropyLoss",
    "Dropout",
    "ELU",
    "Embedding",
    "FeedForward",
    "Flatten",
    "GELU",
    "GPT",
    "GRU",
    "GRUCell",
    "GroupNorm",
    "Hardtanh",
    "HuberLoss",
    "Identity",
    "KLDivLoss",
    "KeyValues",
    "L1Loss",
    "LSTM",
    "LSTMCell",
    "Layer",
    "LayerNorm",
    "LeakyReLU",
    "LearnedPositions",
    "Linear",
    "LogSigmoid",
    "LogSoftmax",
    "MLP",
    "MSELoss",
    "MaxPool1d",
    "MaxPool2d",
    "Module",
    "ModuleDict",
    "ModuleList",
    "MultiHeadAttention",
    "NLLLoss",
    "Neuron",
    "Parameter",
    "RMSNorm",
    "RNN",
    "RNNCell",
    "ReLU",
    "RotaryPositions",
    "Sequential",
    "SiLU",
    "Sigmoid",
    "SinusoidalPositions",
    "SmoothL1Loss",
    "Softmax",
    "Softplus",
    "Tanh",
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
    "seed",
    "to_torch",
    "train",
]


def __getattr__(name: str) -> _NoReturn:
    raise _names.missing(__name__, name, _names.NN)
