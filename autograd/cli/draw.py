"""`handgrad draw FILE.py:loss -o graph.svg`: the computation graph of a file's result, or of a worked example."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autograd.cli import CommandError, Subparsers
from autograd.cli.script import run_script

if TYPE_CHECKING:
    from autograd.value import Value

USUAL_NAMES = ("loss", "L", "root", "out", "output", "y")  # looked for, in this order, when no name is given


def register(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "draw", help="draw a computation graph to SVG, PNG, PDF, HTML, DOT or Mermaid",
        description="Run a Python file of yours and draw a Value it made, or draw a worked example.")  # fmt: skip
    parser.add_argument("what", metavar="FILE.py[:NAME] | EXAMPLE",
                        help="a file, with the name of a Value or of a function that returns one; or example3, "
                             "cat_sleeps, ...")  # fmt: skip
    parser.add_argument("-o", "--output", default="graph.svg", metavar="PATH",
                        help=".svg .png .pdf .html .dot .mmd (default: graph.svg)")  # fmt: skip
    parser.add_argument(
        "--collapse", action="append", metavar="DEPTH|NAME", help="fold modules: 1, blocks.*, LayerNorm"
    )
    parser.add_argument("--direction", choices=("TB", "LR"), help="top to bottom or left to right")
    parser.add_argument("--detail", choices=("full", "brief"), default="full")
    parser.add_argument("--edges", choices=("rule", "numbers"), help="what to write on the edges")
    parser.add_argument("--flow", action="store_true", help="edges as wide as the gradient along them")
    parser.add_argument("--inputs", action="append", default=[], metavar="NAME", help="a leaf to show as an input")
    parser.add_argument("--max-nodes", type=int, default=300, metavar="N", help="fold above so many cards")
    parser.add_argument("--digits", type=int, default=4, metavar="N", help="significant digits (default: 4)")
    parser.add_argument("--theme", choices=("light", "dark"), default="light", help="colours of a PNG or PDF")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from autograd.show.drawing import draw

    root, names = root_of(arguments.what)
    collapse = [int(part) if part.isdigit() else part for part in arguments.collapse or []] or None
    try:
        drawing = draw(
            root, collapse=collapse, direction=arguments.direction, detail=arguments.detail, edges=arguments.edges,
            flow=arguments.flow, inputs=arguments.inputs, max_nodes=arguments.max_nodes, digits=arguments.digits,
            names=names,
        )  # fmt: skip
        path = drawing.save(arguments.output, theme=arguments.theme)
    except (ValueError, OSError, RuntimeError) as error:
        raise CommandError(str(error)) from error
    print(f"{path}: {len(drawing.scene.cards)} cards, {drawing.placement.width:.0f}×{drawing.placement.height:.0f} px")
    for line in (*drawing.scene.notes, drawing.placement.hint, drawing.advice):
        if line:
            print(f"  {line}")
    return 0


def root_of(what: str) -> tuple[Value, dict[str, Any]]:
    """The graph meant by `FILE.py`, `FILE.py:name` or `example3`, and the names around it."""
    path, _, name = what.partition(":") if ".py" in what else (what, "", "")
    if path.endswith(".py"):
        return from_file(Path(path), name)
    return from_example(what), {}


def from_example(name: str) -> Value:
    from autograd.cli.example import choose, insist_on_examples

    insist_on_examples()
    chosen = choose(name)
    if len(chosen) != 1:
        raise CommandError(f"draw takes one example at a time; {name!r} means {len(chosen)}")
    root: Value = chosen[0].module.graph()
    return root


def from_file(path: Path, name: str) -> tuple[Value, dict[str, Any]]:
    """Runs the file and finds the Value (or the function that makes one) in it."""
    made = run_script(path)
    chosen = made.get(name) if name else _likely(made)
    if name and name not in made:
        raise CommandError(f"{path.name} has no {name!r}; it has {_listed(made) or 'no Value at all'}")
    if chosen is None:
        raise CommandError(
            f"which Value of {path.name}? Write {path}:NAME with one of {_listed(made) or '(none found)'}"
        )
    return _as_value(chosen, f"{path.name}:{name}"), made


def _likely(made: dict[str, Any]) -> Any:
    """The usual name, or the only result that nothing else was made from."""
    from autograd.graph import topological
    from autograd.value import Value

    for name in USUAL_NAMES:
        if isinstance(made.get(name), Value):
            return made[name]
    results = {value for value in made.values() if isinstance(value, Value) and value.op is not None}
    used = {node for result in results for node in topological(result) if node is not result}
    ends = results - used
    return ends.pop() if len(ends) == 1 else None


def _as_value(chosen: Any, called: str) -> Value:
    from autograd.value import Value

    if callable(chosen) and not isinstance(chosen, Value):
        try:
            chosen = chosen()
        except TypeError as error:
            raise CommandError(
                f"{called} must be a function without arguments that returns a Value ({error})"
            ) from error
    if not isinstance(chosen, Value):
        raise CommandError(f"{called} is a {type(chosen).__name__}, not a Value or a function that returns one")
    return chosen


def _listed(made: dict[str, Any]) -> str:
    from autograd.value import Value

    return ", ".join(name for name, value in made.items() if isinstance(value, Value) and not name.startswith("_"))
