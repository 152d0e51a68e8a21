"""A list of steps with a cursor between them: next, back, goto, run to a breakpoint."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Self, overload

import numpy as np

from autograd.drawing.groups import chooser
from autograd.engine import Value
from autograd.errors import StepError
from autograd.formula.lines import Derivation
from autograd.formula.numbers import count
from autograd.graph import calls_around

from .steps import FORWARD, Step

Break = Callable[[Step], bool]


class Cursor:
    """Steps, and how many of them are done; `words` and `twin` are the stepper's."""

    steps: list[Step]
    words: Derivation
    twin: Callable[[Value], Value]

    def __init__(self) -> None:
        self._position = 0
        self._breaks: list[Break] = []
        self.watchers: list[Callable[[int], None]] = []  # called with each new position

    # --- as a sequence ----------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.steps)

    @overload
    def __getitem__(self, index: int) -> Step: ...
    @overload
    def __getitem__(self, index: slice) -> list[Step]: ...
    def __getitem__(self, index: int | slice) -> Step | list[Step]:
        try:
            return self.steps[index]
        except IndexError:
            raise StepError(f"there is no step at index {index}: {self._indices()}") from None

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    # --- the cursor -------------------------------------------------------------------------------------------

    @property
    def position(self) -> int:
        """How many steps are done."""
        return self._position

    @position.setter
    def position(self, position: int) -> None:
        self._position = position
        for tell in self.watchers:
            tell(position)

    @property
    def current(self) -> Step | None:
        """The last step done; None at the start."""
        return self.steps[self.position - 1] if self.position else None

    def next(self) -> Step:
        """Do one step and return it."""
        if self.position >= len(self):
            raise StepError(f"all {self._counted()} are done; back() undoes one, goto(0) returns to the first")
        self.position += 1
        return self.steps[self.position - 1]

    def back(self) -> Step:
        """Undo one step and return it."""
        if self.position == 0:
            raise StepError("no step has been done yet, so there is none to undo; next() does the first")
        self.position -= 1
        return self.steps[self.position]

    def goto(self, place: int | str | Value, kind: str | None = None) -> Step:
        """Do or undo steps so that the one at `place` is the last done, and return it.

        A place is an index from 0 on, or a node or its name: its backward step, unless `kind` is "forward". For a
        leaf it is the step that completes its gradient.
        """
        index = place if isinstance(place, int) else self.find(place, kind)
        if not -len(self) <= index < len(self):
            raise StepError(f"goto({place}) leads to no step: {self._indices()}")
        self.position = index % len(self) + 1
        return self.steps[self.position - 1]

    def run(self) -> Step | None:
        """Go on until a breakpoint's step has been done, or to the end; returns the last step done."""
        while self.position < len(self):
            done = self.next()
            if any(stops(done) for stops in self._breaks):
                break
        return self.current

    def find(self, place: str | Value, kind: str | None = None) -> int:
        """The index of a node's step."""
        name = self.words.name(self.twin(place)) if isinstance(place, Value) else place
        found = self._places.get(name, [])
        if kind is not None:
            found = [index for index in found if self.steps[index].kind == kind]
        if not found:
            hint = did_you_mean(name, self._places) or f"; there are {', '.join(list(self._places)[:12])}"
            raise StepError(f"no {kind + ' ' if kind else ''}step of this graph is called {name!r}{hint}")
        return found[-1]

    @functools.cached_property
    def _places(self) -> dict[str, list[int]]:
        """The steps that each name leads to; a leaf's leads to the one that completes its gradient."""
        places: dict[str, list[int]] = {}
        for step in self.steps:
            for name in {step.name, step.twin.name or step.name, self.words.names.expression(step.twin)}:
                places.setdefault(name, []).append(step.index)
        for step in self.steps:
            for contribution in step.contributions:
                leaf = contribution.twin
                if leaf.op is None and contribution.path == contribution.paths:
                    shown = self.words.name(leaf)  # a long name, or one with odd characters, is shown changed
                    for name in {shown, leaf.name or shown}:
                        places.setdefault(name, []).append(step.index)
        return places

    # --- breakpoints --------------------------------------------------------------------------------------------

    def break_on(
        self, name: str | Break | None = None, *, op: str | None = None, module: str | None = None,
        bad: bool = False, over: float | None = None,
    ) -> Self:  # fmt: skip
        """Make `run()` stop at steps of a node called `name` (or for which `name(step)` holds), of an `op`, of a
        `module` (patterns such as "blocks.*" do), that meet a NaN or infinity (`bad=True`), or a gradient entry
        larger than `over`. Several stop at whichever comes first."""
        tests: list[Break] = []
        if callable(name):
            tests.append(name)
        elif name is not None:
            self.find(name)  # an unknown name is a mistake
            tests.append(lambda step: name in (step.name, step.twin.name))
        if op is not None:
            tests.append(lambda step: any(node.op is not None and node.op.name == op for node in step.twins))
        if module is not None:
            chosen = chooser(module)
            tests.append(lambda step: any(chosen(call) for node in step.twins for call in calls_around(node)))
        if bad:
            tests.append(_meets_bad)
        if over is not None:
            tests.append(lambda step: _largest(step) > over)
        if not tests:
            raise TypeError("break_on: say where to stop: a name, op=, module=, bad=True or over=")
        self._breaks += tests
        return self

    def clear_breaks(self) -> None:
        """Forget every breakpoint."""
        self._breaks.clear()

    # --- messages -----------------------------------------------------------------------------------------------

    def _counted(self) -> str:
        return f"{count(len(self))} step{'s' if len(self) != 1 else ''}"

    def _indices(self) -> str:
        """How Python counts the steps, for a message; at the keys and on the command line they are typed as shown."""
        last = len(self) - 1
        known = f"indices go from 0 to {last} (the steps shown as 1 to {last + 1})"
        return known if self.steps else "nothing was computed, so there are no steps"


def did_you_mean(name: Any, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(str(name), known, n=3, cutoff=0.4)
    return f"; did you mean {' or '.join(near)}?" if near else ""


def _meets_bad(step: Step) -> bool:
    numbers = [step.value] if step.kind == FORWARD else [step.incoming, *(c.value for c in step.contributions)]
    return any(number is not None and not np.all(np.isfinite(number)) for number in numbers)


def _largest(step: Step) -> float:
    gradients = [step.incoming, *(c.total for c in step.contributions)]
    return max((float(np.max(np.abs(g), initial=0.0)) for g in gradients if g is not None), default=0.0)
