"""micrograd's Value: for its lecture, and for scripts such as microgpt, with only their Value class replaced.

    from autograd.micrograd import Value

It is our Value with micrograd's meanings where the two differ. A gradient starts at 0.0, not at None, for leaves and
for results: `p.grad` can be used before a backward pass has reached p, and "%.4f" % p.grad works from the start. The
data of a result can be set right after it was computed (`e.data += h`). `_backward()` takes one step back by hand.
Every Value has micrograd's names beside our own: `label` for `name`, `_prev` for `parents`, `_op` for the op's sign.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from autograd.arrays.plain import as_data

from . import engine
from .engine import contributions, counter
from .modes import notice_read
from .op import OPS, Op
from .ops import OPERATORS

__all__ = ["Value"]


def label(self: engine.Value) -> str:
    """micrograd's word for `name`: "" where there is none."""
    return self.name or ""


def set_label(self: engine.Value, label: str) -> None:
    self.name = None if label == "" else label


def sign_of(self: engine.Value) -> str:
    """micrograd's name for the op, as text: "" for a leaf, "+" for a sum."""
    if self.op is None:
        return ""
    sign = self.op.reads.replace("x", "").replace("y", "").strip()
    return sign if sign in ("+", "-", "*", "/", "**", "@") else self.op.name


_aliases = {"label": property(label, set_label), "_prev": engine.Value.parents, "_op": property(sign_of)}
for _name, _alias in _aliases.items():
    setattr(engine.Value, _name, _alias)


class Value(engine.Value):
    """A node whose gradient starts at 0.0.

    >>> a, b = Value(2.0, label="a"), Value(-3.0, label="b")
    >>> e = a * b
    >>> e.label = "e"
    >>> "%s | data %.4f | grad %.4f" % (e.label, e.data, e.grad)
    'e | data -6.0000 | grad 0.0000'
    >>> e.backward()
    >>> a.grad, b.grad, e.grad
    (-3.0, 2.0, 1.0)
    """

    __slots__ = ()

    def __init__(self, data: Any, name: str | None = None, requires_grad: bool = True, *, label: str = "") -> None:
        super().__init__(data, name, requires_grad, label=label)
        self.zero_grad()

    def zero_grad(self) -> None:
        """Set the gradient back to 0.0."""
        self.grad = 0.0 if np.ndim(self._data) == 0 else np.zeros_like(self._data)

    @property
    def data(self) -> Any:
        """The number. It can be set: a leaf's at any time, a result's before anything else is computed."""
        return engine.Value.data.fget(self)  # type: ignore[attr-defined]

    @data.setter
    def data(self, new: Any) -> None:
        if self.op is None or next(counter) > self.stamp + 1:  # a result is no longer the newest node: refused
            engine.Value.data.fset(self, new)  # type: ignore[attr-defined]
        else:
            notice_read(self, "edit")
            self._data = as_data(new)
            self.touch()

    def _backward(self) -> None:
        """Add what this node sends to the gradients of its parents: one step of the backward pass."""
        for parent, gradient in contributions(self, self.grad) if self.op is not None else ():
            parent.grad = gradient if parent.grad is None else parent.grad + gradient

    @staticmethod
    def __apply__(op: Op, inputs: tuple[Any, ...]) -> Value:
        return _as_ours(engine.Value.__apply__(op, inputs))


def _as_ours(node: Any) -> Any:
    """A result as a node of this class. It is new, and nothing else refers to it yet."""
    if node.__class__ is engine.Value:
        node.__class__ = Value
        node.zero_grad()
    return node


def _giving_ours(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def wrapped(*args: Any, **settings: Any) -> Any:
        return _as_ours(method(*args, **settings))

    return wrapped


# Ops reach `__apply__`. Value's own operators, and its methods of one input, do without it, so they are wrapped.
_OPERATORS = [f"__{r}{name}__" for name in OPERATORS for r in ("", "r")]
_OPERATORS += ["__neg__", "__abs__", "__eq__", "__ne__"]
for _name in {*_OPERATORS, *OPS} & vars(engine.Value).keys():
    _method = vars(engine.Value)[_name]
    if not isinstance(_method, Op):
        setattr(Value, _name, _giving_ours(_method))
