"""Ops that we have no rule for: torch computes them and their gradients; we draw, step and check them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from autograd.op import Op

from ..run import opaque_name
from .tensors import as_array, as_tensor


def opaque_op(name: str, function: Callable[..., Any]) -> Op:
    """An op around a torch function of tensors that returns one tensor.

    Its rule is torch's own: the function that pulls a gradient back is again such an op, so it can be differentiated.
    """

    def forward(*arrays: Any) -> Any:
        with torch.inference_mode(False), torch.no_grad():  # `enable_grad` does nothing in inference mode
            return as_array(function(*map(as_tensor, arrays)))[()]

    def vjp(g: Any, out: Any, *xs: Any) -> tuple[Any, ...]:
        return tuple(_pull(name, function, i)(g, *xs) for i in range(len(xs)))

    doc, name = f"torch's {name}, by torch's own rule.", opaque_name("torch", name)
    return Op(name, f"{name}(*xs)", forward=forward, vjp=vjp, register=False, doc=doc)


def _pull(name: str, function: Callable[..., Any], i: int) -> Op:
    """The op that gives the gradient of input i from the gradient of the result and the inputs."""

    def pull(g: Any, *xs: Any) -> Any:
        with torch.enable_grad():
            x = xs[i] if xs[i].requires_grad else xs[i].detach().requires_grad_()
            out = function(*xs[:i], x, *xs[i + 1 :])
            if not out.requires_grad:
                return torch.zeros_like(x)
            (dx,) = torch.autograd.grad(
                out, x, g.reshape(out.shape).to(out.dtype), create_graph=True, allow_unused=True
            )
        return torch.zeros_like(x) if dx is None else dx

    return opaque_op(f"pull_{name}", pull)
