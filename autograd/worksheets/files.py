"""A sheet as a file, in the form that its ending names, written whole or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from autograd.errors import DataError
from autograd.files import check_folder, write_whole

if TYPE_CHECKING:
    from autograd.worksheets.sheet import Worksheet

KINDS = (".html", ".md", ".csv", ".xlsx", ".xml", ".pdf")


def check_kind(path: Path) -> str:
    """The ending of a file that a sheet can be written to."""
    kind = path.suffix.lower()
    if kind not in KINDS:
        raise DataError(f"{path}: a sheet is written as {', '.join(KINDS)}")
    return kind


def save(sheet: Worksheet, path: Path, answers: bool, check: bool, paper: str | None) -> None:
    """See `Worksheet.save`."""
    kind = check_kind(path)
    check_folder(path)
    if kind == ".xlsx":
        sheet.xlsx(path, answers=answers)
    elif kind == ".pdf":
        from autograd.worksheets.page import write_pdf

        write_pdf(sheet.html(answers=answers, fields=False, paper=paper or "A4"), path)
    else:
        text = {
            ".html": lambda: sheet.html(answers=answers, check=check, fields=not paper, paper=paper or "auto"),
            ".md": lambda: sheet.markdown(answers=answers),
            ".csv": lambda: sheet.csv(answers=answers), ".xml": sheet.moodle,
        }[kind]()  # fmt: skip
        write_whole(path, text.encode("utf-8-sig" if kind == ".csv" else "utf-8"))
