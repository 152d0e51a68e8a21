"""Marking: each number judged from the learner's own earlier numbers, with the tolerance that their digits leave.

A number is *right* if it agrees with the key. Otherwise its line is computed again, on intervals, from the numbers that
the learner wrote (where one is missing, from those before it): a number in that interval *follows*. Anything else is
*wrong*, and the first of those is explained.

An idea of the sheet counts 1, shared by the steps that use it (`Worksheet.weights`, or the teacher's own). A step whose
idea was missed earns nothing: a slip was made wherever it makes a difference, as in 1/√d left out of every score. What
follows from it is free. Any other wrong number costs its own share of its step.

How exact a number has to be: to the last place that it shows, or to the digits that the sheet asks for, whichever is
finer. Fewer digits give no more tolerance, but an exact number may be short. Less than one unit of the last place is
allowed each way, so cutting off is accepted, with a note. So is a number rounded to as many decimals as
digits are asked for, 0.0540 for 0.05398, but not 0 for a number that is not 0.

`assets/marking.js` does the same in a page that marks itself, in the same order and with the same words (`NOTES`).
"""

from __future__ import annotations

import decimal
import functools
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

import numpy as np

from autograd.errors import DataError, counted
from autograd.expr import Expr

from ..parts import Blank, Step, exact_text
from ..plan import plain
from ..sheet import Worksheet
from .answers import PROBLEMS, SPACES, Answer, Answers, AnswersError, read
from .intervals import CONTEXT, ONE, ZERO, CannotJudge, Interval, evaluate
from .slips import UNKNOWN_SLIP, Mistake, Slips, agreed

RIGHT, FOLLOWS, WRONG, MISSING = "right", "follows", "wrong", "missing"
HALF = Decimal("0.5")
SHORT = 3  # digits of a constant that is taken as exact
MORE = 3  # digits than the sheet asks for, to which a constant may be rounded
NOISE = Decimal("1e-12")  # of a table's size: differences that only a machine's rounding makes
TOO_WIDE = Decimal("0.5")  # of its own size: an interval that wide says nothing
NEARBY = Decimal("0.1")  # of the key: a number without decimals this near was rounded too early
NOTES = {  # what is said beside a verdict; the page says the same
    "cut off": "cut off, not rounded",
    "too large": "the last digit is one too large",
    "decimals": "rounded to {0} decimals: the sheet asks for {0} significant digits",
    "too short": "too few digits: the sheet asks for {0}",
    "cannot": "from your numbers this cannot be computed: {0}",
    "unchecked": "your numbers before it have too few digits to tell: accepted, but not checked",
    "filler": "{0} fills most of the sheet: it counts only in tables where another number is right",
}
ONE_NUMBER = 0.5  # share of the sheet, beyond what the key has, that one number fills before it earns no credit


def constants_of(e: Expr) -> list[Any]:
    """The plain numbers of a formula."""
    if e.op is None:
        return [e.value] if e.is_constant else []
    return [x for part in e.args for x in constants_of(part)]


@dataclass
class Entry:
    """How one blank was judged.

    verdict   "right", "follows", "wrong" or "missing"
    used      the learner's own numbers that it was judged from: ids
    mistake   of a wrong number: the slip that gives it
    note      "cut off, not rounded", "too few digits", ...
    problem   why what was written could not be read
    """

    id: str
    verdict: str
    written: str = ""
    used: tuple[str, ...] = ()
    mistake: Mistake | None = None
    note: str = ""
    problem: str = ""
    credit: float = 0.0


@dataclass
class Marks:
    """The marks of one sheet: `score` from 0 to 1, `entries` by id, `first_wrong` (an id or None) and its `mistake`;
    `credits`, from 0 to 1, and `weights` of the steps by name."""

    sheet: Worksheet = field(repr=False)
    entries: dict[str, Entry] = field(repr=False)
    score: float
    first_wrong: str | None
    notes: list[str] = field(default_factory=list)
    who: str = ""
    credits: dict[str, float] = field(default_factory=dict, repr=False)
    weights: dict[str, float] = field(default_factory=dict, repr=False)

    @property
    def mistake(self) -> Mistake | None:
        """What happened at the first wrong number."""
        return None if self.first_wrong is None else self.entries[self.first_wrong].mistake

    @property
    def counts(self) -> dict[str, int]:
        found = Counter(entry.verdict for entry in self.entries.values())
        return {verdict: found[verdict] for verdict in (RIGHT, FOLLOWS, WRONG, MISSING)}

    def of_step(self, step: Step) -> str:
        """The verdict on a whole step: its worst entry's, `missing` only if nothing was written."""
        verdicts = {self.entries[blank.id].verdict for blank in step.blanks}
        return next(v for v in (WRONG, FOLLOWS, RIGHT, MISSING) if v in verdicts)

    def text(self) -> str:
        """The report as plain text."""
        from .report import text

        return text(self)

    def html(self) -> str:
        """The report as one HTML file."""
        from .report import html

        return html(self)

    def json(self) -> str:
        """The report as JSON."""
        from .report import as_json

        return as_json(self)

    def __repr__(self) -> str:
        counts = ", ".join(f"{n} {verdict}" for verdict, n in self.counts.items() if n)
        return f"<Marks {self.score:.0%}: {counts}; first wrong {self.first_wrong}>"


def grade(sheet: Worksheet, answers: Any, weights: Mapping[str, float] | None = None) -> Marks:
    """Mark a sheet: `answers` is a dict from blank id to text or number, or a path (.csv, .json, .xlsx).

    A whole table may be given under its name: {"Q": [[0.1, 0], [0, 0.1]]}, or as text, "0.1 0; 0 0.1". `weights` says
    what steps count, by name: {"attn": 3, "L": 0}; `sheet.weights` has what the others count.

    >>> from autograd import Value
    >>> from autograd.worksheets import worksheet
    >>> a, b = Value(2.0, name="a"), Value(-3.0, name="b")
    >>> sheet = worksheet((a * b).tanh())
    >>> marks = grade(sheet, {"t1": "6", "L": "1.0000", "dL/dt1": 0})
    >>> [(name, marks.entries[name].verdict) for name in ("t1", "L", "dL/da")]
    [('t1', 'wrong'), ('L', 'follows'), ('dL/da', 'missing')]
    >>> print(marks.first_wrong, "-", marks.mistake)
    t1 - a sign lost
    """
    if not isinstance(sheet, Worksheet):
        raise DataError(
            f"grade takes a sheet and its answers, as in grade(worksheet(loss), answers); got {sheet!r:.60}"
        )
    found = read(answers)
    found.by_id = {sheet.read_as.get(plain(name), name): answer for name, answer in found.by_id.items()}
    found.tables = {sheet.read_as.get(plain(name), name): rows for name, rows in found.tables.items()}
    found = _with_tables(sheet, found)
    _refuse_another_sheet(sheet, found)
    with decimal.localcontext(CONTEXT):
        return _Marker(sheet, found, _weights(sheet, weights)).marks()


def _weights(sheet: Worksheet, own: Mapping[str, float] | None) -> dict[str, float]:
    """What each step counts: the teacher's word, else the sheet's."""
    own = {} if own is None else own
    unknown = [name for name in own if name not in sheet.weights]
    if unknown:
        raise DataError(f"weights name {unknown[0]!r}, which is no step of this sheet: {', '.join(sheet.weights)}")
    for name, weight in own.items():
        if isinstance(weight, bool) or not isinstance(weight, int | float | np.number) or not 0 <= weight < math.inf:
            raise DataError(f"the weight of {name!r} is a number from 0 on; got {weight!r}")
    found = {name: float(weight) for name, weight in (sheet.weights | dict(own)).items()}
    if not any(found.values()):
        raise DataError("all weights are 0: give at least one step a weight above 0")
    return found


def _with_tables(sheet: Worksheet, answers: Answers) -> Answers:
    """Whole tables that were handed in under their names, entry by entry."""
    parts = {part.name: part for step in sheet.steps for part in step.parts if part.name not in sheet.by_id}
    named = {name: parts[name] for name in answers.by_id if name in parts}
    by_id = {name: answer for name, answer in answers.by_id.items() if name not in named}
    for name, part in named.items():
        rows = answers.tables.get(name) or [[answers.by_id[name]]]
        shape = part.table.shape[-1]
        if any(len(row) != shape for row in rows) or len(rows) * shape != part.table.values.size:
            wanted, got = _shape_in_words(part.table.values.size // shape, {shape}), _shape_in_words(
                len(rows), {len(row) for row in rows})  # fmt: skip
            problem = PROBLEMS["shape"].format(name, wanted, got)
            by_id |= {blank.id: Answer(answers.by_id[name].text, problem=problem) for blank in part.blanks}
            continue
        flat = [answer for row in rows for answer in row]
        by_id |= {blank.id: flat[np.ravel_multi_index(blank.index, part.table.shape)] for blank in part.blanks}
    return replace(answers, by_id=by_id)


def _shape_in_words(rows: int, columns: set[int]) -> str:
    *few, last = sorted(columns)
    return f"{counted(rows, 'row')} of {''.join(f'{number} or ' for number in few)}{counted(last, 'number')}"


def _refuse_another_sheet(sheet: Worksheet, answers: Answers) -> None:
    if answers.sheet and answers.sheet != sheet.identity:
        raise AnswersError(
            f"these answers belong to sheet {answers.sheet}; this is sheet {sheet.identity} (variant {sheet.variant}). "
            "Mark them with the sheet that they were written on: the same graph, numbers, names (names=) and options"
        )
    if answers.by_id and not any(name in sheet.by_id for name in answers.by_id):
        some = next(iter(answers.by_id))
        raise AnswersError(f"none of the ids is on this sheet: {some!r}, say. Its first is {sheet.blanks[0].id!r}")


class _Marker:
    """One sheet and one set of answers, judged blank after blank."""

    def __init__(self, sheet: Worksheet, answers: Answers, weights: dict[str, float]) -> None:
        self.sheet, self.answers, self.weights = sheet, answers, weights
        self.entries: dict[str, Entry] = {}
        self.narrow = sheet.numbers | sheet.rounded  # every id's number as the learner has it, if it was rounded
        self.wide = sheet.numbers | sheet.rounded  # and if it was cut off
        self.sizes = {part.name: part.size for step in sheet.steps for part in step.parts}
        self.filler, self.filler_text = self._filler()
        self.last_decimal = ONE.scaleb(-sheet.digits)

    def marks(self) -> Marks:
        for blank in self.sheet.blanks:
            self.entries[blank.id] = self._judged(blank)
        wrong = [blank for blank in self.sheet.blanks if self.entries[blank.id].verdict == WRONG]
        for part in {id(blank.part): blank.part for blank in wrong}.values():
            self._explain([blank for blank in wrong if blank.part is part])
        unknown = [name for name in self.answers.by_id if name not in self.sheet.by_id]
        notes = []
        if unknown:
            shown = ", ".join(map(repr, unknown[:3])) + (" ..." if len(unknown) > 3 else "")
            notes.append(f"not on this sheet, and not counted: {shown}")
        if self.filler is not None:
            notes.append(NOTES["filler"].format(self.filler_text))
        first = wrong[0].id if wrong else None
        credits = {step.name: self._credit(step) for step in self.sheet.steps if step.blanks}
        score = sum(credits[name] * weight for name, weight in self.weights.items()) / sum(self.weights.values())
        return Marks(self.sheet, self.entries, score, first, notes, self.answers.who, credits, self.weights)

    def _credit(self, step: Step) -> float:
        """A step's credit is shared by its tables, theirs by their entries; it is lost with the step's idea."""
        shares, is_missed = [], False
        for part in (part for part in step.parts if part.blanks):
            entries = [self.entries[blank.id] for blank in part.blanks]
            right = [blank for blank in part.blanks if self.entries[blank.id].verdict in (RIGHT, FOLLOWS)]
            wrong = [(blank, self.entries[blank.id].mistake) for blank in part.blanks]
            if self._is_filled(right):
                for entry in entries:
                    entry.credit = 0.0
            is_missed = is_missed or any(
                mistake is not None and self.slips.is_idea(blank, mistake, right) for blank, mistake in wrong
            )
            shares.append(sum(entry.credit for entry in entries) / len(entries))
        return 0.0 if is_missed else sum(shares) / len(shares)

    def _is_filled(self, right: list[Blank]) -> bool:
        """Does the number that fills the sheet stand in all of these?"""
        return self.filler is not None and all(self.answers.by_id[blank.id].value == self.filler for blank in right)

    def _filler(self) -> tuple[Decimal | None, str]:
        """A number that fills the sheet, such as 0 in every blank, as it is first written: it shows no work."""
        given = [self.answers.by_id[blank.id] for blank in self.sheet.blanks if blank.id in self.answers.by_id]
        given = [answer for answer in given if answer.value is not None]
        if len(given) < 3:
            return None, ""
        value, count = Counter(answer.value for answer in given).most_common(1)[0]
        if count / len(given) <= ONE_NUMBER:
            return None, ""
        in_key = sum(blank.key == value for blank in self.sheet.blanks) / len(self.sheet.blanks)
        if count / len(given) <= in_key + ONE_NUMBER:
            return None, ""
        return value, next(answer.text.strip(SPACES) for answer in given if answer.value == value)

    # --- one blank -----------------------------------------------------------------------------------------------

    def _judged(self, blank: Blank) -> Entry:
        answer = self.answers.by_id.get(blank.id, Answer(""))
        if answer.value is None:
            self._pass_on(blank)
            return Entry(blank.id, MISSING, answer.text, problem=answer.problem)
        size = self.sizes[blank.part.name]
        unit = self._unit(blank, answer, blank.key or size, size)
        distance = abs(answer.value - blank.key)
        if distance < unit or distance <= self._decimals(blank, answer) * HALF:
            entry = Entry(blank.id, RIGHT, answer.text, note=self._note(answer, blank, distance, unit), credit=1.0)
        else:
            entry = self._from_own_numbers(blank, answer, size)
        self._remember(blank, answer, unit, entry.verdict)
        return entry

    def _from_own_numbers(self, blank: Blank, answer: Answer, size: Decimal) -> Entry:
        assert answer.value is not None
        used = self._own(blank)
        try:
            narrow, wide = self.expected(blank, self.narrow), self.expected(blank, self.wide)
        except CannotJudge as error:
            return Entry(blank.id, WRONG, answer.text, used, note=NOTES["cannot"].format(error))
        unit = self._unit(blank, answer, wide.middle or wide.size, size)
        decimals = self._decimals(blank, answer)
        if not self._fits(wide, answer.value, unit, decimals) or not self._fits_constants(
            blank, answer.value, unit, decimals
        ):
            return Entry(blank.id, WRONG, answer.text, used, note=self._too_short(answer, blank))
        note = "" if answer.value in narrow.wider(unit * HALF) else NOTES["cut off"]
        if note and decimals > unit and answer.value in narrow.wider(decimals * HALF):
            note = NOTES["decimals"].format(self.sheet.digits)
        if wide.width > wide.size * TOO_WIDE:
            note = NOTES["unchecked"]
        return Entry(blank.id, FOLLOWS, answer.text, used, note=note, credit=1.0)

    def _pass_on(self, blank: Blank) -> None:
        """A step that was skipped: what the learner's own numbers give there; the key's, if they are the key's."""
        if all(self.wide[name] is self.sheet.numbers[name] for name in blank.operands):
            return
        try:
            found = self.expected(blank, self.narrow), self.expected(blank, self.wide)
        except CannotJudge:
            return  # the key's then
        self.narrow[blank.id], self.wide[blank.id] = found

    def expected(self, blank: Blank, numbers: dict[str, Interval]) -> Interval:
        return evaluate(blank.expr, numbers, self.constant)

    def constant(self, x: Any) -> Interval:
        """A plain number of a formula: exact if it is short, else as anyone would round it."""
        value = Decimal(exact_text(x)).normalize()
        if self._is_short(value):
            return Interval.exactly(value)
        return Interval.around(value, ONE.scaleb(value.adjusted() - self.sheet.digits + 1) * HALF)

    def _is_short(self, value: Decimal) -> bool:
        return not value or len(value.as_tuple().digits) <= max(self.sheet.digits, SHORT)

    def _fits(self, interval: Interval, value: Decimal, unit: Decimal, decimals: Decimal) -> bool:
        """May it be a number of the interval, rounded or cut off to the unit, or rounded to decimals?"""
        return interval.reaches(value, unit) or value in interval.wider(decimals * HALF)

    def _fits_constants(self, blank: Blank, value: Decimal, unit: Decimal, decimals: Decimal) -> bool:
        """Does some way to write the line's long constants, such as √2, give the number? Each is written exactly, or
        rounded to as many digits as the sheet asks for, or to a few more."""
        if all(self._is_short(Decimal(exact_text(x)).normalize()) for x in constants_of(blank.expr)):
            return True

        def written(digits: int, x: Any) -> Interval:
            exact = Decimal(exact_text(x)).normalize()
            if self._is_short(exact) or digits > self.sheet.digits + MORE:
                return Interval.exactly(exact)
            return Interval.exactly(exact.quantize(ONE.scaleb(exact.adjusted() - digits + 1)))

        ways = [functools.partial(written, self.sheet.digits + more) for more in range(MORE + 2)]
        return any(self._fits(evaluate(blank.expr, self.wide, way), value, unit, decimals) for way in ways)

    # --- precision -----------------------------------------------------------------------------------------------

    def _unit(self, blank: Blank, answer: Answer, value: Decimal, size: Decimal) -> Decimal:
        """The unit that counts: the finer of the one written and the one asked for."""
        asked = blank.unit(value or size or ONE, self.sheet.digits)
        return max(min(answer.unit, asked), size * NOISE)

    def _decimals(self, blank: Blank, answer: Answer) -> Decimal:
        """The unit of a number that was rounded to decimals, as many as digits are asked for; 0 has none."""
        return min(answer.unit, self.last_decimal) if answer.value and blank.part.decimals is None else ZERO

    def _remember(self, blank: Blank, answer: Answer, unit: Decimal, verdict: str) -> None:
        """What later lines are computed from: the number as it was written; of a wrong one all its digits count."""
        value = answer.value
        assert value is not None
        if value == blank.key:  # a short number that is exact is exact
            self.narrow[blank.id] = self.wide[blank.id] = Interval.exactly(value)
            return
        if value:
            near = unit if abs(value - blank.key) <= unit else ZERO
            unit = max(min(answer.unit, blank.unit(value, self.sheet.digits)), near)
        rounding = ZERO if verdict == WRONG else self._decimals(blank, answer) * HALF
        self.narrow[blank.id] = Interval.around(value, max(unit * HALF, rounding))
        self.wide[blank.id] = Interval.around(value, max(unit, rounding))

    def _own(self, blank: Blank) -> tuple[str, ...]:
        """The learner's own numbers behind it that are not the key's; all of them if rounding made the difference."""
        own: list[str] = []
        behind, seen = list(blank.operands), set(blank.operands)
        for name in behind:  # the list grows while it is read, through steps that were skipped
            entry = self.entries.get(name)
            if entry is not None and entry.verdict == MISSING:
                further = [other for other in self.sheet.by_id[name].operands if other not in seen]
                behind += further
                seen.update(further)
            elif entry is not None:
                own.append(name)
        changed = [name for name in own if self.entries[name].verdict != RIGHT]
        return tuple(changed or own)

    def _note(self, answer: Answer, blank: Blank, distance: Decimal, unit: Decimal) -> str:
        assert answer.value is not None
        if distance <= unit * HALF:
            return ""
        if distance <= self._decimals(blank, answer) * HALF:
            return NOTES["decimals"].format(self.sheet.digits)
        if self._is_rounded(answer, blank, unit):
            return ""
        return NOTES["cut off" if abs(answer.value) < abs(blank.key) else "too large"]

    def _is_rounded(self, answer: Answer, blank: Blank, unit: Decimal) -> bool:
        """Is it what the learner's own numbers give, correctly rounded?"""
        assert answer.value is not None
        try:
            return answer.value in self.expected(blank, self.narrow).wider(unit * HALF)
        except CannotJudge:
            return False

    def _too_short(self, answer: Answer, blank: Blank) -> str:
        """Would the number be right if the digits it shows were all that was asked for?"""
        assert answer.value is not None
        if not blank.key or answer.unit <= blank.unit(blank.key, self.sheet.digits):
            return ""
        most = answer.unit * HALF
        if answer.unit >= ONE:  # 1 for 0.6 may be a slip; 0.01 for 0.0071 is rounded
            most = min(most, abs(blank.key) * NEARBY)
        return self._too_short_note(blank) if abs(answer.value - blank.key) <= most else ""

    def _too_short_note(self, blank: Blank) -> str:
        decimals = blank.part.decimals
        return NOTES["too short"].format(self.sheet.digits if decimals is None else counted(decimals, "decimal"))

    # --- slips ---------------------------------------------------------------------------------------------------

    @property
    def slips(self) -> Slips:
        return Slips(self.sheet, self.wide, self.constant)

    def _explain(self, wrong: list[Blank]) -> None:
        """Name the slips of the wrong numbers of one table; one that was only rounded too early is none."""
        wrong = [blank for blank in wrong if self.entries[blank.id].note != self._too_short_note(blank)]
        found = [self.slips.find(blank, self.answers.by_id[blank.id], self._tolerance(blank)) for blank in wrong]
        agreed([each for each in found if each.slips])
        for blank, each in zip(wrong, found, strict=True):
            self.entries[blank.id].mistake = each.mistake() or UNKNOWN_SLIP

    def _tolerance(self, blank: Blank) -> Decimal:
        """How far a number of the size that was written may be off."""
        answer = self.answers.by_id[blank.id]
        assert answer.value is not None
        size = self.sizes[blank.part.name]
        return max(self._unit(blank, answer, answer.value or size, size), self._decimals(blank, answer) * HALF)
