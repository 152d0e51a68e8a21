"""A lecture: a title, then for each step a question and its answer, the updates, and the loss that they lead to.

    handgrad slides example3 -o lecture.html     # → and ← turn the slides; .pdf prints them, .tex is beamer

Mathematics is that of the stepper's page, in larger type; a slide that needs more room is set smaller. The map in the
corner shows where in the graph a step is.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

from autograd.drawing.paint import theme
from autograd.engine import Value
from autograd.errors import counted
from autograd.formula.numbers import short
from autograd.formula.text import visible, xml
from autograd.formula.writers.html import MathML, infix, math, number_html
from autograd.op import apply
from autograd.saving.pages import asset

from ..questions import in_words, question_of
from ..stepper import Stepper
from ..steps import BACKWARD, Step
from ..update import Updates
from .panel import Panels

_file = functools.partial(asset, "autograd.stepping.page")
MAP_WIDTH, MAP_HEIGHT = 172, 190  # pixels
MOST_AT_ONCE = 24  # numbers sent, times parts, on one slide
LARGEST_ASKED = 64  # entries that a question shows a mark for


class Deck:
    """The slides of one stepper."""

    def __init__(self, stepper: Stepper) -> None:
        self.stepper, self.words, self.panels = stepper, stepper.words, Panels(stepper)
        self.placement = stepper.view.placement
        self.scale = min(MAP_WIDTH / self.placement.width, MAP_HEIGHT / self.placement.height)
        self.title = visible(stepper.title or self.words.reading(stepper.root))

    def slides(self) -> Iterator[str]:
        yield self._opening()
        for step in self.stepper:
            yield self._slide(step, question_of(step), self._asked(step))
            says = in_words(step) if step.kind == BACKWARD else ""
            for body in self._answers(step):
                yield self._slide(step, says or f"The answer: {step.name}", body)
        updates = Updates(self.stepper)
        moved = [update for update in updates.all if update.twin not in updates.data]
        for update in moved:
            heading = f"The update of {update.name}"
            yield self._framed(f"{updates.name}, η = {short(updates.rate.value)}", heading, self.panels.update(update))
        if moved and np.ndim(self.stepper.root.data) == 0:
            after = {update.twin: update.lines[-1].result.value for update in moved}
            yield self._loss(after, float(updates.rate.value))

    # --- single slides -------------------------------------------------------------------------------------------

    def _opening(self) -> str:
        forward = sum(step.kind != BACKWARD for step in self.stepper)
        back = len(self.stepper) - forward
        told = f"{counted(forward, 'step')} forward" + (f", {counted(back, 'step')} back" if back else "")
        picture = self.stepper.view.svg(0)
        return f'<section class="slide opening"><h1>{xml(self.title)}</h1><p>{told}</p><div>{picture}</div></section>'

    def _slide(self, step: Step, heading: str, body: str) -> str:
        way = f"{step.kind}, through {math(self._name(step), spoken=step.reading)}"
        return self._framed(way, heading, body, self._map(step))

    def _framed(self, way: str, heading: str, body: str, corner: str = "") -> str:
        return (
            f'<section class="slide">{corner}<p class="way">{xml(self.title)} · {way}</p>'
            f'<h2>{xml(visible(heading))}</h2><div class="body">{body}</div></section>'
        )

    def _asked(self, step: Step) -> str:
        """What is known, with as many digits as give the answer's, and marks in the place of what is asked."""
        known = [(self.words.name(x), number_html(step.printed(self.words.symbol(x))))
                 for x in dict.fromkeys(step.twin.parents)]  # fmt: skip
        wanted = [(math(self._name(step), spoken=step.name), step.value, "")]
        if step.kind == BACKWARD:
            arrives = number_html(step.printed(step.arrives), "hg-gr")
            known = [(self.words.slope(step.twin), arrives), *known]
            result = self.words.symbol(step.twin)
            if step.digits.written(result) is not None:  # the rule is written in it, as that of tanh
                known.append((step.name, number_html(step.printed(result))))
            each = {sent.twin: sent for sent in step.contributions}
            wanted = [(self.panels.slope(x), sent.value, "hg-gr") for x, sent in each.items()]
        given = "".join(f'<div class="one"><span>{xml(name)}</span>{number}</div>' for name, number in known)
        marks = "".join(f'<div class="one">{name}<span class="hg-op">=</span>{_marks(value, tint)}</div>'
                        for name, value, tint in wanted)  # fmt: skip
        return f'<h3>known</h3><div class="row">{given}</div><h3>wanted</h3><div class="row">{marks}</div>'

    def _answers(self, step: Step) -> list[str]:
        """The answer; of large tables each part on a slide of its own."""
        parts = self.panels.parts(step)
        size = sum(np.size(sent.value) for sent in step.contributions) * len(parts)
        return parts if size > MOST_AT_ONCE else ["".join(parts)]

    def _name(self, step: Step) -> str:
        written = MathML(self.words.top, self.words.symbol)
        whole = written.write_formula(self.words.symbol(step.twin))
        made = "" if step.module is not None else written.write_formula(self.words.formula(step.twin))
        return f"{whole}{infix('=')}{made}" if made and made != whole else whole

    def _loss(self, moved: dict[Value, Any], rate: float) -> str:
        """The loss before and after the update, and the fall that the gradients promise."""
        before, after = float(self.stepper.root.data), float(self._again(moved))
        slopes = [self.stepper.walk.gradient(node) for node in moved]
        promised = float(sum(np.sum(np.square(np.asarray(slope))) for slope in slopes)) * rate
        top = xml(self.words.top)
        rows = [("before the update", before), ("after it", after), ("it fell by", before - after)]
        if self.stepper.optimizer is None:
            rows.append(("the gradients promised, for a small step", promised))
        cells = "".join(f"<tr><td>{name}</td><td>{short(number, 6)}</td></tr>" for name, number in rows)
        told = f"{top} is computed again with the new parameters. A large step may miss what the gradients promise."
        body = f'<table class="loss">{cells}</table><p>{told}</p>'
        return self._framed("the loss", f"Is {self.words.top} smaller now?", body)

    def _again(self, moved: dict[Value, Any]) -> Any:
        twins: dict[Any, Value] = {}
        for node in self.stepper.walk.nodes:
            if node.op is None:
                twins[node] = Value(moved.get(node, node.data))
            else:
                twins[node] = apply(node.op, tuple(twins[x] if isinstance(x, Value) else x for x in node.inputs))
        return twins[self.stepper.twin(self.stepper.root)].data

    def _map(self, step: Step) -> str:
        """Where we are: the whole graph in small boxes, drawn once, and the box of this step."""
        view = self.stepper.view
        box = self.placement.boxes[view.cards_of(step)[0]]
        tint = "grad" if step.kind == BACKWARD else "value"
        here = (
            f'<rect class="here {tint}" x="{box.x * self.scale:.1f}" y="{box.y * self.scale:.1f}" '
            f'width="{max(box.width * self.scale, 4):.1f}" height="{max(box.height * self.scale, 3):.1f}" rx="1.5"/>'
        )
        size = f"0 0 {self.placement.width * self.scale:.0f} {self.placement.height * self.scale:.0f}"
        return (
            f'<figure class="map"><svg viewBox="{size}" aria-hidden="true"><use href="#map"/>{here}</svg>'
            f"<figcaption>we are at <b>{xml(visible(step.name))}</b></figcaption></figure>"
        )

    @property
    def boxes(self) -> str:
        """The graph of the map: a box for each card."""
        found = (
            f'<rect x="{box.x * self.scale:.1f}" y="{box.y * self.scale:.1f}" width="{box.width * self.scale:.1f}" '
            f'height="{max(box.height * self.scale, 2):.1f}" rx="1.5"/>'
            for box in self.placement.boxes.values()
        )
        return f'<svg width="0" height="0" style="position:absolute"><g id="map">{"".join(found)}</g></svg>'


def _marks(value: Any, tint: str) -> str:
    """A question mark for each number that is asked; of many, the shape."""
    shape = np.shape(value)
    if not shape:
        return f'<b class="ask {tint}">?</b>'
    if int(np.prod(shape)) > LARGEST_ASKED or len(shape) > 2:
        return f'<b class="ask {tint}">? ({" × ".join(map(str, shape))})</b>'
    rows = "".join(f"<tr>{'<td>?</td>' * shape[-1]}</tr>" for _ in range(shape[0] if len(shape) == 2 else 1))
    return f'<span class="hg-mx ask {tint}"><table>{rows}</table></span>'


def write(stepper: Stepper) -> str:
    """The deck as one HTML file."""
    deck = Deck(stepper)
    style = f".hg{{{theme.variables(theme.LIGHT)}}}{theme.css()}{_file('step.css')}{_file('deck.css')}"
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=1280">'
        f"<title>{xml(deck.title)}</title><style>{style}</style></head><body class=\"hg deck\">{deck.boxes}"
        f"{''.join(deck.slides())}<script>{_file('deck.js')}</script></body></html>\n"
    )
