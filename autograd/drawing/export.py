"""A drawing in other forms: DOT and Mermaid text, and files by extension, written whole or not at all.

SVG, HTML, DOT and Mermaid need nothing. PNG and PDF are made from the SVG by CairoSVG (`pip install
handgrad[images]`) or, where that is missing, by a Chromium or Chrome found on PATH.
"""

from __future__ import annotations

import html
import re
import struct
import subprocess
import tempfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import graphviz

from autograd.browser import find_chromium
from autograd.drawing.paint import theme
from autograd.drawing.scene import Block, Card, Edge, Scene
from autograd.files import check_folder, write_whole
from autograd.formula.numbers import UNKNOWN, Table
from autograd.formula.text import clipped, visible, xml

if TYPE_CHECKING:
    from autograd.drawing.drawing import Drawing

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
PNG_SCALE = 2  # pixels of a PNG per pixel of the drawing
BROWSER_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--hide-scrollbars",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
BROWSER_FRAME = 240  # pixels of a browser window's height that it may keep for itself, even headless
PNG_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}  # by the colour type in a PNG's header
PATIENCE = 120  # seconds for a browser


class ImageToolMissing(RuntimeError):
    """Neither CairoSVG nor a browser can turn the SVG into an image; the text says what to install."""


def save(drawing: Drawing, path: Path, theme_name: str = "light") -> Path:
    """Writes `drawing` to `path`; the folder must be there."""
    makers = {
        ".svg": lambda: drawing.themed("auto" if theme_name == "light" else theme_name).encode(),
        ".html": lambda: drawing.html().encode(),
        ".htm": lambda: drawing.html().encode(),
        ".dot": lambda: drawing.dot.encode(),
        ".gv": lambda: drawing.dot.encode(),
        ".mmd": lambda: drawing.mermaid.encode(),
        ".mermaid": lambda: drawing.mermaid.encode(),
        ".png": lambda: image(drawing.themed(theme_name), "png", theme_name),
        ".pdf": lambda: image(drawing.themed(theme_name), "pdf", theme_name),
    }
    if theme_name not in ("light", "dark"):
        raise ValueError(f"save: theme is 'light' or 'dark'; got {theme_name!r}")
    make = makers.get(path.suffix.lower())
    if make is None:
        raise ValueError(f"save: cannot tell a format from {path.name!r}; use one of {', '.join(makers)}")
    check_folder(path)
    write_whole(path, make())
    return path


def image(svg: str, kind: str, theme_name: str = "light") -> bytes:
    """The SVG as "png" or "pdf" bytes."""
    for tool in (_by_cairo, _by_browser):
        made = tool(svg, kind, theme_name)
        if made is not None:
            return made
    raise ImageToolMissing(
        f"making a {kind.upper()} needs CairoSVG (pip install 'handgrad[images]') or Chromium on "
        "PATH; neither is here. Save as .svg instead: every browser and slide program opens it"
    )


def _by_cairo(svg: str, kind: str, theme_name: str) -> bytes | None:
    try:
        import cairosvg
    except (ImportError, OSError):  # OSError: the wheel is there, the cairo library is not
        return None
    # CairoSVG takes the first font of a list only, and sees attributes, not media queries.
    plain = svg.replace(xml(theme.MONO), "monospace").replace(xml(theme.SANS), "sans-serif")
    plain = theme.recoloured(plain, theme_name)
    if kind == "pdf":
        return bytes(cairosvg.svg2pdf(bytestring=plain.encode()))
    return bytes(cairosvg.svg2png(bytestring=plain.encode(), scale=PNG_SCALE))


def _by_browser(svg: str, kind: str, theme_name: str) -> bytes | None:
    browser = find_chromium()
    if browser is None:
        return None
    width, height = _size(svg)
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "drawing.html"), Path(folder, f"drawing.{kind}")
        source.write_text(
            f"<!doctype html><meta charset=utf-8><style>@page{{size:{width}px {height}px;margin:0}}"
            f"body{{margin:0}}svg{{display:block}}</style>{theme.recoloured(svg, theme_name)}",
            encoding="utf-8",
        )
        wanted = (
            [f"--print-to-pdf={target}", "--no-pdf-header-footer"]
            if kind == "pdf"
            else [
                f"--screenshot={target}",
                f"--force-device-scale-factor={PNG_SCALE}",
                f"--window-size={width},{height + BROWSER_FRAME}",
            ]
        )
        try:
            subprocess.run(
                [browser, *BROWSER_FLAGS, f"--user-data-dir={folder}/profile", *wanted, source.as_uri()],
                check=True,
                capture_output=True,
                timeout=PATIENCE,
            )
            made = target.read_bytes()
        except (OSError, subprocess.SubprocessError):
            return None
    return first_rows(made, PNG_SCALE * height) if kind == "png" else made


def first_rows(png: bytes, rows: int) -> bytes:
    """A PNG without what is below its first rows: each row is stored in terms of those above it alone."""
    kept, pixels, at = png[:8], b"", 8
    size = stride = 0
    while at < len(png):
        length = int.from_bytes(png[at : at + 4], "big")
        kind, body = png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        at += 12 + length
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", body[:10])
            size, stride = min(rows, height), 1 + -(-width * depth * PNG_CHANNELS[colour] // 8)
            body = struct.pack(">II", width, size) + body[8:]
        if kind == b"IDAT":
            pixels += body
            continue
        if kind == b"IEND":
            kept += _chunk(b"IDAT", zlib.compress(zlib.decompress(pixels)[: size * stride]))
        kept += _chunk(kind, body)
    return kept


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def _size(svg: str) -> tuple[int, int]:
    found = re.search(r'width="(\d+)" height="(\d+)"', svg)
    assert found is not None
    return int(found[1]), int(found[2])


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
    """A table as aligned text, each slice under its label."""
    lines = table_lines(block.table) if block.table else []
    height = len(lines) // max(1, len(block.slices))
    for number in reversed(range(len(block.slices))):
        lines.insert(number * height, block.slices[number])
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
