"""Readers of a graph that show it: `draw`, `zoom`, `draw_diff` and the stepper.

How a picture comes about, each arrow one module:

    Values ──reader──▶ Scene ──layout.arrange──▶ Placement ──painter.paint──▶ SVG text
                     (cards.py)                 (geometry.py)

    numbers      numbers as a learner reads them: `table`, `short`, `full`
    text         user text made visible, shortened, measured, escaped
    theme        colours and fonts, light and dark; the style sheet
    cards        Card, Row, Block, Edge, Scope, Scene: plain data; `measure(card)`
    labels       names, expressions and rules of a graph's nodes: `Names`; `name_sources`: where names come from
    brief        a rule made short enough for an edge
    operands     what a node was made from, and how a plain operand is written
    folding      which nodes share a card: modules, repeats, sums
    choices      what a caller picks by name, refused where nothing has it
    value_cards  a node, module or constant as a Card; `gradient_row`, `gradient_block`
    options      the keywords of `draw`
    flow         what travels along each edge
    reader       `Reader(root, Options(...)).scene()`: all of the above, joined
    layout       `arrange(scene, sizes=...)`: Graphviz (graphviz_layout) or our own layers (layered)
    painter      `paint(scene, placed, states=...)`, and `paint_card`, `paint_edge` for one element
    drawing      `draw` and what it returns
    stepping     `step`: the stepper and its faces
    why          `explain`: why a gradient is what it is; `reasons`: why an op makes one small

A face that changes while it is shown (the stepper) measures every state of a card, joins the sizes
(`Size.union`), hands them to `arrange` once, and paints each state into the same box: nothing moves while
numbers fill in.
"""

from typing import Any

_LAZY = {
    "draw": "drawing", "Drawing": "drawing", "draw_diff": "diff", "zoom": "zooming",
    "step": "stepping", "Stepper": "stepping", "Step": "stepping", "Contribution": "stepping", "explain": "why",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        from importlib import import_module

        return getattr(import_module(f".{_LAZY[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
