"""The live workbook, recomputed by other programs after an input was changed: every cell is the engine's number."""

import re
import shutil
import subprocess

import numpy as np
import pytest

from autograd import Value, maximum, softmax
from autograd.worksheets import grade, worksheet
from tests.autograd.worksheets.test_marking import NAMES
from tools.marker import sheet_of

openpyxl = pytest.importorskip("openpyxl", reason="NOT TESTED: openpyxl is not installed")
pytest.importorskip("xlsxwriter", reason="NOT TESTED: XlsxWriter is not installed")
ALLOWED = {"EXP", "LN", "SQRT", "SUM", "SUMPRODUCT", "MAX", "IF", "ABS"}


def odd_sheet():
    """The functions that the examples do not use."""
    x, y = Value(np.array([0.3, -1.2, 2.0]), name="x"), Value(np.array([1.5, 0.7, 0.2]), name="y")
    return worksheet((x.tanh() * y.sqrt() + maximum(x, y).exp() / (1.0 + y**2.5) + x.minimum(y) ** 3 / y**2
                      + x.sigmoid() * x.relu() + abs(x)).sum())  # fmt: skip


def cells_of(book):
    """The cell of every blank, as `$B$18`."""
    rows = book["Answers"].iter_rows(min_row=3, max_col=3, values_only=True)
    return {name: re.search(r"Sheet!(\S+?)=", shown)[1].replace("$", "") for _, name, shown in rows}


def changed_workbook(sheet, path):
    """The live workbook without cached values, one parameter changed; and every number that the engine then has."""
    sheet.xlsx(path, answers=True)
    book = openpyxl.load_workbook(path)  # openpyxl drops cached values
    leaf = next(t for t in sheet.program.inputs if t.owner.requires_grad)
    name, number = leaf.ids.flat[-1], float(leaf.values.flat[-1]) + 0.35
    label = next(cell for row in book["Sheet"].iter_rows() for cell in row if cell.value == leaf.label)
    rows, columns = (leaf.shape or (1,))[:-1], (leaf.shape or (1,))[-1]  # the last entry: below and right of the label
    label.offset(int(np.prod(rows)), columns - 1).value = number
    book.save(path)
    numbers = sheet.program.run({name: number})
    for table in sheet.program.inputs:  # the updates are the sheet's own lines
        for entry in table.ids.flat:
            slope, stem = f"d{sheet.program.top}/d{entry}", table.name
            if slope in numbers:
                numbers[entry.replace(stem, f"{stem}_new", 1)] = numbers[entry] - sheet.eta * numbers[slope]
    return {blank.id: numbers[blank.id] for blank in sheet.blanks}


@pytest.mark.slow
def test_formulas_use_only_what_every_spreadsheet_has(tmp_path):
    for sheet in (sheet_of("example3"), odd_sheet()):
        book = openpyxl.load_workbook(sheet.xlsx(tmp_path / "live.xlsx", answers=True))
        cells = [book["Sheet"][cell].value for cell in cells_of(book).values()]
        assert all(cell.startswith("=") for cell in cells)
        assert {name for cell in cells for name in re.findall(r"([A-Z]+)\(", cell)} <= ALLOWED
        assert not any("^" in cell for cell in cells)


def test_a_masked_number_is_text(tmp_path):
    scores = Value(np.array([[0.5, 0.2], [0.1, -0.3]]), name="S")
    mask = np.array([[0.0, -np.inf], [0.0, 0.0]])
    path = worksheet((softmax(scores + mask) ** 2).sum(), forward=False).xlsx(tmp_path / "masked.xlsx", answers=True)
    rows = openpyxl.load_workbook(path)["Sheet"].iter_rows(max_row=14, values_only=True)
    given = {cell for row in rows for cell in row}
    assert {"·", 0.5} <= given


def test_what_is_typed_into_the_tables_is_marked(tmp_path):
    """By a program that computes nothing, too: the page of answers is read from the cells that it shows."""
    path = sheet_of("example2").xlsx(tmp_path / "anna.xlsx")
    book = openpyxl.load_workbook(path)
    cells = cells_of(book)
    assert list(cells) == [blank.id for blank in sheet_of("example2").blanks]
    book["Sheet"]["C2"].value, book["Sheet"][cells["Q[0][0]"]].value = "Anna", 0.1
    book["Sheet"][cells["K[1][1]"]].value = "0.20"
    book.save(path)
    marks = grade(sheet_of("example2"), path)
    assert marks.who == "Anna" and marks.counts == {"right": 1, "follows": 0, "wrong": 1, "missing": 81}
    assert marks.entries["Q[0][0]"].verdict == "right" and marks.first_wrong == "K[1][1]"


def test_a_list_of_an_older_workbook_is_read(tmp_path):
    path = tmp_path / "old.xlsx"
    book = openpyxl.Workbook()
    book.active.title = "Sheet"
    for row in (("step", "id", "answer"), (1, "Q[0][0]", "0.1")):
        book.active.append(row)
    book.save(path)
    assert grade(sheet_of("example2"), path).counts["right"] == 1


@pytest.mark.slow
def test_formulas_of_a_second_program_agree(tmp_path):
    formulas = pytest.importorskip("formulas", reason="NOT TESTED: formulas is not installed")
    for sheet in (sheet_of("example2"), odd_sheet()):
        path = tmp_path / "live.xlsx"
        expected = changed_workbook(sheet, path)
        places = cells_of(openpyxl.load_workbook(path))
        model = formulas.ExcelModel().loads(str(path)).finish()
        cells = {str(k).split("'!")[-1]: v for k, v in model.calculate().items() if "SHEET'!" in str(k)}
        for name in expected:
            got = float(np.ravel(cells[places[name]].value)[0])
            assert got == pytest.approx(expected[name], rel=1e-9, abs=1e-12), name


@pytest.mark.slow
def test_libreoffice_agrees_on_every_example(tmp_path):
    """All seven examples and one with other functions, in one run of LibreOffice."""
    office = shutil.which("soffice") or shutil.which("libreoffice")
    if office is None:
        pytest.skip("NOT TESTED: no LibreOffice on this machine (make office installs it, as root on Debian)")
    sheets = {name: sheet_of(name) for name in NAMES} | {"odd": odd_sheet()}
    expected = {name: changed_workbook(sheet, tmp_path / f"{name}.xlsx") for name, sheet in sheets.items()}
    command = [office, "--headless", f"-env:UserInstallation={(tmp_path / 'profile').as_uri()}", "--convert-to", "xlsx",
               "--outdir", str(tmp_path / "out"), *(str(tmp_path / f"{name}.xlsx") for name in sheets)]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True, timeout=240)
    for name, wanted in expected.items():
        page = openpyxl.load_workbook(tmp_path / "out" / f"{name}.xlsx", data_only=True)["Answers"]
        found = {row[1].value: row[2].value for row in page.iter_rows(min_row=3)}
        assert found.keys() == wanted.keys()
        for entry, number in wanted.items():
            assert found[entry] == pytest.approx(number, rel=1e-9, abs=1e-12), (name, entry)
