"""The commands, one module each: `register` adds it to the parser, `run` does the work.

draw, step, slides, play      look at a graph            check, capture    hold gradients against others
example, errata, source       the worked examples        doctor            what is installed, and what is in the way
worksheet, grade              sheets and their marks
"""
