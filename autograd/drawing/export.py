"""Writing a drawing to a file, by extension, whole or not at all.

SVG, HTML, DOT and Mermaid need nothing. PNG and PDF are made from the SVG by CairoSVG (`pip install
handgrad[images]`) or, where that is missing, by a Chromium or Chrome found on PATH.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import struct
import subprocess
import tempfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

from autograd.drawing.paint import theme
from autograd.formula.text import xml

if TYPE_CHECKING:
    from autograd.drawing.drawing import Drawing

PNG_SCALE = 2  # pixels of a PNG per pixel of the drawing
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
BROWSER_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--hide-scrollbars",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
BROWSER_FRAME = 240  # pixels of a browser window's height that it may keep for itself, even headless
PNG_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}  # by the colour type in a PNG's header
PATIENCE = 120  # seconds for a browser


class ImageToolMissing(RuntimeError):
    """Neither CairoSVG nor a browser can turn the SVG into an image; the text says what to install."""


def save(drawing: Drawing, path: Path, theme_name: str = "light") -> Path:
    """Writes `drawing` to `path`; the folder must be there."""
    makers = {
        ".svg": lambda: drawing.themed("auto" if theme_name == "light" else theme_name).encode(),
        ".html": lambda: drawing.html().encode(),
        ".htm": lambda: drawing.html().encode(),
        ".dot": lambda: drawing.dot.encode(),
        ".gv": lambda: drawing.dot.encode(),
        ".mmd": lambda: drawing.mermaid.encode(),
        ".mermaid": lambda: drawing.mermaid.encode(),
        ".png": lambda: image(drawing.themed(theme_name), "png", theme_name),
        ".pdf": lambda: image(drawing.themed(theme_name), "pdf", theme_name),
    }
    if theme_name not in ("light", "dark"):
        raise ValueError(f"save: theme is 'light' or 'dark'; got {theme_name!r}")
    make = makers.get(path.suffix.lower())
    if make is None:
        raise ValueError(f"save: cannot tell a format from {path.name!r}; use one of {', '.join(makers)}")
    insist_on_folder(path)
    write_whole(path, make())
    return path


def insist_on_folder(path: Path) -> None:
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"save: there is no folder {str(path.parent)!r} for {path.name!r}; make it first (mkdir -p {path.parent})"
        )
    if path.is_dir():
        raise IsADirectoryError(f"save: {str(path)!r} is a folder; give a file name such as {path / 'graph.svg'}")


def write_whole(path: Path, content: bytes) -> None:
    """A reader of `path` sees the old file or the new one, never half of it."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:40]}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def image(svg: str, kind: str, theme_name: str = "light") -> bytes:
    """The SVG as "png" or "pdf" bytes."""
    for tool in (_by_cairo, _by_browser):
        made = tool(svg, kind, theme_name)
        if made is not None:
            return made
    raise ImageToolMissing(
        f"making a {kind.upper()} needs CairoSVG (pip install 'handgrad[images]') or Chromium on "
        "PATH; neither is here. Save as .svg instead: every browser and slide program opens it"
    )


def _by_cairo(svg: str, kind: str, theme_name: str) -> bytes | None:
    try:
        import cairosvg
    except (ImportError, OSError):  # OSError: the wheel is there, the cairo library is not
        return None
    # CairoSVG takes the first font of a list only, and sees attributes, not media queries.
    plain = svg.replace(xml(theme.MONO), "monospace").replace(xml(theme.SANS), "sans-serif")
    plain = theme.recoloured(plain, theme_name)
    if kind == "pdf":
        return bytes(cairosvg.svg2pdf(bytestring=plain.encode()))
    return bytes(cairosvg.svg2png(bytestring=plain.encode(), scale=PNG_SCALE))


def _by_browser(svg: str, kind: str, theme_name: str) -> bytes | None:
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if browser is None:
        return None
    width, height = _size(svg)
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "drawing.html"), Path(folder, f"drawing.{kind}")
        source.write_text(
            f"<!doctype html><meta charset=utf-8><style>@page{{size:{width}px {height}px;margin:0}}"
            f"body{{margin:0}}svg{{display:block}}</style>{theme.recoloured(svg, theme_name)}",
            encoding="utf-8",
        )
        wanted = (
            [f"--print-to-pdf={target}", "--no-pdf-header-footer"]
            if kind == "pdf"
            else [
                f"--screenshot={target}",
                f"--force-device-scale-factor={PNG_SCALE}",
                f"--window-size={width},{height + BROWSER_FRAME}",
            ]
        )
        try:
            subprocess.run(
                [browser, *BROWSER_FLAGS, f"--user-data-dir={folder}/profile", *wanted, source.as_uri()],
                check=True,
                capture_output=True,
                timeout=PATIENCE,
            )
            made = target.read_bytes()
        except (OSError, subprocess.SubprocessError):
            return None
    return first_rows(made, PNG_SCALE * height) if kind == "png" else made


def first_rows(png: bytes, rows: int) -> bytes:
    """A PNG without what is below its first rows: each row is stored in terms of those above it alone."""
    kept, pixels, at = png[:8], b"", 8
    size = stride = 0
    while at < len(png):
        length = int.from_bytes(png[at : at + 4], "big")
        kind, body = png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        at += 12 + length
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", body[:10])
            size, stride = min(rows, height), 1 + -(-width * depth * PNG_CHANNELS[colour] // 8)
            body = struct.pack(">II", width, size) + body[8:]
        if kind == b"IDAT":
            pixels += body
            continue
        if kind == b"IEND":
            kept += _chunk(b"IDAT", zlib.compress(zlib.decompress(pixels)[: size * stride]))
        kept += _chunk(kind, body)
    return kept


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def _size(svg: str) -> tuple[int, int]:
    found = re.search(r'width="(\d+)" height="(\d+)"', svg)
    assert found is not None
    return int(found[1]), int(found[2])


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
