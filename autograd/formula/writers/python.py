"""Formulas of scalars as Python: arithmetic over ids, `x[0] * w[0] + 1`, in the functions of a calculator."""

from __future__ import annotations

from typing import Any

from autograd.expr import Expr

SIGNS = {  # the sign, how strongly it binds, and whether its right side needs brackets at the same strength
    "add": ("+", 1, False), "sub": ("-", 1, True), "mul": ("*", 2, False), "div": ("/", 2, True),
    "less": ("<", 0, True), "less_equal": ("<=", 0, True), "greater": (">", 0, True), "greater_equal": (">=", 0, True),
    "equal": ("==", 0, True), "not_equal": ("!=", 0, True),
}  # fmt: skip
NEGATIVE, POWER, ATOM = 2, 3, 4  # a minus before a number binds like a product


def python_text(e: Expr) -> str:
    """A scalar formula as arithmetic over ids: + - * / **, exp log sqrt tanh sigmoid max abs and their like.

    >>> x, y = Expr("x[0]", 2.0), Expr("y", 3.0)
    >>> python_text((x - y) * -x / (x * y))
    '(x[0] - y) * (-x[0]) / (x[0] * y)'
    """
    return _text(e)[0]


def _text(e: Expr) -> tuple[str, int]:
    """The text, and how strongly its last sign binds."""
    if e.op is None:
        return (e.name, ATOM) if e.name else _number(e.value)
    name = e.op.base.name
    if name in SIGNS:
        sign, strength, strict = SIGNS[name]
        left, right = e.args
        after = _text(right)
        needs_brackets = after[1] < strength + strict or after[0].startswith("-")
        return f"{_inside(left, max(strength, 1))} {sign} {f'({after[0]})' if needs_brackets else after[0]}", strength
    if name == "neg":
        return f"-{_inside(e.args[0], NEGATIVE)}", NEGATIVE
    if name == "power":
        base, exponent = (_inside(part, ATOM) for part in e.args)
        return f"{base} ** {exponent}", POWER
    if name == "relu":
        return f"max({python_text(e.args[0])}, 0)", ATOM
    if e.op.look in ("max", "min"):  # max(max(a, b), c) is one list
        return f"{e.op.look}({', '.join(map(python_text, nested(e)))})", ATOM
    if name == "where":
        condition, x, y = map(python_text, e.args)
        return f"({x} if {condition} else {y})", ATOM
    return f"{name}({', '.join(map(python_text, e.args))})", ATOM


def nested(e: Expr) -> list[Expr]:
    """What `max(max(a, b), c)` is the largest of: a, b, c."""
    return [part for x in e.args for part in (nested(x) if x.op is not None and x.op is e.op else [x])]


def _inside(e: Expr, strength: int) -> str:
    text, own = _text(e)
    return text if own >= strength else f"({text})"


def _number(x: Any) -> tuple[str, int]:
    if isinstance(x, bool):
        return str(int(x)), ATOM
    if x != x or x in (float("inf"), float("-inf")):
        return f"float('{x}')", ATOM
    text = repr(x)
    return text, ATOM if x >= 0 else NEGATIVE
