"""Shapes, dtypes and refusals: how a gradient is fitted to its input, what a pass starts from, and what it refuses.

    conform(np.ones((2, 3)), bias)      # bias has shape (3,): its gradient is summed over the rows, [2., 2., 2.]

Broadcasting is undone here, once, and not in the rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from autograd.arrays.plain import as_data, as_plain, copy_array

from .attached import Node, edits
from .errors import BackwardError, ShapeError, StaleDataError
from .op import OPS

if TYPE_CHECKING:
    from .engine import Value

ndarray = np.ndarray

# --- what a rule gives ----------------------------------------------------------------------------------------


def conform(dx: Any, x: Value, taped: bool = False) -> Any:
    """A gradient in the shape and dtype of its input: summed over the axes that broadcasting added."""
    data = x._data
    kind = dx.__class__
    if kind is data.__class__ and (kind is float or (dx.shape == data.shape and dx.dtype is data.dtype)):
        return dx
    if taped:
        if dx.shape != np.shape(data):
            check_broadcast(dx, x)
            dx = OPS["sum_to"](dx, np.shape(data))
        if dx.dtype != x.dtype and x.dtype.kind == "f":  # no gradient of integers is asked for
            dx = OPS["astype"](dx, x.dtype)
        return dx
    if data.__class__ is ndarray:
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


def check_one_each(node: Value, given: Sequence[Any]) -> None:
    """Refuse a rule that gave more or fewer gradients than its op has inputs."""
    if len(given) != len(node.inputs):
        raise BackwardError(
            f"the rule of {node.op and node.op.name} gave {len(given)} gradients for {len(node.inputs)} inputs; "
            "return a tuple with one per input, None where no gradient flows"
        )


def run_hooks(node: Value, g: Any) -> Any:
    """Call the hooks of a node with its gradient, which they may replace or edit: it is a copy."""
    g = copy_array(g)
    for hook in node._note.hooks:  # type: ignore[union-attr]
        replaced = hook(g)
        if replaced is not None:
            g = replaced if isinstance(replaced, Node) else conform(as_data(replaced), node)
    return g


def run_leaf_hooks(grads: dict[Value, Any]) -> None:
    """The hooks of the leaves, whose gradients are complete when the walk is."""
    for leaf, g in grads.items():
        if leaf._note is not None and leaf._note.hooks:
            grads[leaf] = run_hooks(leaf, g)


# --- what a pass starts from ------------------------------------------------------------------------------------


def cotangent_for(root: Value, cotangent: Any) -> Any:
    """The gradient to start from: 1 for a scalar, the caller's in the root's shape otherwise."""
    if not isinstance(root, Node):
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
    cotangent = cotangent._data if isinstance(cotangent, Node) else cotangent
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


def edited_inputs(node: Value) -> list[Value]:
    """The leaves whose data was edited after `node` had used it: editing gives a leaf a later stamp."""
    return [x for x in node.parents if x.op is None and x.stamp > node.stamp]


def refuse_stale(order: Sequence[Value]) -> None:
    """Raise if some input was edited after a node of this graph, newest first, had used it."""
    if not order or edits.last < order[-1].stamp:
        return
    for node in order:
        for x in edited_inputs(node):
            raise StaleDataError(
                f"{x._called()} was edited after the forward pass used it (in {node.op and node.op.name}), so its "
                "gradient would mix old and new numbers. Compute the result again, then call backward()."
            )


# --- what is written ------------------------------------------------------------------------------------------


def added(leaf: Value, g: Any) -> Any:
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


def data_for(node: Value, new: Any) -> Any:
    """The data that takes the place of a leaf's, in its own shape and dtype; a result's is refused.

    A result that was computed from plain numbers alone, `randn(3, 4) * 0.1`, becomes a leaf, as it is in torch.
    """
    if node.op is not None and not any(isinstance(x, Node) and x.requires_grad for x in node.inputs):
        node.op, node.inputs = None, ()
    if node.op is None and new.__class__ is float and node._data.__class__ is float:
        return new
    if node.op is not None:
        raise BackwardError(
            f"{node._called()} is the result of {node.op.name}; only a leaf's data may be set. "
            "Set the leaves and compute again, or write detach() to get a leaf."
        )
    if new is node._data:  # `v.data -= step` hands back the array it edited in place
        return new
    new = as_data(new)
    if np.shape(new) != np.shape(node._data):
        raise ShapeError(
            f"{node._called()} has shape {node.shape}; data of shape {np.shape(new)} cannot take its "
            "place. Make a new Value instead."
        )
    if getattr(node._data, "dtype", np.float64) != getattr(new, "dtype", np.float64):
        new = as_plain(np.asarray(new, dtype=node.dtype))
    return new


def refuse_descent(node: Value, other: Any) -> Any:
    """`v += other` and its like make a new Value, by way of `v + other`. Where a gradient step was meant, refuse:
    the new Value would be forgotten, or every step would make the graph longer."""
    if node.op is None and node.grad is not None and not isinstance(other, Node) and np.any(node.grad):
        raise BackwardError(
            f"{node._called()} is a leaf, which +=, -=, *= and /= do not change: they make another Value. To move "
            "it, write v.data -= step; for another Value, v = v - step."
        )
    return NotImplemented
