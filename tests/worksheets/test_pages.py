"""What people see: the printed worksheets, the command line, the demo."""

from __future__ import annotations

import contextlib
import doctest
import functools
import importlib
import io
import itertools
import math
import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import examples
from autograd import record_lines
from autograd.cli import main as command_line
from autograd.graph import topological
from examples import EXAMPLES, demo
from examples.checking.sheet import load
from examples.page import Page, wants_colour
from notebooks.lessons import lessons, list_built
from tests.autograd.formula.calculator import confirms
from tests.node import serious_faults
from tests.sweep import slow_but

HOME = Path(examples.__file__).parent.parent


@functools.cache
def worksheet(example, **given):
    stream = io.StringIO()
    example.module.main(Page(stream), **given)
    return stream.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_main_prints_the_worksheet(example):
    text = worksheet(example)
    assert example.module.TITLE in text
    assert "Exercises" in text and "Held against the printed worksheet" in text
    assert all(heading in text for heading, _ in example.module.EXERCISES)
    assert "nan" not in text.lower() and "\x1b" not in text
    assert max(map(len, text.splitlines())) <= 140


@pytest.mark.slow
@pytest.mark.parametrize("example", [example for example in EXAMPLES if example.printed], ids=lambda e: e.name)
def test_every_table_of_the_sheet_stands_on_the_page(example):
    """A reader with the printed sheet beside the output finds every step: each named table is there."""
    text = worksheet(example)
    for entry in load(example.name).entries:
        name = re.split(r"[\[(]", entry.what.lstrip("-"))[0]
        if not re.search(r"[*+]|^\d|sum", entry.what) and name not in ("onehot", "N"):
            assert re.search(rf"(?<!\w){_spoken(name)}", text), entry.what


def _spoken(name):
    """How the page says a name that it shows in words or in other symbols: the lines of a softmax, a gradient."""
    if name.startswith("dL/d"):  # of one of several patterns, ∂L2/∂WO4
        return rf"∂L\d?/∂{re.escape(name[4:].rstrip('0123456789'))}"
    inner = re.fullmatch(r"(?:attn|out)_(max|shift|exp|expsum)(?:_new)?", name)
    if inner:
        return {"max": r"m = max\(", "shift": r"exp\(\w+ − m\)", "exp": r"e = exp\(", "expsum": r"z = sum\(e"}[inner[1]]
    spoken = {"eta": "η", "d_k": "√", "relu_demo_in": "max(0, −0.5)", "relu_demo_out": "max(0, −0.5) = 0"}
    return re.escape(spoken.get(name, name.replace("^T", ".T")))


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_every_line_of_arithmetic_confirms(example):
    """Each line, done in decimal arithmetic with the digits shown, gives the digits shown."""
    lines = re.findall(r"^        \S.*? = (.* [=≈] .*)$", worksheet(example), re.M)
    numbers = [line for line in lines if not re.search(r" of |[\[\]]|[a-z_]\b(?!\()", line)]
    assert len(numbers) > 15 or example.name == "example6"
    assert [line for line in numbers if not confirms(line)] == []


def test_changed_inputs_change_the_page_and_skip_the_comparison():
    text = worksheet(EXAMPLES[1], eta=0.2)
    assert "WO4_new[0][0] = 0.1 − 0.2×0.0124867" in text
    assert "Skipped: eta not as on the worksheet" in text


@pytest.mark.slow
@pytest.mark.parametrize(("name", "given"), [
    ("example3", {"causal": True}), ("example2", {"update": "full"}), ("example5", {"row0": "copied"}),
    ("example5", {"residual": False}), ("example6", {"pre_norm": True}), ("cat_sleeps", {"reduction": "sum"})])
def test_other_conventions_print_a_sheet_too(name, given):
    text = worksheet(examples.find(name), **given)
    assert "Exercises" in text and "nan" not in text.lower()


def test_a_stream_without_mathematics_gets_plain_characters():
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    EXAMPLES[0].module.main(Page(stream))
    stream.flush()
    text = raw.getvalue().decode("ascii")
    assert "Q[0][0] = 1 x 0.1 + 0 x 0 = 0.1" in text and "?" not in text.replace("sense?", "").replace("better?", "")


def test_colours_only_on_a_terminal(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert wants_colour(Terminal()) and not wants_colour(io.StringIO())
    monkeypatch.setenv("NO_COLOR", "1")
    assert not wants_colour(Terminal())


# ---- the command line -----------------------------------------------------------------------------------------------

def handgrad(*arguments, capsys):
    status = command_line(list(arguments))
    captured = capsys.readouterr()
    return status, captured.out, captured.err


@pytest.mark.parametrize("name", slow_but(["3", "example3", "example 3", "example3_full_backprop"], ["example 3"]))
def test_the_command_understands_the_names(name, capsys):
    status, out, _ = handgrad("example", *name.split(), capsys=capsys)
    assert status == 0 and "Example 3: full backpropagation" in out


def test_the_command_without_a_name_lists_them(capsys):
    status, out, _ = handgrad("example", capsys=capsys)
    assert status == 0 and all(example.name in out for example in EXAMPLES)


def test_a_wrong_name_lists_the_right_ones(capsys):
    status, out, err = handgrad("example", "9", capsys=capsys)
    assert status == 2 and not out and "example1, example2" in err and "cat_sleeps" in err


@pytest.mark.slow
def test_check_all(capsys):
    status, out, _ = handgrad("example", "all", "--check", capsys=capsys)
    assert status == 0
    assert "all 936 printed numbers accounted for: 750 agree, 186 errata each proved" in out


def test_check_fails_when_a_number_is_wrong(capsys, monkeypatch):
    one = EXAMPLES[0].module
    right = one.run
    monkeypatch.setattr(one, "run", lambda **given: right(**given) | {"P(C)": 0.26})
    status, out, _ = handgrad("example", "1", "--check", capsys=capsys)
    assert status == 1 and "example1.113 P(C)" in out and "NOT accounted for" in out


def test_set_changes_an_input(capsys):
    _, out, _ = handgrad("example", "2", "--set", "eta=0.2", "--set", "update=full", "--set", "WQ=[[1,0],[0,1]]",
                         capsys=capsys)
    assert "η = 0.2" in out and "8 of the 8 weights" in out


@pytest.mark.parametrize(("setting", "message"), [
    ("speed=3", "has no input 'speed'; it has sequence, target, eta"),
    ("eta", "expected INPUT=VALUE"),
    ("eta=abc", "--set eta=...: expected a number, such as 0.1; got abc"),
    ("eta=true", "expected a number"),
    ("causal=3", "expected true or false; got 3"),
    ("WQ=[[1,2],[3]]", "expected rows of numbers, all of one length, such as [[1, 0], [0, 1]]; got [[1,2],[3]]"),
    ("WQ=3", "expected rows of numbers"),
    ("sequence=3", "handgrad example: "),
    ("update=some", "expected one of live2, live3, full"),
    ("WQ=[[1,2,3]]", "matmul")])
def test_a_wrong_setting_is_explained(setting, message, capsys):
    status, _, err = handgrad("example", "2", "--set", setting, capsys=capsys)
    assert status == 2 and message in err


def test_check_and_set_exclude_each_other(capsys):
    status, _, err = handgrad("example", "2", "--check", "--set", "eta=1", capsys=capsys)
    assert status == 2 and "leave out --set" in err


def test_errata_command(capsys, tmp_path):
    status, out, _ = handgrad("errata", capsys=capsys)
    assert status == 0 and out.startswith("# Errata of the printed worksheets")
    status, _, _ = handgrad("errata", "-o", str(tmp_path / "page.md"), capsys=capsys)
    assert status == 0 and (tmp_path / "page.md").read_text(encoding="utf-8") == out
    status, _, err = handgrad("errata", "-o", str(tmp_path / "no" / "page.md"), capsys=capsys)
    assert status == 2 and "there is no folder" in err


def test_without_the_source_the_command_says_where_to_get_it(capsys, monkeypatch, tmp_path):
    from autograd.cli import target

    monkeypatch.setattr(target, "HOME", tmp_path)
    status, _, err = handgrad("example", "3", capsys=capsys)
    assert status == 2 and "Get the source" in err


def test_the_engine_does_not_import_the_examples_or_nn():
    code = ("import autograd, autograd.cli, sys\n"
            "sys.exit(any(name.split('.')[0] in ('examples', 'nn') for name in sys.modules))")
    assert subprocess.run([sys.executable, "-c", code], cwd=HOME, check=False).returncode == 0


@pytest.mark.slow
def test_the_command_works_from_another_folder(tmp_path):
    """As the console script runs: our folder is not the current one, so `examples` must be found beside autograd."""
    code = "import sys; from autograd.cli import main; sys.exit(main(['example', '1', '--check']))"
    environment = os.environ | {"PYTHONPATH": str(HOME)}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True,
                          encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    assert "119 printed numbers accounted for" in done.stdout and "\x1b" not in done.stdout


# ---- the demo -------------------------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def out(tmp_path_factory):
    """The folder the demo made, and what it printed."""
    folder = tmp_path_factory.mktemp("demo") / "out"
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        assert demo.main(["-o", str(folder)]) == 0
    return folder, printed.getvalue()


@pytest.mark.slow
def test_the_demo_makes_everything(out):
    folder, text = out
    assert "all 936 printed numbers accounted for: 750 agree, 186 errata each proved" in text
    assert "index.html" in text.splitlines()[-1]
    page = (folder / "index.html").read_text(encoding="utf-8")
    places = [page.index(f'<section class="example" id="{example.name}"') for example in EXAMPLES]
    assert places == sorted(places)
    assert page.index('id="play-formula"') < page.index('id="lessons"') < page.index('id="examples"') < places[0]
    assert all(f"<b>{kind}</b>: " in page for kind in ("exact", "rounded", "drift", "erratum"))
    assert 'href="../index.html"' in (folder / "example3" / "step.html").read_text(encoding="utf-8")
    for path in re.findall(r'(?:src|href)="([^"#:]+)(?:#[^"]*)?"', page):
        assert (folder / path).is_file(), path
    for example in EXAMPLES:
        made = {path.name for path in (folder / example.name).iterdir()}
        assert {"worksheet.txt", "graph.svg", "step.html", "sheet.html", "key.html", "sheet.csv"} <= made


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 420])
def test_the_page_shows_every_picture_and_fits(out, width, browser):
    folder, _ = out
    browser.errors.clear()
    browser.open((folder / "index.html").as_uri(), width=width, height=900)
    browser.js("document.querySelectorAll('img').forEach(image => image.loading = 'eager')")
    browser.wait("[...document.images].every(image => image.complete)")
    broken = "[...document.images].filter(image => !image.naturalWidth).map(image => image.getAttribute('src'))"
    assert browser.js("document.images.length") >= 8 and browser.js(broken) == []
    assert not browser.js("document.documentElement.scrollWidth > innerWidth")
    assert browser.errors == []


@pytest.fixture
def first_page(out, browser):
    """The first page, opened as a file, its formula ready."""
    folder, _ = out
    browser.errors.clear()
    browser.requests.clear()
    browser.open((folder / "index.html").as_uri(), width=1280, height=900)
    browser.wait("document.querySelector('.play-slope')?.textContent")
    yield browser
    assert browser.errors == []
    assert all(url.startswith(("file:", "data:", "about:")) for url in browser.requests)


@pytest.mark.slow
def test_the_first_page_is_for_everybody(first_page):
    assert serious_faults(first_page) == []


def test_the_first_expression_can_be_changed(first_page):
    """Dragging b past -4 changes the sign of a's gradient; the code that is copied says the same."""
    slope = "document.querySelector('.play-slope').textContent"
    assert first_page.js(slope) == "∂L/∂a = 0.07065"
    first_page.js("(() => { const b = document.querySelectorAll('.play-slider')[1]; b.value = -4.1; b.oninput(); })()")
    first_page.wait(f"{slope}.includes('−')")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(first_page.js("document.getElementById('play-code').textContent"), "copied", "exec"), {})
    result, *gradients = printed.getvalue().splitlines()
    assert float(gradients[0].removeprefix("dL/da = ")) < 0
    assert float(result.removeprefix("L = ")) == pytest.approx(math.tanh(2 * -4.1 + 4), rel=1e-15)
    first_page.click("#play-reset")
    first_page.wait(f"{slope} === '∂L/∂a = 0.07065'")


@pytest.mark.slow
def test_the_wheel_over_the_first_graph_scrolls_the_page(first_page):
    first_page.js("document.querySelector('#play-frames').scrollIntoView()")
    before = first_page.js("scrollY")
    first_page.call("Input.dispatchMouseEvent", type="mouseWheel", x=400, y=200, deltaX=0, deltaY=300)
    first_page.wait(f"scrollY > {before} + 100")


@pytest.mark.slow
def test_a_formula_is_typed_on_the_first_page_itself(first_page):
    """It was a list of seven formulas. No server is asked: the fixture sees every address."""
    assert first_page.js("document.documentElement.scrollHeight") < 3000
    field = "document.getElementById('play-formula')"
    for button in range(first_page.js("document.querySelectorAll('[data-values]').length")):
        first_page.js(f"document.querySelectorAll('[data-values]')[{button}].click()")
        wait_for_page(first_page, first_page.js(f"{field}.value"))
    type_it = f"(text => {{ {field}.value = text; {field}.oninput(); }})"
    first_page.js(f"{type_it}('w*x + sqrt(b) / (1 + exp(-c')")
    first_page.wait("!document.getElementById('play-error').hidden")
    assert first_page.js("document.getElementById('play-message').textContent") == "'(' is never closed (character 25)"
    first_page.js(f"{type_it}('w*x + sqrt(abs(b)) / (1 + exp(-c))')")
    wait_for_page(first_page, "w*x + sqrt(abs(b)) / (1 + exp(-c))")
    names = "[...document.querySelectorAll('.play-leaf b')].map(one => one.textContent).join('')"
    first_page.wait(f"{names} === 'wxbc'")
    assert first_page.js("document.getElementById('play-error').hidden")


def wait_for_page(at, title):
    shown = "document.getElementById('hg-title')?.innerText"
    at.wait("!document.querySelector('.play-coming') && document.querySelector('#play-frames iframe')")
    at.wait_until(lambda: at.in_frame(shown) == title, title)


@pytest.mark.slow
def test_lessons_are_linked_once_they_are_built(out, browser):
    folder, _ = out
    lesson = lessons()[0].stem + ".html"
    card = f"document.querySelector('[data-page=\"notebooks/{lesson}\"]').getAttribute('href')"
    browser.open((folder / "index.html").as_uri())
    assert browser.js(card) is None and not browser.js("document.getElementById('lessons-how').hidden")
    (folder / "notebooks" / lesson).write_text("a lesson", encoding="utf-8")
    list_built(folder / "notebooks")
    browser.open((folder / "index.html").as_uri())
    assert browser.js(card) == f"notebooks/{lesson}" and browser.js("document.getElementById('lessons-how').hidden")


@pytest.mark.slow
def test_the_demo_fails_when_a_number_is_wrong(tmp_path, capsys, monkeypatch):
    one = EXAMPLES[0].module
    right = one.run
    monkeypatch.setattr(one, "run", lambda **given: right(**given) | {"P(C)": 0.26})
    monkeypatch.setattr(demo, "EXAMPLES", EXAMPLES[:1])
    assert demo.main(["-o", str(tmp_path / "out")]) == 1
    assert "NOT accounted for" in capsys.readouterr().out


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_the_lines_beside_the_steps_are_plain(example):
    """What a reader sees as the source of a step is the computation, and nothing of how we keep its numbers."""
    with record_lines():
        root = example.module.graph()
    lines = {node.line for node in topological(root) if node.line}
    assert len(lines) >= 3 and not [line for line in lines if "keep(" in line]


@pytest.mark.slow
def test_a_mark_in_a_plot_stays_off_the_legend():
    """Of all words in the plot of Example 4, no two overlap."""
    svg = next(example for example in EXAMPLES if example.name == "example4").module.plots()["loss.svg"]
    words = re.findall(r'<text x="([\d.]+)" y="([\d.]+)" text-anchor="start" font-size="(\d+)"[^>]*>([^<]+)<', svg)
    boxes = [(float(x), float(y) - float(size), float(x) + 0.55 * float(size) * len(text), float(y), text)
             for x, y, size, text in words]
    assert len(boxes) == 4
    for one, other in itertools.combinations(boxes, 2):
        apart = one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
        assert apart, (one, other)


# ---- docstrings -----------------------------------------------------------------------------------------------------

def modules():
    found = [name for _, name, _ in pkgutil.walk_packages(examples.__path__, "examples.")]
    ours = ("examples.checking", "examples.example", "examples.cat", "examples.mini", "examples.page", "examples.plots",
            "examples.report", "examples.demo", "examples.index")
    return ["examples", *(name for name in found if name.startswith(ours))]


@pytest.mark.parametrize("name", modules())
def test_docstring_examples(name):
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0
