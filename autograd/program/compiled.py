"""compile: a function as a program that runs without building a graph."""

from __future__ import annotations

import functools
import sys
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from autograd.derivatives import check_function, hvp, jvp
from autograd.engine import Value
from autograd.errors import DataError, TraceError
from autograd.modes import modes
from autograd.tree import flatten, unflatten

from .backends import Runner, backend_name, backend_of
from .program import Program
from .source import source_of
from .tracing.exits import leaf
from .tracing.inputs import is_leaf, rebuild, take_apart
from .tracing.leaf_names import parameter_names, split_leaves
from .tracing.numbers import Number, unwrapped
from .tracing.trace import Origin, gradient_values, states_of
from .versions import MOST, Version

_CACHE_LIMIT = 64  # kinds of inputs, and programs for each of them


def compile(
    f: Callable[..., Any], backend: Any = None, *, gradients: bool | None = None, devices: Any = None,
    batch: Sequence[str] | None = None, wrt: int | Sequence[int] | None = None,
) -> Compiled:  # fmt: skip
    """f and its gradients as one program: `g(*inputs)` gives `(value, grads)`, one gradient an input.

    Inputs are numbers, arrays, modules, and lists, tuples and dicts of them; `grads` is a tuple that mirrors them.
    Integers in arrays (token ids, targets) are inputs too, with None for a gradient. The first call with new
    shapes traces f; later ones run the program. Python ints, bools and texts are fixed: another is traced again.

    backend    "numpy" (the default), or another of `backends.BACKENDS`; an array module such as jax.numpy works too
    gradients  False: g gives what f gives, and nothing is differentiated. The same holds for grad(f),
               value_and_grad(f), jacobian(f), and partials of jvp and hvp, which are derivatives themselves
    devices    with backend "jax": how many of JAX's devices, or a list of them, share the batch. Arrays of the batch
               are split along their first axis; all else is copied to each device
    batch      which of f's arguments are the batch, by name; if left out, all but the modules
    wrt        the places of the inputs that get a gradient; the others have None. If left out, all get one

    >>> import numpy as np
    >>> g = compile(lambda x, y: (x * y).sum())
    >>> g(np.array([1.0, 2.0]), 3.0)
    (9.0, (array([3., 3.]), 3.0))
    """
    check_function("compile", f, "compile(f)(x)")
    if gradients is None:
        derived = isinstance(f, functools.partial) and f.func in (jvp, hvp)
        gradients = not (derived or getattr(f, "is_derivative", False))
    return Compiled(f, backend, gradients, devices, batch, wrt)


def held_fixed(f: Callable[..., Any], wrt: set[int]) -> Callable[..., Any]:
    """f, through which gradients flow to the inputs at these places alone."""

    @functools.wraps(f)
    def of_those(*inputs: Any) -> Any:
        if beside := wrt - set(range(len(inputs))):
            raise TypeError(f"compile: wrt={max(beside)}, but the function was called with {len(inputs)} input(s)")
        return f(*[x if i in wrt else _detached(x) for i, x in enumerate(inputs)])

    return of_those


def _detached(x: Any) -> Any:
    leaves, structure = flatten(x)
    if any(hasattr(part, "named_parameters") for part in leaves):
        raise TypeError("compile: a module gets gradients for all parameters that train; freeze() it to spare them")
    return unflatten(structure, [part.detach() if hasattr(part, "detach") else part for part in leaves])


class Compiled:
    """A compiled function: call it, or read it (`source`, `program`, `notes`)."""

    def __init__(
        self, f: Callable[..., Any], backend: Any, gradients: bool, devices: Any = None,
        batch: Sequence[str] | None = None, wrt: int | Sequence[int] | None = None,
    ) -> None:  # fmt: skip
        self.made_of = f, backend, gradients, devices, batch, wrt
        self.gradients, self.devices, self.batch = gradients, devices, batch
        self.wrt = None if wrt is None else {wrt} if isinstance(wrt, int) else set(wrt)
        self.f = f if self.wrt is None else held_fixed(f, self.wrt)
        self.backend = backend_name("numpy" if backend is None else backend)
        module = backend_of(self.backend)
        self._builder, self._keeps = module.build, getattr(module, "keeps", None)
        if devices is None and batch is not None:
            raise TypeError("batch= says what is split over devices; say how many there are, devices=8")
        if devices is not None and self.backend != "jax":
            raise ValueError(f"devices= needs backend='jax', which knows of devices; got {self.backend!r}")
        self._kinds: dict[Any, list[Version]] = {}
        self._lock = threading.RLock()
        self._last: Version | None = None
        self._constants: dict[str, None] = {}
        functools.update_wrapper(self, f, updated=())

    def __reduce__(self) -> Any:
        """Pickled, it is compiled again where it is read; one that took its function's name is read by that name."""
        module, name = sys.modules.get(self.__module__), getattr(self, "__qualname__", "")
        return name if getattr(module, name, None) is self else (Compiled, self.made_of)

    def __call__(self, *inputs: Any, **keywords: Any) -> Any:
        """`(value, grads)` for these inputs; plain numbers and arrays that nobody else holds."""
        if keywords:
            name = next(iter(keywords))
            raise TypeError(
                f"a compiled function takes its inputs by their places, as its gradients have them; got {name}=. Write "
                f"g(x, {name}), or fix it before: compile(functools.partial(f, {name}=...))"
            )
        results = self._called(inputs) if modes.tracer is None else self._inside(inputs)
        if self.wrt is None or not self.gradients:
            return results
        return results[0], tuple(g if i in self.wrt else None for i, g in enumerate(results[1]))

    def _called(self, inputs: tuple[Any, ...]) -> Any:
        """A call that runs a program."""
        version = self._last
        given = None if version is None else version.quick_inputs(inputs)
        if version is None or given is None:
            version, leaves = self._version(inputs)
            given = version.fetched(leaves) if version.is_plain else None
        if version.is_plain:
            return version.nested(version.run(given))  # type: ignore[arg-type]
        return self._decided(version, inputs, given)

    def _decided(self, version: Version, inputs: Sequence[Any], given: list[Any] | None) -> Any:
        """A call of a function that decides by its inputs: the version whose decisions are those of this call."""
        leaves = None
        tried: list[Version] = []
        while True:
            before = states_of(version.origins)
            if given is None:
                leaves = take_apart(inputs)[0] if leaves is None else leaves
                given = version.fetched(leaves)
            found, decided = version.attempt(given)
            if found is not None:
                self._last = version
                return version.finish(found)
            for generator, state in before:
                generator.state = state
            tried.append(version)
            alike = (v for v in version.siblings if v not in tried and v.outcomes[: len(decided)] == decided)
            following, given = next((v for v in alike if v.fits()), None), None
            if following is not None:
                version = following
                continue
            leaves = take_apart(inputs)[0] if leaves is None else leaves
            with self._lock:
                self._last = version = self._added(version.siblings, inputs, leaves)
            return version.finish(version.run(version.fetched(leaves)))

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
            return source_of(entry.readable, traced, title, names, [0.0] * len(names))
        parameters = list(parameter_names(self.f, len(entry.args)))
        return source_of(entry.readable, entry.traced, title, parameters, entry.args)

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

    @property
    def constants(self) -> list[str]:
        """What the programs hold fixed from outside: numbers that reach an op, and what is not looked at again.

        >>> rate = 0.1
        >>> g = compile(lambda x: x * rate)
        >>> g(2.0), g.constants
        ((0.2, (0.1,)), ['rate = 0.1, ...'])
        """
        return list(self._constants)

    def _entry(self, inputs: Sequence[Any]) -> Version:
        if inputs:
            return self._version(inputs)[0]
        if self._last is None:
            raise DataError("there is no program yet: call the compiled function once, so that the shapes are known")
        return self._last

    def _version(self, inputs: Sequence[Any]) -> tuple[Version, list[Any]]:
        """A version for such inputs, and their leaves."""
        leaves, key = take_apart(inputs)
        with self._lock:
            versions = self._kinds.setdefault(key, [])
            version = next((v for v in reversed(versions) if v.fits()), None)
            self._last = version or self._added(versions, inputs, leaves)
            if len(self._kinds) > _CACHE_LIMIT:
                del self._kinds[next(iter(self._kinds))]
            return self._last, leaves

    def _versions(self) -> list[Version]:
        """All programs that there are."""
        return [version for versions in self._kinds.values() for version in versions]

    def _added(self, versions: list[Version], inputs: Sequence[Any], leaves: list[Any]) -> Version:
        """One more version for inputs of this kind: what lies outside is another, or a decision came out otherwise."""
        lines = Counter(line for v in versions if v.outcomes and v.fits() for line in set(v.lines))
        if sum(bool(v.outcomes and v.fits()) for v in versions) >= MOST:
            raise TraceError(
                f"{lines.most_common(1)[0][0]}\ndecides by the inputs in more than {MOST} ways, each of which needs a "
                "program of its own. Write where(condition, a, b) for a branch."
            )
        version = Version(self.f, inputs, leaves, self.gradients, self._build, self._keeps, versions)
        if self.devices is not None and not version.is_plain:
            raise TraceError("with devices= a function may not decide by its inputs, nor change numbers outside")
        self._constants |= dict.fromkeys(version.constants)
        versions.append(version)
        if len(versions) > _CACHE_LIMIT:
            versions.pop(0)
        return version

    def _inside(self, inputs: Sequence[Any]) -> Any:
        """A call inside of a function that is traced: the ops of f, and of its gradients, as part of that program."""
        sources: list[Any] = []

        def source(x: Any) -> Any:
            value = unwrapped(x)
            value = value if isinstance(value, Value) else leaf(value)
            real = value.dtype.kind == "f"
            sources.append(modes.tracer.new_leaf(value) if real and modes.tracer.follows(value) else value)
            return sources[-1] if real else Number(value)

        args = [rebuild(x, source, lambda module: sources.extend(module.parameters())) for x in inputs]
        returned = self.f(*args)
        flat, structure = flatten(returned)
        results = unflatten(structure, list(map(_as_number, flat)))  # no gradient flows through a compiled function
        if not self.gradients:
            return results
        real = [x for x in sources if x.dtype.kind == "f" and x.requires_grad]
        slopes = dict(zip(real, map(_as_number, gradient_values(unwrapped(returned), real))))
        rest = iter([slopes.get(x) for x in sources])

        def mirrored(x: Any) -> Any:
            if isinstance(x, dict):
                return {key: mirrored(part) for key, part in x.items()}
            if isinstance(x, (list, tuple)):
                parts = list(map(mirrored, x))
                return type(x)(*parts) if hasattr(x, "_fields") else type(x)(parts)
            if hasattr(x, "named_parameters"):
                return {path: next(rest) for path, _ in x.named_parameters()}
            return next(rest) if is_leaf(x) or isinstance(x, Number) else None

        return results, tuple(mirrored(x) for x in inputs)

    def _build(self, program: Program, origins: Sequence[Origin], args: Sequence[Any]) -> Runner:
        if self.devices is None:
            return self._builder(program)
        split = split_leaves(self.f, args, self.batch)
        return self._builder(program, self.devices, [o.kind == "given" and split[o.place] for o in origins])

    def __repr__(self) -> str:
        name = getattr(self.f, "__name__", type(self.f).__name__)
        return f"<compiled {name}, backend {self.backend!r}, {len(self._versions())} program(s)>"


def _as_number(x: Any) -> Any:
    """What a compiled function gives inside of a function that is traced."""
    value = unwrapped(x)
    return modes.tracer._number(value) if isinstance(value, Value) else x
