"""Expr, the carrier that is a formula: a rule that runs on Exprs writes itself down.

expr        Expr, a tree of ops over symbols and numbers; `rule`, that of an op or of a node
rules       how a rule becomes text: run on Exprs, summed to the shapes of its inputs, simplified
operators   Python's operators and NumPy's ufuncs for every carrier that is no Value
"""

from .expr import UNKNOWN, Expr, rule

__all__ = ["UNKNOWN", "Expr", "rule"]
