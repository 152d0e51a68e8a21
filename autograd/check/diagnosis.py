"""Why a gradient is wrong: the pattern its numbers make, and the first op whose own rule disagrees."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..op import apply
from ..recording import record_lines
from ..value import Value
from .replay import made_from
from .report import Part, Report
from .subject import Subject
from .verdict import VERDICTS, WRONG

Array = np.ndarray[Any, Any]

MANY = 500  # in a graph of more nodes, ops of the same shape are tried only a few times


def diagnose_wrong(report: Report, subject: Subject) -> None:
    """Write into the report what the wrong numbers look like and which op made them."""
    report.diagnosis += _forgotten_g(report, subject) or patterns(report, subject)
    if not all(np.isfinite(result).all() for result in subject.results if result is not None):
        report.diagnosis.append(
            "the result itself is not finite: run the function under autograd.detect_nan() to see which op made it so"
        )
        return
    found = first_wrong_op(subject, report.seed)
    if found is not None:
        node, local = found
        report.culprit = node.op.name  # type: ignore[union-attr]
        report.diagnosis.append(_blame(node, local))
    elif report.by == "calls":
        report.diagnosis.append(
            "every op's own rule is right, so a path is missing from the graph: look for .data, float(), detach() or "
            "plain NumPy between the inputs and the result"
        )
    else:
        report.diagnosis.append("every op's own rule is right on the values it saw: look for a hook, or detach()")


def _forgotten_g(report: Report, subject: Subject) -> list[str]:
    """What to say of a scalar's gradient that is wrong only because what was pulled back was not 1."""
    if report.mode != "reverse" or any(np.ndim(u) for u in report.cotangents):
        return []
    for_one = subject.gradients([1.0] * len(subject.outs))
    for entries, g in zip(report.parts, for_one):
        slopes = entries.judged.slope[entries.rows]
        if g is None or np.size(g) != slopes.size or not np.allclose(np.reshape(g, -1), slopes, rtol=1e-4):
            return []
    return ["right if the gradient that arrives at the result is 1, and wrong if it is not: does a rule forget g?"]


# --- patterns -----------------------------------------------------------------------------------------------


def patterns(report: Report, subject: Subject) -> list[str]:
    """What the ratio of gradient and difference says, input by input."""
    whole = [_Compared(part) for part in report.parts if part.count == np.prod(part.shape, dtype=int)]
    found = []
    for c in whole:
        if c.wrong.any():
            said = next(_recognise(c, whole, subject), None)
            if said:
                found.append(said)
    return list(dict.fromkeys(found))


class _Compared:
    """One input's gradient beside its differences, in the input's shape."""

    def __init__(self, part: Part) -> None:
        j, rows = part.judged, part.rows
        self.name, self.shape, self.by_formula = part.name, part.shape, part.engine is not None
        self.gradient, self.slope = j.gradient[rows].reshape(part.shape), j.slope[rows].reshape(part.shape)
        self.error = np.where(np.isfinite(j.error[rows]), j.error[rows], 0.0).reshape(part.shape)
        self.wrong = (j.verdict[rows] == WRONG).reshape(part.shape)

    def like(self, other: Array) -> bool:
        """Whether the gradient is these numbers instead."""
        return other.shape == self.shape and np.allclose(
            self.gradient, other, rtol=1e-4, atol=float(3 * self.error.max())
        )


def _recognise(c: _Compared, every: list[_Compared], subject: Subject) -> Iterator[str]:
    """The likely stories, the most telling first."""
    g, d = c.gradient, c.slope
    if not np.isfinite(g[c.wrong]).all():
        bad = c.wrong & ~np.isfinite(g)
        too = "finite" if np.isfinite(d[bad]).all() else "not finite either"
        yield f"{c.name}: the gradient is {g[bad][0]} where the differences are {too}"
        return
    if not np.any(np.abs(g[c.wrong]) > 1e-12 * np.abs(d[c.wrong])):
        cut = "a path is cut (detach(), .data, no_grad, or a rule that gives None)"
        yield (
            f"{c.name}: no gradient arrives{'' if c.wrong.all() else ' at some entries'}, yet it counts: "
            f"{'the formula leaves a path out' if c.by_formula else cut}"
        )
    yield from _ratios(c, subject)
    if c.wrong.sum() == 1 and c.wrong.size > 2:
        index = [int(i[0]) for i in np.nonzero(c.wrong)]
        yield f"{c.name}: only {c.name}{index} is wrong; the other {c.wrong.size - 1} entries are right"
    yield from _moved(c, every)
    gap = g - d
    if g.size > 2 and np.allclose(gap, gap.flat[0], rtol=1e-3, atol=float(3 * c.error.max())):
        yield f"{c.name}: off by {gap.flat[0]:.6g} everywhere: a term is missing, such as a mean or a bias"


def _ratios(c: _Compared, subject: Subject) -> Iterator[str]:
    seen = np.abs(c.slope) > 30 * c.error
    if not seen.any() or not c.wrong[seen].all():
        return
    ratios = c.gradient[seen] / c.slope[seen]
    if not np.allclose(ratios, ratios[0], rtol=1e-4) or abs(ratios[0]) < 1e-9:
        return
    r = float(ratios[0])
    if abs(r + 1) < 1e-4:
        yield f"{c.name}: the sign is flipped (ratio -1)"
    elif abs(r - 2) < 1e-3:
        yield f"{c.name}: twice too large: a path counted twice, or a factor ½ forgotten"
    elif abs(r - 0.5) < 1e-3:
        yield f"{c.name}: half of what it should be: one of two paths is lost, or a factor 2"
    for n in sorted({*c.shape, int(np.size(c.gradient)), *_sizes(subject)} - {0, 1}):
        if abs(r * n - 1) < 1e-4:
            yield (
                f"{c.name}: too small by the factor {n}, an axis of the numbers here: a mean where a sum belongs, or a "
                "missing sum over what it was broadcast to"
            )
        elif abs(r / n - 1) < 1e-4:
            yield f"{c.name}: too large by the factor {n}, an axis of the numbers here: a sum where a mean belongs"
    yield f"{c.name}: every entry is off by the same factor {r:.6g}"


def _sizes(subject: Subject) -> set[int]:
    """The sizes of axes, and of whole arrays, anywhere in the graph."""
    sizes: set[int] = set()
    for node in (*subject.sources, *subject.replay.nodes):
        sizes |= {*np.shape(node._data), int(np.size(node._data))}
    return sizes


def _moved(c: _Compared, every: list[_Compared]) -> Iterator[str]:
    """The right numbers in the wrong place."""
    for a, b in itertools.combinations(range(len(c.shape)), 2):
        if c.like(np.swapaxes(c.slope, a, b)):
            yield f"{c.name}: transposed: axes {a} and {b} of the gradient are exchanged"
    if len(c.shape) > 1 and c.like(np.transpose(c.slope).reshape(c.shape)):
        yield f"{c.name}: transposed: the numbers are right, in the order of the transpose"
    for other in every:
        if other is not c and other.shape == c.shape and c.like(other.slope):
            yield f"{c.name}: this is the gradient of {other.name}: two inputs are swapped"


# --- the op at fault ----------------------------------------------------------------------------------------


def first_wrong_op(subject: Subject, seed: int) -> tuple[Value, Report] | None:
    """The oldest node whose own rule disagrees with differences of its own forward function, and that report."""
    with record_lines():
        outs, _ = subject.call()
    nodes = made_from(outs, stop=subject.sources)
    tried: dict[Any, int] = {}
    for node in nodes:
        key = (node.op, tuple(np.shape(getattr(x, "_data", x)) for x in node.inputs))
        tried[key] = tried.get(key, 0) + 1
        if len(nodes) > MANY and tried[key] > 3:
            continue
        local = _check_locally(node, seed)
        if local is not None and local.verdict == VERDICTS[WRONG]:
            return node, local
    return None


def _check_locally(node: Value, seed: int) -> Report | None:
    """The op of one node by itself, on the values it really saw."""
    from .grads import check_subject

    op, inputs = node.op, node.inputs
    assert op is not None
    varied = [i for i, x in enumerate(inputs) if isinstance(x, Value) and x.dtype.kind == "f"]
    if not varied or not op.differentiable:
        return None
    plain = [x._data if isinstance(x, Value) else x for x in inputs]

    def alone(*xs: Any) -> Any:
        filled = dict(zip(varied, xs))
        return apply(op, tuple(filled.get(i, x) for i, x in enumerate(plain)))

    alone.__name__ = op.name
    local = Subject(alone, [plain[i] for i in varied])
    names = [op.names[min(i, len(op.names) - 1)] for i in varied] if op.names else local.names
    local.names = [f"{n}[{i}]" if op.variadic else n for i, n in zip(varied, names)]
    return check_subject(local, None, seed, "reverse", diagnose=False)


def _blame(node: Value, local: Report) -> str:
    """One sentence that names the op, its rule, the line that used it, and the numbers."""
    op = node.op
    assert op is not None
    worst = local.failures[0]
    where = f", used in {node.line}" if node.line else ""
    return (
        f"the first op whose own rule is wrong is {op.name}{where}. Its rule{_rule_text(op, worst.input)} gives "
        f"{worst.gradient:.6g} for {worst.where}; differences give {worst.difference:.6g}"
    )


def _rule_text(op: Any, name: str) -> str:
    """The rule for one input as a person would write it, where it prints."""
    from ..expr import rule

    try:
        texts = dict(zip(op.names, rule(op)))
    except Exception:  # a user's rule may do what text cannot
        return ""
    text = texts.get(name)
    return f" `{text}`" if text is not None else ""
