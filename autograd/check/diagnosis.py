"""Why a gradient is wrong: the pattern its numbers make, and the first op whose own rule disagrees."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from autograd.engine import Value, counter
from autograd.errors import DataError
from autograd.expr import rule
from autograd.expr.rules import own_names
from autograd.graph import made_from
from autograd.modes import record_lines
from autograd.op import apply

from .options import VERDICTS, WRONG, Options
from .report import Entry, Part, Report
from .slopes.breakpoints import ties
from .subjects.subject import Subject, cotangents

Array = np.ndarray[Any, Any]

MANY = 500  # in a graph of more nodes, ops of the same shape are tried only a few times
ARRIVES = "(the gradient that arrives)"  # what the report calls it, as an input of a rule
LONGEST_RULE = 200  # characters; a rule with large constants in it is not printed


def diagnose_report(report: Report, subject: Subject, primal: Subject | None = None) -> None:
    """Write into the report what the wrong numbers look like, which op made them, and where a kink is.

    Where the function is itself a gradient, `primal` is what it is the gradient of: the rules of its ops are then
    looked at as functions, too.
    """
    if report.verdict == "kink":
        if subject.replay is not None:
            report.diagnosis += _Run(subject).breakpoints()
        return
    report.diagnosis += _forgotten_g(report, subject) or patterns(report, subject)
    if subject.replay is None:
        return
    if not all(np.isfinite(result).all() for result in subject.results if result is not None):
        report.diagnosis.append(
            "the result itself is not finite: run the function under autograd.detect_nan() to see which op made it so"
        )
        return
    run = _Run(subject)
    trials = []
    for trial in itertools.chain(run.trials(report), _Run(primal).trials(report, order=2) if primal else ()):
        if trial.wrong is not None:
            report.culprit = trial.op.name
            report.diagnosis.append(trial.blame(trial.wrong))
            return
        trials.append(trial)
    report.diagnosis.append(f"every op's own rule is right{_then_why(report, run, trials)}")


def _then_why(report: Report, run: _Run, trials: list[_Trial]) -> str:
    """How a gradient can be wrong although the rule of every op is right on the numbers it saw."""
    if any(np.isnan(part.judged.gradient[part.rows]).any() for part in report.parts):
        for trial in trials:
            if trial.infinite is not None:
                return trial.zero_times_infinity(trial.infinite)
    if report.by == "calls":
        if run.made_before is not None:
            return (
                f", but there is a path too many: what {run.made_before} made of an input before this call of "
                f"{run.subject.title} is used in it again. It does not move with the input, and the gradient says it "
                "does: compute it inside, or detach() it"
            )
        return (
            ", so a path is missing from the graph: look for .data, float(), detach() or plain NumPy between the "
            "inputs and the result"
        )
    if report.tied:
        return (
            f", but {run.breakpoints()[0]}: it has no derivative there, and its rule takes one slope of several. Kinks "
            "may cancel in the result; what the rules take there does not"
        )
    return " on the values it saw: look for a hook, or detach()"


def _forgotten_g(report: Report, subject: Subject) -> list[str]:
    """What to say of a scalar's gradient that is wrong only because what was pulled back was not 1."""
    if report.mode != "reverse" or not report.ours or any(np.ndim(u) for u in report.cotangents):
        return []
    for_one = subject.gradients([1.0] * len(subject.outs))
    for part, g in zip(report.parts, for_one):
        c = _Compared(part)
        if g is None or np.size(g) != c.slope.size or not c.is_instead(np.reshape(g, c.slope.shape)):
            return []
    return ["right if the gradient that arrives at the result is 1, and wrong if it is not: does a rule forget g?"]


# --- patterns -----------------------------------------------------------------------------------------------


def patterns(report: Report, subject: Subject) -> list[str]:
    """What the ratio of gradient and difference says, input by input."""
    whole = [_Compared(part) for part in report.parts if part.count]
    found = []
    for c in whole:
        if c.wrong.any():
            said = next(_recognise(c, whole, subject), None)
            if said:
                found.append(said)
    return list(dict.fromkeys(found))


class _Compared:
    """One input's gradient beside its slopes, in the input's shape if all entries were looked at."""

    def __init__(self, part: Part) -> None:
        j, rows = part.judged, part.rows
        shape = part.shape if part.count == np.prod(part.shape, dtype=int) else (part.count,)
        self.name, self.shape, self.part = part.name, shape, part
        self.gradient, self.slope = j.gradient[rows].reshape(shape), j.slope[rows].reshape(shape)
        self.error = np.where(np.isfinite(j.error[rows]), j.error[rows], 0.0).reshape(shape)
        self.wrong = (j.verdict[rows] == WRONG).reshape(shape)
        self.gap = float(np.max(np.abs(self.gradient - self.slope), initial=0.0))

    @np.errstate(all="ignore")
    def explains(self, other: Array) -> bool:
        """Whether the gradient is these numbers, so nearly that they account for the gap to the slopes."""
        slack = 0.02 * self.gap + 3 * float(self.error.max(initial=0.0))
        return other.shape == self.shape and bool(
            np.max(np.abs(self.gradient - other), initial=0.0) <= slack < 0.5 * self.gap
        )

    @np.errstate(all="ignore")
    def is_instead(self, other: Array) -> bool:
        """Whether these numbers are the slopes where the gradient is not."""
        slack = 0.02 * self.gap + 3 * float(self.error.max(initial=0.0))
        return bool(np.max(np.abs(self.slope - other), initial=0.0) <= slack < 0.5 * self.gap)


def _recognise(c: _Compared, every: list[_Compared], subject: Subject) -> Iterator[str]:
    """Likely causes, the most specific first."""
    g, d = c.gradient, c.slope
    if not np.isfinite(g[c.wrong]).all():
        bad = c.wrong & ~np.isfinite(g)
        too = "finite" if np.isfinite(d[bad]).all() else "not finite either"
        yield f"{c.name}: the gradient is {g[bad][0]} where the differences are {too}"
        return
    if not np.any(np.abs(g[c.wrong]) > 1e-12 * np.abs(d[c.wrong])):
        where = "" if c.wrong.all() else " at some entries"
        yield f"{c.name}: no gradient arrives{where}, yet the result depends on it"
    yield from _ratios(c, subject)
    if c.wrong.sum() == 1 and c.wrong.size > 2:
        (entry,) = (e for e in c.part.entries(failing=True) if e.verdict == VERDICTS[WRONG])
        looked = "" if c.wrong.size == np.prod(c.part.shape) else " that were looked at"
        yield f"{c.name}: only {entry.where} is wrong; the other {c.wrong.size - 1} entries{looked} are right"
    yield from _moved(c, every)
    gap = g - d
    if g.size > 2 and abs(gap.flat[0]) > 0 and c.explains(d + gap.flat[0]):
        yield f"{c.name}: off by {gap.flat[0]:.6g} everywhere: a term is missing, such as a mean or a bias"


def _ratios(c: _Compared, subject: Subject) -> Iterator[str]:
    seen = np.abs(c.slope) > 30 * c.error
    if not seen.any() or not c.wrong[seen].all():
        return
    r = float(np.vdot(c.gradient[seen], c.slope[seen]) / np.vdot(c.slope[seen], c.slope[seen]))
    if not c.explains(r * c.slope) or abs(r) < 1e-9:
        return
    if c.explains(-c.slope):
        yield f"{c.name}: the sign is flipped (ratio -1)"
    elif c.explains(2 * c.slope):
        yield f"{c.name}: twice too large: a path counted twice, or a factor ½ forgotten"
    elif c.explains(0.5 * c.slope):
        yield f"{c.name}: half of what it should be: one of two paths is lost, or a factor 2"
    for n in sorted({*c.shape, int(np.size(c.gradient)), *_sizes(subject)} - {0, 1}):
        if c.explains(c.slope / n):
            yield (
                f"{c.name}: too small by the factor {n}, an axis of the numbers here: a mean where a sum belongs, or a "
                "missing sum over what it was broadcast to"
            )
        elif c.explains(c.slope * n):
            yield f"{c.name}: too large by the factor {n}, an axis of the numbers here: a sum where a mean belongs"
    if c.slope.size > 1:
        digits = max(6, 2 - math.floor(math.log10(abs(r - 1)))) if r != 1 else 6
        yield f"{c.name}: every entry is off by the same factor {r:.{digits}g}"


def _sizes(subject: Subject) -> set[int]:
    """The sizes of axes, and of whole arrays, anywhere in the graph."""
    sizes: set[int] = set()
    nodes = (*subject.sources, *(subject.replay.nodes if subject.replay is not None else ()))
    for node in nodes:
        sizes |= {*np.shape(node._data), int(np.size(node._data))}
    return sizes


def _moved(c: _Compared, every: list[_Compared]) -> Iterator[str]:
    """The right numbers in the wrong place."""
    for a, b in itertools.combinations(range(len(c.shape)), 2):
        if c.explains(np.swapaxes(c.slope, a, b)):
            yield f"{c.name}: transposed: axes {a} and {b} of the gradient are exchanged"
    if len(c.shape) > 1 and c.explains(np.transpose(c.slope).reshape(c.shape)):
        yield f"{c.name}: transposed: the numbers are right, in the order of the transpose"
    for other in every:
        if other is not c and other.shape == c.shape and c.explains(other.slope):
            yield f"{c.name}: this is the gradient of {other.name}: two inputs are swapped"


# --- the op at fault ----------------------------------------------------------------------------------------


class _Run:
    """One more call of the function, with the lines of its code."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self._begun = next(counter)
        with record_lines():
            outs, _ = subject.call()
        self._nodes = made_from(outs, stop=subject.sources)

    def breakpoints(self) -> list[str]:
        """Where the ops are used that stand at a breakpoint."""
        lines: dict[str, None] = {}
        for tied in ties(self.subject):
            at = next(k for k, node in enumerate(self.subject.replay.nodes) if node is tied)
            line = self._nodes[at].line if at < len(self._nodes) else None
            lines[f"{tied.op.name} is at a breakpoint" + (f", used in {line}" if line else "")] = None
        return list(lines)[:3]

    def trials(self, report: Report, order: int = 1) -> Iterator[_Trial]:
        """Each op alone, on the values that it was given and the gradient that arrived there, the oldest first."""
        tried: dict[Any, int] = {}
        arrived = self.subject.arrived(report.cotangents) if order == 1 and report.mode == "reverse" else []
        for k, node in enumerate(self._nodes):
            key = (node.op, tuple(np.shape(getattr(x, "_data", x)) for x in node.inputs))
            tried[key] = tried.get(key, 0) + 1
            if len(self._nodes) > MANY and tried[key] > 3:
                continue
            if node.op.differentiable and any(map(_is_real, node.inputs)):  # type: ignore[union-attr]
                g = arrived[k] if k < len(arrived) == len(self._nodes) else None
                g = None if g is None or np.shape(g) != np.shape(node._data) or not np.all(g) else g
                yield _Trial(node, report.seed, order, g if np.isfinite(1.0 if g is None else g).all() else None)

    @property
    def made_before(self) -> str | None:
        """The last op that was applied to something that moves before the call, and whose result the call used."""
        moving: set[Any] = set(self.subject.sources)
        found = None
        for node in self._nodes:
            if not moving.isdisjoint(node.parents):
                moving.add(node)
                if node.stamp < self._begun:
                    found = node.op.name  # type: ignore[union-attr]
        return found


class _Trial:
    """The op of one node alone, and a report on its own rule; to the order 2, on the gradient of that rule."""

    def __init__(self, node: Value, seed: int, order: int = 1, g: Any = None) -> None:
        from .api import check_subject

        assert node.op is not None
        self.op, self.line, self.order = node.op, node.line, order
        self.plain = tuple(x._data if isinstance(x, Value) else x for x in node.inputs)
        self.names = own_names(self.op, len(self.plain))
        varied = [i for i, x in enumerate(node.inputs) if _is_real(x)]

        def alone(*xs: Any) -> Any:
            filled = dict(zip(varied, xs))
            return apply(self.op, tuple(filled.get(i, x) for i, x in enumerate(self.plain)))

        def pulled(*given: Any) -> Any:
            return Subject(alone, given[:-1]).taped_gradients(given[-1:])

        inputs, names = [self.plain[i] for i in varied], [self.names[i] for i in varied]
        if order == 2:
            inputs, names = [*inputs, *cotangents(seed, (np.shape(node._data),))], [*names, ARRIVES]
        local = Subject(alone if order == 1 else pulled, inputs)
        local.names = names
        self.g = g
        g = None if g is None else (g if np.ndim(g) else float(g),)
        self.report = check_subject(local, Options(seed=seed), weights=g if order == 1 else None, diagnose=False)
        self.finite = all(np.isfinite(result).all() for result in local.results)
        self.scale = float(g[0]) if g is not None and not np.ndim(g[0]) else 1.0

    @property
    def wrong(self) -> Entry | None:
        """An entry for which the rule is wrong. Where the op itself is not finite, no rule could be right."""
        return self._first(lambda entry: entry.verdict == VERDICTS[WRONG] and math.isfinite(entry.difference)
                           and (self.finite or math.isfinite(entry.gradient)))  # fmt: skip

    @property
    def infinite(self) -> Entry | None:
        """An entry for which the rule gives an infinity, or NaN."""
        return self._first(lambda entry: not math.isfinite(entry.gradient))

    def _first(self, holds: Callable[[Entry], bool]) -> Entry | None:
        return None if self.report.ok else next(filter(holds, self.report.failures), None)

    # --- sentences ------------------------------------------------------------------------------------------

    def blame(self, worst: Entry) -> str:
        where = f", used in {self.line}" if self.line else ""
        if self.order == 1:
            what, gives = "whose own rule is wrong", f"Its rule{self._rule_text(worst)} gives"
        else:
            what = "whose rule has a wrong gradient of its own"
            gives = f"Does the rule{self._rule_text(worst)} leave the graph (.data, detach())? It gives"
        digits = max(6, -math.floor(math.log10(abs(worst.ratio - 1)))) if 0 < abs(worst.ratio - 1) < 1 else 6
        return (
            f"the first op {what} is {self.op.name}{where}. {gives} {worst.gradient * self.scale:.{digits}g} for "
            f"{'∇' * (self.order - 1)}{worst.where}; differences give {worst.difference * self.scale:.{digits}g}"
        )

    def zero_times_infinity(self, entry: Entry) -> str:
        return (
            f", but {self._called} has no finite derivative at {self._number(entry)}, and infinity times a zero that "
            "arrives there, as from a where() that chose the other branch, is NaN. Keep such numbers out of it too: "
            f"write where(..., {entry.input}, 1.0) in the place of {entry.input}"
        )

    @property
    def _called(self) -> str:
        return f"{self.op.name}, used in {self.line}," if self.line else self.op.name

    def _number(self, entry: Entry) -> str:
        """What the op saw there: `x[0] = 2`."""
        return f"{entry.where} = {np.asarray(self.plain[self.names.index(entry.input)])[entry.index]:.6g}"

    @np.errstate(all="ignore")
    def _rule_text(self, entry: Entry) -> str:
        """The rule for one input as a person would write it, where it prints."""
        if entry.input == ARRIVES:
            return ""
        try:
            text = str(rule(self.op, self.plain)[self.names.index(entry.input)])
        except DataError:  # a user's rule may do what text cannot
            return ""
        return f" `{text}`" if len(text) <= LONGEST_RULE else ""


def _is_real(x: Any) -> bool:
    return isinstance(x, Value) and x.dtype.kind == "f"
