"""The geometry that layout engines and the painter share. Pixels, y downwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from autograd.show.cards import Size

Point = tuple[float, float]


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

    def moved(self, dx: float, dy: float) -> Box:
        return Box(self.x + dx, self.y + dy, self.width, self.height)

    def grown(self, pad: float) -> Box:
        return Box(self.x - pad, self.y - pad, self.width + 2 * pad, self.height + 2 * pad)

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


@dataclass(frozen=True)
class Link:
    """An edge as a layout engine sees it. `label` is the room its text needs."""

    key: str
    tail: str
    head: str
    weight: int = 1
    min_length: int = 1
    label: Size | None = None


@dataclass(frozen=True)
class Problem:
    """What an engine is asked: fixed-size boxes and links, in order of computation."""

    sizes: Mapping[str, Size]
    links: Sequence[Link]
    direction: str = "TB"
    ranks: Sequence[Sequence[str]] = ()
    clusters: Sequence[Sequence[str]] = ()
    ordered: bool = True


@dataclass(frozen=True)
class Placement:
    """An engine's answer. `hint` says what would make the picture better, "" if nothing would."""

    boxes: dict[str, Box]
    curves: dict[str, Curve]
    labels: dict[str, Point]  # centres
    scopes: dict[str, Box] = field(default_factory=dict)
    width: float = 0.0
    height: float = 0.0
    engine: str = ""
    hint: str = ""
