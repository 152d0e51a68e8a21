"""Colours: readable in both themes, apart for every eye, and attributes that need no style sheet."""

import re

import pytest

from autograd.drawing.paint import theme
from tests.sweep import sweep

ROLES = ("parameter", "input", "constant", "result", "output", "module")
TEXTS = [("ink", fill) for fill in ("surface", "panel", *(f"{role}-fill" for role in ROLES))]
TEXTS += [("muted", fill) for fill in ("surface", "panel", "scope-fill", *(f"{role}-fill" for role in ROLES))]
TEXTS += [("grad", "grad-fill"), ("grad", "surface"), ("bad", "surface"), ("bad", "grad-fill"), ("ink", "now-fill"),
          ("change", "surface"), ("parameter-line", "parameter-fill"), ("input-line", "input-fill")]  # fmt: skip
LINES = [(f"{role}-line", "surface") for role in ROLES] + [
    ("line", "surface"),
    ("grad-line", "surface"),
    ("bad", "surface"),
]


def luminance(colour):
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(a, b):
    light, dark = sorted((luminance(a), luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("which", [theme.LIGHT, theme.DARK])
@sweep("text, fill", TEXTS)
def test_text_is_readable(text, fill, which):
    assert contrast(theme.TOKENS[text][which], theme.TOKENS[fill][which]) >= 4.5


@pytest.mark.parametrize("which", [theme.LIGHT, theme.DARK])
@sweep("line, fill", LINES)
def test_lines_that_mean_something_are_visible(line, fill, which):
    assert contrast(theme.TOKENS[line][which], theme.TOKENS[fill][which]) >= 3


def test_every_rule_with_a_variable_is_for_screens_only():
    outside = re.sub(r"@media screen[^{]*\{(?:[^{}]*\{[^{}]*\})*\}", "", theme.css())
    assert "var(" not in outside and "--hg" not in outside


def test_recolouring_goes_by_class_not_by_colour():
    svg = f"<rect {theme.outline('result-fill', 'result-line', 1)}/><path {theme.fill('surface')}/>"
    dark = theme.recoloured(svg, "dark")
    assert theme.TOKENS["result-fill"][theme.DARK] in dark and theme.TOKENS["surface"][theme.DARK] in dark
    assert "#FFFFFF" not in dark  # both were white in light, and differ in dark
