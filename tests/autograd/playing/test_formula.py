"""Formulas that are typed: what is understood, what is refused and where, and that Python code says the same."""

import contextlib
import io
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograd import OPS, Value
from autograd.playing.code import code, filled
from autograd.playing.formula import Apply, FormulaError
from autograd.playing.graph import MOST_ENTRIES, build
from autograd.playing.parser import DEEPEST, LONGEST, parse
from tests.sweep import sweep

NUMBERS = {"x": 0.7, "y": -1.3, "z": 2.0}


def value(text, **numbers):
    formula = parse(text)
    return build(formula, {name: (NUMBERS | numbers)[name] for name in formula.names}).data


# Each beside the same in Python's own words: the judge is Python, not our parser.
x, y, z = NUMBERS.values()
UNDERSTOOD = {
    "2x": 2 * x,
    "2 x y": 2 * x * y,
    "x^2": x**2,
    "x**2": x**2,
    "x²": x**2,
    "2x^2": 2 * x**2,
    "-x^2": -(x**2),
    "x^-2": x**-2,
    "2^3^x": 2 ** 3**x,
    "--x": x,
    "+x - -y": x + y,
    "tanh(x)": math.tanh(x),
    "x.tanh()": math.tanh(x),
    "(x + y).exp().tanh()": math.tanh(math.exp(x + y)),
    "2.5e-1x": 0.25 * x,
    ".5x": 0.5 * x,
    "2e x": 2 * math.e * x,
    "2π·x − y÷3": 2 * math.pi * x - y / 3,
    "3(x+1)(y-2)": 3 * (x + 1) * (y - 2),
    "tanh(x)(y)": math.tanh(x) * y,
    "x - y - z": x - y - z,
    "x / y / z": x / y / z,
    "x/(2y)": x / (2 * y),
    "x-(y-z)": x - (y - z),
    "where(x > 0, x, 0.1x)": x,
    "where(x ≤ 0, x, 0.1x)": 0.1 * x,
    "logsumexp([x, y])": math.log(math.exp(x) + math.exp(y)),
    "stack([x, y]).sum()": x + y,
    "sum([x, y], axis=0)": x + y,
    "einsum('i->', [x, y])": x + y,
    "[x, y] @ [y, z]": x * y + y * z,
    "-log(softmax([x, y] @ [[x, y], [z, x]])[1])": math.log(1 + math.exp((x * x + y * z) - (x * y + y * x))),
    "[[x, y], [z, x]].T[0][−1]^2": z**2,
    "stack([x, y, z])[0] - [[x, y], [z, x]][1, 0]": x - z,
    "maximum(x, 1/2) * 2**10": x * 1024,
}  # fmt: skip


@sweep("text", UNDERSTOOD)
def test_what_is_understood(text):
    assert value(text) == pytest.approx(UNDERSTOOD[text], rel=1e-15)


# The text, what is said, and the characters that are pointed at.
REFUSED = [
    ("", "it is empty", ""),
    ("  ", "it is empty", " "),
    ("x +", "something must follow '+'", "+"),
    ("x +* y", "did not expect '*'", "*"),
    ("x + )", "unmatched ')'", ")"),
    ("(x + (y)", "'(' is never closed", "("),
    ("[x, y", "'[' is never closed", "["),
    ("2 3x", "an operator is missing before '3'", "3"),
    ("1/2x", "two ways", "x"),
    ("x / 2(y)", "two ways", "("),
    ("sinn(x)", "did you mean sin", "sinn"),
    ("sin x", "sin is a function: write sin(...)", "sin"),
    ("x(y + 1)", "to multiply, write x * (...)", "x"),
    ("tanh()", "tanh() needs an argument, as in tanh(x)", "tanh"),
    ("x $ y", "cannot use '$'", "$"),
    ("x½", "cannot use '½'", "½"),
    ("x < y < z", "two things at a time", "<"),
    ("L = x", "has no '='", "="),
    ("sum(x, axis=0, x)", "come last", "x"),
    ("sum(x, axis=y)", "a setting is a plain number", "y"),
    ("sum(x, axis=0, axis=0)", "axis is given twice", "axis"),
    ("lambda + 1", "a word of Python", "lambda"),
    ("1e400 x", "too large", "1e400"),
    ("10**400 + x", "this is inf", "**"),
    ("9**9**9**9 * x", "this is inf", "**"),
    ("x / 0 + 1/0", "this is inf: it divides by 0", "/"),
    ("x + log(-1)", "this is nan: log has no value here", "log"),
    ("|x| + y", "write abs(x) for |x|", "|"),
    ("x if x > 0 else y", "write where(x > 0, a, b)", "if"),
    ("x", "computes nothing", "x"),
    ("2 + 3", "computes nothing", "2 + 3"),
    ("x.__class__", "cannot use '.__class__'", ".__class__"),
    ("x.T.real", "cannot use '.real'", ".real"),
    ("__import__('os').system('true')", "no function '__import__'", "__import__"),
    ("(lambda: x)()", "cannot use ':'", ":"),
    ("[x for x in y]", "a word of Python", "for"),
    ("[x, y] @ [x, y, z]", "do not chain", "@"),
    ("(" * 300 + "x" + ")" * 300, "nested too deeply", "("),
    ("x^" * 300 + "x", "nested too deeply", "x"),
    ("x+" * LONGEST + "x", "too long", None),
    ("x[0]", "cannot be indexed", "[0]"),
    ("[x, y][2]", "out of bounds", "[2]"),
    ("[x, y][y]", "picked by integers", "y"),
    ("[x, y][]", "which entry?", "["),
    ("fmax(x, y, z)", "fmax takes 2 inputs, as in fmax(x, y); got 3", "fmax"),
    ("broadcast_to(x, shape=(9999, 9999))", "entries at most", "broadcast_to"),
]  # fmt: skip


@sweep("text, said, where", REFUSED)
def test_what_is_refused_and_where(text, said, where):
    with pytest.raises(FormulaError) as refusal:
        value(text)
    error = refusal.value
    assert said in str(error)
    assert 0 <= error.at < error.end
    if where is not None:
        assert text[error.at : error.end] == where


def test_every_op_of_the_table_can_be_called():
    for name in OPS:
        assert parse(f"{name}(x)").parts[-1] == Apply(name, 1, 0)


def test_names_that_are_given_come_before_constants_and_functions():
    formula = parse("e * max", given={"e", "max"})
    assert formula.names == ["e", "max"] and build(formula, {"e": 3.0, "max": 5.0}).data == 15.0


def test_the_gradient_is_that_of_the_same_python():
    x, y = Value(0.7, name="x"), Value(-1.3, name="y")
    build(parse("tanh(2x y + x²)"), {"x": x, "y": y}).backward()
    slope = 1 - math.tanh(2 * 0.7 * -1.3 + 0.49) ** 2
    assert x.grad == pytest.approx(slope * (2 * -1.3 + 1.4)) and y.grad == pytest.approx(slope * 1.4)


# --- Python code ------------------------------------------------------------------------------------------------


def run(text, numbers):
    """What the code prints, by name."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), np.errstate(all="ignore"):
        exec(compile(filled(code(parse(text)), numbers), "copied", "exec"), {})
    return {line.split(" = ")[0]: float(line.split(" = ")[1]) for line in printed.getvalue().splitlines()}


@sweep("text", [*UNDERSTOOD, "L * L_", "print * Value + leaf - math", "2**70 * x", "(-2)^2 x", "0.1*3*x"])
def test_code_gives_the_same_numbers(text):
    formula = parse(text)
    leaves = {name: Value(NUMBERS.get(name, 1.5), name=name) for name in formula.names}
    root = build(formula, leaves)
    root.backward()
    found = run(text, {name: leaf.data for name, leaf in leaves.items()})
    top = next(iter(found))
    assert found.pop(top) == root.data
    assert found == {f"d{top}/d{name}": leaf.grad for name, leaf in leaves.items()}


# --- fuzzing ----------------------------------------------------------------------------------------------------

PIECES = [
    "x", "y", "z", "e", "π", "2", "0.5", "1e3", "+", "-", "*", "/", "**", "^", "²", "@", "<", "(", ")", "[", "]", ",",
    ".", ".T", "=", "axis=0", "'i->'", " ", *(f"{name}(" for name in sorted(OPS)),
]  # fmt: skip


def read(text):
    """Read and compute it, or refuse it at a place that exists."""
    try:
        formula = parse(text)
        root = build(formula, {name: 0.5 for name in formula.names})
    except FormulaError as error:
        assert 0 <= error.at < error.end and error.at <= max(0, len(text) - 1)
        assert str(error)
        return
    assert root.size <= MOST_ENTRIES
    compile(filled(code(formula), {name: 0.5 for name in formula.names}), "copied", "exec")


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused(text):
    read(text)


@pytest.mark.slow
@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
def test_any_pieces_are_read_or_refused(text):
    read(text)


@given(st.integers(1, 3 * DEEPEST), st.sampled_from(["tanh(", "(", "[", "-", "x^", "2x+", "x.exp().", "sum(x, axis=("]))
def test_any_depth_is_read_or_refused(depth, piece):
    read(piece * depth + "x" + ")" * depth)
