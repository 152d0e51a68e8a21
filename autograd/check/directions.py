"""Large inputs: not every entry by itself, but all of them at once along random directions of ±1.

Whatever the error of a gradient is, one such direction misses it with probability at most ½ (its largest part counts
with either sign, and not both can cancel the rest), so n directions miss it with probability at most 2^-n.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .probe import Probe
from .verdict import rounding_of

Array = np.ndarray[Any, Any]

EVERY = 10_000  # an input with more entries than this is checked along directions
TRIES = 20
SINGLES = 32  # entries that are looked at one by one all the same
SUSPECTS = 5  # wrong entries that are enough to know


def places_to_judge(probe: Probe, gradient: Array, seed: int, notes: list[str]) -> Array:
    """Every entry of the small inputs; of a large one some, and those to which a failing direction leads."""
    rng = np.random.default_rng(seed)
    chosen = []
    for k, (start, stop) in enumerate(zip(probe.starts, probe.starts[1:])):
        if stop - start <= EVERY:
            chosen.append(np.arange(start, stop))
            continue
        some = {start + int(np.argmax(np.abs(gradient[start:stop]))), *rng.integers(start, stop, SINGLES).tolist()}
        some |= _suspects(probe, gradient, np.arange(start, stop), rng)
        chosen.append(np.array(sorted(some)))
        notes.append(
            f"{probe.subject.names[k]} has {stop - start:,} entries: {TRIES} random directions of ±1 and {len(some)} "
            f"single entries were tried; an error is missed with probability at most 2^-{TRIES} ≈ {0.5**TRIES:.0e}"
        )
    return np.concatenate(chosen)


def _suspects(probe: Probe, gradient: Array, places: Array, rng: np.random.Generator) -> set[int]:
    """Entries at fault: a direction that fails is halved until one entry is left."""
    found: set[int] = set()
    for _ in range(TRIES):
        some = places
        if _agrees(probe, gradient, some, rng):
            continue
        while some.size > 1:
            half = some[: some.size // 2]
            some = some[some.size // 2 :] if _agrees(probe, gradient, half, rng) else half
        found.add(int(some[0]))
        if len(found) == SUSPECTS:
            break
    return found


def _agrees(probe: Probe, gradient: Array, places: Array, rng: np.random.Generator) -> bool:
    """Whether g·v is the derivative along one random v of ±1 on these places, as a central difference sees it."""
    v = np.zeros(probe.x.size)
    v[places] = np.where(np.isfinite(probe.x[places]), rng.choice([-1.0, 1.0], places.size), 0.0)
    expected = float(gradient @ v)
    norm = float(np.linalg.norm(gradient[places]))
    relative, absolute = rounding_of(probe.coarse)
    for shorter in (1.0, 16.0, 256.0, 4096.0):  # a long step may truncate, or cross a kink
        h = probe.epsilon() ** (1 / 3) / shorter
        up, down = probe.changes(np.stack([probe.x + h * v, probe.x - h * v]))
        rounding = 8 * probe.epsilon() * probe.size / h
        slack = relative * max(norm, abs(expected)) + absolute * norm + rounding
        if abs((up - down) / (2 * h) - expected) <= slack:
            return True
    return False
