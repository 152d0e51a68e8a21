"""The interactive page, driven in a real browser: hover, search, open, close, pan, zoom, dark; no request leaves."""

import re

import numpy as np
import pytest

import autograd
import nn
from autograd import Value, draw

# What a test does with the page, in the page: small tools, then the test's own lines, whose result comes back.
TOOLS = """
const all = kind => [...document.querySelectorAll(kind)], by = id => document.getElementById(id);
const nameOf = node => node.getAttribute("aria-label").split(/[ ,]/)[0];
const keys = () => all(".hg-node").map(node => node.dataset.key);
const names = () => all(".hg-node").map(nameOf);
const named = name => all(".hg-node").find(node => nameOf(node) === name);
const click = element => element.dispatchEvent(new MouseEvent("click", {bubbles: true}));
const point = (element, kind, x, y) => element.dispatchEvent(
    new PointerEvent(kind, {bubbles: true, clientX: x, clientY: y, pointerId: 1}));
const drag = (element, x, y) => {
    point(element, "pointerdown", 300, 300); point(element, "pointermove", x, y); point(element, "pointerup", x, y); };
const key = (name, target) => (target || document.body)
    .dispatchEvent(new KeyboardEvent("keydown", {bubbles: true, key: name}));
const world = () => document.getElementById("hg-world").getAttribute("transform");
const panel = () => document.getElementById("hg-tooltip");
"""


@pytest.fixture
def drive(browser, tmp_path):
    """Opens a page, runs JavaScript in it, and gives what that returned; errors in the page fail the test."""

    def run(page, script, dark=False):
        policy = (
            "<meta http-equiv='Content-Security-Policy' content=\"default-src 'none'; script-src 'unsafe-inline'; "
            "style-src 'unsafe-inline'\">"
        )
        file = tmp_path / "page.html"
        file.write_text(page.replace("<head>", "<head>" + policy), encoding="utf-8")
        browser.errors.clear()  # of which a request that the policy forbids is one
        browser.open(file.as_uri(), width=1200, height=800, dark=dark)
        result = browser.js(f"(() => {{{TOOLS}{script}}})()")
        assert browser.errors == []
        return result

    return run


@pytest.fixture(scope="module")
def gpt_drawing():
    rng = np.random.default_rng(0)
    model = nn.GPT(vocab_size=11, block_size=8, d_model=8, n_heads=2, n_layers=3, rng=rng)
    ids, targets = rng.integers(0, 11, (2, 2, 8))
    with autograd.record_lines():
        loss = nn.functional.cross_entropy(model(ids), targets)
    loss.name = "loss"
    loss.backward()
    return lambda collapse: draw(loss, collapse=collapse, flow=True, names={"ids": ids, "targets": targets})


@pytest.fixture(scope="module")
def gpt_page(gpt_drawing):
    return gpt_drawing(1).html()


def test_it_begins_with_the_drawing_itself(drive, gpt_page):
    result = drive(gpt_page, "return {names: names(), edges: document.querySelectorAll('.hg-edge').length};")
    assert result["names"] == ["tokens", "positions", "blocks[0…2]", "norm", "head", "loss", "ids", "targets"]
    assert result["edges"] == 8  # one goes from the blocks back to the blocks


def test_clicking_a_module_opens_it_and_clicking_its_frame_closes_it(drive, gpt_page):
    result = drive(
        gpt_page,
        """
        const folded = names(); click(named("blocks[0…2]")); const open = names();
        click(named("blocks.1")); const inside = names();
        const frame = () => click(document.querySelector("g.hg-frame"));
        frame(); const once = names(); frame(); return {folded, open, inside, once, again: names()};""",
    )
    assert result["open"] == ["blocks.0", "blocks.1", "blocks.2", "from", "to"]
    assert {"blocks.1.attention", "blocks.1.norm1"} < set(result["inside"]) and "blocks.0" not in result["inside"]
    assert result["once"] == result["open"] and sorted(result["again"]) == sorted(result["folded"])


def test_a_frame_of_the_whole_graph_folds_there(drive, gpt_page):
    result = drive(
        gpt_page,
        """
        click(by("hg-open")); const before = keys().length;
        click(all("g.hg-frame").find(one => one.getAttribute("aria-label") === "close blocks.1.attention"));
        return [before, keys().length, names().includes("blocks.1.attention")];""",
    )
    assert result[1] < result[0] and result[2]


def test_open_all_shows_every_node_and_close_all_folds_again(drive, gpt_page, gpt_drawing):
    result = drive(
        gpt_page,
        """
        const before = keys().length; click(document.getElementById("hg-open")); const open = keys();
        click(document.getElementById("hg-close")); return {before, open, after: keys().length};""",
    )
    assert result["before"] == result["after"] and len(result["open"]) == len(gpt_drawing(False).scene.cards)
    assert not any(key.startswith(("m", "x")) for key in result["open"])


def test_opened_cards_do_not_overlap(drive, gpt_page):
    overlaps = drive(
        gpt_page,
        """
        click(by("hg-open"));
        const boxes = all(".hg-node > g > rect:first-of-type").map(one => one.getBoundingClientRect());
        let count = 0;
        for (const a of boxes) for (const b of boxes) if (a !== b && a.left < b.right - 1 && b.left < a.right - 1
            && a.top < b.bottom - 1 && b.top < a.bottom - 1) count++;
        return [boxes.length, count];""",
    )
    assert overlaps[0] > 10 and overlaps[1] == 0


def test_a_frame_with_one_result_cuts_no_stranger(drive):
    block = nn.TransformerBlock(4, 2, rng=0)
    page = draw((block(Value(np.ones((1, 3, 4)), name="x")) ** 2).mean(), collapse=False).html()
    touched = drive(page, """
        const box = e => e.getBoundingClientRect();
        const meet = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
        const inside = (a, b) => a.left < b.left && b.right < a.right && a.top < b.top && b.bottom < a.bottom;
        const frames = all(".hg-frame").filter(one => /norm/.test(one.dataset.close + one.ariaLabel));
        const crossed = frames.flatMap(frame => all(".hg-node").map(box)
            .filter(node => meet(box(frame), node) && !inside(box(frame), node)));
        return [frames.length, crossed.length];""")  # fmt: skip
    assert touched == [2, 0]


@pytest.mark.parametrize("direction", ["LR", "TB"])
def test_labels_cover_no_card_when_the_page_lays_out(drive, direction):
    model = nn.Sequential(nn.Linear(3, 2, rng=0), nn.Linear(2, 1, rng=1))
    page = draw((model(Value(np.ones((2, 3)), name="x")) ** 2).mean(), edges="rule", collapse=1, direction=direction)
    covered = drive(page.html(), """
        click([...document.querySelectorAll("button")].find(one => one.textContent === "open all"));
        const box = e => e.getBoundingClientRect();
        const meet = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
        const labels = all(".hg-edge text").map(box), nodes = all(".hg-node").map(box);
        return [labels.length, labels.filter(one => nodes.some(node => meet(one, node))).length];""")  # fmt: skip
    assert covered == [8, 0]


def test_hovering_tells_value_gradient_op_rule_and_line(drive):
    a, b = Value(2.0, name="a"), Value(1 / 3, name="b")
    with autograd.record_lines():
        product = a * b
    product.name = "p"
    product.backward()
    told = drive(
        draw(product).html(),
        """
        const box = named("p").getBoundingClientRect();
        point(named("p"), "pointermove", box.left + 5, box.top + 5);
        const shown = panel().hidden ? "" : panel().innerText;
        point(document.getElementById("hg-stage"), "pointermove", 1, 1);
        return {shown, hidden: panel().hidden};""",
    )
    assert "0.6666666666666666" in told["shown"] and "mul" in told["shown"] and "to a: g * b" in told["shown"]
    assert "test_page.py:" in told["shown"] and "product = a * b" in told["shown"]
    assert told["hidden"]


def test_rules_are_told_in_a_page_with_modules_too(drive, gpt_page):
    shown = drive(
        gpt_page,
        """
        const box = named("loss").getBoundingClientRect();
        point(named("loss"), "pointermove", box.left + 5, box.top + 5); return panel().innerText;""",
    )
    assert "to " in shown and "cross_entropy" in shown


def test_search_finds_marks_and_counts(drive, gpt_page):
    result = drive(
        gpt_page,
        """
        const box = document.getElementById("hg-search");
        const type = text => { box.value = text; box.dispatchEvent(new Event("input")); };
        const state = () => [by("hg-found").textContent, all(".hg-ring").length];
        type("head"); const head = state(); type("no such thing"); const none = state();
        type(""); return {head, none, cleared: document.getElementById("hg-found").textContent};""",
    )
    assert result["head"][1] >= 1 and result["head"][0].endswith("found")
    assert result["none"] == ["none", 0] and result["cleared"] == ""


def test_pan_zoom_and_whole_graph(drive, gpt_page):
    result = drive(
        gpt_page,
        """
        const stage = document.getElementById("hg-stage"); key("f"); const start = world();
        drag(stage, 340, 320);
        const panned = world(), turn = {bubbles: true, cancelable: true, deltaY: -300, clientX: 300, clientY: 300};
        stage.dispatchEvent(new WheelEvent("wheel", turn));
        const zoomed = world(); key("ArrowLeft"); const moved = world(); key("f");
        return {start, panned, zoomed, moved, whole: world()};""",
    )
    scale = {name: float(re.search(r"scale\(([\d.]+)\)", text)[1]) for name, text in result.items()}
    assert result["panned"] != result["start"] and scale["panned"] == scale["start"]
    assert scale["zoomed"] > 1.3 * scale["start"] and result["moved"] != result["zoomed"]
    assert result["whole"] == result["start"]


def test_a_drag_is_not_a_click(drive, gpt_page):
    result = drive(
        gpt_page,
        """
        const module = named("head"), before = keys();
        drag(module, 360, 300);
        click(module); return [before, keys()];""",
    )
    assert result[0] == result[1]


def test_the_keyboard_opens_and_closes(drive, gpt_page):
    result = drive(
        gpt_page,
        """
        const before = names(), head = named("head"); head.focus(); key("Enter", head); return [before, names()];""",
    )
    assert "head" in result[0] and "head.weight" in result[1]


def test_light_and_dark(drive, gpt_page):
    background = "getComputedStyle(document.body).backgroundColor"
    result = drive(
        gpt_page,
        f"""
        const before = {background}; click(document.getElementById("hg-theme")); const after = {background};
        click(document.getElementById("hg-theme")); return [before, after, {background}];""",
    )
    assert result == ["rgb(255, 255, 255)", "rgb(21, 24, 29)", "rgb(255, 255, 255)"]


def test_dark_by_the_system(drive, gpt_page):
    result = drive(gpt_page, "return getComputedStyle(document.body).backgroundColor;",
                   dark=True)  # fmt: skip
    assert result == "rgb(21, 24, 29)"


def test_hostile_names_stay_text(drive):
    name = "</script><img src=x onerror=\"document.title='owned'\"><b>x</b>"
    page = draw(Value(1.0, name=name) * Value(2.0, name="b")).html()
    result = drive(
        page,
        """
        const node = document.querySelector(".hg-node"), box = node.getBoundingClientRect();
        point(node, "pointermove", box.left + 3, box.top + 3);
        return [document.title, all("img, b").length, panel().querySelector("h2").textContent];""",
    )
    assert result[0].startswith("computation graph") and result[1] == 0 and result[2] == name


def test_a_graph_edited_since_says_so_and_keeps_its_numbers():
    model = nn.Sequential(nn.Linear(2, 2, rng=0), nn.Linear(2, 2, rng=1))
    loss = model(np.ones((1, 2))).sum()
    drawing = draw(loss)
    loss.backward()
    page = drawing.html()
    assert "edited after it was drawn" in page


def test_a_small_page_needs_no_modules(drive):
    assert drive(draw(Value(2.0, name="a") * 3).html(), "return names();") == ["a", "a"]


def test_a_page_of_many_cards(drive):
    x = Value(1.0, name="x")
    for _ in range(600):
        x = x * 1.5 - 0.5
    drawing = draw(x, max_nodes=10_000)
    assert drive(drawing.html(), "return keys().length;") == len(drawing.scene.cards)


def test_a_request_and_an_error_would_be_noticed(drive, gpt_page):
    for slip in ("<img src='https://example.com/x.png'>", "<script>nonsense()</script>"):
        with pytest.raises(AssertionError, match=r"example\.com|nonsense"):
            drive(gpt_page.replace("</body>", slip + "</body>"), "return 1;")


class Twice(nn.Module):
    def forward(self, x):
        return x * 2.0 + x


def test_a_card_leaves_out_only_the_name_of_its_own_module(drive):
    beta, x = Value([[2.0, 1.0]], name="beta.x"), Value([[0.5, 3.0]], name="x")
    with autograd.scope("a"):
        inner = beta * x
        inner.name = "a.y"
        root = (inner * beta).T.sum() + 1.0
    texts = drive(draw(root, collapse=False).html(), "return all('.hg-node').map(one => one.textContent);")
    assert any(text.startswith("y= beta.x * x") for text in texts), texts
    assert any(text.startswith("y * beta.x") for text in texts), texts
    assert any(".T" in text for text in texts), texts


def test_the_overview_gives_norms_of_parameters_only(drive):
    out = nn.Sequential(nn.Linear(4, 4, rng=0), Twice())(Value(np.ones((2, 4)), name="x"))
    out.sum().backward()
    script = "return all('#hg-overview button').map(one => [...one.children].map(part => part.textContent));"
    (first, norm), (second, none) = drive(draw(out).html(), script)
    assert (first, second) == ("layers.0", "layers.1") and float(norm) > 0 and none == ""


def loop_page():
    x, w = Value(0.5, name="x"), Value(0.9, name="w")
    for _ in range(12):
        x = autograd.sin(x * w) + 0.1
    x.backward()
    return draw(x, fit="slide").html()


def test_a_folded_picture_opens_into_its_pieces_and_comes_back(drive):
    first, run, piece, back = drive(loop_page(), """
        const said = () => [names(), document.title];
        const first = said();
        click(document.querySelector("[data-leads] rect")); const run = said();
        click(named("step[0]")); const piece = said();
        by("hg-up").click(); by("hg-up").click();
        return [first, run, piece, said()];
    """)
    assert len(first[0]) == 5 and back == first
    assert [name for name in run[0] if name.startswith("step")] == [f"step[{i}]" for i in range(12)]
    assert run[1].startswith("step") and piece[1].startswith("step[0]") and len(piece[0]) >= 3


def test_a_card_of_a_folded_picture_leads_to_what_it_stands_for(drive, gpt_page):
    page = draw(autograd.sum(nn.MLP(2, [8, 8, 1], rng=0)([1.0, 2.0]))).html()
    first, opened, every = drive(page, """
        const first = names(); click(all(".hg-can-open")[0]);
        const opened = names().length; by("hg-up").click();
        while (!by("hg-up").hidden) by("hg-up").click();
        by("hg-open").click();
        return [first, opened, keys().length];
    """)
    assert len(first) < 12 and opened >= 2 and every > 60


def test_search_finds_what_a_folded_picture_hides(drive):
    count = drive(loop_page(), """
        const search = by("hg-search"); search.value = "sin(";
        search.dispatchEvent(new Event("input")); return by("hg-found").textContent;
    """)
    assert int(count.split()[0]) >= 12
