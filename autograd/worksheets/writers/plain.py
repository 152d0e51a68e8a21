"""A worksheet as Markdown and as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

import numpy as np

from autograd.errors import counted
from autograd.formula.scalars.tables import Table
from autograd.formula.text import visible

from ..parts import Part, Step, as_slope
from ..sheet import Worksheet

LINE = "______"


def about(sheet: Worksheet, steps: list[Step]) -> str:
    """What these steps write that needs a word: ⊙, and one of several paths of the backward pass."""
    parts, words = [part for step in steps for part in step.parts], sheet.program.words
    said = ["⊙ multiplies entry by entry"] if sheet.hints and any("⊙" in part.symbols for part in parts) else []
    for table in [part.table for part in parts if part.table.kind == "contribution"][:1]:
        if table.through is not None:
            of, through = words.name(table.owner), words.name(table.through)
            said.append(f"{as_slope(table.name)} is what reaches {of} through {through}")
    return "; ".join(said)


def how(sheet: Worksheet, part: Part) -> str:
    """How a table of blanks is computed, and to how many decimals if a plan says so."""
    formula = f"{part.label} = {part.symbols}" if sheet.hints and part.symbols else part.label
    exact = counted(part.decimals, "decimal") if part.decimals else "integers"
    return formula if part.decimals is None else f"{formula}   ({exact})"


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
    lines += [_md(sheet.task), ""]
    lines += [f"Names in the book: {_md(sheet.names_in_words)}.", ""] if sheet.plan and sheet.names_in_words else []
    lines += ["## Given", ""]
    for table in sheet.givens:
        lines += [f"**{_md(table.label)}**", "", *_table(given_rows(sheet, table)), ""]
    for title, steps in sheet.sections:
        lines += [f"## {title}", "", *filter(None, [_md(about(sheet, steps))]), ""]
        for step in steps:
            lines += [f"### {step.number}. {_md(step.title)}", "", *([_md(step.says), ""] if step.says else [])]
            for part in step.parts:
                cells = [[_cell(sheet, blank, answers) for blank in row] for row in blank_rows(part)]
                if sheet.per_matrix and not answers:
                    cells = [[LINE]]
                lines += [_md(how(sheet, part)), "", *_table(cells), ""]
    if sheet.checks:
        lines += ["## Check yourself", ""]
        lines += [f"- [ ] {_md(check)}" for check in sheet.checks]
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
    """One row a blank: id, answer (empty unless it is the key), the decimals asked for (empty where significant digits
    count), what, formula; the sheet's identity in every row."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(["id", "answer", "decimals", "what", "formula", *sheet.labels])
    labels = list(map(harmless, sheet.labels.values()))
    if sheet.per_matrix:
        for part in (part for step in sheet.steps for part in step.parts if part.blanks):
            rows = [["·" if b is None else b.key_text(sheet.digits) for b in row] for row in blank_rows(part)]
            table = "; ".join(map(" ".join, rows))
            name, symbols = harmless(sheet.called(part.name)), harmless(part.symbols if sheet.hints else "")
            writer.writerow([name, table if answers else "", _decimals(part), harmless(part.label), symbols, *labels])
        return out.getvalue()
    for blank in sheet.blanks:
        answer = blank.key_text(sheet.digits) if answers else ""
        formula = sheet.formula_of(blank) if answers or blank.operands else ""  # of a constant line: the answer
        name, what = harmless(sheet.called(blank.id)), harmless(blank.what)
        writer.writerow([name, answer, _decimals(blank.part), what, harmless(formula), *labels])
    return out.getvalue()


def _decimals(part: Part) -> str:
    return "" if part.decimals is None else str(part.decimals)


def csv_rows(rows: list[tuple[str, ...]]) -> str:
    """A table of text as CSV."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerows([list(map(harmless, row)) for row in rows])
    return out.getvalue()


def harmless(text: str) -> str:
    """Text that no spreadsheet runs as a formula: one that begins like it gets an apostrophe."""
    text = visible(text)
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r", "'") else text
