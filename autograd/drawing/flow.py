"""What travels along each edge: the contribution of a result to an operand's gradient."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from autograd.backprop import contributions
from autograd.drawing.cards import norm
from autograd.drawing.scene import Legend
from autograd.formula.numbers import as_printed, equals, factor, rough, short
from autograd.value import Value

WIDEST, DECADE, THINNEST = 10.0, 1.7, 1.5  # pixels: the largest norm, one power of ten less, the least


def contributions_of(node: Value, gradient: Any = None) -> list[Any]:
    """One gradient per operand, in order, for `gradient` arriving (the node's own `.grad` unless given).

    None stands where none flows, or where nothing has arrived yet.
    """
    gradient = node.grad if gradient is None else gradient
    found: list[Any] = [None] * len(node.inputs)
    if gradient is None or node.op is None:
        return found
    with np.errstate(all="ignore"):  # what went wrong in the backward pass is shown, not warned of again
        sent = iter(contributions(node, gradient))
    entry = next(sent, None)
    for index, x in enumerate(node.inputs):
        if entry is not None and entry[0] is x:
            found[index] = entry[1]
            entry = next(sent, None)
    return found


def arithmetic(node: Value, index: int, contribution: Any, digits: int) -> str:
    """The edge's step in numbers: `40 × (−3) = −120`, with `≈` where the printed numbers do not come to just that; of
    matrices the contribution's norm."""
    if contribution is None:
        return ""
    if np.ndim(contribution) or np.ndim(node.data):
        return f"‖·‖ {rough(norm(contribution))}"
    slope = contributions_of(node, 1.0)[index]
    gradient, local, result = (as_printed(number, digits) for number in (node.grad, slope, contribution))
    with np.errstate(all="ignore"):
        sign = equals(gradient * local, result)
    return f"{short(node.grad, digits)} × {factor(slope, digits)} {sign} {short(contribution, digits)}"


def width_of(size: float, largest: float) -> float:
    """The under-stroke of a gradient: one decade is always 1.7 px, so pictures compare."""
    return max(THINNEST, WIDEST - DECADE * math.log10(largest / size))


def legend(largest: float, has_undirected: bool) -> Legend:
    """Five widths, a decade apart."""
    norms = [largest / 10**step for step in range(5)]
    return Legend(tuple((width_of(size, largest), short(size, 2)) for size in norms), has_undirected)


def largest_of(sizes: Iterable[float | None]) -> float:
    return max((size for size in sizes if size is not None and math.isfinite(size)), default=0.0)
