"""A Python file of the user's, run for what it defines."""

from __future__ import annotations

import runpy
import sys
import traceback
from pathlib import Path
from typing import Any

from autograd.cli import CommandError


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
        last = traceback.extract_tb(error.__traceback__)[-1]
        raise CommandError(
            f"{path.name} failed: {type(error).__name__}: {error} ({last.filename}:{last.lineno})"
        ) from error
    finally:
        sys.argv = argv
        sys.path.remove(folder)
