"""A recorded program run again on many inputs at once: every array gets one more axis in front.

An op says itself how it takes that axis (`Op.batch`). Only what depends on a perturbed input is computed again, and
only that carries the axis; the rest broadcasts. The user's function is never called on stacked inputs: `.sum()`, `.T`
and `axis=0` would mean something else there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from autograd.arrays.plain import as_plain
from autograd.engine import Value
from autograd.op import Op, rank_of, shape_of

from .program import Instruction
from .record import record

Array = np.ndarray[Any, Any]

CACHE_NUMBERS = 1 << 16  # rows are run in portions whose widest array has about so many numbers

# glibc gives memory back to the system as soon as 128 KB of it are free, and each portion would fetch it again page by
# page, which takes as long as the arithmetic. Having seen a larger block freed, it keeps twice as much as that block.
np.empty(4 * CACHE_NUMBERS)


class Replay:
    """The part of a recorded graph that lies between some sources and some results, as a program."""

    def __init__(self, sources: list[Value], outs: Sequence[Any]) -> None:
        self.recorded = recorded = record(outs, sources)
        self.nodes, self.register = recorded.nodes, recorded.register
        self.data = recorded.data  # of each register
        widest = max([getattr(x, "size", 1) for x in self.data])
        self.portion = max(8, CACHE_NUMBERS // max(widest, 1))

    def run(
        self, rows: int, given: Mapping[Value, Array], code: Sequence[Instruction] | None = None
    ) -> list[Array | None]:
        """The results for each row of the given sources; None for a result that does not depend on them.

        code  instructions to run in place of the recorded ones, such as `check.breakpoints.frozen`; what they leave
              out stays as it was recorded
        """
        known: dict[int, Any] = {self.register[x]: stacked for x, stacked in given.items()}
        for i in self.recorded.code if code is None else code:
            out = self._batched(i, rows, known)
            if out is not None:
                known[i.out] = out
        return [known.get(r) for r in self.recorded.outputs]

    def _batched(self, i: Instruction, rows: int, known: Mapping[int, Array]) -> Array | None:
        """An instruction on inputs some of which have the extra axis; the result, (rows, *shape), always has it.

        None if no input has it: then the result stays as it was recorded.
        """
        op, data, stacked = i.op, [], []
        for place, r in enumerate(i.inputs):
            if r in known:
                data.append(known[r])
                stacked.append(place)
            else:
                data.append(self.data[r])
        if not stacked:
            return None
        if len(stacked) < len(data):
            data = _widened(data, stacked)
        if op.batch is not None:
            out = _aligned(op, rows, data, stacked) if op.batch == "align" else _by_callable(op, rows, data, stacked)
            if out is not None and shape_of(out) == (rows, *shape_of(self.data[i.out])):
                return out
        return _looped(op, rows, data, stacked)


def _widened(data: list[Any], stacked: list[int]) -> list[Any]:
    """What is not moved, in the precision of what is: an op that computes in the dtype of one of its inputs must not
    round a float64 step away.
    """
    kinds = {data[i].dtype for i in stacked}
    moved = kinds.pop() if len(kinds) == 1 else np.result_type(*kinds)
    return [
        x.astype(np.promote_types(x.dtype, moved), copy=False) if i not in stacked and _is_real_array(x) else x
        for i, x in enumerate(data)
    ]


def _is_real_array(x: Any) -> bool:
    return x.__class__ is np.ndarray and x.dtype.kind == "f"


def _aligned(op: Op, rows: int, data: list[Any], stacked: list[int]) -> Any:
    """Line up the ranks behind the batch axis, then run forward: broadcasting does the rest.

    A forward function that works in place wants the axis on every input; it gets that if it stumbles.
    """
    if len(stacked) == len(data) and len({x.ndim for x in data}) == 1:
        return op.forward(*data)
    ranks = [0 if x is None else rank_of(x) if i in stacked else 1 + rank_of(x) for i, x in enumerate(data)]
    rank = max(ranks)
    lined_up = data.copy()
    for i in stacked:
        if ranks[i] < rank:
            lined_up[i] = data[i].reshape(rows, *(1,) * (rank - ranks[i]), *data[i].shape[1:])
    try:
        return op.forward(*lined_up)
    except ValueError:
        return op.forward(*(_with_axis(x, rows, rank - 1) for x in lined_up))


def _with_axis(x: Any, rows: int, rank: int) -> Any:
    if x is None or np.ndim(x) > rank:
        return x
    return np.broadcast_to(x, (rows, *(1,) * (rank - np.ndim(x)), *np.shape(x)))


def _by_callable(op: Op, rows: int, data: list[Any], stacked: list[int]) -> Any:
    assert callable(op.batch)
    if len(stacked) < len(data):
        data = [x if i in stacked or x is None else _with_axis(x, rows, np.ndim(x)) for i, x in enumerate(data)]
    return op.batch(op, rows, *data)


def _looped(op: Op, rows: int, data: list[Any], stacked: list[int]) -> Array:
    if not rows:  # there is nothing to vary in empty inputs; one result on zeros tells its shape
        zeros = [np.zeros(np.shape(x)[1:]) if i in stacked else x for i, x in enumerate(data)]
        return np.empty((0, *np.shape(op.compute(*zeros))))
    out = []
    for row in range(rows):
        inputs = data.copy()
        for i in stacked:
            inputs[i] = as_plain(data[i][row])
        out.append(op.compute(*inputs))
    return np.stack(out)
