"""Every step of every page fits: no formula, number or ledger is cut off or needs sideways scrolling, and the card of
the step and all its operands are in view with their numbers, or repeated where they are.
"""

import numpy as np
import pytest

import autograd as ag
import examples
import nn
from autograd import Value, step
from tests.autograd.formula.test_lines import many_paths, row_of_six
from tests.autograd.stepping.test_entries import gpt

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


# Of every step: which card is neither in view nor repeated, whose text is too small, or which has no numbers.
NOT_SEEN = """((least, pills) => {
    const { cards, steps } = JSON.parse(document.getElementById("hg-data").textContent).views[0], wrong = {};
    const stage = document.getElementById("hg-stage"), copies = document.getElementById("hg-copies");
    const read = one => one.textContent.trim() && !one.closest(".hg-unknown");
    for (const [place, { card: own, inputs }] of steps.entries()) {
        handgrad.goto(place + 1);
        const area = stage.getBoundingClientRect(), { bottom, right } = copies.getBoundingClientRect();
        const top = copies.hidden ? area.top : bottom, found = [];
        const map = document.getElementById("hg-map").getBoundingClientRect();
        const repeated = new Map(copies.hidden ? [] : [...copies.children].map(one => [one.dataset.card, one]));
        for (const key of new Set([own, ...inputs])) {
            const card = document.getElementById(`hg-v0-${key}`), copy = repeated.get(key), at = copy ?? card;
            const texts = [...at.querySelectorAll(copy ? "td, .hg-num, button, svg text" : "text")].filter(read);
            const boxes = texts.map(one => one.getBoundingClientRect());
            const isIn = copy ? boxes.every(box => box.right <= right + 1)  // further down it scrolls
                : boxes.every(box => box.left >= area.left - 1 && box.right <= area.right + 1 && box.top >= top - 1
                    && box.bottom <= area.bottom + 1 && !(box.left < map.right && box.bottom > map.top));
            const scale = copy ? 1 : card.getScreenCTM().a;
            const size = Math.min(...texts.map(one => parseFloat(getComputedStyle(one).fontSize))) * scale;
            const numbers = texts.some(one => one.matches("[data-r], td, .hg-num, svg text")
                && /\\d|True|False/.test(one.textContent));
            if (!isIn) found.push(`${key} is out of view`);
            if (size < least - 0.05) found.push(`${key} in ${size} px`);
            if (!numbers && !pills.includes(key)) found.push(`${key} without numbers`);
        }
        const panel = document.getElementById("hg-text").innerText.match(/[=≈·×+] \\[\\d+×[\\d×]+\\]/);
        if (panel) found.push(`the panel says ${panel}`);
        if (found.length) wrong[place + 1] = found;
    }
    return wrong;
})"""


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


def makemore():
    """Characters to characters, as in the lectures: a table of letters, a hidden layer, logits."""
    rng = np.random.default_rng(0)
    sizes = {"C": (5, 3), "W1": (3, 6), "W2": (6, 5)}
    table, w1, w2 = (Value(rng.normal(size=size), name=name) for name, size in sizes.items())
    b1, b2 = Value(np.zeros(6), name="b1"), Value(np.zeros(5), name="b2")
    logits = ag.tanh(table[np.array([0, 2, 1, 4])] @ w1 + b1) @ w2 + b2
    return nn.functional.cross_entropy(logits, np.array([2, 1, 4, 3]))


def rnn():
    rng = np.random.default_rng(0)
    wx, wh = Value(rng.normal(size=(2, 3)), name="Wx"), Value(rng.normal(size=(3, 3)), name="Wh")
    b, h = Value(np.zeros(3), name="b"), Value(np.zeros(3), name="h0")
    for x in rng.normal(size=(3, 2)):
        h = ag.tanh(x @ wx + h @ wh + b)
    return (h**2).sum()


def block_of_8():
    x = Value(np.random.default_rng(0).normal(size=(3, 8)), name="x")
    return (nn.TransformerBlock(8, 2, rng=0)(x) ** 2).mean()


def small_gpt():
    return gpt()[1]


GRAPHS = {
    "mlp": scalar_mlp, "block": block, "a row of six": row_of_six, "many rows of six": lambda: many_paths((6,), 9),
    "many tables": lambda: many_paths((4, 4), 6), "awkward": awkward,
} | {
    example.name: example.module.graph for example in examples.EXAMPLES
}  # fmt: skip


NIGHTLY = {"block of 8": block_of_8, "makemore": makemore, "rnn": rnn, "gpt": small_gpt}
PHONE, DESK = {"width": 390, "height": 844, "phone": True}, {"width": 1280, "height": 900}


def every_graph(*always):
    return [name if name in always else pytest.param(name, marks=pytest.mark.nightly) for name in [*GRAPHS, *NIGHTLY]]


@pytest.fixture
def opened(browser, tmp_path):
    def open_page(name):
        root = (GRAPHS | NIGHTLY)[name]()
        steps = step(root, grad=None if root.size == 1 else np.ones(root.shape))
        steps.save(tmp_path / "page.html")
        browser.open((tmp_path / "page.html").as_uri(), **PHONE)
        browser.wait("!!window.handgrad")
        return steps

    return open_page


def windows(browser):
    for window in (PHONE, DESK):
        browser.window(**window)
        browser.wait(f"innerWidth === {window['width']}")
        yield window


@pytest.mark.parametrize("name", every_graph(*GRAPHS))
def test_every_step_fits(browser, opened, name):
    opened(name)
    for window in windows(browser):
        wrong = browser.js(TOO_WIDE)
        assert not wrong, f"{len(wrong)} steps at {window}: {dict(list(wrong.items())[:3])}"


@pytest.mark.parametrize("name", every_graph("block", "mlp", "example3"))
def test_every_step_shows_its_card_and_all_operands(browser, opened, name):
    """With their numbers: a card without any has those of its operand in another order."""
    view = opened(name).view
    pills = [key for key, track in view.tracks.items() if track.plain.is_pill]
    nodes = {key: node for node, key in view.key_of.items()}
    for node in (nodes[key] for key in pills if key in nodes and nodes[key].op is not None):
        assert node.op.view and node.size == node.parents[0].size
    for window, least in zip(windows(browser), (10.5, 11)):
        browser.js("handgrad.goto(0)")
        wrong = browser.js(f"{NOT_SEEN}({least}, {pills})")
        assert not wrong, f"{len(wrong)} steps at {window}: {dict(list(wrong.items())[:3])}"
    assert browser.errors == []
