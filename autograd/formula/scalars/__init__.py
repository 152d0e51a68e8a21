"""Tensors spelled out entry by entry.

formulas    a formula of tensors as one formula for each entry
tables      one table for each value, step and gradient, a line for each entry
program     a whole graph so, forward and backward
"""
