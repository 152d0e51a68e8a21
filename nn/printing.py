"""A module printed as a tree: kinds, parameter shapes, counts. Equal neighbours are folded to `blocks.0..3 ×4`."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any, NamedTuple

from .containers import Sequential
from .layers.dropout import Dropout
from .module import Module, Parameter

OPEN_LEVELS = 2  # of a tree in a notebook


class Row(NamedTuple):
    """One line: what it is, the shapes of its own parameters, how many numbers it holds in all."""

    what: str
    shapes: str
    size: str


def printed(module: Module) -> str:
    """The lines of the tree, in columns; one line for a module without modules inside."""
    rows = _rows(module, "", "", "")
    if len(rows) == 1:
        return "  ".join(part for part in (rows[0].what, rows[0].shapes, f"{rows[0].size} parameters") if part)
    left, middle, right = (max(len(row[i]) for row in rows) for i in range(3))
    lines = [f"{what:<{left}}  {shapes:<{middle}}  {size:>{right}}".rstrip() for what, shapes, size in rows]
    return "\n".join([f"{lines[0]} parameters", *lines[1:]])


def unfolding(part: Any, name: str = "", level: int = 0) -> str:
    """The tree as HTML, for a notebook: a module with modules inside opens and closes."""
    row, *_ = _rows(part, name, "", "")
    size = f" <span>{row.size}{'' if level else ' parameters'}</span>" if row.size else ""
    line = f"<code>{escape(row.what)}</code> <small>{escape(row.shapes)}</small>{size}"
    inside = _inside(part) if isinstance(part, Module) else []
    if not inside:
        return f'<div style="margin-left:1em">{line}</div>'
    children = "".join(unfolding(child, path, level + 1) for path, child in inside)
    is_open = " open" if level < OPEN_LEVELS else ""
    return f'<details style="margin-left:1em"{is_open}><summary>{line}</summary>{children}</details>'


def _rows(part: Any, name: str, lead: str, indent: str) -> list[Row]:
    """The line of a module (or of a plain function in a Sequential), then those of what is inside."""
    title = f"{lead}{name}: " if name else lead
    if not isinstance(part, Module):
        return [Row(title + getattr(part, "__name__", repr(part)), "", "")]
    rows = [Row(title + part._kind(), _shapes(part), f"{part.count():,}")]
    children = _inside(part)
    for i, (path, child) in enumerate(children):
        last = i == len(children) - 1
        branch, below = ("└── ", "    ") if last else ("├── ", "│   ")
        rows += _rows(child, path, indent + branch, indent + below)
    return rows


def _inside(module: Module) -> list[tuple[str, Any]]:
    """What stands below a module: the modules inside, those in a row that look alike as one."""
    return _folded(_children(module), lambda child: "\n".join(map(str, _rows(child, "", "", ""))))


def _children(module: Module) -> list[tuple[str, Any]]:
    """The modules inside, but for dropouts that drop nothing; a Sequential's plain functions too."""
    if isinstance(module, Sequential):
        return [(f"layers.{i}", layer) for i, layer in enumerate(module.layers)]
    modules = [(path, part) for path, part in module._own_parts() if isinstance(part, Module)]
    return [(path, part) for path, part in modules if not (isinstance(part, Dropout) and part.p == 0)]


def _shapes(module: Module) -> str:
    """`weight (2, 3), bias (3,)`: the parameters that are a module's own."""
    own = [(path, part) for path, part in module._own_parts() if isinstance(part, Parameter)]
    shown = [(path, f"{p.shape}{'' if p.requires_grad else ' frozen'}") for path, p in own]
    return ", ".join(f"{path} {shape}" for path, shape in _folded(shown, str))


def _folded(entries: list[tuple[str, Any]], looks: Callable[[Any], str]) -> list[tuple[str, Any]]:
    """Runs of `blocks.0`, `blocks.1`, … that look alike become one entry named `blocks.0..3 ×4`."""
    runs: list[list[tuple[str, Any, str]]] = []
    for path, part in entries:
        look = looks(part)
        if runs and runs[-1][-1][2] == look and _follows(path, runs[-1][-1][0]):
            runs[-1].append((path, part, look))
        else:
            runs.append([(path, part, look)])
    return [(run[0][0] + _extent(run), run[0][1]) for run in runs]


def _follows(path: str, before: str) -> bool:
    """Whether `layers.2` comes right after `layers.1`."""
    stem, _, number = path.rpartition(".")
    earlier, _, previous = before.rpartition(".")
    return stem == earlier != "" and number.isdigit() and previous.isdigit() and int(number) == int(previous) + 1


def _extent(run: list[Any]) -> str:
    return f"..{run[-1][0].rpartition('.')[2]} ×{len(run)}" if len(run) > 1 else ""
