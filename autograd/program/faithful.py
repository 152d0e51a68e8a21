"""Whether a program stands for its function.

Tracing freezes what Python decided, what was read through `.data`, and what was drawn at random. Decisions are refused
while they are traced (`Tracer.read`). For the rest the function is called again with every input moved, one way and
the other: each call must record the same instructions and constants. And as a call is traced on Values where an
ordinary one has plain whole numbers, an ordinary call must give the results of the program, to the bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..errors import HandgradError, TraceError
from ..op import as_plain
from ..value import Value
from . import interpret
from .inputs import rebuild
from .program import Program, constant_key, settings_key
from .trace import Origin, Traced, trace


def check_faithful(f: Callable[..., Any], args: Sequence[Any], leaves: Sequence[Any]) -> tuple[Traced, list[Any]]:
    """Raise TraceError if a program cannot stand for f. Returns its forward pass, traced, and the arrays that it
    reaches from outside: what was the same object at each call, others may edit, so a program must read it again.
    """
    first = trace(f, args, leaves, gradients=False)
    widths = (1e-6, -1e-6) if not first.looked else (1e-6, -1e-6, 0.5, -0.5, 2.0, -2.0)
    others = [_traced_elsewhere(f, args, leaves, width, seed, bool(first.looked)) for seed, width in enumerate(widths)]
    for other in others:
        _check_same(f, first, other)
    _check_ordinary(f, args, leaves, first)
    constants = [other.program.constants for other in others]
    return first, [
        data for r, data in first.program.constants.items()
        if isinstance(data, np.ndarray) and all(other[r] is data for other in constants)
    ]  # fmt: skip


def _traced_elsewhere(
    f: Callable[..., Any], args: Sequence[Any], leaves: Sequence[Any], width: float, seed: int, parameters: bool
) -> Traced:
    """One more trace, at other numbers; if f is not defined there, with other real numbers only, or at the same."""
    only_real = [_moved(data, width, None) for data in leaves]
    for moved in ([_moved(data, width, seed) for data in leaves], only_real):
        with _parameters_at(args, moved if parameters else leaves):
            try:
                return trace(f, args, moved, gradients=False)
            except TraceError:
                raise
            except (HandgradError, ArithmeticError, ValueError, LookupError):
                pass
    return trace(f, args, leaves, gradients=False)


def _moved(data: Any, width: float, seed: int | None) -> Any:
    """Real numbers moved by about so much of their size; whole numbers in another order, or lowered by one."""
    array = np.asarray(data)
    if array.dtype.kind == "f":
        rng = np.random.default_rng(0 if seed is None else seed)
        sizes = np.where(np.isfinite(array), np.abs(array), 0.0)  # an infinity, or a NaN, stays where it is
        step = width * rng.uniform(0.5, 1.5, array.shape) * (sizes + (sizes.mean() if array.size else 0.0) + 1e-3)
        with np.errstate(over="ignore"):
            return as_plain(np.asarray(array + step.astype(array.dtype)))
    if seed is None or array.dtype.kind == "b":
        return data
    if seed % 2:
        return np.flip(array).copy()
    return np.where(array > 0, array - 1, array).astype(array.dtype)


@contextmanager
def _parameters_at(args: Sequence[Any], leaves: Sequence[Any]) -> Iterator[None]:
    """While inside, the parameters of the modules among the arguments hold these data."""
    held: list[tuple[Value, Any]] = []
    rest = iter(leaves)

    def module(x: Any) -> None:
        for _, p in x.named_parameters():
            held.append((p, p._data))
            p._data = next(rest)

    try:
        rebuild(list(args), lambda x: next(rest), module)
        yield
    finally:
        for p, data in reversed(held):
            p._data = data


def _check_same(f: Callable[..., Any], first: Traced, other: Traced) -> None:
    """Raise with the first difference between two traces of one function."""
    difference = difference_of(first.program, other.program)
    if difference is None and [o.kind for o in first.origins] == [o.kind for o in other.origins]:
        return
    looked = f" It reads numbers here: {first.looked[0]}" if first.looked else ""
    raise TraceError(
        f"{getattr(f, '__name__', f)} does not do the same at each call: {difference or 'it draws other numbers'}. A "
        f"compiled program would repeat what this call did.{looked} Give what changes as an input; draw random numbers "
        "with nn.Dropout or nn.functional.dropout, or give them as an input too."
    )


def difference_of(first: Program, other: Program) -> str | None:
    """What two programs do differently, in words; None if they are the same."""
    for i, j in zip(first.code, other.code):
        if settings_key(i.op) != settings_key(j.op):
            return f"once it computes {i.op!r}, once {j.op!r}"
        if i.inputs != j.inputs:
            return f"{i.op.name} is given something else"
    if len(first.code) != len(other.code):
        return f"once it computes {len(first.code)} ops, once {len(other.code)}"
    for r, data in first.constants.items():
        if r not in other.constants or constant_key(data) != constant_key(other.constants[r]):
            user = next((i.op.name for i in first.code if r in i.inputs), "the result")
            shown = f"{_shown(data)}, {_shown(other.constants.get(r))}"
            return f"a number or array that goes into {user} is another one ({shown})"
    if first.outputs != other.outputs or first.inputs != other.inputs or first.types != other.types:
        return "its results or inputs differ"
    return None


def _shown(data: Any) -> str:
    return f"shape {data.shape}" if isinstance(data, np.ndarray) and data.ndim else f"{data!r:.30}"


def _check_ordinary(f: Callable[..., Any], args: Sequence[Any], leaves: Sequence[Any], first: Traced) -> None:
    """An ordinary call, in which whole numbers are plain arrays, must give what the program gives."""
    if all(np.asarray(data).dtype.kind == "f" for data in leaves):
        return
    ordinary = trace(f, args, leaves, gradients=False, whole=False)
    want = interpret.run(ordinary.program, fetched_aside(ordinary.origins, leaves))
    got = interpret.run(first.program, fetched_aside(first.origins, leaves))
    if list(map(constant_key, map(np.asarray, want))) != list(map(constant_key, map(np.asarray, got))):
        raise TraceError(
            f"{getattr(f, '__name__', f)} gives another result when its whole numbers are traced: `==` between them "
            "compares identities then. Write equal(a, b), or give them as Python ints: each one is traced anew."
        )


def fetched_aside(origins: Sequence[Origin], leaves: Sequence[Any]) -> list[Any]:
    """The data of all inputs for one call; generators that were drawn from are set back."""
    states = [(origin.held, origin.held.bit_generator.state) for origin in origins if origin.kind == "drawn"]
    try:
        return [origin.fetch(leaves) for origin in origins]
    finally:
        for generator, state in reversed(states):
            generator.bit_generator.state = state
