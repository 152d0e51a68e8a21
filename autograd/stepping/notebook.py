"""What a notebook shows: the page in a frame; behind it, for notebooks that allow no frames, a picture and a table.

`widget_class` makes the live one, which needs `anywidget`.
"""

from __future__ import annotations

import base64
import functools
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from autograd.formula.text import xml
from autograd.formula.writers.pieces import plain_text
from autograd.stepping.picture import View
from autograd.stepping.steps import BACKWARD, Step
from autograd.stepping.terminal import WIDTH, described

if TYPE_CHECKING:
    from autograd.stepping.stepper import Stepper

FRAME_HEIGHT = 640  # pixels
MOST_ROWS = 60  # steps in the table
COLUMNS = ("step", "node (its gradient is g)", "to", "rule", "adds", "total now")
FORWARD_COLUMNS = ("step", "node", "in numbers")
STYLES = {"strong": "font-weight:700", "muted": "opacity:.7", "gradient": "color:#D96300"}  # on light and on dark


def frame(stepper: Stepper) -> str:
    """The page in a sandboxed frame that covers its own fallback. Where frames are stripped, that is what stays."""
    page = escape(stepper.html(), quote=True)
    return (
        f'<div style="position:relative;height:{FRAME_HEIGHT}px;overflow:hidden">'
        f'<iframe sandbox="allow-scripts" title="{xml(stepper.title or "stepper")}" srcdoc="{page}" '
        'style="position:absolute;inset:0;width:100%;height:100%;border:1px solid #D3D8DF;border-radius:6px;'
        f'background:#fff"></iframe>{fallback(stepper)}'
        "<p>Static view: run the cell, or trust the notebook, to step through it.</p></div>"
    )


def fallback(stepper: Stepper) -> str:
    """The graph as an image, numbered in backward order, and the steps as a plain table."""
    svg = View(stepper).badged_svg()
    image = base64.b64encode(svg.encode()).decode()
    title = xml(stepper.title or stepper.words.name(stepper.root))
    note = f"<p>{xml(stepper.note)}</p>" if stepper.note else ""
    return (
        f'<p><img alt="{title}: the graph with values and gradients; numbers give the order of the backward steps" '
        f'src="data:image/svg+xml;base64,{image}" style="max-width:100%"></p>{note}{step_table(stepper)}'
    )


def step_table(stepper: Stepper) -> str:
    """Every backward step in a table that reads well without any style; forward steps where there is no other."""
    backward = [step for step in stepper if step.kind == BACKWARD]
    steps, captions = (backward, COLUMNS) if backward else (list(stepper), FORWARD_COLUMNS)
    head = "".join(f"<th>{word}</th>" for word in captions)
    rows = "".join(_rows(step) for step in steps[:MOST_ROWS])
    more = f"<p>and {len(steps) - MOST_ROWS} more steps</p>" if len(steps) > MOST_ROWS else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{more}"


def _rows(step: Step) -> str:
    words = step.words
    span = max(1, len(step.contributions))
    first = f'<td rowspan="{span}">{step.number}</td><td rowspan="{span}"><code>{xml(step.reading)}</code></td>'
    if step.kind != BACKWARD:
        return f"<tr>{first}<td><code>{xml(step.numbers)}</code></td></tr>"
    if not step.contributions:
        return f'<tr>{first}<td colspan="4">sends nothing on</td></tr>'
    rows = []
    for contribution in step.contributions:
        total = "same" if contribution.previous is None else plain_text(contribution.sum_pieces())
        rows.append(
            f"<tr>{first}<td><code>{xml(words.name(contribution.twin))}</code></td>"
            f"<td><code>{xml(contribution.rule)}</code></td>"
            f'<td align="right"><code>{xml(step.printed(contribution.added).text)}</code></td>'
            f'<td align="right"><code>{xml(total)}</code></td></tr>'
        )
        first = ""
    return "".join(rows)


def step_html(step: Step) -> str:
    """One step as its text, with what the terminal shows in colours."""
    rows = ("".join(_styled(text, style) for text, style in row).rstrip() for row in described(step, WIDTH))
    return '<pre style="overflow-x:auto;line-height:1.35">' + "\n".join(rows) + "</pre>"


def _styled(text: str, style: str) -> str:
    return f'<span style="{STYLES[style]}">{xml(text)}</span>' if style else xml(text)


def bundle(stepper: Stepper) -> dict[str, Any]:
    """What the stepper hands a notebook."""
    return {"text/html": frame(stepper), "text/plain": repr(stepper)}


@functools.cache
def widget_class() -> Any:
    """The class of live views: `widget.position` follows the reader, and moves the page when it is set."""
    try:
        import anywidget
        import traitlets
    except ImportError as missing:
        raise ImportError(
            f"a live widget needs {missing.name} (pip install 'handgrad[notebook]'); without it, show the stepper "
            "itself: it needs nothing"
        ) from missing

    class StepperWidget(anywidget.AnyWidget):
        """A stepper that a notebook shows live."""

        _esm = files("autograd.stepping.page").joinpath("assets", "step_widget.js").read_text(encoding="utf-8")
        page = traitlets.Unicode().tag(sync=True)
        position = traitlets.Int(0).tag(sync=True)
        height = traitlets.Int(FRAME_HEIGHT).tag(sync=True)

        def __init__(self, stepper: Stepper, **options: Any) -> None:
            super().__init__(page=stepper.html(), position=stepper.position, **options)
            self.stepper = stepper

        @traitlets.validate("position")
        def _within(self, proposal: Any) -> int:
            position = proposal["value"]
            return max(0, min(int(position), len(self.stepper))) if hasattr(self, "stepper") else position

        @traitlets.observe("position")
        def _move(self, change: Any) -> None:
            if hasattr(self, "stepper"):
                self.stepper.position = change["new"]

        @property
        def step(self) -> Step | None:
            """The step that is shown; None at the start."""
            return self.stepper.current

        def goto(self, place: Any, kind: str | None = None) -> Step:
            """Move the page to a step, by index, node or name."""
            found = self.stepper.goto(place, kind)
            self.position = self.stepper.position
            return found

    return StepperWidget
