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
def curve(x=0.7, power=2):
    return x ** power
def whole(x=2):
    return x
def fails(x=1.0):
    raise ValueError("no good")
text = "no value"
if __name__ == "__main__":
    raise SystemExit("this part is not run")
"""


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "helper.py").write_text("three = 3.0")
    (tmp_path / "mine.py").write_text(SOURCE)
    (tmp_path / "helper.txt").write_text("no Python")
    return tmp_path / "mine.py"


@pytest.mark.parametrize(("what", "cards"), [("mine.py", 3), ("mine.py:b", 2), ("mine.py:square", 4),
                                               ("mine.py:curve", 2)])
def test_a_value_or_function_of_a_file(file, capsys, what, cards):
    assert main(["draw", what, "-o", "out.svg"]) == 0
    assert f"out.svg: {cards} cards" in capsys.readouterr().out
    assert (file.parent / "out.svg").read_text().startswith("<svg")


def test_options_reach_the_drawing(file, capsys):
    assert main(["draw", "mine.py", "-o", "out.mmd", "--edges", "rule", "--direction", "TB", "--inputs", "a"]) == 0
    text = (file.parent / "out.mmd").read_text()
    assert text.startswith("flowchart TB") and "#40;input#41;" in text and "g #42; 3" in text


@pytest.mark.parametrize(
    ("what", "shown"),
    [
        ("curve", ["1 × 1.4 = 1.4"]),  # by hand: d/dx x² at 0.7
        ("square", ["1 × 8 = 8", "16 × 1 = 16", "16 × 3 = 48", "grad 64"]),  # 2 · 8, times 3 + 1
    ],
)
def test_a_functions_result_has_gradients_and_only_its_own(file, capsys, what, shown):
    assert main(["draw", f"mine.py:{what}", "--edges", "numbers", "-o", "out.dot"]) == 0
    assert "backward()" not in capsys.readouterr().out
    text = (file.parent / "out.dot").read_text()
    assert [part for part in shown if part not in text] == []


def test_a_function_that_gives_an_array_or_ran_backward_itself_is_drawn_as_it_is(file):
    (file.parent / "more.py").write_text(
        "import numpy as np\nfrom autograd import Value\n"
        "def array(x=np.ones(2)):\n    return x * 2.0\n"
        "def twice(x=3.0):\n    y = x * 2.0\n    y.backward(5.0)\n    return y\n")  # fmt: skip
    assert main(["draw", "more.py:array", "--edges", "numbers", "-o", "out.dot"]) == 0
    assert main(["draw", "more.py:twice", "--edges", "numbers", "-o", "out.dot"]) == 0
    assert "5 × 2 = 10" in (file.parent / "out.dot").read_text()


def test_a_value_of_the_file_has_the_gradients_that_the_file_gave_it(file, capsys):
    (file.parent / "forward.py").write_text("from autograd import Value\nloss = Value(2.0, name='a') * 3.0\n")
    assert main(["draw", "forward.py", "--edges", "numbers", "-o", "out.svg"]) == 0
    assert "call backward() first" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.py"], "there is no file 'missing.py'"),
        (["mine.py:nope"], "mine.py has no 'nope'; it has the Values a, b and loss and the functions "),
        (["mine.py:los"], "mine.py has no 'los'; did you mean loss?"),
        (["mine"], "there is no example called 'mine'; did you mean mine.py?"),
        (["mine:loss"], "did you mean mine.py:loss?"),
        (["mine.py:text"], "is of type str, not a Value"),
        (["mine.py:needs"], "mine.py:needs needs a default for x to start from, such as x=0.7"),
        (["mine.py:whole"], "the function mine.py:whole returned no Value (int)"),
        (["mine.py:fails"], "mine.py:fails failed: ValueError: no good ("),
        (["helper.txt"], "helper.txt is not a Python file; give FILE.py"),
        (["all"], "handgrad draw: one example at a time: example1, example2"),
        (["mine.py", "--collapse", "zzz"], "--collapse zzz: folds no module of this graph; it has none"),
        (["6", "--collapse", "1", "--collapse", "zzz"], "folds no module of this graph; there are "),
        (["mine.py", "--inputs", "zzz"], "--inputs zzz: no leaf is called that; there are a"),
        (["mine.py", "-o", "out.xyz"], "a drawing is written as .svg"),
        (["mine.py", "-o", "nowhere/out.svg"], "there is no folder 'nowhere'"),
        (["example99"], "there is no example called"),
    ],
)
def test_mistakes_are_explained_and_leave_no_file(file, capsys, arguments, message):
    assert main(["draw", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert sorted(path.name for path in file.parent.iterdir() if path.suffix != ".pyc" and path.is_file()) == [
        "helper.py", "helper.txt", "mine.py"]  # fmt: skip


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("x = 3", "target.py makes no Value. Compute one in it"),
        ("from autograd import Value\np = Value(1.0) * 2\nq = Value(1.0) * 3", "Write target.py:p or target.py:q"),
        ("def f(x=1.0): return x\ndef g(x=1.0): return x\ndef h(x): return x", "Write target.py:f or target.py:g"),
        ("def f(x): return x", "target.py makes no Value"),
        (b"x = 1\0", "target.py is not a text file"),
        ("import nn, numpy as np\nnn.Linear(3, 2)(np.ones(4))", "target.py:2)"),  # not the line of ours that raised
        ("import json\n\njson.loads('{')", "target.py:3)"),
        ("raise SystemExit(3)", "target.py ended itself with exit status 3. Put what ends it under"),
    ],
)
def test_a_file_without_an_obvious_value_is_told_what_to_write(tmp_path, monkeypatch, capsys, source, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "target.py").write_bytes(source if isinstance(source, bytes) else source.encode())
    assert main(["draw", "target.py"]) == 2
    assert message in capsys.readouterr().err


def test_the_only_function_of_a_file_is_drawn(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "target.py").write_text("def f(x=0.5): return x * x\ndef _hidden(x=1.0): return x\n")
    assert main(["draw", "target.py"]) == 0
    assert "graph.svg: 2 cards" in capsys.readouterr().out


def test_a_wrong_path_names_the_files_there_are(file, capsys):
    (file.parent / "folder").mkdir()
    (file.parent / "folder" / "model.py").write_text("")
    for what, message in {"mien.py": "did you mean mine.py?", "zzz.py": "there are helper.py and mine.py",
                          "folder": "folder is not a Python file"}.items():  # fmt: skip
        assert main(["draw", what]) == 2
        assert message in capsys.readouterr().err
    assert main(["check", "folder"]) == 2
    assert "'folder' is a folder, not a Python file; there are folder/model.py" in (
        capsys.readouterr().err.replace("\\", "/"))  # fmt: skip


def test_a_leaf_has_no_steps(file, capsys):
    assert main(["step", "mine.py:a"]) == 2
    assert "mine.py:a is a leaf: nothing was computed" in capsys.readouterr().err


def test_a_number_out_of_range_is_told_the_range(file, capsys):
    for option, value in (("--max-nodes", "0"), ("--digits", "99"), ("--digits", "x")):
        with pytest.raises(SystemExit):
            main(["draw", "mine.py", option, value])
        assert "expected an integer from" in (said := capsys.readouterr().err) and f"got {value!r}" in said


def test_a_file_that_fails_is_named_with_its_line(file, capsys):
    (file.parent / "broken.py").write_text("x = 1\ny = x / 0\n")
    assert main(["draw", "broken.py"]) == 2
    assert "broken.py failed: ZeroDivisionError" in (error := capsys.readouterr().err) and "broken.py:2" in error


def test_a_syntax_error_is_shown_where_it_is(file, capsys):
    (file.parent / "slip.py").write_text("x = 1\ny = (x\n")
    assert main(["draw", "slip.py"]) == 2
    error = capsys.readouterr().err
    assert "slip.py failed: SyntaxError: '(' was never closed" in error and "slip.py:2" in error
    assert "frozen" not in error


def test_an_error_inside_the_engine_is_shown_where_the_user_caused_it(file, capsys):
    (file.parent / "shapes.py").write_text(
        "import numpy as np\nfrom autograd import Value\nloss = Value(np.ones(2)) @ Value(np.ones(3))\n")  # fmt: skip
    assert main(["draw", "shapes.py"]) == 2
    assert "shapes.py:3)" in capsys.readouterr().err


def test_a_wrong_example_is_offered_only_what_draw_takes(file, capsys):
    assert main(["draw", "example9"]) == 2
    error = capsys.readouterr().err
    assert "cat_sleeps" in error and "FILE.py" in error and " all" not in error


def test_advice_is_given_as_it_is_typed_here(tmp_path, capsys):
    assert main(["draw", "3", "--fit", "slide", "--collapse", "none", "-o", str(tmp_path / "out.svg")]) == 0
    assert "--detail brief, or --collapse 1, or a smaller part: an earlier value: FILE.py" in capsys.readouterr().out


def test_a_folded_model_says_how_to_open_it_from_here(tmp_path, capsys):
    output = ["-o", str(tmp_path / "out.svg")]
    assert main(["draw", "6", *output]) == 0
    told = capsys.readouterr().out
    assert "--collapse none opens them all" in told and ": 64 cards," not in told
    assert main(["draw", "6", "--collapse", "none", *output]) == 0
    assert ": 64 cards," in capsys.readouterr().out


def test_what_is_left_out_is_told_as_it_is_typed_here(file, tmp_path, capsys):
    file.write_text("from autograd import Value\ny = Value(1.0)\nfor _ in range(20):\n    y = y.tanh()\n")
    given = ["--max-nodes", "8", "--collapse", "none", "-o", str(tmp_path / "out.svg")]
    assert main(["draw", "mine.py", *given]) == 0
    assert "21 nodes, 16 of them left out; --max-nodes 21 draws them all" in capsys.readouterr().out


def test_a_box_of_ones_own(file, tmp_path, capsys):
    file.write_text("from autograd import Value\ny = Value(1.0)\nfor i in range(9):\n    y = (y * 2 + i).tanh()\n")
    output = ["-o", str(tmp_path / "out.svg")]
    for box in ("800x600", "slide", "column", "none"):
        assert main(["draw", "mine.py", "--fit", box, *output]) == 0
    with pytest.raises(SystemExit):
        main(["draw", "mine.py", "--fit", "poster", *output])
    assert "'poster' is no box: auto, slide, page, column, none, or 800x600" in capsys.readouterr().err


def test_help_says_which_value_is_drawn(capsys):
    with pytest.raises(SystemExit):
        main(["draw", "--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert "Without NAME the Value called loss, L, root, out, output or y is drawn" in text


def test_an_ambiguous_file_asks_which(file, capsys):
    (file.parent / "two.py").write_text("from autograd import Value\np = Value(1.0) * 2\nq = Value(2.0) * 3\n")
    assert main(["draw", "two.py"]) == 2
    assert "which Value of two.py?" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["example1", "2", "example3", "4", "5", "6", "cat_sleeps"])
def test_every_worked_example(tmp_path, capsys, name):
    assert main(["draw", name, "-o", str(tmp_path / "out.svg")]) == 0
    assert "cards" in capsys.readouterr().out
