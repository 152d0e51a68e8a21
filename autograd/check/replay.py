"""A recorded graph run again on many inputs at once: every array gets one more axis in front.

An op says itself how it takes that axis (`Op.batch`). Only what depends on a perturbed input is computed again, and
only that carries the axis; the rest broadcasts. The user's function is never called on stacked inputs: `.sum()`, `.T`
and `axis=0` would mean something else there.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..graph import by_stamp
from ..op import Op, as_plain, rank_of, shape_of
from ..value import Value

Array = np.ndarray[Any, Any]

CACHE_NUMBERS = 1 << 16  # rows are run in portions whose widest array has about so many numbers


class Step(NamedTuple):
    """One op of a replay: what it was applied to, the largest rank among that, and the sources it depends on."""

    node: Value
    op: Op
    inputs: tuple[Any, ...]
    rank: int
    shape: tuple[int, ...]
    depends: int  # a bit for each source


class Replay:
    """The part of a recorded graph that lies between some sources and some results."""

    def __init__(self, sources: list[Value], outs: Iterable[Any]) -> None:
        self.outs = list(outs)
        reads = {source: 1 << i for i, source in enumerate(sources)}  # node → the set of sources it depends on, as bits
        self.steps: list[Step] = []
        widest = max(source.size for source in sources)
        for node in made_from(self.outs, stop=reads):
            inputs = node.inputs
            depends = rank = 0
            for x in inputs:
                if isinstance(x, Value):
                    depends |= reads.get(x, 0)
                    x = x._data
                rank = max(rank, rank_of(x))
            if depends:
                reads[node] = depends
                shape = shape_of(node._data)
                widest = max(widest, math.prod(shape))
                self.steps.append(Step(node, node.op, inputs, rank, shape, depends))  # type: ignore[arg-type]
        self.portion = max(8, CACHE_NUMBERS // max(widest, 1))

    @property
    def nodes(self) -> list[Value]:
        """The nodes that are run again, each after its inputs."""
        return [step.node for step in self.steps]

    def run(self, rows: int, given: Mapping[Value, Array], depends_on: int) -> list[Array | None]:
        """The results for each row of the given sources; None for a result that does not depend on them.

        `depends_on` has a bit for each source that is given.
        """
        known: dict[Value, Any] = dict(given)
        for step in self.steps:
            if step.depends & depends_on:
                known[step.node] = batched(step, rows, known)
        return [known.get(out) for out in self.outs]


def made_from(outs: list[Any], stop: Mapping[Value, Any]) -> list[Value]:
    """The nodes that were computed on the way to `outs`, oldest first; the walk back ends at `stop`."""
    seen = {out for out in outs if isinstance(out, Value)}
    stack = list(seen)
    made = []
    while stack:
        node = stack.pop()
        if node.op is None or node in stop:
            continue
        made.append(node)
        for x in node.inputs:
            if isinstance(x, Value) and x not in seen:
                seen.add(x)
                stack.append(x)
    made.sort(key=by_stamp)
    return made


def batched(step: Step, rows: int, known: Mapping[Value, Array]) -> Array:
    """One op on inputs some of which have the extra axis; the result, (rows, *shape), always has it."""
    _, op, inputs, rank, shape, _ = step
    how = op.batch
    if how is not None:
        out = _aligned(op, rows, inputs, rank, known) if how == "align" else _by_callable(op, rows, inputs, known)
        if out is not None and shape_of(out) == (rows, *shape):
            return out
    return _looped(op, rows, inputs, known)


def _aligned(op: Op, rows: int, inputs: tuple[Any, ...], rank: int, known: Mapping[Value, Array]) -> Any:
    """Line up the ranks behind the batch axis, then run forward: broadcasting does the rest.

    A forward function that works in place wants the axis on every input; it gets that if it stumbles.
    """
    lined_up: list[Any] = []
    for x in inputs:
        if isinstance(x, Value):
            stacked = known.get(x)
            if stacked is None:
                x = x._data
            else:
                missing = rank + 1 - stacked.ndim
                x = stacked.reshape(rows, *(1,) * missing, *stacked.shape[1:]) if missing else stacked
        lined_up.append(x)
    try:
        return op.forward(*lined_up)
    except ValueError:
        return op.forward(*(_with_axis(x, rows, rank) for x in lined_up))


def _with_axis(x: Any, rows: int, rank: int) -> Any:
    if x is None or np.ndim(x) > rank:
        return x
    return np.broadcast_to(x, (rows, *(1,) * (rank - np.ndim(x)), *np.shape(x)))


def _by_callable(op: Op, rows: int, inputs: tuple[Any, ...], known: Mapping[Value, Array]) -> Any:
    stacked: list[Any] = []
    for x in inputs:
        if isinstance(x, Value):
            with_axis = known.get(x)
            if with_axis is not None:
                stacked.append(with_axis)
                continue
            x = x._data
        stacked.append(None if x is None else np.broadcast_to(x, (rows, *np.shape(x))))
    assert callable(op.batch)
    return op.batch(op, rows, *stacked)


def _looped(op: Op, rows: int, inputs: tuple[Any, ...], known: Mapping[Value, Array]) -> Array:
    out = []
    for row in range(rows):
        plain = []
        for x in inputs:
            if isinstance(x, Value):
                stacked = known.get(x)
                x = x._data if stacked is None else as_plain(stacked[row])
            plain.append(x)
        out.append(op.compute(*plain))
    return np.stack(out)
