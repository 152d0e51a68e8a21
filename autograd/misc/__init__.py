"""HIPS autograd's helpers: `flatten`, the optimizers that go with it, and `fixed_points` of iterations."""

from functools import partial as const_graph  # theirs keeps the graph of the first call; here `compile` does

from .flatten import flatten as flatten

__all__ = ["const_graph", "flatten"]
