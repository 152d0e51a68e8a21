"""User text: visible, shortened, measured, escaped."""

from xml.dom import minidom

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograd.formula.text import abridged, clipped, columns, visible, xml


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("a\nb\tc", "a\\nb\\tc"),
        ("a\x00b", "a\\x00b"),
        ("abc\u202edef", "abc\\u202edef"),     # a direction override could turn a name round
        ("\ud800", "\\ud800"),                 # a lone surrogate has no bytes
        ("שלום", "שלום"),
        ("👩‍👧", "👩‍👧"),                            # joined emoji stay joined
        ("∂L/∂W₁ − 2×10⁻³", "∂L/∂W₁ − 2×10⁻³"),
    ],
)  # fmt: skip
def test_what_cannot_be_seen_is_spelled_out(text, shown):
    assert visible(text) == shown


@given(st.text())
def test_any_text_is_safe_in_xml(text):
    escaped = xml(text)
    element = minidom.parseString(f"<t a='{escaped}'>{escaped}</t>".encode()).documentElement
    assert element.getAttribute("a") == visible(text)
    assert "".join(node.data for node in element.childNodes) == visible(text)


def test_long_names_lose_their_middle():
    short = clipped("x" * 10_000)
    assert len(short) == 28 and "…" in short
    assert clipped("blocks.0.attention.query.weight", 20).endswith("ry.weight")
    assert clipped("short") == "short"


@pytest.mark.parametrize(("text", "width"), [("abc", 3), ("日本", 4), ("é", 1), ("−1.5×10⁻⁴", 9), ("", 0)])
def test_wide_characters_count_two(text, width):
    assert columns(text) == width


@pytest.mark.parametrize(
    ("formula", "shown"),
    [
        ("a * b", "a * b"),
        ("expand_dims(array(3×3)) * expand_dims(g)", "expand_dims(…) * expand_dims(g)"),
        ("f(a_long_name, another)[1] * (g − sum(g))", "f(…)[1] * (g − sum(g))"),
        ("a_name_without_any_brackets * another_one", "a_name_w…brackets * another_one"),
        ("the_learning_rate_of_one * weights_of_the_first_layer", "the_lear…_of_one * weight…layer"),
        ("a_function_with_a_very_long_name_that(x)", "a_function_with…ng_name_that(…)"),
        ('g * <b>&amp;"a"</b><script>alert(1)</script>', 'g * <b>&amp;"a"…ert(…)</script>'),
    ],
)
def test_a_formula_is_shortened_in_its_names_and_inside_its_brackets(formula, shown):
    assert abridged(formula, 31) == shown
