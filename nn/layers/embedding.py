"""Tokens and positions as vectors: Embedding, and the three ways to say where a token stands."""

from __future__ import annotations

from typing import Any

import numpy as np

import autograd as ag
from autograd.errors import HandgradError, ShapeError
from autograd.ops.indexing.rows import is_whole
from nn import functional as F
from nn import init
from nn.module import Module, Parameter, as_input, whole_size


class Embedding(Module):
    """A table with one row for each token: ids (...) → (..., width).

    Learned by default; `Embedding.fixed(table)` keeps given rows, `Embedding.one_hot(n)` is the identity.

    >>> Embedding.one_hot(3)([2, 0]).data
    array([[0., 0., 1.],
           [1., 0., 0.]])
    """

    def __init__(self, n: int, width: int, rng: Any = None, std: float = 1.0, dtype: Any = np.float64) -> None:
        n, width = whole_size("Embedding", "n", n), whole_size("Embedding", "width", width)
        self.weight = Parameter(init.normal(rng, (n, width), std, dtype))

    @classmethod
    def fixed(cls, table: Any) -> Embedding:
        """An embedding whose rows are given and not trained."""
        table = np.array(table)
        if table.ndim != 2:
            raise ShapeError(f"Embedding.fixed: a table is (tokens, width), a row for each token; got {table.shape}")
        n, width = table.shape
        made = cls(n, width, dtype=table.dtype if table.dtype.kind == "f" else np.float64)
        made.weight.data = table
        made.freeze()
        return made

    @classmethod
    def one_hot(cls, n: int) -> Embedding:
        """Each token is its own axis: row i is 1 at place i."""
        return cls.fixed(np.eye(whole_size("Embedding.one_hot", "n", n)))

    def forward(self, ids: Any) -> Any:
        """The rows of the given ids: (...) → (..., width)."""
        try:
            return F.embedding(self.weight, ids)
        except HandgradError as error:
            raise type(error)(f"{self._called()}: {error}") from None

    def extra(self) -> str:
        return f"{self.weight.shape[0]} × {self.weight.shape[1]}"


class LearnedPositions(Module):
    """A trained vector for each position, added to the token there: x (..., tokens, width), up to `block_size` tokens.

    >>> LearnedPositions(4, 2, rng=0)(np.zeros((3, 2))).shape
    (3, 2)
    """

    def __init__(
        self, block_size: int, width: int, rng: Any = None, std: float = 0.02, dtype: Any = np.float64
    ) -> None:
        block_size = whole_size("LearnedPositions", "block_size", block_size)
        width = whole_size("LearnedPositions", "width", width)
        self.weight = Parameter(init.normal(rng, (block_size, width), std, dtype))

    def forward(self, x: Any, start: Any = 0) -> Any:
        """x plus the vectors of its positions, which count from `start`."""
        block_size, width = self.weight.shape
        x = as_input(x, self.weight.dtype)
        _check_tokens(self, x, width)
        tokens = x.shape[-2]
        if is_whole(start):  # in a program, which is given the position
            return x + ag.take(self.weight, start + np.arange(tokens), axis=0)
        if start + tokens > block_size:
            self._refuse(f"at most {block_size} tokens of width {width}", x, f"It begins at position {start}.")
        return x + self.weight[start : start + tokens]

    def extra(self) -> str:
        return f"{self.weight.shape[0]} × {self.weight.shape[1]}"


class SinusoidalPositions(Module):
    """The fixed sines and cosines of `functional.sinusoidal_positions`, added to the tokens; any length.

    >>> SinusoidalPositions(2)(np.zeros((2, 2))).round(4)
    array([[0.    , 1.    ],
           [0.8415, 0.5403]])
    """

    def __init__(self, width: int) -> None:
        self.width = whole_size("SinusoidalPositions", "width", width)

    def forward(self, x: Any, start: Any = 0) -> Any:
        """x plus the sines and cosines of its positions, which count from `start`."""
        if not isinstance(x, np.ndarray) or x.dtype.kind != "f":  # floats keep their dtype: no weight has another
            x = as_input(x, np.float64)
        _check_tokens(self, x, self.width)
        return x + F.sinusoidal_positions(x.shape[-2], self.width, start).astype(x.dtype)

    def extra(self) -> str:
        return str(self.width)


class RotaryPositions(Module):
    """Queries and keys turned by an angle that grows with the position; used inside attention, not added to tokens.

    >>> RotaryPositions()(np.ones((2, 4))).shape
    (2, 4)
    """

    def __init__(self, base: float = 10000.0) -> None:
        self.base = base

    def forward(self, x: Any, start: Any = 0) -> Any:
        """x with each token turned by its position; positions count from `start`."""
        return F.rotate(x, start, self.base)

    def extra(self) -> str:
        return f"base {self.base:g}"


def _check_tokens(layer: Module, x: Any, width: int) -> None:
    """Refuse what is not rows of tokens of the layer's width."""
    if x.ndim < 2 or x.shape[-1] != width:
        layer._refuse(f"tokens of shape (..., tokens, {width})", x)
