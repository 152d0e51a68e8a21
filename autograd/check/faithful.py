"""Whether the recorded graph speaks for the function.

A replay freezes what Python decided, what was read through `.data`, and what was drawn at random. So the function is
called again with every input moved a little, and once more with every input moved the other way: an entry that sits on
a branch crosses it one way or the other. If each call records the graph that is known already (the same ops, settings
and constants), then a replay says what a call would say. No number is compared with a tolerance.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..op import Op, as_plain
from ..value import Value
from ..value import copy_array as owned
from .probe import Probe, usual_step
from .replay import Replay
from .subject import Array, Subject, cotangents


def is_faithful(probe: Probe, seed: int) -> bool:
    """Whether a replay of the recorded graph gives what calls of the function would give."""
    subject = probe.subject
    constants = {node: _constants(node, subject.replay) for node in subject.replay.nodes}
    own = [node for node in constants if getattr(node.op, "custom", False)]
    for data in zip(*probe.by_source(_moved_both_ways(probe, seed), native=True)):
        called = subject.at(data, subject.call)
        if called is None or called[1] != subject.out_structure:
            return False
        twins = _twins(subject, constants, called[0])
        if twins is None or (own and not all(_holds(twins[node], subject, data) for node in own)):
            return False
    return all(_holds(node) for node in constants)


def repeats(subject: Subject) -> bool:
    """Whether the function gives the same numbers each time it is called with the same inputs."""
    subject.raised = None  # whatever it was, it was raised at other inputs
    calls = [subject.at((), subject.call_again) for _ in range(5)]
    return all(again is not None and same(subject.results, again) for again in calls)


def _moved_both_ways(probe: Probe, seed: int) -> Array:
    """All inputs moved a little, each entry up or down at random; and all moved the other way.

    By different lengths: what was equal is so no more, and sums change.
    """
    (weights,) = cotangents(seed + 1, (probe.x.shape,))
    moves = usual_step(probe.scale, probe.coarse) * weights
    return np.array([probe.x + moves, probe.x - moves])


def _constants(node: Value, replay: Replay) -> list[Any]:
    """What a node was given that was not computed here, copied: a function may edit what it closes over."""
    return [None if isinstance(x, Value) and x in replay.known else owned(data_of(x)) for x in node.inputs]


def _twins(subject: Subject, constants: dict[Value, list[Any]], outs: list[Any]) -> dict[Any, Value] | None:
    """The node of one more call, which gave `outs`, for each node of the first; None if it recorded another graph."""
    twins: dict[Any, Any] = dict(zip(subject.sources, subject.sources))
    real = [part for part in zip(subject.replay.outs, outs, subject.results) if part[2] is not None]
    waiting: list[Iterable[tuple[Any, Any, Any]]] = [real]
    while waiting:
        for old, new, constant in waiting.pop():
            twin = twins.get(old) if isinstance(old, Value) else None
            if twin is not None:
                if twin is not new:
                    return None
            elif not isinstance(old, Value) or old not in constants:  # not computed: a number, an array, a new leaf
                if not same(constant, data_of(new)):
                    return None
            elif old is new or not isinstance(new, Value) or not _same_op(old.op, new.op):
                return None  # what is there already, this call did not compute
            elif len(inputs := new.inputs) != len(kept := constants[old]):
                return None
            else:
                twins[old] = new
                waiting.append(zip(old.inputs, inputs, kept))
    return twins


def _same_op(old: Op | None, new: Op | None) -> bool:
    if old is new:
        return True
    if old is None or new is None:
        return False
    return old.base is new.base and old.settings.keys() == new.settings.keys() and all(
        same(value, new.settings[key]) for key, value in old.settings.items()
    )  # fmt: skip


def _holds(node: Value, subject: Subject | None = None, data: Iterable[Array] = ()) -> bool:
    """Whether an op gives for its inputs what was recorded: the result may have been edited since, or the op may draw
    numbers of its own. A user's op may also read inputs that it is not given: it is tried with the sources as they were
    when it was recorded, `data`, while they have their own numbers again.
    """
    inputs = [data_of(x) for x in node.inputs]
    if subject is not None:
        moved = dict(zip(subject.sources, map(as_plain, data)))
        inputs = [moved.get(x, plain) if isinstance(x, Value) else x for x, plain in zip(node.inputs, inputs)]
    assert node.op is not None
    return same(node.op.compute(*inputs), node._data)


def data_of(x: Any) -> Any:
    """The numbers of an input or a result, which may be plain already."""
    return x._data if isinstance(x, Value) else x


def same(a: Any, b: Any) -> bool:
    """Whether two constants or settings are equal: numbers, arrays, texts, slices, and tuples of them."""
    if a.__class__ is not b.__class__:
        return False
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, np.ndarray):  # to the bit: then NaN is itself, and it takes a fifth of the time
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    return bool(a == b or (a != a and b != b))
