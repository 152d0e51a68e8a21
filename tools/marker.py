"""How much the marker of worksheets sees: `python -m tools.marker` prints the table of docs/worksheets.md.

A simulated pupil writes four digits everywhere, on the sheets of all seven examples. Then one blank at a time is moved
by some units of its last place: how often is it called wrong? The tests of the marker use the same pupils.
"""

from __future__ import annotations

import decimal
import functools
from collections.abc import Callable, Mapping
from decimal import ROUND_HALF_EVEN, Decimal

from autograd.worksheets import Worksheet, worksheet
from autograd.worksheets.marking.answers import as_answer, read
from autograd.worksheets.marking.grading import WRONG, _Marker
from autograd.worksheets.marking.intervals import CONTEXT, CannotJudge, Interval, evaluate
from autograd.worksheets.parts import Blank
from examples import EXAMPLES

UNITS = (2, 5, 10, 100)
DIGITS = 4


@functools.cache
def sheet_of(name: str, digits: int = DIGITS) -> Worksheet:
    """The sheet of an example."""
    root = next(example for example in EXAMPLES if example.name == name).module.graph()
    return worksheet(root, backward=root.size == 1, digits=digits)


def written(x: Decimal, digits: int, rounding: str = ROUND_HALF_EVEN) -> str:
    """A number as a pupil writes it: so many significant digits."""
    if not x:
        return "0"
    unit = Decimal(1).scaleb(x.adjusted() - digits + 1)
    return str(x.quantize(unit, rounding=rounding))


def worked(sheet: Worksheet, keep: Callable[[int, Blank, Decimal], Decimal]) -> list[tuple[int, Blank, Decimal]]:
    """What one gets who works line by line, and of each number goes on with what `keep` makes of it."""
    own, found = dict(sheet.numbers), []
    for i, blank in enumerate(sheet.blanks):
        try:
            exact = evaluate(blank.expr, own, lambda x: Interval.exactly(repr(+x)))
        except CannotJudge:
            continue
        x = Decimal(0) if exact.low <= 0 <= exact.high else exact.middle
        own[blank.id] = Interval.exactly(keep(i, blank, x))
        found.append((i, blank, x))
    return found


@functools.cache
def unrounded(sheet: Worksheet) -> list[tuple[int, Blank, Decimal]]:
    """The numbers of one who rounds nothing on the way."""
    return worked(sheet, lambda i, blank, x: x)


def pupil(
    sheet: Worksheet, write: Callable[[int, Decimal], str], keeps_full_precision: bool = False,
    wrong: Mapping[str, Decimal] | None = None,
) -> dict[str, str]:  # fmt: skip
    """Answers of one who goes on with the numbers as written, or with all their digits; `wrong` are numbers put in
    place of the right ones."""
    if keeps_full_precision and not wrong:
        return {blank.id: write(i, x) for i, blank, x in unrounded(sheet)}
    found = {}

    def keep(i: int, blank: Blank, x: Decimal) -> Decimal:
        slip = wrong.get(blank.id) if wrong else None
        found[blank.id] = write(i, x) if slip is None else str(slip)
        return (x if slip is None else slip) if keeps_full_precision else Decimal(found[blank.id])

    worked(sheet, keep)
    return found


def moved(x: Decimal, blank: Blank, units: int) -> str:
    """A number moved by units of its last place; a zero becomes a small number of its table's size."""
    size = max((abs(other.key) for other in blank.part.blanks), default=Decimal(0)) or Decimal(1)
    unit = Decimal(1).scaleb((x or size).adjusted() - DIGITS + 1)
    return str((x + units * unit).quantize(unit))


def power(name: str) -> tuple[int, dict[int, int]]:
    """The number of blanks of an example's sheet, and for each distance how many moved ones are called wrong."""
    sheet = sheet_of(name)
    answers = read(pupil(sheet, lambda i, x: written(x, DIGITS)))
    found = dict.fromkeys(UNITS, 0)
    with decimal.localcontext(CONTEXT):
        marker = _Marker(sheet, answers, sheet.weights)
        for blank in sheet.blanks:
            marker.entries[blank.id] = marker._judged(blank)
        for blank in sheet.blanks:
            before = answers.by_id[blank.id], marker.narrow[blank.id], marker.wide[blank.id]
            assert before[0].value is not None
            for units in UNITS:
                answers.by_id[blank.id] = as_answer(moved(before[0].value, blank, units))
                found[units] += marker._judged(blank).verdict == WRONG
            answers.by_id[blank.id], marker.narrow[blank.id], marker.wide[blank.id] = before
    return len(sheet.blanks), found


def main() -> None:
    counts = [power(example.name) for example in EXAMPLES]
    blanks = sum(n for n, _ in counts)
    print(f"{blanks} blanks of {len(EXAMPLES)} examples\n\n| moved by | found |\n| --- | --- |")
    for units in UNITS:
        print(f"| {units} units | {sum(found[units] for _, found in counts) / blanks:.0%} |")


if __name__ == "__main__":
    main()
