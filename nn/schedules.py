"""Learning-rate schedules: functions from the step, counted from 0, to the learning rate of that step.

An optimizer takes one instead of a number, `SGD(model, lr=warmup(cosine(0.1, 1000), 50))`; any function of the step
works. They are in `nn.optim`, beside the optimizers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .module import is_number

__all__ = ["cosine", "exponential", "linear", "plateau", "step_decay", "warmup"]

Schedule = Callable[[int], float]


def cosine(peak: float, total: int, floor: float = 0.0) -> Schedule:
    """From `peak` down to `floor` along half a cosine wave, over `total` steps.

    >>> schedule = cosine(1.0, 10)
    >>> [round(schedule(t), 3) for t in (0, 5, 10, 99)]
    [1.0, 0.5, 0.0, 0.0]
    """
    _check_steps("cosine", "total", total)
    return lambda t: floor + (peak - floor) * 0.5 * (1.0 + math.cos(math.pi * min(t / max(total, 1), 1.0)))


def step_decay(start: float, every: int, factor: float = 0.1) -> Schedule:
    """`start`, times `factor` after every so many steps.

    >>> [round(step_decay(1.0, 10)(t), 3) for t in (0, 9, 10, 25)]
    [1.0, 1.0, 0.1, 0.01]
    """
    _check_steps("step_decay", "every", every, above=True)
    return lambda t: start * factor ** (t // every)


def linear(start: float, end: float, total: int) -> Schedule:
    """From `start` to `end` along a line, over `total` steps; then `end`.

    >>> [round(linear(1.0, 0.0, 10)(t), 3) for t in (0, 5, 10, 99)]
    [1.0, 0.5, 0.0, 0.0]
    """
    _check_steps("linear", "total", total)
    return lambda t: start + (end - start) * min(t / max(total, 1), 1.0)


def exponential(start: float, factor: float) -> Schedule:
    """`start`, times `factor` after every step.

    >>> [round(exponential(1.0, 0.5)(t), 3) for t in (0, 1, 3)]
    [1.0, 0.5, 0.125]
    """
    return lambda t: start * factor**t


class plateau:
    """`start`, times `factor` whenever `patience` evaluations have passed without a new lowest one: `fit` reports them.

    >>> rate = plateau(1.0, patience=2, factor=0.1)
    >>> for loss in (3.0, 2.0, 2.5, 2.1):
    ...     rate.observe(loss)
    >>> rate(0)
    0.1
    """

    def __init__(self, start: float, patience: int = 10, factor: float = 0.1) -> None:
        _check_steps("plateau", "patience", patience, above=True)
        self.start, self.patience, self.factor = start, patience, factor
        self.restart()

    def restart(self) -> None:
        """Forget all evaluations."""
        self.rate, self.best, self.since = self.start, math.inf, 0

    def observe(self, value: float) -> None:
        """Note an evaluation."""
        self.since = 0 if value < self.best else self.since + 1
        self.best = min(value, self.best)
        if self.since >= self.patience:
            self.rate, self.since = self.rate * self.factor, 0

    def __call__(self, t: int) -> float:
        return self.rate

    def __repr__(self) -> str:
        return f"plateau({self.rate:.4g}, patience={self.patience}, factor={self.factor})"


def warmup(schedule: float | Schedule, steps: int) -> Schedule:
    """A learning rate that rises from near 0 over the first steps, then follows a schedule (or stays, if a number).

    >>> rising = warmup(0.8, 4)
    >>> [round(rising(t), 3) for t in range(6)]
    [0.2, 0.4, 0.6, 0.8, 0.8, 0.8]
    """
    _check_steps("warmup", "steps", steps)
    then: Schedule = schedule if callable(schedule) else lambda t: schedule
    return lambda t: then(t) * min((t + 1) / max(steps, 1), 1.0)


def _check_steps(who: str, name: str, steps: Any, above: bool = False) -> None:
    """Refuse at once what is not a number of steps: the schedule itself is only called in training."""
    if not is_number(steps) or not (steps > 0 if above else steps >= 0):
        raise ValueError(f"{who}: {name} is a number of steps {'above 0' if above else 'from 0 up'}; got {steps!r:.60}")
