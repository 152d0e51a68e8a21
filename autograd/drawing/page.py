"""`Drawing.html()`: a drawing as one self-contained page.

Python hands over cards already painted, the tree of modules, and the first arrangement. The page (assets/draw.js) shows
them, the whole graph or one module at a time, and lays out again (assets/layers.js) what a module holds.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from autograd.engine import Value
from autograd.formula.text import xml
from autograd.saving.pages import asset, embedded, filled

from .groups import Group
from .layout.arrange import arrange
from .layout.geometry import Box, Placement
from .layout.measure import CAPTION, Size, measure
from .paint import theme
from .paint.card import paint_card
from .paint.painter import EDGE_STYLES, paint_legend
from .scene import Card, Legend, Scene

if TYPE_CHECKING:
    from .drawing import Drawing
    from .reader import Reader

_asset = functools.partial(asset, "autograd.drawing")
MOST_OPEN = 1500  # nodes up to which a page can open every module
PREFIX = "hg-page"
ON_A_PHONE = 340  # pixels of a card that a phone shows at a readable size
EDITED = "the graph was edited after it was drawn; draw it again to open and close its modules"


class Outline:
    """A graph with every module open, and the tree of its modules: what a page opens and closes."""

    def __init__(self, reader: Reader) -> None:
        rung, options = reader.rung, reader.options
        options = replace(options, detail=None if rung.tucked else options.detail, fit=None,
                          collapse=rung.collapse if options.collapse is None else options.collapse)  # fmt: skip
        same = rung.repeats and options.collapse is None  # then every op of the picture is open already
        drawn = type(reader)(reader.roots if same else reader.source, options, thorough=True)
        whole = type(reader)(drawn.roots, replace(options, collapse=False, max_nodes=10**9))
        self.drawn, self.scene = drawn.scene(), whole.scene()
        self.again = self.drawn if not rung.repeats else type(reader)(reader.source, reader.options, rung=rung).scene()
        self.groups = list(drawn.folded.groups.values())
        self.whole, self.key_of = whole, whole.folded.key_of
        place = {node: index for index, node in enumerate(whole.nodes)}
        in_order = sorted(whole.modules(rung.repeats), key=lambda module: place[module.members[0]])
        self.modules = {module.key: module for module in in_order}
        self.parent_of = _parents(in_order)
        self.home_of = self._homes(whole)
        self.closed = [group.page_key for group in self.groups if group.kind == "module"]
        self.closed += [group.key for group in in_order if group.key.startswith("r") and group.copies
                        and group.key not in self.parent_of]  # fmt: skip
        self.cards = {key: whole.module_card(module, len(module.copies)) for key, module in self.modules.items()}

    def leads(self, reader: Reader) -> dict[str, str]:
        """Which module opens when a card or frame of a folded picture is pressed."""
        repeats = [group for group in self.modules.values() if group.key.startswith("r")]
        starts = {group.members[0]: group.key for group in sorted(repeats, key=lambda group: bool(group.copies))}
        calls = {one.scope.serial: one.key for one in self.modules.values() if one.scope is not None and not one.copies}
        found: dict[str, str] = {}
        frames = (f"r{index}" for index in itertools.count())
        for run in reader.folded.runs():  # inner ones come last
            to = calls.get(run.call.serial, "") if run.call is not None else starts.get(run.rows[0][0], "")
            keys = {reader.folded.key_of[node] for node in run.rows[0]}
            if len(keys) > 1:
                found[next(frames)] = to
            if len(keys) == 1 or run.call is None:
                found |= dict.fromkeys(keys, to)
        for key, group in reader.folded.groups.items():
            if group.kind == "module" and group.scope is not None:
                found[key] = calls.get(group.scope.serial, "")
        return {key: self.parent_of.get(to, to) if to.startswith("m") and reader.folded.times.get(key) else to
                for key, to in found.items() if to}  # fmt: skip

    def agrees_with(self, scene: Scene) -> bool:
        """Are the numbers those that the scene shows? If not, the graph was edited after it was drawn."""
        now, then = ([(card.rows, card.blocks) for card in cards] for cards in (self.again.cards, scene.cards))
        return now == then

    def _homes(self, whole: Reader) -> dict[str, str]:
        """The innermost module that each card stands in; a leaf goes where all its users are."""
        homes: dict[str, str] = {}
        users: dict[str, list[str]] = {}
        for edge in self.scene.edges:
            users.setdefault(edge.tail, []).append(edge.head)
        for module in sorted(self.modules.values(), key=_size, reverse=True):
            homes |= {self.key_of[node]: module.key for node in module.members}
        for card in reversed(self.scene.cards):
            array = whole.edges.arrays.get(card.key)
            inner = card.role == "parameter" or (array is not None and whole.edges.is_private(array))
            if card.key not in homes and inner and users.get(card.key):
                common = self._common([homes.get(user, "") for user in users[card.key]])
                if common:
                    homes[card.key] = common
        return homes

    def _common(self, modules: list[str]) -> str:
        """The innermost module around all of these."""
        others = [set(self._around(module)) for module in modules[1:]]
        return next((one for one in self._around(modules[0]) if all(one in around for around in others)), "")

    def _around(self, module: str) -> list[str]:
        chain = []
        while module:
            chain.append(module)
            module = self.parent_of.get(module, "")
        return chain


def write(drawing: Drawing) -> str:
    """The page as text."""
    parts = {
        "title": xml(drawing.scene.title),
        "style": theme.css() + _asset("draw.css"),
        "data": embedded(_data(drawing)),
        "script": _asset("layers.js") + _asset("draw.js"),
        "description": xml(drawing.scene.description),
        "mono": xml(theme.MONO),
        "legend": _legend(drawing.scene.legend),
    }
    return filled(_asset("draw.html"), parts)


def _legend(legend: Legend | None) -> str:
    if legend is None:
        return ""
    painted, width = paint_legend(legend, 12)
    return f'<svg class="hg-legend" width="{width:.0f}" height="24" aria-hidden="true">{painted}</svg>'


def _data(drawing: Drawing) -> dict[str, Any]:
    outline, options = drawing.outline, drawing.reader.options if drawing.reader is not None else None
    scene = outline.scene if outline is not None else drawing.scene
    reader = outline.whole if outline is not None else drawing.reader
    rules = reader.rules() if reader is not None and len(reader.nodes) <= MOST_OPEN else {}
    cards = {card.key: _card(card, rules.get(card.key, ""), _prefix(outline, card.key)) for card in scene.cards}
    modules: dict[str, Any] = {}
    if outline is not None:
        for key, card in outline.cards.items():
            cards[key] = _card(replace(card, key=key, opens=True), "", _prefix(outline, key))
            owns = bool(outline.whole.parameters_of(outline.modules[key]))
            norm = next((row.text for row in card.rows if owns and row.kind == "grad"), "")
            parent = outline.parent_of.get(key, "")
            modules[key] = {"parent": parent, "name": card.name, "kind": card.expression, "norm": norm}
    return {
        "title": drawing.scene.title,
        "direction": drawing.scene.direction,
        "chosen": options is None or options.collapse is not None or options.opens_all,
        "smallest": CAPTION,
        "notes": [*drawing.scene.notes, *([EDITED] if outline is None and drawing.has_modules else [])],
        "cards": cards,
        "edges": [[e.tail, e.head, e.shown_label, e.style, round(e.flow, 1), e.title] for e in scene.edges],
        "modules": modules,
        "homes": outline.home_of if outline is not None else {},
        "closed": outline.closed if outline is not None else [],
        "styles": {name: list(style) for name, style in EDGE_STYLES.items()},
        "placed": _placed(drawing, cards, outline),
        "folded": _folded(drawing, outline),
    }


def _prefix(outline: Outline | None, key: str) -> str:
    """What the names in a module begin with. On its cards it is left out: the frame round them says it."""
    if outline is None:
        return ""
    home = outline.parent_of.get(key) or outline.home_of.get(key, "")
    while home and home[0] in "rx":  # what repeats in a module
        home = outline.parent_of.get(home, "")
    return f"{outline.cards[home].name}." if home else ""


def _card(card: Card, rule: str, prefix: str) -> dict[str, Any]:
    own = re.compile(rf"(?<![\w.)\]])({re.escape(prefix)}|\.(?=[^\W\d]))")  # as `blocks.0.qkv`, or as `.qkv` for short
    expression = own.sub("", card.expression) if prefix else card.expression
    shown = replace(card, name=card.name.removeprefix(prefix), expression=expression)
    if card.opens and measure(shown).width > ON_A_PHONE:
        shown = replace(shown, header_lines=2)
    size = measure(shown)
    box = Box(0, 0, size.width, size.height)
    tooltip = {key: text for key, text in {**card.tooltip, "rule": rule}.items() if text}
    return {"svg": paint_card(shown, box, PREFIX), "w": round(size.width, 1), "h": round(size.height, 1),
            "name": card.name, "expression": card.expression, "short": shown.name or shown.expression,
            "role": card.role, "title": card.title, "tooltip": tooltip}  # fmt: skip


def _placed(drawing: Drawing, cards: Mapping[str, Any], outline: Outline | None) -> dict[str, Any] | None:
    """The drawing's own arrangement, for the page to begin with; None if the page shows other cards than it."""
    scene, groups = (outline.drawn, outline.groups) if outline is not None else (drawing.scene, [])
    keys = {card.key: card.key for card in scene.cards}
    keys |= {group.key: group.page_key for group in groups if group.kind == "module"}
    if outline is not None and outline.again is not outline.drawn:
        return None  # folded: the page opens what a card of the picture stands for
    if not {keys[card.key] for card in scene.cards} <= set(cards):
        return None  # what is left out
    if outline is None:
        return _layout(scene, drawing.placement, keys)
    on_page = {card.key: cards[keys[card.key]] for card in scene.cards}
    sizes = {key: Size(card["w"], card["h"]) for key, card in on_page.items()}  # shorter names, and room for `open +`
    turned = replace(scene, direction=drawing.scene.direction)
    return _layout(turned, arrange(turned, sizes, drawing.engine), keys)


def _folded(drawing: Drawing, outline: Outline | None) -> dict[str, Any] | None:
    """The picture with what repeats folded, where the page begins: cards and frames lead into what they stand for."""
    if outline is None or drawing.reader is None or not drawing.reader.rung.repeats:
        return None
    leads, scene, placed = outline.leads(drawing.reader), drawing.scene, drawing.placement
    cards = {f"f{card.key}": {**_card(card, "", ""), "leads": leads.get(card.key, "")} for card in scene.cards}
    frames = [
        {"x": round(box.x, 1), "y": round(box.y, 1), "w": round(box.width, 1), "h": round(box.height, 1),
         "words": frame.shown_label, "leads": leads.get(frame.key, "")}
        for frame in sorted(scene.frames, key=lambda frame: -len(frame.members))
        if (box := placed.frames.get(frame.key)) is not None
    ]  # fmt: skip
    keys = {card.key: f"f{card.key}" for card in scene.cards}
    return {"cards": cards, "frames": frames, **_layout(scene, placed, keys)}


def _layout(scene: Scene, placed: Placement, keys: Mapping[str, str]) -> dict[str, Any]:
    """Where cards stand and edges run, by the `keys` that the page has for cards."""
    curves = []
    for edge in scene.edges:
        curve, label = placed.curves[edge.key], placed.labels.get(edge.key)
        curves.append([keys[edge.tail], keys[edge.head], _points(curve.points), _points([curve.tail, curve.head]),
                       _points([label])[0] if label else None, edge.style, round(edge.flow, 1), edge.shown_label,
                       edge.title])  # fmt: skip
    return {"boxes": {keys[key]: _points([(box.x, box.y)])[0] for key, box in placed.boxes.items()}, "curves": curves}


def _points(points: Any) -> list[list[float]]:
    return [[round(x, 1), round(y, 1)] for x, y in points]


def _parents(modules: Iterable[Group]) -> dict[str, str]:
    """For each module the smallest one around it: the run that it is a copy of, or the next call outwards."""
    by_size = sorted(modules, key=_size)
    around: dict[Value, list[Group]] = {}
    for module in by_size:
        for node in module.members:
            around.setdefault(node, []).append(module)
    inside = {module.key: set(module.members) for module in by_size}
    parents = {}
    for module in by_size:
        outer = around[module.members[0]]
        larger = outer[next(at for at, one in enumerate(outer) if one is module) + 1 :]
        parent = next((one for one in larger if inside[one.key] >= inside[module.key]), None)
        if parent is not None:
            parents[module.key] = parent.key
    return parents


def _size(module: Group) -> tuple[int, int]:
    """How much a module holds; of two that hold the same, the call further in comes first."""
    depth = len(list(module.scope.chain())) if module.scope is not None else 1000
    return len(module.members), -depth
