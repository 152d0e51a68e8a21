"""The Chromium of this machine, if there is one: it writes PNG and PDF files, and tests drive pages in it."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

COMMANDS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
APPLICATIONS = (  # where macOS has them, not on PATH
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--hide-scrollbars",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
PATIENCE = 120  # seconds


def find_chromium() -> str | None:
    """The path of a Chromium or Chrome, or None."""
    candidates = (*map(shutil.which, COMMANDS), *filter(Path.exists, map(Path, APPLICATIONS)))
    return next((str(path) for path in candidates if path), None)


def pdf_of(page: str) -> bytes | None:
    """An HTML page printed to PDF; None without a browser, or if it fails."""
    return _written(page, "pdf", "--no-pdf-header-footer", "--print-to-pdf={}")


def png_of(page: str, width: int, height: int, scale: int) -> bytes | None:
    """An HTML page in a window of this size, `scale` pixels to one of its own; None as in `pdf_of`."""
    look = (f"--force-device-scale-factor={scale}", f"--window-size={width},{height}")
    return _written(page, "png", *look, "--screenshot={}")


def _written(page: str, kind: str, *options: str) -> bytes | None:
    """The file that the browser writes where the last option says."""
    browser = find_chromium()
    if browser is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "page.html"), Path(folder, f"written.{kind}")
        source.write_text(page, encoding="utf-8")
        command = [browser, *FLAGS, f"--user-data-dir={folder}/profile", *options[:-1], options[-1].format(target)]
        try:
            subprocess.run([*command, source.as_uri()], check=True, capture_output=True, timeout=PATIENCE)
            return target.read_bytes()
        except (OSError, subprocess.SubprocessError):
            return None
