"""Dropout: while training, entries are zeroed at random."""

from __future__ import annotations

from typing import Any

from nn import functional as F
from nn import init
from nn.module import Module


class Dropout(Module):
    """While training, each entry is zeroed with probability p and the others scaled by 1/(1-p); else x as it is.

    >>> Dropout(0.5).eval()([1.0, 2.0])
    [1.0, 2.0]
    """

    def __init__(self, p: float = 0.0, rng: Any = None) -> None:
        if not 0.0 <= p < 1.0:
            raise ValueError(f"Dropout: p is a probability below 1, got {p}")
        self.p = p
        self.rng = init.generator(rng)

    def forward(self, x: Any) -> Any:
        """x with entries dropped while training; otherwise x itself."""
        return F.dropout(x, self.p, self.rng) if self.training and self.p else x

    def extra(self) -> str:
        return str(self.p)
