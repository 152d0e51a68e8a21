"""Large inputs: not entry by entry, but all at once along random directions of ±1.

Whatever the error of a gradient is, one such direction shows at least its largest part with probability ½ or more (that
part counts with either sign, and not both can cancel the rest), so n directions miss it with probability at most 2^-n.
What they can show is limited by the rounding of the function, which grows with the number of entries: a report says how
large an error must be to be seen.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .differences import look, noise
from .probe import Probe
from .verdict import rounding_of

Array = np.ndarray[Any, Any]

EVERY = 10_000  # an input with more entries than this is checked along directions
TRIES = 20
SINGLES = 32  # entries that are looked at one by one all the same
SUSPECTS = 5  # wrong entries that are enough to know
TINY = float(np.finfo(np.float64).tiny)


def places_to_judge(probe: Probe, gradient: Array, seed: int, notes: list[str]) -> Array:
    """Every entry of the small inputs; of a large one some, and those to which a failing direction leads."""
    rng = np.random.default_rng(seed)
    chosen = []
    for k, (start, stop) in enumerate(zip(probe.starts, probe.starts[1:])):
        if stop - start <= EVERY:
            chosen.append(np.arange(start, stop))
            continue
        inside = np.arange(start, stop)
        fine = probe.fine_engine if probe.epsilon() < probe.coarse else None
        directions = Directions(probe, gradient if fine is None else fine, rng)
        some = {start + int(np.argmax(np.abs(gradient[start:stop]))), *rng.integers(start, stop, SINGLES).tolist()}
        some |= directions.suspects(inside)
        if fine is not None:
            some |= _far_from(fine, gradient, inside, probe.coarse)
        chosen.append(np.array(sorted(some)))
        notes.append(
            f"{probe.subject.names[k]} has {stop - start:,} entries: {TRIES} random directions of ±1 and {len(some)} "
            f"single entries were tried. An error of {directions.slack:.2g} or more in some entry is missed with "
            f"probability at most 2^-{TRIES} ≈ {0.5**TRIES:.0e}; kinks were looked for in the single entries"
        )
    return np.concatenate(chosen)


def _far_from(fine: Array, gradient: Array, places: Array, coarse: float) -> set[int]:
    """The entries of a gradient in a coarse dtype that are farthest from the one in float64: more than it may round.

    Along a direction the rounding of all entries adds up and hides one that is 1 % wrong. So there the gradient in
    float64 is tried, and the coarse one is compared with it entry by entry.
    """
    relative, absolute = rounding_of(coarse)
    expected = fine[places]
    sizes = np.where(np.isfinite(expected), np.abs(expected), 0.0)
    off = np.abs(gradient[places] - expected) / (relative * sizes + absolute * sizes.max(initial=0.0) + TINY)
    off = np.where(np.isnan(off), np.inf, off)
    worst = np.argsort(-off)[:SUSPECTS]
    return set(places[worst[off[worst] > 1.0]].tolist())


class Directions:
    """Whether a gradient agrees with differences along random directions, and how well they can tell."""

    def __init__(self, probe: Probe, gradient: Array, rng: np.random.Generator) -> None:
        self.probe, self.gradient, self.rng = probe, gradient.copy(), rng
        self.noise = 8 * probe.epsilon() * probe.size + 6 * noise(probe)
        self.slack = 0.0  # how large an error must be to be seen

    def suspects(self, places: Array) -> set[int]:
        """Entries at fault: a direction that fails is halved, towards the half that fails by more, down to one."""
        found: set[int] = set()
        for _ in range(TRIES):
            some = places
            gap, slack = self._try(some)
            self.slack = max(self.slack, slack)
            if not gap:
                continue
            while some.size > 1:
                halves = some[: some.size // 2], some[some.size // 2 :]
                some = max(halves, key=lambda half: float(np.divide(*self._try(half))))
            found.add(int(some[0]))
            if len(found) == SUSPECTS:
                break
            # From here on the others are looked for: this entry's own difference takes the place of its gradient.
            self.gradient[some] = look(self.probe, some, None).slope
        return found

    def _try(self, places: Array) -> tuple[float, float]:
        """How far g·v is from the derivative along one random v of ±1 on these places, and how far rounding reaches.

        The gap is 0 if it may all be rounding, at a step that is short enough.
        """
        probe = self.probe
        v = np.zeros(probe.x.size)
        v[places] = np.where(np.isfinite(probe.x[places]), self.rng.choice([-1.0, 1.0], places.size), 0.0)
        expected = float(self.gradient @ v)
        norm = float(np.linalg.norm(self.gradient[places]))
        relative, absolute = rounding_of(probe.epsilon())
        smallest = np.inf
        tried = []
        for shorter in (1 / 64, 1.0, 16.0, 256.0, 4096.0):
            h = probe.epsilon() ** (1 / 3) / shorter
            up, down = probe.changes(np.stack([probe.x + h * v, probe.x - h * v]))
            slack = relative * max(norm, abs(expected)) + absolute * norm + self.noise / h
            gap = abs(float(up - down) / (2 * h) - expected)
            # A long step may truncate, or cross a kink: such a gap shrinks with the step, that of an error does not.
            if gap <= min(slack, smallest / 4):
                return 0.0, slack
            smallest = min(smallest, gap)  # NaN where the step leaves the domain
            tried.append((gap, slack))
        return min(tried, key=lambda pair: pair[0] / pair[1])
