"""How gradients travel: the backward pass.

`reach` finds the nodes, `walk` visits them, results before their inputs (newest first). At each node it asks the op's
rule for one gradient per input and adds it to what that input has so far. Run on numbers it gives numbers; run on
Values (`taped`) it gives a graph, which can be differentiated again. Broadcasting is undone here, once, and not in the
rules. A pass keeps its gradients in a dict of its own; `write` puts them into `.grad` when all are known.

`fast.py` has `reach` and `walk` once more, unrolled for speed; a test holds both equal, bit for bit.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, repeat
from typing import Any

import numpy as np

from .errors import BackwardError, ShapeError, StaleDataError
from .graph import by_stamp, edited_inputs
from .op import OPS
from .plain import as_data, copy_array
from .recording import check_finite_gradient, modes
from .value import Value, edits

ndarray = np.ndarray
Watch = Callable[[Value, Any, Value, Any, Any, Any], None]


def backward(root: Value, grad: Any = None) -> None:
    """Add d(root)/d(leaf) to the `grad` of every leaf, and set the `grad` of every node between.

    `Value.backward` and `autograd.backward` are its fast twin in `fast.py`.

    >>> x = Value(3.0)
    >>> backward(x * x)
    >>> x.grad
    6.0
    """
    grads = {root: cotangent_for(root, grad)}
    order = reach(root)
    results = walk(order, grads)
    write(order, results, grads)


# --- the walk -----------------------------------------------------------------------------------------------


def reach(root: Value) -> list[Value]:
    """The results that a gradient from `root` passes through, newest first: itself, and so on down to the leaves."""
    seen = {root}
    stack = [root] if root.op is not None else []
    order: list[Value] = []
    while stack:
        node = stack.pop()
        order.append(node)
        for x in node.parents:
            if x.op is not None and x.requires_grad and x not in seen:
                seen.add(x)
                stack.append(x)
    order.sort(key=by_stamp, reverse=True)
    refuse_stale(order)
    return order


def reach_from(roots: Iterable[Value], sources: Iterable[Value]) -> tuple[list[Value], set[Value]]:
    """What lies between some roots and the `sources`, newest first; and the set of all that want a gradient."""
    sources = set(sources)
    order = sorted({node for root in roots for node in reach(root)}, key=by_stamp, reverse=True)
    wanted = set(sources)
    for node in reversed(order):  # oldest first: a node is wanted if one of its inputs is
        if node not in sources and any(x in wanted for x in node.parents):
            wanted.add(node)
    return [node for node in order if node in wanted and node not in sources], wanted


def refuse_stale(order: list[Value]) -> None:
    """Raise if some input was edited after a node of this graph had used it."""
    if not order or edits.last < order[-1].stamp:
        return
    for node in order:
        for x in edited_inputs(node):
            raise StaleDataError(
                f"{x._called()} was edited after the forward pass used it (in {node.op.name}), so its gradient "  # type: ignore[union-attr]
                "would mix old and new numbers. Compute the result again, then call backward()."
            )


def walk(
    order: list[Value],
    grads: dict[Value, Any],
    wanted: set[Value] | None = None,
    taped: bool = False,
    watch: Watch | None = None,
) -> list[Any]:
    """Turn the roots' gradients in `grads` into those of the leaves, or of the nodes `wanted`: backpropagation.

    Returns the gradients of the nodes in `order`, None where none arrived. With `taped`, gradients are Values and the
    rules run on the nodes. `watch(node, g, parent, contribution, before, total)` is called at each addition.
    """
    careful = modes.finite
    results = []
    for node in order:
        # Step 1: the gradient of this node is complete, since all its users come before it in the order.
        g = grads.pop(node, None)
        if g is not None and node._note is not None and node._note.hooks:
            g = run_hooks(node, g)
        results.append(g)
        if g is None:  # nothing arrived: every path from the root ended in an op that passes no gradient on
            continue
        # Step 2: the chain rule. The op's rule turns it into one contribution per input, added to what was there.
        for x, dx in contributions(node, g, wanted, taped):
            if careful:
                check_finite_gradient(node, dx, x)
            before = grads.get(x)
            total = grads[x] = dx if before is None else before + dx
            if watch is not None:
                watch(node, g, x, dx, before, total)
    return results


def contributions(
    node: Value, g: Any, wanted: set[Value] | None = None, taped: bool = False
) -> list[tuple[Value, Any]]:
    """What `node` sends backwards: (input, gradient) for each input that needs one, in operand order."""
    if taped:
        return sent(node, g, node, node.inputs, wanted, taped)
    data = [x._data if isinstance(x, Value) else x for x in node.inputs]
    try:
        return sent(node, g, node._data, data, wanted)
    except (ArithmeticError, ValueError):
        # Where Python floats raise (`1.0 / 0.0`), NumPy answers with an infinity.
        if not all(np.isscalar(x) for x in (g, node._data, *data)):
            raise
        g, out, *data = map(np.float64, (g, node._data, *data))
        return sent(node, g, out, data, wanted)


def sent(
    node: Value, g: Any, out: Any, data: Sequence[Any], wanted: set[Value] | None = None, taped: bool = False
) -> list[tuple[Value, Any]]:
    """Run the rule of a node on any carrier: all of it, or, where each input has its own, those that are wanted."""
    rule = node.op.vjp  # type: ignore[union-attr]
    inputs = node.inputs
    given = None if rule.__class__ is tuple else rule(g, out, *data)
    if given is not None and len(given) != len(inputs):
        raise BackwardError(
            f"the rule of {node.op.name} gave {len(given)} gradients for {len(inputs)} inputs; "  # type: ignore[union-attr]
            "return a tuple with one per input, None where no gradient flows"
        )
    parts = []
    for i, x in enumerate(inputs):
        if isinstance(x, Value) and (x.requires_grad if wanted is None else x in wanted):
            if given is not None:
                dx = given[i]
            else:
                dx = rule[i] and rule[i](g, out, *data)
            if dx is not None:
                parts.append((x, conform(dx, x, taped)))
    return parts


def conform(dx: Any, x: Value, taped: bool = False) -> Any:
    """A gradient in the shape and dtype of its input: summed over the axes that broadcasting added."""
    data = x._data
    if dx.__class__ is float and data.__class__ is float:
        return dx
    if taped:
        dx = dx if isinstance(dx, Value) else Value(dx, requires_grad=False)  # a rule may say 0
        if dx.shape != np.shape(data):
            check_broadcast(dx, x)
            dx = OPS["sum_to"](dx, np.shape(data))
        if dx.dtype != x.dtype:
            dx = OPS["astype"](dx, x.dtype)
        return dx
    if data.__class__ is ndarray:
        if dx.__class__ is ndarray and dx.shape == data.shape and dx.dtype is data.dtype:
            return dx
        if dx.__class__ is not ndarray or dx.shape != data.shape:
            if dx.__class__ is not ndarray or dx.shape[dx.ndim - data.ndim :] != data.shape:
                check_broadcast(dx, x)
            dx = OPS["sum_to"].forward(dx, shape=data.shape)
        return dx if dx.__class__ is ndarray and dx.dtype is data.dtype else np.asarray(dx, dtype=data.dtype)
    dx = OPS["sum_to"].forward(dx, shape=()) if np.ndim(dx) else dx
    return float(dx) if data.__class__ is float else x.dtype.type(dx)


def check_broadcast(dx: Any, x: Value) -> None:
    """A gradient may be larger than its input by broadcasting, and must not differ from it otherwise."""
    shape = np.shape(dx)
    sizes = shape[len(shape) - x.ndim :]
    if len(shape) < x.ndim or any(own not in (1, size) for own, size in zip(x.shape, sizes, strict=True)):
        raise BackwardError(
            f"a gradient of shape {shape} came for {x._called()}, whose shape is {x.shape}. A rule (or a hook) gives "
            "each input a gradient of its own shape, or of one that it broadcasts to."
        )


def run_hooks(node: Value, g: Any) -> Any:
    """Call the hooks of a node with its gradient, which they may replace or edit: it is a copy."""
    g = copy_array(g)
    for hook in node._note.hooks:  # type: ignore[union-attr]
        replaced = hook(g)
        if replaced is not None:
            g = replaced if isinstance(g, Value) else conform(as_data(replaced), node)
    return g


def run_leaf_hooks(grads: dict[Value, Any]) -> None:
    """The hooks of the leaves, whose gradients are complete when the walk is."""
    for leaf, g in grads.items():
        if leaf._note is not None and leaf._note.hooks:
            grads[leaf] = run_hooks(leaf, g)


# --- the ends: what a pass starts from and what it leaves -----------------------------------------------------


def cotangent_for(root: Value, cotangent: Any) -> Any:
    """The gradient to start from: 1 for a scalar, the caller's in the root's shape otherwise."""
    if not isinstance(root, Value):
        raise BackwardError(
            f"only a Value has gradients; got {type(root).__name__}. Leave out .data, float() and .item() before it."
        )
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
    data = root._data
    if cotangent.__class__ is ndarray and data.__class__ is ndarray:
        if cotangent.shape == data.shape and cotangent.dtype is data.dtype:
            return cotangent.copy()
    elif cotangent.__class__ is float and data.__class__ is float:
        return cotangent
    cotangent = as_data(cotangent)
    if np.shape(cotangent) != root.shape and np.size(cotangent) != 1:
        raise ShapeError(f"the cotangent has shape {np.shape(cotangent)}; {root._called()} needs {root.shape}")
    if np.shape(cotangent) != root.shape:
        cotangent = np.broadcast_to(np.reshape(cotangent, ()), root.shape).copy()
    return conform(cotangent, root)


def write(order: list[Value], results: list[Any], leaves: dict[Value, Any]) -> None:
    """Write what a pass found into `.grad`: a result's is set, a leaf's is added to what it has. All or nothing.

    Until the last line, no node is changed: an exception, also a signal's (Ctrl-C) between any two
    instructions, leaves every `.grad` as it was. The last line is one call of functions written in C, and Python runs
    signal handlers only between its own instructions: so it is done for all nodes or for none.
    """
    run_leaf_hooks(leaves)
    with writing:  # two threads may train the same parameters
        ends = list(leaves)
        totals = [_added(leaf, leaves.pop(leaf)) for leaf in ends]
        deque(map(setattr, chain(order, ends), repeat("grad"), chain(results, totals)), maxlen=0)


writing = threading.Lock()


def _added(leaf: Value, g: Any) -> Any:
    """A leaf's gradient with that of one more pass, in an array that no other node has."""
    if leaf.grad is None:
        return copy_array(g)
    check_gradient(leaf)
    return leaf.grad + g


def check_gradient(leaf: Value) -> None:
    """Refuse a leaf whose `.grad` was set to something that no gradient can be added to."""
    g = leaf.grad
    if g.__class__ is float or g.__class__ is int or (g.__class__ is ndarray and g.shape == leaf.shape):
        return
    if isinstance(g, (int, float, np.generic, ndarray)) and np.ndim(g) == 0:
        return
    came = f"an array of shape {g.shape}" if isinstance(g, ndarray) else f"a {type(g).__name__}"
    raise BackwardError(
        f"the .grad of {leaf._called()} was set to {came}; a gradient is a plain array of its Value's shape, "
        f"{leaf.shape}. Write v.grad = None to start again."
    )
