"""What is seen of a stepper where notebooks live: each a row of the table in docs/notebooks.md. JupyterLab's own rows,
trusted and not, are in test_jupyterlab.py."""

import re
from html import escape
from pathlib import Path

import pytest

import nn
from autograd import step
from examples import example3_full_backprop
from tests.notebooks.test_jupyterlab import notebook_with_outputs

pytestmark = pytest.mark.nightly

HEAD = "<!doctype html><meta charset=utf-8><meta name=viewport content='width=device-width'><body>"
SENTENCE = "run the cell, or trust the notebook, to step through it"


@pytest.fixture(scope="module")
def output():
    return step(example3_full_backprop.graph())._repr_mimebundle_()["text/html"]


@pytest.fixture
def seen(browser, tmp_path):
    """Opens HTML in a window, and waits for the stepper's page in it."""

    def open_page(html, live=True, **window):
        page = tmp_path / "page.html"
        page.write_text(html if "<html" in html else f"{HEAD}{html}", encoding="utf-8")
        browser.errors.clear()
        browser.open(page.as_uri(), **window)
        if live:
            browser.wait_until(
                lambda: browser.in_frame("!!document.querySelector('#hg-next')"), "the page in the frame"
            )
        return browser

    return open_page


def steps_through(browser):
    browser.in_frame("document.querySelector('#hg-next').click()")
    return browser.in_frame("document.querySelector('.hg-where b').innerText") == "Forward 1 of 14"


@pytest.mark.parametrize(
    "window", [{"width": 848}, {"width": 420}, {"width": 390, "phone": True}, {"dark": True}], ids=str
)
def test_narrow_and_dark(seen, output, window):
    browser = seen(output, height=900, **window)
    assert steps_through(browser) and browser.errors == []
    width, wide = browser.in_frame("[innerWidth, document.documentElement.scrollWidth]")
    assert width > window.get("width", 1366) - 20
    assert wide <= width
    beside = browser.in_frame(
        "(() => { const at = one => document.querySelector(one).getBoundingClientRect();"
        "return at('#hg-panel').left >= at('#hg-stage').right - 1; })()"
    )
    assert beside == (width >= 820)  # beside the file browser of JupyterLab 848 px are left
    surface = browser.in_frame("getComputedStyle(document.querySelector('#hg-panel')).backgroundColor")
    assert (surface == "rgb(28, 32, 38)") == bool(window.get("dark"))


def test_one_cell_after_the_other_shows_each_its_own(seen, output):
    other = step(nn.Linear(2, 1, rng=0)([1.0, 2.0]).sum(), title="another")._repr_mimebundle_()["text/html"]
    browser = seen(output + other + output)
    browser.wait("document.querySelectorAll('iframe').length === 3")
    assert browser.js("[...document.querySelectorAll('iframe')].map(frame => frame.title)") == [
        "stepper",
        "another",
        "stepper",
    ]
    assert browser.js("document.querySelectorAll('table, img').length") == 0


def test_a_frame_as_of_colab_and_vs_code(seen, output):
    """An output in a frame of its own, on another origin, with scripts."""
    browser = seen(
        f'<iframe sandbox="allow-scripts" style="width:900px;height:700px" srcdoc="{escape(output)}"></iframe>',
        live=False,
    )
    browser.wait_until(lambda: browser.in_frame("!!document.querySelector('iframe')"), "a frame within the frame")
    assert browser.in_frame("document.querySelectorAll('table').length") == 0 and browser.errors == []


def test_a_frame_without_scripts(seen, output):
    browser = seen(f'<iframe sandbox style="width:900px;height:700px" srcdoc="{escape(output)}"></iframe>', live=False)
    browser.wait_until(lambda: browser.in_frame("!!document.querySelector('img')?.naturalWidth"), "the picture")
    assert SENTENCE in browser.in_frame("document.body.innerText.slice(0, 120)")
    overflow = browser.in_frame("getComputedStyle(document.querySelector('table').parentElement).overflowY")
    assert overflow == "auto" and browser.in_frame("document.querySelectorAll('iframe').length") == 0


def test_marimo(seen):
    """It runs no script of an output: what it is given is a frame alone."""
    kind, html = step(example3_full_backprop.graph())._mime_()
    assert kind == "text/html" and "<script" not in html.split("srcdoc")[0]
    assert steps_through(seen(html))


def test_marimo_itself(tmp_path):
    pytest.importorskip("marimo", reason="NOT TESTED: marimo is not installed (pip install marimo)")
    from marimo._output.formatting import get_formatter

    stepper = step(example3_full_backprop.graph())
    kind, html = get_formatter(stepper)(stepper)
    assert kind == "text/html" and "<iframe" in html


def exported(exporter, **options):
    nbconvert = pytest.importorskip("nbconvert", reason="NOT TESTED: nbconvert is not installed")
    return getattr(nbconvert, exporter)(**options).from_notebook_node(notebook_with_outputs())[0]


@pytest.mark.filterwarnings("ignore")  # nbconvert's own
def test_html_by_nbconvert(seen):
    assert steps_through(seen(exported("HTMLExporter")))


@pytest.mark.filterwarnings("ignore")
def test_slides_by_nbconvert(seen):
    html = exported("SlidesExporter")
    browser = seen(
        re.sub(r"<script[^>]*(src=|reveal|require)[^>]*>.*?</script>", "", html, flags=re.S)
    )  # no network here
    assert steps_through(browser)


@pytest.mark.filterwarnings("ignore")
def test_latex_by_nbconvert():
    text = exported("LatexExporter")
    assert r"\begin{align*}" in text and r"\text{arrives}" in text and "Stepper of" not in text


@pytest.mark.filterwarnings("ignore")
def test_html_that_was_sanitised(seen, output):
    """Bleach prints tags that it does not know, with their attributes: nothing large is in them but the picture."""
    html = exported("HTMLExporter", sanitize_html=True)
    browser = seen(html, live=False)
    text = browser.js("document.querySelector('.jp-OutputArea-output').innerText")
    assert SENTENCE in text[:160] and len(text) < 45_000
    packed = re.search(r'data-handgrad-page="([^"]*)"', output)[1]
    assert packed[:80] not in html


def test_every_row_of_the_table_has_a_test():
    table = Path("docs/notebooks.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(test_\w+)`", table))
    here = {name for name in globals() if name.startswith("test_")}
    there = set(
        re.findall(r"^def (test_\w+)", Path("tests/notebooks/test_jupyterlab.py").read_text(encoding="utf-8"), re.M)
    )
    assert here - {"test_every_row_of_the_table_has_a_test"} <= named <= here | there
