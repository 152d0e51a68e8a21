"""What a cell shows in JupyterLab. It takes seconds to start, so one notebook runs all the cells."""

import pytest

from autograd import step
from examples import example3_full_backprop
from tests.jupyter import jupyterlab

NOTEBOOK = """# %%
import numpy as np
import nn
from autograd import Value, draw, step
x = Value(np.ones((1, 4, 8)), name="x")
loss = (nn.TransformerBlock(8, 2, rng=0)(x) ** 2).mean()
draw(loss, direction="LR")

# %%
a = Value(2.0, name="a")
step(a * a + 1.0)
"""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def lab(tmp_path_factory, chromium):
    """A browser in which the cells have run, and the server's address."""
    folder, received = tmp_path_factory.mktemp("lab"), notebook_with_outputs()
    with jupyterlab(folder, NOTEBOOK, chromium, shown=".jp-OutputArea-output iframe", received=received) as both:
        yield both


def notebook_with_outputs():
    """A notebook that was run elsewhere, so that JupyterLab does not trust it."""
    nbformat = pytest.importorskip("nbformat")
    bundle = step(example3_full_backprop.graph())._repr_mimebundle_()
    output = nbformat.v4.new_output("execute_result", data=bundle, execution_count=1)
    cell = nbformat.v4.new_code_cell("step(L)", outputs=[output], execution_count=1)
    return nbformat.v4.new_notebook(cells=[cell])


def test_a_drawing_does_not_run_off_the_edge(lab):
    browser, _ = lab
    browser.wait("document.querySelector('.jp-OutputArea-output img[src^=data]')?.naturalWidth")
    output, box, image = browser.js(
        """(() => { const image = document.querySelector(".jp-OutputArea-output img");
            const all = [image.closest(".jp-OutputArea-output"), image.parentElement, image];
            return all.map(one => one.getBoundingClientRect().width); })()"""
    )
    assert box <= output < 1200 and image > 1500  # the box scrolls, and the text keeps its size


def test_stepping(lab):
    """Run a cell, click Next in its output, read the step."""
    browser, address = lab
    browser.wait_until(lambda: browser.in_frame("!!document.querySelector('#hg-next')"), "the page in the frame")
    browser.in_frame("document.querySelector('#hg-next').click()")
    assert browser.in_frame("document.querySelector('.hg-where b').innerText") == "Forward 1 of 2"
    outside = {url for url in browser.requests if not url.startswith((address, "data:", "about:", "blob:"))}
    assert outside == set()


def test_its_borders_are_whole_and_escape_gives_the_keys_back(lab):
    browser, _ = lab
    inside = browser.js(
        """(() => { const frame = document.querySelector(".jp-OutputArea-output iframe");
            const one = frame.getBoundingClientRect();
            const out = frame.closest(".jp-OutputArea-output").getBoundingClientRect();
            return one.left >= out.left && one.right <= out.right + 0.5 && one.bottom <= out.bottom + 0.5; })()"""
    )
    assert inside
    browser.js("document.querySelector('.jp-OutputArea-output iframe').focus()")
    assert browser.js("document.activeElement.tagName") == "IFRAME"
    browser.in_frame("dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape' }))")
    browser.wait("document.activeElement.tagName !== 'IFRAME'")
    assert browser.js("!!document.activeElement.closest('.jp-Notebook')")


def test_a_notebook_that_is_not_trusted_says_what_to_do_and_scrolls(lab):
    """No script has run: what stands in for the page begins with the sentence that matters, and scrolls."""
    browser, address = lab
    browser.open(f"{address}/lab/tree/received.ipynb", width=1400, height=1000)
    output = ".jp-NotebookPanel:not(.lm-mod-hidden) .jp-OutputArea-output"
    browser.wait(
        f"document.querySelector('{output} table') && document.querySelector('{output} img')?.naturalWidth", 60
    )
    seen = browser.js(
        f"""(() => {{ const out = document.querySelector("{output}"), last = out.querySelector("img");
            const reaches = one => one.scrollHeight <= one.clientHeight + 1
                || ["auto", "scroll"].includes(getComputedStyle(one).overflowY);
            const around = [];
            for (let one = last.parentElement; one !== out; one = one.parentElement) around.push(one);
            return [out.innerText.trim().slice(0, 90), out.querySelectorAll("iframe, script").length,
                    around.every(reaches), out.querySelectorAll("td").length]; }})()"""
    )
    text, frames, reached, cells = seen
    assert text.startswith("Static view of L: run the cell, or trust the notebook, to step through it.")
    assert frames == 0 and reached and cells > 80
