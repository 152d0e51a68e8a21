"""The faces of a sheet: what a blank one must not hold, what each file carries, and names that try to be formulas."""

import csv
import html
import io
import json
import re
import zipfile
from fractions import Fraction

import numpy as np
import pytest

import nn
from autograd import Value, cross_entropy
from autograd.errors import DataError
from autograd.worksheets import grade, variants, worksheet
from autograd.worksheets.marking.answers import SHOWN_CELL
from autograd.worksheets.parts import shown
from autograd.worksheets.variants import variant
from tools.marker import sheet_of


def small():
    x = Value(np.array([[0.5, -1.5]]), name="X", requires_grad=False)
    w = Value(np.array([[0.31, -0.2, 0.7], [0.9, 0.4, -0.63]]), name="W")
    h = x @ w
    h.name = "H"
    return worksheet(cross_entropy(h, np.array([2])), title="A small one", source="small")


@pytest.mark.parametrize("face", ["html", "markdown", "csv"])
def test_a_blank_sheet_holds_no_key(face):
    sheet = small()
    blank, key = getattr(sheet, face)(), getattr(sheet, face)(answers=True)
    assert face != "html" or sheet.html(check=False).count("<input") == len(sheet.blanks) + 1
    given = {shown(number.middle, 4) for name, number in sheet.numbers.items() if name not in sheet.by_id}
    hidden = {shown(b.key, n) for b in sheet.blanks for n in (3, 4, 6, 12) if abs(b.key) > 0.001} - given
    told = [text for text in hidden if len(text) > 5 and text in blank]
    assert not told
    assert all(shown(b.key, 4) in key for b in sheet.blanks)
    assert sheet.identity in blank


def test_a_blank_workbook_holds_no_key_and_no_formula_but_to_show_cells(tmp_path):
    pytest.importorskip("xlsxwriter")
    sheet = small()
    path = sheet.xlsx(tmp_path / "s.xlsx")
    with zipfile.ZipFile(path) as packed:
        whole = "".join(packed.read(name).decode("utf-8", "replace") for name in packed.namelist())
    assert all(SHOWN_CELL.fullmatch("=" + html.unescape(formula)) for formula in re.findall("<f>(.*?)</f>", whole))
    assert not any(len(shown(b.key, 6)) > 6 and shown(b.key, 6) in whole for b in sheet.blanks)


def test_the_page_prints_its_identity_and_fields_have_labels():
    page = small().html()
    assert page.count("aria-label=") == len(small().blanks) + 2 and "@page" in page
    assert "<input" not in small().html(fields=False) and "<script" not in small().html(fields=False)
    assert "size: A4" in small().html(paper="A4")


@pytest.mark.slow
def test_check_yourself_lists_rows_that_add_up():
    assert sheet_of("example3").checks[:2] == ["attn: each row adds up to 1", "P: each row adds up to 1"]
    for name in ("example3", "example6"):
        sheet = sheet_of(name)
        parts = {part.label: part for step in sheet.steps for part in step.parts}
        for label, _, total in (check.partition(": each row adds up to ") for check in sheet.checks):
            rows = np.zeros(parts[label].table.shape)
            for blank in parts[label].blanks:
                rows[blank.index] = blank.answer
            np.testing.assert_allclose(rows.sum(axis=-1), float(total), atol=1e-12)


NASTY = '=cmd|"/c calc"!A1'


def test_names_cannot_inject_formulas(tmp_path):
    a, b = Value(-2.0, name=NASTY), Value(3.0, name="<script>alert(1)</script>")
    sheet = worksheet(a * b)
    rows = list(csv.reader(io.StringIO(sheet.csv(answers=True))))
    assert not any(cell.startswith(("=", "@", "+")) for row in rows for cell in row)
    assert rows[1][1] == "-6"  # a negative number stays a number
    assert "<script>alert" not in sheet.html() and "<script>alert" not in grade(sheet, {"L": 1}).html()
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.load_workbook(sheet.xlsx(tmp_path / "s.xlsx"))
    formulas = [cell.value for page in book for row in page.iter_rows() for cell in row if cell.data_type == "f"]
    assert formulas and all(SHOWN_CELL.fullmatch(formula) for formula in formulas)
    path = tmp_path / "back.csv"
    path.write_text(sheet.csv(answers=True))
    assert grade(sheet, path).score == 1.0


def test_a_step_that_is_not_done_has_no_tick():
    sheet = small()
    done, *_ = sheet.steps[0].blanks
    marks = grade(sheet, {done.id: done.answer})
    line = marks.text().splitlines()[2]
    assert line.startswith("·") and line.endswith("right, 2 missing")
    assert '<td class="missing">right, 2 missing</td>' in marks.html()


def test_reports_in_three_forms():
    sheet = small()
    marks = grade(sheet, {"H[0][0]": "9", "H[0][1]": "x"})
    assert "First wrong: H[0][0]" in marks.text() and "not a number" in marks.text()
    data = json.loads(marks.json())
    assert data["first_wrong"] == "H[0][0]" and data["entries"]["H[0][0]"]["verdict"] == "wrong"
    assert "no known slip" in marks.html()


@pytest.mark.slow
def test_no_two_of_a_class_have_the_same_sheet():
    """Two numbers of one digit, of which the search likes a few best; in a list or one by one, sheet 7 is sheet 7."""
    root = (Value(0.2, name="a") * Value(-0.3, name="b") - 0.5) ** 2
    sheets = [*variants(root, 12, backward=False), worksheet(root, backward=False)]
    assert len({sheet.identity for sheet in sheets}) == 13
    assert variant(root, 7, backward=False).identity == sheets[6].identity
    assert variant(root, 10**9, backward=False).variant == 10**9
    few = variants(Value(2.0, name="a") + 1.0, 8, backward=False)  # ±1, ±2, ±3, ±4: then numbers come again
    assert len({sheet.identity for sheet in few}) > 1


@pytest.mark.slow
def test_variants_differ_are_repeatable_and_alike():
    x = Value(np.array([[1.0, 0.0], [0.0, 1.0]]), name="X", requires_grad=False)
    w = Value(np.array([[0.1, 0.0], [0.0, 0.1]]), name="W")
    root = ((x @ w).tanh() ** 2).sum()
    first, again = variants(root, 3, seed=5), variants(root, 3, seed=5)
    assert [s.identity for s in first] == [s.identity for s in again]
    assert len({s.identity for s in first}) == 3 and [s.variant for s in first] == [1, 2, 3]
    for sheet in first:
        assert [b.id for b in sheet.blanks] == [b.id for b in worksheet(root).blanks]
        assert sheet.quality["slips told apart"] > 0.6
        assert not np.any(sheet.givens[0].values == 0) or sheet.givens[0].name != "W"
        assert grade(sheet, {b.id: b.answer for b in sheet.blanks}).score == 1.0


@pytest.mark.parametrize("ending", [".csv", ".xlsx"])
def test_a_key_handed_in_is_right(ending, tmp_path):
    """Of a cell with a formula its number counts: so a learner may compute in the spreadsheet."""
    pytest.importorskip("openpyxl")
    sheet = small()
    assert grade(sheet, sheet.save(tmp_path / f"key{ending}", answers=True)).score == 1.0


def test_a_graph_in_float32_is_computed_in_float64_from_its_numbers_as_they_print():
    single = np.float32
    x = Value(np.array([[0.3, -1.7]], single), name="x")
    w = Value(np.array([[0.1], [0.7]], single), name="w")
    loss = ((x @ w + np.array([0.2], single)) * single(0.3)).tanh().sum() * Value(single(0.9), name="s")
    sheet = worksheet(loss)
    assert sheet.givens[0].values.tolist() == [[0.3, -1.7]]
    assert sheet.by_id["L"].answer == pytest.approx(np.tanh((0.3 * 0.1 - 1.7 * 0.7 + 0.2) * 0.3) * 0.9, rel=1e-15)
    assert grade(sheet, {blank.id: f"{blank.answer:.4g}" for blank in sheet.blanks}).score == 1.0
    assert loss.data.dtype == single and x.data.dtype == single


def test_variants_of_a_logarithm_keep_the_signs_it_needs():
    x = Value(np.array([0.5, 1.5, 2.5, 0.25, 3.5, 0.75]), name="x")
    sheets = variants(x.log().sum() + x.sqrt().sum(), 3)
    assert len({sheet.identity for sheet in sheets}) == 3
    assert all(np.all(table.values > 0) for sheet in sheets for table in sheet.givens)


def test_a_formula_is_arithmetic_over_given_entries_and_other_blanks_alone():
    """So anyone can evaluate it: the step size of an update is its number, and every operand has one."""
    for sheet in (small(), worksheet(Value(2.0, name="a") * Value(3.0, name="eta"), eta=0.25)):
        leaves = {name for table in sheet.givens if table.name != sheet.eta_name for name in table.ids.flat}
        for blank in sheet.blanks:
            assert set(blank.operands) <= leaves | set(sheet.by_id), blank
    update = sheet.by_id["a_new"]
    assert update.formula == "a - 0.25 * dL/da" and update.operands == ("a", "dL/da") and update.answer == 1.25


def test_a_key_shows_exact_fractions_where_every_op_is_rational():
    a, b = Value(2.0, name="a"), Value(3.0, name="b")
    c = a / b
    c.name = "c"
    sheet = worksheet((c - 1.0) ** 2 + c.relu() * 0.5)
    fractions = {blank.id: blank.fraction for blank in sheet.blanks}
    assert fractions["c"] == Fraction(2, 3) and fractions["L"] == Fraction(1, 9) + Fraction(1, 3)
    assert fractions["dL/dc"] == Fraction(-2, 3) + Fraction(1, 2)
    assert all(blank.fraction is not None for blank in sheet.blanks)
    for blank in sheet.blanks:
        assert float(blank.fraction) == pytest.approx(blank.answer, rel=1e-15)
    assert "0.6667 (2/3)" in sheet.markdown(answers=True) and "0.6667 (2/3)" in sheet.html(answers=True)
    assert grade(sheet, {blank.id: blank.fraction for blank in sheet.blanks}).counts["right"] == len(sheet.blanks)
    other = worksheet(c.exp() + (c / 1.4142135623730951))
    assert all(blank.fraction is None for blank in other.blanks if blank.id != "c" and "exp" in blank.formula)


def test_the_score_of_a_variant_is_shown():
    root = sheet_of("example3").program.root
    sheet = variants(root, 1)[0]
    assert "slips told apart" in sheet.score and sheet.score in sheet.markdown(answers=True)
    assert sheet.score in sheet.html(answers=True) and worksheet(root).score == ""


def test_levels_and_parts_of_a_sheet():
    root = sheet_of("example3").program.root
    assert worksheet(root, level="entries").identity == worksheet(root).identity  # a sheet asks entry by entry anyway
    whole, ops = worksheet(root), worksheet(root, level="ops")
    assert len(ops.blanks) < len(whole.blanks) and not any(".e[" in b.formula for b in ops.blanks)
    only = worksheet(root, only=["attn", "attn.[mez]", "dL/dscaled"])
    assert {"attn", "∂L/∂scaled"} <= {b.part.step.title for b in only.blanks} < {s.title for s in whole.steps}
    back = worksheet(root, forward=False)
    assert all(b.id.startswith("dL/d") or "_new" in b.id or "." in b.id for b in back.blanks)
    for sheet in (ops, only, back):
        assert grade(sheet, {b.id: b.answer for b in sheet.blanks}).score == 1.0
        sheet.html(), sheet.markdown()


def test_one_blank_a_matrix():
    sheet = worksheet(sheet_of("example3").program.root, blanks="matrices")
    assert sheet.html().count("<textarea") == sum(part.is_matrix for step in sheet.steps for part in step.parts)
    assert sheet.csv().count("\r\n") == 1 + sum(len(step.parts) for step in sheet.steps)
    tables = {part.name: np.zeros(part.table.shape) for step in sheet.steps for part in step.parts}
    for blank in sheet.blanks:
        tables[blank.part.name][blank.index] = blank.answer
    assert grade(sheet, tables).score == 1.0
    assert grade(sheet, {name: table.tolist() for name, table in tables.items()}).score == 1.0
    as_text = {name: "; ".join(" ".join(map(str, row)) for row in np.atleast_2d(t)) for name, t in tables.items()}
    assert grade(sheet, as_text).score == 1.0
    entry = grade(sheet, {"Q": "1 2 3"}).entries["Q[0][0]"]
    assert entry.verdict == "missing" and entry.problem == "Q has 2 rows of 2 numbers; this has 1 row of 3 numbers"


def test_a_model_of_a_few_lines_shows_its_data_and_targets():
    model = nn.Sequential(nn.Linear(2, 3, rng=0), nn.functional.relu, nn.Linear(3, 2, rng=1))
    data, targets = np.array([[0.5, -1.0], [1.0, 2.0]]), np.array([1, 0])
    loss = nn.functional.cross_entropy(model(data), targets)
    sheet = worksheet(loss, decimals=1)
    given = {table.label: table.values.tolist() for table in sheet.givens}
    assert given["x"] == data.tolist() and given["y"] == [[0, 1], [1, 0]]
    assert all(len(sheet.given_text(t, i)) < 6 for t in sheet.givens for i in np.ndindex(t.shape))
    says = {part.label: part.symbols for step in sheet.steps for part in step.parts}
    assert says["layers.0"] == "x · layers.0.weight + layers.0.bias"
    assert (says["m"], says["z"]) == ("the largest of each row of layers.2", "the sum of each row of e")
    assert says["L"] == "(−log(p[0][1]) − log(p[1][0])) / 2"
    assert says["e"] == "exp(layers.2 − m)" and says["p"] == "e / z"
    assert all(says.values()) and grade(sheet, {b.id: b.answer for b in sheet.blanks}).score == 1.0
    exact = worksheet(loss)  # without rounding: the engine's own numbers
    loss.backward()
    found = [b.answer for b in exact.blanks if b.id.startswith("dL/dlayers.0.weight")]
    np.testing.assert_allclose(np.reshape(found, (2, 3)), model.layers[0].weight.grad, rtol=1e-9)


def test_one_layer_is_asked_and_the_rest_given():
    model = nn.Sequential(nn.Linear(2, 3, rng=0), nn.functional.tanh, nn.TransformerBlock(3, 1, rng=1))
    loss = (model(np.array([[0.5, -1.0]])) ** 2).mean()
    sheet = worksheet(loss, only=["layers.2.*"])
    asked = {step.title for step in sheet.steps}
    assert {"layers.2.norm1", "layers.2.attention.scores", "∂L/∂layers.2.norm2.gamma"} <= asked
    assert not any("layers.0" in title for title in asked)
    assert {"layers.0", "dL/dlayers.0.weight"} <= {table.name for table in sheet.givens}


def test_results_that_are_given_are_printed_with_two_digits_more():
    root = sheet_of("example3").program.root
    sheet = worksheet(root, forward=False, digits=3)
    P = next(table for table in sheet.givens if table.name == "P")
    assert sheet.given_text(P, (0,)) == "0.25062"
    numbers = {blank.id: blank.answer for blank in sheet.blanks}
    assert grade(sheet, numbers | {"dL/dP[2]": f"{-1 / 0.25062:.4f}"}).score == 1.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: worksheet(3.0), "takes the Value"), (lambda: worksheet(Value(1.0), backward=False), "no blanks"),
        (lambda: worksheet(Value(np.ones(2)) * 2), "a single number"),
        (lambda: worksheet(Value(1.0) * 2, digits=0), "from 1 to 12"),
        (lambda: worksheet(Value(1.0) * 2, level="x"), "level"),
        (lambda: worksheet(Value(1.0) * 2, blanks="x"), "matrices"),
        (lambda: worksheet(Value(1.0) * 2, decimals=-1), "decimals"),
        (lambda: variants(Value(1.0) * 2, 0), "at least 1"),
        (lambda: worksheet(Value(0.0).log() * 2, backward=False), "cannot be written into a blank"),
        (lambda: worksheet(Value(2.0, name="x") ** 2, only=["zz"]), r"leaves no blank on this sheet; it has L, dL/dx"),
        (lambda: worksheet(Value(1.0) * float("nan")), "cannot be written into a blank"),
        (lambda: worksheet(Value([np.inf, 1.0], name="x").sum()), r"x\[0\] is inf"),
    ],
)  # fmt: skip
def test_bad_calls_say_what_to_write(call, message):
    with np.errstate(all="ignore"), pytest.raises(DataError, match=message):
        call()


def test_a_sheet_saves_itself_by_the_ending(tmp_path):
    x = Value(2.0, name="x")
    sheet = worksheet(x * x)
    for ending, sign in ((".html", "<!doctype html>"), (".md", "# "), (".csv", "id,"), (".xml", "<?xml")):
        path = sheet.save(tmp_path / f"sheet{ending}")
        assert sign in path.read_text(encoding="utf-8-sig").lower()
    assert "4" in sheet.save(tmp_path / "key.csv", answers=True).read_text(encoding="utf-8-sig").splitlines()[-1]
    with pytest.raises(ValueError, match="a sheet is written as"):
        sheet.save(tmp_path / "sheet.doc")


def test_a_blank_csv_does_not_show_the_answer_of_a_constant_line():
    sheet = sheet_of("example2")
    rows = {row["id"]: row for row in csv.DictReader(io.StringIO(sheet.csv()))}
    assert rows["dL/dP[0]"]["formula"] == "" and rows["dL/dP[2]"]["formula"] == "−1 / P[2]"
