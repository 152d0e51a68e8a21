"""A formula that is typed on a page that no server makes: for each op of the grammar, how a stepper shows it.

One stepper walks through all of these ops, each on numbers of its own. A page has its lines and panels as patterns, in
which a Chinese character stands for each name (`assets/field.js` writes others there). So the rules, the arithmetic and
the words on that page are those of every other page.

    >>> sorted(patterns()["ops"])[:3], patterns()["ops"]["mul vv"]["reading"][1:4]
    (['abs v', 'add cv', 'add vc'], ' = ')
"""

from __future__ import annotations

import functools
import itertools
import re
from typing import Any

from autograd.engine import Value
from autograd.formula import grammar
from autograd.op import OPS
from autograd.saving.pages import asset, embedded
from autograd.stepping import questions, step
from autograd.stepping.page import document
from autograd.stepping.page.live import Live
from autograd.stepping.page.panel import Panels
from autograd.stepping.steps import BACKWARD, FORWARD, Step

from .graph import FIRST_NUMBERS
from .page import DATA

FIRST_NAME = 0x4E00  # the first character that stands for a name; a formula has no such letters in its words


def cases() -> list[tuple[str, str]]:
    """Each op with what it is applied to: a variable `v` or a constant `c`."""
    table = grammar.table()
    functions = {"neg": 1, **table["functions"]}
    twos = [name for name, count in functions.items() if count == 2]
    twos += [op for kind in ("sums", "products", "powers") for op in table[kind].values()]
    return [(name, "v") for name, count in functions.items() if count == 1] + [
        (name, kinds) for name in twos for kinds in ("vv", "vc", "cv")
    ]


@functools.cache
def patterns() -> dict[str, Any]:
    """The table for the page."""
    names = map(chr, itertools.count(FIRST_NAME))
    top, found = next(names), {}
    for name, kinds in cases():
        inputs = [Value(0.5, name=next(names), requires_grad=kind == "v") for kind in kinds]
        result = OPS[name](*inputs)
        result.name = next(names)
        found[f"{name} {kinds}"] = inputs, result
    root = functools.reduce(OPS["add"], [result for _, result in found.values()])
    root.name = top
    stepper = step(root)
    live = Live(stepper)
    panels = Panels(stepper, live)
    steps = {(one.node, one.kind): one for one in stepper}
    ops: dict[str, Any] = {
        key: _forward(panels, live, [stepper.twin(x) for x in inputs], steps[result, FORWARD])
        | (_backward(panels, live, steps[result, BACKWARD]) if (result, BACKWARD) in steps else {"sends": []})
        for key, (inputs, result) in found.items()
    }
    data, update = live.data(), live.shown_updates[0]
    used = {*live.step_data(update)["lines"]}
    for op in ops.values():
        used.update(op["lines"], *(send["lines"] for send in op["sends"]))
    return {
        "top": top, "ops": ops, "functions": data["functions"], "constants": data["constants"],
        "reasons": data["reasons"],
        "lines": {number: live.registers.whole(number) for number in sorted(used)},
        "update": {"panel": panels.update(update), "rate": data["update"]["rate"], "by": data["update"]["by"],
                   "new": data["update"]["moves"][0]["replaced"][0][0], "name": update.name,
                   "value": live.value(update.twin).number, "gradient": live.gradient_number(update.twin),
                   **live.step_data(update)},
        "grammar": grammar.table(), "first": FIRST_NUMBERS, "data": DATA.pattern,
    }  # fmt: skip


def _forward(panels: Panels, live: Live, inputs: list[Value], one: Step) -> dict[str, Any]:
    """An op computed: its panel, and where its lines keep the numbers."""
    return {
        "reading": one.reading, "out": [one.name, live.value(one.twin).number],
        "inputs": [[x.name, live.value(x).number] for x in inputs],
        "lines": live.step_data(one)["lines"], "panel": panels._forward(one),
    }  # fmt: skip


def _backward(panels: Panels, live: Live, one: Step) -> dict[str, Any]:
    """What an op sends to its inputs."""
    arrives, *sections = re.split(r'(?=<section class="hg-to">)', "".join(panels._backward(one)))
    sends = [
        {"place": contribution.place, "lines": [live.line(line) for line in contribution.lines], "panel": section,
         "added": live.shown[contribution][0].number}
        for contribution, section in zip(one.contributions, sections, strict=True)
    ]  # fmt: skip
    return {"arrives": [live.gradient_number(one.twin), arrives], "sends": sends, "why": questions.in_words(one) or ""}


PARTS = {
    "title": r"(<title>).*?(</title>)", "subtitle": r'(<span class="hg-sub">).*?(</span>\s*<span class="hg-tools">)',
    "graph": r'(<div id="hg-stage">).*?(</div>\s*<svg id="hg-strings")', "": r"(<noscript>).*?(</noscript>)",
    "data": r'(<script id="hg-data"[^>]*>).*?(</script>)',
}  # fmt: skip


def page() -> str:
    """A stepper's page with gaps for a graph, `{{graph}}`, and all else that `field.js` makes of a formula."""
    text = document.write(step(Value(1.0, name="a") * 2.0, title=" "))
    for name, pattern in PARTS.items():
        text = re.sub(pattern, rf"\1{{{{{name}}}}}\2" if name else r"\1\2", text, count=1, flags=re.S)
    bridge = asset("autograd.playing", "bridge.js")
    numbers = '<script id="play-numbers" type="application/json">{{numbers}}</script>'
    return text.replace("</body>", f"{numbers}<script>{bridge}</script></body>")


def scripts() -> str:
    """All that a page needs for a field into which a formula is typed, as script elements."""
    parts = {"play-patterns": patterns(), "play-page": page()}
    data = (f'<script id="{name}" type="application/json">{embedded(part)}</script>' for name, part in parts.items())
    files = [asset("autograd.stepping.page", name) for name in ("program.js", "typed.js")]
    files += [asset("autograd.playing", name) for name in ("layout.js", "field.js", "sliders.js")]
    return f"{''.join(data)}<script>{''.join(files)}</script>"
