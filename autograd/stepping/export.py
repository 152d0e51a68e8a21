"""Writing steps to files, whole or not at all."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from autograd.drawing.export import image
from autograd.files import check_folder, write_whole

if TYPE_CHECKING:
    from autograd.stepping.stepper import Stepper

PICTURES = ("svg", "png")


def save(stepper: Stepper, path: Path) -> Path:
    """By extension: .html the page, .txt every step as text."""
    makers = {".html": stepper.html, ".htm": stepper.html, ".txt": lambda: f"{stepper}\n"}
    make = makers.get(path.suffix.lower())
    if make is None:
        raise ValueError(
            f"save: a stepper writes {', '.join(makers)}; got {path.name!r}. "
            "For pictures of single steps: stepper.svg(index), or stepper.save_all(folder)"
        )
    check_folder(path)
    write_whole(path, make().encode())
    return path


def save_all(stepper: Stepper, folder: Path, kind: str) -> list[Path]:
    """A numbered picture of every step."""
    if kind not in PICTURES:
        raise ValueError(f"save_all: kind is one of {', '.join(PICTURES)}; got {kind!r}")
    if not folder.is_dir():
        raise FileNotFoundError(f"save_all: there is no folder {str(folder)!r}; make it first (mkdir -p {folder})")
    width = len(str(len(stepper)))
    written = []
    for step in stepper:
        name = re.sub(r"[^\w.-]+", "_", step.name)[:40].strip("_") or "step"
        path = folder / f"{step.index + 1:0{width}}-{step.kind}-{name}.{kind}"
        svg = stepper.svg(step.index)
        write_whole(path, svg.encode() if kind == "svg" else image(svg, "png"))
        written.append(path)
    return written
