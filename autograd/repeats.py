"""What repeats in a graph: steps of a loop, samples of a batch, neurons of a layer, blocks of a model.

    found = Structure(nodes)          # nodes oldest first, as `topological` gives them
    found.repeats                     # every Repeat, outer before inner: 50 steps of a loop, each of them 5 ops
    fold = found.folded()             # each node stands for those at its place in the other pieces
    fold.representative[node], fold.members[node], fold.runs

Nothing is declared: pieces are the same ops with the same settings and shapes, hung together in the same way, and they
follow one another in the order in which they were made. Each fold is checked operand by operand before it counts, so
that the pieces of a Repeat are isomorphic. Module calls are sections: a piece lies in one, or is made of whole ones.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .engine import Value
from .modes import Scope
from .op import shape_of

LEAST_SAVED = 4  # nodes that a repeat must spare
NEXT = 6  # occurrences of the same items that are looked at for a period
ROTATIONS = 6  # places where a piece may begin that are tried, those that carry the fewest values first
PERIODS = 48  # that are tried at once, the most frequent first
MAY_VARY = frozenset(("add", "sub", "mul", "div", "dot"))  # ops whose plain number may differ from piece to piece

Item = "Value | Section | Repeat"
Label = Callable[[Value], str]


@dataclass(eq=False)
class Section:
    """The nodes made in one call of a module (not in calls inside it: those are items)."""

    scope: Scope
    items: list[Any]
    code: int = 0


@dataclass(eq=False)
class Repeat:
    """Pieces that are the same, in order. `rows` are their nodes: `rows[r][p]` is at place `p` of piece `r`.

    `carried` are the places whose value a later piece reads; without any the pieces stand side by side.
    """

    pieces: list[list[Any]]
    rows: list[list[Value]]
    carried: list[int]
    code: int = 0

    @property
    def in_a_row(self) -> bool:
        return bool(self.carried)

    @property
    def call(self) -> Scope | None:
        """The module call that the first piece is, if it is one."""
        first, *others = self.pieces[0]
        return first.scope if isinstance(first, Section) and not others else None

    def __len__(self) -> int:
        return len(self.pieces)


@dataclass
class Fold:
    """A graph with repeats folded. `representative` gives for each node the one that stands for it (itself, if no
    other does), `members` for each of these all that it stands for, in order; `runs` the folded repeats, outer first,
    each by its first piece."""

    representative: dict[Value, Value]
    members: dict[Value, list[Value]] = field(default_factory=dict)
    runs: list[Repeat] = field(default_factory=list)


class Structure:
    """The repeats of a graph whose `nodes` are given oldest first. `label` tells nodes apart that must not fold
    together: by default their names without the numbers, where both have one."""

    def __init__(self, nodes: Sequence[Value], label: Label | None = None) -> None:
        self.nodes = nodes
        self._label = label or (lambda node: pattern(node.name or ""))
        self._codes: dict[Any, int] = {}
        self._code_of: dict[Value, int] = {}
        self._users: dict[Value, list[Value]] = defaultdict(list)
        for node in nodes:
            for x in node.inputs:
                if isinstance(x, Value):
                    self._users[x].append(node)
        self.items = self._section([node for node in nodes if node.op is not None], 0)

    @property
    def repeats(self) -> list[Repeat]:
        """Every repeat, outer ones before those in their first pieces."""
        return list(_repeats(self.items))

    def every_repeat(self) -> Iterator[Repeat]:
        """Every repeat in every piece."""
        return _repeats(self.items, every=True)

    def folded(self, chosen: Callable[[Repeat], bool] = lambda repeat: True) -> Fold:
        """The graph with the chosen repeats folded."""
        fold = Fold({node: node for node in self.nodes})
        self._fold(self.items, chosen, fold)
        for node in self.nodes:
            fold.representative[node] = fold.representative[fold.representative[node]]
        self._join_leaves(fold)
        used = dict.fromkeys(x for node in self.nodes for x in node.inputs if isinstance(x, Value) and x.op is None)
        for node in dict.fromkeys([*used, *self.nodes]):  # leaves in the order of their first uses
            fold.members.setdefault(fold.representative[node], []).append(node)
        return fold

    def _fold(self, items: Iterable[Any], chosen: Callable[[Repeat], bool], fold: Fold) -> None:
        for item in items:
            if isinstance(item, Section):
                self._fold(item.items, chosen, fold)
            elif isinstance(item, Repeat) and not chosen(item):
                for piece in item.pieces:
                    self._fold(piece, chosen, fold)
            elif isinstance(item, Repeat):
                fold.runs.append(item)
                self._fold(item.pieces[0], chosen, fold)
                first = [fold.representative[node] for node in item.rows[0]]
                for row in item.rows[1:]:
                    fold.representative.update(zip(row, first))

    def _join_leaves(self, fold: Fold) -> None:
        """Leaves that fill the same place in several pieces become one: the first of them."""
        standing = fold.representative
        rows = {node: len(run) for run in fold.runs for node in run.rows[0]}  # of the innermost run
        members: dict[Value, list[Value]] = defaultdict(list)
        for node in self.nodes:
            members[standing[node]].append(node)
        for first, alike in members.items():
            period = rows.get(first, 1)
            for column in zip(*(node.inputs for node in alike)):
                starts = any(isinstance(x, Value) and x.op is not None for x in column[:period])
                places: dict[int, Value] = {}  # two values that a recurrence starts from are two
                for row, x in enumerate(column):
                    if isinstance(x, Value) and x.op is None:
                        one = _root(standing, places.setdefault(row % period if starts else 0, x))
                        other = _root(standing, x)
                        if one is not other:
                            standing[other] = one
        for node in self.nodes:
            if node.op is None:
                standing[node] = _root(standing, node)

    # --- sections and items -----------------------------------------------------------------------------------

    def _section(self, nodes: list[Value], depth: int) -> list[Any]:
        """The items of one call: its own nodes, calls inside it, and what repeats among these."""
        items: list[Any] = []
        for scope, run in itertools.groupby(nodes, key=lambda node: _scope_at(node, depth)):
            members = list(run)
            if scope is None:
                items += members
            else:
                inner = self._section(members, depth + 1)
                name = pattern(scope.name), scope.kind
                items.append(Section(scope, inner, self._number("section", name, *map(self._code, inner))))
        for least in (3, 2):
            items = self._fold_all(items, least)
        return items

    def _number(self, *what: Any) -> int:
        """Equal things have equal numbers."""
        return self._codes.setdefault(what, len(self._codes))

    def _code(self, item: Any) -> int:
        """What an item must share with another to be the same: op, settings, shape; not what it reads."""
        if not isinstance(item, Value):
            return int(item.code)
        known = self._code_of.get(item)
        if known is None:
            op = item.op
            assert op is not None
            settings = tuple((name, repr(x)) for name, x in op.settings.items() if name != "index")
            known = self._code_of[item] = self._number(op.name, settings, shape_of(item.data), len(item.inputs))
        return known

    # --- repeats in a list of items -----------------------------------------------------------------------------

    def _fold_all(self, items: list[Any], least: int) -> list[Any]:
        """The items with whatever follows itself folded, short periods first; `least` pieces at least."""
        refused: set[tuple[int, int, int]] = set()  # first item, items, pieces
        while True:
            codes = np.array([self._code(item) for item in items], dtype=np.int64)
            for candidates in _candidates(codes, least):
                taken: list[tuple[int, int, Repeat]] = []
                end = 0
                for start, period, stop in candidates:
                    if (start := max(start, end)) + least * period > stop:
                        continue
                    found = self._repeat_in(items, start, period, stop, least, refused)
                    if found is not None:
                        taken.append(found)
                        end = found[1]
                if taken:
                    items = _replaced(items, taken)
                    break
            else:
                return items

    def _repeat_in(
        self, items: list[Any], start: int, period: int, stop: int, least: int, refused: set[tuple[int, int, int]]
    ) -> tuple[int, int, Repeat] | None:
        """The repeat in items[start:stop], all alike from period to period: where it begins, ends, and what it is."""
        if (place := (id(items[start]), period, stop - start)) in refused:
            return None
        refused.add(place)
        for cut in self._cuts(items, start, period, stop):
            for first in (cut, cut + period, cut + 2 * period):  # an accident may precede the true first piece
                count = (stop - first) // period
                if count < least:
                    continue
                pieces = [items[at : at + period] for at in range(first, first + count * period, period)]
                rows = [list(_flat(piece)) for piece in pieces]
                longest = self._isomorphic(rows)
                if longest is not None and longest[0] >= least and (longest[0] - 1) * len(rows[0]) >= LEAST_SAVED:
                    count, carried = longest
                    code = self._number("repeat", count, *map(self._code, pieces[0]))
                    return first, first + count * period, Repeat(pieces[:count], rows[:count], carried, code)
        return None

    def _cuts(self, items: list[Any], start: int, period: int, stop: int) -> list[int]:
        """Where the first piece may begin, places first that the fewest values cross."""
        where = {node: at for at in range(start, stop) for node in _flat([items[at]])}
        crossed = [0] * period
        for node, at in where.items():
            last = max((where[user] for user in self._users[node] if user in where), default=at)
            if last > at:
                for between in range(at + 1, min(last, at + period) + 1):
                    crossed[(between - start) % period] += 1
        slack = (stop - start) % period
        order = sorted(range(period), key=lambda r: (r > slack and (stop - start) // period < 3, crossed[r], r))
        return [start + r for r in order[:ROTATIONS]]

    def _isomorphic(self, rows: list[list[Value]]) -> tuple[int, list[int]] | None:
        """How many of these pieces, from the first on, hang together in the same way, and the places they carry.

        Each operand is at a place of the same piece, at one of a piece so many before, or from outside. Only the first
        pieces may read from outside what later ones carry; a distance of over 1 must be seen twice.
        """
        at = {node: (r, p) for r, row in enumerate(rows) for p, node in enumerate(row)}
        count, found = len(rows), []
        for column in zip(*rows):
            for index in range(len(column[0].inputs)):
                reads = [self._read(node, node.inputs[index], r, at) for r, node in enumerate(column)]
                same = _agreeing(reads)
                if same < 2:
                    return None
                count = min(count, same)
                found += [(r, read[2]) for r, read in enumerate(reads) if read[0] == "piece" and read[1]][:1]
            count = min(count, _same_label([self._label(node) for node in column]))
            if count < 2:
                return None
        carried = sorted({place for first, place in found if first < count})
        if count == 2 and carried not in ([], [len(rows[0]) - 1]):
            return None  # once is no chain: a tree reads so, too
        return count, carried

    def _read(self, node: Value, x: Any, r: int, at: dict[Value, tuple[int, int]]) -> tuple[Any, ...]:
        """Where an operand comes from, seen from piece `r`."""
        if not isinstance(x, Value):
            number = None if (node.op is not None and node.op.name in MAY_VARY) or np.ndim(x) else repr(x)
            return "plain", shape_of(x), number
        if x in at:
            return "piece", r - at[x][0], at[x][1]
        if x.op is not None:
            return "outside", shape_of(x.data)
        return "leaf", shape_of(x.data), x.requires_grad, type(x), self._label(x)


# --- helpers ----------------------------------------------------------------------------------------------------


def pattern(name: str) -> str:
    """A name without its numbers: `h` for h1 and h2, `blocks..weight` for `blocks.0.weight`."""
    return re.sub(r"[#\d]+", "", name)


def _agreeing(reads: list[tuple[Any, ...]]) -> int:
    """How many rows from the first on read one operand in the same way."""
    start = next((r for r, read in enumerate(reads) if read[0] == "piece" and read[1] > 0), len(reads))
    if start < len(reads) and reads[start][1] == start:  # the first that can read so far back
        end = next((r for r in range(start, len(reads)) if reads[r] != reads[start]), len(reads))
        if (start == 1 or end - start >= 2) and all(read[0] != "piece" for read in reads[:start]):
            return end
    return next((r for r, read in enumerate(reads[:start]) if not _alike(read, reads[0])), start)


def _alike(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Equal, or two leaves of which one has no name."""
    if one == other:
        return True
    return one[0] == other[0] == "leaf" and one[:-1] == other[:-1] and not (one[-1] and other[-1])


def _same_label(labels: list[str]) -> int:
    """How many from the first on have the same label, or none."""
    first = ""
    for r, label in enumerate(labels):
        if label and first and label != first:
            return r
        first = first or label
    return len(labels)


def _candidates(codes: Any, least: int) -> Iterator[list[tuple[int, int, int]]]:
    """Runs of items that equal those one period later, as (start, period, stop), by growing period.

    Prefix doubling: items, pairs, fours ... of them are numbered, and a period is how far the next equal number is.
    """
    size, ranks = 1, codes
    while len(ranks) > 1 and size * least <= len(codes):
        order = np.argsort(ranks, kind="stable")
        found: Counter[int] = Counter()
        for ahead in range(1, NEXT + 1):
            if ahead >= len(order):
                break
            apart = order[ahead:] - order[:-ahead]
            near = (ranks[order[ahead:]] == ranks[order[:-ahead]]) & (apart >= size) & (apart < 2 * size)
            found.update(apart[near].tolist())
        runs = [run for period, _ in found.most_common(PERIODS) for run in _runs(codes, period, least)]
        if runs:
            yield sorted(runs, key=lambda run: (run[1], run[0])) if size > 1 else sorted(runs)
        joined = ranks[:-size] * (int(ranks.max()) + 1) + ranks[size:]
        ranks = np.unique(joined, return_inverse=True)[1]
        size *= 2


def _runs(codes: Any, period: int, least: int) -> list[tuple[int, int, int]]:
    """Where items equal those one period later for long enough."""
    equal = np.concatenate([[False], codes[:-period] == codes[period:], [False]])
    starts = np.flatnonzero(equal[1:] & ~equal[:-1])
    ends = np.flatnonzero(~equal[1:] & equal[:-1])
    long = ends - starts >= (least - 1) * period
    return [(int(start), period, int(end) + period) for start, end in zip(starts[long], ends[long])]


def _replaced(items: list[Any], taken: list[tuple[int, int, Repeat]]) -> list[Any]:
    """The items with each stretch replaced by its repeat."""
    left: list[Any] = []
    at = 0
    for start, end, repeat in taken:
        left += [*items[at:start], repeat]
        at = end
    return left + items[at:]


def _flat(items: Iterable[Any]) -> Iterator[Value]:
    """All nodes of some items, in order."""
    for item in items:
        if isinstance(item, Value):
            yield item
        elif isinstance(item, Section):
            yield from _flat(item.items)
        else:
            for row in item.rows:
                yield from row


def _repeats(items: Iterable[Any], every: bool = False) -> Iterator[Repeat]:
    for item in items:
        if isinstance(item, Repeat):
            yield item
            for piece in item.pieces if every else item.pieces[:1]:
                yield from _repeats(piece, every)
        elif isinstance(item, Section):
            yield from _repeats(item.items, every)


def _scope_at(node: Value, depth: int) -> Scope | None:
    """The call around a node at a depth, counted from outside."""
    if node.scope is None:
        return None
    chain = list(node.scope.chain())
    return chain[-1 - depth] if depth < len(chain) else None


def _root(standing: dict[Value, Value], x: Value) -> Value:
    while standing[x] is not x:
        x = standing[x]
    return x
