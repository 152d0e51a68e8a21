"""Formulas made shorter without changing what they say: constants worked out, repeated parts named."""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from autograd.expr import Expr
from autograd.formula.formula import Formula
from autograd.formula.tidy import in_matrix_terms, tidied
from autograd.formula.valued import MARK, NoNumbers, Operand
from autograd.formula.writers import Symbols
from autograd.op import OPS

LONGEST_RULE = 64  # characters of a formula before its repeated parts get names
SHORTEST_PART = 10  # characters of a repeated part that earns one
PART_NAMES = "uvwpqrst"
HELPERS = ("norm_pull", "gelu_slope")  # ops that stand in rules only; a reader wants to see inside


def simplified(tree: ast.expr, operands: Mapping[str, Operand]) -> ast.expr:
    """`2 * x ** (2 - 1)` as `2 * x`; products with a vector as people write them, `W @ g` and `outer(x, g)`."""

    def ndim(part: ast.expr) -> int:
        known = isinstance(part, ast.Name) and part.id in operands
        return int(np.ndim(operands[part.id].value)) if known else 0  # type: ignore[attr-defined]

    return in_matrix_terms(tree, ndim)


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
