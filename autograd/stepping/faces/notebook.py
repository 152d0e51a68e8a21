"""What a notebook shows: the page in a frame; where scripts or frames are not allowed, a table and a picture.

`widget_class` makes the live one, which needs `anywidget`.
"""

from __future__ import annotations

import base64
import functools
import gzip
import re
import sys
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from autograd.drawing import draw
from autograd.drawing.paint.svg import as_url
from autograd.formula.text import xml
from autograd.formula.writers.pieces import plain_text
from autograd.saving.pages import asset

from ..steps import BACKWARD, Step
from .terminal import WIDTH, described

if TYPE_CHECKING:
    from ..stepper import Stepper

FRAME_HEIGHT = 640  # pixels
MOST_ROWS, MOST_SENT = 40, 20  # steps in the table, and inputs that one of them sends to
MOST_CARDS, MOST_PRINTED = 80, 60  # cards in the image, steps as LaTeX
COMMENTS_AND_INDENTS = re.compile(r"^[ \t]*(//.*\n)?", re.M)  # of scripts and styles: a tenth of the compressed text
STYLED = re.compile(  # what an image in a fallback can do without: its colours are attributes
    r'<style>.*?</style>| class="[^"]*"|(?<= font-family="system-ui,)[^"]*(?=sans-serif")', re.DOTALL
)
PACKED = re.compile(r'data-handgrad-page="([^"]*)"')
COLUMNS = ("step", "node (its gradient is g)", "to", "rule", "adds", "total now")
FORWARD_COLUMNS = ("step", "node", "in numbers")
STYLES = {"strong": "font-weight:700", "muted": "opacity:.7", "gradient": "color:#D96300"}  # on light and on dark


def shown(stepper: Stepper) -> str:
    """What stands in for the page, and a script that puts the page in its place, from its compressed text.

    Where scripts or frames are not allowed, the script is left out or does nothing, and the rest reads well. The text
    is an attribute of an element that every sanitiser knows, and so it is dropped there and not printed.
    """
    page = COMMENTS_AND_INDENTS.sub("", stepper.html())
    packed = base64.b64encode(gzip.compress(page.encode(), mtime=0)).decode()
    title, script = xml(stepper.title or "stepper"), asset("autograd.stepping.page", "in_notebook.js")
    return (
        f'<div>{fallback(stepper)}<b hidden data-handgrad-page="{packed}" data-title="{title}" '
        f'data-height="{FRAME_HEIGHT}"></b></div><script>{script}</script>'
    )


def framed(stepper: Stepper) -> str:
    """The page in a frame and nothing else, for marimo, which runs no scripts of an output."""
    size = f"display:block;box-sizing:border-box;width:100%;height:{FRAME_HEIGHT}px;border:1px solid #8886"
    title, page = xml(stepper.title or "stepper"), escape(stepper.html())
    return f'<iframe sandbox="allow-scripts" title="{title}" srcdoc="{page}" style="{size}"></iframe>'


def page_in(html: str) -> str | None:
    """The page that an output holds; None where it is no stepper's."""
    found = PACKED.search(html)
    return gzip.decompress(base64.b64decode(found[1])).decode() if found else None


def fallback(stepper: Stepper) -> str:
    """What to do to see the page; the steps as a plain table; the graph as an image, in boxes that scroll."""
    note = f" {xml(stepper.note)}." if stepper.note else ""
    title = xml(stepper.title or stepper.words.name(stepper.root))
    svg, caption = _image(stepper)
    return (
        f"<p><b>Static view of {title}: run the cell, or trust the notebook, to step through it.</b>{note}</p>"
        f'<div style="max-height:{FRAME_HEIGHT}px;overflow:auto">{step_table(stepper)}'
        f'<p><img alt="{title}: {caption}" src="{as_url(STYLED.sub("", svg))}" style="max-width:100%"></p></div>'
    )


def _image(stepper: Stepper) -> tuple[str, str]:
    """The graph, and what it shows: numbered in backward order, or folded if it is large."""
    if len(stepper.view.scene.cards) <= MOST_CARDS:
        return stepper.view.badged_svg(), "the graph; numbers give the order of the backward steps"
    names = {name: node for node in stepper.walk.nodes if (name := stepper.names.own_name(node))}
    return draw(stepper.root, names=names, title=stepper.title).svg, "the graph, folded"


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
    span = max(1, min(len(step.contributions), MOST_SENT + 1))
    first = f'<td rowspan="{span}">{step.number}</td><td rowspan="{span}"><code>{xml(step.reading)}</code></td>'
    if step.kind != BACKWARD:
        return f"<tr>{first}<td><code>{xml(step.numbers)}</code></td></tr>"
    if not step.contributions:
        return f'<tr>{first}<td colspan="4">sends nothing on</td></tr>'
    rows, more = [], len(step.contributions) - MOST_SENT
    for contribution in step.contributions[:MOST_SENT]:
        is_same = contribution.previous is None and contribution.left is None
        total = "same" if is_same else plain_text(contribution.sum_pieces())
        rows.append(
            f"<tr>{first}<td><code>{xml(words.name(contribution.twin))}</code></td>"
            f"<td><code>{xml(contribution.rule)}</code></td>"
            f'<td align="right"><code>{xml(step.printed(contribution.added).text)}</code></td>'
            f'<td align="right"><code>{xml(total)}</code></td></tr>'
        )
        first = ""
    return "".join(rows) + (f'<tr><td colspan="4">and to {more} more</td></tr>' if more > 0 else "")


def step_html(step: Step) -> str:
    """One step as its text, with what the terminal shows in colours."""
    rows = ("".join(_styled(text, style) for text, style in row).rstrip() for row in described(step, WIDTH))
    return '<pre style="overflow-x:auto;line-height:1.35">' + "\n".join(rows) + "</pre>"


def _styled(text: str, style: str) -> str:
    return f'<span style="{STYLES[style]}">{xml(text)}</span>' if style else xml(text)


def bundle(stepper: Stepper) -> dict[str, Any]:
    """What the stepper hands a notebook; a terminal gets its line, and no page is made."""
    if not _shows_html():
        return {"text/plain": repr(stepper)}
    texts = {"text/html": shown(stepper), "text/plain": repr(stepper)}
    return texts if len(stepper) > MOST_PRINTED else texts | {"text/latex": stepper.latex()}


def _shows_html() -> bool:
    """Does what asks for a picture of an object show HTML? IPython in a terminal does not."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is None or "text/html" in shell.display_formatter.active_types


def leaves_of(stepper: Stepper) -> list[list[Any]]:
    """The name and the numbers of each leaf that a page can change."""
    found = [node for node in stepper.walk.nodes if node.op is None and np.asarray(node.data).dtype.kind == "f"]
    return [[stepper.words.name(leaf), np.asarray(leaf.data, dtype=float).tolist()] for leaf in found]


def _cell_events() -> Any:
    """What tells that a cell of Jupyter has run; None elsewhere."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "events", None)


@functools.cache
def widget_class() -> Any:
    """The class of live views. Whoever changes something sends a message, and nobody asks again and again: the page
    tells its position and its edits, the stepper its position, and Jupyter that a cell has run."""
    try:
        import anywidget
        import traitlets
    except ImportError as missing:
        raise ImportError(
            f"a live widget needs {missing.name} (pip install 'handgrad[notebook]'); without it, show the stepper "
            "itself: it needs nothing"
        ) from missing

    class StepperWidget(anywidget.AnyWidget):
        """A stepper that a notebook shows live: its position and its leaves' numbers are those of Python, both ways."""

        _esm = files("autograd.stepping.page").joinpath("assets", "step_widget.js").read_text(encoding="utf-8")
        page = traitlets.Unicode().tag(sync=True)
        position = traitlets.Int(0).tag(sync=True)
        leaves: Any = traitlets.List().tag(sync=True)  # [name, numbers] of each leaf, as the page has them
        start: Any = traitlets.List().tag(sync=True)  # the same when the page was made
        height = traitlets.Int(FRAME_HEIGHT).tag(sync=True)

        def __init__(self, stepper: Stepper, **options: Any) -> None:
            numbers = leaves_of(stepper)
            super().__init__(page=stepper.html(), position=stepper.position, leaves=numbers, start=numbers, **options)
            self.stepper, self._every = stepper, [stepper]  # with those that were made of other numbers before
            stepper.watchers.append(self._follow)
            if events := _cell_events():
                events.register("post_run_cell", self._cell_ran)

        @traitlets.validate("position")
        def _within(self, proposal: Any) -> int:
            position = proposal["value"]
            return max(0, min(int(position), len(self.stepper))) if hasattr(self, "stepper") else position

        @traitlets.observe("position")
        def _move(self, change: Any) -> None:
            for one in getattr(self, "_every", ()):
                if one.position != change["new"]:
                    one.position = change["new"]

        @traitlets.observe("leaves")
        def _change(self, change: Any) -> None:
            if not hasattr(self, "stepper"):
                return
            for name, numbers in change["new"]:
                leaf = self.stepper.node(name)
                new = np.asarray(numbers, dtype=leaf.dtype).reshape(leaf.shape)
                if not np.array_equal(leaf.data, new):
                    leaf.data = new if leaf.shape else new.item()
            self.refresh()

        def _follow(self, position: int) -> None:
            self.position = position

        def _cell_ran(self, result: Any = None) -> None:
            self.refresh()

        def refresh(self) -> None:
            """Compute anew if leaves were edited, and show that: after each cell, and when the page changes one."""
            if self.stepper.snapshot.edited:
                self.stepper = self.stepper.anew()
                self.stepper.watchers.append(self._follow)
                self._every.append(self.stepper)
                numbers = dict(leaves_of(self.stepper))
                self.leaves = [[name, numbers[name]] for name, _ in self.start]

        def close(self) -> None:
            if (events := _cell_events()) and self._cell_ran in events.callbacks["post_run_cell"]:
                events.unregister("post_run_cell", self._cell_ran)
            super().close()

        @property
        def step(self) -> Step | None:
            """The step that is shown; None at the start."""
            return self.stepper.current

        def next(self) -> Step:
            """Do one step, here and on the page."""
            return self.stepper.next()

        def back(self) -> Step:
            """Undo one step, here and on the page."""
            return self.stepper.back()

        def goto(self, place: Any, kind: str | None = None) -> Step:
            """Move the page to a step, by index, node or name."""
            return self.stepper.goto(place, kind)

        def _repr_mimebundle_(self, **options: Any) -> Any:
            """The live view, and the static page for who opens the notebook later."""
            made = super()._repr_mimebundle_(**options)
            live, metadata = made if isinstance(made, tuple) else (made, {})
            return {**bundle(self.stepper), **{kind: x for kind, x in (live or {}).items() if "view" in kind}}, metadata

    return StepperWidget
