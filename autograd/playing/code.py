"""A formula as Python: code that runs on its own and gives the same numbers."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any, TypeAlias

from autograd.formula.grammar import COMPARISONS, POWERS, PRODUCTS, SUMS

from .formula import Apply, Formula, Listed, Name, Number, Text

COMPARISON, SUM, PRODUCT, UNARY, POWER, ATOM = range(6)  # how tightly a text holds together
LEVELS = dict.fromkeys(COMPARISONS, COMPARISON) | dict.fromkeys(SUMS, SUM) | dict.fromkeys(PRODUCTS, PRODUCT)
RESERVED = {"Value", "math", "print", "leaf"}

Piece: TypeAlias = str | dict[str, str]  # text, or {"value": the name of a leaf} where its number goes


@dataclass(frozen=True)
class Written:
    """An expression and how tightly it holds together; a plain number is still one."""

    text: str
    level: int = ATOM
    number: int | float | None = None

    def within(self, level: int) -> str:
        return self.text if self.level >= level else f"({self.text})"


def code(formula: Formula, backward: bool = True) -> list[Piece]:
    """A program for a formula, with gaps for the numbers of its leaves: a page fills in those that it has."""
    functions = _functions(formula)
    called = {name: _free(name, RESERVED | set(functions)) for name in formula.names}
    top = result_name(formula)
    expression = _written(formula, called)
    pieces: list[Piece] = ["import math\n\n"] if "math." in expression else []
    pieces.append(f"from autograd import {', '.join(['Value', *functions])}\n\n")
    for name, variable in called.items():
        pieces += [f"{variable} = Value(", {"value": name}, f", name={json.dumps(name, ensure_ascii=False)})\n"]
    pieces.append(f'{top} = {expression}\nprint("{top} =", {top}.data)\n')
    if backward:
        leaves = "".join(f"{variable}, " for variable in called.values()).strip()
        pieces.append(f"\n{top}.backward()\nfor leaf in ({leaves}):\n")
        pieces.append(f'    print(f"d{top}/d{{leaf.name}} =", leaf.grad)\n')
    return pieces


def result_name(formula: Formula) -> str:
    """What the result is called: L, if nothing else is."""
    return _free("L", RESERVED | set(formula.names) | set(_functions(formula)))


def _functions(formula: Formula) -> list[str]:
    return sorted({part.op for part in formula.parts if isinstance(part, Apply) and not part.symbol})


def filled(pieces: list[Piece], values: dict[str, float]) -> str:
    """The code with numbers in its gaps."""
    return "".join(piece if isinstance(piece, str) else repr(float(values[piece["value"]])) for piece in pieces)


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _written(formula: Formula, called: dict[str, str]) -> str:
    stack: list[Written] = []
    for part in formula.parts:
        match part:
            case Number(value, name=name):
                stack.append(Written(f"math.{name}") if name else _number(value))
            case Name(name):
                stack.append(Written(called[name]))
            case Text(text):
                stack.append(Written(repr(text)))
            case Listed(count) | Apply(count=count):
                inputs = stack[len(stack) - count :]
                stack[len(stack) - count :] = [_applied(part, inputs)]
    return stack[0].text


def _applied(part: Listed | Apply, inputs: list[Written]) -> Written:
    if isinstance(part, Listed):
        return Written(f"[{', '.join(x.text for x in inputs)}]")
    if not part.symbol:
        settings = [f"{name}={value!r}" for name, value in part.settings.items()]
        return Written(f"{part.op}({', '.join([*(x.text for x in inputs), *settings])})")
    if part.symbol == ".T" or part.op == "getitem":
        return Written(f"{inputs[0].within(ATOM)}{part.symbol}")
    if part.op == "neg":
        (x,) = inputs
        return Written(f"-{x.within(UNARY)}", UNARY) if x.number is None else _number(-x.number)
    left, right = _as_floats(inputs)
    if part.symbol in POWERS:
        return Written(f"{left.within(ATOM)} ** {right.within(UNARY)}", POWER)
    level = LEVELS[part.symbol]
    return Written(f"{left.within(level)} {part.symbol} {right.within(level + 1)}", level)


def _as_floats(inputs: list[Written]) -> list[Written]:
    """Two plain numbers are computed as floats: 2.0 ** 70.0, and not an integer that Python rounds later."""
    if any(x.number is None for x in inputs):
        return inputs
    return [_number(float(x.number)) for x in inputs if x.number is not None]


def _number(value: Any) -> Written:
    text = repr(value)
    return Written(text, UNARY if math.copysign(1.0, value) < 0 else ATOM, value)
