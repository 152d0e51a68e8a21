"""How far apart two results are."""

from __future__ import annotations

from typing import Any

import numpy as np


def gap_between(ours: Any, theirs: Any) -> float:
    """The largest difference, relative to the largest number; NaNs and infinities must stand at the same places."""
    ours = np.asarray(ours)
    finite = np.isfinite(theirs)
    if not finite.all():
        if not np.array_equal(ours[~finite], theirs[~finite], equal_nan=True):
            return np.inf
        ours, theirs = ours[finite], theirs[finite]
    if not theirs.size:
        return 0.0
    scale = float(np.max(np.abs(theirs)))
    return float(np.max(np.abs(ours - theirs))) / (scale or 1.0)
