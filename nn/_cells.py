"""What an optimizer moves: parameters by name, each gradient looked at first, and arrays of them with their state.

A large parameter is one cell. Small ones, arrays and scalars, are moved together, as one vector: a step over a
thousand of them is then a few NumPy calls, not a thousand.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from autograd import Value, concatenate
from autograd.errors import BackwardError, DataError, NonFiniteError

from .module import Module

Parameters = Module | Iterable[Value] | Iterable[tuple[str, Value]]


class Cell:
    """One array of parameters, its state (a momentum, say) and working space."""

    options: Mapping[str, Any] = {}  # settings of its group of parameters

    def __init__(self, name: str, parameter: Value, slots: Iterable[str], spares: tuple[np.ndarray, ...]) -> None:
        self.name, self.parameter = name, parameter
        data = parameter._data
        self.state = {slot: np.zeros(*_room(slot, np.shape(data), parameter.dtype)) for slot in slots}
        self.spare, self.spare2 = (spare[: data.size].reshape(data.shape) for spare in spares)

    @property
    def remembered(self) -> dict[str, np.ndarray]:
        """Its state but for the count of steps."""
        return {slot: array for slot, array in self.state.items() if slot != "steps"}

    @property
    def trains(self) -> bool:
        """Whether anything in it is to be moved."""
        return self.parameter.requires_grad

    def parameters(self) -> list[Value]:
        """The parameters in it."""
        return [self.parameter]

    def gradient(self) -> np.ndarray:
        """The gradient of the whole array; it raises where one is missing, misshapen or not finite."""
        return _checked(self.name, self.parameter)

    def read(self) -> np.ndarray:
        """The numbers, to be moved in place."""
        return self.parameter._data

    def joined(self, of: Callable[[Value], Any]) -> Any:
        """What `of` gives for each parameter, as a Value of the shape that is moved."""
        return of(self.parameter)

    def hold(self) -> None:
        """Before a write: remember what it must not change."""

    def write(self, values: np.ndarray, state: Mapping[str, np.ndarray]) -> None:
        """Give the moved numbers back, and the state, if that is not what it was, moved in place; count the step."""
        if values is not self.parameter._data:
            self.parameter._data[...] = values
        self.parameter.touch()  # a graph that used the old numbers must not be pulled through any more
        self.state.update(state)
        self.count()

    def count(self) -> None:
        if "steps" in self.state:
            self.state["steps"] += 1

    def step(self) -> Any:
        """The number of this step, for each parameter on its own: one that was frozen at first starts at 1."""
        return int(self.state["steps"]) + 1 if "steps" in self.state else 1

    def parts(self, slot: str) -> list[tuple[str, np.ndarray]]:
        """What is remembered in a slot, parameter by parameter: views, which may be written to."""
        return [(self.name, self.state[slot])]


class PackedCell(Cell):
    """Many small parameters of one dtype, moved together as one vector; the scalars among them come first."""

    def __init__(self, named: list[tuple[str, Value]], slots: Iterable[str]) -> None:
        self.named = sorted(named, key=lambda pair: pair[1].ndim > 0)
        self.sizes = [p.size for _, p in self.named]
        ends = np.cumsum(self.sizes).tolist()
        self.places = [slice(end - size, end) for end, size in zip(ends, self.sizes)]
        self.scalars = sum(p.ndim == 0 for _, p in named)
        dtype = named[0][1].dtype
        self.state = {slot: np.zeros(*_room(slot, (ends[-1],), dtype, len(named))) for slot in slots}
        self.values, self.gradients, self.spare, self.spare2 = np.zeros((4, ends[-1]), dtype)

    @property
    def trains(self) -> bool:
        return any(p.requires_grad for _, p in self.named)

    def parameters(self) -> list[Value]:
        return [p for _, p in self.named]

    def gradient(self) -> np.ndarray:
        given = [_present(name, p) if p.requires_grad else np.zeros(p.shape, p.dtype) for name, p in self.named]
        self._pack(given, self.gradients)
        if not math.isfinite(_square_of(self.gradients)):
            for (name, _), gradient in zip(self.named, given):
                _square(name, gradient)
        return self.gradients

    def read(self) -> np.ndarray:
        self._pack([p._data for _, p in self.named], self.values)
        self.hold()
        return self.values

    def joined(self, of: Callable[[Value], Any]) -> Any:
        found = [(p, of(p)) for _, p in self.named]
        return concatenate([np.zeros(p.size, p.dtype) if x is None else x.reshape(-1) for p, x in found])

    def hold(self) -> None:
        frozen = [i for i, (_, p) in enumerate(self.named) if not p.requires_grad]
        self.kept = {(slot, i): self._part(slot, i).copy() for i in frozen for slot in self.state}

    def write(self, values: np.ndarray, state: Mapping[str, np.ndarray]) -> None:
        first = values[: self.scalars].astype(self.values.dtype, copy=False)
        moved: Iterable[Any] = first.tolist() if first.dtype == np.float64 else first
        for (_, p), number in zip(self.named, moved):
            if p.requires_grad:
                p._data = number
        for (_, p), place in zip(self.named[self.scalars :], self.places[self.scalars :]):
            if p.requires_grad:
                p._data[...] = values[place].reshape(p._data.shape)
        for _, p in self.named:
            if p.requires_grad:
                p.touch()
        self.state.update(state)
        self.count()
        for (slot, i), before in self.kept.items():  # the move went over the frozen places too
            self._part(slot, i)[...] = before

    def step(self) -> Any:
        if "steps" not in self.state:
            return 1
        steps = self.state["steps"] + 1
        first = int(steps[0])
        return first if (steps == first).all() else np.repeat(steps, self.sizes)

    def parts(self, slot: str) -> list[tuple[str, np.ndarray]]:
        return [(name, self._part(slot, i)) for i, (name, _) in enumerate(self.named)]

    def _part(self, slot: str, i: int) -> np.ndarray:
        if slot == "steps":
            return self.state[slot][i : i + 1].reshape(())
        return self.state[slot][self.places[i]].reshape(self.named[i][1].shape)

    def _pack(self, arrays: Sequence[Any], out: np.ndarray) -> None:
        """Numbers and arrays, side by side as one vector."""
        out[: self.scalars] = arrays[: self.scalars]
        if len(arrays) > self.scalars:
            np.concatenate(arrays[self.scalars :], axis=None, out=out[self.scalars :])


def _room(slot: str, shape: tuple[int, ...], dtype: Any, parameters: int | None = None) -> tuple[Any, Any]:
    """The shape and dtype of a slot's array: that of the parameters; "steps" is one integer a parameter."""
    if slot != "steps":
        return shape, dtype
    return () if parameters is None else (parameters,), np.int64


SMALL = 1 << 12  # numbers, up to which a parameter is packed with others: to copy them is less than a dozen calls


def cells_of(named: list[tuple[str, Value]], slots: tuple[str, ...]) -> list[Cell]:
    """The cells of parameters: one for each large array, then one for all that are small, of each dtype.

    Array cells of one dtype share their working space, as large as the largest of them.
    """
    cells: list[Cell] = []
    for dtype in dict.fromkeys(p.dtype for _, p in named):
        own = [(name, p) for name, p in named if p.dtype == dtype]
        small = [(name, p) for name, p in own if p.size <= SMALL]
        large = [(name, p) for name, p in own if p.size > SMALL]
        if len(small) == 1 and small[0][1].ndim:  # one array on its own is moved where it is
            small, large = [], own
        if large:
            spares = tuple(np.empty((2, max(p.size for _, p in large)), dtype))
            cells += [Cell(name, p, slots, spares) for name, p in large]
        if small:
            cells.append(PackedCell(small, slots))
    return cells


def named_leaves(params: Parameters, who: str) -> list[tuple[str, Value]]:
    """Parameters with names for messages and files; each once."""
    expected = f"{who} takes a module, its parameters() or a list of Values that are leaves"
    if isinstance(params, Value):
        raise DataError(f"{expected}; got one Value. Write {who}([p]).")
    if not isinstance(params, Module) and (not isinstance(params, Iterable) or isinstance(params, str | Mapping)):
        call = " Call it: model.parameters()." if callable(params) else ""
        raise DataError(f"{expected}; got {_in_short(params)}.{call}")
    found = list(params.named_parameters() if isinstance(params, Module) else params)
    pairs = [x if isinstance(x, tuple) else (getattr(x, "path", None) or getattr(x, "name", None), x) for x in found]
    named: dict[str, Value] = {}
    seen: set[int] = set()
    for i, (name, p) in enumerate(pairs):
        if not isinstance(p, Value) or p.op is not None:
            raise DataError(f"{expected}; number {i} is {_in_short(p)}. {_instead_of(p, who)}".rstrip())
        if id(p) not in seen:
            seen.add(id(p))
            named[f"{name}#{i}" if name is None or name in named else name] = p
    if not named:
        raise ValueError("there are no parameters; give a module, or model.parameters()")
    return list(named.items())


def _in_short(x: Any) -> str:
    """What it is, on one line."""
    return f"{' '.join(repr(x).split())[:60]} ({type(x).__name__})"


def _instead_of(p: Any, who: str) -> str:
    """What to write instead of something that is not a parameter."""
    if isinstance(p, Module):
        return f"Write {who}(model), or join several: {who}([*one.parameters(), *other.parameters()])."
    if isinstance(p, Value) and p.op is not None:
        return f"That is the result of {p.op.name}: give the leaves it was made from."
    return "Make it a Parameter, or a Value, and compute with that." if isinstance(p, np.ndarray | float) else ""


def _checked(name: str, p: Value) -> Any:
    """The gradient of a parameter, which must be there, of the parameter's shape, and finite."""
    _square(name, _present(name, p))
    return p.grad


def _present(name: str, p: Value) -> Any:
    """The gradient of a parameter, which must be there and of the parameter's shape."""
    gradient: Any = p.grad
    if gradient is None:
        raise BackwardError(
            f"{name} has no gradient, so nothing was moved. Call loss.backward() before step(); if the "
            "loss is not meant to depend on it, freeze it (requires_grad = False) or leave it out."
        )
    if np.shape(gradient) != p.shape:
        raise BackwardError(
            f"the gradient of {name} has shape {np.shape(gradient)}, the parameter {p.shape}; nothing was moved. "
            "Write p.grad = None and call loss.backward() again."
        )
    return gradient


def _square(name: str, g: Any) -> float:
    """The sum of squares of a gradient, which may overflow; a NaN or an infinity in it is refused by name."""
    flat = np.asarray(g).ravel(order="K")
    square = _square_of(flat)
    if not math.isfinite(square):
        bad = ~np.isfinite(flat)
        if bad.any():
            raise NonFiniteError(
                f"the gradient of {name} holds {flat[bad][0]} in {int(bad.sum())} of {flat.size} places, so "
                "nothing was moved. Run the step under autograd.detect_nan() to find where it arose."
            )
    return square


@np.errstate(over="ignore", invalid="ignore")  # both are looked into by whoever asks
def _square_of(vector: np.ndarray) -> float:
    return float(np.dot(vector, vector))


def length_of(name: str, g: Any) -> float:
    """How long a gradient is as a vector, also where the squares of its entries overflow or vanish."""
    square = _square(name, g)
    if 1e-30 < square < math.inf:
        return math.sqrt(square)
    entries = np.abs(np.asarray(g, dtype=np.float64))
    largest = float(entries.max(initial=0.0))
    return largest * math.sqrt(np.sum(np.square(entries / largest))) if largest else 0.0
