"""Syntax trees over operands that have values, worked out. Operands stand in a tree as marks, so no text of a user's
is ever taken for code.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograd.formula.numbers import as_printed
from autograd.formula.pieces import read_off
from autograd.op import OPS
from autograd.ops import FUNCTIONS

MARK = "\ue000"  # begins the id of a Name that stands for an operand
OPERATORS = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.Pow: "power",
    ast.MatMult: "matmul",
    ast.Lt: "less",
    ast.LtE: "less_equal",
    ast.Gt: "greater",
    ast.GtE: "greater_equal",
}
NAMED = {"inf": np.inf, "nan": np.nan, "∞": np.inf, "−∞": -np.inf, "NaN": np.nan}


@dataclass(frozen=True)
class Operand:
    """What a mark stands for. `nested` is an unnamed operand's own expression, shown in place of a symbol; `of` is
    what a gradient is the gradient of."""

    symbol: str
    value: Any
    is_gradient: bool = False
    nested: ast.expr | None = None
    of: Operand | None = None


class NoNumbers(Exception):
    """A tree that cannot be computed again from its parts: it calls something that is not in the table."""


class Valued:
    """A tree and its operands: what it, or a part of it, comes to."""

    def __init__(self, tree: ast.expr, operands: Mapping[str, Operand]) -> None:
        self.tree = tree
        self.operands = operands
        self._values: dict[int, Any] = {}

    def value(self, tree: ast.expr | None = None) -> Any:
        """The number (or array) that the tree, or a part of it, comes to."""
        tree = self.tree if tree is None else tree
        found = self._values.get(id(tree))
        if found is None:
            with np.errstate(all="ignore"):
                found = self._values[id(tree)] = self._compute(tree)
        return found

    def ndim(self, tree: ast.expr) -> int:
        """Of a part of the tree; 0 where it cannot be computed."""
        try:
            return int(np.ndim(self.value(tree)))
        except (NoNumbers, TypeError, ValueError):
            return 0

    def _compute(self, tree: ast.expr) -> Any:
        match tree:
            case ast.Name(id=mark) if mark in self.operands:
                return self.operands[mark].value
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name) if name in NAMED:
                return NAMED[name]
            case ast.BinOp(left=left, op=op, right=right):
                return OPS[OPERATORS[type(op)]].compute(self.value(left), self.value(right))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self.value(operand)
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return OPS[OPERATORS[type(op)]].compute(self.value(left), self.value(right))
            case ast.Attribute(value=inner, attr="T"):
                return np.transpose(self.value(inner))
            case ast.Attribute(value=inner, attr="mT"):
                return np.matrix_transpose(self.value(inner))
            case ast.Subscript(value=ast.Name(id="s_"), slice=index):
                return self.value(index)
            case ast.Subscript(value=inner, slice=index):
                return np.asarray(self.value(inner))[self.value(index)]
            case ast.Tuple(elts=parts):
                return tuple(self.value(part) for part in parts)
            case ast.List(elts=parts):
                return [self.value(part) for part in parts]
            case ast.Slice():
                ends = (tree.lower, tree.upper, tree.step)
                return slice(*(None if end is None else self.value(end) for end in ends))
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=keywords):
                given = [self.value(argument) for argument in arguments]
                settings = {keyword.arg: self.value(keyword.value) for keyword in keywords if keyword.arg}
                return _call(name, given, settings)
        raise NoNumbers(ast.dump(tree))


class AsPrinted(Valued):
    """The tree worked out by hand, with the rounded numbers that are printed."""

    def _compute(self, tree: ast.expr) -> Any:
        match tree:
            case ast.Name(id=mark) if mark in self.operands:
                return read_off(self.operands[mark].value)
            case ast.Constant(value=float(value)):
                return as_printed(value)
        return super()._compute(tree)


def _call(name: str, given: list[Any], settings: dict[str, Any]) -> Any:
    if name == "array":
        return np.array(*given)
    function = OPS.get(name) or FUNCTIONS.get(name)
    if function is None:
        raise NoNumbers(name)
    return function(*given, **settings)


def is_mark(tree: ast.expr) -> bool:
    return isinstance(tree, ast.Name) and tree.id.startswith(MARK)


def operand_of(formula: Valued, tree: ast.expr) -> Operand | None:
    """The operand that a tree is, looking through a transpose."""
    if is_mark(tree):
        return formula.operands[tree.id]  # type: ignore[attr-defined]
    if isinstance(tree, ast.Attribute) and is_mark(tree.value):
        whole = formula.operands[tree.value.id]  # type: ignore[attr-defined]
        return Operand(f"{whole.symbol}.{tree.attr}", formula.value(tree), whole.is_gradient)
    return None


def has_marks(tree: ast.expr) -> bool:
    return any(is_mark(part) for part in ast.walk(tree) if isinstance(part, ast.expr))
