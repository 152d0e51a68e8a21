"""The formulas, as pure functions: every layer is parameters plus one of these.

Each takes Values or plain arrays (Values in, Values out; arrays in, arrays out), row vectors throughout: a token is a
row, a layer is `x @ W + b`. Leading axes are batches. Shapes are written (batch..., tokens, width).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import autograd as ag
from autograd import gelu, layer_norm, linear, log_softmax, relu, rms_norm, sigmoid, silu, softmax, tanh
from autograd.errors import AxisError, DataError, ShapeError
from autograd.modes import drawn, plain_data
from autograd.ops.rows import is_whole
from autograd.plain import as_array

from .init import generator

__all__ = [
    "attention",
    "attention_weights",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "causal_mask",
    "cross_entropy",
    "dropout",
    "embedding",
    "feed_forward",
    "gelu",
    "layer_norm",
    "linear",
    "log_softmax",
    "merge_heads",
    "mse",
    "one_hot",
    "relu",
    "rms_norm",
    "rotate",
    "sigmoid",
    "silu",
    "sinusoidal_positions",
    "softmax",
    "split_heads",
    "swiglu",
    "tanh",
]

Array = Any  # a Value, or whatever NumPy makes an array of


# --- attention ----------------------------------------------------------------------------------------------


def attention_weights(q: Array, k: Array, mask: Any = None) -> Array:
    """How much each query looks at each key: `softmax(q @ kᵀ / √d)`, a row of weights for each query.

    q (..., queries, d), k (..., keys, d) → (..., queries, keys). A mask is boolean (True: may attend),
    numbers to add to the scores, or "causal". A query that may attend to nothing gets a row of zeros.

    >>> attention_weights(np.eye(2), np.eye(2), mask="causal").round(4)
    array([[1.    , 0.    ],
           [0.3302, 0.6698]])
    """
    return ag.attention_weights(_array(q), _array(k), mask)


def attention(q: Array, k: Array, v: Array, mask: Any = None) -> Array:
    """Each query's weighted mean of the values: `attention_weights(q, k, mask) @ v`, as one node.

    q (..., queries, d), k (..., keys, d), v (..., keys, d_v) → (..., queries, d_v).

    >>> attention(np.zeros((1, 2)), np.eye(2), np.array([[1.0, 0.0], [3.0, 4.0]]))
    array([[2., 2.]])
    """
    return ag.attention(_array(q), _array(k), _array(v), mask)


def causal_mask(queries: int, keys: int | None = None) -> np.ndarray:
    """True where a query may look: at itself and what came before. The queries are the last of the keys.

    >>> causal_mask(2, 3)
    array([[ True,  True, False],
           [ True,  True,  True]])
    """
    keys = queries if keys is None else keys
    return np.tri(queries, keys, keys - queries, dtype=bool)


def split_heads(x: Array, n_heads: int) -> Array:
    """(..., tokens, heads · d) → (..., heads, tokens, d): each head gets its own columns.

    >>> split_heads(np.arange(4.0).reshape(1, 4), 2).tolist()
    [[[0.0, 1.0]], [[2.0, 3.0]]]
    """
    *lead, tokens, width = np.shape(x)
    return ag.swapaxes(ag.reshape(x, (*lead, tokens, n_heads, width // n_heads)), -3, -2)


def merge_heads(x: Array) -> Array:
    """(..., heads, tokens, d) → (..., tokens, heads · d): what undoes `split_heads`.

    >>> merge_heads(np.array([[[0.0, 1.0]], [[2.0, 3.0]]])).tolist()
    [[0.0, 1.0, 2.0, 3.0]]
    """
    *lead, heads, tokens, width = np.shape(x)
    return ag.reshape(ag.swapaxes(x, -3, -2), (*lead, tokens, heads * width))


# --- around attention ---------------------------------------------------------------------------------------


def feed_forward(x: Array, w1: Array, b1: Array, w2: Array, b2: Array, activation: Callable[..., Any] = relu) -> Array:
    """Two linear layers with a nonlinearity between: `activation(x @ w1 + b1) @ w2 + b2`, row by row.

    x (..., d), w1 (d, hidden), w2 (hidden, d) → (..., d).

    >>> feed_forward(np.array([1.0, -2.0]), np.eye(2), np.zeros(2), np.eye(2), np.ones(2))
    array([2., 1.])
    """
    return linear(activation(linear(x, w1, b1)), w2, b2)


def swiglu(x: Array, w_gate: Array, w_up: Array, w_down: Array) -> Array:
    """The gated feed-forward layer: `(silu(x @ w_gate) * (x @ w_up)) @ w_down`.

    >>> swiglu(np.array([0.0, 1.0]), np.eye(2), np.eye(2), np.eye(2)).round(4)
    array([0.    , 0.7311])
    """
    x = _array(x)
    return (silu(x @ w_gate) * (x @ w_up)) @ w_down


def dropout(x: Array, p: float, rng: Any = None) -> Array:
    """x with each entry zeroed with probability p, and the others scaled by 1/(1-p), so that the mean stays.

    >>> dropout(np.ones(6), 0.5, rng=0)
    array([2., 0., 0., 0., 2., 2.])
    """
    if not 0.0 <= p < 1.0:
        raise ValueError(f"dropout: p is a probability below 1, got {p}")
    if p == 0.0:
        return x
    x = _array(x)
    shape, dtype = np.shape(x), x.dtype

    def mask(source: np.random.Generator) -> np.ndarray:
        return ((source.random(shape) >= p) / (1.0 - p)).astype(dtype)

    source = generator(rng)
    return x * (mask(source) if isinstance(rng, int | np.integer) else drawn(mask, source))  # a seed: always the same


def embedding(table: Array, ids: Any) -> Array:
    """The rows of a table: ids (...) of whole numbers → (..., width).

    >>> embedding(np.array([[1.0, 2.0], [3.0, 4.0]]), [1, 0, 1]).tolist()
    [[3.0, 4.0], [1.0, 2.0], [3.0, 4.0]]
    """
    return ag.take(_array(table), as_ids("embedding", ids, np.shape(table)[0]), axis=0)


def one_hot(ids: Any, n: int, dtype: Any = np.float64) -> np.ndarray:
    """A row of n numbers for each id: 1 at the id, 0 elsewhere.

    >>> one_hot([2, 0], 3)
    array([[0., 0., 1.],
           [1., 0., 0.]])
    """
    return np.eye(n, dtype=dtype)[as_ids("one_hot", ids, n)]


def sinusoidal_positions(tokens: int, width: int, start: Any = 0) -> Any:
    """The fixed position table of "Attention is all you need": sin and cos of t / 10000^(2i/width), side by side.

    >>> sinusoidal_positions(2, 4).round(4)
    array([[0.    , 1.    , 0.    , 1.    ],
           [0.8415, 0.5403, 0.01  , 1.    ]])
    """
    angles = (start + np.arange(tokens))[:, None] / 10000.0 ** (np.arange(0, width, 2) / width)
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(tokens, -1)[:, :width]


def rotate(x: Array, start: Any = 0, base: float = 10000.0) -> Array:
    """Rotary positions: token t's pairs (xᵢ, xᵢ₊d/2) turned by the angle t / base^(2i/d), t counted from `start`.

    x (..., tokens, d), d even. The product of a turned query and a turned key depends only on how far apart they are.

    >>> rotate(np.array([[1.0, 0.0], [1.0, 0.0]])).round(4)
    array([[1.    , 0.    ],
           [0.5403, 0.8415]])
    """
    x = _array(x)
    if np.ndim(x) < 2:
        raise ShapeError(f"rotate expected tokens of shape (..., tokens, d), got an input of shape {np.shape(x)}")
    tokens, width = np.shape(x)[-2:]
    if width % 2:
        raise ShapeError(f"rotate: rotary positions turn pairs, so the width must be even; got {np.shape(x)}")
    half = width // 2
    angles = (start + np.arange(tokens))[:, None] / base ** (np.arange(half) / half)
    cos, sin = np.cos(angles).astype(x.dtype), np.sin(angles).astype(x.dtype)
    a, b = x[..., :half], x[..., half:]
    return ag.concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1)


# --- losses -------------------------------------------------------------------------------------------------


def cross_entropy(
    logits: Array, targets: Any, *, weight: Any = None, ignore_index: int | None = None, label_smoothing: float = 0.0,
    reduction: str = "mean",
) -> Array:  # fmt: skip
    """The surprise at the right class: `-log softmax(logits)[target]`, the classes on the last axis.

    logits (..., classes); targets (...) of whole numbers, or (..., classes) of probabilities. Entries equal
    to `ignore_index` count for nothing; "mean" is over the others. With label smoothing s, the target is
    `(1 - s) · target + s / classes`. `weight` has one number a class, which multiplies that class's part of the loss;
    as in torch, "mean" then divides by the sum of the targets' weights, but by their number for probabilities.

    >>> cross_entropy(np.array([[0.0, 0.0], [0.0, np.log(3)]]), [0, 1], reduction="none").round(4)
    array([0.6931, 0.2877])
    >>> cross_entropy(np.array([[0.0, 0.0], [0.0, np.log(3)]]), [0, 1], weight=[1.0, 3.0], reduction="none").round(4)
    array([0.6931, 0.863 ])
    """
    logits = _array(logits)
    if weight is not None:
        weight = _class_weights(weight, logits)
    if not 0.0 <= label_smoothing <= 1.0:
        raise ValueError(f"cross_entropy: label_smoothing is between 0 and 1, got {label_smoothing}")
    if np.ndim(targets) != np.ndim(logits):
        if weight is not None:
            return _weighted(logits, targets, weight, ignore_index, label_smoothing, reduction)
        return ag.cross_entropy(
            logits, targets, reduction=reduction, ignore_index=ignore_index, label_smoothing=label_smoothing
        )
    if ignore_index is not None:
        raise ValueError("cross_entropy: ignore_index goes with targets that are whole numbers, not probabilities")
    targets = _like(targets, logits) * (1.0 - label_smoothing) + label_smoothing / np.shape(logits)[-1]
    if weight is not None:
        targets = targets * weight
    return reduced(-ag.sum(targets * log_softmax(logits), axis=-1), reduction)


def _weighted(
    logits: Array, targets: Any, weight: Any, ignore_index: int | None, label_smoothing: float, reduction: str
) -> Array:
    """The cross entropy of whole numbers with a weight for each class."""
    losses = ag.cross_entropy(logits, targets, reduction="none", ignore_index=ignore_index)
    targets = targets if is_whole(targets) else np.asarray(plain_data(targets, "np.asarray(v)")).astype(np.intp)
    counted = np.ones(targets.shape, bool) if ignore_index is None else ag.not_equal(targets, ignore_index)
    weights = ag.where(counted, ag.take(weight, ag.where(counted, targets, 0)), 0.0)
    losses = weights * losses
    if label_smoothing:
        rest = -ag.sum(weight * log_softmax(logits), axis=-1) / np.shape(logits)[-1]
        losses = (1.0 - label_smoothing) * losses + label_smoothing * ag.where(counted, rest, 0.0)
    if reduction != "mean":
        return reduced(losses, reduction)
    return ag.sum(losses) / (ag.where(ag.any(counted), ag.sum(weights), 1.0))


def _class_weights(weight: Any, logits: Array) -> Any:
    """The weights of the classes, in the dtype of the logits."""
    classes = np.shape(logits)[-1:]
    if not isinstance(weight, ag.Value):
        weight = np.asarray(as_array(weight), dtype=logits.dtype)
    if np.shape(weight) != classes:
        raise ShapeError(
            f"cross_entropy: weight has one number for each class, shape {classes}; got {np.shape(weight)}"
        )
    return weight


def binary_cross_entropy(p: Array, y: Any, *, reduction: str = "mean") -> Array:
    """`-(y log p + (1-y) log(1-p))` for probabilities p; a logarithm stops at -100, so that 0 and 1 stay finite.

    >>> binary_cross_entropy(np.array([0.5, 1.0, 0.0]), np.array([1.0, 1.0, 1.0]), reduction="none").round(4)
    array([  0.6931,   0.    , 100.    ])
    """
    p = _array(p)
    _check_probabilities(p)
    y = _like(y, p)
    log_p, log_not_p = (ag.log(ag.maximum(x, math.exp(-100.0))) for x in (p, 1.0 - p))
    return reduced(y * -log_p + (1.0 - y) * -log_not_p, reduction)


def binary_cross_entropy_with_logits(z: Array, y: Any, *, pos_weight: Any = None, reduction: str = "mean") -> Array:
    """`binary_cross_entropy(sigmoid(z), y)`, exact also where the sigmoid rounds to 0 or 1.

    `pos_weight` multiplies the part of the positive answers, `y log p`: 3.0 makes each count three times. It is a
    number, or an array that is broadcast to the shape of z (one number for each column, say).

    >>> float(binary_cross_entropy_with_logits(np.array([1000.0]), np.array([0.0])))
    1000.0
    """
    z = _array(z)
    y = _like(y, z)
    positive = y * ag.softplus(-z)
    if pos_weight is not None:
        if not isinstance(pos_weight, ag.Value):
            pos_weight = np.asarray(as_array(pos_weight), dtype=z.dtype)
        if not _fits(np.shape(pos_weight), np.shape(z)):
            raise ShapeError(
                f"pos_weight of shape {np.shape(pos_weight)} cannot be broadcast to the predictions, {np.shape(z)}; "
                "give one number, or one for each column"
            )
        positive = pos_weight * positive
    return reduced(positive + (1.0 - y) * ag.softplus(z), reduction)


def _fits(shape: tuple[int, ...], into: tuple[int, ...]) -> bool:
    """Whether an array of one shape can be broadcast to another."""
    return len(shape) <= len(into) and all(n in (1, m) for n, m in zip(reversed(shape), reversed(into)))


def mse(x: Array, y: Any, *, reduction: str = "mean") -> Array:
    """The squared error `(x - y)²`.

    >>> mse(np.array([1.0, 2.0]), np.array([1.0, 4.0]))
    2.0
    """
    x = _array(x)
    error = x - _like(y, x)
    return reduced(error * error, reduction)


def reduced(losses: Array, reduction: str) -> Array:
    """One number from many losses: their "mean" or "sum"; "none" leaves them."""
    if reduction == "mean":
        return ag.mean(losses)
    if reduction == "sum":
        return ag.sum(losses)
    if reduction == "none":
        return losses
    raise ValueError(f'reduction is "mean", "sum" or "none"; got {reduction!r}')


# --- checks -------------------------------------------------------------------------------------------------


def as_ids(who: str, ids: Any, n: int) -> np.ndarray:
    """Whole numbers from 0 to n - 1, as an integer array."""
    given = as_array(ids)
    ids = np.asarray(given._data if is_whole(given) else plain_data(given, "np.asarray(v)"))
    if (ids.dtype.kind == "f" and ids.size and np.array_equal(ids, np.floor(ids))) or not ids.size:
        ids = ids.astype(np.intp)
    if ids.dtype.kind not in "iu":
        raise DataError(f"{who}: ids are whole numbers from 0 to {n - 1}; got {ids.dtype}: {ids!r:.60}")
    if ids.size and (ids.min() < 0 or ids.max() >= n):
        wrong = ids[(ids < 0) | (ids >= n)].flat[0]
        raise AxisError(f"{who}: ids run from 0 to {n - 1}; got {wrong}")
    return given if is_whole(given) else ids


def _check_probabilities(p: Any) -> None:
    """Logits in the place of probabilities would give a number that looks like a loss and is none."""
    data = np.asarray(getattr(p, "_data", 0.0) if hasattr(p, "__apply__") else p)
    outside = data[(data < 0) | (data > 1)]
    if outside.size:
        raise DataError(
            f"binary_cross_entropy takes probabilities, from 0 to 1; got {outside[0]:.6g}. Of logits write "
            "binary_cross_entropy_with_logits(z, y), or binary_cross_entropy(sigmoid(z), y)"
        )


def _array(x: Any) -> Any:
    """A Value or an Expr as it is; anything else as an array of floats."""
    if hasattr(x, "__apply__") or (isinstance(x, np.ndarray) and x.dtype.kind == "f"):
        return x
    return np.asarray(as_array(x), dtype=np.float64)


def _like(y: Any, x: Any) -> Any:
    """Targets as an array of x's dtype, in x's shape: a silent broadcast of targets is nearly always a slip."""
    if not isinstance(y, ag.Value):
        y = np.asarray(as_array(y), dtype=x.dtype)
    if np.ndim(y) and np.shape(y) != np.shape(x):
        raise ShapeError(f"the targets have shape {np.shape(y)}, the predictions {np.shape(x)}; make them alike")
    return y
