"""What each node of a graph is to its reader.

    loss       the root, if it is a single number and its name says so (`loss`, `L`, `L_mean`, `total_cost`), or if
               the op that made it is a loss (`cross_entropy`). Calling backward() does not make a number a loss:
               people ask for the slope of a probability, too
    output     any other root that an op made
    result     any other node that an op made
    input      a leaf that the caller lists in `inputs`, a leaf with requires_grad=False, and, in a graph with
               parameters of `nn`, every leaf that is none of them
    parameter  every other leaf: a parameter of `nn`, or, in a graph without any, a Value that asks for a gradient

A plain array is a constant.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from autograd.formula.names import Names
from autograd.value import Value

LETTER = re.compile(r"L([_#\d].*)?", re.DOTALL)  # a loss by its letter: L, L1, L_mean
WORD = re.compile(r"(?<![a-z])(loss|cost)")  # or by a word of its name: total_loss


class Roles:
    """The roles in one graph, its nodes given oldest first: `Roles(nodes, names)(node)`. `inputs` are leaves, or names
    of leaves."""

    def __init__(self, nodes: Sequence[Value], names: Names, inputs: Iterable[Any] = ()) -> None:
        self.root, self._names = nodes[-1], names
        leaves = [node for node in nodes if node.op is None]
        self._inputs = {leaf for leaf in leaves if any(leaf is one or names.own_name(leaf) == one for one in inputs)}
        self._has_parameters = any(map(is_parameter, leaves))

    def __call__(self, node: Value) -> str:
        if node.op is not None:
            return "result" if node is not self.root else "loss" if self._is_loss(node) else "output"
        if node in self._inputs:
            return "input"
        is_trained = is_parameter(node) if self._has_parameters else node.requires_grad
        return "parameter" if is_trained else "input"

    def _is_loss(self, root: Value) -> bool:
        name = self._names.own_name(root)
        is_named_so = LETTER.fullmatch(name) or WORD.search(name.lower())
        return root.size == 1 and bool(is_named_so or (root.op is not None and root.op.loss))


def is_parameter(node: Value) -> bool:
    """Made by `nn`, which is not imported for asking: a subclass of Value called Parameter."""
    return any(cls.__name__ == "Parameter" for cls in type(node).__mro__)
