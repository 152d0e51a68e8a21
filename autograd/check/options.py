"""What a check may be asked for, in all its forms: functions, fixture, marker and command."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

VERDICTS = ("pass", "precision", "kink", "wrong", "nondeterministic")  # from best to worst
PASS, PRECISION, KINK, WRONG, NONDETERMINISTIC = range(len(VERDICTS))
MODES = ("reverse", "forward")
RELATIVE, ABSOLUTE = 1e-7, 16.0  # of a right gradient in float64: relative to itself, and rounding units of the largest


@dataclass(frozen=True)
class Options:
    """The settings of a check.

    order    2: the gradient of the gradient too
    step     the step size of the differences, in place of one that is fitted to each entry
    seed     of the random weights on several results, of random lines and points
    mode     "forward": check jvp in place of backward
    rtol, atol   what is accepted: a gap of at most atol + rtol · |slope|
    allow    ("kink",): entries that stand at a kink do not fail the check
    points   2: also at a second, random point
    entries  "all": every entry on its own; a number: random lines, and so many single entries
    digits   "always": settle every entry in 90 digits
    """

    order: int = 1
    step: float | None = None
    seed: int = 0
    mode: str = "reverse"
    rtol: float | None = None
    atol: float | None = None
    allow: Any = ()
    points: int = 1
    entries: str | int | None = None
    digits: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "allow", (self.allow,) if isinstance(self.allow, str) else tuple(self.allow))
        order, seed, points = self.order, self.seed, self.points
        _ask(not isinstance(order, bool) and order in (1, 2),
             f"order is 1 (the gradient) or 2 (also the gradient of the gradient); got {order!r}")
        _ask(self.step is None or (_is_number(self.step) and 0 < self.step < math.inf),
             f"step is a positive number, or None to have it fitted; got {self.step!r}")
        _ask(_is_integer(seed) and seed >= 0, f"seed is an integer from 0 on; got {seed!r}")
        _ask(self.mode in MODES, f'mode is "reverse" or "forward"; got {self.mode!r}')
        for name, x in (("rtol", self.rtol), ("atol", self.atol)):
            _ask(x is None or (_is_number(x) and 0 <= x < math.inf), f"{name} is a number from 0 on; got {x!r}")
        _ask(set(self.allow) <= {"kink"}, f'allow is ("kink",) or (); got {self.allow!r}')
        _ask(_is_integer(points) and 1 <= points <= 100, f"points is an integer from 1 to 100; got {points!r}")
        some = self.entries
        _ask(some is None or some == "all" or (_is_integer(some) and int(some) >= 0),
             f'entries is "all", or how many to look at one by one; got {some!r}')
        _ask(self.digits in (None, "always"), f'digits is "always" or None; got {self.digits!r}')

    @property
    def asked(self) -> str:
        """What is accepted, in words."""
        parts = [f"{name}={x:g}" for name, x in (("rtol", self.rtol), ("atol", self.atol)) if x is not None]
        return " and ".join(parts)

    def tolerance(self, epsilon: float) -> tuple[float, float]:
        """What a right gradient in this precision may be off by: relative to itself, and to the largest of all."""
        return RELATIVE if epsilon < 1e-12 else min(1000 * epsilon, 0.02), ABSOLUTE * epsilon


def _ask(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)


def _is_number(x: Any) -> bool:
    return isinstance(x, int | float | np.number) and not isinstance(x, bool)


def _is_integer(x: Any) -> bool:
    return isinstance(x, int | np.integer) and not isinstance(x, bool)


DEFAULT = Options()
