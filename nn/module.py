"""Module: something with parameters that can be called; Parameter: a Value that training moves.

A module is an ordinary object. Its parameters are found by looking: every attribute that is a Parameter or a
Module, or a list, tuple or dict of them, in the order in which they were set. The dotted way to one is its
name: `blocks.0.attention.qkv.weight`.
"""

from __future__ import annotations

import functools
import re
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn, TypeVar

import numpy as np

from autograd import Value, names, stack
from autograd.arrays.plain import as_plain
from autograd.attached import Attached
from autograd.errors import DataError, HandgradError, ShapeError
from autograd.modes import Modes, Scope, modes, no_grad

from .buffer import Buffer, Kind, Place

Self = TypeVar("Self", bound="Module")
T = TypeVar("T")
NUMBERS = (np.ndarray, np.number, int, float)
Way = tuple[Any, ...]  # the attribute names, indices and keys that lead from a module to something it holds


class Parameter(Value):
    """A leaf that belongs to a module and is moved by training.

    >>> Parameter([1.0, 2.0], name="bias")
    Parameter([1., 2.], name='bias')
    """

    __slots__ = ("_path",)
    _path: str

    @property
    def path(self) -> str:
        """Its dotted name in the module whose parameters were last asked for; else its own name."""
        return getattr(self, "_path", None) or self.name or f"a parameter of shape {self.shape}"


class Module:
    """The base of every layer: write `forward`, keep Parameters and Modules as attributes, and call it.

    >>> class Affine(Module):
    ...     def __init__(self):
    ...         self.scale = Parameter([2.0, 3.0])
    ...         self.shift = Parameter([0.5, 0.5])
    ...     def forward(self, x):
    ...         return self.scale * x + self.shift
    >>> affine = Affine()
    >>> affine([1.0, 1.0]).data
    array([2.5, 3.5])
    >>> affine
    Affine  scale (2,), shift (2,)  4 parameters
    """

    training = True
    beside = ("_home", "_programs", "_changes")  # its calls do not depend on these, and a copy has none
    _buffers: Mapping[str, Kind] = {}  # what is known of its buffers, by name
    _changes: frozenset[str] = frozenset()  # numbers and arrays that forward has set, and that are no buffers
    _home: tuple[weakref.ref[Module], Way, str] | None = None  # the last caller, and where in it this is

    def __init_subclass__(cls) -> None:
        names.take_other_names(cls)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module computes; every kind of module writes its own."""
        raise NotImplementedError(f"{type(self).__name__} has no forward(); write one that computes its output")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run `forward`; every node made while it runs remembers that it was made here."""
        # This is `with scope(name, kind, self):` written out, since every call of every layer pays for it.
        around = modes.now
        parent = None if around.note is None else around.note.scope
        name = "" if parent is None else self._name_in(parent)
        here = Scope(name, self.__class__.__name__, parent, self)
        try:
            modes.change(Modes(*around[:4], Attached(None, here)))
            return self.forward(*args, **kwargs)
        except HandgradError as error:
            if here.path and not hasattr(error, "__notes__"):
                error.add_note(f"in {here.path} ({here.kind})")
            raise
        finally:
            modes.change(around)

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, Buffer):
            value = self._new_buffer(name, value)
        elif name in self._buffers and value is not None:
            value = self._buffers[name].fitted(name, value)
        elif isinstance(vars(self).get(name), NUMBERS) and modes.note is not None and modes.note.scope is not None:
            self.__dict__["_changes"] = self._changes | {name}
        for way, part in _parts((name,), value):
            if isinstance(part, Parameter) and part.name is None:
                part.name = _dotted(way)
        object.__setattr__(self, name, value)

    def _new_buffer(self, name: str, buffer: Buffer) -> np.ndarray:
        kind = Kind(buffer.array.shape, buffer.array.dtype.str, buffer.persistent)
        self.__dict__["_buffers"] = {**self._buffers, name: kind}
        return buffer.array

    def register_buffer(self, name: str, tensor: Any, persistent: bool = True) -> None:
        """torch's way to write `self.name = Buffer(tensor, persistent)`; None: an attribute that holds nothing yet."""
        setattr(self, name, None if tensor is None else Buffer(tensor, persistent))

    # --- what it holds --------------------------------------------------------------------------------------

    def _own_parts(self) -> Iterator[tuple[str, Parameter | Module]]:
        """The Parameters and Modules this module holds itself, by name, in order."""
        for name, attribute in vars(self).items():
            for way, part in _parts((name,), attribute):
                yield _dotted(way), part

    def _walk(self, way: Way, seen: set[int]) -> Iterator[tuple[Way, Parameter | Module]]:
        """This module, then what it holds, depth first; each object once, with the first way to it."""
        seen.add(id(self))
        yield way, self
        for name, attribute in vars(self).items():
            for further, part in _parts((*way, name), attribute):
                if id(part) in seen:
                    continue
                if isinstance(part, Module):
                    yield from part._walk(further, seen)
                else:
                    seen.add(id(part))
                    yield further, part

    def named_modules(self) -> list[tuple[str, Module]]:
        """This module (named "") and all modules inside it, with their dotted names."""
        return [(_dotted(way), part) for way, part in self._walk((), set()) if isinstance(part, Module)]

    def named_parameters(self) -> list[tuple[str, Parameter]]:
        """All parameters with their dotted names; a shared one once."""
        found = [(_dotted(way), part) for way, part in self._walk((), set()) if isinstance(part, Parameter)]
        for path, parameter in found:
            parameter._path = path
        return found

    def named_buffers(self) -> list[tuple[str, np.ndarray]]:
        """All buffers with their dotted names."""
        return [(path, place.data) for path, place in self._buffer_places(every=True)]

    def buffers(self) -> list[np.ndarray]:
        """All buffers."""
        return [array for _, array in self.named_buffers()]

    def _buffer_places(self, every: bool = False) -> list[tuple[str, Place]]:
        """The buffers that files hold, or every one, with their dotted names."""
        return [
            (_dotted((*way, name)), Place(part, name))
            for way, part in self._walk((), set()) if isinstance(part, Module)
            for name, kind in part._buffers.items()
            if (every or kind.persistent) and isinstance(vars(part).get(name), np.ndarray)
        ]  # fmt: skip

    def unsaved(self) -> list[str]:
        """The numbers and arrays that `forward` has changed and that no file holds, by dotted name."""
        return [f"{path}.{name}".removeprefix(".") for path, part in self.named_modules()
                for name in sorted(part._changes - part._buffers.keys())]  # fmt: skip

    def parameters(self) -> list[Parameter]:
        """All parameters, frozen ones too; a shared one once."""
        return [parameter for _, parameter in self.named_parameters()]

    def count(self) -> int:
        """How many numbers its parameters hold."""
        return sum(parameter.size for parameter in self.parameters())

    # --- states ---------------------------------------------------------------------------------------------

    def train(self: Self, training: bool = True) -> Self:
        """Switch this module and all inside it to training, in which dropout drops."""
        for _, module in self.named_modules():
            module.training = training
        return self

    def eval(self: Self) -> Self:
        """Switch to evaluation: nothing is dropped."""
        return self.train(False)

    def to(self: Self, dtype: Any) -> Self:
        """Keep its floats in another precision, `model.to(np.float32)`; make the optimizer afterwards."""
        if dtype not in ("cpu", "cuda"):  # everything is in memory
            kind = np.dtype(dtype)
            if kind.kind != "f":
                raise DataError(f"{type(self).__name__}.to takes np.float32, np.float64 or np.float16; got {dtype!r}")
            for parameter in self.parameters():
                parameter._data = as_plain(np.asarray(parameter._data, kind))
                parameter.grad = None
                parameter.touch()
            for _, module in self.named_modules():
                for name, held in module._buffers.items():
                    if np.dtype(held.dtype).kind == "f":
                        Place(module, name).data = Place(module, name).data.astype(kind)
                        module.__dict__["_buffers"] = {**module._buffers, name: held._replace(dtype=kind.str)}
                if "dtype" in vars(module):
                    module.__dict__["dtype"] = kind
        return self

    def freeze(self: Self) -> Self:
        """Stop training these parameters: no gradient is computed for them and optimizers leave them alone."""
        return self._set_requires_grad(False)

    def unfreeze(self: Self) -> Self:
        """Train these parameters again."""
        return self._set_requires_grad(True)

    def _set_requires_grad(self: Self, wanted: bool) -> Self:
        for parameter in self.parameters():
            parameter.requires_grad = wanted
            parameter.grad = None
        return self

    def zero_grad(self) -> None:
        """Forget all gradients: each is None until the next backward pass."""
        for parameter in self.parameters():
            parameter.grad = None

    def state_dict(self) -> dict[str, np.ndarray]:
        """A copy of every parameter and buffer as a plain array, by dotted name."""
        held = {path: parameter.numpy() for path, parameter in self.named_parameters()}
        return held | {path: place.data.copy() for path, place in self._buffer_places()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Fill parameters and buffers. If a name, shape or dtype does not fit, say them all and change nothing."""
        own: dict[str, Any] = dict(self.named_parameters()) | dict(self._buffer_places())
        arrays = {path: np.asarray(array) for path, array in state.items()}
        check_same(type(self).__name__, {path: held.data for path, held in own.items()}, arrays)
        for path, held in own.items():
            held.data = arrays[path]

    # --- what people see ------------------------------------------------------------------------------------

    def extra(self) -> str:
        """What stands in brackets behind the kind when the module is printed."""
        return ""

    def __repr__(self) -> str:
        from .printing import printed

        return printed(self)

    def _repr_html_(self) -> str:
        from .printing import unfolding

        return unfolding(self)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in self.beside}

    # --- checks and errors for layers -----------------------------------------------------------------------

    def _name_in(self, around: Scope) -> str:
        """What the module that is calling this one calls it; the outermost module has no name."""
        caller: Module | None = around.module
        if caller is None:  # a scope of something else: look further out
            caller = next((scope.module for scope in around.chain() if scope.module is not None), None)
        if caller is None:
            return ""
        home = self._home
        if home is None or home[0]() is not caller or _at(caller, home[1]) is not self:
            self.__dict__.pop("_home", None)
            known = weakref.ref(caller)
            for way, part in caller._walk((), set()):  # all of them at once: each of a layer's neurons asks
                if isinstance(part, Module) and part is not caller:
                    part.__dict__["_home"] = (known, way, _dotted(way))
            home = self._home
        return "" if home is None else home[2]

    def _called(self) -> str:
        """How a message refers to this module: its dotted name in the call that is running, and its kind."""
        note = modes.note
        here = None if note is None else note.scope
        named = here is not None and here.module is self and here.path
        return f"{here.path}: {self._kind()}" if here is not None and named else self._kind()

    def _kind(self) -> str:
        return f"{type(self).__name__}({self.extra()})" if self.extra() else type(self).__name__

    def _refuse(self, expected: str, came: Any, remedy: str = "") -> NoReturn:
        """Raise a ShapeError that names this layer, what it expected, and what came."""
        came = came if isinstance(came, str) else f"an input of shape {np.shape(came)}"
        raise ShapeError(f"{self._called()} expected {expected}, got {came}.{remedy and ' ' + remedy}")


def evaluating(model: Module, f: Callable[[], T]) -> T:
    """What `f` gives with the model in evaluation mode and nothing recorded; afterwards each of its modules is in the
    mode it was in.
    """
    before = [(module, module.training) for _, module in model.named_modules()]
    try:
        model.eval()
        with no_grad():
            return f()
    finally:
        for module, training in before:
            object.__setattr__(module, "training", training)


def as_input(x: Any, dtype: Any) -> Any:
    """What a layer was called with, as a Value or an array.

    Plain numbers take the layer's dtype; a list with Values in it is stacked.
    """
    if isinstance(x, Value):
        return x
    if isinstance(x, np.ndarray) and x.dtype == dtype:
        return x
    if isinstance(x, list | tuple):
        x = [as_input(part, dtype) if isinstance(part, list | tuple) else part for part in x]
        if any(isinstance(part, Value) for part in x):
            return stack(x)
    array = np.asarray(x)
    if array.dtype.kind not in "fiub":
        raise DataError(f"a layer takes a Value, numbers or an array of them; got {x!r:.60} ({type(x).__name__})")
    return array.astype(dtype)


def whole_size(who: str, name: str, size: Any) -> int:
    """A layer's width, which is an integer from 0 up."""
    return whole_number(f"{who}: {name}", size, 0, too_low=ShapeError)


def whole_number(
    what: str, number: Any, least: int, otherwise: str = "", too_low: type[HandgradError] = DataError
) -> int:
    """An integer from `least` up; a message says also what it may be `otherwise`."""
    is_whole = isinstance(number, int | np.integer) and not isinstance(number, bool)
    if not is_whole or number < least:
        came = f"{number!r:.60} ({type(number).__name__})"
        raise (too_low if is_whole else DataError)(f"{what} is an integer from {least} up{otherwise}; got {came}")
    return int(number)


def is_number(x: Any) -> bool:
    """Whether it is one plain number: Python's, NumPy's, or an array of no axes."""
    return isinstance(x, int | float | np.number | np.ndarray) and np.ndim(x) == 0


def check_same(who: str, own: Mapping[str, Any], given: Mapping[str, np.ndarray]) -> None:
    """Raise one error that lists every missing, unexpected, misshapen or mistyped entry of `given`."""
    problems = [f"missing: {name} {np.shape(own[name])}" for name in own if name not in given]
    problems += [f"not expected: {name} {given[name].shape}" for name in given if name not in own]
    for name in own:
        if name in given:
            mine = np.asarray(own[name])
            if mine.shape != given[name].shape:
                problems.append(f"{name}: expected shape {mine.shape}, got {given[name].shape}")
            if mine.dtype != given[name].dtype:
                problems.append(f"{name}: expected dtype {mine.dtype}, got {given[name].dtype}")
    if problems:
        raise ShapeError(f"{who} cannot take this state; nothing was changed:\n  " + "\n  ".join(problems))


def _parts(way: Way, x: Any) -> Iterator[tuple[Way, Parameter | Module]]:
    """The Parameters and Modules in an attribute: itself, or those in a list, tuple or dict."""
    if isinstance(x, Parameter | Module):
        yield way, x
    elif isinstance(x, list | tuple):
        for i, part in enumerate(x):
            yield from _parts((*way, i), part)
    elif isinstance(x, dict):
        for key, part in x.items():
            yield from _parts((*way, key), part)


def _at(module: Module, way: Way) -> Any:
    """What a way leads to now; None if it leads nowhere any more."""
    here: Any = module
    try:
        for key in way:
            here = here.__dict__[key] if isinstance(here, Module) else here[key]
    except (KeyError, IndexError, TypeError):
        return None
    return here


def _dotted(way: Way) -> str:
    """A way as a name: `blocks.0.weight`. A key that could be taken for something else stands in brackets: ['0']."""
    return "".join(map(_link, way)).removeprefix(".")


@functools.lru_cache(maxsize=1024, typed=True)  # every walk over a model's parameters names them all
def _link(key: Any) -> str:
    plain = _PLAIN.fullmatch(key) if isinstance(key, str) else isinstance(key, int | np.integer)
    return f".{key}" if plain else f"[{key!r}]"


_PLAIN = re.compile(r"(?!-?\d+$)[^.\[\]]+")  # no number, no dot, no bracket
