"""Nodes, rules and numbers as formulas: what drawings, steps, explanations and sheets print."""
