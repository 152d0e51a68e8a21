"""The pictures that the trainings save at their end, where matplotlib is there to paint them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any


def save_pictures(folder: Path, pictures: Mapping[str, Callable[[Path], Any]]) -> None:
    """Let each function paint its file in the folder, and say where they are, or that matplotlib is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        for name, paint in pictures.items():
            paint(folder / name)
    except ImportError as error:
        print(error)
    else:
        print(f"pictures: {', '.join(str(folder / name) for name in pictures)}")
