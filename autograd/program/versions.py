"""Versions of a compiled function: one program for each way in which its decisions came out.

f is called twice, at the same inputs, with everything that it changes put back in between: the second call must do what
the first one did. That finds chance and clocks; everything else is found where it leaves the trace (`exits.py`).
"""

from __future__ import annotations

import functools
import os
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from autograd.arrays.plain import as_plain, copy_array
from autograd.callers import OURS
from autograd.engine import Value
from autograd.errors import TraceError
from autograd.modes import modes
from autograd.op import OPS
from autograd.tree import unflatten

from .backends import Runner
from .exits import Guard
from .inputs import Names, is_module, mirrored, other_type, quick_inputs, rebuild
from .leaf_names import kinds_of_leaves
from .outside import Grown, Outside, Place, places_changed
from .passes import Keeps, drop_dead, fold, optimised
from .program import Program, renumbered
from .record import Recorded, difference_of, same
from .reroll import Rolled, reroll
from .trace import Call, Origin, Traced, call, trace

LINES_LIMIT = 5000  # ops, up to which source lines are recorded, for the names in them
MOST = 16  # versions of a function for inputs of one kind


@dataclass
class Traces:
    """What two calls of a function found."""

    one: Call  # of which the program is made
    traced: Traced  # its forward pass
    arrays: list[Any]  # that it reads from outside, the same objects at each call
    outside: Outside  # all else that it reads there
    grown: list[str]  # outside, that it only adds to


def traces(f: Callable[..., Any], args: Sequence[Any], leaves: Sequence[Any]) -> Traces:
    """Call f twice; TraceError if it does not do the same, or changes something outside that a program cannot."""
    roots = [f, *(x for x in args if is_module(x))]
    before = Outside(roots, largest=float("inf"))
    places: list[Place] = []
    grown: Grown = []
    try:
        first = _first_call(f, args, leaves, before)
        found, grown = places_changed(before, first.tracer, places)
        recorded, arrays = first.recorded, _arrays(first.recorded)
        constants = {r: copy_array(data) for r, data in recorded.constants.items()}
        numbers = [copy_array(np.asarray(getattr(x, "_data", x))) for x in first.outs]
        alike = not found
        short = len(recorded.code) <= LINES_LIMIT
        if short or not alike:
            second = call(f, args, leaves, lines=short, places=found)
            again = second.recorded
        else:
            first.traced(gradients=False)
            second = call(f, args, leaves)
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


def _first_call(f: Callable[..., Any], args: Sequence[Any], leaves: Sequence[Any], before: Outside) -> Call:
    """A call that is traced. TraceError if f raises an error there that it does not raise in an ordinary call."""
    try:
        return call(f, args, leaves)
    except TraceError:
        raise
    except Exception as error:
        before.put_back()
        try:
            f(*[rebuild(x, lambda x: x if np.asarray(x).dtype.kind != "f" else Value(x), lambda m: None) for x in args])
        except Exception:
            raise error from None
        frame = traceback.extract_tb(error.__traceback__)
        line = next((at for at in reversed(frame) if not at.filename.startswith(OURS)), frame[-1])
        raise TraceError(
            f"{os.path.basename(line.filename)}:{line.lineno}: {line.line}\nworks in an ordinary call, and not while "
            f"it is traced: {type(error).__name__}: {error}"
        ) from error


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


def fetched_aside(origins: Sequence[Origin], leaves: Sequence[Any]) -> list[Any]:
    """The data of all inputs for one call; generators that were drawn from are set back."""
    before = states_of(origins)
    try:
        return [origin.fetch(leaves) for origin in origins]
    finally:
        for generator, state in before:
            generator.state = state


def states_of(origins: Sequence[Origin]) -> list[tuple[Any, Any]]:
    """The generators that are drawn from, each with the state that it has now."""
    generators = {id(o.held): o.held.bit_generator for o in origins if o.kind == "drawn"}
    return [(generator, generator.state) for generator in generators.values()]


@dataclass
class Family:
    """The versions for inputs of one kind and one state of what lies outside."""

    outside: Outside
    versions: list[Version] = field(default_factory=list)

    def fits(self) -> bool:
        """Whether what lies outside is as it was when these were traced."""
        first = self.versions[0]
        return first.fits_outside() and self.outside.is_same()


class Version:
    """One program of a compiled function."""

    def __init__(
        self, f: Callable[..., Any], args: Sequence[Any], leaves: list[Any], gradients: bool,
        build: Callable[[Program, Sequence[Origin], Sequence[Any]], Runner], keeps: Keeps | None = None,
    ) -> None:  # fmt: skip
        begin = time.perf_counter()
        self.f, self.gradients, self._keeps = f, gradients, keeps
        self._trace(args, leaves, build)
        self.seconds = time.perf_counter() - begin

    def _trace(self, args: Sequence[Any], leaves: list[Any], build: Callable[..., Runner]) -> None:
        found = traces(self.f, args, leaves)
        tracer = found.one.tracer
        self.outside, self.grown, self.texts = found.outside, found.grown, list(dict.fromkeys(tracer.texts))
        self.constants = [*tracer.constants, *found.outside.unseen]
        forward = with_outside(found.traced, found.arrays)
        self.roll_note = ""
        self.rolled: Rolled | None = None
        if not found.one.places:
            self.rolled, self.roll_note = reroll(fold(drop_dead(forward.program)), kinds_of_leaves(args))
        self.args = rebuild(list(args), lambda x: 0.0, lambda module: None)  # the nest alone, without its arrays
        if self.rolled is None:
            self.traced = with_outside(found.one.traced(self.gradients), found.arrays) if self.gradients else forward
            self.places = self._places(self.traced.differentiated)
        else:
            self.traced = self._roll(forward, self.rolled, leaves)
        self.left = found.one.places
        self.outcomes, self.lines = list(self.traced.outcomes), self.traced.lines
        self.program = optimised(self.traced.program, fetched_aside(self.traced.origins, leaves), keeps=self._keeps)
        self.origins = self.traced.origins
        self.run: Runner = build(self.program, self.origins, args)
        self.is_plain = not self.left and not self.outcomes
        self.fits_outside = self._fits_outside()
        self.quick_inputs = quick_inputs(args, self._lines, self.origins, getattr(self.run, "reader", None))
        if self.outcomes and any(origin.kind == "drawn" for origin in self.origins):
            self.quick_inputs = lambda args: None  # the generators are set back for another version
        self.nested = self._nest(args)
        self.family: Family | None = None

    @functools.cached_property
    def readable(self) -> Program:
        """The program in core ops alone, which NumPy has a word for."""
        if self._keeps is None or all(i.op.lower is None for i in self.program.code):
            return self.program
        program = self.traced.program
        return optimised(program, [np.zeros(*program.types[r]) for r in program.inputs])

    # --- before a call --------------------------------------------------------------------------------------

    def _lines(self, names: Names) -> Any:
        yield from self._type_lines(names)
        yield from self.outside.lines(names)

    def _type_lines(self, names: Names) -> Any:
        """Lines that return None if a number outside has another type than when this was traced."""
        for place in self.left:
            if line := place.line(names):
                yield line
        for origin in self.origins:
            if origin.kind == "captured" and not isinstance(origin.held, np.ndarray):
                yield f"if {other_type(origin.held, names)}: return None"

    def _fits_outside(self) -> Callable[[], bool]:
        names = Names()
        names.known |= {"ndarray": np.ndarray}
        body = "\n    ".join([line.replace("return None", "return False") for line in self._type_lines(names)])
        exec(f"def fits():\n    {body}\n    return True", names.known)
        return names.known["fits"]

    # --- a call ---------------------------------------------------------------------------------------------

    def fetched(self, leaves: Sequence[Any]) -> list[Any]:
        """The inputs of the program."""
        return [origin.fetch(leaves) for origin in self.origins]

    def attempt(self, given: list[Any]) -> tuple[list[Any] | None, list[Any]]:
        """The results, if all decisions come out as they did; and the decisions up to the first that does not."""
        try:
            found = self.run(given)
        except Exception:
            decided = self._decided(given)
            if decided == self.outcomes:
                raise
            return None, decided
        decided = [np.asarray(x).item() for x in found[len(found) - len(self.outcomes) :]]
        if decided == self.outcomes:
            return found, decided
        first = next(n for n, (x, y) in enumerate(zip(decided, self.outcomes)) if x != y)
        return None, decided[: first + 1]

    def _decided(self, given: list[Any]) -> list[Any]:
        """The decisions up to the first that comes out otherwise, one by one: f decides before a later op raises."""
        program = self.traced.program
        guards = program.outputs[len(program.outputs) - len(self.outcomes) :]
        registers: dict[int, Any] = {**program.constants, **dict(zip(program.inputs, given))}
        decided: list[Any] = []
        code = iter(program.code)
        for r, outcome in zip(guards, self.outcomes):
            while r not in registers:
                i = next(code)
                try:
                    registers[i.out] = i.op.compute(*[registers[x] for x in i.inputs])
                except Exception:
                    return self.outcomes
            decided.append(np.asarray(registers[r]).item())
            if decided[-1] != outcome:
                return decided
        return self.outcomes

    def finish(self, found: list[Any]) -> Any:
        """What the caller gets; what f leaves outside is written there."""
        if self.left:
            end = len(found) - len(self.outcomes)
            for place, data in zip(self.left, found[end - len(self.left) : end]):
                place.write(data)
        return self.nested(found)

    # --- what it says -----------------------------------------------------------------------------------------

    def notes(self) -> list[str]:
        """What became of the function."""
        kinds = [origin.kind for origin in self.origins]
        said = [f"traced and made ready in {self.seconds:.2g} s: {len(self.program):,} instructions"]
        if self.roll_note:
            said.append(self.roll_note)
        for kind, what in (("captured", "read from outside"), ("drawn", "drawn at random")):
            if kind in kinds:
                said.append(f"{kinds.count(kind):,} arrays or numbers are {what}, at each call")
        if self.left:
            said.append(f"read before and written after each call: {', '.join(place.path for place in self.left)}")
        if self.outcomes:
            said.append(f"decided at each call: {', '.join(dict.fromkeys(self.lines))}")
        said += [f"text, made once, while tracing: {line}" for line in self.texts]
        said += [f"added to while tracing, and not at later calls: {path}" for path in self.grown]
        return said

    # --- results ----------------------------------------------------------------------------------------------

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

        def of_vectors(*xs: Any) -> Any:
            results = rolled.call(*xs)
            end = len(results) - len(first.outcomes)
            for value, outcome, line in zip(results[end:], first.outcomes, first.lines):
                modes.tracer.guards.append(Guard(OPS["alias"](value), outcome, line))
            return unflatten(first.structure, results[:end])

        traced = trace(of_vectors, vectors, vectors, self.gradients)
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
        slopes = sum(self.traced.differentiated) if self.gradients else 0
        values = len(self.program.outputs) - slopes - len(self.left) - len(self.outcomes)
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
    return replace(traced, program=moved, origins=origins)
