"""`handgrad draw FILE.py:loss -o graph.svg`: the computation graph of a file's result, or of a worked example."""

from __future__ import annotations

import argparse
from typing import Any

from autograd.errors import counted, printable

from .. import Subparsers, explained, whole
from ..target import USUAL_NAMES, root_of

FOLD_NOTHING = "none"  # what --collapse says for Python's False


def register(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "draw", help="draw a computation graph to SVG, PNG, PDF, HTML, DOT or Mermaid",
        description="Run a Python file of yours and draw a Value it made, or draw a worked example. "
                    f"Without NAME the Value called {', '.join(USUAL_NAMES[:-1])} or {USUAL_NAMES[-1]} is drawn (the "
                    "first there is), else the only result that no other was made from, else what the only function "
                    "returns.")  # fmt: skip
    parser.add_argument("what", metavar="FILE.py[:NAME] | EXAMPLE",
                        help="a file, with the name of a Value or of a function that returns one (its parameters have "
                             "defaults to start from); or example3, cat_sleeps, ...")  # fmt: skip
    parser.add_argument("-o", "--output", default="graph.svg", metavar="PATH",
                        help=".svg .png .pdf .html .dot .mmd (default: graph.svg)")  # fmt: skip
    parser.add_argument("--fit", type=as_fit, default="auto", metavar="BOX",
                        help="slide, page, column, 800x600, auto (a slide or a page) or none")  # fmt: skip
    add_collapse(parser, "fold modules: 1, blocks.*, LayerNorm; or none")
    parser.add_argument("--direction", choices=("TB", "LR"), help="top to bottom or left to right")
    parser.add_argument("--detail", choices=("full", "brief"))
    parser.add_argument("--edges", choices=("rule", "numbers"), help="what to write on the edges")
    parser.add_argument("--flow", action="store_true", help="edges as wide as the gradient along them")
    parser.add_argument("--inputs", action="append", default=[], metavar="NAME", help="a leaf to show as an input")
    parser.add_argument("--max-nodes", type=whole(2), default=300, metavar="N", help="fold above so many cards")
    parser.add_argument("--digits", type=whole(1, 17), default=4, metavar="N", help="significant digits (default: 4)")
    parser.add_argument("--theme", choices=("light", "dark"), default="light", help="colours of a PNG or PDF")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from autograd.drawing import draw

    root, names = root_of(arguments.what, backward=True)
    with explained():
        drawing = draw(
            root, fit=arguments.fit, collapse=False if arguments.collapse == [False] else arguments.collapse,
            direction=arguments.direction, detail=arguments.detail, edges=arguments.edges,
            flow=arguments.flow, inputs=arguments.inputs, max_nodes=arguments.max_nodes,
            digits=arguments.digits, names=names,
        )  # fmt: skip
        path = drawing.save(arguments.output, theme=arguments.theme)
    size = f"{drawing.placement.width:.0f}×{drawing.placement.height:.0f} px"
    print(f"{path}: {counted(len(drawing.scene.cards), 'card')}, {size}")
    for line in drawing.remarks(typed, "an earlier value: FILE.py:NAME"):
        print(printable(f"  {line}"))
    return 0


def add_collapse(parser: argparse.ArgumentParser, help: str) -> None:
    parser.add_argument("--collapse", action="append", type=as_collapse, metavar="DEPTH|NAME", help=help)


def as_collapse(part: str) -> bool | int | str:
    """`1` is a depth, `none` folds nothing, anything else is a name or pattern."""
    if part == FOLD_NOTHING:
        return False
    return int(part) if part.isdigit() else part


def as_fit(box: str) -> str | tuple[float, float] | None:
    """`800x600` is a box in pixels, `none` folds nothing for room."""
    sides = box.lower().replace("×", "x").split("x")
    if len(sides) == 2 and all(side.isdigit() and int(side) for side in sides):
        return float(sides[0]), float(sides[1])
    if box not in ("auto", "slide", "page", "column", FOLD_NOTHING):
        raise argparse.ArgumentTypeError(f"{box!r} is no box: auto, slide, page, column, none, or 800x600")
    return None if box == FOLD_NOTHING else box


def typed(option: str, value: Any) -> str:
    """An option as it is typed here."""
    text = {None: "…", False: FOLD_NOTHING}.get(value, value)
    return f"--{option.replace('_', '-')} {text}"
