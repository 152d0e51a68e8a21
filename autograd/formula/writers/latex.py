"""Formulas and numbers as LaTeX that compiles with amsmath alone."""

from __future__ import annotations

import ast
import re
import unicodedata
from typing import Any

import numpy as np

from autograd.expr import UNKNOWN, Expr

from ..numbers import (
    FROM_SUPERSCRIPTS,
    MINUS,
    Notation,
    NumberTable,
    Window,
    cell,
    dimensions,
    literal,
    notation,
    table,
)
from .arithmetic import Written
from .maths import GREEK, SIMPLE_NAME, Maths, last_word, parts_of_name
from .pieces import has_numbers, one_page, pages
from .settings import over
from .writer import ATOM, POWER, PRODUCT, SUM, Side, entry_by_entry, hold_of_name, times_sign

SIGNS = {
    MINUS: "-", "≤": r"\le", "≥": r"\ge", "≠": r"\ne", "·": r"\,", "⊙": r"\odot", "×": r"\times", "**": "^", "@": r"\,",
    "*": r"\cdot", "=": "=", "≈": r"\approx", "∞": r"\infty", "∂": r"\partial", "→": r"\to", "√": r"\surd",
    "…": r"\dots", "²": "^2", "³": "^3", "‖": r"\Vert", "∈": r"\in", "Σ": r"\Sigma", "∑": r"\sum",
}  # fmt: skip
SPECIAL = {"\\": r"\textbackslash{}", "^": r"\^{}", "~": r"\~{}", "<": r"\textless{}", ">": r"\textgreater{}",
           "|": r"\textbar{}", '"': r"\textquotedbl{}"} | {c: f"\\{c}" for c in "{}$&#_%"}  # fmt: skip
LETTERS = {letter: word for word, letter in GREEK.items()}
WIDEST, WIDEST_STACK = 72, 60  # characters: of a line in numbers, of the matrices of a stack in a row
LATIN = range(0xC0, 0x180)  # letters with accents, which LaTeX knows on its own


class Latex(Maths):
    """A formula as LaTeX."""

    product = r"\cdot"  # the sign where a plain number takes part

    def sign(self, text: str) -> str:
        sign = text.strip()
        return f"{self.product if sign == '×' else SIGNS.get(sign, sign)} "

    def setting(self, text: str) -> str:
        plain = text.strip() in ("(", ")", "[", "]", ",") or re.fullmatch(r"[\d.]+", text)
        return text if plain else latex_text(text)

    def function(self, name: str) -> str:
        return rf"\operatorname{{{latex_escaped(name)}}}"

    def number(self, value: Any) -> tuple[int, str]:
        text = literal(value)
        if text.startswith("√"):
            return ATOM, rf"\sqrt{{{text[1:]}}}"
        if re.fullmatch(rf"\(?{MINUS}?[\d.]+\)?", text):
            return ATOM, text.replace(MINUS, "-")
        return ATOM, number_latex(value) if isinstance(value, float | int) else latex_text(text)

    def name(self, name: str) -> str:
        return latex_symbol(name)

    def after_d(self, name: str) -> str:
        return latex_symbol(name) if SIMPLE_NAME.fullmatch(name) else self.bracketed(latex_symbol(name))

    def slope(self, node: Any) -> str:
        return rf"\frac{{\partial {latex_symbol(self.top)}}}{{\partial {self.below(node)}}}"

    def times(self, op: ast.operator, left: Side, right: Side) -> str:
        return times_sign(op, left, right)

    def quotient(self, left: Side, right: Side) -> tuple[int, str]:
        return PRODUCT, rf"\frac{{{left.write(0)}}}{{{right.write(0)}}}"

    def power(self, base: Side, exponent: Side) -> tuple[int, str]:
        mark = entry_by_entry(base) and self.sign("⊙")
        return POWER, f"{{{base.write(ATOM)}}}^{{{mark}{exponent.write(0)}}}"

    def view(self, inner: Expr, view: str) -> tuple[int, str]:
        return POWER, rf"{{{self.write(inner, ATOM)}}}^\top"

    def look_root(self, e: Expr) -> tuple[int, str]:
        return ATOM, rf"\sqrt{{{self.write(e.args[0])}}}"

    def look_bars(self, e: Expr) -> tuple[int, str]:
        return ATOM, rf"\left|{self.write(e.args[0])}\right|"

    def reduced(self, word: str, e: Expr) -> tuple[int, str]:
        sign = r"\sum" if word == "sum" else rf"\operatorname*{{{word}}}"
        below = rf"_{{\text{{{over(e)}}}}}" if over(e) else ""
        return SUM, f"{sign}{below} {self.write(e.args[0], ATOM)}"

    def bracketed(self, written: str) -> str:
        return rf"\left({written}\right)"


class LatexNumbers(Latex):
    """A formula with numbers in its symbols' places. `written` gives the notation of a quantity's numbers."""

    product = r"\times"
    after_plus = PRODUCT  # a negative number after a sign stands in brackets

    def __init__(self, written: Written) -> None:
        super().__init__()
        self.written = written

    def symbol(self, e: Expr) -> tuple[int, str]:
        if e.value is UNKNOWN:
            return hold_of_name(e.name), latex_symbol(e.name)
        return self._number(e.value, self.written(e))

    def number(self, value: Any) -> tuple[int, str]:
        if isinstance(value, float) and literal(value).startswith("√"):
            return self._number(value, self.written(Expr.number(value)))
        return self._number(value, None) if isinstance(value, np.ndarray) else super().number(value)

    def unbracketed(self, e: Expr) -> tuple[int, str]:
        if e.is_number and isinstance(e.value, float) and self.written(e) is not None:
            return self._number(e.value, self.written(e))
        if e.op is not None and e.op.name == "neg" and e.args[0].is_number:
            return self._number(-e.args[0].value, None)
        return super().unbracketed(e)

    def _number(self, value: Any, written: Notation | None) -> tuple[int, str]:
        text = number_latex(value, written)
        return (SUM if text.startswith("-") else PRODUCT if r"\times" in text else ATOM), text

    def turned(self, inner: Expr, view: str) -> tuple[int, str] | None:
        if not inner.is_symbol or inner.value is UNKNOWN:
            return None
        turned = np.transpose(inner.value) if view == "T" else np.matrix_transpose(inner.value)
        return self._number(turned, self.written(inner))


# --- numbers ----------------------------------------------------------------------------------------------------------


def number_latex(value: Any, written: Notation | None = None) -> str:
    """A number, a matrix in brackets, several of them, or the shape of a large one."""
    if np.ndim(value) == 0:
        return _cell_latex(cell(value, written=written).text)
    if not has_numbers(value):
        window = Window(np.shape(value))
        if not np.size(value):
            return rf"\left[{dimensions(np.shape(value))}\right]".replace("×", r" \times ")
        note = window.note.replace("–", "--")
        return rf"{_matrix_latex(table(window.of(value), written=written or notation(value)))}_{{\text{{{note}}}}}"
    tables = [table(page, written=written) for page in pages(value)]
    if np.ndim(one_page(value)) <= 2:
        return _matrix_latex(tables[0])
    fitting = max(1, WIDEST_STACK // max(map(_width, tables)))  # so many in a row
    rows = [", ".join(map(_matrix_latex, tables[i : i + fitting])) for i in range(0, len(tables), fitting)]
    inside = r", \\ &".join(rows)
    return rf"\left[\begin{{aligned}} &{inside} \end{{aligned}}\right]" if len(rows) > 1 else rf"\left[{inside}\right]"


def _width(numbers: NumberTable) -> int:
    return sum(before + after + 2 for before, after in numbers.columns)


def _matrix_latex(numbers: NumberTable) -> str:
    rows = r" \\ ".join(" & ".join(_cell_latex(one.text) for one in row) for row in numbers.rows)
    power = rf" \times 10^{{{numbers.exponent}}}" if numbers.exponent else ""
    return rf"\begin{{bmatrix}} {rows} \end{{bmatrix}}{power}"


def _cell_latex(text: str) -> str:
    if text in ("NaN", "True", "False"):
        return rf"\text{{{text}}}"
    mantissa, times, exponent = text.partition("×10")
    number = mantissa.replace(MINUS, "-").replace("≈", r"\approx ").replace("∞", r"\infty")
    return rf"{number} \times 10^{{{exponent.translate(FROM_SUPERSCRIPTS)}}}" if times else number


# --- names ------------------------------------------------------------------------------------------------------------


def latex_symbol(name: str) -> str:
    """A name as mathematicians write it: `WK` with an index, `gamma` as γ, a word upright; the last word of a path."""
    name = last_word(name)
    match parts_of_name(name):
        case "prime", base, _:
            return f"{{{latex_symbol(base)}}}'"
        case "hat", base, _:
            return rf"\hat{{{base}}}"
        case "square", base, _:
            return f"{{{latex_symbol(base)}}}^2"
        case "index", base, index:
            return f"{base}_{{{index}}}"
        case "word index", base, index:
            return rf"{base}_{{\text{{{latex_escaped(index)}}}}}"
        case "letter", base, _ if base in LETTERS:
            return rf"\{LETTERS[base]}"
        case "letter", base, _ if base.isascii():
            return base
    return latex_text(name)


def latex_text(text: str) -> str:
    return rf"\text{{{latex_escaped(text)}}}"


def latex_escaped(text: str) -> str:
    """User text that LaTeX cannot take for a command, and that its fonts have."""
    return "".join(map(_escaped, text))


def _escaped(character: str) -> str:
    if character in SPECIAL:
        return SPECIAL[character]
    if character.isascii():
        return character if character.isprintable() else " "
    if character in SIGNS:
        return rf"$\mathord{{}}{SIGNS[character]}$" if SIGNS[character].startswith("^") else f"${SIGNS[character]}$"
    if character in LETTERS:
        return rf"$\{LETTERS[character]}$"
    if ord(character) in LATIN and unicodedata.decomposition(character):
        return character
    plain = unicodedata.normalize("NFKD", character)
    if plain.isascii() and plain.isprintable():
        return "".join(map(_escaped, plain))
    return rf"\texttt{{U+{ord(character):04X}}}"
