"""A formula that is typed on a page without a server: its numbers and gradients are those of Python."""

import json

import pytest

from autograd import Value, step
from autograd.formula.numbers import LIMITS
from autograd.playing import field
from autograd.playing.graph import build
from autograd.playing.page import SAMPLES
from autograd.playing.parser import parse
from tests.node import in_node

PAGE, PLAY = "autograd/stepping/page/assets", "autograd/playing/assets"
SCRIPTS = [*(f"{PAGE}/{name}.js" for name in ("numbers", "program", "typed", "digits", "lines")),
           *(f"{PLAY}/{name}.js" for name in ("layout", "field"))]  # fmt: skip
NUMBERS = {"a": 0.7, "b": -1.3, "c": 2.1, "x": 0.4, "w": 1.9, "y": -0.6, "x1": 0.2, "w1": -1.1, "x2": 1.4, "w2": 0.8}
SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/", "power": "**"}


def of_each_op():
    """Every op of the grammar, on variables and constants, with something after it."""
    for name, kinds in field.cases():
        inputs = [{"v": letter, "c": "2.5"}[kind] for kind, letter in zip(kinds, "cx")]
        if name in SIGNS:
            yield f"3 * ({f' {SIGNS[name]} '.join(inputs)})"
        else:
            yield f"3 * -{inputs[0]}" if name == "neg" else f"3 * {name}({', '.join(inputs)})"


FORMULAS = [
    *of_each_op(), *(sample.formula for sample in SAMPLES),
    "a*a*a", "x^2 - 2x*y + sqrt(c)/(1+exp(-w))", "t1*a + t1^2", "L * a", "2^3 * x * pi", "abs(b) - minimum(a, b)",
]  # fmt: skip


@pytest.fixture(scope="module")
def pages():
    """What the page makes of each formula: the numbers and gradients by name, and the text of every line."""
    return in_node(f"""
        const limits = {json.dumps(LIMITS._asdict())};
        globalThis.limits = limits;
        const made = formulas({json.dumps(field.patterns())}), given = {json.dumps(NUMBERS)};
        return {json.dumps(FORMULAS)}.map(text => {{
          const {{ data, code, graph }} = made.pageOf(text, given), page = new program.Program(data.live);
          const known = Object.entries(data.live.names).map(([name, [value, gradient]]) =>
            [name, [page.read(value)[0], gradient < 0 ? null : page.read(gradient)[0]]]);
          const told = data.views[0].steps.flatMap(({{ numbers }}) => {{
            const spelling = new lines.Spelling(page, numbers);
            return numbers.lines.map(number => spelling.text(number));
          }});
          const panels = data.views[0].steps.map(step => step.panel).join("");
          return [Object.fromEntries(known), told, code, panels + graph];
        }});""", "autograd/stepping/page/assets/states.js", *SCRIPTS)  # fmt: skip




def test_numbers_and_gradients_are_those_of_python(pages):
    for text, (known, *_) in zip(FORMULAS, pages, strict=True):
        formula = parse(text)
        leaves = {name: Value(known[name][0], name=name) for name in formula.names}
        root = build(formula, leaves)
        if root.requires_grad:
            root.backward()
        top = "f" if "L" in leaves else "L"
        assert known[top][0] == pytest.approx(root.data, rel=1e-13), text
        for name, leaf in leaves.items():
            found = known[name][1]
            assert (found or 0.0) == pytest.approx(leaf.grad or 0.0, rel=1e-12), (text, name)


def test_lines_are_those_of_python(pages):
    """Where no constant is simplified away, each line of arithmetic is Python's, digit for digit."""
    _, told, *_ = pages[FORMULAS.index("tanh(a*b + a^2)")]
    a, b = Value(NUMBERS["a"], name="a"), Value(NUMBERS["b"], name="b")
    root = (a * b + a**2).tanh()
    ours = [c.numbers for one in step(root) for c in one.contributions] + [
        one.numbers for one in step(root) if one.kind == "forward"
    ]
    squares = {line for line in ours if "²" not in line and "2 ×" not in line and "×" in line}
    assert squares <= set(told), (squares - set(told), told)


def test_no_pattern_is_left_open(pages):
    """Every name and every place of the patterns was filled."""
    for text, (_, told, _, html) in zip(FORMULAS, pages, strict=True):
        assert not [letter for letter in html if "\u4e00" <= letter <= "\u9fff"], text
        assert told and "undefined" not in html + "".join(told) and "NaN" not in html, text


def test_what_is_copied_runs(pages, capsys):
    for text, (known, _, code, _) in zip(FORMULAS, pages, strict=True):
        filled = "".join(part if isinstance(part, str) else repr(known[part["value"]][0]) for part in code)
        exec(compile(filled, "copied", "exec"), {})
        top = "f" if text == "L * a" else "L"
        assert float(capsys.readouterr().out.splitlines()[0].split("= ")[1]) == pytest.approx(known[top][0], rel=1e-13)


def test_what_cannot_be_read_is_said_at_its_place():
    said = in_node(f"""
        const made = formulas({json.dumps(field.patterns())});
        return ["", "2 + 3", "a +", "foo(a)", "1/0 * a", "{'+'.join(f'x{i}' for i in range(60))}"].map(text => {{
          try {{ made.pageOf(text); return "read"; }} catch (error) {{
            return error instanceof made.Mistake ? [error.message, error.at] : String(error.stack); }}
        }});""", *SCRIPTS)  # fmt: skip
    assert [message.partition(";")[0] for message, _ in said[:5]] == [
        "it is empty", "it computes nothing from a variable", "something must follow '+'",
        "there is no function 'foo' here", "this is Infinity: it divides by 0",
    ]  # fmt: skip
    assert "cards" in said[5][0]
