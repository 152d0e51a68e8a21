"""Value's operators and methods, made from the op table: `Value.__apply__` unrolled for one and two inputs.

Most of a scalar graph's time is spent here, so nothing is looked up that can be known beforehand, and the operators
themselves make their nodes without a call (`value.made`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .op import Op, as_plain, nothing
from .recording import opened, settle
from .value import Value, as_operand, counter, made, ndarray, new


def unary(op: Op) -> Callable[[Value], Value]:
    """The method of Value for an op of one input and no settings."""
    forward = op.forward
    recover = op.recover

    def method(self: Value) -> Value:
        x = self._data
        try:
            data = forward(x)
        except Exception as error:
            data = recover(error, (x,), (self,))
        if data.__class__ is not float and data.__class__ is not ndarray:
            data = as_plain(data)
        return made(op, data, self, None, self.requires_grad)

    method.__name__ = method.__qualname__ = op.name
    method.__doc__ = op.__doc__
    return method


def binary(op: Op) -> tuple[Callable[[Value, Any], Value], Callable[[Value, Any], Value]]:
    """The operator of Value for an op of two inputs, and its reflected form."""
    forward = op.forward
    recover = op.recover

    def method(self: Value, other: Any) -> Value:
        x = self._data
        if other.__class__ is Value or isinstance(other, Value):
            y = other._data
            needs = self.requires_grad or other.requires_grad
        else:
            needs = self.requires_grad
            if other.__class__ is float or other.__class__ is int:
                y = other
            elif hasattr(other, "__apply__"):
                return NotImplemented
            else:
                y = other = as_operand(other)
        try:
            data = forward(x, y)
        except Exception as error:
            data = recover(error, (x, y), (self, other))
        if data.__class__ is not float and data.__class__ is not ndarray:
            data = as_plain(data)
        node: Value = new(Value)
        node._data = data
        node.grad = None
        node.op = op
        node._a = self
        node._b = other
        node.stamp = next(counter)
        node._note = None
        node.requires_grad = needs and op.vjp is not nothing
        if opened:
            settle(node)
        return node

    def reflected(self: Value, other: Any) -> Value:
        if other.__class__ is not float and other.__class__ is not int:
            return op(other, self)
        x = self._data
        try:
            data = forward(other, x)
        except Exception as error:
            data = recover(error, (other, x), (other, self))
        if data.__class__ is not float and data.__class__ is not ndarray:
            data = as_plain(data)
        return made(op, data, other, self, self.requires_grad)

    method.__name__ = method.__qualname__ = op.name
    method.__doc__ = op.__doc__
    return method, reflected
