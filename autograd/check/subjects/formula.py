"""A gradient that the user derived for a function, taken as it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autograd.derivatives import check_function
from autograd.engine import Value
from autograd.errors import DataError, ShapeError, counted
from autograd.ops.shape import sum_to
from autograd.tree import flatten, leaves_like, unflatten

from .subject import Array, PlainSubject, first_that_works, is_float_array, plain_result


class FormulaSubject(PlainSubject):
    """A plain function, and the user's gradient of it in place of the engine's."""

    def __init__(self, f: Callable[..., Any], my_gradient: Callable[..., Any], args: Sequence[Any]) -> None:
        for function in (f, my_gradient):
            check_function("check_formula", function, "check_formula(f, my_gradient, x)")
        self.my_gradient = my_gradient
        super().__init__(f, args)
        if len(self.results) != 1:
            raise DataError(
                f"check_formula takes a function with one result; {self.title} gave {len(self.results)}. Let it "
                "return one of them, or their sum"
            )

    @property
    def reported_as(self) -> str:
        return f"{getattr(self.my_gradient, '__name__', 'the formula')} as the gradient of {self.title}"

    def gradients(self, cotangents: Sequence[Any]) -> list[Any]:
        given = _one_per_source(self, self._returned(), np.shape(cotangents[0]))
        return fitted(self, "the formula", given, cotangents[0])

    def _returned(self) -> Any:
        """What the formula returns for the inputs as plain data; if it cannot take that, for torch's tensors."""

        def call(carrier: Callable[[Any], Any]) -> Any:
            return self.my_gradient(*self.arguments([carrier(x) for x in self.plain_leaves()]))

        _, returned = first_that_works(call, self.carriers(), self.arguments(self.leaves))
        if returned is None:
            raise DataError("the formula returned None; did you forget `return`?")
        flat, structure = flatten(returned)
        return unflatten(structure, list(map(plain_result, flat)))


def fitted(subject: PlainSubject, who: str, given: Sequence[Any], weights: Any = None) -> list[Any]:
    """What was given for each input as a gradient in its shape; None where that cannot be, and a complaint if it is not
    as it should be. `weights` are those of the results, where Jacobians are given.
    """
    out = np.shape(weights) if weights is not None else ()
    found: list[Any] = []
    for i, (name, source, g) in enumerate(zip(subject.names, subject.sources, given, strict=True)):
        if g is None:
            subject.note(f"{who} gave None for {name}: that counts as zero everywhere")
            g = np.zeros(out + source.shape)
        try:
            g = np.array(g) if is_float_array(g) else np.array(g, dtype=np.float64)
        except (TypeError, ValueError):
            raise DataError(f"{who}'s gradient for {name} is not an array of numbers: {g!r:.60}") from None
        if g.shape != out + source.shape:
            complaint = f"{who}'s gradient for {name} {_wrong_shape(name, g.shape, source.shape, out)}"
            subject.complaints[complaint] = None
            g = _in_shape(g, source.shape, out)
        if g is None:
            subject.unusable.add(i)
        found.append(g if g is None or weights is None else np.tensordot(weights, g, axes=len(out)))
    return found


def _one_per_source(subject: FormulaSubject, returned: Any, out: tuple[int, ...]) -> list[Any]:
    """The gradients in order. A list of numbers may be one gradient (plain Python) or several: its form decides."""
    sources = subject.sources
    whole = [returned] if len(sources) == 1 else list(returned) if isinstance(returned, tuple | list) else []
    if len(whole) == len(sources) and all(
        _form(g) in (s.shape, out + s.shape) for g, s in zip(whole, sources, strict=True)
    ):
        return whole
    if subject.structure is not None:
        trees = [returned] if len(subject.structure) == 1 else returned
        try:  # nested as the inputs are; dicts by key, in any order
            every = leaves_like(trees, type(trees)(subject.structure))
            return [g for g, x in zip(every, subject.leaves, strict=True) if isinstance(x, Value)]
        except (ShapeError, TypeError, ValueError):
            pass  # a flat tuple, perhaps
    flat = flatten(returned)[0]
    if len(flat) != len(sources):
        raise DataError(
            f"the formula returned {counted(len(flat), 'gradient')} for {len(sources)} "
            f"inputs ({', '.join(subject.names)}); return a tuple with one per input, in order"
        )
    return flat


def _form(g: Any) -> tuple[int, ...] | None:
    try:
        return np.shape(g)
    except ValueError:  # rows of different lengths
        return None


def _wrong_shape(name: str, got: tuple[int, ...], shape: tuple[int, ...], out: tuple[int, ...]) -> str:
    said = f"has shape {got}; it must have {out + shape}"
    if got == (out + shape)[::-1]:
        return said + ": transposed?"
    if out:
        return (
            f"{said}, the Jacobian of a result of shape {out}. Return that, or let f end in .sum() and return the "
            f"gradient of the sum, of shape {shape}; for a backward(dout) use check_layer"
        )
    try:
        np.broadcast_shapes(got, shape)
    except ValueError:
        return said
    if np.prod(got) > np.prod(shape):
        return f"{said}: the sum over what {name} was broadcast to is missing"
    return f"{said}: a sum too many?" if np.prod(got) < np.prod(shape) else said


def _in_shape(g: Array, shape: tuple[int, ...], out: tuple[int, ...]) -> Array | None:
    """The nearest thing in the right shape, so that entries can still be compared; None if there is none."""
    if g.shape == (out + shape)[::-1]:
        return g.T
    if out:
        return None
    try:
        return np.reshape(sum_to(g, shape), shape) if g.ndim >= len(shape) else np.broadcast_to(g, shape)
    except ValueError:
        return None
