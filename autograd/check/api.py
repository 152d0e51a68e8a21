"""check_grads, assert_grads, check_formula, check_layer: how a check goes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from autograd.derivatives import check_function
from autograd.errors import GradientError
from autograd.tree import flatten, unflatten

from .options import DEFAULT, KINK, NONDETERMINISTIC, PASS, VERDICTS, WRONG, Options
from .report import Part, Report
from .slopes.breakpoints import frozen, ties
from .slopes.differences import AT_LEAST, FEW, Lines
from .slopes.probe import EPS64, Probe
from .slopes.trust import blame_not_linear, call_repeats, replay_repeats, second_pull
from .subjects.formula import FormulaSubject
from .subjects.layers import LayerSubject
from .subjects.subject import Array, PlainSubject, Subject, cotangents, gives_back, plain_result
from .verdict import Judged, judge

BY_CALLS = (
    "the function branches on numbers, reads .data or uses Values from outside, so we called it for every difference "
    "instead of replaying it"
)
ERRATIC = "a rule gave two gradients for the same numbers: does it draw at random, or keep something from call to call?"


def check_grads(f: Callable[..., Any], *inputs: Any, **options: Any) -> Report:
    """Compare the gradient of `f` at these inputs with differences, entry by entry, and report what was found.

    Inputs are numbers, arrays, leaf Values, or nested lists, tuples and dicts of them; results may be nested too.
    Several numbers as a result are weighted with random ones (seed), and the report is on the gradient of their sum.
    Options are those of `Options`: order, step, seed, mode, rtol, atol, allow, points, entries, digits.

    >>> print(check_grads(lambda x: (x * x).sum(), np.array([1.0, 2.0])))
    <lambda>: pass  (2 entries of 1 input, seed 0)
      largest relative gap ...
    """
    check_function("check_grads", f, "check_grads(f, x)")
    return _checked(lambda at: Subject(f, at), inputs, _options(options))


def assert_grads(f: Callable[..., Any], *inputs: Any, **options: Any) -> Report:
    """As `check_grads`, but raise GradientError, with the report, unless it is good.

    >>> report = assert_grads(lambda a, b: a * b, 2.0, 3.0)
    """
    __tracebackhide__ = True
    return ensure_passed(check_grads(f, *inputs, **options))


def check_formula(f: Callable[..., Any], my_gradient: Callable[..., Any], *inputs: Any, **options: Any) -> Report:
    """Compare a hand-written gradient of `f` with differences of `f`, entry by entry. Both are taken as they are: plain
    NumPy, Python, torch or JAX.

    `my_gradient` is called with the same inputs and returns one gradient, or a tuple of them for several inputs, None
    where none flows. A gradient has the shape of its input. If `f` has an array as its result, `my_gradient` returns
    the Jacobian, of shape (*result, *input); for a backward(dout) write `check_layer`.

    >>> report = check_formula(lambda x: (x**3).sum(), lambda x: 2 * x**2, np.array([1.0, 2.0]))
    >>> report.verdict, report.entries[0].ratio
    ('wrong', 0.666666...)
    """
    return _checked(lambda at: FormulaSubject(f, my_gradient, at), inputs, _options(options, plain=True))


def check_layer(layer: Any, *inputs: Any, **options: Any) -> Report:
    """Compare the backward pass of a layer with differences of its forward pass: for its inputs and for its arrays.

    A layer is an object with forward(x…) and backward(dout), a pair of functions, forward(x…) -> (out, cache) and
    backward(dout, cache) -> gradients, or a torch.autograd.Function. Its arrays are checked where backward leaves a
    gradient for them: as dW or W_grad beside W, or as grads["W"].

    >>> class Scale:
    ...     def __init__(self):
    ...         self.w = np.array([2.0, 3.0])
    ...     def forward(self, x):
    ...         self.x = x
    ...         return x * self.w
    ...     def backward(self, dout):
    ...         self.dw = (dout * self.x).sum(axis=0)
    ...         return dout * self.w
    >>> print(check_layer(Scale(), np.ones((4, 2))))
    the backward pass of Scale: pass  (10 entries of 2 inputs, seed 0...)
      largest relative gap ...
    """
    return _checked(lambda at: LayerSubject(layer, at), inputs, _options(options, plain=True))


def ensure_passed(report: Report) -> Report:
    """The report, if it is good; else a GradientError that carries it, raised where the check was asked for."""
    if not report.ok:
        __tracebackhide__ = True
        raise GradientError(str(report), report) from None
    return report


def _options(given: dict[str, Any], plain: bool = False) -> Options:
    known = {field.name for field in dataclasses.fields(Options)} - ({"order", "mode"} if plain else set())
    if unknown := given.keys() - known:
        raise TypeError(f"a check has no option {', '.join(sorted(unknown))}; it has {', '.join(sorted(known))}")
    return Options(**given)


def _checked(make: Callable[[Any], Subject], inputs: tuple[Any, ...], options: Options) -> Report:
    """The report at the inputs, and at further points if asked."""
    report = _checked_at(make, inputs, options)
    for point in range(2, options.points + 1):
        if not report.ok:
            break
        more = _checked_at(make, _moved(inputs, options.seed + point), options)
        for part in more.parts:
            part.point = point
        where = f"at a random point ({point} of {options.points})"
        if not more.ok:
            more.notes.insert(0, f"these are the entries {where}; at the inputs themselves all pass")
            return more
        report.notes.append(f"passes also {where}")
    return report


def _moved(inputs: tuple[Any, ...], seed: int) -> tuple[Any, ...]:
    """A random point near the inputs: each number times 0.7 to 1.3; zeros become small numbers."""
    rng = np.random.default_rng(seed)

    def moved(x: Any) -> Any:
        data = np.asarray(plain_result(x))
        if data.dtype.kind != "f":
            return x
        size = float(np.abs(data, where=np.isfinite(data), out=np.zeros(data.shape)).max(initial=0.0)) or 1.0
        low = 0.0 if np.all(data >= 0) else -0.3
        new = np.where(data == 0, size * rng.uniform(low, 0.3, data.shape), data * rng.uniform(0.7, 1.3, data.shape))
        new = new.astype(data.dtype)
        return new if new.ndim else new.item() if data.dtype == np.float64 else new[()]

    flat, structure = flatten(list(inputs))
    return tuple(unflatten(structure, list(map(moved, flat))))


def _checked_at(make: Callable[[Any], Subject], inputs: tuple[Any, ...], options: Options) -> Report:
    give_back = gives_back(inputs)
    try:
        with make(inputs) as subject:
            report = check_subject(subject, options)
            if options.order == 2 and report.ok:
                from .second import second_order

                report = second_order(subject, report, options)
            return report
    finally:
        give_back()


@np.errstate(all="ignore")
def check_subject(
    subject: Subject, options: Options = DEFAULT, weights: tuple[Any, ...] | None = None, diagnose: bool = True
) -> Report:
    """Check one function, recorded or plain."""
    seed, plain = options.seed, isinstance(subject, PlainSubject)
    if weights is None:
        weights = cotangents(seed, tuple(None if r is None else np.shape(r) for r in subject.results))
    weights = _of_finite_results(subject, weights)
    pulled = subject.gradients(weights) if options.mode == "reverse" else subject.pushed(weights)
    probe = Probe(subject, weights, pulled)
    report = Report(
        getattr(subject, "reported_as", subject.title), "pass", [], seed, options.mode, notes=list(subject.notes),
        cotangents=probe.weights, options=options, ours=not plain,
    )  # fmt: skip
    if not _trust(probe, report):
        return report
    tied = []
    if probe.replay is not None:
        probe.code = frozen(subject)
        tied = ties(subject)
    places, second, odd = probe.places, probe.engine, probe.places[:0]
    if options.mode == "reverse" and not isinstance(subject, FormulaSubject):
        second, odd = second_pull(probe)
    if probe.finite:
        places = _places(probe, probe.engine, options, report.notes)
        places = np.union1d(places, odd[:5]) if odd.size else places
    judged = judge(probe, probe.engine, places, options, tied)
    if odd.size:
        blame_not_linear(judged, second, odd)
    _accept(judged, options)
    report.verdict = VERDICTS[judged.worst]
    report.notes += judged.notes
    report.tied = [node.op.name for node in tied]
    for k, (start, stop) in enumerate(zip(probe.starts, probe.starts[1:])):
        if k not in getattr(subject, "unusable", ()):
            report.parts.append(Part(subject.names[k], probe.shapes[k], judged, start, stop))
    if complaints := getattr(subject, "complaints", None):
        report.verdict = "wrong"
        report.diagnosis += list(complaints)
    if report.verdict == "pass":
        report.notes += _what_would_not_show(report, subject)
    elif not report.ok and options.mode == "reverse" and not probe.engine_repeats():
        report.verdict = VERDICTS[NONDETERMINISTIC]
        report.notes.insert(0, ERRATIC)
    elif report.verdict in ("wrong", "kink") and diagnose:
        from .diagnosis import diagnose_report

        diagnose_report(report, subject)
    return report


def _places(probe: Probe, gradient: Array, options: Options, notes: list[str]) -> Array:
    """Every entry of a small input; of a large one some, and those to which a failing line leads."""
    n, some, room = probe.x.size, options.entries, probe.affordable
    if some == "all" or (n <= FEW and (options.digits == "always" or (some is None and n <= max(room, AT_LEAST)))):
        return probe.places
    rng = np.random.default_rng(options.seed)
    singles = min(n, min(8, max(2, room // 8)) if some is None else int(some))
    fine = probe.fine_engine if probe.epsilon < probe.coarse else None
    lines = Lines(probe, gradient if fine is None else fine, options.tolerance(EPS64)[0], options.seed)
    small: list[int] = []
    room = min(FEW, room)
    for start, stop in zip(probe.starts, probe.starts[1:]):
        if stop - start <= room and some is None:
            small += range(start, stop)
            room -= stop - start
    chosen = {*small, int(np.argmax(np.abs(gradient))), *rng.choice(n, singles, replace=False).tolist()}
    chosen |= {*lines.suspects()}
    chosen |= set(np.flatnonzero(np.isnan(gradient))[:5].tolist())
    if fine is not None:  # along a line the rounding of all entries adds up, and hides one that is 1 % wrong
        chosen |= set(np.flatnonzero(~probe.alike(fine, gradient))[:5].tolist())
    notes.append(
        f"of {n:,} entries {len(chosen)} were looked at one by one, and all along {lines.count} random lines: an error "
        f"of {lines.resolution:.1e} or more in one entry would show. entries=\"all\" looks at each"
    )
    return np.array(sorted(chosen))


def _accept(judged: Judged, options: Options) -> None:
    """Where the caller says what is accepted, that decides; a kink excuses no gradient outside of its two slopes."""
    if "kink" in options.allow:
        for place in judged.places[judged.verdict[judged.places] == KINK].tolist():
            low, high = sorted(judged.sides[place])
            slack = 1e-6 * max(abs(low), abs(high))
            if np.isfinite(slack) and not low - slack <= judged.gradient[place] <= high + slack:
                judged.verdict[place] = WRONG
                judged.notes.append("a gradient that is not between the slopes to the left and to the right is wrong")
        judged.notes = list(dict.fromkeys(judged.notes))
    if options.rtol is None and options.atol is None:
        return
    gap = np.abs(judged.gradient - judged.slope)
    allowed = (options.atol or 0.0) + (options.rtol or 0.0) * np.abs(judged.slope)
    known = np.where(np.isfinite(judged.error), judged.error, 0.0)
    numbers = np.isfinite(judged.gradient) & np.isfinite(judged.slope)
    excused = (gap <= allowed) & numbers & np.isin(judged.verdict, (1, WRONG))
    judged.verdict[excused] = PASS
    judged.verdict[(gap > allowed + known) & numbers & (judged.verdict == PASS)] = WRONG
    if excused.any():
        judged.notes.append(f"{int(excused.sum())} entries differ, within {options.asked}, as asked")


def _of_finite_results(subject: Subject, weights: tuple[Any, ...]) -> tuple[Any, ...]:
    """Drop the weights of results that are infinite or NaN, unless that would drop all of them."""
    finite: list[Any] = [u if u is None else np.where(np.isfinite(r), u, 0.0) for u, r in zip(weights, subject.results)]
    left = [(u, old) for u, old in zip(finite, weights) if u is not None]
    if not any(np.any(u) for u, _ in left) or all(u is old or np.array_equal(u, old) for u, old in left):
        return weights
    subject.notes.append("results that are not finite were left out")
    return tuple(u if u is None or u.ndim else float(u) for u in finite)


def _trust(probe: Probe, report: Report) -> bool:
    """Find out whether differences may be made by replay, or by calls; False, and the verdict, if by neither."""
    subject = probe.subject
    if probe.replay is not None and replay_repeats(probe, report.seed):
        return True
    if not call_repeats(subject):
        report.verdict = VERDICTS[NONDETERMINISTIC]
        how = "gave different results; fix the seed of whatever is random"
        if subject.raised is not None:
            how = f"did not both succeed: one raised {type(subject.raised).__name__}: {subject.raised}"
        report.notes.insert(0, f"two calls with the same inputs {how}")
        return False
    if probe.replay is not None:
        report.notes.append(BY_CALLS)
    probe.give_up_replay()
    report.by = "calls"
    return True


def _what_would_not_show(report: Report, subject: Subject) -> list[str]:
    """What a pass at these inputs cannot show."""
    said = []
    for part, source in zip(report.parts, subject.sources):
        data, j = np.asarray(source._data), part.judged
        if part.count and j.zero[part.rows].all():
            said.append(
                f"the gradient of {part.name} is zero everywhere, and that is right: the differences are zero too"
            )
        elif data.size > 1 and np.all(data == data.flat[0]):
            said.append(f"all entries of {part.name} are equal: what depends on their differences would not show")
        elif data.ndim == 2 and data.shape[0] == data.shape[1] > 1 and np.array_equal(data, data.T):
            said.append(f"{part.name} is symmetric: a missing transpose might not show")
    for node in subject.replay.nodes if subject.replay is not None else ():
        if node.op.base.name == "relu" and np.size(node._data) > 1 and not np.any(node._data):
            said.append("a relu is off everywhere: what is before it is not tested")
    return list(dict.fromkeys(said))
