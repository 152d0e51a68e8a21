"""A module printed as a tree: kinds, parameter shapes, counts. Equal neighbours are folded to `0..3 ×4`."""

from __future__ import annotations

from typing import Any

from .module import Module, Parameter


def printed(module: Module) -> str:
    """The lines of the tree, in columns; one line for a module without modules inside."""
    rows = list(_rows(module, "", "", ""))
    if len(rows) == 1:
        return "  ".join(part for part in (*rows[0][:2], f"{rows[0][2]} parameters") if part)
    left, middle, right = (max(len(row[i]) for row in rows) for i in range(3))
    first = f"{rows[0][0]:<{left}}  {rows[0][1]:<{middle}}  {rows[0][2]:>{right}} parameters"
    return "\n".join([first, *(f"{a:<{left}}  {b:<{middle}}  {c:>{right}}".rstrip() for a, b, c in rows[1:])])


def _rows(module: Module, name: str, lead: str, indent: str) -> list[tuple[str, str, str]]:
    kind = f"{type(module).__name__}({module.extra()})" if module.extra() else type(module).__name__
    own = [(path, part) for path, part in module._own_parts() if isinstance(part, Parameter)]
    shapes = _folded([(path, str(p.shape) + ("" if p.requires_grad else " frozen")) for path, p in own])
    rows = [(f"{lead}{name + ': ' if name else ''}{kind}", shapes, f"{module.count():,}")]
    children = _children(module)
    for i, (path, child) in enumerate(children):
        last = i == len(children) - 1
        rows += _rows(child, path, indent + ("└── " if last else "├── "), indent + ("    " if last else "│   "))
    return rows


def _folded(shapes: list[tuple[str, str]]) -> str:
    """`weight (2, 3), bias (3,)`; a list of many parameters alike as `w.0..15 ()`."""
    groups = _group([(path, shape, shape) for path, shape in shapes])
    return ", ".join(f"{path} {shape}" for path, shape in groups)


def _children(module: Module) -> list[tuple[str, Module]]:
    parts = [(path, part) for path, part in module._own_parts() if isinstance(part, Module)]
    return _group([(path, part, "\n".join(map(str, _rows(part, "", "", "")))) for path, part in parts])


def _group(entries: list[tuple[str, Any, str]]) -> list[tuple[str, Any]]:
    """Fold runs of `blocks.0`, `blocks.1`, … that look alike into one entry named `blocks.0..3 ×4`."""
    groups: list[tuple[str, str, Any, str, int]] = []
    for path, part, looks in entries:
        stem, _, number = path.rpartition(".")
        if groups and stem and groups[-1][0] == stem and groups[-1][3] == looks:
            start, count = groups[-1][1], groups[-1][4] + 1
            groups[-1] = (stem, start, groups[-1][2], looks, count)
        else:
            groups.append((stem, number, part, looks, 1))
    return [
        (
            f"{stem}.{start}..{int(start) + count - 1} ×{count}" if count > 1 else f"{stem}.{start}".lstrip("."),
            part,
        )
        for stem, start, part, _, count in groups
    ]
