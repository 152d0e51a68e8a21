"""`handgrad play "x*y + sin(x)" x=2 y=3`: step through a formula typed on the spot. It is parsed, never run as code."""

from __future__ import annotations

import argparse
import ast
import difflib
from typing import TYPE_CHECKING, Any

from autograd.cli import CommandError, Subparsers

if TYPE_CHECKING:
    from autograd.value import Value

LONGEST = 2000  # characters of a formula
OPERATORS = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.Pow: "power", ast.MatMult: "matmul",
}  # fmt: skip
CONSTANTS = {"pi": 3.141592653589793, "e": 2.718281828459045}


def register(subparsers: Subparsers) -> None:
    from autograd.cli.step import add_faces

    parser = subparsers.add_parser(
        "play",
        help="step through a formula typed on the spot",
        description='Step through a formula: handgrad play "x*y + sin(x)" x=2 y=3. Lists work too: W=[[1,2],[3,4]].',
    )
    parser.add_argument("formula", help='such as "x*y + sin(x)"; ^ and ** are powers, @ is the matrix product')
    parser.add_argument("values", nargs="*", metavar="NAME=NUMBER", help="the numbers to start from: x=2 y=-0.5")
    add_faces(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    import numpy as np

    from autograd.cli.step import show

    variables = dict(_variable(text) for text in arguments.values)
    with np.errstate(all="ignore"):  # the steps themselves show where a number stops being finite
        root = build(arguments.formula, variables)
        refuse_unused(arguments.formula, variables)
        return show(root, arguments, title=arguments.formula)


def build(formula: str, variables: dict[str, Value]) -> Value:
    """The formula as a graph of Values; only arithmetic and the engine's own functions are understood."""
    from autograd.errors import HandgradError
    from autograd.value import Value

    if len(formula) > LONGEST:
        raise CommandError(f"a formula of {len(formula)} characters is too long (at most {LONGEST})")
    try:
        result = _Builder(variables).build(parsed(formula))
    except SyntaxError as error:
        raise CommandError(f"cannot read the formula {formula!r}: {_trouble(formula, error)}") from None
    except (RecursionError, MemoryError):
        raise CommandError("the formula is nested too deeply to read") from None
    except OverflowError:
        raise CommandError(f"{formula}: it has a number that is too large; the largest float is 1.8e308") from None
    except (HandgradError, TypeError, ValueError) as error:
        raise CommandError(f"{formula}: {error}") from error
    if not isinstance(result, Value) or result.op is None:
        raise CommandError(f"{formula!r} computes nothing from a variable; try: handgrad play 'x*y + sin(x)' x=2 y=3")
    return result


def parsed(formula: str) -> ast.expr:
    return ast.parse(formula.strip().replace("^", "**"), mode="eval").body


def refuse_unused(formula: str, variables: dict[str, Value]) -> None:
    """A number for a name that the formula does not have is a slip of the one or the other."""
    used = {part.id for part in ast.walk(parsed(formula)) if isinstance(part, ast.Name)}
    unused = [name for name in variables if name not in used]
    if unused:
        names, them = " and ".join(unused), "it" if len(unused) == 1 else "them"
        raise CommandError(f"the formula {formula!r} has no {names}: use {them} there or leave {them} out")


def _trouble(formula: str, error: SyntaxError) -> str:
    """What is wrong, and at which character of the formula as it was typed."""
    typed = formula.rstrip()
    if not typed:
        return "it is empty"
    blanks = len(typed) - len(typed.lstrip())
    read = 0
    for place, character in enumerate(typed[blanks:], start=blanks + 1):
        read += len("**") if character == "^" else 1  # as Python was given it
        if error.offset and read >= error.offset:
            return f"{error.msg} at character {place}"
    return f"something must follow character {len(typed)}, {typed[-1]!r}"  # Python gives the end no place


class _Builder:
    def __init__(self, variables: dict[str, Value]) -> None:
        self.variables = variables

    def build(self, tree: ast.expr) -> Any:
        from autograd.op import OPS

        match tree:
            case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
                return number if abs(number) < 1e6 else float(number)
            case ast.Name(id=name):
                return self.named(name)
            case ast.UnaryOp(op=ast.USub(), operand=inner):
                return -self.build(inner)
            case ast.UnaryOp(op=ast.UAdd(), operand=inner):
                return self.build(inner)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
                return OPS[OPERATORS[type(op)]](self.build(left), self.build(right))
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=keywords):
                settings = {str(keyword.arg): _literal(keyword.value) for keyword in keywords}
                return self.function(name)(*(self.build(argument) for argument in arguments), **settings)
            case ast.Attribute(value=inner, attr="T"):
                return self.build(inner).T
        raise CommandError(
            f"cannot use {ast.unparse(tree)!r} in a formula: it is made of numbers, names, + - * / ** @, brackets and "
            "functions such as sin, exp, tanh, softmax, sum"
        )

    def named(self, name: str) -> Any:
        if name in self.variables:
            return self.variables[name]
        if name in CONSTANTS:
            return CONSTANTS[name]
        raise CommandError(f"what is {name}? Give it a number: {name}=2")

    def function(self, name: str) -> Any:
        from autograd.op import OPS

        if name in OPS:
            return OPS[name]
        near = difflib.get_close_matches(name, OPS, n=3)
        raise CommandError(f"there is no function {name!r}" + (f"; did you mean {' or '.join(near)}?" if near else ""))


def _variable(text: str) -> tuple[str, Value]:
    from autograd.value import Value

    name, equals, number = text.partition("=")
    if not equals or not name.strip().isidentifier():
        raise CommandError(f"write variables as NAME=NUMBER, such as x=2; got {text!r}")
    try:
        return name.strip(), Value(ast.literal_eval(number.strip()), name=name.strip())
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        wanted = f"{name} must be a number or a list of numbers, such as {name}=2 or {name}=[1, 2]"
        raise CommandError(f"{wanted}; got {number!r}") from None


def _literal(tree: ast.expr) -> Any:
    try:
        return ast.literal_eval(tree)
    except ValueError:
        raise CommandError(f"a setting is a plain number, text or tuple; got {ast.unparse(tree)!r}") from None
