"""TransformerBlock and GPT."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from autograd.errors import DataError
from autograd.modes import plain_data
from autograd.ops.indexing.rows import is_whole
from nn import functional as F
from nn import init
from nn.module import Module, as_input, evaluating, whole_number, whole_size

from .attention import KeyValues, MultiHeadAttention
from .dropout import Dropout
from .embedding import Embedding, LearnedPositions, SinusoidalPositions
from .feedforward import FeedForward
from .generation import CompiledDecoder, Decoder
from .linear import Linear
from .norm import LayerNorm, RMSNorm

NORMS: dict[str, Any] = {"layer": LayerNorm, "rms": RMSNorm}


class TransformerBlock(Module):
    """Attention and a feed-forward layer, each added to what went in.

    Pre-norm (as in GPT-2): `x = x + attention(norm1(x))`, then `x = x + feed_forward(norm2(x))`.
    Post-norm (as in the first transformer): `x = norm1(x + attention(x))`, then `x = norm2(x + feed_forward(x))`.
    x (..., tokens, d_model) → the same shape.

    >>> TransformerBlock(4, 2, rng=0)(np.ones((3, 4))).shape
    (3, 4)
    """

    def __init__(
        self, d_model: int, n_heads: int, d_hidden: int | None = None, *, causal: bool = False,
        pre_norm: bool = True, activation: str | Callable[[Any], Any] = "relu", norm: str = "layer",
        n_kv_heads: int | None = None, rotary: bool = False, bias: bool = True, dropout: float = 0.0,
        eps: float = 1e-5, rng: Any = None, dtype: Any = np.float64,
    ) -> None:  # fmt: skip
        norm_kind = _norm_kind("TransformerBlock", norm)
        rng = init.generator(rng)
        self.pre_norm = pre_norm
        self.norm1 = norm_kind(d_model, eps, dtype)
        self.attention = MultiHeadAttention(
            d_model, n_heads, n_kv_heads=n_kv_heads, causal=causal, rotary=rotary, bias=bias, dropout=dropout,
            rng=rng, dtype=dtype,
        )  # fmt: skip
        self.norm2 = norm_kind(d_model, eps, dtype)
        self.feed_forward = FeedForward(d_model, d_hidden, activation, bias, rng, dtype)
        self.dropout = Dropout(dropout, rng)

    def forward(self, x: Any, mask: Any = None, cache: KeyValues | None = None) -> Any:
        """x after attention (with a mask, and a cache of earlier tokens) and the feed-forward layer."""
        gamma = self.norm1.gamma._data
        x = as_input(x, gamma.dtype)
        shape = x.shape
        if len(shape) < 2 or shape[-1] != gamma.size:
            self._refuse(f"an input of shape (..., tokens, {gamma.size})", x)
        drop = self.dropout if self.training and self.dropout.p else _as_it_is
        if self.pre_norm:
            x = x + drop(self.attention(self.norm1(x), mask=mask, cache=cache))
            return x + drop(self.feed_forward(self.norm2(x)))
        x = self.norm1(x + drop(self.attention(x, mask=mask, cache=cache)))
        return self.norm2(x + drop(self.feed_forward(x)))

    def extra(self) -> str:
        return "" if self.pre_norm else "post-norm"


def _as_it_is(x: Any) -> Any:
    return x


class GPT(Module):
    """A language model: tokens in, for each position the logits of the token that comes next.

    Token and position vectors are added; n_layers causal pre-norm blocks follow; then a layer norm and a
    linear map to the vocabulary. ids (batch..., tokens) → (batch..., tokens, vocab_size). Weights start as in
    GPT-2: normal with std 0.02, those that end a residual branch divided by √(2 n_layers); biases 0.

    positions: "learned", "sinusoidal" or "rotary"; tie_weights: the last map is the token table, transposed.

    >>> model = GPT(vocab_size=5, block_size=8, d_model=4, n_heads=2, n_layers=1, rng=0)
    >>> model([[1, 2, 3]]).shape
    (1, 3, 5)
    >>> model.generate([1], 4, rng=0).shape
    (5,)
    """

    def __init__(
        self, vocab_size: int, block_size: int, d_model: int, n_heads: int, n_layers: int, rng: Any = None, *,
        d_hidden: int | None = None, activation: str | Callable[[Any], Any] = "gelu_tanh",
        norm: str = "layer", positions: str = "learned", n_kv_heads: int | None = None,
        tie_weights: bool = False, bias: bool = True, dropout: float = 0.0, eps: float = 1e-5,
        dtype: Any = np.float64,
    ) -> None:  # fmt: skip
        norm_kind, n_layers = _norm_kind("GPT", norm), whole_size("GPT", "n_layers", n_layers)
        rng = init.generator(rng)
        self.block_size = whole_size("GPT", "block_size", block_size)
        self.tokens = Embedding(vocab_size, d_model, rng, 0.02, dtype)
        self.positions = _positions(positions, block_size, d_model, rng, dtype)
        self.dropout = Dropout(dropout, rng)
        self.blocks = [
            TransformerBlock(
                d_model, n_heads, d_hidden, causal=True, activation=activation, norm=norm,
                n_kv_heads=n_kv_heads, rotary=positions == "rotary", bias=bias, dropout=dropout, eps=eps,
                rng=rng, dtype=dtype,
            )
            for _ in range(n_layers)
        ]  # fmt: skip
        self.norm = norm_kind(d_model, eps, dtype)
        self.head = None if tie_weights else Linear(d_model, vocab_size, False, rng, dtype)
        self._start(rng, n_layers)

    def _start(self, rng: np.random.Generator, n_layers: int) -> None:
        """Give every linear map the weights GPT-2 starts with."""
        for path, module in self.named_modules():
            if isinstance(module, Linear):
                ends_branch = path.endswith(("attention.out", "feed_forward.down"))
                std = 0.02 / math.sqrt(2 * n_layers) if ends_branch else 0.02
                module.weight.data = init.normal(rng, module.weight.shape, std, module.weight.dtype)
                if module.bias is not None:
                    module.bias.data = np.zeros_like(module.bias.data)

    def forward(self, ids: Any, cache: Sequence[KeyValues] | None = None) -> Any:
        """The logits of the token after each of the ids; with a cache, the ids follow those of earlier calls."""
        start = len(cache[0]) if cache else 0
        ids = ids if is_whole(ids) else np.asarray(plain_data(ids, "np.asarray(v)"))
        if ids.ndim < 1 or start + ids.shape[-1] > self.block_size:
            after = f" after {start} tokens" if start else ""
            self._refuse(
                f"ids of shape (..., tokens) with at most {self.block_size} tokens (block_size)",
                f"ids of shape {ids.shape}{after}",
            )
        return self._logits(ids, start, cache)

    def _logits(self, ids: Any, start: Any, caches: Sequence[Any] | None, mask: Any = None) -> Any:
        """The logits of ids whose positions count from `start`, which may be a Value in a program."""
        x = self._embedded(ids, start)
        if self.training and self.dropout.p:
            x = self.dropout(x)
        for i, block in enumerate(self.blocks):
            x = block(x, mask, None if caches is None else caches[i])
        x = self.norm(x)
        return x @ self.tokens.weight.mT if self.head is None else self.head(x)

    def _embedded(self, ids: Any, start: Any = 0) -> Any:
        """The vectors of the tokens, with their positions (which count from `start`) if these are added."""
        x = self.tokens(ids)
        return x if self.positions is None else self.positions(x, start)

    def attention_maps(self, ids: Any) -> list[np.ndarray]:
        """What each token looks at, as plain numbers: for each layer (..., heads, tokens, tokens), rows that sum to 1.

        >>> model = GPT(vocab_size=5, block_size=8, d_model=4, n_heads=2, n_layers=3, rng=0)
        >>> maps = model.attention_maps([1, 2])
        >>> len(maps), maps[0].shape, maps[0][0].round(2).tolist()
        (3, (2, 2, 2), [[1.0, 0.0], [0.5, 0.5]])
        """
        return evaluating(self, lambda: [*self._attention_maps(ids)])

    def _attention_maps(self, ids: Any) -> Iterator[np.ndarray]:
        x = self._embedded(ids)
        for block in self.blocks:
            yield block.attention.weights(block.norm1(x))
            x = block(x)

    def loss(self, ids: Any, targets: Any, **settings: Any) -> Any:
        """The mean cross-entropy of the next tokens: targets are the ids, one place further on."""
        return F.cross_entropy(self(ids), targets, **settings)

    def new_cache(self) -> list[KeyValues]:
        """An empty cache for `model(ids, cache)`: what each layer has seen so far."""
        return [KeyValues() for _ in self.blocks]

    def generate(
        self, ids: Any, n: int, *, temperature: float = 1.0, top_k: int | None = None, seed: int | None = None,
        rng: Any = None, use_cache: bool = True, stop: int | None = None, compile: bool | str = False,
    ) -> np.ndarray:  # fmt: skip
        """The ids followed by n more, each drawn from what the model expects next.

        ids (tokens,), or (batch, tokens) for several at once. Temperature 0 takes the likeliest token; top_k
        draws among the k likeliest; a sequence that has produced `stop` goes on with it, and generation ends
        when all have. Beyond `block_size` tokens the model sees the last ones. The same `seed` draws the same tokens;
        `rng`, a Generator, goes on from where it stands. compile: True, or the name of a backend: each further token is
        one run of a program (`autograd.compile`), which is made at the first call and serves all lengths.
        """
        if seed is not None and rng is not None:
            raise TypeError("generate: give seed=, an integer, or rng=, a Generator; got both")
        n = whole_number("generate: n, how many tokens follow,", n, 0)
        if temperature < 0 or (top_k is not None and top_k < 1):
            raise ValueError(f"generate: temperature is at least 0 and top_k at least 1; got {temperature}, {top_k}")
        ids = np.asarray(ids)
        if ids.ndim not in (1, 2) or ids.shape[-1] == 0 or ids.dtype.kind not in "iu":
            raise DataError(
                "generate: ids are integers of shape (tokens,) or (batch, tokens), at least one token; "
                f"got {ids.dtype} of shape {ids.shape}"
            )
        rng = init.generator(rng if seed is None else seed)
        decode = CompiledDecoder(self, use_cache, compile) if compile else Decoder(self, use_cache)
        return evaluating(
            self, lambda: _extended(decode, ids, n, lambda logits: draw(logits, temperature, top_k, rng), stop)
        )

    def extra(self) -> str:
        vocab_size, d_model = self.tokens.weight.shape
        return f"{vocab_size} tokens, block {self.block_size}, width {d_model}, {len(self.blocks)} layers"


def _extended(
    decode: Decoder, ids: np.ndarray, n: int, chosen: Callable[[np.ndarray], np.ndarray], stop: int | None
) -> np.ndarray:
    ended = np.zeros(ids.shape[:-1], dtype=bool)
    for _ in range(n):
        new = chosen(decode(ids))[..., None]
        if stop is not None:
            new[ended] = stop
            ended |= new[..., 0] == stop
        ids = np.concatenate([ids, new], axis=-1)
        if stop is not None and ended.all():
            break
    return ids


def _norm_kind(who: str, norm: Any) -> Any:
    """The class of a norm, by its short name."""
    if norm not in NORMS:
        raise ValueError(f"{who}: norm is one of {', '.join(NORMS)}; got {norm!r}")
    return NORMS[norm]


def _positions(kind: str, block_size: int, d_model: int, rng: Any, dtype: Any) -> Module | None:
    if kind == "learned":
        return LearnedPositions(block_size, d_model, rng, 0.02, dtype)
    if kind == "sinusoidal":
        return SinusoidalPositions(d_model)
    if kind == "rotary":
        return None  # they turn queries and keys inside attention
    raise ValueError(f'GPT: positions is "learned", "sinusoidal" or "rotary"; got {kind!r}')


def draw(logits: np.ndarray, temperature: float, top_k: int | None, rng: np.random.Generator) -> np.ndarray:
    """One id for each row of logits: (..., classes) → (...)."""
    if temperature == 0:
        return logits.argmax(axis=-1)
    if top_k is not None and top_k < logits.shape[-1]:
        least = np.partition(logits, -top_k, axis=-1)[..., -top_k, None]
        logits = np.where(logits < least, -np.inf, logits)
    p = F.softmax(np.asarray(logits, dtype=np.float64) / temperature)
    return (np.cumsum(p, axis=-1) < rng.random((*p.shape[:-1], 1))).sum(axis=-1).clip(max=p.shape[-1] - 1)
