"""The graph as a picture: `draw`, `zoom`, `draw_diff`.

    Values ──reader──▶ Scene ──layout.arrange──▶ Placement ──paint.painter──▶ SVG text
                     (scene.py)             (layout/geometry.py)

    options      the keywords of `draw`, and what a caller picks by name
    groups       which nodes share a card: modules, repeats, sums
    roles        what each node is: input, parameter, result, output, loss
    cards        a node, module or constant as a Card; `edges`: what runs between them
    reader       `Reader(root, Options(...)).scene()`: all of these for one graph
    scene        Card, Row, Block, Edge, Frame, Scene: plain data; `measure(card)`
    layout/      `arrange(scene)`: Graphviz, or our own layers
    paint/       `paint(scene, placed)`: SVG; colours and fonts in `theme`
    drawing      `draw` and the Drawing it returns; `zooming`, `diff`: other pictures
    export       files of every kind, DOT and Mermaid; `graph_page`: the interactive page
"""

from typing import Any

_LAZY = {"draw": "drawing", "Drawing": "drawing", "draw_diff": "diff", "zoom": "zooming"}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        from importlib import import_module

        found = globals()[name] = getattr(import_module(f".{_LAZY[name]}", __name__), name)
        return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
