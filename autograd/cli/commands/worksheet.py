"""`handgrad worksheet example3 -o sheet.html`: a sheet to work out by hand, from an example or a file of yours."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autograd.errors import counted

from .. import Subparsers, explained, whole
from ..target import is_file, root_of, split

if TYPE_CHECKING:
    from autograd.worksheets import Worksheet
    from autograd.worksheets.plan import Plan

MANY_BLANKS = 500  # more than the longest worked example on paper asks for
LARGE_GRAPH = 10_000  # numbers; a few seconds from there on


def register(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "worksheet", help="write a hand-calculation sheet of any graph, or its key",
        description="Write a sheet with a blank for every number of a forward and a backward pass. The file's "
                    "ending says what is written: .html (prints on A4 and Letter), .pdf, .md, .csv, .xlsx, or .xml for "
                    "Moodle.")  # fmt: skip
    parser.add_argument("what", metavar="FILE.py[:NAME] | EXAMPLE", help="example3, or model.py:loss")
    parser.add_argument("-o", "--output", default="sheet.html", type=Path, metavar="PATH",
                        help="the file to write (default: sheet.html)")  # fmt: skip
    parser.add_argument("--key", action="store_true", help="write the answers; in .xlsx, a formula in every cell")
    parser.add_argument("--digits", type=whole(1, 12), default=4, metavar="N",
                        help="significant digits asked for (default: 4)")  # fmt: skip
    parser.add_argument("--round", type=whole(0), metavar="N", dest="decimals",
                        help="round the given numbers first: random weights have too many digits")  # fmt: skip
    parser.add_argument("--variant", type=series, default=range(1), metavar="N",
                        help="other numbers: sheet N of a class; 1-40 writes all of them, sheet-01.html and so on")
    parser.add_argument("--eta", type=float, default=0.1, help="the learning rate of the updates (default: 0.1)")
    parser.add_argument("--forward-only", action="store_true", help="only the forward pass")
    parser.add_argument("--level", choices=("steps", "ops"), default="steps", help="softmax in steps, or in one line")
    parser.add_argument("--matrices", action="store_true", help="one blank for each matrix, not for each number")
    parser.add_argument("--backward-only", action="store_true", help="only gradients; the forward pass is given")
    parser.add_argument("--only", action="append", metavar="NAME", help="ask only for these: attn, dL/d*")
    parser.add_argument("--names", choices=("book",), help="the names that the book of the examples uses")
    parser.add_argument("--no-hints", action="store_true", help="do not show how each step is computed")
    parser.add_argument("--no-check", action="store_true",
                        help="an .html page that does not mark itself and holds no key")  # fmt: skip
    parser.add_argument("--paper", choices=("A4", "Letter"), help=".html and .pdf for this paper, without fields")
    parser.set_defaults(run=run)


def series(text: str) -> range:
    """The type of --variant: `7`, or `1-40`."""
    first, dash, last = text.partition("-")
    if first.isdecimal() and (last.isdecimal() and int(first) <= int(last) if dash else True):
        return range(int(first), int(last or first) + 1)
    raise argparse.ArgumentTypeError(f"expected an integer from 0 on, or several, 1-40; got {text!r}")


def run(arguments: argparse.Namespace) -> int:
    numbers = arguments.variant
    options = {
        "digits": arguments.digits, "eta": arguments.eta, "level": arguments.level, "only": arguments.only,
        "backward": not arguments.forward_only, "forward": not arguments.backward_only,
        "blanks": "matrices" if arguments.matrices else "entries", "hints": not arguments.no_hints,
        "decimals": arguments.decimals, "names": arguments.names,
    }  # fmt: skip
    with explained():
        for sheet in sheets(arguments.what, numbers, **options):
            path = arguments.output
            if len(numbers) > 1:
                path = path.with_stem(f"{path.stem}-{sheet.variant:0{len(str(numbers[-1]))}}")
            sheet.save(path, arguments.key, not arguments.no_check, paper=arguments.paper)
            report(sheet, path, "key" if arguments.key else "sheet")
    return 0


def report(sheet: Worksheet, path: Path, kind: str) -> None:
    """Say what was written."""
    if sheet.shorter is not None:
        cures = f"--round {sheet.shorter} rounds them, --variant 1 draws short ones"
        print(f"some given numbers have too many digits: {cures}")
    if len(sheet) > MANY_BLANKS:
        print("so many blanks are a lot to fill in: --only NAME asks for a part, --matrices for whole matrices")
    score = f" ({sheet.score})" if sheet.score else ""
    steps, blanks = counted(len(sheet.steps), "step"), counted(len(sheet.blanks), "blank")
    print(f"{path}: {kind} {sheet.identity}, {steps}, {blanks}{score}", flush=True)


def make_sheet(what: str, *, variant: int = 0, **options: Any) -> Worksheet:
    """The sheet of an example or of a file's Value; variant 0 has the graph's own numbers."""
    return next(sheets(what, [variant], **options))


def sheets(what: str, variants: Iterable[int], **options: Any) -> Iterator[Worksheet]:
    """Several variants of it, for which a file is run once."""
    from autograd.formula.numbers import count
    from autograd.graph import topological
    from autograd.worksheets import worksheet
    from autograd.worksheets.variants import variant as variant_of

    root, names = root_of(what)
    plan = None if is_file(what) else planned(what, options.get("eta"))
    if plan is not None:
        root, options["plan"] = plan.root, plan
    elif root.size != 1:
        options["backward"] = False
    if (numbers := sum(node.size for node in topological(root))) > LARGE_GRAPH:
        slow = f"{what} has {count(numbers)} numbers, and a sheet of any part needs all: this takes a while"
        print(f"{slow}; --forward-only and a smaller model are quicker", file=sys.stderr, flush=True)
    options |= {"title": title_of(what), "source": "" if is_file(what) else what}
    options["names"] = options.get("names") or names or None
    for number in variants:
        yield variant_of(root, number, **options) if number else worksheet(root, **options)


def planned(what: str, eta: float | None) -> Plan | None:
    """The plan of an example that follows a book."""
    from examples import find
    from examples.sheets import PLANS

    plan = PLANS.get(find(what).name)
    return plan and plan(0.1 if eta is None else eta)


def title_of(what: str) -> str:
    """`Example 3: Full backpropagation`, or the file's name and what was taken from it."""
    if is_file(what):
        path, name = split(what)
        return f"{path.stem}: {name}" if name else path.stem
    from examples import find

    example = find(what)
    number = example.name.removeprefix("example")
    return f"Example {number}: {example.title}" if number != example.name else example.title
