"""Steps as slides for a lecture: the picture of a step, and beside it the rule and the arithmetic, in large type.

A slide is an SVG of 1280 × 720. The text is that of the terminal (`terminal.body`); here it gets the largest type that
there is room for. A small graph is shown whole on every slide, so that a film of them shows the gradient travel; of a
large one the cards that take part in the step.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from autograd.drawing.layout.geometry import Box
from autograd.drawing.paint import theme
from autograd.drawing.paint.svg import caption, document, n, rectangle, size_of, text
from autograd.formula.text import abridged, columns, mono_width, sans_width, visible, xml
from autograd.formula.writers.pieces import TextRow, row_text

from ..steps import BACKWARD, Step
from .terminal import body

if TYPE_CHECKING:
    from ..stepper import Stepper

WIDTH, HEIGHT = 1280, 720
MARGIN, TOP, BOTTOM = 40, 104, 44  # pixels at the sides, for the headline, for the footer
ROOM = Box(MARGIN, TOP, WIDTH - 2 * MARGIN, HEIGHT - TOP - BOTTOM)
GAP = 32  # between the picture and the text
TITLE, READING, SMALL = 28, 20, 14  # pixels of type
CARD_TYPE = 13  # of the numbers on a card that is not scaled
READABLE = 14  # what is at least aimed at
LEAST = 9  # a picture in smaller type says nothing
SIZES = (24, 22, 20, 18, 17, 16, 15, 14, 13, 12, 11, 10)  # of the arithmetic, best first
ROW = 1.32  # a row of text, in terms of its type
BETWEEN = 0.45  # the space between two parts, in rows
SHARES = (0.58, 0.5, 0.46, 0.42, 0.38, 0.34, 0.3, 0.26)  # of the room that the picture of one step may have
WHOLE = 0.46  # and the picture of the whole graph, where it is readable there
FIRST_LOOK, PER_ROW, LONGEST_LOOK = 1.5, 0.4, 8.0  # seconds of a film
LARGEST_SCALE = 1.6  # of a picture: a few cards need not fill a wall
BRACKETS = {"⎡": "top left", "⎢": "left", "⎣": "bottom left", "⎤": "top right", "⎥": "right", "⎦": "bottom right"}
WORDS = re.compile("[{0}]|(?:[^{0} ]| (?=[^{0} ]))+| +".format("".join(BRACKETS)))  # a bracket, words, spaces
INKS = {"": ("ink", 400), "strong": ("ink", 700), "muted": ("muted", 400), "gradient": ("grad", 400)}  # of each style


@dataclass(frozen=True)
class Layout:
    """Where the picture and the text of a slide are, and how large."""

    picture: Box | None
    scale: float
    size: float
    columns: list[tuple[Box, list[TextRow]]]  # an empty row between parts
    left_out: int = 0  # rows that there is no room for

    @property
    def quality(self) -> float:
        """Both are to be readable, the text above all; beyond that, the larger the better."""
        shown = CARD_TYPE * self.scale if self.picture is not None else 0.0
        readable = 10 * min(self.size, READABLE) + (min(shown, READABLE) if shown >= LEAST else 0.0)
        return 100 * readable + 2 * self.size + shown - 10_000 * self.left_out


def slides(stepper: Stepper) -> Iterator[str]:
    """One slide a step."""
    return (slide(stepper, step) for step in stepper)


def reading_time(step: Step) -> float:
    """For how many seconds a film shows a step: longer, the more there is to read."""
    rows = sum(len(part) for part in body(step, WIDTH // READABLE))
    return min(FIRST_LOOK + PER_ROW * rows, LONGEST_LOOK)


def slide(stepper: Stepper, step: Step) -> str:
    """The SVG of one step."""
    view = stepper.view
    whole = view.placement
    if _scale(whole.width, whole.height, ROOM.width * WHOLE, ROOM.height) * CARD_TYPE >= READABLE:
        shares: tuple[float, ...] = (WHOLE,)  # at the same place on every slide
        picture = view.svg(step.index + 1)
    else:
        picture, shares = view.step_svg(step, note=False), SHARES
    width, height = size_of(picture)
    layout = max(_layouts(step, width, height, shares), key=lambda layout: layout.quality)
    parts = [
        f'<rect width="{WIDTH}" height="{HEIGHT}" {theme.fill("surface")}/>',
        _headline(step),
        _nested(picture, layout.picture) if layout.picture is not None else "",
        f'<g class="hg-mono" font-family="{xml(theme.MONO)}" font-size="{n(layout.size)}">',
        *_painted(layout),
        "</g>",
        _footer(stepper, step),
    ]
    said = [row_text(row) for _, rows in layout.columns for row in rows if row]
    title = f"{step.title}: {step.reading}"
    return document("".join(parts), WIDTH, HEIGHT, title, "\n".join(said))


# --- where everything goes ------------------------------------------------------------------------------------------


def _layouts(step: Step, width: float, height: float, shares: tuple[float, ...]) -> Iterator[Layout]:
    """The picture at the left or above, the text in the rest; or text alone, in two columns."""
    said = functools.cache(lambda width: body(step, width))  # in so many columns
    for share in shares:
        scale = _scale(width, height, ROOM.width * share, ROOM.height)
        used = width * scale
        picture = Box(ROOM.x, ROOM.y + (ROOM.height - height * scale) / 2, used, height * scale)
        rest = Box(ROOM.x + used + GAP, ROOM.y, ROOM.width - used - GAP, ROOM.height)
        yield _filled(said, [rest], picture, scale)
        if len(shares) == 1:
            return
        scale = _scale(width, height, ROOM.width, ROOM.height * share)
        used = height * scale
        picture = Box(ROOM.x + (ROOM.width - width * scale) / 2, ROOM.y, width * scale, used)
        top = ROOM.y + used + GAP / 2
        yield _filled(said, [Box(ROOM.x, top, ROOM.width, ROOM.y + ROOM.height - top)], picture, scale)
    half = (ROOM.width - GAP) / 2
    yield _filled(said, [Box(left, ROOM.y, half, ROOM.height) for left in (ROOM.x, ROOM.x + half + GAP)])


def _scale(width: float, height: float, room_width: float, room_height: float) -> float:
    return min(room_width / width, room_height / height, LARGEST_SCALE)


def _filled(
    said: Callable[[int], list[list[TextRow]]], places: list[Box], picture: Box | None = None, scale: float = 1.0
) -> Layout:
    """The text in its places, as large as there is room for; what still does not fit is left out."""
    width, height = places[0].width, places[0].height
    for size in SIZES:
        rows = height / (size * ROW)
        parts = said(max(20, int(width / mono_width("0", size))))
        texts, left_out = _in_columns(parts, rows, len(places))
        widest = max((columns(row_text(row)) for text in texts for row in text), default=0)
        if not left_out and mono_width("0" * widest, size) <= width:
            break
    return Layout(picture, scale, size, list(zip(places, texts)), left_out)


def _in_columns(parts: list[list[TextRow]], rows: float, count: int) -> tuple[list[list[TextRow]], int]:
    """The parts one after the other in so many columns; how many rows have no room."""
    texts: list[list[TextRow]] = [[]]
    left_out = 0
    for part in parts:
        used = _rows(texts[-1])
        if texts[-1] and used + BETWEEN + len(part) > rows and len(texts) < count:
            texts.append([])
            used = 0.0
        gap: list[TextRow] = [[]] if texts[-1] else []
        room = max(0, int(rows - used - BETWEEN * len(gap)))
        texts[-1] += gap + part[:room]
        left_out += max(0, len(part) - room)
    return texts, left_out


def _rows(text: list[TextRow]) -> float:
    """How many rows a text takes; a space between parts is less than one."""
    return sum(1.0 if row else BETWEEN for row in text)


# --- painting ---------------------------------------------------------------------------------------------------------


def _headline(step: Step) -> str:
    tint = "grad" if step.kind == BACKWARD else "ink"
    left = MARGIN + sans_width(step.title, TITLE) + 28
    room = int((WIDTH - MARGIN - left) / mono_width("0", READING))
    parts = [
        caption(MARGIN, 50, step.title, tint, weight=700, size=TITLE),
        text(left, 50, abridged(visible(step.reading), room), token="ink", size=READING, family=theme.MONO),
    ]
    if step.twin.line:
        room = int((WIDTH - 2 * MARGIN) / mono_width("0", SMALL))
        source = abridged(visible(step.twin.line), room)
        parts.append(text(MARGIN, 78, source, token="muted", size=SMALL, family=theme.MONO))
    return "".join(parts)


def _nested(picture: str, box: Box) -> str:
    """A picture inside another: its own size replaced by the place it has."""
    width, height = size_of(picture)
    inner = picture[picture.index("</style>") + len("</style>") : picture.rindex("</svg>")]
    return (
        f'<svg x="{n(box.x)}" y="{n(box.y)}" width="{n(box.width)}" height="{n(box.height)}" '
        f'viewBox="0 0 {width} {height}">{inner}</svg>'
    )


def _painted(layout: Layout) -> Iterator[str]:
    """Each row of text; brackets are drawn, words stand where their column is."""
    height, advance = layout.size * ROW, mono_width("0", layout.size)
    for place, rows in layout.columns:
        y = place.y
        for row in rows:
            for column, word, (token, weight) in _words(row):
                x = place.x + column * advance
                if word in BRACKETS:
                    yield _bracket(BRACKETS[word], x, y, advance, height, token)
                else:
                    yield text(x, y + 0.75 * height, word, token=token, weight=weight)
            y += height if row else BETWEEN * height
    if layout.left_out:
        yield text(place.x, y + 0.75 * height, f"… and {layout.left_out} more lines", token="muted")


def _words(row: TextRow) -> Iterator[tuple[int, str, tuple[str, int]]]:
    """What stands in a row: its column, the words, and their ink. Two spaces part."""
    column = 0
    for style, runs in groupby(row, itemgetter(1)):
        for word in WORDS.findall("".join(run[0] for run in runs)):
            if word.strip():
                lead = len(word) - len(word.lstrip(" "))
                yield column + lead, word.strip(" "), INKS[style]
            column += columns(word)


def _bracket(which: str, x: float, y: float, width: float, height: float, token: str) -> str:
    """One row of a bracket round a table."""
    left = which.endswith("left")
    inner, outer = (x + 0.85 * width, x + 0.35 * width) if left else (x + 0.15 * width, x + 0.65 * width)
    upper, lower = y + 0.06 * height, y + 0.96 * height
    path = f"M{n(outer)},{n(y)}V{n(y + height)}"
    if which.startswith("top"):
        path = f"M{n(inner)},{n(upper)}H{n(outer)}V{n(y + height)}"
    elif which.startswith("bottom"):
        path = f"M{n(outer)},{n(y)}V{n(lower)}H{n(inner)}"
    return f'<path d="{path}" {theme.stroke("muted" if token == "ink" else token, 1.4)}/>'


def _footer(stepper: Stepper, step: Step) -> str:
    """How far the walk has come: forward in grey, backward in orange."""
    y, whole = HEIGHT - BOTTOM + 12, WIDTH - 2 * MARGIN
    forward = sum(one.kind != BACKWARD for one in stepper)
    parts = []
    for first, after, token in ((0, forward, "line"), (forward, len(stepper), "grad-line")):
        left = MARGIN + whole * first / len(stepper)
        parts.append(rectangle(Box(left, y, whole * (after - first) / len(stepper), 3), 0, theme.fill("hair")))
        done = min(step.index + 1, after) - first
        if done > 0:
            parts.append(rectangle(Box(left, y, whole * done / len(stepper), 3), 0, theme.fill(token)))
    title = stepper.title or stepper.words.reading(stepper.root)
    room = int(whole * 0.8 / mono_width("0", SMALL))
    parts += [
        caption(MARGIN, y + 22, abridged(visible(title), room), "muted", size=SMALL),
        caption(WIDTH - MARGIN, y + 22, f"{step.index + 1} of {len(stepper)}", "muted", anchor="end", size=SMALL),
    ]
    return "".join(parts)
