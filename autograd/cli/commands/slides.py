"""`handgrad slides example3 -o lecture.html`: backprop as a lecture, a question before every answer."""

from __future__ import annotations

import argparse
from pathlib import Path

from .. import Subparsers, explained
from ..target import root_of
from .draw import add_collapse
from .step import made
from .worksheet import title_of


def register(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "slides", help="a lecture: a question and its answer for every step, the updates, the loss",
        description="Write the forward pass and backprop as slides: a title, a question and its answer for each step, "
                    "the updates, the loss. In .html the arrow keys turn them; .tex is beamer.")  # fmt: skip
    parser.add_argument("what", metavar="FILE.py[:NAME] | EXAMPLE")
    parser.add_argument("-o", "--output", type=Path, default=Path("slides.html"), metavar="PATH",
                        help="slides.html, .pdf or .tex")  # fmt: skip
    parser.add_argument("--forward", action="store_true", help="the forward pass alone")
    add_collapse(parser, "take modules as one step: 1, blocks.*, LayerNorm")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    root, names = root_of(arguments.what)
    with explained():
        stepper = made(root, arguments, title=title_of(arguments.what), names=names)
        stepper.lecture(arguments.output)
    print(f"{arguments.output}: a question and an answer for each of {len(stepper)} steps")
    return 0
