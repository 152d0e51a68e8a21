"""A scalar formula as text that anyone can evaluate, and as plain data."""

from __future__ import annotations

from typing import Any

from autograd.expr import Expr

SIGNS = {  # the sign, how strongly it binds, and whether its right side needs brackets at the same strength
    "add": ("+", 1, False), "sub": ("-", 1, True), "mul": ("*", 2, False), "div": ("/", 2, True),
    "less": ("<", 0, True), "less_equal": ("<=", 0, True), "greater": (">", 0, True), "greater_equal": (">=", 0, True),
    "equal": ("==", 0, True), "not_equal": ("!=", 0, True),
}  # fmt: skip
NEGATIVE, POWER, ATOM = 3, 4, 5
NAMES = {"maximum": "max", "minimum": "min"}


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
        needs_brackets = after[1] < strength + strict or (after[1] == 0 == strength) or after[0].startswith("-")
        return f"{_inside(left, max(strength, 1))} {sign} {f'({after[0]})' if needs_brackets else after[0]}", strength
    if name == "neg":
        return f"-{_inside(e.args[0], NEGATIVE - 1)}", NEGATIVE - 1
    if name == "power":
        base, exponent = (_inside(part, ATOM) for part in e.args)
        return f"{base} ** {exponent}", POWER
    if name == "relu":
        return f"max({python_text(e.args[0])}, 0)", ATOM
    if name in NAMES:  # max(max(a, b), c) is one list
        return f"{NAMES[name]}({', '.join(map(python_text, _flat(e, name)))})", ATOM
    if name == "where":
        condition, x, y = map(python_text, e.args)
        return f"({x} if {condition} else {y})", ATOM
    return f"{name}({', '.join(map(python_text, e.args))})", ATOM


def _flat(e: Expr, name: str) -> list[Expr]:
    if e.op is None or e.op.base.name != name:
        return [e]
    return [part for x in e.args for part in _flat(x, name)]


def _inside(e: Expr, strength: int) -> str:
    text, own = _text(e)
    return text if own >= strength else f"({text})"


def _number(x: Any) -> tuple[str, int]:
    if isinstance(x, bool):
        return str(int(x)), ATOM
    if x != x or x in (float("inf"), float("-inf")):
        return f"float('{x}')", ATOM
    text = repr(x)
    return text, ATOM if x >= 0 else NEGATIVE - 1


def json_of(e: Expr) -> Any:
    """A scalar formula as an id, a number, or [function, argument, ...]; an infinite number as text."""
    if e.op is not None:
        return [e.op.base.name, *map(json_of, e.args)]
    if e.name:
        return e.name
    if isinstance(e.value, bool):
        return int(e.value)
    return e.value if abs(e.value) < float("inf") else ["number", str(e.value)]
