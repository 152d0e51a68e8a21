"""A scene of thousands of cards in few bytes: two lines of text a card, one path for all edges.

Role still shows in colour and in the outline's shape; tables, tooltips and arrowheads are given up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from autograd.drawing.layout.geometry import Box, Curve, Placement
from autograd.drawing.layout.measure import Size
from autograd.drawing.paint import theme
from autograd.drawing.paint.card import OUTLINES, PILL_DASH
from autograd.drawing.paint.svg import caption, document
from autograd.drawing.scene import Block, Card, Scene
from autograd.formula.text import clipped, mono_width, xml

LONGEST = 20  # characters of a line
TEXT, PAD, LINE = 11, 6, 14
NOTE_LINE = 19


def words(scene: Scene) -> dict[str, list[str]]:
    """What each card says, a line or two."""
    return {card.key: _lines(card) for card in scene.cards}


def sizes(lines: Mapping[str, list[str]]) -> dict[str, Size]:
    """The room each card takes here."""
    return {
        key: Size(max(mono_width(line, TEXT) for line in said) + 2 * PAD, len(said) * LINE + 8)
        for key, said in lines.items()
    }


def paint(scene: Scene, said: Mapping[str, list[str]], placed: Placement, prefix: str, theme_name: str) -> str:
    """The SVG text; `said` are the scene's `words`."""
    muted = theme.fill("muted")
    by_role: dict[str, list[Box]] = {}
    texts = []
    for card in scene.cards:
        box = placed.boxes[card.key]
        by_role.setdefault(card.role, []).append(box)
        x, y = round(box.x + PAD), round(box.y + LINE)
        first, *rest = said[card.key]
        more = f'<tspan x="{x}" dy="{LINE}" {muted}>{xml(rest[0])}</tspan>' if rest else ""
        texts.append(f'<text x="{x}" y="{y}">{xml(first)}{more}</text>')
    notes = (*scene.notes, *((placed.hint,) if placed.hint else ()))
    lines = "".join(
        caption(14, placed.height + 12 + NOTE_LINE * index, note, "muted", size=12) for index, note in enumerate(notes)
    )
    edges = "".join(_stroke(placed.curves[edge.key]) for edge in scene.edges)
    body = (
        f'<rect width="100%" height="100%" {theme.fill("surface")}/>'
        f'<path d="{edges}" {theme.stroke("line", 1)}/>'
        + "".join(_outlines(role, boxes) for role, boxes in by_role.items())
        + f'<g class="hg-mono hg-f-ink" fill="{theme.light("ink")}" font-family="{xml(theme.MONO)}" '
        f'font-size="{TEXT}">{"".join(texts)}</g>{lines}'
    )
    height = placed.height + NOTE_LINE * len(notes)
    return document(body, placed.width, height, scene.title, scene.description, prefix, theme_name)


def _lines(card: Card) -> list[str]:
    """What the card is, and its numbers."""
    what = clipped(card.shown_name + card.joint + card.shown_expression, LONGEST) or "·"
    shown = " ".join(row.text for row in card.rows) or " ".join(map(_table_size, card.blocks[:1]))
    return [what, clipped(shown, LONGEST + 6)] if shown else [what]


def _table_size(block: Block) -> str:
    if block.table is None:
        return ""
    rows, columns = len(block.table.rows), len(block.table.columns)
    return f"{len(block.slices)}× {rows // len(block.slices)}×{columns}" if block.slices else f"{rows}×{columns}"


def _outlines(role: str, boxes: Iterable[Box]) -> str:
    """All cards of a role as one path; inputs and parameters keep a corner cut or a spine."""
    dash = f' stroke-dasharray="{PILL_DASH}"' if role == "constant" else ""
    style = theme.outline(f"{role}-fill", f"{role}-line", OUTLINES[role] * 0.8)
    shapes, spines = [], []
    for box in boxes:
        x, y, width, height = round(box.x), round(box.y), round(box.width), round(box.height)
        if role == "input":
            shapes.append(f"M{x + 6},{y}h{width - 6}v{height}h{-width}v{6 - height}z")
        else:
            shapes.append(f"M{x},{y}h{width}v{height}h{-width}z")
        if role == "parameter":
            spines.append(f"M{x},{y}h3v{height}h-3z")
    spine = f'<path d="{"".join(spines)}" {theme.fill("parameter-line")}/>' if spines else ""
    return f'<path d="{"".join(shapes)}" {style}{dash}/>{spine}'


def _stroke(curve: Curve) -> str:
    """Straight from bend to bend: a third of the points, which look the same at this size."""
    points = [curve.tail, *curve.points[3:-1:3], curve.head]
    (x, y), *rest = [(round(x), round(y)) for x, y in points]
    path = f"M{x},{y}"
    for to_x, to_y in rest:
        path += f"l{to_x - x},{to_y - y}"
        x, y = to_x, to_y
    return path
