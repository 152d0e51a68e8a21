"""A formula as a graph of Values."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from autograd.engine import Value
from autograd.errors import counted
from autograd.op import OPS, Op

from .formula import Apply, Formula, FormulaError, Listed, Name, Number, Text

MOST_ENTRIES = 4096  # of an array on the way: a formula is there to be read
FIRST_NUMBERS = (0.5, -0.8, 1.2, 0.3, -0.4)  # of the first name, the second ...: small, or every tanh is saturated


def with_numbers(formula: Formula, given: Mapping[str, Any]) -> dict[str, Any]:
    """A number for each name of a formula: the one that is given, or one to begin with."""
    return {name: given.get(name, first) for name, first in zip(formula.names, itertools.cycle(FIRST_NUMBERS))}


def build(formula: Formula, variables: Mapping[str, Any]) -> Value:
    """Compute a formula. Each name needs a Value, or a number, which becomes a leaf of that name."""
    leaves = {name: x if isinstance(x, Value) else Value(x, name=name) for name, x in variables.items()}
    stack: list[Any] = []
    for part in formula.parts:
        match part:
            case Number(value):
                stack.append(value)
            case Name(name, at):
                if name not in leaves:
                    raise FormulaError(f"what is {name}? Give it a number: {name}=2", at, at + len(name))
                stack.append(leaves[name])
            case Text(text):
                stack.append(text)
            case Listed(count):
                stack[len(stack) - count :] = [stack[len(stack) - count :]]
            case Apply(count=count):
                stack[len(stack) - count :] = [_applied(part, stack[len(stack) - count :])]
    (result,) = stack
    if not isinstance(result, Value) or result.op is None:
        raise FormulaError("it computes nothing from a variable; try x*y + sin(x)", 0, len(formula.text))
    return result


def _applied(part: Apply, inputs: list[Any]) -> Any:
    """What an op makes of its inputs; whatever it cannot take is said at its place in the formula."""
    end = part.at + len(part.symbol or part.op)
    op = OPS[part.op]
    if part.symbol and part.op != "neg" and all(isinstance(x, int | float) for x in inputs):
        inputs = list(map(float, inputs))  # 9**9**9 must not become an integer of 369 million digits
    if op.normalize is None and not op.variadic and len(inputs) != len(op.names):
        takes = counted(len(op.names), "input")
        raise FormulaError(f"{part.op} takes {takes}, as in {op.reads}; got {len(inputs)}", part.at, end)
    if part.op in ("max", "min") and len(inputs) == 2:
        name = {"max": "maximum", "min": "minimum"}[part.op]
        raise FormulaError(f"{part.op} takes one list; of two numbers write {name}(x, 0)", part.at, end)
    if not (part.symbol or op.pointwise) and _asked_for([inputs, part.settings]) > MOST_ENTRIES:
        raise FormulaError(f"{part.op}: a result may have {MOST_ENTRIES} entries at most", part.at, end)
    try:
        result = _computed(op, inputs, part.settings)
    except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RuntimeError, MemoryError) as error:
        raise FormulaError(str(error) or f"{part.op} cannot be computed here", part.at, end) from error
    if np.size(result.data if isinstance(result, Value) else result) > MOST_ENTRIES:
        raise FormulaError(f"{part.op}: a result may have {MOST_ENTRIES} entries at most", part.at, end)
    if isinstance(result, float) and not math.isfinite(result):
        why = f"{part.op} has no value here" if math.isnan(result) else "the largest float is 1.8e308"
        divides = part.op == "div" and inputs[1] == 0
        raise FormulaError(f"this is {result}: {'it divides by 0' if divides else why}", part.at, end)
    return result


@np.errstate(all="ignore")  # the steps themselves show where a number stops being finite
def _computed(op: Op, inputs: list[Any], settings: dict[str, Any]) -> Any:
    return op(*inputs, **settings)


def _asked_for(settings: Any) -> int:
    """The product of all integers, which is as many entries as a shape or a number of repeats can ask for."""
    return math.prod(max(1, abs(number)) for number in _whole(settings))


def _whole(x: Any) -> Iterator[int]:
    if isinstance(x, int):
        yield x
    elif isinstance(x, list | tuple | dict):
        for part in x.values() if isinstance(x, dict) else x:
            yield from _whole(part)
