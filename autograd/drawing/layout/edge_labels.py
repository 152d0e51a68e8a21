"""Where the labels of edges go: each onto its own line, clear of cards, of names and of one another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from autograd.drawing.layout.geometry import Array, Box, Curve, Point
from autograd.drawing.scene import Size

ARROW = Size(18, 18)  # room about the end of an edge that its label leaves free
ROUNDS = 2  # a label that stood in another's way may have moved by the second


def on_their_lines(
    wishes: Mapping[str, Point], rooms: Mapping[str, Size], curves: Mapping[str, Curve], taken: Iterable[Box]
) -> dict[str, Point]:
    """A centre for each label. Layouts keep labels beside their edges, where they may seem to float; here each goes
    to the point of its own edge that is nearest to its `wish`, if there is one with room.

    Room is where it covers nothing that is `taken`, no other label and neither end of the edge; if it can be, no
    other edge either.
    """
    if not wishes:
        return {}
    placed = {key: Box.about(centre, rooms[key]) for key, centre in wishes.items()}
    lines = {key: np.array(curve.samples()) for key, curve in curves.items()}
    points = np.concatenate(list(lines.values()))
    owners = np.repeat(np.arange(len(lines)), [len(line) for line in lines.values()])
    numbers = {key: number for number, key in enumerate(lines)}
    fixed = list(taken)
    for key in [*wishes] * ROUNDS:
        ends = [Box.about(tip, ARROW) for tip in (curves[key].tail, curves[key].head)]
        boxes = [*fixed, *ends, *(box for other, box in placed.items() if other != key)]
        line, room = lines[key], rooms[key]
        free = line[~_covers(line, room, _edges_of(boxes))]
        if len(free):
            elsewhere = points[owners != numbers[key]]
            clear = free[~_covers(free, room, np.concatenate([elsewhere, elsewhere], axis=1))]
            choice = clear if len(clear) else free
            x, y = choice[np.argmin(np.hypot(*(choice - wishes[key]).T))]
            placed[key] = Box.about((float(x), float(y)), room)
    return {key: box.centre for key, box in placed.items()}


def _edges_of(boxes: Iterable[Box]) -> Array:
    return np.array([(box.x, box.y, box.right, box.bottom) for box in boxes])


def _covers(centres: Array, room: Size, boxes: Array) -> Array:
    """Which of the places for a label cover any of the boxes, given as left, top, right and bottom."""
    x, y = centres[:, :1], centres[:, 1:]
    left, top, right, bottom = boxes.T
    beside = (x + room.width / 2 <= left) | (right <= x - room.width / 2)
    apart = (y + room.height / 2 <= top) | (bottom <= y - room.height / 2)
    return ~np.all(beside | apart, axis=1)
