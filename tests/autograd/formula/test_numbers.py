"""Numbers as a learner reads them: four digits, short when exact, one notation a table."""

import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograd.formula.numbers import Notation, as_printed, cell, count, full, literal, rough, short, span, table

finite = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.1, "0.1"),                      # exactly short prints short
        (100.0, "100"),
        (0.1 * 0.1, "0.01"),               # a rounding error of the last bit is not the learner's business
        (np.float32(0.1), "0.1"),          # in its own precision
        (np.longdouble(2) / 3, "0.6667"),  # of which Decimal knows nothing
        (2 / 3, "0.6667"),
        (0.002499999, "0.002500"),         # trailing zeros say "rounded"
        (9.99996, "10.00"),                # rounding up may add a digit
        (0.00017678, "1.768×10⁻⁴"),        # below 0.001 a power of ten
        (123456.0, "1.235×10⁵"),
        (99999.0, "99999"),
        (-2.0, "−2"),                      # a true minus
        (-0.0, "0"),
        (math.nan, "NaN"),
        (math.inf, "∞"),
        (-math.inf, "−∞"),
        (5e-324, "4.941×10⁻³²⁴"),
        (3, "3"),
        (1_000_000, "1000000"),            # integers are exact
        (True, "True"),
    ],
)  # fmt: skip
def test_a_lone_number(number, text):
    assert short(number) == text


@given(st.floats(-1e308, 1e308))
def test_what_is_printed_reads_back(number):
    """Printed, read and printed again, a number does not change; it was rounded by half of its last digit at most."""
    read = as_printed(number)
    assert math.isclose(as_printed(read), read, rel_tol=1e-15)
    assert math.isclose(read, number, rel_tol=0.5e-3, abs_tol=5e-324) and as_printed(-number) == -read
    assert as_printed(np.array([number])).tolist() == [read]


def test_tables_read_back_as_they_print():
    assert as_printed([[2 / 3, 0.1], [1e-9, -math.inf]]).tolist() == [[0.6667, 0.1], [0, -math.inf]]
    assert as_printed([1.76776e-4, 0.0]).tolist() == [1.768e-4, 0]
    assert as_printed(np.float32(0.1)) == np.float32(0.1) and np.isnan(as_printed(math.nan))
    assert as_printed(1_234_567) == 1_234_567 and as_printed(True) is True


def test_the_largest_entry_decides_for_the_whole_table():
    assert str(table([[0.1, 0.0], [0.00707106, 1e-9]])) == "[[0.1, 0], [0.0071, ≈0]]"
    assert str(table([[0.0, 0.0], [1.7678e-4, -1.7678e-4]])) == "[[0, 0], [1.768, −1.768]]×10⁻⁴"


def test_a_number_that_rounds_to_0_has_no_power_of_ten():
    written = Notation(-6, 5)
    assert cell(2.9e-9, written=written).text == "0.0029×10⁻⁶" and cell(1e-13, written=written).text == "≈0"


def test_zeros_and_bad_entries_are_marked():
    (row,) = table([0.0, -0.0, math.nan, 1.0]).rows
    assert [cell.kind for cell in row] == ["zero", "zero", "bad", "number"]
    assert [cell.kind for cell in table([0.0, math.inf]).rows[0]] == ["zero", "bad"]


def test_columns_align_on_the_point():
    # [1      10.25]
    # [0.13    2   ]: before the point 1 and 2 characters, from the point on 3 and 3
    assert table([[1.0, 10.25], [0.13, 2.0]]).columns == [(1, 3), (2, 3)]


@given(st.lists(finite, min_size=1, max_size=6))
def test_a_table_never_shows_a_nonzero_as_zero_nor_mixes_notations(numbers):
    shown = table(numbers)
    for number, one in zip(numbers, shown.rows[0]):
        assert (one.text == "0") == (number == 0)
        assert "×" not in one.text and "e" not in one.text and "-" not in one.text


@given(finite)
def test_the_printed_number_is_within_half_a_digit(number):
    text = short(number).replace("−", "-").replace("≈", "")
    digits, _, power = text.partition("×10")
    superscripts = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
    exponent = int(power.translate(superscripts)) if power else 0
    read, exact = Decimal(f"{digits}e{exponent}"), Decimal(number)
    assert abs(read - exact) <= abs(exact) * Decimal("0.0005001")


@given(finite)
def test_full_pastes_back_into_python(number):
    assert eval(full(number)) == number


def test_full_of_an_array_is_a_list():
    assert eval(full(np.array([[1.5, -2.0]]))) == [[1.5, -2.0]]


def test_factor_brackets_negatives():
    assert (literal(-2.0), literal(2.0)) == ("(−2)", "2")


def test_norms_ranges_and_counts():
    assert rough(0.041234) == "0.0412"
    assert span(-0.0812, 0.0791) == "−0.0812 … 0.0791"
    assert count(793088) == "793\u2009088"


def test_more_digits_on_request():
    assert short(2 / 3, 7) == "0.6666667"


def test_rank_three_is_refused_with_a_way_out():
    with pytest.raises(ValueError, match=r"got shape \(2, 2, 2\).*x\[0\]"):
        table(np.zeros((2, 2, 2)))


def test_integers_are_never_rounded():
    assert str(table(np.array([123456, -7]))) == "[123456, −7]"
