"""Writing steps to files, whole or not at all."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from autograd.drawing.paint.images import film, image, pdf
from autograd.saving.browser import pdf_of
from autograd.saving.files import check_ending, save_by_ending, write_whole

from .slides import reading_time, slides

if TYPE_CHECKING:
    from ..stepper import Stepper

NUMBERED = re.compile(r"(.*?)(\d+)")  # the name of a first picture: 0001, step-01


def save(stepper: Stepper, path: Path) -> Path:
    """By extension; a picture's name ends in a number, which is counted up from step to step."""
    kind = path.suffix.lower()
    contents: dict[str, Callable[[], str | bytes]] = {
        ".html": stepper.html,
        ".htm": stepper.html,
        ".txt": lambda: f"{stepper}\n",
        ".tex": lambda: stepper.latex(document=True),
        ".pdf": lambda: pdf(slides(stepper)),
        ".gif": lambda: film(slides(stepper), [reading_time(one) for one in stepper]),
    }
    pictures: dict[str, Callable[[str], bytes]] = {".svg": str.encode, ".png": lambda svg: image(svg, "png")}
    if kind in (*pictures, ".pdf", ".gif") and not len(stepper):
        raise ValueError(f"save: nothing was computed, so there is no step to show in {path.name!r}")
    if kind in pictures:
        return _save_pictures(stepper, path, pictures[kind])
    check_ending(path, (*contents, *pictures), "a stepper")
    return save_by_ending(path, contents, "a stepper")


def save_lecture(stepper: Stepper, path: Path) -> Path:
    """The deck, by extension."""
    from ..page.deck import write
    from .latex import beamer

    def printed() -> bytes:
        made = pdf_of(write(stepper))
        if made is None:
            raise ValueError("a PDF needs Chromium or Chrome on PATH, and none wrote one; write .html and print that")
        return made

    contents: dict[str, Callable[[], str | bytes]] = {
        ".html": lambda: write(stepper), ".pdf": printed, ".tex": lambda: beamer(stepper),
    }  # fmt: skip
    return save_by_ending(path, contents, "a lecture")


def _save_pictures(stepper: Stepper, path: Path, picture: Callable[[str], bytes]) -> Path:
    """A slide of every step: `steps/0001.svg`, `steps/0002.svg`, … Folders are made where there are none."""
    found = NUMBERED.fullmatch(path.stem)
    if found is None:
        raise ValueError(
            f"save: a picture of every step needs a number in its name, which is counted up: write "
            f"'{path.with_suffix('')}/0001{path.suffix}'. One step alone is stepper.svg(index)"
        )
    start, digits, first = found[1], len(found[2]), int(found[2])
    made = [picture(svg) for svg in slides(stepper)]
    path.parent.mkdir(parents=True, exist_ok=True)
    for number, content in enumerate(made, first):
        write_whole(path.with_name(f"{start}{number:0{digits}}{path.suffix}"), content)
    return path
