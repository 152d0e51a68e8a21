"""The widget of a notebook, in a browser without a notebook: a model such as anywidget gives it."""

import json
from importlib.resources import files

import pytest

from autograd import Value, step

pytestmark = pytest.mark.page

MODEL = """
const heard = {}, kept = %s;
const model = {
  get: name => kept[name],
  set: (name, value) => { kept[name] = value; },
  save_changes: () => { kept.saved = (kept.saved ?? 0) + 1; },
  on: (event, run) => { heard[event] = run; },
  off: () => {},
};
window.fromPython = position => { kept.position = position; heard["change:position"](); };
window.kept = kept;
"""


def widget(tmp_path, browser, after=""):
    """A page with the widget in it; `after` runs in the same moment, as the next cells of "Run all" do."""
    a = Value(2.0, name="a")
    stepper = step(a * a + a * 3.0)
    script = files("autograd.stepping.page").joinpath("assets", "step_widget.js").read_text(encoding="utf-8")
    shown = script.replace("export default { render };", "render({ model, el: document.body });")
    assert shown != script
    kept = json.dumps({"page": stepper.html(), "position": 0, "height": 500}).replace("</", "<\\/")
    page = tmp_path / "widget.html"
    text = f"<!doctype html><meta charset=utf-8><body><script>{MODEL % kept}{shown}{after}</script>"
    page.write_text(text, encoding="utf-8")
    browser.open(page.as_uri(), width=1200, height=700)
    return len(stepper)


def where(browser):
    return browser.in_frame("Number(document.querySelector('#hg-slider')?.value)")


def test_where_python_went_while_the_page_was_loading_is_kept(tmp_path, browser):
    widget(tmp_path, browser, after="fromPython(3);")
    browser.wait_until(lambda: where(browser) == 3, "step 3")
    assert browser.js("kept.position") == 3


def test_page_and_python_follow_each_other(tmp_path, browser):
    steps = widget(tmp_path, browser)
    browser.wait_until(lambda: where(browser) == 0, "the page")
    browser.in_frame("document.querySelector('#hg-next').click()")
    browser.wait("kept.position === 1 && kept.saved === 1")
    browser.js(f"fromPython({steps})")
    browser.wait_until(lambda: where(browser) == steps, "the last step")
