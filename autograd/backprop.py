"""How gradients travel: the backward walk, and `backward`, which leaves its results in `.grad`.

The walk visits results before their inputs (newest first) and, at each node, asks the op's rule for one gradient per
input and adds it to what that input has so far. Run on numbers it gives numbers; run on Values (`taped`) it gives a
graph, which can be differentiated again. Broadcasting is undone here, once, and not in the rules.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from sys import getrefcount
from typing import Any

import numpy as np

from .errors import BackwardError, ShapeError, StaleDataError
from .graph import by_stamp, edited_inputs
from .op import OPS
from .recording import insist_finite_gradient, modes
from .value import Value, as_data, edits

ndarray = np.ndarray


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
    order: list[Value], grads: dict[Value, Any], wanted: set[Value] | None = None, taped: bool = False
) -> list[tuple[Value, Any]]:
    """Turn the roots' gradients in `grads` into those of the leaves, or of the nodes `wanted`: backpropagation.

    Returns the gradients of the nodes on the way. With `taped`, gradients are Values and the rules run on the nodes.
    """
    careful = modes.finite
    walked = []
    for node in order:
        # Step 1: the gradient of this node is complete, since all its users come before it in the order.
        g = grads.pop(node, None)
        if g is None:  # nothing arrived: every path from the root ended in an op that passes no gradient on
            continue
        if node.label is not None and node.label.hooks:
            g = run_hooks(node, g)
        walked.append((node, g))
        # Step 2: the chain rule. The op's rule turns it into one contribution per input, added to what was there.
        for x, dx in contributions(node, g, wanted, taped):
            if careful:
                insist_finite_gradient(node, dx, x)
            total = grads.get(x)
            grads[x] = dx if total is None else total + dx
    return walked


# `reach` and `walk` once more, written out for speed: this is where a backward pass lives. Each node's gradient is
# added up in its own `.grad`, which also marks the nodes seen. The same steps and the same sums, to the bit (a test
# holds them equal), at half the cost. A result is always exactly a Value: a subclass, as a Parameter, is a leaf.

PENDING: Any = object()  # stands in `.grad` while nothing has arrived


def reach_in_slots(root: Value, order: list[Value], stack: list[Value], before: dict[Value, Any]) -> None:
    """`reach`, with each node marked as pending and the gradients they had kept in `before`."""
    stack.append(root)
    pop, push, visit = stack.pop, stack.append, order.append
    if root.grad is not None:
        before[root] = root.grad
    root.grad = PENDING
    while stack:
        node = pop()
        visit(node)
        x = node._a
        if x.__class__ is tuple:
            for x in node._a:
                if x.__class__ is Value and x.op is not None and x.grad is not PENDING and x.requires_grad:
                    if x.grad is not None:
                        before[x] = x.grad
                    x.grad = PENDING
                    push(x)
            continue
        if x.__class__ is Value and x.op is not None and x.grad is not PENDING and x.requires_grad:
            if x.grad is not None:
                before[x] = x.grad
            x.grad = PENDING
            push(x)
        x = node._b
        if x.__class__ is Value and x.op is not None and x.grad is not PENDING and x.requires_grad:
            if x.grad is not None:
                before[x] = x.grad
            x.grad = PENDING
            push(x)
    order.sort(key=by_stamp, reverse=True)
    refuse_stale(order)


def walk_in_slots(order: list[Value], grads: dict[Value, Any]) -> None:
    """`walk` on numbers, in the slots of the nodes; `grads` then holds the leaves'.

    `contributions` is written out for what scalar graphs are made of: one Value, two, or one and a number.
    """
    get = grads.get
    for node in order:
        g = node.grad
        if g is PENDING:
            node.grad = None
            continue
        label = node.label
        if label is not None and label.hooks:
            g = node.grad = run_hooks(node, g)
        rule = node.op.vjp  # type: ignore[union-attr]
        a = node._a
        b = node._b
        left = a.__class__
        right = b.__class__
        if left is Value:
            x = a._data
        elif left is float or left is int:
            x = a
        else:
            send_in_slots(node, g, rule, grads)
            continue
        if right is Value:
            y = b._data
        elif isinstance(b, Value):
            send_in_slots(node, g, rule, grads)
            continue
        else:
            y = b
        try:
            if b is None:
                (dx,) = rule(g, node._data, x)
                dy = None
            elif rule.__class__ is not tuple:
                dx, dy = rule(g, node._data, x, y)
            else:
                dx, dy = rule
                if dx is not None:
                    dx = dx(g, node._data, x, y) if left is Value and a.requires_grad else None
                if dy is not None:
                    dy = dy(g, node._data, x, y) if right is Value and b.requires_grad else None
        except (ArithmeticError, ValueError):  # a float that raised, or not one gradient per input: ask the slow way
            add_up(contributions(node, g), grads)
            continue
        if dx is not None and left is Value and a.requires_grad:
            kind = dx.__class__
            if kind is not x.__class__ or (kind is not float and (dx.shape != x.shape or dx.dtype is not x.dtype)):
                dx = conform(dx, a)
            if a.op is None:
                total = get(a)
                grads[a] = dx if total is None else total + dx
            else:
                total = a.grad
                a.grad = dx if total is PENDING else total + dx
        if dy is not None and right is Value and b.requires_grad:
            kind = dy.__class__
            if kind is not y.__class__ or (kind is not float and (dy.shape != y.shape or dy.dtype is not y.dtype)):
                dy = conform(dy, b)
            if b.op is None:
                total = get(b)
                grads[b] = dy if total is None else total + dy
            else:
                total = b.grad
                b.grad = dy if total is PENDING else total + dy


def send_in_slots(node: Value, g: Any, rule: Any, grads: dict[Value, Any]) -> None:
    """`contributions` and `add_up` in one, for ops of many inputs: layers, mostly, whose gradients fit as they are."""
    if node._a.__class__ is tuple:
        inputs, data = node._a, node._b
    else:  # a Parameter, say, or an array on the left
        inputs = node.inputs
        data = [x._data if isinstance(x, Value) else x for x in inputs]
    out = node._data
    try:
        if rule.__class__ is tuple:
            given = []
            for pull, x in zip(rule, inputs):
                wanted = pull is not None and isinstance(x, Value) and x.requires_grad
                given.append(pull(g, out, *data) if wanted else None)
        else:
            given = rule(g, out, *data)
            if len(given) != len(data):
                raise ValueError
    except (ArithmeticError, ValueError):  # as above: ask the slow way
        add_up(contributions(node, g), grads)
        return
    for x, own, dx in zip(inputs, data, given):
        if dx is None or not isinstance(x, Value) or not x.requires_grad:
            continue
        if dx.__class__ is not ndarray or own.__class__ is not ndarray or dx.shape != own.shape or (
            dx.dtype is not own.dtype
        ):
            dx = conform(dx, x)
        if x.op is None:
            total = grads.get(x)
            grads[x] = dx if total is None else total + dx
        else:
            total = x.grad
            x.grad = dx if total is PENDING else total + dx


def add_up(sent: list[tuple[Value, Any]], leaves: dict[Value, Any]) -> None:
    """Add what a node sent to what each input has so far: a leaf's in `leaves`, a result's in its own slot."""
    for x, dx in sent:
        if x.op is None:
            total = leaves.get(x)
            leaves[x] = dx if total is None else total + dx
        else:
            total = x.grad
            x.grad = dx if total is PENDING else total + dx


def contributions(
    node: Value, g: Any, wanted: set[Value] | None = None, taped: bool = False
) -> list[tuple[Value, Any]]:
    """What `node` sends backwards: (input, gradient) for each input that wants one, in operand order."""
    inputs = node.inputs
    if taped:
        return list(sent(node, g, node, inputs, wanted, taped))
    data = [x._data if isinstance(x, Value) else x for x in inputs]
    try:
        return list(sent(node, g, node._data, data, wanted))
    except (ArithmeticError, ValueError):
        # Where Python floats raise (`1.0 / 0.0`), NumPy answers with an infinity.
        if not all(np.isscalar(x) for x in (g, node._data, *data)):
            raise
        g, out, *data = map(np.float64, (g, node._data, *data))
        return list(sent(node, g, out, data, wanted))


def sent(
    node: Value, g: Any, out: Any, data: Sequence[Any], wanted: set[Value] | None = None, taped: bool = False
) -> Iterator[tuple[Value, Any]]:
    """Run the rule of a node on any carrier: all of it, or, where each input has its own, those that are wanted."""
    rule = node.op.vjp  # type: ignore[union-attr]
    inputs = node.inputs
    given = None if rule.__class__ is tuple else rule(g, out, *data)
    if given is not None and len(given) != len(inputs):
        raise BackwardError(
            f"the rule of {node.op.name} gave {len(given)} gradients for {len(inputs)} inputs; "  # type: ignore[union-attr]
            "return a tuple with one per input, None where no gradient flows"
        )
    for i, x in enumerate(inputs):
        if isinstance(x, Value) and (x.requires_grad if wanted is None else x in wanted):
            if given is not None:
                dx = given[i]
            else:
                dx = rule[i] and rule[i](g, out, *data)
            if dx is not None:
                yield x, conform(dx, x, taped)


def conform(dx: Any, x: Value, taped: bool = False) -> Any:
    """The gradient in the shape and dtype of what it belongs to: sums over the axes that broadcasting added."""
    data = x._data
    if dx.__class__ is float and data.__class__ is float:
        return dx
    if taped:
        if dx.shape != np.shape(data):
            insist_broadcast(dx, x)
            dx = OPS["sum_to"](dx, np.shape(data))
        if dx.dtype != x.dtype:
            dx = OPS["astype"](dx, x.dtype)
        return dx
    if data.__class__ is ndarray:
        if dx.__class__ is ndarray and dx.shape == data.shape and dx.dtype is data.dtype:
            return dx
        if dx.__class__ is not ndarray or dx.shape != data.shape:
            if dx.__class__ is not ndarray or dx.shape[dx.ndim - data.ndim :] != data.shape:
                insist_broadcast(dx, x)
            dx = OPS["sum_to"].forward(dx, shape=data.shape)
        return dx if dx.__class__ is ndarray and dx.dtype is data.dtype else np.asarray(dx, dtype=data.dtype)
    dx = OPS["sum_to"].forward(dx, shape=()) if np.ndim(dx) else dx
    return float(dx) if data.__class__ is float else x.dtype.type(dx)


def insist_broadcast(dx: Any, x: Value) -> None:
    """A gradient may have grown by broadcasting, and must not differ from its owner otherwise."""
    shape = np.shape(dx)
    sizes = shape[len(shape) - x.ndim :]
    if len(shape) < x.ndim or any(own not in (1, size) for own, size in zip(x.shape, sizes, strict=True)):
        raise BackwardError(
            f"a gradient of shape {shape} came for {x._called()}, whose shape is {x.shape}. A rule (or a hook) gives "
            "each input a gradient of its own shape, or of one that it broadcasts to."
        )


def run_hooks(node: Value, g: Any) -> Any:
    """Let the hooks of a node see its gradient, and replace it."""
    for hook in node.label.hooks:  # type: ignore[union-attr]
        replaced = hook(g)
        if replaced is not None:
            g = replaced if isinstance(g, Value) else conform(as_data(replaced), node)
    return g


def run_leaf_hooks(grads: dict[Value, Any]) -> None:
    """The hooks of the leaves, whose gradients are complete when the walk is."""
    for leaf, g in grads.items():
        if leaf.label is not None and leaf.label.hooks:
            grads[leaf] = run_hooks(leaf, g)


# --- backward: gradients into .grad -------------------------------------------------------------------------


def backward(root: Value, cotangent: Any = None) -> None:
    """Add d(root)/d(leaf) to the `grad` of every leaf, and set the `grad` of every node between."""
    seed = cotangent_for(root, cotangent)
    grads: dict[Value, Any] = {}
    try:
        if root.op is None or modes.finite or not slots.take(grads):
            grads[root] = seed
            _backward_aside(root, grads)
        else:
            _backward_in_slots(root, seed, grads)
    finally:
        slots.give_back(grads)
    with leaves_lock:  # the leaves are written last, when nothing can fail any more
        while grads:
            leaf, total = grads.popitem()
            if leaf.grad is not None:
                leaf.grad = leaf.grad + total
            elif total.__class__ is ndarray and (getrefcount(total) > ALONE or total.base is not None):
                leaf.grad = total.copy()  # somebody else holds it: `add` sends one array to both of its inputs
            else:
                leaf.grad = total


def _backward_method(self: Value, grad: Any = None) -> None:
    """Add d(self)/d(leaf) to the `grad` of every leaf, and set the `grad` of every node between."""
    backward(self, grad)


_backward_method.__name__, _backward_method.__qualname__ = "backward", "Value.backward"
Value.backward = _backward_method  # type: ignore[method-assign]


def _count_alone() -> int:
    """What getrefcount says of an array that nobody else holds: it is not the same in every version of Python."""
    _, total = {None: np.empty(0)}.popitem()
    return getrefcount(total)


ALONE = _count_alone()


class _Slots:
    """Who may add up in the nodes' own `.grad`: one pass at a time.

    A pass is known by its own dict, so that it lets go of the slots wherever an exception struck: a signal's may come
    between any two instructions, also while it lets go. A holder that nobody else knows any more is such a remnant.
    """

    def __init__(self) -> None:
        self.held: dict[str, tuple[dict[Value, Any], int]] = {}  # no lock: a signal could leave one locked

    def take(self, grads: dict[Value, Any]) -> bool:
        entry = (grads, threading.get_ident())
        holder = self.held.setdefault("pass", entry)
        if holder is not entry and getrefcount(holder[0]) <= 2:  # known to its entry and to this question alone
            self.held.pop("pass", None)
            holder = self.held.setdefault("pass", entry)
        return holder is entry

    def owner(self) -> int | None:
        """The thread whose pass is adding up right now."""
        entry = self.held.get("pass")
        return None if entry is None else entry[1]

    def give_back(self, grads: dict[Value, Any]) -> None:
        entry = self.held.get("pass")
        if entry is not None and entry[0] is grads:
            self.held.pop("pass", None)


slots = _Slots()
leaves_lock = threading.Lock()  # two threads may train the same parameters


def _backward_in_slots(root: Value, seed: Any, grads: dict[Value, Any]) -> None:
    """The fast pass; if anything raises, every node gets back the gradient it had."""
    order: list[Value] = []
    stack: list[Value] = []
    before: dict[Value, Any] = {}
    try:
        reach_in_slots(root, order, stack, before)
        root.grad = seed
        walk_in_slots(order, grads)
        run_leaf_hooks(grads)
    except BaseException:
        for node in (*order, *stack):
            node.grad = before.get(node)
        raise


def _backward_aside(root: Value, grads: dict[Value, Any]) -> None:
    """The pass of a second thread, of a hook, or under `detect_nan`: in a dict of its own, written when it is done."""
    order = reach(root)
    walked = dict(walk(order, grads))
    run_leaf_hooks(grads)
    while not slots.take(grads):
        if slots.owner() == threading.get_ident():
            return  # this pass runs inside a hook of another, which is adding up in these nodes right now
        time.sleep(0.0005)
    for node in order:
        node.grad = walked.get(node)


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
