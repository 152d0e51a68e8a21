"""Derivatives from differences, with an honest error bound; and the search for kinks.

A difference quotient errs twice: it truncates (more with a longer step) and it rounds (more with a shorter one). So
the first look takes one central difference at the usual compromise, ε^⅓, which is enough for most entries. An entry
that is not gets a ladder of steps, from far too short to far too long:

    estimate     at each rung, Richardson's extrapolation of two central differences
    noise        the rounding of the function is measured, not guessed (Moré and Wild's difference tables)
    choice       the longest step whose estimate agrees, within its noise, with those of all shorter steps (Lepski)
    kink         a fit of five points, f₀ + bt + ct² + dt³ + k|t|: k stays at a kink and falls as h³ elsewhere
    cliff        a quotient that grows without end as the step shrinks: the function jumps
    sides        one-sided derivatives, chosen on the ladder in the same way
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from .probe import EPS64, Probe, usual_step

Array = np.ndarray[Any, Any]

RUNG = 8.0  # each step of the ladder is so many times the one before
BEND = 1e-4  # a first look that bends more than this much of the slope is looked at again
FAINT = 1e-6  # a jump of the slope by less than this much of it is a bend close by, not a kink
POINTS = np.array([1.0, -1.0, 2.0, -2.0])  # in steps: where a rung of the ladder is evaluated


@dataclass
class Look:
    """The first look: one central difference for each entry."""

    up: Array  # f(x+h) - f(x)
    down: Array
    slope: Array
    bend: Array  # (f(x+h) - 2f(x) + f(x-h)) / h: the jump of the slope at a kink, h f'' elsewhere
    noise: Array  # a bound on what rounding adds to the slope

    @property
    def still(self) -> Array:
        """Where nothing at all changed."""
        return (self.up == 0) & (self.down == 0)


def look(probe: Probe, places: Array, step: float | None) -> Look:
    """Some entries moved a little, both ways, one by one. With a step of the caller's, in their own dtype."""
    native = step is not None
    x, scale = (probe.x, probe.scale) if places is probe.places else (probe.x[places], probe.scale[places])
    epsilon = probe.epsilon(native)
    h = usual_step(scale, epsilon) if step is None else np.full(x.shape, step)
    h = really_added(probe, x, h, native)
    up, down = probe.entries(places, np.array([x + h, x - h]), native).reshape(2, len(places))
    return Look(up, down, (up - down) / (h + h), (up + down) / h, 4 * epsilon * probe.size / h)


def really_added(probe: Probe, x: Array, steps: Array, native: bool = False) -> Array:
    """What a step comes to after rounding, in float64 or, for calls and native replays, in the inputs' own dtype."""
    if probe.epsilon(native) > EPS64:
        dtype = min((s.dtype for s in probe.subject.sources), key=lambda d: d.itemsize)
        return (x + steps).astype(dtype).astype(np.float64) - x
    return (x + steps) - x


# --- the ladder ---------------------------------------------------------------------------------------------


@dataclass
class Climb:
    """What a ladder of steps gives for some entries."""

    slope: Array
    error: Array  # a bound on the error of the slope
    left: Array  # one-sided derivatives; NaN where there is none
    right: Array
    jump: Array  # of the slope, where there is a kink; 0 elsewhere
    one_sided: Array  # the function is defined on one side only
    steepens: Array  # and is the steeper the shorter the step: the edge of its domain may be nearer than any step
    still: Array  # no step changed anything
    longest: Array  # step
    noise: float  # of the weighted sum


@np.errstate(all="ignore")
def climb(probe: Probe, places: Array) -> Climb:
    """Look at some entries with every step that could be the right one."""
    x = probe.x[places]
    epsilon = probe.epsilon()
    sigma = noise(probe)
    h = ladder(x, epsilon)  # (entries, rungs)
    steps = really_added(probe, x[:, None, None], h[:, :, None] * POINTS)
    rungs = h.shape[1]
    values = (x[:, None, None] + steps).reshape(len(x), -1)
    moved = probe.entries(places, values.T).reshape(rungs, 4, len(x)).T
    up, down, up2, down2 = np.moveaxis(moved, 1, 0)
    real = np.where(np.abs(steps[..., 0] / h - 1) < 0.01, h, np.nan)  # rounding swallowed the step
    rounding = (sigma + epsilon * np.fmax(np.abs(up2), np.abs(down2))) / real
    near = (up - down) / (steps[..., 0] - steps[..., 1])
    far = (up2 - down2) / (steps[..., 2] - steps[..., 3])
    slope, error = longest_consistent((4 * near - far) / 3, 3 * rounding, near)
    rightward, leftward = (4 * up - up2) / (2 * real), -(4 * down - down2) / (2 * real)
    right, right_error = longest_consistent(rightward, 4 * rounding, up / real)
    left, left_error = longest_consistent(leftward, 4 * rounding, -down / real)
    jump = kink((2 * (up + down) - (up2 + down2) / 2) / real, 6 * rounding)
    faint = np.abs(right - left) <= 3 * (right_error + left_error) + FAINT * np.maximum(np.abs(left), np.abs(right))
    jump[faint] = 0.0
    upright = cliff(near, 3 * rounding)
    jump = np.where(jump == 0, upright, jump)
    left, right = _endless(left, upright), _endless(right, upright)
    has_right, has_left = np.isfinite(up).any(1), np.isfinite(down).any(1)
    # At the edge of a domain no step to one side has a value.
    one_sided = has_right ^ has_left
    slope = np.where(one_sided, np.where(has_right, right, left), slope)
    error = np.where(one_sided, np.where(has_right, right_error, left_error), error)
    upwards = cliff(np.where(has_right[:, None], rightward, leftward), 4 * rounding) != 0
    return Climb(
        slope, error, left, right, jump, one_sided, one_sided & upwards, ~np.any(moved, axis=(1, 2)), h[:, -1], sigma
    )


def _endless(side: Array, upright: Array) -> Array:
    """One-sided slopes, infinite where the function jumps or is vertical on that side."""
    return np.where((upright != 0) & (np.abs(side) > 0.1 * np.abs(upright)), np.copysign(np.inf, side), side)


def ladder(x: Array, epsilon: float) -> Array:
    """Steps for each entry, short to long: from what rounding all but swallows to a part of the entry itself."""
    size = np.abs(x)
    scale = np.where(size > 0, np.clip(size, 1e-290, 1.0), 1e-9)  # zero has no size of its own
    low = epsilon**0.55 * scale
    high = 0.03 * np.maximum(1.0, size)
    rungs = math.ceil(float(np.log(np.max(high / low)) / math.log(RUNG))) + 1 if x.size else 1
    return low[:, None] * (high / low)[:, None] ** (np.arange(rungs) / max(rungs - 1, 1))


def longest_consistent(estimates: Array, bounds: Array, cruder: Array) -> tuple[Array, Array]:
    """For each row, the estimate of the longest step that agrees with those of all shorter ones; and its bound.

    `cruder` are the quotients that the estimates were extrapolated from.
    """
    valid = np.isfinite(estimates) & np.isfinite(bounds)
    low = np.maximum.accumulate(np.where(valid, estimates - bounds, -np.inf), axis=1)
    high = np.minimum.accumulate(np.where(valid, estimates + bounds, np.inf), axis=1)
    good = valid & (low <= high)
    last = good.shape[1] - 1 - np.argmax(good[:, ::-1], axis=1)
    rows = np.arange(len(estimates))
    found = good[rows, last]
    # Its truncation is bounded by what the step before it says; the shortest of all asks the next longer one.
    first = np.argmax(valid, axis=1)
    other = np.where(last > first, last - 1, np.minimum(last + 1, good.shape[1] - 1))
    truncation = np.abs(estimates[rows, last] - estimates[rows, other])
    alone = np.abs(estimates - cruder)[rows, last]  # no other step stays within the domain
    error = bounds[rows, last] + np.where(np.isfinite(truncation), truncation, alone)
    return np.where(found, estimates[rows, last], np.nan), np.where(found, error, np.inf)


def kink(jumps: Array, bounds: Array) -> Array:
    """For each row, the jump of the slope if there is a kink, else 0.

    At a kink the fitted jump stays as the step shrinks (or grows: a cusp, a step); elsewhere it falls as h³. It must
    be seen on three rungs on end, and by every shorter step that could see it: a kink close by is not a kink here.
    """
    size = np.abs(jumps)
    seen = np.isfinite(size) & (size > 4 * bounds)
    found = np.zeros(len(jumps))
    for j in reversed(range(jumps.shape[1] - 2)):  # the shortest that fits has the last word
        first, second, third = size[:, j : j + 3].T
        fits = seen[:, j : j + 3].all(axis=1) & (third > 30 * bounds[:, j + 2])
        fits &= (first / second > 0.4) & (first / second < 1.2 * RUNG)
        fits &= (second / third > 0.4) & (second / third < 1.2 * RUNG)
        could_see = np.isfinite(size[:, :j]) & (4 * bounds[:, :j] < 0.3 * first[:, None])
        fits &= (~could_see | (size[:, :j] > 0.4 * first[:, None])).all(axis=1)
        found[fits] = jumps[fits, j]
    return found


def cliff(slopes: Array, bounds: Array) -> Array:
    """For each row, the slope at the shortest step if the function jumps or is vertical there, else 0.

    Then the difference quotient grows and grows as the step shrinks, on each of the three shortest rungs.
    """
    shortest = np.argsort(~np.isfinite(slopes), axis=1, kind="stable")[:, :3]
    three, bound = (np.take_along_axis(array, shortest, axis=1) for array in (slopes, bounds))
    if three.shape[1] < 3:
        return np.zeros(len(slopes))
    steep = np.abs(three)
    grows = (steep[:, 0] > 1.8 * steep[:, 1]) & (steep[:, 1] > 1.8 * steep[:, 2])
    return np.where(np.isfinite(three).all(axis=1) & (steep > 30 * bound).all(axis=1) & grows, three[:, 0], 0.0)


SPACINGS = (64.0, 1e6, 1e9, 1e12)  # of the points of a difference table, in rounding units
TABLE = np.arange(8.0)
CENTRES = (-3.5, 40.0, -40.0)  # where tables stand: a jump of the function spoils only one


def noise(probe: Probe) -> float:
    """The rounding error of the weighted sum, measured: from tables of differences along one random direction.

    Differences of a smooth function die out from order to order, those of noise do not (Moré and Wild, 2011). Rounding
    may also come in steps, as when a large number is added and taken away again: so tables of several spacings, up to
    where the function itself turns between two points.
    """
    x = probe.x
    epsilon = probe.epsilon()
    signs = np.where(np.random.default_rng(x.size).random(x.size) < 0.5, -1.0, 1.0)
    own = np.where(np.isfinite(x), np.where(x == 0, 1.0, np.abs(x)), 0.0) * signs
    spacings = epsilon * np.array([s for s in SPACINGS if s * epsilon < 1e-3])
    points = (spacings[:, None, None] * (TABLE + np.array(CENTRES)[:, None])).reshape(-1, 1)
    tables = probe.changes(x + points * own).reshape(len(spacings), len(CENTRES), len(TABLE))
    largest = 0.5 * epsilon * probe.size
    for i, group in enumerate(tables):
        measured = float(np.median([noise_of(table) for table in group]))
        if i and _turns(tables[i - 1], group, spacings[i] / spacings[i - 1], largest, measured):
            break
        largest = max(largest, measured)
    return max(largest, 1e-300)


def _turns(closer: Array, wider: Array, ratio: float, known: float, measured: float) -> bool:
    """Whether what looks like noise in wider tables is the function itself, which closer ones still resolve.

    Its second differences grow with the square of the spacing, so those of the closer tables predict it; or there is
    nothing but noise in the wider tables where the closer ones show next to none.
    """
    bend, close = (float(np.median(size)) for size in (np.abs(np.diff(closer, 2)).max(axis=1), np.ptp(closer, axis=1)))
    predicted = bend > 8 * known and bend * ratio**2 > 0.1 * measured
    return predicted or (close > 30 * known and measured > 0.1 * float(np.median(np.ptp(wider, axis=1))))


def noise_of(table: Array) -> float:
    """The noise in equally spaced values; 0 if what differs is smooth."""
    if not np.isfinite(table).all():
        return 0.0
    sigmas = []
    for order in range(2, 7):
        differences = np.diff(table, order)
        gamma = math.factorial(order) ** 2 / math.factorial(2 * order)
        sigmas.append(math.sqrt(gamma * float(np.mean(differences**2))))
        both_signs = bool((differences > 0).any() and (differences < 0).any())
        if len(sigmas) >= 3 and both_signs and max(sigmas[-3:]) <= 4 * min(sigmas[-3:]):
            return sigmas[-3]
    return 0.0


# --- the Taylor remainder -----------------------------------------------------------------------------------


def taylor_slope(probe: Probe, gradient: Array, seed: int) -> float | None:
    """How fast `f(x + tv) - f(x) - t g·v` falls with t: with slope 2 if g is the gradient, 1 if it is not.

    None where rounding hides the answer (a linear function has no remainder at all).
    """
    v = np.random.default_rng(seed).choice([-1.0, 1.0], probe.x.shape) * np.maximum(1e-3, np.abs(probe.x))
    v = np.where(np.isfinite(v), v, 0.0)
    slope = float(gradient @ v)
    t = 2.0 ** -np.arange(4, 16)
    remainder = np.abs(probe.changes(probe.x + t[:, None] * v) - t * slope)
    seen = np.isfinite(remainder) & (remainder > 100 * probe.epsilon() * probe.size)
    if seen.sum() < 4 or not math.isfinite(slope):
        return None
    return float(np.polyfit(np.log(t[seen]), np.log(remainder[seen]), 1)[0])
