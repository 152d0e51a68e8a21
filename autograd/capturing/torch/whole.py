"""The last word on a gradient that ends somewhere: how torch's own loss moves, beside what torch's gradient says.

The model runs again with its parameters and inputs moved along a random direction, and back.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.autograd.grad_mode import _unsafe_preserve_version_counter
from torch.utils._pytree import tree_flatten, tree_map

from autograd.engine import Value

from .state import KeptState

if TYPE_CHECKING:
    from ..run import Run

COARSE = 1e-6  # rounding units above which a difference says nothing
TRUSTED = {2.0**-53: 1e-4, 2.0**-24: 0.03}  # how far, relatively, the two may lie apart


def said_of_loss(run: Run, theirs: Any, seed: int = 0) -> str:
    """A sentence where the gradient does not say how the loss moves; none where it does, or nobody can tell."""
    recorder = run._recorder
    unit = max(recorder.units[v] for v in recorder.tensors)
    if unit > COARSE:
        return ""
    rng = np.random.default_rng(seed)
    moves = {v: rng.choice((-1.0, 1.0), v.shape) * (float(np.sqrt(np.mean(np.square(v.data)))) or 1.0)
             for v in recorder.tensors}  # fmt: skip
    slope = sum(float(np.sum(g * moves[v])) for v in moves if (g := theirs.arrived(v)) is not None)
    try:
        h = 2.0**-14 if unit < 1e-12 else 2.0**-9
        wide, narrow = (
            (loss_at(run, theirs, moves, s) - loss_at(run, theirs, moves, -s)) / (2 * s) for s in (h, h / 2)
        )
    except Exception:  # a model that cannot run twice
        return ""
    extrapolated = narrow + (narrow - wide) / 3
    room = max(abs(narrow - wide), TRUSTED[unit] * max(abs(extrapolated), abs(slope)))
    if not math.isfinite(extrapolated) or abs(extrapolated - slope) <= room:
        return ""
    return (f"along a random direction the loss moves by {extrapolated:.4g}, torch's gradient says {slope:.4g}: what "
            "flows through the places where a gradient ends is not in it")  # fmt: skip


def loss_at(run: Run, theirs: Any, moves: dict[Value, Any], step: float) -> float:
    """The results, weighted as in the comparison, with every leaf moved."""
    recorder = run._recorder
    model, inputs, keywords, given = recorder.again
    state = KeptState(torch, recorder.modules)
    before = {v: tensor.detach().clone() for v, tensor in recorder.tensors.items()}

    def moved(x: Any) -> Any:
        value = given.get(id(x)) if isinstance(x, torch.Tensor) else None
        return x if value is None else (x.detach() + (step * torch.tensor(moves[value])).to(x.dtype)).requires_grad_()

    inner = set(given.values())
    args, kwargs = tree_map(moved, (inputs, keywords))
    kept = tuple(t for m in recorder.modules for t in (*m.parameters(recurse=False), *m.buffers(recurse=False)))
    try:
        with _unsafe_preserve_version_counter(kept), torch.enable_grad():  # a backward pass may still come
            for value, tensor in recorder.tensors.items():
                if value not in inner:
                    tensor.data.add_((step * torch.tensor(moves[value])).to(tensor.dtype))
            recorder.kept.rewind()
            out = model(*args, **kwargs)
    finally:
        for value, tensor in recorder.tensors.items():
            tensor.data.copy_(before[value])
        state.restore()
    pairs = zip(tree_flatten(run.result)[0], tree_flatten(out)[0], strict=True)
    return sum(float((x.detach().double() * torch.tensor(theirs.seeds[v])).sum()) for v, x in pairs if
               isinstance(v, Value) and v in theirs.seeds)  # fmt: skip
