"""`handgrad check`: files, functions, the table, and what it says when it cannot."""

import textwrap

import pytest

from autograd.check.subjects.inputs import NoInputs, inputs_of
from autograd.cli import main
from autograd.cli.commands.check import layer_recipes, tasks_of_layers

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
    assert "3 checked, 12 entries: all pass." in said
    assert "not checked: nowhere (x has no default; give check_inputs)" in said


def test_one_function_to_second_order(file, capsys):
    assert main(["check", file(FILE) + ":good", "--order", "2"]) == 0
    assert "1 checked, 5 entries: all pass." in capsys.readouterr().out


def test_a_wrong_gradient_is_exit_status_1(file, capsys):
    assert main(["check", file(FILE + BAD), "--seed", "4"]) == 1
    said = capsys.readouterr().out
    assert "1 did not pass" in said
    assert "leaves: wrong  (1 entry of 1 input, seed 4)" in said and "a path is missing" in said


TROUBLE = """
    import numpy as np

    def good(x=2.0):
        return x * x

    def raises(x=1.0):
        raise RuntimeError("boo")

    def ends(x=1.0):
        raise SystemExit(3)

    def whole(x=3):
        return x * x

    def by_name(x, y):
        return x * y

    by_name.check_inputs = {"y": np.ones(3), "x": 2.0}

    def too_few(x, y):
        return x * y

    too_few.check_inputs = (2.0,)

    def no_inputs_made(x):
        return x

    no_inputs_made.check_inputs = lambda: 1 / 0

    def keywords(*, x=1.0):
        return x * x

    def main():
        pass
"""


def test_one_function_that_fails_does_not_stop_the_others(file, capsys):
    assert main(["check", file(TROUBLE)]) == 1
    said = capsys.readouterr().out
    outcomes = dict(line.split(maxsplit=1) for line in said.splitlines()[1:8])
    assert outcomes["raises"] == "raised RuntimeError: boo"
    assert outcomes["ends"] == "raised SystemExit: 3"
    assert outcomes["whole"].split()[:2] == ["pass", "1"]  # an integer is varied where nothing is real
    assert outcomes["too_few"].startswith("raised TypeError: ") and "'y'" in said
    assert outcomes["no_inputs_made"] == "raised ZeroDivisionError: division by zero"
    assert outcomes["good"].split()[:2] == ["pass", "1"] and outcomes["by_name"].split()[:2] == ["pass", "4"]
    assert "7 checked, 6 entries: 4 did not pass." in said
    assert "Traceback" not in said and "raises failed: RuntimeError: boo (" in said and "mine.py:8)" in said


def test_what_is_not_checked_is_said_and_why(file, capsys):
    main(["check", file(TROUBLE)])
    said = capsys.readouterr().out
    assert "not checked: keywords (x can be given by keyword only, as a setting; inputs are given by place)" in said
    assert "not checked: main (it takes no inputs)" in said


@pytest.mark.parametrize("seed", ["-1", "1.5", "soon"])
def test_a_seed_that_is_none(file, capsys, seed):
    with pytest.raises(SystemExit) as stop:
        main(["check", file(FILE), f"--seed={seed}"])
    assert stop.value.code == 2
    assert f"expected an integer from 0 on; got '{seed}'" in capsys.readouterr().err


@pytest.mark.parametrize(
    "what, message",
    [
        (":nowhere", "write nowhere.check_inputs = (...)"),
        (":missing", "has no function 'missing'; it has good, softened, made and nowhere"),
    ],
)
def test_what_cannot_be_checked_is_exit_status_2(file, capsys, what, message):
    assert main(["check", file(FILE) + what]) == 2
    assert message in capsys.readouterr().err


def test_a_file_that_says_nowhere(file, capsys):
    assert main(["check", file("def f(x): return x")]) == 2
    said = capsys.readouterr().err
    assert "no function of mine.py says where to check it: f (x has no default; give check_inputs)" in said


def test_a_file_that_fails_or_is_not_there(file, capsys, tmp_path):
    assert main(["check", file("1 / 0")]) == 2
    assert "mine.py failed: ZeroDivisionError" in capsys.readouterr().err
    assert main(["check", str(tmp_path / "none.py")]) == 2
    assert "there is no file" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["x.py", "--all"]])
def test_a_file_or_all(arguments, capsys):
    assert main(["check", *arguments]) == 2
    assert "or --all" in capsys.readouterr().err


@pytest.mark.slow
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
        tasks_of_layers()


class TestInputsOf:
    """The one place where a function says at which inputs it is to be checked."""

    @staticmethod
    def f(x, y=1.0, *, flag=True): ...

    def test_defaults(self):
        assert inputs_of(lambda x=2.0, y=3: ...) == (2.0, 3)
        with pytest.raises(NoInputs, match="x has no default"):
            inputs_of(self.f)

    @pytest.mark.parametrize(
        "said, inputs",
        [
            (3.0, (3.0,)),
            ([3.0, 4.0], (3.0, 4.0)),
            (lambda: (3.0,), (3.0,)),
            ({"y": 4.0, "x": 3.0}, (3.0, 4.0)),
            ({"x": 3.0}, (3.0, 1.0)),
            ({"weight": 3.0}, ({"weight": 3.0},)),
        ],
    )
    def test_check_inputs(self, said, inputs):
        def f(x, y=1.0): ...

        f.check_inputs = said
        assert inputs_of(f) == inputs

    @pytest.mark.parametrize(
        "f, reason",
        [
            (lambda x, y: ..., "x and y have no default; give check_inputs"),
            (lambda x=1.0, *, n: ..., "n has no default; give check_inputs"),
            (lambda *xs: ..., "xs has no default; give check_inputs"),
            (lambda **settings: ..., "it takes no inputs"),
            (iter, "its parameters are not known; give check_inputs"),
        ],
    )
    def test_the_reason(self, f, reason):
        with pytest.raises(NoInputs) as caught:
            inputs_of(f)
        assert str(caught.value) == reason
