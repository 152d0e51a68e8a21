"""The table from torch's operators (aten) to our ops: one short function each, over Values and plain arrays.

A rule is called as torch called the operator, with a Value in place of each tensor that a gradient flows through and a
NumPy array in place of any other; dtypes are NumPy's names. It returns a Value, or a tuple of them where torch returns
several tensors, None for one that no gradient reaches. torch itself is never imported here, so that a recording made
elsewhere can be replayed and tested without it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autograd.engine import Value
from autograd.op import rank_of, shape_of

Rule = Callable[..., Any]

ATEN: dict[str, Rule] = {}


class NotMapped(Exception):
    """Raised by a rule for arguments that it has no ops for: the call is then taken apart or stays opaque."""


def aten(*names: str) -> Callable[[Rule], Rule]:
    """Enter a rule under torch's names: "add", or "pow.Scalar" for one overload alone."""

    def enter(rule: Rule) -> Rule:
        for name in names:
            ATEN[name] = rule
        return rule

    return enter


def given_results(rule: Rule) -> Rule:
    """Mark a rule that also takes `results`, what torch returned: the mask of a dropout was drawn there."""
    rule.needs_results = True  # type: ignore[attr-defined]
    return rule


def rule_for(name: str) -> Rule | None:
    """The rule of "add.Tensor" or "add_.Tensor" (in place): that of the overload, else that of the operator."""
    packet, _, overload = name.partition(".")
    base = packet[:-1] if packet.endswith("_") and not packet.endswith("__") else packet
    return ATEN.get(f"{base}.{overload}") or ATEN.get(base)


def unless(unmapped: Any, why: str) -> None:
    """Leave the call to torch if it asks for something our op does not do."""
    if unmapped:
        raise NotMapped(why)


def plain(x: Any) -> bool:
    """Whether no gradient flows to x."""
    return not isinstance(x, Value)


def dtype_of(*xs: Any) -> np.dtype[Any]:
    """The precision of the Values among the operands: plain integers beside them take it too, as in torch."""
    return np.result_type(*(x.dtype for x in xs if isinstance(x, Value)))


def operands(*xs: Any) -> tuple[Any, ...]:
    """Integers and booleans as real ones; a tensor of no axes as the number it is."""
    dtype = dtype_of(*xs)
    return tuple(_operand(x, dtype) for x in xs)


def _operand(x: Any, dtype: np.dtype[Any]) -> Any:
    if isinstance(x, Value) or x is None:
        return x
    if isinstance(x, np.ndarray):
        if not x.ndim:
            return x.item()
        return x if x.dtype.kind == "f" else x.astype(dtype)
    return x


def axis_or_all(dim: Any) -> Any:
    """torch's dim: None or [] for all axes, a number, or a list."""
    if dim is None or (isinstance(dim, list | tuple) and not dim):
        return None
    return tuple(dim) if isinstance(dim, list | tuple) else dim


def along(dim: int, rank: int, part: Any) -> tuple[Any, ...]:
    """The index that applies `part` to one axis and leaves the others."""
    dim %= max(rank, 1)
    return (slice(None),) * dim + (part,) if dim else (part,)


__all__ = ["ATEN", "NotMapped", "Rule", "along", "aten", "axis_or_all", "dtype_of",
           "given_results", "operands", "plain", "rank_of", "rule_for", "shape_of", "unless"]  # fmt: skip
