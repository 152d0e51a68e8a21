"""`draw_diff`: two runs of the same graph, before and after an update or mine against the reference."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from autograd.drawing.cards import entries_block
from autograd.drawing.drawing import Drawing
from autograd.drawing.options import Options
from autograd.drawing.reader import Reader
from autograd.drawing.scene import Card, Row, Scene
from autograd.formula.numbers import UNKNOWN, cell, count, norm, rough, shows_entries
from autograd.graph import topological
from autograd.quiet import allclose
from autograd.value import Value

ARROW = " → "


@dataclass(frozen=True)
class Change:
    """How one node differs between the runs: in value, in gradient. `size` is the norm of the change in value."""

    before: Value
    after: Value
    value: bool
    grad: bool
    size: float

    @property
    def any(self) -> bool:
        return self.value or self.grad


def draw_diff(before: Value, after: Value, *, rtol: float = 1e-9, atol: float = 0.0, **options: Any) -> Drawing:
    """A drawing of `after` in which every card that differs from `before` is marked, the first one named.

    The runs must be of the same graph: nodes are matched by how they were made and, where that is not enough, by
    name and order. Numbers are equal when |a − b| ≤ atol + rtol·|b|. Takes the options of `draw`; the drawing's
    `.first` is the first node of `after` that differs (None if none does), `.changes` lists all that do.

    >>> def run(w):
    ...     x, w = Value(2.0, name="x"), Value(w, name="w")
    ...     return x * w
    >>> drawing = draw_diff(run(3.0), run(3.5))
    >>> drawing.first.name, len(drawing.changes)
    ('w', 2)
    """
    for run in (before, after):
        if not isinstance(run, Value):
            raise TypeError(
                f"draw_diff: expected two Values; got {run!r:.60} ({type(run).__name__}). Write "
                "draw_diff(before, after) with the results of two runs"
            )
    pairs, unmatched = match(topological(before), topological(after))
    changes = {pair.after: pair for pair in (_compare(a, b, rtol, atol) for b, a in pairs.items()) if pair.any}
    reader = Reader(after, Options(**options))
    first = _first(reader.nodes, changes, unmatched)
    scene = reader.scene()
    cards = [_marked(card, reader, changes, unmatched, first) for card in scene.cards]
    notes = (*scene.notes, _summary(reader, changes, unmatched, first, len(scene.cards)))
    shown = replace(scene, cards=tuple(cards), notes=notes, title=f"what changed: {scene.title}")
    return DiffDrawing(shown, first, list(changes.values()))


class DiffDrawing(Drawing):
    """A drawing of differences."""

    def __init__(self, scene: Scene, first: Value | None, changes: list[Change]) -> None:
        super().__init__(scene)
        self.first, self.changes = first, changes


def match(before: list[Value], after: list[Value]) -> tuple[dict[Value, Value], set[Value]]:
    """For each node of `after` its twin in `before`, and the nodes that have none."""
    waiting: dict[Any, list[Value]] = defaultdict(list)
    for key, node in _signatures(before):
        waiting[key].append(node)
    pairs: dict[Value, Value] = {}
    unmatched: set[Value] = set()
    for key, node in _signatures(after):
        if waiting[key]:
            pairs[node] = waiting[key].pop(0)
        else:
            unmatched.add(node)
    return pairs, unmatched


def _signatures(nodes: list[Value]) -> Iterator[tuple[int, Value]]:
    """How each node was made, as a number: its op and settings, and the same of its inputs.

    A leaf is known by its name and shape, an unnamed one by its place among the leaves.
    """
    known: dict[Value, int] = {}
    place = itertools.count()
    for node in nodes:
        if node.op is None:
            known[node] = hash(("leaf", node.name or next(place), node.shape))
        else:
            inputs = tuple(known[x] if isinstance(x, Value) else repr(np.shape(x)) for x in node.inputs)
            known[node] = hash((node.op.name, repr(sorted(node.op.settings.items(), key=str)), inputs))
        yield known[node], node


def _compare(before: Value, after: Value, rtol: float, atol: float) -> Change:
    value = not _same(before.data, after.data, rtol, atol)
    grad = not _same(before.grad, after.grad, rtol, atol)
    return Change(before, after, value, grad, _distance(before.data, after.data) if value else 0.0)


def _same(a: Any, b: Any, rtol: float, atol: float) -> bool:
    if a is None or b is None:
        return a is b
    return np.shape(a) == np.shape(b) and bool(allclose(a, b, rtol=rtol, atol=atol, equal_nan=True))


def _distance(a: Any, b: Any) -> float:
    return norm(np.subtract(b, a)) if np.shape(a) == np.shape(b) else float("inf")


def _first(nodes: list[Value], changes: dict[Value, Change], unmatched: set[Value]) -> Value | None:
    """Values differ forwards, so the first in order of computation; if only gradients do, the first backwards."""
    forward = (node for node in nodes if node in unmatched or (node in changes and changes[node].value))
    return next(forward, next((node for node in reversed(nodes) if node in changes), None))


def _marked(
    card: Card, reader: Reader, changes: dict[Value, Change], unmatched: set[Value], first: Value | None
) -> Card:
    """The card with what it was before, if it differs."""
    inside = [node for node in reader.nodes if reader.folded.key_of[node] == card.key]
    if not any(node in changes or node in unmatched for node in inside):
        return card
    mark = "first" if first in inside else "changed"
    if all(node in unmatched for node in inside):
        return replace(card, mark="only", word="only here")
    forward = any(node in unmatched or (node in changes and changes[node].value) for node in inside)
    word = "first change" if mark == "first" else "changed" if forward else "grad changed"
    change = changes.get(inside[0]) if len(inside) == 1 else None
    if change is None or card.is_pill:
        return replace(card, mark=mark, word=word)
    return replace(_before_and_after(card, change, reader.options), mark=mark, word=word)


def _before_and_after(card: Card, change: Change, options: Options) -> Card:
    before, after = change.before, change.after
    if not np.ndim(after.data):
        rows = [_scalar_row("value", before.data, after.data, change.value, options.digits, "value")]
        if after.grad is not None or before.grad is not None:
            rows.append(_scalar_row("grad", before.grad, after.grad, change.grad, options.digits, "grad"))
        return replace(card, rows=tuple(rows))
    if shows_entries(after.shape) and before.shape == after.shape and options.detail == "full":
        values = [("before", before.data), ("now", after.data)] if change.value else [("value", after.data)]
        blocks = [entries_block(data, options.digits, caption, "value") for caption, data in values]
        gradients = () if change.value else (("grad before", before), ("grad now", after))
        blocks += [
            entries_block(node.grad, options.digits, caption, "grad")
            for caption, node in gradients
            if node.grad is not None
        ]
        return replace(card, rows=(), blocks=tuple(blocks))
    return replace(card, rows=(*card.rows, Row("‖change‖", rough(change.size), "info")))


def _scalar_row(caption: str, before: Any, after: Any, changed: bool, digits: int, kind: str) -> Row:
    """`1.384 → 1.392`, with as many more digits as it takes to see the difference."""
    texts: list[str] = []
    for more in range(digits, 18):
        texts = [UNKNOWN if number is None else cell(number, more).text for number in (before, after)]
        if not changed or len({text.rstrip("0").rstrip(".") for text in texts}) > 1:
            break
    return Row(caption, ARROW.join(texts) if changed else texts[1], kind, strong=True)


def _summary(
    reader: Reader, changes: dict[Value, Change], unmatched: set[Value], first: Value | None, cards: int
) -> str:
    if first is None:
        return f"no difference: all {count(len(reader.nodes))} nodes agree"
    what = " = ".join(part for part in (reader.names.own_name(first), reader.names.expression(first)) if part)
    text = f"first difference: {what}; {count(len(changes))} of {count(len(reader.nodes))} nodes differ"
    return text + (f", {count(len(unmatched))} exist only here" if unmatched else "")
