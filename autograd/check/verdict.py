"""From numbers to verdicts: each entry of a gradient held against slopes, as closely as it takes to be sure.

    pass        the gradient is the slope, within the bound of the difference or within rounding
    wrong       it is not
    kink        the function has no slope here; those to the left and to the right are shown
    precision   no digit of the gradient, or of the difference, is known

One difference decides most entries, a ladder of steps the others. What is still in doubt is settled in 90 digits, and
only where the function has none do bounds decide alone. Tolerances are relative to the numbers at hand.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from autograd.digits import NoDigits, digits, float64

from .options import KINK, PASS, PRECISION, WRONG, Options
from .slopes.differences import Look, Slopes, ladder, line, look
from .slopes.exact import SECONDS, Exact
from .slopes.probe import EPS64, Probe, finite_or_zero

Array = np.ndarray[Any, Any]

BEND = 1e-4  # a first look that bends by more than this part of the slope is looked at again
SEEN = 1e-6  # a slope is known if its bound is no more than this part of it
LITTLE = 1e-7  # beside the function itself, so small a slope is rounding
ENOUGH = 1000  # entries that are looked at closely
SEARCHED = 1.0  # seconds for the search for kinks in 90 digits
SINGLE = 40  # entries whose own slopes are computed in 90 digits


@dataclass
class Judged:
    """What was found: for each entry that was looked at, a verdict and the numbers behind it. All inputs stand in one
    long row, as in `Probe`.
    """

    places: Array  # the entries that were looked at, in order
    gradient: Array
    slope: Array
    error: Array  # a bound on its error; 0 where it was computed in 90 digits
    verdict: Array  # of small integers: PASS, PRECISION, ...
    zero: Array  # where the gradient is zero, or the rounding of a zero, and rightly
    sides: dict[int, tuple[float, float]] = field(default_factory=dict)  # one-sided slopes, where they count
    notes: list[str] = field(default_factory=list)

    @property
    def worst(self) -> int:
        return int(self.verdict[self.places].max(initial=PASS))


def judge(probe: Probe, gradient: Array, places: Array, options: Options, tied: list[Any]) -> Judged:
    """The verdict on some entries of the gradient. `tied` are the recorded nodes that stand at a breakpoint."""
    return _Judge(probe, gradient, places, options, tied).judged


class _Judge:
    def __init__(self, probe: Probe, gradient: Array, places: Array, options: Options, tied: list[Any]) -> None:
        self.probe, self.options, self.tied = probe, options, tied
        self.searches, self.edges, self.edge = 0, set[int](), False
        self.unsearched: list[Array] = [places[:0]]  # where more kinks may be than were looked for in digits
        self.relative, absolute = options.tolerance(probe.coarse)
        self.largest = probe.largest_of_input(finite_or_zero(np.abs(gradient)))
        self.slack = absolute * self.largest
        # Beside the numbers in f, so small a slope is rounding.
        self.nothing = max(LITTLE, 1e3 * probe.coarse) * probe.size / np.maximum(1.0, np.abs(probe.x))
        n = gradient.size
        self.judged = j = Judged(places, gradient.copy(), np.full(n, np.nan), np.full(n, np.inf),
                                 np.zeros(n, dtype=np.int8), np.zeros(n, dtype=bool))  # fmt: skip
        if not probe.finite:  # there is nothing to compare a gradient with
            j.verdict[places] = np.where(np.isnan(gradient[places]), WRONG, PRECISION)
            j.notes.append("the function itself is not finite here")
            return
        seen = look(probe, places, options.step)
        j.slope[places], j.error[places] = seen.slope, seen.noise
        doubtful = places[~self._clear(seen) & ~self._held()]
        always = options.digits == "always"
        if doubtful.size or tied or always:
            at_step = j.slope[doubtful]
            waiting = self._by_ladder(doubtful)
            if waiting.size or tied or always:
                self._by_digits(places if always else waiting)
            if options.step is not None:
                self._hold_against_step(doubtful, at_step)
        j.notes = list(dict.fromkeys(j.notes))

    # --- one difference -----------------------------------------------------------------------------------------------

    def _clear(self, seen: Look) -> Array:
        """Where one difference is enough: it agrees to seven digits, which no truncation does by chance."""
        j, places = self.judged, self.judged.places
        g, size = j.gradient[places], np.abs(j.gradient[places])
        agrees = np.abs(g - seen.slope) <= self.relative * size + self.slack[places] + seen.noise
        if self.probe.code is None:  # a call may cross a kink, and the mean of both slopes be the gradient
            agrees &= np.abs(seen.bend) <= BEND * np.maximum(size, 0.1 * self.largest[places]) + 2 * seen.noise
        zero = seen.still & (g == 0) & (self.probe.replay is not None)
        clear = agrees & np.isfinite(g) & (zero | (seen.noise <= 1e-3 * size))
        j.zero[places] = clear & (g == 0)
        return np.asarray(clear)

    def _held(self) -> Array:
        """Entries that are infinite or NaN cannot be moved: their gradient must only be a number."""
        j = self.judged
        held = ~np.isfinite(self.probe.x[j.places])
        if held.any():
            j.notes.append("an entry that is not finite cannot be moved; its gradient was not checked")
            at = j.places[held]
            j.slope[at] = j.gradient[at]
            j.verdict[at[np.isnan(j.gradient[at])]] = WRONG
        return held

    # --- a ladder of steps --------------------------------------------------------------------------------------------

    def _by_ladder(self, doubtful: Array) -> Array:
        """Try all steps for the entries that the first difference did not decide; those that are still in doubt."""
        j, waiting = self.judged, [doubtful[:0]]
        for start in range(0, doubtful.size, ENOUGH):
            some = doubtful[start : start + ENOUGH]
            waiting.append(some[self._compare(some, ladder(self.probe, some))])
            rest = doubtful[start + ENOUGH :]
            if waiting[-1].size and rest.size:
                gap, size = np.abs(j.gradient[rest] - j.slope[rest]), np.abs(j.slope[rest])
                j.verdict[rest] = np.where(gap > 1e-3 * size + 10 * j.error[rest], WRONG, PRECISION)
                j.notes.append(f"{rest.size:,} more entries were not looked at closely")
                break
        return np.concatenate(waiting)

    def _compare(self, some: Array, found: Slopes) -> Array:
        """Set the verdicts that bounds give; True where the last word is still to be had."""
        j, probe = self.judged, self.probe
        g, slope, bound = j.gradient[some], found.slope, found.bound
        size, gap = np.maximum(np.abs(g), np.abs(slope)), np.abs(g - slope)
        agrees = gap <= bound + self.relative * size + self.slack[some]
        known = (bound <= SEEN * size) | (bound <= 1e-9 * self.largest[some])
        inside = np.maximum(probe.size, found.noise / probe.epsilon) / np.maximum(1.0, np.abs(probe.x[some]))
        self.nothing[some] = np.maximum(self.nothing[some], max(LITTLE, 1e3 * probe.coarse) * inside)
        wobble = 8 * probe.wobble[some]
        rounded = agrees | (gap <= bound + wobble)
        little = (np.abs(g) <= wobble + self.slack[some]) & (np.abs(slope) <= wobble + bound) & rounded
        little &= size + bound <= self.nothing[some]
        j.zero[some] = little | ((g == 0) & (bound <= self.nothing[some]) & agrees)
        digits_left = bound <= 0.1 * size
        verdict = np.where(agrees & (digits_left | little), PASS, np.where(rounded, PRECISION, WRONG))
        kink = found.kink & (probe.code is None)
        verdict = np.where(kink, KINK, np.where(found.edge & (verdict == PASS), PRECISION, verdict))
        # log(1 - p) at p = 1 - 1e-11: every step is longer than the way to the edge, where the slope is larger still.
        steeper = found.edge & found.steepens & (g * slope > 0) & (np.abs(g) > np.abs(slope)) & (verdict == WRONG)
        verdict = np.where(steeper | ~np.isfinite(slope), PRECISION, verdict)
        # NaN is a failure, whatever the differences say; an infinite gradient is one where the slope is finite.
        verdict = np.where(np.isnan(g) | (np.isinf(g) & np.isfinite(slope) & ~found.edge), WRONG, verdict)
        j.slope[some], j.error[some], j.verdict[some] = slope, bound, verdict
        for i in np.flatnonzero(kink | found.edge):
            left, right = j.sides[int(some[i])] = float(found.left[i]), float(found.right[i])
            if verdict[i] == KINK:
                j.slope[some[i]] = left / 2 + right / 2
        self.edge = self.edge or bool(found.edge.any())
        return ~((verdict == PASS) & known) & ~np.isnan(g)

    # --- 90 digits ----------------------------------------------------------------------------------------------------

    def _by_digits(self, waiting: Array) -> None:
        """Settle entries in 90 digits; where the function has none, what the bounds said stays."""
        try:
            exact = Exact(self.probe, bool(self.tied), self.options.digits == "always")
            if exact.by_ops:
                self._by_rules(exact, waiting)
            else:
                self._one_by_one(exact, waiting)
        except NoDigits as error:
            if self.tied:
                self._kinks_by_steps(self.judged.places[:ENOUGH])
            self._explain(waiting, str(error))
        else:
            self._explain(waiting, "")

    def _by_rules(self, exact: Exact, waiting: Array) -> None:
        j, rng = self.judged, np.random.default_rng(self.options.seed + 1)
        if self.tied:
            self._find_kinks(exact, rng)
        smooth = np.where((j.verdict == KINK) | ~np.isfinite(self.probe.x), 0.0, exact.scale)
        smooth[[*self.edges, *np.concatenate(self.unsearched)]] = 0.0
        waiting = waiting[smooth[waiting] != 0]
        if not smooth.any():
            return
        by_rules = exact.gradient()
        if not math.isfinite(exact.sides(line(rng, smooth)).slope):
            raise NoDigits("its domain ends here")
        if not exact.disagrees(by_rules, line(rng, smooth)):
            self._settle(waiting, float64(by_rules)[waiting])
            return
        sure = (j.verdict[waiting] == WRONG) & np.isfinite(j.slope[waiting])
        self._one_by_one(exact, waiting[~sure])
        if not (j.verdict == WRONG).any():  # an error that no difference in float64 sees
            place = self._halve(exact, by_rules, smooth, rng)
            found = exact.entry(place)
            self._settle(np.array([place]), np.array([found.slope]), float64(found.error))
            j.verdict[place] = WRONG
            j.places = np.union1d(j.places, [place])
            j.notes.append(f"seen in 90 digits: the rule is off by {_off(by_rules[place], found.exact)} there")

    def _halve(self, exact: Exact, by_rules: Any, scale: Array, rng: np.random.Generator) -> int:
        """The entry at which the rules disagree with the slopes: a failing line halved, down to one."""
        places = np.flatnonzero(scale)
        while places.size > 1:
            half, v = places[: places.size // 2], np.zeros(scale.size)
            v[half] = line(rng, scale[half])
            places = half if exact.disagrees(by_rules, v) else places[places.size // 2 :]
        return int(places[0])

    def _find_kinks(self, exact: Exact, rng: np.random.Generator) -> None:
        """Entries whose slopes to the left and to the right differ: lines over ever smaller parts lead to them."""
        self.searches = int(np.clip(SEARCHED / (3 * exact.each), 20, 600))
        everything = np.flatnonzero(np.isfinite(self.probe.x))
        if everything.size:
            self._search(exact, everything, rng)
        left = np.intersect1d(np.concatenate(self.unsearched), self.judged.places)
        if left.size:
            self._kinks_by_steps(left)

    def _search(self, exact: Exact, places: Array, rng: np.random.Generator) -> bool:
        """Whether there is a kink along some of the entries; it is marked at the single ones that have it."""
        if not self.searches:
            self.unsearched.append(places)
            return False
        self.searches -= 1
        v = np.zeros(exact.scale.size)
        v[places] = line(rng, exact.scale[places])
        sides = exact.sides(v)
        if math.isnan(sides.left) or math.isnan(sides.right):  # a domain ends here, for some of them
            if places.size == 1:
                self.edges.add(int(places[0]))
                return False
            halves = places[: places.size // 2], places[places.size // 2 :]
            return any([self._search(exact, half, rng) for half in halves])
        if not (sides.kink or _bends(exact, v, rng)):
            return False
        if places.size == 1:
            ends = sorted(((sides.left / v[places[0]], -v[places[0]]), (sides.right / v[places[0]], v[places[0]])),
                          key=lambda end: end[1])  # fmt: skip
            self._mark_kink(int(places[0]), ends[0][0], ends[1][0])
            return True
        found = [self._search(exact, half, rng) for half in (places[: places.size // 2], places[places.size // 2 :])]
        if not any(found) and self.searches:  # slopes that do not add up, as at a median of equal numbers
            for place in places.tolist():
                one = exact.entry(place)
                self._mark_kink(place, one.left, one.right)
        return True

    def _kinks_by_steps(self, places: Array) -> None:
        """The same without digits: one-sided slopes of the function itself, whose choices change with the step."""
        kept, self.probe.code = self.probe.code, None
        found = ladder(self.probe, places)
        self.probe.code = kept
        for i in np.flatnonzero(found.kink):
            self._mark_kink(int(places[i]), found.left[i], found.right[i], found.bound[i])

    def _mark_kink(self, place: int, left: float, right: float, error: float = 0.0) -> None:
        j = self.judged
        j.places = np.union1d(j.places, [place])
        if not np.isnan(j.gradient[place]):
            j.sides[place] = float(left), float(right)
            j.slope[place], j.error[place], j.verdict[place] = float(left) / 2 + float(right) / 2, error, KINK

    def _one_by_one(self, exact: Exact, waiting: Array) -> None:
        """Slopes of single entries, as many as there is time for, those that are least known first."""
        j = self.judged
        order = waiting[np.argsort(-(j.error[waiting] / (np.abs(j.slope[waiting]) + 1e-300)), kind="stable")]
        most = max(2, min(order.size, SINGLE if exact.by_ops else int(SECONDS / exact.each / 2)))
        for place in order[:most].tolist():
            found = exact.entry(place)
            if found.kink:
                self._mark_kink(place, found.left, found.right)
            elif math.isfinite(found.slope):
                self._settle(np.array([place]), np.array([found.slope]), float64(found.error))

    def _settle(self, some: Array, slope: Array, error: float = 0.0) -> None:
        """The verdicts where the slopes are known: is the number in float64 (or float32) what they say?"""
        j, probe = self.judged, self.probe
        g, gap = j.gradient[some], np.abs(j.gradient[some] - slope)
        size, slack = np.maximum(np.abs(g), np.abs(slope)), self.slack[some]
        # So small a slope does not show beside the function itself, in twice as many digits.
        unseen = EPS64**2 * probe.size / np.maximum(probe.scale[some], 1.0)
        right = gap <= self.relative * size + slack + error + unseen
        j.slope[some] = slope
        rounding = np.maximum(8 * probe.wobble[some], probe.rounding(j.slope)[some])
        excused, largest = gap <= rounding, np.maximum(self.largest[some], np.abs(slope))
        a_digit_left = (gap <= 0.1 * largest) | (size <= self.nothing[some])
        verdict = np.where(right, PASS, np.where(excused, np.where(a_digit_left, PASS, PRECISION), WRONG))
        verdict = np.where(np.isnan(g) | (np.isinf(g) & np.isfinite(slope)), WRONG, verdict)
        j.error[some], j.verdict[some] = np.where(error > LITTLE * size, error, 0.0), verdict
        j.zero[some] = (verdict == PASS) & (size <= np.minimum(self.nothing[some], slack + rounding))
        ill = excused & ~right & (verdict == PASS) & (gap > LITTLE * largest) & ~j.zero[some]
        if ill.any():
            off = float(np.max(gap[ill] / largest[ill]))
            j.notes.append(
                f"ill conditioned: off by {off:.0e} of its size; moving the recorded numbers by their last digit moves "
                "it as much"
            )
        if (verdict == PRECISION).any():
            j.notes.append(
                "no digit is known: it moves by as much when the numbers on the way do by their last digit"
                + ("; in float64 it may be right" if probe.coarse > EPS64 else "")
            )

    # --- what is said -------------------------------------------------------------------------------------------------

    def _explain(self, waiting: Array, why: str) -> None:
        """Why the verdict is not clear, or how much is known where it is."""
        j, probe = self.judged, self.probe
        if (j.verdict[waiting] == PRECISION).any():
            if probe.subject.raised is not None:
                error = probe.subject.raised
                j.notes.append(f"near by, the function raises {type(error).__name__}: {error}")
            elif self.edge:
                j.notes.append(
                    "every step to one side leaves the domain: its edge is here, with a one-sided slope, or very near"
                )
            elif not any("digit" in note for note in j.notes):
                j.notes.append("rounding hides the slope: differences know it only to the bound shown")
        passed = waiting[(j.verdict[waiting] == PASS) & (j.error[waiting] > SEEN * np.abs(j.slope[waiting]))]
        if passed.size and why:
            sizes = np.maximum(np.abs(j.slope[passed]), self.largest[passed] + 1e-300)
            relative = float(np.max(j.error[passed] / sizes))
            if relative > SEEN:
                j.notes.append(f"differences know the slope to {max(1, int(-math.log10(relative)))} digits here")
        if why and self.options.digits == "always":
            j.notes.append(f"not settled in 90 digits: {why}")

    def _hold_against_step(self, doubtful: Array, at_step: Array) -> None:
        """Where the gradient is right and the quotient at the caller's own step is not, the step is at fault."""
        j = self.judged
        g, error = j.gradient[doubtful], j.error[doubtful]
        off = ~(np.abs(at_step - g) <= 1e-3 * np.maximum(np.abs(at_step), np.abs(g)) + error)
        blamed = np.flatnonzero(off & (j.verdict[doubtful] == PASS))
        if blamed.size:
            j.verdict[doubtful[blamed]] = PRECISION
            j.notes.append(
                f"with step={self.options.step:g} the quotient is {at_step[blamed[0]]:.6g}, with a fitting step "
                f"{j.slope[doubtful[blamed[0]]]:.6g}: the step is at fault, not the gradient. Leave step out"
            )


def _bends(exact: Exact, v: Array, rng: np.random.Generator) -> bool:
    """Whether slopes do not add up, as at a median of equal numbers, where those to both sides are the same."""
    places = np.flatnonzero(v)
    if places.size < 2:
        return False
    part = np.zeros(v.size)
    part[places] = line(rng, exact.scale[places])
    one, other, both = (exact.sides(at) for at in (v, part, digits(v) + digits(part)))
    size = abs(one.exact) + abs(other.exact) + abs(both.exact)
    return bool(abs(both.exact - one.exact - other.exact) > 1e-13 * size + one.error + other.error + both.error)


def _off(rule: Any, slope: Any) -> str:
    gap = float64(abs(rule - slope))
    size = float64(abs(slope))
    return f"{gap / size:.1e} of the slope" if size else f"{gap:.1e}"
