"""How gradients travel: one backward walk, and the derivatives built on it.

The walk visits results before their inputs (newest first) and, at each node, asks the op's rule for one gradient per
input and adds it to what that input has so far. Run on numbers it gives numbers; run on Values (`taped`) it gives a
graph, which can be differentiated again. Broadcasting is undone here, once, and not in the rules.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from sys import getrefcount
from typing import Any

import numpy as np

from .errors import BackwardError, ShapeError, StaleDataError
from .graph import by_stamp
from .op import OPS
from .recording import enable_grad, insist_finite_gradient, modes, no_grad
from .tree import flatten, unflatten
from .value import Value, as_data, edits

__all__ = ["backward", "grad", "hessian", "hvp", "jacobian", "jvp", "no_grad", "value_and_grad", "vjp"]

ndarray = np.ndarray


# --- the walk --------------------------------------------------------------------------------------------------


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
            return tuple(r(*given_inputs) if want and r is not None else None for r, want in zip(rule, wants, strict=True))
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


# --- backward: gradients into .grad ------------------------------------------------------------------------------


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
        why = "was computed under no_grad or only from constants" if root.op is None else "depends on no leaf that requires a gradient"
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


# --- derivatives of functions --------------------------------------------------------------------------------------


def vjp(f: Callable[..., Any], *xs: Any) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    """`f(*xs)`, and the function that pulls a cotangent of the result back to one gradient per x.

    >>> out, pull = vjp(lambda a, b: a * b, 2.0, 3.0)
    >>> out, pull(1.0)
    (6.0, (3.0, 2.0))
    """
    trace = Trace(f, xs)

    def pulled(cotangent: Any) -> tuple[Any, ...]:
        return tuple(trace.pull(cotangent))

    return trace.result(), pulled


def value_and_grad(f: Callable[..., Any], wrt: int | tuple[int, ...] = 0) -> Callable[..., tuple[Any, Any]]:
    """The function that gives `f(*xs)` and its gradient with respect to the argument(s) `wrt`.

    >>> value_and_grad(lambda x: x**3)(2.0)
    (8.0, 12.0)
    """

    @functools.wraps(f)
    def wrapped(*xs: Any, **settings: Any) -> tuple[Any, Any]:
        trace = Trace(f, xs, wrt, settings)
        trace.insist_scalar("grad")
        grads = trace.pull(None)
        return trace.result(), grads if isinstance(wrt, tuple) else grads[0]

    return wrapped


def grad(f: Callable[..., Any], wrt: int | tuple[int, ...] = 0) -> Callable[..., Any]:
    """The gradient of a scalar function, as a function. Nest it for higher orders.

    >>> grad(grad(lambda x: x**3))(2.0)
    12.0
    """
    both = value_and_grad(f, wrt)

    @functools.wraps(f)
    def wrapped(*xs: Any, **settings: Any) -> Any:
        return both(*xs, **settings)[1]

    return wrapped


def jvp(f: Callable[..., Any], xs: tuple[Any, ...], vs: tuple[Any, ...]) -> tuple[Any, Any]:
    """`f(*xs)` and its derivative along the tangents `vs`: forward mode.

    The pull of a cotangent u is linear in u, and its own pull is the push of a tangent: no rule is written twice.

    >>> jvp(lambda a, b: a * b, (2.0, 3.0), (1.0, 10.0))
    (6.0, 23.0)
    """
    if not isinstance(xs, tuple | list) or not isinstance(vs, tuple | list) or len(xs) != len(vs):
        raise TypeError("jvp takes a tuple of inputs and a tuple of as many tangents: jvp(f, (x, y), (dx, dy))")
    trace = Trace(f, tuple(xs))
    return trace.result(), trace.push(vs)


def jacobian(f: Callable[..., Any], wrt: int = 0) -> Callable[..., Any]:
    """All derivatives of all outputs: shape (*output, *input).

    >>> jacobian(lambda x: x * x)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """

    @functools.wraps(f)
    def wrapped(*xs: Any, **settings: Any) -> Any:
        trace = Trace(f, xs, wrt, settings)
        out, x = trace.one_array("jacobian")
        rows = [trace.pull(unit.reshape(np.shape(out)))[0] for unit in np.eye(max(np.size(out), 1), np.size(out))]
        shape = np.shape(out) + np.shape(x)
        if not rows:
            return np.zeros(shape)
        if trace.taped:
            return OPS["reshape"](OPS["stack"](rows), shape) if shape else rows[0]
        return np.reshape(np.stack(rows), shape) if shape else rows[0]

    return wrapped


def hessian(f: Callable[..., Any], wrt: int = 0) -> Callable[..., Any]:
    """The second derivatives of a scalar function: the Jacobian of its gradient.

    >>> hessian(lambda x: (x**3).sum())(np.array([1.0, 2.0]))
    array([[ 6.,  0.],
           [ 0., 12.]])
    """
    return jacobian(grad(f, wrt), wrt)


def hvp(f: Callable[..., Any], x: Any, v: Any) -> Any:
    """The Hessian of a scalar function times a vector, without the Hessian.

    >>> hvp(lambda x: (x**3).sum(), np.array([1.0, 2.0]), np.array([1.0, 1.0]))
    array([ 6., 12.])
    """
    return jvp(grad(f), (x,), (v,))[1]


class Trace:
    """One recorded run of a function: its sources, its results, and the pulls between them.

    Arguments may be nested lists, tuples and dicts of numbers, arrays and Values. Plain arguments become leaves and
    everything that comes out is plain again; if an argument is a Value already (a derivative inside a derivative), a
    fresh alias of it becomes the source, and what comes out are Values.
    """

    def __init__(
        self, f: Callable[..., Any], xs: tuple[Any, ...], wrt: int | tuple[int, ...] | None = None,
        settings: dict[str, Any] | None = None,
    ) -> None:  # fmt: skip
        chosen = range(len(xs)) if wrt is None else wrt if isinstance(wrt, tuple) else (wrt,)
        for i in chosen:
            if not -len(xs) <= i < len(xs):
                raise TypeError(f"wrt={i}, but {f.__name__ if hasattr(f, '__name__') else f} was called with {len(xs)} argument(s)")
        args = list(xs)
        self.taped = any(isinstance(x, Value) for x in flatten(list(xs))[0])
        self.structures = []
        self.sources: list[Value] = []
        with enable_grad():
            for i in chosen:
                flat, structure = flatten(xs[i])
                sources = [self._source(x) for x in flat]
                self.structures.append((structure, len(flat)))
                self.sources += sources
                args[i] = unflatten(structure, sources)
            returned = f(*args, **(settings or {}))
        self.outs, self.out_structure = flatten(returned)

    @staticmethod
    def _source(x: Any) -> Value:
        if isinstance(x, Value):
            return OPS["alias"](x) if x.requires_grad else Value(x._data, name=x.name)
        return Value(x)

    def result(self) -> Any:
        """What the function returned: plain data, or Values if Values came in."""
        outs = self.outs if self.taped else [o._data if isinstance(o, Value) else o for o in self.outs]
        return unflatten(self.out_structure, outs)

    def insist_scalar(self, who: str) -> None:
        if len(self.outs) != 1 or np.size(getattr(self.outs[0], "_data", self.outs[0])) != 1:
            shape = np.shape(getattr(self.outs[0], "_data", self.outs[0])) if len(self.outs) == 1 else f"{len(self.outs)} results"
            raise BackwardError(f"{who} needs a function of one scalar result; this one gave {shape}. Use jacobian or vjp, or sum it.")

    def one_array(self, who: str) -> tuple[Any, Any]:
        if len(self.outs) != 1 or len(self.sources) != 1:
            raise BackwardError(
                f"{who} takes a function from one array to one array; this one goes from {len(self.sources)} to "
                f"{len(self.outs)}. Stack them, or use vjp."
            )
        out = self.outs[0]
        return out._data if isinstance(out, Value) else out, self.sources[0]._data

    def pull(self, cotangent: Any) -> list[Any]:
        """The gradients of all sources, for a cotangent shaped like the result; None means 1."""
        cotangents = [None] * len(self.outs) if cotangent is None else flatten(cotangent)[0]
        if len(cotangents) != len(self.outs):
            raise ShapeError(f"the cotangent has {len(cotangents)} parts; the result has {len(self.outs)}")
        taped = self.taped or any(isinstance(u, Value) for u in cotangents)
        with enable_grad():
            return self._gather(self._pull(cotangents, taped), taped)

    def _pull(self, cotangents: list[Any], taped: bool) -> dict[Value, Any]:
        grads: dict[Value, Any] = {}
        roots = []
        for out, u in zip(self.outs, cotangents, strict=True):
            if isinstance(out, Value) and out.requires_grad:
                seed = cotangent_for(out, u)
                if taped:
                    seed = u if isinstance(u, Value) else Value(seed, requires_grad=False)
                grads[out] = seed if out not in grads else grads[out] + seed
                roots.append(out)
        if len(roots) == 1:
            order, wanted = reach_from(roots[0], self.sources)
        else:  # several results: the walk starts from all of them at once
            walks = [reach_from(root, self.sources) for root in roots]
            order = sorted({n for o, _ in walks for n in o}, key=by_stamp, reverse=True)
            wanted = set().union(*(w for _, w in walks))
        walk(order, grads, wanted, taped)
        return grads

    def _gather(self, grads: dict[Value, Any], taped: bool) -> list[Any]:
        """One gradient per argument, nested as the argument was; zeros where no path leads."""
        flat = [grads.get(s) for s in self.sources]
        flat = [_owned(s._data * 0.0) if g is None else g for g, s in zip(flat, self.sources, strict=True)]
        if self.taped or taped:
            flat = [g if isinstance(g, Value) else Value(g, requires_grad=False) for g in flat]
        else:
            flat = [_owned(g) for g in flat]
        gathered = []
        for structure, count in self.structures:
            gathered.append(unflatten(structure, flat[:count]))
            flat = flat[count:]
        return gathered

    def push(self, vs: Any) -> Any:
        """The derivative of the results along tangents of the sources, by pulling twice."""
        tangents = flatten(list(vs))[0]
        if len(tangents) != len(self.sources):
            raise ShapeError(f"jvp got {len(tangents)} tangents for {len(self.sources)} inputs")
        with enable_grad():
            us = [
                Value(np.zeros(o.shape, o.dtype) if isinstance(o, Value) else 0.0) for o in self.outs
            ]  # the pull is linear in u, so any u will do
            grads = self._pull(us, taped=True)
            pulls: dict[Value, Any] = {}
            for source, v in zip(self.sources, tangents, strict=True):
                g = grads.get(source)
                v_data = v._data if isinstance(v, Value) else as_data(v)
                if np.shape(v_data) != source.shape:
                    raise ShapeError(f"a tangent has shape {np.shape(v_data)}; its input has {source.shape}")
                if isinstance(g, Value) and g.requires_grad:
                    add = v if isinstance(v, Value) else (Value(v_data, requires_grad=False) if self.taped else v_data)
                    pulls[g] = add if g not in pulls else pulls[g] + add
            taped = self.taped or any(isinstance(v, Value) for v in tangents)
            if taped:
                pulls = {g: v if isinstance(v, Value) else Value(v, requires_grad=False) for g, v in pulls.items()}
            walks = [reach_from(g, us) for g in pulls]
            order = sorted({n for o, _ in walks for n in o}, key=by_stamp, reverse=True)
            walk(order, pulls, set().union(*(w for _, w in walks)), taped)
        out = []
        for u, o in zip(us, self.outs, strict=True):
            t = pulls.get(u)
            t = (u._data * 0.0) if t is None else t
            out.append(Value(t, requires_grad=False) if taped and not isinstance(t, Value) else t)
        return unflatten(self.out_structure, out)


def _owned(g: Any) -> Any:
    return g.copy() if isinstance(g, ndarray) else g


