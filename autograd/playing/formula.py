"""What a formula consists of, in postfix order: push a number, push a name, apply an op to the last few.

A reader of it keeps a stack, so no formula is too long or too deep. `parser.parse` makes a Formula from text.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

from autograd.errors import HandgradError


class FormulaError(HandgradError, ValueError):
    """A formula that cannot be read or computed: what is wrong, and the characters where, counted from 0."""

    def __init__(self, message: str, at: int, end: int | None = None) -> None:
        super().__init__(message)
        self.at, self.end = at, at + 1 if end is None else end


@dataclass(frozen=True)
class Number:
    """Push a number."""

    value: int | float
    at: int
    name: str = ""  # of a constant

    def __str__(self) -> str:
        return self.name or repr(self.value)


@dataclass(frozen=True)
class Name:
    """Push the number that a name stands for."""

    name: str
    at: int

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Text:
    """Push a text, such as the pattern of an einsum."""

    text: str
    at: int


@dataclass(frozen=True)
class Listed:
    """Take the last `count` off, push a list of them."""

    count: int
    at: int


@dataclass(frozen=True)
class Apply:
    """Take the last `count` off, push what an op makes of them. `symbol` is how it was written, if not as a call."""

    op: str
    count: int
    at: int
    symbol: str = ""
    settings: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.op


Part: TypeAlias = Number | Name | Text | Listed | Apply


@dataclass(frozen=True)
class Formula:
    """A formula that could be read: as it was typed, and in postfix order."""

    text: str
    parts: tuple[Part, ...]

    @property
    def names(self) -> list[str]:
        """The names that need a number, in the order in which they occur."""
        return list(dict.fromkeys(part.name for part in self.parts if isinstance(part, Name)))
