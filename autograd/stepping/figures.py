"""Numbers as HTML: a number, a bracketed table, a line of arithmetic, one entry spelled out."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from autograd.drawing.cards import is_small, norm
from autograd.formula.formula import Formula
from autograd.formula.numbers import MINUS, Table, cell, dimensions, full, rough, short, table
from autograd.formula.pieces import Piece, merged, one_page, units
from autograd.formula.text import xml

FIGURE_SPACE = "\u2007"  # as wide as a digit: keeps decimal points in line


def numbers_line(formula: Formula, result: Any, is_gradient: bool = True) -> str:
    """The formula in numbers. A line wraps before its `=` or `≈`, never after it."""
    tint = "hg-gr hg-new hg-answer" if is_gradient else "hg-new hg-answer"
    left, sign = ("", "=") if formula.is_operand else (_grouped(formula.pieces()), formula.equals(result))
    answer = f'<span class="hg-q"><span class="hg-op">{sign}</span>{value_html(result, tint)}</span>'
    return f'<div class="hg-line">{left}{answer}</div>'


def _grouped(pieces: list[Piece]) -> str:
    """Each number with the signs before it, so that a line wraps between such groups only."""
    groups = ("".join(map(_piece, unit)) for unit in units(pieces))
    return "".join(f'<span class="hg-q">{group}</span>' for group in groups if group)


def _piece(piece: Piece) -> str:
    if isinstance(piece, str):
        return "".join(f'<span class="hg-op">{xml(part)}</span>' for part in [piece.strip()] if part)
    return value_html(piece.value, "hg-gr" if piece.is_gradient else "", bracketed=piece.bracketed)


def value_html(value: Any, classes: str = "", changed_from: Any = None, bracketed: bool = False) -> str:
    """A number, a bracketed table, or a large array by its shape and size. Full digits in the tooltip."""
    if np.ndim(value) == 0:
        one = cell(value)
        zero = " hg-z" if one.kind == "zero" else " hg-bad" if one.kind == "bad" else ""
        mantissa, times, exponent = one.text.partition("×10")
        raised = f"<small>×10<sup>{_plain_exponent(exponent)}</sup></small>" if times else ""
        text = f"({mantissa}{raised})" if bracketed else f"{mantissa}{raised}"
        return f'<span class="hg-num {classes}{zero}" title="{xml(full(value))}">{text}</span>'
    page = one_page(value)
    if not is_small(np.shape(page)):
        size = f", norm {rough(norm(value))}" if np.size(value) else ""
        return f'<span class="hg-num {classes}">[{dimensions(np.shape(value))}{size}]</span>'
    before = None if changed_from is None else np.atleast_2d(one_page(changed_from))
    return _table_html(table(page), np.atleast_2d(page), classes, before)


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
    body = f'<span class="hg-mx {classes}"><table><tbody>{"".join(rows)}</tbody></table></span>'
    exponent = str(numbers.exponent).replace("-", MINUS)
    raised = f'<small class="hg-e10">×10<sup>{exponent}</sup></small>' if numbers.exponent else ""
    return f'<span class="hg-q">{body}{raised}</span>'


def _plain_exponent(raised: str) -> str:
    return raised.translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "−0123456789"))


def entries_html(formula: Formula, value: Any, is_gradient: bool = True) -> str:
    """The arithmetic of each entry, folded; the one with the largest result is shown first."""
    if np.ndim(value) == 0 or not is_small(np.shape(value)) or np.size(value) == 0:
        return ""
    spelled = {index: formula.entry(index) for index in np.ndindex(np.shape(value))}
    if any(entry is None or entry.is_operand for entry in spelled.values()):
        return ""
    first = np.unravel_index(int(np.argmax(np.abs(value))), np.shape(value))
    order = sorted(spelled, key=lambda index: index != tuple(map(int, first)))
    tint = ' class="hg-gr"' if is_gradient else ""
    lines = []
    for index in order:
        entry = spelled[index]
        assert entry is not None
        arithmetic = "".join(_scalar_piece(piece) for piece in merged(entry.pieces()))
        place = "".join(f"[{i}]" for i in index)
        result = np.asarray(value)[index].item()
        answer = f"{entry.equals(result)} <b{tint}>{_raised(short(result))}</b>"
        lines.append(f'<p class="hg-arith"><i>{place}</i> {arithmetic} {answer}</p>')
    names = ("entry",) if np.ndim(value) == 1 else ("row", "column")
    where = " ".join(f"{name} {i}" for name, i in zip(names, order[0]))
    rest = (
        f"<details><summary>all {len(lines)} entries</summary>{''.join(lines[1:])}</details>" if len(lines) > 1 else ""
    )
    return f'<details class="hg-entries"><summary>one entry, {where}</summary>{lines[0]}{rest}</details>'


def _scalar_piece(piece: Piece) -> str:
    if isinstance(piece, str):
        return xml(piece)
    text = short(piece.value)
    return _raised(f"({text})" if piece.bracketed else text)


def _raised(text: str) -> str:
    """`1.768×10⁻⁴` with a real superscript."""
    return re.sub(r"×10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)", lambda found: f"×10<sup>{_plain_exponent(found[1])}</sup>", xml(text))
