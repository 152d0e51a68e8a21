"""Whose code is calling: the user's line that made a node, and how deep a warning must reach to point at it.

    user_line()     # "train.py:12: loss = model(x).sum()"
"""

from __future__ import annotations

import linecache
import os
import sys
import sysconfig
from typing import Any

import numpy as np

_HOME = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Where no line of the caller's is: our packages, and NumPy, whose dispatch and errstate stand between.
OURS = (*(os.path.join(_HOME, package, "") for package in ("autograd", "nn")),
        os.path.join(os.path.dirname(np.__file__), ""))  # fmt: skip
_LIBRARY = os.path.join(sysconfig.get_path("stdlib"), "")


def _is_users(file: str) -> bool:
    """Whether code is neither ours nor Python's own, such as `json`, which may call us back."""
    return not file.startswith(OURS) and (not file.startswith(_LIBRARY) or "-packages" in file)


def user_line(error: BaseException | None = None) -> str | None:
    """The innermost source line of the user's, as "file.py:12: c = a * b"; of an error, where it was."""
    frame: Any = sys._getframe(1)
    if error is not None:
        at: Any = error.__traceback__
        while at.tb_next is not None:
            at = at.tb_next
        frame = at.tb_frame
    while frame is not None and not _is_users(frame.f_code.co_filename):
        frame = frame.f_back
    if frame is None:
        return None
    file, number = frame.f_code.co_filename, frame.f_lineno
    return f"{os.path.basename(file)}:{number}: {linecache.getline(file, number).strip()}"


def warning_depth() -> int:
    """The `stacklevel` of a warning about the caller's code: how many calls deep we are in ours."""
    depth = 1
    frame: Any = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(OURS):
        frame, depth = frame.f_back, depth + 1
    return depth
