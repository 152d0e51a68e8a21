"""FeedForward: the layer that works on each token alone."""

from __future__ import annotations

from collections.abc import Callable
from operator import methodcaller
from typing import Any

import numpy as np

from nn import functional as F
from nn import init
from nn.module import Module, as_input, whole_size

from .linear import Linear

ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "relu": methodcaller("relu"),
    "gelu": methodcaller("gelu"),
    "gelu_tanh": methodcaller("gelu", approximate="tanh"),
    "silu": methodcaller("silu"),
    "tanh": methodcaller("tanh"),
    "sigmoid": methodcaller("sigmoid"),
}


class FeedForward(Module):
    """Up to a wider layer, a nonlinearity, and down again: `activation(x @ up + b) @ down + b`.

    x (..., d_model) → the same shape; d_hidden is 4 · d_model unless given. `activation` is one of "relu",
    "gelu", "gelu_tanh", "silu", "tanh", "sigmoid", or a function; "swiglu" is the gated form
    `(silu(x @ gate) * (x @ up)) @ down`.

    >>> FeedForward(2, 8, rng=0)([[1.0, -1.0]]).shape
    (1, 2)
    """

    def __init__(
        self, d_model: int, d_hidden: int | None = None, activation: str | Callable[[Any], Any] = "relu",
        bias: bool = True, rng: Any = None, dtype: Any = np.float64,
    ) -> None:  # fmt: skip
        if isinstance(activation, str) and activation != "swiglu" and activation not in ACTIVATIONS:
            known = ", ".join([*ACTIVATIONS, "swiglu"])
            raise ValueError(f"FeedForward: activation is one of {known}, or a function; got {activation!r}")
        rng = init.generator(rng)
        d_model = whole_size("FeedForward", "d_model", d_model)
        d_hidden = 4 * d_model if d_hidden is None else d_hidden
        self.activation = activation
        self.gate = Linear(d_model, d_hidden, bias, rng, dtype) if activation == "swiglu" else None
        self.up = Linear(d_model, d_hidden, bias, rng, dtype)
        self.down = Linear(d_hidden, d_model, bias, rng, dtype)

    def forward(self, x: Any) -> Any:
        """Each row of x through the wider layer and back: (..., d_model) → the same shape."""
        weight = self.up.weight._data
        x = as_input(x, weight.dtype)
        if x.shape[-1:] != weight.shape[:1]:
            self._refuse(f"an input of shape (..., {self.up.weight.shape[0]})", x)
        if self.gate is not None:
            return self.down(F.silu(self.gate(x)) * self.up(x))
        activation = self.activation if callable(self.activation) else ACTIVATIONS[self.activation]
        return self.down(activation(self.up(x)))

    def extra(self) -> str:
        d_model, d_hidden = self.up.weight.shape
        name = self.activation if isinstance(self.activation, str) else getattr(self.activation, "__name__", "function")
        return f"{d_model} → {d_hidden} → {d_model}, {name}"
