"""The stepper's page: its text, and its behaviour in a real browser."""

import json
import os
import re
from importlib.resources import files

import numpy as np
import pytest

import autograd as ag
import nn
from autograd import Value, step
from autograd.errors import StepError
from autograd.stepping.page.packing import unpacked
from examples import example3_full_backprop

HOSTILE = "</script><img src=x onerror=alert(1)>\"'&`${7*7}{{data}}\n\u202e"


def hostile_graph():
    a = Value(2.0, name=HOSTILE)
    b = Value(np.array([[1e300, np.nan], [-0.0, 1e-300]]), name="b" * 500)
    return (a * b).sum()


def data_of(page):
    found = re.search(r'<script id="hg-data" type="application/json">(.*?)</script>', page, re.S)
    data = json.loads(found[1])
    return data | {"views": unpacked(data)}


@pytest.mark.slow
def test_the_page_is_one_file():
    page = step(example3_full_backprop.graph()).html()
    assert not re.search(r"""(src|href)\s*=\s*["']?(https?:)?//""", page)
    assert "@import" not in page and "url(" not in page
    views = data_of(page)["views"]
    assert len(views[0]["steps"]) == 28
    assert views[0]["steps"][26]["name"] == "K"


def test_closed_modules_can_be_opened_up():
    x = Value(np.ones((2, 4)), name="x")
    with ag.scope("feed", kind="FeedForward"):
        h = nn.FeedForward(4, 8, rng=0)(x)
    views = data_of(step(h.sum(), collapse=1).html())["views"]
    opened = [view for view in views if view["from"]]
    assert len(opened) == 2 and all(view["steps"] and view["from"][0] == 0 for view in opened)


def test_hostile_names_stay_text():
    page = step(hostile_graph()).html()
    assert "<img src=x" not in page and "</script><img" not in page
    raw = re.search(r'<script id="hg-data"[^>]*>(.*?)</script>', page, re.S)[1]
    assert not set("<>&") & set(raw)
    panels = [one["panel"] for one in data_of(page)["views"][0]["steps"]]
    assert any("&lt;/script&gt;&lt;img src=x" in panel for panel in panels)
    assert not any("<img" in panel or "\u202e" in panel for panel in panels)


@pytest.mark.slow
def test_too_many_steps_for_a_page():
    x = Value(1.0)
    for _ in range(3001):
        x = x * 1.0
    assert len(step(x)) == 4  # a chain is one piece, 3001 times
    with pytest.raises(StepError, match=r"too many for one page.*collapse=1"):
        step(x, collapse=False).html()


def test_save(tmp_path):
    steps = step(Value(2.0, name="a") * 3.0)
    assert steps.save(tmp_path / "step.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert "Forward 1 of 1" in steps.save(tmp_path / "step.txt").read_text(encoding="utf-8")
    with pytest.raises(FileNotFoundError, match="make it first"):
        steps.save(tmp_path / "none" / "step.html")


def test_pictures_of_single_steps():
    steps = step(example3_full_backprop.graph())
    svg = steps.svg(26)
    assert svg.startswith("<svg") and svg.count('class="hg-card') == 3 and "grad 2 of 3 paths" in svg
    with pytest.raises(StepError):
        steps.svg(99)


def test_nothing_moves_while_numbers_fill_in():
    view = step(example3_full_backprop.graph()).view
    for track in view.tracks.values():
        assert len({face.card.header_lines for face in track.faces}) == 1
    boxes = [re.findall(r'class="hg-frame[^>]*', view.svg(p)) for p in (0, 14, 28)]
    assert len({len(found) for found in boxes}) == 1


def test_the_graph_shows_what_has_arrived():
    steps = step(example3_full_backprop.graph())
    view = steps.view
    states = view.card_states(27)
    names = {steps.words.name(node): states[key] for node, key in view.key_of.items()}
    assert names["K"] == "now" and names["X"] == names["WK"] == "receiving"
    assert names["WQ"] == "todo" and names["Q"] == names["V"] == "done"
    edges = view.edge_states(27)
    assert sorted(set(edges.values())) == ["done", "now", "todo"]
    assert list(view.edge_states(0).values()) == ["todo"] * len(edges)


# --- in a browser -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "step.html"
    with ag.record_lines():
        graph = example3_full_backprop.graph()
    step(graph, title="Example 3").save(path)
    return path.as_uri()


@pytest.fixture
def page(browser, address):
    """The page, freshly opened; in the end no error was logged and nothing but the file was asked for."""
    browser.errors.clear()
    browser.requests.clear()

    def open_page(fragment="", where=address, **window):
        browser.open(where + fragment, **window)
        browser.wait("!!window.handgrad")
        return browser

    yield open_page
    assert browser.errors == []
    assert {url.partition(":")[0] for url in browser.requests} <= {"file", "about", "data"}


WHERE = "document.querySelector('.hg-where b')?.innerText"
RECEIVING = "[...document.querySelectorAll('.hg-is-receiving')].map(card => card.textContent).join()"


def test_buttons_and_keys(page):
    at = page()
    assert "forward" in at.text("#hg-panel") and at.js("handgrad.position") == 0
    at.click("#hg-next")
    assert at.js(WHERE) == "Forward 1 of 14" and "Next: K" in at.text("#hg-next")
    at.key("ArrowRight")
    at.key("ArrowRight")
    at.key("ArrowLeft")
    assert at.js(WHERE) == "Forward 2 of 14"
    at.key("End")
    assert at.js(WHERE) == "Backward 14 of 14" and "Next: update" in at.text("#hg-next")
    assert "backward() leaves" in at.text("#hg-panel")
    at.key("Home")
    assert at.js("handgrad.position") == 0 and at.js("document.querySelector('#hg-back').disabled")
    at.js("document.activeElement.blur()")  # space presses the button that was clicked while that has the focus
    pressed = "document.querySelector('#hg-play').getAttribute('aria-pressed')"
    at.key(" ")
    assert at.js(pressed) == "true"
    at.wait("handgrad.position >= 1")  # on a busy machine it may be further on when we look
    at.key(" ")
    assert at.js(pressed) == "false"


def test_space_presses_the_button_that_has_the_focus(page):
    at = page()
    at.click("#hg-next")
    at.key(" ")
    assert at.js("handgrad.position") == 2 and at.js(WHERE) == "Forward 2 of 14"


def test_a_step_shows_rule_numbers_and_ledger(page):
    at = page("#step=27")
    panel = at.text("#hg-panel")
    assert at.js(WHERE) == "Backward 13 of 14"
    assert "mini_transformer.py:" in panel and "path 2 of 3" in panel and "only path" in panel
    assert at.js("document.querySelectorAll('#hg-panel math mfrac').length") >= 4
    ledger = at.text(".hg-ledger")
    assert [word in ledger for word in ("via V", "via K", "via Q", "to come")] == [True] * 4
    assert "Q = X @ WQ. What will it send to X and WQ?" in at.text(".hg-next")
    card = at.js("document.querySelector('.hg-card.hg-is-now').getAttribute('aria-label')")
    assert card.startswith("K = X @ WK")
    assert at.js("document.querySelectorAll('.hg-card.hg-is-receiving').length") == 2
    assert at.js("document.querySelectorAll('.hg-edge.hg-is-now').length") == 2
    assert "grad 2 of 3 paths" in at.js(RECEIVING)
    at.click(".hg-entries summary")
    at.wait("document.querySelector('.hg-arith')")
    assert "0×0+1.768×10−4×0.1=0.00001768" in at.text(".hg-arith").replace("\n", "")


def test_values_and_gradients_fill_in(page):
    at = page()
    score = "[...document.querySelectorAll('.hg-card')].find(c => c.textContent.startsWith('score')).textContent"
    assert "0.01" not in at.js(score)
    at.js("handgrad.goto(5)")
    assert "0.01" in at.js(score) and "0.001768" not in at.js(score)
    at.js("handgrad.goto(28)")
    assert "0.001768" in at.js(score)
    at.js("handgrad.goto(5)")
    assert "0.001768" not in at.js(score)


def test_links_and_slider(page):
    at = page("#step=12")
    assert at.js("handgrad.position") == 12 and at.js("document.querySelector('#hg-slider').value") == "12"
    at.js("location.hash = '#step=3'")
    at.wait("handgrad.position === 3")
    at.js("(s => { s.value = 20; s.dispatchEvent(new Event('input')); })(document.querySelector('#hg-slider'))")
    assert at.js("handgrad.position") == 20 and at.js("location.hash") == "#step=20"
    assert at.js("document.querySelector('#hg-slider').getAttribute('aria-valuetext')").startswith("Backward 6 of 14")
    for nonsense in ("#step=9999", "#step=-4", "#step=x", "#in=77&step=2"):
        at.js("handgrad.goto(5)")  # somewhere else, so that we see it move
        at.js(f"location.hash = '{nonsense}'")
        at.wait(f"handgrad.position === {({'#step=9999': 28, '#in=77&step=2': 2}).get(nonsense, 0)}")


def test_cards_take_focus_and_enter(page):
    at = page()
    keys = at.js("[...document.querySelectorAll('.hg-card[tabindex]')].map(c => c.getAttribute('aria-label'))")
    assert [key.partition(",")[0].partition(" =")[0] for key in keys[:3]] == ["Q", "K", "V"]
    at.js("document.querySelector('.hg-card[tabindex]').focus()")
    at.key("Enter")
    assert at.js(WHERE) == "Forward 1 of 14"  # before the backward pass, a card leads to the step that makes it
    at.js("handgrad.goto(14)")
    at.js("document.querySelector('.hg-card[tabindex]').focus()")
    at.key("Enter")
    assert at.js(WHERE) == "Backward 14 of 14"
    at.click(".hg-card[tabindex]:nth-last-of-type(1)")
    assert at.js("handgrad.position") in (15, 28)


def test_a_screen_reader_hears_each_step(page):
    at = page("#step=27")
    said = at.text("#hg-status")
    assert said.startswith("Backward 13 of 14. K sends") and "to X, path 2 of 3" in said
    assert at.js("document.querySelector('#hg-status').getAttribute('role')") == "status"
    labels = at.js("[...document.querySelectorAll('#hg-panel math')].map(m => m.getAttribute('aria-label'))")
    assert "∂L/∂X += ∂L/∂K @ WK.T" in labels
    buttons = "[...document.querySelectorAll('button')].filter(b => b.offsetParent)"
    assert at.js(f"{buttons}.every(b => b.innerText.trim() || b.getAttribute('aria-label'))")


def test_guess_first(page):
    at = page("#step=26")
    at.key("g")
    at.key("ArrowRight")
    assert at.js("document.body.classList.contains('hg-hide')") and "Show it" in at.text("#hg-next")
    assert "2 of 3" not in at.js(RECEIVING) and "1 of 3" in at.js(RECEIVING)
    colours = at.js("[...document.querySelectorAll('.hg-answer td')].map(c => getComputedStyle(c).color)")
    assert set(colours) == {"rgba(0, 0, 0, 0)"}
    for text, verdict in (
        ("abc", "write a number"),
        ("0.5", "not yet"),
        ("-1.77e-5", "the sign"),
        ("1.77e-5", "right"),
    ):
        at.js("(i => { i.value = ''; i.focus(); })(document.querySelector('.hg-guess input'))")
        at.type(text)
        at.key("Enter")
        assert verdict in at.text(".hg-guess output")
    assert not at.js("document.body.classList.contains('hg-hide')")
    assert "0 of 1 right" in at.text("#hg-score")
    assert "2 of 3" in at.js(RECEIVING)
    at.key("g")
    at.js("document.activeElement.blur()")
    at.key("g")
    assert not at.js("document.body.classList.contains('hg-hide')")


def test_opening_a_module(page, tmp_path):
    with ag.scope("feed", kind="FeedForward"):
        h = nn.FeedForward(4, 8, rng=0)(Value(np.ones((2, 4)), name="x"))
    step(h.sum(), collapse=1).save(tmp_path / "module.html")
    at = page("#step=4", where=(tmp_path / "module.html").as_uri())
    assert at.js(WHERE) == "Backward 2 of 2"
    at.click(".hg-open")
    assert at.js("handgrad.view") > 0 and at.js("handgrad.length") > 4
    at.key("End")
    assert "inside feed" in at.text("#hg-title")
    at.click("#hg-leave")
    assert at.js("handgrad.view") == 0 and at.js("handgrad.position") == 4
    assert at.js("document.querySelectorAll('.hg-is-now').length") >= 2


def test_a_softmax_is_written_in_its_named_steps(page):
    at = page("#step=18")
    names = "[...document.querySelectorAll('#hg-panel .hg-name')].map(one => one.textContent)"
    assert at.js(names) == ["dot", "u"]


def test_narrow_screens(page):
    at = page("#step=27", width=390, height=844, phone=True)
    assert at.js("document.documentElement.scrollWidth") <= 390
    assert at.js("getComputedStyle(document.querySelector('.hg-keys')).display") == "none"
    sizes = at.js(
        "[...document.querySelectorAll('.hg-controls button')].filter(b => b.offsetParent)"
        ".map(b => Math.min(b.offsetWidth, b.offsetHeight))"
    )
    assert min(sizes) >= 44
    graph = at.js("(b => [b.top, b.height])(document.querySelector('#hg-graph').getBoundingClientRect())")
    at.js("window.scrollTo(0, 600)")
    assert at.js("document.querySelector('#hg-graph').getBoundingClientRect().top") <= graph[0] and graph[1] >= 300
    box = at.js("(b => [b.left, b.right])(document.querySelector('.hg-card.hg-is-now').getBoundingClientRect())")
    assert box[0] >= 0 and box[1] <= 390


# At each position: texts in view that are too small, as they are seen. (That cards are in view, test_fit looks at.)
SMALL_TEXTS = """(() => {
  let smallest;
  const isSmall = one => {
    if (![...one.childNodes].some(part => part.nodeType === Node.TEXT_NODE && part.data.trim())) return false;
    const scale = one.getScreenCTM ? one.getScreenCTM().a : 1;
    if (parseFloat(getComputedStyle(one).fontSize) * scale >= smallest) return false;
    const box = one.getBoundingClientRect();
    return box.width && box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth;
  };
  const found = {};
  for (let at = 0; at <= handgrad.length; at++) {
    handgrad.goto(at);
    smallest = !at ? 8.99 : innerWidth > 860 ? 10.99 : 10.49;
    const texts = document.querySelectorAll("#hg-copies *, #hg-stage text, .hg-bar *, .hg-controls *, #hg-panel *");
    const small = [...texts].filter(isSmall).map(one => one.textContent);
    if (small.length) found[at] = small;
  }
  return found;
})()"""


def transformer_block():
    return (nn.TransformerBlock(8, 2, rng=0)(np.arange(24.0).reshape(3, 8) % 5) ** 2).sum()


def scalar_mlp():
    return (nn.MLP(2, [4, 4, 1], rng=0)([1.0, -2.0]) - 1.0) ** 2


@pytest.mark.parametrize("graph", [transformer_block, scalar_mlp])
def test_everything_can_be_read(page, tmp_path, graph):
    """No text is smaller than 11 px, 10.5 on a phone."""
    step(graph()).save(tmp_path / "x.html")
    for width, height in ((1280, 800), (390, 844)):
        at = page(where=(tmp_path / "x.html").as_uri(), width=width, height=height, phone=width == 390)
        assert at.js(SMALL_TEXTS) == {}, width


def test_a_script_that_steps_changes_the_address_once(page):
    """Address and title take as long as a step, and browsers refuse to change the address often."""
    at = page()
    at.js("""(() => {
        window.changes = 0;
        const change = history.replaceState;
        history.replaceState = (...to) => { changes++; change.apply(history, to); };
        for (let place = 0; place <= handgrad.length; place++) handgrad.goto(place);
    })()""")
    title, last = at.js("[document.title, location.hash]")
    assert at.js("changes") == 1 and last == f"#step={at.js('handgrad.length')}" and title.startswith("Backward")


def test_two_fingers_zoom(page):
    at = page("#step=27", width=390, height=844, phone=True)
    scale = "new DOMMatrix(getComputedStyle(document.querySelector('#hg-stage svg')).transform).a"
    before = at.js(scale)

    def fingers(kind, *places):
        points = [{"x": x, "y": 350, "id": i} for i, x in enumerate(places)]
        at.call("Input.dispatchTouchEvent", type=kind, touchPoints=points)

    fingers("touchStart", 180, 220)
    for by in (5, 20, 40):
        fingers("touchMove", 180 - by, 220 + by)
    fingers("touchEnd")
    np.testing.assert_allclose(at.js(scale) / before, 3, rtol=0.2)  # they are three times as far apart
    at.key("ArrowLeft")
    np.testing.assert_allclose(at.js(scale), before)


def test_dark_and_light(page):
    at = page("#step=27", dark=True)
    surface = "getComputedStyle(document.body).backgroundColor"
    assert at.js(surface) == "rgb(21, 24, 29)"
    frame = "getComputedStyle(document.querySelector('.hg-is-now .hg-frame')).fill"
    assert at.js(frame) == "rgb(90, 53, 16)"
    at.click("#hg-theme")
    assert at.js(surface) == "rgb(255, 255, 255)" and at.js(frame) == "rgb(255, 221, 181)"
    at.js("localStorage.clear()")


def test_paper(page, tmp_path):
    at = page("#step=27", dark=True)
    at.pdf(tmp_path / "step.pdf")
    assert (tmp_path / "step.pdf").stat().st_size > 20_000
    at.call("Emulation.setEmulatedMedia", media="print")
    assert at.js("getComputedStyle(document.querySelector('.hg-controls')).display") == "none"
    assert at.js("getComputedStyle(document.querySelector('.hg-is-now .hg-frame')).fill") == "rgb(255, 221, 181)"
    at.call("Emulation.setEmulatedMedia", media="")


def test_hostile_names_in_the_browser(page, tmp_path):
    path = tmp_path / "hostile.html"
    step(hostile_graph(), title=HOSTILE).save(path)
    at = page(where=path.as_uri())
    at.key("End")
    assert at.js("document.querySelectorAll('img').length") == 0
    assert "</script><img src=x" in at.text("#hg-title")
    assert at.js("document.documentElement.scrollWidth") <= 1366


@pytest.mark.slow
def test_a_thousand_steps_open_and_move_quickly(page, tmp_path):
    if hasattr(os, "getloadavg") and os.getloadavg()[0] > (os.cpu_count() or 1):
        pytest.skip("NOT TIMED: the machine is busy, and seconds on it would say nothing")
    rng = np.random.default_rng(0)
    hidden = [Value(float(x), name=f"x{i}") for i, x in enumerate(rng.normal(size=8))]
    for layer in range(3):
        hidden = [
            ag.tanh(sum(Value(float(w), name=f"w{layer}") * x for w, x in zip(rng.normal(size=8), hidden)))
            for _ in range(10)
        ]
    steps = step(sum(hidden), collapse=False)
    assert 900 <= len(steps) <= 1100
    path = tmp_path / "thousand.html"
    steps.save(path)
    opened, pressed = [], []
    for _ in range(3):  # the quickest of three: the machine may be busy
        at = page(where=path.as_uri())
        opened.append(at.js("performance.getEntriesByType('navigation')[0].loadEventEnd"))
        pressed.append(
            at.js("""(() => { const times = [];
                for (let i = 0; i < 60; i++) {
                    const start = performance.now();
                    document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight', bubbles: true }));
                    document.body.getBoundingClientRect();
                    times.push(performance.now() - start);
                }
                return times.sort((a, b) => a - b)[30]; })()""")
        )
    assert min(opened) < 2000 and min(pressed) < 50


def test_the_widget_follows_the_page_and_moves_it(page, tmp_path):
    """The widget's module with a model that stands in for Python's."""
    module = files("autograd.stepping.page").joinpath("assets", "step_widget.js").read_text(encoding="utf-8")
    content = json.dumps(step(example3_full_backprop.graph()).html()).replace("<", "\\u003c")
    host = tmp_path / "host.html"
    host.write_text(
        f"""<!doctype html><meta charset="utf-8"><div id="el"></div><script type="module">
        {module.replace("export default { render };", "")}
        const state = {{ page: {content}, position: 0, height: 500 }}, heard = {{}};
        window.model = {{
            get: key => state[key], set: (key, value) => {{ state[key] = value; }}, save_changes: () => {{}},
            on: (event, call) => {{ heard[event] = call; }}, off: () => {{}},
            python: position => {{ state.position = position; heard["change:position"](); }},
        }};
        window.stop = render({{ model, el: document.getElementById("el") }});
        window.handgrad = true;
        </script>""",
        encoding="utf-8",
    )
    at = page(where=host.as_uri())
    at.wait_until(lambda: at.in_frame("!!document.querySelector('.hg-card')"), "the page in the frame")
    at.in_frame("document.querySelector('#hg-next').click()")
    at.wait("model.get('position') === 1")
    at.js("model.python(27)")
    at.wait_until(lambda: at.in_frame("document.querySelector('.hg-where b').innerText") == "Backward 13 of 14", "K")
    assert at.js("model.get('position')") == 27
