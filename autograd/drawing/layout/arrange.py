"""Where cards and edges go: `arrange(scene)` gives boxes, curves and label places.

Three engines behind one interface: the Graphviz inside pygraphviz's wheel, a `dot` program on PATH, and our
own layered layout, which stands in where neither is found or where the graph is too large for them. All
take boxes of fixed size: the cards are measured by us, so that no picture depends on the fonts of the
machine that laid it out.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from autograd.formula.text import mono_width, sans_width

from ..scene import Edge, Frame, Scene
from . import layered
from .geometry import ARROW, Arc, Array, Box, Curve, Placement, Point, Problem, crossings
from .graphviz import GraphvizMissing, solve_with_graphviz
from .measure import CAPTION, Size, measure

GRAPHVIZ_MOST = 400  # cards; beyond it Graphviz takes seconds to minutes
GRAPHVIZ_LONGEST = 4000  # ranks that all edges pass together: the same (120 ops in a row on 10 leaves: 6840)
ORDERED_MOST = 60  # cards up to which operands keep their left-to-right order
LABEL_SIZE, LABEL_HEIGHT = CAPTION, 16
MARGIN, FRAME_MARGIN = 14, 26
FRAME_PAD, FRAME_BOTTOM, FRAME_CLEARANCE = 14, 25, 6
FRAME_TEXT = 12
LOOP_END, LOOP_LENGTH = 16, 46  # of an edge from a card to itself: from the card's end, and along its side
LOOP_CLEAR = 16  # from its ends to those of other edges
LOOP = ((0, 0), (0, 25), (1, 25), (1, 0))  # its points: at which end, and how far away from the card
CLUSTER_TRIES = 4
AT_ONCE = 32  # places of a label that are looked at together, the nearest first
LABEL_ROUNDS = 2  # a label that stood in another's way may have moved by the second


def arrange(scene: Scene, sizes: Mapping[str, Size] | None = None, engine: str | None = None) -> Placement:
    """Places a scene. `sizes` may give a card more room than it needs now; `engine` forces one of `ENGINES`."""
    given = sizes or {}
    sizes = {card.key: given[card.key] if card.key in given else measure(card) for card in scene.cards}
    problem = Problem(sizes, _arcs(scene), scene.direction, scene.rows, ordered=_is_ordered(scene))
    solved, borders = _with_frames(scene, problem, engine)
    if len(scene.cards) <= ORDERED_MOST and (disorder := _disorder(solved, problem)):
        other = _with_frames(scene, replace(problem, ordered=not problem.ordered), engine)
        if _disorder(other[0], problem) < disorder:
            solved, borders = other
    tips = [tip for curve in solved.curves.values() for tip in (curve.tail, curve.head)]
    own = {edge.key: _own_loop(solved.boxes[edge.head], scene.direction, tips)
           for edge in scene.edges if _is_loop(edge)}  # fmt: skip
    solved = replace(solved, curves=solved.curves | own)
    rooms = {arc.key: arc.label for arc in problem.arcs if arc.label}
    names = [name_patch(frame, borders[frame.key]) for frame in scene.frames if frame.key in borders]
    labels = _on_their_lines(solved.labels, rooms, solved.curves, [*solved.boxes.values(), *names])
    return _framed(replace(solved, labels=labels), borders, rooms)


def _is_ordered(scene: Scene) -> bool:
    """Should operands stand in the order of their expression? Left to right with labels, that may bend edges round
    cards, so it is not asked for."""
    bent = scene.direction == "LR" and any(edge.label for edge in scene.edges)
    return len(scene.cards) <= ORDERED_MOST and not bent


def _disorder(placed: Placement, problem: Problem) -> int:
    """How often edges cross, and, which is worse, how many operands stand in another order than in their expression."""
    operands: dict[str, dict[str, float]] = defaultdict(dict)
    for arc in problem.arcs:
        if arc.free:
            continue
        x, y = placed.boxes[arc.tail].centre
        operands[arc.head][arc.tail] = x if problem.direction == "TB" else y
    pairs = (pair for places in operands.values() for pair in itertools.combinations(places.values(), 2))
    return crossings(placed.curves.values()) + 2 * sum(second < first for first, second in pairs)


def _with_frames(scene: Scene, problem: Problem, engine: str | None) -> tuple[Placement, dict[str, Box]]:
    """First the layout, then a frame round the cards of each module; a module becomes a Graphviz cluster only if a card
    of another module is too near.

    Clusters keep other cards out, but bend edges and push inputs aside, so as few as possible: the smallest crowded
    module first, a few times.
    """
    clustered = [frame for frame in scene.frames if frame.copies > 1]
    tried = []
    for _ in range(CLUSTER_TRIES):
        solved = _solve(replace(problem, clusters=[(frame.members, _name_room(frame)) for frame in clustered]), engine)
        borders = _borders(scene.frames, solved.boxes)
        crowded = [frame for frame in scene.frames if _is_crowded(frame, scene.frames, borders, solved.boxes)]
        tried.append((len(crowded), solved.width * solved.height, solved, borders, crowded))
        more = [frame for frame in crowded if frame not in clustered]
        if not more or solved.engine == "layered":
            break
        few = len(crowded) <= CLUSTER_TRIES
        clustered += [min(more, key=lambda frame: len(frame.members))] if few else more
    _, _, solved, borders, crowded = min(tried, key=lambda attempt: attempt[:2])
    # A frame for some copies of a module and not for others misleads.
    hidden = {_sort_of_module(frame) for frame in crowded if frame.copies == 1}
    shown = {frame.key for frame in scene.frames if _sort_of_module(frame) not in hidden}
    return solved, {key: border for key, border in borders.items() if key in shown}


def _name_room(frame: Frame) -> Size:
    """The room that a frame's name takes below its cards."""
    return Size(sans_width(frame.shown_label, FRAME_TEXT, bold=True), FRAME_BOTTOM - FRAME_PAD)


def _sort_of_module(frame: Frame) -> tuple[str, int]:
    return frame.kind or frame.name, frame.name.count(".") if frame.copies == 1 else -1


def _arcs(scene: Scene) -> list[Arc]:
    """Edge weights make the computation a straight spine; what comes from outside stands above the parameters, and a
    parameter that several cards share above those that each of them owns."""
    roles = {card.key: card.role for card in scene.cards}
    frames: dict[str, set[str]] = {card.key: set() for card in scene.cards}
    for frame in scene.frames:
        for key in frame.members:
            frames[key].add(frame.key)
    heads: dict[str, set[str]] = defaultdict(set)  # of each parameter
    for edge in scene.edges:
        if roles[edge.tail] == "parameter":
            heads[edge.tail].add(edge.head)
    with_parameters: set[str] = set().union(*heads.values())
    with_own: set[str] = set().union(*(users for users in heads.values() if len(users) == 1))
    arcs = []
    for edge in scene.edges:
        if _is_loop(edge):
            continue
        role = roles[edge.tail]
        weight = 3 if role == "parameter" else 1 if role in ("input", "constant") else 8
        enters, leaves = frames[edge.head] - frames[edge.tail], frames[edge.tail] - frames[edge.head]
        if role == "parameter":
            above_parameters = edge.head in with_own and len(heads[edge.tail] & with_own) > 1
        else:
            above_parameters = edge.head in with_parameters and (role == "input" or bool(enters))
        length = 1 + bool(above_parameters) + bool(enters and leaves)  # two frames' margins take a rank
        label = Size(mono_width(edge.shown_label, LABEL_SIZE) + 8, LABEL_HEIGHT) if edge.label else None
        arcs.append(Arc(edge.key, edge.tail, edge.head, weight, length, label, edge.style == "round"))
    return arcs


def _is_loop(edge: Edge) -> bool:
    """From a card back to itself."""
    return edge.tail == edge.head


def _own_loop(box: Box, direction: str, tips: Sequence[Point]) -> Curve:
    """Beside a card, against the flow, from near its end to near its beginning, at the side that fewer tips of other
    edges touch: engines need not know of it."""
    side = box.width if direction == "LR" else box.height
    near = min(LOOP_END, side / 4)
    ends = [near, near + min(LOOP_LENGTH, side - 2 * near)]
    if direction == "LR":
        sides = [[(box.right - ends[i], box.y - room) for i, room in LOOP],
                 [(box.right - ends[i], box.bottom + room) for i, room in LOOP]]  # fmt: skip
    else:
        sides = [[(box.right + room, box.bottom - ends[i]) for i, room in LOOP],
                 [(box.x - room, box.bottom - ends[i]) for i, room in LOOP]]  # fmt: skip
    start, first, second, end = min(sides, key=lambda points: sum(math.dist(points[i], tip) < LOOP_CLEAR
                                                                  for i in (0, -1) for tip in tips))  # fmt: skip
    return Curve((start, first, second, end), start, end)


def _solve(problem: Problem, engine: str | None) -> Placement:
    if engine == "layered" or (engine is None and _is_too_large(problem)):
        return layered.solve(problem)
    try:
        return solve_with_graphviz(problem, engine)
    except GraphvizMissing as missing:
        if engine is not None:
            raise
        return replace(layered.solve(problem), hint=str(missing))


def _is_too_large(problem: Problem) -> bool:
    """Would Graphviz take long? It puts a point on every rank that an edge passes, and labels double the ranks."""
    if len(problem.sizes) > GRAPHVIZ_MOST:
        return True
    ranks = layered.ranks_of(problem)
    passed = sum(ranks[arc.head] - ranks[arc.tail] for arc in problem.arcs if not arc.free)
    return passed * (1 + any(arc.label for arc in problem.arcs)) > GRAPHVIZ_LONGEST


def _borders(frames: Sequence[Frame], boxes: Mapping[str, Box]) -> dict[str, Box]:
    """The border of each frame: round its cards, and round the frames inside it."""
    borders: dict[str, Box] = {}
    for frame in sorted(frames, key=lambda frame: len(frame.members)):
        members = set(frame.members)
        inside = [borders[other.key] for other in frames if other.key in borders and members.issuperset(other.members)]
        around = [*(boxes[key] for key in frame.members), *inside]
        left, top = min(box.x for box in around), min(box.y for box in around)
        right, bottom = max(box.right for box in around), max(box.bottom for box in around)
        width, height = max(right - left, _name_room(frame).width), bottom - top + FRAME_BOTTOM
        borders[frame.key] = Box(left - FRAME_PAD, top - FRAME_PAD, width + 2 * FRAME_PAD, height + FRAME_PAD)
    return borders


def name_patch(frame: Frame, border: Box) -> Box:
    """The place of a frame's name, at the bottom left: edges come in from above."""
    return Box(border.x + 8, border.bottom - 21, _name_room(frame).width + 8, 17)


def _is_crowded(frame: Frame, frames: Sequence[Frame], borders: Mapping[str, Box], boxes: Mapping[str, Box]) -> bool:
    """Is a card of another module, or the frame of one that is neither inside nor around, too near?"""
    members, near = set(frame.members), borders[frame.key].grown(FRAME_CLEARANCE)
    others = [box for key, box in boxes.items() if key not in members]
    others += [borders[other.key] for other in frames if other.key in borders and not members & set(other.members)]
    return any(near.touches(box) for box in others)


def _framed(placed: Placement, borders: dict[str, Box], rooms: Mapping[str, Size]) -> Placement:
    """Moves everything so that it begins at the margin, and measures the whole."""
    margin = FRAME_MARGIN if borders else MARGIN
    texts = [Box.centred(centre, rooms[key]) for key, centre in placed.labels.items()]
    taken = (*placed.boxes.values(), *borders.values(), *texts)
    xs = [x for box in taken for x in (box.x, box.right)]
    ys = [y for box in taken for y in (box.y, box.bottom)]
    for curve in placed.curves.values():
        xs += [x for x, _ in curve.points]
        ys += [y for _, y in curve.points]
    if not xs:
        return placed
    dx, dy = margin - min(xs), margin - min(ys)
    return replace(
        placed,
        boxes={key: box.moved(dx, dy) for key, box in placed.boxes.items()},
        curves={key: curve.moved(dx, dy) for key, curve in placed.curves.items()},
        labels={key: (x + dx, y + dy) for key, (x, y) in placed.labels.items()},
        frames={key: border.moved(dx, dy) for key, border in borders.items()},
        width=max(xs) + dx + margin,
        height=max(ys) + dy + margin,
    )


# --- labels -----------------------------------------------------------------------------------------------


def _on_their_lines(
    wanted: Mapping[str, Point], rooms: Mapping[str, Size], curves: Mapping[str, Curve], taken: Iterable[Box]
) -> dict[str, Point]:
    """A centre for each label. Layouts keep labels beside their edges, where they may seem to float; here each goes
    to the point of its own edge that is nearest to its `wanted` place, if there is one with room.

    Room is where it covers nothing that is `taken`, no other label and neither end of the edge; if it can be, no
    other edge either.
    """
    if not wanted:
        return {}
    placed = {key: Box.centred(centre, rooms[key]) for key, centre in wanted.items()}
    lines = {key: np.array(curve.samples()) for key, curve in curves.items()}
    points = np.concatenate([np.tile(line, 2) for line in lines.values()])  # as boxes without a size
    owners = np.repeat(np.arange(len(lines)), [len(line) for line in lines.values()])
    numbers = {key: number for number, key in enumerate(lines)}
    boxes = np.array([_sides(box) for box in (*placed.values(), *taken)])
    for row, key in [*enumerate(wanted)] * LABEL_ROUNDS:
        ends = [_sides(Box.centred(tip, ARROW)) for tip in (curves[key].tail, curves[key].head)]
        line, room = lines[key], rooms[key]
        others, foreign = np.concatenate([np.delete(boxes, row, axis=0), ends]), owners != numbers[key]
        nearest = line[np.argsort(np.hypot(*(line - wanted[key]).T), kind="stable")]
        choice = None
        for some in np.split(nearest, range(AT_ONCE, len(nearest), AT_ONCE)):
            free = some[~_covers(some, room, others)]
            clear = free[~_covers(free, room, points, foreign)] if len(free) else free
            if len(free) and (choice is None or len(clear)):
                choice = clear[0] if len(clear) else free[0]
            if len(clear):
                break
        if choice is not None:
            placed[key] = Box.centred((float(choice[0]), float(choice[1])), room)
            boxes[row] = _sides(placed[key])
    return {key: box.centre for key, box in placed.items()}


def _sides(box: Box) -> tuple[float, float, float, float]:
    return box.x, box.y, box.right, box.bottom


def _covers(centres: Array, room: Size, boxes: Array, which: Array | None = None) -> Array:
    """Which of the places for a label cover any of the boxes, given as left, top, right and bottom, or of `which`."""
    x, y, dx, dy = centres[:, :1], centres[:, 1:], room.width / 2, room.height / 2
    left, top, right, bottom = boxes.T
    near = (left < x.max() + dx) & (x.min() - dx < right) & (top < y.max() + dy) & (y.min() - dy < bottom)
    left, top, right, bottom = boxes[near if which is None else near & which].T  # few of them
    return np.any((left < x + dx) & (x - dx < right) & (top < y + dy) & (y - dy < bottom), axis=1)
