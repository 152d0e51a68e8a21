"""One entry of a formula of arrays: the formula of scalars that makes it, `0 × 0.1 + 2 × 0.3`."""

from __future__ import annotations

import ast
import functools
import itertools
from collections.abc import Iterable
from typing import Any

import numpy as np

from autograd.formula.formula import Formula
from autograd.formula.valued import MARK, NoNumbers, Operand, has_marks, operand_of
from autograd.op import OPS

LONGEST_SUM = 8  # terms of a dot product that are spelled out


class Entries:
    """Rewrites a formula of arrays as the formula of scalars that makes one entry."""

    def __init__(self, formula: Formula) -> None:
        self.formula = formula
        self.operands: dict[str, Operand] = {}

    def at(self, index: tuple[int, ...]) -> Formula:
        return Formula(self.entry(self.formula.tree, index), self.operands)

    def entry(self, tree: ast.expr, index: tuple[int, ...]) -> ast.expr:
        if self.formula.ndim(tree) == 0 and not has_marks(tree):
            return tree
        match tree:
            case ast.BinOp(left=left, op=ast.MatMult(), right=right):
                return self.dot(left, right, index)
            case ast.BinOp(left=left, op=op, right=right):
                return ast.BinOp(self.entry(left, index), op, self.entry(right, index))
            case ast.UnaryOp(op=op, operand=inner):
                return ast.UnaryOp(op, self.entry(inner, index))
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return ast.Compare(self.entry(left, index), [op], [self.entry(right, index)])
            case ast.Call(func=ast.Name(id="sum")):
                return self.sum(tree, index)
            case ast.Call(func=ast.Name(id="outer"), args=[left, right]):
                return self.outer(left, right, index)
            case ast.Call(func=ast.Name(id=name), args=arguments) if name in OPS and OPS[name].door is None:
                return ast.Call(tree.func, [self.entry(argument, index) for argument in arguments], [])
        return self.number(tree, index)

    def number(self, tree: ast.expr, index: tuple[int, ...]) -> ast.expr:
        """The entry of a whole array, at an index that broadcasting may have stretched."""
        whole = operand_of(self.formula, tree)
        array = np.asarray(self.formula.value(tree) if whole is None else whole.value)
        own = index[len(index) - array.ndim :]
        if len(index) < array.ndim:
            raise NoNumbers("an entry of lower rank")
        picked = array[tuple(0 if size == 1 else i for i, size in zip(own, array.shape))]
        return self.scalar(picked, whole.is_gradient if whole else False)

    def scalar(self, number: Any, is_gradient: bool) -> ast.expr:
        mark = f"{MARK}{len(self.operands)}"
        self.operands[mark] = Operand("", number.item(), is_gradient)
        return ast.Name(mark, ast.Load())

    def dot(self, left: ast.expr, right: ast.expr, index: tuple[int, ...]) -> ast.expr:
        """Row times column, term by term."""
        a, b = (np.asarray(self.formula.value(side)) for side in (left, right))
        if a.ndim > 2 or b.ndim > 2:
            raise NoNumbers("a product of batches")
        row = a[index[0]] if a.ndim == 2 else a
        column = b[:, index[-1]] if b.ndim == 2 else b
        if not 0 < len(row) <= LONGEST_SUM:
            raise NoNumbers("too many terms")
        tints = [self._is_gradient(side) for side in (left, right)]
        return _added(
            ast.BinOp(self.scalar(x, tints[0]), ast.Mult(), self.scalar(y, tints[1])) for x, y in zip(row, column)
        )

    def outer(self, left: ast.expr, right: ast.expr, index: tuple[int, ...]) -> ast.expr:
        return ast.BinOp(self.entry(left, index[:1]), ast.Mult(), self.entry(right, index[1:]))

    def sum(self, tree: ast.Call, index: tuple[int, ...]) -> ast.expr:
        """The terms along the summed axis, if they are few."""
        settings = {keyword.arg: self.formula.value(keyword.value) for keyword in tree.keywords}
        inner = np.asarray(self.formula.value(tree.args[0]))
        axis = settings.get("axis", tuple(range(-inner.ndim, 0)))
        axes = sorted(a % inner.ndim for a in (axis if isinstance(axis, tuple) else (axis,)))
        if not axes or np.prod([inner.shape[a] for a in axes]) > LONGEST_SUM:
            return self.number(tree, index)
        kept = iter(index[len(index) - np.ndim(self.formula.value(tree)) :])
        place: list[Any] = []
        for a in range(inner.ndim):
            if a in axes:
                place.append(range(inner.shape[a]))
                if settings.get("keepdims"):
                    next(kept)
            else:
                place.append([next(kept)])
        return _added(self.entry(tree.args[0], at) for at in itertools.product(*place))

    def _is_gradient(self, tree: ast.expr) -> bool:
        operand = operand_of(self.formula, tree)
        return operand is not None and operand.is_gradient


def _added(terms: Iterable[ast.expr]) -> ast.expr:
    terms = list(terms)
    return functools.reduce(lambda total, term: ast.BinOp(total, ast.Add(), term), terms) if terms else ast.Constant(0)
