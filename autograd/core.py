"""HIPS autograd's `primitive`, `defvjp` and `vspace`, at their older address."""

from typing import Any

from .extend import *  # noqa: F403
from .hips import make_vjp as _make_vjp


def make_vjp(fun: Any, x: Any) -> Any:
    """The function from g to g · Jacobian, and fun(x)."""
    return _make_vjp(fun)(x)
