"""A picture has a size that it must fit: `fitted` goes down a ladder of foldings and takes the first that does.

    all open → repeats once → operands and parameters in the cards that use them → modules closed, the deepest first →
    the ends of the computation alone

A picture fits if its names and numbers are readable in its box: 9 px or more. Nothing is left out of one that
is shown at half of its size or more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from autograd.engine import Value

from ..groups import OPEN, FoldNote, Rung, deepest, what_opens
from ..layout.arrange import GRAPHVIZ_MOST, arrange
from ..layout.geometry import Placement
from ..layout.measure import measure
from ..options import Options
from ..reader import Reader
from ..scene import Scene

READABLE = 9 / 13  # of its natural size: names and numbers are 9 px high, captions 8
LEGIBLE = 1 / 2  # of its natural size: of a picture so large nothing is left out
SLIDE, PAGE, COLUMN = (1240, 590), (850, 1100), (420, 1100)  # what a slide, a page, a column leave for a picture
BOXES = {"auto": (SLIDE, PAGE), "slide": (SLIDE,), "page": (PAGE,), "column": (COLUMN,), None: ()}
MOST_CARDS = 90  # that are laid out to see whether they fit
FULL = 0.9  # of its box that cards may cover
ENDS = (40, 20, 10)  # cards that are left of a graph that nothing else makes small enough
OPENED_UP_TO = 400  # nodes of a graph that may fit without any folding


def boxes_of(fit: Any) -> Sequence[tuple[float, float]]:
    """The boxes that a caller's `fit` allows."""
    if isinstance(fit, str | None) and fit in BOXES:
        return BOXES[fit]
    if isinstance(fit, tuple | list) and len(fit) == 2 and all(isinstance(x, int | float) and x > 0 for x in fit):
        return ((fit[0], fit[1]),)
    raise ValueError(f"draw: fit is 'auto', 'slide', 'page', 'column', (width, height) or None; got {fit!r}")


def scale_of(placed: Placement, boxes: Sequence[tuple[float, float]]) -> float:
    """How large a picture is shown in the box that suits it best; at most at its natural size."""
    return max((min(1.0, w / max(placed.width, 1), h / max(placed.height, 1)) for w, h in boxes), default=1.0)


def fitted(
    source: Value | Sequence[Value], options: Options, engine: str | None
) -> tuple[Reader, Scene, Placement | None]:
    """The first rung whose picture fits, else the one that comes nearest."""
    boxes = boxes_of(options.fit)
    base = Reader(source, options)
    all_nodes = len(base.nodes)
    sizes: list[int] = []
    best: tuple[float, Reader, Scene, Placement | None] | None = None
    least: Reader | None = None  # of those with too many cards to lay out
    for rung in _rungs(base):
        if rung == OPEN and boxes and all_nodes > OPENED_UP_TO:
            continue
        if rung.ends and best is not None and best[0] >= LEGIBLE:
            break
        base = base if base.rung.collapse == rung.collapse else Reader(source, options, rung=rung)
        reader = Reader(source, options, rung=rung, base=base)
        cards = reader.folded.size
        most = min(MOST_CARDS, options.max_nodes) if boxes else options.max_nodes
        if most < cards <= options.max_nodes and (least is None or cards < least.folded.size):
            least = reader
        if cards > most or (cards in sizes and not rung.tucked):
            continue
        sizes.append(cards)
        scene = _noted(reader, reader.scene(), all_nodes)
        if not boxes:
            return reader, *_turned(scene, options, engine)
        for direction in [scene.direction] if options.direction else _directions(scene, boxes):
            turned = replace(scene, direction=direction)
            placed = arrange(turned, engine=engine)
            scale = scale_of(placed, boxes)
            if best is None or scale > best[0]:
                best = scale, reader, turned, placed
            if scale == 1.0:
                break  # the other direction could not be clearer
        if best is not None and best[0] >= READABLE:
            break
    if best is not None:
        return best[1:]
    reader = least or Reader(source, options, rung=Rung(ends=options.max_nodes), base=base)
    return reader, _noted(reader, reader.scene(), all_nodes), None


def _turned(scene: Scene, options: Options, engine: str | None) -> tuple[Scene, Placement | None]:
    """From left to right, unless that is wider than a page and from top to bottom is narrower."""
    if options.direction or scene.direction == "TB" or len(scene.cards) > GRAPHVIZ_MOST:
        return scene, None
    across, upright = arrange(scene, engine=engine), replace(scene, direction="TB")
    if across.width <= SLIDE[0] or (down := arrange(upright, engine=engine)).width >= across.width:
        return scene, across
    return upright, down


def _rungs(base: Reader) -> Iterator[Rung]:
    options = base.options
    yield OPEN
    if options.collapse is False:
        return
    tucks = (False, True) if options.detail is options.edges is None and options.fit is not None else (False,)
    depths = range(deepest(base.nodes), 0, -1) if options.collapse is None else ()
    for collapse in (None, *depths):
        for tucked in tucks:
            yield Rung(repeats=True, collapse=collapse, tucked=tucked)
    if options.fit is not None and options.detail != "full":
        for ends in ENDS:
            yield Rung(repeats=True, collapse=min(depths, default=None), tucked=tucks[-1], ends=ends)


def _noted(reader: Reader, scene: Scene, all_nodes: int) -> Scene:
    """The scene with a line that says how it was folded, and what opens it: so many nodes."""
    rung, note = reader.rung, reader.folded.note
    if note is None and (rung.repeats or rung.collapse) and reader.options.collapse is None:
        note = FoldNote(len(reader.nodes), shown=len(scene.cards))
    if note is None:
        return scene
    reader.folded.note = replace(note, options=what_opens(all_nodes, reader.options))
    return replace(scene, notes=reader.notes())


def _directions(scene: Scene, boxes: Sequence[tuple[float, float]]) -> list[str]:
    """The directions worth laying out, the better one first: none if the cards alone fill every box."""
    sizes = [measure(card) for card in scene.cards]
    area = sum((size.width + 20) * (size.height + 33) for size in sizes)
    if area > FULL * max(w * h for w, h in boxes) / READABLE**2:
        return []
    return [scene.direction, "LR" if scene.direction == "TB" else "TB"]

