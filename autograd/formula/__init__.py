"""Nodes, rules and numbers as formulas: what drawings, steps, explanations and sheets print.

names       what each node is called (`name_sources`, `operands`), and how its expression and its rule read
lines       Derivation: the lines of a graph, forward and backward; `unfolding`: fused ops as their steps
walk        every number of a forward and a backward pass
digits      Line, and how many digits make every line come out
entries     a line spelled out entry by entry
scalars     formulas of scalars in a small vocabulary, as text and as data
scalar_program  a whole graph as one program of scalars (`scalar_tables`), for sheets
writer      the walk over a formula that all writers share: `symbols` (text, code, edges), `arithmetic` (numbers),
            `maths` (MathML), `latex`, `slots` (numbers left open, for a page to fill)
numbers     numbers as a learner reads them; `columns` and `html`: tables of them as text and as HTML
text        user text made visible, shortened, measured, escaped
"""
