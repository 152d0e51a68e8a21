"""A sheet as data for a page that marks itself: its lines and slips, and the words that marking.py and answers.py use.

The page computes the key from the given numbers, so no answer stands in its source. A computer can work the answers
out from the lines, and the page says so.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autograd.about import Slip
from autograd.expr import Expr

from ..marking import answers, intervals, slips
from ..marking import grading as marking
from ..parts import Blank, exact_text
from ..sheet import Worksheet


def marking_data(sheet: Worksheet) -> dict[str, Any]:
    """What assets/marking.js reads; described there."""
    inputs = [table for table in sheet.givens if table.kind == "input"]
    given = [(name, exact_text(float(x))) for t in inputs for name, x in zip(t.ids.flat, t.values.flat)]
    places = {name: place for place, name in enumerate([*(name for name, _ in given), *sheet.exprs])}
    lines = [_line(sheet, name, e, places) for name, e in sheet.exprs.items()]
    known: dict[Any, int] = {}
    parts = [
        {
            "step": step.number,
            "name": part.name,
            "shape": part.table.shape,
            "decimals": part.decimals,
            "places": [_place(blank) for blank in part.blanks],
            "blanks": [[places[blank.id], _slips(sheet, blank, places, known)] for blank in part.blanks],
        }
        for step in sheet.steps
        for part in step.parts
        if part.blanks
    ]
    for slip in slips.PEN.values():
        known.setdefault(_slip(slip), len(known))
    return {
        "digits": sheet.digits, "given": given, "lines": lines, "parts": parts, "slips": list(known), "rules": RULES,
        "called": {name: sheet.called(name) for name in sheet.by_id} if sheet.in_book else {},
        "weights": {step.number: sheet.weights[step.name] for step in sheet.steps if step.blanks},
        "rounded": [[places[name], str(x.low), str(x.high)] for name, x in sheet.rounded.items()],
    }  # fmt: skip


def _place(blank: Blank) -> int:
    """Where its number stands among those of its table, row after row."""
    return int(np.ravel_multi_index(blank.index, blank.part.table.shape)) if blank.index else 0


def _line(sheet: Worksheet, name: str, e: Expr, places: dict[str, int]) -> list[Any]:
    """Its id and formula; and the number itself where intervals cannot compute it."""
    number = [str(sheet.numbers[name].low)] if name in sheet.not_computed else []
    return [name, as_data(e, places), *number]


def _slips(sheet: Worksheet, blank: Blank, places: dict[str, int], known: dict[Any, int]) -> list[Any]:
    found = []
    for slip, formula in slips.Alternatives(sheet, blank).all():
        if all(symbol.name in places for symbol in formula.symbols()):
            number = known.setdefault(_slip(slip), len(known))
            found.append([number, as_data(formula, places)])
    return found


def _slip(slip: Slip) -> tuple[str, str, bool]:
    """Its name, what it teaches, and whether an op's block lists it: such a slip explains more than a general one."""
    return slip.name, slip.teaches, slip.rule is not None


def as_data(e: Expr, places: dict[str, int]) -> Any:
    """A formula as the place of a number, a constant as text, or [function, argument, ...]."""
    if e.op is not None:
        return [e.op.base.name, *(as_data(part, places) for part in e.args)]
    return places[e.name] if e.name else exact_text(e.value)


RULES = {
    "answers": {
        "patterns": answers.PATTERNS, "spellings": answers.SPELLINGS, "spaces": answers.SPACES,
        "about": answers.ABOUT, "problems": answers.PROBLEMS,
        "rowEnds": answers.ROW_ENDS, "longest": answers.LONGEST_NUMBER, "significant": answers.SIGNIFICANT,
        "largest": answers.LARGEST_EXPONENT,
    },
    "notes": marking.NOTES, "reasons": intervals.REASONS, "noise": str(marking.NOISE),
    "tooWide": str(marking.TOO_WIDE), "nearby": str(marking.NEARBY), "oneNumber": marking.ONE_NUMBER,
    "short": marking.SHORT, "more": marking.MORE, "vague": str(slips.TOO_WIDE), "several": slips.SEVERAL,
    "which": slips.WHICH, "copied": slips.COPIED,
    "unknown": [str(slips.UNKNOWN_SLIP), slips.UNKNOWN_SLIP.teaches],
    "digits": {key: slip.name for key, slip in slips.PEN.items()},
}  # fmt: skip
