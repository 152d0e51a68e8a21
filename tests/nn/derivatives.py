"""Finite differences for modules: a module as a pure function of its parameters and inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import nn
from autograd import Value, vjp
from tests.autograd.judges import assert_close, numeric_gradients, uneven


def pure(module: nn.Module, call: Callable[..., Any] | None = None) -> tuple[Callable[..., Any], list[np.ndarray]]:
    """`f(*parameters, *inputs)` for a module, and its parameters as arrays: they are put in place for each call."""
    named = module.named_parameters()
    call = call or (lambda module, *xs: module(*xs))

    def f(*arguments: Any) -> Any:
        own, xs = arguments[: len(named)], arguments[len(named) :]
        for (path, _), value in zip(named, own, strict=True):
            put(module, path, value if isinstance(value, Value) else Value(value))
        try:
            return call(module, *xs)
        finally:
            for path, parameter in named:
                put(module, path, parameter)

    return f, [np.array(parameter.data) for _, parameter in named]


def put(module: Any, path: str, value: Any) -> None:
    """Set the attribute at a dotted path, through lists."""
    *way, last = path.split(".")
    for step in way:
        module = module[int(step)] if isinstance(module, list) else getattr(module, step)
    if isinstance(module, list):
        module[int(last)] = value
    else:
        setattr(module, last, value)


def judge(f: Callable[..., Any], xs: list[Any], what: str = "", second: bool = True) -> None:
    """The gradients of f, and the gradients of those along random directions, against finite differences."""
    out, pull = vjp(f, *xs)
    u = uneven(np.shape(out))
    grads = pull(u)
    for i, (got, expected) in enumerate(zip(grads, numeric_gradients(f, xs, u), strict=True)):
        assert_close(got, expected, f"{what}: gradient of input {i}")
    if not second:
        return
    ws = [uneven(np.shape(x), seed=3 + i) for i, x in enumerate(xs)]

    def along(*xs: Any) -> Any:
        """The gradient of sum(u * f) in the random direction (w1, w2, ...): one number."""
        return sum(np.sum(g * w) for g, w in zip(vjp(f, *xs)[1](u), ws, strict=True))

    got = vjp(along, *xs)[1](1.0)
    for i, (g, expected) in enumerate(zip(got, numeric_gradients(along, xs, 1.0), strict=True)):
        assert_close(g, expected, f"{what}: second order, input {i}", tolerance=1e-7)
