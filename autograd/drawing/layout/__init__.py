"""Where cards and edges go: `arrange(scene)`, by Graphviz or by our own layers.

measure     how large a card is, and where its parts stand
arrange     boxes, curves and places of labels, by one of these:
graphviz    Graphviz, from pygraphviz's wheel or as the program `dot`
layered     our own layers, in linear time
geometry    boxes and points, which the painter uses too
"""
