"""The lessons: complete, readable as text, run from top to bottom, with exercises that judge fairly."""

import ast
import contextlib
import importlib
import json
import re
import shutil
import subprocess
import sys
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("matplotlib")
import nn
from autograd import Value
from notebooks import __main__ as notebooks
from notebooks.lesson_page import contents_page, lesson_page
from notebooks.lessons import HERE, lessons, needs_torch, promise_of, title_of
from notebooks.mathml import FORMULA, UnknownLatex, mathml

LESSONS = lessons()
IDS = [path.stem for path in LESSONS]


@pytest.fixture
def in_lessons(monkeypatch):
    """As a kernel runs a lesson: in its folder, plots to memory."""
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.syspath_prepend(str(HERE))
    monkeypatch.chdir(HERE)
    exercise = importlib.import_module("exercise")
    exercise.asked.clear()
    yield exercise
    for name in ("exercise", "answers"):
        sys.modules.pop(name, None)
    with contextlib.suppress(ImportError):
        import matplotlib.pyplot

        matplotlib.pyplot.close("all")


def test_lessons_are_numbered_and_say_what_they_are_about():
    assert len(LESSONS) >= 23
    for number, path in enumerate(LESSONS, start=1):
        assert path.name[:2] == f"{number:02}" and title_of(path).split(" · ")[0] == str(number)
        assert 10 < len(promise_of(path)) < 150 and "$" not in promise_of(path)


def skip_without_torch(path):
    if notebooks.lacks_torch(path):
        pytest.skip("NOT TESTED: torch is not installed (pip install torch==2.13.0)")


@pytest.mark.parametrize("path", LESSONS, ids=IDS)
def test_each_shows_a_graph_steps_a_plot_and_exercises(path):
    text = path.read_text(encoding="utf-8")
    assert "draw(" in text and "step(" in text and "# ## Exercises" in text
    assert "plt." in text or "SVG(" in text or "maps(" in text
    assert re.search(r"^# \*\*(Next:|That was the last lesson)", text, re.M)  # where it leads
    assert text.startswith("# %% [markdown]\n# # ")
    for formula in FORMULA.finditer("\n".join(re.findall(r"^# ?(.*)$", text, re.M))):
        mathml(formula[1] or formula[2])


# What a machine writes and a learner stumbles over: np.float64(0.5), -0.0, tables inside a tuple.
NOISE = re.compile(r"np\.float\d+\(|[(:,] ?array\(\[|(?<!\w\()(?<![\w.])-0\.0*(?!\d)")


def run(cell, path, names):
    """Run a cell; what its last line shows is as short as a person would write it."""
    tree = ast.parse(cell)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, str(path), "exec"), names)
    if last is not None:
        shown = eval(compile(ast.Expression(last.value), str(path), "eval"), names)
        if isinstance(shown, float | np.generic | np.ndarray | tuple | list | dict):
            assert not NOISE.search(repr(shown)) and not re.search(r"\.\d{11}", repr(shown)), (path.stem, repr(shown))


def run_twice(path, capsys):
    """Run each cell, and again: no gradient doubles, nothing is added twice. Training goes on training."""
    names = {"__name__": "__main__"}
    text = path.read_text(encoding="utf-8")
    for found in re.finditer(r"^# %%(.*)\n((?:(?!# %%).*\n)*)", text, re.M):
        cell = "\n" * text.count("\n", 0, found.start(2)) + found[2]  # its lines have the numbers of the file
        if "markdown" not in found[1]:
            left = []
            for _ in range(1 if needs_torch(path) or "\ncheck(" in cell else 2):
                run(cell, path, names)
                left.append((state_of(names), capsys.readouterr().out))
                assert not NOISE.search(left[-1][1]), (path.stem, left[-1][1])
            assert left[0] == left[-1] or "optimizer = nn.optim.AdamW" in cell, cell


def state_of(names):
    """The numbers and gradients of all leaves that a lesson has names for."""
    values = [x for x in names.values() if isinstance(x, Value)]
    values += [p for x in names.values() if isinstance(x, nn.Module) for p in x.parameters()]
    return [(str(leaf.data), str(leaf.grad)) for leaf in values if leaf.op is None]


@pytest.mark.slow
@pytest.mark.parametrize("path", LESSONS, ids=IDS)
def test_each_runs_and_its_exercises_can_be_solved(path, in_lessons, capsys):
    skip_without_torch(path)
    pytest.importorskip("IPython")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run_twice(path, capsys)
    asked = list(in_lessons.asked)
    assert len(asked) >= 3
    for one in asked:
        assert "in place of None" in one.verdict and not one.right
        assert in_lessons.judge(_as_answer(one.expected), one.expected).right
        wrong = "nonsense" if isinstance(one.expected, str) else not one.expected if isinstance(one.expected, bool) \
            else np.asarray(_as_answer(one.expected), dtype=float) + 5.0  # fmt: skip
        assert not in_lessons.judge(wrong, one.expected).right


def _as_answer(expected):
    """What a learner would write: of several right numbers, one."""
    return expected[0] if type(expected).__name__ == "AnyOf" else expected


@pytest.mark.parametrize("path", LESSONS, ids=IDS)
def test_no_answer_stands_in_the_lesson(path, in_lessons):
    """A cell that asks holds nothing but the place for an answer; hints and answers are elsewhere."""
    cells = [
        cell for cell in path.read_text(encoding="utf-8").split("# %%") if "check(" in cell and "[markdown]" not in cell
    ]
    asking = [cell for cell in cells if re.search(r"^check\(", cell, re.M)]
    assert len(asking) in (3, 4)
    for cell in asking:
        assert re.search(r"^\w+ = None  # \S", cell, re.M)
        number = re.search(r'^check\("(\d+\.\d)", \w+', cell, re.M)[1]
        hint = getattr(in_lessons.answers, f"exercise_{number.replace('.', '_')}").__doc__
        assert hint and hint not in path.read_text(encoding="utf-8")


def test_what_a_learner_hears(in_lessons):
    check = in_lessons.judge
    assert repr(check(3.001, 3.0)) == "Right."
    assert "sign" in repr(check(-3.0, 3.0))
    assert "transposed" in repr(check([[1, 3], [2, 4]], [[1, 2], [3, 4]]))
    assert "shape should be (2,)" in repr(check(1.0, [1.0, 2.0]))
    assert "neither" in repr(check("abc", 1.0))
    assert "1 of 2 entries are off. Look again." in repr(check([1.0, 9.0], [1.0, 2.0], "Look again."))


def test_formulas():
    assert mathml("x_1^2") == "<math><msubsup><mi>x</mi><mn>1</mn><mn>2</mn></msubsup></math>"
    assert "<mtable>" in mathml(r"\begin{pmatrix}1 & 0\\ 0 & 2\end{pmatrix}")
    assert "<mover><mi>m</mi><mo>^</mo></mover>" in mathml(r"\hat m")
    assert 'stretchy="false"' in mathml("(x)_j") and "stretchy" not in mathml(r"\left(x\right)")
    with pytest.raises(UnknownLatex, match="oint"):
        mathml(r"\oint x")


def test_lessons_that_cannot_be_built_are_named_and_not_linked():
    """Without torch one lesson is left out: its neighbours lead past it, and the list says why."""
    built = [path for path in LESSONS if not needs_torch(path)]
    assert len(built) == len(LESSONS) - 1
    [left_out] = [path for path in LESSONS if path not in built]
    place = LESSONS.index(left_out)
    nothing = SimpleNamespace(cells=[])
    before = lesson_page(nothing, LESSONS[place - 1], built)
    assert left_out.stem not in before and LESSONS[place + 1].stem in before
    contents = contents_page(built, home=False)
    assert f"{left_out.stem}.html" not in contents and "it needs PyTorch" in contents
    assert "../index.html" not in contents and "../index.html" in contents_page(built, home=True)


# --- in Jupyter -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The lessons that were run by the tests below, as pages."""
    return tmp_path_factory.mktemp("lessons")


AS_NEW = """
import sys

import matplotlib.pyplot

matplotlib.pyplot.close("all")
for name in ("exercise", "answers"):
    sys.modules.pop(name, None)
get_ipython().reset()
"""


@pytest.fixture(scope="module")
def kernel(prices):
    """One kernel for all lessons: a function that empties it for the next one. To start one takes a second."""
    manager = pytest.importorskip("jupyter_client").KernelManager(kernel_name="python3")
    manager.start_kernel(extra_arguments=["--log-level=ERROR"], cwd=str(HERE))
    client = manager.blocking_client()
    client.start_channels()
    client.wait_for_ready(timeout=60)

    def emptied():
        answer = client.execute(AS_NEW, silent=True, reply=True, timeout=60)
        assert answer["content"]["status"] == "ok", answer
        return manager

    yield emptied
    client.stop_channels()
    with prices.bill("the kernel"):
        manager.shutdown_kernel(now=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    "path", [LESSONS[0], *(pytest.param(path, marks=pytest.mark.nightly) for path in LESSONS[1:])], ids=IDS
)
@pytest.mark.filterwarnings("ignore")  # Jupyter's own
def test_each_runs_in_a_kernel_and_becomes_a_page(path, pages, browser, kernel):
    """One page a lesson: nothing fetched, nothing off the edge, dark where it should be, each figure once."""
    skip_without_torch(path)
    for needed in ("nbconvert", "jupytext", "mistune", "pygments"):
        pytest.importorskip(needed)
    notebook = notebooks.executed(path, kernel())
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert not [cell for cell in code if not cell.execution_count]
    assert not [output for cell in code for output in cell.outputs if output.get("name") == "stderr"]
    text = lesson_page(notebook, path, LESSONS)
    assert not re.search(r"""<(script|link|img)[^>]*(src|href)=["']?https?:""", text)
    assert "handgrad-formula" not in text and "<iframe" in text
    assert "run this cell" not in text.lower() and "run the cell" not in text.lower()
    page = pages / f"{path.stem}.html"
    page.write_text(text, encoding="utf-8")
    browser.errors.clear()
    phone, desk = {"width": 390, "height": 800, "phone": True}, {"width": 1280, "height": 800, "dark": True}
    browser.open(page.as_uri(), **phone)
    for window in (phone, desk):
        browser.window(**window)
        browser.wait(f"innerWidth === {window['width']}")
        assert browser.js("document.documentElement.scrollWidth") <= window["width"]
        surface = (21, 24, 29) if "dark" in window else (255, 255, 255)
        assert browser.js("getComputedStyle(document.body).backgroundColor") == f"rgb{surface}"
    assert browser.errors == []
    plots = browser.js(
        "[...document.querySelectorAll('.plot svg')].map(plot => plot.innerHTML.replace(/[\\w-]*\\d[\\w-]*/g, ''))"
    )
    assert len(set(plots)) == len(plots)
    assert browser.js("document.querySelectorAll('form.exercise').length") in (3, 4)


@pytest.mark.page
def test_exercises_on_a_page(in_lessons, tmp_path, browser):
    """A page judges as Python does: words, numbers, several numbers."""
    from notebooks.lesson_page import _exercise, _page

    forms = [
        in_lessons.judge(None, expected, "Think again.")._repr_mimebundle_()[in_lessons.FOR_PAGES]
        for expected in EXPECTED
    ]
    script = (HERE / "assets" / "lesson.js").read_text(encoding="utf-8")
    page = tmp_path / "exercises.html"
    page.write_text(_page("Exercises", "".join(_exercise(form, "") for form in forms), script), encoding="utf-8")
    browser.open(page.as_uri())
    for number, (answer, said) in enumerate(ANSWERED):
        browser.js(f"document.querySelectorAll('input')[{number % len(EXPECTED)}].value = {answer!r}")
        browser.js(f"document.querySelectorAll('form')[{number % len(EXPECTED)}].requestSubmit()")
        assert browser.js(f"document.querySelectorAll('output')[{number % len(EXPECTED)}].textContent").startswith(said)


EXPECTED = (12.0, [[1.5, -0.5], [0.25, 2.0]], "kink", True)
# Backward lines, and what becomes of them: of tanh, and of a row's softmax.
SLOPE = ("g*(1-out**2)", "g - g*out^2", "−g * (out*out − 1)", "g / (0.5*(exp(x) + exp(-x)))**2")
UNMULTIPLIED = ("g(1-out**2)", "g*(1-out)(1+out)")
WRONG_SLOPE = (*UNMULTIPLIED, "g*(1-out)", "1 - out**2", "-g*(1-out**2)", "2", "g*(1-out**2", "g h", "g*(1-oot**2)", "")
ROWS = ("out*(g - sum(g*out))", "out*g - out*sum(out*g)", "(g - mean(g*out)*3) * out")
WRONG_ROWS = ("out*g*(1-out)", "out*(g - mean(g*out))", "out * sum(g)")


def test_backward_lines_are_held_against_differences_in_python_and_on_a_page(in_lessons):
    """The same verdict from both; the page's arithmetic runs in Node."""
    cases = [
        (in_lessons.answers.exercise_3_4(), [(text, True) for text in SLOPE] + [(text, False) for text in WRONG_SLOPE]),
        (in_lessons.answers.exercise_7_4(), [(text, True) for text in ROWS] + [(text, False) for text in WRONG_ROWS]),
    ]
    script = (HERE / "assets" / "lesson.js").read_text(encoding="utf-8").partition("for (const form of document")[0]
    for line, texts in cases:
        rule = {"line": line.for_page(), "names": line.names, "hint": ""}
        asks = f"[{', '.join(f'held({json.dumps(text)}, {json.dumps(rule)})' for text, _ in texts)}]"
        said = node(f"{script}\nconsole.log(JSON.stringify({asks}))")
        for (text, right), on_page in zip(texts, said, strict=True):
            judged = in_lessons.judge(text, line)
            assert judged.right == right == (on_page == "Right."), (text, on_page)
            assert ("to multiply" in judged.verdict) == ("to multiply" in on_page) == (text in UNMULTIPLIED)
    assert "to multiply, write g * (…)" in in_lessons.judge("g(1-out**2)", cases[0][0]).verdict
    assert "g, out and x" in in_lessons.judge("g * y", cases[0][0]).verdict


def node(script):
    if shutil.which("node") is None:
        pytest.skip("NOT TESTED: no Node")
    run = subprocess.run(["node", "-"], input=script, capture_output=True, text=True, check=True, timeout=30)
    return json.loads(run.stdout)


ANSWERED = (
    ("12.001", "Right."), ("[[1.5, −0.5], [0.25, 2]]", "Right."), ("'kink'", "Right."), ("true", "Right."),
    ("24/2", "Right."), ("3/2 -.5, 1/4, 2", "Right."), ("kink", "Right."), ("True", "Right."),
    ("-12", "Almost: the sign is the other way round."), ("1.5 0.5 0.25 3", "Not yet. 2 of 4 numbers are off. Think"),
    ("pass", "Not yet."), ("False", "Not yet."), ("", "Almost: the sign"), ("1, 2", "Write 4 numbers; there"),
)  # fmt: skip
