"""Breakpoints: which recorded numbers stand where a function bends or jumps, and the same run with its choices kept.

    relu at 0, abs at 0, max of two equal numbers, floor of an integer: there, and nowhere else, is a kink possible.

`frozen` replaces each op that chooses (relu, max, where …) by the branch that it took. Differences of that are smooth
as far as the step reaches, and equal those of the function for steps that cross no breakpoint.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autograd.op import Op, nothing
from autograd.ops.reduce import spread
from autograd.program.program import Instruction

from ..subjects.subject import Array, Subject

Test = Callable[..., Any]


def _equal(x: Any, y: Any) -> Any:
    return np.equal(x, y)


def _is_zero(x: Any, *others: Any, **settings: Any) -> Any:
    return np.equal(x, 0)


def _is_whole(x: Any, *more: Any, **settings: Any) -> Any:
    return np.equal(x, np.floor(x))


def _share_the_top(x: Any, out: Any, axis: Any, keepdims: Any = True) -> Any:
    x = np.asarray(x)
    return np.sum(x == spread(out, x, axis, keepdims), axis=axis) > 1


def _sorted_neighbours(x: Any, *, axis: int, **more: Any) -> Any:
    return np.diff(np.sort(x, axis=axis), axis=axis) == 0


def _is_half(x: Any, *, decimals: int = 0) -> Any:
    scaled = np.asarray(x) * 10.0**decimals
    return np.abs(scaled - np.trunc(scaled)) == 0.5


def _pooled_twice(x: Any, **settings: Any) -> Any:
    from autograd.ops.images.pooling import _seen

    seen = _seen(np.asarray(x), settings["window"], settings["stride"], settings["padding"], settings["dilation"],
                 -np.inf)  # fmt: skip
    return (seen == seen.max(axis=2, keepdims=True)).sum(axis=2) > 1


def _degenerate(x: Any) -> Any:
    values = np.linalg.svd(x, compute_uv=False)
    return (np.diff(values, axis=-1) == 0) | (values[..., 1:] == 0)


# Whether some entry of an op's inputs stands at a breakpoint of the op. What is not here is smooth where it is defined.
AT: dict[str, Test] = {
    **dict.fromkeys(("relu", "leaky_relu", "abs", "sign", "sqrt", "power", "xlogy"), _is_zero),
    **dict.fromkeys(("maximum", "minimum", "fmax", "fmin", "less", "less_equal", "greater", "greater_equal", "equal",
                     "not_equal"), _equal),
    **dict.fromkeys(("floor", "ceil", "trunc"), _is_whole),
    **dict.fromkeys(("floor_divide", "mod", "fmod"), lambda x, y: _is_whole(np.divide(x, y))),
    **dict.fromkeys(("rint", "round"), _is_half),
    **dict.fromkeys(("logical_and", "logical_or", "logical_xor"), lambda x, y: np.equal(x, 0) | np.equal(y, 0)),
    **dict.fromkeys(("logical_not", "any", "all", "count_nonzero"), _is_zero),
    "clip": lambda x, *, low, high: np.equal(x, low) | np.equal(x, high),
    "max": lambda x, *, axis, keepdims: _share_the_top(x, np.max(x, axis, keepdims=True), axis),
    "min": lambda x, *, axis, keepdims: _share_the_top(x, np.min(x, axis, keepdims=True), axis),
    "argmax": lambda x, *, axis, **more: _share_the_top(x, np.max(x, axis, keepdims=True), axis),
    "argmin": lambda x, *, axis, **more: _share_the_top(x, np.min(x, axis, keepdims=True), axis),
    "argsort": _sorted_neighbours, "max_pool": _pooled_twice,
    **dict.fromkeys(("eigenvalues", "eigenvectors", "singular_values", "left_singular_vectors",
                     "right_singular_vectors"), _degenerate),
    "over": lambda x, y: np.equal(y, 0), "norm": lambda x, *, axis, keepdims: np.all(np.equal(x, 0), axis),
    "std": lambda x, *, axis, **more: np.equal(np.ptp(x, axis), 0),
    "hypot": lambda x, y: np.equal(x, 0) & np.equal(y, 0),
    "arctan2": lambda x, y: np.equal(x, 0) & np.less_equal(y, 0),
}  # fmt: skip


@np.errstate(all="ignore")
def ties(subject: Subject) -> list[Any]:
    """The recorded nodes that stand at a breakpoint and whose inputs move with the inputs of the function."""
    replay = subject.replay
    moving = {replay.register[source] for source in subject.sources}
    found = []
    for i, node in zip(replay.recorded.code, replay.nodes, strict=True):
        if moving.isdisjoint(i.inputs):
            continue
        moving.add(i.out)
        test = AT.get(i.op.base.name)
        data = [replay.data[r] for r in i.inputs]
        if i.op.base.name == "power" and data[1].__class__ in (int, float) and data[1] == int(data[1]) >= 0:
            continue  # x ** 2 is smooth at 0
        if test is not None and _real(data) and np.any(test(*data, **i.op.settings)):
            found.append(node)
    return found


def _real(data: list[Any]) -> bool:
    return all(np.asarray(x).dtype.kind in "fiu" for x in data)


# --- the same run with its choices kept ---------------------------------------------------------------------------


def _by_mask(mask: Any, other: Any) -> Callable[[Any], Any]:
    return lambda x: np.where(mask, x, other)


def _between(first: Array, second: Array) -> Callable[..., Any]:
    """The one of two numbers that was taken; their mean where they were equal."""
    share = np.where(first, 1.0, np.where(second, 0.0, 0.5))
    tied = ~(np.asarray(first) | np.asarray(second))
    if not np.any(tied):
        return lambda x, y: np.where(first, x, y)
    return lambda x, y: np.where(tied, share * x + (1.0 - share) * y, np.where(first, x, y))


def _taken(x: Any, out: Any, axis: Any, keepdims: bool) -> Callable[[Any], Any]:
    winners = np.asarray(x) == spread(out, np.asarray(x), axis, keepdims)
    total: Any = np.add.reduce
    count = total(winners, axis=axis, keepdims=keepdims)
    return lambda x: total(np.where(winners, x, 0.0), axis=axis, keepdims=keepdims) / count


def _pool(x: Any, settings: dict[str, Any]) -> Callable[[Any], Any]:
    from autograd.ops.images.pooling import max_pick, max_winners

    winners = max_winners.forward(np.asarray(x), **settings)
    return lambda x: max_pick.forward(x, winners, **settings)


def _branch(i: Instruction, data: list[Any], out: Any) -> Callable[..., Any] | None:
    """What an instruction does on the branch that it took; None for what takes no branch."""
    name, s = i.op.base.name, i.op.settings
    x = np.asarray(data[0])
    y = np.asarray(data[1]) if len(data) > 1 else x
    if name == "relu":
        return _by_mask(x > 0, 0.0)
    if name == "leaky_relu":
        factor = np.where(x > 0, 1.0, s["slope"])
        return lambda x: factor * x
    if name == "abs":
        sign = np.sign(x)
        return lambda x: sign * x
    if name in ("maximum", "fmax"):
        return _between((x > y) | (y != y) & (name == "fmax"), (y > x) | (x != x) & (name == "fmax"))
    if name in ("minimum", "fmin"):
        return _between((x < y) | (y != y) & (name == "fmin"), (y < x) | (x != x) & (name == "fmin"))
    if name == "clip":
        return _by_mask((x >= s["low"]) & (x <= s["high"]), np.clip(x, s["low"], s["high"]))
    if name in ("mod", "fmod"):
        times = np.floor(x / y) if name == "mod" else np.trunc(x / y)
        return lambda x, y: x - y * times
    if name in ("max", "min"):
        return _taken(x, out, s["axis"], s["keepdims"])
    return _pool(x, s) if name == "max_pool" else None


@np.errstate(all="ignore")
def frozen(subject: Subject) -> list[Instruction]:
    """The instructions of the recorded run, each on the branch that it took."""
    replay = subject.replay
    code = []
    for i in replay.recorded.code:
        if not i.op.differentiable:
            continue  # a step or a truth: it stays as it was recorded
        data = [replay.data[r] for r in i.inputs]
        branch = _branch(i, data, replay.data[i.out])
        if branch is not None:
            batch = _one_by_one if i.op.base.name == "max_pool" else i.op.base.batch
            kept = Op(i.op.base.name, i.op.base.reads, forward=branch, vjp=nothing, batch=batch, register=False)
            i = i._replace(op=kept)
        code.append(i)
    return code


def _one_by_one(op: Op, n: int, x: Any) -> Any:
    return np.stack([op.forward(row) for row in x])
