"""`handgrad worksheet example3 -o sheet.html`: a sheet to work out by hand, from an example or a file of yours."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autograd.cli import CommandError, Subparsers
from autograd.errors import HandgradError

if TYPE_CHECKING:
    from autograd.worksheets import Worksheet


def register(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "worksheet", help="write a hand-calculation sheet of any graph, or its key",
        description="Write a sheet with a blank for every number of a forward and a backward pass. What it becomes is "
                    "told by the file's ending: .html (prints on A4 and Letter), .pdf, .md, .csv, .xlsx, or .xml for "
                    "Moodle.")  # fmt: skip
    parser.add_argument("what", metavar="FILE.py[:NAME] | EXAMPLE", help="example3, or model.py:loss")
    parser.add_argument("-o", "--output", default="sheet.html", type=Path, metavar="PATH",
                        help="the file to write (default: sheet.html)")  # fmt: skip
    parser.add_argument("--key", action="store_true", help="write the answers; in .xlsx, a formula in every cell")
    parser.add_argument("--digits", type=int, default=4, metavar="N", help="significant digits asked for (default: 4)")
    parser.add_argument("--round", type=int, metavar="N", dest="decimals",
                        help="round the given numbers first: random weights are too long for hands")  # fmt: skip
    parser.add_argument("--variant", type=int, default=0, metavar="N", help="other numbers: sheet N of a class")
    parser.add_argument("--eta", type=float, default=0.1, help="the learning rate of the updates (default: 0.1)")
    parser.add_argument("--forward-only", action="store_true", help="no gradients")
    parser.add_argument("--level", choices=("steps", "ops"), default="steps", help="softmax in steps, or in one line")
    parser.add_argument("--matrices", action="store_true", help="one blank a matrix, not one a number")
    parser.add_argument("--backward-only", action="store_true", help="the forward pass is given")
    parser.add_argument("--only", action="append", metavar="NAME", help="ask for these alone: attn, dL/d*")
    parser.add_argument("--no-hints", action="store_true", help="do not show how each step is computed")
    parser.add_argument("--no-check", action="store_true",
                        help=".html that does not mark itself: it then holds no key")  # fmt: skip
    parser.add_argument("--paper", choices=("A4", "Letter"), help=".html and .pdf for this paper, without fields")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    path = arguments.output
    try:
        sheet = make_sheet(
            arguments.what, digits=arguments.digits, variant=arguments.variant, eta=arguments.eta,
            backward=not arguments.forward_only, forward=not arguments.backward_only,
            blanks="matrices" if arguments.matrices else "entries", level=arguments.level, only=arguments.only,
            hints=not arguments.no_hints, decimals=arguments.decimals,
        )  # fmt: skip
        sheet.save(path, arguments.key, not arguments.no_check, paper=arguments.paper)
    except (HandgradError, ValueError) as error:
        raise CommandError(str(error)) from error
    except OSError as error:
        raise CommandError(f"cannot write {path}: {error.strerror}; give another file to -o") from None
    kind = "key" if arguments.key else "sheet"
    if sheet.is_long:
        print("some given numbers are too long for hands: --round 1 rounds them, --variant 1 draws short ones")
    score = f" ({sheet.score})" if sheet.score else ""
    print(f"{path}: {kind} {sheet.identity}, {len(sheet.steps)} steps, {len(sheet.blanks)} blanks{score}")
    return 0


def make_sheet(what: str, *, variant: int = 0, **options: Any) -> Worksheet:
    """The sheet of an example or of a file's Value; variant 0 has the graph's own numbers."""
    from autograd.cli.draw import root_of
    from autograd.worksheets import worksheet
    from autograd.worksheets.variants import variant as variant_of

    root, names = root_of(what)
    is_file = ".py" in what
    if root.size != 1:
        options["backward"] = False
    options |= {"title": title_of(what), "source": "" if is_file else what}
    if variant == 0:
        return worksheet(root, names=names if is_file else None, **options)
    if variant < 0:
        raise CommandError(f"--variant counts from 1 (0 is the graph's own numbers); got {variant}")
    return variant_of(root, variant, names=names if is_file else None, **options)


def title_of(what: str) -> str:
    """`Example 3: Full backpropagation`, or the file's name and what was taken from it."""
    if ".py" in what:
        file, _, name = what.partition(":")
        return f"{Path(file).stem}: {name}" if name else Path(file).stem
    from examples import find

    example = find(what)
    number = example.name.removeprefix("example")
    return f"Example {number}: {example.title}" if number != example.name else example.title
