"""`python -m notebooks build`: run every lesson and write it as a page. `python -m notebooks open`: JupyterLab.

The lessons are kept as text (`NN_name.py`, cells marked `# %%`), without outputs, so that a change of one can be read.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from notebooks.lesson_page import contents_page, lesson_page
from notebooks.lessons import HERE, lessons, list_built, needs_torch

OUT = Path("out/notebooks")
PATIENCE = 600  # seconds for one lesson


def read(path: Path) -> Any:
    """A lesson as a notebook."""
    import jupytext

    notebook = jupytext.read(path, fmt="py:percent")
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return notebook


def executed(path: Path, kernel: Any = None) -> Any:
    """A lesson run from top to bottom in its folder, its plots as SVG; in a kernel of its own unless one is given."""
    import nbformat
    from nbconvert.preprocessors import ExecutePreprocessor

    notebook = read(path)
    os.environ["PYTHONPATH"] = os.pathsep.join([str(HERE.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    notebook.cells.insert(0, nbformat.v4.new_code_cell("%config InlineBackend.figure_formats = ['svg']"))
    quiet = ["--log-level=ERROR"]  # the kernel warns that it talks over TCP, on this computer alone
    runner = ExecutePreprocessor(timeout=PATIENCE, extra_arguments=quiet)
    runner.preprocess(notebook, {"metadata": {"path": str(HERE)}}, km=kernel)
    if kernel is not None:
        runner.kc.stop_channels()  # with a kernel of its own it does so itself
    del notebook.cells[0]
    return notebook


def lacks_torch(path: Path) -> bool:
    """Whether a lesson needs torch, and it is not installed."""
    return needs_torch(path) and find_spec("torch") is None


def build(out: Path, chosen: Sequence[str] = ()) -> Iterator[Path]:
    """Run the lessons (all there can be, or those whose number is chosen) and write each as HTML, with an index."""
    out.mkdir(parents=True, exist_ok=True)
    possible = [path for path in lessons() if not lacks_torch(path)]
    for path in possible:
        if not chosen or path.name[:2] in chosen:
            page = out / f"{path.stem}.html"
            page.write_text(lesson_page(executed(path), path, possible), encoding="utf-8")
            yield page
    home = (out.parent / "index.html").exists()
    (out / "index.html").write_text(contents_page(possible, home), encoding="utf-8")
    list_built(out)


def open_in_lab() -> int:
    """Write each lesson as a notebook beside its text, paired with it, and start JupyterLab."""
    import jupytext

    for path in lessons():
        paired = path.with_suffix(".ipynb")
        if not paired.exists() or paired.stat().st_mtime < path.stat().st_mtime:
            notebook = read(path)
            notebook.metadata["jupytext"] = {"formats": "ipynb,py:percent"}
            jupytext.write(notebook, paired)
    return subprocess.call([sys.executable, "-m", "jupyterlab"], cwd=HERE)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m notebooks", description="The lessons.")
    commands = parser.add_subparsers(dest="command", required=True)
    building = commands.add_parser("build", help="run the lessons and write them as pages")
    building.add_argument("number", nargs="*", help="01 03: these only")
    building.add_argument("-o", "--output", type=Path, default=OUT, help=f"where to ({OUT})")
    commands.add_parser("open", help="open the lessons in JupyterLab")
    arguments = parser.parse_args(argv)
    if arguments.command == "open":
        return open_in_lab()
    for page in build(arguments.output, arguments.number):
        print(page)
    for path in filter(lacks_torch, lessons()):
        print(f"left out: {path.stem} needs PyTorch ({sys.executable} -m pip install torch)")
    print(f"\nLook at them: {(arguments.output / 'index.html').resolve().as_uri()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
