"""The widget of a notebook, in a browser without a notebook: a model such as anywidget gives it."""

import json
from importlib.resources import files

import pytest

from autograd import Value, step

MODEL = """
const heard = {}, kept = %s;
const model = {
  get: name => kept[name],
  set: (name, value) => { kept[name] = value; },
  save_changes: () => { kept.saved = (kept.saved ?? 0) + 1; },
  on: (event, run) => { heard[event] = run; },
  off: () => {},
};
window.fromPython = (position, leaves) => {
  if (leaves) { kept.leaves = leaves; heard["change:leaves"](); }
  if (position !== null) { kept.position = position; heard["change:position"](); }
};
window.kept = kept;
"""


def widget(tmp_path, browser, after=""):
    """A page with the widget in it; `after` runs in the same moment, as the next cells of "Run all" do."""
    a = Value(2.0, name="a")
    stepper = step(a * a + a * 3.0)
    script = files("autograd.stepping.page").joinpath("assets", "step_widget.js").read_text(encoding="utf-8")
    shown = script.replace("export default { render };", "render({ model, el: document.body });")
    assert shown != script
    leaves = [["a", 2.0]]
    state = {"page": stepper.html(), "position": 0, "height": 500, "leaves": leaves, "start": leaves}
    kept = json.dumps(state).replace("</", "<\\/")
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


def shown(browser, name):
    """The number that a card shows."""
    return browser.in_frame(f"""document.querySelector('[data-name="{name}"][data-kind="value"]')?.textContent""")


def test_an_edit_in_the_page_reaches_python_and_one_in_python_the_page(tmp_path, browser):
    widget(tmp_path, browser, after="fromPython(null, [['a', 3]]);")  # in the moment in which the page loads
    browser.wait_until(lambda: shown(browser, "a") == "3", "Python's 3")
    assert browser.js("kept.saved ?? 0") == 0  # what came from Python is not sent back
    browser.js("document.querySelector('iframe').contentWindow.postMessage({ handgradLeaves: [['a', 7]] }, '*')")
    browser.wait("kept.leaves[0][1] === 7 && kept.saved === 1")  # as if the reader had changed it
    browser.js("fromPython(2, [['a', -1]])")
    browser.wait_until(lambda: shown(browser, "a") == "−1" and where(browser) == 2, "Python's −1 at step 2")


def test_a_widget_shares_its_numbers_with_the_leaves():
    pytest.importorskip("anywidget")
    a, b = Value(2.0, name="a"), Value([1.0, -3.0], name="b")
    loss = (a * b).sum()
    stepper = step(loss)
    view = stepper.widget()
    stepper.next()
    assert view.position == 1 and view.step.node is stepper[0].node
    view.leaves = [["a", 5.0], ["b", [1.0, 4.0]]]  # the page tells of an edit
    assert a.data == 5.0 and b.data.tolist() == [1.0, 4.0] and view.stepper.root.data == 25.0
    assert stepper.root.data == -4.0 and "a and b were edited since" in stepper.note  # the snapshot it was made from
    stepper.goto(3)
    assert view.position == view.stepper.position == 4
    b.data -= 1.0
    view.refresh()  # which Jupyter does after each cell
    assert view.leaves == [["a", 5.0], ["b", [0.0, 3.0]]] and view.stepper.root.data == 15.0
    assert view.stepper.ledger(a).total == 3.0


def test_what_is_saved_of_a_widget_is_the_static_page():
    pytest.importorskip("anywidget")
    view = step(Value(2.0, name="a") * 3.0).widget()
    saved = view._repr_mimebundle_()
    data = saved[0] if isinstance(saved, tuple) else saved
    assert "application/vnd.jupyter.widget-view+json" in data and "Static view of" in data["text/html"]
    assert data["text/plain"].startswith("<Stepper of ")
    view.close()
