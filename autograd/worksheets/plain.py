"""A worksheet as Markdown and as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

import numpy as np

from autograd.formula.scalar_tables import Table
from autograd.formula.text import visible
from autograd.worksheets.parts import Part, as_slope, shown
from autograd.worksheets.sheet import Worksheet

LINE = "______"
PHASES = {
    "forward": ("Forward", "from what is given to the result"),
    "backward": ("Backward", "from the result to what is given"),
    "update": ("Update", "one step of gradient descent"),
}


def about(sheet: Worksheet, phase: str) -> str:
    """What a part of the sheet is; of the backward pass also how one of several paths is written, if there are any."""
    says, words = PHASES[phase][1], sheet.program.words
    tables = [part.table for step in sheet.steps if step.phase == phase for part in step.parts]
    for table in tables:
        if table.kind == "contribution" and table.through is not None:
            of, through = words.name(table.owner), words.name(table.through)
            return f"{says}; {as_slope(table.name)} is what reaches {of} through {through}"
    return says


def rows_of(array: Any) -> Iterator[list[Any]]:
    """The rows of a table of any rank; of a scalar one row of one."""
    flat = array.reshape(-1, array.shape[-1]) if array.ndim else array.reshape(1, 1)
    yield from (list(row) for row in flat)


def given_rows(sheet: Worksheet, table: Table) -> list[list[str]]:
    """What is given: leaves in full, results as many digits as the sheet rounds them to; · for a masked place."""
    texts = np.empty(table.shape, object)
    for index in np.ndindex(table.shape):
        texts[index] = sheet.given_text(table, index)
    return list(rows_of(texts))


def blank_rows(part: Part) -> list[list[Any]]:
    """The blanks of a part in rows; None where there is nothing to write, as in a masked place."""
    table = np.empty(part.table.shape, object)
    for blank in part.blanks:
        table[blank.index] = blank
    return list(rows_of(table))


# --- Markdown ------------------------------------------------------------------------------------------------------


def markdown(sheet: Worksheet, answers: bool) -> str:
    """The sheet as Markdown: what is given, then each step with its blanks, or the key."""
    lines = [f"# {_md(sheet.title)}{' (key)' if answers else ''}", ""]
    lines += [f"Write {sheet.digits} significant digits; a number that is exact may be shorter.", ""]
    lines += ["## Given", ""]
    for table in sheet.givens:
        lines += [f"**{_md(table.label)}**", "", *_table(given_rows(sheet, table)), ""]
    phase = ""
    for step in sheet.steps:
        if step.phase != phase:
            phase = step.phase
            lines += [f"## {PHASES[phase][0]}", "", _md(about(sheet, phase)), ""]
        lines += [f"### {step.number}. {_md(step.title)}", ""]
        for part in step.parts:
            how = f" = {_md(part.symbols)}" if sheet.hints and part.symbols else ""
            cells = [[_cell(sheet, blank, answers) for blank in row] for row in blank_rows(part)]
            if sheet.per_matrix and not answers:
                cells = [[LINE]]
            lines += [f"{_md(part.label)}{how}", "", *_table(cells), ""]
    if sheet.checks:
        lines += ["## Check yourself", ""]
        lines += [f"- [ ] {_md(label)}: each row adds up to {total:g}" for label, total in sheet.checks]
        lines += [""]
    score = [f"Numbers: {sheet.score}.", ""] if answers and sheet.score else []
    return "\n".join([*lines, *score, "---", "", sheet.footer, ""])


def _cell(sheet: Worksheet, blank: Any, answers: bool) -> str:
    if blank is None:
        return "·"
    return sheet.key_text(blank) if answers else LINE


def _table(rows: list[list[str]]) -> list[str]:
    """A Markdown table without a visible head."""
    head = [[" "] * len(rows[0]), ["---"] * len(rows[0])]
    return [f"| {' | '.join(row)} |" for row in (*head, *rows)]


def _md(text: str) -> str:
    """User text that stays text."""
    shown_text = visible(text)
    return "".join(f"\\{c}" if c in "\\`*_{}[]<>#|" else c for c in shown_text)


# --- CSV -----------------------------------------------------------------------------------------------------------


def csv_text(sheet: Worksheet, answers: bool) -> str:
    """One row a blank: id, answer (empty unless it is the key), what, formula; the sheet's identity in every row."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(["id", "answer", "what", "formula", *sheet.labels])
    labels = list(map(harmless, sheet.labels.values()))
    if sheet.per_matrix:
        for part in (part for step in sheet.steps for part in step.parts if part.blanks):
            rows = [["·" if b is None else shown(b.key, sheet.digits) for b in row] for row in blank_rows(part)]
            table = "; ".join(map(" ".join, rows))
            how = harmless(part.symbols if sheet.hints else "")
            writer.writerow([harmless(part.name), table if answers else "", harmless(part.label), how, *labels])
        return out.getvalue()
    for blank in sheet.blanks:
        answer = shown(blank.key, sheet.digits) if answers else ""
        formula = blank.formula if sheet.hints and (answers or blank.operands) else ""  # of a constant line: the answer
        writer.writerow([harmless(blank.id), answer, harmless(blank.what), harmless(formula), *labels])
    return out.getvalue()


def csv_rows(rows: list[tuple[str, ...]]) -> str:
    """A table of text as CSV."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerows([list(map(harmless, row)) for row in rows])
    return out.getvalue()


def harmless(text: str) -> str:
    """Text that no spreadsheet runs as a formula: one that begins like it gets an apostrophe."""
    text = visible(text)
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r", "'") else text
