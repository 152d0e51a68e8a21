"""Sweeps run every case, name each that fails, and can be narrowed; the price of a test is told."""

from collections import Counter

import pytest

from tests import price
from tests.price import LISTED, REFUSED, Prices, summary
from tests.sweep import Part, run_all, slow_but, sweep


def part(*cases):
    return Part([(case,) for case in cases], str)


def test_every_case_is_run_and_every_failure_named():
    seen = []

    def test(case):
        seen.append(case)
        assert case[0] % 2

    with pytest.raises(ExceptionGroup, match="2 of 4 cases failed: 2, 4") as caught:
        run_all(test, part(1, 2, 3, 4))
    assert seen == [(1,), (2,), (3,), (4,)]
    assert [error.__notes__ for error in caught.value.exceptions] == [["in the case 2"], ["in the case 4"]]


def test_a_call_of_fail_is_a_failure_too():
    with pytest.raises(ExceptionGroup, match="1 of 1 cases failed"):
        run_all(lambda case: pytest.fail("no"), part(1))


def test_a_sweep_whose_cases_all_skip_is_skipped():
    with pytest.raises(pytest.skip.Exception, match="1: nothing here"):
        run_all(lambda case: pytest.skip("nothing here"), part(1, 2))
    run_all(lambda case: pytest.skip("not here") if case == (1,) else None, part(1, 2))


def test_words_narrow_the_cases_if_they_name_any():
    some = part("tanh 2,3", "tanh", "exp")
    some.narrow(["first_order"])
    assert len(some.cases) == 3
    some.narrow(["tanh", "or", "sin"])
    assert some.cases == [("tanh 2,3",), ("tanh",)]


@sweep("x, y", [(1, 2), (3, 4)], slow=lambda x, y: x == 3)
def swept_test(y, tmp_path, x):
    assert (x, y) == (1, 2)


def test_a_swept_test_keeps_its_fixtures_and_is_in_two_parts():
    (mark,) = swept_test.pytestmark
    first, rest = mark.args[1]
    assert (first.id, first.marks, rest.id, rest.marks) == ("first", (), "rest", (pytest.mark.slow,))
    swept_test(swept=first.values[0], tmp_path=None)
    with pytest.raises(ExceptionGroup, match="1 of 1 cases failed: 3-4"):
        swept_test(swept=rest.values[0], tmp_path=None)


def test_few_cases_stay_quick():
    quick, slow = slow_but(["a", "b"], ["a"])
    assert quick == "a" and slow.values == ("b",) and slow.marks == (pytest.mark.slow,)


def test_dear_tests_are_listed_dearest_first():
    spent = Counter({"a.py::cheap": 0.1, "b.py::dear": LISTED["quick"] + 0.1, "b.py::too dear": REFUSED + 1})
    total, files, *listed = summary(spent, Counter(browser=3.0), "quick")
    assert total.startswith("11 s of processor time") and total.endswith(": 3 tests 8 s, browser 3 s")
    assert files == "dearest files: b.py 8.1 s, a.py 0.1 s"
    assert "::too dear: FAILED, make" in listed[0] and "::dear: make" in listed[1] and len(listed) == 2


def test_what_is_shared_is_billed_apart(monkeypatch):
    monkeypatch.setattr(price, "processor_time", iter([3.0, 10.0]).__next__)
    prices = Prices()
    prices.start = 2.0
    with prices.bill("the browser", unseen=4.0):
        pass
    assert prices.unsaid == {"the browser": 11.0} and prices.start == 9.0  # the test itself goes on at 10: 1 s
