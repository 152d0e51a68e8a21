"""torch's own backward pass of a captured run: the gradient that arrives at each place of its graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ..engine import Value
from ..errors import BackwardError


def torch_gradients(
    roots: list[tuple[Value, Any]], seeds: dict[Value, Any], edges: list[Any]
) -> list[np.ndarray[Any, Any] | None]:
    """The gradients at these places, as arrays; None where none arrives. No `.grad` is touched."""
    starts = {v: edge for v, edge in roots if v in seeds}
    weights = [torch.tensor(np.asarray(seeds[v])) for v in starts]
    try:
        grads = torch.autograd.grad(list(starts.values()), edges, weights, allow_unused=True, retain_graph=True)
    except RuntimeError as error:
        if "use_reentrant" not in str(error):
            raise BackwardError(f"torch's own backward pass raised: {error}") from error
        grads = by_backward(list(starts.values()), edges, weights)
    return [None if g is None else g.numpy(force=True) for g in grads]


def by_backward(starts: list[Any], edges: list[Any], weights: list[Any]) -> list[Any]:
    """The same by `backward()`, which reentrant checkpoints need: hooks at the places, and leaves' own `.grad`."""
    leaves = {edge.node: edge.node.variable for edge in edges if hasattr(edge.node, "variable")}
    before = {node: leaf.grad for node, leaf in leaves.items()}
    found: dict[tuple[Any, int], Any] = {}
    hooks = []
    try:
        for leaf in leaves.values():
            leaf.grad = None
        for node in {edge.node for edge in edges} - leaves.keys():
            hooks.append(node.register_prehook(lambda grads, node=node: found.update(
                {(node, i): g for i, g in enumerate(grads) if g is not None})))  # fmt: skip
        torch.autograd.backward(starts, weights, retain_graph=True)
        found.update({(node, 0): leaf.grad for node, leaf in leaves.items()})
    finally:
        for hook in hooks:
            hook.remove()
        for node, leaf in leaves.items():
            leaf.grad = before[node]
    return [found.get((edge.node, edge.output_nr)) for edge in edges]
