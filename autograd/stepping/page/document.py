"""`Stepper.html()`: one self-contained page. Python paints every card and writes every panel; the page chooses."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from autograd.drawing.layout.geometry import Box
from autograd.drawing.layout.measure import CAPTION
from autograd.drawing.paint import painter, theme
from autograd.drawing.scene import Card
from autograd.engine import Value
from autograd.errors import StepError
from autograd.formula import grammar
from autograd.formula.numbers import LIMITS, count, short
from autograd.formula.text import xml
from autograd.saving.pages import asset, embedded, filled

from ..faces.notebook import step_table
from ..faces.picture import Face, View, describe_step
from ..folding import MOST_OPEN, Rest, inside
from ..stepper import Stepper
from ..steps import Step
from .live import Live, build
from .packing import bare, packed
from .panel import Panels

_file = functools.partial(asset, "autograd.stepping.page")


def _script(name: str) -> str:
    """A script without its comments and indentation, which a reader of the page does not see."""
    return re.sub(r"(?m)^ *(//.*\n)?|  +// .*$", "", _file(name))


MOST_STEPS = 6000  # of one page; beyond it a browser grows slow
MOST_NODES = 20_000  # of a graph whose steps are folded
SCRIPTS = (
    "numbers.js", "program.js", "typed.js", "digits.js", "lines.js", "whys.js", "live.js", "editor.js", "training.js",
    "guessing.js", "pointing.js", "entries.js", "camera.js", "states.js", "step.js",
)  # fmt: skip
TABLE = re.compile(r'(<g class="hg-table"[^>]*>).*?</g>')
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
    if len(stepper.every) > 2 * MOST_NODES:
        raise StepError(
            f"a page holds every number of its graph, to follow changes, and {count(len(stepper.every) // 2)} results "
            f"are too many (at most {count(MOST_NODES)}). Step an earlier value, or walk through it in the terminal."
        )
    view, opened = stepper.view, openings(stepper)
    live = build(stepper, opened.values())
    chosen = {"at": stepper.position, "smallest": CAPTION, "grammar": grammar.table()}
    parts = {
        "title": xml(_title(stepper)),
        "subtitle": _subtitle(stepper),
        "back": f'<a id="hg-home" href="{xml(back)}">all examples</a>' if back else "",
        "style": f".hg{{{theme.variables(theme.LIGHT)}}}{theme.css()}{_file('step.css')}",
        "graph": view.svg(len(stepper), prefix="hg-v0"),
        "data": bare(embedded(chosen | packed(views(view, opened, live)) | _program(live))),
        "script": f"const limits = {embedded(LIMITS._asdict())};{''.join(map(_script, SCRIPTS))}",
        "fallback": step_table(stepper),
        "keys": "" if isinstance(live, str) else "<kbd>E</kbd> change a number <kbd>H</kbd> tint",
    }
    return filled(_file("step.html"), parts)


def _program(live: Live | str) -> dict[str, Any]:
    """The numbers as a program; for a page without one, why."""
    return {"fixed": live} if isinstance(live, str) else {"live": live.data()}


def openings(stepper: Stepper) -> dict[Step, Stepper]:
    """The closed modules that can be opened up, each with the stepper of what is inside. (What an op does inside is
    written in its panel, line by line.)"""
    found: dict[Step, Stepper] = {}
    for step in stepper:
        can_open = step.module is not None and not (isinstance(step.module, Rest) and len(step.twins) > MOST_OPEN)
        small = inside(step) if can_open and len(found) < MOST_OPENED else None
        if small is not None:
            found[step] = small
    return found


def views(main: View, opened: dict[Step, Stepper], live: Live | str) -> list[dict[str, Any]]:
    """The graph itself, then one view for each step that can be opened up."""
    program, title = None if isinstance(live, str) else live, _title(main.stepper)
    numbers = {step: number for number, step in enumerate(opened, start=1)}
    found = [_view(main, title, 0, program, numbers)]
    for step, small in opened.items():
        view = _view(View(small), f"inside {step.name}", numbers[step], program)
        found.append(view | {"from": [0, step.index + 1], "of": title})
    return found


def _view(
    view: View, title: str, number: int, live: Live | None, opened: Mapping[Step, int] = MappingProxyType({})
) -> dict[str, Any]:
    panels = Panels(view.stepper, live)
    steps = []
    for step in view.stepper:
        here, inputs = view.cards_of(step)
        steps.append(
            {
                "kind": step.kind,
                "title": step.title,
                "reading": step.reading,
                "name": step.name,
                "card": here,
                "inputs": inputs,
                "say": describe_step(step),
                "panel": panels.panel(step, _button(step, opened[step]) if step in opened else ""),
                "numbers": None if live is None else live.step_data(step),
            }
        )
    updates = [] if live is None or number else [
        {"panel": panels.update(one), "numbers": live.step_data(one)} for one in live.shown_updates
    ]  # fmt: skip
    return {
        "title": title,
        "svg": view.svg(len(view.stepper), prefix=f"hg-v{number}") if number else "",
        "forward": view.forward_count,
        "cards": {key: _card(view, key, live) for key in view.tracks},
        "edges": {edge.key: _edge(view, edge) for edge in view.scene.edges},
        "start": panels.start(),
        "steps": steps,
        "updates": updates,
        "from": None,
    }


def _button(step: Step, number: int) -> str:
    what = step.module.path if step.module is not None else step.name
    return f'<p><button class="hg-open" data-view="{number}">open {xml(what)} as small steps</button></p>'


def _card(view: View, key: str, live: Live | None) -> dict[str, Any]:
    track, box = view.tracks[key], view.placement.boxes[key]
    cards = [face.card for face in track.faces]
    silent = [replace(card, says="", says_value="", says_gradient="") for card in cards]  # `says` has it
    node = next(iter(track.faces[0].values), None)
    other = {"parameter": "input", "input": "parameter"}[silent[0].role] if live and live.can_switch(node) else ""
    turned = [replace(card, role=other, word=other) for card in silent if other]
    return {
        "box": [round(number, 1) for number in (box.x, box.y, box.width, box.height)],
        "faces": [_face(card, box, live if node is not None else None) for card in silent],
        "turned": [_face(card, box, live) for card in turned],
        "role": silent[0].role,
        "says": [card.title for card in cards],
        "since": [face.since for face in track.faces],
        "made": track.made,
        "wants": track.reached > 0,
        "step": track.step,
        "numbers": [] if live is None else [_blocks(face, live, view.arrays.get(key)) for face in track.faces],
    }


def _face(card: Card, box: Box, live: Live | None) -> str:
    """A card as markup; a live page writes the numbers of its tables."""
    svg = _inner(painter.paint_card(card, box, ""))
    return svg if live is None else TABLE.sub(r"\1</g>", svg)


def _blocks(face: Face, live: Live, array: Any) -> list[list[int]]:
    """The blocks of the values and the gradients that a face shows, or of a plain array. A mask's −∞ is no trouble."""
    if array is not None:
        return [[live.registers.constant(array).number] if np.all(np.isfinite(array)) else [], []]
    gradients = [live.gradients[one] if isinstance(one, Value) else live.shown[one][1] for one in face.gradients]
    return [[live.value(node).number for node in face.values], [block.number for block in gradients]]


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
    note = f". {xml(stepper.note)}" if stepper.note else ""
    return f"{xml(stepper.words.name(root))}{value}, {count(len(stepper))} steps{note}"
