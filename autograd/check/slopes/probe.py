"""The one number that is differenced: the weighted sum of a function's results, at perturbed inputs."""

from __future__ import annotations

import functools
import itertools
import math
from typing import Any

import numpy as np

from autograd.op import shape_of
from autograd.program.program import Instruction
from autograd.program.replay import Replay

from ..options import DEFAULT
from ..subjects.subject import Array, Subject, off_by_a_digit

FLOAT64 = np.dtype(np.float64)
EPS64 = float(np.finfo(FLOAT64).eps)
TOGETHER = 1 << 15  # so many numbers, and all inputs are perturbed in one replay
AFFORDABLE = 2_000_000  # so many numbers are computed for looks at single entries
SECONDS = 2.0  # and so long a function is called
FEW = 8  # so few numbers an input, and they are not worth a replay of their own


class Probe:
    """How much `Σ cotangent · result` changes when entries of the inputs do: by replay, or by calling the function.

    All entries of all sources stand in one long row, `x`; source k has the places from `starts[k]` to
    `starts[k + 1]`. Results are subtracted entry by entry before they are summed, so that what does not change adds
    no rounding.
    """

    def __init__(self, subject: Subject, weights: tuple[Any, ...], pulled: list[Any]) -> None:
        self.subject = subject
        self.pulled_with = self.weights = weights
        # The weight of a single scalar result is divided out again: people know its gradient as it is. It was weighted
        # all the same, for a rule that forgets `g` is right where g is 1.
        self.divisor = 1.0
        used = [u for u in weights if u is not None]
        if len(used) == 1 and used[0].__class__ is float:
            self.divisor = used[0]
            self.weights = tuple([None if u is None else 1.0 for u in weights])
        self._weights_in_rows = [None if u is None else np.asarray(u).reshape(-1) for u in self.weights]
        self.replay: Replay | None = subject.replay  # None: it cannot be trusted
        self.code: list[Instruction] | None = None  # the recorded run with its choices kept: `breakpoints.frozen`
        self.calls_are_native = True  # made with the inputs' own dtypes
        data = [s._data for s in subject.sources]
        self.x = in_a_row(data)
        # What the step of each entry is scaled to: at least 1, and 0 for an infinite entry, which cannot move.
        self.scale = np.maximum(np.abs(self.x), 1.0)
        if not math.isfinite(self.x.dot(self.x)):
            self.scale[~np.isfinite(self.scale)] = 0.0
        self.places = np.arange(self.x.size)
        self.shapes = [shape_of(d) for d in data]
        self.starts = list(itertools.accumulate(map(math.prod, self.shapes), initial=0))
        # The size of the sum, for the rounding it brings; errors of many results add up like a random walk.
        self.size = math.sqrt(sum([float(np.vdot(r, r)) for r in subject.results if r is not None]))
        self.finite = True  # the sum
        self.masked = False  # whether some results are not finite; their changes count only if all are
        if not math.isfinite(self.size):
            every = in_a_row([r for r in subject.results if r is not None])
            self.masked = not np.isfinite(every).all()
            self.finite = np.isfinite(every[in_a_row([u for u in weights if u is not None]) != 0]).all()
            largest = float(np.abs(finite_or_zero(every)).max()) or 1.0
            self.size = largest * float(np.linalg.norm(finite_or_zero(every / largest)))
        self.coarse = coarsest_unit(*data, *subject.results)
        self.before = self._in_float64() if self.coarse > EPS64 and self.replay else subject.results
        self.engine = self.unweighted(pulled)  # its gradient

    def _in_float64(self) -> list[Any]:
        """The results of a replay in float64, from which its changes are counted."""
        assert self.replay is not None
        given = {s: np.asarray(s._data, dtype=np.float64)[None] for s in self.subject.sources}
        outs = self.replay.run(1, given)
        return [r if out is None else out[0] for out, r in zip(outs, self.subject.results)]

    @functools.cached_property
    def affordable(self) -> int:
        """How many entries there is time to look at one by one."""
        nodes = self.subject.replay.nodes if self.subject.replay is not None else self.subject.sources
        numbers = int(AFFORDABLE // max(1, sum(np.size(node._data) for node in nodes)))
        return numbers if self.replay is not None else min(numbers, int(SECONDS / max(self.subject.seconds, 1e-6)))

    @property
    def epsilon(self) -> float:
        """The rounding unit of an evaluation: float64's in a replay, that of the coarsest dtype in a call."""
        return self.coarse if self.replay is None and self.calls_are_native else EPS64

    def give_up_replay(self) -> None:
        """From here on, call the function: in float64, where it answers in float64."""
        self.replay = None
        if self.coarse > EPS64:
            outs = self.subject.at(self.by_source(self.x), self.subject.call_again)
            if outs is not None and [(shape_of(r), FLOAT64) for r in self.subject.results if r is not None] == [
                (shape_of(out), np.asarray(out).dtype) for out in outs if out is not None
            ]:
                self.before, self.calls_are_native = outs, False

    def by_source(self, whole: Array, native: bool = False) -> list[Array]:
        """A long row, or many, taken apart: one array for each source, in its shape (and its own dtype: `native`)."""
        rows = whole.shape[:-1]
        spans = zip(self.starts, self.starts[1:], self.shapes)
        parts = [whole[..., start:stop].reshape(rows + shape) for start, stop, shape in spans]
        if native and self.coarse > EPS64:
            parts = [part.astype(source.dtype) for part, source in zip(parts, self.subject.sources)]
        return parts

    def flat(self, gradients: list[Any]) -> Array:
        """One gradient per source as one long row; zeros for None."""
        return in_a_row([np.zeros(shape) if g is None else g for g, shape in zip(gradients, self.shapes)])

    def unweighted(self, pulled: list[Any]) -> Array:
        """What the engine pulled back, as the gradient of the sum."""
        return self.flat(pulled) if self.divisor == 1.0 else self.flat(pulled) / self.divisor

    def engine_repeats(self) -> bool:
        """Whether the engine gives the same gradient once more, but for rounding."""
        return bool(self.alike(self.engine, self.unweighted(self.subject.gradients(self.pulled_with))).all())

    def alike(self, first: Array, second: Array) -> Array:
        """Where two gradients differ by no more than what rounding explains."""
        relative, absolute = DEFAULT.tolerance(self.coarse)
        sizes = finite_or_zero(np.abs(first))
        slack = relative * sizes + absolute * self.largest_of_input(sizes) + float(np.finfo(float).tiny)
        same = (first == second) | (np.abs(first - second) <= slack) | (np.isnan(first) & np.isnan(second))
        return np.asarray(same)

    def rounding(self, slope: Array) -> Array:
        """How far rounding may have moved a gradient in a coarse dtype: as far as it is from the engine's answer for
        the same inputs in float64, where that is the slope.
        """
        fine = self.fine_engine if self.coarse > EPS64 else None
        if fine is None:
            return np.zeros(self.x.size)
        off = np.abs(self.engine - fine)
        right = np.abs(fine - slope) <= 1e-6 * np.maximum(np.abs(fine), np.abs(slope)) + 1e-3 * off
        return 4 * finite_or_zero(np.where(right, off, 0.0))

    def largest_of_input(self, sizes: Array) -> Array:
        """For each entry, the largest of the sizes that belong to the same input."""
        if len(self.shapes) == 1:
            return np.full(sizes.shape, np.maximum.reduce(sizes, initial=0.0))
        tops = [np.maximum.reduce(sizes[a:b], initial=0.0) for a, b in zip(self.starts, self.starts[1:])]
        return np.repeat(tops, list(map(math.prod, self.shapes)))

    @functools.cached_property
    def wobble(self) -> Array:
        """How far the gradients of the same input move if every number that was recorded is off by its last digit, or
        every input is.
        """
        rng = np.random.default_rng(self.x.size)
        moved = np.zeros(self.x.size)
        for _ in range(3):
            near = self.by_source(off_by_a_digit(self.x, np.float64, rng, self.coarse), native=True)
            jittered = self.subject.jittered(self.pulled_with, rng)
            for found in (None if jittered is None else self.unweighted(jittered), self.gradient_at(near)):
                if found is not None:
                    moved = np.maximum(moved, finite_or_zero(np.abs(found - self.engine)))
        return self.largest_of_input(moved)

    @functools.cached_property
    def fine_engine(self) -> Array | None:
        """The engine's gradient for the same inputs in float64; None if the function does not work on them."""
        return self.gradient_at(self.by_source(self.x))

    def gradient_at(self, data: list[Array]) -> Array | None:
        """The engine's gradient at other inputs; None if the function does not work there."""
        pulled = self.subject.at(data, lambda: self.subject.gradients_again(self.pulled_with))
        return None if pulled is None else self.unweighted(pulled)

    # --- perturbations --------------------------------------------------------------------------------------

    def entries(self, places: Array, values: Array) -> Array:
        """The changes of the sum with one entry moved, all else as it was: `places[i]` to `values[0, i]`, for all i;
        then to `values[1, i]`, and so on.
        """
        portion = 8 if self.replay is None else self.replay.portion
        if values.size <= portion and values.size * self.x.size <= TOGETHER:
            return self.changes(self._rows(places, values))
        places, values = np.tile(places, len(values)), values.reshape(-1)
        changes = np.empty(values.size)
        if self.replay is None or self.x.size < FEW * len(self.shapes):  # mostly scalars: one replay for many of them
            portion = max(8, min(portion, 4 * TOGETHER // self.x.size))
            for i in range(0, values.size, portion):
                part = slice(i, i + portion)
                changes[part] = self.changes(self._rows(places[part], values[None, part]))
            return changes
        source = np.searchsorted(self.starts, places, side="right") - 1
        for k in range(len(self.shapes)):
            mine = np.flatnonzero(source == k)
            for i in range(0, len(mine), portion):
                some = mine[i : i + portion]
                changes[some] = self._entries_of_source(k, places[some], values[some])
        return changes

    def _rows(self, places: Array, values: Array) -> Array:
        """All inputs in a row, once for each of the values, with that entry moved."""
        rows = np.empty((values.size, self.x.size))
        rows[:] = self.x
        if places is self.places:  # the rows of one move are a square, and what it moves is the diagonal
            rows.reshape(len(values), len(places) ** 2)[:, :: len(places) + 1] = values
        else:
            rows[np.arange(values.size), np.tile(places, len(values))] = values.reshape(-1)
        return rows

    def _entries_of_source(self, k: int, places: Array, values: Array) -> Array:
        """The changes with entries of source k moved, one in each row; only that source gets an array of rows."""
        n = len(values)
        rows = np.empty((n, self.starts[k + 1] - self.starts[k]))
        rows[:] = self.x[self.starts[k] : self.starts[k + 1]]
        rows[np.arange(n), places - self.starts[k]] = values
        return self._changes({self.subject.sources[k]: rows.reshape(n, *self.shapes[k])}, n)

    def changes(self, rows: Array) -> Array:
        """The change of the sum for each row, which holds all entries of all sources."""
        if self.replay is None:
            return np.array([self._by_call(data) for data in zip(*self.by_source(rows, self.calls_are_native))])
        return self._changes(dict(zip(self.subject.sources, self.by_source(rows))), len(rows))

    def _changes(self, given: dict[Any, Array], rows: int) -> Array:
        assert self.replay is not None
        outs = self.replay.run(rows, given, self.code)
        return self._weighted([None if out is None else out - old for out, old in zip(outs, self.before)], rows)

    def _by_call(self, data: tuple[Array, ...]) -> float:
        """The same by calling the function itself; NaN where it raises or gives other shapes."""
        outs = self.subject.at(data, self.subject.call_again)
        before = self.subject.results if self.calls_are_native else self.before
        if outs is None or list(map(shape_of, outs)) != list(map(shape_of, before)):
            return math.nan
        return float(self._weighted([None if out is None or old is None else np.subtract(out, old, dtype=np.float64)
                                     for out, old in zip(outs, before)], 1)[0])  # fmt: skip

    def _weighted(self, changes: list[Any], rows: int) -> Array:
        """The changes of the results, weighted and summed."""
        total: Any = np.zeros(rows)
        for change, u in zip(changes, self._weights_in_rows):
            if change is not None and u is not None:
                change = change.reshape(rows, u.size)
                total = total + (np.where(u == 0, 0.0, change) if self.masked else change).dot(u)
        return np.asarray(total)


def finite_or_zero(x: Array) -> Array:
    """The numbers that are finite; zero for the others."""
    return np.where(np.isfinite(x), x, 0.0)


def in_a_row(data: list[Any]) -> Array:
    """All numbers of some arrays (and floats), one after the other."""
    return np.concatenate(data, axis=None, dtype=np.float64)


def coarsest_unit(*data: Any) -> float:
    """The rounding unit of the coarsest dtype among arrays and numbers; float64's where there is none."""
    units = [np.finfo(x.dtype).eps for x in data if getattr(x, "dtype", FLOAT64) is not FLOAT64]
    return float(max([EPS64, *units]))
