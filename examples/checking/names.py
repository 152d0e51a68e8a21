"""The value a worksheet name stands for: `value_of("dL/dWO[0][2]", run())`.

A name is a key of `run()`, with indices where it is a table: `ctx[1]`, `attn^T[0][1]`, `P(A)`. Some entries of a
sheet are small expressions of such names: `out[0][0]*W1[0][0]`, `-eta*dL/dWO[1][2]`, `P_new(C)-P(C)`, `sum(P)`.
Keys themselves contain `/`, `^` and brackets, so the longest key that fits is read first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_NUMBER = re.compile(r"\d+")
_INDEX = re.compile(r"\[(\d+)\]")


def value_of(what: str, quantities: Mapping[str, Any]) -> Any:
    """Evaluate a worksheet name or expression from the quantities `run()` returned.

    >>> value_of("100*P(A)", {"P(A)": 0.25})
    25.0
    >>> value_of("-dL/dW[1][0]-b", {"dL/dW": [[1.0, 2.0], [3.0, 4.0]], "b": 0.5})
    -3.5
    """
    return _Reader(what, quantities).whole()


class _Reader:
    """Reads one expression from left to right: a sum of products of named values."""

    def __init__(self, text: str, quantities: Mapping[str, Any]) -> None:
        self.text, self.at, self.quantities = text, 0, quantities

    def whole(self) -> Any:
        value = self.sum()
        if self.at < len(self.text):
            raise self.error("an operator")
        return value

    def sum(self) -> Any:
        value = -self.product() if self.take("-") else self.product()
        while True:
            if self.take("+"):
                value = value + self.product()
            elif self.take("-"):
                value = value - self.product()
            else:
                return value

    def product(self) -> Any:
        value = self.named()
        while self.take("*"):
            value = value * self.named()
        return value

    def named(self) -> Any:
        if number := _NUMBER.match(self.text, self.at):
            self.at = number.end()
            return int(number[0])
        if self.take("sum("):
            value = self.sum()
            if not self.take(")"):
                raise self.error("')'")
            return sum(value)
        fitting = [key for key in self.quantities if self.text.startswith(key, self.at)]
        if not fitting:
            raise self.error("a name that run() returns")
        key = max(fitting, key=len)
        self.at += len(key)
        value = self.quantities[key]
        while index := _INDEX.match(self.text, self.at):
            self.at = index.end()
            value = value[int(index[1])]
        return value

    def take(self, text: str) -> bool:
        if not self.text.startswith(text, self.at):
            return False
        self.at += len(text)
        return True

    def error(self, expected: str) -> KeyError:
        return KeyError(f"{self.text!r}: expected {expected} at {self.text[self.at:]!r}; "
                        f"known names: {', '.join(sorted(self.quantities))}")
