"""Expressions as a person would have written them: `K.T`, `sum(x)`, `context[1]`."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np

from autograd.expr import UNKNOWN, Expr
from autograd.op import OPS, Op

COUNTED_IN_RESULT = ("expand_dims", "stack")  # ops whose axis is one of the result's, not of their operand's


def tidy(expression: Expr, rank: int = 2, brief: bool = False) -> str:
    """The text of an expression whose operand has so many axes; `brief` leaves all settings out but an axis that
    is one of several.

    >>> from autograd import sum
    >>> tidy(sum(Expr("x", [[1.0]])))
    'sum(x)'
    """
    return ast.unparse(tidied(expression.tree, rank, brief))


def tidied(tree: ast.expr, rank: int = 2, brief: bool = False) -> ast.expr:
    """The same as a tree; the one that was given stays as it is."""
    tidy_tree: ast.expr = ast.fix_missing_locations(_Tidy(rank, brief).visit(copy.deepcopy(tree)))
    return tidy_tree


def from_the_front(axes: Any, rank: int) -> Any:
    """An axis or several as people count them: the last axis of a matrix, -1 to the ops, is 1."""
    if isinstance(axes, tuple):
        return tuple(axis % rank for axis in axes)
    return axes % rank if isinstance(axes, int) else axes


class Ranked(Expr):
    """An Expr whose calls remember how many axes there are to count in: `counted_from_the_front` asks them.

    The axes themselves stay negative until then, since `in_matrix_terms` looks for the last and the last but one.
    """

    __slots__ = ()

    @staticmethod
    def __apply__(op: Op, inputs: tuple[Any, ...]) -> Ranked:
        if op.name == "sum_to":
            return summed_to(inputs[0], op.settings["shape"])
        whole = Expr.__apply__(op, inputs)
        counted: Any = whole if op.name in COUNTED_IN_RESULT else inputs[0]
        rank = counted.ndim if isinstance(counted, Expr) else np.ndim(counted)
        return Ranked(with_rank(whole.tree, rank), whole.value)

    def _view(self, attribute: str, view: Callable[[Any], Any]) -> Ranked:
        turned = super()._view("T" if attribute == "mT" and self.ndim == 2 else attribute, view)
        return Ranked(turned.tree, turned.value)


E = TypeVar("E", bound=Expr)


def summed_to(part: E, shape: tuple[int, ...]) -> E:
    """An expression summed over the axes that broadcasting added to an array of that shape."""
    if part.value is UNKNOWN or part.shape == shape:
        return part
    lead = part.ndim - len(shape)
    with np.errstate(all="ignore"):
        if lead > 0:
            part = OPS["sum"](part, axis=tuple(range(lead)))
        stretched = tuple(i for i, n in enumerate(shape) if n == 1 and part.shape[i] != 1)
        return OPS["sum"](part, axis=stretched, keepdims=True) if stretched else part


def with_rank(tree: ast.expr, rank: int) -> ast.expr:
    """The tree of an op just written out: its calls that have an axis now know the rank; its operands' did before."""
    for call in _calls_with_axis(tree):
        if rank and not hasattr(call, "rank"):
            call.rank = rank  # type: ignore[attr-defined]
    return tree


def counted_from_the_front(tree: ast.expr) -> ast.expr:
    """`sum(x, axis=-2)` of a matrix as `sum(x, axis=0)`, in every call that knows its rank."""
    for call in _calls_with_axis(tree):
        rank = getattr(call, "rank", 0)
        for keyword in call.keywords:
            axes = _constant(keyword.value) if keyword.arg == "axis" and rank else None
            if isinstance(axes, int | tuple):
                keyword.value = Expr(repr(from_the_front(axes, rank))).tree
    return tree


def _calls_with_axis(tree: ast.expr) -> Iterator[ast.Call]:
    for part in ast.walk(tree):
        if isinstance(part, ast.Call) and any(keyword.arg == "axis" for keyword in part.keywords):
            yield part


def in_matrix_terms(tree: ast.expr, ndim: Callable[[ast.expr], int]) -> ast.expr:
    """Constants worked out, and products with a vector as people write them: `W @ g`, `outer(x, g)`.

    `ndim` tells how many axes an operand has, 0 where that is not known.
    """
    result: ast.expr = _InMatrixTerms(ndim).visit(tree)
    return result


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
        rank = getattr(node, "rank", self.rank)
        node.keywords = [keyword for keyword in node.keywords if not self._says_nothing(name, keyword, rank)]
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

    def _says_nothing(self, name: str, keyword: ast.keyword, rank: int) -> bool:
        """Settings left out by request, an axis where there is one only, and a reduction's that names them all."""
        if self.brief and (keyword.arg != "axis" or rank < 2):
            return True
        axes = _constant(keyword.value) if keyword.arg == "axis" else None
        named = [axes] if isinstance(axes, int) else sorted(axes) if isinstance(axes, tuple) else None
        everything = named in (list(range(-rank, 0)), list(range(rank)))
        return everything and name in OPS and OPS[name].defaults.get("axis", 0) is None


class _InMatrixTerms(ast.NodeTransformer):
    def __init__(self, ndim: Callable[[ast.expr], int]) -> None:
        self.ndim = ndim

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.op, ast.Mult):
            column = self._stood_up(node.left, -1)
            row = node.right if self.ndim(node.right) == 1 else self._stood_up(node.right, -2)
            if column is not None and row is not None:
                return ast.Call(ast.Name("outer", ast.Load()), [column, row], [])
        left, right = _number_of(node.left), _number_of(node.right)
        if left is not None and right is not None and isinstance(node.op, ast.Add | ast.Sub):
            return _written(left + right if isinstance(node.op, ast.Add) else left - right)
        if right == 1 and isinstance(node.op, ast.Pow):
            return node.left
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        axes = [keyword.value for keyword in node.keywords if keyword.arg == "axis"]
        along = _number_of(axes[0]) if axes else None
        match node:
            case ast.Call(func=ast.Name(id="sum"), args=[ast.BinOp(left=matrix, op=ast.Mult(), right=spread)]):
                if along == -1 and (vector := self._stood_up(spread, -2)) is not None:
                    return ast.BinOp(matrix, ast.MatMult(), vector)
                if along == -2 and (vector := self._stood_up(spread, -1)) is not None:
                    turned = "mT" if self.ndim(matrix) > 2 else "T"
                    return ast.BinOp(ast.Attribute(matrix, turned, ast.Load()), ast.MatMult(), vector)
        return node

    def _stood_up(self, tree: ast.expr, axis: int) -> ast.expr | None:
        """The vector in `expand_dims(v, axis)`, if it is that."""
        match tree:
            case ast.Call(func=ast.Name(id="expand_dims"), args=[vector], keywords=[setting]):
                return vector if self.ndim(vector) == 1 and _number_of(setting.value) == axis else None
        return None


def _number_of(tree: ast.expr) -> float | None:
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
        inner = _number_of(tree.operand)
        return None if inner is None else -inner
    if isinstance(tree, ast.Constant) and isinstance(tree.value, int | float) and not isinstance(tree.value, bool):
        return float(tree.value)
    return None


def _written(value: float) -> ast.expr:
    size: Any = int(abs(value)) if float(value).is_integer() else abs(value)
    return ast.Constant(size) if value >= 0 else ast.UnaryOp(ast.USub(), ast.Constant(size))


def _lone(tree: ast.expr) -> ast.expr:
    """`(1,)` as `1`."""
    return tree.elts[0] if isinstance(tree, ast.Tuple) and len(tree.elts) == 1 else tree


def _constant(tree: ast.expr) -> Any:
    """The constant a tree stands for, or the tree itself."""
    try:
        return ast.literal_eval(tree)
    except (ValueError, TypeError, SyntaxError):
        return tree
