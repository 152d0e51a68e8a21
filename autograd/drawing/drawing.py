"""`draw`: the computation graph of anything, as a picture."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from autograd.engine import Value
from autograd.errors import counted
from autograd.formula.text import xml

from . import export, page
from .folding.fit import READABLE, boxes_of, fitted, scale_of
from .groups import Collapse, Spelling, in_python
from .layout.arrange import arrange
from .layout.geometry import Placement
from .options import MAX_NODES, Options, refuse_words
from .page import MOST_OPEN, Outline
from .paint import painter
from .paint.svg import as_url
from .paint.theme import checked_theme, in_own
from .reader import Reader
from .scene import Scene


def draw(
    root: Value | Sequence[Value],
    *,
    fit: str | tuple[float, float] | None = "auto",
    collapse: Collapse = None,
    direction: str | None = None,
    detail: str | None = None,
    edges: str | None = None,
    max_nodes: int = MAX_NODES,
    names: Mapping[str, Any] | None = None,
    flow: bool | float = False,
    inputs: Iterable[Any] = (),
    parameters: Any = None,
    backward: bool = True,
    digits: int = 4,
    title: str = "",
    theme: str | Mapping[str, str] = "auto",
    engine: str | None = None,
    rankdir: str | None = None,
    format: str = "svg",
    **unknown: Any,
) -> Drawing:
    """A picture of the graph that ends in `root`, or in several roots: one card per value, with its expression, value
    and gradient.

    fit         the box in which names and numbers must be readable: "slide", "page", "column", (width, height) in
                pixels, "auto" (a slide or a page, whichever is clearer), or None, which folds nothing for room. A
                picture that does not fit is folded until it does: what repeats is shown once, operands and parameters
                go into the cards that use them, modules close. What is then shown at less than half its size keeps the
                two ends of the computation
    collapse    folds modules into one card: by depth (1: every outermost module), by name or pattern
                ("blocks.*", "LayerNorm"), by a function of the scope, or a list of these; False folds nothing. Nor
                does a drawing with `edges` or a `max_nodes` of more than 300, unless `fit` is given
    direction   "TB" or "LR" (or `rankdir`, as in Graphviz); by default top to bottom when tables are shown, else left
                to right
    detail      "full", or "brief": name, expression and one line of numbers; by default full where there is room
    edges       "rule" writes the op's own rule on each edge, "numbers" the arithmetic of the last backward
    max_nodes   above so many cards the drawing folds on its own, and says so
    names       more names, such as `locals()`
    flow        draws each edge as wide as the gradient that flowed along it; a number sets the widest
    parameters  the leaves (or their names) that move in training, an optimizer or a module; by default the parameters
                of `nn`, in a graph without any all leaves that require a gradient. The others are inputs
    inputs      leaves (or their names) to show as inputs, whatever `parameters` says. The root is the loss if it is a
                number called loss or L, or made by cross_entropy, else the output (see `roles`)
    backward    False shows the values alone
    theme       "light", "dark", "auto" (as the reader's system), or colours and fonts of your own by their names in
                `paint.theme`: {"grad": "#0A6B66", "mono": "Fira Code"}
    engine      "pygraphviz", "dot" or "layered"; by default the first that is there
    format      of the file that `render` writes, as in Graphviz

    >>> a, b = Value(2.0, name="a"), Value(-3.0, name="b")
    >>> loss = a * b + a
    >>> loss.backward()
    >>> drawing = draw(loss)
    >>> drawing.svg.startswith("<svg")
    True
    >>> [card.name or card.expression for card in drawing.scene.cards]
    ['a', 'b', 'a * b', 'a * b + a']
    """
    refuse_words(unknown)
    options = Options(
        collapse, direction or rankdir, detail, edges, max_nodes, names, flow, inputs, parameters, digits,
        title, backward, fit,
    )  # fmt: skip
    reader, scene, placed = fitted(root, options, engine)
    return Drawing(scene, reader, placed, engine, theme, format)


class Drawing:
    """A drawn graph. In a notebook it shows itself; `save` writes it by extension."""

    def __init__(
        self, scene: Scene, reader: Reader | None = None, placed: Placement | None = None, engine: str | None = None,
        theme: str | Mapping[str, str] = "auto", format: str = "svg",
    ) -> None:  # fmt: skip
        self.scene, self.reader = scene, reader
        if placed is not None:
            self.placement = placed
        self.engine, self.theme, self.format = engine, checked_theme(theme), format

    @functools.cached_property
    def placement(self) -> Placement:
        """Where everything stands."""
        return arrange(self.scene, engine=self.engine)

    @functools.cached_property
    def svg(self) -> str:
        """The picture: self-contained, accessible, light and dark."""
        return self.themed(self.theme)

    def themed(self, theme: str | Mapping[str, str]) -> str:
        """The SVG with the theme fixed to "light" or "dark", following the reader's system ("auto"), or in colours and
        fonts of your own."""
        named, own = (theme, {}) if isinstance(theme, str) else ("auto", theme)
        return in_own(painter.paint(self.scene, self.placement, theme_name=named), own)

    @functools.cached_property
    def dot(self) -> str:
        """The graph as DOT, complete and legible in any Graphviz."""
        return export.dot(self.scene)

    @functools.cached_property
    def mermaid(self) -> str:
        """The graph as a Mermaid flowchart, for Markdown pages that render it."""
        return export.mermaid(self.scene)

    @property
    def has_modules(self) -> bool:
        """Are there modules, and few enough nodes to open them all in a page?"""
        if self.reader is None or len(self.reader.nodes) > MOST_OPEN:
            return False
        calls = any(node.scope is not None and node.scope.path for node in self.reader.nodes)
        return calls or bool(self.reader.folded.runs())

    @functools.cached_property
    def outline(self) -> Outline | None:
        """What a page may open and close; None without modules, and when the numbers have changed since."""
        if self.reader is None or not self.has_modules:
            return None
        outline = Outline(self.reader)
        return outline if outline.agrees_with(self.scene) else None

    def html(self) -> str:
        """One self-contained page: hover, search, pan and zoom, modules that open and close."""
        return page.write(self)

    def save(self, path: str | os.PathLike[str], *, theme: str | Mapping[str, str] | None = None) -> Path:
        """Writes the drawing by extension (.svg .png .pdf .html .dot .gv .mmd), whole or not at all.

        `theme` is by default that of `draw`. With "auto" a PNG or PDF is light, and an SVG follows its reader.
        """
        return export.save(self, Path(path), self.theme if theme is None else checked_theme(theme))

    def render(self, filename: str | os.PathLike[str] = "graph", format: str | None = None, **_: Any) -> Path:
        """Writes the drawing as Graphviz's `render` does: the format is added to the file's name. What else Graphviz
        takes (`cleanup`, `view`) has no meaning here.

        It writes no file of source text beside the picture.
        """
        return self.save(f"{os.fspath(filename)}.{format or self.format}")

    @property
    def advice(self) -> str:
        """What would make this drawing readable on a slide; "" if it already is."""
        return self._advice(in_python, "draw() of an earlier value")

    def remarks(self, spelled: Spelling, part: str) -> list[str]:
        """All that the drawing says about itself, with options `spelled` as the caller types them, and the words for
        drawing a `part`."""
        notes = self.reader.notes(spelled) if self.reader is not None else self.scene.notes
        return [line for line in (*notes, self.placement.hint, self._advice(spelled, part)) if line]

    def _advice(self, spelled: Spelling, part: str) -> str:
        placed, chosen = self.placement, self.reader.options if self.reader is not None else Options()
        boxes = boxes_of("auto" if chosen.fit is None else chosen.fit)
        if (scale := scale_of(placed, boxes)) >= READABLE:
            return ""
        options = []
        if self.reader is not None:
            if chosen.fit is None and chosen.collapse is not False:
                options.append(spelled("fit", "auto"))
            if chosen.detail != "brief" and len(self.scene.cards) <= 20:
                options.append(spelled("detail", "brief"))
            if self.has_modules and self.scene.frames and not chosen.collapse:
                options.append(spelled("collapse", 1))
        options.append(f"a smaller part: {part}")
        return (
            f"{placed.width:.0f}×{placed.height:.0f} px: on a slide or a page its numbers would be {13 * scale:.0f} px "
            f"high. What helps: {', or '.join(options)}"
        )

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/html": self._scrolling(), "image/svg+xml": self.svg, "text/plain": repr(self)}

    def _scrolling(self) -> str:
        """The picture at its own size in a box that scrolls, for notebooks: a bare SVG would run off the edge of a
        cell. As an image it is also shown by notebooks that are not trusted."""
        return (
            f'<div style="max-width:100%;overflow-x:auto"><img alt="{xml(self.scene.title)}" style="max-width:none" '
            f'src="{as_url(self.svg)}"></div>'
        )

    def __repr__(self) -> str:
        placed = "placement" in vars(self)  # known once it was painted; a repr does not lay out a graph
        advice = f"; {self.advice}" if placed and self.advice else ""
        return f"<Drawing of {counted(len(self.scene.cards), 'card')}: {self.scene.title}{advice}>"
