"""Every printed number of the worksheets, held against the engine."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest

from examples.checking import verdict
from examples.checking.judge import second_opinion
from examples.checking.names import value_of
from examples.checking.sheet import load, names


@pytest.mark.parametrize("name", names())
def test_the_engine_bears_out_every_verdict(name, findings, record_property):
    wrong = {}
    for entry in load(name).entries:
        record_property("worksheet verdict", (entry.sheet, entry.verdict))      # counted in the table at the end
        finding = findings(name)[entry.id]
        near = math.isclose(finding.value, entry.exact, rel_tol=1e-11, abs_tol=1e-15)
        if finding.complaints or not near:
            wrong[entry.id] = finding.complaints or (finding.value, entry.exact)
    assert not wrong


def test_there_are_936_numbers_750_right_and_186_wrong():
    sheets = [load(name) for name in names()]
    assert sum(len(sheet.entries) for sheet in sheets) == 936
    assert sum(sheet.count("exact", "rounded", "drift") for sheet in sheets) == 750
    assert sum(sheet.count("erratum") for sheet in sheets) == 186


@pytest.mark.parametrize("name", names())
def test_the_judge_alone_finds_the_exact_values(name):
    """The 50-digit judge, who shares nothing with the engine, agrees with the data as well."""
    opinion = second_opinion(name)
    for entry in load(name).entries:
        judged = float(np.ravel(value_of(entry.what, opinion))[0])
        assert math.isclose(judged, entry.exact, rel_tol=1e-12, abs_tol=1e-15), entry.id


@pytest.mark.parametrize("name", names())
def test_every_gradient_that_run_returns_agrees_with_the_judge(name, quantities):
    """Also the gradients no worksheet prints."""
    found, opinion = quantities(name), second_opinion(name)
    for key in (key for key in opinion if key.startswith("dL/d") and "(" not in key and "^" not in key):
        theirs = np.asarray(opinion[key], dtype=float)
        np.testing.assert_allclose(found[key], theirs, rtol=1e-10, atol=1e-16, err_msg=key)


@pytest.mark.parametrize("name", names())
def test_run_returns_plain_numbers(name, quantities):
    for key, value in quantities(name).items():
        assert isinstance(value, int | float | np.ndarray), f"{key}: {type(value)}"


@pytest.mark.parametrize("name", names())
def test_a_wrong_number_is_noticed(name, findings):
    """Move the engine's number by a millionth of itself: no verdict survives that."""
    for finding in findings(name).values():
        moved = finding.value * (1 + 1e-6) + 1e-9
        assert not verdict._finding(load(name), finding.entry, moved, finding.judged).ok


def test_a_wrong_print_is_noticed(findings):
    """Exchange two verdicts and the check objects."""
    sheet = load("example4")
    right, wrong = sheet.entry("example4.137"), sheet.entry("example4.087")
    right_as_wrong, wrong_as_right = copy.copy(right), copy.copy(wrong)
    object.__setattr__(right_as_wrong, "verdict", "erratum")
    object.__setattr__(wrong_as_right, "verdict", "rounded")
    object.__setattr__(wrong_as_right, "rounding", "nearest")
    for entry in (right_as_wrong, wrong_as_right):
        finding = findings("example4")[entry.id]
        assert not verdict._finding(sheet, entry, finding.value, finding.judged).ok
