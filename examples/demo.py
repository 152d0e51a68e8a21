"""The main job, `make demo`: all seven examples, checked, with everything there is to look at, in `out/`.

    out/index.html                  everything, in the order of the book
    out/<example>/worksheet.txt     the example as a worksheet
    out/<example>/graph.svg         its computation graph, with gradients
    out/<example>/step.html         its backward pass, step by step
    out/<example>/*.svg             its plots
    out/errata.md                   the slips in the printed worksheets
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import autograd
from examples import EXAMPLES, Example
from examples.checking import errata
from examples.checking.verdict import Finding, check, summary, table, tally
from examples.index_page import index_page
from examples.page import Page

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
    skipped = []
    for name, write in _writers(example):
        try:
            made.files += write(folder)
        except (ImportError, AttributeError) as error:
            if getattr(error, "name", None) not in READERS:     # anything else is a fault, not a missing reader
                raise
            skipped.append(name)
    page.line(f"{example.name:<12}{checked:<32}{', '.join(path.name for path in made.files)}"
              f"   {time.perf_counter() - started:.1f} s")
    for name in skipped:
        page.note(f"{name} skipped: this version cannot make it yet")
    return made


READERS = ("draw", "step", "save", "html", "autograd.show")


def _writers(example: Example) -> Iterator[tuple[str, Callable[[Path], list[Path]]]]:
    """What is made of every example, in the order in which to show it."""
    module = example.module

    def graph(folder: Path) -> list[Path]:
        root = module.graph()
        for name, options in module.DRAWINGS.items():
            autograd.draw(root, **options).save(folder / name)
        return [folder / name for name in module.DRAWINGS]

    def stepper(folder: Path) -> list[Path]:
        root = module.stepped() if hasattr(module, "stepped") else module.graph()
        autograd.step(root).save(folder / "step.html")
        return [folder / "step.html"]

    def plots(folder: Path) -> list[Path]:
        made = {folder / name: svg for name, svg in module.plots().items()}
        for path, svg in made.items():
            path.write_text(svg, encoding="utf-8")
        return list(made)

    def worksheet(folder: Path) -> list[Path]:
        path = folder / "worksheet.txt"
        with path.open("w", encoding="utf-8") as stream:
            module.main(Page(stream))
        return [path]

    yield from {"graphs": graph, "step.html": stepper, "plots": plots, "worksheet.txt": worksheet}.items()


if __name__ == "__main__":
    sys.exit(main())
