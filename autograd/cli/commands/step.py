"""`handgrad step example3`: walk through backprop in the terminal, or write it as a page."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from autograd.errors import counted

from .. import CommandError, Subparsers, explained
from ..target import root_of
from .draw import add_collapse

if TYPE_CHECKING:
    from autograd.stepping import Stepper


def register(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "step",
        help="step through the forward pass and backprop, with every number",
        description="Run a Python file of yours and step through how a Value came about and what its gradient does, or "
        "step through a worked example: with keys in a terminal, as text in a pipe, or as one HTML page.",
    )
    parser.add_argument(
        "what",
        metavar="FILE.py[:NAME] | EXAMPLE",
        help="a file, with the name of a Value or of a function that returns one; or example3, cat_sleeps, ...",
    )
    add_faces(parser)
    parser.set_defaults(run=run)


def add_faces(parser: argparse.ArgumentParser) -> None:
    """The options that say how steps are shown; `play` has them too."""
    parser.add_argument(
        "-o", "--output", "--html", metavar="PATH",
        help="write a file instead: a page (.html), one slide a step (.pdf), a film (.gif), pictures (steps/0001.svg), "
        "LaTeX (.tex), text (.txt)",
    )  # fmt: skip
    parser.add_argument("--text", action="store_true", help="print every step instead of waiting for keys")
    parser.add_argument("--goto", metavar="NAME|NUMBER", help="start at this node's step, or at this step, from 1 on")
    parser.add_argument("--forward", action="store_true", help="the forward pass alone")
    add_collapse(parser, "take modules as one step: 1, blocks.*, LayerNorm")


def run(arguments: argparse.Namespace) -> int:
    from autograd.modes import record_lines

    with record_lines():
        root, names = root_of(arguments.what)
    return show(root, arguments, title=arguments.what, names=names)


def show(root: Any, arguments: argparse.Namespace, **options: Any) -> int:
    """Step through a Value in the way the user asked for."""
    from autograd.stepping.faces.terminal import typed_place

    if root.op is None:
        raise CommandError(f"{options.get('title') or 'it'} is a leaf: nothing was computed, so there are no steps")
    with explained():
        stepper = made(root, arguments, **options)
        if arguments.goto:
            stepper.goto(typed_place(stepper, arguments.goto))
        return shown(stepper, arguments)


def made(root: Any, arguments: argparse.Namespace, **options: Any) -> Stepper:
    from autograd.stepping import step

    backward = not arguments.forward and root.size == 1
    if not backward and not arguments.forward:
        print(f"{options.get('title') or 'it'} ends in an array of shape {root.shape}: its forward pass alone.\n")
    return step(root, backward=backward, collapse=arguments.collapse, **options)


def shown(stepper: Stepper, arguments: argparse.Namespace) -> int:
    if arguments.output:
        path = stepper.save(arguments.output)
        print(f"{path}: {counted(len(stepper), 'step')}{'; open it in a browser' if path.suffix == '.html' else ''}")
        return 0
    from autograd.stepping.faces.terminal import Player, can_play

    if arguments.text or not can_play():
        first = max(0, stepper.position - 1)
        print("\n\n".join(map(str, stepper[first:])))
    else:
        Player(stepper).run()
    return 0
