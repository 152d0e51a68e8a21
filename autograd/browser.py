"""Which Chromium there is on this machine, if any: for PNG and PDF files, and for tests of pages."""

import shutil
from pathlib import Path

COMMANDS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
APPLICATIONS = (  # where macOS has them, not on PATH
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)


def find_chromium() -> str | None:
    """The path of a Chromium or Chrome, or None."""
    candidates = (*map(shutil.which, COMMANDS), *filter(Path.exists, map(Path, APPLICATIONS)))
    return next((str(path) for path in candidates if path), None)
