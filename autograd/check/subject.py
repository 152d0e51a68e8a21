"""What is being checked: a function, the inputs that are varied, and one recorded run of it."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np

from ..backprop import refuse_stale, walk
from ..derivatives import Trace
from ..errors import DataError
from ..op import as_plain
from ..recording import enable_grad, modes
from ..tree import LEAF, flatten, unflatten
from ..value import Value
from .replay import Replay, made_from

Array = np.ndarray[Any, Any]
T = TypeVar("T")


class Subject(Trace):
    """A function of some inputs, run once and recorded; it can be run again on other numbers.

    Real numbers and arrays are varied, on copies. A leaf Value is varied itself (so that a function may also reach it
    from outside, as a module reaches its parameters) and gets its own data back, the same object. Whole numbers,
    booleans, text and None are held as they are.
    """

    def __init__(self, f: Callable[..., Any], args: Sequence[Any]) -> None:
        self.f = f
        self.taped = False
        self.notes: list[str] = []
        self.sources: list[Value] = []
        self.names: list[str] = []
        self.structure: Any = None  # where no input is nested
        given: Sequence[Any] = args
        if any(issubclass(kind, (list, tuple, dict)) for kind in set(map(type, args))):
            given, self.structure = flatten(list(args))
        self.parameters = parameters_of(f) if len(given) == len(args) else ()
        self.leaves = [self._door(i, x) for i, x in enumerate(given)]
        self._notice_shared_memory(given)
        if not self.sources:
            raise DataError(
                "there is nothing to check: no input is a real number, a float array or a leaf Value. "
                "Write 3.0 for 3, or x.astype(float)."
            )
        self.structures = [(LEAF, 1)] * len(self.sources)
        self.outs, self.out_structure = self.call()
        self.results = [real_array(out) for out in self.outs]
        if not any(result is not None for result in self.results):
            raise DataError(f"{self.title} returned nothing real: {unflatten(self.out_structure, self.outs)!r:.80}")
        self.replay = Replay(self.sources, self.outs)

    # --- inputs ---------------------------------------------------------------------------------------------

    def _door(self, place: int, x: Any) -> Any:
        """What the function is given in place of x."""
        if is_float_array(x) or isinstance(x, (float, np.floating)):
            return self._vary(Value(x), place)
        if isinstance(x, Value):
            if not x.requires_grad or x.dtype.kind != "f":
                return x
            if x.op is not None:
                self.notes.append(f"input {place} was computed by {x.op.name}; it is varied as if it were given")
                return self._vary(Value(x._data, name=x.name), place)
            if x in self.sources:
                self.notes.append(
                    f"input {place} is the same Value as {self.names[self.sources.index(x)]}: both vary together"
                )
                return x
            return self._vary(x, place)
        if isinstance(x, int | np.integer) and not isinstance(x, bool):
            self.notes.append(f"input {place} is the whole number {x}; it is held. Write {float(x)} to vary it")
        elif not isinstance(x, np.ndarray | bool | str | None):
            raise DataError(f"input {place} is a {type(x).__name__}; give numbers, arrays or Values: {x!r:.60}")
        return x

    def _vary(self, source: Value, place: int) -> Value:
        """Known by its own name, else the parameter's where each takes one input, else its place."""
        named = self.parameters[place] if place < len(self.parameters) else f"input {place}"
        self.sources.append(source)
        self.names.append(source.name or named)
        return source

    def _notice_shared_memory(self, given: Sequence[Any]) -> None:
        views = [x for x in given if getattr(x, "base", None) is not None]
        if not views and len(set(map(id, given))) == len(given):
            return  # each has memory of its own
        pairs = itertools.combinations(filter(is_float_array, given), 2)
        if any(np.may_share_memory(a, b) and np.shares_memory(a, b) for a, b in pairs):
            self.notes.append("two of the arrays given share memory; each was varied on a copy of its own")

    # --- runs -----------------------------------------------------------------------------------------------

    @property
    def title(self) -> str:
        """What the function is called."""
        return getattr(self.f, "__name__", None) or type(self.f).__name__

    def arguments(self, leaves: list[Any]) -> list[Any]:
        """What the function is called with: the leaves, nested as the inputs were."""
        return leaves if self.structure is None else unflatten(self.structure, leaves)

    def call(self) -> tuple[list[Any], Any]:
        """Call the function on the sources as they are now; its results, taken apart."""
        args = self.arguments(self.leaves)
        if modes.recording:
            return flatten(self._run(self.f, args, {}))
        with enable_grad():
            return flatten(self._run(self.f, args, {}))

    def at(self, data: Iterable[Array], ask: Callable[[], T]) -> T | None:
        """What `ask` says while the sources have other data; then they have their own again, the same objects.

        None if the function raises there.
        """
        before = [source._data for source in self.sources]
        try:
            for source, new in zip(self.sources, data):
                source._data = new if new.ndim else as_plain(new)
            return ask()
        except (ArithmeticError, ValueError):  # a step outside of where the function is defined
            return None
        finally:
            for source, old in zip(self.sources, before):
                source._data = old

    def call_again(self) -> list[Any]:
        """The results of one more call, as plain arrays."""
        return [real_array(out) for out in self.call()[0]]

    # --- the engine's answers -------------------------------------------------------------------------------

    def gradients(self, cotangents: Sequence[Any]) -> list[Any]:
        """The engine's gradient of `Σ cotangent · result` for each source, by reverse mode; None: no path."""
        return self._gradients(self.outs, self.replay.nodes, cotangents)

    def gradients_again(self, cotangents: Sequence[Any]) -> list[Any] | None:
        """The gradients of one more call; None if it gives other results."""
        outs, structure = self.call()
        same = structure == self.out_structure and [np.shape(real_array(o)) for o in outs] == [
            np.shape(r) for r in self.results
        ]
        return self._gradients(outs, made_from(outs, stop=self.sources), cotangents) if same else None

    def _gradients(self, outs: Sequence[Any], nodes: Sequence[Value], cotangents: Sequence[Any]) -> list[Any]:
        grads: dict[Value, Any] = {}
        for root, u in zip(outs, cotangents):
            if isinstance(root, Value) and root.requires_grad:
                seed = u if root._data.__class__ is float else np.asarray(u, root._data.dtype)
                grads[root] = grads[root] + seed if root in grads else seed
        order = [node for node in reversed(nodes) if node.requires_grad]
        refuse_stale(order)
        walk(order, grads)
        return [grads.get(source) for source in self.sources]

    def pushed(self, cotangents: Sequence[Any]) -> list[Any]:
        """The same, by forward mode: one push for each entry, weighted with the cotangents."""
        found = []
        for k, source in enumerate(self.sources):
            gradient = np.zeros(np.size(source._data))
            for i in range(gradient.size):
                tangents = [np.zeros(s.shape, s.dtype) for s in self.sources]
                tangents[k].flat[i] = 1.0
                pushed = flatten(self.push(tangents))[0]
                gradient[i] = math.fsum(float(np.sum(u * t)) for u, t in zip(cotangents, pushed) if u is not None)
            found.append(gradient.reshape(source.shape))
        return found

    def taped_gradients(self, cotangents: Sequence[Any]) -> list[Value]:
        """The gradients as Values that can be differentiated again."""
        with enable_grad():
            grads = self._pull([0.0 if u is None else u for u in cotangents], taped=True)
        return [
            grads[s] if isinstance(grads.get(s), Value) else Value(np.zeros(s.shape, s.dtype), requires_grad=False)
            for s in self.sources
        ]


def is_float_array(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.dtype.kind == "f"


def parameters_of(f: Callable[..., Any]) -> Sequence[str]:
    """The names of a function's parameters, where it tells."""
    code = getattr(f, "__code__", None)
    return code.co_varnames[: code.co_argcount] if code is not None else getattr(f, "names", ())


def real_array(out: Any) -> Any:
    """A result as plain real numbers, or None if it is something else (an index, a mask, a word)."""
    data = out._data if isinstance(out, Value) else out
    if data.__class__ is float or (data.__class__ is np.ndarray and data.dtype.kind == "f"):
        return data
    if isinstance(data, np.floating):
        return data
    return None


@functools.lru_cache(maxsize=64)
def cotangents(seed: int, shapes: tuple[tuple[int, ...] | None, ...]) -> tuple[Any, ...]:
    """A weight for each entry of each result: between 0.5 and 1.5 in size, of either sign.

    All ones would be blind to softmax and layer norm, whose gradients for them are zero. The weights have few binary
    digits, so that every dtype holds them exactly.
    """
    rng = np.random.default_rng(seed)
    weights: list[Any] = []
    for shape in shapes:
        if shape is None:
            weights.append(None)
            continue
        u = np.asarray(np.round(rng.uniform(0.5, 1.5, shape) * 512) / 512 * rng.choice([-1.0, 1.0], shape))
        u.setflags(write=False)
        weights.append(u if shape else float(u))
    return tuple(weights)
