"""`backward`: the walk that leaves its results in `.grad`, written out for speed.

`reach` and `walk` of `backprop.py` are the pass as one would explain it; here it is once more, as a training loop needs
it. Each node's gradient is added up in its own `.grad`, which also marks the nodes seen. The same steps and the same
sums, to the bit (a test holds them equal), at half the cost. A result is always exactly a Value: a subclass, as a
Parameter, is a leaf.
"""

from __future__ import annotations

import threading
import time
from sys import getrefcount
from typing import Any

import numpy as np

from .backprop import conform, contributions, cotangent_for, reach, refuse_stale, run_hooks, run_leaf_hooks, walk
from .errors import BackwardError
from .graph import by_stamp
from .recording import modes
from .value import Value

ndarray = np.ndarray
PENDING: Any = object()  # stands in `.grad` while nothing has arrived


def backward(root: Value, cotangent: Any = None) -> None:
    """Add d(root)/d(leaf) to the `grad` of every leaf, and set the `grad` of every node between.

    >>> x = Value(3.0)
    >>> backward(x * x)
    >>> x.grad
    6.0
    """
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
    for leaf in grads:
        if leaf.grad is not None:
            insist_gradient(leaf)
    with leaves_lock:  # the leaves are written last, when nothing can fail any more
        while grads:
            leaf, total = grads.popitem()
            if leaf.grad is not None:
                leaf.grad = leaf.grad + total
            elif total.__class__ is ndarray and (getrefcount(total) > ALONE or total.base is not None):
                leaf.grad = total.copy()  # somebody else holds it: `add` sends one array to both of its inputs
            else:
                leaf.grad = total


def insist_gradient(leaf: Value) -> None:
    """What a leaf has in `.grad`, which anybody may set, must be something that a gradient can be added to."""
    g = leaf.grad
    if g.__class__ is float or g.__class__ is int or (g.__class__ is ndarray and g.shape == leaf.shape):
        return
    if isinstance(g, (int, float, np.generic, ndarray)) and np.ndim(g) == 0:
        return
    came = f"an array of shape {g.shape}" if isinstance(g, ndarray) else f"a {type(g).__name__}"
    raise BackwardError(
        f"the .grad of {leaf._called()} was set to {came}; a gradient is a plain array of its Value's shape, "
        f"{leaf.shape}. Write v.grad = None to begin anew."
    )


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


# --- the pass -----------------------------------------------------------------------------------------------


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
        note = node._note
        if note is not None and note.hooks:
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
            if rule.__class__ is not tuple:
                if b is None:
                    (dx,) = rule(g, node._data, x)
                    dy = None
                else:
                    dx, dy = rule(g, node._data, x, y)
            elif b is None:
                send_in_slots(node, g, rule, grads)
                continue
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
