"""Order 2: the gradient itself as a function, of the inputs and of the cotangent, and its own gradient."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from autograd.engine import Value, contributions
from autograd.errors import HandgradError

from .api import check_subject
from .options import VERDICTS, WRONG, Options
from .report import Report
from .slopes.probe import Probe
from .subjects.subject import Array, Subject, cotangents

PLAIN_RULE = (
    "{rule} cannot be differentiated again, as plain NumPy cannot. The differences of the gradient were checked, "
    "{outcome}"
)
TAPED = (
    "{rule} gives another gradient on Values, as second derivatives need it, than on plain numbers, where it is right: "
    "these are the ones on Values. Does it look at the type of what it is given?"
)
STEP = 1e-5
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
    probe = Probe(subject, weights, np.errstate(all="ignore")(subject.gradients)(weights))
    try:
        second = Subject(gradient, [*args, *us])
    except (TypeError, HandgradError):
        return _of_a_plain_rule(probe, first)
    second.names = [*subject.names, *(["cotangent"] if len(real) == 1 else [f"cotangent {i}" for i in real])]
    if _taped_differs(probe, first, probe.flat(second.results[: len(subject.sources)])):
        return first
    again = dataclasses.replace(options, order=1, seed=options.seed + 1, mode="reverse", points=1)
    report = check_subject(second, again, diagnose=False)
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
def _of_a_plain_rule(probe: Probe, first: Report) -> Report:
    """Where a rule is plain NumPy: second derivatives by differences of the rule, which must be symmetric."""
    rng = np.random.default_rng(first.seed)
    v, w = rng.uniform(0.5, 1.5, (2, probe.x.size)) * np.maximum(np.abs(probe.x), 1e-3)

    def along(direction: Array) -> Array:
        ends = [probe.gradient_at(probe.by_source(probe.x + step * direction, native=True)) for step in (STEP, -STEP)]
        return np.full(v.shape, np.nan) if ends[0] is None or ends[1] is None else (ends[0] - ends[1]) / (2 * STEP)

    one, other = float(along(v) @ w), float(along(w) @ v)
    size = float(np.abs(along(v)) @ np.abs(w)) + float(np.abs(along(w)) @ np.abs(v))
    symmetric = abs(one - other) <= SYMMETRIC * size
    outcome = (
        "and are symmetric, as second derivatives are" if symmetric else
        f"and are not symmetric: {one:.6g} along one pair of lines and {other:.6g} with the two exchanged"
    )  # fmt: skip
    first.notes.append(PLAIN_RULE.format(rule=_blamed(probe.subject), outcome=outcome))
    first.order = 2
    if not symmetric:
        first.verdict = "wrong"
    return first


@np.errstate(all="ignore")
def _taped_differs(probe: Probe, first: Report, taped: Array) -> bool:
    """Whether the gradient on Values is another than the one on numbers, which is right. Then that is the report."""
    j = first.parts[0].judged
    differs = j.places[~probe.alike(probe.engine, taped)[j.places]]
    if not differs.size:
        return False
    j.gradient[differs], j.verdict[differs] = taped[differs], WRONG
    first.verdict = VERDICTS[WRONG]
    first.notes.insert(0, TAPED.format(rule=_blamed(probe.subject)))
    return True


@np.errstate(all="ignore")
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
            if not all(np.allclose(t._data, np.zeros(t.shape) if p is None else p, rtol=1e-5, equal_nan=True)
                       for (_, p), (_, t) in zip(contributions(node, g._data), taped)):  # fmt: skip
                return f"the rule of {node.op.name}"
    return "a rule"
