"""Slopes from differences, each with a bound on its error.

A difference quotient errs twice: it truncates (more with a longer step) and it rounds (more with a shorter one).

    look     one central difference for each entry: enough where it agrees with the gradient to seven digits
    ladder   steps from long to short, extrapolated twice (Romberg). The bound is three times what the last
             extrapolation changed, plus the noise of the function, which is measured: the scatter of the shortest steps
    lines    of large inputs, random directions in place of single entries
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from .probe import EPS64, TOGETHER, Probe

Array = np.ndarray[Any, Any]

STEP = 2e-5  # of the first look, relative to the entry: in a smooth float64 function, ten digits
RUNG = 8.0  # each step of a ladder is so many times shorter than the one before
LONGEST, SHORTEST = 0.02, 1e-10


@dataclass
class Look:
    """One central difference for each entry."""

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
    """Some entries moved a little, both ways, one by one."""
    x, scale, epsilon = probe.x[places], probe.scale[places], probe.epsilon
    h = (STEP if epsilon == EPS64 else epsilon ** (1 / 3)) * scale if step is None else np.full(x.shape, step)
    h = added(probe, x, h)
    up, down = probe.entries(places, np.array([x + h, x - h])).reshape(2, len(places))
    return Look(up, down, (up - down) / (h + h), (up + down) / h, 4 * epsilon * probe.size / h)


def added(probe: Probe, x: Array, steps: Array) -> Array:
    """What a step is after rounding, in float64 or, for calls in a coarser dtype, in the inputs' own."""
    if probe.epsilon > EPS64:
        dtype = min((s.dtype for s in probe.subject.sources), key=lambda d: d.itemsize)
        return (x + steps).astype(dtype).astype(np.float64) - x
    return (x + steps) - x


# --- the ladder -----------------------------------------------------------------------------------------------------


@dataclass
class Slopes:
    """What a ladder of steps gives for some entries."""

    slope: Array
    bound: Array  # on the error of the slope
    left: Array  # one-sided slopes; NaN where there is none
    right: Array
    kink: Array  # whether the two differ, at every step that could tell
    edge: Array  # whether the function is defined on one side only
    steepens: Array  # and is the steeper the shorter the step: the edge may be nearer than any step
    noise: Array  # of the function


@np.errstate(all="ignore")
def ladder(probe: Probe, places: Array) -> Slopes:
    """Look at some entries with every step that could be the right one."""
    x = probe.x[places]
    h = rungs(x, probe.epsilon)  # (entries, rungs)
    up_by, down_by = added(probe, x[:, None], h), -added(probe, x[:, None], -h)
    values = np.stack([x[:, None] + up_by, x[:, None] - down_by]).transpose(0, 2, 1)  # (2, rungs, entries)
    up, down = probe.entries(places, values.reshape(-1, len(x))).reshape(2, h.shape[1], len(x)).transpose(0, 2, 1)
    return fitted(up, down, up_by, down_by, 0.5 * probe.epsilon * probe.size)


def along(probe: Probe, v: Array) -> Slopes:
    """The same along one line of all entries."""
    h = rungs(np.ones(1), probe.epsilon)
    rows = probe.x + np.concatenate([h[0], -h[0]])[:, None] * v
    up, down = probe.changes(rows).reshape(2, 1, -1)
    return fitted(up, down, h, h, 0.5 * probe.epsilon * probe.size)


def rungs(x: Array, epsilon: float) -> Array:
    """Steps for each entry, long to short: from a part of the entry to what rounding all but swallows."""
    size = np.abs(x)
    high = LONGEST * np.maximum(1.0, size)
    low = SHORTEST * (epsilon / EPS64) ** 0.5 * np.where(size > 0, np.clip(size, 1e-290, 1.0), 1.0)
    count = math.ceil(float(np.log(np.max(high / low)) / math.log(RUNG))) + 1 if x.size else 1
    return high[:, None] * RUNG ** -np.arange(float(count))


def fitted(up: Array, down: Array, up_by: Array, down_by: Array, least: float) -> Slopes:
    """Slopes and bounds from the changes at each rung, (entries, rungs), long steps first."""
    h = (up_by + down_by) / 2
    quotients = (up - down) / (up_by + down_by)
    noise = _noise(up, down, quotients, h, least)
    slope, bound = _best(quotients, noise[:, None] / h, 2)
    right, right_bound = _best(up / up_by, 2 * noise[:, None] / h, 1)
    left, left_bound = _best(-down / down_by, 2 * noise[:, None] / h, 1)
    jumps = [_jumps(changes, least) for changes in (up, down)]
    right = np.where(jumps[0], np.copysign(np.inf, up[:, -1]), right)
    left = np.where(jumps[1], np.copysign(np.inf, -down[:, -1]), left)
    has_right, has_left = np.isfinite(up).any(1), np.isfinite(down).any(1)
    edge = np.array(has_right ^ has_left)
    slope = np.where(edge, np.where(has_right, right, left), slope)
    bound = np.where(edge, np.where(has_right, right_bound, left_bound), bound)
    quotient: Array = np.abs(np.where(np.asarray(has_right)[:, None], up / up_by, down / down_by))
    shortest = quotient[:, -3:]
    steepens = np.array(edge & np.all(shortest[:, 1:] > 1.5 * shortest[:, :-1], axis=1))
    kink = _kinked((up + down) / h, noise[:, None] / h, slope)
    kink |= jumps[0] | jumps[1]
    return Slopes(slope, bound, left, right, kink, edge, steepens, noise)


def _noise(up: Array, down: Array, quotients: Array, h: Array, least: float) -> Array:
    """How far rounding moves the function: the scatter of the quotients at the shortest steps, back in its units."""
    changes = (np.abs(np.diff(quotients, axis=1)) * h[:, 1:])[:, -4:]
    scatter = np.max(np.where(np.isfinite(changes), changes, 0.0), axis=1, initial=0.0)
    # A function that stands still for short steps (float32 inside, say) rounds by as much as its smallest jump.
    moved = np.abs(np.concatenate([up, down], axis=1))
    waits = ((up[:, -1] == 0) & (down[:, -1] == 0)) & np.isfinite(moved).all(1)
    smallest = np.min(np.where(moved > 0, moved, np.inf), axis=1)
    jump = np.where(waits & np.isfinite(smallest), smallest, 0.0)
    jump = np.where(waits & ~np.isfinite(smallest), jump.max(initial=0.0), jump)  # and the others by as much
    return np.maximum(np.maximum(scatter, jump), least)


def _jumps(changes: Array, least: float) -> Array:
    """Whether the function jumps: it changes by as much, however short the step."""
    shortest = np.abs(changes[:, -3:])
    smallest = shortest.min(axis=1)
    return np.asarray((smallest > 0.3 * shortest.max(axis=1)) & (smallest > 1e3 * least))


def _best(quotients: Array, noise: Array, order: int) -> tuple[Array, Array]:
    """The extrapolated slope with the smallest bound: three times what its last extrapolation changed, plus noise.

    order  of the error that is taken away first: 2 for central differences, 1 for one-sided ones
    """
    best, bound = np.full(len(quotients), np.nan), np.full(len(quotients), np.inf)
    column = quotients
    for level in range(3 if order == 2 else 1):  # a one-sided slope may be that of x ** 1.5, which has no such series
        if column.shape[1] < 2:
            break
        factor = RUNG ** (order * (level + 1))
        finer, coarser = column[:, 1:], column[:, :-1]
        refined = (factor * finer - coarser) / (factor - 1) if level < 2 else finer
        error = 3 * np.abs(refined - (finer if level < 2 else coarser)) + 3 * noise[:, level + 1 :]
        error = np.where(np.isfinite(error) & np.isfinite(refined), error, np.inf)
        error = np.where(_consistent(refined, error), error, np.inf)
        at = np.argmin(error, axis=1)
        rows = np.arange(len(best))
        better = error[rows, at] < bound
        best, bound = np.where(better, refined[rows, at], best), np.where(better, error[rows, at], bound)
        column = refined
    return best, bound


def _consistent(estimates: Array, errors: Array) -> Array:
    """Whether each estimate agrees with those of all shorter steps: a long step may see another slope, far from x."""
    known = np.isfinite(errors)
    low = np.where(known, estimates - errors, -np.inf)[:, ::-1]
    high = np.where(known, estimates + errors, np.inf)[:, ::-1]
    return (np.maximum.accumulate(low, axis=1) <= np.minimum.accumulate(high, axis=1))[:, ::-1]


def _kinked(jumps: Array, noise: Array, slope: Array) -> Array:
    """Whether the slope jumps: the jump stays (or grows) as the step shrinks, as far as noise lets it be seen."""
    size = np.abs(jumps)
    seen = np.isfinite(size) & (size > 12 * noise) & (size > 1e-6 * np.abs(slope)[:, None])
    found = np.zeros(len(jumps), dtype=bool)
    for row in np.flatnonzero(seen.any(axis=1)):
        last = int(np.flatnonzero(seen[row])[-1])  # the shortest step that sees one
        if last < 2 or not seen[row, last - 2 : last + 1].all():
            continue
        if 12 * noise[row, last + 1 :].min(initial=np.inf) < 0.3 * size[row, last]:
            continue  # a shorter step could have seen it, and does not: the kink is near by
        first, second, third = size[row, last - 2 : last + 1]
        found[row] = third > 0.4 * second and second > 0.4 * first
    return found


# --- lines ----------------------------------------------------------------------------------------------------------

RESOLVED = 0.003  # of a gradient's relative tolerance; a line that fails for less only costs time
FEW, AT_LEAST = 300, 30  # entries, up to which each is looked at; of a costly function


def line(rng: np.random.Generator, scale: Array) -> Array:
    """A random direction whose entries are all of about one size, so that none is overlooked and no two cancel."""
    return rng.uniform(0.7, 1.4, scale.size) * rng.choice([-1.0, 1.0], scale.size) * scale


class Lines:
    """A gradient held against differences along random lines; and the entries to which one that fails leads.

    3 to 8 lines move all entries; and one each, where there is time, those of one input alone.
    """

    def __init__(self, probe: Probe, gradient: Array, relative: float, seed: int) -> None:
        self.probe, self.relative = probe, relative
        self.gradient = np.where(np.isfinite(probe.x), gradient, 0.0)
        self.rng = np.random.default_rng(seed)
        self.scale = np.where(np.isfinite(probe.x), probe.scale, 0.0)
        self.count = min(8, max(3, probe.affordable // 8))
        self.resolution = 0.0  # the largest error of one entry that these lines would miss

    @np.errstate(all="ignore")
    def suspects(self) -> list[int]:
        """Up to five entries at fault, one of a costly function: none if the gradient agrees along every line."""
        found: list[int] = []
        most = max(1, min(5, self.probe.affordable // 8))
        vs = np.array([line(self.rng, self.scale) for _ in range(self.count)])
        starts = self.probe.starts
        if 1 < len(starts) - 1 <= max(4, self.probe.affordable):
            alone = np.repeat(vs[:1], len(starts) - 1, axis=0)
            for v, start, stop in zip(alone, starts, starts[1:], strict=False):
                v[:start] = v[stop:] = 0.0
            vs = np.concatenate([vs, alone])
        slopes, noises = self._slopes(vs)
        self.resolution = float(max(map(self._slack, vs, noises))) / 0.7
        for v, slope, noise in zip(vs, slopes, noises, strict=True):
            closely = False
            while len(found) < most and not abs(slope - v @ self.gradient) <= self._slack(v, noise):
                if not closely:
                    seen = along(self.probe, v)
                    slope, noise, closely = float(seen.slope[0]), max(noise, float(seen.bound[0])), True
                    continue
                place = self._halve(np.flatnonzero(v))
                if place in found:
                    break
                found.append(place)
                # From here on the others are looked for: this entry's own slope takes the place of its gradient.
                self.gradient[place] = ladder(self.probe, np.array([place])).slope[0]
        return sorted(found)

    def _slack(self, v: Array, noise: float) -> float:
        """How far the gradient may be from the slope along a line."""
        return RESOLVED * self.relative * self._norm(v) + noise

    def _norm(self, v: Array) -> float:
        return math.sqrt((v * v) @ (self.gradient * self.gradient))

    def _slopes(self, vs: Array) -> tuple[Array, Array]:
        """The slope along each line from two steps, extrapolated, and a bound on its rounding."""
        probe = self.probe
        h = 0.3 * probe.epsilon ** 0.2
        portion = max(1, 4 * TOGETHER // probe.x.size)
        parts = [vs[i : i + portion] for i in range(0, len(vs), portion)]
        up, down, up_half, down_half = (
            np.concatenate([probe.changes(probe.x + s * part) for part in parts]) for s in (h, -h, h / 2, -h / 2)
        )
        norms = np.array([self._norm(v) for v in vs])
        slopes = (8 * (up_half - down_half) - (up - down)) / (6 * h)
        return slopes, 6 * probe.epsilon * (probe.size + norms * h) / h

    def _halve(self, places: Array) -> int:
        """The entry to which a failing line leads: halved, towards the half that fails by more, down to one."""
        while places.size > 1:
            halves = places[: places.size // 2], places[places.size // 2 :]
            vs = np.zeros((2, self.scale.size))
            for v, half in zip(vs, halves, strict=True):
                v[half] = line(self.rng, self.scale[half])
            slopes, noises = self._slopes(vs)
            gaps = np.nan_to_num(np.abs(slopes - vs @ self.gradient), nan=np.inf)
            slacks = np.array(list(map(self._slack, vs, noises)))
            places = halves[int(np.argmax(gaps / np.maximum(slacks, 1e-300)))]
        return int(places[0])
