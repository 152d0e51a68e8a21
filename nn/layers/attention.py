"""MultiHeadAttention: tokens that look at tokens."""

from __future__ import annotations

from typing import Any

import numpy as np

import autograd as ag
from autograd.modes import plain_data
from nn import functional as F
from nn import init
from nn.module import Module, as_input, whole_size

from .dropout import Dropout
from .embedding import RotaryPositions
from .linear import Linear


class KeyValues:
    """The keys and values of the tokens seen so far by one attention layer, so that they are not computed again.

    >>> layer, cache = MultiHeadAttention(4, 2, causal=True, rng=0), KeyValues()
    >>> first, second = layer(np.ones((3, 4)), cache=cache), layer(np.ones((1, 4)), cache=cache)
    >>> len(cache), second.shape
    (4, (1, 4))
    """

    def __init__(self) -> None:
        self.keys: np.ndarray | None = None
        self.values: np.ndarray | None = None

    def __len__(self) -> int:
        return 0 if self.keys is None else self.keys.shape[-2]

    @property
    def start(self) -> int:
        """The position of the next token."""
        return len(self)

    def extend(self, k: Any, v: Any) -> tuple[np.ndarray, np.ndarray]:
        """Add those of new tokens (plain numbers: no gradient flows through a cache); give all so far."""
        k, v = plain_data(k, ".data"), plain_data(v, ".data")
        self.keys = k if self.keys is None else np.concatenate([self.keys, k], axis=-2)
        self.values = v if self.values is None else np.concatenate([self.values, v], axis=-2)
        return self.keys, self.values


class MultiHeadAttention(Module):
    """Several attentions side by side, each on its own columns of the projected tokens, and a projection back.

    q, k, v = the thirds of `x @ qkv.weight + qkv.bias`; each head attends with its d_model / n_heads columns;
    the heads' results, side by side, go through `out`. x (..., tokens, d_model) → the same shape.

    - d_model: the width of a token; n_heads: how many attentions, each on d_model / n_heads columns.
    - bias: whether the projections add one; dropout: the part of the weights dropped while training.
    - n_kv_heads: fewer heads of keys and values, each shared by n_heads / n_kv_heads query heads.
    - causal: a token sees itself and what came before.
    - d_context: cross-attention to a context of that width, `layer(x, context)`; the projections are then
      `query` and `key_value`. Without it a context of width d_model may also be given.
    - rotary: queries and keys are turned by their positions.
    - a mask is boolean (True: may attend) or numbers to add: (tokens, keys), (batch, tokens, keys) or
      (batch, heads, tokens, keys).

    >>> layer = MultiHeadAttention(4, 2, causal=True, rng=0)
    >>> layer(np.ones((3, 4))).shape
    (3, 4)
    >>> layer.weights(np.ones((3, 4)))[0].round(4)
    array([[1.    , 0.    , 0.    ],
           [0.5   , 0.5   , 0.    ],
           [0.3333, 0.3333, 0.3333]])
    """

    def __init__(
        self, d_model: int, n_heads: int, *, n_kv_heads: int | None = None, d_context: int | None = None,
        causal: bool = False, rotary: bool = False, bias: bool = True, dropout: float = 0.0,
        rng: Any = None, dtype: Any = np.float64,
    ) -> None:  # fmt: skip
        who = "MultiHeadAttention"
        d_model, n_heads = whole_size(who, "d_model", d_model), whole_size(who, "n_heads", n_heads)
        n_kv_heads = n_heads if n_kv_heads is None else whole_size(who, "n_kv_heads", n_kv_heads)
        if n_heads < 1 or d_model % n_heads:
            raise ValueError(f"{who}: n_heads must divide d_model; got d_model = {d_model}, n_heads = {n_heads}")
        if n_kv_heads < 1 or n_heads % n_kv_heads:
            raise ValueError(f"{who}: n_kv_heads must divide n_heads; got {n_kv_heads} and n_heads = {n_heads}")
        rng = init.generator(rng)
        self.n_heads, self.n_kv_heads, self.causal = n_heads, n_kv_heads, causal
        kv_width = 2 * n_kv_heads * (d_model // n_heads)
        if d_context is None:
            self.qkv = Linear(d_model, d_model + kv_width, bias, rng, dtype)
        else:
            self.query = Linear(d_model, d_model, bias, rng, dtype)
            self.key_value = Linear(d_context, kv_width, bias, rng, dtype)
        self.out = Linear(d_model, d_model, bias, rng, dtype)
        self.cross = d_context is not None
        self.positions = RotaryPositions() if rotary else None
        self.dropout = Dropout(dropout, rng)

    def forward(self, x: Any, context: Any = None, mask: Any = None, cache: KeyValues | None = None) -> Any:
        """`out(softmax(q @ kᵀ / √d) @ v)`: attend from x to itself, or to a context; with a cache, also to the tokens
        of earlier calls. mask: who may attend to whom.
        """
        x = self._checked(x, "an input", self.out.weight)
        drops = self.training and self.dropout.p > 0
        if context is None and cache is None and self.positions is None and not drops and not self.cross:
            mask = self._fitted(mask, x.ndim)  # one node for all heads of queries, keys and values side by side
            return self.out(F.self_attention(self.qkv(x), mask, self.n_heads, self.n_kv_heads, self.causal))
        q, k, v, mask = self._heads(x, context, mask, cache)
        if drops:
            heads = self.dropout(ag.attention_weights(q, k, mask, causal=self.causal)) @ v
        else:
            heads = ag.attention(q, k, v, mask, causal=self.causal)  # softmax(q @ kᵀ / √d) @ v
        return self.out(F.merge_heads(heads))

    def weights(self, x: Any, context: Any = None, mask: Any = None) -> np.ndarray:
        """The attention map of each head, as plain numbers: (..., heads, tokens, keys)."""
        with ag.no_grad():
            q, k, _, mask = self._heads(x, context, mask, None)
            return ag.attention_weights(q, k, mask, causal=self.causal).data

    def _heads(self, x: Any, context: Any, mask: Any, cache: KeyValues | None) -> tuple[Any, Any, Any, Any]:
        """Queries, keys and values (..., heads, tokens, d), and the mask in a shape that fits them."""
        x = self._checked(x, "an input", self.out.weight)
        q, k, v = self._project(x, context)
        q = F.split_heads(q, self.n_heads)
        k, v = F.split_heads(k, self.n_kv_heads), F.split_heads(v, self.n_kv_heads)
        if self.positions is not None:
            start = 0 if cache is None else cache.start
            q, k = self.positions(q, start), self.positions(k, start)
        if cache is not None:
            k, v = cache.extend(k, v)
        return q, self._shared(k), self._shared(v), self._fitted(mask, x.ndim)

    def _project(self, x: Any, context: Any) -> list[Any]:
        d_model = self.out.weight.shape[0]
        if self.cross:
            if context is None:
                self._refuse("a context to attend to", "none", "Write layer(x, context).")
            context = self._checked(context, "a context", self.key_value.weight)
            return [self.query(x), *ag.split(self.key_value(context), 2, axis=-1)]
        if context is None:
            kv_width = (self.qkv.weight.shape[1] - d_model) // 2
            return ag.split(self.qkv(x), [d_model, d_model + kv_width], axis=-1)
        context = self._checked(context, "a context", self.qkv.weight)
        weight, bias = self.qkv.weight, self.qkv.bias
        q = F.linear(x, weight[:, :d_model], None if bias is None else bias[:d_model])
        kv = F.linear(context, weight[:, d_model:], None if bias is None else bias[d_model:])
        return [q, *ag.split(kv, 2, axis=-1)]

    def _checked(self, x: Any, what: str, weight: Any) -> Any:
        if x.__class__ is not ag.Value:
            x = as_input(x, weight._data.dtype)
        shape = x.shape
        if len(shape) < 2 or shape[-1] != weight._data.shape[0]:
            self._refuse(f"{what} of shape (..., tokens, {weight.shape[0]})", f"shape {x.shape}")
        return x

    def _shared(self, kv: Any) -> Any:
        """Key/value heads, each repeated for the query heads that share it."""
        group = self.n_heads // self.n_kv_heads
        if group == 1:
            return kv
        *lead, heads, tokens, width = kv.shape
        spread = ag.broadcast_to(ag.expand_dims(kv, -3), (*lead, heads, group, tokens, width))
        return ag.reshape(spread, (*lead, heads * group, tokens, width))

    @staticmethod
    def _fitted(mask: Any, ndim: int) -> Any:
        """A mask for each sequence of a batch gets an axis for the heads."""
        if mask is None or isinstance(mask, str):
            return mask
        mask = mask if hasattr(mask, "__apply__") else np.asarray(mask)
        return ag.expand_dims(mask, -3) if mask.ndim == ndim > 2 else mask

    def extra(self) -> str:
        shared = f", {self.n_kv_heads} key/value heads" if self.n_kv_heads != self.n_heads else ""
        return f"{self.n_heads} heads{shared}{', causal' if self.causal else ''}"
