"""Nodes, rules and numbers as formulas: what drawings, steps, explanations and sheets print.

names       what each node is called (`name_sources`, `operands`), and how its expression and its rule read
lines       Derivation: the lines of a graph, forward and backward; `unfolding`: fused ops as their steps
digits      Line, and how many digits make every line come out
entries     a line spelled out entry by entry; `scalars` (and scalar_*): a whole graph as one program of scalars
writer      the walk over a formula that all writers share: `symbols` (text, code, edges), `arithmetic` (numbers),
            `maths` (MathML, LaTeX), `slots` (numbers left open, for a page to fill)
numbers     numbers as a learner reads them; `text`: user text made visible, shortened, measured, escaped
"""
