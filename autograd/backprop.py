"""How gradients travel: the backward walk, and `backward`, which leaves its results in `.grad`.

The walk visits results before their inputs (newest first) and, at each node, asks the op's rule for one gradient per
input and adds it to what that input has so far. Run on numbers it gives numbers; run on Values (`taped`) it gives a
graph, which can be differentiated again. Broadcasting is undone here, once, and not in the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from sys import getrefcount
from typing import Any

import numpy as np

from .errors import BackwardError, ShapeError, StaleDataError
from .graph import by_stamp
from .op import OPS
from .recording import insist_finite_gradient, modes
from .value import Value, as_data, edits

ndarray = np.ndarray


# --- the walk -----------------------------------------------------------------------------------------------


def reach(root: Value) -> tuple[list[Value], set[Value]]:
    """The nodes a gradient from `root` passes through, newest first; and all that it reaches, leaves included."""
    reached = {root}
    if root.op is None:
        return [], reached
    order: list[Value] = []
    stack = [root]
    pop, push, visit, add = stack.pop, stack.append, order.append, reached.add
    while stack:
        node = pop()
        visit(node)
        a = node._a
        b = node._b
        if a.__class__ is tuple:
            for x in a:
                if isinstance(x, Value) and x.requires_grad and x not in reached:
                    add(x)
                    if x.op is not None:
                        push(x)
            continue
        if (a.__class__ is Value or isinstance(a, Value)) and a.requires_grad and a not in reached:
            add(a)
            if a.op is not None:
                push(a)
        if (b.__class__ is Value or isinstance(b, Value)) and b.requires_grad and b not in reached:
            add(b)
            if b.op is not None:
                push(b)
    order.sort(key=by_stamp, reverse=True)
    if edits.last > order[-1].stamp:
        refuse_stale(order)
    return order, reached


def reach_from(root: Value, sources: Iterable[Value]) -> tuple[list[Value], set[Value]]:
    """As `reach`, but only what lies between `root` and one of the `sources`."""
    sources = set(sources)
    order, reached = reach(root)
    wanted = sources & reached
    for node in reversed(order):  # oldest first: a node is wanted if one of its inputs is
        if node not in sources and any(x in wanted for x in node.parents):
            wanted.add(node)
    return [node for node in order if node in wanted and node not in sources], wanted


def refuse_stale(order: list[Value]) -> None:
    """Raise if some input was edited after a node of this graph had used it."""
    for node in order:
        for x in node.parents:
            if x.op is None and x.stamp > node.stamp:
                raise StaleDataError(
                    f"{x._called()} was edited after the forward pass used it (in {node.op.name}), so its gradient "  # type: ignore[union-attr]
                    "would mix old and new numbers. Compute the result again, then call backward()."
                )


def walk(order: list[Value], grads: dict[Value, Any], wanted: set[Value] | None = None, taped: bool = False) -> None:
    """Turn the root's gradient in `grads` into those of its leaves (or of the nodes `wanted`): backpropagation.

    With `taped`, gradients are Values and the rules run on the nodes themselves.
    """
    careful = modes.finite
    for node in order:
        # Step 1: the gradient of this node is complete, since all its users come before it in the order.
        g = grads.pop(node, None)
        if g is None:  # nothing arrived: every path from the root ended in an op that passes no gradient on
            continue
        if node.label is not None and node.label.hooks:
            g = run_hooks(node, g)
        # Step 2: the chain rule. The op's rule turns it into one contribution per input, added to what was there.
        for x, dx in contributions(node, g, wanted, taped):
            if careful:
                insist_finite_gradient(node, dx, x)
            total = grads.get(x)
            grads[x] = dx if total is None else total + dx


def walk_and_keep(order: list[Value], grads: dict[Value, Any]) -> None:
    """`walk` on numbers, leaving each node's gradient in its `.grad`; unrolled, since a backward pass lives here.

    The same steps and the same sums, to the bit (a test holds them equal), with `contributions` written out for the
    ops of one and two inputs that scalar graphs are made of.
    """
    get, pop = grads.get, grads.pop
    for node in order:
        g = pop(node, None)
        label = node.label
        if label is not None and label.hooks and g is not None:
            g = run_hooks(node, g)
        node.grad = g
        if g is None:
            continue
        rule = node.op.vjp  # type: ignore[union-attr]
        a = node._a
        b = node._b
        if rule.__class__ is tuple or a.__class__ is tuple:
            for x, dx in contributions(node, g):
                total = get(x)
                grads[x] = dx if total is None else total + dx
            continue
        x = a._data if a.__class__ is Value or isinstance(a, Value) else a
        if b is None:
            try:
                (dx,) = rule(g, node._data, x)
            except (ArithmeticError, ValueError):
                (dx,) = again(node, rule, g, node._data, x)
        else:
            y = b._data if b.__class__ is Value or isinstance(b, Value) else b
            try:
                dx, dy = rule(g, node._data, x, y)
            except (ArithmeticError, ValueError):
                dx, dy = again(node, rule, g, node._data, x, y)
        if dx is not None and (a.__class__ is Value or isinstance(a, Value)) and a.requires_grad:
            if dx.__class__ is not float or x.__class__ is not float:
                dx = conform(dx, a)
            total = get(a)
            grads[a] = dx if total is None else total + dx
        if b is None:
            continue
        if dy is not None and (b.__class__ is Value or isinstance(b, Value)) and b.requires_grad:
            if dy.__class__ is not float or y.__class__ is not float:
                dy = conform(dy, b)
            total = get(b)
            grads[b] = dy if total is None else total + dy


def again(node: Value, rule: Callable[..., Any], g: Any, out: Any, *inputs: Any) -> tuple[Any, ...]:
    """A rule that raised: on Python floats (`1.0 / 0.0`) NumPy answers with an infinity; else say which rule it was."""
    if all(np.isscalar(x) for x in (g, out, *inputs)):
        grads = tuple(rule(np.float64(g), np.float64(out), *map(np.float64, inputs)))
    else:
        grads = tuple(rule(g, out, *inputs))
    if len(grads) != len(inputs):
        raise BackwardError(
            f"the rule of {node.op.name} gave {len(grads)} gradients for {len(inputs)} inputs; "  # type: ignore[union-attr]
            "return a tuple with one per input, None where no gradient flows"
        )
    return grads


def contributions(
    node: Value, g: Any, wanted: set[Value] | None = None, taped: bool = False
) -> list[tuple[Value, Any]]:
    """What `node` sends backwards: (input, gradient) for each input that wants one, in operand order."""
    inputs = node.inputs
    rule = node.op.vjp  # type: ignore[union-attr]
    out = node if taped else node._data
    data = inputs if taped else [x._data if isinstance(x, Value) else x for x in inputs]
    wants = [isinstance(x, Value) and (x.requires_grad if wanted is None else x in wanted) for x in inputs]

    def run(*given_inputs: Any) -> tuple[Any, ...]:
        if isinstance(rule, tuple):
            pairs = zip(rule, wants, strict=True)
            return tuple(r(*given_inputs) if want and r is not None else None for r, want in pairs)
        return rule(*given_inputs)

    try:
        given = run(g, out, *data)
        complete = len(given) == len(inputs)
    except (ArithmeticError, ValueError):
        complete = False
    if not complete:
        given = again(node, run, g, out, *data)
    return [
        (x, conform(dx, x, taped))
        for x, dx, want in zip(inputs, given, wants, strict=True)
        if want and dx is not None
    ]


def conform(dx: Any, x: Value, taped: bool = False) -> Any:
    """The gradient in the shape and dtype of what it belongs to: sums over the axes that broadcasting added."""
    data = x._data
    if taped:
        if dx.shape != np.shape(data):
            dx = OPS["sum_to"](dx, np.shape(data))
        if dx.dtype != x.dtype:
            dx = OPS["astype"](dx, x.dtype)
        return dx
    if data.__class__ is ndarray:
        if dx.__class__ is ndarray and dx.shape == data.shape and dx.dtype is data.dtype:
            return dx
        return np.asarray(OPS["sum_to"](dx, data.shape), dtype=data.dtype)
    dx = OPS["sum_to"](dx, ()) if np.ndim(dx) else dx
    return float(dx) if data.__class__ is float else x.dtype.type(dx)


def run_hooks(node: Value, g: Any) -> Any:
    """Let the hooks of a node see its gradient, and replace it."""
    for hook in node.label.hooks:  # type: ignore[union-attr]
        replaced = hook(g)
        if replaced is not None:
            g = replaced if isinstance(g, Value) else conform(as_data(replaced), node)
    return g


# --- backward: gradients into .grad -------------------------------------------------------------------------


def backward(root: Value, cotangent: Any = None) -> None:
    """Add d(root)/d(leaf) to the `grad` of every leaf, and set the `grad` of every node between."""
    grads = {root: cotangent_for(root, cotangent)}
    order, _ = reach(root)
    if modes.finite:
        walk(order, grads)
    else:
        walk_and_keep(order, grads)
    for leaf in list(grads):  # the leaves are written last, when nothing can fail any more
        total = grads.pop(leaf)
        if leaf.label is not None and leaf.label.hooks:
            total = run_hooks(leaf, total)
        if leaf.grad is not None:
            leaf.grad = leaf.grad + total
        elif total.__class__ is ndarray and (getrefcount(total) > 2 or total.base is not None):
            leaf.grad = total.copy()  # somebody else holds it: `add` sends one array to both of its inputs
        else:
            leaf.grad = total


def cotangent_for(root: Value, cotangent: Any) -> Any:
    """The gradient to start from: 1 for a scalar, the caller's in the root's shape otherwise."""
    if not isinstance(root, Value):
        raise BackwardError(f"only a Value has gradients; got {type(root).__name__}")
    if not root.requires_grad:
        why = "is a constant" if root.op is None else "depends on no leaf that requires a gradient"
        raise BackwardError(
            f"{root._called()} {why}; there is nothing to differentiate. "
            "Make its inputs with Value(..., requires_grad=True), outside no_grad()."
        )
    if cotangent is None:
        if root.size != 1:
            raise BackwardError(
                f"{root._called()} is not a scalar (shape {root.shape}). Write .sum().backward() or "
                f".mean().backward(), or give a cotangent: .backward(grad=np.ones({root.shape}))"
            )
        cotangent = 1.0
    if isinstance(cotangent, Value):
        cotangent = cotangent._data
    cotangent = as_data(cotangent)
    if np.shape(cotangent) != root.shape and np.size(cotangent) != 1:
        raise ShapeError(f"the cotangent has shape {np.shape(cotangent)}; {root._called()} needs {root.shape}")
    if np.shape(cotangent) != root.shape:
        cotangent = np.broadcast_to(np.reshape(cotangent, ()), root.shape).copy()
    if root._data.__class__ is not float or cotangent.__class__ is not float:
        cotangent = conform(cotangent, root)
    return cotangent
