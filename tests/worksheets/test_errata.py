"""Each erratum is really wrong, and what the sheet says about how it came about is worked out again."""

from __future__ import annotations

import math
import re
from decimal import Decimal

import numpy as np
import pytest

from examples.checking import errata, printed
from examples.checking.judge import second_opinion
from examples.checking.names import value_of
from examples.checking.sheet import entries, load, names

every_sheet = pytest.mark.parametrize("name", names())


def following(name):
    """The entries of a sheet that say how they follow from numbers printed before."""
    return [entry for entry in load(name).entries if entry.follows is not None]


@every_sheet
def test_an_erratum_is_really_wrong(name, findings):
    """The engine differs from the print, and the judge sides with the engine."""
    for entry in load(name).entries:
        if entry.verdict != "erratum":
            continue
        value = findings(name)[entry.id].value
        judged = float(value_of(entry.what, second_opinion(name)))
        assert math.isclose(value, judged, rel_tol=1e-11), entry.id
        if entry.printed == 0:      # a bare 0.0 among numbers of four digits and more says zero
            assert abs(value) > 1e-3, entry.id
        else:
            assert not printed.gives_printed(entry, value), entry.id


@every_sheet
def test_follow_through(name):
    """The author's own operands give what the sheet says they give, and lead to the print or do not."""
    for entry in following(name):
        own = printed.follow(entry)
        assert math.isclose(own, entry.follows.value, rel_tol=1e-7, abs_tol=1e-12), entry.id
        assert printed.gives_printed(entry, own) == entry.follows.gives_printed, entry.id


@every_sheet
def test_the_operands_are_numbers_the_sheet_prints(name):
    """Nobody slipped a number into the follow-through that is not on the page; 0, 1 and the count 3 are constants."""
    on_the_page = {abs(other.printed) for other in load(name).entries} | {Decimal(0), Decimal(1), Decimal(3)}
    for entry in following(name):
        for operand in re.findall(r"(?<![A-Za-z_\d])\d+(?:\.\d+)?", entry.follows.how):
            assert Decimal(operand) in on_the_page, f"{entry.id}: {operand}"


def test_drift_comes_from_rounding_on_the_way():
    """Every number called drift is what the author's rounded operands give."""
    assert all(entry.follows.gives_printed for entry in entries("drift"))


def test_how_often_the_own_operands_lead_there():
    follows = [entry.follows for entry in entries("erratum")]
    assert sum(follow is not None and follow.gives_printed for follow in follows) == 72
    assert sum(follow is not None and not follow.gives_printed for follow in follows) == 107
    assert sum(follow is None for follow in follows) == 7


def test_the_attention_row_that_example_3_puts_in_the_wrong_place(findings):
    """The one erratum of Example 3 without operands: the print is the entry of the other row."""
    entry = load("example3").entry("example3.093")
    assert printed.gives_printed(entry, findings("example3")["example3.097"].value)


def test_example_5_agrees_once_the_row_is_copied():
    """Its author's declared shortcut explains all of its 28 wrong numbers, rounded or but for drift."""
    from examples.example5_feed_forward import run

    copied = run(row0="copied")
    wrong = [entry for entry in load("example5").entries if entry.verdict == "erratum"]
    assert len(wrong) == 28
    for entry in wrong:
        value = float(value_of(entry.what, copied))
        assert math.isclose(value, entry.copied_row, rel_tol=1e-12)
        assert printed.gives_printed(entry, value) or abs(value - float(entry.printed)) < 2.4e-5
    rest = [entry for entry in load("example5").entries if entry.verdict != "erratum"]
    assert all(np.isclose(np.ravel(value_of(entry.what, copied))[0], entry.exact, atol=1e-15) for entry in rest)


def test_every_erratum_has_one_root():
    for name in names():
        sheet = load(name)
        listed = [id for root in sheet.roots for id in root.entries]
        assert sorted(listed) == sorted(entry.id for entry in sheet.entries if entry.verdict == "erratum")
        assert {entry.root for entry in sheet.entries if entry.root} == {root.id for root in sheet.roots}


def test_the_page_in_the_repository_is_in_step():
    assert errata.PAGE.read_text(encoding="utf-8") == errata.page(), "run: handgrad errata -o examples/ERRATA.md"


def test_the_page_names_every_root_and_sets_the_shortcut_apart():
    page = errata.page()
    slips, shortcut = page.split("## A shortcut, not a slip")
    for name in names():
        for root in load(name).roots:
            assert (f"### {root.id}:" in slips) == (root.id not in errata.SHORTCUTS)
    assert "### E5-1" in shortcut
    numbers = {entry.what for name in names() for entry in load(name).entries if entry.verdict == "erratum"}
    assert all(f"`{what}`" in page for what in numbers)
