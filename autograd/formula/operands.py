"""What a node was made from: its operands, what its op calls them, and how a plain one is written."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from autograd.formula.numbers import MINUS, dimensions, factor, table
from autograd.value import Value

LONGEST_LITERAL = 8  # characters of a number that stands in an expression with all its digits
LONGEST_ROW = 14  # and of a vector, `[0, 1, 1, 0]`
LARGEST_ROOT = 4096  # 1.4142… reads √2 for roots of integers up to this


def operands_of(node: Value) -> list[Any]:
    """All that a node was made from: its inputs, then the arrays among its settings."""
    settings = node.op.settings if node.op is not None else {}
    return [*node.inputs, *arrays_in(settings.values())] if settings else list(node.inputs)


def part_played(node: Value, x: Any) -> str:
    """What an op calls an operand, where that says something: `targets`, `index`; "" for `x`."""
    assert node.op is not None
    for key, setting in node.op.settings.items():
        if any(array is x for array in arrays_in([setting])):
            return key
    names = node.op.names[: len(node.op.names) - node.op.variadic]
    return next((name for name, operand in zip(names, node.inputs) if operand is x and len(name) > 1), "")


def arrays_in(settings: Iterable[Any]) -> Iterator[np.ndarray[Any, Any]]:
    """The arrays among an op's settings: what an index is made of."""
    for setting in settings:
        if isinstance(setting, np.ndarray):
            yield setting
        elif isinstance(setting, tuple):
            yield from arrays_in(setting)


def plain(x: Any) -> Any:
    """An operand's numbers, whether it is a Value or not."""
    return x.data if isinstance(x, Value) else x


def literal(x: Any) -> str:
    """A plain operand inside an expression: `2`, `(−0.5)`, `√2`; a short vector in full, an array by its shape."""
    if isinstance(x, bool | np.bool_) or x is None:
        return str(x)
    if np.ndim(x):
        row = str(table(x)) if np.ndim(x) == 1 and 0 < np.size(x) <= LONGEST_ROW // 3 else ""
        return row if 0 < len(row) <= LONGEST_ROW else f"array({dimensions(np.shape(x))})"
    number = float(x)
    square = round(number * number) if math.isfinite(number) and abs(number) < LARGEST_ROOT else 0
    if number > 0 and 1 < square <= LARGEST_ROOT and math.sqrt(square) == number and not number.is_integer():
        return f"√{square}"
    written = repr(float(x)) if isinstance(x, float | np.floating) else repr(int(x))
    if len(written) <= LONGEST_LITERAL and "e" not in written:
        text = written.removesuffix(".0")  # as it was written: rounded, 1.0001 would read 1.000
        return f"({MINUS}{text[1:]})" if text.startswith("-") else text
    return factor(x)
