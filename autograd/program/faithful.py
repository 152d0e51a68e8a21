"""Whether a program stands for its function.

Tracing freezes what Python decided, what was read through `.data`, and what was drawn at random. Decisions are refused
while they are traced (`Tracer.read`). For the rest the function is called again with every input moved, one way and
the other: each call must record the same instructions and constants. And as a call is traced on Values where an
ordinary one has plain whole numbers, an ordinary call must give the results of the program, to the bit.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..engine import Value
from ..errors import HandgradError, TraceError
from ..plain import as_plain, copy_array
from .inputs import rebuild
from .record import difference_of, same
from .trace import Call, Origin, Traced, call


def check_faithful(f: Callable[..., Any], args: Sequence[Any], leaves: Sequence[Any]) -> tuple[Traced, list[Any]]:
    """Raise TraceError if a program cannot stand for f. Returns its forward pass, traced, and the arrays that it
    reaches from outside: what was the same object at each call, others may edit, so a program must read it again.
    """
    first = call(f, args, leaves)
    recorded, looked, structure = first.recorded, first.tracer.looked, first.structure
    traced, given = first.traced(gradients=False), _plain(first)
    constants = {r: copy_array(data) for r, data in recorded.constants.items()}
    outside = {r: data for r, data in recorded.constants.items() if isinstance(data, np.ndarray)}
    recorded.forget()
    del first  # and its graph: a large one should be there once, not twice
    widths = (1e-6, -1e-6) if not looked else (1e-6, -1e-6, 0.5, -0.5, 2.0, -2.0)
    for seed, width in enumerate(widths):
        other = _called_elsewhere(f, args, leaves, width, seed, bool(looked))
        again = other.compared
        difference = difference_of(recorded, again, constants)
        if difference is None and [*map(id, recorded.captured)] != [*map(id, again.captured)]:
            difference = "it uses other Values from outside"
        if difference is None and structure != other.structure:
            difference = "its results are nested in another way"
        if difference is not None:
            raise _refusal(f, difference, looked)
        outside = {r: data for r, data in outside.items() if again.constants[r] is data}
        del other, again
    _check_ordinary(f, args, leaves, given)
    return traced, list(outside.values())


def _called_elsewhere(
    f: Callable[..., Any], args: Sequence[Any], leaves: Sequence[Any], width: float, seed: int, parameters: bool
) -> Call:
    """One more call, at other numbers; if f is not defined there, with other real numbers only, or at the same."""
    only_real = [_moved(data, width, None) for data in leaves]
    for moved in ([_moved(data, width, seed) for data in leaves], only_real):
        before = [(parameter, parameter._data) for parameter in _parameters(args)]
        try:
            _put(args, moved if parameters else leaves)
            return call(f, args, moved)
        except TraceError:
            raise
        except (HandgradError, ArithmeticError, ValueError, LookupError):
            pass
        finally:
            for parameter, data in before:
                parameter._data = data
    return call(f, args, leaves)


def _moved(data: Any, width: float, seed: int | None) -> Any:
    """Real numbers moved by about so much of their size; whole numbers in another order, or lowered by one."""
    if data.__class__ is float:  # of which scalar code has thousands: the same, without an array
        size = abs(data) if math.isfinite(data) else 0.0
        return data + width * _first_draw(seed or 0) * (2.0 * size + 1e-3)
    array = np.asarray(data)
    if array.dtype.kind == "f":
        rng = np.random.default_rng(0 if seed is None else seed)
        sizes = np.where(np.isfinite(array), np.abs(array), 0.0)  # an infinity, or a NaN, stays where it is
        step = width * rng.uniform(0.5, 1.5, array.shape) * (sizes + (sizes.mean() if array.size else 0.0) + 1e-3)
        return as_plain(np.asarray(_added(array, step.astype(array.dtype))))
    if seed is None or array.dtype.kind == "b":
        return data
    if seed % 2:
        return np.flip(array).copy()
    return np.where(array > 0, array - 1, array).astype(array.dtype)


_added = np.errstate(over="ignore")(np.add)


@functools.cache
def _first_draw(seed: int) -> float:
    return float(np.random.default_rng(seed).uniform(0.5, 1.5))


def _parameters(args: Sequence[Any]) -> list[Value]:
    """The parameters of the modules among the arguments."""
    found: list[Value] = []
    rebuild(list(args), lambda x: x, lambda module: found.extend(p for _, p in module.named_parameters()))
    return found


def _put(args: Sequence[Any], leaves: Sequence[Any]) -> None:
    """Give the parameters of the modules among the arguments these data."""
    rest = iter(leaves)

    def module(x: Any) -> None:
        for _, p in x.named_parameters():
            p._data = next(rest)

    rebuild(list(args), lambda x: next(rest), module)


def _refusal(f: Callable[..., Any], difference: str, looked: Sequence[str]) -> TraceError:
    reads = f" It reads numbers here: {looked[0]}" if looked else ""
    return TraceError(
        f"{getattr(f, '__name__', f)} does not do the same at each call: {difference}. A compiled program would repeat "
        f"what this call did.{reads} Give what changes as an input; draw random numbers with nn.Dropout or "
        "nn.functional.dropout, or give them as an input too."
    )


def _plain(one: Call) -> list[Any]:
    return [np.asarray(getattr(out, "_data", out)) for out in one.outs]


def _check_ordinary(f: Callable[..., Any], args: Sequence[Any], leaves: Sequence[Any], given: list[Any]) -> None:
    """An ordinary call, in which whole numbers are plain arrays, must give what the traced one gave."""
    if all(np.asarray(data).dtype.kind == "f" for data in leaves):
        return
    if not same(_plain(call(f, args, leaves, whole=False)), given):
        raise TraceError(
            f"{getattr(f, '__name__', f)} gives another result when its whole numbers are traced. "
            "Give them as Python ints: each one is traced anew."
        )


def fetched_aside(origins: Sequence[Origin], leaves: Sequence[Any]) -> list[Any]:
    """The data of all inputs for one call; generators that were drawn from are set back."""
    generators = [origin.held.bit_generator for origin in origins if origin.kind == "drawn"]
    before = [generator.state for generator in generators]
    try:
        return [origin.fetch(leaves) for origin in origins]
    finally:
        for generator, state in zip(generators, before):
            generator.state = state
