"""The playground in a real browser: type, slide, copy, save, look; and the command that starts it."""

import contextlib
import io
import signal
import subprocess
import sys
import urllib.request

import pytest

from autograd import cli
from autograd.playing.page import SAMPLES, play
from autograd.playing.server import Server

READY = "document.querySelector('#play-frames iframe:not(.play-coming)') && !document.querySelector('.play-coming')"


@pytest.fixture
def page(browser):
    """The playground, open and ready."""
    with Server() as server:
        server.start()
        browser.errors.clear()
        browser.requests.clear()
        browser.open(server.address, width=1280, height=800)
        browser.wait(f"{READY} && document.querySelector('.play-slope')?.textContent")
        yield browser
        assert browser.errors == []
        outside = [url for url in browser.requests if not url.startswith((server.address, "data:", "about:", "file:"))]
        assert outside == []
        browser.open("about:blank")
        server.shutdown()


def write(page, text):
    page.js("(() => { const f = document.getElementById('play-formula'); f.focus(); f.select(); })()")
    page.type(text)


def names(page):
    return page.js("[...document.querySelectorAll('.play-leaf b')].map(b => b.textContent)")


def slopes(page):
    return page.js("[...document.querySelectorAll('.play-slope')].map(o => o.textContent)")


def code(page):
    """The code that the page shows, run: what it prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(page.js("document.getElementById('play-code').textContent"), "copied", "exec"), {})
    return dict(line.split(" = ") for line in printed.getvalue().splitlines())


def test_it_begins_with_the_first_example_of_the_readme(page):
    assert page.js("document.getElementById('play-formula').value") == "tanh(a*b + a^2)"
    assert names(page) == ["a", "b"] and slopes(page) == ["∂L/∂a = 0.07065", "∂L/∂b = 0.1413"]
    assert "Backward 4 of 4" in page.in_frame("document.body.innerText")


def test_typing_makes_a_new_graph_with_a_slider_for_each_name(page):
    write(page, "2x^2 + y.tanh()")
    page.wait("[...document.querySelectorAll('.play-leaf b')].map(b => b.textContent).join() === 'x,y'")
    assert slopes(page)[0] == "∂L/∂x = 2"  # 4x, where x begins at 0.5
    assert "2 * x ** 2" in page.in_frame("document.querySelector('#hg-stage').textContent")
    assert code(page)["dL/dx"] == "2.0"


def test_a_slider_moves_everything(page):
    page.js("(() => { const s = document.querySelectorAll('.play-slider')[1]; s.value = -4.5; s.oninput(); })()")
    page.wait("document.querySelector('.play-slope').textContent.includes('−')")
    by_hand = code(page)
    assert by_hand["L"] == str(play("tanh(a*b + a^2)", {"a": 2.0, "b": -4.5}).root.data)
    assert float(by_hand["dL/da"]) < 0
    assert "−4.5" in page.in_frame("document.querySelector('#hg-stage').textContent")


def test_dragging_a_card_in_the_frame_moves_the_slider(page):
    page.js("document.querySelector('#play-frames iframe').focus()")
    page.in_frame("document.querySelector('.hg-can').focus()")
    page.in_frame(
        "document.querySelector('.hg-can').dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowUp', bubbles: true}))"
    )
    page.wait("[...document.querySelectorAll('.play-number')].some(f => f.value === '2.1' || f.value === '-2.9')")


def test_a_mistake_points_at_the_character_and_the_graph_before_it_stays_and_fades(page):
    faded = "['leaves', 'frames'].map(id => getComputedStyle(document.getElementById(`play-${id}`)).opacity < 1)"
    write(page, "tanh(a * $)")
    page.wait("!document.getElementById('play-error').hidden")
    assert page.text("#play-where mark") == "$" and "character 10" in page.text("#play-message")
    assert names(page) == ["a", "b"]
    assert page.js(faded) == [True, True]
    write(page, "tanh(a)")
    page.wait("document.getElementById('play-error').hidden")
    assert page.js(faded) == [False, False]


@pytest.mark.parametrize(
    "hostile", ["<img src=x onerror=alert(1)>", "'</script><script>alert(1)</script>'", "x\u202ey", "{{first}}"]
)
def test_what_is_typed_is_never_run(page, hostile):
    write(page, hostile)
    page.wait("!document.getElementById('play-error').hidden")
    assert page.js("document.querySelectorAll('img, script:not([src])').length") == 0


def choose(page, number):
    page.js(
        "(() => { const select = document.getElementById('play-samples');"
        f" select.selectedIndex = {number}; select.onchange(); }})()"
    )
    wanted = list(SAMPLES[number].values)
    page.wait_until(lambda: names(page) == wanted and page.js(f"!!({READY})"), f"sliders for {wanted}")


def test_every_sample_works(page):
    for number, sample in enumerate(SAMPLES):
        choose(page, number)
        root = play(sample.formula, sample.values).root
        page.wait_until(lambda root=root: code(page)["L"] == str(root.data), sample.formula)


def test_numbers_that_only_python_follows(page):
    """Eigenvalues are found by iteration, not by a formula; a slider then asks Python for another page."""
    write(page, "eigenvalues([[u, 0], [0, 2]]).sum()")
    page.wait("[...document.querySelectorAll('.play-leaf b')].map(b => b.textContent).join() === 'u'")
    page.js("(() => { const f = document.querySelector('.play-number'); f.value = '0.6'; f.onchange(); })()")
    page.wait("document.getElementById('play-result').textContent === '= 2.6'")
    assert slopes(page) == ["∂L/∂u = 1"]


def test_the_address_holds_formula_and_numbers(page):
    write(page, "p*q")
    page.wait("location.hash.includes('p*q')")
    page.reload()
    page.wait(f"document.getElementById('play-formula')?.value === 'p*q' && {READY}")


def test_saving_gives_a_page_with_the_numbers_as_they_are(page, tmp_path):
    page.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    page.js("(() => { const s = document.querySelectorAll('.play-slider')[1]; s.value = -4.5; s.oninput(); })()")
    page.wait("document.querySelector('.play-slope').textContent.includes('−')")
    page.click("#play-save")
    saved = tmp_path / "tanh-a-b-a-2.html"
    page.wait_until(saved.exists, "the saved page")
    formula, numbers = page.text("#play-result"), "document.getElementById('hg-root').textContent"
    page.open(saved.as_uri())
    page.wait("!!window.handgrad")
    assert page.js("[handgrad.get('a'), handgrad.get('b')]") == [2, -4.5] and formula == f"= {page.js(numbers)}"


def test_copy_and_theme(page):
    page.call("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
    page.click("#play-copy")
    page.wait("document.getElementById('play-copy').textContent === 'copied'")
    assert page.js("navigator.clipboard.readText()") == page.js("document.getElementById('play-code').textContent")
    page.click("#play-theme")
    assert page.js("document.documentElement.dataset.theme") == "dark"
    page.wait_until(lambda: page.in_frame("document.documentElement.dataset.theme") == "dark", "the frame's theme")


@pytest.mark.parametrize("width, height, phone", [(1280, 800, False), (390, 844, True)])
def test_nothing_runs_off_the_edge(page, width, height, phone):
    choose(page, 1)
    page.open(page.js("location.href"), width=width, height=height, phone=phone)
    page.wait(f"document.querySelectorAll('.play-leaf').length && {READY}")
    assert page.js("document.documentElement.scrollWidth") <= width


# --- the command ------------------------------------------------------------------------------------------------


# A test run in the background ignores Ctrl-C, and so would its children.
HEEDING_CTRL_C = """import signal, sys
from autograd.cli import main
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.exit(main(sys.argv[1:]))"""


@contextlib.contextmanager
def command(*words):
    """`handgrad play` in a process of its own, and the address that it prints."""
    words = [sys.executable, "-c", HEEDING_CTRL_C, "play", *words, "--no-open"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        line = process.stdout.readline()
        assert line.startswith("Open this in a browser: http://127.0.0.1:")
        process.stdout.readline()
        try:
            yield process, line.split()[-1]
        finally:
            process.kill()


@pytest.mark.slow
def test_closing_the_page_ends_the_command(browser):
    with command("x*y", "x=4", "--browser") as (process, address):
        browser.open(address)
        browser.wait("document.querySelector('.play-number')?.value === '4'")
        browser.open("about:blank")
        assert process.wait(20) == 0 and "The page was closed." in process.stdout.read()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="NOT TESTED: Ctrl-C reaches a process otherwise there")
def test_ctrl_c_ends_it_without_a_word():
    with command() as (process, address):
        with urllib.request.urlopen(address) as answer:
            assert answer.status == 200
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0 and process.stderr.read() == ""


def test_without_a_screen_the_address_is_printed(monkeypatch, capsys):
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr("webbrowser.open", lambda address: pytest.fail("there is no screen"))
    monkeypatch.setattr(Server, "wait", lambda self: None)
    assert cli.main(["play"]) == 0
    assert "Open this in a browser: http://127.0.0.1:" in capsys.readouterr().out
    monkeypatch.setenv("DISPLAY", ":0")
    opened = []
    monkeypatch.setattr("webbrowser.open", lambda address: opened.append(address) or True)
    assert cli.main(["play"]) == 0
    assert "Playing at http" in capsys.readouterr().out and len(opened) == 1
