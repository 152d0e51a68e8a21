"""Every step of every page fits: no formula, number or ledger is cut off or needs sideways scrolling."""

import numpy as np
import pytest

import autograd as ag
import examples
import nn
from autograd import Value, step
from tests.autograd.formula.test_lines import many_paths, row_of_six

# Of every position: what is too wide. In one call, so that the browser lays out each, and paints none.
TOO_WIDE = """(() => {
    const panel = document.querySelector("#hg-panel"), wrong = {};
    for (let place = 0; place <= handgrad.length; place++) {
        handgrad.goto(place);
        panel.querySelectorAll("details").forEach(one => { one.open = true; });
        const edge = Math.min(panel.getBoundingClientRect().right, innerWidth);
        const over = [...panel.querySelectorAll("*")].filter(one => {
            const box = one.getBoundingClientRect();
            return box.width && box.right > edge + 1 && getComputedStyle(one).position !== "absolute"; });
        const scrolls = [panel, document.documentElement].filter(one => one.scrollWidth > one.clientWidth + 1);
        const said = one => one.className + ": " + one.textContent.slice(0, 60);
        const found = [...over.map(said), ...scrolls.map(one => one.id)];
        if (found.length) wrong[place] = found.slice(0, 2);
    }
    return wrong;
})()"""


def scalar_mlp():
    return (nn.MLP(2, [3, 1], rng=0)([0.3, -1.2]) - 1.0) ** 2


def block():
    x = Value(np.random.default_rng(0).normal(size=(3, 4)), name="x")
    return (nn.TransformerBlock(4, 2, rng=0)(x) ** 2).mean()


def awkward():
    """Small numbers that share a power of ten with large ones, or have one; a stack; a rule of nested calls."""
    rng = np.random.default_rng(0)
    table, row = Value(1e-5 * rng.normal(size=(4, 4)), name="table"), Value(1e-4 * rng.normal(size=6), name="row")
    stack, x = Value(rng.normal(size=(2, 2, 3)), name="stack"), Value(rng.normal(size=(3, 4)), name="x")
    parts = ag.log(2.0 + table * table), row * row * row, stack * stack.tanh() * stack, ag.cumsum(x, axis=0) ** 2
    return sum(part.sum() for part in parts)


GRAPHS = {
    "mlp": scalar_mlp, "block": block, "a row of six": row_of_six, "many rows of six": lambda: many_paths((6,), 9),
    "many tables": lambda: many_paths((4, 4), 6), "awkward": awkward,
} | {
    example.name: example.module.graph for example in examples.EXAMPLES
}  # fmt: skip


@pytest.mark.parametrize("name", GRAPHS)
def test_every_step_fits(browser, tmp_path, name):
    root = GRAPHS[name]()
    step(root, grad=None if root.size == 1 else np.ones(root.shape)).save(tmp_path / "page.html")
    phone, desk = {"width": 390, "height": 800, "phone": True}, {"width": 1280, "height": 800}
    browser.open((tmp_path / "page.html").as_uri(), **phone)
    browser.wait("!!window.handgrad")
    for window in (phone, desk):
        browser.window(**window)
        browser.wait(f"innerWidth === {window['width']}")
        wrong = browser.js(TOO_WIDE)
        assert not wrong, f"{len(wrong)} steps at {window}: {dict(list(wrong.items())[:3])}"
