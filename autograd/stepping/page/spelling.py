"""The numbers of a step as HTML; for a live page, which writes them itself, where it keeps them.

A line in numbers says which line of the page's program it is, a number of which block it shows the entries.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import numpy as np

from autograd.engine import Value
from autograd.formula.lines import Line
from autograd.formula.numbers import shows_entries
from autograd.formula.text import xml
from autograd.formula.writers.arithmetic import equals
from autograd.formula.writers.html import grouped, number_html
from autograd.formula.writers.pieces import Number, Piece

from ..steps import Contribution, Step
from .live import Live
from .registers import Block

LONGEST_ENTRY = 120  # characters of one entry, spelled out


class Spelling:
    """Numbers and lines as HTML; with the program of a `live` page each says where that page keeps it."""

    def __init__(self, live: Live | None) -> None:
        self.live = live

    def line(self, step: Step, line: Line) -> str:
        """A line in numbers, and its entries."""
        if self.live is None:
            return numbers_line(step, line) + entries_html(step, line)
        number, op = self.live.line(line), line.formula.op  # the page writes the numbers, and entries when asked to
        has_entries = np.ndim(line.result.value) and op is not None and not op.view
        fold = f'<details class="hg-entries" data-entries="{number}"></details>' if has_entries else ""
        return f'<div class="hg-line" data-line="{number}"></div>{fold}'

    def kept(
        self, html: str, block: Block | None, classes: str, before: Block | None = None, as_card: bool = False
    ) -> str:
        """A number of which the page knows the block; `before` is what its marked entries differ from, and `as_card`:
        it has the digits of a card, not those of the step."""
        if block is None:
            return html
        earlier = " data-card" * as_card if before is None else f' data-before="{before.number}"'
        return f'<span class="hg-slot" data-block="{block.number}" data-tint="{classes}"{earlier}></span>'

    def value(self, node: Value) -> Block | None:
        return None if self.live is None else self.live.value(node)

    def gradient(self, node: Value) -> Block | None:
        return None if self.live is None else self.live.gradients.get(node)

    def added(self, contribution: Contribution) -> tuple[Block, Block] | tuple[None, None]:
        return (None, None) if self.live is None else self.live.shown[contribution]

    def ledger(self, contribution: Contribution) -> str:
        """Which ledger of its step it is."""
        return "" if self.live is None else f' data-ledger="{self.live.ledgers(contribution.step).index(contribution)}"'

    def around(self, contribution: Contribution) -> str:
        """Where a page finds the other numbers of a contribution, to say why it is small."""
        assert self.live is not None
        node, parent = contribution.step.twin, contribution.twin
        mark = f' data-out="{self.live.value(node).number}" data-x="{self.live.value(parent).number}"'
        for name, other in contribution.others[:1]:
            block = self.live.value(other) if isinstance(other, Value) else self.live.registers.constant(other)
            mark += f' data-other="{block.number}" data-name="{xml(name)}"'
        return mark

    def guess(self, value: Any, what: str, block: Block | None = None, slips: Iterable[tuple[str, Any]] = ()) -> str:
        """A field for a learner's guess: the number itself, or the largest entry of a small table."""
        if np.size(value) == 0 or not (np.ndim(value) == 0 or shows_entries(np.shape(value))):
            return ""
        index = np.unravel_index(largest(value), np.shape(value))
        number = float(np.asarray(value)[index])
        where = "".join(f"[{i}]" for i in index)
        place = "" if block is None else f' data-at="{block.start + int(np.ravel_multi_index(index, block.shape))}"'
        wrong = [[says, float(np.asarray(x)[index])] for says, x in slips if np.shape(x) == np.shape(value)]
        place += f' data-slips="{xml(json.dumps(wrong))}"' if wrong else ""
        return (
            f'<form class="hg-guess" data-answer="{number!r}"{place}><label>Your guess: {xml(what)}{where} = '
            '<input inputmode="decimal" autocomplete="off" size="9"></label> <button>check</button> '
            "<output></output></form>"
        )


def numbers_line(step: Step, line: Line) -> str:
    """A line in numbers. It wraps before its `=` or `≈`, never after it."""
    return f'<div class="hg-line">{_equation(step.in_numbers(line), "hg-new hg-answer")}</div>'


def _equation(pieces: list[Piece], classes: str) -> str:
    """Arithmetic, the sign of equality, and the result."""
    *left, result = pieces
    assert isinstance(result, Number)
    sign, result = equals(str(left.pop()).strip() if left else "=", result)
    tint = f"hg-gr {classes}" if result.is_gradient else classes
    return f'{grouped(left)}<span class="hg-q"><span class="hg-op">{sign}</span>{number_html(result, tint)}</span>'


def entries_html(step: Step, line: Line) -> str:
    """The arithmetic of each entry, folded; the one with the largest result is shown first."""
    if not line.is_spelled:
        return ""
    value = np.asarray(line.result.value)
    first = np.unravel_index(largest(value), value.shape)
    order = sorted(np.ndindex(value.shape), key=lambda index: index != tuple(map(int, first)))
    lines = [_entry(step, line, index) for index in order]
    if not all(lines):
        return ""
    where = "".join(f"[{i}]" for i in order[0])
    rest = (
        f"<details><summary>all {len(lines)} entries</summary>{''.join(lines[1:])}</details>" if len(lines) > 1 else ""
    )
    return f'<details class="hg-entries"><summary>one entry: {where}</summary>{lines[0]}{rest}</details>'


def _entry(step: Step, line: Line, index: tuple[int, ...]) -> str:
    pieces = step.entry_in_numbers(line, index)
    if len(pieces) < 3 or sum(len(p if isinstance(p, str) else p.text) for p in pieces[:-1]) > LONGEST_ENTRY:
        return ""
    place = "".join(f"[{i}]" for i in index)
    return f'<div class="hg-line hg-arith"><i>{place}</i>{_equation(pieces, "hg-new")}</div>'


def largest(value: Any) -> int:
    """Where the largest number stands; of those equal up to rounding errors the first."""
    sizes = np.abs(np.ravel(value))
    return int(np.argmax(sizes >= np.max(sizes) * (1 - 1e-6)))
