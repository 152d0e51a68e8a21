"""Backward lines that a learner writes: `g * (1 - out**2)`, held against finite differences of the forward formula.

    >>> tanh_line = Line("g * (1 - out**2)", np.tanh, x=[0.5, -1.0])
    >>> tanh_line.holds("g - g * out * out"), tanh_line.holds("g * out")
    (True, False)
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np

H = 1e-5  # the step of the differences
NEAR = 1e-6  # of the largest gradient: the differences are right to some ten digits
FUNCTIONS: dict[str, Any] = {
    "exp": np.exp, "log": np.log, "sqrt": np.sqrt, "tanh": np.tanh, "abs": np.abs, "sum": np.sum, "mean": np.mean,
    "max": lambda x, *y: np.maximum(x, *y) if y else np.max(x),
}  # fmt: skip


class Line(str):
    """A right answer (ours), and what any answer is held against: `forward` of the inputs, at the points given, each a
    number, or a row (then `forward` gives a row). The gradient asked for is that of the first input; `also` are names
    for numbers of the forward pass that the line may use, besides `g`, `out` and the inputs."""

    points: list[tuple[dict[str, Any], Any]]

    def __new__(
        cls, ours: str, forward: Callable[..., Any], also: dict[str, Callable[..., Any]] | None = None, **inputs: Any
    ) -> Line:
        found = super().__new__(cls, ours)
        found.points = []
        for number, point in enumerate(zip(*inputs.values(), strict=True)):
            xs = [np.asarray(x, dtype=float) for x in point]
            out = forward(*xs)
            g = np.random.default_rng(number).uniform(0.5, 2.0, np.shape(out)).round(2)
            names = dict(zip(inputs, xs, strict=True)) | {"g": g, "out": out}
            names |= {name: f(*xs) for name, f in (also or {}).items()}
            found.points.append((names, differences(forward, xs, g)))
        return found

    def holds(self, text: str) -> bool:
        """Is this line's gradient that of the differences at every point? Raises what Python raises."""
        factors = "|".join(map(re.escape, self.points[0][0]))
        if called := re.search(rf"(\)|(?<![\w.])(?:{factors}|[\d.]+))\s*\(", text):
            raise ValueError(f"to multiply, write {called[1]} * (…)")
        code = compile(text.replace("−", "-").replace("^", "**"), "your line", "eval")
        for names, slope in self.points:
            found = eval(code, {"__builtins__": {}, "math": math, "np": np, **FUNCTIONS, **names})
            if np.max(np.abs(found - slope)) > NEAR * max(1.0, np.max(np.abs(slope))):
                return False
        return True

    @property
    def names(self) -> str:
        """`g, out and x`: what the line may use."""
        *others, last = ["g", "out", *(name for name in self.points[0][0] if name not in ("g", "out"))]
        return f"{', '.join(others)} and {last}"

    def for_page(self) -> list[Any]:
        """The points as plain numbers, for a page without Python."""
        return [[{name: np.asarray(x).tolist() for name, x in names.items()}, slope.tolist()]
                for names, slope in self.points]  # fmt: skip


def differences(forward: Callable[..., Any], xs: list[Any], g: Any) -> Any:
    """The gradient of sum(g * forward(*xs)) by its first input."""
    slope = np.zeros_like(xs[0])
    for place in np.ndindex(slope.shape):
        nudge = np.zeros_like(xs[0])
        nudge[place] = H
        up, down = (np.sum(g * forward(xs[0] + sign * nudge, *xs[1:])) for sign in (1, -1))
        slope[place] = (up - down) / (2 * H)
    return slope
