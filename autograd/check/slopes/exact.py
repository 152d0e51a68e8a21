"""The last word: slopes of a function, and the gradient by its rules, in 90 digits.

A dispute is two exact questions. Is the rule right? The rules in digits, against one difference in digits along a
random line, must agree to 13 digits, however many entries there are. Is the number right? The gradient in float64,
against the one in digits. At a breakpoint the slopes to the left and to the right tell whether there is a kink.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograd.digits import Digit, NoDigits, digits, float64, precision, pull_graph, run_graph, ties
from autograd.engine import Value
from autograd.errors import HandgradError
from autograd.modes import no_grad

from ..subjects.subject import Array
from .probe import Probe, finite_or_zero

FIRST = digits(1e-15) ** 2  # the step, about 1e-30
SHORT, SHORTER = digits(1e-34), digits(1e-15) ** 3  # of the second step, which tells a limit from a kink
FEWER = 75  # digits of a second run, which measures the rounding of the first
RULE = 1e-13  # relative: constants in rules, such as 2/√π, are float64
COSTLY = 60_000  # numbers in a run, from which on digits would take seconds
SECONDS = 0.3  # for the entries of a function that is called
ZERO: Any = digits(0.0)
TINY = float(np.finfo(float).tiny)  # below it float64 has nothing
TOO_FAST = "it changes too fast, even for steps of 1e-45"


@dataclass
class Sides:
    """The slopes along a line, to the left and to the right, as floats; NaN where the function is not defined."""

    left: float
    right: float
    kink: bool
    exact: Any  # their mean, in digits
    error: Any  # a bound on what rounding adds to it

    @property
    def slope(self) -> float:
        return float64(self.exact)


class Exact:
    """A function in 90 digits: by its recorded ops, or by calling it on Digits. NoDigits if neither is possible."""

    def __init__(self, probe: Probe, tied: bool, always: bool = False) -> None:
        self.probe, self.subject = probe, probe.subject
        self.x = digits(probe.x)
        self.scale = np.where(probe.x != 0, np.abs(probe.x), probe.largest_of_input(np.abs(probe.x)))
        self.scale = np.where((self.scale > 0) & np.isfinite(self.scale), self.scale, 1.0)
        self.by_ops = probe.replay is not None
        cost = 5.0 * probe.x.size + (_cost(self.subject.replay.nodes) if self.by_ops else 0.0)
        if cost > COSTLY and not always:
            raise NoDigits("so large a run would take many seconds in 90 digits")
        begun = time.process_time()
        self._known: dict[Value, Any] = {}
        with ties() as met:
            self.value = self.at(self.x)
        self.tied = tied or bool(met)  # else the function has no kink here
        self._at_x = self._known
        self.each = max(time.process_time() - begun, 1e-6)  # seconds for one run
        known = np.array([float(np.vdot(u, r)) for u, r in zip(probe.weights, probe.before) if u is not None])
        self.size = float(np.sum(np.abs(known))) + probe.size
        if not self.by_ops and not abs(float64(self.value) - float(known.sum())) <= 1e-2 * self.size:
            raise NoDigits("on numbers of 90 digits it gives another result")
        self._same_choices()
        # A jump that is lower than this is rounding.
        numbers = [probe.x, *(n._data for n in self._at_x)] if self.by_ops else [probe.x, self.size]
        sizes = (np.abs(finite_or_zero(np.asarray(x, float))).max(initial=0.0) for x in numbers)
        self.step = 1e-80 * float(max(sizes))
        with precision(FEWER):
            fewer = self.at(self.x)
        self.noise = abs(fewer - self.value) * 1e-14 + abs(self.value) * 1e-88  # of one run
        if self.size == 0:  # where all cancels, what is left may be the rounding of any number
            self.noise += 1e-8 * self.step

    def _same_choices(self) -> None:
        """Steps and truths are what they are in float64; if rounding decides them, it is another function here."""
        for node, data in self._at_x.items():
            if node.op is not None and not node.op.differentiable and not np.array_equal(float64(data), node._data):
                raise NoDigits(f"rounding decides what {node.op.name} gives")

    @np.errstate(all="ignore")
    def at(self, x: Any) -> Any:
        """The weighted sum of the results at some x, a long row of Digits."""
        parts = self.probe.by_source(x)
        if self.by_ops:
            given = {s: part if part.ndim else part[()] for s, part in zip(self.subject.sources, parts)}
            self._known = run_graph(self.subject.replay.nodes, given)
            outs = [self._known.get(o, getattr(o, "_data", o)) for o in self.subject.outs]
        else:
            outs = self._called([part if part.ndim else part[()] for part in parts])
        total: Any = ZERO
        for out, u in zip(outs, self.probe.weights):
            if u is not None:
                terms = digits(u) * out
                total = total + _sum(np.where(np.equal(u, 0), ZERO, terms) if self.probe.masked else terms)
        if not isinstance(total, Digit):
            raise NoDigits("the result is no real number")
        return total

    def _called(self, parts: list[Any]) -> list[Any]:
        """The results of one call on Digits."""
        try:
            with no_grad():
                return self.subject.on_digits(parts)
        except NoDigits:
            raise
        except Exception as error:  # what a function says of a carrier that is not its own is not for us to guess
            raise NoDigits(f"{type(error).__name__}: {error}") from error

    # --- the gradient by the rules ------------------------------------------------------------------------------------

    @np.errstate(all="ignore")
    def gradient(self, known: Any = None) -> Any:
        """The gradient by the ops' own rules, a long row of Digits."""
        seeds: dict[Any, Any] = {}
        for out, u in zip(self.subject.outs, self.probe.weights):
            if u is not None and isinstance(out, Value) and out.requires_grad:
                u = digits(np.asarray(u)) if np.ndim(u) else digits(float(u))
                seeds[out] = seeds[out] + u if out in seeds else u
        try:
            grads = pull_graph(self.subject.replay.nodes, self._at_x if known is None else known, seeds)
        except (HandgradError, TypeError, ValueError, AttributeError, IndexError) as error:
            raise NoDigits(f"{type(error).__name__}: {error}") from error
        row = [np.broadcast_to(np.asarray(grads.get(s, ZERO), dtype=object), s.shape).ravel()
               for s in self.subject.sources]  # fmt: skip
        return digits(np.concatenate(row))

    def disagrees(self, gradient: Any, v: Array) -> bool:
        """Whether the gradient by the rules is not the slope along v."""
        moves = np.flatnonzero(v)
        along, found = digits(v[moves]), self.sides(v)
        terms = gradient[moves] * along
        gap, size = abs(_sum(terms) - found.exact), _sum(abs(terms)) + abs(found.exact)
        if gap <= RULE * size + found.error + TINY:
            return False
        with precision(FEWER):
            self.at(self.x)
            fewer = _sum(self.gradient(self._known)[moves] * along)
        return bool(not gap <= RULE * size + found.error + TINY + abs(fewer - _sum(terms)) * 1e-10)

    # --- slopes -------------------------------------------------------------------------------------------------------

    def sides(self, v: Any) -> Sides:
        """The slopes to the left and to the right along v. A second, shorter step tells a limit from a kink."""
        left, right = self._one_sided(v, FIRST)
        size, gap, noise = abs(left) + abs(right), abs(right - left), 8 * self.noise / FIRST
        first = Sides(float64(left), float64(right), False, (left + right) / 2, noise)
        alike = gap <= 1e-15 * size + noise
        if size.d.is_nan() or size == 0 or (alike and 1e-20 * self.size < size < 1e20 * self.size and size > noise):
            return first
        if size <= 100 * noise:
            return Sides(0.0, 0.0, False, ZERO, size + noise)
        h = min(max(SHORTER, 1e4 * self.noise / size), SHORT)
        left2, right2 = self._one_sided(v, h)
        size2, gap2, noise2 = abs(left2) + abs(right2), abs(right2 - left2), 8 * self.noise / h
        if size2 <= 3 * (h / FIRST).sqrt() * size + noise2:
            return Sides(0.0, 0.0, False, ZERO, size2 + noise2)  # it falls to 0 with the step
        grows = bool(size2 > 1e5 * size) or math.isinf(size2.d)
        if grows and size * FIRST <= self.step:
            return Sides(0.0, 0.0, False, ZERO, size)
        jumps = bool(gap2 > 1e-13 * size2 + noise2 and gap2 > 0.3 * gap)
        if not self.tied and (grows or (jumps and gap2 > 1e-3 * size2)):
            raise NoDigits(TOO_FAST)
        if alike and not grows:
            return first
        ends = [
            math.copysign(math.inf, new.d) if abs(new) > 1e5 * abs(old) and abs(new) > 1e-12 * size2 else float64(new)
            for old, new in ((left, left2), (right, right2))
        ]
        mean = (left2 + right2) / 2 if all(map(math.isfinite, ends)) else digits(sum(ends))
        return Sides(ends[0], ends[1], self.tied and (grows or jumps), mean, noise2)

    def _one_sided(self, v: Any, h: Any) -> tuple[Any, Any]:
        step = digits(v) * h
        return (self.value - self.at(self.x - step)) / h, (self.at(self.x + step) - self.value) / h

    def unit(self, place: int) -> Array:
        v = np.zeros(self.probe.x.size)
        v[place] = self.scale[place]
        return v

    def entry(self, place: int) -> Sides:
        """The slopes of one entry."""
        found, scale = self.sides(self.unit(place)), float(self.scale[place])
        return Sides(found.left / scale, found.right / scale, found.kink, found.exact / scale, found.error / scale)


# Ops that add up products, and those that are series of many terms in digits.
PRODUCTS = {"matmul", "einsum", "dot", "solve", "inv", "det", "cofactors", "logabsdet", "cholesky", "pinv"}
SERIES = {"exp", "log", "sin", "cos", "tanh", "erf", "erfc", "arctan", "arctan2", "power", "gammaln", "digamma"}


def _cost(nodes: list[Value]) -> float:
    """About how many numbers a run computes; one with a series counts as thirty."""
    total = 0.0
    for node in nodes:
        assert node.op is not None
        name, size = node.op.base.name, np.size(node._data)
        if name in PRODUCTS:
            size = max([size, *(np.size(_data(x)) for x in node.inputs)])
            size *= max([np.shape(_data(x))[-1] for x in node.inputs if np.ndim(_data(x))], default=1)
        elif name.startswith("conv"):
            size *= max(np.size(_data(x)) for x in node.inputs) // max(1, np.shape(_data(node.inputs[0]))[0])
        total += size * (30 if name in SERIES or node.op.base.lower is not None else 1)
    return total


def _data(x: Any) -> Any:
    return x._data if isinstance(x, Value) else x


def _sum(x: Any) -> Any:
    return np.sum(np.asarray(x, dtype=object)) if np.size(x) else ZERO
