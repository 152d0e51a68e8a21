"""`Stepper.html()`: one self-contained page. Python paints every card and writes every panel; the page chooses."""

from __future__ import annotations

import functools
import re
from dataclasses import replace
from typing import Any

from autograd.drawing.paint import painter, theme
from autograd.errors import StepError
from autograd.formula.numbers import count, short
from autograd.formula.text import xml
from autograd.pages import asset, embedded, filled
from autograd.stepping.folding import inside
from autograd.stepping.live import Live, build
from autograd.stepping.notebook import step_table
from autograd.stepping.packing import bare, packed
from autograd.stepping.panel import Panels
from autograd.stepping.picture import Source, View, describe_step
from autograd.stepping.stepper import Stepper
from autograd.stepping.steps import Step

_file = functools.partial(asset, "autograd.stepping")
MOST_STEPS = 6000  # of one page; beyond it a browser grows slow
SCRIPTS = (
    "numbers.js", "program.js", "digits.js", "lines.js", "live.js", "editor.js", "training.js", "pointing.js",
    "states.js", "step.js",
)  # fmt: skip
MOST_OPENED = 40  # steps that can be opened up
EDGE_FACES = (
    "todo",
    "done",
    "now",
    "forward",
)  # arrowhead at the result, small and large at the input, large at the result


def write(stepper: Stepper, back: str = "") -> str:
    """The page as text. `back` is the address of a page that it links to."""
    if len(stepper) > MOST_STEPS:
        raise StepError(
            f"{count(len(stepper))} steps are too many for one page (at most {count(MOST_STEPS)}). Close modules with "
            "collapse=1, step an earlier value, or walk through it in the terminal."
        )
    view = View(stepper)
    live = build(stepper)
    parts = {
        "title": xml(_title(stepper)),
        "subtitle": _subtitle(stepper),
        "back": f'<a id="hg-home" href="{xml(back)}">all examples</a>' if back else "",
        "style": f".hg{{{theme.variables(theme.LIGHT)}}}{theme.css()}{_file('step.css')}",
        "graph": view.svg(len(stepper), prefix="hg-v0"),
        "data": bare(embedded({"at": stepper.position} | packed(views(stepper, view, live)) | _program(live))),
        "script": "".join(map(_file, SCRIPTS)),
        "fallback": step_table(stepper),
        "keys": "" if isinstance(live, str) else "<kbd>E</kbd> change a number <kbd>H</kbd> tint",
    }
    return filled(_file("step.html"), parts)


def _program(live: Live | str) -> dict[str, Any]:
    """The numbers as a program; for a page without one, why."""
    return {"fixed": live} if isinstance(live, str) else {"live": live.data()}


def views(stepper: Stepper, main: View, live: Live | str) -> list[dict[str, Any]]:
    """The graph itself, then one view for each step that can be opened up."""
    opened: list[dict[str, Any]] = []
    found = [_view(main, _title(stepper), opened, 0, None if isinstance(live, str) else live)]
    return found + opened


def _view(
    view: View, title: str, opened: list[dict[str, Any]], number: int, live: Live | None = None
) -> dict[str, Any]:
    panels = Panels(view.stepper, live)
    prefix = f"hg-v{number}"
    steps = []
    for step in view.stepper:
        here, inputs = view.cards_of(step)
        inner = _inside(step, title, opened, (number, step.index + 1)) if number == 0 else None
        button = ""
        if inner is not None:
            what = step.module.path if step.module is not None else step.name
            button = f'<p><button class="hg-open" data-view="{inner}">open {xml(what)} as small steps</button></p>'
        steps.append(
            {
                "kind": step.kind,
                "title": step.title,
                "reading": step.reading,
                "name": step.name,
                "card": here,
                "inputs": inputs,
                "say": describe_step(step),
                "panel": panels.panel(step, button),
                "numbers": None if live is None else live.step_data(step),
            }
        )
    return {
        "title": title,
        "svg": view.svg(len(view.stepper), prefix=prefix) if number else "",
        "forward": view.forward_count,
        "cards": {key: _card(view, key, live) for key in view.tracks},
        "edges": {edge.key: _edge(view, edge) for edge in view.scene.edges},
        "start": panels.start(),
        "steps": steps,
        "from": None,
    }


def _inside(step: Step, title: str, opened: list[dict[str, Any]], place: tuple[int, int]) -> int | None:
    """The number of the view that opens a step up, made if it is worth it."""
    if len(opened) >= MOST_OPENED or step.module is None:
        return None  # what an op does inside is written in its panel, line by line
    small = inside(step)
    if small is None:
        return None
    number = len(opened) + 1
    opened.append({})  # keeps the place while the view is made
    opened[number - 1] = _view(View(small), f"inside {step.name}", opened, number) | {"from": list(place), "of": title}
    return number


def _card(view: View, key: str, live: Live | None) -> dict[str, Any]:
    track, box = view.tracks[key], view.placement.boxes[key]
    silent = [replace(face, says="", says_value="", says_gradient="") for face in track.faces]  # `says` has it
    painted = [painter.paint_card(face, box, "") for face in silent]
    return {
        "box": [round(number, 1) for number in (box.x, box.y, box.width, box.height)],
        "faces": [_inner(svg) for svg in painted],
        "says": [face.title for face in track.faces],
        "since": track.since,
        "made": track.made,
        "wants": track.wants,
        "step": track.step,
        "numbers": [] if live is None else [_blocks(source, live) for source in track.sources],
    }


def _blocks(source: Source, live: Live) -> list[int]:
    """The blocks of the value and the gradient that a face shows; -1 for none."""
    value = -1 if source.node is None else live.value(source.node).number
    if source.sent is None:
        return [value, live.gradient_block(source.node) if source.is_start and source.node is not None else -1]
    return [value, live.shown[id(source.sent)][1].number]


def _edge(view: View, edge: Any) -> dict[str, Any]:
    curve = view.placement.curves[edge.key]
    painted = [painter.paint_edge(replace(edge, style=style, title=""), curve, "") for style in EDGE_FACES]
    faces = [re.sub(r' (?:class|stroke|fill|stroke-width)="[^"]*"', "", _inner(svg)) for svg in painted]
    return {"faces": faces, "sent": view.sent.get(edge.key, 0), "used": view.used.get(edge.key, 0)}


def _inner(svg: str) -> str:
    """What stands inside the outermost element."""
    return svg[svg.index(">") + 1 : svg.rindex("<")]


def _title(stepper: Stepper) -> str:
    return stepper.title or f"Stepping through {stepper.words.name(stepper.root)}"


def _subtitle(stepper: Stepper) -> str:
    root = stepper.root
    value = f' = <span id="hg-root">{short(root.data)}</span>' if root.size == 1 else ""
    return f"{xml(stepper.words.name(root))}{value}, {count(len(stepper))} steps"
