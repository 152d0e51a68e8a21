"""The engine: Value, the graph that operators build, and the walk back through it. Read this first.

    a, b = Value(2.0), Value(-3.0)
    loss = a * b + a**2     # each operator makes a node: its data, its op, its inputs
    loss.backward()         # reach collects the nodes, walk sends gradients from results to inputs, write sets .grad

What an op computes, and its rule, stand in its block: `op.py`, then `ops/arithmetic.py`. `gradients.py` fits a gradient
to its input and refuses; `attached.py` has names, hooks and copies. Nodes hold no closures and no cycles.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, repeat
from typing import Any

import numpy as np

from autograd.arrays.array_like import ArrayLike, ndarray
from autograd.arrays.plain import as_data, as_operand, as_operands, as_plain, as_wide, is_mask

from . import gradients
from .attached import Attached, Node, by_stamp, counter, name_or_label
from .gradients import conform
from .modes import apply_modes, check_finite_gradient, modes, modes_in_use, notice_read
from .names import backward_options
from .op import OPS, Op, nothing
from .op_errors import recover

new = object.__new__
writing = threading.Lock()  # two threads may train the same parameters
COMPARABLE = (Node, int, float, ndarray, np.generic, list, tuple)
Wanted = set["Value"] | None  # the nodes that are to get a gradient; None: all that require one

# --- how an op's result becomes a node ------------------------------------------------------------------------


def node_of(op: Op, inputs: tuple[Any, ...], plain: Sequence[Any], needs: bool) -> Value:
    """Run an op's forward function on plain data; its result is a node that keeps the op and the inputs."""
    try:
        data = op.forward(*plain)
    except Exception as error:
        if isinstance(error, TypeError) and is_mask(inputs[0]):
            return op(OPS["astype"](inputs[0], np.float64), *inputs[1:])
        data = recover(op, error, plain, inputs)
    if data.__class__ is not float and (data.__class__ is not ndarray or not data.ndim):
        data = as_plain(data)
    node: Value = new(Value)
    node._data = data
    node.op = op
    node.inputs = inputs
    node.stamp = next(counter)
    node.grad = node._note = None
    node.requires_grad = needs and op.base.vjp is not nothing
    if modes_in_use:
        apply_modes(node)
    return node


def unary(name: str) -> Callable[[Value], Value]:
    """The method of Value for an op of one input and no settings: `-v`, `v.exp()`."""

    def method(self: Value) -> Value:
        return node_of(OPS[name], (self,), (self._data,), self.requires_grad)

    method.__name__ = method.__qualname__ = name
    return method


def binary(name: str) -> tuple[Callable[[Value, Any], Value], Callable[[Value, Any], Value]]:
    """The operator of Value for an op of two inputs, `v * 2`, and its reflected form, `2 * v`."""
    op: Any = None
    forward: Any = None

    def method(self: Value, other: Any) -> Value:
        nonlocal op, forward
        if op is None:  # at first use: the table is filled after this class is made
            op, forward = OPS[name], OPS[name].forward
        x = self._data
        needs = self.requires_grad
        if other.__class__ is float or other.__class__ is int:
            y = other
        elif other.__class__ is Value or isinstance(other, Value):
            y = other._data
            needs = needs or other.requires_grad
        elif hasattr(other, "__apply__"):
            return NotImplemented
        else:
            y = other = as_operand(other) if x.__class__ is not float else as_wide(as_operand(other))
        try:
            data = forward(x, y)
        except Exception:
            return node_of(op, (self, other), (x, y), needs)
        # From here on the lines are those of node_of, because most of a scalar graph's time is spent here.
        if data.__class__ is not float and data.__class__ is not ndarray:
            data = as_plain(data)
        node: Value = new(Value)
        node._data = data
        node.op = op
        node.inputs = (self, other)
        node.stamp = next(counter)
        node.grad = node._note = None
        node.requires_grad = needs and op.vjp is not nothing
        if modes_in_use:
            apply_modes(node)
        return node

    def reflected(self: Value, other: Any) -> Value:
        if other.__class__ is float or other.__class__ is int:
            return node_of(OPS[name], (other, self), (other, self._data), self.requires_grad)
        return OPS[name](other, self)

    return method, reflected


def comparison(name: str) -> Callable[[Value, Any], Any]:
    """`==` or `!=`, number by number; beside what is no number (None, a string) Python's own answer, by identity."""
    compared, _ = binary(name)
    return lambda self, other: compared(self, other) if isinstance(other, COMPARABLE) else NotImplemented


class Value(Node, ArrayLike):
    """A node of the computation graph: a float or an array, its gradient, and the op and inputs that made it.

    data           a Python float or a NumPy array
    grad           a plain float or array; None until a backward pass reaches it
    op             the op that made it, bound to its settings; None for a leaf
    inputs         what the op was applied to, in order: Values, and plain numbers and arrays; () for a leaf
    requires_grad  whether gradients flow to it
    stamp          when it was made, as a count; a leaf's, when its data was last edited
    """

    __slots__ = ()  # those of Node

    def __init__(self, data: Any, name: str | None = None, requires_grad: bool = True, *, label: str = "") -> None:
        name = name_or_label(name, label)
        if not isinstance(requires_grad, (bool, np.bool_)):
            raise TypeError(f"requires_grad is True or False; got {requires_grad!r}")
        traced = modes.tracer.leaf_of(data) if modes_in_use and modes.tracer is not None else None
        self._data, self.op, self.inputs = traced or (as_data(data), None, ())
        self.grad = None
        self.stamp = next(counter)
        self._note = None if name is None else Attached(name)
        self.requires_grad = requires_grad

    # Each operator and the name of its op. The table gives the methods, `v.exp()`, and v[i] & | ^ ~: `ops/__init__.py`.
    __add__, __radd__ = binary("add")
    __sub__, __rsub__ = binary("sub")
    __mul__, __rmul__ = binary("mul")
    __truediv__, __rtruediv__ = binary("div")
    __pow__, __rpow__ = binary("power")
    __matmul__, __rmatmul__ = binary("matmul")
    __floordiv__, __rfloordiv__ = binary("floor_divide")
    __mod__, __rmod__ = binary("mod")
    __lt__, __gt__ = binary("less")[0], binary("greater")[0]
    __le__, __ge__ = binary("less_equal")[0], binary("greater_equal")[0]
    __eq__, __ne__ = comparison("equal"), comparison("not_equal")
    __hash__ = object.__hash__  # by identity: sets and dicts of nodes ask `is` first, and never `==`
    __neg__, __abs__ = unary("neg"), unary("abs")
    __iadd__ = __isub__ = __imul__ = __itruediv__ = gradients.refuse_descent

    @staticmethod
    def __apply__(op: Op, inputs: tuple[Any, ...]) -> Value:
        """Run an op on inputs some of which are Values."""
        plain = []
        needs = raw = False
        for x in inputs:
            if isinstance(x, Value):
                plain.append(x._data)
                needs = needs or x.requires_grad
            elif hasattr(x, "__apply__"):  # a number of a call that is traced
                return x.__apply__(op, inputs)
            else:
                plain.append(x)
                raw = raw or not (x is None or x.__class__ is ndarray or x.__class__ is float)
        if raw:
            inputs, plain = as_operands(inputs)
        return node_of(op, inputs, plain, needs)

    @property
    def data(self) -> Any:
        """The number: a Python float or a NumPy array. A leaf's may be set, to data of its own shape."""
        if modes_in_use and (traced := notice_read(self, ".data")) is not None:
            return traced
        return self._data

    @data.setter
    def data(self, new: Any) -> None:
        if modes_in_use and modes.tracer is not None and modes.tracer.write(self, new):
            return
        self._data = gradients.data_for(self, new)
        self.touch()

    def detach(self) -> Value:
        """A leaf with a copy of the data, through which no gradient flows."""
        if modes_in_use and (traced := notice_read(self, "detach()")) is not None:
            return traced
        return Value(self._data, name=self.name, requires_grad=False)

    def backward(self, grad: Any = None, **torch: Any) -> None:
        """Add d(self)/d(leaf) to the `grad` of every leaf, and set the `grad` of every node between.

        `grad` is the gradient to start from, 1 for a scalar. A pass that is interrupted leaves every `grad` as it was.
        """
        if modes_in_use:
            notice_read(self, "backward()")
        grads = {self: gradients.cotangent_for(self, backward_options(grad, torch) if torch else grad)}
        order = reach(self)
        write(order, walk(order, grads), grads)


# --- the backward pass ----------------------------------------------------------------------------------------


def reach(root: Value) -> list[Value]:
    """The results that a gradient from `root` passes through, newest first: each before its inputs."""
    order = [root] if root.op is not None else []
    seen = {root}
    for node in order:  # the list grows while it is read
        for x in node.inputs:
            if isinstance(x, Value) and x.op is not None and x.requires_grad and x not in seen:
                seen.add(x)
                order.append(x)
    order.sort(key=by_stamp, reverse=True)
    gradients.refuse_stale(order)
    return order


def walk(
    order: Iterable[Value], grads: dict[Value, Any], wanted: Wanted = None, taped: bool = False, watch: Any = None
) -> list[Any]:
    """Turn the roots' gradients in `grads` into those of the leaves, or of the nodes `wanted`: backpropagation.

    Returns the gradients of the nodes in `order`, None where none arrived. With `taped`, gradients are Values and the
    rules run on the nodes. `watch(node, g, parent, contribution, before, total)` is called at each addition.
    """
    results = []
    careful = modes.finite
    in_short = wanted is None and watch is None and not taped and not careful
    for node in order:
        # Step 1: the gradient of this node is complete, because every node that used it came before it.
        g = grads.pop(node, None)
        if g is not None and node._note is not None and node._note.hooks:
            g = gradients.run_hooks(node, g)
        results.append(g)
        if g is None:  # nothing arrived: every path from the root ended in an op that passes no gradient on
            continue
        # Step 2, the chain rule: the op's rule gives each input a gradient, which is added to what the input has.
        inputs = node.inputs
        rule = node.op.vjp  # type: ignore[union-attr]
        two = len(inputs) == 2
        # First the loop below written out for one input or two: a scalar graph is made of these.
        if in_short and (two or len(inputs) == 1) and rule.__class__ is not tuple:
            x, y = inputs if two else (*inputs, None)
            a = x._data if isinstance(x, Value) else x
            b = y._data if isinstance(y, Value) else y
            try:
                dx, dy = rule(g, node._data, a, b) if two else (*rule(g, node._data, a), None)
            except (ArithmeticError, ValueError):  # a float that raised, or not one gradient for each input
                pass
            else:
                if a is not x and dx is not None and x.requires_grad:  # a is x where x is a plain number
                    if dx.__class__ is not float or a.__class__ is not float:
                        dx = conform(dx, x)
                    grads[x] = grads[x] + dx if x in grads else dx
                if b is not y and dy is not None and y.requires_grad:
                    if dy.__class__ is not float or b.__class__ is not float:
                        dy = conform(dy, y)
                    grads[y] = grads[y] + dy if y in grads else dy
                continue
        for x, dx in contributions(node, g, wanted, taped):
            if careful:
                check_finite_gradient(node, dx, x)
            before = grads.get(x)
            grads[x] = dx if before is None else before + dx
            if watch is not None:
                watch(node, g, x, dx, before, grads[x])
    return results


def contributions(node: Value, g: Any, wanted: Wanted = None, taped: bool = False) -> list[tuple[Value, Any]]:
    """What `node` sends back: (input, gradient) for each input that needs one, in operand order."""
    needs = [isinstance(x, Value) and (x.requires_grad if wanted is None else x in wanted) for x in node.inputs]
    if taped:
        given = ask(node, g, node, node.inputs, needs)
        given = [dx if dx is None or isinstance(dx, Value) else Value(dx, requires_grad=False) for dx in given]
    else:
        given = ask(node, g, node._data, [x._data if isinstance(x, Value) else x for x in node.inputs], needs)
    return [(x, conform(dx, x, taped)) for x, dx, need in zip(node.inputs, given, needs) if need and dx is not None]


def ask(node: Value, g: Any, out: Any, inputs: Sequence[Any], needs: Sequence[bool]) -> Sequence[Any]:
    """Run the rule of a node on any carrier: one gradient for each input, where `needs` says that one is needed."""
    rule = node.op.vjp  # type: ignore[union-attr]
    try:
        if rule.__class__ is tuple:  # each input has a rule of its own
            given = [pull(g, out, *inputs) if pull is not None and need else None for pull, need in zip(rule, needs)]
        else:
            given = rule(g, out, *inputs)
    except (ArithmeticError, ValueError):
        if isinstance(g, np.float64) or not all(np.isscalar(x) for x in (g, out, *inputs)):
            raise
        # Where Python floats raise (`1.0 / 0.0`), NumPy answers with an infinity.
        return ask(node, np.float64(g), np.float64(out), [np.float64(x) for x in inputs], needs)
    gradients.check_one_each(node, given)
    return given


def write(order: list[Value], results: list[Any], leaves: dict[Value, Any]) -> None:
    """Write what a pass found into `.grad`: a result's is set, a leaf's is added to what it has. All or nothing.

    Until the last line no node is changed, and that is one call of C functions, which Ctrl-C does not interrupt.
    """
    gradients.run_leaf_hooks(leaves)
    with writing:
        ends = list(leaves)
        totals = [gradients.added(leaf, leaves.pop(leaf)) for leaf in ends]
        deque(map(setattr, chain(order, ends), repeat("grad"), chain(results, totals)), maxlen=0)
