"""Everything that a stepper's page does, in one list, walked through in a browser: at both widths, light and dark."""

import numpy as np
import pytest

import autograd as ag
import nn
from autograd import Value, step

WIDE = "at a desk alone"  # a phone has no room for these


def line():
    w, x, b, y = (Value(number, name=name) for name, number in zip("wxby", (0.5, 3.0, 1.0, 2.0)))
    loss = (w * x + b - y) ** 2
    loss.name = "L"
    return loss


def model():
    """A closed module, a matrix with more than eight columns, several paths to one leaf."""
    rng = np.random.default_rng(0)
    x, wide = Value(rng.normal(size=(3, 4)), name="x"), Value(rng.normal(size=(4, 20)), name="wide")
    with ag.scope("feed", kind="FeedForward"):
        h = nn.FeedForward(4, 8, rng=0)(x)
    loss = ((h + x * x) @ wide).tanh().sum()
    loss.name = "L"
    return loss


PAGES = {"line": (line, {}), "model": (model, {"collapse": 1})}
CARD = "[...document.querySelectorAll('.hg-card')].find(one => one.getAttribute('aria-label').startsWith('%s'))"
SCALE = "document.querySelector('#hg-stage > svg').getScreenCTM().a"
FIELD = "((f, text) => { f.value = text; f.dispatchEvent(new Event('input')); })"
ROLE = f"{CARD % 'x,'}.querySelector('.hg-role')"
LEDGER = "handgrad.text().includes('ledger of ∂L/∂x')"
NEXT, BEFORE = "handgrad.position === 4", "window.before = %s"
W = ".hg-can[data-name=w]"

# What it does: the page, its address, what is done (a key, a click on a selector, or a script), what then holds.
FEATURES = {
    "→ does a step": ("line", "#step=3", ["ArrowRight"], NEXT),
    "← undoes it": ("line", "#step=5", ["ArrowLeft"], NEXT),
    "buttons do and undo a step": ("line", "#step=3", ["#hg-next", "#hg-next", "#hg-back"], NEXT),
    "Home goes to the start, End to the last step": (
        "line", "#step=3", ["Home", "js window.before = handgrad.position", "End"],
        "window.before === 0 && handgrad.position === handgrad.length"),
    "the slider goes to any step": (
        "line", "#step=1", [f"js {FIELD}(document.all['hg-slider'], 4)"], NEXT),
    "Space plays, and pauses": ("line", "#step=1", [" "], "document.all['hg-play'].ariaPressed === 'true'"),
    "a click on a card leads to its step": (
        "line", "#step=8", [f"js {CARD % 'w * x'}.dispatchEvent(new Event('click'))"],
        "handgrad.position === handgrad.length"),
    "Enter on a card too": (
        "line", "#step=0", [f"js {CARD % 'w * x'}.focus()", "Enter"], "handgrad.position === 1"),
    "the address leads to a step": ("line", "#step=4", [], NEXT),
    "and keeps what was changed": ("line", "#step=4&set=0.0:7", [], "handgrad.get('w') === 7"),
    "a step says its rule in symbols and in numbers": (
        "line", "#step=8", [], "document.querySelector('.hg-to math') && document.querySelector('.hg-to .hg-new')"),
    "a ledger adds up the paths to a card": (
        "model", "#step=1", [f"js (() => {{ while (!{LEDGER}) handgrad.goto(handgrad.position + 1); }})()"], LEDGER),
    "why now, why this rule": (
        "line", "#step=8", ["js document.querySelector('.hg-why summary').click()"],
        "document.querySelector('.hg-why details[open] p').innerText.length > 20"),
    "one entry of a table, as a line": (
        "model", "#step=4", ["js document.querySelector('[data-entries] summary').click()"],
        "document.querySelector('[data-entries][open] .hg-arith')"),
    "any entry, asked for by its index": (
        "model", "#step=4", [f"js {FIELD}(document.querySelector('.hg-ask input'), '[1, 17]')", "js "
                             "document.querySelector('.hg-ask').requestSubmit()"],
        "document.querySelector('.hg-ask').innerText.includes('[1][17]')"),
    "arrows turn the window of a large array": (
        "model", "#step=4", ["#hg-panel button.hg-turn:last-of-type"],
        "document.querySelector('#hg-panel').innerText.includes('columns 8–15 of 20')"),
    "pointing at an entry lights what it was computed from": (
        "model", "#step=4", ["js document.querySelector('.hg-new td').dispatchEvent("
                             "new PointerEvent('pointerover', {bubbles: true, buttons: 0}))"],
        "document.querySelectorAll('#hg-text .hg-lit').length > 3"),
    "H tints tables by the size of their numbers": ("model", "#step=4", ["h"], "document.querySelector('.hg-tint')"),
    "a closed module opens into its own steps": (
        "model", "#step=1", ["#hg-panel [data-view]"], "handgrad.view === 1 && handgrad.length > 2"),
    "Escape leaves it": ("model", "#step=1", ["#hg-panel [data-view]", "Escape"], "handgrad.view === 0"),
    "+ and − zoom": (
        "line", "#step=3", [f"js {BEFORE % SCALE}", "js document.all['hg-in'].click()"], f"{SCALE} > window.before"),
    "F fits the whole graph into the window": (
        "model", "#step=4", ["#hg-fit"], "document.all['hg-fit'].ariaPressed === 'true'"),
    "a name finds its card": (
        WIDE, "model", "#step=5", [f"js {FIELD}(document.all['hg-find'], 'wide')"],
        "document.querySelector('.hg-found')"),
    "a map shows where we are, and leads elsewhere": (
        WIDE, "model", "#step=4", [], "document.querySelector('#hg-map .hg-here')"),
    "L is for a projector": ("line", "#step=3", ["l"], "document.body.classList.contains('hg-large')"),
    "light and dark": (
        "line", "#step=3", [f"js {BEFORE % 'getComputedStyle(document.body).backgroundColor'}", "#hg-theme"],
        "getComputedStyle(document.body).backgroundColor !== window.before"),
    "a click on a leaf's number opens a field; Enter sets it": (
        "line", "#step=1", [W, f"js {FIELD}(document.activeElement, '1/4')", "Enter"], "handgrad.get('w') === 0.25"),
    "Escape does not": (
        "line", "#step=1", [W, f"js {FIELD}(document.activeElement, '1/4')", "Escape"], "handgrad.get('w') === 0.5"),
    "E goes from number to number, ↑ and ↓ change it": (
        "line", "#step=3", ["e", "ArrowUp"], "handgrad.get('w') === 0.6"),
    "what was changed is marked": (
        "line", "#step=3", ["js handgrad.set('w', 2)"], f"document.querySelector('{W}.hg-changed')"),
    "everything follows a changed number": ("line", "#step=3", ["js handgrad.set('w', 2)"], "handgrad.get('L') === 25"),
    "undo and redo": (
        "line", "#step=3", ["js handgrad.set('w', 2)", "#hg-undo", f"js {BEFORE % 'handgrad.get(`w`)'}", "#hg-redo"],
        "window.before === 0.5 && handgrad.get('w') === 2"),
    "reset": ("line", "#step=3", ["js handgrad.set('w', 2)", "#hg-reset"], "handgrad.get('w') === 0.5"),
    "a click on a leaf's role makes it data": (
        "line", "#step=3", [f"js {ROLE}.dispatchEvent(new Event('click', {{bubbles: true}}))",
                            "js handgrad.update(0.1)"],
        "handgrad.get('x') === 3 && handgrad.get('w') !== 0.5"),
    "after the last step comes the update": ("line", "#step=99", ["ArrowRight", "Enter"], "handgrad.get('w') !== 0.5"),
    "it says how far the loss should fall, and will": (
        "line", "#step=99", [], "handgrad.text().includes('should fall by')"),
    "train 100 draws the loss": (
        "line", "#step=99", ["#hg-train"], "handgrad.text().includes('after 100 updates')"),
    "G asks for a guess first": (
        "line", "#step=3", ["g", "ArrowRight"], "document.body.classList.contains('hg-hide') && document.querySelector("
                                                "'#hg-root').innerText === '?'"),
    "a guess is judged": (
        "line", "#step=0", ["g", "ArrowRight", f"js {FIELD}(document.querySelector('.hg-guess input'), '1.5')", "js "
                            "document.querySelector('.hg-guess').requestSubmit()"],
        "document.querySelector('.hg-guess output').innerText === 'right'"),
    "a wrong one gets a hint": (
        "line", "#step=0", ["g", "ArrowRight", f"js {FIELD}(document.querySelector('.hg-guess input'), '-1.5')", "js "
                            "document.querySelector('.hg-guess').requestSubmit()"],
        "document.querySelector('.hg-guess output').innerText === 'the sign is the other way'"),
    "a legend says what the underlines mean": ("line", "#step=0", [], "handgrad.text().includes('changed by you')"),
    "a screen reader hears the step": ("line", "#step=8", [], "document.all['hg-status'].innerText.includes('sends')"),
    "scripts read and set numbers": (
        "line", "#step=0", ["js handgrad.set('x', 1)"], "handgrad.get('x') === 1 && handgrad.grad('w') === -1 && "
                                                        "handgrad.entry('L', []).includes('=')"),
}  # fmt: skip
KEYS = {"ArrowRight", "ArrowLeft", "ArrowUp", "Home", "End", "Enter", "Escape", " ", "e", "g", "h", "l"}


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("features")
    for name, (graph, options) in PAGES.items():
        step(graph(), **options).save(folder / f"{name}.html")
    return folder


def walk_through(browser, pages, width, height, dark):
    wrong = []
    for says, (*where, name, fragment, acts, holds) in FEATURES.items():
        if where and width < 860:
            continue
        browser.open((pages / f"{name}.html").as_uri() + fragment, width, height, dark, phone=width < 860)
        browser.wait("!!window.handgrad")
        browser.js("localStorage.clear()")
        for act in acts:
            if act in KEYS:
                browser.key(act)
            elif act.startswith("js "):
                browser.js(f"void ({act[3:]})")
            else:
                browser.js(f"document.querySelector({act!r}).scrollIntoView({{block: 'center'}})")
                browser.click(act)
        try:
            browser.wait(holds, 3)
        except AssertionError:
            wrong.append(says)
        browser.js("localStorage.clear()")
    assert not wrong and browser.errors == []


@pytest.mark.nightly
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width, height", [(1280, 900), (390, 844)])
def test_every_feature(browser, pages, width, height, dark):
    browser.errors.clear()
    walk_through(browser, pages, width, height, dark)
