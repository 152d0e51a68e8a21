"""Gradients that the user derived: check_formula's functions, and check_layer's layers, taken as they are."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..derivatives import check_function
from ..engine import Value
from ..errors import DataError, counted
from ..ops.shape import sum_to
from ..tree import flatten, unflatten
from .subject import Array, PlainSubject, carriers, first_that_works, is_float_array, names_of_inputs, plain_result


class FormulaSubject(PlainSubject):
    """A plain function, and the user's gradient of it in place of the engine's."""

    def __init__(self, f: Callable[..., Any], my_gradient: Callable[..., Any], args: Sequence[Any]) -> None:
        for function in (f, my_gradient):
            check_function("check_formula", function, "check_formula(f, my_gradient, x)")
        self.my_gradient = my_gradient
        self.complaints: list[str] = []  # about the shapes of gradients
        self.unusable: set[int] = set()  # inputs whose gradient cannot be compared
        super().__init__(f, args)
        if len(self.results) != 1:
            raise DataError(
                f"check_formula takes a function with one result; {self.title} gave {len(self.results)}. Let it "
                "return one of them, or their sum"
            )
        self._answers(np.ones(np.shape(self.results[0])), self.complaints, self.notes)

    @property
    def reported_as(self) -> str:
        return f"{getattr(self.my_gradient, '__name__', 'the formula')} as the gradient of {self.title}"

    def gradients(self, cotangents: Sequence[Any]) -> list[Any]:
        return [answer.gradient for answer in self._answers(cotangents[0], [], [])]

    def _answers(self, weights: Any, complaints: list[str], notes: list[str]) -> list[_Answer]:
        given = _one_per_source(self, self._returned(), np.shape(weights))
        answers = [
            _answered(name, source.shape, g, weights)
            for name, source, g in zip(self.names, self.sources, given, strict=True)
        ]
        complaints += [answer.complaint for answer in answers if answer.complaint]
        notes += [answer.note for answer in answers if answer.note]
        self.unusable |= {i for i, answer in enumerate(answers) if answer.gradient is None}
        return answers

    def _returned(self) -> Any:
        """What the formula returns for the inputs as plain data; if it cannot take that, for torch's tensors."""

        def call(carrier: Callable[[Any], Any]) -> Any:
            return self.my_gradient(*self.arguments([carrier(x) for x in self.plain_leaves()]))

        _, returned = first_that_works(call, carriers(), self.arguments(self.leaves))
        if returned is None:
            raise DataError("the formula returned None; did you forget `return`?")
        flat, structure = flatten(returned)
        return unflatten(structure, list(map(plain_result, flat)))


@dataclass
class _Answer:
    """What the formula gave for one input, as the gradient of the weighted results; None: nothing to compare."""

    gradient: Array | None
    complaint: str = ""
    note: str = ""


def _answered(name: str, shape: tuple[int, ...], g: Any, weights: Any) -> _Answer:
    out = np.shape(weights)
    if g is None:
        return _Answer(np.zeros(shape), note=f"the formula gave None for {name}: that counts as zero everywhere")
    try:
        g = np.asarray(g) if is_float_array(g) else np.asarray(g, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(f"the formula's gradient for {name} is not an array of numbers: {g!r:.60}") from None
    expected = out + shape
    nearest = g if g.shape == expected else _in_shape(g, shape, out)
    complaint = "" if g.shape == expected else _wrong_shape(name, g.shape, shape, out)
    return _Answer(None if nearest is None else np.tensordot(weights, nearest, axes=len(out)), complaint)


def _one_per_source(subject: FormulaSubject, returned: Any, out: tuple[int, ...]) -> list[Any]:
    """The gradients in order. A list of numbers may be one gradient (plain Python) or several: its form decides."""
    sources = subject.sources
    whole = [returned] if len(sources) == 1 else list(returned) if isinstance(returned, tuple | list) else []
    if len(whole) == len(sources) and all(
        _form(g) in (s.shape, out + s.shape) for g, s in zip(whole, sources, strict=True)
    ):
        return whole
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
    said = f"the formula's gradient for {name} has shape {got}; it must have {out + shape}"
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


# --- layers ---------------------------------------------------------------------------------------------------------


class LayerSubject(PlainSubject):
    """A layer: forward(x…), and backward(dout), which returns the inputs' gradients and leaves those of its arrays.

    A layer is an object with these two methods, a pair of functions forward(x…) -> (out, cache) and
    backward(dout, cache) -> gradients, or a torch.autograd.Function. Its arrays are varied too where the backward pass
    leaves a gradient for them: as dW or W_grad beside W, or as grads["W"].
    """

    def __init__(self, layer: Any, args: Sequence[Any]) -> None:
        self.layer = layer
        self.pair = layer if isinstance(layer, tuple | list) and len(layer) == 2 else None
        self.arrays: list[tuple[str, Any, Any, Callable[[], Any]]] = []  # name, holder, key, its gradient
        self.count = len(args)
        if self.pair is None and not _is_torch_function(layer):
            if not callable(getattr(layer, "forward", None)) or not callable(getattr(layer, "backward", None)):
                raise TypeError(
                    "check_layer takes an object with forward(x) and backward(dout), a pair of functions "
                    f"(forward, backward), or a torch.autograd.Function; got {layer!r:.60}"
                )
            self._find_arrays(args)
        held = [_item(holder, key) for _, holder, key, _ in self.arrays]

        def forward(*given: Any) -> Any:
            return self._forward(*given)

        own = self.pair[0] if self.pair is not None else layer.forward
        names = names_of_inputs(own, len(args) + _is_torch_function(layer))[_is_torch_function(layer) :]
        forward.names = [*names, *(name for name, *_ in self.arrays)]  # type: ignore[attr-defined]
        super().__init__(forward, [*args, *held])

    @property
    def title(self) -> str:
        if self.pair is not None:
            return str(getattr(self.pair[0], "__name__", "forward"))
        return str(getattr(self.layer, "__name__", type(self.layer).__name__))

    reported_as = property(lambda self: f"the backward pass of {self.title}")

    def _forward(self, *args: Any) -> Any:
        inputs, arrays = args[: self.count], args[self.count :]
        if self.pair is not None:
            returned = self.pair[0](*inputs)
            if isinstance(returned, tuple) and len(returned) == 2:
                returned, self.cache = returned
            return returned
        if _is_torch_function(self.layer):
            return self.layer.apply(*inputs)
        before = [_item(holder, key) for _, holder, key, _ in self.arrays]
        try:
            for (_, holder, key, _), array in zip(self.arrays, arrays, strict=True):
                _set_item(holder, key, array)
            return self.layer.forward(*inputs)
        finally:
            for (_, holder, key, _), old in zip(self.arrays, before, strict=True):
                _set_item(holder, key, old)

    def _find_arrays(self, args: Sequence[Any]) -> None:
        """The layer's arrays that have a gradient after a backward pass."""
        inputs = [np.array(x, dtype=float) if isinstance(x, float) else x for x in map(_copied, args)]
        out = self.layer.forward(*inputs)
        self.layer.backward(np.ones_like(np.asarray(out, dtype=float)))
        for name, holder, key in _arrays_of(self.layer):
            gradient = _gradient_place(self.layer, holder, key)
            if gradient is not None and np.shape(gradient()) == np.shape(_item(holder, key)):
                self.arrays.append((name, holder, key, gradient))

    def gradients(self, cotangents: Sequence[Any]) -> list[Any]:
        """The gradients that the backward pass gives, each as it is returned or left."""
        if _is_torch_function(self.layer):
            return self._by_torch(cotangents)
        self.call()
        dout = np.array(cotangents[0]) if np.ndim(cotangents[0]) else cotangents[0]
        returned = self.pair[1](dout, self.cache) if self.pair is not None else self.layer.backward(dout)
        given = list(returned) if isinstance(returned, tuple | list) else [returned]
        given = [plain_result(g) for g in given]
        varied = [isinstance(x, Value) for x in self.leaves[: self.count]]
        if len(given) == sum(varied) != self.count:
            placed = iter(given)
            given = [next(placed) if varies else None for varies in varied]
        if len(given) < self.count:
            raise DataError(
                f"backward of {self.title} returned {counted(len(given), 'gradient')} for {self.count} inputs; return "
                "one for each, in order"
            )
        every = given[: self.count] + [plain_result(gradient()) for *_, gradient in self.arrays]
        return [self._fitting(g, x) for g, x in zip(every, self.leaves, strict=True) if isinstance(x, Value)]

    def _fitting(self, g: Any, x: Value) -> Any:
        if g is not None and np.shape(g) != x.shape:
            name = next(name for name, source in zip(self.names, self.sources, strict=True) if source is x)
            raise DataError(f"backward of {self.title} gives {name} a gradient of shape {np.shape(g)}; {name} has "
                            f"{x.shape}")  # fmt: skip
        return None if g is None else np.array(g)

    def _by_torch(self, cotangents: Sequence[Any]) -> list[Any]:
        import torch

        tensors = [torch.tensor(x._data).requires_grad_() if isinstance(x, Value) else
                   torch.tensor(x) if isinstance(x, np.ndarray) else x for x in self.leaves]  # fmt: skip
        out = self.layer.apply(*tensors)
        outs = [o for o in (out if isinstance(out, tuple) else (out,)) if o.is_floating_point()]
        seeds = [torch.as_tensor(np.array(u), dtype=o.dtype) for u, o in zip(cotangents, outs) if u is not None]
        wanted = [t for t, x in zip(tensors, self.leaves, strict=True) if isinstance(x, Value)]
        grads = torch.autograd.grad(outs, wanted, seeds, allow_unused=True)
        return [None if g is None else plain_result(g) for g in grads]


def _is_torch_function(layer: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(layer, type) and issubclass(layer, torch.autograd.Function)


def _copied(x: Any) -> Any:
    return x.copy() if isinstance(x, np.ndarray) else x


def _item(holder: Any, key: Any) -> Any:
    return holder[key] if isinstance(holder, dict) else getattr(holder, key)


def _set_item(holder: Any, key: Any, new: Any) -> None:
    if isinstance(holder, dict):
        holder[key] = new
    else:
        setattr(holder, key, new)


def _arrays_of(layer: Any) -> list[tuple[str, Any, str]]:
    """Every float array of a layer, under its name: an attribute, or in a dict that is one."""
    found: list[tuple[str, Any, str]] = []
    for name, x in vars(layer).items():
        if is_float_array(x):
            found.append((name, layer, name))
        elif isinstance(x, dict) and "grad" not in name:
            found += [(str(key), x, key) for key, y in x.items() if is_float_array(y)]
    return found


def _gradient_place(layer: Any, holder: Any, key: str) -> Callable[[], Any] | None:
    """Where a layer keeps the gradient of one of its arrays."""
    for name in (f"d{key}", f"{key}_grad", f"grad_{key}", f"d_{key}"):
        if hasattr(layer, name):
            return lambda: getattr(layer, name)
        if isinstance(holder, dict) and name in holder:
            return lambda: holder[name]
    for name in ("grads", "gradients", "grad"):
        grads = getattr(layer, name, None)
        if isinstance(grads, dict):
            for k in (key, f"d{key}"):
                if k in grads:
                    return lambda: getattr(layer, name)[k]
    return None
