"""The formulas, as pure functions: every layer is parameters plus one of these.

Each takes Values or plain arrays (Values in, Values out; arrays in, arrays out), row vectors throughout: a token is a
row, a layer is `x @ W + b`. Leading axes are batches. Shapes are written (batch..., tokens, width).

    tokens.py       attention, feed-forward layers, embeddings, positions, dropout
    images.py       convolutions, pooling, norms of channels, with torch's arguments
    activations.py  functions of each number
    losses.py       losses
    checks.py       what they all accept
"""

from typing import NoReturn as _NoReturn

from autograd import gelu, layer_norm, linear, log_softmax, relu, rms_norm, self_attention, sigmoid, silu, softmax, tanh
from autograd import names as _names

from .activations import (
    elu,
    hardtanh,
    leaky_relu,
    logsigmoid,
    softplus,
)
from .images import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    avg_pool1d,
    avg_pool2d,
    batch_norm,
    conv1d,
    conv2d,
    conv_transpose1d,
    conv_transpose2d,
    group_norm,
    max_pool1d,
    max_pool2d,
)
from .losses import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cross_entropy,
    huber_loss,
    kl_div,
    l1_loss,
    mse,
    mse_loss,
    nll_loss,
    smooth_l1_loss,
)
from .tokens import (
    attention,
    attention_weights,
    causal_mask,
    dropout,
    embedding,
    feed_forward,
    merge_heads,
    one_hot,
    rotate,
    sinusoidal_positions,
    split_heads,
    swiglu,
)

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "attention",
    "attention_weights",
    "avg_pool1d",
    "avg_pool2d",
    "batch_norm",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "causal_mask",
    "conv1d",
    "conv2d",
    "conv_transpose1d",
    "conv_transpose2d",
    "cross_entropy",
    "dropout",
    "elu",
    "embedding",
    "feed_forward",
    "gelu",
    "group_norm",
    "hardtanh",
    "huber_loss",
    "kl_div",
    "l1_loss",
    "layer_norm",
    "leaky_relu",
    "linear",
    "log_softmax",
    "logsigmoid",
    "max_pool1d",
    "max_pool2d",
    "merge_heads",
    "mse",
    "mse_loss",
    "nll_loss",
    "one_hot",
    "relu",
    "rms_norm",
    "rotate",
    "self_attention",
    "sigmoid",
    "silu",
    "sinusoidal_positions",
    "smooth_l1_loss",
    "softmax",
    "softplus",
    "split_heads",
    "swiglu",
    "tanh",
]


def __getattr__(name: str) -> _NoReturn:
    raise _names.missing(__name__, name, _names.FUNCTIONAL)
