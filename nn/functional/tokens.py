"""The formulas of transformers: attention, feed-forward layers, embeddings, positions. A token is a row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import autograd as ag
from autograd import linear, relu, silu
from autograd.errors import ShapeError
from autograd.modes import drawn
from nn.init import generator

from .checks import Array, as_floats, as_ids


def attention_weights(q: Array, k: Array, mask: Any = None) -> Array:
    """How much each query looks at each key: `softmax(q @ kᵀ / √d)`, a row of weights for each query.

    q (..., queries, d), k (..., keys, d) → (..., queries, keys). A mask is boolean (True: may attend),
    numbers to add to the scores, or "causal". A query that may attend to nothing gets a row of zeros.

    >>> attention_weights(np.eye(2), np.eye(2), mask="causal").round(4)
    array([[1.    , 0.    ],
           [0.3302, 0.6698]])
    """
    return ag.attention_weights(as_floats(q), as_floats(k), mask)


def attention(q: Array, k: Array, v: Array, mask: Any = None) -> Array:
    """Each query's weighted mean of the values: `attention_weights(q, k, mask) @ v`, as one node.

    q (..., queries, d), k (..., keys, d), v (..., keys, d_v) → (..., queries, d_v).

    >>> attention(np.zeros((1, 2)), np.eye(2), np.array([[1.0, 0.0], [3.0, 4.0]]))
    array([[2., 2.]])
    """
    return ag.attention(as_floats(q), as_floats(k), as_floats(v), mask)


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
    x = as_floats(x)
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
    x = as_floats(x)
    shape, dtype = np.shape(x), x.dtype

    def mask(source: np.random.Generator) -> np.ndarray:
        return ((source.random(shape) >= p) / (1.0 - p)).astype(dtype)

    source = generator(rng)
    return x * (mask(source) if isinstance(rng, int | np.integer) else drawn(mask, source))  # a seed: always the same


def embedding(table: Array, ids: Any) -> Array:
    """The rows of a table: ids (...) of integers → (..., width).

    >>> embedding(np.array([[1.0, 2.0], [3.0, 4.0]]), [1, 0, 1]).tolist()
    [[3.0, 4.0], [1.0, 2.0], [3.0, 4.0]]
    """
    return ag.take(as_floats(table), as_ids("embedding", ids, np.shape(table)[0]), axis=0)


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
    x = as_floats(x)
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
