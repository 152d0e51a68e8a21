"""What is being checked: a function, the inputs that are varied, and one recorded run of it."""

from __future__ import annotations

import functools
import inspect
import itertools
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from autograd.arrays.plain import as_plain, copy_array
from autograd.derivatives import Trace, note_lists
from autograd.digits import NoDigits
from autograd.engine import Value, walk
from autograd.errors import DataError
from autograd.gradients import refuse_stale, run_leaf_hooks
from autograd.graph import made_from
from autograd.modes import enable_grad, modes
from autograd.program.replay import Replay
from autograd.tree import LEAF, flatten, paths, unflatten

Array = np.ndarray[Any, Any]
T = TypeVar("T")


def gives_back(inputs: Sequence[Any]) -> Callable[[], Any]:
    """A function that gives the Values among the inputs back the data that they have now; call it in a `finally`."""
    before = [(x, x._data) for x in flatten(list(inputs))[0] if isinstance(x, Value)]

    def give_back() -> None:
        for x, data in before:
            x._data = data

    return give_back


class Subject(Trace):
    """A function of some inputs, run once and recorded; it can be run again on other numbers.

    Real numbers and arrays are varied, on copies. A leaf Value is varied itself (so that a function may also reach it
    from outside, as a module reaches its parameters); `gives_back` gives it its own data back. Integers are varied
    where nothing is real; else they stay fixed, as booleans, strings and None do. Arrays being varied are read-only
    during the check.
    """

    def __init__(self, f: Callable[..., Any], args: Sequence[Any]) -> None:
        self.f = f
        self.taped = self.nested = False
        self.tracer = None
        self.last_arrived: dict[Value, Any] = {}
        self.notes: list[str] = []
        self.sources: list[Value] = []
        self.names: list[str] = []
        self.structure: Any = None  # where no input is nested
        self.seconds = 0.0  # of one call, where calls are needed
        self.raised: Exception | None = None  # what the function last raised at other numbers
        self._held: list[Any] = []  # the data of the sources
        self.given = {x for x in flatten(list(args))[0] if isinstance(x, Value)}  # Values of the caller's
        self._take(args)
        self._record()

    def _take(self, args: Sequence[Any]) -> None:
        """Normalize every input."""
        given = args
        names = names_of_inputs(self.f, len(args))
        if any(issubclass(kind, (list, tuple, dict)) for kind in set(map(type, args))):
            given, self.structure = flatten(list(args))
            names = [name + path for name, part in zip(names, self.structure) for path in paths(part)]
        self.integers_too = not any(map(_is_real, given))
        self.leaves = [self._normalize(name, x) for name, x in zip(names, given)]
        self._notice_shared_memory(given)
        if not self.sources:
            raise DataError(
                "there is nothing to check: no input is a number, an array of numbers or a leaf Value that requires a "
                "gradient"
            )
        self.structures = [(LEAF, 1)] * len(self.sources)
        self._held = [source._data for source in self.sources]

    def _record(self) -> None:
        self.outs, self.out_structure = self.call()
        for name, source, data in zip(self.names, self.sources, self._held):
            if source._data is not data:
                raise self._edited(name)
        self.results = [real_array(out) for out in self.outs]
        if not any(result is not None for result in self.results):
            raise DataError(f"{self.title} returned nothing real: {unflatten(self.out_structure, self.outs)!r:.80}")
        self.replay: Any = Replay(self.sources, self.real(self.outs))

    def _edited(self, what: str = "an input") -> DataError:
        return DataError(
            f"{self.title} edits {what} in place, so that no two calls see the same numbers. Write a new array, "
            "x = x - step, in place of x -= step or out=x."
        )

    def __enter__(self) -> Subject:
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if is_about_writing(error):  # a rule that edits what it is given
            raise self._edited() from error

    # --- inputs ---------------------------------------------------------------------------------------------

    def _normalize(self, name: str, x: Any) -> Any:
        """What the function is given in place of x."""
        if is_float_array(x):
            source = Value(x)
            if x.ndim:
                source._data.setflags(write=False)  # a copy: nothing else refers to it
            return self._vary(source, name)
        if isinstance(x, (float, np.floating)):
            return self._vary(Value(x), name)
        if self.integers_too and _is_integer(x):
            source = Value(np.asarray(x, dtype=np.float64))
            if isinstance(source._data, np.ndarray):
                source._data.setflags(write=False)
            return self._vary(source, name)
        if isinstance(x, Value):
            if not x.requires_grad or x.dtype.kind != "f":
                return x
            if x.op is not None:
                self.notes.append(f"{name} was computed by {x.op.name}; it is varied as if it were given")
                return self._vary(Value(x._data, name=x.name), name)
            if (place := next((i for i, source in enumerate(self.sources) if source is x), None)) is not None:
                other = self.names[place]
                self.notes.append(f"{name} is the same Value as {other}: both vary together")
                return x
            if isinstance(x._data, np.ndarray) and x._data.flags.writeable:
                x._data = x._data.view()  # undone after the check: `gives_back`
                x._data.setflags(write=False)
            return self._vary(x, name)
        if _is_integer(x) and not isinstance(x, np.ndarray):
            self.notes.append(f"{name} is the integer {x}; it stays fixed. Write {float(x)} to vary it")
        elif _is_integer(x):
            self.notes.append(f"{name} holds integers; it stays fixed. Write {name}.astype(float) to vary it")
        elif not isinstance(x, np.ndarray | bool | str | None):
            raise DataError(f"{name} is a {type(x).__name__}; give numbers, arrays or Values: {x!r:.60}")
        return x

    def _vary(self, source: Value, name: str) -> Value:
        """Known by its own name, else by the function's for it."""
        self.sources.append(source)
        self.names.append(source.name or name)
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
        try:
            if modes.recording:
                return flatten(self._run(self.f, args, {}))
            with enable_grad():
                return flatten(self._run(self.f, args, {}))
        except ValueError as error:
            if is_about_writing(error):
                raise self._edited() from error
            raise

    @staticmethod
    def real(outs: Sequence[Any]) -> list[Any]:
        """The results that are real numbers, and None in place of the others (an index, a mask, a word)."""
        return [None if real_array(out) is None else out for out in outs]

    def at(self, data: Iterable[Array], ask: Callable[[], T]) -> T | None:
        """What `ask` says while the sources have other data; then they have their own again, the same objects.

        None if the function raises there.
        """
        before = [source._data for source in self.sources]
        try:
            for source, new in zip(self.sources, data):
                source._data = new if new.ndim else as_plain(new)
            return ask()
        except Exception as error:  # a step outside of where the function is defined
            self.raised = error
            return None
        finally:
            for source, old in zip(self.sources, before):
                source._data = old

    def call_again(self) -> list[Any]:
        """The results of one more call, as plain arrays."""
        return [real_array(out) for out in self.call()[0]]

    def on_digits(self, parts: list[Any]) -> list[Any]:
        """The real results of one call on Digits; NoDigits where the function reaches what is varied on its own."""
        if any(isinstance(leaf, Value) and leaf in self.given for leaf in self.leaves):
            raise NoDigits("it may reach its inputs on its own")
        known = dict(zip(self.sources, parts))
        returned = self.f(*self.arguments([known.get(x, x) if isinstance(x, Value) else x for x in self.leaves]))
        flat = flatten(returned)[0]
        return [out if result is not None else None for out, result in zip(flat, self.results, strict=True)]

    # --- the engine's answers -------------------------------------------------------------------------------

    def gradients(self, cotangents: Sequence[Any]) -> list[Any]:
        """The engine's gradient of `Σ cotangent · result` for each source, by reverse mode; None: no path."""
        return self._gradients(self.outs, self.replay.nodes, cotangents)

    def arrived(self, cotangents: Sequence[Any]) -> list[Any]:
        """The gradient that arrives at each recorded node, the oldest first."""
        self.gradients(cotangents)
        return [self.last_arrived.get(node) for node in self.replay.nodes]

    def jittered(self, cotangents: Sequence[Any], rng: np.random.Generator) -> list[Any] | None:
        """The gradients of one more run that moves every number it computes by its last digit."""
        nodes = self.replay.nodes
        before = [node._data for node in nodes]
        try:
            for node in nodes:
                inputs = [x._data if isinstance(x, Value) else x for x in node.inputs]
                data = node.op.compute(*inputs)
                picks = any(np.isin(data, x).all() for x in inputs if real_array(x) is not None)
                if node.dtype.kind == "f" and not picks:  # what picks a number does not round it
                    data = off_by_a_digit(data, node.dtype, rng)
                node._data = as_plain(np.asarray(data, node.dtype))
            return self.gradients([u if u is None else off_by_a_digit(u, np.float64, rng) for u in cotangents])
        finally:
            for node, data in zip(nodes, before):
                node._data = data

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
        self.last_arrived = dict(zip(order, walk(order, grads)))
        run_leaf_hooks(grads)
        return list(map(grads.get, self.sources))

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


class PlainSubject(Subject):
    """A function of plain numbers and arrays, called as it is: NumPy, Python, torch or JAX; nothing is recorded.

    It gets copies, which it may edit. If it cannot take arrays it gets tensors of torch, and if these neither, Values.
    """

    carrier: Callable[[Any], Any] | None = None
    tensors = False  # whether the inputs were given as tensors of torch

    def __init__(self, f: Callable[..., Any], args: Sequence[Any]) -> None:
        self.complaints: dict[str, None] = {}  # about the shapes of gradients, each once
        self.unusable: set[int] = set()  # inputs whose gradient cannot be compared
        super().__init__(f, args)

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def _take(self, args: Sequence[Any]) -> None:
        given, structure = flatten(list(args))
        torch = sys.modules.get("torch")
        self.tensors = torch is not None and any(isinstance(x, torch.Tensor) for x in given)
        super()._take(unflatten(structure, [x if isinstance(x, Value) else plain_result(x) for x in given]))

    def carriers(self) -> list[Callable[[Any], Any]]:
        """The forms in which the function may expect its inputs, the likeliest first."""
        return list(carriers())[self.tensors :]

    def jittered(self, cotangents: Sequence[Any], rng: np.random.Generator) -> list[Any] | None:
        return None  # nothing was recorded

    def gradients_again(self, cotangents: Sequence[Any]) -> list[Any] | None:
        return self.gradients(cotangents)

    def _record(self) -> None:
        ways, arguments = (*self.carriers(), as_value), self.arguments(self.plain_leaves())
        self.carrier, (self.outs, self.out_structure) = first_that_works(
            lambda carrier: flatten(self._called(carrier)), ways, arguments
        )
        self.outs = [plain_result(out) for out in self.outs]
        self.results = [real_array(out) for out in self.outs]
        if not any(result is not None for result in self.results):
            raise DataError(f"{self.title} returned nothing real: {unflatten(self.out_structure, self.outs)!r:.80}")
        self.replay = None

    def plain_leaves(self) -> list[Any]:
        return [copy_array(x._data) if isinstance(x, Value) else x for x in self.leaves]

    def _called(self, carrier: Callable[[Any], Any]) -> Any:
        return self.f(*self.arguments([carrier(x) for x in self.plain_leaves()]))

    def call(self) -> tuple[list[Any], Any]:
        assert self.carrier is not None
        outs, structure = flatten(self._called(self.carrier))
        return [plain_result(out) for out in outs], structure


def first_that_works(call: Callable[[Any], T], ways: Iterable[Any], args: list[Any]) -> tuple[Any, T]:
    """The first of some carriers that a function can take, and what it then returned; else the first error."""
    errors: list[Exception] = []
    for way in ways:
        try:
            return way, call(way)
        except Exception as error:  # what a function says of a carrier that is not its own is not for us to guess
            errors.append(error)
    first, *others = errors
    note_lists(first, args)
    for said in dict.fromkeys(f"{type(error).__name__}: {error}" for error in others[:-1]):
        first.add_note(f"Given tensors of torch in place of arrays, it raised {said}")
    raise first


def carriers() -> Iterator[Callable[[Any], Any]]:
    """The forms in which a plain function may expect its inputs, the likeliest first."""
    yield lambda x: x
    if (torch := sys.modules.get("torch")) is not None:

        def tensor(x: Any) -> Any:
            return torch.tensor(np.asarray(x)) if _is_real(x) or isinstance(x, np.ndarray) else x

        yield tensor  # for torch.func.grad, or a formula that calls requires_grad_() itself
        yield lambda x: tensor(x).requires_grad_() if _is_real(x) else tensor(x)  # for torch.autograd.grad


def as_value(x: Any) -> Any:
    """For a function that is written for Values."""
    return Value(x) if _is_real(x) else x


def plain_result(out: Any) -> Any:
    """A tensor of torch, an array of JAX or a Value as plain data."""
    if isinstance(out, Value):
        return out._data
    if (torch := sys.modules.get("torch")) is not None and isinstance(out, torch.Tensor):
        out = out.numpy(force=True)
    elif not isinstance(out, np.ndarray | np.generic) and hasattr(out, "__array__"):
        out = np.asarray(out)
    return as_plain(out) if isinstance(out, np.ndarray) and out.dtype.kind == "f" and not out.ndim else out


def _is_integer(x: Any) -> bool:
    if isinstance(x, np.ndarray):
        return x.dtype.kind in "iu"
    return isinstance(x, int | np.integer) and not isinstance(x, bool)


def _is_real(x: Any) -> bool:
    if isinstance(x, Value):
        return x.requires_grad
    return isinstance(x, float | np.floating) or is_float_array(x)


def is_float_array(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.dtype.kind == "f"


def off_by_a_digit(data: Any, dtype: Any, rng: np.random.Generator, unit: float = 0.0) -> Array:
    """Numbers moved by their last digit, up or down at random."""
    unit = unit or float(np.finfo(dtype).eps)
    return np.asarray(data * (1.0 + unit * rng.choice([-1.0, 1.0], np.shape(data))), dtype)


def is_about_writing(error: BaseException | None) -> bool:
    """Whether it was raised by writing into a locked array."""
    return isinstance(error, ValueError) and "read-only" in str(error)  # the words of NumPy


def names_of_inputs(f: Callable[..., Any], count: int) -> list[str]:
    """The names that a function has for its inputs; else their positions."""
    code = getattr(f, "__code__", None)
    own = () if code is None else code.co_varnames[inspect.ismethod(f) : code.co_argcount]
    names = getattr(f, "names", own)
    if not isinstance(names, list | tuple):
        names = ()
    return [*names[:count], *(f"input {i}" for i in range(len(names), count))]


def real_array(out: Any) -> Any:
    """A result as plain real numbers, or None if it is something else (an index, a mask, a word)."""
    data = out._data if isinstance(out, Value) else out
    if data.__class__ is float or (data.__class__ is np.ndarray and data.dtype.kind == "f"):
        return data
    if isinstance(data, np.floating):
        return data
    return None


def cotangents(seed: int, shapes: tuple[tuple[int, ...] | None, ...]) -> tuple[Any, ...]:
    """A weight for each entry of each result: between 0.5 and 1.5 in size, of either sign.

    All ones would be blind to softmax and layer norm, whose gradients for them are zero. The weights have few binary
    digits, so that every dtype holds them exactly.
    """
    few = sum([math.prod(shape) for shape in shapes if shape is not None]) <= 4096
    return _few_cotangents(seed, shapes) if few else _cotangents(seed, shapes)


def _cotangents(seed: int, shapes: tuple[tuple[int, ...] | None, ...]) -> tuple[Any, ...]:
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


_few_cotangents = functools.lru_cache(maxsize=64)(_cotangents)  # drawing them takes as long as a small check
