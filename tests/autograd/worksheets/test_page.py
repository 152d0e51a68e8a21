"""The page that marks itself: the same numbers, verdicts and words as Python, in a real browser."""

import json
import random
from decimal import Decimal, DecimalException

import numpy as np
import pytest

from autograd import Value, cross_entropy, softmax
from autograd.op import OPS
from autograd.worksheets import grade, worksheet
from autograd.worksheets.marking.intervals import CONTEXT, FUNCTIONS, REASONS, CannotJudge, Interval
from autograd.worksheets.parts import shown
from examples.sheets import PLANS
from tests.autograd.worksheets.random_answers import random_answers
from tests.autograd.worksheets.test_marking import drawn_graph
from tools.marker import sheet_of


def open_page(browser, tmp_path, sheet, **options):
    path = tmp_path / "sheet.html"
    path.write_text(sheet.html(**options), encoding="utf-8")
    browser.errors.clear()
    browser.requests.clear()
    browser.open(path.as_uri(), **{"width": 1280, "height": 800})
    return path


# --- arithmetic ------------------------------------------------------------------------------------------------------


def some_number(rng):
    """Short and long, large and small, and near 1, where logarithms are hard."""
    if rng.random() < 0.1:
        return CONTEXT.add(Decimal(1), Decimal(rng.randrange(-1000, 1000)).scaleb(-rng.randrange(3, 36)))
    digits = rng.choice([1, 2, 4, 12, 17, 40])
    return rng.choice([1, -1]) * Decimal(rng.randrange(1, 10**digits)).scaleb(rng.randrange(-digits - 6, 4 - digits))


def some_interval(name, place, rng):
    a = some_number(rng)
    if name == "power" and place == 1 and rng.random() < 0.6:
        a = Decimal(rng.randrange(-9, 12))
    b = CONTEXT.add(a, CONTEXT.abs(some_number(rng))) if rng.random() < 0.6 else a
    if name in ("log", "sqrt", "power") and place == 0 and rng.random() < 0.95:
        a, b = abs(a), CONTEXT.add(abs(a), abs(b))
    return CONTEXT.plus(a), CONTEXT.plus(b)


def result(name, inputs):
    try:
        found = FUNCTIONS[name](*(Interval(*ends) for ends in inputs))
    except CannotJudge as error:
        return next(key for key, reason in REASONS.items() if reason == str(error))
    except DecimalException:
        return ""
    return [str(found.low), str(found.high)]


def test_every_function_gives_the_same_digits_in_the_page(browser, tmp_path):
    """By construction; here on 150 draws for each function, with 40 digits compared."""
    rng = random.Random(0)
    cases = []
    for name in FUNCTIONS:
        for _ in range(150):
            inputs = [some_interval(name, place, rng) for place in range(len(OPS[name].names))]
            cases.append((name, [[str(end) for end in ends] for ends in inputs], result(name, inputs)))
    open_page(browser, tmp_path, worksheet(Value(2.0, name="x") * 3.0))
    differ = browser.js(
        f"""{json.dumps(cases)}.filter(([name, inputs, wanted]) => {{
          let found;
          try {{ found = intervals.FUNCTIONS[name](...inputs.map(([low, high]) =>
            ({{ low: decimals.parse(low), high: decimals.parse(high) }}))); }}
          catch (error) {{ return error.message !== wanted; }}
          const same = (x, text) => decimals.compare(x, decimals.parse(text)) === 0;
          return typeof wanted === "string" || !same(found.low, wanted[0]) || !same(found.high, wanted[1]);
        }})"""
    )
    assert differ == [] and browser.errors == []
    assert browser.js("Object.keys(intervals.FUNCTIONS).sort()") == sorted(FUNCTIONS)


# --- verdicts --------------------------------------------------------------------------------------------------------


def as_data(marks):
    entries = {
        name: {"verdict": e.verdict, "used": list(e.used), "note": e.note, "problem": e.problem,
               "mistake": None if e.mistake is None else str(e.mistake),
               "teaches": None if e.mistake is None else e.mistake.teaches}
        for name, e in marks.entries.items()
    }  # fmt: skip
    return {"firstWrong": marks.first_wrong, "notes": marks.notes, "entries": entries}


def sheets_of_all_sorts():
    """Small sheets, of every level and part, with many functions; and one of the examples."""
    root = drawn_graph(1)
    yield worksheet(drawn_graph(2), digits=3)
    yield worksheet(root, level="ops", digits=2)
    yield worksheet(root, forward=False)
    yield worksheet(root, only=["H", "dL/dV"], hints=False)
    x, y = Value(np.array([0.3, -1.2, 2.0]), name="x"), Value(np.array([1.5, 0.7, 0.2]), name="y")
    yield worksheet((x.sin() * y.sqrt() + x.maximum(y).exp() / (1.0 + y**2.5)).sum())
    yield worksheet((softmax(x * y).log() * (x.sigmoid() - y.arctan())).mean() + x.gelu().sum())
    yield worksheet(cross_entropy(x * y, 2))
    yield worksheet((Value(np.array([0.0, 2.0]), name="x") ** 1.5).sum())  # 0 ** 1.5 has no interval of its own
    yield worksheet(((x * y).max() + np.maximum(x * 2, x + x) + np.clip(x * 0.5, -0.6, 1.0)).sum())  # nor have equals
    yield sheet_of("example2")
    plan = PLANS["example2"](0.1)  # a sheet in decimals, by the book's names
    yield worksheet(plan.root, plan=plan, names="book")


@pytest.mark.slow
def test_a_thousand_random_answer_sheets_are_marked_alike(browser, tmp_path):
    count, verdicts = 0, set()
    sheets = list(sheets_of_all_sorts())
    for number, sheet in enumerate(sheets):
        open_page(browser, tmp_path, sheet)
        seeds = range(1 + 1000 // len(sheets))
        answers = [random_answers(sheet, np.random.default_rng([number, seed])) for seed in seeds]
        found = []
        for start in range(0, len(answers), 20):  # the browser answers within seconds, on a busy machine too
            given = [list(each.items()) for each in answers[start : start + 20]]
            found += browser.js(f"{json.dumps(given)}.map(window.handgrad.mark)")
        for each, got in zip(answers, found, strict=True):
            marks = grade(sheet, each)
            assert got.pop("score") == pytest.approx(marks.score, abs=1e-12)
            assert got == as_data(marks), (number, each)
            verdicts |= {(e.verdict, e.note[:10], str(e.mistake)[:10]) for e in marks.entries.values()}
            count += 1
        assert browser.errors == []
    assert count >= 1000 and len(verdicts) > 40


# --- the page as it is used -------------------------------------------------------------------------------------------


def small():
    x = Value(np.array([[0.5, -1.5]]), name="X", requires_grad=False)
    w = Value(np.array([[0.31, -0.2, 0.7], [0.9, 0.4, -0.63]]), name="W")
    h = x @ w
    h.name = "H"
    return worksheet(cross_entropy(h, np.array([2])), title="A small one")


def field(name):
    return f"document.querySelector('[data-id=\"{name}\"]')"


def write(browser, name, text):
    """Type into a field and leave it."""
    browser.js(f"{field(name)}.focus()")
    browser.type(text)
    browser.key("Tab")


def verdict(browser, name):
    return browser.js(f"{field(name)}.parentElement.dataset.verdict")


def test_answers_are_marked_at_once_kept_and_exported(browser, tmp_path):
    sheet = small()
    path = open_page(browser, tmp_path, sheet)
    browser.js("localStorage.clear()")
    assert browser.text("#points") == f"0 / {len(sheet.steps)}"
    write(browser, "H[0][0]", "1.195")  # minus for plus: a sign lost in -1.5 * 0.9
    assert verdict(browser, "H[0][0]") == "wrong"
    write(browser, "H[0][0]", "")
    write(browser, "H[0][1]", "-0.7")
    write(browser, "H[0][2]", "1,295")
    assert verdict(browser, "H[0][1]") == "right" and verdict(browser, "H[0][2]") == "problem"
    assert browser.text("#step1 .verdict").endswith("first wrong step")
    assert browser.text("#step1 .said").startswith("'1,295' may be 1.295 or 1295")
    assert "You wrote" in browser.text("#first").replace("you", "You") and "H[0][0]" in browser.text("#first")
    browser.open(path.as_uri())
    assert verdict(browser, "H[0][1]") == "right" and verdict(browser, "H[0][0]") == "wrong"  # kept over a reload
    exported = browser.js(
        """(async () => { let text; const make = URL.createObjectURL;
        URL.createObjectURL = (blob) => { text = blob.text(); return "about:blank"; };
        HTMLAnchorElement.prototype.click = () => {};
        document.getElementById("who").value = "Anna"; document.getElementById("export").click();
        URL.createObjectURL = make; return text; })()"""
    )
    file = tmp_path / "anna.json"
    file.write_text(exported, encoding="utf-8")
    marks = grade(sheet, file)
    assert marks.who == "Anna" and marks.first_wrong == "H[0][0]" and marks.entries["H[0][1]"].verdict == "right"
    assert browser.errors == [] and all(address.startswith("file:") for address in browser.requests)
    browser.js("localStorage.clear()")


def test_a_blank_for_a_whole_matrix_is_marked_like_its_entries(browser, tmp_path):
    sheet = worksheet(small().program.root, blanks="matrices")
    open_page(browser, tmp_path, sheet)
    browser.js("localStorage.clear()")
    answers = {"H": "-1.195 -0.7; 1.3", "L": "0.2"}
    for given in (answers, answers | {"H": "-1.195 -0.70\n 1.295"}, answers | {"H": "[-1.195  -0.70 1.2]", "L.e": "1"}):
        got = browser.js(f"window.handgrad.mark({json.dumps(given)})")
        got.pop("score")
        assert got == as_data(grade(sheet, given))
    write(browser, "H", "-1.195 -0.7 1.2")
    assert verdict(browser, "H") == "wrong" and "H[0][2]" in browser.text("#first")
    write(browser, "H", " 5")
    assert verdict(browser, "H") == "problem" and browser.errors == []
    browser.click("#reveal")
    assert "-1.195  -0.7  1.295" in browser.js("document.querySelector('.shown').textContent")
    browser.js("localStorage.clear()")


def test_the_right_numbers_are_shown_only_on_request(browser, tmp_path):
    sheet = small()
    open_page(browser, tmp_path, sheet)
    assert browser.js("document.querySelectorAll('.shown').length") == 0
    browser.click("#reveal")
    told = browser.js("[...document.querySelectorAll('.shown')].map((e) => e.textContent)")
    assert [Decimal(text) for text in told] == [Decimal(shown(blank.key, 4)) for blank in sheet.blanks]


@pytest.mark.parametrize("width", [1280, 390])
def test_every_field_has_a_label_and_nothing_is_wider_than_the_window(browser, tmp_path, width):
    path = open_page(browser, tmp_path, sheet_of("example3"))
    browser.open(path.as_uri(), width=width, height=800, phone=width < 500)
    assert browser.js("[...document.querySelectorAll('input')].every((f) => f.getAttribute('aria-label'))")
    assert browser.js("document.documentElement.scrollWidth") <= width
    wide = "[...document.querySelectorAll('.step .quantity')].filter((q) => q.scrollWidth > q.clientWidth)"
    assert browser.js(f"{wide}.map((q) => q.closest('.step').id)") == []  # four numbers stand side by side
    field = "document.querySelector('td.blank input')"
    browser.js(f"{field}.value = '-0.07494'")
    assert browser.js(f"{field}.scrollWidth <= {field}.clientWidth")  # a digit out of sight would make another number


def test_a_page_that_does_not_check_keeps_answers_and_holds_no_line(browser, tmp_path):
    sheet = small()
    text = sheet.html(check=False)
    assert "marking" not in text.partition("<body")[2] and "whoever reads" not in text
    open_page(browser, tmp_path, sheet, check=False)
    write(browser, "H[0][1]", "-0.7")
    assert verdict(browser, "H[0][1]") is None and browser.js("window.handgrad === undefined")
    assert browser.errors == []
    browser.js("localStorage.clear()")


def test_the_page_says_that_it_can_be_solved_and_holds_no_answer():
    sheet = small()
    page = sheet.html()
    assert "its source is enough to work out the answers" in page
    keys = [shown(blank.key, 6) for blank in sheet.blanks]
    assert not any(len(text) > 6 and text in page for text in keys)
