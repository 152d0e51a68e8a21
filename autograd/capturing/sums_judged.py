"""The library's gradients followed through the graph: calls judged one by one, and what their paths add up to.

The graph is gone through newest first. At each place where the library has a gradient we go on from that one, so no
difference travels. A place is right if what arrives there is the sum of what the calls sent to it: a hook, a lost path
or a gradient that was counted twice shows here, where every call is right on its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from autograd.arrays.plain import as_plain
from autograd.engine import Value, contributions, reach

from .calls_judged import (
    LARGE,
    Array,
    Finding,
    Judge,
    Received,
    between,
    distance,
    pulled,
    pulled_through,
    steps_of,
    typical,
    units,
    units_smallest,
)
from .run import Call, Run


@dataclass
class Total:
    """What was sent to a Value so far, and the calls whose part only we know."""

    parts: list[Any] = field(default_factory=list)
    unknown: list[tuple[Call, Received, Any]] = field(default_factory=list)

    def add(self, g: Any) -> None:
        self.parts.append(g)

    @property
    def sent(self) -> Any:
        return sum(self.parts[1:], self.parts[0]) if self.parts else 0.0

    @property
    def size(self) -> Any:
        return sum(np.abs(g) for g in self.parts)


@dataclass
class Gap:
    """A place where what arrives is not what was sent to it."""

    value: Value
    sent: Array
    arrived: Array
    calls: list[Call]


class Pass:
    """The library's backward pass, gone through beside our graph."""

    def __init__(self, run: Run, theirs: Any, judged: Callable[[Call], bool]) -> None:
        self.run, self.theirs, self.is_judged = run, theirs, judged
        self.judge = Judge()
        self.found: list[Finding | Gap] = []  # nearest the loss first
        self.call_of: dict[Any, Call] = {}  # which call each Difference is of
        self.order: dict[Value, int] = {}  # the places compared, newest first
        self.units: dict[Value, float] = run._recorder.units
        self.totals: dict[Value, Total] = {}
        self.users: dict[Value, list[Call]] = {}
        self.extra: dict[Call, dict[Value, Any]] = {}  # what reaches an input through what a call made on its way
        self.unplaced: dict[Value, Any] = {}  # our gradients where the library has no place

    def go(self) -> Pass:
        """All of it."""
        for value, seed in self.theirs.seeds.items():
            self.totals.setdefault(value, Total()).add(np.asarray(seed, np.float64))
        makers = {value: call for call in self.run._recorder.calls for value in call.outputs}
        nodes = sorted({node for root in self.theirs.seeds for node in reach(root)}, key=lambda v: v.stamp)
        done: set[Any] = set()
        for node in reversed(nodes):
            if node in done:
                continue
            call = makers.get(node)
            if node in self.theirs.within:
                done.update(self.step_within(node, self.theirs.within[node]))
                continue
            if call is None:
                self.step(node)
                continue
            done.update(call.outputs)
            done.update(steps_of(call))
            self.call(call, {value: self.settled(value) for value in call.outputs})
        for leaf in [*self.totals, *(v for v in self.run._recorder.leaves.values() if v.requires_grad)]:
            if leaf not in self.order:
                self.settled(leaf)
        return self

    def gradient(self, value: Value) -> Any:
        """What arrived at a Value: the library's gradient, where it has a place for it."""
        return self.theirs.arrived(value) if self.theirs.known(value) else self.unplaced.get(value)

    def settled(self, value: Value) -> Any:
        """The gradient of a Value that nothing more is sent to: the library's, where it has one."""
        total = self.totals.pop(value, None)
        if not self.theirs.known(value):
            sent = None if total is None else np.array(np.broadcast_to(total.sent, value.shape))
            self.unplaced[value] = sent
            return sent
        arrived = self.theirs.arrived(value)
        if arrived is not None or total is not None:
            self.order[value] = len(self.order)
            self.sum(value, total or Total(), np.zeros(value.shape) if arrived is None else arrived)
        return arrived

    def step(self, node: Value) -> None:
        """A node between calls, such as a view of memory that was written to."""
        g = self.settled(node)
        if g is not None:
            for x, dx in contributions(node, as_plain(np.asarray(g)), set(node.parents)):
                self.totals.setdefault(x, Total()).add(dx)

    def step_within(self, node: Value, call: Call) -> list[Value]:
        """The same for a tensor that a call made on its way: its gradient reaches the inputs with the call's own."""
        nodes = between(call.inputs, [node])
        g = self.settled(node)
        if g is not None:
            extra = self.extra.setdefault(call, {})
            for x, dx in pulled_through(nodes, {node: g}, call.inputs).items():
                extra[x] = extra.get(x, 0.0) + dx
        return nodes

    def call(self, call: Call, received: Received) -> None:
        """One call: each gradient that it sends is compared with ours, and added up."""
        if all(g is None for g in received.values()):
            return
        theirs = self.theirs.sent(call)
        judged = self.is_judged(call)
        known = len(theirs) == len(call.inputs) and theirs is not None
        ours = {} if known and (call.opaque or not judged) else pulled(call, received)
        for value, dx in self.extra.pop(call, {}).items():
            if any(value is x for x in call.inputs) and (value in ours or not known or judged):
                ours[value] = ours.get(value, 0.0) + dx
        for value in dict.fromkeys(call.inputs):
            if not value.requires_grad:
                continue
            at = [i for i, x in enumerate(call.inputs) if x is value]
            self.users.setdefault(value, []).append(call)
            total = self.totals.setdefault(value, Total())
            if at[-1] < len(theirs):
                sent = [theirs[i] for i in at if theirs[i] is not None]
                there = sum(sent[1:], sent[0]) if sent else None
                if judged and not call.opaque:
                    self.compare(call, value, received, ours.get(value), there)
                elif judged and call.function is not None:
                    finding = self.judge.opaque(call, value, received, there)
                    self.found += [] if finding is None else [finding]
                if there is not None:
                    total.add(there)
            elif ours.get(value) is not None:
                total.add(np.asarray(ours[value]))
                total.unknown.append((call, received, ours[value]))

    def compare(self, call: Call, value: Value, received: Received, ours: Any, theirs: Any) -> bool:
        found = self.judge.found(call, value, received, ours, theirs)
        if found is not None:
            self.found.append(found)
        return found is None

    def sum(self, value: Value, total: Total, arrived: Array) -> None:
        """One place: what arrives against what was sent. A part that only our rule knows may be wrong."""
        if arrived is total.sent:
            return
        sent, unit = np.broadcast_to(total.sent, value.shape), self.units.get(value, 2.0**-53)
        for call, *_ in total.unknown:
            unit = max(unit, call.unit)
        apart = distance(np.asarray(sent, np.float64), arrived)
        if not apart.any():
            return
        room = units(unit) * np.maximum(total.size, typical(np.asarray(sent)) if total.unknown else 0.0)
        if (apart <= room + units_smallest(unit)).all():
            return
        tried = [(call, received, ours) for call, received, ours in total.unknown if self.is_judged(call)]
        if total.unknown and not tried:
            return
        if len(tried) == 1 and len(total.unknown) == 1:
            call, received, ours = tried[0]
            self.compare(call, value, received, ours, arrived - sent + ours)
            return
        rounding: Any = LARGE * unit * total.size
        for call, received, ours in tried:
            exact, own, _ = self.judge.made_again(call, value, received)
            there = own if exact is None else exact
            if there is None or not self.compare(call, value, received, ours, there):
                return
            rounding = rounding + self.judge.rounding(call, value, received, np.asarray(ours))
        if (apart <= rounding).all():
            return
        self.found.append(Gap(value, np.array(sent), arrived, self.users.get(value, [])))
