"""The lessons: `NN_name.py` files, kept as text without outputs, so that a change of one can be read."""

from __future__ import annotations

import json
import re
from pathlib import Path

HERE = Path(__file__).resolve().parent


def lessons() -> list[Path]:
    """The lessons in order."""
    return sorted(HERE.glob("[0-9][0-9]_*.py"))


def title_of(path: Path) -> str:
    """The lesson's own heading, with its number."""
    return _opening(path)[0]


def promise_of(path: Path) -> str:
    """The first sentence under the heading: what the lesson is about."""
    return re.split(r"(?<=[.:?]) ", _opening(path)[1], maxsplit=1)[0].rstrip(":")


def _opening(path: Path) -> tuple[str, str]:
    """The heading and the text of the first cell."""
    lines = path.read_text(encoding="utf-8").split("# %%")[1].splitlines()[1:]
    heading, *text = [line.removeprefix("#").strip() for line in lines if line.strip("# ")]
    return heading.removeprefix("# "), " ".join(text)


def needs_torch(path: Path) -> bool:
    """Whether a lesson is about PyTorch, which is an extra."""
    return "import torch" in path.read_text(encoding="utf-8")


def list_built(folder: Path) -> None:
    """Write which lessons are there as pages, as a script: pages beside it link to those."""
    folder.mkdir(parents=True, exist_ok=True)
    built = [f"{path.stem}.html" for path in lessons() if (folder / f"{path.stem}.html").exists()]
    (folder / "built.js").write_text(f"const lessons = {json.dumps(built)};\n", encoding="utf-8")
