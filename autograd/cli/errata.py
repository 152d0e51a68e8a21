"""`handgrad errata`: the slips in the printed worksheets, what is right, and what followed from them."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from autograd.cli import CommandError
from autograd.cli.example import insist_on_examples


def register(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser("errata", help="list the slips in the printed worksheets and what is right")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="where to write it (else it is printed)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    insist_on_examples()
    from examples.checking.errata import page

    if arguments.output is None:
        sys.stdout.write(page())
        return
    try:
        arguments.output.write_text(page(), encoding="utf-8")
    except OSError as error:
        raise CommandError(f"cannot write {arguments.output}: {error.strerror}; give another file to -o") from None
    print(f"wrote {arguments.output}")
