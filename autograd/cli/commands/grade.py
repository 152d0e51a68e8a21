"""`handgrad grade FILE...`: mark answers, one by one or a whole class."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autograd.errors import HandgradError, counted, printable
from autograd.saving.files import save_by_ending

from .. import CommandError, Subparsers, explained, whole

if TYPE_CHECKING:
    from autograd.worksheets import Marks, Worksheet
    from autograd.worksheets.marking.answers import Answers

KINDS = (".csv", ".tsv", ".json", ".xlsx")
PAGES = (".html", ".htm")  # a sheet saved with its answers: it cannot be marked, and must not be passed over either


def register(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "grade", help="mark the answers to a worksheet, or those of a class",
        description="Mark answers (.csv, .json, .xlsx), each number from the learner's own earlier ones. One file "
                    "gives a report; several, or a folder, a table: who, score, first wrong step, slip, empty blanks, "
                    "and what each file was asked where that differs. "
                    "A file that cannot be read is named, and the rest is marked.")  # fmt: skip
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE | FOLDER")
    parser.add_argument("--of", metavar="FILE.py[:NAME] | EXAMPLE",
                        help="what the sheet was made from; the answers to an example's sheet name it. With it, the "
                             "whole sheet is asked, or what --only says, whatever a file says")  # fmt: skip
    parser.add_argument("--only", action="append", metavar="NAME", help="with --of: what was asked: attn, dL/d*")
    parser.add_argument("--forward-only", action="store_true", help="with --of: the forward pass was asked")
    parser.add_argument("--backward-only", action="store_true", help="with --of: the backward pass was asked")
    default = "as for `handgrad worksheet` (default: the file's)"
    parser.add_argument("--digits", type=whole(1, 12), metavar="N", help=default)
    parser.add_argument("--variant", type=whole(0), metavar="N", help=default)
    parser.add_argument("-o", "--output", type=Path, metavar="PATH",
                        help="write the report: .html, .json or .txt; the table of a class: .csv or .txt")  # fmt: skip
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from autograd.worksheets.marking.answers import read

    if not arguments.of and asked_by(arguments):
        raise CommandError("--only, --forward-only and --backward-only go with --of, which says what the sheet is of")
    files = found_files(arguments.files)
    sheets: dict[tuple[str, int, int, str], Worksheet] = {}
    marks: list[Marks] = []
    failed: list[str] = []
    for path in _with_progress(files):
        try:
            answers = read(path)
            marks.append(mark(answers, sheet_for(path, answers, arguments, sheets)))
        except Exception as error:  # whatever is wrong with one file, the others are marked
            if len(files) == 1 and isinstance(error, HandgradError):
                raise CommandError(str(error)) from error
            if len(files) == 1:
                raise
            failed.append(f"{path.name}: not marked. {str(error).removeprefix(f'{path.name}: ')}")
    if len(files) == 1:
        report(marks[0], arguments.output)
    else:
        report_class(marks, failed, arguments.output)
    return 1 if failed else 0


def found_files(paths: list[Path]) -> list[Path]:
    """The files meant: those named, and those in folders."""
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            found += sorted(each for each in path.iterdir() if each.suffix.lower() in KINDS + PAGES)
        elif path.exists():
            found.append(path)
        else:
            raise CommandError(f"there is no file {str(path)!r}; give answers as {', '.join(KINDS)}, or their folder")
    if not found:
        raise CommandError(f"no answers in {', '.join(map(str, paths))}: their files end in {', '.join(KINDS)}")
    return found


def _with_progress(files: list[Path]) -> list[Path]:
    if len(files) < 4:
        return files
    from tqdm import tqdm

    return tqdm(files, unit="sheet", leave=False, disable=None)


def sheet_for(
    path: Path, answers: Answers, arguments: argparse.Namespace, sheets: dict[tuple[str, int, int, str], Worksheet]
) -> Worksheet:
    """The sheet that a file is marked on: its own; or, with --of, what the command line says was asked. Then the file
    must belong to a sheet of the same numbers, and answers that it was not asked for are missing."""
    from autograd.worksheets.marking.answers import AnswersError

    labels = answers.labels
    source = arguments.of or labels.get("source", "")
    if not source or (".py" in source and not arguments.of):  # a file never says which program to run
        raise AnswersError(f"{path.name} does not say which sheet it belongs to: add --of example3 or --of model.py:L")
    digits = arguments.digits or _whole(labels.get("digits", ""), 4)
    variant = arguments.variant if arguments.variant is not None else _whole(labels.get("variant", ""), 0)

    def sheet_with(options: dict[str, Any]) -> Worksheet:
        from .worksheet import make_sheet

        key = (source, digits, variant, json.dumps(options, sort_keys=True))
        if key not in sheets:
            sheets[key] = make_sheet(source, digits=digits, variant=variant, **options)
        return sheets[key]

    options = options_of(labels.get("options", ""))
    if not arguments.of:
        return sheet_with(options)
    wanted = {name: x for name, x in options.items() if name not in ASKED} | asked_by(arguments)
    if wanted != options and answers.sheet and answers.sheet == sheet_with(options).identity:
        answers.labels = labels | {"sheet": sheet_with(wanted).identity}
    return sheet_with(wanted)


ASKED = ("only", "forward", "backward")  # the options that decide which numbers are asked


def asked_by(arguments: argparse.Namespace) -> dict[str, Any]:
    """What the command line says was asked."""
    found = {"only": arguments.only, "backward": not arguments.forward_only, "forward": not arguments.backward_only}
    return {name: x for name, x in found.items() if x not in (None, True)}


def options_of(text: str) -> dict[str, Any]:
    """The options of `worksheet` that a file names; what is none of them is left out."""
    from autograd.worksheets.sheet import OPTIONS

    try:
        found = json.loads(text or "{}")
    except (json.JSONDecodeError, RecursionError):
        return {}
    if not isinstance(found, dict) or not isinstance(found.get("only", []), list):
        return {}
    if found.get("names") not in (None, "book"):
        return {}
    return {name: x for name, x in found.items() if name in OPTIONS}


def _whole(text: str, default: int) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 7 else default


def mark(answers: Answers, sheet: Worksheet) -> Marks:
    from autograd.worksheets import grade

    return grade(sheet, answers)


def report(marks: Marks, output: Path | None) -> None:
    """Print the report, or write it in the form that the file's ending names."""
    if output is None:
        print(printable(marks.text()), end="")
        return
    with explained():
        save_by_ending(output, {".html": marks.html, ".json": marks.json, ".txt": marks.text}, "a report")
    print(f"{output}: {marks.score:.1%}")


def report_class(marks: list[Marks], failed: list[str], output: Path | None) -> None:
    """Print what could not be marked and the table of the class, or write the table: .csv or .txt."""
    text = class_table(marks) if marks else "no file could be marked"
    if output is None:
        print(printable("\n".join([*failed, text])))
        return
    from autograd.worksheets.writers.plain import csv_rows

    contents: dict[str, Callable[[], str | bytes]] = {
        ".csv": lambda: csv_rows(class_rows(marks)).encode("utf-8-sig"),
        ".txt": lambda: "\n".join([*failed, text, ""]),
    }
    with explained():
        save_by_ending(output, contents, "the table of a class")
    print(printable("\n".join([*failed, f"{output}: {len(marks)} marked"])))


def class_rows(marks: list[Marks]) -> list[tuple[str, ...]]:
    from autograd.worksheets.marking.grading import MISSING
    from autograd.worksheets.parts import as_slope

    rows: list[tuple[str, ...]] = [("who", "score", "step", "first wrong", "slip", "empty", "asked")]
    for each in marks:
        first, empty = each.first_wrong, each.counts[MISSING]
        step = "" if first is None else str(each.sheet.by_id[first].part.step.number)
        left = f"{empty} of {len(each.sheet)}" if empty else ""
        asked = each.sheet.asked or counted(len(each.sheet), "blank")
        name = "" if first is None else as_slope(each.sheet.called(first))
        rows.append((each.who, f"{each.score:.1%}", step, name, str(each.mistake or ""), left, asked))
    return rows


def class_table(marks: list[Marks]) -> str:
    """Who, score, first wrong step and number, slip, empty blanks, what was asked where that differs; and what happened
    most often."""
    rows = class_rows(marks)
    if len({row[-1] for row in rows[1:]}) == 1:
        rows = [row[:-1] for row in rows]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    slips = Counter(name for each in marks if each.mistake for name in each.mistake.names)
    if slips:
        name, count = slips.most_common(1)[0]
        lines.append(f"\nmost common slip: {name} ({count} of {len(marks)})")
    return "\n".join(lines)
