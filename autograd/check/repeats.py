"""Whether a replay of the recorded graph gives what the function gives; and whether two calls of it agree.

A replay freezes what Python decided, what was read through `.data`, and what was drawn at random. So the function is
called again with every input moved a little, and once more with every input moved the other way: an entry that sits on
a branch crosses it one way or the other. If each call records the graph that is known already (the same ops, settings
and constants), then a replay says what a call would say. No number is compared with a tolerance.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..engine import Value, counter
from ..plain import as_plain
from ..plain import copy_array as owned
from ..program import interpret
from ..program.record import difference_of, record, same
from .probe import Probe, usual_step
from .subject import Array, Subject, cotangents


def replay_repeats(probe: Probe, seed: int) -> bool:
    """Whether a replay of the recorded graph gives what calls of the function would give."""
    subject = probe.subject
    replay = subject.replay
    constants = {r: owned(data) for r, data in replay.recorded.constants.items()}
    own = [k for k, i in enumerate(replay.recorded.code) if getattr(i.op, "custom", False)]
    for data in zip(*probe.by_source(_moved_both_ways(probe, seed), native=True)):
        begun = next(counter)
        called = subject.at(data, subject.call)
        if called is None or called[1] != subject.out_structure:
            return False
        again = record(subject.real(called[0]), subject.sources)
        if again.nodes and again.nodes[0].stamp < begun:  # what is there already, this call did not compute
            return False
        if difference_of(replay.recorded, again, constants) is not None:
            return False
        if own and not all(_holds(again.nodes[k], subject, data) for k in own):
            return False
    return _repeats_itself(subject)


def _repeats_itself(subject: Subject) -> bool:
    """Whether the ops give what was recorded: a result may have been edited since, or an op may draw numbers."""
    replay = subject.replay
    registers = interpret.run_code(replay.recorded.code, replay.data)
    return all([same(registers[i.out], replay.data[i.out]) for i in replay.recorded.code])


def call_repeats(subject: Subject) -> bool:
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


def _holds(node: Value, subject: Subject, data: Iterable[Array]) -> bool:
    """Whether a user's op gives for its inputs what was recorded: it may read inputs that it is not given. It is tried
    with the sources as they were when it was recorded, `data`, while they have their own numbers again.
    """
    moved = dict(zip(subject.sources, map(as_plain, data)))
    inputs = [moved.get(x, x._data) if isinstance(x, Value) else x for x in node.inputs]
    assert node.op is not None
    return same(node.op.compute(*inputs), node._data)
