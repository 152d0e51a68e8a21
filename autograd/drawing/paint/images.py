"""Images from SVG: PNG and PDF, by CairoSVG (`pip install 'handgrad[images]'`) or, where that is missing, by a Chromium
or Chrome found on PATH; several pictures as the pages of one PDF, or as an animated GIF.
"""

from __future__ import annotations

import io
import re
import struct
import warnings
import zlib
from collections.abc import Iterable, Sequence
from html import unescape
from typing import Any

from autograd.formula.text import xml
from autograd.saving.browser import pdf_of, png_of

from . import theme
from .svg import size_of

PNG_SCALE = 2  # pixels of a PNG per pixel of the drawing
BROWSER_FRAME = 240  # pixels that the window of a headless browser may be shorter than asked for
PNG_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}  # by the colour type in a PNG's header
MOST_FRAMES = 16  # pictures of a film painted at once
SANS_TEXT = re.compile(r"<text[^>]* font-family=[^>]*>([^<]*)")
MONO_TEXT = re.compile(r"<text(?![^>]* font-family=)[^>]*>([^<]*)")


class ImageToolMissing(RuntimeError):
    """Neither CairoSVG nor a browser can turn the SVG into an image; the text says what to install."""


def image(svg: str, kind: str, theme_name: str = "light", scale: int = PNG_SCALE) -> bytes:
    """The SVG as "png" bytes, `scale` pixels to one of its own, or as "pdf"."""
    return _made([svg], kind, theme_name, scale)


def pdf(svgs: Iterable[str]) -> bytes:
    """Pictures as the pages of one PDF, each of its picture's size."""
    return _made(list(svgs), "pdf", "light", 1)


def film(svgs: Iterable[str], seconds: Sequence[float]) -> bytes:
    """Pictures of one size as an animated GIF that shows each for its number of seconds and repeats."""
    try:
        from PIL import Image
    except ImportError:
        raise ImageToolMissing(
            "making a GIF needs Pillow (pip install 'handgrad[images]'), which is not here. Save as .html instead: the "
            "page plays on its own"
        ) from None
    frames: list[Any] = []
    pictures = list(svgs)
    for first in range(0, len(pictures), MOST_FRAMES):  # several at a time: a browser takes a second to start
        strip = _strip(pictures[first : first + MOST_FRAMES])
        whole = Image.open(io.BytesIO(image(strip, "png", scale=1))).convert("RGB")
        width, height = size_of(pictures[0])
        for top in range(0, whole.height, height):
            frame = whole.crop((0, top, width, top + height))
            frames.append(frame.quantize(256, dither=Image.Dither.NONE))
    made = io.BytesIO()
    duration = [round(1000 * each) for each in seconds]
    duration[-1] *= 3  # a pause before it repeats
    frames[0].save(made, "gif", save_all=True, append_images=frames[1:], duration=duration, loop=0, optimize=True)
    return made.getvalue()


def _strip(svgs: Sequence[str]) -> str:
    """Pictures below one another, as one."""
    width, height = size_of(svgs[0])
    body = "".join(svg.replace("<svg ", f'<svg y="{number * height}" ', 1) for number, svg in enumerate(svgs))
    return f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height * len(svgs)}">{body}</svg>'


def _made(svgs: Sequence[str], kind: str, theme_name: str, scale: int) -> bytes:
    lost = _lost_by_cairo(svgs)
    for tool in (_by_browser, _by_cairo) if lost else (_by_cairo, _by_browser):
        made = tool([theme.recoloured(svg, theme_name) for svg in svgs], kind, scale)
        if made is not None:
            if lost and tool is _by_cairo:
                warnings.warn(f"{kind.upper()}: no font here shows {' '.join(lost)}, boxes stand in their place; with "
                              "Chromium on PATH, or as .svg, they are right", stacklevel=2)  # fmt: skip
            return made
    raise ImageToolMissing(
        f"making a {kind.upper()} needs CairoSVG (pip install 'handgrad[images]') or Chromium on "
        "PATH; neither is here. Save as .svg instead: every browser and slide program opens it"
    )


def _lost_by_cairo(svgs: Sequence[str]) -> list[str]:
    """The characters that CairoSVG would show as boxes: it takes one font for a text, and looks in no other."""
    try:
        import cairocffi
    except (ImportError, OSError):
        return []
    lost: dict[str, None] = {}
    for family, texts in (("monospace", MONO_TEXT), ("sans-serif", SANS_TEXT)):
        characters = dict.fromkeys(unescape("".join(text for svg in svgs for text in texts.findall(svg))))
        font = cairocffi.ScaledFont(cairocffi.ToyFontFace(family), cairocffi.Matrix(xx=13, yy=13))
        lost |= {one: None for one in characters if font.text_to_glyphs(0, 0, one, with_clusters=False)[0][0] == 0}
    return list(lost)


def _by_cairo(svgs: Sequence[str], kind: str, scale: int) -> bytes | None:
    try:
        import cairocffi
        from cairosvg import surface
        from cairosvg.parser import Tree
    except (ImportError, OSError):  # OSError: the wheel is there, the cairo library is not
        return None
    made = io.BytesIO()
    # CairoSVG takes the first font of a list only, and sees attributes, not media queries.
    plain = [svg.replace(xml(theme.MONO), "monospace").replace(xml(theme.SANS), "sans-serif") for svg in svgs]
    if kind == "png":
        surface.PNGSurface(Tree(bytestring=plain[0].encode()), made, dpi=96, scale=scale).finish()
        return made.getvalue()
    sheets = cairocffi.PDFSurface(made, 1, 1)

    class Page(surface.PDFSurface):  # type: ignore[misc, unused-ignore]
        """One page of a document that others have pages in."""

        def _create_surface(self, width: float, height: float) -> tuple[Any, float, float]:
            sheets.set_size(width, height)
            return sheets, width, height

    for svg in plain:
        Page(Tree(bytestring=svg.encode()), None, dpi=96)
        sheets.show_page()
    sheets.finish()
    return made.getvalue()


def _by_browser(svgs: Sequence[str], kind: str, scale: int) -> bytes | None:
    width, height = size_of(svgs[0])
    page = (
        f"<!doctype html><meta charset=utf-8><style>@page{{size:{width}px {height}px;margin:0}}body{{margin:0}}"
        "body>svg{display:block;break-after:page}body>svg:last-child{break-after:auto}</style>" + "".join(svgs)
    )
    if kind == "pdf":
        return pdf_of(page)
    png = png_of(page, width, height + BROWSER_FRAME, scale)
    return png and first_rows(png, scale * height)


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
