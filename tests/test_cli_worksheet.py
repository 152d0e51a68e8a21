"""`handgrad worksheet` and `handgrad grade`, as a teacher uses them."""

import csv
import io
from pathlib import Path

import pytest

from autograd.cli import main


def run(*arguments):
    return main([str(a) for a in arguments])


@pytest.mark.parametrize("ending", ["html", "md", "csv", "xml"])
def test_a_sheet_and_its_key_in_every_form(tmp_path, capsys, ending):
    for extra in ([], ["--key"]):
        path = tmp_path / f"sheet.{ending}"
        assert run("worksheet", "example3", "-o", path, "--digits", 3, *extra) == 0
        assert "17 steps, 92 blanks" in capsys.readouterr().out and path.stat().st_size > 1000


def test_a_model_of_five_lines(tmp_path, capsys):
    model = tmp_path / "model.py"
    model.write_text(
        "from autograd import Value\n"
        "x, w, b = Value(2.0, name='x', requires_grad=False), Value(-0.5, name='w'), Value(0.3, name='b')\n"
        "loss = ((x * w + b).tanh() - 1) ** 2\n"
    )
    key = tmp_path / "key.csv"
    assert run("worksheet", f"{model}:loss", "-o", key, "--key") == 0
    assert run("grade", key) == 2 and "--of" in capsys.readouterr().err
    assert run("grade", key, "--of", f"{model}:loss") == 0
    assert "100.0%" in capsys.readouterr().out


def test_a_class_is_one_table_and_a_bad_file_stops_nobody(tmp_path, capsys):
    key = tmp_path / "anna.csv"
    assert run("worksheet", "example2", "-o", key, "--key") == 0
    rows = list(csv.reader(io.StringIO(key.read_text("utf-8-sig"))))
    place = next(i for i, row in enumerate(rows) if row[0] == "scaled[1][1]")
    rows[place][1] = "0.01000"  # not divided by √2
    out = io.StringIO()
    csv.writer(out).writerows(rows)
    (tmp_path / "ben.csv").write_text(out.getvalue())
    (tmp_path / "carl.csv").write_text("nothing")
    capsys.readouterr()
    assert run("grade", tmp_path) == 1
    told = capsys.readouterr().out
    assert "carl.csv: not marked" in told and "anna  100.0%" in told
    assert run("grade", tmp_path, "-o", tmp_path / "class.txt") == 1
    assert "most common slip" in (tmp_path / "class.txt").read_text("utf-8-sig")
    assert run("grade", tmp_path, "-o", tmp_path / "class.html") == 2
    (tmp_path / "=1+1.csv").write_text(out.getvalue())
    assert run("grade", tmp_path / "anna.csv", tmp_path / "=1+1.csv", "-o", tmp_path / "class.csv") == 0
    rows = list(csv.reader(io.StringIO((tmp_path / "class.csv").read_text("utf-8-sig"))))
    assert rows[0][:3] == ["who", "score", "step"] and rows[2][:4] == ["'=1+1", rows[2][1], "3", "scaled[1][1]"]
    assert "ben" in told and "scaled[1][1]" in told and "most common slip: 1/√d forgotten (1 of 2)" in told


@pytest.mark.slow
def test_one_report_as_a_file(tmp_path, capsys):
    key = tmp_path / "anna.csv"
    run("worksheet", "example1", "-o", key, "--key", "--variant", 2)
    assert run("grade", key, "-o", tmp_path / "marks.html") == 0
    assert "100.0%" in (tmp_path / "marks.html").read_text("utf-8")
    assert run("grade", key, "-o", tmp_path / "marks.doc") == 2
    assert run("worksheet", "example1", "-o", tmp_path / "sheet.doc") == 2
    assert run("grade", tmp_path / "none.csv") == 2


def test_a_file_says_which_numbers_were_asked(tmp_path, capsys):
    key = tmp_path / "anna.csv"
    options = ["--level", "ops", "--eta", 0.2, "--backward-only", "--only", "dL/dW*", "--only", "*_new", "--matrices"]
    assert run("worksheet", "example3", "-o", key, "--key", *options) == 0
    assert run("grade", key) == 0 and "100.0%" in capsys.readouterr().out
    key.write_text(key.read_text("utf-8-sig").replace("ops", "none"), "utf-8")
    assert run("grade", key) == 2 and "level" in capsys.readouterr().err


def test_long_weights_are_pointed_out(tmp_path, capsys):
    model = tmp_path / "model.py"
    model.write_text("import numpy as np, nn\nL = nn.Linear(2, 1, rng=0)(np.array([[1.0, 2.0]])).sum()\n")
    assert run("worksheet", f"{model}:L", "-o", tmp_path / "s.html") == 0
    assert "--round 1" in capsys.readouterr().out
    assert run("worksheet", f"{model}:L", "-o", tmp_path / "s.html", "--round", 1) == 0
    assert "too many" not in capsys.readouterr().out
    model.write_text("import numpy as np, autograd\nL = (autograd.Value([0.012345678901, 0.03]) * 2.0).sum()\n")
    assert run("worksheet", f"{model}:L", "-o", tmp_path / "s.html") == 0
    assert "--round 2" in capsys.readouterr().out  # rounded to 1 decimal they would all be 0


def test_a_class_gets_one_sheet_each_and_is_marked_together(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("model.py").write_text(
        "from autograd import Value\nprint('model.py runs')\n"
        "loss = (Value([1.0, 2.0], name='x') * Value([3.0, 4.0], name='w')).tanh().sum()\n"
    )
    assert run("worksheet", "model.py", "--variant", "9-11", "--key", "-o", "answers.csv") == 0
    out = capsys.readouterr().out
    assert out.count("model.py runs") == 1
    names = sorted(path.name for path in tmp_path.glob("*.csv"))
    assert names == ["answers-09.csv", "answers-10.csv", "answers-11.csv"]
    assert len({Path(name).read_text() for name in names}) == 3
    assert run("grade", *names, "--of", "model.py") == 0
    assert capsys.readouterr().out.count("100.0%") == 3


@pytest.mark.parametrize("series", ["2-1", "1-", "-3", "1-b", "x"])
def test_a_series_of_variants_is_two_numbers(series, capsys):
    with pytest.raises(SystemExit):
        run("worksheet", "example3", f"--variant={series}")
    assert f"expected an integer from 0 on, or several, 1-40; got '{series}'" in capsys.readouterr().err


def test_a_saved_page_among_the_answers_of_a_class_is_named(tmp_path, capsys):
    (tmp_path / "anna.html").write_text("<!doctype html>")
    (tmp_path / "bob.csv").write_text("id,answer\n")
    assert run("grade", tmp_path, "--of", "example3") == 1
    assert "anna.html: not marked. answers come as .csv, .json or .xlsx" in capsys.readouterr().out
    assert run("grade", tmp_path / "anna.html") == 2
    assert 'the button "export answers" writes them' in capsys.readouterr().err


def test_the_table_of_a_class_counts_empty_blanks(tmp_path, capsys):
    run("worksheet", "example1", "-o", tmp_path / "anna.csv", "--key")
    answers = (tmp_path / "anna.csv").read_text("utf-8-sig").splitlines(keepends=True)
    (tmp_path / "bob.csv").write_text("".join(answers[:11]))
    capsys.readouterr()
    assert run("grade", tmp_path) == 0
    head, anna, bob = capsys.readouterr().out.splitlines()
    assert head.endswith("empty") and anna == "anna  100.0%"
    assert bob.startswith("bob") and bob.endswith(f"{len(answers) - 11} of {len(answers) - 1}")


def test_many_blanks_are_remarked_upon(tmp_path, capsys):
    model = tmp_path / "model.py"
    model.write_text("import numpy as np, autograd\nL = (autograd.Value(np.ones((13, 13))) * 2.0).tanh().sum()\n")
    assert run("worksheet", f"{model}:L", "-o", tmp_path / "s.csv") == 0
    assert "--only NAME asks for a part" in capsys.readouterr().out  # 4 tables of 169 and a sum
    assert run("worksheet", f"{model}:L", "-o", tmp_path / "s.csv", "--forward-only") == 0
    assert "--only" not in capsys.readouterr().out


def test_with_of_the_teacher_decides_what_is_asked(tmp_path, capsys):
    part, whole = tmp_path / "part.csv", tmp_path / "whole.csv"
    assert main(["worksheet", "example2", "--only", "Q", "--key", "-o", str(part)]) == 0
    assert main(["worksheet", "example2", "--key", "-o", str(whole)]) == 0
    capsys.readouterr()
    main(["grade", str(part)])
    assert "100.0%" in (said := capsys.readouterr().out) and "4 blanks: only Q" in said
    main(["grade", str(part), "--of", "example2"])
    assert "100.0%" not in (said := capsys.readouterr().out) and "82 missing" in said
    main(["grade", str(part), "--of", "example2", "--only", "Q"])
    assert "100.0%" in capsys.readouterr().out
    main(["grade", str(part), str(whole)])
    assert "4 blanks: only Q" in (said := capsys.readouterr().out) and "86 blanks" in said
    assert main(["grade", str(part), "--only", "Q"]) == 2 and "--of" in capsys.readouterr().err


def test_the_graph_of_an_example_can_be_a_sheet_too(tmp_path, capsys):
    """Its file has classes with `named_parameters`, which are no modules."""
    example = Path(__file__).parent.parent / "examples" / "example2_single_step.py"
    assert run("worksheet", f"{example}:graph", "-o", tmp_path / "sheet.md") == 0
    assert "16 steps, 83 blanks" in capsys.readouterr().out
