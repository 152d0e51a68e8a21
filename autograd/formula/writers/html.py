"""Formulas and numbers as HTML: formulas in MathML, numbers as text, small arrays as tables in brackets."""

from __future__ import annotations

import ast
import re
from itertools import chain, repeat
from typing import Any

import numpy as np

from autograd.expr import Expr

from ..digits import WIDEST, width
from ..numbers import FROM_SUPERSCRIPTS, MINUS, Notation, NumberTable, Window, cell, full, literal, notation, table
from ..text import PRIME, clipped, xml
from .maths import SIMPLE_NAME, Maths, last_word, parts_of_name
from .pieces import Number, Piece, has_numbers, one_page, pages, units
from .settings import over
from .writer import ATOM, POWER, PRODUCT, SUM, Side, entry_by_entry, times_sign

LONGEST_SYMBOL = 20  # characters of a name in a formula; the heading above it has room for all of it
LONGEST_PART = 16  # characters above or below a fraction line, and under a root
BREAK = "\ue000"  # a place where a line may end: MathML has none, so a formula is cut there into several

FIGURE_SPACE = "\u2007"  # as wide as a digit: keeps decimal points in line
ROOMY = 33  # characters of a table that a panel has room for at its usual size; a wider one is set smaller
TABLE_SIZE, SMALLEST_SIZE = 13, 11  # pixels


_CALL = re.compile('<mi mathvariant="normal">[^<]*</mi><mo stretchy="false">\\(')


# --- formulas ---------------------------------------------------------------------------------------------------------


class MathML(Maths):
    """A formula as the inside of `<math>` elements, with `BREAK` where a line may end.

    Of a path only the last word is shown, where no other symbol of the formula ends in the same word.
    """

    clashing: frozenset[str] = frozenset()

    def write_formula(self, e: Expr) -> str:
        names = {symbol.name for symbol in e.symbols()}
        self.clashing = frozenset(n for n in names if any(last_word(o) == last_word(n) for o in names - {n}))
        return str(self.write(e))

    def sign(self, text: str) -> str:
        return f"{BREAK}{infix(text.strip())}" if text.startswith(" ") else f"<mo>{xml(text.strip())}</mo>"

    def setting(self, text: str) -> str:
        if text.strip() in ("(", ")", "[", "]", ","):
            return f'<mo stretchy="false">{text.strip()}</mo>{BREAK if text.strip() == "," else ""}'
        if re.fullmatch(r"[\d.]+", text):
            return f"<mn>{text}</mn>"
        padded = re.sub(r"^ | $", "\u00a0", text)  # MathML drops plain spaces at the ends
        return f"{BREAK if text.startswith((' ', ',')) else ''}<mtext>{xml(padded)}</mtext>"

    def function(self, name: str) -> str:
        return f'<mi mathvariant="normal">{xml(name)}</mi>'

    def listed(self, parts: list[str]) -> list[str]:
        """Arguments. A line may end before a long first one that is a call itself, as in `flip(cumsum(…`."""
        written: list[str] = super().listed(parts)
        if written and _CALL.match(written[0]) and length_shown(written[0]) > LONGEST_PART:
            written[0] = BREAK + written[0]
        return written

    def bracketed(self, written: str) -> str:
        """Brackets grow with a fraction, if no line ends between them."""
        if "<mfrac>" in written and BREAK not in written:
            return f"<mrow><mo>(</mo>{written}<mo>)</mo></mrow>"
        return str(super().bracketed(written))

    def number(self, value: Any) -> tuple[int, str]:
        text = literal(value)
        if text.startswith("√"):
            return ATOM, f"<msqrt><mn>{text[1:]}</mn></msqrt>"
        return ATOM, f"<mn>{xml(text)}</mn>" if re.fullmatch(r"[\d.]+", text) else self.setting(text)

    def name(self, name: str) -> str:
        return symbol_mathml(name if name in self.clashing else last_word(name))

    def after_d(self, name: str) -> str:
        return after_d(name)

    def below(self, node: Any) -> str:
        return unbroken(super().below(node))

    def slope(self, node: Any) -> str:
        return slope_mathml(symbol_mathml(self.top), self.below(node))

    def times(self, op: ast.operator, left: Side, right: Side) -> str:
        sign = times_sign(op, left, right)
        return " · " if sign == " × " else sign

    def quotient(self, left: Side, right: Side) -> tuple[int, str]:
        above, below = (unbroken(side.write(0)) for side in (left, right))
        if max(length_shown(above), length_shown(below)) > LONGEST_PART:
            return super().quotient(left, right)
        rows = (f'<mrow displaystyle="true">{side}</mrow>' for side in (above, below))
        return PRODUCT, f"<mfrac>{''.join(rows)}</mfrac>"  # at full size: a slope above the line stays readable

    def power(self, base: Side, exponent: Side) -> tuple[int, str]:
        below, mark = unbroken(base.write(ATOM)), entry_by_entry(base) and "<mo>⊙</mo>"
        return POWER, f"<msup>{mrow(below)}{mrow(mark + unbroken(exponent.write(0)))}</msup>"

    def view(self, inner: Expr, view: str) -> tuple[int, str]:
        base = unbroken(self.write(inner, ATOM))
        if base.startswith("<msub>") and base.count("<msub>") == 1 and base.endswith("</msub>"):
            return POWER, f"<msubsup>{base[6:-7]}<mi>⊤</mi></msubsup>"
        return POWER, f"<msup>{mrow(base)}<mi>⊤</mi></msup>"

    def look_root(self, e: Expr) -> tuple[int, str] | None:
        inside = unbroken(self.write(e.args[0]))
        return (ATOM, f"<msqrt>{inside}</msqrt>") if length_shown(inside) <= LONGEST_PART else None

    def look_bars(self, e: Expr) -> tuple[int, str]:
        return ATOM, f'<mo stretchy="false">|</mo>{self.write(e.args[0])}<mo stretchy="false">|</mo>'

    def reduced(self, word: str, e: Expr) -> tuple[int, str]:
        head = "<mo>∑</mo>" if word == "sum" else self.function(word)
        if along := over(e):
            head = f"<munder>{head}<mtext>{along}</mtext></munder>"
        inside = self.write(e.args[0])
        alone = e.args[0].is_symbol and not e.args[0].inline
        return SUM, f"{head}{inside if alone else self.bracketed(inside)}"


def unbroken(written: str) -> str:
    """A part of a formula in which no line ends."""
    return written.replace(BREAK, "")


def length_shown(written: str) -> int:
    """How many characters it shows."""
    return len(re.sub(r"<[^>]+>|&[a-z]+;", "", unbroken(written)))


def infix(sign: str) -> str:
    """A sign between two parts, with the space around it also where a line begins with it."""
    return f'<mo form="infix">{xml(sign)}</mo>'


def mrow(written: str) -> str:
    return f"<mrow>{written}</mrow>"


def slope_mathml(above: str, below: str) -> str:
    """∂L over ∂K, of two symbols as `after_d` writes them."""
    return f"<mfrac><mrow><mo>∂</mo>{above}</mrow><mrow><mo>∂</mo>{below}</mrow></mfrac>"


def after_d(name: str) -> str:
    """A name after ∂: the last word of a path, in brackets if it is an expression."""
    symbol = symbol_mathml(last_word(name))
    if SIMPLE_NAME.fullmatch(name):
        return symbol
    return f'<mo stretchy="false">(</mo>{symbol}<mo stretchy="false">)</mo>'


def symbol_mathml(name: str) -> str:
    """A name as mathematicians write it: `WK` with an index, `gamma` as γ, a word upright."""
    match parts_of_name(name):
        case "prime", base, _:
            return f'<mrow>{symbol_mathml(base)}<mo lspace="0" rspace="0">{PRIME}</mo></mrow>'
        case "hat", base, _:
            return f"<mover><mi>{base}</mi><mo>^</mo></mover>"
        case "square", base, _:
            return f"<msup><mi>{base}</mi><mn>2</mn></msup>"
        case "index", base, index:
            return f"<msub><mi>{base}</mi>{f'<mn>{index}</mn>' if index.isdigit() else f'<mi>{index}</mi>'}</msub>"
        case "word index", base, index:
            return f"<msub><mi>{base}</mi>{_upright(index)}</msub>"
        case "letter", base, _:
            return f"<mi>{base}</mi>"
    return _upright(name)


def _upright(word: str) -> str:
    return f'<mi mathvariant="normal">{xml(clipped(word, LONGEST_SYMBOL))}</mi>'


def math(*sides: str, spoken: str) -> str:
    """The `<math>` elements of a formula, one for each piece between the places where a line may end. A line ends
    between two sides of an equation first. The first piece has a text for screen readers that do not read MathML."""
    labels = chain([f'aria-label="{xml(spoken)}"'], repeat('aria-hidden="true"'))
    elements = [
        [f'<math displaystyle="true" {next(labels)}>{mrow(piece)}</math>' for piece in side.split(BREAK) if piece]
        for side in sides
    ]
    return "".join(f'<span class="hg-math">{"".join(side)}</span>' for side in elements)


# --- numbers ----------------------------------------------------------------------------------------------------------


def table_width(piece: Piece) -> int:
    """How many characters the widest row of a table takes; a window of a large array stands alone."""
    if isinstance(piece, str) or np.ndim(piece.value) == 0 or not np.size(piece.value):
        return 0
    return width(piece.value, piece.written) if has_numbers(piece.value) else ROOMY


def grouped(pieces: list[Piece]) -> str:
    """Each number with the signs before it: a line wraps between such groups only. A wide table stands alone."""
    groups: list[list[Piece]] = []
    for unit in units(pieces):
        if sum(map(table_width, unit)) > ROOMY - 12:
            groups += [[piece] for piece in unit]
        else:
            groups.append(unit)
    written = ("".join(map(_piece, group)) for group in groups)
    return "".join(f'<span class="hg-q">{group}</span>' for group in written if group)


def _piece(piece: Piece) -> str:
    if isinstance(piece, str):
        text = piece.strip()
        raised = " hg-raised" if re.fullmatch(r"ᵀ|\^⊙\S+", text) else ""
        return f'<span class="hg-op{raised}">{xml(text)}</span>' if text else ""
    return number_html(piece, "hg-gr" if piece.is_gradient else "")


def number_html(number: Number, classes: str = "", changed_from: Any = None) -> str:
    return value_html(number.value, classes, changed_from, number.bracketed, number.written)


def value_html(
    value: Any, classes: str = "", changed_from: Any = None, bracketed: bool = False, written: Notation | None = None
) -> str:
    """A number, bracketed tables, or a window of a large array. Full digits in the tooltip."""
    if np.ndim(value) == 0:
        one = cell(value, written=written)
        zero = " hg-z" if one.kind == "zero" else " hg-bad" if one.kind == "bad" else ""
        mantissa, times, exponent = one.text.partition("×10")
        exponent = exponent.translate(FROM_SUPERSCRIPTS).replace("-", MINUS)
        raised = f"<small>×10<sup>{exponent}</sup></small>" if times else ""
        text = f"({mantissa}{raised})" if bracketed else f"{mantissa}{raised}"
        return f'<span class="hg-num {classes}{zero}" title="{xml(full(value))}">{text}</span>'
    if not np.size(value):
        return f'<span class="hg-num {classes}">[{"×".join(map(str, np.shape(value)))}]</span>'
    if not has_numbers(value):
        window = Window(np.shape(value))
        part, how = window.of(value), written or notation(value)
        html = _table_html(table(part, written=how), part, classes, None, window)
        return f'<span class="hg-window">{html}<small class="hg-foot">{window.note}</small></span>'
    before = [None] * len(pages(value)) if changed_from is None else [np.atleast_2d(old) for old in pages(changed_from)]
    tables = [
        _table_html(table(page, written=written), np.atleast_2d(page), classes, old)
        for page, old in zip(pages(value), before)
    ]
    return tables[0] if np.ndim(one_page(value)) <= 2 else f'<span class="hg-pages">{"".join(tables)}</span>'


def _table_html(
    whole: NumberTable, values: Any, classes: str, before: Any, window: Window | None = None
) -> str:
    numbers = whole if window is not None else whole.within(WIDEST)
    places = iter(np.ndindex(values.shape))
    rows = []
    for line in numbers.rows:
        cells = []
        for (one, (_, most)), place in zip(zip(line, numbers.columns), places):
            marks = {"zero": ["hg-z"], "bad": ["hg-bad"]}.get(one.kind, [])
            if before is not None and before[place] != values[place]:
                marks.append("hg-ch")
            pad = FIGURE_SPACE * (most - (len(one.text) - one.before_point))
            attribute = f' class="{" ".join(marks)}"' if marks else ""
            cells.append(f'<td{attribute} title="{xml(full(values[place]))}">{one.text}{pad}</td>')
        rows.append(f"<tr>{''.join(cells)}</tr>")
    if window is not None:
        heads = [f"<th>{j}</th>" for j in window.columns]
        beside = [f"<th>{i}</th>" for i in window.rows] if len(window.shape) > 1 else [""]
        rows = [row.replace("<tr>", f"<tr>{th}", 1) for row, th in zip(rows, beside)]
        rows.insert(0, f"<tr>{'<th></th>' * (len(window.shape) > 1)}{''.join(heads)}</tr>")
    size = max(SMALLEST_SIZE, TABLE_SIZE * ROOMY / max(numbers.characters, 1))
    small = f' style="font-size:{size:.1f}px"' if numbers.characters > ROOMY else ""
    broken = "" if numbers is whole else "hg-broken "
    body = f'<span class="hg-mx {broken}{classes}"><table{small}><tbody>{"".join(rows)}</tbody></table></span>'
    exponent = str(numbers.exponent).replace("-", MINUS)
    raised = f'<small class="hg-e10">×10<sup>{exponent}</sup></small>' if numbers.exponent else ""
    return f'<span class="hg-q">{body}{raised}</span>'
