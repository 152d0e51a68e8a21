"""Graphs made ready for a sheet: plain arrays become leaves with names, long numbers are rounded, numbers exchanged."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from autograd.attached import Attached
from autograd.engine import Value
from autograd.formula.lines import Derivation
from autograd.formula.names import Names
from autograd.formula.scalars.program import FORWARD
from autograd.formula.scalars.tables import Table
from autograd.formula.unfolding import Unfolded
from autograd.graph import topological
from autograd.modes import enable_grad
from autograd.op import OPS, apply

TINY = 1e-30  # a bound below it guards against 0 and changes nothing else
MOST_SHOWN = 64  # numbers of a plain array that a sheet prints


def prepared(root: Value, names: Mapping[str, Any] | None, decimals: int | None = None) -> tuple[Value, Names]:
    """The graph that a sheet is made of, and its names: fused ops opened, data as leaves, leaves rounded if asked.

    Hands do not compute in float32: such a graph is computed again in float64, from the numbers as they print.
    """
    nodes = topological(Unfolded(root).root)
    found = Names(nodes, names, nest=False)
    data = {id(x): x for node in nodes for x in node.inputs if _is_data(x)}
    idle = {node: x for node in nodes if not found.own_name(node) for x in _clamped(node)}
    coarse = {id(x): _as_printed(x) for node in nodes for x in node.inputs if _is_coarse(x)}
    numbers = {node: _written(node.data, decimals) for node in nodes if node.op is None}
    if not data and not idle and not coarse and all(numbers[leaf] is leaf.data for leaf in numbers):
        return nodes[-1], found
    leaves = _as_leaves(list(data.values()), found, {found.own_name(node) for node in nodes}, decimals)
    again = topological(rebuilt(nodes, numbers, found, coarse | leaves, idle))
    return again[-1], Names(again, nest=False)


def _clamped(node: Value) -> list[Value]:
    """The operand of a clamp that changes nothing here and only guards against 0: max(p, 1e-44) inside a loss."""
    if node.op is None or node.op.base is not OPS["maximum"]:
        return []
    values = [x for x in node.inputs if isinstance(x, Value)]
    bounds = [x for x in node.inputs if isinstance(x, float) and 0 < x < TINY]
    return values if len(values) == len(bounds) == 1 and np.all(np.greater(values[0].data, bounds[0])) else []


def _is_data(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.dtype.kind == "f" and x.size > 1 and bool(np.isfinite(x).all())


def _as_leaves(arrays: list[Any], names: Names, used: set[str], decimals: int | None) -> dict[int, Value]:
    """A leaf for each array, by its id: with the array's own name, or x, x2, x3; beside an X, which hands write alike,
    c, c2, c3."""
    letter = "c" if "X" in used else "x"
    every = itertools.chain([letter], (f"{letter}{n}" for n in itertools.count(2)))
    free = (name for name in every if name not in used)
    return {
        id(x): Value(_written(x, decimals), name=names.own_name(x) or next(free), requires_grad=False) for x in arrays
    }


def _is_coarse(x: Any) -> bool:
    return isinstance(x, np.ndarray | np.generic) and x.dtype.kind == "f" and x.dtype.itemsize < 8


def _as_printed(x: Any) -> Any:
    """Numbers of float32 in float64, as they print: 0.3, not 0.30000001192092896."""
    array = np.array([float(str(number)) for number in np.ravel(x)]).reshape(np.shape(x))
    return array if array.ndim else float(array)


def _written(data: Any, decimals: int | None) -> Any:
    """The numbers of a leaf as the sheet gives them."""
    data = _as_printed(data) if _is_coarse(data) else data
    if decimals is None:
        return data
    return np.round(data, decimals) + 0.0 if isinstance(data, np.ndarray) else round(float(data), decimals) + 0.0


@np.errstate(all="ignore")
def rebuilt(
    nodes: list[Value], numbers: Mapping[Value, Any], names: Names, leaves: Mapping[int, Any] | None = None,
    idle: Mapping[Value, Value] | None = None,
) -> Value:  # fmt: skip
    """The graph computed again from other numbers, its names kept.

    `leaves` take the places of plain arrays and numbers, by id; of `idle` nodes their operand takes the place.
    """
    twins: dict[Value, Value] = {}

    def twin_of(x: Any) -> Any:
        return twins[x] if isinstance(x, Value) else (leaves or {}).get(id(x), x)

    with enable_grad():
        for node in nodes:
            if idle and node in idle:
                twins[node] = twins[idle[node]]
                continue
            if node.op is None:
                twin = type(node)(numbers.get(node, node.data))  # a parameter of nn stays one
                twin.requires_grad = node.requires_grad
            else:
                twin = apply(node.op, tuple(map(twin_of, node.inputs)))
                if not isinstance(twin, Value):
                    twin = Value(twin, requires_grad=False)
            name = names.own_name(node) if not names.is_made_up(node) else None
            twin._note = Attached(name or None, node.scope, node.line)
            twins[node] = twin
    return twins[nodes[-1]]


def constants(words: Derivation) -> Iterator[Table]:
    """What a learner has to know besides the leaves: the targets of a loss, the indices of a lookup, a mask."""
    for node in words.nodes:
        if node.op is None:
            continue
        seen: set[int] = set()
        sent = words.backward(node, node.data) if node.requires_grad else []  # of any gradient: constants need none
        named = {line.result.name: line for lines in (words.forward(node), *filter(None, sent)) for line in lines[:-1]}
        for name, line in named.items():
            symbols = list(line.formula.symbols())
            if symbols and all(isinstance(e.node, np.ndarray) for e in symbols):
                seen |= {id(e.node) for e in symbols}
                yield _constant(f"{words.name(node)}.{name}", name, node, line.result.value)
        for x in node.inputs:
            if isinstance(x, np.ndarray) and id(x) not in seen and not _is_data(x) and 0 < x.size <= MOST_SHOWN:
                name = words.names.operand_name(x, node)
                yield _constant(name, name, node, x)


def _constant(name: str, label: str, node: Value, value: Any) -> Table:
    return Table(name, label, "constant", FORWARD, node, np.asarray(value, dtype=float))
