"""Whether the rules are linear in g: a second pull, with the cotangents times -64, must give -64 times the gradient.

One cotangent of one sign and size does not notice a rule that takes `abs(g)`, `maximum(g, 0)` or `clip(g, -10, 10)`.
Multiplication by a power of two adds no rounding, so rules that are linear scale to the bit.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .probe import Probe
from .verdict import WRONG, Judged, rounding_of

Array = np.ndarray[Any, Any]

FACTOR = -64.0
NOT_LINEAR = (
    "a rule (or a hook) is not linear in g, the gradient that arrives: pulled with -64 times the cotangents, the "
    "gradient is not -64 times the first one. A rule multiplies g; it takes no abs, maximum or clip of it"
)


class SecondPull:
    """The gradient from the second pull, over -64, and the places where it is not the first one."""

    def __init__(self, probe: Probe) -> None:
        weights = [None if u is None else FACTOR * u for u in probe.pulled_with]
        self.gradient = probe.unweighted(probe.subject.gradients(weights)) / FACTOR
        self.odd = self._differing(probe)

    def _differing(self, probe: Probe) -> Array:
        first, second = probe.engine, self.gradient
        if (first == second).all():
            return np.empty(0, dtype=int)
        dtypes = [r.dtype for r in (*probe.subject.sources, *probe.subject.results) if getattr(r, "dtype", None)]
        limits = min((np.finfo(dtype) for dtype in (np.dtype(float), *dtypes)), key=lambda limits: limits.max)
        sizes = np.abs(np.where(np.isfinite(first), first, 0.0))
        if sizes.max(initial=0.0) > math.sqrt(limits.max):
            return np.empty(0, dtype=int)  # so many times as much may overflow on the way
        relative, absolute = rounding_of(probe.coarse)
        slack = relative * sizes + absolute * probe.largest_of_input(sizes, probe.places) + float(limits.tiny)
        same = (first == second) | (np.abs(first - second) <= slack) | (np.isnan(first) & np.isnan(second))
        return np.flatnonzero(~same)

    def put_in(self, gradient: Array, places: Array, slope: Array) -> Array:
        """The gradient to judge: of the two, where they differ, the one that is farther from the differences."""
        at = np.isin(places, self.odd)
        first, second = gradient[places], self.gradient[places]
        at &= ~(np.abs(second - slope) <= np.abs(first - slope))
        chosen = gradient.copy()
        chosen[places[at]] = second[at]
        return chosen

    def mark_wrong(self, judged: Judged) -> None:
        """What is not linear in g is wrong, even where differences agree."""
        at = np.isin(judged.places, self.odd)
        judged.verdict = np.where(at, np.maximum(judged.verdict, WRONG), judged.verdict)
        judged.worst = int(judged.verdict.max(initial=judged.worst))
        judged.notes.append(NOT_LINEAR)
