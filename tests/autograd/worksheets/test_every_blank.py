"""One error at every blank in turn, in all seven examples: found there and nowhere else; each unique slip is named.

What a number is judged from are its own line and the numbers in it. So after one change only the lines that depend on
it are judged again; the others keep their verdicts. On a long sheet a pupil makes up to eight errors at once, in a
table whose entries do not depend on each other.
"""

import decimal
import math
import re
from decimal import Decimal

import pytest

from autograd.worksheets import worksheet
from autograd.worksheets.marking.answers import as_answer, read
from autograd.worksheets.marking.grading import WRONG, _Marker
from autograd.worksheets.marking.intervals import CONTEXT, CannotJudge, evaluate
from autograd.worksheets.marking.slips import PEN, Alternatives, _other_digits
from examples.sheets import PLANS
from tests.autograd.worksheets.test_marking import NAMES
from tools.marker import moved, sheet_of, written

DIGITS = 6
WORDS = {"exp": math.exp, "log": math.log, "sqrt": math.sqrt, "tanh": math.tanh, "max": max, "min": min, "abs": abs,
         "sigmoid": lambda x: 1 / (1 + math.exp(-x)), "erf": math.erf, "sign": lambda x: (x > 0) - (x < 0)}  # fmt: skip


class Pupil:
    """One who writes six digits and computes each line, by its printed formula, from what was written before."""

    def __init__(self, sheet):
        self.sheet = sheet
        self.place = {blank.id: i for i, blank in enumerate(sheet.blanks)}
        self.code = [self._compiled(blank) for blank in sheet.blanks]
        self.numbers = {name: float(x.middle) for name, x in sheet.numbers.items() if name not in self.place}
        self.texts = [""] * len(sheet.blanks)
        for i in range(len(sheet.blanks)):
            self._write(i, self._text(i))
        answers = dict(zip(self.place, self.texts, strict=True))
        self.marker = _Marker(sheet, read(answers), sheet.weights)
        for blank in sheet.blanks:
            self.marker.entries[blank.id] = self.marker._judged(blank)
        self.users = {i: [] for i in range(len(sheet.blanks))}
        for i, blank in enumerate(sheet.blanks):
            for name in blank.operands:
                if name in self.place:
                    self.users[self.place[name]].append(i)

    def _compiled(self, blank):
        """The printed formula as Python: anyone can evaluate it over the ids of its operands."""
        names = sorted(blank.operands, key=len, reverse=True)
        text = blank.formula
        if names:
            text = re.sub("|".join(map(re.escape, names)), lambda found: f"n[{found[0]!r}]", text)
        return compile(text, blank.id, "eval")

    def _text(self, i):
        x = Decimal(repr(float(eval(self.code[i], WORDS, {"n": self.numbers}))))
        return written(x, DIGITS)

    def _write(self, i, text):
        self.texts[i] = text
        self.numbers[self.sheet.blanks[i].id] = float(text)

    def wrong_after(self, errors):
        """The wrong ones after some blanks (number → text) were written so, the lines after from them; then all is as
        before."""
        marker, blanks = self.marker, self.sheet.blanks
        before = [dict(marker.narrow), dict(marker.wide), dict(marker.entries), dict(self.numbers), list(self.texts)]
        answers = dict(marker.answers.by_id)
        changed = set(errors)
        for k in range(min(errors), len(blanks)):  # those that use a number come after it
            if k not in changed:
                continue
            assert errors.keys().isdisjoint(self.users[k]), "an error depends on another"
            changed.update(self.users[k])
            new = errors.get(k) or self._text(k)
            self._write(k, new)
            marker.answers.by_id[blanks[k].id] = as_answer(new)
            marker.entries[blanks[k].id] = marker._judged(blanks[k])
        found = [name for name, entry in marker.entries.items() if entry.verdict == WRONG]
        marker.narrow, marker.wide, marker.entries, self.numbers, self.texts = before
        marker.answers.by_id = answers
        return found


def plan_of(name):
    """The sheet of an example in the book's order and words."""
    plan = PLANS[name](0.1)
    return worksheet(plan.root, plan=plan)


SHEETS = {**{name: (sheet_of, name) for name in NAMES}, **{f"{name} in the book": (plan_of, name) for name in PLANS}}
LONG = 1000  # blanks


def in_groups(sheet):
    """The blanks that get an error together: single ones, or up to eight of a table of a long sheet."""
    at_once = 1 if len(sheet.blanks) < LONG else 8
    for step in sheet.steps:
        for part in step.parts:
            yield from (part.blanks[i : i + at_once] for i in range(0, len(part.blanks), at_once))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_one_error_at_every_blank_is_located_and_the_rest_follows(name):
    sheet = sheet_of(name)
    with decimal.localcontext(CONTEXT):
        pupil = Pupil(sheet)
        assert not any(entry.verdict == WRONG for entry in pupil.marker.entries.values())
        done = []
        for blanks in in_groups(sheet):
            errors = {pupil.place[blank.id]: moved(blank.key, blank, 700) for blank in blanks}
            assert pupil.wrong_after(errors) == [blank.id for blank in blanks]
            done += blanks
    assert done == sheet.blanks


def from_own_numbers(formula, marker):
    """What a line gives on the pupil's numbers; None if their digits leave too much room to prove anything."""
    try:
        found = evaluate(formula, marker.wide, marker.constant)
    except (CannotJudge, KeyError):
        return None
    return None if found.width > found.size / 100 else found.middle


def is_unique(number, name, others, right, answer):
    """Do all other slips, the right line and slips of the pen give clearly other numbers?"""
    gap = max(abs(number), abs(right)) / 200
    far = all(other is None or abs(other - number) > gap for slip, other in others if slip.name != name)
    pen = all(abs(other - right) > gap for _, other in _other_digits(answer))
    return far and abs(number - right) > gap and pen and abs(number) > Decimal("1e-9")


@pytest.mark.slow
@pytest.mark.parametrize("name", SHEETS)
def test_every_slip_that_is_unique_is_named(name):
    make, example = SHEETS[name]
    sheet = make(example)
    seen, pen = set(), {slip.name for slip in PEN.values()}
    with decimal.localcontext(CONTEXT):
        pupil = Pupil(sheet)
        marker = pupil.marker
        for blank in sheet.blanks:
            slips = [(slip, from_own_numbers(formula, marker)) for slip, formula in Alternatives(sheet, blank).all()]
            right = from_own_numbers(blank.expr, marker)
            for slip, number in slips:
                if not number or right is None:
                    continue
                answer = as_answer(written(number, DIGITS))
                if slip.name in pen or not is_unique(number, slip.name, slips, right, answer):
                    continue
                kept = marker.answers.by_id[blank.id], dict(marker.narrow), dict(marker.wide)
                marker.answers.by_id[blank.id] = answer
                marker.entries[blank.id] = marker._judged(blank)
                assert marker.entries[blank.id].verdict == WRONG, (blank.id, slip.name, answer.text)
                marker._explain([blank])
                assert marker.entries[blank.id].mistake.names == (slip.name,), (blank.id, slip.name, answer.text)
                seen.add(slip.name)
                marker.answers.by_id[blank.id], marker.narrow, marker.wide = kept
    assert len(seen) >= (1 if example == "example1" else 3 if example == "example5" else 4), seen
