"""A calculator for printed lines: reads `0.5 × (1 − 0.96403²) ≈ 0.03533` and works it out in decimal arithmetic.

It knows nothing of formulas, ops or notations: it reads the text as a person would, digit by digit.
"""

import ast
import math
import re
from decimal import ROUND_HALF_DOWN, ROUND_HALF_UP, Decimal, InvalidOperation, localcontext

SUPERSCRIPTS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
NUMBER = r"\d+(?:\.\d+)?"


def confirms(line):
    """Does what stands before the last = or ≈ of a line round to the digits after it?"""
    left, sign, right = re.fullmatch(r"(.*) ([=≈]) (.*)", line).groups()
    with localcontext() as context:
        context.prec = 60
        context.traps[InvalidOperation] = False  # ∞ − ∞ is NaN
        found = value(left)
        printed = value(right)
        if not printed.is_finite() or not found.is_finite():
            return str(found) == str(printed)
        if sign == "=":
            return abs(found - printed) <= abs(printed) * Decimal("1e-14")
        unit = Decimal(1).scaleb(-decimals(right))
        return all(abs(found.quantize(unit, how) - printed) == 0 for how in (ROUND_HALF_UP, ROUND_HALF_DOWN))


def decimals(number):
    """How many decimals a printed number has, its power of ten counted."""
    mantissa, _, raised = number.strip("()").partition("×10")
    after = len(mantissa.partition(".")[2])
    return after - int(raised.translate(SUPERSCRIPTS) or 0)


def value(text):
    """A line of arithmetic, worked out."""
    code = re.sub(rf"({NUMBER})×10([⁻⁰-⁹¹²³]+)", lambda m: f"({m[1]}E{m[2].translate(SUPERSCRIPTS)})", text)
    code = re.sub(r"([⁻⁰¹²³⁴-⁹]+)", lambda m: f"**({m[1].translate(SUPERSCRIPTS)})", code)
    code = code.replace("−", "-").replace(" × ", " * ").replace(" ^ ", " ** ").replace("≈0", "0").replace("√(", "sqrt(")
    code = code.replace("≤", "<=").replace("≥", ">=").replace("∞", "inf").replace("NaN", "nan")
    code = re.sub(r"\|([^|]*)\|", r"abs(\1)", code)
    return _worked_out(ast.parse(code.strip(), mode="eval").body)


def _worked_out(tree):
    match tree:
        case ast.Constant(value=bool(x)):
            return Decimal(x)
        case ast.Constant(value=x):
            return Decimal(repr(x))
        case ast.Name(id=name):
            return Decimal(name)
        case ast.UnaryOp(op=ast.USub(), operand=x):
            return -_worked_out(x)
        case ast.BinOp(left=left, op=op, right=right):
            return _operators(type(op), _worked_out(left), _worked_out(right))
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            a, b = _worked_out(left), _worked_out(right)
            return Decimal({ast.Lt: a < b, ast.LtE: a <= b, ast.Gt: a > b, ast.GtE: a >= b}[type(op)])
        case ast.Call(func=ast.Name(id=name), args=args):
            return FUNCTIONS[name](*map(_worked_out, args))
    raise SyntaxError(ast.dump(tree))


def _operators(op, a, b):
    if op is ast.Pow:
        return a**b if a > 0 or b == b.to_integral_value() else Decimal("nan")
    return {ast.Add: a.__add__, ast.Sub: a.__sub__, ast.Mult: a.__mul__, ast.Div: a.__truediv__}[op](b)


def _by_float(function):
    return lambda x: Decimal(function(float(x)))


FUNCTIONS = {
    "exp": Decimal.exp, "log": Decimal.ln, "sqrt": Decimal.sqrt, "abs": abs,
    "tanh": lambda x: ((2 * x).exp() - 1) / ((2 * x).exp() + 1), "sigmoid": lambda x: 1 / (1 + (-x).exp()),
    "max": lambda *xs: max(xs), "min": lambda *xs: min(xs),
    "where": lambda c, x, y: x if c else y, "equal": lambda x, y: Decimal(x == y),
    "not_equal": lambda x, y: Decimal(x != y), "relu": lambda x: max(x, Decimal(0)),
    "sign": lambda x: Decimal((x > 0) - (x < 0)),
    **{name: _by_float(getattr(math, name)) for name in ("sin", "cos", "tan", "sinh", "cosh", "erf", "expm1", "log1p")},
    "arctan": _by_float(math.atan),
}  # fmt: skip
