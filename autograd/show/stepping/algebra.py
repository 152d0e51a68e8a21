"""Formulas made shorter without changing what they say: constants worked out, repeated parts named."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable
from typing import Any

from autograd.show.stepping.formula import MARK, Formula, NoNumbers, Operand, Symbols

LONGEST_RULE = 64  # characters of a formula before its repeated parts get names
SHORTEST_PART = 10  # characters of a repeated part that earns one
PART_NAMES = "uvwpqrst"


def simplified(tree: ast.expr) -> ast.expr:
    """`2 * x ** (2 - 1)` as `2 * x`. Only plain constants are touched."""
    result: ast.expr = _Simplify().visit(tree)
    return result


class _Simplify(ast.NodeTransformer):
    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        left, right = _constant(node.left), _constant(node.right)
        if left is not None and right is not None and isinstance(node.op, ast.Add | ast.Sub):
            return _number(left + right if isinstance(node.op, ast.Add) else left - right)
        if right == 1 and isinstance(node.op, ast.Pow):
            return node.left
        return node


def _constant(tree: ast.expr) -> float | None:
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
        inner = _constant(tree.operand)
        return None if inner is None else -inner
    if isinstance(tree, ast.Constant) and type(tree.value) in (int, float):
        return float(tree.value)
    return None


def _number(value: float) -> ast.expr:
    size: Any = int(abs(value)) if float(value).is_integer() else abs(value)
    return ast.Constant(size) if value >= 0 else ast.UnaryOp(ast.USub(), ast.Constant(size))


def with_parts(formula: Formula, taken: Callable[[str], bool]) -> tuple[Formula, list[tuple[str, Formula]]]:
    """A long formula with its repeated parts named, and those parts: `u * (g − v)` with `u = …`, `v = …`."""
    if len(formula.text) <= LONGEST_RULE:
        return formula, []
    operands = dict(formula.operands)
    names = (name for name in PART_NAMES if not taken(name))
    tree, parts = formula.tree, []
    for name in names:
        repeated = _largest_repeated(Formula(tree, operands))
        if repeated is None:
            break
        part = Formula(repeated, operands)
        try:
            value = part.value()
        except NoNumbers:
            break
        mark = f"{MARK}part-{name}"
        operands = {**operands, mark: Operand(name, value)}
        tree = _Replace(ast.dump(repeated), mark).visit(tree)
        parts = [(other, Formula(_Replace(ast.dump(repeated), mark).visit(whole.tree), operands)) for other, whole in parts]
        parts.append((name, part))
    return Formula(tree, operands), [(name, Formula(part.tree, operands)) for name, part in reversed(parts)]


def _largest_repeated(formula: Formula) -> ast.expr | None:
    counts: Counter[str] = Counter()
    trees: dict[str, ast.expr] = {}
    for part in ast.walk(formula.tree):
        if isinstance(part, ast.Call | ast.BinOp):
            key = ast.dump(part)
            counts[key] += 1
            trees[key] = part
    sizes = {key: len(Symbols(formula).write(trees[key])) for key, count in counts.items() if count > 1}
    sizes = {key: size for key, size in sizes.items() if size >= SHORTEST_PART}
    return trees[max(sizes, key=lambda key: sizes[key])] if sizes else None


class _Replace(ast.NodeTransformer):
    """Puts a mark in the place of every subtree that reads like `key`."""

    def __init__(self, key: str, mark: str) -> None:
        self.key, self.mark = key, mark

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, ast.Call | ast.BinOp) and ast.dump(node) == self.key:
            return ast.Name(self.mark, ast.Load())
        return super().visit(node)
