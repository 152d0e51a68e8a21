"""A block in which new nodes know the module and the line of the user's that made them."""

from __future__ import annotations

from ..recording import Block, Modes, Note, Scope
from .places import Place


class Noted(Block):
    """What is computed inside is recorded, also within `no_grad`, with this scope and line."""

    def __init__(self, scope: Scope | None, place: Place | None) -> None:
        super().__init__(recording=True)
        self.note = Note(None, scope, None if place is None else f"{place}: {place.text}")

    def inside(self, around: Modes) -> Modes:
        """The modes in force inside."""
        switches = super().inside(around).switches
        return Modes(around, self, self.note, switches)
