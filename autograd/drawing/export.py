"""A drawing in other forms: DOT and Mermaid text, and files by extension, written whole or not at all."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import graphviz

from autograd.formula.numbers import UNKNOWN
from autograd.formula.text import clipped, visible
from autograd.saving.files import save_by_ending

from .paint import theme
from .paint.images import image
from .scene import Block, Card, Edge, Scene

if TYPE_CHECKING:
    from .drawing import Drawing

DOT_SHAPES = {
    "parameter": {"shape": "box", "style": "filled", "penwidth": "1.6"},
    "input": {"shape": "cds", "style": "filled"},
    "constant": {"shape": "box", "style": "filled,rounded,dashed"},
    "result": {"shape": "box", "style": "filled,rounded"},
    "output": {"shape": "box", "style": "filled,rounded", "peripheries": "2"},
    "module": {"shape": "box3d", "style": "filled"},
}
MERMAID_SHAPES = {
    "parameter": ("[", "]"),
    "input": ("[/", "/]"),
    "constant": ("([", "])"),
    "result": ("(", ")"),
    "output": ("[[", "]]"),
    "module": ("[", "]"),
}
LONGEST_TIP = 400  # characters of a tooltip


def save(drawing: Drawing, path: Path, chosen: str | Mapping[str, str] = "auto") -> Path:
    """Writes `drawing` to `path`; the folder must be there."""
    named, own = (chosen, {}) if isinstance(chosen, str) else ("light", chosen)
    on_paper = "dark" if named == "dark" else "light"

    def picture(kind: str) -> bytes:
        return image(theme.in_own(theme.recoloured(drawing.themed(on_paper), on_paper), own), kind)

    contents: dict[str, Callable[[], str | bytes]] = {
        ".svg": lambda: drawing.themed(chosen),
        ".html": drawing.html,
        ".htm": drawing.html,
        ".dot": lambda: drawing.dot,
        ".gv": lambda: drawing.dot,
        ".mmd": lambda: drawing.mermaid,
        ".mermaid": lambda: drawing.mermaid,
        ".png": lambda: picture("png"),
        ".pdf": lambda: picture("pdf"),
    }
    return save_by_ending(path, contents, "a drawing")


# --- DOT and Mermaid: user text is data, and what could be taken for markup is escaped ------------------------


def dot(scene: Scene) -> str:
    """The scene as DOT."""
    graph = graphviz.Digraph(
        comment=None,
        graph_attr={
            "rankdir": scene.direction,
            "fontname": "Helvetica",
            "bgcolor": "white",
            "label": _dot_text("\n".join(scene.notes), r"\l"),
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
            label=_dot_text("\n".join(card_lines(card)), r"\l"),
            fillcolor=theme.light(f"{card.role}-fill"),
            color=theme.light("bad" if card.bad else f"{card.role}-line"),
            fontcolor=theme.light("ink"),
            tooltip=_dot_text(clipped(visible(card.title), LONGEST_TIP), r"\n"),
            **DOT_SHAPES[card.role],
        )
    for edge in scene.edges:
        graph.edge(edge.tail, edge.head, label=_dot_text(edge.label, r"\n"), id=edge.key, **_flow(edge))
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
        lines += _block_lines(block)
    return lines


def _block_lines(block: Block) -> list[str]:
    """A table as aligned text, `[0.1  0  ]`, each slice under its label."""
    lines = [f"[{row}]" for row in block.table.aligned] if block.table else []
    height = len(lines) // max(1, len(block.slices))
    for number in reversed(range(len(block.slices))):
        lines.insert(number * height, block.slices[number])
    return lines


def _flow(edge: Edge) -> dict[str, str]:
    if edge.style == "bad":
        return {"color": theme.light("bad"), "penwidth": "3"}
    if edge.style == "none":
        return {"style": "dotted"}
    if edge.flow:
        return {"color": theme.light("grad-line"), "penwidth": f"{edge.flow:.1f}"}
    return {}


def _dot_text(text: str, line_end: str) -> str:
    """Literal text as a DOT label whose lines end in `line_end`."""
    lines = [graphviz.escape(html.escape(visible(line), quote=False)) for line in text.split("\n")]
    joined = line_end.join(lines) + (line_end if line_end == r"\l" and text else "")
    return graphviz.nohtml(joined)


def mermaid(scene: Scene) -> str:
    """The scene as a Mermaid flowchart; notes follow as comments."""
    lines = [f"flowchart {scene.direction}"]
    for card in scene.cards:
        opening, closing = MERMAID_SHAPES[card.role]
        label = "<br/>".join(_mermaid_text(line) for line in card_lines(card))
        lines.append(f'    {card.key}{opening}"{label}"{closing}:::{card.role}')
    for edge in scene.edges:
        label = f'|"{_mermaid_text(edge.label)}"|' if edge.label else ""
        lines.append(f"    {edge.tail} {'-.->' if edge.style == 'none' else '-->'}{label} {edge.head}")
    for role in dict.fromkeys(card.role for card in scene.cards):
        dashed = ",stroke-dasharray:3 2" if role == "constant" else ""
        lines.append(
            f"    classDef {role} fill:{theme.light(f'{role}-fill')},stroke:{theme.light(f'{role}-line')},"
            f"color:{theme.light('ink')}{dashed}"
        )
    lines += [f"    %% {visible(note)}" for note in scene.notes]
    return "\n".join(lines) + "\n"


def _mermaid_text(text: str) -> str:
    """Every character that Mermaid or HTML could take for its own, as a numbered entity."""
    return "".join(
        character if character.isalnum() or character in " .,=+…×−—‖≈·" else f"#{ord(character)};"
        for character in visible(text)
    )
