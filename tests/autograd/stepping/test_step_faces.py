"""The stepper's other faces: text, keys in a terminal, the command line, notebooks, mathematics."""

import io
import os
import re
import select
import subprocess
import sys
import xml.etree.ElementTree as ET
from types import SimpleNamespace
from urllib.parse import unquote

import numpy as np
import pytest

import autograd as ag
import nn
from autograd import Value, cli, step
from autograd.errors import StepError
from autograd.formula.numbers import table
from autograd.formula.text import columns
from autograd.formula.writers.html import BREAK, MathML, grouped, math, symbol_mathml
from autograd.formula.writers.latex import Latex
from autograd.formula.writers.pieces import units
from autograd.stepping.faces.notebook import page_in
from autograd.stepping.faces.picture import describe_step
from autograd.stepping.faces.terminal import Player, describe
from autograd.stepping.page.panel import Panels
from examples import example3_full_backprop


def written(thing, writer=MathML):
    """The last line of a step, or a contribution's own, by one of the writers."""
    step_, line = (thing, thing.lines[-1]) if hasattr(thing, "kind") else (thing.step, thing.line)
    return writer(step_.words.top, step_.words.symbol).write(line.formula).replace(BREAK, "")


def small():
    a, b = Value(2.0, name="a"), Value(-3.0, name="b")
    loss = ag.tanh(a * b + a)
    loss.name = "loss"
    return loss


def test_maths_says_what_is_done_to_each_entry_and_brackets_names():
    x, odd = Value([[1.0, 2.0], [3.0, 4.0]], name="x"), Value(2.0, name="a-b")
    square, scaled = step((x**2 * odd).sum())[:2]
    assert written(square) == "<msup><mrow><mi>x</mi></mrow><mrow><mo>⊙</mo><mn>2</mn></mrow></msup>"
    assert written(square, Latex) == r"{x}^{\odot 2}" and written(step(odd**2)[0], Latex).endswith("^{2}")
    brackets = '<mo stretchy="false">(</mo><mi mathvariant="normal">a-b</mi><mo stretchy="false">)</mo>'
    assert brackets in written(scaled) and r"\left(\text{a-b}\right)" in written(scaled, Latex)


def test_a_page_raises_the_sign_of_a_transpose_and_of_a_power():
    turned, squared = step((Value([[1.0, 2.0], [3.0, 5.0]], name="k").T ** 2).sum())[:2]
    for one, sign in ((turned, "ᵀ"), (squared, "^⊙2")):
        assert f'</span><span class="hg-op hg-raised">{sign}</span>' in grouped(one.in_numbers(one.lines[-1]))


def test_latex_turns_the_numbers_of_a_transpose_after_the_sign():
    text = step((Value([[1.0, 2.0], [3.0, 5.0]], name="k").T).sum()).latex()
    matrix = r"\begin{bmatrix} 1 & %s \\ %s & 5 \end{bmatrix}"
    assert rf"{{{matrix % (2, 3)}}}^\top = {matrix % (3, 2)}" in text


# --- text -------------------------------------------------------------------------------------------------------


def test_tables_stand_side_by_side():
    text = str(step(example3_full_backprop.graph())[26])
    assert text.splitlines()[1:3] == [
        "    arrives  ∂L/∂K = ⎡0   1.768⎤",
        "                     ⎣0  −1.768⎦×10⁻⁴",
    ]
    assert "to X   ∂L/∂X += ∂L/∂K @ WK.T   path 2 of 3" in text
    assert "⎣0  −1.768⎦×10⁻⁴   ⎣0    0.1⎦   ⎣0  −0.00001768⎦" in text  # in the scale of the sum it is added to
    assert "⎣0.00125753  −0.00376010⎦   ⎣0  −0.00001768⎦   ⎣0.00125753  −0.00377778⎦" in text


def test_wide_lines_wrap_before_the_equals_sign():
    x = Value(np.arange(16.0).reshape(4, 4) / 700, name="x")
    lines = str(step((x @ x * x).sum())).splitlines()
    assert all(len(line) <= 100 for line in lines)
    assert any(line.strip().startswith("≈ ⎢") for line in lines)
    exact = Value(np.full((4, 4), 0.1001), name="exact")
    lines = str(step((exact + exact).sum())).splitlines()
    assert any(line.strip().startswith("= ⎢") for line in lines)


def long_rules():
    x = Value(np.arange(6.0).reshape(2, 3) / 7, name="x")
    gamma, beta = Value(np.ones(3), name="gamma"), Value(np.zeros(3), name="beta")
    y = ag.layer_norm(ag.softmax(x * 2 + np.arange(3.0)), gamma, beta)
    y.name = "y"
    with ag.record_lines():
        return (y * x).sum()


@pytest.mark.parametrize("width", [100, 80, 60])
def test_long_rules_wrap_at_the_width_and_lose_nothing(width):
    for one in step(long_rules()):
        text = describe(one, width=width)
        assert all(columns(line) <= width for line in text.splitlines() if "test_step_faces.py" not in line)
        unbroken = "".join(text.split())
        rules = [contribution.own_symbols for contribution in one.contributions]
        assert all("".join(rule.split()) in unbroken for rule in rules)
        named = one.lines[: -len(one.contributions) or None]
        assert all(f"{''.join(line.result.name.split())}=" in unbroken for line in named)
        wide = describe(one, width=10_000)
        assert all(text.count(sign) == wide.count(sign) for sign in "()⎡⊙−+×≈^")
        assert not re.search(r"[⊙×+−=≈] *$", text, re.MULTILINE)  # a line begins with a sign, it does not end with one


def test_a_long_rule_is_lines_each_before_it_is_used():
    one = next(one for one in step(long_rules()) if one.kind == "backward" and one.name == "y")
    names = [line.result.name for line in one.lines]
    assert names[:-3] == ["ĝ", "m₁", "μ", "c", "σ²", "σ", "x̂", "m₂", "u"]
    lines = describe(one).splitlines()
    assert "    u = ĝ − m₁ − x̂ * m₂" in lines and "    to t1   ∂L/∂t1 += u / σ   only path" in lines


def test_the_player_fills_the_width_there_is():
    screen = io.StringIO()
    player = Player(step(long_rules()), screen, colour=False, width=lambda: 60)
    player.do_end()
    player.do_why()
    player.show()
    assert max(map(columns, screen.getvalue().splitlines()[1:])) <= 60


def test_every_face_says_where_it_rounds():
    x = Value(np.array([[1 / 3, 0.5], [0.25, 0.2]]), name="x")
    (scaled, *_) = steps = step((x * 3.0).sum())
    assert scaled.numbers == "[[0.3333, 0.5], [0.25, 0.2]] × 3 ≈ [[1, 1.5], [0.75, 0.6]]"
    assert str(scaled).splitlines()[1] == "    x * 3 = ⎡0.3333  0.5⎤ × 3 ≈ ⎡1     1.5⎤"
    panel = Panels(steps).panel(scaled)
    assert '<span class="hg-op">≈</span>' in panel
    entries = re.findall(r'hg-arith.*?<span class="hg-op">([=≈])</span><span[^>]*>([\d.]+)<', panel)
    assert entries == [("=", "1.5"), ("≈", "1"), ("=", "0.75"), ("=", "0.6")]


def test_arrays_up_to_8_by_8_are_shown_in_full():
    """`· [3×5, norm 0.787]` hid most of a small model."""
    for shape in (2, 5), (3, 5), (1, 8), (8,), (8, 8), (4, 8, 8), (2, 3, 4):
        x = Value(np.arange(1.0, 1 + np.prod(shape)).reshape(shape) / 2, name="x")
        steps = step((x * x).sum())
        panel, drawn = Panels(steps).panel(steps[0]), "".join(map(steps.svg, range(len(steps))))
        for text in str(steps), steps.latex(), panel, drawn:
            assert "norm" not in text and "range" not in text, shape
            cells = [cell.text for row in table(x.data.reshape(-1, shape[-1])).rows for cell in row]
            assert all(cell in text for cell in cells), shape


def test_a_larger_array_shows_a_window():
    x = Value(np.arange(270.0).reshape(10, 27), name="x")
    steps = step((x * 2.0).sum())
    for text in str(steps), steps.latex().replace("--", "–"), Panels(steps).panel(steps[0]), steps.svg(0):
        assert "rows 0–7 of 10, columns 0–7 of 27" in text and "norm" not in text
        assert "196" in text and "197" not in text  # 7 · 27 + 7 is the last


def test_only_gradients_are_orange():
    x = Value(np.array([[0.5, 2.0]]), name="x")
    steps = step((x * x).sum())
    forward, backward = (Panels(steps).panel(steps[index]) for index in (0, -1))
    assert "hg-arith" in forward and "hg-gr" not in forward
    assert "hg-num hg-gr hg-new" in backward


# --- mathematics ------------------------------------------------------------------------------------------------


def test_mathml_is_well_formed_for_every_rule():
    for one in step(example3_full_backprop.graph()):
        for contribution in one.contributions:
            element = ET.fromstring(math(written(contribution), spoken=contribution.symbols))
            assert [part.tag for part in element] == ["math"] * len(element)
            assert element[0].attrib["aria-label"] == contribution.symbols


def test_names_become_mathematics():
    assert symbol_mathml("WK") == "<msub><mi>W</mi><mi>K</mi></msub>"
    assert symbol_mathml("x12") == "<msub><mi>x</mi><mn>12</mn></msub>"
    assert symbol_mathml("Wh") == "<msub><mi>W</mi><mi>h</mi></msub>" and "msub" not in symbol_mathml("ln")
    assert symbol_mathml("gamma") == "<mi>γ</mi>"
    assert symbol_mathml("m₂") == "<msub><mi>m</mi><mn>2</mn></msub>"
    assert "<script>" not in symbol_mathml("<script>")


def test_axes_are_counted_from_the_front():
    x = Value(np.arange(8.0).reshape(2, 2, 2), name="x")
    first, *_ = step((x.sum(axis=-1) * 2.0).sum())
    assert first.reading == "sum(x, axis=2)"
    assert "<munder><mo>∑</mo><mtext>each row</mtext></munder>" in written(first)
    middle, *_ = step((x.sum(axis=1) * 2.0).sum())
    assert "<munder><mo>∑</mo><mtext>axis 1</mtext></munder>" in written(middle)
    matrix = Value(np.ones((2, 3)), name="matrix")
    for axis, word in ((0, "each column"), (-1, "each row")):
        assert f"<mtext>{word}</mtext>" in written(step(matrix.sum(axis=axis).sum())[0])


def test_a_sum_that_undoes_broadcasting_names_its_axes():
    x, gamma, beta = Value(np.ones((2, 3)), name="x"), Value(np.ones(3), name="gamma"), Value(np.zeros(3), name="beta")
    sent = [one.symbols for one in step(ag.layer_norm(x, gamma, beta).sum())[-1].contributions]
    assert sent[-1] == "∂L/∂beta += sum(∂L/∂t1, axis=0)"


def test_a_long_expression_keeps_its_brackets():
    x, gamma, beta = Value(np.ones((2, 3)), name="x"), Value(np.ones(3), name="gamma"), Value(np.zeros(3), name="beta")
    readings = [one.reading for one in step(ag.layer_norm(x * 2 + np.arange(3.0), gamma, beta).sum())]
    assert "t1 = layer_norm(x * 2 + […], gamma, beta)" in readings


def test_a_partial_derivative_is_by_one_operand():
    v = Value(3.0, name="v")
    both = step(ag.exp(v * v))[-1].contributions
    assert [sent.operand for sent in both] == ["first v", "second v"]
    (alone,) = step(ag.exp(v * 2.0))[-1].contributions
    assert alone.operand == "v"
    steps = step(ag.exp(v * v))
    text = re.sub(r"<[^>]+>", "", Panels(steps).panel(steps[-1]))
    assert "∂(v·v)∂(first v)" in text and "∂(v·v)∂(second v)" in text and "∂(v·v)∂v" not in text


def test_a_product_without_a_name_has_one_writing_in_all_of_mathematics():
    x, y = Value(np.eye(2), name="X"), Value(np.ones((2, 2)), name="Y")
    steps = step((x @ y.T / 3.0).sum())
    panels = "".join(map(Panels(steps).panel, steps))
    formulas = re.sub(r"<[^>]+>", "", " ".join(re.findall(r"<math.*?</math>", panels)))
    assert "∂(X·Y⊤)" in formulas and "@" not in formulas and ".T" not in formulas
    assert "X·Y⊤=X·Y⊤" not in formulas  # what has no name is not called by its formula first


def test_a_gradient_is_bracketed_before_it_is_turned():
    x, y = Value(np.eye(2), name="X"), Value(np.ones((2, 2)), name="Y")
    (turned,) = next(one for one in step((x @ y.T).sum()) if one.kind == "backward" and one.name == "Y.T").contributions
    assert re.sub(r"<[^>]+>", "", written(turned)) == "(∂L∂(Y⊤))⊤"
    assert written(turned, Latex).startswith(r"{\left(\frac{")


def shown_text(markup):
    return re.sub(r"<[^>]+>", "", markup)


def formula_of(one):
    return MathML(one.words.top, one.words.symbol).write_formula(one.lines[-1].formula).replace(BREAK, "")


def test_a_path_is_its_last_word_in_a_formula_unless_two_end_alike():
    x, scores = Value(np.eye(2), name="x"), Value(np.ones((2, 2)), name="up.scores")
    product = step((x @ scores).sum())[0]
    assert shown_text(formula_of(product)) == "x·scores" and "x @ up.scores" in product.reading
    alike = step((Value(np.eye(2), name="down.scores") @ scores).sum())[0]
    assert shown_text(formula_of(alike)) == "down.scores·up.scores"
    whose = step((x @ Value(np.ones((2, 2)), name="blocks.1.WV.weight")).sum())[0]
    assert shown_text(formula_of(whose)) == "x·WV.weight"  # it was `weight`, and there is one in every layer
    block = step((Value(1.0, name="blocks.0") * 2.0).exp())[0]
    assert shown_text(formula_of(block)) == "blocks.0·2"  # a number alone would say nothing


def test_a_long_name_is_shortened_in_a_formula_and_not_in_its_heading():
    name = "weights_of_the_first_layer_of_it"
    steps = step((Value(2.0, name=name) * 3.0).exp())
    panel = Panels(steps).panel(steps[-1])
    formulas = shown_text(" ".join(re.findall(r"<math.*?</math>", panel)))
    assert "weights_of…yer_of_it" in formulas and name not in formulas and f"<b>{name}</b>" in panel


def test_a_leaf_alone_has_nothing_to_step_through():
    told = Panels(step(Value(3.0, name="a"))).start()
    assert "nothing to compute" in told and "0 steps" not in told


def test_an_index_stands_in_its_own_brackets_only():
    x = Value(np.ones((3, 4)), name="X")
    (taken, _, _, back) = step(x[:, 1:3].sum())
    assert shown_text(written(taken)) == "X[:, 1:3]" and "X[:, 1:3]" in str(taken)
    assert back.contributions[0].symbols.endswith("at [:, 1:3], 0 elsewhere")


def test_a_long_formula_is_cut_before_its_signs_since_mathml_has_no_line_breaks():
    steps = step(long_rules())
    for one in steps:
        for formula in re.findall(r'<span class="hg-math">(.*?)</span>', Panels(steps).panel(one)):
            pieces = re.findall(r"<math.*?</math>", formula)
            assert "".join(pieces) == formula
            assert all(len(shown_text(piece)) <= 40 for piece in pieces)


def test_a_line_ends_between_the_sides_of_an_equation_first():
    a, b = Value(2.0, name="a"), Value(-3.0, name="b")
    steps = step((a * b + a**2).tanh())
    sides = re.findall(r'<span class="hg-math">(.*?)</span>', Panels(steps).panel(steps[4]))
    left, first, second = map(shown_text, sides[1:4])
    assert left.startswith("∂L") and first.startswith("+=∂L∂L·") and second == "=∂L∂L·(1−L2)"


def test_a_line_of_numbers_wraps_before_its_signs_in_a_page_too():
    pieces = max((c.pieces() for one in step(long_rules()) for c in one.contributions), key=len)
    assert len(pieces) > 5
    for unit in units(pieces):
        assert not (isinstance(unit[-1], str) and unit[-1].rstrip().endswith(tuple("⊙×+−·^")))


def test_latex():
    to_x, to_w = step(example3_full_backprop.graph())[26].contributions
    assert written(to_x, Latex) == r"\frac{\partial L}{\partial K}\, {W_{K}}^\top"
    assert written(to_w, Latex) == r"{X}^\top\, \frac{\partial L}{\partial K}"
    x = Value(2.0, name=r"\evil{$x_1")
    (sent,) = step(ag.log(x))[-1].contributions
    assert r"\textbackslash{}evil\{\$x\_1" in written(sent, Latex)


# --- keys -------------------------------------------------------------------------------------------------------


def played(keys, answers=(), loss=None):
    """What the screen showed after each key."""
    screen, pressed, asked = io.StringIO(), iter([*keys, "q", "q"]), iter(answers)
    player = Player(step(loss or small()), screen, lambda: next(pressed), lambda _: next(asked), colour=False)
    player.run()
    return re.split(r"^(?=loss = tanh)", screen.getvalue(), flags=re.M)[1:]


def test_keys_move():
    screens = played(["n", "\x1b[C", " ", "\x1b[D", "\x1b[F", "\x1b[H"])
    shown = [re.search(r"(\d+) of 6", screen)[1] for screen in screens]
    assert shown == ["0", "1", "2", "3", "2", "6", "0"]
    assert "Forward 2 of 3" in screens[2] and "Next: forward 3 of 3" in screens[2]


def test_the_next_step_asks_for_what_it_will_show():
    screens = played(["n"] * 5)
    assert "forward 1 of 3, a * b. What will it be?" in screens[0]
    assert "backward 1 of 3, loss = tanh(a * b + a). What will it send to a * b + a?" in screens[3]
    assert "backward 3 of 3, a * b. What will it send to a and b?" in screens[5]


def test_keys_past_the_ends_say_so():
    screens = played(["b", "\x1b[F", "n"])
    assert "no step has been done yet" in screens[1] and "all 6 steps are done" in screens[3]


def test_keys_go_to_names_and_numbers():
    screens = played(["g", "g", "g"], ["a", "2", "nonsense"])
    assert "Backward 3 of 3" in screens[1] and "Forward 2 of 3" in screens[2]
    assert "called 'nonsense'" in screens[3]


@pytest.mark.parametrize("typed", ["0", "-1", "7", "9999"])
def test_keys_go_to_no_step_outside_1_to_the_last(typed):
    screens = played(["n", "g"], [typed])
    assert f"there is no step {typed}: steps are numbered from 1 to 6" in screens[2]
    assert "1 of 6" in screens[2] and "6 of 6" not in screens[2]


def test_keys_ask_why_and_open():
    x = Value(np.array([1.0, 2.0]), name="x")
    probabilities = ag.softmax(x)
    loss = ag.tanh((probabilities * np.array([1.0, 3.0])).sum())
    loss.name = "loss"
    stepper = step(loss)
    screen, pressed = io.StringIO(), iter(["g", "w", "o", "n", "q", "q"])
    Player(stepper, screen, lambda: next(pressed), lambda _: "x", colour=False, width=lambda: 200).run()
    text = screen.getvalue()
    assert "nothing more can arrive" in text and "inside softmax(x)" in text and "one level up" in text


def test_colours_are_for_terminals_only():
    assert "\x1b" not in str(step(small()))
    screen = io.StringIO()
    pressed = iter(["n", "q"])
    Player(step(small()), screen, lambda: next(pressed)).run()
    assert "\x1b[1m" in screen.getvalue()


# --- the command line -------------------------------------------------------------------------------------------


def test_step_an_example(capsys):
    assert cli.main(["step", "example3", "--text"]) == 0
    text = capsys.readouterr().out
    assert text.count("Backward") == 14 and "mini_transformer.py:" in text


def test_goto_counts_from_1_to_the_last(capsys):
    for number, first in [("1", "Forward 1 of 14"), ("15", "Backward 1 of 14"), ("28", "Backward 14 of 14")]:
        assert cli.main(["step", "example3", "--text", "--goto", number]) == 0
        assert capsys.readouterr().out.startswith(first)


def test_step_a_file_to_a_page(tmp_path, capsys):
    script = tmp_path / "mine.py"
    script.write_text("from autograd import Value\nw = Value(2.0)\nloss = w * w\n", encoding="utf-8")
    assert cli.main(["step", f"{script}:loss", "--html", str(tmp_path / "step.html")]) == 0
    page = (tmp_path / "step.html").read_text(encoding="utf-8")
    assert "mine.py:3" in page and "open it in a browser" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["step", "example3", "--goto", "KK"], "did you mean K"),
        (["step", "example3", "--goto", "0"], "there is no step 0: steps are numbered from 1 to 28"),
        (["step", "example3", "--goto", "-1"], "there is no step -1: steps are numbered from 1 to 28"),
        (["step", "example3", "--goto", "29"], "there is no step 29: steps are numbered from 1 to 28"),
        (["step", "example3", "--collapse", "zzz"], "--collapse zzz: folds no module of this graph"),
        (["step", "none.py:loss"], "there is no file"),
        (["step", "example3", "--html", "no/such/folder.html"], "make it first"),
        (["play", "x*y", "x=2"], "what is y? Give it a number: y=2"),
        (["play", "sinn(x)", "x=2"], "did you mean sin"),
        (["play", "x*y", "x=1", "y=2", "z=4"], "'x*y' has no z: use it there or leave it out"),
        (["play", "x*2", "x=1", "y=2", "z=4"], "'x*2' has no y and z: use them"),
        (["play", "x +", "x=2"], "'x +': something must follow '+' (character 3)\n    x +\n      ^"),
        (["play", "x*", "x=2"], "something must follow '*' (character 2)"),
        (["play", " x^2 + )", "x=2"], "unmatched ')' (character 8)"),
        (["play", "x^2 y", "x=2"], "what is y? Give it a number: y=2 (character 5)"),
        (["play", " ", "x=2"], "it is empty"),
        (["play", "__import__('os').system('true')", "x=2"], "there is no function '__import__'"),
        (["play", "x.__class__", "x=2"], "cannot use"),
        (["play", "[x for x in y]", "x=2"], "for is a word of Python"),
        (["play", "x", "x=2"], "computes nothing"),
        (["play", "x*2", "x=two"], "must be a number"),
        (["play", "x*2", "2=3"], "NAME=NUMBER"),
        (["play", "(" * 300 + "x" + ")" * 300, "x=2"], "nested too deeply"),
        (["play", "x*" * 2000 + "x", "x=2"], "too long"),
        (["play", "A @ B", "A=[[1,2]]", "B=[[1,2]]"], "do not chain"),
        (["play", "x+10**400", "x=1"], "this is inf"),
        (["play", "9**9**9**9 * x", "x=1"], "this is inf"),
        (["play", "A.sum()", "A=[1,2]", "--browser"], "in the browser A must be one number"),
    ],
)
def test_mistakes_get_a_sentence(words, said, capsys):
    status = cli.main(words)
    error = capsys.readouterr().err
    assert status == 2
    assert said in error and "Traceback" not in error


@pytest.mark.parametrize(
    ("name", "says"),
    [("P(C)", "∂P(C)∂z says how much P(C) changes"), ("", "∂L∂z says how much L changes"),
     ("the last sum", "∂L∂z says how much L, which is short for the last sum, changes")],
)  # fmt: skip
def test_a_page_says_what_its_gradients_are_of(name, says):
    z = Value(np.array([0.3, 0.1]), name="z")
    p = z.softmax()[1]
    p.name = name
    steps = step(p)
    assert says.replace("∂z", "∂x") in re.sub("<[^>]*>", "", Panels(steps).start())
    inside = re.sub("<[^>]*>", "", Panels(steps.inside(3)).start())
    top = steps.words.top
    assert f"how much {top} changes" in inside and f"the gradient of {top} one card" in inside


def test_play_is_arithmetic(capsys):
    assert cli.main(["play", "x*y + sin(x)", "x=2", "y=3"]) == 0
    text = capsys.readouterr().out
    assert "now −0.4161 + 3 = 2.5839" in text
    assert cli.main(["play", "sum(W @ v) ^ 2", "W=[[1,2],[3,4]]", "v=[1,-1]", "--text"]) == 0
    assert "∂L/∂W" in capsys.readouterr().out


def test_play_shows_what_is_not_finite_and_warns_of_nothing_else(capsys):
    """Warnings are errors here, so one that came through would stop it."""
    assert cli.main(["play", "1 / x", "x=0"]) == 0
    assert "1 / 0 = ∞" in capsys.readouterr().out


def test_an_array_at_the_end_shows_the_forward_pass(capsys):
    assert cli.main(["play", "softmax(v)", "v=[1,2]"]) == 0
    text = capsys.readouterr().out
    assert "its forward pass alone" in text and "Backward" not in text


@pytest.mark.slow
def test_a_closed_pipe_is_no_error():
    command = f"{sys.executable} -m autograd step example3 | head -n 1"
    answer = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=120)
    assert answer.stderr == "" and answer.stdout.startswith("Forward 1 of 14")


# --- notebooks --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_notebook_gets_the_page_compressed_and_what_stands_in_for_it():
    steps = step(example3_full_backprop.graph())
    bundle = steps._repr_mimebundle_()
    html = bundle["text/html"]
    assert "Stepper of" in bundle["text/plain"] and bundle["text/latex"] == steps.latex()
    page = page_in(html)
    assert page.startswith("<!doctype html>") and bundle == step(example3_full_backprop.graph())._repr_mimebundle_()
    lines = [[line.strip() for line in text.splitlines()] for text in (page, steps.html())]
    whole = [[line for line in text if line and not line.startswith("//")] for text in lines]
    assert whole[0] == whole[1]


@pytest.mark.slow
def test_the_fallback_reads_well_without_style_or_script():
    html = step(example3_full_backprop.graph())._repr_mimebundle_()["text/html"]
    stripped = re.sub(r"<script>.*?</script>|<b hidden.*?</b>", "", html, flags=re.S)
    assert "<script" not in stripped and 0 < stripped.index("run the cell, or trust the notebook") < 100
    assert stripped.count("<th>") == 6 and '<td rowspan="2">14</td>' in stripped
    assert "<code>g @ WK.T</code>" in stripped
    assert "= [[0.00124867, −0.00371593], [0.00125753, −0.00377778]]" in stripped
    image = unquote(re.search(r'data:image/svg\+xml,([^"]*)', stripped)[1])
    assert ET.fromstring(image).tag.endswith("svg") and image.count("<circle") == 14


def test_forward_only_has_a_table_too():
    x = Value(np.array([1.0, 2.0]), name="x")
    html = step(ag.softmax(x), backward=False)._repr_mimebundle_()["text/html"]
    assert "<th>in numbers</th>" in html


@pytest.mark.slow
def test_the_live_widget_and_python_agree():
    pytest.importorskip("anywidget")
    widget = step(example3_full_backprop.graph()).widget()
    assert widget.position == 0 and widget.step is None and widget.page.startswith("<!doctype html>")
    assert widget.goto("K").node.name == "K" and widget.position == 27
    widget.position = 5  # as the page would
    assert widget.step.name == "score" and widget.stepper.position == 5
    widget.position = 9999
    assert widget.position == 28


def test_the_page_opens_where_the_cursor_is():
    steps = step(small())
    steps.goto("a")
    assert '"at":6' in steps.html()


# --- inside -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["softmax", "layer_norm", "cross_entropy", "gelu", "logsumexp"])
def test_what_is_inside_sends_the_same(name):
    op = ag.OPS[name]
    f, inputs = op.on(op.samples[1])
    values = [Value(x, name=f"x{i}") if np.asarray(x).dtype.kind == "f" else x for i, x in enumerate(inputs)]
    out = f(*values)
    cotangent = np.random.default_rng(0).normal(size=out.shape) if out.shape else 1.5
    steps = step(out, grad=cotangent)
    opened = steps.inside(-1)
    assert len(opened) > 2
    whole = {steps.words.name(c.parent): c.total for c in steps[-1].contributions}
    for leaf_name, total in whole.items():
        np.testing.assert_allclose(opened.ledger(leaf_name).total, total, rtol=1e-9, atol=1e-12)
    assert opened.words.top == steps.words.top


def test_inside_a_module_is_its_own_nodes():
    x = Value(np.array([0.5, -1.0]), name="x")
    with ag.scope("block", kind="Block"):
        y = ag.tanh(x * 2.0)
    steps = step((y * y).sum(), collapse=1)
    opened = steps.inside(len(steps) - 1)
    assert [s.node.op.name for s in opened] == ["mul", "tanh", "tanh", "mul"]
    np.testing.assert_array_equal(opened.ledger("x").total, steps.ledger(x).total)


def test_nothing_smaller_inside():
    with pytest.raises(StepError, match="nothing smaller inside"):
        step(Value(2.0) * 3.0).inside(0)


def test_a_step_in_one_sentence():
    steps = step(small())
    assert describe_step(steps[-1]) == "Backward 3 of 3. a * b sends −0.004023 to a, path 2 of 2 and 0.002682 to b."


@pytest.mark.slow
def test_a_real_terminal():
    """The command line in a pseudo-terminal: keys forward, one back, three at once, quit."""
    pty = pytest.importorskip("pty")
    main, terminal = pty.openpty()
    command = [sys.executable, "-m", "autograd", "step", "example3"]
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "100", "LINES": "40"}
    process = subprocess.Popen(command, stdin=terminal, stdout=terminal, stderr=terminal, env=environment)
    os.close(terminal)

    def read_until(text):
        seen = b""
        while text.encode() not in seen:
            assert select.select([main], [], [], 60)[0], f"no {text!r} within a minute, but {seen[-200:]!r}"
            seen += os.read(main, 65536)
        return seen.decode(errors="replace")

    try:
        read_until("Before the first step")
        os.write(main, b"n")
        read_until("Forward 1 of 14")
        os.write(main, b"\x1b[C")
        read_until("Forward 2 of 14")
        os.write(main, b"\x1b[D")
        assert "\x1b[1m" in read_until("Forward 1 of 14")
        os.write(main, b"\x1b[C\x1b[C\x1b[C")  # keys that arrive together are all done
        read_until("Forward 4 of 14")
        os.write(main, "én".encode())  # what is no key is no end either
        read_until("Forward 5 of 14")
        os.write(main, b"q")
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.wait()
        os.close(main)


def output(root):
    return sum(len(text.encode()) for text in step(root)._repr_mimebundle_().values())


def test_a_notebooks_output_costs_what_its_numbers_cost():
    """README's formula and its GPT; each output works alone, so that its code is in it."""
    a, b = Value(2.0, name="a"), Value(-3.0, name="b")
    assert output((a * b + a**2).tanh()) <= 90_000


@pytest.mark.slow
def test_a_gpts_output_costs_what_its_numbers_cost():
    gpt = nn.GPT(vocab_size=27, block_size=16, d_model=32, n_heads=4, n_layers=2, rng=0)
    tokens = np.array([[5, 13, 13, 1, 0]])
    assert output(nn.functional.cross_entropy(gpt(tokens[:, :-1]), tokens[:, 1:])) <= 1_500_000


def test_a_terminal_gets_its_line_and_no_page_is_made(monkeypatch):
    monkeypatch.setattr("autograd.stepping.stepper.Stepper.html", lambda stepper: pytest.fail("a page was made"))
    steps, formatter = step(small()), SimpleNamespace(active_types=["text/plain"])
    shell = SimpleNamespace(display_formatter=formatter)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    assert steps._repr_mimebundle_() == {"text/plain": repr(steps)}
