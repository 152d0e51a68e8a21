"""compile: a function as a program that runs without building a graph."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..derivatives import check_function, hvp, jvp
from ..errors import DataError
from ..plain import as_plain
from ..tree import unflatten
from .backends import Runner, backend_name, builder_of
from .closures import Outside
from .faithful import check_faithful, fetched_aside
from .inputs import Names, mirrored, quick_inputs, rebuild, take_apart
from .leaf_names import kinds_of_leaves, parameter_names, split_leaves
from .passes import drop_dead, fold, optimised
from .program import Program, renumbered
from .reroll import Rolled, reroll
from .source import source_of
from .trace import Origin, Traced, trace

_CACHE_LIMIT = 64  # programs kept per function
_LINES_LIMIT = 5000  # ops, up to which source lines are recorded, for the names in them


def compile(
    f: Callable[..., Any], backend: Any = None, *, gradients: bool | None = None, devices: Any = None,
    batch: Sequence[str] | None = None,
) -> Compiled:  # fmt: skip
    """f and its gradients as one program: `g(*inputs)` gives `(value, grads)`, one gradient an input.

    Inputs are numbers, arrays, modules, and lists, tuples and dicts of them; `grads` is a tuple that mirrors them.
    Whole numbers in arrays (token ids, targets) are inputs too, with None for a gradient. The first call with new
    shapes traces f; later ones run the program. Python ints, bools and texts are fixed: another is traced anew.

    backend    "numpy" (the default), or another of `backends.BACKENDS`; an array module such as jax.numpy works too
    gradients  False: g gives what f gives, and nothing is differentiated. So it is for grad(f), value_and_grad(f),
               jacobian(f), and partials of jvp and hvp, which are derivatives themselves
    devices    with backend "jax": how many of JAX's devices, or a list of them, share the batch. Arrays of the batch
               are split along their first axis; all else is copied to each device
    batch      which of f's arguments are the batch, by name; if left out, all but the modules

    >>> g = compile(lambda x, y: (x * y).sum())
    >>> g(np.array([1.0, 2.0]), 3.0)
    (9.0, (array([3., 3.]), 3.0))
    """
    check_function("compile", f, "compile(f)(x)")
    if gradients is None:
        derived = isinstance(f, functools.partial) and f.func in (jvp, hvp)
        gradients = not (derived or getattr(f, "is_derivative", False))
    return Compiled(f, backend, gradients, devices, batch)


class Compiled:
    """A compiled function: call it, or read it (`source`, `program`, `notes`)."""

    def __init__(
        self, f: Callable[..., Any], backend: Any, gradients: bool, devices: Any = None,
        batch: Sequence[str] | None = None,
    ) -> None:  # fmt: skip
        self.f, self.gradients, self.devices, self.batch = f, gradients, devices, batch
        self.backend = backend_name("numpy" if backend is None else backend)
        self._builder = builder_of(self.backend)
        if devices is None and batch is not None:
            raise TypeError("batch= says what is split over devices; say how many there are, devices=8")
        if devices is not None and self.backend != "jax":
            raise ValueError(f"devices= needs backend='jax', which knows of devices; got {self.backend!r}")
        self.outside = Outside(f)
        self._entries: dict[Any, _Entry] = {}
        self._lock = threading.Lock()
        self._last: _Entry | None = None
        functools.update_wrapper(self, f, updated=())

    def __call__(self, *inputs: Any, **keywords: Any) -> Any:
        """`(value, grads)` for these inputs; plain numbers and arrays that nobody else holds."""
        if keywords:
            name = next(iter(keywords))
            raise TypeError(
                f"a compiled function takes its inputs by their places, as its gradients have them; got {name}=. Write "
                f"g(x, {name}), or fix it before: compile(functools.partial(f, {name}=...))"
            )
        entry = self._last
        given = None if entry is None else entry.quick_inputs(inputs)
        if entry is None or given is None:
            leaves, key = self._take_apart(inputs)
            self._last = entry = self._entries.get(key) or self._traced(inputs, leaves, key)
            given = [origin.fetch(leaves) for origin in entry.origins]
        return entry.nested(entry.run(given))

    def program(self, *inputs: Any) -> Program:
        """The program for such inputs, after all passes; for those of the last call, if none are given."""
        return self._entry(inputs).program

    @property
    def source(self) -> str:
        """The program of the last call as Python that needs NumPy alone: one line an op.

        Where scalar code became array ops, its parameters are the vectors that the scalars became.
        """
        entry = self._entry(())
        title = getattr(self.f, "__name__", type(self.f).__name__).replace("<lambda>", "program")
        if entry.rolled is not None:
            names = [f"x{n}" for n in range(len(entry.rolled.packs))]
            given = [Origin("given", n) for n in range(len(names))]
            traced = replace(entry.traced, origins=[*given, *entry.traced.origins[len(given) :]])
            return source_of(entry.program, traced, title, names, [0.0] * len(names))
        parameters = list(parameter_names(self.f, len(entry.args)))
        return source_of(entry.program, entry.traced, title, parameters, entry.args)

    @property
    def notes(self) -> list[str]:
        """What was done with the function of the last call: how long it took, how many instructions it has, what
        became of scalar code, what is read from outside or drawn at each call. One line each.

        >>> g = compile(lambda xs: sum((x * x).tanh() for x in xs))
        >>> value, grads = g([0.001 * n for n in range(200)])
        >>> print(g.notes[1])
        600 scalars as 3 arrays; 0 reads by index, others by views
        """
        return self._entry(()).notes()

    def _entry(self, inputs: Sequence[Any]) -> _Entry:
        if inputs:
            leaves, key = self._take_apart(inputs)
            return self._entries.get(key) or self._traced(inputs, leaves, key)
        if self._last is None:
            raise DataError("there is no program yet: call the compiled function once, so that the shapes are known")
        return self._last

    def _take_apart(self, inputs: Sequence[Any]) -> tuple[list[Any], Any]:
        leaves, key = take_apart(inputs)
        return leaves, (key, self.outside.key())

    def _build(self, program: Program, origins: Sequence[Origin], args: Sequence[Any]) -> Runner:
        if self.devices is None:
            return self._builder(program)
        split = split_leaves(self.f, args, self.batch)
        return self._builder(program, self.devices, [o.kind == "given" and split[o.place] for o in origins])

    def _traced(self, inputs: Sequence[Any], leaves: list[Any], key: Any) -> _Entry:
        with self._lock:
            if key not in self._entries:
                if len(self._entries) >= _CACHE_LIMIT:
                    self._entries.pop(next(iter(self._entries)))
                entry = _Entry(self, inputs, leaves)
                key = (key[0], self.outside.key())  # f may have put something into a dict that it reads
                self._entries[key] = entry
            return self._entries[key]

    def __repr__(self) -> str:
        name = getattr(self.f, "__name__", type(self.f).__name__)
        return f"<compiled {name}, backend {self.backend!r}, {len(self._entries)} program(s)>"


class _Entry:
    """One program of a compiled function, for inputs of one structure."""

    def __init__(self, owner: Compiled, args: Sequence[Any], leaves: list[Any]) -> None:
        begin = time.perf_counter()
        self._trace(owner, args, leaves)
        self.seconds = time.perf_counter() - begin

    def _trace(self, owner: Compiled, args: Sequence[Any], leaves: list[Any]) -> None:
        first, outside = check_faithful(owner.f, args, leaves)
        owner.outside.reads_again(outside)
        forward = fold(drop_dead(with_outside(first, outside).program))
        self.rolled, self.roll_note = reroll(forward, kinds_of_leaves(args))
        self.gradients = owner.gradients
        self.args = rebuild(list(args), lambda x: 0.0, lambda module: None)  # the nest alone, without its arrays
        if self.rolled is None:
            lines = len(first.program) <= _LINES_LIMIT
            self.traced = with_outside(trace(owner.f, args, leaves, owner.gradients, lines=lines), outside)
            self.places = self._places(self.traced.differentiated)
        else:
            self.traced = self._roll(with_outside(first, outside), self.rolled, leaves)
        self.program = optimised(self.traced.program, fetched_aside(self.traced.origins, leaves))
        self.run: Runner = owner._build(self.program, self.traced.origins, args)
        self.origins = self.traced.origins
        self.quick_inputs = quick_inputs(args, owner.outside.lines, self.origins, getattr(self.run, "reader", None))
        self.nested = self._nest(args)

    def notes(self) -> list[str]:
        """What became of the function."""
        kinds = [origin.kind for origin in self.origins]
        said = [f"traced and made ready in {self.seconds:.2g} s: {len(self.program):,} instructions"]
        if self.roll_note:
            said.append(self.roll_note)
        for kind, what in (("captured", "read from outside"), ("drawn", "drawn at random")):
            if kind in kinds:
                said.append(f"{kinds.count(kind):,} arrays or numbers are {what}, anew at each call")
        return said

    def _places(self, differentiated: Sequence[bool]) -> list[str]:
        """For each leaf, the text of its gradient among the results r, of which the first is the value."""
        places = iter(range(1, len(differentiated) + 1))
        return [self._result(next(places)) if wanted else "None" for wanted in differentiated]

    def _result(self, n: int) -> str:
        """The text of result n: an array as it is, a number as the engine keeps it."""
        program = self.traced.program
        return f"r[{n}]" if program.types[program.outputs[n]][0] else f"plain(r[{n}])"

    def _roll(self, first: Traced, rolled: Rolled, leaves: list[Any]) -> Traced:
        """Trace the function of vectors that scalar code became, and find each scalar's gradient in theirs."""
        data = fetched_aside(first.origins, leaves)
        alone = [np.ndim(data[pack[0]]) > 0 for pack in rolled.packs]  # an array, and not scalars packed together
        vectors = [data[p[0]] if a else np.array([data[n] for n in p]) for p, a in zip(rolled.packs, alone)]
        traced = trace(lambda *xs: unflatten(first.structure, rolled.call(*xs)), vectors, vectors, self.gradients)
        self.places = ["None"] * len(leaves)
        for k, pack in enumerate(rolled.packs):
            own = [first.origins[n] for n in pack]
            traced.origins[k] = own[0] if alone[k] else Origin("packed", held=own)
            for j, origin in enumerate(own):
                if origin.kind == "given" and self.gradients:
                    self.places[origin.place] = f"r[{k + 1}]" if alone[k] else f"l{k}[{j}]"
        return traced

    def _nest(self, args: Sequence[Any]) -> Callable[[list[Any]], Any]:
        """A function from flat results to what the caller gets."""
        names = Names()
        names.known["plain"] = _plain
        values = len(self.program.outputs) - (sum(self.traced.differentiated) if self.gradients else 0)
        texts = iter([self._result(n) for n in range(values)])
        returned = mirrored(unflatten(self.traced.structure, [0.0] * values), texts, names)
        if not self.gradients:
            return eval(f"lambda r: {returned}", names.known)
        returned = f"({returned}, {mirrored(tuple(args), iter(self.places), names)})"
        lists = {f"l{k}": f"r[{k + 1}].tolist()" for k, o in enumerate(self.origins) if o.kind == "packed"}
        inner = f"lambda r, {', '.join(lists)}: {returned}" if lists else f"lambda r: {returned}"
        return eval(f"lambda r: ({inner})(r, {', '.join(lists.values())})" if lists else inner, names.known)


def _plain(x: Any) -> Any:
    return x if x.__class__ is float or (x.__class__ is np.ndarray and x.ndim) else as_plain(x)


def with_outside(traced: Traced, arrays: Sequence[Any]) -> Traced:
    """The same, with those constants that are arrays from outside as inputs, read again at each call."""
    program = traced.program
    wanted = {id(array) for array in arrays}
    found = [r for r, data in program.constants.items() if id(data) in wanted]
    if not found:
        return traced
    origins = [*traced.origins, *(Origin("captured", held=program.constants[r]) for r in found)]
    constants = {r: data for r, data in program.constants.items() if id(data) not in wanted}
    moved = renumbered(
        [*program.inputs, *found], constants, program.code, program.outputs, program.types, program.names,
        program.slopes,
    )  # fmt: skip
    return Traced(moved, origins, traced.structure, traced.differentiated, traced.looked)
