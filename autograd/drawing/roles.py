"""What each node of a graph is to its reader.

    loss       the root, if it is a single number and its name says so (`loss`, `L`, `L_mean`, `total_cost`), or if
               the op that made it is a loss (`cross_entropy`). Calling backward() does not make a number a loss:
               people ask for the slope of a probability, too
    output     any other root that an op made
    result     any other node that an op made
    parameter  a leaf that moves in training (see `moving_leaves`)
    input      any other leaf: data

A plain array is a constant.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from autograd.engine import Value
from autograd.formula.names import Names

LETTER = re.compile(r"L([_#\d].*)?", re.DOTALL)  # a loss by its letter: L, L1, L_mean
WORD = re.compile(r"(?<![a-z])(loss|cost)")  # or by a word of its name: total_loss


def moving_leaves(nodes: Sequence[Value], names: Names, parameters: Any = None, inputs: Any = ()) -> list[Value]:
    """The leaves that move in training, oldest first.

    `parameters` says which: leaves, their names, an optimizer or a module. Without it they are the parameters of `nn`;
    in a graph without any, all leaves that require a gradient. Leaves listed in `inputs` never move.

    >>> w, x = Value(2.0, name="w"), Value(3.0, name="x")
    >>> nodes = [w, x, w * x]
    >>> [leaf.name for leaf in moving_leaves(nodes, Names(nodes))]
    ['w', 'x']
    >>> [leaf.name for leaf in moving_leaves(nodes, Names(nodes), parameters="w")]
    ['w']
    """
    leaves = [node for node in nodes if node.op is None]
    if parameters is not None:
        moving = _listed(leaves, names, as_leaves(parameters, "parameters"))
    else:
        moving = [leaf for leaf in leaves if is_parameter(leaf)] or [leaf for leaf in leaves if leaf.requires_grad]
    fixed = set(_listed(leaves, names, as_leaves(inputs, "inputs")))
    return [leaf for leaf in moving if leaf not in fixed]


class Roles:
    """The roles in one graph, its nodes given oldest first: `Roles(nodes, names)(node)`. `inputs` and `parameters` are
    those of `moving_leaves`; `roots` the results that are shown, by default the last node."""

    def __init__(
        self, nodes: Sequence[Value], names: Names, inputs: Any = (), parameters: Any = None,
        roots: Sequence[Value] = (),
    ) -> None:  # fmt: skip
        self.roots, self._names = set(roots or nodes[-1:]), names
        self._moving = set(moving_leaves(nodes, names, parameters, inputs))

    def __call__(self, node: Value) -> str:
        if node.op is None:
            return "parameter" if node in self._moving else "input"
        return "result" if node not in self.roots else "loss" if self._is_loss(node) else "output"

    def _is_loss(self, root: Value) -> bool:
        name = self._names.own_name(root)
        is_named_so = LETTER.fullmatch(name) or WORD.search(name.lower())
        return root.size == 1 and bool(is_named_so or (root.op is not None and root.op.loss))


def is_parameter(node: Value) -> bool:
    """Made by `nn`, which is not imported for asking: a subclass of Value called Parameter."""
    return any(cls.__name__ == "Parameter" for cls in type(node).__mro__)


def as_leaves(given: Any, option: str) -> tuple[Any, ...]:
    """Leaves or their names, as a caller lists them: one alone needs no list; an optimizer and a module mean theirs."""
    if isinstance(given, str | Value):
        return (given,)
    if hasattr(given, "named_parameters"):
        return tuple(parameter for _, parameter in given.named_parameters())
    if not isinstance(given, Iterable):
        raise TypeError(
            f"{option}: expected leaves or their names; "
            f"got {given!r:.80} ({type(given).__name__}). Write {option}=['x'], or {option}=[x]"
        )
    return tuple(given)


def _listed(leaves: Iterable[Value], names: Names, listed: tuple[Any, ...]) -> list[Value]:
    meant, called = {id(one) for one in listed}, {one for one in listed if isinstance(one, str)}
    return [leaf for leaf in leaves if id(leaf) in meant or names.own_name(leaf) in called]
