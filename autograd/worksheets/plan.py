"""A plan: the order, the words and the names of a sheet that follows a book; its graph computes every line.

    plan = Plan("Which token follows A B?")
    plan.part("Part 1: forward pass")
    plan.step("Queries", "Each token asks a question. Its query is its row of X times WQ.")
    X, WQ = plan.given("X", [[1.0, 0.0]]), plan.given("WQ", [[0.1], [0.0]], moves=True)
    Q = plan.line("Q", X @ WQ, "X · WQ", decimals=1)
    worksheet(plan.root, plan=plan)
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from autograd.engine import Value
from autograd.formula.scalars.program import BACKWARD, FORWARD
from autograd.formula.scalars.tables import Table
from autograd.ops.indexing.join import concatenate
from autograd.ops.shape import reshape

from .parts import UPDATE

# The names that the book has for ours: a whole table, then the entries of one that are written on their own.
BOOK = {
    "scaled": "scaled_score", "attn": "weights", "ctx": "context", "logit": "logits", "P": "probs", "eta": "η",
    "dL/dWO4": "dWO", "WO4": "WO", "WO4_new": "WO_new",
}  # fmt: skip
WORD = re.compile(r"(?:∂L/∂|dL/d)?[^\W\dᵀ][^\Wᵀ]*(?![^\Wᵀ]|\()")  # but P(C) is the book's name of an entry


@dataclass
class Line:
    """One table of the sheet: the name of its Value, how it is computed, to how many decimals, which entries are asked,
    and what the book calls the table and each entry (`also`: other names of the table)."""

    name: str
    formula: str = ""
    decimals: int | None = None
    asked: set[tuple[int, ...]] | None = None
    book: str = ""
    entries: Sequence[str] = ()
    also: Sequence[str] = ()


@dataclass
class Passage:
    """A step in the book's words: under which heading it stands, what is computed and why, and its lines."""

    part: str
    phase: str
    title: str
    says: str
    taught: str
    lines: list[Line] = field(default_factory=list)


class Plan:
    """What a sheet asks, in which order, in which words. `givens` are shown in this order, `checks` at the end."""

    def __init__(self, task: str) -> None:
        self.task = task
        self.passages: list[Passage] = []
        self.givens: list[str] = []
        self.checks: list[str] = []
        self._part, self._phase = "", FORWARD
        self._values: list[Value] = []

    def given(self, name: str, data: Any, moves: bool = False) -> Value:
        """A leaf, whose numbers stand at the top of the sheet; variants change those that training moves."""
        self.givens.append(name)
        return Value(data, name=name, requires_grad=moves)

    def part(self, title: str, phase: str = FORWARD) -> None:
        """A heading. The phase is "forward", "backward" or "update": which slips are looked for."""
        assert phase in (FORWARD, BACKWARD, UPDATE)
        self._part, self._phase = title, phase

    def step(self, title: str, says: str, phase: str = "", taught: str = "") -> None:
        """What is worked out at once, and counts once; steps that teach the same idea share its weight."""
        self.passages.append(Passage(self._part, phase or self._phase, title, says, taught or title))

    def line(self, name: str, value: Value, formula: str, decimals: int | None = None, **more: Any) -> Value:
        """A table of blanks, computed by this Value; `more` are the other fields of Line."""
        value.name = name
        self._values.append(value)
        self.passages[-1].lines.append(Line(name, formula, decimals, **more))
        return value

    @property
    def root(self) -> Value:
        """One Value that every line is behind."""
        found: Value = concatenate([reshape(value, (-1,)) for value in self._values])
        found.name = "every line"
        return found

    @property
    def names(self) -> dict[str, str]:
        """What the book calls each table, without places: `context1` for `ctx1`."""
        pairs = ((line.name, line.book) for line in self.lines if line.book)
        return {ours.partition("[")[0]: theirs.partition("[")[0] for ours, theirs in pairs}

    @property
    def lines(self) -> Iterable[Line]:
        return (line for passage in self.passages for line in passage.lines)


def in_book(text: str, more: Mapping[str, str] | None = None) -> str:
    """A formula in the book's names, and in those of a plan.

    >>> in_book("scaled[1] · ctx"), in_book("∂L/∂logit · WO4ᵀ"), in_book("−log P(C)")
    ('scaled_score[1] · context', '∂L/∂logit · WOᵀ', '−log P(C)')
    """
    names = BOOK | dict(more or {})
    return WORD.sub(lambda found: names.get(found[0].replace("∂L/∂", "dL/d"), found[0]), text)


def plain(name: str) -> str:
    """A name as it may be typed: p0 for p₀, no spaces."""
    return re.sub(r"\s", "", unicodedata.normalize("NFKC", name))


def book_names(table: Table, line: Line | None) -> tuple[list[str], list[list[str]]]:
    """What the book calls a table, and each of its entries: the name that is printed, then others that are read."""
    if line is None:
        return [in_book(table.name)], [[in_book(name)] for name in table.ids.flat]
    stems = [line.book or in_book(table.name), *line.also]
    entries = [[name.replace(table.name, stem, 1) for stem in stems] for name in table.ids.flat]
    for names, own in zip(entries, line.entries, strict=False):
        names.insert(0, own)
    return stems, entries
