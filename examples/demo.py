"""The main job, `make demo`: all seven examples, checked, with everything there is to look at, in `out/`.

    out/index.html                  a field for a formula, the lessons, the examples in the order of the book
    out/<example>/worksheet.txt     the example as a worksheet
    out/<example>/graph.svg         its computation graph, with gradients
    out/<example>/step.html         its backward pass, step by step
    out/<example>/sheet.html        the same to work out by hand, with key.html and sheet.csv for the answers
    out/<example>/*.svg             its plots
    out/gpt/graph.svg, .html        the training step of a four-block GPT, folded
    out/errata.md                   the slips in the printed worksheets
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import autograd
from autograd.cli import guarded
from autograd.cli.commands.worksheet import make_sheet
from autograd.stepping.page import document
from examples import EXAMPLES, Example, gpt_graph
from examples.checking import errata
from examples.checking.verdict import Finding, check, summary, table, tally
from examples.index_page import index_page
from examples.page import Page
from notebooks.lessons import list_built

OUT = Path("out")


@dataclass
class Made:
    """What was made of one example: its findings, and its files in the order in which to show them."""

    example: Example
    findings: list[Finding] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)

    @property
    def counts(self) -> Counter[str]:
        return tally(self.findings)


def main(argv: Sequence[str] | None = None) -> int:
    """Make everything and say where to look; 1 if any number is not accounted for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("-o", "--output", type=Path, default=OUT, metavar="FOLDER", help="where to put it (out)")
    out = parser.parse_args(argv).output
    page = Page()
    page.line("The worked examples, each held against its printed worksheet:\n", "bold")
    made = [make(example, out / example.name, page) for example in EXAMPLES]
    drawn = list(_drawings(gpt_graph.graph(), gpt_graph.DRAWINGS, out / "gpt"))
    page.line(f"{'gpt':<44}{', '.join(path.name for path in drawn)}")
    list_built(out / "notebooks")
    (out / "errata.md").write_text(errata.page(), encoding="utf-8")
    (out / "index.html").write_text(index_page(made, out), encoding="utf-8")

    tallies = {each.example.name: each.counts for each in made if each.findings}
    complaints = [complaint for each in made for complaint in each.complaints]
    page.line()
    page.line(table(tallies))
    page.line()
    for complaint in complaints:
        page.line(complaint, "bad")
    page.line(summary(tallies), "bad" if complaints else "good")
    page.line(f"\nLook at it: {(out / 'index.html').resolve().as_uri()}", "bold")
    return int(bool(complaints))


def make(example: Example, folder: Path, page: Page) -> Made:
    """Run one example, check it, and write its files."""
    started = time.perf_counter()
    folder.mkdir(parents=True, exist_ok=True)
    made = Made(example)
    if example.printed:
        made.findings = check(example.name, example.module.run())
        made.complaints = [f"{finding.entry.id} {finding.entry.what}: {complaint}"
                           for finding in made.findings for complaint in finding.complaints]
        checked = f"{len(made.findings)} printed numbers"
    else:
        made.complaints = [f"{example.name} {complaint}" for complaint in example.module.verify()]
        checked = "gradients against differences"
    made.files = [*_pictures(example, folder), *_plots(example, folder), _worksheet(example, folder)]
    made.files += _sheet(example, folder)
    page.line(f"{example.name:<12}{checked:<32}{', '.join(path.name for path in made.files)}"
              f"   {time.perf_counter() - started:.1f} s")
    return made


def _pictures(example: Example, folder: Path) -> Iterator[Path]:
    """The example's graph, drawn, and its backward pass as a page to step through."""
    module = example.module
    with autograd.record_lines():
        root = module.graph()
        stepped = module.stepped() if hasattr(module, "stepped") else root
    yield from _drawings(root, module.DRAWINGS, folder)
    optimizer = module.optimizer(stepped) if hasattr(module, "optimizer") else None
    _write_stepper(stepped, module.TITLE, folder / "step.html", "../index.html", optimizer)
    yield folder / "step.html"


def _write_stepper(root: autograd.Value, title: str, path: Path, back: str = "", optimizer: Any = None) -> None:
    stepper = autograd.step(root, title=title, optimizer=optimizer)
    path.write_text(document.write(stepper, back), encoding="utf-8")


def _drawings(root: autograd.Value, drawings: Mapping[str, dict[str, Any]], folder: Path) -> Iterator[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    for name, options in drawings.items():
        autograd.draw(root, **options).save(folder / name)
        yield folder / name


def _plots(example: Example, folder: Path) -> Iterator[Path]:
    for name, svg in example.module.plots().items():
        (folder / name).write_text(svg, encoding="utf-8")
        yield folder / name


def _worksheet(example: Example, folder: Path) -> Path:
    path = folder / "worksheet.txt"
    with path.open("w", encoding="utf-8") as stream:
        example.module.main(Page(stream))
    return path


def _sheet(example: Example, folder: Path) -> Iterator[Path]:
    """The example as a sheet to work out by hand, its key, and a table for the answers (see `handgrad grade`)."""
    sheet = make_sheet(example.name)
    if sheet.shorter is not None:  # random weights, too long for hands
        sheet = make_sheet(example.name, decimals=sheet.shorter)
    texts = {"sheet.html": sheet.html(), "key.html": sheet.html(answers=True), "sheet.csv": sheet.csv()}
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
        yield folder / name


if __name__ == "__main__":
    sys.exit(guarded("demo", main))  # Ctrl-C ends it without a traceback
