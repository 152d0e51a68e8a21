"""Derivatives of functions: grad, vjp, jvp, jacobian, hessian, all from the one backward walk.

A function is run once on Values (a `Trace`); then cotangents are pulled back through what it recorded. Forward mode
pulls twice. Nested, they give any order.
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from autograd.arrays.plain import as_data, as_plain

from .callers import warning_depth
from .engine import Value, walk
from .errors import BackwardError, DataError, LostGradientWarning, ShapeError
from .gradients import cotangent_for
from .graph import reach_from, topological
from .modes import Running, enable_grad, modes, running
from .op import OPS, rank_of
from .tree import flatten, leaves_like, unflatten

__all__ = ["grad", "hessian", "hvp", "jacobian", "jvp", "value_and_grad", "vjp"]


def vjp(f: Callable[..., Any], *xs: Any) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    """`f(*xs)`, and the function that pulls a cotangent of the result back to one gradient per x.

    >>> out, pull = vjp(lambda a, b: a * b, 2.0, 3.0)
    >>> out, pull(1.0)
    (6.0, (3.0, 2.0))
    """
    check_function("vjp", f, "vjp(f, x)")
    trace = Trace(f, xs)

    def pulled(cotangent: Any) -> tuple[Any, ...]:
        return tuple(trace.pull(cotangent))

    return trace.result(), pulled


def value_and_grad(f: Callable[..., Any], wrt: int | Sequence[int] = 0, **alias: Any) -> Callable[..., tuple[Any, Any]]:
    """The function that gives `f(*xs)` and its gradient with respect to the argument(s) `wrt`.

    >>> value_and_grad(lambda x: x**3)(2.0)
    (8.0, 12.0)
    """
    check_function("value_and_grad", f, "value_and_grad(f)(x)")
    wrt = _places("value_and_grad", wrt, alias)

    @_derivative(f)
    def wrapped(*xs: Any, **settings: Any) -> tuple[Any, Any]:
        trace = Trace(f, xs, wrt, settings)
        trace.check_scalar("grad")
        return trace.result(), as_asked(trace.pull(None), wrt)

    return wrapped


def grad(f: Callable[..., Any], wrt: int | Sequence[int] = 0, **alias: Any) -> Callable[..., Any]:
    """The gradient of a scalar function, as a function. Nest it for higher orders.

    >>> grad(grad(lambda x: x**3))(2.0)
    12.0
    """
    check_function("grad", f, "grad(f)(x)")
    both = value_and_grad(f, _places("grad", wrt, alias))

    @_derivative(f)
    def wrapped(*xs: Any, **settings: Any) -> Any:
        return both(*xs, **settings)[1]

    return wrapped


def jvp(f: Callable[..., Any], xs: tuple[Any, ...], vs: tuple[Any, ...]) -> tuple[Any, Any]:
    """`f(*xs)` and its derivative along the tangents `vs`: forward mode.

    The pull of a cotangent u is linear in u, and its own pull is the push of a tangent: no rule is written twice.

    >>> jvp(lambda a, b: a * b, (2.0, 3.0), (1.0, 10.0))
    (6.0, 23.0)
    """
    check_function("jvp", f, "jvp(f, (x,), (v,))")
    if not isinstance(xs, tuple | list) or not isinstance(vs, tuple | list) or len(xs) != len(vs):
        raise TypeError("jvp takes a tuple of inputs and a tuple of as many tangents: jvp(f, (x, y), (dx, dy))")
    trace = Trace(f, tuple(xs))
    return trace.result(), trace.push(vs)


def jacobian(f: Callable[..., Any], wrt: int | Sequence[int] = 0, **alias: Any) -> Callable[..., Any]:
    """All derivatives of all outputs: shape (*output, *input).

    Nested outputs give the nest of the outputs, in each place the nest of the inputs.

    >>> jacobian(lambda x: x * x)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    >>> jacobian(lambda p: {"area": p["a"] * p["b"], "edge": p["a"] + p["b"]})({"a": 2.0, "b": 3.0})
    {'area': {'a': 3.0, 'b': 2.0}, 'edge': {'a': 1.0, 'b': 1.0}}
    """
    check_function("jacobian", f, "jacobian(f)(x)")
    wrt = _places("jacobian", wrt, alias)

    @_derivative(f)
    def wrapped(*xs: Any, **settings: Any) -> Any:
        trace = Trace(f, xs, wrt, settings)
        blocks = [trace.jacobian_of(out) for out in trace.outs]
        return unflatten(trace.out_structure, [as_asked(block, wrt) for block in blocks])

    return wrapped


def hessian(f: Callable[..., Any], wrt: int | Sequence[int] = 0, **alias: Any) -> Callable[..., Any]:
    """The second derivatives of a scalar function: the Jacobian of its gradient.

    >>> hessian(lambda x: (x**3).sum())(np.array([1.0, 2.0]))
    array([[ 6.,  0.],
           [ 0., 12.]])
    >>> hessian(lambda x, y: x * x * y, wrt=(0, 1))(2.0, 3.0)
    ((6.0, 4.0), (4.0, 0.0))
    """
    check_function("hessian", f, "hessian(f)(x)")
    wrt = _places("hessian", wrt, alias)
    return jacobian(grad(f, wrt), wrt)


def hvp(f: Callable[..., Any], x: Any, v: Any) -> Any:
    """The Hessian of a scalar function times a vector, without the Hessian.

    >>> hvp(lambda x: (x**3).sum(), np.array([1.0, 2.0]), np.array([1.0, 1.0]))
    array([ 6., 12.])
    """
    check_function("hvp", f, "hvp(f, x, v)")
    return jvp(grad(f), (x,), (v,))[1]


def _derivative(f: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Mark a function as a derivative of f: it looks like f, and `compile` gives what it gives, without gradients."""

    def marked(wrapped: Callable[..., Any]) -> Callable[..., Any]:
        functools.update_wrapper(wrapped, f)
        wrapped.is_derivative = True  # type: ignore[attr-defined]
        return wrapped

    return marked


def check_function(who: str, f: Any, usage: str) -> None:
    """Refuse what is no function, such as the result of one."""
    if not callable(f):
        instead = ". Give it the function that computes this, not the result" if isinstance(f, Value) else ""
        raise TypeError(f"{who} takes a function, as in {usage}; got {f!r:.60} ({type(f).__name__}){instead}")


def _places(who: str, wrt: Any, alias: dict[str, Any]) -> Any:
    """`wrt`, which JAX and HIPS autograd call argnums and argnum; a list of places becomes a tuple."""
    if unknown := alias.keys() - {"argnum", "argnums"}:
        raise TypeError(f"{who} takes wrt=, the place of an argument or a tuple of them; got {', '.join(unknown)}=")
    for given in alias.values():
        wrt = given
    return tuple(wrt) if isinstance(wrt, list | range) else wrt


def as_asked(per_argument: list[Any], wrt: int | Sequence[int]) -> Any:
    """One gradient, or a tuple of them if places were given as a tuple or list."""
    return tuple(per_argument) if isinstance(wrt, Sequence) else per_argument[0]


class Trace:
    """One recorded run of a function: its sources, its results, and the pulls between them.

    Arguments may be nested lists, tuples and dicts of numbers, arrays and Values. Plain arguments become leaves and
    everything that comes out is plain again; if an argument is a Value already (a derivative inside a derivative), a
    fresh alias of it becomes the source, and what comes out are Values.
    """

    def __init__(
        self, f: Callable[..., Any], xs: tuple[Any, ...], wrt: int | Sequence[int] | None = None,
        settings: dict[str, Any] | None = None,
    ) -> None:  # fmt: skip
        chosen = range(len(xs)) if wrt is None else wrt if isinstance(wrt, Sequence) else (wrt,)
        for i in chosen:
            if not hasattr(i, "__index__"):
                raise TypeError(f"wrt is the place of an argument, wrt=0, or a tuple of them, wrt=(0, 1); got {wrt!r}")
            if not -len(xs) <= i < len(xs):
                raise TypeError(f"wrt={i}, but {getattr(f, '__name__', f)} was called with {len(xs)} argument(s)")
        if len({i % len(xs) for i in chosen}) < len(chosen):
            raise TypeError(f"wrt={wrt!r} names an argument twice; name each once, as in wrt=(0, 1)")
        args = list(xs)
        self.structures = []
        self.sources: list[Value] = []
        with enable_grad():
            for i in chosen:
                flat, structure = flatten(xs[i])
                sources = [self._source(x) for x in flat]
                self.structures.append((structure, len(flat)))
                self.sources += sources
                args[i] = unflatten(structure, sources)
            returned = self._run(f, args, settings or {})
        self.outs, self.out_structure = flatten(returned)
        check_returned(f, returned, self.outs)
        self.nested = any(isinstance(x, Value) for x in flatten(list(xs))[0]) or self._meets_outer_sources()
        self.tracer = None if self.nested else modes.tracer  # a program computes derivatives, too
        self.taped = self.nested or (self.tracer is not None and any(map(self.tracer.computes, self.outs)))

    def _run(self, f: Callable[..., Any], args: list[Any], settings: dict[str, Any]) -> Any:
        self.run = Running(self.sources)
        try:
            running[id(self)] = self.run
            return f(*args, **settings)
        except (TypeError, AttributeError) as error:
            note_lists(error, args)
            raise
        except ValueError as error:
            if isinstance(error.__cause__, DataError):  # NumPy put "setting an array element with a sequence" over it
                raise error.__cause__ from None
            raise
        finally:
            running.pop(id(self), None)

    def _meets_outer_sources(self) -> bool:
        """Whether a result also depends on a source of a derivative around this one, by way of the function's closure.

        `grad(lambda x: x * grad(lambda y: x * y)(1.0))`: the inner gradient is x, and must stay a Value.
        """
        outer = {source for run in list(running.values()) for source in run.sources}
        outs = [out for out in self.outs if isinstance(out, Value)]
        if modes.tracer is not None and any(map(modes.tracer.differentiates, outs)):
            return True
        return bool(outer) and any(not outer.isdisjoint(topological(out)) for out in outs)

    @staticmethod
    def _source(x: Any) -> Value:
        if isinstance(x, Value):
            if x.requires_grad:
                return OPS["alias"](x)
            return Value(x._data, name=x.name) if modes.tracer is None else modes.tracer.new_leaf(x)
        return Value(x)

    def result(self) -> Any:
        """What the function returned: plain data, or Values if Values came in."""
        return unflatten(self.out_structure, self.outs if self.nested else list(map(self._plain, self.outs)))

    def _plain(self, x: Any) -> Any:
        """The data of a Value; a number that the program computes, while one is traced."""
        if not isinstance(x, Value):
            return x
        return x._data if self.tracer is None else self.tracer.plain(x)

    def check_scalar(self, who: str) -> None:
        shapes = [np.shape(getattr(out, "_data", out)) for out in self.outs]
        if len(shapes) != 1 or math.prod(shapes[0]) != 1:
            raise BackwardError(
                f"{who} needs a function with one scalar result; this one gave shapes {shapes}. "
                "Use jacobian or vjp, or sum it."
            )

    def pull(self, cotangent: Any) -> list[Any]:
        """The gradients of all sources, for a cotangent shaped like the result; None means 1."""
        cotangents = [None] * len(self.outs) if cotangent is None else self._like_result(cotangent)
        values = any(isinstance(u, Value) for u in cotangents)
        taped = self.taped or any(hasattr(u, "__apply__") for u in cotangents)
        with enable_grad():
            return self._nest(self._of_sources(self._pull(cotangents, taped), taped), values)

    def _like_result(self, cotangent: Any) -> list[Any]:
        return leaves_like(cotangent, self.out_structure, "the cotangent of this result")

    def jacobian_of(self, out: Any) -> list[Any]:
        """The derivatives of every entry of one result, shape (*result, *source), nested as the arguments were."""
        shape = np.shape(out._data if isinstance(out, Value) else out)
        entries = math.prod(shape)
        units = np.eye(entries).reshape((entries, *shape))
        with enable_grad():
            rows = [self._of_sources(self._pull([unit], self.taped, [out]), self.taped) for unit in units]
            columns = zip(*rows, strict=True) if rows else [()] * len(self.sources)
            blocks = [self._stacked(column, shape, s) for column, s in zip(columns, self.sources, strict=True)]
        return self._nest(blocks)

    def _stacked(self, rows: tuple[Any, ...], shape: tuple[int, ...], source: Value) -> Any:
        whole = shape + source.shape
        if not rows:
            return np.zeros(whole, source.dtype)
        if not whole:
            return rows[0]
        return OPS["reshape"](OPS["stack"](rows), whole) if self.taped else np.reshape(np.stack(rows), whole)

    def _pull(self, cotangents: list[Any], taped: bool, outs: list[Any] | None = None) -> dict[Value, Any]:
        grads: dict[Value, Any] = {}
        roots = []
        for out, u in zip(self.outs if outs is None else outs, cotangents, strict=True):
            if isinstance(out, Value) and out.requires_grad:
                seed = cotangent_for(out, u)
                if isinstance(u, Value):
                    seed = u if u.shape == out.shape else OPS["broadcast_to"](u, out.shape)
                elif taped:
                    seed = Value(seed, requires_grad=False)
                grads[out] = seed if out not in grads else grads[out] + seed
                roots.append(out)
        order, wanted = reach_from(roots, self.sources)
        if not order and not wanted.intersection(roots):
            self._warn_if_left()
        walk(order, grads, wanted, taped)
        return grads

    def _warn_if_left(self) -> None:
        """The result does not depend on the sources. Say so if that is because one was turned into a plain number."""
        sources = set(self.sources)
        for value, where in self.run.left:
            if not sources.isdisjoint(topological(value)):
                warnings.warn(
                    f"the gradient is 0, because the result is made of plain numbers: a Value became one by {where}. "
                    "Compute with the Value itself, as in x ** 2; float(x), x.item() and x.data are for looking at it.",
                    LostGradientWarning,
                    stacklevel=warning_depth(),
                )
                self.run.left.clear()  # once is enough: a jacobian pulls many times
                return

    def _of_sources(self, grads: dict[Value, Any], taped: bool) -> list[Any]:
        """One gradient per source; zeros where no path leads."""
        flat = [grads.get(s) for s in self.sources]
        flat = [as_plain(np.zeros_like(s._data)) if g is None else g for g, s in zip(flat, self.sources, strict=True)]
        if self.taped or taped:
            return [g if isinstance(g, Value) else Value(g, requires_grad=False) for g in flat]
        return [_owned(g) for g in flat]

    def _nest(self, flat: list[Any], values: bool = False) -> list[Any]:
        """What belongs to the sources, given per argument and nested as the argument was."""
        nested = []
        flat = flat if self.nested or values else list(map(self._plain, flat))
        for structure, count in self.structures:
            nested.append(unflatten(structure, flat[:count]))
            flat = flat[count:]
        return nested

    def push(self, vs: Any) -> Any:
        """The derivative of the results along tangents of the sources, by pulling twice."""
        if len(vs) != len(self.structures):
            raise ShapeError(f"jvp got {len(vs)} tangents for {len(self.structures)} inputs")
        pairs = zip(vs, self.structures, strict=True)
        tangents = [t for v, (structure, _) in pairs for t in leaves_like(v, structure, "a tangent")]
        with enable_grad():
            us = [
                Value(np.zeros(o.shape, o.dtype) if isinstance(o, Value) else np.zeros(np.shape(o))) for o in self.outs
            ]  # the pull is linear in u: any u works
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
            values = self.nested or any(isinstance(v, Value) for v in tangents)
            taped = self.taped or values
            if taped:
                pulls = {g: v if isinstance(v, Value) else Value(v, requires_grad=False) for g, v in pulls.items()}
            order, wanted = reach_from(pulls, us)
            walk(order, pulls, wanted, taped)
        out = []
        for u in us:
            t = pulls.get(u)
            t = (u._data * 0.0) if t is None else t
            t = Value(t, requires_grad=False) if taped and not isinstance(t, Value) else t
            out.append(t if values else self._plain(t))
        return unflatten(self.out_structure, out)


def check_returned(f: Callable[..., Any], returned: Any, outs: Iterable[Any]) -> None:
    """A function that is differentiated returns numbers: `outs`, taken out of what it returned."""
    if not all(isinstance(out, Value) or np.asarray(out).dtype.kind in "fiub" for out in outs):
        nothing = any(out is None for out in outs)
        hint = "did you forget `return`?" if nothing else "it must return a Value or real numbers"
        raise BackwardError(f"{getattr(f, '__name__', f)} returned {returned!r:.60}; {hint}")


def note_lists(error: Exception, args: Iterable[Any]) -> None:
    """Add to an error of a function that could not use a list of numbers: what was meant was a vector."""
    if not any(word in str(error) for word in ("list", "tuple", "sequence")):
        return
    note = "A list of numbers reaches the function as a list, not as a vector; write np.array([...]) for a vector."
    if any(_is_list_of_numbers(x) for x in args) and note not in getattr(error, "__notes__", ()):
        error.add_note(note)


def _is_list_of_numbers(x: Any) -> bool:
    return isinstance(x, list | tuple) and len(x) > 0 and all(rank_of(e) == 0 for e in x)


def _owned(g: Any) -> Any:
    return g.copy() if isinstance(g, np.ndarray) else g


