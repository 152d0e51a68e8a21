"""Pages whose numbers can be changed: page and Python agree on every number and every printed digit."""

import copy
import json
import os
import re
from html import unescape

import numpy as np
import pytest

import autograd as ag
import nn
from autograd import Value, step
from autograd.drawing.layout.geometry import Box
from autograd.drawing.layout.measure import measure
from autograd.drawing.paint.card import paint_card
from autograd.formula.noise import NOISE
from autograd.graph import topological
from autograd.op import apply
from autograd.playing.page import play
from autograd.stepping.faces.picture import View
from autograd.stepping.page.document import openings
from autograd.stepping.page.live import build
from autograd.stepping.page.packing import unpacked
from autograd.stepping.page.panel import Panels
from autograd.stepping.page.registers import MOST_SCALARS
from examples import (
    cat_sleeps,
    example1_forward_pass,
    example2_single_step,
    example3_full_backprop,
    example4_multiple_patterns,
    example5_feed_forward,
    example6_complete_transformer,
)

EXAMPLES = {
    "1": example1_forward_pass, "2": example2_single_step, "3": example3_full_backprop, "4": example4_multiple_patterns,
    "5": example5_feed_forward, "6": example6_complete_transformer, "cat": cat_sleeps,
}  # fmt: skip

# How many changes of numbers each graph is tried on, if not a few. All 1,000, in an hour or two:
#   HANDGRAD_EDITS=1000 pytest tests/autograd/stepping/test_live_page.py -k agree -s
# Such a run prints each edit that differs, goes on, and fails at the end; HANDGRAD_ONLY=17,200:300 tries these alone.
EDITS = int(os.environ.get("HANDGRAD_EDITS", "0"))
ONLY = {edit for some in re.findall(r"(\d+)(?::(\d+))?", os.environ.get("HANDGRAD_ONLY", ""))
        for edit in range(int(some[0]), int(some[1] or int(some[0]) + 1))}  # fmt: skip
FEW = 2 if EDITS else 1  # of them are looked at step by step, as a reader would

# What a page shows at every position of every view: all texts of its panel, and those of its cards. `shownByPage` goes
# there as a reader does; `numbersOfPage` is the page's own program beside it, which fills in what would be shown while
# nothing is laid out, for a thousand changes of numbers.
READERS = """(() => {
  const element = id => document.getElementById(id), click = id => element(id).click();
  const made = (name, html, space = 'http://www.w3.org/1999/xhtml') =>
    Object.assign(document.createElementNS(space, name), { innerHTML: html });
  const texts = card =>
    [...card.querySelectorAll('text')].filter(one => !one.closest('.hg-turn')).map(one => one.textContent).join(' ');
  const textsIn = node => {
    const walker = document.createTreeWalker(node, NodeFilter.SHOW_TEXT), found = [];
    while (walker.nextNode()) found.push(walker.currentNode);
    return found;
  };
  const NOT_READ = '[hidden], form, .hg-legend, .hg-open, .hg-loop, .hg-entries, .hg-turn';
  function read(panel) {
    const skipped = new Set([...panel.querySelectorAll(NOT_READ)].flatMap(textsIn));
    return textsIn(panel).filter(text => !skipped.has(text)).map(text => text.data.trim()).filter(Boolean);
  }
  const here = () => [read(element('hg-text')), [...document.querySelectorAll('#hg-stage .hg-card')].map(texts).sort()];
  const way = () => document.querySelector('[data-view]');     // into a module
  function walk(modules = []) {
    const found = [here()];
    for (let i = 1; i <= handgrad.length; i++) { click('hg-next'); found.push(here()); if (way()) modules.push(i); }
    return found;
  }
  window.shownByPage = () => {
    document.body.style.display = 'none';      // nothing is laid out meanwhile
    handgrad.goto(0);
    const modules = [], found = [walk(modules)];
    for (const i of modules) { handgrad.goto(i); way().click(); found.push(walk()); click('hg-leave'); }
    document.body.style.display = '';
    return found;
  };
  window.numbersOfPage = () => {
    const data = JSON.parse(element('hg-data').textContent), program = live(data);
    const unpacked = text => text.replace(/[\ue000-\uf8ff]/g, code => data.tags[code] ?? code);
    const views = data.views.map(view => ({
      panels: [[view.start], ...view.steps.map(step => [step.panel, step.numbers])]
        .map(([text, numbers]) => [made('div', unpacked(text)), numbers]),
      cards: Object.values(view.cards).map(card => ({
        ...card, groups: card.faces.map(face => made('g', unpacked(face), 'http://www.w3.org/2000/svg')),
      })),
    }));
    const shown = ({ panels, cards }) => {
      const steps = panels.slice(1).map(([, numbers]) => numbers);
      const [bad, word] = program.trouble(cards.map(card => card.numbers.at(-1)[0]));
      const faces = cards.map(({ groups, numbers }, at) => groups.map((group, i) => {
        program.card(group, numbers[i], at === bad ? word : '');
        return texts(group);
      }));
      return panels.map(([panel, numbers], position) => {
        program.fill(panel, numbers, steps);
        return [read(panel), cards.map((card, at) => faces[at][states.faceAt(card, position)]).sort()];
      });
    };
    const { names } = program;
    return numbers => {
      for (const [name, value] of Object.entries(numbers)) program.set(name, value);
      const known = Object.keys(names).map(name => [name, names[name].map(block => program.nested(block))]);
      return [Object.fromEntries(known), views.map(shown)];
    };
  };
  window.changed = numbers => {
    for (const [name, value] of Object.entries(numbers)) handgrad.set(name, value);
    return Object.fromEntries(handgrad.names().map(name => [name, [handgrad.get(name), handgrad.grad(name)]]));
  };
})()"""


def shown_by_python(stepper):
    """The same, of the page that Python writes for a graph with these numbers."""
    return [shown_by_view(one) for one in (stepper, *openings(stepper).values())]


def shown_by_view(stepper):
    panels, view = Panels(stepper), View(stepper)
    texts = [panels.start(), *map(panels.panel, stepper)]
    painted = {id(face): text_on_card(face.card) for track in view.tracks.values() for face in track.faces}
    cards = [sorted(painted[id(track.at(i))] for track in view.tracks.values()) for i in range(len(texts))]
    return [[read(text), on_cards] for text, on_cards in zip(texts, cards, strict=True)]


def read(html, entries_too=False):
    """The texts of a panel, without the fields for guesses and the entries, which a page writes when it is asked."""
    entries = r'<details class="hg-entries">(?:(?!<details>).)*?(?:<details>.*?</details>)?</details>'
    left_out = "<form.*?</form>" if entries_too else rf"<form.*?</form>|{entries}"
    parts = re.split(r"<[^>]*>", re.sub(left_out, "", html, flags=re.S))
    return [unescape(part).strip() for part in parts if part.strip()]


def text_on_card(face):
    size = measure(face)
    svg = paint_card(face, Box(0, 0, size.width, size.height), "")
    return " ".join(unescape(text) for text in re.findall(r"<text[^>]*>(.*?)</text>", svg))


def data_of(page):
    data = json.loads(re.search(r'<script id="hg-data" type="application/json">(.*?)</script>', page, re.S)[1])
    return data | {"views": unpacked(data)}


def small_graph(a=2.0, b=-3.0):
    a, b = Value(a, name="a"), Value(b, name="b")
    loss = (a * b + a**2).tanh()
    loss.name = "L"
    return loss


def leaves_of(root, stepper=None):
    """The leaves of a graph whose numbers can be changed, by the names that its page has for them."""
    stepper = stepper or step(root, backward=False)
    return {stepper.words.name(node): stepper.words.original(node) for node in stepper.walk.nodes
            if node.op is None and np.asarray(node.data).dtype.kind == "f"}  # fmt: skip


def packed(stepper, numbers):
    """Numbers for leaves that show parts of packed ones, such as W_Q, as numbers for these."""
    parts = stepper.walk.parts.items()
    shown = {part for _, all_parts in parts for _, part in all_parts}
    whole = {leaf: x for leaf, x in numbers.items() if leaf not in shown}
    for leaf, all_parts in parts:
        whole[stepper.words.original(leaf)] = data = leaf.data.copy()
        for index, part in all_parts:
            data[index] = numbers.get(part, part.data)
    return whole


def with_leaves(root, numbers):
    """The same graph, computed anew after its leaves were given these numbers."""
    new = {}
    for node in topological(root):
        if node.op is not None:
            new[node] = apply(node.op, tuple(new[x] if isinstance(x, Value) else x for x in node.inputs))
            new[node]._note = node._note  # its name, and the module it was made in
        else:
            new[node] = node
            node.data, node.grad = numbers.get(node, node.data), None
    return new[root]


def assert_agrees_after_edits(at, root, edits):
    """Each edit moves all the leaves of the graph not far from where they were; at last they are reset."""
    stepper = step(root, backward=False)
    rng, leaves = np.random.default_rng(1), leaves_of(root, stepper)
    start = {leaf: copy.copy(leaf.data) for leaf in leaves.values()}
    texts = shown_by_python(step(root, **at.options))
    assert_same_texts(at.js("shownByPage()"), texts)
    for _ in range(edits):
        numbers = {leaf: data + 0.3 * rng.normal(size=np.shape(data)) for leaf, data in start.items()}
        assert_agrees(at, {name: numbers[leaf] for name, leaf in leaves.items()}, with_leaves, root,
                      packed(stepper, numbers))
    at.js("handgrad.reset()")
    assert_same_texts(at.js("shownByPage()"), texts)


@pytest.fixture
def open_page(browser, tmp_path):
    browser.errors.clear()
    browser.differing = []

    def open_it(root, fragment="", optimizer=None, collapse=None, backward=True, **window):
        path = tmp_path / "live.html"
        browser.options, browser.edits = {"collapse": collapse}, 0
        step(root, optimizer=optimizer, collapse=collapse, backward=backward).save(path)
        browser.open(path.as_uri() + fragment, **window)
        browser.wait("!!window.handgrad")
        browser.js(READERS)
        return browser

    yield open_it
    assert browser.errors == []
    assert browser.differing == []


def as_json(numbers):
    return json.dumps({name: np.asarray(number).tolist() for name, number in numbers.items()})


def put(at, numbers):
    """Change numbers; what the page then computes, by name: value and gradient."""
    return at.js(f"changed({as_json(numbers)})")


def assert_agrees(at, numbers, graph, *given):
    """After a change the page has the numbers and shows the texts that Python has for the graph that `graph` makes of
    what is given. The first few changes are looked at as a reader would, step by step."""
    edit, at.edits = at.edits, at.edits + 1
    if ONLY and edit not in ONLY:
        return
    reads = "[changed(%s), shownByPage()]" if edit < FEW else "(window.quick ??= numbersOfPage())(%s)"
    found = at.js_later(reads % as_json(numbers))  # while Python does the same
    root = graph(*given)
    stepper = step(root, **at.options)
    texts = shown_by_python(stepper)
    known, shown = found()
    try:
        assert_same_texts(shown, texts)
        assert_same_numbers(known, root, stepper)
    except AssertionError as error:
        if not EDITS:
            raise
        at.differing.append(edit)
        print(f"\n{os.environ['PYTEST_CURRENT_TEST']}: edit {edit} differs: {error}", flush=True)


def assert_same_digits(at, root):
    assert_same_texts(at.js("shownByPage()"), shown_by_python(step(root, **at.options)))


def assert_same_texts(page, python):
    """What the page shows now is what Python writes for this graph, however it is parted into elements."""
    for number, (ours, theirs) in enumerate(zip(page, python, strict=True)):
        for position, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            for shown, expected in ("".join(one[0]), "".join(other[0])), ("\n".join(one[1]), "\n".join(other[1])):
                assert shown == expected, f"view {number}, position {position}\n{around(shown, expected)}"


def around(shown, expected, much=60):
    """Two texts from a little before their first difference."""
    same = next((i for i, (one, other) in enumerate(zip(shown, expected)) if one != other), 0)
    start = max(0, same - much)
    return f"page   ...{shown[start : start + 3 * much]!r}\nPython ...{expected[start : start + 3 * much]!r}"


def assert_same_numbers(found, root, stepper):
    """A gradient is the same to 1e-11, or to the rounding errors that Python measures for it: one that terms cancel to
    is nothing else, and no absolute bound fits both that and a gradient that is small for itself."""
    root.backward()
    gradients = {part: stepper.words.original(leaf).grad[index]
                 for leaf, parts in stepper.walk.parts.items() for index, part in parts}  # fmt: skip
    for name, node in (leaves_of(root, stepper) | ({root.name: root} if root.name else {})).items():
        value, gradient = found[name]
        expected = gradients.get(node, node.grad)
        np.testing.assert_allclose(value, node.data, rtol=1e-13, atol=1e-15)
        assert (gradient is None) == (expected is None)
        if gradient is not None:
            error = np.abs(np.subtract(gradient, expected))
            rounding = NOISE * np.asarray(stepper.walk.noise.get(stepper.twin(node), 0.0))
            assert np.all((error <= 1e-11 * np.abs(expected)) | (error <= rounding)), (name, gradient, expected)


# --- agreement ----------------------------------------------------------------------------------------------------


def test_a_scalar_graph_agrees_after_every_edit(open_page):
    at, rng = open_page(small_graph()), np.random.default_rng(0)
    for edit in range(EDITS or 15):
        a, b = rng.normal(scale=2, size=2).round(1 if edit % 2 else 12).tolist()
        assert_agrees(at, {"a": a, "b": b}, small_graph, a, b)


def test_a_ledger_of_equal_halves_agrees(open_page):
    """Where equal decimals would take a dozen digits, page and Python give them up alike."""

    def graph(x):
        x = Value(x, name="x")
        return x / (2.0 + x * x) * x * 0.8118314520104855

    at = open_page(graph(1.5))
    for number in (1.3459483414117317, 0.7, -2.3, 1 / 3):
        assert_agrees(at, {"x": number}, graph, number)


def test_what_counts_as_rounding_noise_agrees(open_page):
    """Where tanh is almost 1, its gradient is a few rounding errors: page and Python call the same ones 0."""
    at = open_page(small_graph())
    for a, b in ((-4.500282347149, 0.772739195133), (3.294678132712, 1.834975966889), (5.095795630966, -2.00184969774)):
        assert_agrees(at, {"a": a, "b": b}, small_graph, a, b)


def test_values_that_are_rounding_errors_agree(open_page):
    """A matrix product whose terms cancel may leave 10⁻¹⁷ in Python and 0 in the page; what follows from it too."""

    def graph(x, y):
        x, y = Value(np.array(x), name="x"), Value(np.array(y), name="y")
        z, s = x @ y, (x[0] * y[:, 0]).sum()
        z.name, s.name = "z", "s"
        return ((z * 3).tanh() + z).sum() + s.exp() * (s + x[0, 1])

    at = open_page(graph([[1.0, 2.0]], [[0.5], [0.25]]))
    rng = np.random.default_rng(5)
    for a, b in rng.normal(size=(6, 2)):
        given = [[a, b]], [[b], [-a]]
        z = step(graph(*given))[0].node
        assert abs(z.data) < 1e-15 and "≈0" not in str(shown_by_python(step(graph(*given))))
        assert_agrees(at, dict(zip("xy", given)), graph, *given)


def test_a_tie_agrees(open_page):
    def graph(x):
        x = Value(np.array(x), name="x")
        return ag.maximum(x, 2.3).sum() + x.max() * 3

    at = open_page(graph([1.0, 2.0, 3.0]))
    for numbers in ([2.3, 2.3, 1.1], [2.3, 0.1, 5.0]):
        assert_agrees(at, {"x": numbers}, graph, numbers)


def stepped(module):
    """The graph of an example that `make demo` steps through."""
    return module.stepped() if hasattr(module, "stepped") else module.graph()


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_agrees_after_every_edit(open_page, name):
    root = stepped(EXAMPLES[name])
    assert_agrees_after_edits(open_page(root), root, EDITS or 2)


def test_the_inside_of_modules_agrees_after_every_edit(open_page):
    """Closed modules, opened: what each shows is what Python shows of it after the same change."""
    block, x = nn.TransformerBlock(4, 2, rng=0), Value(np.random.default_rng(3).normal(size=(2, 4)), name="x")
    root = (block(x, mask=np.tri(2, dtype=bool)) ** 2).mean()
    root.name = "L"
    assert_agrees_after_edits(open_page(root, collapse=1), root, EDITS or 2)


OPS = {
    "a matrix product": lambda x, y: (x @ y).tanh().sum(),
    "softmax": lambda x, y: (ag.softmax(x, axis=-1) * y).sum(),
    "layer norm": lambda x, y: (nn.functional.layer_norm(x, y[0], y[1]) * x).sum(),
    "broadcasting": lambda x, y: (x[0] * y + x.mean(axis=-1) / 3).sum(),
    "cross entropy": lambda x, y: nn.functional.cross_entropy(x @ y, np.array([1, 0])),
    "every kind of function": lambda x, y: (ag.gelu(x) + (y * y + 1).log() * ag.sigmoid(x) - ag.relu(y).exp()).sum(),
    "choices": lambda x, y: (ag.where(x > y, x * 2, y**3) + ag.maximum(x, y) * abs(x - y)).mean(),
    "attention": lambda x, y: nn.functional.attention(x, y, x + y).sum(),
    "transposes and powers": lambda x, y: ((x.T * 1e-6).T ** 2 @ y.T**3 + (x.T * y + 9) ** 0.5).sum(),
}


@pytest.mark.parametrize("name", OPS)
def test_ops_agree_after_every_edit(open_page, name):
    rng = np.random.default_rng(2)

    def graph(x, y):
        root = OPS[name](Value(x, name="x"), Value(y, name="y"))
        root.name = "L"
        return root

    at = open_page(graph(*rng.normal(size=(2, 2, 2))))
    for _ in range(EDITS or 3):
        x, y = rng.normal(size=(2, 2, 2))
        assert_agrees(at, {"x": x, "y": y}, graph, x, y)


FUNCTIONS = (
    lambda x, y: x * y, lambda x, y: x + y, lambda x, y: x - y, lambda x, y: x.tanh(), lambda x, y: x / (y * y + 1.5),
    lambda x, y: (x * x + 1).log(), lambda x, y: ag.sigmoid(x), lambda x, y: ag.relu(x), lambda x, y: ag.gelu(x),
    lambda x, y: x @ y if x.ndim == y.ndim == 2 else x**2, lambda x, y: (x * 0.3).exp(), lambda x, y: x.T * y,
)  # fmt: skip


def random_graph(seed, numbers):
    """A few functions of a number and two matrices, applied to one another at random."""
    rng = np.random.default_rng(seed)
    values = [Value(number, name=name) for name, number in numbers.items()]
    for _ in range(rng.integers(3, 7)):
        x, y = (values[i] for i in rng.integers(len(values), size=2))
        values.append(FUNCTIONS[rng.integers(len(FUNCTIONS))](x, y))
        values[-1].name = f"h{len(values)}"
    return (values[-1] * values[0]).sum()


@pytest.mark.parametrize("seed", range(8))
def test_random_graphs_agree_after_every_edit(open_page, seed):
    rng = np.random.default_rng(seed)
    shapes = {"a": (), "b": (2, 2), "c": (2, 2)}

    def numbers():
        return {name: rng.normal(size=shape) for name, shape in shapes.items()}

    at = open_page(random_graph(seed, numbers()))
    known = at.js("handgrad.names()")
    for _ in range(EDITS or 3):
        edited = numbers()
        assert_agrees(at, {name: edited[name] for name in known if name in edited}, random_graph, seed, edited)


# --- training -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name, weights", [("2", ["WO4"]), ("3", ["WQ", "WK", "WV", "WO4"]), ("4", ["WO4"])])
def test_an_update_is_the_worksheets(open_page, name, weights):
    at, found = open_page(EXAMPLES[name].graph()), EXAMPLES[name].run(update="full")
    at.js("handgrad.update(0.1)")
    for weight in weights:
        np.testing.assert_allclose(at.js(f"handgrad.get('{weight}')"), found[f"{weight}_new"], rtol=1e-12)
    if name != "4":  # which trains all weights only in its exercises
        np.testing.assert_allclose(at.js("handgrad.get('L')"), found["L_new"], rtol=1e-12)


def test_training_on_is_the_worksheets(open_page):
    at = open_page(example4_multiple_patterns.graph())
    expected = example4_multiple_patterns.train(100, ("WQ", "WK", "WV", "WO4"))["loss"]
    one = "if (i) handgrad.update(0.1); return handgrad.get('L_mean');"
    found = at.js(f"Array.from({{length: 101}}, (_, i) => {{ {one} }})")
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_no_update_is_offered_where_the_loss_is_not_finite(open_page):
    """log(x − 5) at x = 2 is NaN, though 1 / (x − 5) is a finite gradient."""
    x = Value(6.0, name="x")
    at = open_page((x - 5.0).log())
    at.js("handgrad.goto(handgrad.length)")
    offered = "!!document.getElementById('hg-update')"
    assert at.js(offered) and at.js("document.getElementById('hg-next-name').textContent") == "update"
    at.js("handgrad.set('x', 2)")
    assert not at.js(offered) and at.js("document.getElementById('hg-next').disabled")
    assert "L is NaN, so its gradients lead nowhere" in at.js("document.querySelector('.hg-loop').innerText")
    assert "←" not in at.js("document.querySelector('.hg-loop').innerText")
    at.js("handgrad.set('x', 7)")
    assert at.js(offered)


SGD, Adam, AdamW = nn.optim.SGD, nn.optim.Adam, nn.optim.AdamW
OPTIMIZERS = {
    "SGD": lambda ps: SGD(ps, lr=0.3),
    "SGD with weight decay": lambda ps: SGD(ps, lr=0.3, weight_decay=0.2),
    "momentum": lambda ps: SGD(ps, lr=0.1, momentum=0.9),
    "dampening": lambda ps: SGD(ps, lr=0.1, momentum=0.9, dampening=0.4, weight_decay=0.1),
    "Nesterov": lambda ps: SGD(ps, lr=0.1, momentum=0.8, nesterov=True),
    "Nesterov with weight decay": lambda ps: SGD(ps, lr=0.1, momentum=0.8, nesterov=True, weight_decay=0.1),
    "Adam": lambda ps: Adam(ps, lr=0.05),
    "Adam with weight decay": lambda ps: Adam(ps, lr=0.1, betas=(0.5, 0.9), eps=1e-3, weight_decay=0.2),
    "amsgrad": lambda ps: Adam(ps, lr=0.1, betas=(0.5, 0.6), amsgrad=True),
    "AdamW": lambda ps: AdamW(ps, lr=0.02, weight_decay=0.3),
    "AdamW amsgrad": lambda ps: AdamW(ps, lr=0.1, betas=(0.5, 0.6), amsgrad=True),
}


def trained_graph(w, b):
    return (((np.array([[1.0, 2.0], [0.5, -1.0]]) @ w + b).tanh() - 0.3) ** 2).sum()


def taken(optimizer, w, b, steps):
    """The parameters after some steps of their optimizer."""
    for _ in range(steps):
        optimizer.zero_grad()
        trained_graph(w, b).backward()
        optimizer.step()
    return w.data, b.data


def updates_by_python(root, optimizer):
    """The texts of the updates, as Python writes them."""
    stepper = step(root, optimizer=optimizer)
    panels = Panels(stepper)
    return [panels.update(update) for update in build(stepper).shown_updates]


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_the_page_updates_as_the_optimizer_does(open_page, name):
    """To the last digits, printed ones too; from where the optimizer stands."""
    w, b = nn.Parameter([0.2, -0.4], name="w"), nn.Parameter(0.1, name="b")
    optimizer = OPTIMIZERS[name]([w, b])
    taken(optimizer, w, b, 2)
    at = open_page(trained_graph(w, b), "#step=99", optimizer=optimizer)
    for _ in range(6 if EDITS else 3):
        at.js("handgrad.goto(handgrad.length)")
        at.js(
            "folds = [...document.querySelectorAll('.hg-loop [data-entries]')]; folds.map(one => { one.open = true; })"
        )
        at.wait("folds.every(one => one.querySelector('.hg-line'))")
        shown = at.js("[...document.querySelectorAll('.hg-loop > div')].map(one => one.innerHTML)")
        expected = updates_by_python(trained_graph(w, b), optimizer)
        assert [read(text, True) for text in shown] == [read(text, True) for text in expected]
        at.click("#hg-update")
        taken(optimizer, w, b, 1)
        np.testing.assert_allclose(at.js("handgrad.get('w')"), w.data, rtol=1e-13)
        np.testing.assert_allclose(at.js("handgrad.get('b')"), b.data, rtol=1e-13)


def test_reset_makes_the_optimizer_start_anew(open_page):
    w, b = nn.Parameter([0.2, -0.4], name="w"), nn.Parameter(0.1, name="b")
    at = open_page(trained_graph(w, b), optimizer=OPTIMIZERS["Adam"]([w, b]))
    twice = "handgrad.update(0.05); handgrad.update(0.05); found.push(handgrad.get('w'))"
    first, second = at.js(f"(() => {{ const found = []; {twice}; handgrad.reset(); {twice}; return found; }})()")
    assert first == second


def test_only_what_the_optimizer_moves_is_moved(open_page):
    w, b = nn.Parameter([0.2, -0.4], name="w"), nn.Parameter(0.1, name="b")
    at = open_page(trained_graph(w, b), optimizer=nn.optim.SGD([b], lr=0.1))
    at.js("handgrad.update(0.1)")
    assert at.js("handgrad.get('w')") == [0.2, -0.4] and at.js("handgrad.get('b')") != 0.1


def test_an_optimizer_of_ones_own(open_page):
    """Its move is all that a page needs."""

    class Signs(nn.optim.Optimizer):
        slots = ("last",)

        def move(self, p, g, state, t, rate, spare=None, spare2=None):
            g = np.sign(g) + 0.5 * state["last"]
            return p - rate * g, {"last": g}

    w, b = nn.Parameter([0.2, -0.4], name="w"), nn.Parameter(0.1, name="b")
    optimizer = Signs([w, b], lr=0.1)
    at = open_page(trained_graph(w, b), "#step=99", optimizer=optimizer)
    assert "last ← sign(∂L/∂w) + 0.5 * last" in at.js("handgrad.text()")
    at.js("handgrad.update(0.1); handgrad.update(0.1)")
    np.testing.assert_allclose(at.js("handgrad.get('w')"), taken(optimizer, w, b, 2)[0], rtol=1e-13)


def test_an_optimizer_that_cannot_be_written_down():
    class Clever(nn.optim.Optimizer):
        def move(self, p, g, state, t, rate, spare=None, spare2=None):
            return (p - rate * g if g > 0 else p), state

    a = nn.Parameter(2.0, name="a")
    reason = build(step(a * a, optimizer=Clever([a], lr=0.1)))
    assert reason.startswith("a step of Clever can only be run, not written down: ") and "∂L/∂a > 0" in reason


def test_adams_moments_are_lines(open_page):
    a = Value(2.0, name="a")
    at = open_page(a * a, "#step=2", optimizer=nn.optim.Adam([a], lr=0.1))
    lines = at.js("[...document.querySelectorAll('.hg-loop .hg-line')].map(e => e.innerText)")
    assert [" ".join(line.split()) for line in lines] == [
        "0 + 1 = 1", "0.9 × 0 + 0.1 × 4 = 0.4", "0.999 × 0 + 0.001 × 4 ² = 0.016", "0.4 / ( 1 − 0.9 ^ 1 ) = 4",
        "0.016 / ( 1 − 0.999 ^ 1 ) = 16", "2 − 0.1 × 4 / (√( 16 ) + 1×10−8 ) ≈ 1.900",
    ]  # fmt: skip
    symbols = at.js("[...document.querySelectorAll('.hg-loop math[aria-label]')].map(e => e.ariaLabel)")
    assert [told for told in symbols if len(told) > 2] == [
        "t ← t + 1", "m ← 0.9 * m + 0.1 * ∂L/∂a", "v ← 0.999 * v + 0.001 * ∂L/∂a ** 2", "m̂ = m / (1 − 0.9 ** t)",
        "v̂ = v / (1 − 0.999 ** t)", "a ← a − η * m̂ / (sqrt(v̂) + 1×10⁻⁸)",
    ]  # fmt: skip


@pytest.mark.slow
def test_example_6_trains_as_its_worksheet_does(open_page):
    """On one pattern, since the page's graph has one."""
    module = example6_complete_transformer
    root = module.graph()
    at = open_page(root, optimizer=module.optimizer(root))
    transformer = module.Transformer()
    updates = 20 if EDITS else 8
    expected = module.train(transformer, module.BATCH[:1], 0.05, updates)["losses"]
    at.js("handgrad.goto(handgrad.length)")
    losses = [at.js("handgrad.get('L')")]
    for _ in range(updates):
        at.js("document.getElementById('hg-update').click(); handgrad.goto(handgrad.length)")
        losses.append(at.js("handgrad.get('L')"))
    np.testing.assert_allclose(losses, expected, rtol=1e-9)


def test_an_optimizer_that_a_page_cannot_follow():
    a = Value(2.0, name="a")
    with pytest.raises(ValueError, match="this SGD moves no leaf of the graph"):
        step(a * a, optimizer=nn.optim.SGD([Value(1.0)]))
    with pytest.raises(TypeError, match=r"such as nn\.optim\.SGD\(\[a, b\], lr=0.1\); got str"):
        step(a * a, optimizer="Adam")


def test_the_buttons_train(open_page):
    at = open_page(small_graph(), "#step=8")
    assert at.js("document.querySelector('.hg-loop .hg-sym').textContent") == "a←a−η·∂L∂a"
    assert at.text(".hg-loop .hg-line").replace("\n", "").replace(" ", "") == "2−0.1×0.07065≈1.993"
    before = at.js("handgrad.get('L')")
    promised = 0.1 * (at.js("handgrad.grad('a')") ** 2 + at.js("handgrad.grad('b')") ** 2)
    said = at.text(".hg-loop p.hg-lab")
    assert f"should fall by {promised:.5f}" in said and at.js("handgrad.get('L')") == before  # only looked at
    at.js("handgrad.update(0.1)")
    assert f"it will fall by {before - at.js('handgrad.get(`L`)'):.5f}" in said
    at.js("handgrad.reset()")
    at.click("#hg-train")
    at.wait("document.querySelector('.hg-chart .hg-lab').innerText.includes('100 updates')")
    assert at.js("handgrad.get('L')") < before
    at.click("#hg-update")
    assert at.js("handgrad.position") == 0


def test_next_leads_to_the_update_and_on_to_the_next_pass(open_page):
    at = open_page(small_graph(), "#step=8", height=500)
    assert at.text("#hg-next").split() == ["Next:", "update"]
    at.key("ArrowRight")
    assert at.js("handgrad.position") == 8 and at.js("document.activeElement.id") == "hg-update"
    assert at.js("(b => b.top >= 0 && b.bottom <= innerHeight)(document.activeElement.getBoundingClientRect())")
    at.key("Enter")
    assert at.js("handgrad.position") == 0 and at.js("handgrad.get('a')") == pytest.approx(2 - 0.1 * 0.0706508)
    assert at.text("#hg-next").startswith("Next:")
    x = Value(np.ones(2), name="x")
    at = open_page(x * 2.0, "#step=9", backward=False)  # nothing to update
    assert at.text("#hg-next").strip() == "Finished" and at.js("document.getElementById('hg-next').disabled")


# --- by hand ------------------------------------------------------------------------------------------------------

NUMBER_B = ".hg-can[data-name=b]"


def test_a_click_opens_a_field(open_page):
    at = open_page(small_graph(), "#step=8")
    at.click(NUMBER_B)
    assert at.js("document.activeElement.id") == "hg-field" and at.text(".hg-field b").startswith("b")
    at.type("-4.5")  # over the selected number; nothing is changed before Enter
    assert at.js("handgrad.get('b')") == -3 and "Enter sets b to -4.5; Esc keeps -3" in at.text("#hg-edit")
    at.key("Enter")
    assert at.js("handgrad.get('b')") == -4.5 and at.js("handgrad.grad('a')") < 0  # past −4 it changes its sign
    assert at.js(f"document.querySelector('{NUMBER_B}').textContent") == "−4.5"
    assert "set=1.0:-4.5" in at.js("location.hash")
    at.click("#hg-reset")
    assert at.js("handgrad.get('b')") == -3 and "set" not in at.js("location.hash")


def test_nonsense_changes_nothing(open_page):
    at, said = open_page(small_graph(), "#step=8"), "write a finite number"
    for text in ("abc", "", "1e999", "NaN", "Infinity", "1" * 100_000, "0x", "1/0", "b"):
        at.click(NUMBER_B)
        assert said not in at.text("#hg-edit")
        typed = f"(f => {{ f.value = {json.dumps(text)}; f.dispatchEvent(new Event('input')); }})"
        at.js(f"{typed}(document.activeElement)")
        at.key("Enter")
        assert at.js("handgrad.get('b')") == -3 and said in at.text("#hg-edit"), text[:20]
        assert "b is still -3" in at.text("#hg-edit")
        at.key("Escape")


def test_was_and_now_have_the_digits_that_tell_them_apart(open_page):
    a = Value(2.0, name="a")
    page = open_page(a * 1e-6 + 1.0)
    page.js("handgrad.set('a', 3)")
    row = [page.js(f"document.querySelector('.hg-was tr:nth-child(2)').cells[{n}].textContent") for n in (1, 2)]
    assert row == ["1.000002", "1.000003"]


def test_keys(open_page):
    at = open_page(small_graph(), "#step=3")
    at.key("e")
    at.key("e")
    assert at.js("document.activeElement.dataset.name") == "b"
    at.key("ArrowUp")
    at.key("ArrowUp")
    assert at.js("handgrad.get('b')") == -2.8 and at.js("handgrad.position") == 3
    at.key("ArrowRight")  # still steps
    assert at.js("handgrad.position") == 4
    at.js(f"document.querySelector('{NUMBER_B}').focus()")
    at.key("Escape")
    assert at.js("handgrad.get('b')") == -3


def test_dragging(open_page):
    at = open_page(small_graph(), "#step=3")
    box = f"document.querySelector('{NUMBER_B}').getBoundingClientRect()"
    x, y = at.js(f"(b => [b.x + b.width / 2, b.y + b.height / 2])({box})")
    for kind, dx in (("mousePressed", 0), ("mouseMoved", 8), ("mouseMoved", 40), ("mouseReleased", 40)):
        at.call("Input.dispatchMouseEvent", type=kind, x=x + dx, y=y, button="left", buttons=1, clickCount=1)
    assert at.js("handgrad.get('b')") == -2.5


def test_a_finger_drags_and_taps(open_page):
    at = open_page(small_graph(), "#step=1", width=390, height=844, phone=True)

    def touch(*moves):
        box = f"document.querySelector('{NUMBER_B}').getBoundingClientRect()"
        x, y = at.js(f"(b => [b.x + b.width / 2, b.y + b.height / 2])({box})")
        for kind, by in (("touchStart", 0), *(("touchMove", by) for by in moves)):
            at.call("Input.dispatchTouchEvent", type=kind, touchPoints=[{"x": x + by, "y": y}])
        at.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

    touch(-20, -40)
    assert at.js("handgrad.get('b')") == -3.5 and at.js("handgrad.position") == 1
    touch()
    assert at.js("document.activeElement.id") == "hg-field"
    at.type("-4.5")
    at.key("Enter")
    assert at.js("handgrad.get('b')") == -4.5


@pytest.mark.parametrize("text, number", {
    "1/2": 0.5, "sqrt(2)": 2**0.5, "pi": np.pi, "-3e-2": -0.03, "−0,25": -0.25, "1.8×10⁻⁴": 1.8e-4,
}.items())  # fmt: skip
def test_a_number_is_set_by_enter_alone(open_page, text, number):
    at = open_page(small_graph(), "#step=8")
    at.click(NUMBER_B)
    for i in range(1, len(text) + 1):  # of 1/2, the 1 was set, and the page said that nothing had been
        typed = f"(f => {{ f.value = {json.dumps(text[:i])}; f.dispatchEvent(new Event('input')); }})"
        at.js(f"{typed}(document.activeElement)")
        assert at.js("handgrad.get('b')") == -3
    at.key("Enter")
    assert at.js("handgrad.get('b')") == pytest.approx(number, rel=1e-15)


def test_every_change_can_be_undone(open_page):
    at = open_page(small_graph(), "#step=8")
    numbers = "[handgrad.get('a'), handgrad.get('b')]"
    at.js("handgrad.set('b', -4)")
    at.js("handgrad.update(0.5)")
    trained = at.js(numbers)
    at.click("#hg-reset")  # the training too
    assert at.js(numbers) == [2, -3]
    at.click("#hg-undo")
    assert at.js(numbers) == trained
    keys = "dispatchEvent(new KeyboardEvent('keydown', {key: '%s', ctrlKey: true}))"
    at.js("document.body." + keys % "z" + " || document.body." + keys % "z")
    at.js("handgrad.undo()")
    assert at.js(numbers) in ([2, -4], [2, -3])
    at.js("handgrad.undo()")
    assert at.js(numbers) == [2, -3] and at.js("location.hash") == "#step=8"
    for _ in range(4):
        at.js("handgrad.redo()")
    assert at.js(numbers) == [2, -3] and at.js("document.getElementById('hg-redo').disabled")


# --- roles --------------------------------------------------------------------------------------------------------


def line_graph():
    w, x, b, y = (Value(number, name=name) for name, number in zip("wxby", (0.5, 3.0, 1.0, 2.0)))
    return (w * x + b - y) ** 2


def test_training_moves_no_data(open_page, tmp_path):
    """On the front page, "train 100" took x from 3 to 2.549 and y from 2 to 2.011."""
    path = tmp_path / "line.html"
    path.write_text(play("(w*x + b - y)^2", {"w": 0.5, "x": 3.0, "b": 1.0, "y": 2.0}).page(), encoding="utf-8")
    at = open_page(line_graph())
    at.open(path.as_uri() + "#step=20")
    at.wait("!!window.handgrad")
    at.js("handgrad.update(0.05)")
    assert at.js("[handgrad.get('x'), handgrad.get('y')]") == [3, 2]
    assert at.js("handgrad.get('w')") != 0.5 and at.js("handgrad.get('b')") != 1


def test_a_click_on_a_role_switches_it_and_the_link_keeps_it(open_page):
    at = open_page(line_graph(), "#step=8")  # nobody says which leaves move: all do
    words = "[...document.querySelectorAll('.hg-role')].map(one => one.textContent)"
    assert at.js(words) == ["parameter"] * 4
    of_x = "[...document.querySelectorAll('.hg-card')].find(one => one.getAttribute('aria-label').startsWith('x,'))"
    at.js(f"{of_x}.querySelector('.hg-role').dispatchEvent(new MouseEvent('click', {{bubbles: true}}))")
    assert at.js(words).count("input") == 1 and at.js(f"{of_x}.classList.contains('hg-input')")
    assert at.js("handgrad.position") == 8  # the click does not lead to the card's step
    at.js("handgrad.update(0.05)")
    assert at.js("handgrad.get('x')") == 3 and at.js("handgrad.get('y')") != 2
    assert "roles=" in at.js("location.hash")
    address = at.js("location.href")
    at.open(address)
    at.wait("!!window.handgrad")
    assert at.js(words).count("input") == 1
    at.js("handgrad.update(0.05)")
    assert at.js("handgrad.get('x')") == 3


def test_guess_first_tells_nothing(open_page):
    at = open_page(small_graph())
    at.key("g")
    at.key("ArrowRight")
    assert at.text("#hg-root") == "?"  # it said L = −0.964
    at.js("document.querySelector('.hg-guess input').value = '6'")
    at.js("document.querySelector('.hg-guess').requestSubmit()")
    assert at.text(".hg-guess output") == "the sign is the other way"
    at.js("handgrad.goto(8)")
    forms = "document.querySelectorAll('.hg-guess')"
    at.js(f"{forms}[1].querySelector('input').value = '2'")
    at.js(f"{forms}[1].requestSubmit()")
    assert "own slope" in at.js(f"{forms}[1].querySelector('output').textContent")
    at.key("ArrowRight")
    assert at.text("#hg-root") == "−0.9640"


def test_a_link_carries_the_edits(open_page):
    at = open_page(small_graph(), "#step=8&set=1.0:-4.5")
    assert at.js("handgrad.get('b')") == -4.5 and at.js("handgrad.position") == 8
    assert at.text("#hg-root") == "−0.9999" == at.js("document.querySelector('[data-name=L]').textContent")
    for nonsense in ("1.0:NaN", "9.9:1", "1.7:2", ":", "1.0:1e999", "x"):
        at.js(f"location.hash = '#step=2&set={nonsense}'")
        at.wait("handgrad.position === 2")
        assert at.js("handgrad.get('b')") == -3
        at.js("location.hash = '#step=1'")
        at.wait("handgrad.position === 1")


def test_scripts_are_told_what_is_wrong(open_page):
    at = open_page(example3_full_backprop.graph())

    def error(call):
        return at.js(f"(() => {{ try {{ handgrad.{call}; return ''; }} catch (e) {{ return e.message; }} }})()")

    before = at.js("handgrad.get('WQ')")
    assert "nothing here is called nope; there are" in error("get('nope')")
    assert "is computed, so it cannot be set" in error("set('Q', [[1, 2], [3, 4]])")
    assert "shape 2×2" in error("set('WQ', [1, 2, 3, 4])") and "shape 2×2" in error("set('WQ', [[1, 2], [3]])")
    assert "finite number" in error("set('WQ', [[1, 2], [3, Infinity]])") and "finite" in error("update('x')")
    assert at.js("handgrad.get('WQ')") == before
    at.js("handgrad.goto(28)")
    assert "backward() leaves" in at.js("handgrad.text()")


def test_every_sentence_about_the_api(open_page):
    """DESIGN: names, get, grad, set, reset, goto, update, text; what is wrong throws and changes nothing."""
    x, w = Value([[1.0, 2.0]], name="x", requires_grad=False), nn.Parameter([[0.5], [-1.5]], name="w")
    h = x @ w
    h.name = "h"
    loss = (h * h).sum() * 0.5
    loss.name = "L"
    at = open_page(loss)
    assert at.js("handgrad.names()") == ["x", "w", "h", "L"]  # leaves and named results
    assert at.js("handgrad.get('w')") == [[0.5], [-1.5]] and at.js("handgrad.get('L')") == 3.125
    assert at.js("handgrad.grad('w')") == [[-2.5], [-5.0]] and at.js("handgrad.grad('L')") == 1
    assert at.js("handgrad.grad('x')") is None
    at.js("handgrad.set('x', [[2, 0.1]])")  # an input can be set as well, whole, in its own shape
    assert at.js("handgrad.get('h')") == [[2 * 0.5 + 0.1 * -1.5]]
    at.js("handgrad.reset()")
    assert at.js("[handgrad.get('x'), handgrad.get('L'), handgrad.length]") == [[[1, 2]], 3.125, 8]
    at.js("handgrad.goto(0)")
    assert at.js("handgrad.position") == 0 and "First forward" in at.js("handgrad.text()")
    at.js("handgrad.goto(8)")
    assert at.js("handgrad.position") == 8 and "Backward 4 of 4" in at.js("handgrad.text()")
    lines = at.js("handgrad.text()").split("\n")  # a formula, and arithmetic, on one line; a table row by row
    assert "∂L/∂w += x.T @ ∂L/∂h" in lines and "∂L/∂h =" in lines and "−2.5" in lines, lines
    at.js("handgrad.update(0.1)")  # on the leaves whose role is "parameter", then forward and backward again
    assert at.js("handgrad.get('w')") == [[0.75], [-1.0]] and at.js("handgrad.get('x')") == [[1, 2]]
    assert at.js("handgrad.get('L')") == 0.5 * (0.75 - 2.0) ** 2
    for call, said in {
        "get('y')": "nothing here is called y; there are x, w, h, L", "grad()": "nothing here is called",
        "set('w', 3)": "shape 2×1", "set('w', [[1], [NaN]])": "finite number", "set('w', [[1], ['2']])": "finite",
        "set('h', [[1]])": "is computed, so it cannot be set", "set('w', [[1], [2], [3]])": "shape 2×1",
        "update()": "finite step size", "update(Infinity)": "finite step size", "goto(1.5)": "integer of steps",
        "goto('a')": "integer of steps", "goto(9)": "0 to 8, got 9", "goto(-1)": "0 to 8, got -1",
    }.items():  # fmt: skip
        tried = f"try {{ handgrad.{call}; return ''; }} catch (e) {{ return e instanceof Error && e.message; }}"
        error = at.js(f"(() => {{ {tried} }})()")
        assert said in error, call
        assert at.js("handgrad.get('w')") == [[0.75], [-1.0]] and at.js("handgrad.position") == 8


def test_the_first_example_of_the_readme(open_page, tmp_path):
    """Drag b from −3 past −4: a.grad changes its sign. Train: the loss falls. Send the page to a friend."""
    a, b = Value(2.0, name="a"), Value(-3.0, name="b")
    at = open_page((a * b + a**2).tanh())
    at.key("End")

    def drag(by):
        box = f"document.querySelector('{NUMBER_B}').getBoundingClientRect()"
        x, y = at.js(f"(b => [b.x + b.width / 2, b.y + b.height / 2])({box})")
        moves = [("mouseMoved", by * i / 8) for i in range(1, 9)]
        for kind, dx in [("mousePressed", 0), *moves, ("mouseReleased", by)]:
            at.call("Input.dispatchMouseEvent", type=kind, x=x + dx, y=y, button="left", buttons=1, clickCount=1)

    shown = "document.querySelector('[data-name=a][data-kind=grad]').textContent"
    assert at.js(shown) == "0.07065" and at.js("handgrad.get('b')") == -3
    drag(-104)  # 8 px a tenth
    assert at.js("handgrad.get('b')") == -4.3 and at.js("handgrad.grad('a')") < 0
    assert at.js(shown).startswith("−")
    drag(80)
    assert at.js("handgrad.get('b')") == -3.3
    before = at.js("handgrad.get('L')")
    at.click("#hg-train")
    at.wait("document.querySelector('.hg-chart .hg-lab').innerText.includes('100 updates')")
    assert at.js("handgrad.get('L')") < before
    assert at.js("document.querySelectorAll('.hg-chart polyline')[0].getAttribute('points').split(' ').length") == 101
    numbers, address = at.js("[handgrad.get('a'), handgrad.get('b'), handgrad.grad('a')]"), at.js("location.href")
    at.open(address)  # the friend's browser
    at.wait("!!window.handgrad")
    assert at.js("[handgrad.get('a'), handgrad.get('b'), handgrad.grad('a')]") == numbers
    at.click("#hg-reset")
    assert at.js(shown) == "0.07065"


def test_whys_follow(open_page):
    x, y = Value(2.0, name="x"), Value(0.5, name="y")
    at = open_page(ag.log(x) * y.tanh(), "#step=6")
    asked = "[...document.querySelectorAll('#hg-text details:not([hidden]) summary')].map(e => e.textContent)"
    told = "[...document.querySelectorAll('#hg-text details:not([hidden]) p')].map(e => e.textContent).join(' ')"
    assert "why infinite?" not in at.js(asked) and "why so little?" not in at.js(asked)
    put(at, {"y": 9.0})
    at.js("handgrad.goto(5)")
    assert "why so little?" in at.js(asked) and "tanh is saturated: at" in at.js(told)
    put(at, {"x": 0.0})
    assert "why infinite?" in at.js(asked) and "the first is made by log, from x = 0" in at.js(told)
    assert "first ∞" in at.js("[...document.querySelectorAll('#hg-stage text')].map(e => e.textContent)")
    put(at, {"x": -1.0})
    assert "why NaN?" in at.js(asked) and "NaN" in at.js("document.getElementById('hg-status').textContent")
    at.js("handgrad.reset()")
    assert "first" not in at.js("document.querySelector('#hg-stage svg').textContent")
    assert "why NaN?" not in at.js(asked) and "why so little?" not in at.js(asked)


WHYS = {
    "tanh is saturated: at": (lambda x: x.tanh(), [9.0, -8.0, 7.0]),
    "tanh is saturated at 2 of 3": (lambda x: x.tanh()[:2], [9.0, -8.0, 0.5]),
    "sigmoid is saturated: at": (lambda x: ag.sigmoid(x), [-9.0, -12.0, 11.0]),
    "A dead ReLU: 3 of its 3": (lambda x: ag.relu(x), [-1.0, -2.0, -0.5]),
    "A dead ReLU: its input is": (lambda x: ag.relu(x[1]), [1.0, -2.0, 0.5]),
    "the same all along a row": (lambda x: ag.softmax(x, axis=-1).sum() * x[0], [1.0, 0.2, 0.5]),
    "softmax is saturated": (lambda x: ag.softmax(x, axis=-1)[:2] ** 2, [12.0, 0.2, 0.5]),
    "the same for every feature": (lambda x: nn.functional.layer_norm(x).sum() * 2, [3.0, 0.2, 0.5]),
    "multiplied by x[0], which is 0.": (lambda x: x[0] * x[1], [0.0, 0.2, 0.5]),
    "multiplied by x, whose largest entry is 2×10⁻⁴": (lambda x: (x + 1) * x, [1e-4, -2e-4, 0.0]),
    "Its terms cancel": (lambda x: x.var(), [0.1, 0.1, 0.1]),
    "has a slope of about": (lambda x: (-x).exp(), [20.0, 21.0, 22.0]),
    "made by log, from x": (lambda x: ag.log(x) * 2, [0.0, 1.0, 2.0]),
    "made by div, from the result of": (lambda x: 1 / (x - 1) + (x - 2).sqrt(), [1.0, 3.0, 4.0]),
    "going back, the first is what": (lambda x: ag.sqrt(x * 1), [0.0, 1.0, 4.0]),
}


@pytest.mark.parametrize("said", WHYS)
def test_whys_agree_after_an_edit(open_page, said):
    function, numbers = WHYS[said]

    def graph(x):
        with np.errstate(all="ignore"):
            return function(Value(np.array(x), name="x")).sum()

    at = open_page(graph([1.5, 2.5, 3.5]))
    assert any(said in text for shown in shown_by_python(step(graph(numbers)))[0] for text in shown[0])
    put(at, {"x": numbers})
    assert_same_digits(at, graph(numbers))


def test_a_number_changed_inside_a_module(open_page):
    """The reader stays inside; the field, the graph around and the link follow."""
    x = Value(np.ones((2, 2)), name="x")
    with ag.scope("feed", kind="FeedForward"):
        h = nn.FeedForward(2, 3, rng=0)(x)
    at = open_page(h.sum(), "#step=1", collapse=1)
    before = at.js("handgrad.get('L')")
    at.click("[data-view]")
    assert at.js("handgrad.view") == 1
    at.click(".hg-can[data-name=x]")
    at.type("7.5")
    at.key("Enter")
    assert at.js("handgrad.get('x')") == [[7.5, 1], [1, 1]] and at.js("handgrad.get('L')") != before
    assert at.js("handgrad.view") == 1 and "7.5" in at.js("document.querySelector('.hg-can[data-name=x]').textContent")
    at.key("Enter")
    at.key("End")
    assert at.js("document.querySelector('.hg-loop')") is None  # parameters are updated outside
    address = at.js("location.href")
    at.open(address)
    at.wait("!!window.handgrad")
    assert at.js("handgrad.view") == 1 and at.js("handgrad.get('x')")[0][0] == 7.5
    at.key("Escape")
    assert at.js("handgrad.view") == 0


def test_what_is_inside_says_whose_gradients_it_ends_with():
    x = Value(np.ones((2, 2)), name="x")
    with ag.scope("feed", kind="FeedForward"):
        h = nn.FeedForward(2, 3, rng=0)(x)
    stepper = step((h + x).sum(), collapse=1)
    *_, (closed, small) = openings(stepper).items()
    assert closed.kind == "backward" and "This is what the module sends" in Panels(small).panel(small[-1])
    assert "leaves in <code>.grad" in Panels(stepper).panel(stepper[-1])


def test_the_card_of_a_closed_module_follows(open_page):
    x = Value(np.ones((2, 2)), name="x")
    with ag.scope("feed", kind="FeedForward"):
        h = nn.FeedForward(2, 3, rng=0)(x)
    at = open_page((h * h).sum(), "#step=99", collapse=1)
    facts = "[...document.querySelectorAll('#hg-stage [data-fact]')].map(e => e.textContent)"
    before = at.js(facts)
    put(at, {"x": [[3.0, -1.0], [0.5, 2.0]]})
    assert len(before) == 2 and "—" not in at.js(facts) and not set(before) & set(at.js(facts))


def test_numbers_on_cards_say_what_they_are(open_page):
    at = open_page(example3_full_backprop.graph(), "#step=28")
    one = "document.querySelector('[data-name=WQ][data-kind=grad][data-index=\"1,0\"]').textContent"
    assert at.js(one) == "1.768"
    assert at.js("document.querySelectorAll('[data-name=WQ][data-kind=value]').length") == 4
    assert at.js("document.querySelector('[data-name=L][data-kind=value]').dataset.index") == ""


# --- matrices you can read ----------------------------------------------------------------------------------------

LIT = "[...document.querySelectorAll('#hg-text .hg-lit')].map(e => e.textContent.trim())"
ON_CARDS = "[...document.querySelectorAll('#hg-stage .hg-lit')].map(e => `${e.dataset.name} ${e.dataset.index}`).sort()"


def product_page(open_page):
    x, w = Value([[1.0, 2.0], [3.0, 4.0]], name="x"), Value([[5.0, 6.0], [7.0, 8.0]], name="w")
    product = x @ w
    product.name = "y"
    return open_page(product.sum(), "#step=1")


def test_pointing_at_an_entry_lights_its_row_and_column(open_page):
    at = product_page(open_page)
    box = at.js("(b => [b.x + b.width / 2, b.y + b.height / 2])"
                "(document.querySelectorAll('[data-line] .hg-new td')[1].getBoundingClientRect())")  # fmt: skip
    at.call("Input.dispatchMouseEvent", type="mouseMoved", x=box[0], y=box[1])
    assert sorted(at.js(LIT)) == ["1", "2", "6", "8"]
    assert at.js(ON_CARDS) == ["w 0,1", "w 1,1", "x 0,0", "x 0,1"]
    assert at.text(".hg-entries summary") == "one entry: [0][1]"
    assert at.text(".hg-arith").replace("\n", "") == "[0][1]1×6+2×8=22"


def test_the_same_from_the_keyboard(open_page):
    at = product_page(open_page)
    at.js("document.querySelector('[data-line] td[tabindex=\"0\"]').focus()")
    at.key("ArrowDown")
    at.key("ArrowRight")
    assert at.js("handgrad.position") == 1 and sorted(at.js(LIT)) == ["3", "4", "6", "8"]
    assert at.text(".hg-arith").replace("\n", "") == "[1][1]3×6+4×8=50"
    at.key("Escape")
    assert at.js(LIT) == [] and at.js("document.activeElement === document.body")


def test_pointing_at_a_card(open_page):
    at = product_page(open_page)
    at.js("""document.querySelector('text[data-name=y][data-index="1,0"]')
             .dispatchEvent(new PointerEvent('pointerover', {bubbles: true, buttons: 0}))""")
    assert at.js(ON_CARDS) == ["w 0,0", "w 1,0", "x 1,0", "x 1,1"]


def test_tint_by_size(open_page):
    at = product_page(open_page)
    at.key("h")
    sizes = at.js("[...document.querySelectorAll('.hg-new td')].map(c => Number(c.style.getPropertyValue('--size')))")
    np.testing.assert_allclose(sizes, np.array([19, 22, 43, 50]) / 50)
    at.key("h")
    assert not at.js("document.querySelector('.hg-tint')")


def test_the_code_of_entries_that_are_alike_is_written_once():
    x = Value(np.ones((40, 50)), name="x")
    product, tanh, mask, total, *_ = build(step(((x * 2.0).tanh() * np.eye(40, 50)).sum())).data()["lines"]
    for line in (product, tanh):
        (group,) = line["groups"]
        assert "at" not in group and len(group["code"]) + sum(map(len, group["places"])) < 20
    assert total["groups"][0]["places"] and len(str(mask)) < 2000


def test_lines_of_scalars_that_are_alike_are_written_once():
    x = [Value(k / 8, name=f"x{k}") for k in range(40)]
    live = build(step(sum((one * 3.0).tanh() for one in x)))
    lines = live.data()["lines"]
    assert sum(isinstance(line, dict) for line in lines) < 20 and len(str(lines)) < 60 * len(lines)
    made = {whole["result"]: whole for whole in map(live.registers.whole, live.forward)}
    tanhs = [step.twin for step in live.stepper if step.twin.op.name == "tanh" and step.kind == "forward"]
    for one in tanhs:
        (product,), whole = one.parents, made[live.value(one).number]
        assert whole["pieces"] == ["tanh(", [live.value(product).number, -1, 0, 0, 0], ")"]
        assert whole["groups"][0]["places"] == [[live.value(product).start]]


# --- pages that stay as they are ----------------------------------------------------------------------------------


@pytest.mark.parametrize("data, why", [
    (np.ones((600, 600)), f"up to {MOST_SCALARS // 1000}\u2009000 a page can be changed"),
    (np.ones(3, np.float32), "float32"),
])  # fmt: skip
def test_some_graphs_are_fixed_and_say_why(data, why):
    reason = build(step((Value(data, name="x") * 2).sum()))
    assert isinstance(reason, str) and why in reason
    assert data_of(step((Value(data, name="x") * 2).sum()).html())["fixed"] == reason


def test_a_fixed_page_still_steps(open_page):
    at = open_page((Value(np.ones(3, np.float32), name="x") * 2).sum())
    at.key("ArrowRight")
    assert at.js("handgrad.position") == 1
    said = at.js("(() => { try { handgrad.get('x'); } catch (e) { return e.message; } })()")
    assert "float32" in said
    at.key("Home")
    assert "numbers of this page are fixed: its numbers are float32" in at.text("#hg-panel")
