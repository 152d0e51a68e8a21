"""What every worked example prints at its end: its exercises, and how it stands to the printed worksheet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from examples.checking.errata import clean
from examples.checking.sheet import VERDICTS, Entry, load
from examples.checking.verdict import Finding, check, tally
from examples.page import Page, written

Exercise = tuple[str, Callable[..., Any]]


def exercises(page: Page, answers: Iterable[Exercise], given: dict[str, Any]) -> None:
    """The book's exercises, answered one after the other."""
    page.part("Exercises")
    for heading, answer in answers:
        page.step(heading)
        answer(page, **given)


def held_against_print(page: Page, name: str, found: dict[str, Any], given: dict[str, Any]) -> None:
    """Every printed number beside the engine's: how many agree, and each that is wrong, under the slip it carries."""
    page.part("Held against the printed worksheet")
    if given:
        page.note(f"Skipped: {', '.join(given)} not as on the worksheet, so its numbers are other numbers.")
        return
    findings = check(name, found)
    counts = tally(findings)
    page.say(f"{len(findings)} printed numbers: " + ", ".join(f"{counts[kind]} {kind}" for kind in VERDICTS))
    for finding in findings:
        for complaint in finding.complaints:
            page.line(f"    {finding.entry.id} {finding.entry.what}: {complaint}", "bad")
    sheet = load(name)
    for root in sheet.roots:
        page.step(f"{root.id}: {clean(root.what)}")
        page.say(*wrapped(clean(root.detail)))
        errata(page, [finding for finding in findings if finding.entry.id in root.entries])


def errata(page: Page, findings: Sequence[Finding]) -> None:
    """Wrong numbers in a table, each once even when the sheet repeats it."""
    in_words = {finding.entry.follows.how for finding in findings
                if finding.entry.follows is not None and "printed" in finding.entry.follows.how}
    own = f"the author's own numbers ({'; '.join(sorted(in_words))})" if in_words else "the author's own numbers"
    page.note(f"{'':<22}{'printed':>10}   {'right':>12}   {own}")
    seen = set()
    for finding in findings:
        entry = finding.entry
        if (entry.what, entry.printed_text) in seen:
            continue
        seen.add((entry.what, entry.printed_text))
        page.say(f"{entry.what:<22}{entry.printed_text:>10}   {written(finding.value):>12}   {follow_through(entry)}")


def follow_through(entry: Entry) -> str:
    """`0.0498*0.250 = 0.01245, does not give it`: what the author's own numbers lead to."""
    if entry.follows is None:
        return ""
    value = written(entry.follows.value)
    plain = entry.follows.how == str(entry.follows.value) or "printed" in entry.follows.how
    lead = value if plain else f"{entry.follows.how} = {value}"
    return f"{lead}, {'gives it' if entry.follows.gives_printed else 'does not give it'}"


def wrapped(text: str, width: int = 92) -> list[str]:
    """A sentence over several lines."""
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}".lstrip()
    return lines
