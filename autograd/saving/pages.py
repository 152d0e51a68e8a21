"""What every HTML page is made of: files from a package's `assets` folder, templates, data inside a script."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from importlib.resources import files
from typing import Any


def asset(package: str, name: str) -> str:
    """The text of a file in the assets of a package, such as "autograd.drawing"."""
    return files(package).joinpath("assets", name).read_text(encoding="utf-8")


def filled(template: str, parts: Mapping[str, str]) -> str:
    """A template with each `{{name}}` replaced by the part of that name."""
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], template)


def embedded(data: Any) -> str:
    """JSON that is safe inside a script element: no text in it can end the element or start another."""
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
