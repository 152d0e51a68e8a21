"""Formulas made shorter without changing what they say: constants worked out, repeated parts named."""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from autograd.expr import Expr
from autograd.op import OPS
from autograd.show.stepping.formula import MARK, Formula, NoNumbers, Operand, Symbols
from autograd.show.tidy import tidied

LONGEST_RULE = 64  # characters of a formula before its repeated parts get names
SHORTEST_PART = 10  # characters of a repeated part that earns one
PART_NAMES = "uvwpqrst"
HELPERS = ("norm_pull", "gelu_slope")  # ops that stand in rules only; a reader wants to see inside


def simplified(tree: ast.expr, operands: Mapping[str, Operand]) -> ast.expr:
    """`2 * x ** (2 - 1)` as `2 * x`; products with a vector as people write them, `W @ g` and `outer(x, g)`."""
    result: ast.expr = _Simplify(operands).visit(tree)
    return result


class _Simplify(ast.NodeTransformer):
    def __init__(self, operands: Mapping[str, Operand]) -> None:
        self.operands = operands

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.op, ast.Mult):
            column, row = self._stood_up(node.left, -1), self._stood_up(node.right, -2)
            if column is not None and row is not None:
                return ast.Call(ast.Name("outer", ast.Load()), [column, row], [])
        left, right = _constant(node.left), _constant(node.right)
        if left is not None and right is not None and isinstance(node.op, ast.Add | ast.Sub):
            return _number(left + right if isinstance(node.op, ast.Add) else left - right)
        if right == 1 and isinstance(node.op, ast.Pow):
            return node.left
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        axes = [keyword.value for keyword in node.keywords if keyword.arg == "axis"]
        along = _constant(axes[0]) if axes else None
        match node:
            case ast.Call(func=ast.Name(id="sum"), args=[ast.BinOp(left=matrix, op=ast.Mult(), right=spread)]):
                if along == -1 and (vector := self._stood_up(spread, -2)) is not None:
                    return ast.BinOp(matrix, ast.MatMult(), vector)
                if along == -2 and (vector := self._stood_up(spread, -1)) is not None:
                    return ast.BinOp(ast.Attribute(matrix, "T", ast.Load()), ast.MatMult(), vector)
        return node

    def _stood_up(self, tree: ast.expr, axis: int) -> ast.expr | None:
        """The vector in `expand_dims(v, axis)`, if it is that."""
        match tree:
            case ast.Call(func=ast.Name(id="expand_dims"), args=[ast.Name(id=mark)], keywords=[setting]):
                known = mark in self.operands and np.ndim(self.operands[mark].value) == 1
                return tree.args[0] if known and _constant(setting.value) == axis else None
        return None


def _constant(tree: ast.expr) -> float | None:
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
        inner = _constant(tree.operand)
        return None if inner is None else -inner
    if isinstance(tree, ast.Constant) and isinstance(tree.value, int | float) and not isinstance(tree.value, bool):
        return float(tree.value)
    return None


def _number(value: float) -> ast.expr:
    size: Any = int(abs(value)) if float(value).is_integer() else abs(value)
    return ast.Constant(size) if value >= 0 else ast.UnaryOp(ast.USub(), ast.Constant(size))


def expanded(formula: Formula) -> Formula:
    """A rule with the definition of a helper (`gelu_slope`, `norm_pull`) in the helper's place."""
    expand = _Expand(formula)
    tree = expand.visit(formula.tree)
    return Formula(tree, formula.operands) if expand.did else formula


class _Expand(ast.NodeTransformer):
    def __init__(self, formula: Formula) -> None:
        self.formula, self.did = formula, False

    def visit_Call(self, node: ast.Call) -> ast.expr:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        definition = OPS[name].definition if name in HELPERS else None
        if definition is None:
            self.generic_visit(node)
            return node
        self.did = True
        with np.errstate(all="ignore"):
            given = [Expr(self.visit(argument), self.formula.value(argument)) for argument in node.args]
            settings = {str(keyword.arg): self.formula.value(keyword.value) for keyword in node.keywords}
            whole: Expr = definition(*given, **settings)
        return tidied(whole.tree, max(e.ndim for e in given))


def with_parts(formula: Formula, taken: Callable[[str], bool]) -> tuple[Formula, list[tuple[str, Formula]]]:
    """A long formula with its repeated parts named, and those parts: `u * (g − v)` with `u = …`, `v = …`."""
    if len(formula.text) <= LONGEST_RULE:
        return formula, []
    operands = dict(formula.operands)
    trees: list[ast.expr] = [copy.deepcopy(formula.tree)]  # the formula, then its parts
    names = []
    for name in (name for name in PART_NAMES if not taken(name)):
        repeated = _largest_repeated(trees, operands)
        if repeated is None:
            break
        try:
            value = Formula(repeated, operands).value()
        except NoNumbers:
            break
        mark = f"{MARK}part-{name}"
        operands[mark] = Operand(name, value)
        replace = _Replace(ast.dump(repeated), mark)
        trees = [replace.visit(tree) for tree in trees] + [repeated]
        names.append(name)
    return Formula(trees[0], operands), [(name, Formula(tree, operands)) for name, tree in zip(names, trees[1:])]


def _largest_repeated(trees: list[ast.expr], operands: Mapping[str, Operand]) -> ast.expr | None:
    counts: Counter[str] = Counter()
    found: dict[str, ast.expr] = {}
    for part in (part for tree in trees for part in ast.walk(tree)):
        if isinstance(part, ast.Call | ast.BinOp):
            key = ast.dump(part)
            counts[key] += 1
            found[key] = part
    whole = {ast.dump(tree) for tree in trees}
    sizes = {
        key: len(Symbols(Formula(found[key], operands)).write(found[key]))
        for key, count in counts.items()
        if count > 1 and key not in whole
    }
    sizes = {key: size for key, size in sizes.items() if size >= SHORTEST_PART}
    return copy.deepcopy(found[max(sizes, key=lambda key: sizes[key])]) if sizes else None


class _Replace(ast.NodeTransformer):
    """Puts a mark in the place of every subtree that reads like `key`."""

    def __init__(self, key: str, mark: str) -> None:
        self.key, self.mark = key, mark

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, ast.Call | ast.BinOp) and ast.dump(node) == self.key:
            return ast.Name(self.mark, ast.Load())
        return super().visit(node)
