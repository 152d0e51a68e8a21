"""Pages for everybody: axe-core finds no serious fault, light or dark, wide or on a phone."""

from types import SimpleNamespace

import numpy as np
import pytest

import autograd as ag
import nn
from autograd import Value, draw, step
from examples import example3_full_backprop
from notebooks.lesson_page import EXERCISE, lesson_page
from notebooks.lessons import lessons
from tests.node import serious_faults


def small_graph():
    a, b = Value(2.0, name="a"), Value(-3.0, name="b")
    return (a * b + a**2).tanh()


def block():
    return nn.TransformerBlock(8, 2, rng=0)(Value(np.ones((1, 3, 8)), name="x")).sum()


def lesson():
    """A lesson with code, a formula and a drawing that are wider than a phone, and an exercise."""
    for needed in ("mistune", "pygments"):
        pytest.importorskip(needed)
    drawn = draw(example3_full_backprop.graph()).svg
    outputs = [SimpleNamespace(output_type="display_data", data=data)
               for data in ({"image/svg+xml": drawn}, {EXERCISE: "e30="})]  # fmt: skip
    formula = r"$$L = -\log \frac{e^{z_C}}{\sum_j e^{z_j}} = -z_C + \log \sum_j e^{z_j} + 1000000 + 2000000 + 3000000$$"
    cells = [
        SimpleNamespace(cell_type="markdown", source=f"# A lesson\n\n{formula}"),
        SimpleNamespace(cell_type="code", source=f"draw(loss)  # {'a long line ' * 9}", outputs=outputs[:1]),
        SimpleNamespace(cell_type="code", source="yours = None  # a number", outputs=outputs[1:]),
    ]
    return lesson_page(SimpleNamespace(cells=cells), lessons()[0], lessons())


PAGES = {
    "a stepper": lambda: step(small_graph()).html(),
    "a stepper of matrices": lambda: step(example3_full_backprop.graph()).html(),
    "a stepper of modules": lambda: step(block(), collapse=1).html(),
    "a drawing": lambda: draw(example3_full_backprop.graph()).html(),
    "a drawing that opens": lambda: draw(block(), collapse=1).html(),
    "a sheet": lambda: ag.worksheet(small_graph()).html(),
    "a lesson": lesson,
    "a sheet with answers": lambda: ag.worksheet(example3_full_backprop.graph()).html(answers=True),
}
# What is done before a page is judged: the last step with its update, a number held, an entry pointed at.
THEN = {
    "a stepper": """handgrad.goto(handgrad.length); document.querySelector('.hg-can').dispatchEvent(
        new KeyboardEvent('keydown', { key: 'ArrowUp', bubbles: true })); document.getElementById('hg-quiz').click()""",
    "a stepper of matrices": "handgrad.goto(22); document.querySelectorAll('details').forEach(d => { d.open = true })",
}


OF_COLOURS = ["color-contrast", "link-in-text-block"]  # in nothing else does a dark page differ from the light one
WINDOWS = {"light": {}, "dark": {"dark": True}, "phone": {"width": 390, "height": 844, "phone": True}}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The address of a page, written once."""
    folder = tmp_path_factory.mktemp("access")

    def write(name):
        path = folder / f"{name.replace(' ', '_')}.html"
        if not path.exists():
            path.write_text(PAGES[name](), encoding="utf-8")
        return path.as_uri()

    return write


@pytest.mark.parametrize("window", WINDOWS.values(), ids=WINDOWS)
@pytest.mark.parametrize("name", PAGES)
def test_no_serious_fault(browser, written, name, window):
    browser.open(written(name), **window)
    browser.js(THEN.get(name, "0"))
    assert serious_faults(browser, OF_COLOURS if window.get("dark") else None) == []
