"""Order 2: the gradient itself as a function, of the inputs and of the cotangent, and its own gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograd.engine import Value, contributions
from autograd.errors import HandgradError

from .api import TAPED, check_subject
from .options import Options
from .probe import coarsest_unit
from .report import Report
from .subject import Subject, cotangents

PLAIN_RULE = (
    "{rule} cannot be differentiated again, as plain NumPy cannot. The differences of the gradient were checked, "
    "{outcome}"
)
SYMMETRIC = 1e-5  # relative: differences of a right gradient are symmetric to so much


def second_order(subject: Subject, first: Report, options: Options) -> Report:
    """Check the gradient as a function of the inputs and the cotangent: its own gradient against its differences."""
    weights = first.cotangents
    args = subject.arguments(subject.leaves)
    real = [i for i, u in enumerate(weights) if u is not None]

    def gradient(*given: Any) -> list[Any]:
        pulled: list[Any] = list(weights)
        for i, u in zip(real, given[len(args) :], strict=True):
            pulled[i] = u
        return Subject(subject.f, given[: len(args)]).taped_gradients(pulled)

    gradient.__name__ = f"the gradient of {subject.title}"
    us = [np.array(weights[i]) if np.ndim(weights[i]) else weights[i] for i in real]
    try:
        second = Subject(gradient, [*args, *us])
    except (TypeError, HandgradError):
        return _of_a_plain_rule(subject, first)
    second.names = [*subject.names, *(["cotangent"] if len(real) == 1 else [f"cotangent {i}" for i in real])]
    if (differing := _taped_differs(subject, first, second.results[: len(subject.sources)], options)) is not None:
        return differing
    report = check_subject(second, Options(seed=options.seed + 1, step=options.step, rtol=options.rtol,
                                           atol=options.atol, allow=options.allow, entries=options.entries,
                                           digits=options.digits), diagnose=False)  # fmt: skip
    if report.verdict == "wrong":
        from .diagnosis import diagnose_report

        diagnose_report(report, second, primal=subject)
    for part in report.parts:
        part.order = 2
    report.function, report.order, report.mode, report.seed = subject.title, 2, first.mode, options.seed
    report.parts = first.parts + report.parts
    report.notes = list(dict.fromkeys(first.notes + report.notes))
    return report


@np.errstate(all="ignore")
def _of_a_plain_rule(subject: Subject, first: Report) -> Report:
    """Where a rule is plain NumPy: second derivatives by differences of the rule, which must be symmetric."""
    x = np.concatenate([np.ravel(s._data) for s in subject.sources])
    rng = np.random.default_rng(first.seed)
    v, w = rng.uniform(0.5, 1.5, (2, x.size)) * np.maximum(np.abs(x), 1e-3)
    h = 1e-5

    def along(direction: Any) -> Any:
        ends = []
        for sign in (1.0, -1.0):
            row, data, at = x + sign * h * direction, [], 0
            for s in subject.sources:
                data.append(row[at : at + np.size(s._data)].reshape(s.shape).astype(s.dtype))
                at += np.size(s._data)
            grads = subject.at(data, lambda: subject.gradients_again(first.cotangents))
            if grads is None:
                return np.full(x.size, np.nan)
            ends.append(np.concatenate([np.ravel(np.zeros(s.shape) if g is None else g)
                                        for s, g in zip(subject.sources, grads)]))  # fmt: skip
        return (ends[0] - ends[1]) / (2 * h)

    one, other = float(along(v) @ w), float(along(w) @ v)
    size = float(np.abs(along(v)) @ np.abs(w)) + float(np.abs(along(w)) @ np.abs(v))
    symmetric = abs(one - other) <= SYMMETRIC * size
    outcome = (
        "and are symmetric, as second derivatives are" if symmetric else
        f"and are not symmetric: {one:.6g} along one pair of lines and {other:.6g} with the two exchanged"
    )  # fmt: skip
    first.notes.append(PLAIN_RULE.format(rule=_blamed(subject), outcome=outcome))
    first.order = 2
    if not symmetric:
        first.verdict = "wrong"
    return first


def _taped_differs(subject: Subject, first: Report, taped: list[Any], options: Options) -> Report | None:
    """A report on the gradient as it is computed on Values, if that is wrong where the one on numbers is right."""
    plain = np.errstate(all="ignore")(subject.gradients)(first.cotangents)
    if all(_near(p, t) for p, t in zip(plain, taped)):
        return None
    subject.on_values = True
    try:
        report = check_subject(subject, options, diagnose=False)
    finally:
        subject.on_values = False
    if report.ok:
        return None
    report.notes.insert(0, TAPED.format(op=_blamed(subject)))
    report.mode = first.mode
    return report


def _blamed(subject: Subject) -> str:
    """The first rule that gives one gradient on numbers and another, or none, on Values."""
    for node in subject.replay.nodes:
        if node.requires_grad:
            assert node.op is not None
            (u,) = cotangents(0, (np.shape(node._data),))
            g = Value(np.asarray(u, node.dtype), requires_grad=False)
            try:
                taped = contributions(node, g, taped=True)
            except (TypeError, HandgradError):
                return f"the rule of {node.op.name}"
            if not all(_near(p, t._data) for (_, p), (_, t) in zip(contributions(node, g._data), taped)):
                return f"the rule of {node.op.name}"
    return "a rule"


@np.errstate(all="ignore")
def _near(plain: Any, taped: Any) -> bool:
    """Whether two gradients of one input differ by no more than what rounding explains."""
    plain = np.zeros(np.shape(taped)) if plain is None else plain
    relative, absolute = Options().tolerance(coarsest_unit(plain, taped))
    slack = absolute * float(np.abs(plain, where=np.isfinite(plain), out=np.zeros(np.shape(plain))).max(initial=0.0))
    return np.allclose(taped, plain, rtol=relative, atol=slack, equal_nan=True)
