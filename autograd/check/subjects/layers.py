"""Layers as people write them: forward(x…) and backward(dout), with gradients returned or left beside the arrays.

    class Linear:
        def forward(self, x): self.x = x; return x @ self.W
        def backward(self, dout): self.dW = self.x.T @ dout; return dout @ self.W.T
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograd.arrays.plain import copy_array
from autograd.engine import Value
from autograd.errors import DataError, counted

from .formula import fitted
from .subject import PlainSubject, is_float_array, names_of_inputs, plain_result

GRADIENTS = ("grads", "gradients", "grad")  # what a layer calls a dict or a list of its gradients
VARIADIC = inspect.Parameter.VAR_POSITIONAL
PLACES = "dW, W_grad, grads['W'] or W.grad"
WANTED = (
    "check_layer takes an object with forward(x) and backward(dout), a pair of functions (forward, backward), or a "
    "torch.autograd.Function; got {layer!r:.60}"
)


@dataclass
class Slot:
    """An array of a layer: where it is, and where its gradient is found after a backward pass."""

    name: str
    holder: Any
    key: Any
    gradient: Callable[[], Any]

    def __post_init__(self) -> None:
        self.before = _item(self.holder, self.key)

    @property
    def checked(self) -> bool:
        return self.gradient() is not None

    @property
    def stays(self) -> bool:
        return _item(self.holder, self.key, None) is self.before


class LayerSubject(PlainSubject):
    """A layer's forward pass as a function of its inputs and its arrays, and the gradients that backward gives.

    Inputs for which backward gives no gradient stay fixed. Arrays of the layer, and of layers inside it, are varied
    where backward leaves a gradient: dW, W_grad, grads["W"], W.grad, or grads[i] beside params[i].
    """

    def __init__(self, layer: Any, args: Sequence[Any]) -> None:
        self.layer, self.args, self.slots = layer, list(args), list[Slot]()
        self._take_layer()
        trial = [np.array(x, float) if isinstance(x, float) else copy_array(x) for x in args]
        slots = [] if self.pair else list(_slots(layer, layer, "", set()))
        self.inputs = names = getattr(self.layer, "names", None) or names_of_inputs(self.forward, len(args))
        out = self._once(trial)
        positional, self.named = self._pulled([np.ones(np.shape(o)) for o in _several(out)])
        slots = [slot for slot in slots if slot.stays]  # what the passes write, such as x for later, is no input
        returned = [i < len(positional) or bool({name, f"d{name}"} & self.named.keys())
                    for i, name in enumerate(names)]  # fmt: skip
        varied = [_is_real(x) for x in args]
        if len(positional) == sum(varied) < len(args) and not self.named:
            returned = varied
        self.moves = [i for i, given in enumerate(returned) if given]
        missing = [names[i] for i, real in enumerate(varied) if real and not returned[i]]
        self.slots = [slot for slot in slots if slot.checked or self._in_named(slot.name) is not None]
        notes = list(self._unchecked([slot for slot in slots if slot not in self.slots], trial, out))
        if missing:
            notes.insert(0, f"backward returns no gradient for {' and '.join(missing)}, which stayed fixed")

        def forward(*given: Any) -> Any:
            return self._forward(*given)

        forward.names = [*(names[i] for i in self.moves), *(s.name for s in self.slots)]  # type: ignore[attr-defined]
        super().__init__(forward, [*(args[i] for i in self.moves), *(slot.before for slot in self.slots)])
        self.notes += notes

    def _take_layer(self) -> None:
        """Find out what kind of layer it is."""
        torch = sys.modules.get("torch")
        if torch is not None and isinstance(self.layer, type) and issubclass(self.layer, torch.autograd.Function):
            self.layer = _OfTorch(self.layer, len(self.args))
        layer = self.layer
        self.pair = isinstance(layer, tuple | list) and len(layer) == 2
        if torch is not None and isinstance(layer, torch.nn.Module):
            raise TypeError("for a module of torch write autograd.capture(module, x).check()")
        methods = getattr(layer, "forward", layer), getattr(layer, "backward", None)
        both: tuple[Any, Any] = layer if self.pair else methods
        self.forward, self.back = both
        if not callable(self.forward) or not callable(self.back):
            raise TypeError(WANTED.format(layer=layer))
        if isinstance(layer, type) and not isinstance(inspect.getattr_static(layer, "forward", None), staticmethod):
            raise TypeError(f"{layer.__name__} is a class; give an object, {layer.__name__}()")

    @property
    def title(self) -> str:
        named = self.forward if self.pair else self.layer
        return str(getattr(named, "__name__", type(self.layer).__name__))

    reported_as = property(lambda self: f"the backward pass of {self.title}")

    # --- forward ------------------------------------------------------------------------------------------------------

    def _once(self, inputs: list[Any]) -> Any:
        """One forward pass, without the cache: the second of two results that is no array, or is taken by `cache`."""
        out = self.forward(*inputs)
        if out is None and (out := getattr(self.layer, "output", None)) is None:
            raise DataError(f"forward of {self.title} returned None, and left no result as `output`")
        two, named = isinstance(out, tuple) and len(out) == 2, [p.name for p in self._parameters()[-1:]] == ["cache"]
        if two and (self.pair or named or not _is_real(plain_result(out[1]))):
            out, self.cache = out
        return out

    def _parameters(self) -> list[inspect.Parameter]:
        """What backward takes by place."""
        every = inspect.signature(self.back).parameters.values()
        return [p for p in every if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD, p.VAR_POSITIONAL)]

    def _forward(self, *given: Any) -> Any:
        inputs = [copy_array(x) for x in self.args]
        for i, x in zip(self.moves, given):
            inputs[i] = x
        try:
            for slot, array in zip(self.slots, given[len(self.moves) :], strict=True):
                _set_item(slot.holder, slot.key, array)
            return self._once(inputs)
        finally:
            for slot in self.slots:
                _set_item(slot.holder, slot.key, slot.before)

    def _unchecked(self, slots: list[Slot], inputs: list[Any], out: Any) -> Iterator[str]:
        """What to say of arrays that move the result and have no gradient."""
        with np.errstate(all="ignore"):
            if not _same(out, self._once(list(map(copy_array, inputs)))):
                return
            for slot in slots:
                _set_item(slot.holder, slot.key, slot.before * 1.25 + 0.125)
                try:
                    moved = not _same(out, self._once(list(map(copy_array, inputs))))
                except Exception:  # such as an array that must stay what it is
                    moved = False
                finally:
                    _set_item(slot.holder, slot.key, slot.before)
                if moved:
                    yield (
                        f"{slot.name} moves the result, but backward leaves no gradient for it ({PLACES}): it was not "
                        "checked"
                    )

    # --- backward -----------------------------------------------------------------------------------------------------

    def _pulled(self, douts: list[Any]) -> tuple[list[Any], dict[str, Any]]:
        """What backward returns: gradients in order, and gradients by name."""
        needs, scale = self._parameters(), 1.0
        if len(needs) > len(douts) and hasattr(self, "cache"):
            returned = self.back(*douts, self.cache)
        elif len(needs) > len(douts) and self.pair:
            raise DataError(f"backward takes a cache, but {self.title} returns one result: return (out, cache)")
        elif [p.default for p in needs].count(inspect.Parameter.empty) > len(douts) and needs[-1].kind != VARIADIC:
            took, gives = ", ".join(p.name for p in needs), counted(len(douts), "gradient")
            raise DataError(f"backward of {self.title} takes ({took}); check_layer gives {gives}, one for each result. "
                            "Give the others defaults")  # fmt: skip
        elif not needs and len(douts) == 1 and not np.ndim(douts[0]):  # of a loss
            returned, scale = self.back(), float(douts[0])
        else:
            returned = self.back(*douts)
        positional, named = list[Any](), dict[str, Any]()
        if returned is None:  # left beside the layer's arrays, perhaps
            left = ((f"d{name}", getattr(self.layer, f"d{name}", None)) for name in self.inputs)
            returned = {name: g for name, g in left if g is not None}
        for part in returned if isinstance(returned, tuple | list) else [returned]:
            if isinstance(part, dict):
                named |= {str(key): _times(plain_result(g), scale) for key, g in part.items()}
            else:
                positional.append(_times(plain_result(part), scale))
        return positional, named

    def _in_named(self, name: str) -> Any:
        return next((self.named[key] for key in (name, f"d{name}", name.split(".")[-1]) if key in self.named), None)

    def gradients(self, cotangents: Sequence[Any]) -> list[Any]:
        """The gradients that the backward pass gives, each as it is returned or left."""
        for slot in self.slots:  # for a layer that adds to its gradients
            if isinstance(g := slot.gradient(), np.ndarray) and g.flags.writeable:
                g[...] = 0.0
        self.call()
        douts = [np.array(u) if np.ndim(u) else u for u in cotangents if u is not None]
        positional, self.named = self._pulled(douts)
        names = self.f.names  # type: ignore[attr-defined]
        if len(positional) + len(self.named) < len(self.moves):
            given = counted(len(positional), "gradient")
            raise DataError(f"backward of {self.title} returned {given} for {len(self.moves)} inputs")
        left = iter(positional)
        every = [found if (found := self._in_named(name)) is not None else next(left, None)
                 for name in names[: len(self.moves)]]  # fmt: skip
        for slot in self.slots:
            named = self._in_named(slot.name)
            every.append(plain_result(slot.gradient()) if named is None else named)
        return fitted(self, "backward", [g for g, x in zip(every, self.leaves, strict=True) if isinstance(x, Value)])


class _OfTorch:
    """A torch.autograd.Function as a layer of arrays."""

    def __init__(self, function: Any, count: int) -> None:
        self.function, self.__name__ = function, function.__name__
        self.names = names_of_inputs(function.forward, count + 1)[1:]

    def forward(self, *inputs: Any) -> Any:
        import torch

        self.tensors = [torch.tensor(np.asarray(x)).requires_grad_() if _is_real(x) else
                        torch.tensor(x) if isinstance(x, np.ndarray) else x for x in inputs]  # fmt: skip
        self.outs = _several(self.function.apply(*self.tensors))
        plain = tuple(map(plain_result, self.outs))
        return plain if len(plain) > 1 else plain[0]

    def backward(self, *douts: Any) -> Any:
        import torch

        outs = [o for o in self.outs if o.is_floating_point()]
        seeds = [torch.as_tensor(np.array(u), dtype=o.dtype) for u, o in zip(douts, outs, strict=True)]
        wanted = [t for t in self.tensors if isinstance(t, torch.Tensor) and t.requires_grad]
        return list(map(plain_result, torch.autograd.grad(outs, wanted, seeds, allow_unused=True)))


# --- where the arrays of a layer are ----------------------------------------------------------------------------------


def _slots(holder: Any, owner: Any, path: str, seen: set[int]) -> Iterator[Slot]:
    """Every float array that a layer, or something in it, holds. `owner` is the object that a dict or a list is in."""
    if id(holder) in seen:
        return
    seen.add(id(holder))
    inside = isinstance(holder, dict | list)
    items = holder if isinstance(holder, dict) else dict(enumerate(holder)) if inside else vars(holder)
    for key, x in list(items.items()):
        name = f"{path}[{key}]" if isinstance(holder, list) else f"{path}.{key}".lstrip(".")
        if is_float_array(x):
            name = path if path and key in ("data", "value") else name
            yield Slot(name, holder, key, _gradient_of(holder, owner, key))
        elif isinstance(x, dict) and str(key) not in GRADIENTS:
            yield from _slots(x, owner if inside else holder, path, seen)
        elif isinstance(x, list) and str(key) not in GRADIENTS:
            yield from _slots(x, owner if inside else holder, name, seen)
        elif hasattr(x, "__dict__") and (hasattr(x, "backward") or not callable(x)):
            yield from _slots(x, x, name, seen)


def _gradient_of(holder: Any, owner: Any, key: Any) -> Callable[[], Any]:
    """A function that finds the gradient of an array, of its shape if there is one; None where there is none."""

    def found() -> Iterator[Any]:
        if key in ("data", "value"):
            yield getattr(holder, "grad", None)
        for name in (f"d{key}", f"{key}_grad", f"grad_{key}", f"d_{key}", f"grad{key}"):
            yield _item(holder, name, None)
            yield _item(owner, name, None)
        for name in GRADIENTS:
            grads = getattr(owner, name, None)
            if isinstance(grads, dict):
                yield grads.get(key, grads.get(f"d{key}"))
            elif isinstance(grads, list) and isinstance(holder, list) and len(grads) == len(holder):
                yield grads[key]

    def gradient() -> Any:
        every = [g for g in found() if isinstance(g, np.ndarray | float | np.floating)]
        shape = np.shape(_item(holder, key))
        return next((g for g in every if np.shape(g) == shape), every[0] if every else None)

    return gradient


def _item(holder: Any, key: Any, *default: Any) -> Any:
    if isinstance(holder, list):
        return holder[key] if isinstance(key, int) else default[0]
    if isinstance(holder, dict):
        return holder.get(key, *default) if default else holder[key]
    return getattr(holder, key, *default)


def _set_item(holder: Any, key: Any, new: Any) -> None:
    if isinstance(holder, dict | list):
        holder[key] = new
    else:
        setattr(holder, key, new)


def _several(out: Any) -> Sequence[Any]:
    return out if isinstance(out, tuple | list) else (out,)


def _same(out: Any, other: Any) -> bool:
    return all(np.array_equal(a, b, equal_nan=True) for a, b in zip(_several(out), _several(other), strict=True))


def _times(g: Any, scale: float) -> Any:
    return g if g is None or scale == 1.0 else scale * g


def _is_real(x: Any) -> bool:
    return isinstance(x, float | np.floating | Value) or is_float_array(x)
