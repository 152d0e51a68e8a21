"""A scene as DOT that any Graphviz renders legibly: the same cards as text.

User text is data here: quotes and backslashes are escaped by the `graphviz` package, `&` and `<` are
written as entities, so that no name is read as markup or as an escape sequence.
"""

from __future__ import annotations

import html

import graphviz

from autograd.drawing.paint import theme
from autograd.drawing.scene import Card, Edge, Scene
from autograd.formula.numbers import UNKNOWN, Table
from autograd.formula.text import clipped, visible

SHAPES = {
    "parameter": {"shape": "box", "style": "filled", "penwidth": "1.6"},
    "input": {"shape": "cds", "style": "filled"},
    "constant": {"shape": "box", "style": "filled,rounded,dashed"},
    "result": {"shape": "box", "style": "filled,rounded"},
    "output": {"shape": "box", "style": "filled,rounded", "peripheries": "2"},
    "module": {"shape": "box3d", "style": "filled"},
}
LONGEST_TIP = 400  # characters of a tooltip


def write(scene: Scene) -> str:
    """The DOT text."""
    graph = graphviz.Digraph(
        comment=None,
        graph_attr={
            "rankdir": scene.direction,
            "fontname": "Helvetica",
            "bgcolor": "white",
            "label": _text("\n".join(scene.notes), r"\l"),
            "labeljust": "l",
        },
        node_attr={"fontname": "Courier", "fontsize": "11", "margin": "0.12,0.08"},
        edge_attr={
            "fontname": "Courier",
            "fontsize": "9",
            "arrowsize": ".7",
            "color": theme.light("line"),
            "fontcolor": theme.light("grad"),
        },
    )
    for card in scene.cards:
        graph.node(
            card.key,
            label=_text("\n".join(card_lines(card)), r"\l"),
            fillcolor=theme.light(f"{card.role}-fill"),
            color=theme.light("bad" if card.bad else f"{card.role}-line"),
            fontcolor=theme.light("ink"),
            tooltip=_text(clipped(visible(card.title), LONGEST_TIP), r"\n"),
            **SHAPES[card.role],
        )
    for edge in scene.edges:
        graph.edge(edge.tail, edge.head, label=_text(edge.label, r"\n"), id=edge.key, **_flow(edge))
    return str(graph.source)


def card_lines(card: Card) -> list[str]:
    """A card as lines of text: the header, then captions and numbers."""
    header = card.shown_name + card.joint + card.shown_expression
    if card.copies > 1:
        header += f"  ×{card.copies}"
    lines = [header + (f"  ({card.corner_word})" if card.corner_word else "")]
    for row in card.rows:
        lines.append(f"{row.caption} {row.text}".strip())
    for block in card.blocks:
        lines.append(block.caption if block.table else f"{block.caption} {UNKNOWN}")
        lines += table_lines(block.table) if block.table else []
    return lines


def table_lines(table: Table) -> list[str]:
    """A table as aligned text: `[0.1  0  ]`."""
    columns = table.columns
    lines = []
    for row in table.rows:
        cells = []
        for (before, after), cell in zip(columns, row):
            rest = len(cell.text) - cell.before_point
            cells.append(" " * (before - cell.before_point) + cell.text + " " * (after - rest))
        lines.append("[" + "  ".join(cells) + "]")
    return lines


def _flow(edge: Edge) -> dict[str, str]:
    if edge.style == "bad":
        return {"color": theme.light("bad"), "penwidth": "3"}
    if edge.style == "none":
        return {"style": "dotted"}
    if edge.flow:
        return {"color": theme.light("grad-line"), "penwidth": f"{edge.flow:.1f}"}
    return {}


def _text(text: str, line_end: str) -> str:
    """Literal text as a DOT label whose lines end in `line_end`."""
    lines = [graphviz.escape(html.escape(visible(line), quote=False)) for line in text.split("\n")]
    joined = line_end.join(lines) + (line_end if line_end == r"\l" and text else "")
    return graphviz.nohtml(joined)
