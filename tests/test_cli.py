"""The command line as its users meet it: text, exit status, and what it does with mistakes."""

import io
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from autograd import cli
from autograd.cli.commands import doctor
from autograd.cli.output import ERRORS, prepare
from autograd.saving import browser
from autograd.version import __version__
from tests.sweep import slow_but

ROOT = Path(__file__).parents[1]


def handgrad(*words: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "autograd", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


# ---- handgrad --------------------------------------------------------------------------------------------


def test_version_is_printed():
    answer = handgrad("--version")
    assert (answer.returncode, answer.stdout) == (0, f"handgrad {__version__}\n")


def test_no_command_prints_help(capsys):
    assert cli.main([]) == 0
    text = capsys.readouterr().out
    assert all(command in text for command in cli.COMMANDS)


def test_a_wrong_command_lists_the_right_ones(capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(["docter"])
    assert stop.value.code == 2
    text = capsys.readouterr().err
    assert "docter" in text and all(command in text for command in cli.COMMANDS)


def test_registering_the_commands_imports_no_heavy_library():
    """Whatever a command needs is imported when it runs, so that the others stay quick."""
    heavy = {"examples", "graphviz", "jax", "matplotlib", "nn", "pygraphviz", "safetensors", "torch"}
    code = f"import sys; from autograd import cli; cli.parser(); print(sorted({heavy} & set(sys.modules)))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"


def test_a_command_error_is_one_sentence_and_status_2(tmp_path, capsys):
    assert cli.main(["source", "example 1", "-o", str(tmp_path / "no" / "such" / "folder.py")]) == 2
    text = capsys.readouterr().err
    assert text.startswith("handgrad source: there is no folder") and "Traceback" not in text


@pytest.mark.slow
def test_a_closed_pipe_is_no_error():
    command = f"{sys.executable} -m autograd errata | head -n 1"
    answer = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=120)
    assert (answer.stdout, answer.stderr) == ("# Errata of the printed worksheets\n", "")


@pytest.mark.slow
def test_a_pipe_that_nobody_reads_is_no_error():
    command = f"{sys.executable} -m autograd errata | true; {sys.executable} -m autograd errata >&-"
    answer = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=120)
    assert (answer.stdout, answer.stderr, answer.returncode) == ("", "", 0)


ARGUMENTS = {  # of each command; the others take an example
    "errata": [],
    "doctor": [],
    "step": ["example2", "--text"],
    "source": ["example2"],
    "play": ["tanh(x)*1e-5 + sqrt(y)", "x=[2,3]", "y=[1,4]", "--forward", "--text"],
    "draw": ["example2", "-o", "drawing.svg"],
    "check": ["checked.py"],
    "grade": ["answers.csv", "--of", "example2"],
    "capture": ["captured.py"],
}
WRONG_MODEL = """import torch

class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x**3

    @staticmethod
    def backward(ctx, g):
        return 2 * g

def make_model():
    return Cube.apply, torch.ones(3).double()
"""


@pytest.mark.parametrize("command", slow_but(cli.COMMANDS, set(cli.COMMANDS) - {"doctor", "example"}))
def test_every_command_prints_legibly_in_every_encoding(command, tmp_path, monkeypatch):
    if command == "capture":
        pytest.importorskip("torch", reason="NOT TESTED: torch is not installed (pip install torch==2.13.0)")
    (tmp_path / "captured.py").write_text(WRONG_MODEL)
    (tmp_path / "checked.py").write_text("def wrong(x=-2.0):\n    return x * x.detach()\n")
    (tmp_path / "answers.csv").write_text("id,answer\nQ[0][0],0.1\nscaled[0][0],0.01\n")
    monkeypatch.chdir(tmp_path)

    def run(encoding):
        """What the command writes to a pipe of this encoding."""
        pipe = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
        monkeypatch.setattr(sys, "stdout", pipe)
        assert cli.main([command, *ARGUMENTS.get(command, ["example2"])]) == (command in ("check", "capture"))
        monkeypatch.undo()
        monkeypatch.chdir(tmp_path)
        return pipe.buffer.getvalue().decode(encoding)

    whole = run("utf-8")
    for encoding in ("ascii", "cp1252"):
        spelled = run(encoding)
        assert spelled.count("?") == whole.count("?")  # no character was given up
        assert len(whole) <= len(spelled) < 1.2 * len(whole)
        assert spelled != whole or command not in ("step", "play")


@pytest.mark.slow
def test_a_pipe_in_ascii_is_written_to():
    settings = {**os.environ, "PYTHONIOENCODING": "ascii"}
    words = [sys.executable, "-m", "autograd", "play", "x*y", "x=-2", "y=3", "--text"]
    answer = subprocess.run(words, capture_output=True, timeout=120, env=settings)
    assert (answer.returncode, answer.stderr) == (0, b"") and b"dL/dx += dL/dL * y" in answer.stdout


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("∂L/∂η ≈ −3×10⁻⁵", "dL/deta ~ -3*10^-5"),
        ("xᵀ · W₁ → 2²", "x^T * W1 -> 2^2"),
        ("∇Γ ≤ ∞ … ‖x̂‖", "grad Gamma <= inf ... ||x_hat||"),
        ("⎡1 2⎤ é ½ 漢", "[1 2] e 1/2 ?"),
    ],
)
def test_what_an_encoding_lacks_is_spelled(text, expected):
    prepare()
    assert text.encode("ascii", ERRORS).decode() == expected


def test_no_escape_codes_reach_a_terminal(tmp_path, capsys):
    script = tmp_path / "bad.py"
    script.write_text(
        "from autograd import Value\n"
        "a = Value(2.0, name='\\x1b[31mred\\x07')\n"
        "loss = a * a\n"
        "loss.name = 'l\\x9b2J'\n"
        "def raising(x=2.0):\n    raise ValueError('\\x1b]0;title\\x07')\n"
        "def wrong(x=Value(3.0, name='\\x1b[2J')):\n    return x * x.detach()\n"
    )
    outcomes = []
    for words in (
        ["step", str(script), "--text"],
        ["draw", str(script), "-o", str(tmp_path / "drawing.svg")],
        ["draw", f"{script}:raising", "-o", str(tmp_path / "drawing.svg")],
        ["check", str(script)],
        ["play", "x\x1b[2J", "x=2"],
        ["play", "x\x1b[2J*", "x=2"],
        ["play", "x*y", "x=2", "y=\x1b[2J"],
        ["example", "\x1b[2J"],
    ):
        outcomes.append(cli.main(words))
        shown = "".join(capsys.readouterr())
        assert shown and not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", shown), words
    assert outcomes == [0, 0, 2, 1, 2, 2, 2, 2]


# ---- handgrad doctor -------------------------------------------------------------------------------------


def test_doctor_finds_this_environment_sound(capsys):
    assert cli.main(["doctor"]) == 0
    text = capsys.readouterr().out
    assert f"handgrad {__version__}" in text
    for what in ("Python", "NumPy", "import names", "Graphviz", "Chromium", "torch", "jax", "matplotlib"):
        assert f"  {what} " in text


def test_doctor_names_a_foreign_autograd_and_its_cure(monkeypatch, capsys):
    ours = doctor._version
    monkeypatch.setattr(doctor, "_version", lambda name: "1.8.0" if name == "autograd" else ours(name))
    assert cli.main(["doctor"]) == 1
    text = capsys.readouterr().out
    assert "`autograd` 1.8.0" in text and "pip uninstall autograd" in text


STRANGERS = {  # what stands in the __init__.py of another package called autograd
    "imports": "grad = None\n",
    "fails": "from .core import make_vjp\n",
    "gone": None,
}


def foreign(place, how, folder):
    """An environment: ours in one folder, and a foreign `autograd` written over it or in a folder found before it."""
    ours, first = folder / "ours", folder / "first"
    for package in ("autograd", "handgrad", "nn"):
        shutil.copytree(ROOT / package, ours / package, ignore=shutil.ignore_patterns("__pycache__"))
    stranger = (ours if place == "over" else first) / "autograd" / "__init__.py"
    stranger.parent.mkdir(parents=True, exist_ok=True)
    stranger.unlink(missing_ok=True)
    if STRANGERS[how] is not None:
        stranger.write_text(STRANGERS[how])
    return [str(first), str(ours)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("place", "how"),
    [("over", "imports"), *(pytest.param(*case, marks=pytest.mark.slow) for case in
     (("over", "fails"), ("over", "gone"), ("before", "imports")))],
)  # fmt: skip
def test_doctor_runs_where_another_autograd_is_in_the_way(place, how, tmp_path):
    path = foreign(place, how, tmp_path)
    code = f"import sys; sys.path[:0] = {path}; import handgrad; sys.exit(handgrad.main())"

    def run(*words):
        command = [sys.executable, "-I", "-S", "-c", code, *words]  # none of our own packages, nor of the site
        return subprocess.run(command, capture_output=True, text=True, timeout=120)

    answer = run("doctor")
    assert answer.returncode == 1 and answer.stderr == ""
    assert "broken   import names" in answer.stdout
    assert str(tmp_path / ("ours" if place == "over" else "first")) in answer.stdout or how == "gone"
    assert ("pip install --force-reinstall" if place == "over" else "rename or remove it") in answer.stdout
    other = run("play", "x*y", "x=2", "y=3")
    assert other.returncode == 2 and other.stdout == ""
    assert other.stderr.startswith("handgrad cannot run: `import autograd`") and "Traceback" not in other.stderr


@pytest.mark.parametrize("name", ["autograd", "nn"])
def test_doctor_notices_an_import_name_that_leads_elsewhere(name, tmp_path, monkeypatch):
    stranger = tmp_path / name / "__init__.py"
    stranger.parent.mkdir()
    stranger.write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    finding = doctor.check_names()
    assert finding.state == "broken" and str(stranger) in finding.detail and finding.remedy


@pytest.mark.parametrize(("version", "state"), [(None, "broken"), ("1.26.4", "broken"), ("2.0.0", "ok")])
def test_doctor_judges_numpy(version, state, monkeypatch):
    monkeypatch.setattr(doctor, "_version", lambda name: version)
    finding = doctor.check_numpy()
    assert finding.state == state and bool(finding.remedy) == (state == "broken")


def test_doctor_judges_python(monkeypatch):
    monkeypatch.setattr(doctor, "OLDEST_PYTHON", (sys.version_info.major, sys.version_info.minor + 1))
    finding = doctor.check_python()
    assert finding.state == "broken" and str(sys.version_info.minor + 1) in finding.remedy


def test_what_is_optional_may_be_missing(monkeypatch):
    monkeypatch.setattr(doctor, "_version", lambda name: None)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(browser, "APPLICATIONS", ())
    library = doctor.check_optional("jax", "tests", "pip install jax")
    findings = [doctor.check_graphviz(), doctor.check_chromium(), library]
    assert [finding.state for finding in findings] == ["missing"] * 3
    assert all(finding.remedy for finding in findings)
    assert "handgrad works" in doctor.report(findings)


def test_dot_on_the_path_stands_in_for_pygraphviz(monkeypatch):
    monkeypatch.setattr(doctor, "_version", lambda name: None)
    monkeypatch.setattr(doctor.shutil, "which", lambda name: f"/opt/{name}")
    finding = doctor.check_graphviz()
    assert finding.state == "ok" and "/opt/dot" in finding.detail


def test_a_command_nearly_spelled_is_named(capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(["examples", "3", "--set", "eta=0.2"])
    said = capsys.readouterr().err
    assert stop.value.code == 2 and "did you mean handgrad example 3 --set eta=0.2?" in said


def test_play_without_numbers_begins_with_the_pages_own(capsys):
    assert cli.main(["play", "tanh(a*b)"]) == 0
    shown = capsys.readouterr()
    assert "a * b = 0.5 × (−0.8) = −0.4" in shown.out  # small enough for tanh to have a slope
    assert "for yours: handgrad play 'tanh(a*b)' a=0.5 b=-0.8" in shown.err
    assert cli.main(["play", "tanh(a*b)", "a=1", "b=2"]) == 0 and capsys.readouterr().err == ""


def test_a_sheet_of_a_large_graph_says_that_it_takes_a_while(tmp_path, capsys, monkeypatch):
    words = ["worksheet", "example1", "--only", "Q", "-o", str(tmp_path / "sheet.md")]
    assert cli.main(words) == 0 and capsys.readouterr().err == ""
    monkeypatch.setattr("autograd.cli.commands.worksheet.LARGE_GRAPH", 10)
    assert cli.main(words) == 0
    assert "numbers, and a sheet of any part needs all: this takes a while" in capsys.readouterr().err


def test_play_takes_numbers_behind_an_option_and_a_minus_in_front(tmp_path, capsys):
    assert cli.main(["play", "x*y", "--text", "x=2", "y=3"]) == 0 and "L = 2 × 3 = 6" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        cli.main(["play", "-x^2", "x=3"])
    assert "behind --" in capsys.readouterr().err
    assert cli.main(["play", "-o", str(tmp_path / "none.html")]) == 2 and "of a formula" in capsys.readouterr().err


@pytest.mark.parametrize("formula, said", [("ln(x)", "did you mean log?"), ("max(x, 0)", "write maximum(x, 0)")])
def test_a_learners_names_are_answered(formula, said, capsys):
    assert cli.main(["play", formula, "x=2"]) == 2 and said in capsys.readouterr().err
