"""The picture of a comparison: the gradient that differs, the call it came through, and the way to L that agrees."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from autograd.drawing.cards import entries_block, norm
from autograd.drawing.drawing import Drawing, draw
from autograd.drawing.scene import Block, Card, Edge, Row, Scene
from autograd.engine import Value, reach, walk
from autograd.formula.names import Names
from autograd.formula.numbers import DIGITS, DRAWN, cell, dimensions, rough, shows_entries
from autograd.graph import topological

from .report import differing, verdict, witnesses

if TYPE_CHECKING:
    from .compare import Comparison, Difference

TICKS = 2  # agreeing cards that are shown, next to the one that differs
AGREES = "✓ agrees"


def drawing(found: Comparison) -> Drawing:
    """As a drawing, which saves itself as a picture."""
    return Drawing(scene_of(found)) if found.first is not None else whole(found)


def whole(found: Comparison) -> Drawing:
    """A model that agrees, folded, with our gradients."""
    from .compare import starting_gradients

    assert found.run is not None
    seeds = starting_gradients(found.run)
    gradients = our_gradients(seeds)
    before = {node: node.grad for node in gradients}
    try:
        for node, gradient in gradients.items():
            node.grad = gradient  # while it is drawn
        return draw(next(iter(seeds)), title=f"{found.title}: every gradient agrees")
    finally:
        for node, gradient in before.items():
            node.grad = gradient


def our_gradients(seeds: dict[Value, Any]) -> dict[Value, Any]:
    """The gradient of every node that one reaches."""
    order = sorted({node for root in seeds for node in reach(root)}, key=lambda node: node.stamp, reverse=True)
    grads: dict[Value, Any] = {v: float(g) if v.data.__class__ is float else g for v, g in seeds.items()}
    walked = dict(zip(order, walk(order, grads)))
    return {**grads, **{node: g for node, g in walked.items() if g is not None}}


def scene_of(found: Comparison) -> Scene:
    """The cards from the Value whose gradient differs down to L, as backward is read upwards."""
    first = found.first
    assert first is not None
    names = named(found)
    cards = [differing_card(found)]
    if first.way:
        cards += agreeing_cards(found, names)
    edges = [Edge(f"e{i}", upper.key, lower.key, style="done" if i else "wrong")
             for i, (upper, lower) in enumerate(itertools.pairwise(cards))]  # fmt: skip
    headline, reason = verdict(found)
    start = "L" if first.way and first.way[-1].value.size == 1 else "the results, with the same random weights"
    notes = (f"read upwards, in backward order. Both passes start from {start}.",)
    return Scene(tuple(cards), tuple(edges), title=headline, description=f"{headline}. {reason}.", notes=notes)


def named(found: Comparison) -> Names:
    """Names for all that is shown."""
    first = found.first
    assert first is not None
    end = first.way[-1].value if first.way else first.value
    return Names(list(dict.fromkeys([first.value, *topological(end)])))


def differing_card(found: Comparison) -> Card:
    """The Value, and what each library adds to its gradient, the entries that differ underlined."""
    first = found.first
    assert first is not None
    value, through = first.value, f"through {first.op}"
    word = f"{first.path}, {through}" if first.path and len(first.path) < 20 else through
    card = Card("v", role_of(value, found), first.name, "", "differs first here", mark="wrong",
                says=f"{first.name}: the first gradient that differs, {word}")  # fmt: skip
    part = window(value.shape, seen.index) if (seen := witnesses(found)) else ()
    at = index_text(part, value.shape)
    whose = f"adds to grad {at}".strip() if first.path else f"grad {at}".strip()
    ours = Row(f"{whose}, handgrad", "", "grad"), first.ours
    theirs = Row(f"{whose}, {found.library}", "", "wrong"), first.theirs
    if not value.shape:
        rows = [Row("value", cell(value.data).text, strong=True)]
        rows += [replace(row, text=cell(g).text, strong=True, bad=row.kind == "wrong") for row, g in (ours, theirs)]
        return replace(card, rows=tuple(rows))
    blocks = [entries_block(np.asarray(value.data)[part], DIGITS, f"value {at}".strip(), "value")]
    blocks += [entries_block(np.asarray(g)[part], DIGITS, row.caption, row.kind) for row, g in (ours, theirs)]
    marked = underlined(blocks[-1], differing(first.ours, first.theirs)[part])
    return replace(card, blocks=(*blocks[:-1], marked), beside=False)


def underlined(block: Block, which: Any) -> Block:
    """The table with the numbers that differ underlined."""
    assert block.table is not None
    flags = np.reshape(which, (len(block.table.rows), -1))
    rows = tuple(
        tuple(replace(one, kind="differs") if flag and one.kind != "bad" else one for one, flag in zip(row, flagged))
        for row, flagged in zip(block.table.rows, flags)
    )
    return replace(block, table=replace(block.table, rows=rows))


def agreeing_cards(found: Comparison, names: Names) -> list[Card]:
    """The call's result in full, the next ones as ticks, the rest as one pill, and the end."""
    first = found.first
    assert first is not None
    (result, gradient, compared), *rest = first.way
    cards = [full_card("n0", result, gradient, names, AGREES if compared else "", call_text(first))]
    if not rest:
        return [replace(cards[0], role="output")]
    between = [v for v, _, compared in rest[:-1] if compared and not (v.op and v.op.view and not v.name)]
    for i, v in enumerate(between[:TICKS], 1):
        cards.append(Card(f"n{i}", "result", names.own_name(v), names.expression(v), AGREES, mark="agrees"))
    more = found.agreed - len(between[:TICKS]) - 2  # the result and the end have cards too
    if more > 0 and len(between) > TICKS:
        cards.append(Card("more", "constant", "", f"{more} more, all ✓"))
    end, gradient, _ = rest[-1]
    last = full_card("end", end, gradient, names, "loss" if end.size == 1 else "result", names.expression(end))
    return [*cards, replace(last, role="output", mark="")]


def full_card(key: str, value: Value, gradient: Any, names: Names, word: str, expression: str) -> Card:
    """A Value with its numbers and the gradient that both agree on; a large one by its shape and norm."""
    card = Card(key, "result", names.own_name(value), expression, word, mark="agrees", beside=False)
    if not value.shape:
        rows = (Row("value", cell(value.data).text, strong=True), Row("grad", cell(gradient).text, "grad", strong=True))
        return replace(card, rows=rows)
    if not shows_entries(value.shape, DRAWN):
        rows = (Row("shape", dimensions(value.shape), "info"), Row("‖grad‖, both", rough(norm(gradient)), "grad"))
        return replace(card, rows=rows)
    grad = entries_block(gradient, DIGITS, "grad, both", "grad")
    return replace(card, blocks=(entries_block(value.data, DIGITS, "value", "value"), grad))


def call_text(first: Difference) -> str:
    """`RowNorm(x)`: what made the result, as one call."""
    return f"{first.op}({first.value.name or '…'})"


def role_of(value: Value, found: Comparison) -> str:
    if found.run is None or value.op is not None:
        return "result"
    return "parameter" if any(value is p for p in found.run.parameters.values()) else "input"


def window(shape: tuple[int, ...], around: tuple[int, ...]) -> tuple[Any, ...]:
    """The part of an array that is shown: all of a small one, else the neighbourhood of an entry."""
    if shows_entries(shape, DRAWN):
        return ()
    most = (1,) * len(shape[:-2]) + DRAWN[:2][-len(shape[-2:]) :]
    parts: list[Any] = []
    for size, place, room in zip(shape, around, most):
        start = max(0, min(place - room // 2, size - room))
        parts.append(place if room == 1 else slice(start, min(start + room, size)))
    return tuple(parts)


def index_text(part: tuple[Any, ...], shape: tuple[int, ...]) -> str:
    """`[1, 2:6, 0:4]`, where a part is shown; nothing where it is all."""
    if not part:
        return ""
    return f"[{', '.join(f'{p.start}:{p.stop}' if isinstance(p, slice) else str(p) for p in part)}]"
