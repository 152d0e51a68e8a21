"""From numbers to verdicts: each entry of a gradient held against differences, as far as it takes to be sure.

    pass              the gradient agrees with the differences, within what rounding explains
    wrong             it does not
    kink              the function has no derivative here; the one-sided ones are shown
    precision         the difference quotient is at fault (dtype, cancellation, a step that leaves the domain)
    nondeterministic  two evaluations at the same place differ
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .complex_step import complex_slopes
from .differences import BEND, Climb, climb, look
from .probe import Probe

Array = np.ndarray[Any, Any]

PASS, PRECISION, KINK, WRONG, NONDETERMINISTIC = VERDICTS = (
    "pass", "precision", "kink", "wrong", "nondeterministic",
)  # fmt: skip  (from best to worst: the worst entry speaks for all)

EVERY = 10_000  # an input with more entries than this is checked along random directions


@dataclass
class Judged:
    """What was found for the entries of one source. Arrays are flat, one number per entry."""

    gradient: Array
    slope: Array  # the best difference quotient
    error: Array  # a bound on its error
    verdict: Array  # of small integers: places in VERDICTS
    left: Array
    right: Array
    places: Array | None = None  # which entries these are; None: all
    notes: list[str] = field(default_factory=list)
    directions: int = 0  # random directions tried instead of entries


def rounding_of(dtype: np.dtype[Any]) -> tuple[float, float]:
    """What a right gradient may be off by, in this dtype: relative to itself, and to the largest entry."""
    epsilon = float(np.finfo(dtype).eps)
    return 1e-7 if epsilon < 1e-12 else 1000 * epsilon, 16 * epsilon


def judge(probe: Probe, k: int, gradient: Any, step: float | None, scale: float) -> Judged:
    """The verdict on every entry of source k. `scale` is the size of the largest gradient of all sources."""
    source = probe.subject.sources[k]
    relative, absolute = rounding_of(source.dtype)
    g = np.zeros(probe.flat[k].size) if gradient is None else np.asarray(gradient, dtype=np.float64).reshape(-1)
    seen = look(probe, k, step, native=step is not None)
    size = np.maximum(np.abs(g), np.abs(seen.slope))
    gap = np.abs(g - seen.slope)
    clear = (
        (gap <= relative * size + absolute * scale + seen.noise)
        & (np.abs(seen.bend) <= BEND * size + 2 * seen.noise)
        & ((seen.noise <= 0.01 * size) | (seen.still & (g == 0)))
    )
    judged = Judged(g, seen.slope, seen.noise, np.zeros(g.size, dtype=np.int8), *_unseen(g.size))
    if not clear.all():
        fixed = ~np.isfinite(probe.flat[k])
        if fixed.any():
            judged.notes.append("an entry that is not finite cannot be moved; its gradient was not checked")
            judged.slope[fixed] = g[fixed]
            judged.verdict[fixed & np.isnan(g)] = VERDICTS.index(WRONG)
        doubtful = np.flatnonzero(~clear & ~fixed)
        at_step = seen.slope[doubtful]
        if doubtful.size:
            _look_closer(probe, k, judged, doubtful, scale)
        if step is not None:
            _hold_against_step(judged, doubtful, at_step, step)
    return judged


def _unseen(n: int) -> tuple[Array, Array]:
    nothing = np.full(n, np.nan)
    return nothing, nothing.copy()


def _look_closer(probe: Probe, k: int, judged: Judged, places: Array, scale: float) -> None:
    """Climb the ladder for the entries that a first look did not settle."""
    climbed = climb(probe, k, places)
    g = judged.gradient[places]
    relative, absolute = rounding_of(probe.subject.sources[k].dtype)
    slope, error = climbed.slope, climbed.error
    slack = absolute * scale + 8 * probe.wobble[k][places]
    visible = _visible(probe, k, places, scale, climbed.noise)
    verdict = _compare(g, slope, error, relative, slack, visible)
    verdict = np.where((climbed.jump != 0) & ~np.isnan(g), VERDICTS.index(KINK), verdict)
    edge = climbed.one_sided & ((verdict == 0) | np.isinf(g))
    verdict = np.where(edge, VERDICTS.index(PRECISION), verdict)
    # Where differences cannot tell, or say no, a complex step has neither truncation nor cancellation.
    unsure = np.flatnonzero(((verdict == VERDICTS.index(PRECISION)) | (verdict == VERDICTS.index(WRONG)))
                            & ~climbed.one_sided)  # fmt: skip
    if unsure.size and (exact := complex_slopes(probe, k, places[unsure])) is not None:
        fine = np.isfinite(exact) & (np.abs(exact - slope[unsure]) <= 10 * error[unsure] + 1e-3 * np.abs(exact))
        unsure, exact = unsure[fine], exact[fine]
        slope[unsure], error[unsure] = exact, 1e-12 * np.abs(exact) + 1e-6 * visible[unsure]
        verdict[unsure] = _compare(g[unsure], exact, error[unsure], relative, slack[unsure], np.inf)
    judged.slope[places], judged.error[places], judged.verdict[places] = slope, error, verdict
    shown = (climbed.jump != 0) | climbed.one_sided
    judged.left[places] = np.where(shown, climbed.left, np.nan)
    judged.right[places] = np.where(shown, climbed.right, np.nan)
    _explain(judged, climbed, verdict, probe)


def _compare(g: Array, slope: Array, error: Array, relative: float, slack: Array, visible: Any) -> Array:
    """Verdicts from a gradient, a slope and the bound on the slope's error."""
    size = np.maximum(np.abs(g), np.abs(slope))
    agrees = np.abs(g - slope) <= 3 * error + relative * size + slack
    settled = (error <= 0.1 * size) | (error <= visible)
    known = np.isfinite(slope)
    verdict = np.where(agrees, np.where(settled, 0, VERDICTS.index(PRECISION)), VERDICTS.index(WRONG))
    verdict = np.where(known, verdict, VERDICTS.index(PRECISION))
    # NaN is a failure, whatever the differences say; an infinite gradient is one where the slope is finite.
    return np.where(np.isnan(g) | (np.isinf(g) & known), VERDICTS.index(WRONG), verdict)


def _visible(probe: Probe, k: int, places: Array, scale: float, noise: float) -> Array:
    """How small an error must be for a zero to count as seen: small beside the gradient, or beside f itself.

    Noise tells of numbers inside f that were larger than its results: those cancelled.
    """
    natural = 1e-7 * max(probe.size, noise / probe.epsilon()) / np.maximum(1.0, np.abs(probe.flat[k][places]))
    return np.maximum(1e-6 * scale, natural)


def _hold_against_step(judged: Judged, places: Array, at_step: Array, step: float) -> None:
    """Where the gradient is right and the quotient at the caller's own step is not, the step is at fault."""
    g = judged.gradient[places]
    off = ~(np.abs(at_step - g) <= 1e-3 * np.maximum(np.abs(at_step), np.abs(g)) + judged.error[places])
    blamed = off & (judged.verdict[places] == 0)
    if blamed.any():
        first = int(np.flatnonzero(blamed)[0])
        judged.verdict[places[blamed]] = VERDICTS.index(PRECISION)
        judged.notes.append(
            f"with step={step:g} the quotient is {at_step[first]:.6g}, with a fitting step {judged.slope[places[first]]:.6g}: "
            "the step is at fault, not the gradient. Leave step out"
        )


def _explain(judged: Judged, climbed: Climb, verdict: Array, probe: Probe) -> None:
    """Say once, in words, what a number cannot."""
    if not probe.finite:
        judged.notes.append("the function itself is not finite here")
    elif (verdict == VERDICTS.index(PRECISION)).any():
        if climbed.one_sided.any():
            judged.notes.append("every step to one side leaves the domain; only a one-sided derivative exists")
        else:
            judged.notes.append("rounding hides the derivative from differences: try float64, or smaller numbers")


# --- many entries: random directions -----------------------------------------------------------------------------------


def judge_directions(probe: Probe, k: int, gradient: Any, scale: float, rng: np.random.Generator, tries: int = 20) -> Judged:
    """Source k along random directions of ±1; each misses an error with probability at most ½, whatever the error.

    A direction that fails is halved until single entries are left, and these are judged by themselves.
    """
    x = probe.flat[k]
    g = np.zeros(x.size) if gradient is None else np.asarray(gradient, dtype=np.float64).reshape(-1)
    suspects: set[int] = set()
    for _ in range(tries):
        every = np.arange(x.size)
        if not _direction_agrees(probe, k, g, every, rng, scale):
            while every.size > 1:
                half = every[: every.size // 2]
                every = half if not _direction_agrees(probe, k, g, half, rng, scale) else every[every.size // 2 :]
            suspects.add(int(every[0]))
            if len(suspects) >= 5:
                break
    some = np.unique([*suspects, *rng.integers(0, x.size, 32), int(np.argmax(np.abs(g)))])
    judged = Judged(g[some], *(np.full(some.size, np.nan) for _ in range(2)), np.zeros(some.size, np.int8),
                    *_unseen(some.size), places=some, directions=tries)  # fmt: skip
    whole = Judged(g, *(np.full(x.size, np.nan) for _ in range(2)), np.zeros(x.size, np.int8), *_unseen(x.size))
    _look_closer(probe, k, whole, some, scale)
    for name in ("slope", "error", "verdict", "left", "right"):
        setattr(judged, name, getattr(whole, name)[some])
    judged.notes = whole.notes
    judged.notes.append(
        f"{x.size:,} entries: {tries} random directions of ±1 and {some.size} single entries were tried; "
        f"an error is missed with probability at most 2^-{tries} ≈ {0.5**tries:.0e}"
    )
    return judged


def _direction_agrees(
    probe: Probe, k: int, g: Array, places: Array, rng: np.random.Generator, scale: float
) -> bool:  # fmt: skip
    """Whether g·v is the derivative along one random v of ±1 on these places, as a central difference sees it."""
    x = probe.flat[k]
    v = np.zeros(x.size)
    v[places] = rng.choice([-1.0, 1.0], places.size)
    expected = float(g @ v)
    spread = float(np.sqrt(np.sum(g[places] ** 2)))
    relative, absolute = rounding_of(probe.subject.sources[k].dtype)
    best = np.inf
    for factor in (1.0, 1 / 16, 1 / 256):
        h = factor * probe.epsilon() ** (1 / 3) * max(1.0, float(np.max(np.abs(x[places]))))
        up, down = probe.changes({k: np.stack([x + h * v, x - h * v])})
        slope = (up - down) / (2 * h)
        noise = 8 * probe.epsilon() * probe.size / h
        allowed = 10 * relative * max(spread, abs(expected)) + absolute * scale + noise
        if noise <= 0.1 * scale:
            best = min(best, abs(slope - expected) / allowed) if np.isfinite(slope) else best
        if best <= 1:
            return True
    return False
