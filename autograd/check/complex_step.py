"""The complex step: f(x + ih) / h has the derivative in its imaginary part, with no cancellation, for any tiny h.

It runs the recorded forward functions on raw complex arrays. Not every forward function may be used so (`abs` and
comparisons forget the imaginary part), and a list of those that may would go out of date. So each op is tried, once,
on its own samples: complex step and central difference must agree.
"""

from __future__ import annotations

import functools
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from ..op import OPS, Op
from ..program.program import Instruction
from ..program.replay import Replay
from .probe import Probe

Array = np.ndarray[Any, Any]

TINY = 1e-150
UNDERFLOW = float(np.finfo(np.float64).tiny) / TINY  # a slope smaller than this may come out as 0


def complex_slopes(probe: Probe, places: Array) -> Array | None:
    """The derivatives at some entries, or None if some op on the way takes no complex numbers."""
    if probe.replay is None:
        return None
    slopes = np.empty(len(places))
    for start in range(0, len(places), probe.replay.portion):
        some = slice(start, start + probe.replay.portion)
        try:
            slopes[some] = _slopes(probe, probe.replay, places[some])
        except Exception:  # whatever a forward function makes of complex numbers: then there is no answer
            return None
    return slopes


def _strict(f: Callable[..., Any]) -> Callable[..., Any]:
    """Any warning in the function is an error, as a discarded imaginary part is one, but for those of `quiet`."""

    @np.errstate(all="ignore")
    @functools.wraps(f)
    def run(*args: Any) -> Any:
        before = warnings.filters
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                return f(*args)
        finally:
            warnings.filters = before  # the end of catch_warnings is Python, and a signal there would leave it undone

    return run


@_strict
def _slopes(probe: Probe, replay: Replay, places: Array) -> Any:
    n = len(places)
    rows = np.empty((n, probe.x.size), dtype=np.complex128)
    rows[:] = probe.x
    rows[np.arange(n), places] += 1j * TINY
    known: dict[Any, Any] = dict(zip(probe.subject.sources, probe.by_source(rows)))
    total: Any = np.zeros(n)
    for result, u in zip(replay.run(n, known, _moves), probe.weights):
        if u is not None and result is not None:
            total = total + (result.imag / TINY).reshape(n, np.size(u)) @ np.reshape(u, -1)
    return total


def _moves(i: Instruction) -> bool:
    """What passes no gradient on (a comparison) does not change with an imaginary part: it stays as recorded."""
    if i.op.differentiable and not takes_complex(i.op.base):
        raise TypeError(f"{i.op.name} takes no complex numbers")
    return i.op.differentiable


def takes_complex(op: Op) -> bool:
    """Whether the op's forward function is also right on complex arrays, as its own samples show."""
    if op not in _found:
        _found[op] = _is_right_on_complex(op)
    return _found[op]


_found: weakref.WeakKeyDictionary[Op, bool] = weakref.WeakKeyDictionary()  # a user's op may come and go


def _is_right_on_complex(op: Op) -> bool:
    if OPS.get(op.name) is not op or not op.samples:
        return False
    tried = False
    for sample in op.samples:
        f, inputs = op.on(sample)
        varied = [
            i for i, x in enumerate(inputs) if isinstance(x, float | np.ndarray) and np.asarray(x).dtype.kind == "f"
        ]
        if not varied or any(np.size(inputs[i]) == 0 for i in varied):
            continue
        rng = np.random.default_rng(0)
        v = {i: rng.normal(size=np.shape(inputs[i])) for i in varied}
        try:
            by_complex, by_difference = _two_ways(f, inputs, v)
        except Exception:
            return False
        if not np.allclose(by_complex, by_difference, rtol=1e-5, atol=1e-7, equal_nan=True):
            return False
        tried = True
    return tried


@_strict
def _two_ways(f: Any, inputs: list[Any], v: dict[int, Any]) -> tuple[Any, Any]:
    """The derivative along v by the complex step, and by a central difference."""
    by_complex = np.imag(_moved(f, inputs, v, 1j * TINY)) / TINY
    return by_complex, (np.asarray(_moved(f, inputs, v, 1e-6)) - _moved(f, inputs, v, -1e-6)) / 2e-6


def _moved(f: Any, inputs: list[Any], v: dict[int, Any], h: complex) -> Any:
    return f(*(np.asarray(x) + h * v[i] if i in v else x for i, x in enumerate(inputs)))
