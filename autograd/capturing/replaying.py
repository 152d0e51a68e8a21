"""A recorded run as a function: the same steps on other numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from autograd.engine import Value
from autograd.graph import made_from
from autograd.op import apply

if TYPE_CHECKING:
    from .run import Run

Nest = dict[str, Any]


def function_of(run: Run) -> Callable[[Nest, Nest], Any]:
    """The run as a function of its parameters and its inputs, each a dict by name.

    It gives the loss where there is one, else the results. The steps are those that were recorded: masks that were
    drawn, branches that were taken and integers stay as they were; a name that is left out keeps its number.
    """
    roots = list(dict.fromkeys(value for value, _ in run.roots))
    scalars = [v for v in roots if v.size == 1]
    wanted = scalars if len(scalars) == 1 else roots
    steps = replay(wanted, [*run.parameters.values(), *run.inputs.values()])

    def function(parameters: Nest, inputs: Nest) -> Any:
        known = {**by_name(parameters, run.parameters, "parameter"), **by_name(inputs, run.inputs, "input")}
        again = steps(known)
        return again[0] if len(again) == 1 else tuple(again)

    function.__name__ = run.title if run.title.isidentifier() else "model"
    return function


def by_name(given: Nest, leaves: dict[str, Value], what: str) -> dict[Value, Any]:
    """The leaf of each name with what is given for it."""
    for name in given:
        if name not in leaves:
            known = ", ".join(map(repr, leaves)) or "none"
            raise KeyError(f"the run has no {what} {name!r}; it has {known}")
    return {leaves[name]: x for name, x in given.items()}


def replay(roots: Sequence[Value], leaves: Sequence[Value]) -> Callable[[dict[Value, Any]], list[Any]]:
    """The steps between some leaves and some roots, as a function from Values in place of leaves to the roots."""
    nodes = made_from(roots, stop=leaves)

    def again(known: dict[Value, Any]) -> list[Any]:
        made: dict[Any, Any] = dict(known)
        for node in nodes:
            made[node] = applied_again(node, made)
        return [made.get(root, root) for root in roots]

    return again


def applied_again(node: Value, known: dict[Any, Any]) -> Any:
    """The op of a node on its inputs, others in place of those that are `known`."""
    assert node.op is not None
    return apply(node.op, tuple(known.get(x, x) if isinstance(x, Value) else x for x in node.inputs))
