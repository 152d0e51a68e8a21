"""`handgrad play`: a formula typed on the spot, in a browser; `handgrad play "x*y + sin(x)" x=2 y=3`: in the terminal.

It is parsed (`autograd.playing.parser`), never run as code.
"""

from __future__ import annotations

import argparse
import ast
import os
import shlex
import sys
import webbrowser
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import CommandError, Subparsers

if TYPE_CHECKING:
    from autograd.engine import Value
    from autograd.playing.formula import Formula, FormulaError


def register(subparsers: Subparsers) -> None:
    from .step import add_faces

    parser = subparsers.add_parser(
        "play",
        help="play with a formula in a browser, or step through one in the terminal",
        description="Without a formula: open a page in which to type one; names get sliders, graph and steps follow. "
        'With one, step through it here: handgrad play "x*y + sin(x)" x=2 y=3. Lists work too: W=[[1,2],[3,4]].',
    )
    parser.add_argument(
        "formula", nargs="?", help='such as "x*y + sin(x)"; 2x, x^2, x**2, x.tanh(), A @ B are understood'
    )
    parser.add_argument("values", nargs="*", metavar="NAME=NUMBER", help="the numbers to start from: x=2 y=-0.5")
    parser.add_argument("--browser", action="store_true", help="open this formula in the browser, too")
    parser.add_argument("--no-open", action="store_true", help="print the address of the page, open no browser")
    add_faces(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    variables = dict(_variable(text) for text in arguments.values)
    if arguments.formula is None and arguments.output:
        raise CommandError(f"-o writes the page of a formula: handgrad play 'x*y' x=2 y=3 -o {arguments.output}")
    if arguments.formula is None or arguments.browser:
        return serve(arguments.formula or "", variables, opens=not arguments.no_open)
    from autograd.playing.formula import FormulaError
    from autograd.playing.graph import build, with_numbers
    from autograd.playing.parser import parse

    from .step import show

    text = arguments.formula
    try:
        formula = parse(text, given=variables)
        _refuse_unused(formula, variables)
        numbers = variables or with_numbers(formula, {})
        root = build(formula, numbers)
    except FormulaError as error:
        raise CommandError(_pointed(text, error)) from error
    if not variables:
        chosen = " ".join(f"{name}={number:g}" for name, number in numbers.items())
        print(f"from numbers of its own; for yours: handgrad play {shlex.quote(text)} {chosen}", file=sys.stderr)
    with np.errstate(all="ignore"):  # the steps themselves show where a number stops being finite
        return show(root, arguments, title=text)


def _pointed(text: str, error: FormulaError) -> str:
    """What is wrong with a formula, with a mark under the characters."""
    if "\n" in text or len(text) > 100 or not text.isprintable():
        return f"cannot read the formula {text[:100]!r}: {error} (character {error.at + 1})"
    mark = " " * error.at + "^" * max(1, min(error.end, len(text)) - error.at)
    return f"cannot read the formula {text!r}: {error} (character {error.at + 1})\n    {text}\n    {mark}"


def _refuse_unused(formula: Formula, variables: dict[str, Value]) -> None:
    """A number for a name that the formula does not have is a slip of the one or the other."""
    unused = [name for name in variables if name not in formula.names]
    if unused:
        names, them = " and ".join(unused), "it" if len(unused) == 1 else "them"
        raise CommandError(f"the formula {formula.text!r} has no {names}: use {them} there or leave {them} out")


def _variable(text: str) -> tuple[str, Value]:
    from autograd.engine import Value

    name, equals, number = text.partition("=")
    if not equals or not name.strip().isidentifier():
        raise CommandError(f"write variables as NAME=NUMBER, such as x=2; got {text!r}")
    try:
        return name.strip(), Value(ast.literal_eval(number.strip()), name=name.strip())
    except (SyntaxError, ValueError, TypeError, OverflowError, RecursionError, MemoryError):
        wanted = f"{name} must be a number or a list of numbers, such as {name}=2 or {name}=[1, 2]"
        raise CommandError(f"{wanted}; got {number!r}") from None


# --- in the browser -------------------------------------------------------------------------------------------------


def serve(formula: str, variables: dict[str, Any], opens: bool = True) -> int:
    """Serve the page until it is closed, or until Ctrl-C."""
    from autograd.playing.server import Server, address_of

    lists = [name for name, value in variables.items() if value.size != 1]
    if lists:
        raise CommandError(f"in the browser {lists[0]} must be one number: a slider has one")
    with Server() as server:
        server.start()
        try:
            address = address_of(server, formula, {name: float(value) for name, value in variables.items()})
            opened = opens and _can_open() and webbrowser.open(address)
            print(f"{'Playing at' if opened else 'Open this in a browser:'} {address}")
            print("It is for this computer alone. Ctrl-C ends it, and so does closing the page.", flush=True)
            server.wait()
            print("The page was closed.")
        except KeyboardInterrupt:
            print()
        finally:
            server.shutdown()
    return 0


def _can_open() -> bool:
    """Whether there is a screen to open a browser on: without one, Python may start a browser in this terminal."""
    if sys.platform in ("win32", "darwin") or os.environ.get("BROWSER"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
