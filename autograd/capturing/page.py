"""The report of a comparison as one HTML page: the verdict first, then where, the numbers, and what is left out."""

from __future__ import annotations

import functools
import linecache
import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from autograd.drawing.paint import theme
from autograd.formula.numbers import DIGITS, as_printed, cell, notation, rough
from autograd.formula.text import visible, xml
from autograd.saving.files import check_ending, save_by_ending
from autograd.saving.pages import asset, embedded, filled

from .report import about, explained, facts, line_of, verdict, witnesses

if TYPE_CHECKING:
    from .compare import Comparison

_asset = functools.partial(asset, "autograd.capturing")
CODE_BEFORE, CODE_AFTER = 3, 1  # lines shown around the wrong one
MOST_DIGITS = 9  # that a sum may take to add up
PICTURES = (".svg", ".png", ".pdf")
BUTTONS = ('<span><button id="hg-copy" type="button">copy report</button>'
           '<button id="hg-theme" type="button">light / dark</button></span>')  # fmt: skip


def page(found: Comparison) -> str:
    """The whole page."""
    parts = {
        "title": xml(f"{found.title}: {verdict(found)[0]}"),
        "style": style(),
        "body": body(found, BUTTONS),
        "report": embedded(str(found)),
        "script": _asset("compare.js"),
    }
    return filled(_asset("compare.html"), parts)


def in_a_notebook(found: Comparison) -> str:
    """The same inside of a notebook's page: no script, and readable without its style."""
    return f'<style>{style()}</style><div class="hg-compare">{body(found)}</div>'


def save(found: Comparison, path: Path) -> Path:
    """By extension: the page, the text, or the picture alone."""
    contents = {".html": found.html, ".htm": found.html, ".txt": lambda: f"{found}\n"}
    if check_ending(path, (*contents, *PICTURES), "a comparison") in PICTURES:
        return found.drawing.save(path)
    return save_by_ending(path, contents, "a comparison")


def style() -> str:
    return theme.css() + theme.variables_css(".hg-compare") + _asset("compare.css")


def body(found: Comparison, tools: str = "") -> str:
    """Header, graph and panel."""
    boxes = [verdict_box(found), facts_box(found), code_box(found), witness_box(found), left_out_box(found),
             notes_box(found)]  # fmt: skip
    return (
        f"<header><h1>capture({xml(found.title)}).compare()</h1><p>{xml(about(found))}</p>{tools}</header>"
        f'<div class="hg-both"><div class="hg-graph">{found.drawing.svg}</div>'
        f'<div class="hg-panel">{"".join(boxes)}</div></div>'
    )


def box(content: str, title: str = "", aside: str = "") -> str:
    head = f"<h3><span>{title}</span><span>{xml(aside)}</span></h3>" if title else ""
    return f'<div class="hg-box">{head}{content}</div>'


def verdict_box(found: Comparison) -> str:
    headline, reason = verdict(found)
    kind = " hg-agrees" if found.ok else ""
    return f'<div class="hg-verdict{kind}"><h2>{xml(headline)}.</h2><p>{xml(reason)}.</p></div>'


def facts_box(found: Comparison) -> str:
    rows = "".join(f"<dt>{xml(caption)}</dt><dd>{xml(visible(text))}</dd>" for caption, text in facts(found))
    return box(f"<dl>{rows}</dl>")


def code_box(found: Comparison) -> str:
    """The line to look at, with its neighbours."""
    place = line_of(found.first) if found.first is not None else None
    if place is None:
        return ""
    lines = linecache.getlines(place.file)
    numbers = range(max(1, place.line - CODE_BEFORE), min(len(lines), place.line + CODE_AFTER) + 1)
    texts = {n: lines[n - 1].rstrip().expandtabs(4) for n in numbers}
    texts = {n: t for n, t in texts.items() if t or n < place.line}
    indent = min((len(t) - len(t.lstrip()) for t in texts.values() if t.strip()), default=0)
    rows = [f'<li{" class=hg-at" if n == place.line else ""}><i>{n}</i><code>{xml(t[indent:])}</code></li>'
            for n, t in texts.items()]  # fmt: skip
    return box(f'<ol class="hg-code">{"".join(rows)}</ol>') if rows else ""


def witness_box(found: Comparison) -> str:
    """One entry of the gradient, computed in three ways."""
    seen, first = witnesses(found), found.first
    if seen is None or first is None:
        return ""
    reference = seen.rows[0][1] if len(seen.rows) == 3 else None
    rows = []
    for who, number in seen.rows:
        is_theirs, is_ours = who == found.library, who == "handgrad"
        off = "" if reference is None or not (is_theirs or is_ours) else rough(abs(number - reference))
        wrong = first.wrong in (who, "both")
        kind = "hg-theirs" if wrong else "hg-ours" if is_ours else ""
        rows.append(f'<tr><td>{xml(who)}</td><td class="{kind}">{cell(number).text}</td>'
                    f'<td class="{"hg-theirs" if wrong else ""}">{off}</td></tr>')  # fmt: skip
    table = ("<table><tr><th>computed by</th><th>gradient</th><th>off by</th></tr>" + "".join(rows) + "</table>")
    what = f"entry <code>{seen.entry}</code> of " if seen.index else ""
    return box(table, f"{what}∂L/∂{xml(visible(first.name))}", seen.counted)


def left_out_box(found: Comparison) -> str:
    """The missing terms, from the library's number to ours; or what the pattern of the numbers says."""
    first, seen = found.first, witnesses(found)
    said = explained(found)
    if first is None or seen is None or not said:
        return ""
    if first.left_out is None:
        return box("".join(f"<p>{xml(visible(line))}</p>" for line in said), "what the numbers say")
    at, place, terms = seen.index, line_of(first), first.left_out.terms
    parts = [float(np.asarray(a)[at]) for a in (first.theirs, *(term.missing for term in terms), first.ours)]
    sign, (theirs, *missing, ours) = as_sum(parts)
    rows = [f'<tr><td>{xml(found.library)}</td><td class="hg-theirs">{theirs}</td></tr>']
    for term, text in zip(terms, missing):
        rule = f'<br><span class="hg-small">{xml(visible(term.rule))}</span>' if term.rule else ""
        rows.append(f"<tr><td>+ through {xml(visible(term.through))}{rule}</td>"
                    f'<td class="hg-ours">{text}</td></tr>')  # fmt: skip
    rows.append(f'<tr class="hg-sum"><td>{sign} handgrad</td><td class="hg-ours">{ours}</td></tr>')
    where = f"what line {place.line} leaves out" if place is not None else "what it leaves out"
    head, *more = (f"<p>{xml(visible(line[:1].upper() + line[1:]))}.</p>" for line in said)
    entry = f"entry {seen.entry}" if at else ""
    small = '<p class="hg-small">Under each term its rule; g is the gradient of that step.</p>'
    return box(f"{head}<table>{''.join(rows)}</table>{small}{''.join(more)}", where, entry)


def as_sum(numbers: list[float]) -> tuple[str, list[str]]:
    """A sum and its last number, the total, with so many decimals that the digits shown add up; else with ≈."""
    for digits in range(DIGITS, MOST_DIGITS):
        written = notation(numbers, digits)
        printed = [float(as_printed(x, written=written)) for x in numbers]
        if math.isclose(math.fsum(printed[:-1]), printed[-1], rel_tol=1e-12, abs_tol=1e-15 * max(map(abs, printed))):
            return "=", [cell(x, written=written).text for x in numbers]
    return "≈", [cell(x, written=notation(numbers)).text for x in numbers]


def notes_box(found: Comparison) -> str:
    opaque = list(dict.fromkeys(found.run.opaque)) if found.run is not None else []
    notes = [*found.notes]
    if opaque:
        notes.append(f"no second opinion on {', '.join(opaque)}: {found.library} computed the gradients there itself")
    return box("".join(f'<p class="hg-small">{xml(visible(note))}</p>' for note in notes)) if notes else ""
