"""The table of what people type: Python's reader and the pages' read every formula alike."""

import json
import math

import pytest

from autograd.formula import grammar
from autograd.playing.formula import Apply, FormulaError, Number
from autograd.playing.page import SAMPLES
from autograd.playing.parser import parse
from tests.node import in_node

SCRIPTS = [f"autograd/stepping/page/assets/{name}" for name in ("program.js", "typed.js")]
RIGHT = [
    *(sample.formula for sample in SAMPLES if "[" not in sample.formula), "2x", "2(x+1)", "x²",
    "x^-2", "-x**2", "2**3**2", "a/b*c", "--x", "1.5e-3*x", "π*x", "e", "maximum(x, y)", ".5x", "a·b÷2", "3.", " x+y ",
    *(f"{name}({', '.join('xy'[:count])})" for name, count in grammar.FUNCTIONS.items()),
]  # fmt: skip
WRONG = ["", "x₁*2", "x +", "(x", "x)", "x $ y", "1/2x", "sin", "sin x", "nope(x)", "x(2)", "|x|", "2 3", "x,", "*x",
         "sin(x", "1e999", "sin(x, y)", "maximum(x)", "(" * 60 + "x"]  # fmt: skip


def by_python(text):
    try:
        parts = parse(text).parts
    except FormulaError as error:
        return ["error", error.at, error.end]
    return [[part.op, part.count, part.at] if isinstance(part, Apply) else [float(part.value), part.at]
            if isinstance(part, Number) else [part.name, part.at] for part in parts]  # fmt: skip


@pytest.fixture(scope="module")
def by_the_page():
    code = f"""const reader = typed({json.dumps(grammar.table())}), rows = part =>
      part.op ? [part.op, part.count, part.at] : [part.number ?? part.name, part.at];
    return Object.fromEntries({json.dumps(RIGHT + WRONG)}.map(text => {{
      try {{ return [text, reader.read(text).map(rows)]; }}
      catch (e) {{ return [text, ["error", e.at, e.end, e.message]]; }}
    }}));"""
    return in_node(code, *SCRIPTS)


@pytest.mark.parametrize("text", RIGHT)
def test_the_page_reads_a_formula_as_python_does(by_the_page, text):
    assert by_the_page[text] == by_python(text)


@pytest.mark.parametrize("text", WRONG)
def test_the_page_finds_the_same_mistakes(by_the_page, text):
    found = by_the_page[text]
    assert found[0] == "error" and found[3]
    if text not in ("sin(x, y)", "maximum(x)"):  # there Python's reader leaves the count to the op
        assert found[:2] == by_python(text)[:2]


def test_a_number_is_worked_out():
    texts = {"1/2": 0.5, "sqrt(2)": math.sqrt(2), "-3e-2": -0.03, "0,5": 0.5, "2^-3": 0.125, "1.8×10^-4": 1.8e-4}
    code = f"const reader = typed({json.dumps(grammar.table())}); return {json.dumps(list(texts))}.map(reader.number)"
    assert in_node(code, *SCRIPTS) == pytest.approx(list(texts.values()), rel=1e-15)


def test_what_is_no_number_is_none():
    tried = "['', 'x', '1,2,3', 'sin', '--'].map(reader.number)"
    code = f"const reader = typed({json.dumps(grammar.table())}); return {tried}"
    assert in_node(code, *SCRIPTS) == [None] * 5  # NaN in JSON
