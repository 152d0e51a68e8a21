"""Pages half as large: each tag of the markup in their data is written once, and then stands as one character."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

TAG = re.compile(r"<[^<>]*>")
CODES = range(0xE000, 0xF900)  # characters that mean nothing by themselves
ESCAPED = re.compile(r"\\\\|\\u(e[0-9a-f]{3}|f[0-8][0-9a-f]{2})")
WORTH = 40  # characters that a tag must save in all
MARKUP = ("panel", "start", "svg", "faces", "turned")  # the fields of a view that are markup


def packed(views: list[dict[str, Any]]) -> dict[str, Any]:
    """The views with characters in place of tags, and which tag each stands for."""
    texts = [text for view in views for text in _markup(view)]
    used = set("".join(texts))
    codes = (chr(code) for code in CODES if chr(code) not in used)
    counted = Counter(tag for text in texts for tag in TAG.findall(text))
    worth = sorted(counted, key=lambda tag: -counted[tag] * len(tag))
    codes_of = dict(zip((tag for tag in worth if counted[tag] * len(tag) > WORTH), codes))

    def pack(text: str) -> str:
        return TAG.sub(lambda found: codes_of.get(found[0], found[0]), text)

    return {"tags": {code: tag for tag, code in codes_of.items()}, "views": [_each(view, pack) for view in views]}


def bare(data: str) -> str:
    """JSON with the characters that stand for tags as themselves: half as long as their escapes."""
    return ESCAPED.sub(lambda found: chr(int(found[1], 16)) if found[1] else found[0], data)


def unpacked(data: dict[str, Any]) -> list[dict[str, Any]]:
    """The views as they were: what the page does, for those who read its data."""
    tags = data["tags"]

    def unpack(text: str) -> str:
        return "".join(tags.get(character, character) for character in text)

    return [_each(view, unpack) for view in data["views"]]


def _markup(value: Any, key: str = "") -> list[str]:
    if isinstance(value, str):
        return [value] if key in MARKUP else []
    if isinstance(value, dict):
        return [text for name, part in value.items() for text in _markup(part, name)]
    return [text for part in value for text in _markup(part, key)] if isinstance(value, list) else []


def _each(value: Any, change: Any, key: str = "") -> Any:
    """The same data with every piece of markup changed."""
    if isinstance(value, str):
        return change(value) if key in MARKUP else value
    if isinstance(value, dict):
        return {name: _each(part, change, name) for name, part in value.items()}
    return [_each(part, change, key) for part in value] if isinstance(value, list) else value
