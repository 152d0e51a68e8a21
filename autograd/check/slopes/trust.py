"""Whether a replay gives what the function gives, whether two calls agree, and whether rules are linear in g.

A replay freezes what Python decided, what was read through `.data`, and what was drawn at random. So the function is
called again with every input moved a little, and once more with every input moved the other way: an entry that sits on
a branch crosses it one way or the other. If each call records the graph that is known already (the same ops, settings
and constants), then a replay says what a call would say. No number is compared with a tolerance.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable

import numpy as np

from autograd.arrays.plain import as_plain
from autograd.arrays.plain import copy_array as owned
from autograd.engine import Value, counter
from autograd.program.backends import interpreter
from autograd.program.record import difference_of, record, same

from ..options import PASS, WRONG
from ..subjects.subject import Array, Subject, cotangents
from ..verdict import Judged
from .probe import Probe, finite_or_zero


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
    registers = interpreter.run_code(replay.recorded.code, replay.data)
    return all([same(registers[i.out], replay.data[i.out]) for i in replay.recorded.code])


def call_repeats(subject: Subject) -> bool:
    """Whether the function gives the same numbers each time it is called with the same inputs."""
    subject.raised = None  # whatever it was, it was raised at other inputs
    begun = time.process_time()
    calls = [subject.at((), subject.call_again) for _ in range(5)]
    subject.seconds = (time.process_time() - begun) / 5
    return all(again is not None and same(subject.results, again) for again in calls)


def _moved_both_ways(probe: Probe, seed: int) -> Array:
    """All inputs moved a little, each entry up or down at random; and all moved the other way.

    By different lengths: what was equal is so no more, and sums change.
    """
    (weights,) = cotangents(seed + 1, (probe.x.shape,))
    moves = probe.coarse ** (1 / 3) * probe.scale * weights
    return np.array([probe.x + moves, probe.x - moves])


def _holds(node: Value, subject: Subject, data: Iterable[Array]) -> bool:
    """Whether a user's op gives for its inputs what was recorded: it may read inputs that it is not given. It is tried
    with the sources as they were when it was recorded, `data`, while they have their own numbers again.
    """
    moved = dict(zip(subject.sources, map(as_plain, data)))
    inputs = [moved.get(x, x._data) if isinstance(x, Value) else x for x in node.inputs]
    assert node.op is not None
    return same(node.op.compute(*inputs), node._data)


# --- rules are linear in g ------------------------------------------------------------------------------------------

FACTOR = -64.0
NOT_LINEAR = (
    "a rule (or a hook) is not linear in g, the gradient that arrives: pulled with -64 times the cotangents, the "
    "gradient is not -64 times the first one. A rule multiplies g; it takes no abs, maximum or clip of it"
)


def second_pull(probe: Probe) -> tuple[Array, Array]:
    """The gradient from a second pull, with -64 times the cotangents, and the entries that are not -64 times the first.

    One cotangent of one sign and size does not notice a rule that takes abs(g), maximum(g, 0) or clip(g, -10, 10).
    Multiplication by a power of two adds no rounding, so rules that are linear scale to the bit.
    """
    weights = [None if u is None else FACTOR * u for u in probe.pulled_with]
    first, second = probe.engine, probe.unweighted(probe.subject.gradients(weights)) / FACTOR
    nowhere = np.empty(0, dtype=int)
    if (first == second).all():
        return second, nowhere
    dtypes = [r.dtype for r in (*probe.subject.sources, *probe.subject.results) if getattr(r, "dtype", None)]
    limits = min((np.finfo(dtype) for dtype in (np.dtype(float), *dtypes)), key=lambda limits: limits.max)
    if finite_or_zero(np.abs(first)).max(initial=0.0) > math.sqrt(limits.max):
        return second, nowhere  # so many times as much may overflow on the way
    tiny = np.maximum(np.abs(first), np.abs(second)) < math.sqrt(limits.tiny)  # so small, it may have underflown
    return second, np.flatnonzero(~(probe.alike(first, second) | tiny))


def blame_not_linear(judged: Judged, second: Array, odd: Array) -> None:
    """What is not linear in g is wrong, even where differences agree: then the second gradient is shown."""
    passed = odd[judged.verdict[odd] == PASS]
    judged.gradient[passed] = second[passed]
    judged.verdict[odd] = WRONG
    judged.notes.append(NOT_LINEAR)
