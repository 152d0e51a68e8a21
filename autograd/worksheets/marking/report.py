"""Marks as a report: plain text, HTML, JSON. The first wrong step is explained; the right numbers are not shown."""

from __future__ import annotations

import json
from typing import Any

from autograd.formula.text import visible, xml
from autograd.version import __version__

from ..parts import as_slope
from .grading import FOLLOWS, MISSING, RIGHT, WRONG, Marks

MARKS = {RIGHT: "✓", FOLLOWS: "↳", WRONG: "✗", MISSING: "·"}


def text(marks: Marks) -> str:
    """The report for a terminal."""
    counts = ", ".join(f"{n} {verdict}" for verdict, n in marks.counts.items())
    who = f"{visible(marks.who)}: " if marks.who else ""
    asked = f", {visible(marks.sheet.asked)}" if marks.sheet.asked else ""
    widest = max(len(step.title) for step in marks.sheet.steps)
    lines = [f"{who}{marks.score:.1%} of {visible(marks.sheet.title)}{asked}  ({counts})", ""]
    for step in marks.sheet.steps:
        sign, said = MARKS[_mark(marks, step)], f"{marks.of_step(step)}{_from(marks, step)}"
        lines.append(f"{sign} {step.number:3}  {visible(step.title):{widest}}  {said}")
    lines += ["", *explained(marks)]
    for entry in marks.entries.values():
        if entry.problem:
            lines.append(f"{visible(marks.sheet.called(entry.id))}: {visible(entry.problem)}")
    lines += [visible(note) for note in marks.notes]
    return "\n".join([*lines, marks.sheet.footer, ""])


def _mark(marks: Marks, step: Any) -> str:
    """The verdict whose sign a step gets: no tick while something is missing."""
    verdict = marks.of_step(step)
    is_open = any(marks.entries[blank.id].verdict == MISSING for blank in step.blanks)
    return MISSING if is_open and verdict != WRONG else verdict


def _from(marks: Marks, step: Any) -> str:
    """` from your step 8, 2 missing`: the steps whose own numbers were used, and how many blanks are empty."""
    used = {name for blank in step.blanks if marks.entries[blank.id].verdict == FOLLOWS
            for name in marks.entries[blank.id].used}  # fmt: skip
    numbers = sorted({marks.sheet.by_id[name].part.step.number for name in used} - {step.number})
    found = f" from your step{'s' * (len(numbers) > 1)} {', '.join(map(str, numbers))}" if numbers else ""
    missing = sum(marks.entries[blank.id].verdict == MISSING for blank in step.blanks)
    return f"{found}, {missing} missing" if 0 < missing < len(step.blanks) else found


def explained(marks: Marks) -> list[str]:
    """What happened at the first wrong number."""
    if marks.first_wrong is None:
        return []
    entry, blank = marks.entries[marks.first_wrong], marks.sheet.by_id[marks.first_wrong]
    lines = [
        f"First wrong: {visible(as_slope(marks.sheet.called(blank.id)))}, in step {blank.part.step.number}.",
        f"You wrote {visible(entry.written)}.",
        f"The line is {visible(marks.sheet.line_of(blank))}.",
    ]
    if entry.mistake is not None:
        lines.append(f"Slip: {visible(entry.mistake)}. {visible(entry.mistake.teaches)}")
    if entry.note:
        lines.append(visible(entry.note))
    counting = [marks.entries[b.id] for step in marks.sheet.steps if marks.credits.get(step.name) for b in step.blanks]
    later = sum(other.verdict == FOLLOWS and other.credit > 0 for other in counting)
    if later:
        which = "1 later number is" if later == 1 else f"{later} later numbers are"
        lines.append(f"{which} right from your own numbers, so {'it counts' if later == 1 else 'they count'}.")
    return [*lines, ""]


def as_json(marks: Marks) -> str:
    """Everything as data."""
    return json.dumps({
        "handgrad": __version__, "sheet": marks.sheet.identity, "variant": marks.sheet.variant, "name": marks.who,
        "score": marks.score, "first_wrong": marks.first_wrong, "mistake": marks.mistake, "counts": marks.counts,
        "notes": marks.notes,
        "entries": {name: {
            "verdict": e.verdict, "written": e.written, "used": list(e.used), "mistake": e.mistake, "note": e.note,
            "problem": e.problem, "credit": e.credit} for name, e in marks.entries.items()},
    }, ensure_ascii=False, indent=1)  # fmt: skip


STYLE = """
:root{--ink:#111;--muted:#5b6168;--right:#0b6b62;--follows:#0b5cad;--wrong:#b3003c;--soft:#fff0f4;--page:#fff}
@media (prefers-color-scheme:dark){:root{--ink:#e8eaed;--muted:#9aa0a6;--right:#4fc3b5;--follows:#6db0f5;
--wrong:#ff6b93;--soft:#3a1a24;--page:#15181c}}
body{font:16px/1.45 system-ui,sans-serif;color:var(--ink);background:var(--page);max-width:56rem;margin:2rem auto;
padding:0 1rem;overflow-wrap:anywhere}
h1{font-size:1.3rem}.score{font-size:2rem;font-weight:700}
table{border-collapse:collapse}td,th{padding:.15rem .6rem .15rem 0;text-align:left;vertical-align:top}
code{font-family:ui-monospace,monospace;font-size:.9em;overflow-wrap:anywhere}
.right{color:var(--right)}.follows{color:var(--follows)}.wrong{color:var(--wrong);font-weight:700}
.missing{color:var(--muted)}td code{display:inline-block;max-width:100%;margin-right:.5rem}.first p{margin:.3rem 0}
@media (max-width:640px){tr{display:flex;flex-wrap:wrap}td:last-child{flex-basis:100%}}
.first{border-left:4px solid var(--wrong);background:var(--soft);padding:.6rem 1rem;margin:1rem 0}
footer{color:var(--muted);font-size:.85rem;margin-top:2rem}
"""


def html(marks: Marks) -> str:
    """The report as one HTML file."""
    rows = "".join(_row(marks, step) for step in marks.sheet.steps)
    first = explained(marks)
    box = f'<div class="first">{"".join(f"<p>{xml(line)}</p>" for line in first if line)}</div>' if first else ""
    problems = "".join(
        f"<li><code>{xml(marks.sheet.called(e.id))}</code>: {xml(e.problem)}</li>"
        for e in marks.entries.values() if e.problem
    )
    notes = "".join(f"<li>{xml(note)}</li>" for note in marks.notes)
    counts = " · ".join(f'<span class="{v}">{MARKS[v]} {n} {v}</span>' for v, n in marks.counts.items())
    who = f" · {xml(marks.who)}" if marks.who else ""
    asked = f" · asked: {xml(marks.sheet.asked)}" if marks.sheet.asked else ""
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>Marked: {xml(marks.sheet.title)}</title><style>{STYLE}</style><body>"
        f"<h1>{xml(marks.sheet.title)}{who}</h1>"
        f'<p class="score">{marks.score:.1%}</p><p>{counts}{asked}</p>{box}'
        f"<table>{rows}</table><ul>{problems}{notes}</ul>"
        f"<footer>{xml(marks.sheet.footer)}</footer></body></html>\n"
    )


def _row(marks: Marks, step: Any) -> str:
    cells = []
    for part in step.parts:
        if len(step.parts) > 1:
            cells.append(f'<span class="missing">{xml(part.label)}:</span>')
        for blank in part.blanks:
            entry = marks.entries[blank.id]
            title = xml(f"{as_slope(marks.sheet.called(blank.id))}: {entry.verdict}. {entry.note}{entry.problem}")
            shown = f"{MARKS[entry.verdict]} {xml(entry.written)}"
            cells.append(f'<code class="{entry.verdict}" title="{title}">{shown}</code>')
    how = xml(f"{marks.of_step(step)}{_from(marks, step)}")
    return (
        f'<tr><td>{step.number}</td><td><code>{xml(step.title)}</code></td><td class="{_mark(marks, step)}">{how}</td>'
        f"<td>{' '.join(cells)}</td></tr>"
    )
