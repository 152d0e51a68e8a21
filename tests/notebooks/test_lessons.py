"""The lessons: complete, readable as text, run from top to bottom, with exercises that judge fairly."""

import contextlib
import importlib
import re
import runpy
import sys
import warnings

import numpy as np
import pytest

pytest.importorskip("matplotlib")
from notebooks import __main__ as notebooks
from notebooks.mathml import FORMULA, UnknownLatex, mathml
from tests.jupyter import jupyterlab

LESSONS = notebooks.lessons()
IDS = [path.stem for path in LESSONS]


@pytest.fixture
def in_lessons(monkeypatch):
    """As a kernel runs a lesson: in its folder, plots to memory."""
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.syspath_prepend(str(notebooks.HERE))
    monkeypatch.chdir(notebooks.HERE)
    exercise = importlib.import_module("exercise")
    exercise.asked.clear()
    yield exercise
    sys.modules.pop("exercise", None)
    with contextlib.suppress(ImportError):
        import matplotlib.pyplot

        matplotlib.pyplot.close("all")


def test_thirteen_numbered_lessons():
    assert [path.name[:2] for path in LESSONS] == [f"{n:02}" for n in range(1, 14)]
    assert [notebooks.title_of(path).split(" · ")[0] for path in LESSONS] == [str(n) for n in range(1, 14)]


def skip_without_torch(path):
    if notebooks.lacks_torch(path):
        pytest.skip("NOT TESTED: torch is not installed (pip install torch==2.13.0)")


@pytest.mark.parametrize("path", LESSONS, ids=IDS)
def test_each_shows_a_graph_steps_a_plot_and_exercises(path):
    text = path.read_text(encoding="utf-8")
    assert "draw(" in text and "step(" in text and "# ## Exercises" in text
    assert "plt." in text or "SVG(" in text
    assert text.startswith("# %% [markdown]\n# # ")
    for formula in FORMULA.finditer("\n".join(re.findall(r"^# ?(.*)$", text, re.M))):
        mathml(formula[1] or formula[2])


@pytest.mark.slow
@pytest.mark.parametrize("path", LESSONS, ids=IDS)
def test_each_runs_and_its_exercises_can_be_solved(path, in_lessons, capsys):
    skip_without_torch(path)
    pytest.importorskip("IPython")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        runpy.run_path(str(path))
    asked = list(in_lessons.asked)
    assert len(asked) >= 3
    for one in asked:
        assert "in place of None" in one.verdict and not one.right
        assert in_lessons.check(one.expected, one.expected).right
        wrong = "nonsense" if isinstance(one.expected, str) else not one.expected if isinstance(one.expected, bool) \
            else np.asarray(one.expected, dtype=float) + 1.0  # fmt: skip
        assert not in_lessons.check(wrong, one.expected).right


def test_what_a_learner_hears(in_lessons):
    check = in_lessons.check
    assert repr(check(3.001, 3.0)) == "Right."
    assert "sign" in repr(check(-3.0, 3.0))
    assert "transposed" in repr(check([[1, 3], [2, 4]], [[1, 2], [3, 4]]))
    assert "shape should be (2,)" in repr(check(1.0, [1.0, 2.0]))
    assert "neither" in repr(check("abc", 1.0))
    assert "1 of 2 entries are off. Look again." in repr(check([1.0, 9.0], [1.0, 2.0], "Look again."))


def test_formulas():
    assert mathml("x_1^2") == "<math><msubsup><mi>x</mi><mn>1</mn><mn>2</mn></msubsup></math>"
    assert "<mtable>" in mathml(r"\begin{pmatrix}1 & 0\\ 0 & 2\end{pmatrix}")
    with pytest.raises(UnknownLatex, match="oint"):
        mathml(r"\oint x")


# --- in Jupyter -------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("path", LESSONS, ids=IDS)
@pytest.mark.filterwarnings("ignore")  # Jupyter's own
def test_each_runs_in_a_kernel_and_becomes_a_page(path, tmp_path):
    skip_without_torch(path)
    pytest.importorskip("nbconvert")
    pytest.importorskip("jupytext")
    notebook = notebooks.executed(path)
    assert not [cell for cell in notebook.cells if cell.cell_type == "code" and not cell.execution_count]
    page = notebooks.as_page(notebook, notebooks.title_of(path))
    assert not re.search(r"""<(script|link|img)[^>]*(src|href)=["']?https?:""", page)
    assert "handgrad-formula" not in page and "import(" not in page
    assert "<iframe" in page or "inside(" in path.read_text(encoding="utf-8")


@pytest.mark.slow
def test_stepping_in_jupyterlab(tmp_path, chromium):
    """Run a cell, click Next in its output, read the step."""
    source = 'from autograd import Value, step\n\na = Value(2.0, name="a")\nstep(a * a + 1.0)\n'
    with jupyterlab(tmp_path, source, chromium, shown=".jp-OutputArea-output iframe") as (browser, lab):
        browser.wait_until(lambda: browser.in_frame("!!document.querySelector('#hg-next')"), "the page in the frame")
        browser.in_frame("document.querySelector('#hg-next').click()")
        assert browser.in_frame("document.querySelector('.hg-where b').innerText") == "Forward 1 of 2"
        outside = {url for url in browser.requests if not url.startswith((lab, "data:", "about:", "blob:"))}
        assert outside == set()
