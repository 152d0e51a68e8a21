"""Reading many places of an array at once: through views where they follow a pattern, else by index."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograd.op import OPS

Array = np.ndarray[Any, Any]


@dataclass
class Pick:
    """How to read a table of places from an array, in ops of the table."""

    take: Callable[[Any], Any]
    is_view: bool


def picked(shape: tuple[int, ...], places: Array) -> Pick:
    """The way to read `places`, counted along the entries of an array of this shape."""
    size = math.prod(shape)
    steps = _steps(places)
    if steps is not None:
        view = _affine(size, int(places.flat[0]), places.shape, steps)
        if view is not None:
            return Pick(lambda x: view(_flat(x)), True)
    width = places.shape[-1]
    rows = _rows(size, places, width)
    if rows is not None:
        return Pick(lambda x: OPS["getitem"](_reshaped(x, (size // width, width)), (rows,)), False)
    return Pick(lambda x: OPS["getitem"](_flat(x), (places,)), False)


def _flat(x: Any) -> Any:
    return _reshaped(x, (-1,))


def _reshaped(x: Any, shape: tuple[int, ...]) -> Any:
    return x if x.shape == shape else OPS["reshape"](x, shape)


def _steps(places: Array) -> tuple[int, ...] | None:
    """How far apart neighbours are along each axis, if that is the same everywhere."""
    steps = []
    for axis, n in enumerate(places.shape):
        if n == 1:
            steps.append(0)
            continue
        apart = np.diff(places, axis=axis)
        if (apart != apart.flat[0]).any():
            return None
        steps.append(int(apart.flat[0]))
    return tuple(steps)


def _affine(size: int, base: int, shape: tuple[int, ...], steps: tuple[int, ...]) -> Callable[[Any], Any] | None:
    """A view of a vector of so many numbers: entry (i, j) is at base + i * steps[0] + j * steps[1]."""
    moving = sorted((a for a, step in enumerate(steps) if step), key=lambda a: -steps[a])
    if any(step < 0 for step in steps) or len(moving) > 2:
        return None
    inner = [(shape[a], steps[a]) for a in moving]
    if not inner:
        cut: Callable[[Any], Any] = lambda x: OPS["getitem"](x, (slice(base, base + 1),))  # noqa: E731
    elif len(inner) == 1:
        (n, step), stop = inner[0], base + (inner[0][0] - 1) * inner[0][1] + 1
        whole = base == 0 and step == 1 and n == size
        cut = (lambda x: x) if whole else lambda x: OPS["getitem"](x, (slice(base, stop, step),))
    else:
        (n, far), (m, near) = inner
        start = min(base, size - n * far)  # the last row may end with the vector
        offset = base - start
        if start < 0 or offset + (m - 1) * near >= far:
            return None
        stop = offset + (m - 1) * near + 1

        def cut(x: Any) -> Any:
            rows = x if (start, n * far) == (0, size) else OPS["getitem"](x, (slice(start, start + n * far),))
            rows = OPS["reshape"](rows, (n, far))
            whole = (offset, stop, near) == (0, far, 1)
            return rows if whole else OPS["getitem"](rows, (..., slice(offset, stop, near)))

    order = sorted(range(len(moving)), key=lambda i: moving[i])  # back to the order of the axes
    single = tuple(shape[a] if a in moving else 1 for a in range(len(shape)))

    def view(x: Any) -> Any:
        x = cut(x)
        if len(moving) == 2 and order != [0, 1]:
            x = OPS["swapaxes"](x, -1, -2)
        x = _reshaped(x, single)
        return x if single == shape else OPS["broadcast_to"](x, shape)

    return view


def _rows(size: int, places: Array, width: int) -> Array | None:
    """The numbers of rows, if the last axis reads whole rows of a table of that width."""
    if width < 2 or size % width or (np.diff(places, axis=-1) != 1).any() or (places[..., 0] % width).any():
        return None
    return places[..., 0] // width


def grid_of(count: int, tables: Sequence[Array], shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """A shape for so many entries in which most operands are read through views."""
    candidates = [shape for shape in shapes if math.prod(shape) == count]
    for places in tables:
        run = _run(places)
        if 1 < run < count and count % run == 0:
            candidates.append((count // run, run))
    candidates.append((count,))
    return max(candidates, key=lambda shape: sum(_steps(places.reshape(shape)) is not None for places in tables))


def _run(places: Array) -> int:
    """How many entries from the first on are equally far apart."""
    apart = np.diff(places)
    changes: Any = np.flatnonzero(apart != apart[0]) if len(apart) else ()
    return int(changes[0]) + 1 if len(changes) else len(places)
