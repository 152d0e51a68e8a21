"""History: what training leaves behind, which plots itself."""

from __future__ import annotations

import base64
import math
import os
from html import escape
from typing import Any

__all__ = ["History"]

_CURVES = "the loss of each step, and the evaluations"


class History:
    """What happened: the loss and learning rate of each step, each evaluation and metric, and why training stopped.

    `stopped` is "steps" (all done), "patience" (no better for too long), "callback" or "interrupted" (Ctrl-C).

    >>> import nn
    >>> model, x = nn.Linear(1, 1, rng=0), [[1.0], [1.0]]
    >>> history = nn.fit(model, lambda x: (model(x) ** 2).mean(), (x,), nn.optim.SGD(model, lr=0.25), steps=3)
    >>> history.steps, len(history.losses), history.rates, history.stopped
    (3, 3, [0.25, 0.25, 0.25], 'steps')
    """

    def __init__(self) -> None:
        self.losses: list[float] = []
        self.rates: list[float] = []
        self.evaluations: list[tuple[int, float]] = []
        self.metrics: dict[str, list[tuple[int, float]]] = {}
        self.best_state: dict[str, Any] | None = None  # of fit(keep_best=True): the model at the best evaluation
        self.stopped: str | None = None

    @property
    def steps(self) -> int:
        """How many steps were done."""
        return len(self.losses)

    @property
    def best(self) -> tuple[int, float]:
        """The step and the value of the lowest evaluation; any number is lower than NaN."""
        if not self.evaluations:
            raise ValueError("nothing was evaluated; give fit(..., evaluate=function, every=steps)")
        return self.evaluations[self._lowest]

    def drop_evaluation(self) -> None:
        """Forget the last evaluation."""
        step, _ = self.evaluations.pop()
        for values in self.metrics.values():
            if values[-1][0] == step:
                values.pop()

    @property
    def since_best(self) -> int:
        """How many evaluations have passed since the best one."""
        return len(self.evaluations) - 1 - self._lowest if self.evaluations else 0

    @property
    def _lowest(self) -> int:
        """The place of the first evaluation that none is lower than; NaN comes after every number."""
        values = [value for _, value in self.evaluations]
        return min(range(len(values)), key=lambda i: (math.isnan(values[i]), values[i]))

    def plot(self, path: str | os.PathLike[str] | None = None, title: str = "loss") -> Any:
        """The curves as a matplotlib figure; with a path, also saved there (.svg, .png)."""
        from .plot import curves

        series: dict[str, Any] = {"training": (range(1, self.steps + 1), self.losses)}
        if self.evaluations:
            series["evaluation"] = tuple(zip(*self.evaluations, strict=True))
        series |= {name: tuple(zip(*values, strict=True)) for name, values in self.metrics.items() if values}
        return curves(series, path, title=title, x_label="step", y_label="loss")

    def _repr_png_(self) -> bytes | None:
        """The plot, for what prints a notebook."""
        try:
            from .plot import as_png
        except ImportError:
            return None
        return as_png(self.plot())

    def _repr_html_(self) -> str:
        """What a notebook shows: the same as text, and the curves, where matplotlib is installed."""
        png = self._repr_png_() if self.losses else None
        image = f'<img alt="{_CURVES}" src="data:image/png;base64,{base64.b64encode(png).decode()}">' if png else ""
        return f"<p><code>{escape(repr(self))}</code></p>{image}"

    def __repr__(self) -> str:
        if not self.losses:
            return "History(no steps yet)"
        evaluated = f", best evaluation {self.best[1]:.4g} at step {self.best[0]}" if self.evaluations else ""
        stopped = f", stopped: {self.stopped}" if self.stopped not in (None, "steps") else ""
        return f"History({self.steps} steps, loss {self.losses[0]:.4g} → {self.losses[-1]:.4g}{evaluated}{stopped})"
