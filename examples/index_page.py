"""`out/index.html`: what `make demo` made, in the order of the book, light or dark as the reader likes it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from autograd.playing import field
from autograd.playing.page import SAMPLES, style
from autograd.saving.pages import asset
from examples.checking.errata import SHORTCUTS, clean, distinct, own_operands
from examples.checking.sheet import VERDICTS, load, names
from examples.checking.verdict import FAILED
from notebooks.lessons import lessons, needs_torch, promise_of, title_of

if TYPE_CHECKING:
    from examples.demo import Made

STORY = {
    "example1": "Which token follows “A B”, before anything is learned? Attention, forward only.",
    "example2": "One gradient, one update of WO, and the target grows a little more likely.",
    "example3": "The gradient’s whole way back: through the softmax, to Q, K and V and all four matrices.",
    "example4": "Three patterns at once, from the average of their gradients, until all are learned.",
    "example5": "A ReLU network after attention, and the residual that lets gradients past it.",
    "example6": "Two blocks with layer norms and residuals, every gradient checked, trained end to end.",
    "cat_sleeps": "Three words through attention, a feed-forward network and a sigmoid, and every gradient back.",
}
LINKS = {
    "step.html": "Step through it", "graph.svg": "Graph", "worksheet.txt": "Worked out", "sheet.html": "By hand",
    "key.html": "Its key",
}
MORE = {
    "graph_rules.svg": "graph with the rules", "graph_flow.svg": "the gradient’s flow",
    "graph_blocks.svg": "blocks folded", "graph_whole.svg": "every node", "sheet.csv": "blanks (CSV)",
}
MEANING = {
    "exact": "the printed number", "rounded": "the same when rounded", "drift": "off only by rounding on the way",
    "erratum": "wrong in print, and proved wrong", FAILED: "not accounted for",
}


def index_page(made: Sequence[Made], out: Path) -> str:
    """The whole page; everything it shows lies beside it."""
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>handgrad: an autograd engine you can check by hand</title>
<style>{style()}{asset("examples", "index.css")}</style></head><body>
<header><h1>handgrad</h1>
<p class="lead">An autograd engine you can check by hand. It draws the graph of an expression, works out every gradient
and shows each line of the arithmetic.</p></header>
<main>
{_formula()}
{_lessons()}
{_examples(made, out)}
{_tools()}
{_errata()}
</main>
<footer>Made by <code>make demo</code>. Run one yourself: <code>handgrad example 3 --set eta=0.2</code></footer>
<script src="notebooks/built.js"></script>
{field.scripts()}<script>{asset("examples", "first.js")}</script>
</body></html>
"""


def _formula() -> str:
    """The formula that a visitor types."""
    samples = "".join(f'<button type="button" data-values="{escape(json.dumps(dict(each.values)))}">'
                      f"{escape(each.formula)}</button>" for each in SAMPLES)
    return f"""<div class="first play-whole"><div class="first-top">
<div class="play-line"><label for="play-formula" id="play-top">L =</label>
<input id="play-formula" value="{escape(SAMPLES[0].formula)}" autocomplete="off" autocapitalize="off" spellcheck="false"
maxlength="2000" aria-describedby="play-message"><output id="play-result"></output></div>
<div id="play-error" role="status" hidden><pre id="play-where"></pre><p id="play-message"></p></div>
<p class="first-samples">Type a formula, or try {samples}</p>
<div id="play-leaves"></div>
<p class="first-acts"><a class="button" id="play-alone" target="_blank">Step through it</a>
<button id="play-copy" type="button">copy as Python</button><button id="play-reset" type="button">reset</button>
<span>Drag a slider, or a number on its card: everything follows. Arrays and all other ops:
<code>handgrad play</code>.</span></p>
<details id="play-python"><summary>as Python</summary><pre id="play-code"></pre></details>
</div><div id="play-frames"></div></div>"""


def _lessons() -> str:
    """A card for each lesson; the page links those that were built."""
    cards = []
    for path in lessons():
        number, _, title = title_of(path).partition(" · ")
        missing = '<small class="missing">needs PyTorch</small>' if needs_torch(path) else ""
        cards.append(f'<a class="lesson" data-page="notebooks/{path.stem}.html" title="{escape(promise_of(path))}">'
                     f"<b>{number}</b>{escape(title)}{missing}</a>")
    return f"""<div class="heading" id="lessons"><h2>Lessons</h2></div>
<p class="lead">From one multiplication to a GPT, number by number, with exercises.
<span id="lessons-how">They are not built yet: run <code>make lessons</code>, a minute, and open this page again.</span>
To work in them, with JupyterLab: <code>make notebooks</code>.</p>
<div class="lessons" id="lessons-list">{"".join(cards)}</div>"""


def _examples(made: Sequence[Made], out: Path) -> str:
    """Every worked example in a row: its graph, what it is about, how many numbers agree, and its pages."""
    total = sum((each.counts for each in made), Counter())
    agree = total.total() - total["erratum"] - total[FAILED]
    key = "".join(f'<li><i class="{kind}"></i><b>{kind}</b>: {MEANING[kind]}</li>' for kind in VERDICTS)
    rows = "".join(_row(number, each, out) for number, each in enumerate(made, start=1))
    return f"""<div class="heading" id="examples"><h2>Worked examples</h2>
<a href="#errata">what is wrong in print: {total["erratum"]} errata, each proved</a></div>
<p class="lead">Seven transformer calculations small enough for paper. Every number that the printed worksheets give is
held against the engine’s: of <b>{total.total()}</b>, <b>{agree}</b> agree.</p>
<ul class="key">{key}</ul>{rows}"""


def _row(number: int, made: Made, out: Path) -> str:
    name, counts = made.example.name, made.counts
    files = {path.name: path.relative_to(out).as_posix() for path in made.files}
    links = " ".join(f'<a href="{files[file]}">{label}</a>' for file, label in LINKS.items() if file in files)
    rest = [file for file in files if file not in LINKS]
    more = " ".join(f'<a href="{files[file]}">{escape(MORE.get(file, file))}</a>' for file in rest)
    kinds = [kind for kind in (*VERDICTS, FAILED) if counts[kind]]
    agree = counts.total() - counts["erratum"] - counts[FAILED]
    says = f"{agree} of {counts.total()} agree" if kinds else _checked(made)
    bar = "".join(f'<i class="{kind}" style="flex:{counts[kind]}"></i>' for kind in kinds)
    told = ", ".join(f'{counts[kind]} {"errata" if kind == "erratum" else kind}' for kind in kinds)
    return f"""<section class="example" id="{name}"><a class="thumb" href="{files["graph.svg"]}">
<img src="{files["graph.svg"]}" alt="computation graph of {name}" loading="lazy"></a>
<div><h3>{number}. {escape(made.example.title)}</h3><p>{STORY[name]}</p>
<div class="links">{links}<details><summary>more</summary>{more}</details></div></div>
<div class="agree" title="{told}"><span class="bar" aria-hidden="true">{bar}</span><small>{says}</small></div>
</section>"""


def _checked(made: Made) -> str:
    return "every gradient agrees with differences" if not made.complaints else "gradients disagree"


def _tools() -> str:
    return """<div class="heading" id="tools"><h2>Larger, and your own</h2></div>
<section class="example" id="gpt"><a class="thumb" href="gpt/graph.html">
<img src="gpt/graph.svg" alt="folded graph of a GPT" loading="lazy"></a>
<div><h3>A whole GPT</h3><p>One training step of a GPT with four blocks and 818 000 parameters, folded by module.
A click opens a module down to its single ops.</p><div class="links"><a href="gpt/graph.html">Open and unfold it</a>
<a href="gpt/graph_flow.svg">The gradient’s flow</a></div></div></section>
<p class="lead"><code>handgrad step</code>, <code>draw</code>, <code>check</code>, <code>worksheet</code> and
<code>grade</code> do the same with your own code: <code>handgrad --help</code>.</p>"""


def _errata() -> str:
    """Every slip in one line; the worksheets above give the numbers."""
    rows = "".join(_errata_rows())
    return f"""<div class="heading" id="errata"><h2>Errata of the printed worksheets</h2></div>
<p class="lead">Where the hand slipped, how many printed numbers are wrong by it, and how many of those are right
arithmetic on wrong numbers. (As a page of text: <a href="errata.md">errata.md</a>.)</p>
<details><summary>Every slip</summary><div class="scroll"><table>
<thead><tr><th>no.</th><th>slip</th><th>wrong</th><th>of these merely follow</th></tr></thead>
<tbody>{rows}</tbody></table></div></details>
<details><summary>Every wrong number, printed and right</summary><div class="scroll"><table>
<thead><tr><th>no.</th><th>number</th><th>printed</th><th>right</th><th>why</th><th>author’s own numbers</th></tr>
</thead><tbody>{"".join(_wrong_numbers())}</tbody></table></div></details>"""


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
