"""The exercises of the lessons: `check("3.1", yours)` tells a learner whether an answer is right.

The answers are in `answers.py`, computed by the engine and never typed in.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import Any

import answers
import numpy as np
from backward_lines import Line

TOLERANCE = 0.005  # of each entry: three digits by hand are enough
COUNTED = 0.01  # integers must be met more closely: 344 is not 345
FOR_PAGES = "application/vnd.handgrad.exercise"  # what a page without Python judges by; others show the sentence

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

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        rule = json.dumps({"hint": self.hint} | _rule(self.expected))
        return {"text/plain": self.verdict, FOR_PAGES: base64.b64encode(rule.encode()).decode()}


def check(number: str, yours: Any, **given: Any) -> Check:
    """Hold an answer against the engine's. `None` means: not answered yet. `given` is what the answer depends on."""
    answer = getattr(answers, f"exercise_{number.replace('.', '_')}")
    result = judge(yours, answer(**given), answer.__doc__ or "")
    asked.append(result)
    return result


def judge(yours: Any, expected: Any, hint: str = "") -> Check:
    """Hold an answer against an expected one."""
    return Check(expected, hint, *_judged(yours, expected, hint))


def _judged(yours: Any, expected: Any, hint: str) -> tuple[str, bool]:
    if yours is None:
        return "Put your answer in place of None and run this cell again.", False
    if isinstance(expected, Line):
        return _held(yours, expected, hint)
    if isinstance(expected, str | bool):
        right = yours == expected
        return ("Right." if right else f"Not yet. {hint}".strip()), right
    try:
        answer = np.asarray(yours, dtype=float)
    except (TypeError, ValueError):
        return f"Write a number, or a list of numbers; {yours!r:.40} is neither.", False
    if isinstance(expected, answers.AnyOf):
        expected = min(expected, key=lambda one: float(np.abs(answer - one).sum()))
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


def _held(yours: Any, line: Line, hint: str) -> tuple[str, bool]:
    """A backward line, held against finite differences."""
    if not isinstance(yours, str):
        return f'Write the line as text, such as "g * 2". It may use {line.names}.', False
    try:
        right = line.holds(yours)
    except Exception as error:
        return f"That cannot be computed: {error}. The line may use {line.names}.", False
    return ("Right." if right else f"Not yet: finite differences give other numbers. {hint}".strip()), right


def _near(answer: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Entry by entry: near enough for a calculation by hand."""
    return np.abs(answer - wanted) <= _slack(wanted)


def _slack(wanted: np.ndarray) -> np.ndarray:
    largest = float(np.max(np.abs(wanted), initial=0.0))
    slack = np.maximum(TOLERANCE * np.abs(wanted), TOLERANCE / 10 * largest)
    slack = np.where(wanted == np.round(wanted), np.minimum(slack, COUNTED), slack)
    return np.maximum(slack, 1e-12)


def _rule(expected: Any) -> dict[str, Any]:
    """How a page judges: by a word, or by the least and the greatest that each number may be."""
    if isinstance(expected, Line):
        return {"line": expected.for_page(), "names": expected.names}
    if isinstance(expected, answers.InPython):
        return {"python": True}
    if isinstance(expected, str | bool):
        return {"word": str(expected).lower()}
    if isinstance(expected, answers.AnyOf):
        return {"least": [min(expected)], "greatest": [max(expected)]}
    wanted = np.asarray(expected, dtype=float)
    slack = _slack(wanted)
    return {"least": (wanted - slack).ravel().tolist(), "greatest": (wanted + slack).ravel().tolist()}
