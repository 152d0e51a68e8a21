"""Formulas written out: in symbols, `g * (1 − out ** 2)`, and in numbers, `0.5 × 3`. `maths` has two more writers."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from autograd.formula.numbers import MINUS, short
from autograd.formula.pieces import Number, Piece, has_power, is_negative
from autograd.formula.tidy import COUNTED_IN_RESULT, from_the_front
from autograd.formula.valued import Operand, Valued, has_marks, is_mark, operand_of

COMPARISONS = {ast.Lt: "<", ast.LtE: "≤", ast.Gt: ">", ast.GtE: "≥"}
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
SIMPLE_NAME = re.compile(r"[\w.#]+")  # needs no brackets in ∂L/∂x

# How tightly a tree holds together.
COMPARED, SUM, PRODUCT, SIGN, POWER, ATOM = range(1, 7)


class Writer:
    """Walks a tree and brackets what must be; a subclass says what the parts look like and how they join."""

    def __init__(self, formula: Valued) -> None:
        self.formula = formula

    def write(self, tree: ast.expr, outer: int = 0) -> Any:
        """The tree, bracketed if it holds together less tightly than its surroundings ask for."""
        tightness, written = self.unbracketed(tree)
        return self.bracketed(written) if tightness < outer else written

    def unbracketed(self, tree: ast.expr) -> tuple[int, Any]:
        match tree:
            case ast.Name(id=mark) if mark in self.formula.operands:
                return self.operand(self.formula.operands[mark])
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return SUM, self.join(self.write(left, SUM), self.sign(" + "), self.write(right, SUM))
            case ast.BinOp(left=left, op=ast.Sub(), right=right):
                minus = self.sign(f" {MINUS} ")
                return SUM, self.join(self.write(left, SUM), minus, self.write(right, PRODUCT))
            case ast.BinOp(left=left, op=ast.Div(), right=right):
                return self.quotient(left, right)
            case ast.BinOp(left=base, op=ast.Pow(), right=exponent):
                return self.power(base, exponent)
            case ast.BinOp(left=left, op=op, right=right):
                times = self.times(left, op, right)
                return PRODUCT, self.join(self.write(left, PRODUCT), times, self.write(right, SIGN))
            case ast.UnaryOp(op=ast.USub(), operand=inner):
                return SIGN, self.join(self.sign(MINUS), self.write(inner, SIGN))
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                sign = self.sign(f" {COMPARISONS[type(op)]} ")
                return COMPARED, self.join(self.write(left, SUM), sign, self.write(right, SUM))
            case ast.Attribute(value=inner, attr=view):
                turned = self.turned_before(inner, view)
                return self.view(inner, view) if turned is None else self.unbracketed(turned)
            case ast.Subscript(value=inner, slice=index):
                return ATOM, self.join(self.write(inner, ATOM), self.setting(f"[{index_text(index)}]"))
            case ast.Call(func=ast.Name(id=name)):
                return self.call(name, tree)
            case ast.Constant(value=value):
                return self.constant(value)
            case ast.List(elts=parts) | ast.Tuple(elts=parts):
                return ATOM, self.join(self.setting("["), *self.listed(parts), self.setting("]"))
        return ATOM, self.setting(unparsed(tree))

    def turned_before(self, inner: ast.expr, view: str) -> ast.expr | None:
        """What an unnamed transpose was made from: `K.T.T` is K."""
        operand = self.formula.operands.get(inner.id) if isinstance(inner, ast.Name) else None
        nested = operand.nested if operand is not None else None
        return nested.value if isinstance(nested, ast.Attribute) and nested.attr == view else None

    def listed(self, parts: Iterable[ast.expr]) -> list[Any]:
        written: list[Any] = []
        for part in parts:
            written += [self.setting(", "), self.write(part)] if written else [self.write(part)]
        return written

    def call(self, name: str, tree: ast.Call) -> tuple[int, Any]:
        """`f(x, axis=0)`; settings that say only that axes are kept are left out."""
        if name == "scatter":
            where = self.setting(f" at [{index_text(tree.args[1])}], 0 elsewhere")
            return COMPARED, self.join(self.write(tree.args[0]), where)
        if name == "broadcast_to":
            spread = self.setting(f" spread over {shape_text(tree.args[1])}")
            return COMPARED, self.join(self.write(tree.args[0], SUM), spread)
        if name == "reshape":
            as_ = self.setting(f", {shape_text(tree.args[1])})")
            return ATOM, self.join(self.function(name), self.setting("("), self.write(tree.args[0]), as_)
        arguments: list[Any] = []
        for argument in tree.args:
            numeric = any(is_mark(part) for part in ast.walk(argument) if isinstance(part, ast.expr))
            arguments.append(self.write(argument) if numeric else self.setting(unparsed_index(argument)))
        for keyword in tree.keywords:
            if keyword.arg != "keepdims":
                arguments.append(self.setting(f"{keyword.arg}={self.keyword(tree, keyword)}"))
        between: list[Any] = []
        for argument in arguments:
            between += [self.setting(", "), argument] if between else [argument]
        return ATOM, self.join(self.function(name), self.setting("("), *between, self.setting(")"))

    def keyword(self, call: ast.Call, keyword: ast.keyword) -> str:
        """A setting's text; an axis is counted from the front."""
        rank = self.formula.ndim(call if call.func.id in COUNTED_IN_RESULT else call.args[0])  # type: ignore[attr-defined]
        if keyword.arg != "axis" or not rank:
            return unparsed_index(keyword.value)
        return str(from_the_front(self.formula.value(keyword.value), rank))

    def constant(self, value: Any) -> tuple[int, Any]:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return ATOM, self.setting(str(value))
        return (ATOM if value >= 0 else SIGN), self.setting(short(value))

    def quotient(self, left: ast.expr, right: ast.expr) -> tuple[int, Any]:
        return PRODUCT, self.join(self.write(left, PRODUCT), self.sign(" / "), self.write(right, SIGN))

    # What a subclass must say:

    def join(self, *parts: Any) -> Any:
        raise NotImplementedError

    def operand(self, operand: Operand) -> tuple[int, Any]:
        raise NotImplementedError

    def sign(self, text: str) -> Any:
        raise NotImplementedError

    def setting(self, text: str) -> Any:
        raise NotImplementedError

    def bracketed(self, written: Any) -> Any:
        return self.join(self.setting("("), written, self.setting(")"))

    def function(self, name: str) -> Any:
        return self.setting(name)

    def times(self, left: ast.expr, op: ast.operator, right: ast.expr) -> Any:
        raise NotImplementedError

    def power(self, base: ast.expr, exponent: ast.expr) -> tuple[int, Any]:
        raise NotImplementedError

    def view(self, inner: ast.expr, view: str) -> tuple[int, Any]:
        raise NotImplementedError


class Symbols(Writer):
    """One line of text in the manner of Python: `g * (1 − out ** 2)`."""

    def __init__(self, formula: Valued, gradient: str = "") -> None:
        super().__init__(formula)
        self.gradient = gradient  # what to call every gradient, instead of its own symbol

    def join(self, *parts: str) -> str:
        return "".join(parts)

    def operand(self, operand: Operand) -> tuple[int, str]:
        if operand.nested is not None:
            return self.unbracketed(operand.nested)
        if operand.is_gradient:
            return (ATOM, self.gradient) if self.gradient else (POWER, operand.symbol)
        return (ATOM if not operand.symbol.startswith(MINUS) else SIGN), operand.symbol

    def sign(self, text: str) -> str:
        return text

    setting = sign

    def times(self, left: ast.expr, op: ast.operator, right: ast.expr) -> str:
        return " @ " if isinstance(op, ast.MatMult) else " * "

    def power(self, base: ast.expr, exponent: ast.expr) -> tuple[int, str]:
        return POWER, f"{self.write(base, ATOM)} ** {self.write(exponent, SIGN)}"

    def view(self, inner: ast.expr, view: str) -> tuple[int, str]:
        return ATOM, f"{self.write(inner, ATOM)}.{view}"


class Numbers(Writer):
    """The same line with values in the operands' places, as a list of pieces."""

    def join(self, *parts: list[Piece]) -> list[Piece]:
        return [piece for part in parts for piece in part]

    def operand(self, operand: Operand) -> tuple[int, list[Piece]]:
        return (SIGN if is_negative(operand.value) else ATOM), [Number(operand.value, operand.is_gradient)]

    def unbracketed(self, tree: ast.expr) -> tuple[int, list[Piece]]:
        match tree:
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(number) | float(number))):
                return SIGN, [Number(-number)]  # a number like another, not a sign before one
        return super().unbracketed(tree)

    def bracketed(self, written: list[Piece]) -> list[Piece]:
        if len(written) == 1 and isinstance(written[0], Number) and np.ndim(written[0].value) == 0:
            return [Number(written[0].value, written[0].is_gradient, bracketed=True)]
        return ["(", *written, ")"]

    def sign(self, text: str) -> list[Piece]:
        return [text]

    setting = sign

    def times(self, left: ast.expr, op: ast.operator, right: ast.expr) -> list[Piece]:
        return [product_sign(self.formula, left, op, right)]

    def power(self, base: ast.expr, exponent: ast.expr) -> tuple[int, list[Piece]]:
        raised = self.formula.value(exponent) if not has_marks(exponent) else None
        below = self.write(base, ATOM)
        if len(below) == 1 and isinstance(below[0], Number) and has_power(below[0].value):
            below = self.bracketed(below)  # (5×10⁻⁶)²
        if isinstance(raised, int) or (isinstance(raised, float) and raised.is_integer()):
            return POWER, [*below, str(int(raised)).translate(SUPERSCRIPTS)]
        return POWER, [*below, " ^ ", *self.write(exponent, SIGN)]

    def view(self, inner: ast.expr, view: str) -> tuple[int, list[Piece]]:
        operand = operand_of(self.formula, inner)
        if operand is None:
            return ATOM, [*self.write(inner, ATOM), "ᵀ"]
        turned = np.transpose(operand.value) if view == "T" else np.matrix_transpose(operand.value)
        return ATOM, [Number(turned, operand.is_gradient)]


def product_sign(formula: Valued, left: ast.expr, op: ast.operator, right: ast.expr) -> str:
    """`·` for a matrix product, `⊙` entry by entry, `×` where a plain number takes part."""
    if isinstance(op, ast.MatMult):
        return " · "
    return " ⊙ " if formula.ndim(left) and formula.ndim(right) else " × "


def unparsed(tree: ast.expr) -> str:
    return ast.unparse(ast.fix_missing_locations(tree)).replace("-", MINUS)


def index_text(index: ast.expr) -> str:
    """What stands between the brackets of `x[:, 1:3]`."""
    if isinstance(index, ast.Subscript) and isinstance(index.value, ast.Name) and index.value.id == "s_":
        index = index.slice
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    return ", ".join(map(unparsed_index, parts))


def shape_text(shape: ast.expr) -> str:
    """`(2, 3)` as `2×3`."""
    return unparsed_index(shape).strip("()").replace(", ", "×").rstrip(",")


def unparsed_index(tree: ast.expr) -> str:
    """A shape, axis or part of an index as people write it: without the brackets of a lone tuple, long arrays by their
    ends."""
    text = unparsed(tree.elts[0] if isinstance(tree, ast.Tuple) and len(tree.elts) == 1 else tree)
    text = re.sub(r"\barray\((\[[^()]*\])\)", r"\1", text)
    return text if len(text) <= 40 else f"{text[:22]}…{text[-12:]}"
