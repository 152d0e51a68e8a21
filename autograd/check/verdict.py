"""From numbers to verdicts: each entry of a gradient compared with differences, as closely as it takes to be sure.

pass              the gradient agrees with the differences, within what rounding explains
wrong             it does not
kink              the function has no derivative here; the one-sided ones are shown
precision         the difference quotient is at fault (dtype, cancellation, a step that leaves the domain)
nondeterministic  two evaluations at the same place differ
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .complex_step import UNDERFLOW, complex_slopes
from .differences import BEND, Climb, Look, climb
from .probe import EPS64, Probe, finite_or_zero

Array = np.ndarray[Any, Any]

# From best to worst: the report has the verdict of its worst entry.
VERDICTS = ("pass", "precision", "kink", "wrong", "nondeterministic")
PASS, PRECISION, KINK, WRONG, NONDETERMINISTIC = range(len(VERDICTS))

SEEN = 1e-3  # a slope is seen if its error is no more than this much of it
ENOUGH = 1000  # entries that are looked at closely; once one is wrong, the others are not
LITTLE = 1e-6  # a gradient is as good as zero if it is no more than this much of the others


@dataclass
class Judged:
    """What was found: for each place that was looked at, a verdict and the numbers behind it."""

    places: Array
    gradient: Array
    slope: Array  # the best difference quotient
    error: Array  # a bound on its error
    verdict: Array  # of small integers: PASS, PRECISION, ...
    worst: int = PASS
    zero: Array | None = None  # where the gradient is zero, or the rounding of a zero, and rightly; None: nowhere
    sides: dict[int, tuple[float, float]] = field(default_factory=dict)  # one-sided derivatives, where they count
    notes: list[str] = field(default_factory=list)


def rounding_of(epsilon: float) -> tuple[float, float]:
    """What a right gradient may be off by: relative to itself, and to the largest of all."""
    return 1e-7 if epsilon < 1e-12 else min(1000 * epsilon, 0.02), 16 * epsilon


def judge(probe: Probe, gradient: Array, places: Array, seen: Look, step: float | None = None) -> Judged:
    """The verdict on some entries of the gradient (a long row, as `probe.x`), from a first look at them.

    `places` are sorted.
    """
    g = gradient[places]
    sizes = np.abs(gradient)
    size = sizes[places]
    largest = float(np.maximum.reduce(sizes, initial=0.0))
    usual = 0 < largest < math.inf and probe.finite
    if not usual:
        sizes = finite_or_zero(sizes)
        largest = float(sizes.max(initial=0.0))
    relative, absolute = rounding_of(probe.coarse)
    of_input = probe.largest_of_input(sizes, places)
    agrees = np.abs(g - seen.slope) <= relative * size + (absolute * of_input + seen.noise)
    agrees &= np.abs(seen.bend) <= BEND * np.maximum(size, 0.1 * of_input) + 2 * seen.noise
    clear = agrees & (seen.noise <= SEEN * size)
    judged = Judged(places, g, seen.slope, seen.noise, np.zeros(g.size, dtype=np.int8))
    if not usual or not clear.all():
        zero = (g == 0) & (probe.engine[places] == 0) & (seen.noise <= LITTLE * largest)
        clear |= agrees & seen.still & zero
        clear &= np.isfinite(g)
        judged.zero = clear & (g == 0)
        judged.slope, judged.error = seen.slope.copy(), seen.noise.copy()
        doubtful = np.flatnonzero(~_held(judged, probe) & ~clear)
        at_step = seen.slope[doubtful]
        for start in range(0, doubtful.size, ENOUGH):
            _look_closer(probe, judged, doubtful[start : start + ENOUGH], gradient)
            if judged.verdict.max() >= KINK:
                _leave(judged, seen, doubtful[start + ENOUGH :])
                break
        if step is not None:
            _hold_against_step(judged, doubtful, at_step, step)
        if not probe.finite:
            _doubt_the_infinite(probe, judged)
        judged.worst = int(judged.verdict.max(initial=PASS))
        judged.notes = list(dict.fromkeys(judged.notes))
    return judged


def _held(judged: Judged, probe: Probe) -> Array:
    """Entries that are infinite or NaN cannot be moved; all that can be asked is that their gradient is a number."""
    held = ~np.isfinite(probe.x[judged.places])
    if held.any():
        judged.notes.append("an entry that is not finite cannot be moved; its gradient was not checked")
        judged.slope[held] = judged.gradient[held]
        judged.verdict[held & np.isnan(judged.gradient)] = WRONG
    return held


def _look_closer(probe: Probe, judged: Judged, doubtful: Array, gradient: Array) -> None:
    """Try all steps for the entries that the first difference did not decide."""
    places, g = judged.places[doubtful], judged.gradient[doubtful]
    climbed = climb(probe, places)
    slope, error = climbed.slope, climbed.error
    scales = _Scales(probe, places, gradient, climbed)
    verdict = _compare(g, slope, error, scales)
    kinked = np.abs(climbed.jump) > scales.visible  # a smaller jump may be a bend nearby
    verdict[kinked & ~np.isnan(g)] = KINK
    verdict[climbed.one_sided & ((verdict == PASS) | np.isinf(g))] = PRECISION
    # log(1 - p) at p = 1 - 1e-11: every step is longer than the way to the edge, where the slope is larger still.
    verdict[climbed.steepens & (g * slope > 0) & (np.abs(g) > np.abs(slope)) & (verdict == WRONG)] = PRECISION
    # Nothing moved at all: either g is wrong, or what it adds is below the last digit of some number on the way.
    hidden = np.abs(g) * climbed.longest < 4 * probe.epsilon() * probe.largest_inside
    verdict[climbed.still & hidden & (verdict == WRONG)] = PRECISION
    # Where differences are unsure or disagree, ask a complex step: it neither truncates nor cancels.
    unsure = np.flatnonzero(((verdict == PRECISION) | (verdict == WRONG)) & ~climbed.one_sided)
    if unsure.size and (exact := complex_slopes(probe, places[unsure])) is not None:
        fine = np.isfinite(exact) & (np.abs(exact - slope[unsure]) <= 10 * error[unsure] + 1e-3 * np.abs(exact))
        unsure, exact = unsure[fine], exact[fine]
        slope[unsure] = exact
        error[unsure] = 1e-12 * np.abs(exact) + LITTLE * scales.visible[unsure] + 1e-8 * scales.nothing[unsure]
        verdict[unsure] = _compare(g[unsure], exact, error[unsure], scales.of(unsure))
    judged.slope[doubtful], judged.error[doubtful], judged.verdict[doubtful] = slope, error, verdict
    assert judged.zero is not None
    unseen = np.abs(slope) <= 3 * error + 1e-6 * scales.nothing
    judged.zero[doubtful] = (verdict == PASS) & unseen & scales.lost(g, slope, error)
    for i in np.flatnonzero(kinked | climbed.one_sided):
        judged.sides[int(doubtful[i])] = float(climbed.left[i]), float(climbed.right[i])
    _explain(judged, climbed, scales, verdict, probe)


def _leave(judged: Judged, seen: Look, others: Array) -> None:
    """Leave entries at what a first look says of them: a thousand were looked at closely, and not all are right."""
    if not others.size:
        return
    g, slope = judged.gradient[others], judged.slope[others]
    size = np.maximum(np.abs(g), np.abs(slope))
    clear = (np.abs(g - slope) > 1e-3 * size + 10 * seen.noise[others]) & (np.abs(seen.bend[others]) <= 0.01 * size)
    judged.verdict[others] = np.where(clear, WRONG, PRECISION)
    judged.notes.append(f"{others.size:,} more entries were not looked at closely")


class _Scales:
    """Tolerance scales, for each entry that is looked at closely."""

    def __init__(self, probe: Probe, places: Array, gradient: Array, climbed: Climb) -> None:
        sizes = finite_or_zero(np.abs(gradient))
        # More noise than the results explain: larger numbers cancelled inside f.
        inside = max(probe.size, climbed.noise / probe.epsilon()) / np.maximum(1.0, np.abs(probe.x[places]))
        self.relative, absolute = rounding_of(probe.coarse)
        of_input = probe.largest_of_input(sizes, places)
        self.slack = absolute * of_input
        self.rounding = probe.rounding(places, climbed.slope, climbed.error)  # of the engine's gradient, measured
        self.excused = 0.02 if probe.coarse > 1e-12 else 1e-3  # allowed relative error
        self.nothing = max(1e-7, 1e3 * probe.coarse) * inside + UNDERFLOW  # what is little beside the numbers in f
        # How small an error must be for a zero to count as seen: small beside the gradients of the same input; or, if
        # what stands there as a gradient is no more than rounding, beside the numbers in f. Without a replay, a
        # missing path from an input to the result goes unnoticed, so it must be small beside the largest gradient.
        self.visible = LITTLE * of_input
        self.unseen = self.nothing if probe.replay is not None else np.full(places.shape, LITTLE * sizes.max())
        self.engine = probe.engine[places]

    def lost(self, g: Array, slope: Array, error: Array) -> Array:
        """Where gradient and slope are no more than the rounding of a zero, beside the numbers in f."""
        zero = self.slack + self.rounding
        said = np.maximum(np.abs(g), np.abs(self.engine))  # a formula and the engine must agree on that
        return (said <= zero) & (np.abs(slope) <= zero + 3 * error) & (self.rounding <= self.nothing)

    def of(self, some: Array) -> _Scales:
        """The same for some of the entries."""
        some_of = copy.copy(self)
        for name in ("slack", "rounding", "nothing", "visible", "unseen", "engine"):
            setattr(some_of, name, getattr(self, name)[some])
        return some_of


def _compare(g: Array, slope: Array, error: Array, scales: _Scales) -> Array:
    """Verdicts from a gradient, a slope and the bound on the slope's error."""
    size = np.maximum(np.abs(g), np.abs(slope))
    gap = np.abs(g - slope)
    slack = 3 * error + scales.relative * size + scales.slack
    rounded = gap <= slack + scales.rounding
    lost = scales.lost(g, slope, error)
    agrees = (gap <= slack) | (rounded & (lost | (scales.rounding <= scales.excused * size)))
    settled = (error <= SEEN * size) | (error <= scales.visible) | (lost & (error <= scales.unseen))
    known = np.isfinite(slope)
    verdict = np.where(agrees & settled, PASS, np.where(rounded, PRECISION, WRONG))
    verdict = np.where(known, verdict, PRECISION)
    # NaN is a failure, whatever the differences say; an infinite gradient is one where the slope is finite.
    return np.where(np.isnan(g) | (np.isinf(g) & known), WRONG, verdict)


def _doubt_the_infinite(probe: Probe, judged: Judged) -> None:
    """Where f is infinite or NaN there is nothing to compare a gradient with, except the results that are finite."""
    judged.verdict[np.isinf(judged.gradient)] = PRECISION
    if not probe.partly_finite:  # what the differences say is then said of nothing, for or against
        judged.verdict[~np.isnan(judged.gradient)] = PRECISION
        judged.zero = None
    if (judged.verdict == PRECISION).any():
        judged.notes.append("the function itself is not finite here")


def _hold_against_step(judged: Judged, doubtful: Array, at_step: Array, step: float) -> None:
    """Where the gradient is right and the quotient at the caller's own step is not, the step is at fault."""
    g, error = judged.gradient[doubtful], judged.error[doubtful]
    off = ~(np.abs(at_step - g) <= 1e-3 * np.maximum(np.abs(at_step), np.abs(g)) + error)
    blamed = np.flatnonzero(off & (judged.verdict[doubtful] == PASS))
    if blamed.size:
        judged.verdict[doubtful[blamed]] = PRECISION
        judged.notes.append(
            f"with step={step:g} the quotient is {at_step[blamed[0]]:.6g}, with a fitting step "
            f"{judged.slope[doubtful[blamed[0]]]:.6g}: the step is at fault, not the gradient. Leave step out"
        )


def _explain(judged: Judged, climbed: Climb, scales: _Scales, verdict: Array, probe: Probe) -> None:
    """Add a note that says why the verdict is not clear."""
    unclear = verdict == PRECISION
    if not unclear.any() or not probe.finite:
        return
    error = probe.subject.raised
    if error is not None:
        said = f"near by, the function raises {type(error).__name__}: {error}"
    elif climbed.one_sided.any():
        said = "every step to one side leaves the domain: its edge is here, with a one-sided derivative, or very near"
    elif (scales.rounding[unclear] <= climbed.error[unclear]).any():
        said = "rounding hides the derivative from differences: try float64, or smaller numbers"
    elif probe.coarse > EPS64:
        said = "rounding explains it: in float64 the same rules give the right gradient"
    else:
        said = "the gradient itself is uncertain: it moves by as much when the inputs do by their last digit"
    judged.notes.append(said)
