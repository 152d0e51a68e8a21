"""The one number that is differenced: the weighted sum of a function's results, at perturbed inputs."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .replay import Replay
from .subject import Array, Subject

Change = Callable[[int, Array], Array]  # source number, its data for each row → the change of the weighted sum


class Probe:
    """How much `Σ cotangent · result` changes when one source is changed: by replay, or by calling the function.

    Results are subtracted entry by entry before they are summed, so that what does not change adds no rounding.
    """

    def __init__(self, subject: Subject, weights: tuple[Any, ...]) -> None:
        self.subject = subject
        self.weights = weights
        self.replay: Replay | None = Replay(subject.sources, subject.outs)
        self.flat = [np.asarray(s._data, dtype=np.float64).reshape(-1) for s in subject.sources]
        # The size of the sum, for the rounding it brings; errors of many results add up like a random walk.
        self.size = math.sqrt(
            sum(float(np.vdot(r, r)) for r in subject.results if r is not None and np.size(r))
        )
        self.finite = math.isfinite(self.size)
        self.before = subject.results
        if any(s._data.__class__ is not float and s._data.dtype != np.float64 for s in subject.sources):
            self.before = self._in_float64()

    def _in_float64(self) -> list[Any]:
        """The results of a replay in float64, from which its changes are counted."""
        assert self.replay is not None
        sources = self.subject.sources
        given = {s: np.asarray(s._data, dtype=np.float64)[None] for s in sources}
        outs = self.replay.run(1, given, -1)
        return [r if out is None else out[0] for out, r in zip(outs, self.subject.results)]

    def epsilon(self, native: bool = False) -> float:
        """The rounding unit of an evaluation: float64's in a replay, that of the coarsest dtype in a call."""
        if self.replay is not None and not native:
            return EPS64
        return max(float(np.finfo(s.dtype).eps) for s in (*self.subject.sources, *self._real_outs()))

    def _real_outs(self) -> list[Any]:
        return [r if isinstance(r, np.ndarray) else np.float64(r) for r in self.subject.results if r is not None]

    @functools.cached_property
    def wobble(self) -> list[Array]:
        """The rounding error of the engine's gradient, measured: how much it moves when the inputs do by two ulps."""
        engine = self.subject.gradients(self.weights)
        moved = [np.zeros(x.size) for x in self.flat]
        for sign in (1.0, -1.0):
            near = {}
            for k, (x, s) in enumerate(zip(self.flat, self.subject.sources)):
                near[k] = x + sign * 2 * float(np.finfo(s.dtype).eps) * np.abs(x)
            gradients = self.subject.gradients_with(near, self.weights)
            for k, (a, b) in enumerate(zip(engine, gradients or ())):
                if a is not None and b is not None:
                    gap = np.abs(np.subtract(a, b, dtype=np.float64)).reshape(-1)
                    moved[k] = np.maximum(moved[k], np.where(np.isfinite(gap), gap, 0.0))
        return moved

    # --- perturbations ------------------------------------------------------------------------------------------

    def entries(self, k: int, places: Array, deltas: Array, native: bool = False) -> Array:
        """The change of the sum for each (place, delta): one entry of source k moved, all else as it was."""
        portion = len(places) if self.replay is None else self.replay.portion
        if len(places) <= portion:
            return self._entries(k, places, deltas, native)
        starts = range(0, len(places), portion)
        return np.concatenate(
            [self._entries(k, places[i : i + portion], deltas[i : i + portion], native) for i in starts]
        )

    def _entries(self, k: int, places: Array, deltas: Array, native: bool) -> Array:
        x = self.flat[k]
        rows = np.empty((len(places), x.size))
        rows[:] = x
        rows[np.arange(len(places)), places] += deltas
        return self.changes({k: rows}, native)

    def changes(self, changed: dict[int, Array], native: bool = False) -> Array:
        """The change of the sum for each row of the changed sources; each array is (rows, entries of the source)."""
        rows = len(next(iter(changed.values())))
        if self.replay is None:
            return np.array([self.by_call({k: data[i] for k, data in changed.items()}) for i in range(rows)])
        sources = self.subject.sources
        given = {}
        depends_on = 0
        for k, data in changed.items():
            source = sources[k]
            dtype = source.dtype if native else np.float64
            given[source] = np.asarray(data, dtype=dtype).reshape(rows, *source.shape)
            depends_on |= 1 << k
        outs = self.replay.run(rows, given, depends_on)
        total: Any = 0.0
        for out, before, u in zip(outs, self.subject.results if native else self.before, self.weights):
            if out is None or u is None:
                continue
            change = (out - before).reshape(rows, np.size(u))
            if not self.finite:  # an infinity that stays one has not changed
                change = np.where((out == before).reshape(rows, np.size(u)), 0.0, change)
            total = total + change @ np.reshape(u, -1)
        return total if isinstance(total, np.ndarray) else np.zeros(rows)

    def by_call(self, changed: dict[int, Array]) -> float:
        """The same for one row, by calling the function itself; NaN where it raises or gives other shapes."""
        outs = self.subject.call_with(changed)
        results = self.subject.results
        if outs is None or len(outs) != len(results) or any(np.shape(a) != np.shape(b) for a, b in zip(outs, results)):
            return math.nan
        total = 0.0
        for out, before, u in zip(outs, results, self.weights):
            if u is not None and out is not None:
                change = np.asarray(out, dtype=np.float64) - before
                if not self.finite:
                    change = np.where(np.equal(out, before), 0.0, change)
                total += float(np.vdot(u, change))
        return total


EPS64 = float(np.finfo(np.float64).eps)
