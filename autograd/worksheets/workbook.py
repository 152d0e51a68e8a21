"""A worksheet as an xlsx workbook: to fill in, or live, with one formula in every cell.

The live workbook recomputes everything, forward and backward, when a given number changes. Its formulas use + - * / EXP
LN SQRT MAX ABS IF, which every spreadsheet has; SIN COS ATAN ERF only where the graph does. Text is written as text, so
that no name runs as a formula.
"""

from __future__ import annotations

import io
import math
import re
from typing import Any

from autograd.errors import DataError
from autograd.expr import Expr
from autograd.formula.text import visible
from autograd.worksheets.sheet import MASKED, Worksheet

SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
COMPARISONS = {"less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=", "equal": "=", "not_equal": "<>"}
FUNCTIONS = {"exp": "EXP", "log": "LN", "sqrt": "SQRT", "abs": "ABS", "maximum": "MAX",
             "sin": "SIN", "cos": "COS", "arctan": "ATAN", "erf": "ERF"}  # fmt: skip
PATTERNS = {
    "neg": "(0-{0})",  # -2^2 is 4 in a spreadsheet
    "sigmoid": "(1/(1+EXP(0-{0})))", "tanh": "(1-2/(EXP(2*{0})+1))", "relu": "MAX({0},0)",
    "minimum": "(0-MAX(0-{0},0-{1}))", "sign": "IF({0}>0,1,IF({0}<0,0-1,0))", "where": "IF({0}<>0,{1},{2})",
}  # fmt: skip
LARGEST_PRODUCT = 8  # whole powers up to it are written as products
UNSAFE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")


def workbook(sheet: Worksheet, answers: bool) -> bytes:
    """The workbook: empty cells to fill in, or, with `answers`, the live formulas."""
    try:
        import xlsxwriter
    except ImportError:
        raise DataError('writing xlsx needs XlsxWriter: pip install "handgrad[sheets]"') from None
    options = {"strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False}
    content = io.BytesIO()
    book = xlsxwriter.Workbook(content, options)
    bold, box = book.add_format({"bold": True}), book.add_format({"bottom": 1, "num_format": "General"})
    given = book.add_worksheet("Given")
    page = book.add_worksheet("Sheet")
    cells = _write_given(given, sheet, bold)
    heads = ("step", "id", "answer", "what", "formula", *sheet.labels)
    for column, head in enumerate(heads):
        page.write_string(0, column, head, bold)
    for row, blank in enumerate(sheet.blanks, start=1):
        page.write_number(row, 0, blank.part.step.number)
        page.write_string(row, 1, _text(blank.id))
        if answers:
            formula = "=" + _formula(blank.expr, cells)
            page.write_formula(row, 2, formula, box, blank.answer)
        else:
            page.write_blank(row, 2, None, box)
        page.write_string(row, 3, _text(blank.what))
        page.write_string(row, 4, _text(blank.formula if sheet.hints else ""))
        for column, label in enumerate(sheet.labels.values(), start=5):
            page.write_string(row, column, _text(label))
        cells[blank.id] = f"Sheet!$C${row + 1}"
    page.set_column(1, 2, 18)
    page.set_column(3, 4, 44)
    page.freeze_panes(1, 0)
    page.set_footer("&L" + _text(sheet.footer).replace("&", "&&"))
    page.activate()
    book.close()
    return content.getvalue()


def _write_given(page: Any, sheet: Worksheet, bold: Any) -> dict[str, str]:
    """The given numbers, one a row, which may be changed; and the cell of each id."""
    cells: dict[str, str] = {}
    page.write_string(0, 0, "given", bold)
    page.write_string(0, 1, "number", bold)
    row = 1
    for table in sheet.givens:
        for name, value in zip(table.ids.flat, table.values.flat, strict=True):
            page.write_string(row, 0, _text(name))
            if math.isfinite(value):
                page.write_number(row, 1, float(value))
            else:
                page.write_string(row, 1, MASKED)
            cells[name] = f"Given!$B${row + 1}"
            row += 1
    page.set_column(0, 0, 24)
    return cells


def _text(text: str) -> str:
    return UNSAFE.sub("", visible(text))


def _formula(e: Expr, cells: dict[str, str]) -> str:
    """A scalar formula in the spreadsheet's words."""
    if e.op is None:
        return cells[e.name] if e.name else _number(e.value)
    name = e.op.base.name
    args = [_formula(part, cells) for part in e.args]
    if name in SIGNS:
        return f"({args[0]}{SIGNS[name]}{args[1]})"
    if name in COMPARISONS:
        return f"IF({args[0]}{COMPARISONS[name]}{args[1]},1,0)"
    if name in FUNCTIONS:
        return f"{FUNCTIONS[name]}({','.join(args)})"
    if name in PATTERNS:
        return PATTERNS[name].format(*args)
    if name == "power":
        return _power(args, e.args[1])
    raise DataError(f"{name} has no function in every spreadsheet; write the sheet as HTML or CSV instead")


def _power(args: list[str], exponent: Expr) -> str:
    """Whole powers as products, roots as roots, others as exp and log."""
    if exponent.op is None and not exponent.name:
        n = float(exponent.value)
        if n.is_integer() and 0 < abs(n) <= LARGEST_PRODUCT:
            product = "*".join([args[0]] * int(abs(n)))
            return f"({product})" if n > 0 else f"(1/({product}))"
        if abs(n) == 0.5:
            return f"SQRT({args[0]})" if n > 0 else f"(1/SQRT({args[0]}))"
    return f"EXP({args[1]}*LN({args[0]}))"


def _number(x: Any) -> str:
    if not math.isfinite(x):
        raise DataError(f"a spreadsheet has no number {x}")
    return f"({float(x)!r})" if x < 0 else repr(int(x) if isinstance(x, bool) else x)
