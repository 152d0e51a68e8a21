"""Numbers as HTML: a number, a bracketed table, arithmetic whose tables stand side by side."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograd.formula.arithmetic import Number, Piece, has_numbers, one_page, pages, units
from autograd.formula.digits import width
from autograd.formula.numbers import MINUS, Notation, Table, cell, dimensions, full, norm, rough, table
from autograd.formula.text import xml

FIGURE_SPACE = "\u2007"  # as wide as a digit: keeps decimal points in line
ROOMY = 33  # characters of a table that a panel has room for at its usual size; a wider one is set smaller
TABLE_SIZE = 13  # pixels


def table_width(piece: Piece) -> int:
    """How many characters the widest row of a table takes."""
    if isinstance(piece, str) or np.ndim(piece.value) == 0 or not has_numbers(piece.value):
        return 0
    return width(piece.value, piece.written)


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
        return "".join(f'<span class="hg-op">{xml(part)}</span>' for part in [piece.strip()] if part)
    return number_html(piece, "hg-gr" if piece.is_gradient else "")


def number_html(number: Number, classes: str = "", changed_from: Any = None) -> str:
    return value_html(number.value, classes, changed_from, number.bracketed, number.written)


def value_html(
    value: Any, classes: str = "", changed_from: Any = None, bracketed: bool = False, written: Notation | None = None
) -> str:
    """A number, bracketed tables, or a large array by its shape and size. Full digits in the tooltip."""
    if np.ndim(value) == 0:
        one = cell(value, written=written)
        zero = " hg-z" if one.kind == "zero" else " hg-bad" if one.kind == "bad" else ""
        mantissa, times, exponent = one.text.partition("×10")
        raised = f"<small>×10<sup>{_plain_exponent(exponent)}</sup></small>" if times else ""
        text = f"({mantissa}{raised})" if bracketed else f"{mantissa}{raised}"
        return f'<span class="hg-num {classes}{zero}" title="{xml(full(value))}">{text}</span>'
    if not has_numbers(value):
        size = f", norm {rough(norm(value))}" if np.size(value) else ""
        return f'<span class="hg-num {classes}">[{dimensions(np.shape(value))}{size}]</span>'
    before = [None] * len(pages(value)) if changed_from is None else [np.atleast_2d(old) for old in pages(changed_from)]
    tables = [
        _table_html(table(page, written=written), np.atleast_2d(page), classes, old)
        for page, old in zip(pages(value), before)
    ]
    return tables[0] if np.ndim(one_page(value)) <= 2 else f'<span class="hg-pages">{"".join(tables)}</span>'


def _table_html(numbers: Table, values: Any, classes: str, before: Any) -> str:
    rows = []
    for i, line in enumerate(numbers.rows):
        cells = []
        for j, (one, (_, most)) in enumerate(zip(line, numbers.columns)):
            marks = {"zero": ["hg-z"], "bad": ["hg-bad"]}.get(one.kind, [])
            if before is not None and before[i, j] != values[i, j]:
                marks.append("hg-ch")
            pad = FIGURE_SPACE * (most - (len(one.text) - one.before_point))
            attribute = f' class="{" ".join(marks)}"' if marks else ""
            cells.append(f'<td{attribute} title="{xml(full(values[i, j]))}">{one.text}{pad}</td>')
        rows.append(f"<tr>{''.join(cells)}</tr>")
    characters = sum(before + after + 1 for before, after in numbers.columns)
    small = f' style="font-size:{TABLE_SIZE * ROOMY / characters:.1f}px"' if characters > ROOMY else ""
    body = f'<span class="hg-mx {classes}"><table{small}><tbody>{"".join(rows)}</tbody></table></span>'
    exponent = str(numbers.exponent).replace("-", MINUS)
    raised = f'<small class="hg-e10">×10<sup>{exponent}</sup></small>' if numbers.exponent else ""
    return f'<span class="hg-q">{body}{raised}</span>'


def _plain_exponent(raised: str) -> str:
    return raised.translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "−0123456789"))
