"""Large models in a real browser: opening zooms to a module, the text stays readable, and there is a way back."""

import numpy as np
import pytest

import nn
from autograd import Value, draw
from examples import find

WIDE, PHONE = (1280, 800), (390, 800)
SMALLEST = """(() => {
    const scale = Number(/scale\\(([\\d.]+)\\)/.exec(document.getElementById("hg-world").getAttribute("transform"))[1]);
    const size = one => parseFloat(getComputedStyle(one).fontSize) * scale;
    return Math.min(...[...document.querySelectorAll("#hg-world text")].map(size));
})()"""
NAMES = """[...document.querySelectorAll(".hg-node")].map(one => one.getAttribute("aria-label").split(/[ ,;]/)
    .slice(0, one.classList.contains("hg-way-out") ? 2 : 1).join(" "))"""
# Cards that reach over the left or right side of the stage.
CUT_OFF = """(() => {
    const stage = document.getElementById("hg-stage").getBoundingClientRect();
    return [...document.querySelectorAll(".hg-node")].filter(one => {
        const box = one.getBoundingClientRect(); return box.left < stage.left || box.right > stage.right;
    }).map(one => one.getAttribute("aria-label"));
})()"""


def gpt(layers):
    rng = np.random.default_rng(0)
    model = nn.GPT(vocab_size=11, block_size=8, d_model=8, n_heads=2, n_layers=layers, rng=0)
    ids, targets = rng.integers(0, 11, (2, 2, 8))
    loss = nn.functional.cross_entropy(model(ids), targets)
    loss.name = "loss"
    loss.backward()
    return loss


def block():
    x = Value(np.random.default_rng(0).normal(size=(1, 4, 8)), name="x")
    loss = (nn.TransformerBlock(8, 2, rng=0)(x) ** 2).mean()
    loss.name = "loss"
    loss.backward()
    return loss


def scalars():
    loss = (nn.MLP(2, [4, 4, 1], rng=0)([1.0, -2.0]) - 1.0) ** 2
    loss.name = "loss"
    loss.backward()
    return loss


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    drawings = {"gpt": draw(gpt(12)), "block": draw(block(), collapse=1), "scalars": draw(scalars()),
                "open": draw(block(), collapse=False), "unasked": draw(block()),
                "example": draw(find("example3").module.graph()),
                "rules": draw(find("example3").module.graph(), edges="rule")}  # fmt: skip
    return {name: drawing.save(folder / f"{name}.html").as_uri() for name, drawing in drawings.items()}


@pytest.fixture
def page(browser, pages):
    """Opens a page and fails if it reported an error or asked for anything."""

    def open_page(name, size=WIDE, dark=False):
        browser.errors.clear()
        browser.requests.clear()
        browser.open(pages[name], *size, dark=dark, phone=size == PHONE)
        return browser

    yield open_page
    assert browser.errors == [] and all(address.startswith("file:") for address in browser.requests)


def press(browser, name):
    """A real click on the card whose name begins so, after dragging it into sight."""
    find = (
        f"[...document.querySelectorAll('.hg-node')].find(one => one.getAttribute('aria-label').startsWith({name!r}))"
    )
    while browser.js(f"{find}.getBoundingClientRect().bottom > innerHeight - 100"):
        browser.key("ArrowDown")
    while browser.js(f"{find}.getBoundingClientRect().top < 60"):
        browser.key("ArrowUp")
    while browser.js(f"{find}.getBoundingClientRect().left < 0"):
        browser.key("ArrowLeft")
    while browser.js(f"{find}.getBoundingClientRect().right > innerWidth"):
        browser.key("ArrowRight")
    browser.click(f'.hg-node[data-key="{browser.js(find + ".dataset.key")}"] text')


def path(browser):
    return [part.strip() for part in browser.text("#hg-path").split("›")]


def current(browser):
    return browser.js("document.querySelector('#hg-overview [aria-current=true] span')?.textContent || ''")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["1280", "390"])
def test_text_is_never_below_11_px_on_the_way_in(page, size, dark):
    browser = page("gpt", size, dark)
    into = ("blocks[0…11]", "blocks.0 ", "blocks.0.attention", "blocks.0.attention.out ")
    for name in into if size == PHONE else ("blocks[i].attention", *into[3:]):  # a phone begins with closed modules
        assert browser.js(SMALLEST) >= 10.99 and browser.js(CUT_OFF) == []
        press(browser, name)
    assert path(browser) == ["whole graph", "blocks[0…11]", "blocks.0", "attention", "out Linear"]
    assert browser.js(SMALLEST) >= 10.99
    shown = browser.js("getComputedStyle(document.body).backgroundColor")
    assert shown == ("rgb(21, 24, 29)" if dark else "rgb(255, 255, 255)")


@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["1280", "390"])
@pytest.mark.parametrize("name", ["block", "scalars", "open", "unasked", "gpt"])
def test_every_page_begins_readable(page, name, size):
    browser = page(name, size)
    assert browser.js(SMALLEST) >= 10.99
    if name != "open":  # what was asked to be open may be wider than the screen
        assert browser.js(CUT_OFF) == []
    assert browser.js("document.documentElement.scrollWidth <= innerWidth")


def test_a_drawing_only_a_little_too_wide_begins_as_it_was_drawn(page):
    drawn = [card.key for card in draw(find("example3").module.graph()).scene.cards]
    assert page("example").js("[...document.querySelectorAll('.hg-node')].map(one => one.dataset.key)") == drawn


def test_no_label_covers_another(page):
    overlaps = """(() => {
        const boxes = [...document.querySelectorAll(".hg-edge text")].map(one => one.getBoundingClientRect());
        const meet = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
        return boxes.flatMap((a, i) => boxes.slice(i + 1).filter(b => meet(a, b))).length;
    })()"""
    assert [page("rules", size).js(overlaps) for size in (WIDE, PHONE)] == [0, 0]


def test_a_turned_phone_is_arranged_anew(page):
    """What begins narrow is, in a wide window, as if it had begun there."""
    cards = "[...document.querySelectorAll('.hg-node')].map(one => one.getAttribute('transform') || one.outerHTML)"
    for name in ("example", "rules"):
        begun = page(name, WIDE).js(cards)
        browser = page(name, PHONE)
        assert browser.js(cards) != begun
        size = dict(zip(("width", "height"), WIDE))
        browser.call("Emulation.setDeviceMetricsOverride", **size, deviceScaleFactor=1, mobile=False)
        for _ in range(100):  # until the page has heard of it
            if browser.js(cards) == begun:
                break
        assert browser.js(cards) == begun, name


def test_modules_begin_open_if_that_was_asked_for(page):
    cards = page("open").js("document.querySelectorAll('.hg-node').length")
    assert cards == len(draw(block(), collapse=False).scene.cards)


def test_cards_that_open_say_so_and_others_do_not(page):
    browser = page("block")
    told = browser.js("""[...document.querySelectorAll(".hg-node")].map(one =>
        [one.classList.contains("hg-can-open"), one.textContent.includes("open +")])""")
    assert [True, True] in told and [False, False] in told and all(can == said for can, said in told)


def test_a_module_shows_its_cards_and_where_its_inputs_come_from(page):
    browser = page("block")
    press(browser, "attention")
    names = browser.js(NAMES)
    assert {"attention.W_Q", "attention.Q", "attention.K", "attention.V", "attention.out"} < set(names)
    assert names[-2:] == ["from norm1", "to x"]
    press(browser, "from norm1")
    assert path(browser) == ["whole graph", "norm1 LayerNorm"]
    press(browser, "to ")
    assert path(browser)[-1].startswith("attention")


def test_the_breadcrumb_and_the_overview_lead_back(page):
    browser = page("gpt")
    modules = "[...document.querySelectorAll('#hg-overview > ul > li > button span:first-child')]"
    assert browser.js(f"{modules}.map(one => one.textContent)") == [
        "tokens",
        "positions",
        "blocks[0…11]",
        "norm",
        "head",
    ]
    browser.click("#hg-overview > ul > li:nth-child(3) button")
    assert current(browser) == "blocks[0…11]"
    press(browser, "blocks.3")
    press(browser, "blocks.3.feed_forward")
    assert path(browser) == ["whole graph", "blocks[0…11]", "blocks.3", "feed_forward FeedForward"]
    browser.click("#hg-path a:nth-of-type(3)")
    assert path(browser)[-1] == "blocks.3 TransformerBlock" and current(browser) == "blocks.3"
    browser.click("#hg-path a:nth-of-type(1)")
    assert path(browser) == ["computation graph of loss"] and current(browser) == ""


def test_cards_leave_out_what_their_frame_says(page):
    browser = page("block")
    press(browser, "attention")
    texts = browser.js("[...document.querySelectorAll('.hg-node')].map(one => one.textContent)")
    assert texts[0].startswith("W_Q") and not any("attention.W_Q" in text for text in texts)


def test_keys_for_the_neighbour_for_out_and_for_the_whole(page):
    browser = page("gpt")
    press(browser, "blocks[i].norm1")
    assert browser.js("document.getElementById('hg-previous').disabled")
    browser.key("]")
    assert path(browser)[2:] == ["blocks.1", "norm1 LayerNorm"]  # of the next block, and not norm2
    browser.key("]")
    browser.key("[")
    assert path(browser)[2:] == ["blocks.1", "norm1 LayerNorm"]
    browser.key("[")
    browser.key("[")
    assert path(browser)[2:] == ["blocks.0", "norm1 LayerNorm"]
    browser.key("Escape")
    assert path(browser)[2:] == ["blocks.0 TransformerBlock"]
    browser.key("f")
    assert path(browser) == ["computation graph of loss"]
    inside = """(() => { const stage = document.getElementById("hg-stage").getBoundingClientRect();
        return [...document.querySelectorAll(".hg-node")].every(one => { const box = one.getBoundingClientRect();
            return box.top >= stage.top && box.bottom <= stage.bottom; }); })()"""
    assert browser.js(inside)


def test_by_keyboard_alone(page):
    browser = page("block")
    browser.js("document.querySelector('.hg-can-open').focus()")
    browser.key("Enter")
    assert path(browser)[-1] == "norm1 LayerNorm"
    assert browser.js("document.activeElement.getAttribute('aria-label')") == "close norm1"
    browser.key("Escape")
    browser.key("Escape")  # the first closes what the card tells
    assert path(browser) == ["computation graph of loss"]
    assert browser.js("document.activeElement.getAttribute('aria-label')").startswith("norm1 LayerNorm, module")


def test_the_overview_is_a_menu_on_a_phone(page):
    browser = page("gpt", PHONE)
    shown = "getComputedStyle(document.getElementById('hg-overview')).display"
    assert browser.js(shown) == "none"
    browser.click("#hg-menu")
    assert browser.js(shown) == "block" and browser.js("document.getElementById('hg-menu').ariaExpanded") == "true"
    browser.click("#hg-overview > ul > li:nth-child(5) button")
    assert browser.js(shown) == "none" and path(browser) == ["whole graph", "head Linear"]
    targets = "[...document.querySelectorAll('.hg-bar button, .hg-camera button')].filter(one => one.offsetWidth)"
    assert browser.js(f"Math.min(...{targets}.map(one => Math.min(one.offsetWidth, one.offsetHeight)))") >= 44


def touch(browser, kind, *points):
    places = [{"x": x, "y": y, "id": number} for number, (x, y) in enumerate(points)]
    browser.call("Input.dispatchTouchEvent", type=kind, touchPoints=places)


def camera(browser):
    numbers = "getAttribute('transform').match(/[-\\d.]+/g).map(Number)"
    return browser.js(f"document.getElementById('hg-world').{numbers}")


def test_two_fingers_zoom_and_one_pans(page):
    browser = page("gpt", PHONE)
    browser.call("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=2)
    try:
        x, y, scale = camera(browser)
        touch(browser, "touchStart", (150, 400), (250, 400))
        for spread in (60, 70, 80, 90, 100):
            touch(browser, "touchMove", (200 - spread, 400), (200 + spread, 400))
        touch(browser, "touchEnd")
        wide_x, wide_y, wider = camera(browser)
        assert wider == pytest.approx(2 * scale, rel=0.05)
        top = browser.js("document.getElementById('hg-stage').getBoundingClientRect().top")
        assert (200 - wide_x) / wider == pytest.approx((200 - x) / scale, abs=3)  # what was between the fingers stays
        assert (400 - top - wide_y) / wider == pytest.approx((400 - top - y) / scale, abs=3)
        touch(browser, "touchStart", (200, 400))
        touch(browser, "touchMove", (200, 330))
        touch(browser, "touchMove", (200, 300))
        touch(browser, "touchEnd")
        assert camera(browser)[1] == pytest.approx(wide_y - 100, abs=2) and len(path(browser)) == 1
    finally:
        browser.call("Emulation.setTouchEmulationEnabled", enabled=False)


def test_searching_goes_to_what_is_inside_a_closed_module(page):
    browser = page("block")
    browser.click("#hg-search")
    browser.type("softmax")
    assert browser.text("#hg-found") == "2 found"  # of two heads
    browser.key("Enter")
    assert path(browser)[-1] == "attention MultiHeadAttention"
    assert browser.js("document.querySelectorAll('.hg-ring').length") == 2


def test_nothing_overlaps_in_any_module(page):
    browser = page("gpt")
    overlaps = """(() => {
        const boxes = [...document.querySelectorAll(".hg-node")].map(one => one.getBoundingClientRect());
        return boxes.filter((a, i) => boxes.some((b, j) => i !== j && a.left < b.right - 2 && b.left < a.right - 2
            && a.top < b.bottom - 2 && b.top < a.bottom - 2)).length; })()"""
    for name in ("", "blocks[i].feed_forward", "blocks.0.feed_forward.up"):
        if name:
            press(browser, name)
        assert browser.js(overlaps) == 0, name
