"""A lecture: a title, a question before every answer, the updates, and the loss that they lead to."""

import re

import numpy as np
import pytest

import nn
from autograd import Value, step, tanh
from autograd.cli import main
from autograd.stepping.page.deck import write

SLIDE = re.compile(r'<section class="slide.*?</section>', re.S)
NUMBER = re.compile(r'class="hg-num[^>]*title="([^"]*)"')


def neuron():
    x, w, b = Value(2.0, name="x", requires_grad=False), Value(-0.4, name="w"), Value(0.3, name="b")
    z = w * x
    z.name = "z"
    y = tanh(z + b)
    y.name = "y"
    loss = (y - 1.0) ** 2
    loss.name = "L"
    return loss, [w, b]


def slides_of(stepper):
    return SLIDE.findall(write(stepper))


def test_each_question_comes_before_its_answer_and_does_not_tell_it():
    stepper = step(neuron()[0], title="One neuron")
    first, *rest = slides_of(stepper)
    assert "One neuron" in first
    for place, one in enumerate(stepper):
        question, answer = rest[2 * place : 2 * place + 2]
        asked = "What is" if one.kind == "forward" else "How much does L change with"
        assert asked in question and "?</b>" in question
        told = {repr(float(one.value))} if one.kind == "forward" else {repr(float(c.value)) for c in one.contributions}
        known = {repr(float(stepper.words.data(x))) for x in one.twin.parents} | {repr(float(one.incoming or 0))}
        new = told - known
        assert new <= set(NUMBER.findall(answer)) and not new & set(NUMBER.findall(question)), one
        assert f"we are at <b>{one.name}</b>" in question and 'href="#map"' in answer


@pytest.mark.parametrize("chosen", [None, "adam"])
def test_the_lecture_ends_with_the_updates_and_the_loss_that_they_lead_to(chosen):
    loss, (w, b) = neuron()
    optimizer = nn.optim.Adam([w, b], lr=0.05) if chosen else nn.optim.SGD([w, b], lr=0.1)
    loss.backward()
    *_, first, second, last = slides_of(step(loss, optimizer=optimizer))
    assert "The update of w" in first and "The update of b" in second
    optimizer.step()
    after = (np.tanh(w.data * 2.0 + b.data) - 1.0) ** 2
    numbers = [float(text) for text in re.findall(r"<td>([\d.]+)</td>", last)]
    assert numbers[:2] == pytest.approx([loss.data, after], rel=1e-5)


def test_formulas_are_mathematics_and_the_files_are_three(tmp_path, capsys):
    text = write(step(nn.functional.cross_entropy(Value(np.eye(3), name="X") @ Value(np.eye(3), name="W"), [0, 1, 2])))
    assert "<math" in text and " @ " not in re.sub("<[^>]*>", "", "".join(re.findall(r"<math.*?</math>", text)))
    assert main(["slides", "example3", "-o", str(tmp_path / "a.tex")]) == 0
    tex = (tmp_path / "a.tex").read_text(encoding="utf-8")
    assert tex.count(r"\begin{frame}") == tex.count(r"\end{frame}") == 2 * 28
    assert r"\documentclass{beamer}" in tex and "How much does L change with" in tex
    assert main(["slides", "example3", "-o", str(tmp_path / "a.doc")]) == 2


def shown_numbers(slide):
    """The decimal numbers of a slide's body as they are read, formulas left out."""
    body = re.sub(r"<math.*?</math>", "", slide[slide.index('class="body"') :], flags=re.S)
    return set(re.findall(r"−?\d+\.\d+", re.sub(r"<[^>]*>", " ", body)))


def test_what_a_question_gives_has_the_digits_of_its_answer():
    """L is the square of y − 1 ≈ −0.2968: 0.2968² is 0.08809, and the answer says 0.08806."""
    y = tanh(Value(0.8737, name="z"))
    y.name = "y"
    stepper = step((y - 1.0) ** 2)
    slides = slides_of(stepper)[1:]
    for place, one in enumerate(stepper):
        given, answer = map(shown_numbers, slides[2 * place : 2 * place + 2])
        if one.kind == "forward":
            assert given <= answer, one.name
        elif one.name == "y":  # tanh sends back g × (1 − y²)
            assert any(number.startswith("0.703") for number in given & answer)


def test_a_narrow_window_shows_whole_slides(browser, tmp_path):
    path = tmp_path / "deck.html"
    path.write_text(write(step(neuron()[0])), encoding="utf-8")
    for width in (390, 1400):
        browser.open(path.as_uri(), width=width, height=800)
        right = browser.js("document.querySelector('.slide.on').getBoundingClientRect().right")
        assert right <= width and browser.js("document.documentElement.scrollWidth") <= width
    assert browser.errors == []
