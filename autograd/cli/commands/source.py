"""`handgrad source example2`: a forward and backward pass as Python that needs NumPy alone."""

from __future__ import annotations

import argparse
from pathlib import Path

from .. import Subparsers, deliver, explained
from ..target import root_of, split


def register(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "source",
        help="print a forward and backward pass as NumPy code, one line an op",
        description="Write the computation of a Value of your Python file, forward and backward, as a Python function "
        "that needs only NumPy; or that of a worked example. Each backward line names the forward line it belongs to.",
    )
    parser.add_argument(
        "what",
        metavar="FILE.py[:NAME] | EXAMPLE",
        help="a file, with the name of a Value or of a function that returns one; or example2, cat_sleeps, ...",
    )
    parser.add_argument("-o", "--output", type=Path, help="write it to this file")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    from autograd.graph import name
    from autograd.modes import record_lines
    from autograd.program.source import source_of_graph

    with record_lines():
        root, names = root_of(arguments.what)
    name(names)
    with explained():
        text = source_of_graph(root, split(arguments.what)[0].stem)
    deliver(text, arguments.output)
