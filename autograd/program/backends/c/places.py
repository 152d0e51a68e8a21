"""Where numbers lie: an array as a root register, an offset and strides. A view is another place in the same root."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

Shape = tuple[int, ...]


class Place(NamedTuple):
    """Entry (i, j) of an array of this shape is number `offset + i * strides[0] + j * strides[1]` of its root."""

    root: int
    offset: int
    shape: Shape
    strides: Shape

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def is_whole(self) -> bool:
        """Whether the numbers lie one after the other, from the first of the root on."""
        return self.offset == 0 and self.strides == contiguous(self.shape)

    def over(self, domain: Shape) -> Shape:
        """The strides along the axes of a larger shape; 0 where it is repeated."""
        lead = len(domain) - len(self.shape)
        return (0,) * lead + tuple(0 if n == 1 else s for n, s in zip(self.shape, self.strides))

    def moved(self, axes: Shape) -> Place:
        """With its axes in another order."""
        return self._replace(shape=tuple(self.shape[a] for a in axes), strides=tuple(self.strides[a] for a in axes))

    def broadcast(self, shape: Shape) -> Place:
        return self._replace(shape=shape, strides=self.over(shape))

    def at(self, index: tuple[Any, ...]) -> Place:
        """The part at an index of integers, slices, None and an Ellipsis."""
        given = sum(part is not None and part is not Ellipsis for part in index)
        fill = (slice(None),) * (len(self.shape) - given)
        if Ellipsis not in index:
            index = (*index, Ellipsis)
        place = index.index(Ellipsis)
        axes = iter(zip(self.shape, self.strides))
        offset, shape, strides = self.offset, [], []
        for part in (*index[:place], *fill, *index[place + 1 :]):
            if part is None:
                shape.append(1)
                strides.append(0)
                continue
            n, stride = next(axes)
            if isinstance(part, slice):
                start, stop, step = part.indices(n)
                length = len(range(start, stop, step))
                shape.append(length)
                strides.append(0 if length == 1 else stride * step)
                offset += stride * start if length else 0
            else:
                offset += stride * (int(part) % n if n else 0)
        return self._replace(offset=offset, shape=tuple(shape), strides=tuple(strides))

    def reshaped(self, shape: Shape) -> Place | None:
        """In another shape, if no number has to move."""
        if self.size == 0:
            return self._replace(shape=shape, strides=contiguous(shape))
        runs = _runs(self.shape, self.strides)  # axes that can be walked as one: (length, stride)
        strides: list[int] = []
        for n in reversed(shape):
            if n == 1:
                strides.append(0)
                continue
            length, stride = runs[-1]
            if length % n:
                return None
            strides.append(stride)
            runs[-1] = (length // n, stride * n)
            if runs[-1][0] == 1:
                runs.pop()
        return self._replace(shape=shape, strides=tuple(reversed(strides)))


def _runs(shape: Shape, strides: Shape) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for n, stride in zip(shape, strides):
        if n == 1:
            continue
        if runs and runs[-1][1] == n * stride:
            runs[-1] = (runs[-1][0] * n, stride)
        else:
            runs.append((n, stride))
    return runs


def contiguous(shape: Shape) -> Shape:
    """The strides of an array whose numbers lie one after the other; 0 along an axis of one entry."""
    strides, step = [], 1
    for n in reversed(shape):
        strides.append(0 if n == 1 else step)
        step *= max(n, 1)
    return tuple(reversed(strides))


def whole(root: int, shape: Shape) -> Place:
    return Place(root, 0, shape, contiguous(shape))


def is_basic(index: tuple[Any, ...]) -> bool:
    """Whether an index gives a view."""
    return all(
        part is None or part is Ellipsis or isinstance(part, slice) or (isinstance(part, (int, np.integer)) and not
        isinstance(part, (bool, np.bool_))) for part in index
    )  # fmt: skip
