"""Expressions as a person would have written them: `K.T`, `sum(x)`, `context[1]`."""

from __future__ import annotations

import ast
import copy
from typing import Any

from autograd.expr import Expr
from autograd.op import OPS


def tidy(expression: Expr, rank: int = 2, brief: bool = False) -> str:
    """The text of an expression whose operand has so many axes; `brief` leaves all settings out.

    >>> from autograd import sum
    >>> tidy(sum(Expr("x", [[1.0]])))
    'sum(x)'
    """
    return ast.unparse(tidied(expression.tree, rank, brief))


def tidied(tree: ast.expr, rank: int = 2, brief: bool = False) -> ast.expr:
    """The same as a tree; the one that was given stays as it is."""
    tidy_tree: ast.expr = ast.fix_missing_locations(_Tidy(rank, brief).visit(copy.deepcopy(tree)))
    return tidy_tree


class _Tidy(ast.NodeTransformer):
    def __init__(self, rank: int, brief: bool) -> None:
        self.rank, self.brief = rank, brief

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        axes = _constant(node.args[1]) if name == "transpose" and len(node.args) == 2 else None
        if isinstance(axes, tuple) and axes == tuple(range(-1, -len(axes) - 1, -1)):
            return self.visit_Attribute(ast.Attribute(node.args[0], "T", ast.Load()))
        if name == "swapaxes" and {_constant(axis) for axis in node.args[1:]} == {-1, -2}:
            return self.visit_Attribute(ast.Attribute(node.args[0], "mT", ast.Load()))
        node.args = [arg for arg in node.args if _constant(arg) is not None]
        node.keywords = [keyword for keyword in node.keywords if not self._says_nothing(name, keyword)]
        for keyword in node.keywords:
            keyword.value = _lone(keyword.value)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        if node.attr == "mT" and self.rank <= 2:
            node.attr = "T"
        if isinstance(node.value, ast.Attribute) and node.attr == node.value.attr in ("T", "mT"):
            return node.value.value  # turned twice
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        node.slice = _lone(node.slice)
        return node

    def _says_nothing(self, name: str, keyword: ast.keyword) -> bool:
        """Settings left out by request, and a reduction's axis that names them all."""
        if self.brief:
            return True
        axes = _constant(keyword.value) if keyword.arg == "axis" else None
        named = [axes] if isinstance(axes, int) else sorted(axes) if isinstance(axes, tuple) else None
        everything = named == list(range(-self.rank, 0))
        return everything and name in OPS and OPS[name].defaults.get("axis", 0) is None


def _lone(tree: ast.expr) -> ast.expr:
    """`(1,)` as `1`."""
    return tree.elts[0] if isinstance(tree, ast.Tuple) and len(tree.elts) == 1 else tree


def _constant(tree: ast.expr) -> Any:
    """The constant a tree stands for, or the tree itself."""
    try:
        return ast.literal_eval(tree)
    except (ValueError, TypeError, SyntaxError):
        return tree
