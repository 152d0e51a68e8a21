"""The graph while it is stepped through: one layout, every card in each state it will have, and when it changes.

A `View` is what the page, the notebook and the pictures of single steps share. Room for the final gradients is
kept from the start, so nothing moves while they fill in.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from autograd.drawing.cards import entries_block, gradient_block, gradient_row
from autograd.drawing.layout.arrange import arrange
from autograd.drawing.layout.geometry import Placement
from autograd.drawing.layout.measure import Size, measure, two_lines
from autograd.drawing.options import Options
from autograd.drawing.paint import painter
from autograd.drawing.reader import Reader
from autograd.drawing.scene import Block, Card, Edge, Row, Scene
from autograd.engine import Value
from autograd.formula.numbers import DIGITS, UNKNOWN, cell, norm, rough, short
from autograd.formula.writers.pieces import shown

from ..steps import BACKWARD, Contribution, Step

if TYPE_CHECKING:
    from ..stepper import Stepper


ROOMY_COLUMN = 6  # characters of a number that somebody may write into a table, such as −1.333
ROOMY_NUMBER = 7  # and of a number alone, such as −0.3799
KNOWN_EARLY = ("shape", "parameters", "out")  # facts that do not wait for the numbers


@dataclass(frozen=True)
class Face:
    """What a card shows, and where its numbers come from: the nodes whose values it shows, of a module its outputs; and
    for each of them that has a gradient the contribution it has got, or the node itself, where backprop starts."""

    since: int  # the position from which it is shown: so many steps done
    card: Card
    values: tuple[Value, ...] = ()
    gradients: tuple[Contribution | Value, ...] = ()


@dataclass
class Track:
    """One card's history: its faces, oldest first."""

    plain: Card  # without its gradient
    faces: list[Face] = field(default_factory=list)
    step: int = -1  # its backward step
    arrived: dict[Value, tuple[Any, Contribution | Value]] = field(default_factory=dict)  # the gradients so far

    @property
    def made(self) -> int:
        """The position from which its value is known."""
        return next((face.since for face in self.faces if face.values), 0)

    @property
    def reached(self) -> int:
        """The position from which it has a gradient; 0 if none ever reaches it."""
        return next((face.since for face in self.faces if face.gradients), 0)

    def add(self, face: Face) -> None:
        """A new face, in the place of one that no step showed."""
        if self.faces and self.faces[-1].since == face.since:
            self.faces.pop()
        self.faces.append(face)

    def steady(self) -> None:
        """Every face with the header of the widest, so that nothing jumps."""
        widest = max((face.card for face in self.faces), key=lambda card: measure(card).width)
        lines = 2 if two_lines(widest) else 1
        self.faces = [replace(face, card=replace(face.card, header_lines=lines)) for face in self.faces]

    def at(self, position: int) -> Face:
        """The face shown when so many steps are done."""
        return [face for face in self.faces if face.since <= position][-1]


class View:
    """A stepper's graph, laid out once."""

    def __init__(self, stepper: Stepper) -> None:
        self.stepper, self.words = stepper, stepper.words
        options = Options(collapse=stepper.is_closed, direction="TB", max_nodes=10**9, inputs=stepper.inputs,
                          parameters=stepper.parameters, title=stepper.title, stepping=True)  # fmt: skip
        reader = Reader(stepper.root, options, stepper.names)
        self.key_of: dict[Value, str] = reader.folded.key_of
        self._groups = reader.folded.groups
        scene = reader.scene()
        self.arrays = reader.edges.arrays  # by the keys of their cards
        self._bare = replace(scene, cards=tuple(map(roomy, scene.cards)))
        self.forward_count = sum(step.kind != BACKWARD for step in stepper)
        self.tracks = {card.key: Track(without_gradient(card)) for card in self._bare.cards}
        self._follow_values()
        self._follow_gradients()
        for track in self.tracks.values():
            track.steady()
        self.scene = replace(self._bare, cards=tuple(self.tracks[card.key].faces[-1].card for card in self._bare.cards))
        self.sent, self.used = self._edge_times()

    # --- what a card shows, and when ----------------------------------------------------------------------------

    def _follow_values(self) -> None:
        """Before its forward step a card has no value."""
        for node in self.stepper.walk.blurred:
            if (key := self.key_of[node]) not in self._groups:
                self.tracks[key].plain = with_value(self.tracks[key].plain, self.words.data(node))
        made = {self.key_of[step.twin]: step.index + 1 for step in self.stepper if step.kind != BACKWARD}
        shown = {key: [node] for node, key in self.key_of.items()}
        shown |= {key: group.outputs for key, group in self._groups.items()}
        for key, track in self.tracks.items():
            if key in made:
                track.add(Face(0, without_value(track.plain)))
            track.add(Face(made.get(key, 0), track.plain, tuple(shown.get(key, ()))))

    def _follow_gradients(self) -> None:
        """Each contribution gives the card that it reaches another face."""
        for step in (step for step in self.stepper if step.kind == BACKWARD):
            if step.number == 1:
                self._receive(self.stepper.root, step, step.incoming, "grad", self.stepper.root)
            self.tracks[self.key_of[step.twin]].step = step.index
            for one in step.contributions:
                so_far = f" {one.path} of {one.paths} paths" if one.path < one.paths else ""
                self._receive(one.twin, step, one.on_card, f"grad{so_far}", one)

    def _receive(self, node: Value, step: Step, gradient: Any, caption: str, source: Contribution | Value) -> None:
        key = self.key_of[node]
        track, group = self.tracks[key], self._groups.get(key)
        if group is not None and all(node is not x for x in group.outputs):
            return  # a parameter inside a folded module
        track.arrived[node] = gradient, source
        if len(track.arrived) > 1:
            gradient = np.concatenate([np.ravel(part) for part, _ in track.arrived.values()])
        card, sources = with_gradient(track.plain, gradient, caption), (source for _, source in track.arrived.values())
        track.add(Face(step.index + 1, card, track.faces[-1].values, tuple(sources)))

    # --- edges --------------------------------------------------------------------------------------------------

    def _edge_times(self) -> tuple[dict[str, int], dict[str, int]]:
        """When each edge carried a gradient back, and when its value was used; positions, 0 for never."""
        between: dict[tuple[str, str], list[Edge]] = {}
        for edge in self.scene.edges:
            between.setdefault((edge.tail, edge.head), []).append(edge)
        sent: dict[str, int] = {}
        used: dict[str, int] = {}
        for step in self.stepper:
            head = self.key_of[step.twin]
            if step.kind != BACKWARD:
                for edge in (edge for edge in self.scene.edges if edge.head == head):
                    used[edge.key] = step.index + 1
            for tail in {self.key_of[contribution.twin] for contribution in step.contributions}:
                for edge in between.get((tail, head), ()):
                    sent[edge.key] = step.index + 1
        return sent, used

    # --- one moment ---------------------------------------------------------------------------------------------

    def cards_of(self, step: Step) -> tuple[str, list[str]]:
        """The card a step is about, and those of the inputs it reads or sends to."""
        here = self.key_of[step.twin]
        if step.kind == BACKWARD:
            inputs: Iterable[str] = (self.key_of[contribution.twin] for contribution in step.contributions)
        else:
            inputs = (edge.tail for edge in self.scene.edges if edge.head == here)
        return here, [key for key in dict.fromkeys(inputs) if key != here]

    def card_states(self, position: int) -> dict[str, str]:
        """The state of every card when so many steps are done."""
        done, backward = self._done(position)
        states: dict[str, str] = {}
        for key, track in self.tracks.items():
            if (track.reached if backward else track.made) > position:
                states[key] = "todo"
            else:
                states[key] = "done" if backward else ""
        if done is not None:
            here, inputs = self.cards_of(done)
            for key in inputs:
                states[key] = "receiving" if backward else "operand"
            states[here] = "now" if backward else "forward"
        return states

    def _done(self, position: int) -> tuple[Step | None, bool]:
        """The last step done at a position, and whether it is a backward one."""
        done = self.stepper.steps[position - 1] if position else None
        return done, done is not None and done.kind == BACKWARD

    def edge_states(self, position: int) -> dict[str, str]:
        _, backward = self._done(position)
        times = self.sent if backward else self.used
        states = {}
        for edge in self.scene.edges:
            when = times.get(edge.key, 0)
            if when == position and when:
                states[edge.key] = "now" if backward else "forward"
            elif 0 < when < position:
                states[edge.key] = "done" if backward else "plain"
            else:
                states[edge.key] = "todo"
        return states

    def scene_at(self, position: int) -> Scene:
        """The picture when so many steps are done."""
        styles = self.edge_states(position)
        cards = tuple(track.at(position).card for track in self.tracks.values())
        edges = tuple(replace(edge, style=styles[edge.key]) for edge in self.scene.edges)
        return replace(self.scene, cards=cards, edges=edges)

    # --- pictures -----------------------------------------------------------------------------------------------

    @functools.cached_property
    def placement(self) -> Placement:
        faces = {key: [measure(face.card) for face in track.faces] for key, track in self.tracks.items()}
        return arrange(self.scene, {key: functools.reduce(Size.union, sizes) for key, sizes in faces.items()})

    def svg(self, position: int, prefix: str | None = None) -> str:
        """The whole graph when so many steps are done."""
        return painter.paint(self.scene_at(position), self.placement, states=self.card_states(position), prefix=prefix)

    def step_svg(self, step: Step, note: bool = True) -> str:
        """One step alone: its card, the inputs it reads or sends to, the lit edges; `note` says it in words below."""
        here, inputs = self.cards_of(step)
        kept = {here, *inputs}
        whole = self.scene_at(step.index + 1)
        lit = tuple(edge for edge in whole.edges if edge.head == here and edge.tail in kept)
        cards = tuple(card for card in whole.cards if card.key in kept)
        said = describe_step(step)
        notes = (said,) if note else ()
        part = Scene(cards, lit, title=f"{step.title}: {step.reading}", description=said, notes=notes)
        return painter.paint(part, arrange(part), states=self.card_states(step.index + 1))

    def badged_svg(self) -> str:
        """All gradients filled in, each card numbered in backward order: the picture of a page that cannot move."""
        scene = replace(
            self.scene_at(len(self.stepper)), edges=tuple(replace(edge, style="plain") for edge in self.scene.edges)
        )
        badges = [
            painter.badge(self.placement.boxes[self.key_of[step.twin]], str(step.number))
            for step in self.stepper
            if step.kind == BACKWARD
        ]
        return painter.paint(scene, self.placement, extra="".join(badges))


def describe_step(step: Step) -> str:
    """A step as one sentence for someone who cannot see it."""
    if step.kind != BACKWARD:
        return f"{step.title}. {step.reading} gives {shown(step.value)}."
    words = step.words
    parts = []
    for contribution in step.contributions:
        which = f", path {contribution.path} of {contribution.paths}" if contribution.paths > 1 else ""
        parts.append(f"{shown(contribution.value)} to {words.name(contribution.twin)}{which}")
    return f"{step.title}. {step.name} sends {' and '.join(parts) or 'nothing'}."


# --- the faces of a card ------------------------------------------------------------------------------------------


def roomy(card: Card) -> Card:
    """The card with room for other numbers in its tables."""
    blocks = tuple(replace(block, roomy=ROOMY_COLUMN) for block in card.blocks)
    rows = tuple(replace(row, roomy=ROOMY_NUMBER) if row.strong else row for row in card.rows)
    other = "parameter" if card.role == "input" else ""  # a click may make it one
    return replace(card, blocks=blocks, rows=rows, open_word=True, other_word=other)


def without_gradient(card: Card) -> Card:
    """The card before backward: the gradient's place is there, and empty."""
    rows = tuple(
        replace(row, text=UNKNOWN, kind="unknown", bad=False, bars=()) if _is_grad(row) else row for row in card.rows
    )
    blocks = tuple(Block("grad", None, "unknown") if _is_grad(block) else block for block in card.blocks)
    return replace(card, rows=rows, blocks=blocks, says_gradient=_spoken(card, "gradient none yet"))


def without_value(card: Card) -> Card:
    """The card before its forward step."""
    rows = tuple(
        row if _is_grad(row) or row.caption in KNOWN_EARLY else replace(row, text=UNKNOWN, kind="unknown")
        for row in card.rows
    )
    blocks = tuple(block if _is_grad(block) else Block("value", None, "unknown") for block in card.blocks)
    says = "not computed yet"
    return replace(card, rows=rows, blocks=blocks, bad=False, trouble="", says_value=says, says_gradient="")


def with_value(card: Card, value: Any) -> Card:
    """The card with other numbers than the node's own."""
    rows = tuple(replace(row, text=short(value)) if row.caption == "value" and row.strong else row for row in card.rows)
    filled = entries_block(value, DIGITS, "value", "value") if card.blocks else None
    blocks = tuple(
        block if filled is None or _is_grad(block) else replace(filled, roomy=ROOMY_COLUMN) for block in card.blocks
    )
    return replace(card, rows=rows, blocks=blocks)


def with_gradient(card: Card, gradient: Any, caption: str) -> Card:
    """The card with its gradient so far."""
    rows = tuple(_gradient_row(row, gradient, caption) if _is_grad(row) else row for row in card.rows)
    filled = replace(gradient_block(gradient, caption=caption), roomy=ROOMY_COLUMN) if card.blocks else None
    blocks = tuple(filled if filled is not None and _is_grad(block) else block for block in card.blocks)
    bad = card.bad or not np.all(np.isfinite(gradient))
    says = _spoken(card, f"{caption} {shown(gradient)}")
    return replace(card, rows=rows, blocks=blocks, bad=bad, says_gradient=says)


def _gradient_row(row: Row, gradient: Any, caption: str) -> Row:
    if row.strong:
        return gradient_row(cell(gradient), caption)
    size = norm(gradient)
    return Row(row.caption + caption.removeprefix("grad"), rough(size), "grad", bad=not np.isfinite(size))


def _is_grad(part: Row | Block) -> bool:
    return part.kind in ("grad", "unknown")


def _spoken(card: Card, gradient: str) -> str:
    """What a screen reader says of a gradient; nothing where the card has no place for one."""
    has_place = any(map(_is_grad, card.rows)) or any(map(_is_grad, card.blocks))
    return gradient if card.says and has_place else ""
