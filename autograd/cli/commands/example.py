"""`handgrad example 3`: a worked example as a worksheet, or compared with the printed numbers."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from autograd.errors import HandgradError

from .. import CommandError, Subparsers
from ..target import check_examples

if TYPE_CHECKING:
    from examples import Example


def register(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "example", help="run a worked example, or check it against the printed worksheet",
        description="Run a worked example: 1 to 6, cat_sleeps, or all. Without a name, list them.")
    parser.add_argument("name", nargs="*", help="3, example3, cat_sleeps, ... or all")
    parser.add_argument("--check", action="store_true",
                        help="compare every printed number with the engine's and print the verdicts")
    parser.add_argument("--set", action="append", default=[], metavar="INPUT=VALUE", dest="settings",
                        help="change an input or convention: --set eta=0.2 --set causal=true --set WQ=[[1,0],[0,1]]")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    check_examples()
    from examples.page import Page

    page = Page()
    if not arguments.name:
        show_list(page)
        return 0
    chosen = choose(" ".join(arguments.name))
    given = [settings(example, arguments.settings) for example in chosen]
    try:
        if arguments.check:
            return check(page, chosen, given)
        for example, inputs in zip(chosen, given):
            example.module.main(page, **inputs)
    except (HandgradError, ValueError, TypeError, LookupError) as error:
        if not arguments.settings:
            raise       # nothing the user typed can be the cause
        raise CommandError(str(error)) from error
    return 0


def show_list(page: Any) -> None:
    from examples import EXAMPLES

    page.line("Worked examples (handgrad example NAME):")
    for example in EXAMPLES:
        page.say(f"{example.name:<12} {example.title}")


def choose(name: str) -> tuple[Example, ...]:
    """The examples meant, one or all; a wrong name lists the right ones."""
    from examples import EXAMPLES, UnknownExample, find

    if name.strip().lower() == "all":
        return EXAMPLES
    try:
        return (find(name),)
    except UnknownExample as error:
        raise CommandError(f"{error}, or all") from None


def settings(example: Example, pairs: list[str]) -> dict[str, Any]:
    """`--set eta=0.2` as {"eta": 0.2}: values are JSON where they can be, else text."""
    from examples import keywords

    known = keywords(example)
    given = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals:
            raise CommandError(f"--set {pair}: expected INPUT=VALUE, such as --set eta=0.2")
        if name not in known:
            raise CommandError(f"{example.name} has no input {name!r}; it has {', '.join(known)}")
        try:
            given[name] = json.loads(text)
        except json.JSONDecodeError:
            given[name] = text
        wanted = wanted_instead(given[name], known[name])
        if wanted:
            raise CommandError(f"--set {name}=...: expected {wanted}; got {text}")
    return given


def wanted_instead(value: Any, default: Any) -> str:
    """What an input with such a default should be, if `value` is something else; "" if it fits."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if isinstance(default, bool):
        return "" if isinstance(value, bool) else "true or false"
    if isinstance(default, int):
        return "" if isinstance(value, int) and is_number else f"an integer, such as {default}"
    if isinstance(default, float):
        return "" if is_number else f"a number, such as {default}"
    axes = _axes(default)
    if axes is None or _axes(value) == axes:
        return ""
    example = "[1, 2, 3]" if axes == 1 else "[[1, 0], [0, 1]]"
    return f"{'a list of numbers' if axes == 1 else 'rows of numbers, all of one length'}, such as {example}"


def _axes(numbers: Any) -> int | None:
    """How many axes the numbers in nested lists have; None if they are not numbers, or ragged."""
    import numpy as np

    try:
        array = np.array(numbers)
    except ValueError:
        return None
    return array.ndim if array.dtype.kind in "if" and array.size else None


def check(page: Any, chosen: tuple[Example, ...], given: list[dict[str, Any]]) -> int:
    """The verdict table; exit status 1 if any number is not accounted for."""
    from examples.checking.verdict import check as check_sheet
    from examples.checking.verdict import summary, table, tally

    if any(given):
        raise CommandError("--check compares with the printed worksheet, which has its own inputs; leave out --set")
    results = {example.name: check_sheet(example.name, example.module.run()) for example in chosen if example.printed}
    failed = False
    for findings in results.values():
        for finding in findings:
            for complaint in finding.complaints:
                page.line(f"{finding.entry.id} {finding.entry.what}: {complaint}", "bad")
                failed = True
    for example in chosen:
        if not example.printed:
            complaints = example.module.verify()
            failed = failed or bool(complaints)
            for complaint in complaints:
                page.line(f"{example.name}: {complaint}", "bad")
            if not complaints:
                page.line(f"{example.name}: no numbers are printed; every gradient agrees with finite differences")
    if results:
        page.line()
        tallies = {name: tally(findings) for name, findings in results.items()}
        page.line(table(tallies))
        page.line()
        page.line(summary(tallies), "bad" if failed else "good")
    return int(failed)
