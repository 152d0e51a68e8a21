"""`out/index.html`: what `make demo` made, in the order of the book, light or dark as the reader likes it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from autograd.drawing.paint.theme import MONO, SANS, variables_css
from examples.checking.errata import SHORTCUTS, clean, distinct, own_operands
from examples.checking.sheet import VERDICTS, load, names
from examples.checking.verdict import FAILED

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
BUTTONS = {
    "step.html": "Step through backprop", "graph.svg": "Open the graph", "graph_rules.svg": "Graph with the rules",
    "graph_flow.svg": "Graph with the gradient’s flow", "graph_blocks.svg": "Blocks folded",
    "graph_whole.svg": "Every node", "worksheet.txt": "Worksheet as text",
    "sheet.html": "Work it out by hand", "key.html": "The key", "sheet.csv": "Answers as a table",
}
MEANING = {
    "exact": "printed as it is", "rounded": "right, with fewer digits", "drift": "right but for rounding on the way",
    "erratum": "wrong, and proved wrong", FAILED: "not accounted for",
}


def index_page(made: Sequence[Made], out: Path) -> str:
    """The whole page; everything it shows lies beside it."""
    sections = "\n".join(_section(each, out) for each in made)
    links = "".join(f'<a href="#{each.example.name}">{escape(_label(each).partition(":")[0])}</a>' for each in made)
    total = sum((each.counts for each in made), Counter())
    agree = total.total() - total["erratum"] - total[FAILED]
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>handgrad: an autograd engine you can check by hand</title>
<style>{variables_css(":root")}{_STYLE}</style></head><body>
<header><h1>handgrad</h1>
<p class="lead">An autograd engine you can check by hand: it writes down every step of backpropagation, in symbols
and in numbers. Here is one expression to try; below are seven transformer calculations from paper worksheets.</p>
{_FIRST}
<h2>The worked examples</h2>
<p class="lead">Seven transformer calculations small enough for paper, computed by the engine. Every number that the
printed worksheets give is held against it: <b>{total.total()}</b> numbers, <b>{agree}</b> agree,
<b>{total["erratum"]}</b> are errata, each proved.</p>
{_meanings()}
<nav>{links}<a href="#gpt">A whole GPT</a><a href="#errata">Errata</a></nav></header>
<main>
{sections}
{_GPT}
{_errata()}
</main>
<footer>Made by <code>make demo</code>. Run one yourself: <code>handgrad example 3 --set eta=0.2</code></footer>
</body></html>
"""


def _section(made: Made, out: Path) -> str:
    name = made.example.name
    files = {path.name: path.relative_to(out).as_posix() for path in made.files}
    graph, worksheet = files.get("graph.svg"), files.get("worksheet.txt")
    plots = [file for file in files if file.endswith(".svg") and not file.startswith("graph")]
    buttons = [f'<a class="button" href="{files[file]}">{label}</a>'
               for file, label in BUTTONS.items() if file in files]
    parts = [f'<section id="{name}"><h2>{escape(_label(made))}</h2><p class="lead">{STORY[name]}</p>',
             _verdicts(made), f'<p class="buttons">{"".join(buttons)}</p>']
    if graph:
        parts.append(f'<a class="graph" href="{graph}"><img src="{graph}" alt="computation graph of {name}" '
                     'loading="lazy"></a>')
    if plots:
        images = "".join(f'<img src="{files[file]}" alt="{escape(file.removesuffix(".svg"))}" loading="lazy">'
                         for file in plots)
        parts.append(f'<div class="plots">{images}</div>')
    if worksheet:
        text = (out / worksheet).read_text(encoding="utf-8")
        parts.append(f"<details><summary>The worksheet, step by step</summary><pre>{escape(text)}</pre></details>")
    return "\n".join([*parts, "</section>"])


def _label(made: Made) -> str:
    number = made.example.name.removeprefix("example")
    return f"{number}. {made.example.title}" if number.isdigit() else made.example.title


def _verdicts(made: Made) -> str:
    if not made.findings:
        state = "every gradient agrees with finite differences" if not made.complaints else "gradients disagree"
        return f'<p class="verdicts"><span class="verdict">no printed numbers; {state}</span></p>'
    counts = made.counts
    kinds = [kind for kind in (*VERDICTS, FAILED) if counts[kind]]
    badges = (f'<span class="verdict {kind}" title="{MEANING[kind]}"><b>{counts[kind]}</b> {_plural(kind)}</span>'
              for kind in kinds)
    return f'<p class="verdicts">{"".join(badges)}</p>'


def _meanings() -> str:
    """What the words beside each example mean."""
    rows = "".join(f"<dt>{kind}</dt><dd>{MEANING[kind]}</dd>" for kind in VERDICTS)
    return f'<dl class="meanings">{rows}</dl>'


def _plural(kind: str) -> str:
    return "errata" if kind == "erratum" else kind


def _errata() -> str:
    """Every slip in one line; the worksheets above give the numbers."""
    rows = "".join(_errata_rows())
    return f"""<section id="errata"><h2>Errata of the printed worksheets</h2>
<p class="lead">Where the hand slipped, how many printed numbers are wrong by it, and how many of those are right
arithmetic on wrong numbers. (As a page of text: <a href="errata.md">errata.md</a>.)</p>
<div class="scroll"><table><thead><tr><th></th><th>slip</th><th>wrong</th><th>of these merely follow</th></tr></thead>
<tbody>{rows}</tbody></table></div>
<details><summary>Every wrong number, printed and right</summary><div class="scroll"><table>
<thead><tr><th></th><th>number</th><th>printed</th><th>right</th><th>why</th><th>author’s own numbers</th></tr></thead>
<tbody>{"".join(_wrong_numbers())}</tbody></table></div></details></section>"""


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


_GPT = """<section id="gpt"><h2>A whole GPT</h2>
<p class="lead">The same graph at full size: one training step of a GPT with four blocks and 818 000 parameters,
folded by module. In the page, a click opens a module down to its single ops.</p>
<p class="buttons"><a class="button" href="gpt/graph.html">Open and unfold it</a>
<a class="button" href="gpt/graph_flow.svg">Graph with the gradient’s flow</a></p>
<a class="graph" href="gpt/graph.html"><img src="gpt/graph.svg" alt="folded graph of a GPT" loading="lazy"></a>
</section>"""

_FIRST = """<p class="lead">Click <b>b</b>, drag it sideways or press ↑ and ↓: everything follows. Past −4 the gradient
of <b>a</b> changes its sign. After the last step, <b>train</b> lowers L. <a href="first.html#step=8">Open it alone</a>,
and send the address to somebody. The lessons are built by <code>make lessons</code>.</p>
<iframe class="first" src="first.html#step=8" title="tanh(a·b + a²), step by step, its numbers yours to change">
</iframe>"""

_STYLE = f"""
.first{{width:100%;height:640px;border:1px solid var(--hg-hair);border-radius:12px;margin:0 0 28px}}
.meanings{{display:grid;grid-template-columns:auto 1fr;gap:2px 14px;margin:0 0 10px;font-size:14.5px;
color:var(--hg-muted)}}
.meanings dt{{color:var(--hg-ink);font-weight:600}}.meanings dd{{margin:0}}
:root{{color-scheme:light dark}}
*{{box-sizing:border-box}}
body{{margin:0;background:var(--hg-surface);color:var(--hg-ink);font:16px/1.5 {SANS}}}
header,main,footer{{max-width:1080px;margin:0 auto;padding:0 20px}}
header{{padding-top:40px}}
h1{{font-size:34px;line-height:1.2;margin:0 0 8px}}
h2{{font-size:23px;line-height:1.3;margin:0}}
.lead{{margin:6px 0 14px;color:var(--hg-muted);max-width:72ch}}
.lead b{{color:var(--hg-ink)}}
a{{color:var(--hg-parameter-line)}}
nav{{display:flex;flex-wrap:wrap;gap:8px;margin:18px 0 8px}}
nav a,.button{{display:inline-block;padding:6px 12px;border:1px solid var(--hg-hair);border-radius:8px;
text-decoration:none;background:var(--hg-panel);font-size:14px}}
nav a:hover,.button:hover{{border-color:var(--hg-parameter-line)}}
.button:first-child{{background:var(--hg-parameter-line);border-color:var(--hg-parameter-line);
color:var(--hg-surface);font-weight:600}}
a:focus-visible,summary:focus-visible{{outline:3px solid var(--hg-parameter-line);outline-offset:2px}}
section{{padding:34px 0 26px;border-top:1px solid var(--hg-hair);margin-top:22px}}
.verdicts{{display:flex;flex-wrap:wrap;gap:8px;margin:0 0 14px}}
.verdict{{font-size:13px;padding:3px 10px;border-radius:999px;border:1px solid var(--hg-hair);
background:var(--hg-panel)}}
.verdict.erratum,.verdict.failed{{background:var(--hg-bad-fill);border-color:var(--hg-bad);color:var(--hg-bad)}}
.buttons{{display:flex;flex-wrap:wrap;gap:10px;margin:0 0 16px}}
.graph{{display:block;border:1px solid var(--hg-hair);border-radius:12px;padding:14px;
background:var(--hg-surface)}}
.graph img{{display:block;max-width:100%;height:auto;margin:0 auto}}
.plots{{display:flex;flex-wrap:wrap;gap:16px;margin-top:16px}}
.plots img{{max-width:100%;height:auto;border:1px solid var(--hg-hair);border-radius:12px}}
details{{margin-top:16px}}
summary{{cursor:pointer;padding:6px 0}}
pre{{font:13px/1.5 {MONO};background:var(--hg-panel);border:1px solid var(--hg-hair);border-radius:12px;padding:16px;
overflow:auto;max-height:640px;margin:8px 0 0}}
code{{font:13.5px {MONO}}}
.scroll{{overflow-x:auto}}
table{{border-collapse:collapse;font-size:14.5px;width:100%}}
th{{text-align:left;font-weight:600;color:var(--hg-muted)}}
th,td{{padding:7px 12px 7px 0;border-bottom:1px solid var(--hg-hair);vertical-align:top}}
td:first-child{{white-space:nowrap}}
.number{{text-align:right;font-family:{MONO};padding-right:40px}}
.printed,.right{{font-family:{MONO};font-size:13.5px}}
.printed{{color:var(--hg-bad);text-decoration:line-through}}
details table{{font-size:13.5px}}
em{{color:var(--hg-muted)}}
footer{{padding-top:24px;padding-bottom:60px;color:var(--hg-muted);font-size:14px}}
"""
