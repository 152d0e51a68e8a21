"""`out/index.html`: what `make demo` made, in the order of the book, light or dark as the reader likes it."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from autograd.pages import asset
from autograd.playing.page import style
from examples.checking.errata import SHORTCUTS, clean, distinct, own_operands
from examples.checking.sheet import VERDICTS, load, names
from examples.checking.verdict import FAILED
from notebooks.lessons import lessons, needs_torch, promise_of, title_of

if TYPE_CHECKING:
    from examples.demo import First, Made

STORY = {
    "example1": "Which token follows “A B”, before anything is learned? Attention, forward only.",
    "example2": "One gradient, one update of WO, and the target grows a little more likely.",
    "example3": "The gradient’s whole way back: through the softmax, to Q, K and V and all four matrices.",
    "example4": "Three patterns at once, from the average of their gradients, until all are learned.",
    "example5": "A ReLU network after attention, and the residual that lets gradients past it.",
    "example6": "Two blocks with layer norms and residuals, every gradient checked, trained end to end.",
    "cat_sleeps": "Three words through attention, a feed-forward network and a sigmoid, and every gradient back.",
}
BUTTONS = {
    "step.html": "Step through backprop", "graph.svg": "Open the graph", "graph_rules.svg": "Graph with the rules",
    "graph_flow.svg": "Graph with the gradient’s flow", "graph_blocks.svg": "Blocks folded",
    "graph_whole.svg": "Every node", "worksheet.txt": "Worked out, as text",
    "sheet.html": "Work it out by hand", "key.html": "Its key", "sheet.csv": "Its blanks as a table (CSV)",
}
MEANING = {
    "exact": "the printed number", "rounded": "the same when rounded", "drift": "off only by rounding on the way",
    "erratum": "wrong in print, and proved wrong", FAILED: "not accounted for",
}


def index_page(made: Sequence[Made], first: Sequence[First], out: Path) -> str:
    """The whole page; everything it shows lies beside it."""
    sections = "\n".join(_section(number, each, out) for number, each in enumerate(made, start=1))
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>handgrad: an autograd engine you can check by hand</title>
<style>{style()}{asset("examples", "index.css")}</style></head><body>
<header><h1>handgrad</h1>
<p class="lead">An autograd engine you can check by hand. It draws the graph of an expression, works out every gradient
and shows each line of the arithmetic.</p></header>
<main>
{_first(first)}
{_lessons()}
{_overview(made)}
{sections}
{_gpt(out)}
{_errata()}
</main>
<footer>Made by <code>make demo</code>. Run one yourself: <code>handgrad example 3 --set eta=0.2</code></footer>
<script src="notebooks/built.js"></script>
<script>{asset("autograd.playing", "sliders.js")}{asset("examples", "first.js")}</script>
</body></html>
"""


def _first(first: Sequence[First]) -> str:
    """The formula that a visitor can change."""
    options = "".join(
        f'<option value="{escape(each.formula)}" data-page="{each.page}" data-code="{escape(json.dumps(each.code))}">'
        f"{escape(each.formula)}</option>" for each in first)
    return f"""<div class="first"><div class="first-top">
<div class="play-line"><label for="play-samples">L =</label><select id="play-samples">{options}</select>
<output id="play-result"></output></div>
<div id="play-leaves"></div>
<p class="first-acts"><a class="button" id="play-alone" href="{first[0].page}">Step through it</a>
<button id="play-copy" type="button">copy as Python</button><button id="play-reset" type="button">reset</button>
<span>Drag a slider, or a number on its card: everything follows. There are more formulas above;
<code>handgrad play</code> lets you type your own.</span></p>
<details id="play-python"><summary>as Python</summary><pre id="play-code"></pre></details>
</div><div id="play-frames"></div></div>"""


def _lessons() -> str:
    """A card for each lesson, folded until `make lessons` has built one: the page then links those there are."""
    cards = []
    for path in lessons():
        number, _, title = title_of(path).partition(" · ")
        missing = "needs PyTorch: pip install torch, then " if needs_torch(path) else "not built yet: "
        cards.append(f'<a class="lesson" data-page="notebooks/{path.stem}.html"><b>{number}</b>{escape(title)}'
                     f"<small>{escape(promise_of(path))}</small>"
                     f'<small class="missing">{missing}make lessons</small></a>')
    return f"""<div class="heading" id="lessons"><h2>Lessons</h2></div>
<p class="lead">From one multiplication to a GPT, number by number, with exercises. 1 to 7 go from a product to
a network that learns, 8 to 15 through the worked examples below, 16 to 20 to a GPT that writes; 21 to 23 are tools.
<span id="lessons-how">As pages they take a minute to make: run <code>make lessons</code>, then open this page
again.</span> To work in them, with JupyterLab: <code>make notebooks</code>.</p>
<details id="lessons-list"><summary>all {len(cards)} titles</summary>
<div class="lessons">{"".join(cards)}</div></details>"""


def _overview(made: Sequence[Made]) -> str:
    """All worked examples in a line each, and what is said of their numbers."""
    total = sum((each.counts for each in made), Counter())
    agree = total.total() - total["erratum"] - total[FAILED]
    key = "".join(f'<li><i class="{kind}"></i><b>{kind}</b>: {MEANING[kind]}</li>' for kind in VERDICTS)
    rows = "".join(_overview_row(number, each) for number, each in enumerate(made, start=1))
    return f"""<div class="heading" id="examples"><h2>Worked examples</h2>
<a href="#errata">what is wrong in print: {total["erratum"]} errata, each proved</a></div>
<p class="lead">Seven transformer calculations small enough for paper. Every number that the printed worksheets give is
held against the engine’s: of <b>{total.total()}</b>, <b>{agree}</b> agree.</p>
<ul class="key">{key}</ul><nav class="examples">{rows}</nav>"""


def _overview_row(number: int, made: Made) -> str:
    counts, title = made.counts, made.example.title.partition(":")[0]
    kinds = [kind for kind in (*VERDICTS, FAILED) if counts[kind]]
    says = "no printed numbers"
    if kinds:
        says = f'{counts.total() - counts["erratum"] - counts[FAILED]} of {counts.total()} agree'
    bar = "".join(f'<i class="{kind}" style="flex:{counts[kind]}"></i>' for kind in kinds)
    told = ", ".join(f"{counts[kind]} {_plural(kind)}" for kind in kinds)
    return (f'<a href="#{made.example.name}" title="{told}"><b>{number}</b><span>{escape(title)}</span>'
            f'<span class="bar" aria-hidden="true">{bar}</span><small>{says}</small></a>')


def _section(number: int, made: Made, out: Path) -> str:
    name = made.example.name
    files = {path.name: path.relative_to(out).as_posix() for path in made.files}
    graph, worksheet = files.get("graph.svg"), files.get("worksheet.txt")
    plots = [file for file in files if file.endswith(".svg") and not file.startswith("graph")]
    buttons = [f'<a class="button" href="{files[file]}">{label}</a>'
               for file, label in BUTTONS.items() if file in files]
    parts = [f'<section id="{name}"><h2>{number}. {escape(made.example.title)}</h2><p class="lead">{STORY[name]}</p>',
             _verdicts(made), f'<p class="buttons">{"".join(buttons)}</p>']
    if graph:
        parts.append(f'<a class="graph" href="{graph}">{_image(graph, out, f"computation graph of {name}")}</a>')
    if plots:
        images = "".join(_image(files[file], out, file.removesuffix(".svg")) for file in plots)
        parts.append(f'<div class="plots">{images}</div>')
    if worksheet:
        text = (out / worksheet).read_text(encoding="utf-8")
        parts.append(f"<details><summary>Worked out, step by step</summary><pre>{escape(text)}</pre></details>")
    return "\n".join([*parts, "</section>"])


def _image(file: str, out: Path, what: str) -> str:
    """A picture that is loaded when it comes into sight, in the room that it will need."""
    size = re.search(r' width="(\d+)" height="(\d+)"', (out / file).read_text(encoding="utf-8"))
    room = f' width="{size[1]}" height="{size[2]}"' if size else ""
    return f'<img src="{file}" alt="{escape(what)}" loading="lazy"{room}>'


def _verdicts(made: Made) -> str:
    if not made.findings:
        state = "every gradient agrees with finite differences" if not made.complaints else "gradients disagree"
        return f'<p class="verdicts"><span class="verdict">no printed numbers; {state}</span></p>'
    counts = made.counts
    kinds = [kind for kind in (*VERDICTS, FAILED) if counts[kind]]
    badges = (f'<span class="verdict"><i class="{kind}"></i><b>{counts[kind]}</b> {_plural(kind)}: {MEANING[kind]}'
              "</span>" for kind in kinds)
    return f'<p class="verdicts">{"".join(badges)}</p>'


def _plural(kind: str) -> str:
    return "errata" if kind == "erratum" else kind


def _errata() -> str:
    """Every slip in one line; the worksheets above give the numbers."""
    rows = "".join(_errata_rows())
    return f"""<section id="errata"><h2>Errata of the printed worksheets</h2>
<p class="lead">Where the hand slipped, how many printed numbers are wrong by it, and how many of those are right
arithmetic on wrong numbers. (As a page of text: <a href="errata.md">errata.md</a>.)</p>
<div class="scroll"><table>
<thead><tr><th>no.</th><th>slip</th><th>wrong</th><th>of these merely follow</th></tr></thead>
<tbody>{rows}</tbody></table></div>
<details><summary>Every wrong number, printed and right</summary><div class="scroll"><table>
<thead><tr><th>no.</th><th>number</th><th>printed</th><th>right</th><th>why</th><th>author’s own numbers</th></tr>
</thead><tbody>{"".join(_wrong_numbers())}</tbody></table></div></details></section>"""


def _errata_rows() -> Iterable[str]:
    for name in names():
        sheet = load(name)
        for root in sheet.roots:
            follow = [sheet.entry(id).follows for id in root.entries]
            merely = sum(each is not None and each.gives_printed for each in follow)
            shortcut = ": <em>a shortcut, not a slip</em>" if root.id in SHORTCUTS else ""
            yield (f"<tr><td><code>{escape(root.id)}</code></td><td>{escape(clean(root.what))}{shortcut}</td>"
                   f'<td class="number">{len(root.entries)}</td><td class="number">{merely}</td></tr>')


def _wrong_numbers() -> Iterable[str]:
    for name in names():
        sheet = load(name)
        for root in sheet.roots:
            for entry, count in distinct(sheet.entry(id) for id in root.entries):
                times = f" <em>{count}×</em>" if count > 1 else ""
                own = escape(own_operands(entry).replace("`", ""))
                yield (f"<tr><td><code>{escape(root.id)}</code></td><td><code>{escape(entry.what)}</code>{times}</td>"
                       f'<td class="printed">{entry.printed_text}</td><td class="right">{entry.exact:.6g}</td>'
                       f"<td>{escape(clean(entry.reason))}</td><td>{own}</td></tr>")


def _gpt(out: Path) -> str:
    return f"""<section id="gpt"><h2>A whole GPT</h2>
<p class="lead">The same graph at full size: one training step of a GPT with four blocks and 818 000 parameters,
folded by module. In the page, a click opens a module down to its single ops.</p>
<p class="buttons"><a class="button" href="gpt/graph.html">Open and unfold it</a>
<a class="button" href="gpt/graph_flow.svg">Graph with the gradient’s flow</a></p>
<a class="graph" href="gpt/graph.html">{_image("gpt/graph.svg", out, "folded graph of a GPT")}</a>
</section>"""
