"""A worksheet as one HTML file: prints on A4 and Letter with room to write; on a screen its blanks are fields.

A blank sheet holds no key, neither in what it shows nor in its source. What is typed is kept in the browser over a
reload and exported as JSON for `handgrad grade`; the page itself marks nothing.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from autograd.browser import find_chromium
from autograd.errors import DataError
from autograd.files import write_whole
from autograd.formula.scalar_tables import Table
from autograd.formula.text import xml
from autograd.worksheets.plain import PHASES, blank_rows, given_rows, shown
from autograd.worksheets.sheet import Part, Step, Worksheet

COLUMNS_IN_HALF, LETTERS_IN_HALF = 2, 36  # blanks beside one another, and letters, in half the width of A4

STYLE = """
@page{size:auto;margin:15mm}
*{box-sizing:border-box}
body{font:13px/1.35 "DejaVu Sans",system-ui,sans-serif;color:#000;background:#fff;max-width:180mm;margin:8mm auto;
padding:0 4mm}
header{display:flex;flex-wrap:wrap;gap:2mm 8mm;align-items:baseline;justify-content:space-between}
h1{font-size:20px;margin:0}h2{font-size:15px;margin:5mm 0 2mm;padding-bottom:1.5mm;border-bottom:1px solid #000;
break-after:avoid}
.who{white-space:nowrap}.line{display:inline-block;border-bottom:1px solid #000;width:40mm}.line.short{width:22mm}
.task{color:#333;margin:2mm 0}
.given{border:1px solid #000;border-radius:1mm;padding:2.5mm 3mm;display:flex;flex-wrap:wrap;gap:3mm 7mm;
align-items:center}
.quantity{display:inline-flex;align-items:center;gap:1.5mm;max-width:100%;break-inside:avoid}
.name,code{font-family:"DejaVu Sans Mono",ui-monospace,monospace;font-size:12px}
.name{font-weight:700;white-space:nowrap}
.steps{display:grid;grid-template-columns:1fr 1fr;gap:0 5mm;align-items:start}.wide{grid-column:1/-1}
#who{border:0;border-bottom:1px solid #000;font:inherit}
.step{display:grid;grid-template-columns:8mm 1fr;margin:2.2mm 0;break-inside:avoid}
.number{font-weight:700}.how{margin-bottom:1mm}.how b{margin-right:4mm}.how code{margin-right:5mm}
.parts{display:flex;flex-wrap:wrap;gap:2mm 6mm}
table.m{border-collapse:separate;border-spacing:1.5mm 0;border-left:1.3px solid #444;border-right:1.3px solid #444;
border-radius:2px;margin:0}
table.m td{padding:.3mm .6mm;text-align:right;font-family:"DejaVu Sans Mono",ui-monospace,monospace;font-size:12px}
td.blank{width:19mm;min-width:19mm;height:9mm;padding:0!important;border-bottom:1px solid #777;vertical-align:bottom}
td.blank input{width:100%;height:100%;min-height:8mm;border:0;background:transparent;text-align:right;color:#000;
font:inherit;padding:0 .6mm}
td.blank input:focus{outline:2px solid #0b5cad}
td.key{font-weight:700}
.checks{border:1px solid #000;border-radius:1mm;padding:2mm 3mm;margin-top:4mm;break-inside:avoid}
.checks ul{list-style:none;margin:1.5mm 0 0;padding:0;display:grid;grid-template-columns:1fr 1fr;gap:2mm}
footer{margin-top:5mm;color:#444;font:10.5px "DejaVu Sans Mono",ui-monospace,monospace}
.tools{margin:3mm 0}.tools button{font:inherit;padding:1.5mm 3mm}
@media print{body{margin:0;padding:0;max-width:none}.tools{display:none}}
"""

# Keeps what is typed over a reload, and writes it to a file. Answers are text: trailing zeros count.
SCRIPT = """
const sheet = JSON.parse(document.getElementById("sheet").textContent);
const fields = [...document.querySelectorAll("input[data-id]")];
const store = "handgrad-" + sheet.sheet;
let kept = {};
try { kept = JSON.parse(localStorage.getItem(store) || "{}"); } catch (error) { /* private window: nothing is kept */ }
for (const field of fields) {
  if (kept[field.dataset.id]) field.value = kept[field.dataset.id];
  field.addEventListener("input", () => {
    kept[field.dataset.id] = field.value;
    try { localStorage.setItem(store, JSON.stringify(kept)); } catch (error) { /* as above */ }
  });
}
document.getElementById("export").addEventListener("click", () => {
  const answers = Object.fromEntries(fields.filter((f) => f.value.trim()).map((f) => [f.dataset.id, f.value]));
  const name = document.getElementById("who").value;
  const text = JSON.stringify({...sheet, name, answers}, null, 1);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], {type: "application/json"}));
  link.download = (name.replace(/[^\\p{L}\\p{N} _-]/gu, "") || "answers") + ".json";
  link.click();
});
document.getElementById("print").addEventListener("click", () => print());
"""


def html(sheet: Worksheet, answers: bool, check: bool) -> str:
    """The page. `check=False` leaves the fields and the script out: paper only."""
    fields = check and not answers
    body = [_head(sheet, answers, fields), _given(sheet)]
    for phase, title in PHASES.items():
        steps = [_step(sheet, step, answers, fields) for step in sheet.steps if step.phase == phase]
        if steps:
            body.append(f'<h2>{title}</h2><div class="steps">{"".join(steps)}</div>')
    body.append(_checks(sheet))
    body.append(f"<footer>{xml(sheet.footer)}</footer>")
    if fields:
        data = json.dumps(sheet.labels)
        body.append(f'<script type="application/json" id="sheet">{_in_script(data)}</script><script>{SCRIPT}</script>')
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light">'
        f"<title>{xml(sheet.title)}</title><style>{STYLE}</style></head><body>{''.join(body)}</body></html>\n"
    )


def write_pdf(page: str, path: Path) -> None:
    """Print a page to PDF, through Chromium."""
    chromium = find_chromium()
    if chromium is None:
        raise DataError("a PDF needs Chromium or Chrome on PATH; or write .html and print it from your browser")
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "sheet.html")
        source.write_text(page, encoding="utf-8")
        made = Path(folder, "sheet.pdf")
        command = [chromium, "--headless", "--disable-gpu", "--no-sandbox", f"--user-data-dir={folder}/profile",
                   "--no-pdf-header-footer", f"--print-to-pdf={made}", source.as_uri()]  # fmt: skip
        done = subprocess.run(command, capture_output=True, timeout=120, check=False)
        if not made.is_file():
            raise DataError(f"{chromium} printed no PDF (exit status {done.returncode})")
        write_whole(path, made.read_bytes())


def _in_script(text: str) -> str:
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _head(sheet: Worksheet, answers: bool, fields: bool) -> str:
    name = '<input id="who" aria-label="name" class="line">' if fields else '<span class="line"></span>'
    tools = '<p class="tools"><button id="export">export answers</button> <button id="print">print</button></p>'
    return (
        f"<header><h1>{xml(sheet.title)}{' · key' if answers else ''}</h1>"
        f'<span class="who">name {name} date <span class="line short"></span></span></header>'
        f'<p class="task">Work out every blank, in order. Write {sheet.digits} significant digits; a number that is '
        f"exact may be shorter.</p>{tools if fields else ''}"
    )


def _given(sheet: Worksheet) -> str:
    return f'<div class="given">{"".join(map(_quantity, sheet.givens))}</div>'


def _quantity(table: Table) -> str:
    return f'<span class="quantity"><span class="name">{xml(table.label)}</span>{_matrix(given_rows(table))}</span>'


def _matrix(rows: list[list[str]]) -> str:
    if len(rows) == 1 and len(rows[0]) == 1:
        return f"<code>= {rows[0][0]}</code>"
    cells = "".join(f"<tr>{''.join(f'<td>{xml(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f'<table class="m">{cells}</table>'


def _step(sheet: Worksheet, step: Step, answers: bool, fields: bool) -> str:
    hows = [f"{part.label} = {part.symbols}" for part in step.parts if part.symbols] if sheet.hints else []
    how = "".join(f"<code>{xml(text)}</code>" for text in hows) or f"<b>{xml(step.title)}</b>"
    parts = "".join(_part(sheet, part, answers, fields) for part in step.parts)
    kind = "step wide" if _is_wide(step, hows) else "step"
    return (
        f'<div class="{kind}"><span class="number">{step.number}</span><div><div class="how">{how}</div>'
        f'<div class="parts">{parts}</div></div></div>'
    )


def _is_wide(step: Step, hows: list[str]) -> bool:
    """Does it need the whole width of the paper?"""
    columns = sum((part.table.shape or (1,))[-1] for part in step.parts)
    return columns > COLUMNS_IN_HALF or len(step.parts) > 1 or sum(map(len, hows)) > LETTERS_IN_HALF


def _part(sheet: Worksheet, part: Part, answers: bool, fields: bool) -> str:
    rows = "".join(
        f"<tr>{''.join(_blank(sheet, blank, answers, fields) for blank in row)}</tr>" for row in blank_rows(part)
    )
    return f'<span class="quantity"><span class="name">{xml(part.label)}</span><table class="m">{rows}</table></span>'


def _blank(sheet: Worksheet, blank: Any, answers: bool, fields: bool) -> str:
    if blank is None:
        return "<td>·</td>"
    if answers:
        return f'<td class="blank key">{shown(blank.key, sheet.digits)}</td>'
    if not fields:
        return '<td class="blank"></td>'
    name = xml(blank.id)
    return f'<td class="blank"><input data-id="{name}" aria-label="{name}" inputmode="decimal" autocomplete="off"></td>'


def _checks(sheet: Worksheet) -> str:
    if not sheet.checks:
        return ""
    items = "".join(
        f"<li>☐ each row of <code>{xml(label)}</code> adds up to {total:g}</li>" for label, total in sheet.checks
    )
    return f'<div class="checks"><b>Check yourself</b><ul>{items}</ul></div>'
