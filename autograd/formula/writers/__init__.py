"""Formulas written out. `writer` is the walk over a formula that all of them share.

settings    the settings of an op in them: axes, indices, transposes
symbols     names and operators: text, code, the short form on an edge
python      formulas of scalars, as arithmetic that anyone can run
arithmetic  numbers in place of the names
maths       what `html` (MathML) and `latex` share
pieces      lines of numbers as plain text; `html`: the same as HTML
"""
