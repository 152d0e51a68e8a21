"""`handgrad check`: files, functions, the table, and what it says when it cannot."""

import textwrap

import pytest

from autograd.cli import main
from autograd.cli.check import inputs_of, layer_recipes, tasks_of_layers

FILE = """
    import numpy as np
    import autograd as ag

    def good(x=2.0, y=3.0):
        return x * y + x ** 2

    def softened(x):
        return ag.softmax(x)

    softened.check_inputs = (np.arange(6.0).reshape(2, 3),)

    def made(x):
        return x.sum()

    made.check_inputs = lambda: (np.ones(4),)

    def nowhere(x):
        return x
"""
BAD = """
    def leaves(x=2.0):
        return x * x.data
"""


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / "mine.py"
        path.write_text(textwrap.dedent(text))
        return str(path)

    return write


def test_every_function_that_says_where(file, capsys):
    assert main(["check", file(FILE)]) == 0
    said = capsys.readouterr().out
    assert [line.split()[:2] for line in said.splitlines()[1:4]] == [
        ["good", "pass"],
        ["softened", "pass"],
        ["made", "pass"],
    ]
    assert "nowhere" not in said
    assert "3 checked, 12 entries: all pass." in said


def test_one_function_to_second_order(file, capsys):
    assert main(["check", file(FILE) + ":good", "--order", "2"]) == 0
    assert "1 checked, 4 entries: all pass." in capsys.readouterr().out


def test_a_wrong_gradient_is_exit_status_1(file, capsys):
    assert main(["check", file(FILE + BAD), "--seed", "4"]) == 1
    said = capsys.readouterr().out
    assert "1 did not pass" in said
    assert "leaves: wrong  (1 entry of 1 input, seed 4)" in said and "a path is missing" in said


@pytest.mark.parametrize(
    "what, message",
    [
        (":nowhere", "write nowhere.check_inputs = (...)"),
        (":missing", "has no function 'missing'; it has good, softened, made, nowhere"),
    ],
)
def test_what_cannot_be_checked_is_exit_status_2(file, capsys, what, message):
    assert main(["check", file(FILE) + what]) == 2
    assert message in capsys.readouterr().err


def test_a_file_that_says_nowhere(file, capsys):
    assert main(["check", file("def f(x): return x")]) == 2
    assert "no function of mine.py says where to check it" in capsys.readouterr().err


def test_a_file_that_fails_or_is_not_there(file, capsys, tmp_path):
    assert main(["check", file("1 / 0")]) == 2
    assert "mine.py failed: ZeroDivisionError" in capsys.readouterr().err
    assert main(["check", str(tmp_path / "none.py")]) == 2
    assert "there is no file" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["x.py", "--all"]])
def test_a_file_or_all(arguments, capsys):
    assert main(["check", *arguments]) == 2
    assert "or --all" in capsys.readouterr().err


def test_all_ops_and_layers(capsys):
    from autograd import OPS

    assert main(["check", "--all"]) == 0
    lines = {line.split()[0]: line.split()[1] for line in capsys.readouterr().out.splitlines()[1:] if line}
    wanted = {op.name for op in OPS.values() if op.differentiable and op.samples} | set(layer_recipes())
    assert wanted <= lines.keys()
    assert {lines[name] for name in wanted} == {"pass"}


def test_a_layer_without_recipe_is_not_forgotten(monkeypatch):
    import nn
    from autograd.cli import CommandError

    class Forgotten(nn.Module):
        pass

    monkeypatch.setattr(nn, "Forgotten", Forgotten, raising=False)
    monkeypatch.setattr(nn, "__all__", [*nn.__all__, "Forgotten"])
    with pytest.raises(CommandError, match="how to make Forgotten"):
        tasks_of_layers(1, 0)


def test_inputs_are_looked_for():
    def f(x, y=1.0): ...

    assert inputs_of(f) is None
    f.check_inputs = 3.0
    assert inputs_of(f) == (3.0,)
