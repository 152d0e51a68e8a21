"""One painter for every picture: scene + placement → SVG text.

`paint` makes the whole picture; `paint_card` and `paint_edge` give one element, which is how the stepper
changes a picture step by step. Every number is its own text element. Colours go in as light attributes,
with a class that a screen's style sheet overrides (see `theme`).

`state` of a card while stepping: "todo", "done", "receiving", "now"; "" in a drawing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from autograd.formula.text import mono_width, sans_width, wrapped, xml

from ..layout import measure
from ..layout.arrange import FRAME_TEXT, LABEL_HEIGHT, LABEL_SIZE, name_patch
from ..layout.geometry import Box, Curve, Placement, Point
from ..scene import Edge, Frame, Legend, Scene
from . import theme
from .card import paint_card
from .svg import OWN, caption, document, n, p, rectangle, text

__all__ = ["badge", "paint", "paint_card", "paint_edge", "paint_legend"]

EDGE_STYLES = {  # token, width, dashes, where the arrowhead is, its length
    "plain": ("line", 1.4, "", "head", 8),
    "flow": ("line", 1.4, "", "head", 8),
    "none": ("line", 1.4, "2 4", "head", 8),
    "zero": ("grad-line", 1.6, "1 5", "head", 8),
    "bad": ("bad", 4.0, "", "head", 10),
    "round": ("change", 1.4, "5 3", "head", 8),
    "wrong": ("bad", 3.0, "", "tail", 12),
    "todo": ("hair", 1.4, "", "head", 8),
    "done": ("grad-line", 1.6, "", "tail", 8),
    "now": ("grad-line", 3.6, "", "tail", 13),
    "forward": ("ink", 3.0, "", "head", 12),
}
NOTE_TEXT, NOTE_LINE = 12, 19
NARROWEST_NOTE = 460  # pixels that a note may take under a small drawing
LEGEND_HEIGHT = 30


def paint(
    scene: Scene,
    placed: Placement,
    *,
    states: Mapping[str, str] | None = None,
    prefix: str | None = None,
    extra: str = "",
    theme_name: str = "auto",
) -> str:
    """The SVG text of a scene.

    `states` gives cards their step state, `extra` is SVG painted on top (badges), `prefix` begins every id, by default
    one made from what is painted: equal pictures are equal texts, and different ones can share a page.
    """
    prefix = prefix or OWN
    states = states or {}
    frames = _outermost_first(scene.frames, placed)
    below, width, height = _below(scene, placed)
    body = [
        f'<rect width="100%" height="100%" {theme.fill("surface")}/>',
        *(_border(placed.frames[frame.key]) for frame in frames),
        f'<g class="hg-mono" font-family="{xml(theme.MONO)}" font-size="{measure.NUMBER}">',
        "<g>",
        *(paint_edge(edge, placed.curves[edge.key], prefix) for edge in scene.edges),
        "</g>",
        *(_frame_name(frame, placed.frames[frame.key]) for frame in frames),
        *(paint_card(card, placed.boxes[card.key], prefix, states.get(card.key, "")) for card in scene.cards),
        *(_edge_label(edge, placed.labels[edge.key]) for edge in scene.edges if edge.key in placed.labels),
        "</g>",
        extra,
        below,
    ]
    return document("".join(body), max(width, placed.width), height, scene.title, scene.description, prefix, theme_name)


def paint_edge(edge: Edge, curve: Curve, prefix: str = "hg-0") -> str:
    """One edge as a group with the id `<prefix>-<key>`: under-stroke, line, arrowhead."""
    token, width, dashes, end, length = EDGE_STYLES[edge.style]
    line, arrow = _line_and_arrow(curve, end, length)
    dash = f' stroke-dasharray="{dashes}"' if dashes else ""
    cap = ' stroke-linecap="round"' if edge.style == "zero" else ""
    title = f"<title>{xml(edge.title)}</title>" if edge.title else ""
    under = ""
    if edge.flow:
        under = f'<path d="{line}" {theme.stroke("grad-line", round(edge.flow, 1))} stroke-opacity=".55"/>'
    return (
        f'<g id="{prefix}-{edge.key}" class="hg-edge hg-edge-{edge.style}" data-tail="{edge.tail}" '
        f'data-head="{edge.head}">{title}{under}'
        f'<path d="{line}" {theme.stroke(token, width)}{dash}{cap}/>'
        f'<path d="{arrow}" {theme.fill(token)}/></g>'
    )


def _line_and_arrow(curve: Curve, end: str, length: float) -> tuple[str, str]:
    """The path of the line, stopping at the arrowhead's base, and the arrowhead."""
    points = list(curve.points)
    start, tip = curve.tail, curve.head
    if end == "tail":
        points.reverse()
        start, tip = tip, start
    base = _towards(tip, points[-1], length * 0.9)
    path = f"M{p(start)}"
    if _distance(start, points[0]) > 0.5:
        path += f"L{p(points[0])}"
    path += "C" + " ".join(p(point) for point in points[1:])
    if _distance(points[-1], base) > 0.5:
        path += f"L{p(base)}"
    return path, _arrow(tip, points[-1] if _distance(tip, points[-1]) > 0.5 else points[-2], length)


def _arrow(tip: Point, origin: Point, length: float) -> str:
    angle = math.atan2(tip[1] - origin[1], tip[0] - origin[0])
    half = 0.42 * length
    back = (tip[0] - length * math.cos(angle), tip[1] - length * math.sin(angle))
    left = (back[0] - half * math.sin(angle), back[1] + half * math.cos(angle))
    right = (back[0] + half * math.sin(angle), back[1] - half * math.cos(angle))
    return f"M{p(tip)}L{p(left)}L{p(right)}Z"


def _towards(start: Point, target: Point, distance: float) -> Point:
    """The point `distance` from `start` on the way to `target`, not beyond it."""
    whole = _distance(start, target)
    share = min(1.0, distance / whole) if whole else 0.0
    return start[0] + (target[0] - start[0]) * share, start[1] + (target[1] - start[1]) * share


def _distance(a: Point, b: Point) -> float:
    return math.hypot(a[0] - b[0], a[1] - b[1])


def _edge_label(edge: Edge, centre: Point) -> str:
    """On a rectangle of the surface's colour: some renderers paint a text halo over the letters."""
    x, y = centre
    width = mono_width(edge.shown_label, LABEL_SIZE) + 6
    back = rectangle(Box(x - width / 2, y - LABEL_HEIGHT / 2, width, LABEL_HEIGHT), 3, theme.fill("surface"))
    token = "bad" if edge.style == "bad" else "grad"
    return back + text(x, y + 4, edge.shown_label, token=token, anchor="middle", size=LABEL_SIZE)


def _border(border: Box) -> str:
    return f'<g class="hg-scope">{rectangle(border, 12, theme.outline("scope-fill", "scope-line", 1.3))}</g>'


def _frame_name(frame: Frame, border: Box) -> str:
    """Over the edges, on a patch of the frame's own colour, so that none strikes it through."""
    patch = name_patch(frame, border)
    name = caption(patch.x + 4, patch.bottom - 4, frame.shown_label, "muted", weight=600, size=FRAME_TEXT)
    return rectangle(patch, 3, f'{theme.fill("scope-fill")} fill-opacity=".85"') + name


def _outermost_first(frames: Iterable[Frame], placed: Placement) -> list[Frame]:
    shown = [frame for frame in frames if frame.key in placed.frames]
    return sorted(shown, key=lambda frame: -len(frame.members))


def _below(scene: Scene, placed: Placement) -> tuple[str, float, float]:
    """Legend and notes under the picture, their width, and where they end."""
    svg, width, y = "", 0.0, placed.height
    notes = scene.notes + ((placed.hint,) if placed.hint else ())
    if scene.legend:
        svg, width = paint_legend(scene.legend, y + 12)
        y += LEGEND_HEIGHT
    room = max(placed.width, NARROWEST_NOTE) - 28
    for line in (line for note in notes for line in wrapped(note, lambda text: sans_width(text, NOTE_TEXT) <= room)):
        svg += caption(14, y + 10, line, "muted", size=NOTE_TEXT)
        width = max(width, sans_width(line, NOTE_TEXT) + 28)
        y += NOTE_LINE
    return svg, width, y + (6 if notes else 0)


def paint_legend(legend: Legend, y: float) -> tuple[str, float]:
    """The widths of gradient flow with their norms, and how wide the line of them is."""
    title = "gradient norm along the edge"
    parts = [caption(14, y + 4, title, "muted")]
    x = 14 + sans_width(title, measure.CAPTION) + 8
    for width, label in legend.entries:
        line = f'd="M{n(x)},{n(y)}h34"'
        parts += [
            f'<path {line} {theme.stroke("grad-line", round(width, 1))} stroke-opacity=".55"/>',
            f"<path {line} {theme.stroke('line', 1.4)}/>",
            text(x + 40, y + 4, label, token="muted", size=measure.CAPTION, family=theme.MONO),
        ]
        x += 40 + mono_width(label, measure.CAPTION) + 18
    if legend.has_undirected:
        parts += [
            f'<path d="M{n(x)},{n(y)}h34" {theme.stroke("line", 1.4)} stroke-dasharray="2 4"/>',
            caption(x + 40, y + 4, "no gradient asked for", "muted"),
        ]
        x += 40 + sans_width("no gradient asked for", measure.CAPTION) + 14
    return "".join(parts), x


def badge(box: Box, label: str) -> str:
    """A numbered disc at a card's top left corner: the stepper's order in a still picture."""
    return f'<circle cx="{n(box.x)}" cy="{n(box.y)}" r="10.5" {theme.fill("grad")}/>' + caption(
        box.x, box.y + 4, label, "surface", anchor="middle", weight=700, size=11
    )
