"""`handgrad draw`: files the user names, and the worked examples."""

import pytest

from autograd.cli import main

SOURCE = """
from autograd import Value
from helper import three
a = Value(2.0, name="a")
b = a * three
loss = b + a
loss.backward()
def square():
    return loss * loss
def needs(x):
    return x
text = "no value"
if __name__ == "__main__":
    raise SystemExit("this part is not run")
"""


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "helper.py").write_text("three = 3.0")
    (tmp_path / "mine.py").write_text(SOURCE)
    return tmp_path / "mine.py"


@pytest.mark.parametrize(("what", "cards"), [("mine.py", 3), ("mine.py:b", 2), ("mine.py:square", 4)])
def test_a_value_or_function_of_a_file(file, capsys, what, cards):
    assert main(["draw", what, "-o", "out.svg"]) == 0
    assert f"out.svg: {cards} cards" in capsys.readouterr().out
    assert (file.parent / "out.svg").read_text().startswith("<svg")


def test_options_reach_the_drawing(file, capsys):
    assert main(["draw", "mine.py", "-o", "out.mmd", "--edges", "rule", "--direction", "TB", "--inputs", "a"]) == 0
    text = (file.parent / "out.mmd").read_text()
    assert text.startswith("flowchart TB") and "#40;input#41;" in text and "g #42; 3" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.py"], "there is no file 'missing.py'"),
        (["mine.py:nope"], "mine.py has no 'nope'; it has a, b, loss"),
        (["mine.py:text"], "is a str, not a Value"),
        (["mine.py:needs"], "must be a function without arguments"),
        (["mine.py", "-o", "out.xyz"], "cannot tell a format"),
        (["mine.py", "-o", "nowhere/out.svg"], "there is no folder 'nowhere'"),
        (["example99"], "there is no example called"),
        (["mine.py", "--max-nodes", "0"], "max_nodes is a whole number"),
    ],
)
def test_mistakes_are_explained_and_leave_no_file(file, capsys, arguments, message):
    assert main(["draw", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert sorted(path.name for path in file.parent.iterdir() if path.suffix != ".pyc" and path.is_file()) == [
        "helper.py", "mine.py"]  # fmt: skip


def test_a_file_that_fails_is_named_with_its_line(file, capsys):
    (file.parent / "broken.py").write_text("x = 1\ny = x / 0\n")
    assert main(["draw", "broken.py"]) == 2
    assert "broken.py failed: ZeroDivisionError" in (error := capsys.readouterr().err) and "broken.py:2" in error


def test_an_ambiguous_file_asks_which(file, capsys):
    (file.parent / "two.py").write_text("from autograd import Value\np = Value(1.0) * 2\nq = Value(2.0) * 3\n")
    assert main(["draw", "two.py"]) == 2
    assert "which Value of two.py?" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["example1", "2", "example3", "4", "5", "6", "cat_sleeps"])
def test_every_worked_example(tmp_path, capsys, name):
    assert main(["draw", name, "-o", str(tmp_path / "out.svg")]) == 0
    assert "cards" in capsys.readouterr().out
