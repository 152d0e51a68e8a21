"""What a wrong backward leaves out: the terms of the chain rule that are missing, turned round or counted twice.

Our own gradient of a call is a sum over the edges of its recorded steps. One edge at a time, then two, is left out
(its sign turned, counted twice) until the gradient is the library's: then those edges are what its line got wrong.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograd.engine import Value, contributions
from autograd.formula.names import Names
from autograd.graph import made_from, reach_from

from .run import Call

Array = np.ndarray[Any, Any]
Edge = tuple[Value, Value, int]  # a node, one of its inputs, and which of its places as that node's input
SLIPS = {
    0.0: "leaves out what flows back through",
    -1.0: "has the wrong sign on what flows back through",
    2.0: "counts twice what flows back through",
}
MOST_NUMBERS = 2_000_000  # that a search may compute
MOST_PAIRS = 300


@dataclass(frozen=True)
class Term:
    """One term that is wrong: through which step it flows back, by which rule, and what is missing for it."""

    through: str
    rule: str
    missing: Array  # what has to be added to the library's gradient to correct it


@dataclass(frozen=True)
class LeftOut:
    """The terms in which a gradient differs from ours, all in the same way."""

    says: str
    terms: tuple[Term, ...]

    @property
    def sentence(self) -> str:
        """What the line does, in words."""
        return f"{self.says} {' and '.join(term.through for term in self.terms)}"


def left_out(call: Call, value: Value, ours: Mapping[Value, Any], theirs: Any) -> LeftOut | None:
    """The terms whose change turns our gradient of a call into theirs; None if no one or two of them do.

    A gradient that is wrong by one factor everywhere lacks no term: its ratio says all.
    """
    given = set(call.inputs)
    seeds = {v: ours[v] for v in call.outputs if v in ours and v not in given}
    edges = edges_towards(value, seeds, call.inputs)
    wanted = np.asarray(theirs, np.float64)
    size = sum(np.size(node.data) for node, *_ in edges) + wanted.size
    if len(edges) < 2 or size * len(edges) > MOST_NUMBERS:
        return None
    if proportional(pulled(value, seeds, call.inputs, {}), wanted):
        return None
    for changes in tried(edges):
        if same(pulled(value, seeds, call.inputs, changes), wanted):
            return described(call, value, seeds, changes)
    return None


def pattern(name: str, ours: Array, theirs: Array) -> list[str]:
    """What a wrong gradient is, read off its numbers: a factor, a zero, another order."""
    if not np.isfinite(theirs).all():
        return [f"{name}: not finite where it should be"] if np.isfinite(ours).all() else []
    if not np.any(theirs):
        return [f"{name}: no gradient arrives, yet the result depends on it"]
    if not np.isfinite(ours).all():
        return []
    squares = float(np.sum(ours * ours))
    ratio = float(np.sum(ours * theirs)) / squares if squares else 0.0
    if abs(ratio - 1) < 1e-4:
        digits = digits_alike(ours, theirs)
        return [f"{name}: right to about {digits} digits only: is a part of it computed in a coarser precision?"
                ] if digits >= 4 else []  # fmt: skip
    if ratio and nearly(ratio * ours, theirs):
        usual = {-1.0: "the sign is flipped", 2.0: "twice too large: a path counted twice, or a factor ½ forgotten",
                 0.5: "half of what it should be: one of two paths is lost, or a factor 2"}  # fmt: skip
        known = next((says for r, says in usual.items() if abs(ratio - r) < 1e-3), None)
        sizes = sorted({*ours.shape, ours.size} - {0, 1, 2})
        too = [f"too large by {n}, a size of its axes: a sum where a mean belongs" for n in sizes if near_1(ratio / n)]
        too += [f"too small by {n}, a size of its axes: a mean where a sum belongs" for n in sizes if near_1(ratio * n)]
        return [f"{name}: {(known or (too or [f'every entry is off by the factor {ratio:.6g}'])[0])}"]
    for a, b in itertools.combinations(range(ours.ndim), 2):
        if ours.shape[a] == ours.shape[b] and nearly(np.swapaxes(ours, a, b), theirs):
            return [f"{name}: transposed: axes {a} and {b} of the gradient are exchanged"]
    gap = theirs - ours
    if gap.size > 2 and nearly(np.full_like(gap, gap.flat[0]), gap):
        return [f"{name}: off by {gap.flat[0]:.6g} everywhere: a term is missing, such as a mean or a bias"]
    return []


def digits_alike(ours: Array, theirs: Array) -> int:
    """To how many digits two different gradients are the same."""
    return round(-math.log10(float(np.max(np.abs(theirs - ours))) / float(np.max(np.abs(ours)))))


def nearly(a: Array, b: Array) -> bool:
    """The same to four digits, beside the largest."""
    return bool(np.max(np.abs(a - b), initial=0.0) <= 1e-4 * np.max(np.abs(b), initial=0.0))


def near_1(ratio: float) -> bool:
    return abs(ratio - 1) < 1e-4


def edges_towards(value: Value, seeds: Mapping[Value, Any], stop: list[Value]) -> list[Edge]:
    """The edges of a call along which something reaches a Value, those nearest to it first."""
    order, wanted = reach_from(seeds, stop)
    behind = {value}
    found = []
    for node in reversed(order):
        near = [x for x in node.parents if x in wanted and x in behind]
        if near:
            behind.add(node)
            found += [(node, x, sum(x is other for other in near[:i])) for i, x in enumerate(near)]
    return found


def tried(edges: list[Edge]) -> Iterator[dict[Edge, float]]:
    """Which edges to change and how, likeliest first."""
    for factor in SLIPS:
        yield from ({edge: factor} for edge in edges)
    pairs = itertools.islice(itertools.combinations(edges, 2), MOST_PAIRS)
    yield from (dict.fromkeys(pair, 0.0) for pair in pairs)


def pulled(value: Value, seeds: Mapping[Value, Any], stop: list[Value], factors: Mapping[Edge, float]) -> Array:
    """What our rules send to a Value, with some contributions multiplied by factors."""
    order, wanted = reach_from(seeds, stop)
    grads: dict[Value, Any] = dict(seeds)
    for node in order:
        g = grads.pop(node, None)
        if g is not None:
            sent = contributions(node, g, wanted)
            for i, (x, dx) in enumerate(sent):
                factor = factors.get((node, x, sum(other is x for other, _ in sent[:i])), 1.0)
                if factor:
                    dx = dx if factor == 1.0 else factor * dx
                    grads[x] = grads[x] + dx if x in grads else dx
    return np.zeros(value.shape) if value not in grads else np.asarray(grads[value], np.float64)


def same(ours: Array, theirs: Array) -> bool:
    scale = float(np.max(np.abs(theirs), initial=0.0))
    return math.isfinite(scale) and bool(np.allclose(ours, theirs, rtol=0, atol=1e-9 * scale))


def proportional(ours: Array, theirs: Array) -> bool:
    """Whether one is the other times a number."""
    squares = float(np.sum(ours * ours))
    return bool(squares) and same(ours * (float(np.sum(ours * theirs)) / squares), theirs)


def described(call: Call, value: Value, seeds: Mapping[Value, Any], changes: dict[Edge, float]) -> LeftOut:
    """The changes in words; what is missing for each adds up to the whole difference."""
    names = Names([*call.inputs, *made_from(call.outputs, stop=call.inputs)])
    terms = []
    left = dict(changes)
    before = pulled(value, seeds, call.inputs, left)
    for edge in changes:
        del left[edge]
        after = pulled(value, seeds, call.inputs, left)
        node, x, nth = edge
        place = [at for at, operand in enumerate(node.inputs) if operand is x][nth]
        terms.append(Term(names.expression(node), names.rule(node)[place] or "", after - before))
        before = after
    return LeftOut(SLIPS[next(iter(changes.values()))], tuple(terms))
