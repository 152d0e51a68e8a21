"""A layered layout in linear time, for graphs Graphviz is too slow for and machines that have none.

Three passes, each a plain loop: every card gets a rank (longest path, leaves pulled to their first use),
cards of a rank are ordered by the mean position of their neighbours, then pushed towards those neighbours
as far as their rank mates allow. Edges that jump ranks bend round the cards between through invisible
way-points, while there are not too many of them.
"""

from __future__ import annotations

import itertools
import operator
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from .geometry import Arc, Box, Curve, Placement, Point, Problem
from .measure import Size

RANK_GAP, CARD_GAP, WAY_GAP = 40.0, 20.0, 14.0
SWEEPS = 4
_place = operator.attrgetter("place")
WAY_POINTS_PER_CARD, WAY_POINTS = 4, 25_000  # more than this on average and in all, and long edges go straight
TIP = 9.0  # room for an arrowhead
BACK = 36.0  # beside the cards that an edge against the flow passes
LABEL_END = 18.0  # of an edge, visible on either side of its label


@dataclass(slots=True)
class _Spot:
    """A card or way-point: `breadth` across the direction of flow, `depth` along it."""

    key: str
    breadth: float
    depth: float
    rank: int = 0
    place: float = 0.0
    centre: float = 0.0
    above: list[_Spot] = field(default_factory=list)
    below: list[_Spot] = field(default_factory=list)
    gap: float = CARD_GAP


@dataclass(slots=True)
class _Block:
    """Touching spots that move as one. `starts` is a sum over them: where the block begins if that spot is where it
    should be."""

    starts: float
    count: int
    width: float
    first: int

    @property
    def edge(self) -> float:
        return self.starts / self.count


def solve(problem: Problem) -> Placement:
    """Places the boxes; `clusters` are ignored."""
    sideways = problem.direction == "LR"
    free = [arc for arc in problem.arcs if arc.free]
    problem = replace(problem, arcs=[arc for arc in problem.arcs if not arc.free])
    spots = {key: _Spot(key, *_across(size, sideways)) for key, size in problem.sizes.items()}
    for key, rank in ranks_of(problem).items():
        spots[key].rank = rank
    routes = _routes(spots, problem.arcs, sideways)
    ranks = _ranks(spots, routes)
    _order(ranks)
    _move_to_neighbours(ranks)
    tops = _tops(ranks, _gaps(spots, problem.arcs, sideways))
    boxes = {key: _box(spot, tops, sideways) for key, spot in spots.items()}
    curves, labels = {}, {}
    ports = _ports(problem.arcs, spots)
    for arc in problem.arcs:
        points = _way(arc, spots, routes.get(arc.key, []), tops, ports)
        curve = _smooth(points)
        curves[arc.key] = Curve(
            tuple(_turn(point, sideways) for point in curve),
            _turn(points[0], sideways),
            _turn((points[-1][0], points[-1][1] + TIP), sideways),
        )
        if arc.label:
            labels[arc.key] = _turn(_middle(curve), sideways)
    curves |= {arc.key: _back(boxes[arc.tail], boxes[arc.head], sideways) for arc in free}
    right = max((box.right for box in boxes.values()), default=0.0)
    bottom = max((box.bottom for box in boxes.values()), default=0.0)
    return Placement(boxes, curves, labels, width=right, height=bottom, engine="layered")


def _back(tail: Box, head: Box, sideways: bool) -> Curve:
    """Against the flow, round the side of the cards."""
    if sideways:
        tail, head = (Box(box.y, box.x, box.height, box.width) for box in (tail, head))
    start, end = (tail.right, tail.centre[1]), (head.right, head.centre[1])
    beside = max(tail.right, head.right) + BACK
    points = [start, (beside, start[1]), (beside, end[1]), (end[0] + TIP, end[1])]
    return Curve(tuple(_turn(point, sideways) for point in points), _turn(start, sideways), _turn(end, sideways))


def _across(size: Size, sideways: bool) -> tuple[float, float]:
    return (size.height, size.width) if sideways else (size.width, size.height)


def ranks_of(problem: Problem) -> dict[str, int]:
    """The rank of each box: the longest path from the leaves; then every leaf moves next to its first use."""
    incoming, outgoing = defaultdict(list), defaultdict(list)
    for arc in problem.arcs:
        if not arc.free:
            incoming[arc.head].append(arc)
            outgoing[arc.tail].append(arc)
    ranks = dict.fromkeys(problem.sizes, 0)
    waiting = {key: len(incoming[key]) for key in ranks}
    ready = [key for key, count in waiting.items() if not count]
    for key in ready:  # grows while it is read: Kahn's order
        for arc in outgoing[key]:
            ranks[arc.head] = max(ranks[arc.head], ranks[key] + arc.min_length)
            waiting[arc.head] -= 1
            if not waiting[arc.head]:
                ready.append(arc.head)
    for key in ready:
        if not incoming[key] and outgoing[key]:
            ranks[key] = min(ranks[arc.head] - arc.min_length for arc in outgoing[key])
    lowest = min(ranks.values(), default=0)
    return {key: rank - lowest for key, rank in ranks.items()}


def _routes(spots: dict[str, _Spot], arcs: Sequence[Arc], sideways: bool) -> dict[str, list[_Spot]]:
    """Way-points of the edges that jump ranks; also sets the neighbours of each spot."""
    jumps = sum(max(0, spots[arc.head].rank - spots[arc.tail].rank - 1) for arc in arcs)
    bends = jumps <= max(WAY_POINTS, WAY_POINTS_PER_CARD * len(spots))
    routes: dict[str, list[_Spot]] = {}
    for arc in arcs:
        tail, head = spots[arc.tail], spots[arc.head]
        ways = range(tail.rank + 1, head.rank) if bends else ()
        way = [_Spot(arc.key, WAY_GAP, 0.0, rank, gap=WAY_GAP / 2) for rank in ways]
        if way and arc.label:
            middle = way[len(way) // 2]
            middle.breadth, middle.depth = _across(arc.label, sideways)
        if way:
            routes[arc.key] = way
        for upper, lower in zip([tail, *way], [*way, head]):
            upper.below.append(lower)
            lower.above.append(upper)
    return routes


def _ranks(spots: dict[str, _Spot], routes: dict[str, list[_Spot]]) -> list[list[_Spot]]:
    last = max((spot.rank for spot in spots.values()), default=-1)
    ranks: list[list[_Spot]] = [[] for _ in range(last + 1)]
    for spot in spots.values():
        ranks[spot.rank].append(spot)
    for way in routes.values():
        for spot in way:
            ranks[spot.rank].append(spot)
    return ranks


def _order(ranks: list[list[_Spot]]) -> None:
    """Down and up a few times: sort each rank by the mean place of the neighbours in the rank before."""
    for rank in ranks:
        _number(rank)
    for rank, neighbours in _sweeps(ranks):
        if len(rank) > 1:
            for spot in rank:
                near = neighbours(spot)
                if near:
                    spot.place = near[0].place if len(near) == 1 else sum(one.place for one in near) / len(near)
            rank.sort(key=_place)
            _number(rank)


def _sweeps(ranks: list[list[_Spot]]) -> Iterator[tuple[list[_Spot], Callable[[_Spot], list[_Spot]]]]:
    """Each rank, down and up a few times, and how to get a spot's neighbours in the rank before it."""
    for _ in range(SWEEPS // 2):
        for rank in ranks:
            yield rank, operator.attrgetter("above")
        for rank in reversed(ranks):
            yield rank, operator.attrgetter("below")


def _number(rank: list[_Spot]) -> None:
    """Places as fractions of the rank's width, so that ranks of different length compare."""
    for index, spot in enumerate(rank):
        spot.place = (index + 0.5) / len(rank)


def _move_to_neighbours(ranks: list[list[_Spot]]) -> None:
    """Each rank starts packed about zero; then its spots move towards their neighbours, keeping order and gaps."""
    for rank in ranks:
        _line_up(rank, -sum(spot.breadth + spot.gap for spot in rank) / 2)
    for rank, neighbours in _sweeps(ranks):
        _pack(rank, [sum(other.centre for other in near) / len(near) if (near := neighbours(spot)) else spot.centre
                     for spot in rank])  # fmt: skip


def _pack(rank: list[_Spot], wanted: list[float]) -> None:
    """The least movement that keeps the order: spots that would overlap merge into one block at the mean of where they
    should be."""
    if len(rank) == 1:
        rank[0].centre = wanted[0]
        return
    blocks: list[_Block] = []
    for index, (spot, centre) in enumerate(zip(rank, wanted)):
        half = (spot.breadth + spot.gap) / 2
        blocks.append(_Block(centre - half, 1, 2 * half, index))
        while len(blocks) > 1 and blocks[-2].edge + blocks[-2].width > blocks[-1].edge:
            last = blocks.pop()
            before = blocks[-1]
            before.starts += last.starts - last.count * before.width
            before.count += last.count
            before.width += last.width
    ends = [block.first for block in blocks[1:]] + [len(rank)]
    for block, end in zip(blocks, ends):
        _line_up(rank[block.first : end], block.edge)


def _line_up(spots: Iterable[_Spot], edge: float) -> None:
    """Spots side by side, from an edge on."""
    for spot in spots:
        spot.centre = edge + (spot.breadth + spot.gap) / 2
        edge += spot.breadth + spot.gap


def _gaps(spots: dict[str, _Spot], arcs: Sequence[Arc], sideways: bool) -> dict[int, float]:
    """Per rank how far the next is away: so far that the label of an edge between the two fits, and its ends show."""
    gaps: dict[int, float] = defaultdict(lambda: RANK_GAP)
    for arc in arcs:
        if arc.label:
            rank, (_, depth) = spots[arc.tail].rank, _across(arc.label, sideways)
            if spots[arc.head].rank == rank + 1:
                gaps[rank] = max(gaps[rank], depth + 2 * LABEL_END)
    return gaps


def _tops(ranks: list[list[_Spot]], gaps: dict[int, float]) -> list[tuple[float, float]]:
    """Per rank where it begins and how deep it is."""
    tops, along = [], 0.0
    for index, rank in enumerate(ranks):
        depth = max((spot.depth for spot in rank), default=0.0)
        tops.append((along, depth))
        along += depth + gaps[index]
    return tops


def _box(spot: _Spot, tops: list[tuple[float, float]], sideways: bool) -> Box:
    start, depth = tops[spot.rank]
    along, across = start + (depth - spot.depth) / 2, spot.centre - spot.breadth / 2
    if sideways:
        return Box(along, across, spot.depth, spot.breadth)
    return Box(across, along, spot.breadth, spot.depth)


def _ports(arcs: Sequence[Arc], spots: dict[str, _Spot]) -> dict[str, float]:
    """Where along its head's edge each arc arrives: several arcs spread out, so `a * a` shows two."""
    arriving = defaultdict(list)
    for arc in arcs:
        arriving[arc.head].append(arc)
    ports = {}
    for key, group in arriving.items():
        group.sort(key=lambda arc: spots[arc.tail].centre)
        room = min(spots[key].breadth * 0.6, 26.0 * (len(group) - 1))
        for index, arc in enumerate(group):
            ports[arc.key] = room * (index / (len(group) - 1) - 0.5) if len(group) > 1 else 0.0
    return ports


def _way(
    arc: Arc,
    spots: dict[str, _Spot],
    route: list[_Spot],
    tops: list[tuple[float, float]],
    ports: dict[str, float],
) -> list[Point]:
    """(across, along) from the tail's lower edge through the way-points to just above the head."""
    tail, head = spots[arc.tail], spots[arc.head]
    shift = ports[arc.key]
    start, depth = tops[tail.rank]
    leaving = tail.centre + shift * min(1.0, tail.breadth / head.breadth) * 0.5
    points = [(leaving, start + (depth + tail.depth) / 2)]
    for spot in route:
        top, deep = tops[spot.rank]
        points += [(spot.centre, top), (spot.centre, top + deep)]
    start, depth = tops[head.rank]
    points.append((head.centre + shift, start + (depth - head.depth) / 2 - TIP))
    return points


def _smooth(points: list[Point]) -> list[Point]:
    """Cubic Béziers that leave and arrive along the flow."""
    curve = [points[0]]
    for (x0, y0), (x1, y1) in itertools.pairwise(points):
        middle = (y0 + y1) / 2
        curve += [(x0, middle), (x1, middle), (x1, y1)]
    return curve


def _middle(curve: list[Point]) -> Point:
    """Halfway along the middle segment."""
    first = 3 * ((len(curve) - 1) // 3 // 2)
    (x0, y0), (x1, y1), (x2, y2), (x3, y3) = curve[first : first + 4]
    return (x0 + 3 * x1 + 3 * x2 + x3) / 8, (y0 + 3 * y1 + 3 * y2 + y3) / 8


def _turn(point: Point, sideways: bool) -> Point:
    return (point[1], point[0]) if sideways else point
