"""The engine's numbers held against a printed worksheet, entry by entry.

    exact     the engine's number is the printed one
    rounded   the engine's number, rounded or truncated as the sheet says, is the printed one
    drift     it is not, but it is within the stated tolerance, and the author's rounded operands give the print
    erratum   the engine differs from the print, and where the sheet says how the author's own numbers
              lead there (or do not even lead there), that is worked out again

and for every entry the 50-digit judge, who knows nothing of the engine, gets the engine's number. No tolerance is
widened: they are the sheet's own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from examples.checking import printed
from examples.checking.judge import second_opinion
from examples.checking.names import value_of
from examples.checking.sheet import VERDICTS, Entry, Sheet, entries, load

JUDGE_RELATIVE, JUDGE_ABSOLUTE = 1e-11, 1e-16     # what float64 may lose against fifty digits
FAILED = "failed"


@dataclass(frozen=True)
class Finding:
    """What checking one entry found: the engine's number, the judge's, and whatever is not as it should be."""

    entry: Entry
    value: float
    judged: Decimal
    complaints: tuple[str, ...]

    @property
    def ok(self) -> bool:
        return not self.complaints


def check(name: str, quantities: Mapping[str, Any]) -> list[Finding]:
    """Hold what `run()` returned against the worksheet called `name`."""
    sheet, judge = load(name), second_opinion(name)
    return [_finding(sheet, entry, value_of(entry.what, quantities), value_of(entry.what, judge))
            for entry in sheet.entries]


def _finding(sheet: Sheet, entry: Entry, values: Any, judged: Any) -> Finding:
    complaints: list[str] = []
    # One figure is printed for a whole row once (`final[1]-out[1]`): it must hold of every number in it.
    for value, second in zip(np.ravel(values), np.ravel(judged), strict=True):
        complaints += _complaints(sheet, entry, float(value), second)
    return Finding(entry, float(np.ravel(values)[0]), np.ravel(judged)[0], tuple(complaints))


def _complaints(sheet: Sheet, entry: Entry, value: float, judged: Decimal) -> Iterable[str]:
    """Everything that is not as the verdict says, in sentences."""
    if abs(Decimal(value) - judged) > JUDGE_ABSOLUTE + JUDGE_RELATIVE * abs(float(judged)):
        yield f"the engine has {value!r}, fifty-digit decimals {judged:.17g}"
    off = abs(Decimal(value) - entry.printed)
    match entry.verdict:
        case "exact" | "drift":
            assert entry.tolerance is not None
            if off > Decimal(entry.tolerance):
                yield f"printed {entry.printed_text}, the engine has {value!r}: more than {entry.tolerance:g} apart"
            if entry.verdict == "drift" and printed.gives_printed(entry, value):
                yield f"{value!r} prints as {entry.printed_text}: that is rounded, not drift"
        case "rounded":
            fits = printed.is_truncated if entry.rounding == "truncated" else printed.is_nearest
            if not fits(entry, value):
                yield f"{value!r} ({entry.rounding}, {entry.decimals} decimals) does not print as {entry.printed_text}"
        case "erratum":
            if not _really_wrong(sheet, entry, value):
                yield f"{value!r} prints as {entry.printed_text}: not an erratum after all"
    if entry.follows is not None:
        own = printed.follow(entry)
        if printed.gives_printed(entry, own) != entry.follows.gives_printed:
            verb = "does not give" if entry.follows.gives_printed else "gives"
            yield f"{entry.follows.how} = {own:.10g} {verb} the printed {entry.printed_text}"


def _really_wrong(sheet: Sheet, entry: Entry, value: float) -> bool:
    """Whether the print is wrong in its own digits.

    A bare `0.0` among numbers of four or five digits says zero, not "less than 0.05": it is held to its neighbours'.
    """
    if entry.printed == 0:
        table = printed.name_and_index(sheet, entry.what)[0]
        decimals = max(other.decimals for other in sheet.entries
                       if printed.name_and_index(sheet, other.what)[0] == table)
        return abs(Decimal(value)) >= Decimal(1).scaleb(-decimals)
    return not printed.gives_printed(entry, value)


# ---- the table ------------------------------------------------------------------------------------------------------

def tally(findings: Iterable[Finding]) -> Counter[str]:
    """How many entries of each verdict were borne out; `failed` counts the rest."""
    return Counter(finding.entry.verdict if finding.ok else FAILED for finding in findings)


def table(tallies: Mapping[str, Counter[str]]) -> str:
    """The verdicts of several worksheets, one line each, and their sum."""
    columns = (*VERDICTS, FAILED)
    rule = "-" * (12 + 10 * len(columns) + 8)
    lines = [f"{'worksheet':<12}" + "".join(f"{column:>10}" for column in columns) + f"{'all':>8}", rule]
    for name, counts in (*tallies.items(), ("total", _total(tallies))):
        if name == "total":
            lines.append(rule)
        lines.append(f"{name:<12}" + "".join(f"{counts[column]:>10}" for column in columns) + f"{counts.total():>8}")
    return "\n".join(lines)


def summary(tallies: Mapping[str, Counter[str]]) -> str:
    """One sentence: how many of the printed numbers are accounted for."""
    counts = _total(tallies)
    agree = counts["exact"] + counts["rounded"] + counts["drift"]
    sentence = f"{agree} agree, {counts['erratum']} errata each proved"
    if counts[FAILED]:
        return f"{counts[FAILED]} of {counts.total()} printed numbers NOT accounted for ({sentence})"
    every = "all " if counts.total() == len(entries()) else ""
    return f"{every}{counts.total()} printed numbers accounted for: {sentence}"


def _total(tallies: Mapping[str, Counter[str]]) -> Counter[str]:
    return sum(tallies.values(), Counter())
