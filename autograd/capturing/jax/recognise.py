"""Functions that reach JAX's primitives in many parts, known by the name they were called by: softmax, layer norm.

A guess is made from the name and compared with the numbers of the run: only an op that gives the same is taken.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

import autograd as ag
from autograd.engine import Value

from .jaxpr import Flat, Step

ROUNDING = 256  # units in the last place that two ways to compute the same may differ by: rows of little spread do


def plain_name(function: str) -> str:
    """`_softmax`, `LayerNorm.__call__` and similar functions, without what differs from author to author."""
    *_, name = [part for part in function.split(".") if part not in ("__call__", "<locals>")] or [function]
    return name.strip("_<>").lower().replace("_", "")


KNOWN = ("softmax", "logsoftmax", "logsumexp", "layernorm", "rmsnorm", "relu", "gelu", "silu", "swish", "softplus",
         "mean")  # fmt: skip


def call_of(step: Step) -> tuple[Any, ...] | None:
    """The call of a known function that a step is part of: its name and the lines that led there."""
    for depth, (function, _) in enumerate(step.calls):
        if plain_name(function) in KNOWN:
            return (*step.calls[:depth], plain_name(function))
    return None


def groups(steps: Sequence[Step]) -> Iterator[list[Step]]:
    """Steps of one call of a known function together, all others by themselves."""
    for key, run in itertools.groupby(steps, call_of):
        if key is None:
            yield from ([step] for step in run)
        else:
            yield list(run)


def recognised(name: str, values: list[Value], steps: Sequence[Step], flat: Flat, slot: int) -> Value | None:
    """The one op of ours that gives the numbers of a known function, if there is one."""
    theirs = np.asarray(flat.data[slot], np.float64)
    room = ROUNDING * float(jnp.finfo(flat.data[slot].dtype).eps) * max(float(np.max(np.abs(theirs), initial=0.0)), 1.0)
    for make in candidates(plain_name(name), values, constants(steps, flat)):
        try:
            found = np.errstate(all="ignore")(make)()
        except Exception:  # shapes that do not fit: another guess
            continue
        if found.shape == theirs.shape and np.allclose(found.data, theirs, rtol=0, atol=room):
            return found
    return None


def constants(steps: Sequence[Step], flat: Flat) -> list[float]:
    """The small plain numbers that some steps use: an eps is among them."""
    slots = {i for step in steps for i in step.inputs}
    numbers = [float(flat.data[i]) for i in slots if np.ndim(flat.data[i]) == 0]
    return sorted({n for n in numbers if 0 < n < 0.1}) or [0.0]


def candidates(name: str, values: list[Value], small: list[float]) -> Iterator[Any]:
    """What it may be, likeliest first."""
    x = values[0]
    if name in ("softmax", "logsoftmax") and len(values) == 1:
        op = ag.OPS["softmax" if name == "softmax" else "log_softmax"]
        yield from (lambda axis=axis: op(x, axis=axis) for axis in range(-1, -x.ndim - 1, -1))
    elif name == "logsumexp" and len(values) == 1:
        for axis, keep in itertools.product((-1, *range(-2, -x.ndim - 1, -1), None), (False, True)):
            yield lambda axis=axis, keep=keep: ag.logsumexp(x, axis=axis, keepdims=keep)
    elif name == "mean" and len(values) == 1:
        several = itertools.combinations(range(-x.ndim, 0), max(x.ndim - 1, 0))  # all but one
        for axis, keep in itertools.product((None, *range(-1, -x.ndim - 1, -1), *several), (False, True)):
            yield lambda axis=axis, keep=keep: ag.mean(x, axis=axis, keepdims=keep)
    elif name in ("relu", "silu", "swish", "softplus") and len(values) == 1:
        yield lambda: ag.OPS["silu" if name == "swish" else name](x)
    elif name == "gelu" and len(values) == 1:
        yield from (lambda kind=kind: ag.gelu(x, approximate=kind) for kind in ("tanh", "none"))
    elif name == "layernorm":
        for (rows, *vectors), eps in itertools.product(itertools.permutations(values), small):
            yield lambda rows=rows, vectors=vectors, eps=eps: ag.layer_norm(rows, *vectors, eps=eps)
    elif name == "rmsnorm":
        for (rows, *vectors), eps in itertools.product(itertools.permutations(values), small):
            yield lambda rows=rows, vectors=vectors, eps=eps: ag.rms_norm(rows, *vectors, eps=eps)
