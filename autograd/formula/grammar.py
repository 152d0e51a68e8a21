"""The table of the formulas that people type: what `playing/parser.py` and the script typed.js of the pages both read.

    >>> ALSO["^"], PRODUCTS["@"], CONSTANTS["pi"]
    ('**', 'matmul', 3.141592653589793)
"""

from __future__ import annotations

import math
from typing import Any

from autograd.op import OPERATORS

CONSTANTS = {"pi": math.pi, "e": math.e}

# Python's symbols, by the middle of their methods' names.
COMPARISONS = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
SUMS = {"+": "add", "-": "sub"}
PRODUCTS = {"*": "mul", "/": "truediv", "@": "matmul"}
POWERS = {"**": "pow"}
ALSO = {"^": "**", "×": "*", "·": "*", "⋅": "*", "÷": "/", "−": "-", "≤": "<=", "≥": ">=", "π": "pi"}
SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹"

# The functions of one or two numbers that a page computes too.
FUNCTIONS = {
    "abs": 1, "arctan": 1, "cos": 1, "cosh": 1, "erf": 1, "exp": 1, "expm1": 1, "log": 1, "log1p": 1, "relu": 1,
    "sigmoid": 1, "sign": 1, "sin": 1, "sinh": 1, "sqrt": 1, "tan": 1, "tanh": 1, "maximum": 2, "minimum": 2,
}  # fmt: skip


def table() -> dict[str, Any]:
    """The table as a page gets it: each operator with its op."""

    def named(symbols: dict[str, str]) -> dict[str, str]:
        return {symbol: OPERATORS[name] for symbol, name in symbols.items() if symbol != "@"}

    return {
        "constants": CONSTANTS, "also": ALSO, "raised": SUPERSCRIPTS, "functions": FUNCTIONS,
        "sums": named(SUMS), "products": named(PRODUCTS), "powers": named(POWERS),
    }  # fmt: skip
