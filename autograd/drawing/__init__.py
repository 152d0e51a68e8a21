"""The graph as a picture: `draw`, `zoom`.

Values ──reader──▶ Scene ──layout.arrange──▶ Placement ──paint.painter──▶ SVG text
                 (scene.py)             (layout/geometry.py)

drawing      `draw` and the Drawing it returns
options      the keywords of `draw`, checked
reader       from a graph to its Scene, by way of
  roles        what each node is: input, parameter, result, output, loss
  groups       which nodes share a card: modules, repeats, sums
  cards        a node, module or constant as a Card
  edges        what runs between the cards, and what stands on it
scene        Card, Row, Block, Edge, Frame, Scene: plain data
layout/      sizes and places: `measure(card)`, `arrange(scene)`, by Graphviz or in layers of our own
paint/       SVG: `paint(scene, placed)`; colours and fonts in `theme`; `images`: PNG, PDF and GIF
export       files by their ending, DOT, Mermaid
page         the interactive page (assets/draw.*)
zooming      `zoom`: the scalar arithmetic inside an op
"""

from .drawing import Drawing as Drawing
from .drawing import draw as draw
from .zooming import zoom as zoom
