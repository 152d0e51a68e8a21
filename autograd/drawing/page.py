"""`Drawing.html()`: a drawing as one self-contained page.

Python hands over cards already painted, the tree of modules, and the first arrangement. The page (assets/draw.js) shows
them, the whole graph or one module at a time, and lays out anew (assets/layers.js) what a module holds.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from autograd.drawing.groups import Group
from autograd.drawing.layout.arrange import arrange
from autograd.drawing.layout.geometry import Box
from autograd.drawing.layout.measure import CAPTION, Size, measure
from autograd.drawing.paint import theme
from autograd.drawing.paint.card import paint_card
from autograd.drawing.paint.painter import EDGE_STYLES, paint_legend
from autograd.drawing.scene import Card, Legend, Scene
from autograd.formula.text import xml
from autograd.graph import calls_around
from autograd.pages import asset, embedded, filled

if TYPE_CHECKING:
    from autograd.drawing.drawing import Drawing
    from autograd.drawing.reader import Reader

_asset = functools.partial(asset, "autograd.drawing")
MOST_OPEN = 1500  # nodes up to which a page can open every module
PREFIX = "hg-page"
ON_A_PHONE = 340  # pixels of a card that a phone shows at a readable size
EDITED = "the graph was edited after it was drawn; draw it again to open and close its modules"


class Outline:
    """A graph with every module open, and the tree of its modules: what a page opens and closes."""

    def __init__(self, reader: Reader) -> None:
        drawn = type(reader)(reader.source, reader.options, thorough=True)
        whole = type(reader)(drawn.roots, replace(reader.options, collapse=False, max_nodes=10**9, chains=False))
        self.drawn, self.scene = drawn.scene(), whole.scene()
        self.groups = list(drawn.folded.groups.values())
        self.whole, self.key_of = whole, whole.folded.key_of
        place = {node: index for index, node in enumerate(whole.nodes)}
        in_order = sorted(whole.modules(), key=lambda module: place[module.members[0]])
        self.modules = {module.key: module for module in in_order}
        self.parent_of = _parents(self.modules.values())
        self.home_of = self._homes(whole)
        self.closed = [group.page_key for group in self.groups if group.kind == "module"]
        self.cards = {key: whole.module_card(module) for key, module in self.modules.items()}

    def agrees_with(self, scene: Scene) -> bool:
        """Are the numbers those that the scene shows? If not, the graph was edited after it was drawn."""
        now, then = ([(card.rows, card.blocks) for card in cards] for cards in (self.drawn.cards, scene.cards))
        return now == then

    def _homes(self, whole: Reader) -> dict[str, str]:
        """The innermost module that each card stands in; a leaf goes where all its users are."""
        homes: dict[str, str] = {}
        users: dict[str, list[str]] = {}
        for edge in self.scene.edges:
            users.setdefault(edge.tail, []).append(edge.head)
        calls = _calls(self.modules.values())
        for node in whole.nodes:
            here = next((calls[one.serial] for one in calls_around(node) if one.serial in calls), "")
            if here and node.op is not None:
                homes[self.key_of[node]] = here
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
    outline = drawing.outline
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
        "chosen": drawing.reader is None or drawing.reader.options.says_what_to_fold,
        "smallest": CAPTION,
        "notes": [*drawing.scene.notes, *([EDITED] if outline is None and drawing.has_modules else [])],
        "cards": cards,
        "edges": [[e.tail, e.head, e.shown_label, e.style, round(e.flow, 1), e.title] for e in scene.edges],
        "modules": modules,
        "homes": outline.home_of if outline is not None else {},
        "closed": outline.closed if outline is not None else [],
        "styles": {name: list(style) for name, style in EDGE_STYLES.items()},
        "placed": _placed(drawing, cards, outline),
    }


def _prefix(outline: Outline | None, key: str) -> str:
    """What the names in a module begin with. On its cards it is left out: the frame round them says it."""
    home = outline and (outline.parent_of.get(key) or outline.home_of.get(key))
    return f"{outline.cards[home].name}." if outline and home else ""


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
    rename = {group.key: group.page_key for group in groups if group.kind == "module"}
    if not {rename.get(card.key, card.key) for card in scene.cards} <= set(cards):
        return None  # a folded sum
    on_page = {card.key: cards[rename.get(card.key, card.key)] for card in scene.cards}
    sizes = {key: Size(card["w"], card["h"]) for key, card in on_page.items()}  # shorter names, and room for `open +`
    placed = arrange(scene, sizes, drawing.engine) if outline else drawing.placement
    boxes = {rename.get(key, key): [round(box.x, 1), round(box.y, 1)] for key, box in placed.boxes.items()}
    curves = []
    for edge in scene.edges:
        curve = placed.curves[edge.key]
        label = placed.labels.get(edge.key)
        curves.append([rename.get(edge.tail, edge.tail), rename.get(edge.head, edge.head), _points(curve.points),
                       _points([curve.tail, curve.head]), [round(at, 1) for at in label] if label else None,
                       edge.style, round(edge.flow, 1), edge.shown_label, edge.title])  # fmt: skip
    return {"boxes": boxes, "curves": curves}


def _points(points: Any) -> list[list[float]]:
    return [[round(x, 1), round(y, 1)] for x, y in points]


def _calls(modules: Iterable[Group]) -> dict[int, str]:
    """By the serial number of its call, the key of each module that is not a run of copies."""
    return {module.scope.serial: module.key for module in modules if module.scope is not None and not module.copies}


def _parents(modules: Iterable[Group]) -> dict[str, str]:
    """For each module the one around it: the run it is a copy of, or the next call outwards."""
    modules = list(modules)
    runs = {copy.key: module.key for module in modules for copy in module.copies}
    calls = _calls(modules)
    parents = {}
    for module in modules:
        around = module.scope.parent.chain() if module.scope and module.scope.parent else ()
        outer = next((calls[one.serial] for one in around if one.serial in calls), "")
        parents[module.key] = outer if module.copies else runs.get(module.key, outer)
    return {key: parent for key, parent in parents.items() if parent}
