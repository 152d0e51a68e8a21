"""A lesson that was run, as one HTML file: text, code, figures, live steppers, and exercises that judge an answer.

It fetches nothing, is light or dark as the reader likes it, and fits a phone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any

from autograd.drawing.paint.theme import MONO, SANS, variables_css
from autograd.stepping.faces.notebook import page_in
from notebooks.lessons import lessons, promise_of, title_of
from notebooks.mathml import FORMULA, mathml

ASSETS = Path(__file__).resolve().parent / "assets"
EXERCISE = "application/vnd.handgrad.exercise"
FRAME_HEIGHT = 640
SMALLEST = 0.62  # of its own size, that a drawing may shrink to


def lesson_page(notebook: Any, path: Path, among: Sequence[Path]) -> str:
    """A notebook that was run, as a page, with links to those of its neighbours that are pages too."""
    body = "\n".join(_cell(cell) for cell in notebook.cells if cell.source.strip())
    around = _ways(path, among, "other lessons"), _ways(path, among, "where to go next")
    return _page(title_of(path), f"{around[0]}<main>{body}</main>{around[1]}", _asset("lesson.js"))


def contents_page(built: Sequence[Path], home: bool) -> str:
    """The list of the lessons; what could not be built says why. `home`: the first page of `make demo` is there."""
    items = "".join(f"<li>{_entry(path, path in built)} <span>{escape(promise_of(path))}</span></li>"
                    for path in lessons())  # fmt: skip
    way = '<nav aria-label="other pages"><a href="../index.html">‹ first page</a></nav>' if home else ""
    return _page("Lessons", f'{way}<main class="contents"><h1>Lessons</h1><ul>{items}</ul></main>')


def _entry(path: Path, built: bool) -> str:
    missing = " (not built: it needs PyTorch; <code>pip install torch</code>, then <code>make lessons</code>)"
    return _link(path) if built else escape(title_of(path)) + missing


def _page(title: str, body: str, script: str = "") -> str:
    style = f"{variables_css(':root')}:root{{--mono:{MONO};--sans:{SANS}}}{_asset('lesson.css')}"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{style}</style></head><body>{body}"
        f"<script>{script}</script></body></html>\n"
    )


def _ways(path: Path, among: Sequence[Path], label: str) -> str:
    """Links to the lesson before, to all, and to the lesson after."""
    place = among.index(path)
    before = _link(among[place - 1], "‹ ") if place else "<span></span>"
    after = _link(among[place + 1], after=" ›") if place + 1 < len(among) else "<span></span>"
    return f'<nav aria-label="{label}">{before}<a href="index.html">all lessons</a>{after}</nav>'


def _link(path: Path, before: str = "", after: str = "") -> str:
    return f'<a href="{path.stem}.html">{before}{escape(title_of(path))}{after}</a>'


# --- cells ----------------------------------------------------------------------------------------------------------


def _cell(cell: Any) -> str:
    if cell.cell_type == "markdown":
        return _text(cell.source)
    outputs = list(_outputs(cell))
    if any('class="exercise"' in shown for shown in outputs):
        return "".join(outputs)  # its code is for those who work in the notebook
    return f'<pre class="code">{_highlighted(cell.source)}</pre>{"".join(outputs)}'


def _text(source: str) -> str:
    """Markdown, its formulas as MathML."""
    import mistune

    formulas: list[str] = []  # set aside: Markdown would take their underscores for emphasis

    def kept(found: re.Match[str]) -> str:
        formulas.append(mathml(found[1] or found[2], display=found[1] is not None))
        return f"handgrad-formula-{len(formulas) - 1}-"

    html = str(mistune.html(FORMULA.sub(kept, source)))
    return re.sub(r"handgrad-formula-(\d+)-", lambda found: formulas[int(found[1])], html)


def _highlighted(source: str) -> str:
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import PythonLexer

    return str(highlight(source, PythonLexer(), HtmlFormatter(nowrap=True)))


def _outputs(cell: Any) -> Iterator[str]:
    for output in cell.outputs:
        if output.output_type == "stream":
            if output.name == "stdout":
                yield f'<pre class="out printed">{escape(output.text)}</pre>'
        elif output.output_type in ("execute_result", "display_data"):
            yield _shown(output.data, _comment(cell.source))


def _shown(data: Any, asked: str) -> str:
    """The richest form of an output."""
    if EXERCISE in data:
        return _exercise(data[EXERCISE], asked)
    if "image/svg+xml" in data:
        return _figure(data["image/svg+xml"])
    if "text/html" in data:
        return _html(data["text/html"])
    if "image/png" in data:
        return f'<figure><img alt="a plot" src="data:image/png;base64,{data["image/png"].strip()}"></figure>'
    return f'<pre class="out">{escape(data.get("text/plain", ""))}</pre>'


def _html(text: str) -> str:
    """A stepper's frame without what stands in for it elsewhere; other HTML as it is."""
    page = page_in(text)
    if page is None:
        return f'<div class="wide">{text}</div>'
    return (
        f'<div class="wide"><iframe sandbox="allow-scripts allow-forms" loading="lazy" title="stepper" '
        f'height="{FRAME_HEIGHT}" srcdoc="{escape(page)}"></iframe></div>'
    )


def _figure(svg: str) -> str:
    """A drawing or a plot, as wide as the page or, where that would make it too small to read, in a box that scrolls.

    A plot of matplotlib gets the colours of the page: its black is the ink, its white the paper.
    """
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.S)
    if 'id="figure_1"' in svg:
        svg = svg.replace("fill: #ffffff", "fill: none").replace("#000000", "currentColor")
        return f'<figure class="plot">{svg}</figure>'
    width = re.match(r'<svg[^>]* width="([\d.]+)', svg)
    least = round(SMALLEST * float(width[1])) if width else 0
    return f'<figure>{svg.replace("<svg", f"""<svg style="min-width:{least}px" """, 1)}</figure>'


def _comment(source: str) -> str:
    """What `yours = None  # a number` says is to be written."""
    found = re.search(r"^yours = None  # (.*)$", source, re.M)
    return found[1] if found else ""


def _exercise(rule: str, asked: str) -> str:
    return (
        f'<form class="exercise" data-rule="{escape(rule)}"><label>your answer'
        f'<input autocomplete="off" spellcheck="false" placeholder="{escape(asked)}"></label>'
        '<button>check</button><output role="status"></output></form>'
    )


def _asset(name: str) -> str:
    return (ASSETS / name).read_text(encoding="utf-8")
