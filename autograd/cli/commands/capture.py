"""`handgrad capture model.py:make_model`: a model's backward pass compared with ours; drawn, stepped, checked."""

from __future__ import annotations

import argparse
import inspect
from typing import TYPE_CHECKING, Any

from .. import CommandError, Subparsers, explained
from ..target import failed, functions_of, listed, run_script, split
from .draw import add_collapse

if TYPE_CHECKING:
    from autograd.capturing import Run

USUAL_NAMES = ("make_model", "make", "model")  # looked for, in this order, when no name is given


def register(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "capture", help="is your PyTorch or JAX model's backward right, and where not?",
        description="Run a model of yours once, record it, and compare its library's backward pass with ours, node by "
                    "node. The exit status is 1 if a gradient differs.")  # fmt: skip
    parser.add_argument("what", metavar="FILE.py[:FUNCTION]",
                        help="a file, and the function in it that returns the model and its inputs: "
                             "def make_model(): return model, x, y")  # fmt: skip
    parser.add_argument("--check", action="store_true", help="compare our gradients with finite differences too")
    parser.add_argument("--compare", action="store_true",
                        help="with -o: write the comparison as a report (.html, or .txt .svg .png .pdf), not a drawing")
    parser.add_argument("-o", "--draw", metavar="PATH", help="draw it: .svg .png .pdf .html .dot .mmd")
    add_collapse(parser, "fold modules: 1, h.*, or none")
    parser.add_argument("--step", metavar="PATH", help="write its steps as one HTML page")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    captured = captured_run(arguments.what)
    print(captured)
    with explained():
        found = captured.compare()
    print(found)
    right = found.ok
    if arguments.check:
        report = captured.check()
        print(report)
        right = right and report.ok
    if arguments.compare and arguments.draw:
        with explained():
            print(f"wrote {found.save(arguments.draw)}")
        arguments.draw = None
    if arguments.draw or arguments.step:
        show(captured, arguments)
    return 0 if right else 1


def captured_run(what: str) -> Run:
    """The run of the model that a function of a file makes."""
    from autograd.capturing import capture

    path, name = split(what)
    made = run_script(path)
    chosen = name or next((usual for usual in USUAL_NAMES if inspect.isroutine(made.get(usual))), "")
    make = made.get(chosen)
    if not inspect.isroutine(make):  # a module is callable, too
        wanted = repr(name) if name else listed(USUAL_NAMES, "or")
        known = [f"{path}:{function}" for function in functions_of(made)]
        instead = f"Write {listed(known, 'or')}" if known else "Write def make_model(): return model, x"
        raise CommandError(f"{path} has no function {wanted} that returns the model and its inputs. {instead}")
    called = f"{path}:{chosen}"
    try:
        model, inputs, keywords = parted(make(), called)
        return capture(model, *inputs, **keywords)
    except CommandError:
        raise
    except Exception as error:
        raise failed(called, error) from error


def parted(returned: Any, called: str) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """`model, x, y`, or `model, (x, y)`, or `model, (x, y), {"mask": mask}`."""
    if not isinstance(returned, tuple | list) or not returned or not callable(returned[0]):
        raise CommandError(f"{called} returns the model, then its inputs, as in `return model, x, y`")
    model, *rest = returned
    if len(rest) == 2 and isinstance(rest[0], tuple | list) and isinstance(rest[1], dict):
        return model, tuple(rest[0]), rest[1]
    if len(rest) == 1 and isinstance(rest[0], tuple | list):
        return model, tuple(rest[0]), {}
    return model, tuple(rest), {}


def show(captured: Run, arguments: argparse.Namespace) -> None:
    """Draw the run, or write its steps as a page."""
    from autograd import draw, step
    from autograd.errors import DataError

    try:
        root = captured.loss
    except DataError:
        root = captured.roots[0][0]
    if root.size == 1:
        root.backward()
    with explained():
        if arguments.draw:
            print(f"wrote {draw(root, collapse=arguments.collapse).save(arguments.draw)}")
        if arguments.step:
            print(f"wrote {step(root, backward=root.size == 1, collapse=arguments.collapse).save(arguments.step)}")
