"""Readers of a graph that show it: `draw`, `zoom`, `draw_diff` and the stepper.

How a picture comes about, each arrow one module:

    Values ──reader──▶ Scene ──layout.arrange──▶ Placement ──painter.paint──▶ SVG text
                     (cards.py)                 (geometry.py)

    numbers   numbers as a learner reads them; `table`, `short`, `full`
    text      user text made visible, shortened, measured, escaped
    theme     colours and fonts, light and dark; the style sheet
    cards     Card, Row, Block, Edge, Scope, Scene: plain data; `measure(card)`
    layout    `arrange(scene, sizes=...)`: Graphviz (graphviz_layout) or our own layers (layered)
    painter   `paint(scene, placed, states=...)`, and `paint_card`, `paint_edge` for one element

A face that changes while it is shown (the stepper) measures every state of a card, joins the sizes
(`Size.union`), hands them to `arrange` once, and paints each state into the same box: nothing moves while
numbers fill in.
"""
