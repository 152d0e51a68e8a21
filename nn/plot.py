"""Plots with matplotlib (the extra `handgrad[plot]`): curves over steps, and maps such as attention weights."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

try:
    from matplotlib.figure import Figure
except ImportError as error:
    raise ImportError("plots need matplotlib: pip install 'handgrad[plot]'") from error

COLOURS = ["#0B5CAD", "#0A6B66", "#B0003A", "#1A1D23"]  # those of drawings, where orange is for gradients
DASHES = ["-", "--", ":", "-."]  # nothing by colour alone


class _Shown(Figure):
    """A figure that shows itself in a notebook, also where nobody imported pyplot."""

    def _repr_svg_(self) -> str:
        text = io.StringIO()
        self.savefig(text, format="svg", metadata={"Date": None})
        return text.getvalue()


def curves(
    series: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    path: str | os.PathLike[str] | None = None,
    title: str = "",
    x_label: str = "",
    y_label: str = "",
) -> Figure:
    """Named curves, each a pair of xs and ys, in one figure."""
    figure = _Shown(figsize=(6.4, 3.6), layout="constrained")
    axes = figure.subplots()
    for i, (name, (xs, ys)) in enumerate(series.items()):
        axes.plot(xs, ys, DASHES[i % len(DASHES)], color=COLOURS[i % len(COLOURS)], label=name, linewidth=1.5)
    axes.set(title=title, xlabel=x_label, ylabel=y_label)
    axes.spines[["top", "right"]].set_visible(False)
    if len(series) > 1:
        axes.legend(frameon=False)
    return _saved(figure, path)


def maps(
    tables: Mapping[str, Any],
    path: str | os.PathLike[str] | None = None,
    title: str = "",
    x_labels: Sequence[str] = (),
    y_labels: Sequence[str] = (),
) -> Figure:
    """Tables of numbers between 0 and 1 side by side, dark where large: attention weights, one table a head."""
    figure = _Shown(figsize=(0.6 + 2.6 * len(tables), 3.1), layout="constrained")
    for axes, (name, table) in zip(figure.subplots(1, len(tables), squeeze=False)[0], tables.items(), strict=True):
        shown = axes.imshow(np.asarray(table), cmap="Blues", vmin=0.0, vmax=1.0)
        axes.set_title(name, fontsize=10)
        axes.set_xlabel("is looked at", fontsize=8)
        axes.set_xticks(range(len(x_labels)), x_labels, fontsize=8)
        axes.set_yticks(range(len(y_labels)), y_labels, fontsize=8)
    figure.axes[0].set_ylabel("looks", fontsize=8)
    figure.colorbar(shown, ax=figure.axes, shrink=0.8)
    figure.suptitle(title, fontsize=11)
    return _saved(figure, path)


def as_png(figure: Figure) -> bytes:
    """The picture as the bytes of a PNG file."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110)
    return buffer.getvalue()


def _saved(figure: Figure, path: str | os.PathLike[str] | None) -> Figure:
    if path is not None:
        figure.savefig(path, dpi=150, metadata={"Date": None} if str(path).endswith(".svg") else None)
    return figure
