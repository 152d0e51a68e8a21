"""A worksheet as Moodle XML: one Cloze question a step, with a fixed tolerance.

Moodle marks each field on its own: one that follows from an earlier wrong one is wrong there; in `grade` it counts.
"""

from __future__ import annotations

from decimal import Decimal

from autograd.formula.text import xml

from ..parts import Blank, Step
from ..sheet import Worksheet
from .plain import blank_rows, given_rows, how

LOST = "Each number is marked on its own here: one that follows from an earlier mistake counts as wrong."


def moodle_xml(sheet: Worksheet) -> str:
    """Questions to import under Question bank, Import, Moodle XML."""
    questions = "".join(_question(sheet, step) for step in sheet.steps if step.blanks)
    category = (
        '<question type="category"><category><text>$course$/top/'
        f"{xml(sheet.title.replace('/', '//'))} {sheet.identity}</text></category></question>"
    )
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<quiz>{category}{questions}</quiz>\n'


def _question(sheet: Worksheet, step: Step) -> str:
    first = sheet.givens if step.number == 1 else []
    givens = "".join(f"<p>{xml(_plain(t.label))} = {_given(given_rows(sheet, t))}</p>" for t in first)
    parts = []
    for part in step.parts:
        rows = "".join(
            f"<tr>{''.join('<td>·</td>' if b is None else f'<td>{_field(sheet, b)}</td>' for b in row)}</tr>"
            for row in blank_rows(part)
        )
        parts.append(f"<p>{xml(_plain(how(sheet, part)))}</p><table>{rows}</table>")
    digits = f"{sheet.digits} significant digits. " if sheet.plan is None else ""
    text = f"{givens}<p>{xml(_plain(step.says))}</p>{''.join(parts)}<p>{digits}{LOST}</p><p>{xml(sheet.footer)}</p>"
    return (
        f'<question type="cloze"><name><text>{step.number:03} {xml(_plain(step.title))}</text></name>'
        f'<questiontext format="html"><text><![CDATA[{text.replace("]]>", "]] >")}]]></text></questiontext>'
        f'<generalfeedback format="html"><text><![CDATA[<p>{LOST}</p>]]></text></generalfeedback>'
        f"<penalty>0.3333333</penalty><hidden>0</hidden><idnumber>{sheet.identity}-{step.number}</idnumber></question>"
    )


def _field(sheet: Worksheet, blank: Blank) -> str:
    """A numerical field: the answer, and one unit of the last digit asked for; of an exact answer half of one."""
    unit, answer = blank.unit(blank.key or Decimal(1), sheet.digits), blank.key_text(sheet.digits)
    return f"{{1:NUMERICAL:={answer}:{unit / 2 if Decimal(answer) == blank.key else unit:f}}}"


def _given(rows: list[list[str]]) -> str:
    return "[" + "; ".join(" ".join(row) for row in rows) + "]"


def _plain(text: str) -> str:
    """Text in which Cloze sees no field."""
    return text.replace("{", "(").replace("}", ")")
