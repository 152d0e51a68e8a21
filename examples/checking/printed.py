"""What follows from the author's own printed numbers, whether those were right or not.

A sheet says of most wrong numbers how they come out of the numbers printed before them: as arithmetic
(`0.0498*0.250`) or, for whole tables, in words (`softmax of the printed scores`). `follow` works both out in decimals.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable
from decimal import Decimal, localcontext
from functools import cache
from typing import Any

import numpy as np

from examples.checking import judge
from examples.checking.sheet import Entry, Sheet, load

_NAME_AND_INDEX = re.compile(r"(.+?)((?:\[\d+\]|\([A-Z]\))*)$")

Printed = dict[str, np.ndarray]


def follow(entry: Entry) -> Decimal:
    """The number that the author's own operands give for `entry`.

    >>> round(follow(load("example2").entry("example2.163")), 6)      # 0.9948/3.989, printed as 0.2492
    Decimal('0.249386')
    """
    if entry.follows is None:
        raise ValueError(f"{entry.id}: the sheet names no printed operands for {entry.what}")
    with localcontext(prec=judge.DIGITS):
        if entry.follows.how in _TABLES:
            sheet = load(entry.sheet)
            _, index = name_and_index(sheet, entry.what)
            return _TABLES[entry.follows.how](printed_tables(sheet.name))[index]
        return arithmetic(entry.follows.how)


def gives_printed(entry: Entry, value: Decimal | float) -> bool:
    """Whether `value`, rounded to nearest (either way at a tie) or truncated to the printed digits, is the print.

    >>> entry = load("example1").entry("example1.070")      # exp(-0.00707...) printed as 0.9929
    >>> gives_printed(entry, 0.99295), gives_printed(entry, 0.9931)
    (True, False)
    """
    return is_nearest(entry, value) or is_truncated(entry, value)


def is_nearest(entry: Entry, value: Decimal | float) -> bool:
    return abs(Decimal(value) - entry.printed) <= entry.unit / 2


def is_truncated(entry: Entry, value: Decimal | float) -> bool:
    units = Decimal(value) / entry.unit
    return int(units) * entry.unit == entry.printed


# ---- arithmetic ---------------------------------------------------------------------------------------------------

_OPERATORS: dict[type, Callable[..., Decimal]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.USub: operator.neg,
}
_FUNCTIONS = {"exp": Decimal.exp, "ln": Decimal.ln}


def arithmetic(text: str) -> Decimal:
    """The value of a sum as a worksheet writes it, exactly as its digits say.

    >>> arithmetic("0.1-0.1*(-0.0001765)")
    Decimal('0.10001765')
    """
    def value(node: ast.expr) -> Decimal:
        match node:
            case ast.Constant():
                return Decimal(ast.get_source_segment(text, node) or "")
            case ast.BinOp():
                return _OPERATORS[type(node.op)](value(node.left), value(node.right))
            case ast.UnaryOp():
                return _OPERATORS[type(node.op)](value(node.operand))
            case ast.Call(func=ast.Name(id=name), args=[argument]) if name in _FUNCTIONS:
                return _FUNCTIONS[name](value(argument))
        raise ValueError(f"{text!r} is not a sum of printed numbers: {ast.unparse(node)!r}")

    return value(ast.parse(text, mode="eval").body)


# ---- whole tables, in the words of the sheets ---------------------------------------------------------------------

_TABLES: dict[str, Callable[[Printed], np.ndarray]] = {
    "softmax(printed context1 x printed WO_new)": lambda p: judge.softmax(p["ctx1"] @ p["WO4_new"]),
    "softmax(printed context2 x printed WO_new)": lambda p: judge.softmax(p["ctx2"] @ p["WO4_new"]),
    "printed X x printed W_Q": lambda p: p["X"] @ p["W_Q"],
    "printed X x printed W_K": lambda p: p["X"] @ p["W_K"],
    "printed X x printed W_V": lambda p: p["X"] @ p["W_V"],
    "printed Q x printed K^T / sqrt(3)": lambda p: p["Q"] @ p["K"].T / Decimal(3).sqrt(),
    "softmax of the printed scores": lambda p: judge.softmax(p["scaled"]),
    "ReLU(printed attention output x W_FFN1)": lambda p: judge.relu(p["out"] @ p["W_FFN1"]),
    "printed hidden x W_FFN2": lambda p: (p["hidden"] @ p["W_FFN2"])[:, 0],
    "sigmoid of the printed logit": lambda p: judge.sigmoid(p["logit"]),
    "printed hidden^T x (printed p - y)/3": lambda p: p["hidden"].T @ ((p["p"] - p["y"]) / 3)[:, None],
    "printed attention output^T x ((printed p - y)/3 x W_FFN2^T)":
        lambda p: p["out"].T @ (((p["p"] - p["y"]) / 3)[:, None] @ p["W_FFN2"].T),
}


@cache
def printed_tables(sheet_name: str) -> Printed:
    """Every table a sheet prints, with the printed numbers in it."""
    sheet = load(sheet_name)
    cells: dict[str, dict[tuple[int, ...], Decimal]] = {}
    for entry in sheet.entries:
        name, index = name_and_index(sheet, entry.what)
        if index:
            cells.setdefault(name, {}).setdefault(index, entry.printed)
    tables = {}
    for name, entries in cells.items():
        table = np.full(tuple(max(axis) + 1 for axis in zip(*entries)), None, dtype=object)
        for index, number in entries.items():
            table[index] = number
        tables[name] = table
    return tables


def name_and_index(sheet: Sheet, what: str) -> tuple[str, tuple[int, ...]]:
    """A sheet's name taken apart: `WO4_new[1][2]` is `WO4_new` at (1, 2), and `P2(D)` is `P2` at (3,)."""
    match = _NAME_AND_INDEX.match(what)
    assert match, what
    tokens: Any = list(sheet.inputs.get("tokens", ()))
    marks = re.findall(r"\d+|[A-Z]", match[2])
    return match[1], tuple(int(mark) if mark.isdigit() else tokens.index(mark) for mark in marks)
