"""`handgrad errata`: the slips in the printed worksheets, what is right, and what followed from them."""

from __future__ import annotations

import argparse
from pathlib import Path

from .. import Subparsers, deliver
from ..target import check_examples


def register(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser("errata", help="list the slips in the printed worksheets and what is right")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="where to write it (else it is printed)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    check_examples()
    from examples.checking.errata import page

    deliver(page(), arguments.output)
