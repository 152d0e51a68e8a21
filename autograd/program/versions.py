"""Versions of a compiled function: one program for each way in which its decisions came out, and for each state of
what lies outside of it.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from autograd.arrays.plain import as_plain
from autograd.modes import modes
from autograd.op import OPS
from autograd.tree import unflatten

from .backends import Runner
from .passes import Keeps, drop_dead, fold, optimised
from .passes.reroll import Rolled, reroll
from .program import Program, renumbered
from .tracing.exits import Guard
from .tracing.inputs import Names, mirrored, other_type, quick_inputs, rebuild
from .tracing.leaf_names import kinds_of_leaves
from .tracing.trace import Origin, Traced, fetched_aside, trace
from .tracing.twice import traces

MOST = 16  # versions of a function for inputs of one kind


class Version:
    """One program of a compiled function."""

    def __init__(
        self, f: Callable[..., Any], args: Sequence[Any], leaves: list[Any], gradients: bool,
        build: Callable[[Program, Sequence[Origin], Sequence[Any]], Runner], keeps: Keeps | None,
        siblings: list[Version],
    ) -> None:  # fmt: skip
        begin = time.perf_counter()
        self.f, self.gradients, self._keeps, self.siblings = f, gradients, keeps, siblings
        self._trace(args, leaves, build)
        self.seconds = time.perf_counter() - begin

    def _trace(self, args: Sequence[Any], leaves: list[Any], build: Callable[..., Runner]) -> None:
        changed = {place.id(): place for version in self.siblings for place in version.left}
        found = traces(self.f, args, leaves, [place.again() for place in changed.values()], self.gradients)
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
        self.left: Sequence[Any] = found.one.places
        self.outcomes, self.lines = list(self.traced.outcomes), self.traced.lines
        self.program = optimised(self.traced.program, fetched_aside(self.traced.origins, leaves), keeps=self._keeps)
        self.origins = self.traced.origins
        self.run: Runner = build(self.program, self.origins, args)
        self.is_plain = not self.left and not self.outcomes
        self.fits = self._fits()
        self.quick_inputs = quick_inputs(args, self._lines, self.origins, getattr(self.run, "reader", None))
        if self.outcomes and any(origin.kind == "drawn" for origin in self.origins):
            self.quick_inputs = lambda args: None  # the generators are set back for another version
        self.nested = self._nest(args)

    @functools.cached_property
    def readable(self) -> Program:
        """The program in core ops alone, which NumPy has a word for."""
        if self._keeps is None or all(i.op.lower is None for i in self.program.code):
            return self.program
        program = self.traced.program
        return optimised(program, [np.zeros(*program.types[r]) for r in program.inputs])

    # --- before a call --------------------------------------------------------------------------------------

    def _lines(self, names: Names) -> Iterator[str]:
        """Lines that return None if what lies outside is not as it was when this was traced."""
        names.known["ndarray"] = np.ndarray
        for place in self.left:
            if line := place.line(names):
                yield line
        for origin in self.origins:
            if origin.kind == "captured" and not isinstance(origin.held, np.ndarray):
                yield f"if {other_type(origin.held, names)}: return None"
        yield from self.outside.lines(names)

    def _fits(self) -> Callable[[], Any]:
        names = Names()
        body = "\n    ".join([*self._lines(names), "return True"])
        exec(f"def fits():\n    {body}", names.known)
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
        returned = mirrored(unflatten(self.traced.structure, [0.0] * values), texts, names.of)
        if not self.gradients:
            return eval(f"lambda r: {returned}", names.known)
        returned = f"({returned}, {mirrored(tuple(args), iter(self.places), names.of)})"
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
