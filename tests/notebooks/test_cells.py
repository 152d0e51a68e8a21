"""What the last line of a cell shows, in a real kernel, and what a cell that fails or is interrupted leaves."""

import pytest

pytest.importorskip("ipykernel")
nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")

pytestmark = pytest.mark.slow

CELLS = {
    "setup": """
import os, signal
import numpy as np
import nn
from autograd import Value, check_grads, step
a, b = Value(2.0, name="a"), Value(-3.0, name="b")
loss = (a * b).tanh()
s = step(loss)
data = np.linspace(-1, 1, 8)[:, None]
model, seen = nn.Linear(1, 1, rng=0), []
def error(x, y):
    seen.append(1)
    if len(seen) == 33:
        os.kill(os.getpid(), signal.SIGINT)
    return nn.functional.mse(model(x), y)""",
    "stepper": "s",
    "next": "s.next()",
    "index": "s[3]",
    "moved": "loss.backward(); a.data -= 0.1 * a.grad\ns",
    "anew": "step(loss)",
    "history": "nn.fit(model, error, (data, 3 * data), nn.optim.SGD(model, lr=0.5), steps=30)",
    "interrupted": "nn.fit(model, error, (data, 3 * data), nn.optim.SGD(model, lr=0.5), steps=1000)",
    "resumable": "seen.clear(); seen += [1] * 30\n"
    "nn.fit(model, error, (data, data), nn.optim.SGD(model, lr=0.5), steps=1000, checkpoint='run')",
    "silent": "nn.fit(model, error, (data, data), nn.optim.SGD(model, lr=0.5), steps=3, progress=False); None",
    "model": "nn.GPT(27, 8, 16, 4, 1)",
    "mistake": "step(3.0)",
    "mistake in an option": "step(loss, parameters='v')",
}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory, prices):
    """Of each cell what it leaves."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in CELLS.values()])
    folder = tmp_path_factory.mktemp("cells")
    with prices.bill("the kernel"):
        nbclient.NotebookClient(notebook, allow_errors=True, resources={"metadata": {"path": folder}}).execute()
    return {name: cell.outputs for name, cell in zip(CELLS, notebook.cells)}


def shown(outputs, kind="text/plain"):
    """The result of a cell."""
    (result,) = (one for one in outputs if one.output_type == "execute_result")
    return result.data[kind]


def printed(outputs):
    return "".join(one.text for one in outputs if one.output_type == "stream")


def test_a_step_shows_its_rule_and_its_numbers(outputs):
    assert "a * b = 2 × (−3) = −6" in shown(outputs["next"])
    assert "∂L/∂a += ∂L/∂(a * b) * b" in shown(outputs["index"])
    assert "2.4577×10⁻⁵ × (−3) ≈ −7.373×10⁻⁵" in shown(outputs["index"])
    assert shown(outputs["index"], "text/html").startswith("<pre") and "∂L/∂a += " in shown(
        outputs["index"], "text/html"
    )


def test_a_stepper_is_shown_after_its_leaves_have_moved(outputs):
    assert "a was edited since; these are the numbers from before" in shown(outputs["moved"], "text/html")
    assert "a was edited since; computed anew" in shown(outputs["anew"])


def test_fit_shows_its_bar_and_history_its_curves(outputs):
    assert "30/30" in printed(outputs["history"]) and "loss " in printed(outputs["history"])
    assert all(one.name == "stdout" for one in outputs["history"] if one.output_type == "stream")
    assert shown(outputs["history"]).startswith("History(30 steps, loss ")
    html = shown(outputs["history"], "text/html")
    assert "History(30 steps" in html and "data:image/png" in html
    assert outputs["silent"] == []


def test_an_interrupted_fit_ends_its_cell_as_interrupted(outputs):
    (failed,) = (one for one in outputs["interrupted"] if one.output_type == "error")
    assert failed.ename == "KeyboardInterrupt" and "fit stopped after step 3 of 1000" in failed.evalue
    assert "3/1000" in printed(outputs["interrupted"])


def test_with_a_checkpoint_it_ends_well_and_says_so(outputs):
    assert shown(outputs["resumable"]).endswith("stopped: interrupted)")


def test_a_module_opens_and_closes(outputs):
    assert shown(outputs["model"]).startswith("GPT(27 tokens")
    assert shown(outputs["model"], "text/html").startswith("<details") and "qkv: Linear" in shown(
        outputs["model"], "text/html"
    )


@pytest.mark.parametrize("cell", ["mistake", "mistake in an option"])
def test_a_mistake_is_told_in_a_few_lines(outputs, cell):
    (failed,) = (one for one in outputs[cell] if one.output_type == "error")
    lines = "\n".join(failed.traceback).splitlines()
    assert len(lines) <= 24 and "Every step of the forward pass" not in "\n".join(lines)
