"""What a cell shows in JupyterLab. It takes seconds to start, so one notebook runs all the cells."""

import pytest

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
    with jupyterlab(tmp_path_factory.mktemp("lab"), NOTEBOOK, chromium, shown=".jp-OutputArea-output iframe") as both:
        yield both


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
