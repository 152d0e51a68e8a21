"""A worksheet as an xlsx workbook: tables of cells to fill in, or live, with one formula in every cell.

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

from ..parts import Step
from ..sheet import MASKED, Worksheet
from .plain import blank_rows, how, rows_of

SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
COMPARISONS = {"less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=", "equal": "=", "not_equal": "<>"}
FUNCTIONS = {"exp": "EXP", "log": "LN", "sqrt": "SQRT", "abs": "ABS", "maximum": "MAX",
             "sin": "SIN", "cos": "COS", "arctan": "ATAN", "erf": "ERF"}  # fmt: skip
PATTERNS = {
    "neg": "(0-{0})",  # -2^2 is 4 in a spreadsheet
    "sigmoid": "(1/(1+EXP(0-{0})))", "tanh": "(1-2/(EXP(2*{0})+1))", "relu": "MAX({0},0)",
    "minimum": "(0-MAX(0-{0},0-{1}))", "sign": "IF({0}>0,1,IF({0}<0,0-1,0))", "where": "IF({0}<>0,{1},{2})",
}  # fmt: skip
WIDEST = 16  # columns that tables stand side by side in
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
    _Writer(book, sheet, answers).write()
    book.close()
    return content.getvalue()


class _Writer:
    """The page `Sheet`, one table of cells below the other, and the page `Answers`, which lists every blank by its id
    and shows what its cell holds: that is what `grade` reads."""

    def __init__(self, book: Any, sheet: Worksheet, answers: bool) -> None:
        self.sheet, self.answers = sheet, answers
        self.page, self.list = book.add_worksheet("Sheet"), book.add_worksheet("Answers")
        self.bold, self.large = book.add_format({"bold": True}), book.add_format({"bold": True, "font_size": 14})
        self.muted = book.add_format({"font_color": "#5b6168"})
        self.given = book.add_format({"border": 1, "bg_color": "#e8f4ec"})
        self.box = book.add_format({"border": 1})
        self.cells: dict[str, str] = {}  # of each id
        self.row = 0

    def write(self) -> None:
        footer = "&L" + _text(self.sheet.footer).replace("&", "&&")
        self._line(self.sheet.title, self.large)
        self._line("Name", self.bold)
        self.page.write_blank(self.row - 1, 2, None, self.box)
        self.cells["name"] = _cell(self.row - 1, 2)
        self._line(f"Fill in the white boxes. {self.sheet.task}", self.muted)
        self._givens()
        for title, steps in self.sheet.sections:
            self.row += 1
            self._line(title, self.large)
            for step in steps:
                self._step(step)
        self.page.set_column(0, 0, 5)
        self.page.set_column(1, WIDEST, 10)
        self.page.hide_gridlines(2)
        self.page.fit_to_pages(1, 0)
        self.page.set_footer(footer)
        self._list()
        self.page.activate()

    def _line(self, text: str, style: Any, column: int = 0) -> None:
        self.page.write_string(self.row, column, _text(text), style)
        self.row += 1

    def _givens(self) -> None:
        """What is given, which may be changed: tables side by side, as long as there is room."""
        self.row += 1
        self._line("Given", self.large)
        column, height = 1, 0
        for table in self.sheet.givens:
            ids, values = list(rows_of(table.ids)), list(rows_of(table.values))
            if column > 1 and column + len(ids[0]) > WIDEST:
                self.row, column, height = self.row + height + 1, 1, 0
            self.page.write_string(self.row, column, _text(table.label), self.bold)
            for i, (names, numbers) in enumerate(zip(ids, values, strict=True), start=self.row + 1):
                for j, (name, number) in enumerate(zip(names, numbers, strict=True), start=column):
                    if math.isfinite(number):
                        self.page.write_number(i, j, float(number), self.given)
                    else:
                        self.page.write_string(i, j, MASKED, self.given)
                    self.cells[name] = _cell(i, j)
            column, height = column + len(ids[0]) + 1, max(height, len(ids) + 1)
        self.row += height

    def _step(self, step: Step) -> None:
        self.row += 1
        self._line(f"{step.number}. {step.title}", self.bold)
        if step.says:
            self._line(step.says, self.muted, 1)
        for part in step.parts:
            self._line(how(self.sheet, part), self.muted, 1)
            for row in blank_rows(part):
                for column, blank in enumerate(row, start=1):
                    if blank is None:
                        self.page.write_string(self.row, column, MASKED)
                        continue
                    self.cells[blank.id] = _cell(self.row, column)
                    if self.answers:
                        formula = "=" + _formula(blank.expr, self.cells)
                        self.page.write_formula(self.row, column, formula, self.box, blank.answer)
                    else:
                        self.page.write_blank(self.row, column, None, self.box)
                self.row += 1

    def _list(self) -> None:
        heads = ("step", "id", "answer", "decimals", "what", "formula", *self.sheet.labels)
        for column, head in enumerate(heads):
            self.list.write_string(0, column, head, self.bold)
        self.list.write_string(1, 1, "name")
        self._mirror(1, "name", "")
        for row, blank in enumerate(self.sheet.blanks, start=2):
            self.list.write_number(row, 0, blank.part.step.number)
            self.list.write_string(row, 1, _text(self.sheet.called(blank.id)))
            self._mirror(row, blank.id, blank.answer if self.answers else "")
            if blank.part.decimals is not None:
                self.list.write_number(row, 3, blank.part.decimals)
            self.list.write_string(row, 4, _text(blank.what))
            self.list.write_string(row, 5, _text(self.sheet.formula_of(blank) if blank.operands else ""))
            for column, label in enumerate(self.sheet.labels.values(), start=6):
                self.list.write_string(row, column, _text(label))
        self.list.set_column(1, 2, 18)
        self.list.set_column(4, 5, 44)
        self.list.freeze_panes(1, 0)

    def _mirror(self, row: int, name: str, value: Any) -> None:
        cell = f"Sheet!{self.cells[name]}"
        self.list.write_formula(row, 2, f'=IF({cell}="","",{cell})', None, value)


def _cell(row: int, column: int) -> str:
    """`$C$5`: row 4, column 2, counted from 0."""
    letters = ""
    column += 1
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return f"${letters}${row + 1}"


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
