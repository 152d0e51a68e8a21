"""Answers as they were typed: numbers in many spellings, files in many states, a clear message for each that fails."""

import contextlib
import gc
import json
import warnings
import zipfile
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from autograd import Value
from autograd.worksheets import grade, worksheet
from autograd.worksheets.marking import answers
from autograd.worksheets.marking.answers import AnswersError, as_answer, read


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("0.25", "0.25", "0.01"), ("0.2500", "0.25", "0.0001"), (" −1.5 ", "-1.5", "0.1"), ("+3", "3", "1"),
        ("≈0.8337", "0.8337", "0.0001"), (" ≈ −0,05", "-0.05", "0.01"),
        (".5", "0.5", "0.1"), ("2.5e-3", "0.0025", "0.0001"), ("1.2×10⁻³", "0.0012", "0.0001"),
        ("1.2 * 10^-3", "0.0012", "0.0001"), ("3/4", "0.75", None), (0.25, "0.25", "0.01"), (2, "2", "1"),
        (np.float64(0.5), "0.5", "0.1"), (Decimal("0.50"), "0.5", "0.01"), (Fraction(1, 4), "0.25", None),
    ],
)  # fmt: skip
def test_numbers_are_read_as_they_were_written(text, value, unit):
    answer = as_answer(text)
    assert answer.value == Decimal(value) and not answer.problem
    assert unit is None or answer.unit == Decimal(unit)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("1,234", "may be 1.234 or 1234"), ("abc", "not a number"), ("3 cm", "without units"), ("25%", "per cent"),
        ("=1/3", "a formula"), ("nan", "not a number"), ("1e9999", "too large"), ("1/0", "divides by 0"),
        (True, "not a number"), ([1], "list is not a number"), ("1" * 100, "100 characters"),
        ("1.2.3", "without units"),
    ],
)  # fmt: skip
def test_what_is_no_number_has_a_problem(text, problem):
    answer = as_answer(text)
    assert answer.value is None and problem in answer.problem


@pytest.mark.parametrize("empty", ["", "   ", None])
def test_an_empty_blank_is_missing_without_a_problem(empty):
    assert as_answer(empty).value is None and not as_answer(empty).problem


def test_a_decimal_comma_is_read_wherever_it_is_clear():
    both = read({"a": "0,25", "b": "1,234"})
    assert both.by_id["a"].value == Decimal("0.25") and both.by_id["b"].value == Decimal("1.234")
    mixed = read({"a": "0,25", "b": "0.5"})
    assert mixed.by_id["a"].value == Decimal("0.25") and mixed.by_id["b"].value == Decimal("0.5")
    unclear = read({"a": "1,234", "b": "0.5", "c": "1,234.5"}).by_id
    assert "may be 1.234 or 1234" in unclear["a"].problem and "one decimal point" in unclear["c"].problem


def sheet():
    w = Value(np.array([0.3, -0.7]), name="w")
    x = w * 2.0
    x.name = "x"
    return worksheet((x**2).sum())


def full(s):
    return {blank.id: f"{blank.answer:.6g}" for blank in s.blanks}


def test_csv_json_and_xlsx_give_the_same_marks(tmp_path):
    s = sheet()
    answers = full(s) | {"x[0]": "0.60"}
    csv = tmp_path / "anna.csv"
    lines = s.csv().splitlines()
    filled = [line.replace(",,", f",{answers[line.split(',')[0]]},", 1) for line in lines[1:]]
    csv.write_text("\n".join([lines[0], *filled]))
    js = tmp_path / "anna.json"
    js.write_text(json.dumps({**s.labels, "name": "Anna", "answers": answers}))
    book = tmp_path / "anna.xlsx"
    s.xlsx(book)
    openpyxl = pytest.importorskip("openpyxl")
    opened = openpyxl.load_workbook(book)
    for row in opened["Answers"].iter_rows(min_row=3):
        row[2].value = answers[row[1].value]
    opened.save(book)
    for path in (csv, js, book):
        marks = grade(s, path)
        assert marks.score == 1.0 and marks.entries["x[0]"].written == "0.60", path
    assert grade(s, js).who == "Anna" and grade(s, csv).who == "anna"


def test_trailing_zeros_of_json_numbers_are_kept(tmp_path):
    path = tmp_path / "a.json"
    path.write_text('{"x[0]": 0.600, "L": 1e400}')
    found = read(path)
    assert found.by_id["x[0]"].text == "0.600" and "too large" in found.by_id["L"].problem


def test_one_bad_number_loses_nothing_else():
    s = sheet()
    marks = grade(s, full(s) | {"x[0]": "about 0.6"})
    assert marks.entries["x[0]"].verdict == "missing" and "not a number" in marks.entries["x[0]"].problem
    assert marks.counts["right"] == len(s.blanks) - 1


def test_ids_that_are_not_on_the_sheet_are_told():
    s = sheet()
    marks = grade(s, full(s) | {"y": 1})
    assert marks.score == 1.0 and "'y'" in marks.notes[0]


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "foo,bar\n1,2\n", "no header"), ("a.csv", "", "no header"), ("a.json", "{", "not JSON"),
        ("a.json", "[1]", "an object from id to number"), ("a.xlsx", b"PK nonsense", "not an xlsx"),
        ("a.pdf", "x", ".pdf"),
        ("a.json", "[" * 100_000, "not JSON"), ("a.json", '{"answers": 3}', "must be an object"),
        ("a.csv", "id,answer\n" + "x,1\n" * 110, "rows"),
        ("a.json", "{" + ",".join(f'"x{i}":1' for i in range(110)) + "}", "answers"),
    ],
    ids=lambda x: str(x)[:12],
)  # fmt: skip
def test_files_that_cannot_be_read_say_why(tmp_path, monkeypatch, name, content, message):
    monkeypatch.setattr(answers, "MOST_ROWS", 100)
    with pytest.raises(AnswersError, match=message):
        read(write(tmp_path / name, content))


def test_a_missing_file_says_so(tmp_path):
    with pytest.raises(AnswersError, match="No such file"):
        read(tmp_path / "none.csv")


def test_a_zip_bomb_is_not_unpacked(tmp_path):
    path = tmp_path / "bomb.xlsx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("xl/worksheets/sheet1.xml", b"0" * 30_000_000)
    with pytest.raises(AnswersError, match="unpacks to"):
        read(path)


def with_rows(path, *rows, head=""):
    """A workbook of ours whose sheet has other rows."""
    pytest.importorskip("xlsxwriter")
    sheet().xlsx(path)
    with zipfile.ZipFile(path) as old:
        parts = {name: old.read(name) for name in old.namelist()}
    space = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    cells = ["".join(f"<c t='inlineStr'><is><t>{cell}</t></is></c>" for cell in row) for row in rows]
    body = "".join(f"<row>{each}</row>" for each in cells)
    parts["xl/worksheets/sheet2.xml"] = (
        f'{head}<worksheet xmlns="{space}"><sheetData>{body}</sheetData></worksheet>'.encode()
    )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for name, content in parts.items():
            new.writestr(name, content)
    return path


def test_xml_that_grows_without_end_is_refused(tmp_path):
    pytest.importorskip("openpyxl")
    entities = '<!ENTITY a0 "1111111111">'
    for i in range(1, 10):
        entities += f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">'
    head = f"<?xml version='1.0'?><!DOCTYPE worksheet [{entities}]>"
    with pytest.raises(AnswersError, match="cannot be read"):
        read(with_rows(tmp_path / "a.xlsx", ("id", "answer"), ("x[0]", "&a9;"), head=head))


@pytest.mark.parametrize("number", ["0.60", "&nothing;"], ids=["right", "damaged"])
def test_a_workbook_is_not_left_open(number, tmp_path):
    pytest.importorskip("openpyxl")
    path = with_rows(tmp_path / "a.xlsx", ("id", "answer"), ("x[0]", number))
    with warnings.catch_warnings(record=True) as noticed:
        warnings.simplefilter("always", ResourceWarning)
        with contextlib.suppress(AnswersError):
            read(path)
        gc.collect()
    assert not [each for each in noticed if issubclass(each.category, ResourceWarning)]


@pytest.mark.slow
def test_workbooks_with_formulas_and_with_a_million_rows(tmp_path):
    pytest.importorskip("openpyxl")
    found = read(with_rows(tmp_path / "a.xlsx", ("id", "answer"), ("x[0]", "0.60"), ("x[1]", "=1/3")))
    assert found.by_id["x[0]"].text == "0.60" and "is a formula" in found.by_id["x[1]"].problem
    with pytest.raises(AnswersError, match="rows"):
        read(with_rows(tmp_path / "a.xlsx", ("id", "answer"), *[()] * 1_000_000))


def test_an_id_written_twice_is_a_problem_of_that_id(tmp_path):
    s = sheet()
    path = write(tmp_path / "a.csv", "id,answer\nx[0],0.6\nx[0],0.7\nx[1],-1.4\n")
    marks = grade(s, path)
    assert "written twice" in marks.entries["x[0]"].problem and marks.entries["x[1]"].verdict == "right"


def test_the_sheet_of_another_variant_is_refused(tmp_path):
    s = sheet()
    path = write(tmp_path / "a.json", json.dumps({"sheet": "0123456789", "answers": full(s)}))
    with pytest.raises(AnswersError, match="belong to sheet 0123456789"):
        grade(s, path)
