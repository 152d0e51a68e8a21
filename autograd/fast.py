"""All code that exists for speed alone: the operators and the backward pass, unrolled for one and two inputs.

Most of a scalar graph's time is spent here. `unary` and `binary` are `Value.__apply__` with nothing looked up that can
be known beforehand; `reach`, `walk` and `backward` are those of `backprop.py`, where they are explained. Results are
exactly Values, but for those of `micrograd.py`; a Parameter is a leaf.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import backprop
from .backprop import conform, contributions, cotangent_for, refuse_stale, run_hooks, write
from .graph import by_stamp
from .op import OPS, Op, nothing
from .plain import as_operand, as_plain, as_wide
from .recording import apply_modes, modes, modes_in_use
from .value import Value, counter, is_mask, ndarray, new, new_node

# --- operators ------------------------------------------------------------------------------------------------


def unary(op: Op) -> Callable[[Value], Value]:
    """The method of Value for an op of one input and no settings."""
    forward = op.forward
    recover = op.recover

    def method(self: Value) -> Value:
        x = self._data
        try:
            data = forward(x)
        except Exception as error:
            if isinstance(error, TypeError) and is_mask(self):
                return op(OPS["astype"](self, np.float64))
            data = recover(error, (x,), (self,))
        if data.__class__ is not float and data.__class__ is not ndarray:
            data = as_plain(data)
        return new_node(op, data, self, None, self.requires_grad)

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
                y = other = as_operand(other) if x.__class__ is not float else as_wide(as_operand(other))
        try:
            data = forward(x, y)
        except Exception as error:
            if isinstance(error, TypeError) and is_mask(self):
                return op(OPS["astype"](self, np.float64), other)
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
        if modes_in_use:
            apply_modes(node)
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
        return new_node(op, data, other, self, self.requires_grad)

    method.__name__ = method.__qualname__ = op.name
    method.__doc__ = op.__doc__
    return method, reflected


def comparison(op: Op) -> Callable[[Value, Any], Any]:
    """`==` or `!=`, number by number; beside what is no number (None, a string) Python's own answer, by identity."""
    compared, _ = binary(op)

    def method(self: Value, other: Any) -> Any:
        comparable = isinstance(other, (Value, int, float, ndarray, np.generic, list, tuple))
        return compared(self, other) if comparable else NotImplemented

    return method


# --- the backward pass ----------------------------------------------------------------------------------------


def backward(root: Value, grad: Any = None) -> None:
    """Add d(root)/d(leaf) to the `grad` of every leaf, and set the `grad` of every node between.

    `grad` is the gradient to start from, 1 for a scalar. Interrupted (Ctrl-C, an error in a rule), a pass leaves every
    `grad` as it was.

    >>> x = Value(3.0)
    >>> backward(x * x)
    >>> x.grad
    6.0
    """
    if modes.finite:  # detect_nan looks at every contribution
        backprop.backward(root, grad)
        return
    grads = {root: cotangent_for(root, grad)}
    order = reach(root)
    results = walk(order, grads)
    write(order, results, grads)


def reach(root: Value) -> list[Value]:
    """`backprop.reach`."""
    seen = {root}
    stack = [root] if root.op is not None else []
    order: list[Value] = []
    pop, push, visit, mark = stack.pop, stack.append, order.append, seen.add
    while stack:
        node = pop()
        visit(node)
        x = node._a
        if x.__class__ is tuple:
            for x in node._a:
                if isinstance(x, Value) and x.op is not None and x not in seen and x.requires_grad:
                    mark(x)
                    push(x)
            continue
        if (x.__class__ is Value or (x.__class__ not in PLAIN and isinstance(x, Value))) and (
            x.op is not None and x not in seen and x.requires_grad
        ):
            mark(x)
            push(x)
        x = node._b
        if (x.__class__ is Value or (x.__class__ not in PLAIN and isinstance(x, Value))) and (
            x.op is not None and x not in seen and x.requires_grad
        ):
            mark(x)
            push(x)
    order.sort(key=by_stamp, reverse=True)
    refuse_stale(order)
    return order


PLAIN = frozenset((float, int, ndarray, None.__class__))


def walk(order: list[Value], grads: dict[Value, Any]) -> list[Any]:
    """`backprop.walk` on numbers: `contributions` written out for one Value, two, or one and a number."""
    results: list[Any] = []
    get, take, done = grads.get, grads.pop, results.append
    for node in order:
        g = take(node, None)
        note = node._note
        if g is not None and note is not None and note.hooks:
            g = run_hooks(node, g)
        done(g)
        if g is None:
            continue
        rule = node.op.vjp  # type: ignore[union-attr]
        a = node._a
        b = node._b
        left = a.__class__ is Value
        right = b.__class__ is Value
        if rule.__class__ is tuple or not (left or a.__class__ in PLAIN) or not (right or b.__class__ in PLAIN):
            _send(node, g, rule, grads)
            continue
        x = a._data if left else a
        y = b._data if right else b
        try:
            if b is None:
                (dx,) = rule(g, node._data, x)
                dy = None
            else:
                dx, dy = rule(g, node._data, x, y)
        except (ArithmeticError, ValueError):  # a float that raised, or not one gradient per input: ask the slow way
            _add_up(contributions(node, g), grads)
            continue
        if left and dx is not None and a.requires_grad:
            kind = dx.__class__
            if kind is not x.__class__ or (kind is not float and (dx.shape != x.shape or dx.dtype is not x.dtype)):
                dx = conform(dx, a)
            total = get(a)
            grads[a] = dx if total is None else total + dx
        if right and dy is not None and b.requires_grad:
            kind = dy.__class__
            if kind is not y.__class__ or (kind is not float and (dy.shape != y.shape or dy.dtype is not y.dtype)):
                dy = conform(dy, b)
            total = get(b)
            grads[b] = dy if total is None else total + dy
    return results


def _send(node: Value, g: Any, rule: Any, grads: dict[Value, Any]) -> None:
    """The same for any number of inputs: layers, mostly, whose gradients fit as they are."""
    if node._a.__class__ is tuple:
        inputs, data = node._a, node._b
    else:  # a Parameter, say, or an array on one side
        inputs = node.inputs
        data = [x._data if isinstance(x, Value) else x for x in inputs]
    out = node._data
    given: Any = []
    try:
        if rule.__class__ is tuple:
            for pull, x in zip(rule, inputs):
                wanted = pull is not None and isinstance(x, Value) and x.requires_grad
                given.append(pull(g, out, *data) if wanted else None)
        else:
            given = rule(g, out, *data)
    except (ArithmeticError, ValueError):
        given = []
    if len(given) != len(data):  # as above: ask the slow way
        _add_up(contributions(node, g), grads)
        return
    for x, own, dx in zip(inputs, data, given):
        if dx is None or not isinstance(x, Value) or not x.requires_grad:
            continue
        if dx.__class__ is not ndarray or own.__class__ is not ndarray or dx.shape != own.shape or (
            dx.dtype is not own.dtype
        ):
            dx = conform(dx, x)
        total = grads.get(x)
        grads[x] = dx if total is None else total + dx


def _add_up(sent: list[tuple[Value, Any]], grads: dict[Value, Any]) -> None:
    """Add what a node sent to what each input has so far."""
    for x, dx in sent:
        total = grads.get(x)
        grads[x] = dx if total is None else total + dx
