"""Random graphs: ops of the table on operands that fit, grown one step at a time and computed as they grow.

`makers.py` finds the operands; here is the growth, and what keeps the numbers tame and off kinks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autograd import OPS
from autograd.errors import HandgradError

from .makers import MAKERS
from .program import Leaf, Program, Step, is_boolean

LARGEST = 200  # numbers in one array
BOUND = 60.0  # sizes of numbers, so that both engines' rounding stays small
CLEARANCE = 1e-6  # how far a computed number keeps from a kink; a given one may sit right on it

EDGE_VALUES = np.array([0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 1e-310, -1e-310, 30.0, -30.0])


def apply(op: str, operands: list[Any], settings: dict[str, Any]) -> Any:
    """One op of our own table, on whatever carries the numbers."""
    ours = OPS[op]
    return ours(*(ours.pack(tuple(operands)) if ours.pack else operands), **settings)


class Builder:
    """A graph under construction: its nodes, and their values as plain numbers."""

    def __init__(self, seed: int, dtype: str) -> None:
        self.rng = np.random.default_rng(seed)
        self.seed = seed
        self.dtype = dtype
        self.nodes: list[Leaf | Step] = []
        self.values: list[Any] = []

    # --- what makers ask for --------------------------------------------------------------------------------

    def leaf(self, shape: tuple[int, ...] | None = None, positive: bool = False) -> int:
        """A new input, sometimes with edge values and ties."""
        rng = self.rng
        if shape is None:
            shape = tuple(int(n) for n in rng.choice([1, 2, 2, 3, 3, 4], rng.choice([0, 1, 2, 2, 3, 4])))
            if shape and rng.random() < 0.04:
                shape = (*shape[:-1], 0)
        kind = rng.random()
        data: Any = rng.normal(size=shape)
        if kind < 0.15:
            data = rng.integers(-2, 3, shape).astype(float)  # ties, and exact zeros
        elif kind < 0.25:
            data = rng.choice(EDGE_VALUES, shape)
        if positive:
            data = np.abs(data) + 0.3
        data = np.asarray(data, dtype=self.dtype)
        if shape and rng.random() < 0.1:
            data = np.asfortranarray(data)  # not contiguous
        self.nodes.append(Leaf(float(data) if not shape and self.dtype == "float64" else data if shape else data[()]))
        self.values.append(self.nodes[-1].data)
        return len(self.nodes) - 1

    def pick(self, fits: Callable[[Any], bool] = lambda x: True) -> int | None:
        """A random real node that fits."""
        found = [i for i, x in enumerate(self.values) if not is_boolean(x) and fits(np.asarray(x))]
        return int(self.rng.choice(found)) if found else None

    def ranked(self, least: int, most: int = 9) -> int | None:
        """A node of enough axes, none of them empty."""
        return self.pick(lambda x: least <= x.ndim <= most and x.size > 0)

    def axis(self, i: int) -> int:
        ndim = np.ndim(self.values[i])
        return int(self.rng.integers(-ndim, ndim))

    def axes(self, i: int) -> Any:
        """None, one axis or several."""
        ndim = np.ndim(self.values[i])
        choice = self.rng.random()
        if ndim == 0 or choice < 0.3:
            return None
        if choice < 0.7:
            return self.axis(i)
        count = int(self.rng.integers(1, ndim + 1))
        return tuple(int(a) for a in self.rng.permutation(ndim)[:count])

    def shape(self, i: int) -> tuple[int, ...]:
        return np.shape(self.values[i])

    def given(self, i: Any) -> bool:
        """Whether an operand is a leaf or a constant: exactly what was written down, on any engine."""
        return not isinstance(i, int) or isinstance(self.nodes[i], Leaf)

    # --- growth ---------------------------------------------------------------------------------------------

    def grow(self, op: str) -> bool:
        """Add one step with this op, if operands for it are found and the numbers stay tame."""
        count = len(self.nodes)
        made = MAKERS[op](self)
        if made is not None:
            operands, settings = made
            step = Step(op, tuple(operands), tuple(settings.items()))
            plain = [self.values[i] if isinstance(i, int) else i[0] for i in operands]
            try:
                with np.errstate(all="ignore"):
                    value = apply(op, plain, settings)
            except HandgradError:
                value = None
            if value is not None and self._tame(value) and not self._at_kink(op, step, plain, value):
                self.nodes.append(step)
                self.values.append(value)
                return True
        del self.nodes[count:], self.values[count:]  # leaves made for nothing
        return False

    def _tame(self, value: Any) -> bool:
        x = np.asarray(value)
        return x.size <= LARGEST and bool(np.isfinite(x).all()) and (not x.size or float(np.abs(x).max()) < BOUND)

    def _at_kink(self, op: str, step: Step, plain: list[Any], value: Any) -> bool:
        """Whether engines could fall on different sides of a kink, for the rounding of what came before."""
        gap = KINKS.get(op)
        if op in UNDERFLOWS and any(np.any((np.abs(x) < 1e-150) & (np.asarray(x) != 0)) for x in plain):
            return True
        if gap is None or all(self.given(i) for i in step.operands):
            return False
        with np.errstate(all="ignore"):
            distance = np.asarray(gap(*plain, out=value, **dict(step.settings)))
        return bool(distance.size and np.min(np.abs(distance)) < CLEARANCE)


def build(seed: int, ops: list[str] | None = None) -> Program:
    """The random graph of this seed."""
    rng = np.random.default_rng((seed, 1))
    builder = Builder(seed, "float32" if rng.random() < 0.15 else "float64")
    for _ in range(int(rng.integers(1, 4))):
        builder.leaf()
    wanted = int(rng.integers(1, 13))
    names = ops or list(MAKERS)
    grown = tries = 0
    while grown < wanted and tries < 20 * wanted:
        grown += builder.grow(str(rng.choice(names)))
        tries += 1
    return Program(tuple(builder.nodes), seed)


# --- kinks: how far the numbers are from one ----------------------------------------------------------------


def _second_place(x: Any, axis: Any) -> Any:
    """How far the largest number is ahead of the next, for each reduction."""
    x = np.asarray(x)
    axes = tuple(range(x.ndim)) if axis is None else tuple(a % x.ndim for a in np.atleast_1d(axis)) if x.ndim else ()
    kept = [a for a in range(x.ndim) if a not in axes]
    flat = np.transpose(x, (*kept, *axes)).reshape(*(x.shape[a] for a in kept), -1)
    if flat.shape[-1] < 2:
        return np.array(1.0)
    ordered = np.sort(flat, axis=-1)
    return ordered[..., -1] - ordered[..., -2]


UNDERFLOWS = {"norm", "std", "var", "prod"}  # products of denormals are 0, here as in NumPy; torch scales some of them

KINKS: dict[str, Callable[..., Any]] = {
    "relu": lambda x, out: x,
    "abs": lambda x, out: x,
    "sign": lambda x, out: x,
    "leaky_relu": lambda x, out, slope: x,
    "clip": lambda x, out, low, high: np.minimum(np.abs(np.subtract(x, low)), np.abs(np.subtract(x, high))),
    **dict.fromkeys(("maximum", "minimum", "less", "less_equal", "greater", "greater_equal"),
                    lambda x, y, out: np.subtract(x, y)),
    "max": lambda x, out, axis, keepdims: _second_place(x, axis),
    "min": lambda x, out, axis, keepdims: _second_place(np.negative(x), axis),
    "std": lambda x, out, axis, keepdims: np.asarray(out) * 1e-4,
    "norm": lambda x, out, axis, keepdims: np.asarray(out) * 1e-4,
    "power": lambda x, y, out: np.where(np.asarray(y) != np.round(y), x, 1.0),
}  # fmt: skip
