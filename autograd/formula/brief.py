"""A rule short enough for an edge: `g / 4` for `broadcast_to(g / 4, (4,))`, `g into [1]` for a scatter.

What flows along an edge has the shape of the card it flows to, so that nothing on the edge has to say so.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from autograd.drawing.scene import LONGEST_LABEL
from autograd.formula.operands import literal
from autograd.formula.text import ELLIPSIS, abridged
from autograd.op import OPS

SAME_NUMBERS = ("broadcast_to", "reshape", "expand_dims", "squeeze")  # ops that change nothing but the shape
COMPARISONS = {"equal": ast.Eq, "not_equal": ast.NotEq}
KNOWN_WORDS = ("outer", "array")  # functions that are no ops, and that readers know nevertheless


def in_brief(tree: ast.expr, ndim: Callable[[ast.expr], int]) -> str:
    """The text of a rule on an edge; "…" if the rule cannot be read, only run. The tree itself is used up.

    `ndim` tells how many axes an operand has, 0 where that is not known.
    """
    if not all(_is_known(part) for part in ast.walk(tree) if isinstance(part, ast.Call)):
        return ELLIPSIS
    brief = _Brief(ndim)
    match tree:
        case ast.Call(func=ast.Name(id="scatter"), args=[sent, place, _]):
            return f"{ast.unparse(brief.bare(sent))} into [{_index_text(place)}]"
    return ast.unparse(brief.bare(tree))


def is_readable(label: str) -> bool:
    """Is most of it left where it is shortened to fit an edge?"""
    return label != ELLIPSIS and 2 * len(abridged(label, LONGEST_LABEL)) >= len(label)


def _is_known(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) and (call.func.id in OPS or call.func.id in KNOWN_WORDS)


def _index_text(place: ast.expr) -> str:
    """What `s_[:, 0:2]` says between its brackets; a plain index is its own text."""
    match place:
        case ast.Subscript(value=ast.Name(id="s_"), slice=inside):
            place = inside
    return ", ".join(map(ast.unparse, place.elts)) if isinstance(place, ast.Tuple) else ast.unparse(place)


class _Brief(ast.NodeTransformer):
    def __init__(self, ndim: Callable[[ast.expr], int]) -> None:
        self.ndim = ndim

    def bare(self, tree: ast.expr) -> ast.expr:
        """Without changes of shape outside, where the surroundings tell the shape."""
        match tree:
            case ast.Call(func=ast.Name(id=name), args=[inner, *_]) if name in SAME_NUMBERS:
                return self.bare(inner)
            case ast.Attribute(value=inner, attr=view):
                return ast.Attribute(self.bare(inner), view, ast.Load())
        bare: ast.expr = self.visit(tree)
        return bare

    def visit_Call(self, node: ast.Call) -> Any:
        match node:
            case ast.Call(func=ast.Name(id="broadcast_to")):
                return self.bare(node)
            case ast.Call(func=ast.Name(id=name), args=[left, right]) if name in COMPARISONS:
                return ast.Compare(self.visit(left), [COMPARISONS[name]()], [self.visit(right)])
            case ast.Call(func=ast.Name(id="where"), args=[ast.Call(func=ast.Name(id="equal")), ast.Constant(), usual]):
                return self.visit(usual)  # a guard against dividing by zero
        return self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        match node:
            case ast.BinOp(left=left, op=ast.Mult() | ast.Div(), right=ast.Constant(value=1)):
                return self.visit(left)
            case ast.BinOp(left=left, op=ast.MatMult(), right=right):
                return ast.BinOp(self.bare(left), ast.MatMult(), self.bare(right))
        return self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        """`g[..., 1, :]` of a matrix as `g[1]`."""
        self.generic_visit(node)
        places = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if _is_dots(places[0]) and self.ndim(node.value) == len(places) - 1:
            while len(places) > 2 and ast.unparse(places[-1]) == ":":
                places = places[:-1]
            node.slice = ast.Tuple(places[1:], ast.Load()) if len(places) > 2 else places[1]
        return node

    def visit_Constant(self, node: ast.Constant) -> Any:
        """A number as the cards write it: `1`, `1.128`, `√2`."""
        return ast.Name(literal(node.value), ast.Load()) if isinstance(node.value, float) else node


def _is_dots(place: ast.expr) -> bool:
    return isinstance(place, ast.Constant) and place.value is Ellipsis
