"""Linear: the layer `x @ W + b`."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograd import Value
from nn import functional as F
from nn import init
from nn.module import Module, Parameter, as_input, whole_size


class Linear(Module):
    """Each row of x times a matrix, plus a bias: `x @ weight + bias`.

    x (..., n_in) → (..., n_out); weight (n_in, n_out), bias (n_out,). Both start uniform in ±1/√n_in.

    >>> layer = Linear(3, 2, rng=0)
    >>> layer
    Linear(3 → 2)  weight (3, 2), bias (2,)  8 parameters
    >>> layer([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]).shape
    (2, 2)
    """

    def __init__(self, n_in: int, n_out: int, bias: bool = True, rng: Any = None, dtype: Any = np.float64) -> None:
        n_in, n_out = (whole_size("Linear", *given) for given in (("n_in", n_in), ("n_out", n_out)))
        rng = init.generator(rng)
        self.weight = Parameter(init.linear(rng, n_in, n_out, dtype))
        self.bias = Parameter(init.uniform(rng, (n_out,), max(n_in, 1) ** -0.5, dtype)) if bias else None

    def forward(self, x: Any) -> Any:
        """`x @ weight + bias`: (..., n_in) → (..., n_out)."""
        return F.linear(self._rows(x), self.weight, self.bias)

    def _rows(self, x: Any) -> Any:
        """The input as a Value or an array, whose rows must be as long as the weight's columns."""
        shape = self.weight._data.shape
        if x.__class__ is not Value:
            x = as_input(x, self.weight._data.dtype)
        if x.shape[-1:] != shape[:1]:
            self._refuse(f"an input of shape (..., {shape[0]})", x)
        return x

    def extra(self) -> str:
        n_in, n_out = self.weight.shape
        return f"{n_in} → {n_out}" + ("" if self.bias is not None else ", no bias")
