"""Two small plots, for the terminal and as SVG: a curve over the epochs, and a map of attention weights.

Nothing is needed to look at them, and the SVG follows the reader's light or dark theme.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from autograd.drawing.paint.theme import MONO, SANS, css, fill, stroke

LINES = ("parameter-line", "input-line", "bad", "ink")     # orange is for gradients only
DASHES = ("", "7 4", "2 4", "10 3 2 3")                    # nothing by colour alone


def curve_text(values: Sequence[float], width: int = 72, height: int = 9) -> list[str]:
    """A curve in characters, with its first and last value beside the axis.

    >>> for line in curve_text([4, 3, 2, 1], width=4, height=2):
    ...     print(line)
    4 ┤██
    1 ┤  ██
      └────
       0  3
    """
    picked = np.linspace(0, len(values) - 1, width).round().astype(int)
    ys = np.asarray(values, dtype=float)[picked]
    low, high = float(ys.min()), float(ys.max())
    level = np.rint((ys - low) / ((high - low) or 1.0) * (height - 1)).astype(int)
    ends = [f"{high:.6g}", f"{low:.6g}"]
    margin = max(map(len, ends))
    rows = []
    for row in range(height - 1, -1, -1):
        label = ends[0] if row == height - 1 else ends[1] if row == 0 else ""
        rows.append(f"{label:>{margin}} ┤" + "".join("█" if at == row else " " for at in level).rstrip())
    last = str(len(values) - 1)
    return [*rows, " " * margin + " └" + "─" * width, " " * margin + "  0" + last.rjust(width - 1)]


def curve_svg(series: Mapping[str, Sequence[float]], title: str, x_label: str, y_label: str,
              marks: Mapping[int, str] | None = None, start: int = 0) -> str:
    """Curves over a count that begins at `start`; `marks` writes a word at a step of the first curve."""
    width, height, left, right, bottom = 640, 330, 74, 24, 46
    top = 84 if marks else 62       # a word above the first curve stays below the legend
    ys = np.concatenate([np.asarray(values, dtype=float) for values in series.values()])
    y_ticks = ticks(float(ys.min()), float(ys.max()))
    low, high = min(y_ticks[0], float(ys.min())), max(y_ticks[-1], float(ys.max()))
    steps = max(max(len(values) for values in series.values()) - 1, 1)

    def place(step: float, value: float) -> tuple[float, float]:
        return (left + (width - left - right) * step / steps,
                top + (height - top - bottom) * (high - value) / (high - low))

    parts = [_text(left, 24, title, size=14, weight=600)]
    for value in y_ticks:
        y = place(0, value)[1]
        parts += [f'<path d="M{left} {y:.1f}H{width - right}" {stroke("hair", 1)}/>',
                  _text(left - 8, y + 4, f"{value:g}".replace("-", "−"), anchor="end", mono=True)]
    for step in ticks(start, start + steps):
        if step == round(step) and start <= step <= start + steps:
            x = place(step - start, low)[0]
            parts.append(_text(x, height - bottom + 20, f"{step:g}", anchor="middle", mono=True))
    parts += [_text((left + width - right) / 2, height - 8, x_label, anchor="middle"),
              _text(16, (top + height - bottom) / 2, y_label, anchor="middle", turn=True)]
    legend = left
    for number, (name, values) in enumerate(series.items()):
        token, dash = LINES[number % len(LINES)], DASHES[number % len(DASHES)]
        stride = max(1, len(values) // 600)
        points = " ".join("{:.1f},{:.1f}".format(*place(step, values[step])) for step in range(0, len(values), stride))
        line = f'{stroke(token, 2)} stroke-dasharray="{dash or "none"}" stroke-linejoin="round"'
        parts.append(f'<polyline points="{points}" {line}/>')
        if len(series) > 1:
            parts += [f'<path d="M{legend} 42h26" {line}/>', _text(legend + 32, 46, name)]
            legend += 56 + 7 * len(name)
    first = next(iter(series.values()))
    for step, word in (marks or {}).items():
        x, y = place(step, first[step])
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" {fill(LINES[0])}/>', _text(x + 10, y - 8, word)]
    return _svg(width, height, title, parts)


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers from just below `low` to just above `high`.

    >>> ticks(0.3, 2.1), ticks(0, 100)
    ([0.0, 0.5, 1.0, 1.5, 2.0, 2.5], [0.0, 20.0, 40.0, 60.0, 80.0, 100.0])
    """
    span = (high - low) or abs(high) or 1.0
    power = 10.0 ** math.floor(math.log10(span / about))
    step = min((factor * power for factor in (1, 2, 5, 10)), key=lambda each: abs(span / each - about))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(number * step, 12) for number in range(first, last + 1)]


def map_text(name: str, weights: Any, tokens: Sequence[str]) -> list[str]:
    """Attention weights as shades, a row for each asking position.

    >>> for line in map_text("attn", [[1.0, 0.0], [0.5, 0.5]], "AB"):
    ...     print(line)
    attn        A     B
         A  █1.00  0.00
         B  ▒0.50 ▒0.50
    """
    head = f"{name:<7}" + "".join(f"{token:>6}" for token in tokens)
    shades = " ░▒▓█"
    return [head, *(f"{token:>6} " + "".join(f" {shades[round(4 * weight)]}{weight:.2f}" for weight in row)
                    for token, row in zip(tokens, np.asarray(weights, dtype=float)))]


def map_svg(maps: Mapping[str, Any], tokens: Sequence[str], title: str) -> str:
    """Attention maps side by side: the darker a cell, the larger its weight, which is written in it."""
    cell, top = 56, 84
    margin = 26 + 8 * max(len(token) for token in tokens)      # room for the row's token
    side = cell * len(tokens)
    width, height = len(maps) * (margin + side) + 22, top + side + 16
    parts = [_text(margin, 22, title, size=14, weight=600)]
    for number, (name, weights) in enumerate(maps.items()):
        x0 = margin + number * (margin + side)
        parts.append(_text(x0, 48, name))
        for i, token in enumerate(tokens):
            parts += [_text(x0 + cell * (i + 0.5), top - 8, token, anchor="middle", mono=True),
                      _text(x0 - 8, top + cell * (i + 0.5) + 4, token, anchor="end", mono=True)]
        for (row, column), weight in np.ndenumerate(np.asarray(weights, dtype=float)):
            x, y = x0 + cell * column, top + cell * row
            parts += [f'<rect x="{x}" y="{y}" width="{cell - 2}" height="{cell - 2}" rx="5" {fill("panel")}/>',
                      f'<rect x="{x}" y="{y}" width="{cell - 2}" height="{cell - 2}" rx="5" '
                      f'{fill("parameter-line")} fill-opacity="{0.75 * weight:.3f}"/>',
                      _text(x + cell / 2 - 1, y + cell / 2 + 4, f"{weight:.3f}", anchor="middle", mono=True,
                            token="surface" if weight > 0.6 else "ink")]
    return _svg(max(width, 300), height, title, parts)


def points_svg(before: Any, after: Any, names: Sequence[str], title: str) -> str:
    """Points in the plane, before (rings) and after (dots), joined by the way they went."""
    width, height, margin, top = 460, 400, 40, 60
    both = np.concatenate([np.asarray(before, dtype=float), np.asarray(after, dtype=float)])
    low, high = both.min(axis=0), both.max(axis=0)
    span = np.where(high > low, high - low, 1.0)

    def place(point: np.ndarray) -> tuple[float, float]:
        x, y = (point - low) / span
        return margin + x * (width - 2 * margin), height - margin - y * (height - margin - top)

    parts = [_text(margin, 22, title, size=14, weight=600), _text(margin, 42, "ring: before training, dot: after")]
    for name, old, new in zip(names, np.asarray(before), np.asarray(after)):
        (x0, y0), (x1, y1) = place(old), place(new)
        parts += [f'<path d="M{x0:.1f} {y0:.1f}L{x1:.1f} {y1:.1f}" {stroke("line", 1.2)} stroke-dasharray="3 3"/>',
                  f'<circle cx="{x0:.1f}" cy="{y0:.1f}" r="5" {stroke("parameter-line", 1.8)}/>',
                  f'<circle cx="{x1:.1f}" cy="{y1:.1f}" r="6" {fill("parameter-line")}/>',
                  _text(x1 + 10, y1 + 4, name, mono=True, weight=600)]
    return _svg(width, height, title, parts)


def _text(x: float, y: float, text: str, *, anchor: str = "start", size: float = 12, weight: int = 400,
          mono: bool = False, turn: bool = False, token: str = "ink") -> str:
    turned = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if turn else ""
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size:g}" font-weight="{weight}" '
            f'font-family="{MONO if mono else SANS}" {fill(token)}{turned}>{escape(text)}</text>')


def _svg(width: float, height: float, title: str, parts: Sequence[str]) -> str:
    return (f'<svg xmlns="http://www.w3.org/2000/svg" class="hg" viewBox="0 0 {width:g} {height:g}" '
            f'width="{width:g}" height="{height:g}" role="img" aria-label="{escape(title)}"><style>{css()}</style>'
            f'<rect width="{width:g}" height="{height:g}" {fill("surface")}/>{"".join(parts)}</svg>\n')
