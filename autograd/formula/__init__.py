"""Nodes, rules and numbers as formulas: what drawings, steps, explanations and sheets print.

names       what each node is called (`name_sources`), and how its expression and its rule read
lines       Line: a name, a formula, a value; Derivation: the lines of a graph, forward and backward
walk        every number of a forward and a backward pass; `unfolding`: fused ops as their steps
digits      how many digits to print, so that every line comes out
scalars     formulas of scalars: tensors entry by entry, in a small vocabulary
scalar_program  a whole graph as one program of scalars (`scalar_tables`), for sheets
writers/    formulas written as text, code, numbers, MathML and LaTeX
numbers     numbers as a learner reads them
text        user text made visible, shortened, measured, escaped
"""
