"""A scene as a Mermaid flowchart: text that Markdown pages turn into a picture."""

from __future__ import annotations

from autograd.drawing.dot import card_lines
from autograd.drawing.paint import theme
from autograd.drawing.scene import Scene
from autograd.formula.text import visible

SHAPES = {
    "parameter": ("[", "]"),
    "input": ("[/", "/]"),
    "constant": ("([", "])"),
    "result": ("(", ")"),
    "output": ("[[", "]]"),
    "module": ("[", "]"),
}


def write(scene: Scene) -> str:
    """The flowchart; notes follow as comments."""
    lines = [f"flowchart {scene.direction}"]
    for card in scene.cards:
        opening, closing = SHAPES[card.role]
        label = "<br/>".join(_literal(line) for line in card_lines(card))
        lines.append(f'    {card.key}{opening}"{label}"{closing}:::{card.role}')
    for edge in scene.edges:
        label = f'|"{_literal(edge.label)}"|' if edge.label else ""
        lines.append(f"    {edge.tail} {'-.->' if edge.style == 'none' else '-->'}{label} {edge.head}")
    for role in dict.fromkeys(card.role for card in scene.cards):
        dashed = ",stroke-dasharray:3 2" if role == "constant" else ""
        lines.append(
            f"    classDef {role} fill:{theme.light(f'{role}-fill')},stroke:{theme.light(f'{role}-line')},"
            f"color:{theme.light('ink')}{dashed}"
        )
    lines += [f"    %% {visible(note)}" for note in scene.notes]
    return "\n".join(lines) + "\n"


def _literal(text: str) -> str:
    """Every character that Mermaid or HTML could take for its own, as a numbered entity."""
    return "".join(
        character if character.isalnum() or character in " .,=+…×−—‖≈·" else f"#{ord(character)};"
        for character in visible(text)
    )
