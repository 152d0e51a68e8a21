"""Where cards and edges go: `arrange(scene)`, by Graphviz or by our own layers."""
