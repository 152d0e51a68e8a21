"""The printed worksheets, read from `examples/worksheets/*.json`.

A sheet lists every number its document prints (`entries`), with the exact value and a verdict:

    exact     printed as it is
    rounded   printed with fewer digits, rounded to nearest or truncated
    drift     the author rounded on the way; off by a little more than the last printed digit
    erratum   wrong; `root` names the slip it comes from
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

VERDICTS = ("exact", "rounded", "drift", "erratum")
FOLDER = Path(__file__).parent.parent / "worksheets"


@dataclass(frozen=True)
class FollowThrough:
    """What the author's own printed operands give."""

    how: str             # "0.0498*0.250", or words: "softmax of the printed scores"
    value: float
    gives_printed: bool


@dataclass(frozen=True)
class Entry:
    """One printed number."""

    id: str              # "example4.087"
    step: str            # the worksheet's own heading, "forward [A,A]"
    what: str            # "P2(A)"; see `names`
    printed_text: str    # "0.9975"
    decimals: int
    exact: float
    kind: str            # "input" or "derived"
    verdict: str
    rounding: str | None
    tolerance: float | None
    reason: str
    root: str | None
    follows: FollowThrough | None
    copied_row: float | None    # the exact value if row 0 is a copy of row 1 (example 5)

    @property
    def sheet(self) -> str:
        """The name of the sheet that prints it."""
        return self.id.partition(".")[0]

    @property
    def printed(self) -> Decimal:
        return Decimal(self.printed_text)

    @property
    def unit(self) -> Decimal:
        """One unit of the last printed digit."""
        return Decimal(1).scaleb(-self.decimals)


@dataclass(frozen=True)
class Root:
    """A slip, and every entry that carries it."""

    id: str
    what: str
    detail: str
    entries: tuple[str, ...]


@dataclass(frozen=True)
class Sheet:
    """One worksheet: its conventions, its inputs and its numbers."""

    name: str
    model: dict[str, str]
    inputs: dict[str, Any]
    entries: tuple[Entry, ...]
    roots: tuple[Root, ...]
    notation: tuple[dict[str, str], ...]
    unprinted: dict[str, Any]    # values the document skips, computed when the sheet was made

    def entry(self, id: str) -> Entry:
        return next(entry for entry in self.entries if entry.id == id)

    def count(self, *verdicts: str) -> int:
        return sum(entry.verdict in verdicts for entry in self.entries)


def names() -> tuple[str, ...]:
    """The sheets there are, in the order of the book.

    >>> names()
    ('example1', 'example2', 'example3', 'example4', 'example5', 'cat_sleeps')
    """
    numbered = sorted(path.stem for path in FOLDER.glob("example*.json"))
    return (*numbered, *sorted(path.stem for path in FOLDER.glob("*.json") if path.stem not in numbered))


def entries(*verdicts: str) -> list[Entry]:
    """Every printed number of every sheet, or those with one of the verdicts.

    >>> len(entries()), len(entries("erratum"))
    (936, 186)
    """
    return [entry for name in names() for entry in load(name).entries if not verdicts or entry.verdict in verdicts]


@cache
def load(name: str) -> Sheet:
    """The sheet called `name`.

    >>> load("example2").entry("example2.171").printed_text
    '0.0006'
    """
    raw = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return Sheet(
        name=raw["worksheet"], model=raw["model"], inputs=raw["inputs"],
        entries=tuple(_entry(row) for row in raw["entries"]),
        roots=tuple(Root(row["id"], row["what"], row["detail"], tuple(row["entries"]))
                    for row in raw["errata_roots"]),
        notation=tuple(raw["notation"]), unprinted=raw["unprinted"])


def _entry(row: dict[str, Any]) -> Entry:
    follows = row.get("from_printed_operands")
    return Entry(
        id=row["id"], step=row["step"], what=row["what"], printed_text=row["printed_text"],
        decimals=row["decimals"], exact=row["exact"], kind=row["kind"], verdict=row["verdict"],
        rounding=row["rounding"], tolerance=row["tolerance"], reason=row["reason"], root=row.get("root"),
        follows=FollowThrough(**follows) if follows else None,
        copied_row=row.get("exact_if_row0_copied"))
