"""A Python file of the user's, run for what it defines."""

from __future__ import annotations

import runpy
import sys
import traceback
from pathlib import Path
from typing import Any

from autograd.cli import CommandError

OURS = str(Path(__file__).resolve().parents[1])  # the folder of this package


def run_script(path: Path) -> dict[str, Any]:
    """Everything the file defines, by name. Its own folder is on the path while it runs, as with `python FILE.py`."""
    if not path.is_file():
        raise CommandError(f"there is no file {str(path)!r}")
    folder, argv = str(path.resolve().parent), sys.argv
    sys.path.insert(0, folder)
    sys.argv = [str(path)]
    try:
        return runpy.run_path(str(path))
    except SystemExit as stop:
        raise CommandError(f"{path.name} ended itself with exit status {stop.code} before it could be used") from None
    except Exception as error:
        raise failed(path.name, error) from error
    finally:
        sys.argv = argv
        sys.path.remove(folder)


def failed(what: str, error: BaseException) -> CommandError:
    """An error in the user's code, with the line of it that they wrote, if it came to that."""
    if isinstance(error, SyntaxError) and error.filename:
        return CommandError(f"{what} failed: {type(error).__name__}: {error.msg} ({error.filename}:{error.lineno})")
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [frame for frame in frames if not frame.filename.startswith((OURS, "<frozen"))]
    place = f" ({theirs[-1].filename}:{theirs[-1].lineno})" if theirs else ""
    return CommandError(f"{what} failed: {type(error).__name__}: {error}{place}")
