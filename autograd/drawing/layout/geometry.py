"""The geometry that layout engines and the painter share. Pixels, y downwards."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .measure import Size

Point = tuple[float, float]
Array = np.ndarray[Any, Any]
ARROW = Size(18, 18)  # room about the end of an edge that its label leaves free
SAMPLES, COARSE = 24, 5  # steps along a Bézier to look at: for a label's place, for crossings


@dataclass(frozen=True)
class Box:
    """A placed rectangle, by its top left corner."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        return self.x + self.width

    @property
    def bottom(self) -> float:
        return self.y + self.height

    @classmethod
    def centred(cls, centre: Point, size: Size) -> Box:
        return cls(centre[0] - size.width / 2, centre[1] - size.height / 2, size.width, size.height)

    def moved(self, dx: float, dy: float) -> Box:
        return Box(self.x + dx, self.y + dy, self.width, self.height)

    def grown(self, pad: float) -> Box:
        return Box(self.x - pad, self.y - pad, self.width + 2 * pad, self.height + 2 * pad)

    @property
    def centre(self) -> Point:
        return self.x + self.width / 2, self.y + self.height / 2

    def touches(self, other: Box) -> bool:
        return self.x < other.right and other.x < self.right and self.y < other.bottom and other.y < self.bottom


@dataclass(frozen=True)
class Curve:
    """A run of cubic Béziers (1 + 3k points); `tail` and `head` are the arrow tips at either card."""

    points: tuple[Point, ...]
    tail: Point
    head: Point

    def moved(self, dx: float, dy: float) -> Curve:
        def shift(point: Point) -> Point:
            return point[0] + dx, point[1] + dy

        return Curve(tuple(map(shift, self.points)), shift(self.tail), shift(self.head))

    def samples(self, each: int = SAMPLES) -> list[Point]:
        """Points all along the curve, so many steps for each Bézier."""
        found = []
        for start in range(0, len(self.points) - 3, 3):
            (x0, y0), (x1, y1), (x2, y2), (x3, y3) = self.points[start : start + 4]
            for step in range(each + 1):
                t = step / each
                a, b, c, d = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3
                found.append((a * x0 + b * x1 + c * x2 + d * x3, a * y0 + b * y1 + c * y2 + d * y3))
        return found


def crossings(curves: Iterable[Curve]) -> int:
    """How often two different curves cross one another."""
    starts, ends, owners = [], [], []
    for owner, curve in enumerate(curves):
        points = curve.samples(COARSE)
        starts += points[:-1]
        ends += points[1:]
        owners += [owner] * (len(points) - 1)
    if not starts:
        return 0
    start, end, owner_of = np.array(starts), np.array(ends), np.array(owners)

    def side(points: Array) -> Array:
        """On which side of each segment (rows) each point (columns) lies."""
        along, away = (end - start)[:, None], points[None] - start[:, None]
        return along[..., 0] * away[..., 1] - along[..., 1] * away[..., 0]

    apart = side(start) * side(end) < 0  # the ends of one lie on either side of the other's line
    return int(np.count_nonzero(apart & apart.T & (owner_of[:, None] < owner_of)))


@dataclass(frozen=True)
class Arc:
    """An edge as a layout engine sees it. `label` is the room its text needs; a `free` one runs against the flow and
    moves no card."""

    key: str
    tail: str
    head: str
    weight: int = 1
    min_length: int = 1
    label: Size | None = None
    free: bool = False


@dataclass(frozen=True)
class Problem:
    """What an engine is asked: fixed-size boxes and arcs, in order of computation. `clusters` are cards that stand
    together, and the room for the name below them."""

    sizes: Mapping[str, Size]
    arcs: Sequence[Arc]
    direction: str = "TB"
    ranks: Sequence[Sequence[str]] = ()
    clusters: Sequence[tuple[Sequence[str], Size]] = ()
    ordered: bool = True


@dataclass(frozen=True)
class Placement:
    """An engine's answer. `hint` says what would make the picture better, "" if nothing would."""

    boxes: dict[str, Box]
    curves: dict[str, Curve]
    labels: dict[str, Point]  # centres
    frames: dict[str, Box] = field(default_factory=dict)
    width: float = 0.0
    height: float = 0.0
    engine: str = ""
    hint: str = ""
