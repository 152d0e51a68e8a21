"""Inputs to test ops on, declared in the op's own block."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np


class Sample:
    """Inputs to test an op on: arrays of given shapes, drawn at random from `low` to `high`, or given as they are.

    `Sample("2,3 3", axis=-1)` is a (2, 3) array and a (3,) array; a `.` is a Python float.
    """

    def __init__(
        self, *parts: Any, low: float = -2.0, high: float = 2.0, settings: dict[str, Any] | None = None, **more: Any
    ) -> None:
        self.parts = [s for p in parts for s in (p.split() if isinstance(p, str) else [p])]
        self.low, self.high, self.settings = low, high, {**(settings or {}), **more}

    def inputs(self, seed: str = "") -> list[Any]:
        """The inputs, always the same for the same seed."""
        rng = np.random.default_rng(zlib.crc32(f"{seed}{self}".encode()))
        return [self._draw(rng, part) for part in self.parts]

    def _draw(self, rng: np.random.Generator, part: Any) -> Any:
        if not isinstance(part, str):
            return part
        if part == ".":
            return float(rng.uniform(self.low, self.high))
        return rng.uniform(self.low, self.high, [int(n) for n in part.split(",") if n])

    def __repr__(self) -> str:
        return " ".join(map(str, self.parts)) + "".join(f" {k}={v}" for k, v in self.settings.items())


def samples(*shapes: str, **options: Any) -> tuple[Sample, ...]:
    """One Sample for each text of shapes, all with the same range and settings."""
    return tuple(Sample(s, **options) for s in shapes)
