"""What a check found: a verdict, and for each entry both numbers, their ratio and why."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import counted, printable
from .verdict import VERDICTS, Judged

SHOWN = 8  # rows of the table


@dataclass(frozen=True)
class Entry:
    """One number of one input: the gradient that was checked, the difference quotient, and the verdict."""

    input: str
    index: tuple[int, ...]
    gradient: float
    difference: float
    error: float  # a bound on the error of the difference
    verdict: str
    left: float = float("nan")  # one-sided derivatives, at a kink or the edge of a domain
    right: float = float("nan")
    order: int = 1
    engine: float | None = None  # the engine's own gradient, where a formula is checked

    @property
    def ratio(self) -> float:
        """gradient / difference: 2 means twice too large."""
        return self.gradient / self.difference if self.difference else float("nan")

    @property
    def between(self) -> bool | None:
        """At a kink: whether the gradient lies between the one-sided derivatives."""
        if self.verdict != "kink":
            return None
        low, high = sorted((self.left, self.right))
        slack = 1e-6 * max(abs(low), abs(high))
        return bool(low - slack <= self.gradient <= high + slack)

    @property
    def where(self) -> str:
        """The entry as a person would write it: `w[0, 2]`."""
        return f"{self.input}[{', '.join(map(str, self.index))}]" if self.index else self.input


@dataclass(eq=False)
class Part:
    """The findings for one input, at one order: those of the places from `start` to `stop`."""

    name: str
    shape: tuple[int, ...]
    judged: Judged
    start: int
    stop: int
    engine: Any = None
    order: int = 1

    @functools.cached_property
    def rows(self) -> slice:
        """Where in the findings this input's are."""
        return slice(*np.searchsorted(self.judged.places, (self.start, self.stop)).tolist())

    @property
    def count(self) -> int:
        return self.rows.stop - self.rows.start

    def entries(self, failing: bool = False) -> Iterator[Entry]:
        """The findings one by one: all, or those that did not pass."""
        j = self.judged
        engine = None if self.engine is None else np.reshape(self.engine, -1)
        for i in range(self.rows.start, self.rows.stop):
            if failing and not j.verdict[i]:
                continue
            place = int(j.places[i]) - self.start
            index = tuple(int(n) for n in np.unravel_index(place, self.shape)) if self.shape else ()
            yield Entry(
                self.name, index, float(j.gradient[i]), float(j.slope[i]), float(j.error[i]),
                VERDICTS[j.verdict[i]], *j.sides.get(i, (math.nan, math.nan)), self.order,
                None if engine is None else float(engine[place]),
            )  # fmt: skip


@dataclass(eq=False)
class Report:
    """The outcome of a check; `print(report)` shows all of it.

    `verdict` is "pass", or the worst that was found: "precision" (the numbers are too coarse to tell), "kink" (the
    slope jumps there), "wrong", "nondeterministic" (two calls differ).

    >>> from autograd import check_grads
    >>> report = check_grads(lambda x: x**3, 2.0)
    >>> report.ok, report.verdict
    (True, 'pass')
    """

    function: str
    verdict: str
    parts: list[Part] = field(repr=False)
    seed: int = 0
    mode: str = "reverse"
    order: int = 1
    by: str = "replay"  # how the differences were made: "replay" or "calls"
    notes: list[str] = field(default_factory=list)
    diagnosis: list[str] = field(default_factory=list)  # of a wrong gradient: the pattern, and the op at fault
    culprit: str | None = None  # the op whose own rule disagrees, by name
    taylor: float | None = None  # slope of the Taylor remainder: 2 right, 1 wrong
    cotangents: tuple[Any, ...] = field(default=(), repr=False)  # the results' weights, 1 for a single scalar

    @property
    def ok(self) -> bool:
        """Whether every entry passed; `if report:` means the same."""
        return self.verdict == "pass"

    def __bool__(self) -> bool:
        return self.ok

    @functools.cached_property
    def entries(self) -> list[Entry]:
        """Every entry that was checked, in order of inputs and places."""
        return [entry for part in self.parts for entry in part.entries()]

    @property
    def count(self) -> int:
        """How many entries were checked."""
        return sum(part.count for part in self.parts)

    @property
    def failures(self) -> list[Entry]:
        """The entries that did not pass, worst first."""
        bad = [entry for part in self.parts for entry in part.entries(failing=True)]
        return sorted(bad, key=lambda e: (-VERDICTS.index(e.verdict), -_gap(e)))

    @property
    @np.errstate(all="ignore")
    def worst(self) -> float:
        """The largest gap between gradient and difference, relative to the larger of the two and its input's scale."""
        gaps = [0.0]
        for part in self.parts:
            gradient, slope = part.judged.gradient[part.rows], part.judged.slope[part.rows]
            same = gradient == slope
            if part.judged.zero is not None:  # beside a zero, rounding does not count as a gap
                same |= part.judged.zero[part.rows]
            if gradient.size:
                size = np.maximum(np.abs(slope), np.max(np.abs(gradient)))
                gap = np.where(same, 0.0, np.abs(gradient - slope) / size)
                gaps.append(float(np.nanmax(gap)) if np.isfinite(gap).any() else float("nan"))
        return max(gaps)

    def __str__(self) -> str:
        return printable("\n".join(self.lines()))

    def lines(self) -> list[str]:
        """The report as text."""
        inputs = len({part.name for part in self.parts})
        what = f"{counted(self.count, 'entry', 'entries')} of {counted(inputs, 'input')}"
        order = f", order {self.order}" if self.order > 1 else ""
        mode = f", {self.mode} mode" if self.mode != "reverse" else ""
        lines = [f"{self.function}: {self.verdict}  ({what}{order}{mode}, seed {self.seed})"]
        if self.ok:
            lines.append(f"  largest relative gap {self.worst:.1e}")
        elif self.failures:
            lines += _table(self.failures)
        lines += [f"  - {text}" for text in (*self.diagnosis, *self._kinks(), *self._taylor(), *self.notes)]
        if not self.ok and self.cotangents:
            lines.append(f"  - {_weights(self.cotangents)}to repeat: seed={self.seed}")
        return lines

    def _taylor(self) -> Iterator[str]:
        if self.verdict == "wrong" and self.taylor is not None:
            yield f"the Taylor remainder falls with slope {self.taylor:.2f} (2: the gradient is right, 1: it is wrong)"

    def _kinks(self) -> Iterator[str]:
        for entry in self.failures:
            if entry.verdict == "kink":
                inside = "lies between them" if entry.between else "does not lie between them"
                left, right = entry.left + 0.0, entry.right + 0.0  # no -0
                yield (
                    f"{entry.where} is at a kink: the slope is {left:.6g} to the left and {right:.6g} to "
                    f"the right; the gradient {entry.gradient:.6g} {inside}"
                )
                break


def _gap(e: Entry) -> float:
    gap = abs(e.gradient - e.difference)
    return gap if gap == gap else float("inf")


def _table(entries: list[Entry]) -> list[str]:
    """The failing entries in columns, the worst first."""
    formula = any(e.engine is not None for e in entries)
    rows = [("entry", "gradient", *(("engine",) if formula else ()), "difference", "ratio", "verdict")]
    for e in entries[:SHOWN]:
        name = e.where if e.order == 1 else f"∇{e.where}"
        engine = (f"{e.engine:.8g}",) if formula and e.engine is not None else ()
        rows.append((name, f"{e.gradient:.8g}", *engine, f"{e.difference:.8g}", f"{e.ratio:.6g}", e.verdict))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["  " + "  ".join(f"{c:<{w}}" if i in (0, len(row) - 1) else f"{c:>{w}}"
                              for i, (c, w) in enumerate(zip(row, widths))).rstrip() for row in rows]  # fmt: skip
    if len(entries) > SHOWN:
        lines.append(f"  … and {len(entries) - SHOWN:,} more")
    return lines


def _weights(cotangents: tuple[Any, ...]) -> str:
    """What the results were weighted with, the first words of a note; nothing where that was 1."""
    shown = []
    for u in cotangents:
        if u is not None:
            flat = np.reshape(u, -1)
            some = ", ".join(f"{w:.4g}" for w in flat[:4])
            shown.append(f"[{some}{', …' if flat.size > 4 else ''}]" if np.ndim(u) else some)
    return "" if shown == ["1"] else f"results weighted with {' and '.join(shown)}; "
