"""What a check found: a verdict, and for each entry both numbers, their ratio and why.

    entry  handgrad        measured ± bound  handgrad / measured  verdict
    x[0]   0.66666667  1.00000000 ± 3e-11              0.6666667  wrong
"""

from __future__ import annotations

import functools
import html
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from autograd.errors import counted, printable

from .options import DEFAULT, VERDICTS, Options
from .verdict import Array, Judged

SHOWN = 8  # rows of the table


@dataclass(frozen=True)
class Entry:
    """One number of one input: the gradient that was checked, the slope that was measured, and the verdict."""

    input: str
    index: tuple[int, ...]
    gradient: float
    difference: float
    error: float  # a bound on the error of the difference; 0 if it was computed in 90 digits
    verdict: str
    left: float = float("nan")  # one-sided derivatives, at a kink or the edge of a domain
    right: float = float("nan")
    order: int = 1
    point: int = 1  # 2 and up: a random point

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
        place = f"{self.input}[{', '.join(map(str, self.index))}]" if self.index else self.input
        return place if self.point == 1 else f"{place} at point {self.point}"


@dataclass(eq=False)
class Part:
    """The findings for one input, at one order: those of the places from `start` to `stop`."""

    name: str
    shape: tuple[int, ...]
    judged: Judged
    start: int
    stop: int
    order: int = 1
    point: int = 1

    @functools.cached_property
    def rows(self) -> Array:
        """The places of this input that were looked at."""
        places = self.judged.places
        return places[slice(*np.searchsorted(places, (self.start, self.stop)))]

    @property
    def count(self) -> int:
        return self.rows.size

    def entries(self, failing: bool = False) -> Iterator[Entry]:
        """The findings one by one: all, or those that did not pass."""
        j = self.judged
        for i in (self.rows[j.verdict[self.rows] != 0] if failing else self.rows).tolist():
            index = tuple(int(n) for n in np.unravel_index(i - self.start, self.shape)) if self.shape else ()
            yield Entry(
                self.name, index, float(j.gradient[i]), float(j.slope[i]), float(j.error[i]),
                VERDICTS[j.verdict[i]], *j.sides.get(i, (math.nan, math.nan)), self.order, self.point,
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
    cotangents: tuple[Any, ...] = field(default=(), repr=False)  # the results' weights, 1 for a single scalar
    options: Options = field(default=DEFAULT, repr=False)
    ours: bool = True  # whether the gradient is handgrad's, and not the user's own
    tied: list[str] = field(default_factory=list)  # the ops that stand at a breakpoint

    @property
    def ok(self) -> bool:
        """Whether every entry passed, or has a verdict that the caller allows; `if report:` means the same."""
        return self.verdict == "pass" or self.verdict in self.options.allow

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
        """The largest gap between gradient and slope, relative to the larger of the two and its input's scale."""
        gaps = [0.0]
        for part in self.parts:
            gradient, slope = part.judged.gradient[part.rows], part.judged.slope[part.rows]
            if gradient.size:
                size = np.maximum(np.abs(slope), np.max(np.abs(gradient)))
                gap = np.abs(gradient - slope)
                gap = np.where((gap == 0) | part.judged.zero[part.rows], 0.0, gap / size)
                gaps.append(float(np.nanmax(gap)) if np.isfinite(gap).any() else float("nan"))
        return max(gaps)

    def __str__(self) -> str:
        return printable("\n".join(self.lines()))

    def lines(self) -> list[str]:
        """The report as text."""
        lines = [self.first_line]
        if self.verdict == "pass":
            lines.append(f"  largest relative gap {self.worst:.1e}")
        elif self.failures:
            lines += _table(self.rows())
            if len(self.failures) > SHOWN:
                lines.append(f"  … and {len(self.failures) - SHOWN:,} more")
        return lines + [f"  - {text}" for text in self.remarks()]

    @property
    def first_line(self) -> str:
        """The verdict, and all that is needed to follow and to repeat the check."""
        inputs = len({part.name for part in self.parts})
        what = f"{counted(self.count, 'entry', 'entries')} of {counted(inputs, 'input')}"
        order = f", order {self.order}" if self.order > 1 else ""
        mode = f", {self.mode} mode" if self.mode != "reverse" else ""
        weights = "" if self.verdict == "nondeterministic" else _weights(self.cotangents)
        allowed = ", as allowed" if self.ok and self.verdict != "pass" else ""
        return f"{self.function}: {self.verdict}{allowed}  ({what}{order}{mode}, seed {self.seed}{weights})"

    def remarks(self) -> list[str]:
        """The sentences below the numbers."""
        return [*self.diagnosis, *self._kinks(), *self.notes]

    def rows(self) -> list[tuple[str, ...]]:
        """The failing entries in columns, the worst first, below their headings."""
        who = "handgrad" if self.ours else "yours"
        rows: list[tuple[str, ...]] = [("entry", who, "measured ± bound", f"{who} / measured", "verdict")]
        for e in self.failures[:SHOWN]:
            digits = _digits(e.gradient, e.difference)
            known = "exact" if e.error == 0 else f"± {e.error:.0e}"
            name = e.where if e.order == 1 else f"∇{e.where}"
            rows.append((name, f"{e.gradient:.{digits}g}", f"{e.difference:.{digits}g} {known}",
                         "" if e.verdict == "kink" else f"{e.ratio:.{digits}g}", e.verdict))  # fmt: skip
        return rows

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

    def _repr_html_(self) -> str:
        """The same as a table, for notebooks."""
        first, *others = self.rows() if self.failures else [()]
        head = "".join(f"<th style='text-align:left'>{html.escape(c)}</th>" for c in first)
        body = "".join("<tr>" + "".join(f"<td>{html.escape(c)}</td>" for c in row) + "</tr>" for row in others)
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" if others else ""
        notes = "".join(f"<li>{html.escape(text)}</li>" for text in self.remarks())
        gap = f"<p>largest relative gap {self.worst:.1e}</p>" if self.verdict == "pass" else ""
        sign = "✓" if self.ok else "✗"
        return f"<div><p><b>{sign} {html.escape(self.first_line)}</b></p>{gap}{table}<ul>{notes}</ul></div>"

    def as_dict(self) -> dict[str, Any]:
        """The report as plain data, for `handgrad check --json`."""
        return {
            "function": self.function, "verdict": self.verdict, "ok": self.ok, "entries": self.count,
            "gap": self.worst if math.isfinite(self.worst) else None, "seed": self.seed, "order": self.order,
            "culprit": self.culprit, "remarks": self.remarks(),
            "failures": [
                {"entry": e.where, "gradient": _or_text(e.gradient), "measured": _or_text(e.difference),
                 "bound": _or_text(e.error), "verdict": e.verdict} for e in self.failures
            ],
        }  # fmt: skip


def _or_text(x: float) -> Any:
    return x if math.isfinite(x) else str(x)


def _digits(one: float, other: float) -> int:
    """So many digits that two numbers look different if they are."""
    size, gap = max(abs(one), abs(other)), abs(one - other)
    if not (0 < gap < math.inf and size > 0):
        return 8
    return min(17, max(8, 3 - math.floor(math.log10(gap / size))))


def _gap(e: Entry) -> float:
    gap = abs(e.gradient - e.difference)
    return gap if gap == gap else float("inf")


def _table(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    last = len(widths) - 1
    lines = []
    for row in rows:
        cells = [f"{c:<{w}}" if i in (0, last) else f"{c:>{w}}" for i, (c, w) in enumerate(zip(row, widths))]
        lines.append("  " + "  ".join(cells).rstrip())
    return lines


def _weights(cotangents: tuple[Any, ...]) -> str:
    """What the results were weighted with; nothing where that was 1."""
    shown = []
    for u in cotangents:
        if u is not None:
            flat = np.reshape(u, -1)
            some = ", ".join(f"{w:.10g}" for w in flat[:4])
            shown.append(f"[{some}{', …' if flat.size > 4 else ''}]" if np.ndim(u) else some)
    return "" if shown in (["1"], []) else f"; results weighted with {' and '.join(shown)}"
