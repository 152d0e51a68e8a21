"""The sheets of the worked examples, in the book's order and names: true, complete, and fair to the book itself."""

from __future__ import annotations

import csv
import io
import re
from functools import cache

import numpy as np
import pytest

from autograd import Value
from autograd.worksheets import grade, worksheet
from autograd.worksheets.marking.grading import FOLLOWS, RIGHT
from autograd.worksheets.plan import plain
from examples import find
from examples.checking.names import value_of
from examples.checking.sheet import load
from examples.mini_transformer import TOKENS
from examples.sheets import PLANS

TOKEN = re.compile(r"\(([ABCD])\)$")
OF_THE_SHEET = {"percent", "L_change", "P_change", "added[1]", "dL/dhidden", "logit1_new", "logit2_new",
                "logit3_new"}  # lines that `run` gives no name
# What the book prints as a number inside a line, or copies from an earlier line, is no blank.
INSIDE = re.compile(r"scale|sum\(P\)|relu_demo_out|final\[1\]-out\[1\]|fig_\w+.*|\w+\^T.*|-?[\w/\[\]]+-[\w/\[\]]+"
                    r"|.*\*.*|-dL/.*")  # fmt: skip


@cache
def sheet_of(name, names=None):
    plan = PLANS[name](0.1)
    return worksheet(plan.root, plan=plan, names=names)


def id_of(what):
    """The id of what the JSON of printed numbers calls P(A): P[0]."""
    return TOKEN.sub(lambda found: f"[{list(TOKENS).index(found[1])}]", what)


@pytest.mark.parametrize("name", PLANS)
def test_every_line_is_what_the_engine_computes(name):
    found = find(name).module.run()
    for table in (part.table for step in sheet_of(name).steps for part in step.parts):
        if table.name not in OF_THE_SHEET:
            assert np.allclose(table.values, value_of(table.name, found), rtol=1e-12, atol=1e-15), table.name


@pytest.mark.parametrize("name", PLANS)
def test_the_book_handed_in_loses_only_what_is_wrong_in_it(name):
    """By its own names and digits; a number that is not wrong in the book is never marked wrong."""
    sheet = sheet_of(name)
    printed, wrong, absent = {}, set(), set()
    for entry in load(name).entries:
        if entry.kind == "derived" and entry.what not in printed:
            key = sheet.read_as.get(plain(entry.what), id_of(entry.what))
            if key in sheet.by_id:
                printed[sheet.book.get(key, [key])[0]] = entry.printed_text
                wrong |= {key} if entry.verdict == "erratum" else set()
            elif not INSIDE.fullmatch(entry.what):
                absent.add(entry.what)
    assert not absent
    marks = grade(sheet, printed)
    assert not any("not on this sheet" in note for note in marks.notes)
    unfair = {key for key, entry in marks.entries.items()
              if entry.verdict not in (RIGHT, FOLLOWS) and entry.written and key not in wrong}  # fmt: skip
    assert not unfair
    clean = [step for step in sheet.steps if not any(blank.id in wrong for blank in step.blanks)]
    for step in clean:
        written = [marks.entries[blank.id] for blank in step.blanks if marks.entries[blank.id].written]
        assert all(entry.credit == 1 for entry in written), step.title


@pytest.mark.parametrize("name", PLANS)
def test_grade_reads_our_names_and_the_books(name):
    sheet = sheet_of(name, "book")
    for names in (sheet.called, str):
        marks = grade(sheet_of(name), {names(blank.id): blank.key_text(4) for blank in sheet.blanks})
        assert (marks.score, marks.counts["right"]) == (1, len(sheet.blanks))


def test_example_2_goes_to_the_last_line_of_the_book():
    sheet = sheet_of("example2", "book")
    assert [title.partition(":")[0] for title, _ in sheet.sections] == ["Part 1", "Part 2", "Part 3", "Verification"]
    text = sheet.markdown()
    assert "@" not in text and "axis" not in text and "out[" not in text
    for name in ("scaled_score[1][1]", "p₀", "context[0]", "logit(C)", "P(C)", "dL/dlogit(C)", "dWO[1][2]",
                 "WO_new[1][1]", "logit_new(C)", "P_new(C)", "L_new"):  # fmt: skip
        assert name in {sheet.called(blank.id) for blank in sheet.blanks}, name
    typed = grade(sheet, {"p0": "0.498", "dL_dlogits[2]": "-0.749", "Context": "", "context": "0.0498 0.0502"})
    assert typed.counts["right"] == 4


def test_each_step_says_what_and_why_in_two_sentences():
    for name in PLANS:
        for step in sheet_of(name).steps:
            assert 1 <= len(re.findall(r"[.?](?: |$)", step.says)) <= 3, (name, step.title)
            assert len(step.says) < 220


def test_a_csv_sheet_says_how_many_decimals_each_number_wants(tmp_path):
    sheet = sheet_of("example3")
    rows = list(csv.DictReader(io.StringIO(sheet.csv())))
    assert {row["decimals"] for row in rows} == set("012345678")
    for row, blank in zip(rows, sheet.blanks, strict=True):
        row["answer"] = f"{blank.answer:.{row['decimals']}f}"
    path = tmp_path / "anna.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    assert grade(sheet, str(path)).score == 1


def test_a_number_rounded_too_early_is_no_slip():
    """scaled[1][1] is 0.00707: 0.01 is also the score before it is divided by √2."""
    sheet = sheet_of("example2")
    key = {blank.id: f"{blank.answer:.5f}" for blank in sheet.blanks}
    entry = grade(sheet, key | {"scaled[1][1]": "0.01"}).entries["scaled[1][1]"]
    assert (entry.verdict, entry.mistake) == ("wrong", None)
    assert entry.note == "too few digits: the sheet asks for 5 decimals"
    entry = grade(sheet, key | {"scaled[1][1]": "0.005"}).entries["scaled[1][1]"]
    assert entry.mistake == "divided by d, not by √d"


def test_a_scale_that_is_a_factor_has_the_slips_of_a_division():
    score = Value(0.7, name="q") * Value(0.9, name="k")
    score.name = "score"
    scaled = score * (1 / np.sqrt(3))
    scaled.name = "scaled"
    sheet = worksheet(scaled.tanh())
    for typed, slip in {"0.6300": "1/√d forgotten", "0.2100": "divided by d, not by √d"}.items():
        assert grade(sheet, {"score": "0.63", "scaled": typed}).mistake == slip


def test_numbers_that_follow_are_said_to_count_only_where_they_do():
    sheet = sheet_of("cat_sleeps")
    nothing = grade(sheet, {blank.id: "0" for blank in sheet.blanks})
    assert nothing.score == 0 and nothing.counts["follows"] and "count." not in nothing.text()
    product = worksheet((Value(2.0, name="a") * Value(-3.0, name="b")).tanh())
    told = grade(product, {"t1": "6", "L": "1"}).text()
    assert "1 later number is right from your own numbers, so it counts." in told


def test_an_exact_number_is_not_one_unit_off():
    """0 is not 0.1 to one decimal, and neither is 0.2."""
    sheet = sheet_of("example2")
    for name, typed in {"Q[0][0]": "0", "Q[1][1]": "0.2", "score[1][1]": "0.00", "X[0][1]": "1"}.items():
        assert grade(sheet, {name: typed}).entries[name].verdict == "wrong", name
    assert grade(sheet, {"L": "1.383", "scaled[1][1]": "0.00707"}).counts["right"] == 2  # cut off, rounded
