"""HIPS autograd's helpers: `flatten`, and the optimizers that go with it."""

from functools import partial as const_graph  # theirs keeps the graph of the first call; here `compile` does

from .flatten import flatten as flatten

__all__ = ["const_graph", "flatten"]
