"""Expressions as a person would have written them: `K.T`, `sum(x)`, `softmax(s)`.

The engine keeps every setting, normalised; a reader wants to see only those that say something.
"""

from __future__ import annotations

import ast
import copy
import functools
import inspect
from typing import Any

from autograd.expr import Expr
from autograd.op import OPS


def tidy(expression: Expr, rank: int = 2, brief: bool = False) -> str:
    """The text of an expression whose operand has so many axes; `brief` leaves all settings out.

    >>> from autograd import sum
    >>> tidy(sum(Expr("x", [[1.0]])))
    'sum(x)'
    """
    tree = _Tidy(rank, brief).visit(copy.deepcopy(expression.tree))
    return ast.unparse(ast.fix_missing_locations(tree))


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
        """A setting that the op would have without being told."""
        if self.brief:
            return True
        setting, default = _constant(keyword.value), _defaults(name).get(keyword.arg or "", keyword)
        if keyword.arg == "axis" and default is None and isinstance(setting, tuple):
            return setting == () or sorted(setting) == list(range(-self.rank, 0))
        return bool(setting == default or setting == (default,)) and not isinstance(setting, ast.AST)


@functools.cache
def _defaults(name: str) -> dict[str, Any]:
    """What an op's settings are when its caller names none."""
    op = OPS.get(name)
    if op is None:
        return {}
    parameters = inspect.signature(op.door or op.forward).parameters
    return {key: one.default for key, one in parameters.items() if one.default is not one.empty}


def _lone(tree: ast.expr) -> ast.expr:
    """`(1,)` as `1`."""
    return tree.elts[0] if isinstance(tree, ast.Tuple) and len(tree.elts) == 1 else tree


def _constant(tree: ast.expr) -> Any:
    """The constant a tree stands for, or the tree itself."""
    try:
        return ast.literal_eval(tree)
    except (ValueError, TypeError, SyntaxError):
        return tree
