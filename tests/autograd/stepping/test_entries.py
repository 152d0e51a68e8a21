"""Every entry can be asked for: in Python, in the terminal and in the page, with the same line."""

import math
import re

import numpy as np
import pytest

import nn
from autograd import Value, step
from autograd.errors import StepError
from autograd.formula.writers.pieces import plain_text
from autograd.stepping.faces.terminal import Player


def gpt():
    model = nn.GPT(vocab_size=27, block_size=8, d_model=16, n_heads=4, n_layers=1, rng=0)
    tokens, targets = np.array([[1, 5, 9, 2, 20, 13, 26, 0]]), np.array([[5, 9, 2, 20, 13, 26, 0, 3]])
    loss = nn.functional.cross_entropy(model(tokens), targets)
    loss.name = "loss"
    return model, loss


@pytest.fixture(scope="module")
def steps():
    return step(gpt()[1])


def worked_out(text):
    """What the arithmetic of a line comes to, and the result that it prints."""
    *_, left, right = re.split(" [=≈] ", text)
    return tuple(eval(in_python(side), {"sqrt": math.sqrt}) for side in (left, right))


def in_python(text):
    lowered = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
    text = re.sub("[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+", lambda power: f"**({power[0].translate(lowered)})", text)
    return text.translate(str.maketrans({"×": "*", "−": "-", "√": "sqrt"}))


def test_an_entry_of_a_product_comes_out_on_a_calculator(steps):
    logits = next(one.twin for one in steps if one.name == "head")
    for i, j in (0, 0), (2, 5), (7, 26):
        text = steps.entry("head", [0, i, j])
        assert text.startswith(f"head[0][{i}][{j}] = ") and text.count("×") - text.count("×10") == 16
        found, printed = worked_out(text)
        assert found == pytest.approx(printed, rel=2e-3) and printed == pytest.approx(logits.data[0, i, j], rel=1e-3)


def test_the_gradient_of_an_entry_is_what_backward_leaves(steps):
    model, loss = gpt()
    loss.backward()
    for name, index in ("head.weight", (3, 26)), ("positions.weight", (1, 3)), ("blocks.0.norm1.gamma", (2,)):
        text = steps.entry(name, index, "grad")
        right = dict(model.named_parameters())[name].grad[index]
        assert eval(in_python(text.split(" ")[-1])) == pytest.approx(right, rel=1e-3)


def test_the_gradient_of_a_number():
    a, b = Value(2.0, name="a"), Value(-3.0, name="b")
    assert step(a * b).entry("b", [], "grad") == "∂L/∂b = 1 × 2 = 2"


def test_the_paths_of_an_entry_add_up_with_the_digits_shown_or_are_about_equal(browser, tmp_path):
    a, b = Value(2.0, name="a"), Value(-3.0, name="b")
    for root, sign in ((a * b + a**2, "="), ((a * b + a**2).tanh(), "≈")):
        stepper = step(root)
        added = stepper.entry("a", [], "grad").splitlines()[-1]
        assert f" {sign} " in added and (sign == "≈") == ("0.2826" in added)
        stepper.save(tmp_path / "page.html")
        browser.open((tmp_path / "page.html").as_uri())
        browser.wait("!!window.handgrad")
        assert browser.js("handgrad.entry('a', [], 'grad')").splitlines()[-1] == added


def test_what_is_no_entry_is_told(steps):
    with pytest.raises(StepError, match="27×16: there is no entry"):
        steps.entry("tokens.weight", [27, 0])
    with pytest.raises(ValueError, match='"value" or "grad"'):
        steps.entry("tokens.weight", [2, 0], "sum")


def test_in_the_terminal():
    x, w = Value([[1.0, 2.0]], name="x"), Value([[0.5, 3.0], [-1.5, 4.0]], name="w")
    h = x @ w
    h.name = "h"
    player = Player(step((h * h).sum()), ask=lambda prompt: "h [0, 1]", read_key=lambda: "q")
    player.do_entry()
    assert player.note.splitlines() == [
        "h[0][1] = 1 × 3 + 2 × 4 = 11", *["∂L/∂h[0][1] += 1 × 11 = 11"] * 2, "∂L/∂h[0][1] = 11 + 11 = 22",
    ]  # fmt: skip


def cut():
    """Matrices of which a line shows a part; tanh is saturated in row 5."""
    rng = np.random.default_rng(0)
    A, x = Value(rng.normal(size=(30, 40)), name="A"), Value(rng.normal(size=40), name="x")
    return step((A @ x).tanh().sum())


def test_lines_of_a_part_of_a_matrix_are_rounded():
    steps = cut()
    assert all(steps[k].pieces()[-2] == " ≈ " for k in range(3))
    copied, slope = (steps[k].contributions[0] for k in (3, 4))
    assert " = " in plain_text(copied.step.in_numbers(copied.line))  # ones: nothing of them is rounded
    assert " ≈ " in plain_text(slope.step.in_numbers(slope.line))
    exact = step((Value(np.arange(30.0), name="x") * 0.5).sum())
    assert exact[0].pieces()[-2] == " = "


def test_a_gradient_that_is_rounding_says_so(browser, tmp_path):
    steps, asked = cut(), [("A", [5, 2], "grad"), ("A", [0, 2], "grad"), ("A", [5, 2], "value"), ("x", [3], "grad")]
    assert steps.entry("A", [5, 2], "grad") == "∂L/∂A[5][2] = 0 × 1.348 = 0 (6.584×10⁻¹⁵ is rounding)"
    assert "rounding" not in steps.entry("A", [0, 2], "grad")
    steps.save(tmp_path / "cut.html")
    browser.open((tmp_path / "cut.html").as_uri() + "#step=2")
    browser.wait("!!window.handgrad")
    assert [browser.js(f"handgrad.entry({name!r}, {at}, {kind!r})") for name, at, kind in asked] == [
        steps.entry(*one) for one in asked
    ]
    assert "≈" in browser.text("#hg-panel")


def test_the_page_says_the_same(browser, tmp_path, steps):
    steps.save(tmp_path / "gpt.html")
    assert (tmp_path / "gpt.html").stat().st_size < 5e6
    browser.open((tmp_path / "gpt.html").as_uri())
    browser.wait("!!window.handgrad")
    took = browser.js("performance.timing.loadEventEnd - performance.timing.navigationStart")
    assert took < 6000  # ms: under 2 s where nothing else runs
    for name, index, kind in [
        ("head", [0, 2, 5], "value"), ("head", [0, 2, 5], "grad"), ("head.weight", [3, 26], "grad"),
        ("tokens.weight", [5, 3], "value"), ("blocks.0.norm1.gamma", [2], "grad"), ("loss", [], "grad"),
    ]:  # fmt: skip
        shown = browser.js(f"handgrad.entry({name!r}, {index}, {kind!r})")
        assert shown == steps.entry(name, index, kind)
    for call, said in {"entry('norm', [2])": "has shape 1×8×16", "entry('nope', [])": "nothing here is called nope",
                       "entry('norm', [0, 0, 0], 'sum')": "asks for"}.items():  # fmt: skip
        tried = f"try {{ return handgrad.{call}; }} catch (e) {{ return e.message; }}"
        assert said in browser.js(f"(() => {{ {tried} }})()")
    names = browser.js("handgrad.names()")
    leaves = {name for name, _ in gpt()[0].named_parameters()}
    packed = {name for name in leaves if ".qkv." in name}  # shown as W_Q, W_K and W_V, b_Q, b_K and b_V
    assert len(packed) == 2
    leaves = leaves - packed | {f"blocks.0.attention.{letter}_{part}" for letter in "Wb" for part in "QKV"}
    assert leaves <= set(names)
    for name in leaves:  # every number of it
        assert np.isfinite(np.ravel(browser.js(f"handgrad.grad({name!r})"))).all()


def test_a_field_asks_for_an_entry(browser, tmp_path, steps):
    steps.save(tmp_path / "gpt.html")
    place = next(one.index for one in steps if one.name == "head") + 1
    browser.open((tmp_path / "gpt.html").as_uri() + f"#step={place}")
    browser.wait("!!window.handgrad")
    browser.js("document.querySelector('.hg-ask input').value = '[0, 2, 19]'")
    browser.js("document.querySelector('.hg-ask').requestSubmit()")
    said = browser.text(".hg-ask")
    assert "head[0][2][19] =" in said and "∂loss/∂head[0][2][19]" in said
    columns = "[...document.querySelectorAll('.hg-line .hg-foot')].map(e => e.textContent).join()"
    assert "columns 16–23 of 27" in browser.js(columns)  # the windows went there
    assert browser.errors == []
