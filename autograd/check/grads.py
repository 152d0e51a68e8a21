"""check_grads and assert_grads: a function's gradient held against differences of the function itself."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import GradientError
from .differences import taylor_slope, usual_step
from .probe import Probe
from .report import Part, Report
from .subject import Array, Subject, cotangents
from .verdict import EVERY, NONDETERMINISTIC, VERDICTS, WRONG, judge, judge_directions

MODES = ("reverse", "forward")


def check_grads(
    f: Callable[..., Any], *inputs: Any, order: int = 1, step: float | None = None, seed: int = 0, mode: str = "reverse"
) -> Report:
    """Hold the gradient of `f` at these inputs against differences, entry by entry, and say what was found.

    Inputs are numbers, arrays, leaf Values, or nested lists, tuples and dicts of them; results may be nested too, and
    are weighted with random numbers (seed). `order=2` also checks the gradient of the gradient; `mode="forward"`
    checks jvp in place of backward. `step` is best left out: it is then fitted to each entry.

    >>> print(check_grads(lambda x: (x * x).sum(), np.array([1.0, 2.0])))
    <lambda>: pass  (2 entries of 1 input, seed 0)
      largest relative gap ...
    """
    if order not in (1, 2):
        raise ValueError(f"order is 1 (the gradient) or 2 (also the gradient of the gradient); got {order!r}")
    if mode not in MODES:
        raise ValueError(f'mode is "reverse" or "forward"; got {mode!r}')
    if step is not None and not step > 0:
        raise ValueError(f"step is a positive number, or None to have it fitted; got {step!r}")
    subject = Subject(f, inputs)
    report = check_subject(subject, step, seed, mode)
    if order == 2 and report.ok:
        report = _second_order(subject, report, step, seed)
    return report


def assert_grads(
    f: Callable[..., Any], *inputs: Any, order: int = 1, step: float | None = None, seed: int = 0, mode: str = "reverse"
) -> Report:
    """As `check_grads`, but raise GradientError, with the report, unless every entry passes.

    >>> report = assert_grads(lambda a, b: a * b, 2.0, 3.0)
    """
    return insist(check_grads(f, *inputs, order=order, step=step, seed=seed, mode=mode))


def insist(report: Report) -> Report:
    """The report, if it is good; else a GradientError that carries it."""
    if not report.ok:
        raise GradientError(str(report), report)
    return report


def check_subject(
    subject: Subject, step: float | None, seed: int, mode: str, given: list[Any] | None = None, diagnose: bool = True
) -> Report:
    """Check one recorded function. `given` are gradients to check in place of the engine's own."""
    weights = cotangents(seed, tuple(None if r is None else np.shape(r) for r in subject.results))
    with np.errstate(all="ignore"):
        engine = subject.gradients(weights) if mode == "reverse" else subject.pushed(weights)
        gradients = engine if given is None else given
        probe = Probe(subject, weights)
        report = Report(subject.title, "pass", [], seed, mode, notes=list(subject.notes), cotangents=weights)
        if not _trust_replay(subject, probe, seed):
            if not _repeats(subject):
                report.verdict = NONDETERMINISTIC
                report.notes.insert(0, "two calls with the same inputs gave different results; fix the seed of whatever is random")
                return report
            probe.replay = None
            report.by = "calls"
            report.notes.append("the function decides in Python, or reads .data: every entry was done by calling it")
        scale = max((float(np.max(np.abs(g))) for g in gradients if g is not None and np.size(g)), default=0.0)
        scale = scale if math.isfinite(scale) else 0.0
        rng = np.random.default_rng(seed) if any(x.size > EVERY for x in probe.flat) else None
        for k, (source, g) in enumerate(zip(subject.sources, gradients)):
            if probe.flat[k].size > EVERY and rng is not None:
                judged = judge_directions(probe, k, g, scale, rng)
            else:
                judged = judge(probe, k, g, step, scale)
            report.parts.append(Part(subject.names[k], source.shape, judged, engine=None if given is None else engine[k]))
            for note in judged.notes:
                if note not in report.notes:
                    report.notes.append(note)
        report.verdict = VERDICTS[max((int(p.judged.verdict.max(initial=0)) for p in report.parts), default=0)]
        if report.ok:
            _remark_zeros(report)
        else:
            flat = [np.zeros(x.size) if g is None else np.asarray(g, float).reshape(-1) for g, x in zip(gradients, probe.flat)]
            report.taylor = taylor_slope(probe, flat, seed)
            if report.verdict == WRONG and diagnose:
                from .diagnosis import diagnose_wrong

                diagnose_wrong(report, subject, probe, gradients)
    return report


def _trust_replay(subject: Subject, probe: Probe, seed: int) -> bool:
    """Whether the recorded graph says what the function says: as it is, and with every input moved a little.

    A replay freezes Python's branches and random numbers. Moved both ways at once, every entry that sits on a branch
    crosses it.
    """
    again, _ = subject.call()
    for out, before in zip(again, subject.outs):
        a, b = getattr(out, "_data", out), getattr(before, "_data", before)
        if a is not b and not np.array_equal(a, b, equal_nan=_is_real(a)):
            return False
    epsilon = probe.epsilon(native=True)
    moves = [usual_step(x, epsilon) * signs for x, signs in zip(probe.flat, _signs(seed, tuple(x.size for x in probe.flat)))]
    rows = {k: np.stack([x + d, x - d]) for k, (x, d) in enumerate(zip(probe.flat, moves))}
    replayed = probe.changes(rows, native=True)
    slack = 64 * epsilon * probe.size
    for i in range(2):
        called = probe.by_call({k: data[i] for k, data in rows.items()})
        if not abs(called - replayed[i]) <= slack + 1e-3 * abs(replayed[i]) * epsilon ** (1 / 3) and not (
            math.isnan(called) and math.isnan(replayed[i])
        ):
            return False
    return True


def _is_real(data: Any) -> bool:
    return isinstance(data, float) or (isinstance(data, np.ndarray | np.generic) and data.dtype.kind == "f")


def _signs(seed: int, sizes: tuple[int, ...]) -> list[Array]:
    weights = cotangents(seed + 1, tuple((n,) for n in sizes))
    return [np.sign(w) for w in weights]


def _repeats(subject: Subject) -> bool:
    """Whether the function gives the same numbers each time it is called with the same inputs."""
    first = subject.call_with({})
    for _ in range(4):
        again = subject.call_with({})
        if first is None or again is None or len(first) != len(again):
            return False
        for a, b in zip(first, again):
            if (a is None) != (b is None) or (a is not None and not np.array_equal(a, b, equal_nan=True)):
                return False
    return True


def _remark_zeros(report: Report) -> None:
    """A gradient of zeros looks like a mistake; say that it is none."""
    for part in report.parts:
        g, slope = part.judged.gradient, part.judged.slope
        if g.size and not np.any(np.abs(g) > part.judged.error) and not np.any(np.abs(slope) > 10 * part.judged.error + 1e-300):
            report.notes.append(
                f"the gradient of {part.name} is zero everywhere, and that is right: the differences are zero too"
            )


def _second_order(subject: Subject, first: Report, step: float | None, seed: int) -> Report:
    """Check the gradient itself as a function: its own gradient against its differences."""
    weights = first.cotangents

    def gradient(*args: Any) -> list[Any]:
        return Subject(subject.f, args).taped_gradients(weights)

    gradient.__name__ = f"the gradient of {subject.title}"
    from ..tree import unflatten

    report = check_subject(Subject(gradient, unflatten(subject.structure, subject.leaves)), step, seed + 1, "reverse")
    for part, name in zip(report.parts, subject.names):
        part.order, part.name = 2, name
    report.function, report.order, report.mode = subject.title, 2, first.mode
    report.parts = first.parts + report.parts
    report.notes = list(dict.fromkeys(first.notes + report.notes))
    return report
