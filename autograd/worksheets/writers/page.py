"""A worksheet as one HTML file: prints on A4 and Letter with room to write; on a screen its blanks are fields.

What is typed is kept in the browser over a reload, printed, and exported as JSON for `handgrad grade`. With `check` the
page marks itself, with the verdicts of `grade` (assets/marking.js); it computes the key from what is given. Without it,
neither the page nor its source holds the key.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from autograd.drawing.paint import theme
from autograd.errors import DataError
from autograd.formula.scalars.program import BACKWARD
from autograd.formula.scalars.tables import Table
from autograd.formula.text import visible, xml
from autograd.saving.browser import pdf_of
from autograd.saving.pages import asset, embedded

from ..parts import Part, Step, as_slope
from ..sheet import Worksheet
from .page_data import marking_data
from .plain import about, blank_rows, given_rows, how

_file = functools.partial(asset, "autograd.worksheets")
HALF_WIDTH, BLANK_WIDTH, LETTER_WIDTH = 74, 20.5, 2  # mm, on A4 and Letter: half of it without the step's number
LETTERS_IN_HALF = 36
WORK = 8  # mm of room to work in on paper, for each row of blanks

SCRIPTS = ("decimals.js", "intervals.js", "answers.js", "marking.js", "sheet.js", "marks.js")  # to mark itself
SOURCE_NOTE = (
    "This page marks itself, so its source is enough to work out the answers. For work that counts, hand out a "
    "page that does not mark itself (--no-check), or paper."
)


def html(sheet: Worksheet, answers: bool, check: bool, fields: bool, paper: str = "auto") -> str:
    """The page. check: it marks itself. fields: it can be typed into. paper: "A4", "Letter", or the printer's own."""
    fields = fields and not answers
    check = check and fields
    body = [_bar(sheet)] if fields else []
    body.append(_sheet(sheet, answers, fields))
    if check:
        body.append(_panel())
    if fields:
        data = embedded(_data(sheet, check))
        scripts = "".join(map(_file, SCRIPTS if check else ("sheet.js",)))
        body.append(f'<script type="application/json" id="data">{data}</script><script>{scripts}</script>')
    kind = "hg filled marking" if check else "hg filled" if fields else ""
    style = _file("sheet.css").replace("size: auto", f"size: {paper}") + (theme.variables_css() if fields else "")
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{xml(sheet.title)}</title><style>{style}</style></head><body class="{kind}">{"".join(body)}'
        "</body></html>\n"
    )


def _sheet(sheet: Worksheet, answers: bool, fields: bool) -> str:
    body = [_head(sheet, answers, fields), _given(sheet)]
    for title, steps in sheet.sections:
        says = f" <small>{xml(visible(text))}</small>" if (text := about(sheet, steps)) else ""
        rows = "".join(_step(sheet, step, answers, fields) for step in steps)
        body.append(f'<h2>{xml(title)}{says}</h2><div class="steps">{rows}</div>')
    foot = f"{sheet.footer} · {sheet.score}" if answers and sheet.score else sheet.footer
    return f'<main class="sheet">{"".join(body)}{_checks(sheet)}<footer>{xml(foot)}</footer></main>'


def _bar(sheet: Worksheet) -> str:
    sub = xml(", ".join(sheet.kind))
    buttons = {"print": "print", "export": "export answers", "clear": "start again", "theme": "light / dark"}
    tools = "".join(f'<button type="button" id="{name}">{text}</button>' for name, text in buttons.items())
    title = f'<b>{xml(sheet.title)}</b><span class="sub">{sub}</span>'
    return f'<header class="bar">{title}<span class="tools">{tools}</span></header>'


def _panel() -> str:
    """Where the page says how the answers are marked; sheet.js fills it."""
    return (
        '<aside class="marks" aria-label="marks"><div class="stay"><h2>Marked <small>saved in this browser</small></h2>'
        '<div class="card"><div class="score"><b id="points"></b><span class="segments" id="segments"></span></div>'
        '<div class="counts" id="counts"></div><p class="small">Each idea is one point, shared by the steps that '
        'use it. A step that follows from your own numbers counts in full.</p><p class="small" id="notes"></p></div>'
        '<div class="card first" id="first" hidden></div><div class="card" id="follow" hidden></div>'
        '<div class="actions"><button type="button" class="main" id="go" hidden></button>'
        '<button type="button" id="reveal">show the right numbers</button></div>'
        f'<p class="small">{SOURCE_NOTE}</p><p id="said" role="status" aria-live="polite" '
        'style="position:absolute;clip-path:inset(50%)"></p></div></aside>'
    )


def _data(sheet: Worksheet, check: bool) -> dict[str, Any]:
    if not check:
        return {"labels": sheet.labels}
    given = {t.ids[i]: sheet.given_text(t, i) for t in sheet.givens for i in np.ndindex(t.shape)}
    formulas = {blank.id: sheet.formula_of(blank) for blank in sheet.blanks}
    return {"labels": sheet.labels, "marking": marking_data(sheet), "formulas": formulas, "shown": given}


def pdf(page: str) -> bytes:
    """A page printed to PDF, by Chromium."""
    made = pdf_of(page)
    if made is None:
        raise DataError(
            "a PDF needs Chromium or Chrome on PATH, and none wrote one; write .html and print it from your browser"
        )
    return made


def _head(sheet: Worksheet, answers: bool, fields: bool) -> str:
    name = '<input id="who" aria-label="name" class="line">' if fields else '<span class="line"></span>'
    return (
        f'<div class="head"><h1>{xml(sheet.title)}{" · key" if answers else ""}</h1>'
        f'<span class="who">name {name} date <span class="line short"></span></span></div>'
        f'<p class="task">{xml(visible(sheet.task))}</p>'
    )


def _given(sheet: Worksheet) -> str:
    names = f"<p>Names in the book: {xml(sheet.names_in_words)}.</p>" if sheet.plan and sheet.names_in_words else ""
    return f'<div class="given">{"".join(_quantity(sheet, table) for table in sheet.givens)}{names}</div>'


def _quantity(sheet: Worksheet, table: Table) -> str:
    rows = _matrix(given_rows(sheet, table))
    return f'<span class="quantity"><span class="name">{xml(table.label)}</span>{rows}</span>'


def _matrix(rows: list[list[str]]) -> str:
    if len(rows) == 1 and len(rows[0]) == 1:
        return f"<code>= {rows[0][0]}</code>"
    cells = "".join(f"<tr>{''.join(f'<td>{xml(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f'<table class="m">{cells}</table>'


def _step(sheet: Worksheet, step: Step, answers: bool, fields: bool) -> str:
    hows = [how(sheet, part) for part in step.parts if part.symbols or part.decimals is not None]
    hows = hows if sheet.hints or sheet.plan else []
    lines = "".join(f"<code>{xml(text)}</code>" for text in hows)
    head = f"<b>{xml(step.title)}</b>" if step.says or not hows else ""
    says = f'<p class="says">{xml(step.says)}</p>' if step.says else ""
    parts = "".join(_part(sheet, part, answers, fields) for part in step.parts)
    rows = sum(len({b.index[:-1] for b in part.blanks}) for part in step.parts)
    room = 0 if fields or answers or not step.says else WORK * min(rows, 4)
    work = f'<div class="work" style="height:{room}mm"></div>' if room else ""
    kind = "step wide" if _is_wide(step, hows) else "step"
    return (
        f'<div class="{kind}{" gradient" * (step.phase == BACKWARD)}" id="step{step.number}">'
        f'<span class="number">{step.number}</span><div><div class="how">{head}{says}{lines}</div>'
        f'<div class="parts">{parts}</div>{work}<div class="said"></div></div><span class="verdict"></span></div>'
    )


def _is_wide(step: Step, hows: list[str]) -> bool:
    """Does it need the whole width of the paper?"""
    if step.says or len(step.parts) > 1 or sum(map(len, hows)) > LETTERS_IN_HALF:
        return True
    part = step.parts[0]
    return (part.table.shape or (1,))[-1] * BLANK_WIDTH + len(part.label) * LETTER_WIDTH > HALF_WIDTH


def _part(sheet: Worksheet, part: Part, answers: bool, fields: bool) -> str:
    if sheet.per_matrix and part.is_matrix and not answers:
        return _one_blank(part, fields)
    rows = "".join(
        f"<tr>{''.join(_blank(sheet, blank, answers, fields) for blank in row)}</tr>" for row in blank_rows(part)
    )
    reach = "" if fields and not answers else ' tabindex="0"'  # what scrolls can be scrolled by keys, too
    name = f'<span class="name">{xml(part.label)}</span>'
    return f'<span class="quantity"{reach}>{name}<table class="m">{rows}</table></span>'


def _one_blank(part: Part, fields: bool) -> str:
    """One blank for a whole matrix: room for its rows, but no places, since its shape is part of the question."""
    name, label, rows = xml(part.name), xml(part.label), max(2, part.table.values.size // part.table.shape[-1])
    field = (
        f'<textarea data-id="{name}" aria-label="{label}, a row on a line" rows="{rows}" spellcheck="false"></textarea>'
        if fields
        else ""
    )
    cell = f'<td class="blank whole" style="height:{9 * rows}mm">{field}</td>'
    return f'<span class="quantity"><span class="name">{label}</span><table class="m"><tr>{cell}</tr></table></span>'


def _blank(sheet: Worksheet, blank: Any, answers: bool, fields: bool) -> str:
    if blank is None:
        return "<td>·</td>"
    if answers:
        return f'<td class="blank key">{xml(sheet.key_text(blank))}</td>'
    caption = f"<small>{xml(named)}</small>" if (named := sheet.entry_name(blank)) else ""
    if not fields:
        return f'<td class="blank">{caption}</td>'
    name, label = xml(blank.id), xml(as_slope(sheet.called(blank.id)))
    field = f'<input data-id="{name}" aria-label="{label}" autocomplete="off" spellcheck="false">'
    return f'<td class="blank">{field}{caption}</td>'


def _checks(sheet: Worksheet) -> str:
    if not sheet.checks:
        return ""
    line = '<span class="line short"></span>'
    items = "".join(f"<li>☐ {xml(visible(check))}: {line}</li>" for check in sheet.checks)
    return f'<div class="checks"><b>Check yourself</b><ul>{items}</ul></div>'
