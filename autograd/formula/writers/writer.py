"""How a formula is written: the walk over its tree that all writers share.

A writer walks an Expr, fills in how each op reads ("x * y", "sum(x, axis=axis)"), and adds brackets where needed.
Subclasses write the parts: `symbols` (text and code), `arithmetic` (numbers), `maths` (MathML, LaTeX).
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from autograd.expr import Expr
from autograd.op import OPS, template

from ..numbers import MINUS, dimensions
from .settings import (
    axes_text,
    from_the_front,
    index_text,
    is_default,
    short_array,
    turned_once,
    without_dots,
    without_new_axes,
)

# How tightly a formula holds together, loosest first; SAID is a phrase in words.
SAID, COMPARED, SUM, PRODUCT, SIGN, POWER, ATOM = range(7)

INFIX = {ast.Add: (" + ", SUM, SUM, SUM), ast.Sub: (f" {MINUS} ", SUM, SUM, PRODUCT)}
COMPARISONS = {ast.Lt: "<", ast.LtE: "≤", ast.Gt: ">", ast.GtE: "≥", ast.Eq: "=", ast.NotEq: "≠"}
LONGEST_SETTING = 40  # characters of an index or another setting

_BRACKETS = re.compile(r"\([^()[\]{}]*\)|\[[^()[\]{}]*\]|\{[^()[\]{}]*\}")
_OPERATOR = re.compile(f"[-{MINUS}+*/@^%×·⊙÷<>=≤≥≠]")
_SUM_SIGN = "Σ "  # before what is summed


class Writer:
    """Walks a formula. `write(e, outer)` brackets it if it holds together less tightly than `outer`."""

    after_plus = SUM  # how tightly a term must hold together to stand without brackets

    def write(self, e: Expr, outer: int = SAID) -> Any:
        tightness, written = self.unbracketed(e)
        return self.bracketed(written) if tightness < outer else written

    def line(self, e: Expr) -> Any:
        """A whole line. Inside of one a transpose may be written as its turned numbers; alone it is one, `[1 2]ᵀ`."""
        inner, view = turned_once(e)
        return self.view(inner, view)[1] if view else self.write(e)

    def unbracketed(self, e: Expr) -> tuple[int, Any]:
        if e.op is None:
            return self.symbol(e) if e.name else self.number(e.value)
        if e.op is OPS["add"]:
            return self.added_up(e)
        found = self.looked(e) if e.op.look else None
        return self.filled(template(e.op.reads), e, bindings(e)) if found is None else found

    def added_up(self, e: Expr) -> tuple[int, Any]:
        """A sum, in one loop over its terms: one of 128 is nested more deeply than Python calls."""
        terms: list[Expr] = []
        while e.op is OPS["add"]:
            e, term = e.args
            terms.append(term)
        parts = [self.write(e, SUM)]
        for term in reversed(terms):
            parts += [self.sign(" + "), self.write(term, self.after_plus)]
        return SUM, self.join(*parts)

    def looked(self, e: Expr) -> tuple[int, Any] | None:
        """The look that the op's block names, if this writer has it."""
        assert e.op is not None
        if e.op.look and not e.op.look.isidentifier():
            return self.filled(template(e.op.look), e, bindings(e))
        look = getattr(self, f"look_{e.op.look}", None)
        return None if look is None else look(e)

    # --- how an op reads, with formulas in its operands' places ------------------------------------------------

    def filled(self, reads: ast.expr, e: Expr, bound: Mapping[str, Any]) -> tuple[int, Any]:
        match reads:
            case ast.Name(id=name) if isinstance(bound.get(name), Expr):
                return self.unbracketed(bound[name])
            case ast.Name(id=name) if name in bound:
                return ATOM, self.setting(self.setting_text(e, name, bound[name]))
            case ast.BinOp(left=left, right=ast.Name(id=name)) if is_missing(bound.get(name)):
                return self.filled(left, e, bound)
            case ast.BinOp(left=left, op=op, right=right):
                return self.infix(op, Side(self, left, e, bound), Side(self, right, e, bound))
            case ast.UnaryOp(op=ast.USub(), operand=inner):
                return SIGN, self.join(self.sign(MINUS), self.part(inner, e, bound, SIGN))
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                sides = self.part(left, e, bound, SUM), self.part(right, e, bound, SUM)
                return COMPARED, self.join(sides[0], self.sign(f" {COMPARISONS[type(op)]} "), sides[1])
            case ast.Attribute(value=inner, attr=view):
                return ATOM, self.join(self.part(inner, e, bound, ATOM), self.setting(f".{view}"))
            case ast.Subscript(value=inner, slice=ast.Name(id=name)) if not isinstance(bound.get(name), Expr):
                place = self.setting(f"[{self.setting_text(e, name, bound[name])}]")
                return ATOM, self.join(self.part(inner, e, bound, ATOM), place)
            case ast.Subscript(value=inner, slice=index):
                inside = self.part(index, e, bound, SAID)
                return ATOM, self.join(self.part(inner, e, bound, ATOM), self.setting("["), inside, self.setting("]"))
            case ast.Call(func=func, args=args, keywords=keywords):
                head = self.function(func.id) if isinstance(func, ast.Name) else self.part(func, e, bound, ATOM)
                parts = [*self.arguments(args, e, bound), *self.keywords(keywords, e, bound)]
                return ATOM, self.join(head, self.setting("("), *self.listed(parts), self.setting(")"))
            case ast.List(elts=parts) | ast.Tuple(elts=parts):
                inside = self.listed(self.arguments(parts, e, bound))
                return ATOM, self.join(self.setting("["), *inside, self.setting("]"))
            case ast.Constant(value=value):
                return self.number(value)
        return ATOM, self.setting(ast.unparse(reads).replace("-", MINUS))

    def part(self, reads: ast.expr, e: Expr, bound: Mapping[str, Any], outer: int) -> Any:
        tightness, written = self.filled(reads, e, bound)
        return self.bracketed(written) if tightness < outer else written

    def infix(self, op: ast.operator, left: Side, right: Side) -> tuple[int, Any]:
        if type(op) in INFIX:
            sign, tightness, before, after = INFIX[type(op)]
            return tightness, self.join(left.write(before), self.sign(sign), right.write(after))
        if isinstance(op, ast.Pow):
            return self.power(left, right)
        if isinstance(op, ast.Div):
            return self.quotient(left, right)
        return PRODUCT, self.join(left.write(PRODUCT), self.sign(self.times(op, left, right)), right.write(SIGN))

    def quotient(self, left: Side, right: Side) -> tuple[int, Any]:
        return PRODUCT, self.join(left.write(PRODUCT), self.sign(" / "), right.write(SIGN))

    def power(self, base: Side, exponent: Side) -> tuple[int, Any]:
        return POWER, self.join(base.write(ATOM), self.sign(" ** "), exponent.write(SIGN))

    def times(self, op: ast.operator, left: Side, right: Side) -> str:
        """The sign of a product."""
        return " @ " if isinstance(op, ast.MatMult) else " * "

    def arguments(self, args: Iterable[ast.expr], e: Expr, bound: Mapping[str, Any]) -> list[Any]:
        """Arguments; `*xs` stands for all of them, and an input that was not given is left out."""
        written: list[Any] = []
        for arg in args:
            if isinstance(arg, ast.Starred) and isinstance(arg.value, ast.Name):
                written += [self.write(x) for x in bound[arg.value.id]]
            elif not (isinstance(arg, ast.Name) and is_missing(bound.get(arg.id))):
                written.append(self.part(arg, e, bound, SAID))
        return written

    def keywords(self, keywords: Iterable[ast.keyword], e: Expr, bound: Mapping[str, Any]) -> list[Any]:
        """Settings that are not defaults."""
        found = []
        for keyword in keywords:
            name = keyword.value.id if isinstance(keyword.value, ast.Name) else ""
            if name not in e.settings:
                found.append(self.join(self.setting(f"{keyword.arg}="), self.part(keyword.value, e, bound, SAID)))
            elif not self.is_implied(e, name):
                found.append(self.setting(self.keyword_text(e, name, e.settings[name])))
        return found

    def is_implied(self, e: Expr, name: str) -> bool:
        return name == "keepdims" or is_default(e, name) or (name == "axis" and e.settings[name] == ())

    def listed(self, parts: list[Any]) -> list[Any]:
        written: list[Any] = []
        for part in parts:
            written += [self.setting(", "), part] if written else [part]
        return written

    # --- settings ----------------------------------------------------------------------------------------------

    def keyword_text(self, e: Expr, name: str, setting: Any) -> str:
        """`axis=0`, counted from the front; `axes 0 and 1`; `slope=0.3`."""
        if name == "axis" and isinstance(setting, tuple | int):
            return axes_text(from_the_front(e, setting), "axis=")
        return f"{name}={self.setting_text(e, name, setting)}"

    def setting_text(self, e: Expr, name: str, setting: Any) -> str:
        """A setting where it stands by position: an index, a shape, a text."""
        if name == "shape" and isinstance(setting, tuple):
            return dimensions(setting)
        if name == "index":
            return index_text(without_dots(setting, e.args[0]), self.array_text)
        if isinstance(setting, np.ndarray):
            return self.array_text(setting)
        text = repr(setting[0] if isinstance(setting, tuple) and len(setting) == 1 else setting)
        text = text.replace("-", MINUS) if not isinstance(setting, str) else text
        return text if len(text) <= LONGEST_SETTING else f"{text[:22]}…{text[-12:]}"

    def array_text(self, array: Any) -> str:
        """An array among the settings: in full if it is short."""
        return short_array(array)

    # --- looks that an op's block may name ---------------------------------------------------------------------

    def look_transpose(self, e: Expr) -> tuple[int, Any] | None:
        """`K.T`; turned twice, K itself."""
        inner, view = turned_once(e)
        if not view:
            return None if inner is e else self.unbracketed(inner)
        return self.turned(inner, view) or self.view(inner, view)

    def look_same(self, e: Expr) -> tuple[int, Any]:
        """An op that only changes a shape which is clear from its place."""
        return self.unbracketed(e.args[0])

    def look_reshaped(self, e: Expr) -> tuple[int, Any]:
        shape = self.setting(f", {dimensions(e.settings['shape'])}")
        return ATOM, self.join(self.function("reshape"), self.setting("("), self.write(e.args[0]), shape,
                               self.setting(")"))  # fmt: skip

    def look_copied(self, e: Expr) -> tuple[int, Any]:
        """`g copied to 2×3`"""
        shape = e.settings["shape"]
        if shape == e.args[0].shape:
            return self.unbracketed(e.args[0])
        to = f"all {shape[0]} entries" if len(shape) == 1 else dimensions(shape)
        return SAID, self.join(self.write(without_new_axes(e.args[0]), COMPARED), self.setting(f" copied to {to}"))

    def look_placed(self, e: Expr) -> tuple[int, Any]:
        """`g at [1], 0 elsewhere`"""
        place = index_text(without_dots(e.settings["index"], e), self.array_text)
        return SAID, self.join(self.write(e.args[0], COMPARED), self.setting(f" at [{place}], 0 elsewhere"))

    def view(self, inner: Expr, view: str) -> tuple[int, Any]:
        """A transpose with its sign."""
        return ATOM, self.join(self.write(inner, ATOM), self.setting(f".{view}"))

    def turned(self, inner: Expr, view: str) -> tuple[int, Any] | None:
        """The same as numbers that are turned already, for a writer of numbers."""
        return None

    # --- what a subclass says ----------------------------------------------------------------------------------

    def symbol(self, e: Expr) -> tuple[int, Any]:
        raise NotImplementedError

    def number(self, value: Any) -> tuple[int, Any]:
        raise NotImplementedError

    def join(self, *parts: Any) -> Any:
        return "".join(parts)

    def sign(self, text: str) -> Any:
        return text

    def setting(self, text: str) -> Any:
        return text

    def function(self, name: str) -> Any:
        return self.setting(name)

    def bracketed(self, written: Any) -> Any:
        return self.join(self.setting("("), written, self.setting(")"))


class Side:
    """One side of an operator: a part of how an op reads, with formulas in its operands' places."""

    def __init__(self, writer: Writer, reads: ast.expr, e: Expr, bound: Mapping[str, Any]) -> None:
        self.writer, self.reads, self.e, self.bound = writer, reads, e, bound

    def write(self, outer: int) -> Any:
        return self.writer.part(self.reads, self.e, self.bound, outer)

    @property
    def formula(self) -> Expr | None:
        """The formula that stands there, if it is one operand of the op."""
        found = self.bound.get(self.reads.id) if isinstance(self.reads, ast.Name) else None
        return found if isinstance(found, Expr) else None

    @property
    def rank(self) -> int:
        return 0 if self.formula is None else self.formula.ndim


def times_sign(op: ast.operator, left: Side, right: Side) -> str:
    """`·` for a matrix product, `⊙` entry by entry, `×` where a plain number takes part."""
    if isinstance(op, ast.MatMult):
        return " · "
    return " ⊙ " if left.rank and right.rank else " × "


def entry_by_entry(base: Side) -> str:
    """The sign in the exponent of a power of every entry, as of a product: `[1 2]²` would be a matrix product."""
    return "⊙" if base.rank else ""


@functools.lru_cache(10_000)  # a drawing asks for most names several times
def hold_of_name(name: str) -> int:
    """How tightly a name holds together: one such as `a-b` needs brackets beside an operator, `f(a-b)` does not."""
    while (inside := _BRACKETS.sub("", name)) != name:
        name = inside
    if _OPERATOR.search(name, 1) or _SUM_SIGN in name:
        return SAID
    return SIGN if _OPERATOR.match(name) else ATOM


def bindings(e: Expr) -> dict[str, Any]:
    """The names in how an op reads, and what they stand for: formulas, a list of them, or settings."""
    assert e.op is not None
    op = e.op
    fixed = len(op.names) - op.variadic
    bound: dict[str, Any] = dict(op.settings)
    bound.update(zip(op.names[:fixed], e.args[:fixed], strict=False))
    if op.variadic:
        bound[op.names[-1]] = list(e.args[fixed:])
    return bound


def is_missing(operand: Any) -> bool:
    """Is it None in the place of an operand, as the bias of a layer without one?"""
    return isinstance(operand, Expr) and operand.is_constant and operand.value is None
