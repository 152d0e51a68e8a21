"""check_grads and assert_grads: a function's gradient compared with differences of the function."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..derivatives import check_function
from ..engine import Value, contributions
from ..errors import GradientError
from .differences import look, taylor_slope
from .directions import EVERY, SUSPECTS, places_to_judge
from .linearity import SecondPull
from .probe import Probe, coarsest_unit
from .repeats import call_repeats, replay_repeats
from .report import Part, Report
from .subject import Subject, cotangents, gives_back
from .verdict import NONDETERMINISTIC, VERDICTS, WRONG, Judged, judge, rounding_of

MODES = ("reverse", "forward")
BY_CALLS = "the function decides in Python, reads .data, or uses Values made before: it was called for each difference"
TAPED = (
    "{op} gives another gradient on Values, as second derivatives need it, than on plain numbers, where it is right: "
    "these are the ones on Values. Does it look at the type of what it is given?"
)
ERRATIC = "a rule gave two gradients for the same numbers: does it draw at random, or keep something from call to call?"


def check_grads(
    f: Callable[..., Any], *inputs: Any, order: int = 1, step: float | None = None, seed: int = 0, mode: str = "reverse"
) -> Report:
    """Compare the gradient of `f` at these inputs with finite differences, entry by entry, and report what was found.

    Inputs are numbers, arrays, leaf Values, or nested lists, tuples and dicts of them; results may be nested too.
    Several numbers as a result are weighted with random ones (seed), and the report is on the gradient of their sum.
    `order=2` also checks the gradient of the gradient; `mode="forward"` checks jvp in place of backward. `step` is
    best left out: it is then fitted to each entry.

    >>> print(check_grads(lambda x: (x * x).sum(), np.array([1.0, 2.0])))
    <lambda>: pass  (2 entries of 1 input, seed 0)
      largest relative gap ...
    """
    check_function("check_grads", f, "check_grads(f, x)")
    check_settings(step, seed)
    if isinstance(order, bool) or order not in (1, 2):
        raise ValueError(f"order is 1 (the gradient) or 2 (also the gradient of the gradient); got {order!r}")
    if mode not in MODES:
        raise ValueError(f'mode is "reverse" or "forward"; got {mode!r}')
    give_back = gives_back(inputs)
    try:
        with Subject(f, inputs) as subject:
            report = check_subject(subject, step, seed, mode)
            if order == 2 and report.ok:
                report = _second_order(subject, report, step, seed)
            return report
    finally:
        give_back()


def assert_grads(
    f: Callable[..., Any], *inputs: Any, order: int = 1, step: float | None = None, seed: int = 0, mode: str = "reverse"
) -> Report:
    """As `check_grads`, but raise GradientError, with the report, unless every entry passes.

    >>> report = assert_grads(lambda a, b: a * b, 2.0, 3.0)
    """
    return ensure_passed(check_grads(f, *inputs, order=order, step=step, seed=seed, mode=mode))


def check_settings(step: Any, seed: Any) -> None:
    """What every check takes: a step, if any, and a seed."""
    numbers = int | float | np.number
    if step is not None and (isinstance(step, bool) or not isinstance(step, numbers) or not 0 < step < math.inf):
        raise ValueError(f"step is a positive number, or None to have it fitted; got {step!r}")
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise ValueError(f"seed is a whole number from 0 on; got {seed!r}")


def ensure_passed(report: Report) -> Report:
    """The report, if it is good; else a GradientError that carries it."""
    if not report.ok:
        raise GradientError(str(report), report)
    return report


@np.errstate(all="ignore")
def check_subject(
    subject: Subject,
    step: float | None,
    seed: int,
    mode: str,
    given: list[Any] | None = None,
    weights: tuple[Any, ...] | None = None,
    diagnose: bool = True,
) -> Report:
    """Check one recorded function. `given` are gradients to check in place of the engine's own."""
    if weights is None:
        weights = cotangents(seed, tuple(None if r is None else np.shape(r) for r in subject.results))
    pulled = subject.gradients(weights) if mode == "reverse" else subject.pushed(weights)
    probe = Probe(subject, weights, pulled)
    if not probe.finite and given is None and diagnose:
        finite = _of_finite_results(subject, weights)
        if finite is not weights:
            return check_subject(subject, step, seed, mode, weights=finite)
    report = Report(subject.title, "pass", [], seed, mode, notes=list(subject.notes), cotangents=probe.weights)
    gradient = probe.engine if given is None else probe.flat(given)
    if not _trust(probe, seed, report):
        return report
    second = SecondPull(probe) if given is None and mode == "reverse" else None
    places = probe.places
    if max(map(math.prod, probe.shapes)) > EVERY:
        places = places_to_judge(probe, gradient, seed, report.notes)
        if second is not None:
            places = np.union1d(places, second.odd[:SUSPECTS])
    seen = look(probe, places, step)
    if second is not None and second.odd.size:
        judged = judge(probe, second.put_in(gradient, places, seen.slope), places, seen, step)
        second.mark_wrong(judged)
    else:
        judged = judge(probe, gradient, places, seen, step)
    report.verdict = VERDICTS[judged.worst]
    report.notes += judged.notes
    for k, (start, stop) in enumerate(zip(probe.starts, probe.starts[1:])):
        own = None if given is None else probe.engine[start:stop]
        report.parts.append(Part(subject.names[k], probe.shapes[k], judged, start, stop, own))
    if report.ok:
        _remark_zeros(report, judged)
    else:
        report.taylor = taylor_slope(probe, gradient, seed)
    if given is not None:
        _compare_engine(report, judge(probe, probe.engine, places, seen, step), subject)
    elif not report.ok and mode == "reverse" and not probe.engine_repeats():
        report.verdict = VERDICTS[NONDETERMINISTIC]
        report.notes.insert(0, ERRATIC)
    elif report.verdict == "wrong" and diagnose:
        from .diagnosis import diagnose_wrong

        diagnose_wrong(report, subject)
    return report


def _of_finite_results(subject: Subject, weights: tuple[Any, ...]) -> tuple[Any, ...]:
    """The weights without those of results that are infinite or NaN, if there are others: such results do not move."""
    finite: list[Any] = [u if u is None else np.where(np.isfinite(r), u, 0.0) for u, r in zip(weights, subject.results)]
    left = [(u, old) for u, old in zip(finite, weights) if u is not None]
    if not any(np.any(u) for u, _ in left) or all(np.array_equal(u, old) for u, old in left):
        return weights
    subject.notes.append("results that are not finite were left out")
    return tuple(u if u is None or u.ndim else float(u) for u in finite)


def _trust(probe: Probe, seed: int, report: Report) -> bool:
    """Find out whether differences may be made by replay, or by calls; False, and the verdict, if by neither."""
    if replay_repeats(probe, seed):
        return True
    subject = probe.subject
    if not call_repeats(subject):
        report.verdict = VERDICTS[NONDETERMINISTIC]
        how = "gave different results; fix the seed of whatever is random"
        if subject.raised is not None:
            how = f"did not both succeed: one raised {type(subject.raised).__name__}: {subject.raised}"
        report.notes.insert(0, f"two calls with the same inputs {how}")
        return False
    probe.give_up_replay()
    report.by = "calls"
    report.notes.append(BY_CALLS)
    return True


def _compare_engine(report: Report, engine: Judged, subject: Subject) -> None:
    """Beside a formula: whether the engine's own gradient is right."""
    from .diagnosis import patterns

    if engine.worst >= WRONG:
        report.notes.append("the engine's own gradient disagrees with the differences too: does f leave the graph?")
    elif report.verdict == "wrong":
        report.diagnosis += patterns(report, subject)
        report.notes.append("the engine agrees with the differences; the formula does not")


def _remark_zeros(report: Report, judged: Judged) -> None:
    """A gradient of zeros looks like a mistake; say where it is right."""
    if judged.zero is None or not judged.zero.any():
        return
    for part in report.parts:
        if part.shape and 0 in part.shape:
            continue
        if judged.zero[part.rows].all():
            report.notes.append(
                f"the gradient of {part.name} is zero everywhere, and that is right: the differences are zero too"
            )


def _second_order(subject: Subject, first: Report, step: float | None, seed: int) -> Report:
    """Check the gradient itself as a function: its own gradient against its differences."""
    weights = first.cotangents

    def gradient(*args: Any) -> list[Any]:
        return Subject(subject.f, args).taped_gradients(weights)

    gradient.__name__ = f"the gradient of {subject.title}"
    second = Subject(gradient, subject.arguments(subject.leaves))
    second.names = subject.names
    if (differing := _taped_differs(subject, first, second.results, step, seed)) is not None:
        return differing
    report = check_subject(second, step, seed + 1, "reverse", diagnose=False)
    if report.verdict == "wrong":
        from .diagnosis import diagnose_wrong

        diagnose_wrong(report, second, primal=subject)
    for part in report.parts:
        part.order = 2
    report.function, report.order, report.mode, report.seed = subject.title, 2, first.mode, seed
    report.parts = first.parts + report.parts
    report.notes = list(dict.fromkeys(first.notes + report.notes))
    return report


def _taped_differs(subject: Subject, first: Report, taped: list[Any], step: float | None, seed: int) -> Report | None:
    """A report on the gradient as it is computed on Values, if that is wrong where the one on numbers is right."""
    plain = np.errstate(all="ignore")(subject.gradients)(first.cotangents)
    if all(_near(p, t) for p, t in zip(plain, taped)):
        return None
    subject.on_values = True
    try:
        report = check_subject(subject, step, seed, "reverse", diagnose=False)
    finally:
        subject.on_values = False
    if report.ok:
        return None
    op = _differs_on_values(subject)
    report.notes.insert(0, TAPED.format(op="a rule" if op is None else f"the rule of {op}"))
    report.mode = first.mode
    return report


def _differs_on_values(subject: Subject) -> str | None:
    """The first op whose rule gives one gradient on numbers and another on Values."""
    for node in subject.replay.nodes:
        if node.requires_grad:
            (u,) = cotangents(0, (np.shape(node._data),))
            g = Value(np.asarray(u, node.dtype), requires_grad=False)
            plain, taped = contributions(node, g._data), contributions(node, g, taped=True)
            if not all(_near(p, t._data) for (_, p), (_, t) in zip(plain, taped)):
                assert node.op is not None
                return node.op.name
    return None


@np.errstate(all="ignore")
def _near(plain: Any, taped: Any) -> bool:
    """Whether two gradients of one input differ by no more than what rounding explains."""
    plain = np.zeros(np.shape(taped)) if plain is None else plain
    relative, absolute = rounding_of(coarsest_unit(plain, taped))
    slack = absolute * float(np.abs(plain, where=np.isfinite(plain), out=np.zeros(np.shape(plain))).max(initial=0.0))
    return np.allclose(taped, plain, rtol=relative, atol=slack, equal_nan=True)
