"""The errata of the printed worksheets, as a page: every slip, what is right, why, and what merely followed from it.

`handgrad errata` prints it and `examples/ERRATA.md` keeps it; both are written from the worksheets' data.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from examples import find
from examples.checking.sheet import VERDICTS, Entry, Root, Sheet, load, names

PAGE = Path(__file__).parent.parent / "ERRATA.md"
SHORTCUTS = ("E5-1",)       # simplifications that the author declares

_SEED_REFERENCE = re.compile(r" \(\d{3}\)| at \d{3}:\d+")     # "diagram (003)": which file, of no use to a reader


def page() -> str:
    """The whole page, in Markdown."""
    sheets = [load(name) for name in names()]
    lines = ["# Errata of the printed worksheets", "", *_introduction(sheets)]
    for sheet in sheets:
        slips = [root for root in sheet.roots if root.id not in SHORTCUTS]
        if slips:
            lines += [f"## {_title(sheet)}", ""]
            for root in slips:
                lines += _root(sheet, root)
    lines += ["## A shortcut, not a slip", "",
              "Declared by its author, who writes that the rows are similar: it saves work and costs row 0.",
              "`handgrad example 5 --set row0=copied` computes with it, and then every number below agrees.", ""]
    for sheet in sheets:
        for root in sheet.roots:
            if root.id in SHORTCUTS:
                lines += _root(sheet, root)
    lines += ["## Remarks on notation and listings", "", "No number is wrong by these, but a reader may stumble.", ""]
    for sheet in sheets:
        lines += [f"{_title(sheet)}:", "", *(f"- {clean(remark['fact'])}" for remark in sheet.notation), ""]
    return "\n".join(lines).rstrip() + "\n"


def _introduction(sheets: Sequence[Sheet]) -> Iterable[str]:
    total = sum(len(sheet.entries) for sheet in sheets)
    wrong = sum(sheet.count("erratum") for sheet in sheets)
    yield from (
        f"The worksheets print {total} numbers. {total - wrong} are right: exactly, when rounded, or but for rounding",
        f"on the way (drift). {wrong} are not. Each of those is proved wrong by the tests: the engine's number differs",
        "from the print and agrees with 50-digit decimal arithmetic and central differences that know nothing of the",
        "engine.",
        "",
        "Many wrong numbers are consequences. A *slip* is where it began; what *follows* is right arithmetic on wrong",
        "numbers, and was worked out again from the author's own figures. Where not even those figures lead to the",
        "print, the number stands among the slips.",
        "",
        "| worksheet | " + " | ".join(VERDICTS) + " | all |",
        "| --- |" + " ---: |" * (len(VERDICTS) + 1))
    for sheet in sheets:
        counts = " | ".join(str(sheet.count(verdict)) for verdict in VERDICTS)
        yield f"| {_title(sheet)} | {counts} | {len(sheet.entries)} |"
    sums = " | ".join(str(sum(sheet.count(verdict) for sheet in sheets)) for verdict in VERDICTS)
    yield from (f"| **all** | {sums} | {total} |", "",
                "This page is written by `handgrad errata`; do not edit it by hand.", "")


def _root(sheet: Sheet, root: Root) -> Iterable[str]:
    """One slip: what it is, the numbers it got wrong, the numbers that follow."""
    entries = [sheet.entry(id) for id in root.entries]
    follow = [entry for entry in entries if entry.follows is not None and entry.follows.gives_printed]
    slips = [entry for entry in entries if entry not in follow]
    yield from (f"### {root.id}: {clean(root.what)}", "", f"{_sentence(root.detail)}.", "")
    if slips:
        yield from ("| number | printed | right | why | author's own operands |", "| --- | ---: | ---: | --- | --- |")
        for entry, count in distinct(slips):
            yield (f"| {_what(entry, count)} | {entry.printed_text} | {entry.exact:.6g} | {clean(entry.reason)} "
                   f"| {own_operands(entry)} |")
        yield ""
    if follow:
        yield from ("What follows from it:", "", "| number | printed | right | worked out again |",
                    "| --- | ---: | ---: | --- |")
        for entry, count in distinct(follow):
            yield f"| {_what(entry, count)} | {entry.printed_text} | {entry.exact:.6g} | {own_operands(entry)} |"
        yield ""


def distinct(entries: Iterable[Entry]) -> list[tuple[Entry, int]]:
    """Each number once, with how often the sheet repeats it."""
    counts: dict[tuple[str, str], list[Entry]] = {}
    for entry in entries:
        counts.setdefault((entry.what, entry.printed_text), []).append(entry)
    return [(same[0], len(same)) for same in counts.values()]


def _what(entry: Entry, count: int) -> str:
    return f"`{entry.what}`" + (f" ({count}×)" if count > 1 else "")


def own_operands(entry: Entry) -> str:
    """What the author's own numbers give, where the sheet says: `0.0498*0.250` = 0.01245."""
    if entry.follows is None:
        return ""
    value = f"{entry.follows.value:.6g}"
    return value if entry.follows.how == str(entry.follows.value) else f"`{entry.follows.how}` = {value}"


def _title(sheet: Sheet) -> str:
    example = find(sheet.name)
    number = example.name.removeprefix("example")
    return f"Example {number}: {example.title.lower()}" if number.isdigit() else example.title


def clean(text: str) -> str:
    """A sentence of the data, fit for a table cell."""
    return _SEED_REFERENCE.sub("", text).replace("|", "\\|").rstrip(".")


def _sentence(text: str) -> str:
    return clean(text[:1].upper() + text[1:])
