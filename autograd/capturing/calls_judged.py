"""Calls judged: what a call sends back is compared with our rule, at the library's own inputs, result and gradient.

    judge = Judge()
    judge.found(call, value, received, theirs)      # None, or a Finding: torch's backward of this call is wrong

Our side computes in float64, where numbers of every precision are exact. So only the library's rounding in this one
call is left. The library itself says how large it may be: it makes the call again in float64 and in a coarser one.
Finite differences of the call have the last word.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from autograd.arrays.plain import as_plain
from autograd.engine import Value, by_stamp, walk

from .replaying import applied_again
from .run import Call

Array = np.ndarray[Any, Any]
Received = dict[Value, Any]  # the gradient that arrived at each result of a call

LARGE, HALF = 256.0, 4.0  # rounding units that may lie between right gradients; in half precisions, added in float32
IN_FLOAT32, TEN_DIGITS = 2.0**-23, 2.0**-33  # a constant is rounded: by torch, 1/6 in hardsigmoid; in a user's backward
MOST = 1000.0  # a difference of more units is never rounding
NEAR = 8.0  # times how far a call in a coarse precision lies from the same in float64
DRAWS = 3  # times that the numbers of a call are moved
TRIED = 8  # entries that finite differences look at, where the first ones are at a kink
EXACT, TINY = 2.0**-53, 2.0**-30
SUBNORMAL = {2.0**-53: 5e-324, 2.0**-24: 1.4e-45, 2.0**-8: 9.2e-41, 2.0**-11: 6e-8}  # the smallest, by rounding unit
HANDGRAD, BOTH, UNCLEAR, KINK, LATER, DIGITS = "handgrad", "both", "unclear", "kink", "later", "digits"


@dataclass
class Finding:
    """What one call sends to one of its inputs, where the library's gradient is not ours."""

    call: Call
    value: Value
    ours: Array
    theirs: Array
    wrong: str  # whose gradient it is: the library's name, "handgrad", "both"; "kink", "later", "digits", "unclear"
    slopes: dict[tuple[int, ...], float] = field(default_factory=dict)  # finite differences, by entry
    index: tuple[int, ...] = ()  # the entry to show


class Judge:
    """Compares calls; random numbers come from a seed of its own."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(0)
        self.signs = self.rng.choice((-1.0, 1.0), 4099)

    def found(self, call: Call, value: Value, received: Received, ours: Any, theirs: Any) -> Finding | None:
        """What is wrong with the gradient that a call sends to a Value; None if it is right."""
        ours, theirs = (np.zeros(value.shape) if g is None else np.asarray(g, np.float64) for g in (ours, theirs))
        if self.agree(ours, theirs, call.unit):
            return None
        room = units(call.unit) * self.spread(call, value, received)
        if self.agree(ours, theirs, call.unit, room):
            return None
        found = Finding(call, value, ours, theirs, UNCLEAR)
        exact, own, room = self.made_again(call, value, received, room)
        if exact is None or own is None:
            if self.agree(ours, theirs, call.unit, self.rounding(call, value, received, ours)):
                return None
        elif self.agree(self.again(call, value, received), exact, EXACT, room):
            if self.agree(own, theirs, call.unit, room):
                return None
            found.wrong = LATER
        self.decide(found, received)
        few = IN_FLOAT32 if call.function is None else TEN_DIGITS
        if found.wrong in (UNCLEAR, call.library) and (distance(ours, theirs) <= few * typical(ours)).all():
            found.wrong = DIGITS
        return found

    def made_again(
        self, call: Call, value: Value, received: Received, room: Any = 0.0
    ) -> tuple[Array | None, Array | None, Any]:
        """What the library sends when it makes the call on its own in float64, and in the precision of the run; and
        how far its own rounding goes there: how far the two lie apart, or those in float64 and float32.

        So the library says what it adds up, also where terms cancel that our rule never computes.
        """
        exact = made_alone(call, value, received, "float64")
        own = exact if call.unit == EXACT else made_alone(call, value, received)
        coarse = made_alone(call, value, received, "float32") if call.unit == EXACT and exact is not None else own
        if exact is None or coarse is None:
            return exact, own, room
        share = LARGE * EXACT / 2.0**-24 if call.unit == EXACT else NEAR
        return exact, own, np.maximum(room, share * typical(distance(exact, coarse)))

    def agree(self, ours: Array, theirs: Array, unit: float, rounding: Any = 0.0) -> bool:
        """Whether two gradients are the same but for rounding, beside their own entries, rows and columns."""
        apart, room = distance(ours, theirs), units(unit)
        if np.max(apart, initial=0.0) <= room * usual_size(ours):
            return True
        return bool((apart <= np.maximum(room * typical(ours), rounding) + units_smallest(unit)).all())

    def spread(self, call: Call, value: Value, received: Received) -> Array:
        """How large a sum of gradients is that do not cancel: the same pull with random signs on what arrived."""
        turned = {v: None if g is None else np.asarray(g) * self.random_signs(v.shape) for v, g in received.items()}
        pull = np.abs(np.asarray(pulled(call, turned, [value]).get(value, 0.0))) + np.zeros(value.shape)
        return np.maximum(pull, np.sqrt(np.mean(np.square(pull))) / 2)  # one that is small by chance

    def random_signs(self, shape: tuple[int, ...]) -> Array:
        return np.resize(np.roll(self.signs, int(self.rng.integers(len(self.signs)))), shape)

    # --- what was added up ----------------------------------------------------------------------------------

    def sizes(self, call: Call, value: Value, received: Received, ours: Array) -> tuple[Array, Array]:
        """How large what was added up is, entry by entry: how far our gradient moves for one unit in each number.

        Second: where it jumps, however small the move. There is a tie or a kink.
        """
        step = max(2 * call.unit, 2.0**-36)
        moved = [self.moved(call, value, received, ours, step) for _ in range(DRAWS)]
        near = np.maximum.reduce([self.moved(call, value, received, ours, step / 64) for _ in range(DRAWS)])
        size = np.sqrt(sum(m * m for m in moved) / DRAWS)
        jumps = near > np.maximum(size / 8, 2.0**-12 * np.max(np.abs(ours), initial=0.0))
        return np.maximum(typical(size / step), typical(ours)), jumps

    def rounding(self, call: Call, value: Value, received: Received, ours: Array) -> Array:
        """The same as how far right gradients may lie apart, for a call that cannot be made again."""
        sizes, jumps = self.sizes(call, value, received, ours)
        return np.where(jumps, MOST * call.unit * typical(ours), units(call.unit) * sizes)

    def moved(self, call: Call, value: Value, received: Received, ours: Array, step: float) -> Array:
        """How far our gradient moves when each number of the call is moved by a random sign times this."""
        away = np.abs(self.again(call, value, received, step) - ours)
        return np.where(np.isfinite(away), away, 0.0)

    @np.errstate(all="ignore")
    def again(
        self, call: Call, value: Value, received: Received, step: float = 0.0, start: Array | None = None
    ) -> Array:
        """Our gradient when the steps run again in float64, each number moved by a random sign times `step`.

        What is a tie may so be decided otherwise. `start`: other numbers of the Value.
        """

        def nudged(data: Any) -> Any:
            if not step or not np.size(data):
                return data
            return as_plain(np.asarray(data) * (1 + step * self.random_signs(np.shape(data))))

        nodes = [*dict.fromkeys([*call.inputs, *steps_of(call)])]
        kept = [node._data for node in nodes]
        inputs = set(call.inputs)
        try:
            if start is not None:
                value._data = as_plain(start)
            for node in nodes:
                if node.op is not None and node not in inputs:
                    node._data = node.op.compute(*(x._data if isinstance(x, Value) else x for x in node.inputs))
                if node.requires_grad:
                    node._data = nudged(node._data)
            there = pulled(call, {v: None if g is None else nudged(g) for v, g in received.items()}, [value]).get(value)
        finally:
            for node, data in zip(nodes, kept):
                node._data = data
        return np.zeros(value.shape) if there is None else np.asarray(there, np.float64)

    # --- finite differences -----------------------------------------------------------------------------------

    def opaque(self, call: Call, value: Value, received: Received, theirs: Any) -> Finding | None:
        """The same for a call that we have no rule for, but somebody wrote a backward: some entries, the largest first,
        are asked of finite differences alone."""
        if call.unit > IN_FLOAT32:  # too coarse for differences
            return None
        theirs = np.zeros(value.shape) if theirs is None else np.asarray(theirs, np.float64)
        ours = np.array(theirs)
        found = Finding(call, value, ours, theirs, call.library)
        largest = np.argsort(-np.abs(theirs).reshape(-1), kind="stable")[: TRIED // 2]
        for place in dict.fromkeys([*largest.tolist(), *self.rng.permutation(value.size)[: TRIED // 2].tolist()]):
            index = tuple(int(i) for i in np.unravel_index(place, value.shape))
            try:
                slope, error, sides = slopes_of(call, value, received, index)
            except Exception:  # it cannot be run again
                return None
            apart = abs(slope - theirs[index])
            if sides is None and apart > max(3 * error, 0.01 * max(abs(slope), abs(theirs[index]))):
                ours[index], found.index = slope, found.index or index
                found.slopes = found.slopes or {index: slope}
        return found if found.slopes else None

    def decide(self, found: Finding, received: Received) -> None:
        """Ask finite differences of the call whose gradient is wrong, entry by entry, the worst first."""
        apart = distance(found.ours, found.theirs).reshape(-1)
        differing = np.flatnonzero(apart > 1e-6 * np.max(apart, where=np.isfinite(apart), initial=0.0))
        worst = differing[np.argsort(-apart[differing], kind="stable")][: TRIED // 2]
        others = self.rng.permutation(differing)[: TRIED // 2]
        later = found.wrong == LATER
        for number, place in enumerate(dict.fromkeys([*worst.tolist(), *others.tolist()])):
            index = tuple(int(i) for i in np.unravel_index(place, found.ours.shape))
            slope, verdict = self.entry(found, received, index)
            if number == 0 or verdict not in (KINK, UNCLEAR):
                found.index, found.wrong = index, verdict
                found.slopes = {index: slope}
            if verdict != KINK:
                break
        if later and found.wrong == found.call.library:
            found.wrong = LATER

    def entry(self, found: Finding, received: Received, index: tuple[int, ...]) -> tuple[float, str]:
        """The finite difference of one entry, and whose gradient it makes wrong there.

        At a kink both are right that lie between the slopes of its sides; at a tie all that another entry could have.
        """
        ours, theirs = float(found.ours[index]), float(found.theirs[index])
        try:
            slope, error, sides = slopes_of(found.call, found.value, received, index)
        except Exception:  # the call's steps cannot be run again
            return math.nan, UNCLEAR
        if not math.isfinite(slope):
            return slope, KINK
        apart = abs(ours - theirs)
        if not math.isfinite(apart):
            apart = max(abs(slope), 1.0)
        if sides is not None:
            low, high = sorted(sides)
            slack = 1e-3 * (high - low)
            between = all(low - slack <= g <= high + slack for g in (ours, theirs))
            if between or (abs(theirs) <= 1.001 * np.max(np.abs(found.ours)) and self.ties(found, received, index)):
                return slope, KINK
        if error > 0.2 * apart:
            return slope, UNCLEAR
        off = [not abs(slope - g) <= max(0.3 * apart, error) for g in (ours, theirs)]
        return slope, {(True, True): BOTH, (False, True): found.call.library, (True, False): HANDGRAD}.get(
            (off[0], off[1]), UNCLEAR)  # fmt: skip

    def ties(self, found: Finding, received: Received, index: tuple[int, ...]) -> bool:
        """Whether our gradient jumps, at any entry, when this one moves a little to either side."""
        at = np.asarray(found.value.data, np.float64)
        away = 0.0
        for h in (TINY, -TINY):
            moved = np.array(at)
            moved[index] += h * (abs(float(at[index])) or 1.0)
            apart = distance(self.again(found.call, found.value, received, start=moved), found.ours)
            away = max(away, float(np.max(apart, initial=0.0, where=np.isfinite(apart))))
        return away > 2.0**-12 * float(np.max(np.abs(found.ours), initial=0.0))



def units(unit: float) -> float:
    """How far apart right gradients may be, relative to what was added up."""
    return unit * (LARGE if unit < 1e-6 else HALF)


def units_smallest(unit: float) -> float:
    """And where numbers of a precision end."""
    return HALF * SUBNORMAL.get(unit, 0.0)


@np.errstate(all="ignore")
def distance(ours: Array, theirs: Array) -> Array:
    """How far apart, entry by entry; infinite where only one of the two is finite, or they are different infinities."""
    apart = np.asarray(ours - theirs)
    np.abs(apart, out=apart)
    if np.isfinite(np.max(apart, initial=0.0)):
        return apart
    same = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs))
    with_infinities = ~(np.isfinite(ours) & np.isfinite(theirs))
    apart = np.abs(np.where(with_infinities, 0.0, ours) - np.where(with_infinities, 0.0, theirs))
    return np.where(same, 0.0, np.where(with_infinities, np.inf, apart))


def typical(g: Array) -> Array:
    """Each entry's size, or that of a usual one in its row and column, or in all of g: sums of like terms err alike."""
    if not np.isfinite(np.dot(np.reshape(g, -1), np.reshape(g, -1))):
        g = np.where(np.isfinite(g), g, 0.0)
    sizes = np.maximum(np.abs(g), usual_size(g))
    if g.ndim < 2 or not g.size:
        return sizes
    flat = g.reshape(-1, g.shape[-1])
    rows = np.sqrt(np.einsum("ij,ij->i", flat, flat) / flat.shape[1])
    columns = np.sqrt(np.einsum("ij,ij->j", flat, flat) / len(flat))
    return np.maximum(sizes, np.minimum(rows[:, None], columns).reshape(g.shape))


def usual_size(g: Array) -> float:
    """A quarter of the root mean square of all of g.

    Where terms cancel exactly for us (the first row under a causal mask), torch has a rounding error of them.
    """
    flat = np.reshape(g, -1)
    return 0.25 * math.sqrt(np.dot(flat, flat) / max(g.size, 1)) if g.ndim > 1 else 0.0


def made_alone(call: Call, value: Value, received: Received, precision: str | None = None) -> Array | None:
    """What the library sends to a Value when it makes the call once more on its own; None where it cannot."""
    try:
        sent = call.alone(received, precision)
    except Exception:  # it draws at random, knows no float64, or its inputs have changed
        return None
    return sum((g for g, v in zip(sent, call.inputs) if v is value), np.zeros(value.shape))


# --- the steps of a call --------------------------------------------------------------------------------------


def steps_of(call: Call) -> list[Value]:
    """The nodes that a call made between its inputs and its results, oldest first."""
    return between(call.inputs, call.outputs, call.began)


def between(inputs: Sequence[Value], outputs: Sequence[Value], began: int = 0) -> list[Value]:
    """The nodes between some Values, oldest first; none that was made before the stamp `began`."""
    ends = set(inputs)
    found: dict[Value, None] = {}
    waiting = list(outputs)
    while waiting:
        node = waiting.pop()
        if node not in found and node not in ends and node.op is not None and node.stamp >= began:
            found[node] = None
            waiting += node.parents
    return sorted(found, key=by_stamp)


@np.errstate(all="ignore")
def pulled(call: Call, received: Received, wanted: Sequence[Value] | None = None) -> dict[Value, Any]:
    """What our rules send to the inputs of a call for these gradients of its results."""
    return pulled_through(steps_of(call), received, call.inputs if wanted is None else wanted)


def pulled_through(nodes: Sequence[Value], received: Received, wanted: Sequence[Value]) -> dict[Value, Any]:
    """What the rules of some nodes, oldest first, send to the Values that are wanted."""
    steps = [node for node in nodes if node.requires_grad]
    towards = set(wanted)
    for node in steps:
        if any(x in towards for x in node.parents):
            towards.add(node)
    grads = {v: as_plain(np.asarray(g)) for v, g in received.items() if g is not None and v in towards}
    walk([node for node in reversed(steps) if node in towards], grads, towards)
    return grads


@np.errstate(all="ignore")
def slopes_of(
    call: Call, value: Value, received: Received, index: tuple[int, ...]
) -> tuple[float, float, tuple[float, float] | None]:
    """Of Σ gradient · result of a call along one entry: the slope, its error, and at a kink the slopes of its sides.

    Central differences at five step sizes, extrapolated to 0 (Ridders); the best of all is taken.
    """
    steps, results = steps_of(call), [v for v in call.outputs if received.get(v) is not None]
    at = np.asarray(value.data, np.float64)

    def f(t: float) -> list[Array]:
        moved = np.array(at)
        moved[index] += t
        made: dict[Any, Any] = {value: Value(moved[()], requires_grad=False)}
        for node in steps:
            made[node] = applied_again(node, made)
        return [np.asarray(made[v].data) for v in results]

    weights = [np.asarray(received[v]) for v in results]

    def rise(high: list[Array], low: list[Array], run: float) -> float:
        """What gets no gradient is left out: a masked score is -inf, and 0 times that is NaN."""
        return float(sum(np.sum((h - lo)[w != 0] * w[w != 0]) for h, lo, w in zip(high, low, weights))) / run

    size = abs(float(at[index])) or float(np.max(np.abs(at), initial=0.0, where=np.isfinite(at))) or 1.0
    ladder: list[list[float]] = []
    gaps: list[float] = []  # between the slopes of both sides: in a smooth function they shrink with the step
    best, error, here = math.nan, math.inf, f(0.0)
    for k in range(5):
        h = size * 2.0 ** (-4 - 3 * k)
        up, down = f(h), f(-h)
        row, sides = [rise(up, down, 2 * h)], (rise(here, down, h), rise(up, here, h))
        gaps.append(abs(sides[0] - sides[1]))
        for i, before in enumerate(ladder[-1] if ladder else ()):
            row.append(row[i] + (row[i] - before) / (64.0 ** (i + 1) - 1))
            off = max(abs(row[-1] - row[i]), abs(row[-1] - before))
            if off < error:
                best, error = row[-1], off
        ladder.append(row)
    rises = [abs(row[0]) for row in ladder]
    if rises[-1] > 6 * rises[-2] > 36 * rises[-3] and rises[-1] * h > 1e-6 * max(map(np.max, map(np.abs, weights))):
        return math.inf, math.inf, sides  # it grows as the step shrinks: f jumps here, or is infinitely steep
    smooth = gaps[-1] < 0.5 * gaps[-2] or gaps[-1] > 3 * gaps[-2] or gaps[-1] <= 1e-9 * max(map(abs, sides))
    return best, error, None if smooth else sides
