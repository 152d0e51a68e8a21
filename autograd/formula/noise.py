"""Rounding noise: how far rounding errors may have moved a number, and 0 in place of a number that is nothing else.

Measured, not estimated: what is computed is computed again from inputs moved by a few of their rounding errors. A
page does the same (stepping/page/assets/program.js).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

NOISE = 8.0  # a number no larger than so many times its own rounding error is 0
JITTERS = 3
FURTHER = 64.0  # times as far, to tell a jump from rounding errors
SHAKES = np.array([-3.0, -2.0, -1.0, 1.0, 2.0, 3.0])  # rounding errors to move by; of several sizes: they rarely cancel
TURNS = np.array([[turn * 0x61C88647 % 2**32] for turn in range(JITTERS)], dtype=np.uint32)
PLACE, SIZE = np.array([0x9E3779B1, 0x85EBCA6B], dtype=np.uint32)[:, None]  # as arrays they wrap around in silence
MIXED_BY = [(np.uint32(16), np.uint32(0x7FEB352D)), (np.uint32(15), np.uint32(0x846CA68B))]


def without_noise(value: Any, noise: Any) -> Any:
    """The value with 0 in place of rounding noise."""
    if np.ndim(value) == 0:
        return 0.0 if value != 0 and np.abs(value) <= NOISE * noise else value
    return np.where(np.abs(value) <= NOISE * noise, 0.0, value)


@np.errstate(all="ignore")
def noises_of(compute: Any, values: Sequence[Any], results: list[Any] | None = None, noises: Any = None) -> list[Any]:
    """How much each result of `compute` moves when its inputs move by their rounding errors: the last digit of a float,
    or the noise of each, if `noises` are given.

    A comparison of two equal numbers may flip then, which is a jump and no rounding error: moved further, a result with
    rounding errors moves further too, and a jump stays as large as before, or leads to a NaN. Then each input is moved
    alone, and those that make it jump are left out: of what arrives at a tie, the rounding errors still count.
    """
    there: list[Any] = compute(*values) if results is None else results
    shaken = _Shaken(values, noises)

    def move(times: float, only: Any = None) -> list[Any]:
        moved: list[Any] = [0.0] * len(there)
        for inputs in shaken.by(times, only):
            by = [np.abs(np.asarray(x, dtype=float) - y) for x, y in zip(compute(*inputs), there, strict=True)]
            by = [np.where(np.isnan(d) & np.isfinite(y), np.inf, d) for d, y in zip(by, there)]
            moved = [np.fmax(most, d) for most, d in zip(moved, by)]
        return moved

    def jumps(moved: list[Any], only: Any = None) -> list[Any]:
        small = [(y != 0) & (np.abs(y) <= NOISE * by) for y, by in zip(there, moved)]
        far = move(FURTHER, only) if any(map(np.any, small)) else moved
        return [np.isinf(by) | (s & (f < FURTHER / 8 * by)) for s, f, by in zip(small, far, moved)]

    moved = move(1.0)
    jumped = jumps(moved)
    if any(map(np.any, jumped)):
        inputs = list({id(x): x for x in values}.values())
        alone = [(move(1.0, x), x) for x in inputs]
        kept = [[np.where(j, 0.0, by) for j, by in zip(jumps(one, x), one)] for one, x in alone]
        moved = [np.where(j, sum(parts), by) for j, parts, by in zip(jumped, zip(*kept), moved)]
    return moved


class _Shaken:
    """Values moved by some of their rounding errors, in several turns. All in one array, since most of them are small.

    By how many is pseudo-random, but computed from a number's leading digits, its place and how many there are, so that
    a page (stepping/page/assets/program.js) moves it by as many, in any order. An entry and the mean of its row, which
    may be equal, are moved apart: then their difference shows its rounding errors.
    """

    def __init__(self, values: Sequence[Any], noises: Sequence[Any] | None) -> None:
        self.values = values
        arrays = [np.asarray(x) for x in values]
        floats = [x.ravel() for x in arrays if x.dtype.kind == "f"] or [np.zeros(0)]
        self.flat = np.concatenate(floats, dtype=float)
        self.shapes = [x.shape if x.dtype.kind == "f" else None for x in arrays]
        size = np.abs(self.flat)
        places = [np.arange(x.size, dtype=np.uint32) * PLACE + np.uint32(x.size) * SIZE for x in floats]
        mixed: Any = size.astype(np.float32).view(np.uint32) + np.concatenate(places) + TURNS
        for shift, factor in MIXED_BY:
            mixed = (mixed ^ mixed >> shift) * factor
        size *= 2.3e-16
        if noises is not None:  # measured with the largest shake: with that again, they would only grow
            known = [np.broadcast_to(n, x.shape).ravel() for n, x in zip(noises, arrays) if x.dtype.kind == "f"]
            np.fmax(size, np.concatenate([*known, np.zeros(0)]) / SHAKES[-1], out=size)
        self.moves = size * SHAKES[mixed % np.uint32(len(SHAKES))]

    def by(self, times: float, only: Any = None) -> Iterator[list[Any]]:
        """The values of each turn, all or one of them moved so many times as far; what is no float stays."""
        for row in self.flat + times * self.moves:
            end, moved = 0, []
            for x, shape in zip(self.values, self.shapes):
                if shape is not None:
                    start, end = end, end + math.prod(shape)
                    if only is None or x is only:
                        x = row[start:end].reshape(shape) if shape else float(row[start])
                moved.append(x)
            yield moved
