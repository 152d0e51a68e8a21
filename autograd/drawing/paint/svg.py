"""SVG elements as text: the few shapes every picture is made of, and the document round them."""

from __future__ import annotations

import hashlib
import re
from typing import Any

from autograd.formula.text import xml

from ..layout.geometry import Box, Point
from ..layout.measure import CAPTION
from . import theme

BESIDES = re.compile(r'<(title|desc)\b.*?</\1>| (?:id|data-[\w-]+|aria-[\w-]+|tabindex|role)="[^"]*"', re.DOTALL)
IN_URL = {ord(character): f"%{ord(character):02X}" for character in "%#&\n"}
OWN = "hg-own"  # begins the ids of a picture until all of it is painted; then a hash of that takes its place


def document(
    body: str, width: float, height: float, title: str, description: str, prefix: str = OWN, theme_name: str = "auto"
) -> str:
    """The `<svg>` round painted elements: size, accessible texts, style sheet."""
    title, description = xml(title), xml(description)
    if prefix == OWN:
        prefix = f"hg-{hashlib.blake2s(f'{title}{description}{body}'.encode(), digest_size=4).hexdigest()}"
        body = body.replace(f'"{OWN}-', f'"{prefix}-')
    tokens = set(re.findall(r"hg-[fs]-([a-z-]+)", body))
    chosen = f' data-theme="{theme_name}"' if theme_name in ("light", "dark") else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="hg"{chosen} width="{width:.0f}" '
        f'height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}" role="img" '
        f'aria-labelledby="{prefix}-title {prefix}-desc"><title id="{prefix}-title">{title}</title>'
        f'<desc id="{prefix}-desc">{description}</desc>'
        f"<style>{theme.css(tokens)}</style>{body}</svg>"
    )


def as_url(svg: str) -> str:
    """The picture as the address of an image, without what only a page can use."""
    return "data:image/svg+xml," + BESIDES.sub("", svg).replace('"', "'").translate(IN_URL)


def size_of(svg: str) -> tuple[int, int]:
    """The width and height of a whole picture."""
    found = re.search(r'width="(\d+)" height="(\d+)"', svg)
    assert found is not None
    return int(found[1]), int(found[2])


def rectangle(box: Box, radius: float, style: str) -> str:
    corner = f' rx="{n(radius)}"' if radius else ""
    return f'<rect x="{n(box.x)}" y="{n(box.y)}" width="{n(box.width)}" height="{n(box.height)}"{corner} {style}/>'


def text(
    x: float, y: float, content: str, *, token: str = "", anchor: str = "start", size: float | None = None,
    weight: int = 400, family: str = "", more: str = "",
) -> str:  # fmt: skip
    """A text, by default in the font and colour of its group; `more` is another attribute."""
    attributes = f'{more} x="{n(x)}" y="{n(y)}"'
    if token:
        attributes += " " + theme.fill(token)
    if anchor != "start":
        attributes += f' text-anchor="{anchor}"'
    if size is not None:
        attributes += f' font-size="{n(size)}"'
    if weight != 400:
        attributes += f' font-weight="{weight}"'
    if family:
        attributes += f' font-family="{xml(family)}"'
    if "  " in content:
        attributes += ' xml:space="preserve"'
    return f"<text{attributes}>{xml(content)}</text>"


def caption(x: float, y: float, content: str, token: str, *, size: float = CAPTION, **look: Any) -> str:
    """A text in the other font, which has no fixed width; `look` as in `text`."""
    return text(x, y, content, token=token, size=size, family=theme.SANS, **look)


def n(value: float) -> str:
    """A coordinate: a tenth of a pixel is enough."""
    digits = f"{value:.1f}"
    return digits[:-2] if digits.endswith(".0") else digits


def p(point: Point) -> str:
    return f"{n(point[0])},{n(point[1])}"
