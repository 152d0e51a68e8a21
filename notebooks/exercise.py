"""The exercises of the lessons: `check(yours, expected)` tells a learner whether an answer is right.

The expected answer is always computed by the lesson itself, never typed in, so that changing a lesson's numbers changes
its answers too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

TOLERANCE = 0.005  # of each entry: three digits by hand are enough
COUNTED = 0.01  # whole numbers must be met more closely: 344 is not 345

asked: list[Check] = []  # every exercise of the lesson so far


@dataclass
class Check:
    """What became of one answer; in a notebook it shows itself as a sentence."""

    expected: Any
    hint: str
    verdict: str
    right: bool

    def __repr__(self) -> str:
        return self.verdict


def check(yours: Any, expected: Any, hint: str = "") -> Check:
    """Hold an answer against what the engine computes. `None` means: not answered yet."""
    result = Check(expected, hint, *_judged(yours, expected, hint))
    asked.append(result)
    return result


def _judged(yours: Any, expected: Any, hint: str) -> tuple[str, bool]:
    if yours is None:
        return "Put your answer in place of None and run this cell again.", False
    if isinstance(expected, str | bool):
        right = yours == expected
        return ("Right." if right else f"Not yet. {hint}".strip()), right
    try:
        answer = np.asarray(yours, dtype=float)
    except (TypeError, ValueError):
        return f"Write a number, or a list of numbers; {yours!r:.40} is neither.", False
    wanted = np.asarray(expected, dtype=float)
    if answer.shape != wanted.shape:
        return f"The shape should be {wanted.shape}; yours is {answer.shape}.", False
    if _near(answer, wanted).all():
        return "Right.", True
    if _near(answer, -wanted).all():
        return "Almost: the sign is the other way round.", False
    if wanted.ndim == 2 and wanted.shape[0] == wanted.shape[1] and _near(answer, wanted.T).all():
        return "Almost: it is transposed.", False
    wrong = int(np.sum(~_near(answer, wanted)))
    where = f" {wrong} of {wanted.size} entries are off." if wanted.size > 1 else ""
    return f"Not yet.{where} {hint}".strip(), False


def _near(answer: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Entry by entry: near enough for a calculation by hand."""
    largest = float(np.max(np.abs(wanted), initial=0.0))
    slack = np.maximum(TOLERANCE * np.abs(wanted), TOLERANCE / 10 * largest)
    slack = np.where(wanted == np.round(wanted), np.minimum(slack, COUNTED), slack)
    return np.abs(answer - wanted) <= np.maximum(slack, 1e-12)
