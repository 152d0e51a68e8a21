"""Two calls of a function at the same inputs, everything that the first changed put back in between.

That finds chance and clocks; everything else is found where it leaves the trace (`exits.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograd.arrays.plain import copy_array
from autograd.callers import user_line
from autograd.derivatives import check_returned
from autograd.engine import Value
from autograd.errors import TraceError
from autograd.tree import flatten

from ..record import Recorded, difference_of, same
from .inputs import is_module, rebuild
from .outside import Grown, Outside, Place, places_changed
from .trace import Call, Traced, call

LINES_LIMIT = 5000  # ops, up to which source lines are recorded, for the names in them


@dataclass
class Traces:
    """What two calls of a function found."""

    one: Call  # of which the program is made
    traced: Traced  # its forward pass
    arrays: list[Any]  # that it reads from outside, the same objects at each call
    outside: Outside  # all else that it reads there
    grown: list[str]  # outside, that it only adds to


def traces(
    f: Callable[..., Any], args: Sequence[Any], leaves: Sequence[Any], places: Sequence[Place] = (),
    gradients: bool = True,
) -> Traces:  # fmt: skip
    """Call f twice; TraceError if it does not do the same, or changes something outside that a program cannot.

    places     outside, that it is known to change in other calls
    gradients  whether the program gives gradients of its inputs
    """
    roots = [f, *(x for x in args if is_module(x))]
    before = Outside(roots, largest=float("inf"))
    grown: Grown = []
    try:
        first = _first_call(f, args, leaves, before, gradients)
        found, grown = places_changed(before, first.tracer, places)
        recorded, arrays = first.recorded, _arrays(first.recorded)
        constants = {r: copy_array(data) for r, data in recorded.constants.items()}
        numbers = [copy_array(np.asarray(getattr(x, "_data", x))) for x in first.outs]
        alike = not found
        short = len(recorded.code) <= LINES_LIMIT
        if short or not alike:
            second = call(f, args, leaves, lines=short, places=found, gradients=gradients)
            again = second.recorded
        else:
            first.traced(gradients=False)
            second = call(f, args, leaves, gradients=gradients)
            again = second.compared
        places = places_changed(before, second.tracer, found)[0]
        difference = _difference(first, second, recorded, again, constants, numbers) if alike else _numbers_differ(
            second, numbers)
        if difference is None and len(places) > len(found):
            difference = f"it changes {places[-1].path} at one call and not at another"
        if difference is not None:
            raise TraceError(
                f"{getattr(f, '__name__', f)} does not do the same at each call: {difference}. A compiled program "
                "would repeat what this call did. Give what changes as an input; draw random numbers with nn.Dropout "
                "or nn.functional.dropout, or give them as an input too."
            )
    finally:
        before.put_back()
    for holder, now, added in grown:
        holder.put_back(now, added)
    kept = arrays & _arrays(again)
    arrays_kept = [data for data in again.constants.values() if id(data) in kept]
    one = second if short or not alike else first
    added_to = {id(holder.at) for holder, _, _ in grown if holder.path}
    counted = [(id(holder.at), name) for holder, _, names in grown if not holder.path for name in names]
    outside = Outside(roots, [*(place.id() for place in places), *counted], kept | added_to)
    paths = list(dict.fromkeys(holder.path or ", ".join(map(str, names)) for holder, _, names in grown))
    return Traces(one, one.traced(gradients=False), arrays_kept, outside, paths)


def _first_call(
    f: Callable[..., Any], args: Sequence[Any], leaves: Sequence[Any], before: Outside, gradients: bool
) -> Call:
    """A call that is traced. TraceError if f raises an error there that it does not raise in an ordinary call."""
    try:
        return call(f, args, leaves, gradients=gradients)
    except TraceError:
        raise
    except Exception as error:
        before.put_back()
        try:
            returned = f(*[rebuild(x, _ordinary, lambda module: None) for x in args])
            check_returned(f, returned, flatten(returned)[0])
        except Exception:
            raise error from None
        raise TraceError(
            f"{user_line(error)}\nworks in an ordinary call, and not while it is traced: "
            f"{type(error).__name__}: {error}. Do it with what the compiled function returns"
        ) from error


def _ordinary(x: Any) -> Any:
    """A leaf of the arguments as an eager call has it."""
    return Value(x) if np.asarray(x).dtype.kind == "f" else x


def _arrays(recorded: Recorded) -> set[int]:
    return {id(data) for data in recorded.constants.values() if isinstance(data, np.ndarray)}


def _difference(
    first: Call, second: Call, recorded: Recorded, again: Recorded, constants: dict[int, Any], numbers: list[Any]
) -> str | None:
    """What the second call did differently."""
    for one, other in zip(first.tracer.guards, second.tracer.guards):
        if one.outcome != other.outcome:
            return f"a decision comes out differently in {one.line}"
    difference = difference_of(recorded, again, constants)
    if difference is None and [*map(id, recorded.captured)] != [*map(id, again.captured)]:
        difference = "it uses other Values from outside"
    if difference is None and first.structure != second.structure:
        difference = "its results are nested in another way"
    return difference


def _numbers_differ(second: Call, numbers: list[Any]) -> str | None:
    now = [np.asarray(getattr(x, "_data", x)) for x in second.outs]
    alike = len(now) == len(numbers) and all(map(same, now, numbers))
    return None if alike else "its result is another one at the same inputs"
