"""Nodes, rules and numbers as formulas: what drawings, steps, explanations and sheets print.

Five sentences say how the modules fit together:

1. `unfolding` replaces each op that exists only for speed by the steps of its definition, and `walk` runs the forward
   and the backward pass over that graph: it knows every number, and how far rounding may have moved it (`noise`).
2. `names` says what each node is called (`name_sources`: by whom), and `lines` writes how a node is computed, and what
   it sends back, as lines: a name, a formula over earlier names (an Expr), a value.
3. `scalars.formulas` takes a formula of tensors apart into one formula for each entry, `x[0] * w[0] + x[1] * w[1]`, in
   the few functions that a calculator has.
4. `scalars.program` does so with a whole graph, forward and backward: one table (`scalars.tables`) for each value,
   step and gradient, one line for each of its entries, which is what a sheet asks for. (A stepper's page needs the same
   lines as numbers in registers: stepping/page/registers.py.)
5. `digits` chooses how many digits each number of some lines gets, so that they come out on a calculator; `numbers`
   prints a number, `writers/` a formula as text, code, arithmetic, MathML or LaTeX, and `text` shortens, measures and
   escapes what the user wrote.

`grammar` is the table of the formulas that people type, which `playing/` and the pages read.
"""
