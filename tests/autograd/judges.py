"""Judges of a gradient that know nothing of its formula, and the tools that the engine's tests share."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from autograd import Value, vjp
from autograd.op import OPS, Op
from autograd.ops.fused import _blocks, _rows
from autograd.ops.matrices import linear
from autograd.samples import Sample
from tests.sweep import sweep

Function = Callable[..., Any]


def is_real(x: Any) -> bool:
    """Whether x is data that a gradient can belong to: a float or an array of floats, no mask, index or None."""
    return x is not None and np.asarray(x).dtype.kind == "f"


def real_positions(xs: list[Any]) -> list[int]:
    return [i for i, x in enumerate(xs) if is_real(x)]


def of_the_reals(f: Function, xs: list[Any]) -> tuple[Function, list[Any]]:
    """f as a function of its real inputs alone, the others held; and those inputs."""
    real = real_positions(xs)

    def g(*reals: Any) -> Any:
        filled = list(xs)
        for i, x in zip(real, reals, strict=True):
            filled[i] = x
        return f(*filled)

    return g, [xs[i] for i in real]


@functools.cache
def uneven(shape: tuple[int, ...], seed: int = 0) -> np.ndarray[Any, Any]:
    """A random cotangent without equal entries: all ones would be blind to softmax and layer norm."""
    sizes, signs = np.random.default_rng(seed), np.random.default_rng(seed + 1)
    found = sizes.uniform(0.5, 1.5, shape) * signs.choice([-1, 1], shape)
    if shape:
        found.setflags(write=False)  # all tests share it
    return found


def plain(x: Any) -> Any:
    return x.data if isinstance(x, Value) else x


def numeric_gradients(f: Function, xs: list[Any], cotangent: Any, step: float = 1e-3) -> list[np.ndarray[Any, Any]]:
    """The derivative of sum(cotangent * f(*xs)) in every entry of every x, from values of f alone.

    The five-point central difference: its error is of order step⁴, so that 1e-3 leaves about eleven digits.
    """

    def weighed(i: int, x: np.ndarray[Any, Any]) -> float:
        moved = [x.copy() if j == i else other for j, other in enumerate(xs)]
        if np.ndim(xs[i]) == 0:
            moved[i] = float(x)
        return float(np.sum(np.asarray(cotangent) * np.asarray(plain(f(*moved)))))

    gradients = []
    for i, x in enumerate(xs):
        base = np.array(x, dtype=np.float64)
        gradient = np.zeros_like(base)
        for entry in np.ndindex(base.shape):
            if not np.isfinite(base[entry]):  # a mask's -inf does not move
                continue
            h = step * max(1.0, abs(base[entry]))
            at = {}
            for k in (-2, -1, 1, 2):
                shifted = base.copy()
                shifted[entry] += k * h
                at[k] = weighed(i, shifted)
            gradient[entry] = (8 * (at[1] - at[-1]) - (at[2] - at[-2])) / (12 * h)
        gradients.append(gradient)
    return gradients


def assert_close(got: Any, expected: Any, what: str = "", tolerance: float = 1e-8, floor: float = 1e-3) -> None:
    """Equal shapes, and numbers that agree relative to the largest of them (or to `floor`, if that is larger)."""
    got, expected = (np.asarray(plain(x), dtype=np.float64) for x in (got, expected))
    assert got.shape == expected.shape, f"{what}: shape {got.shape}, expected {expected.shape}"
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(got[~finite], expected[~finite], err_msg=what)
    scale = max(float(np.max(np.abs(expected[finite]), initial=0.0)), floor)
    worst = float(np.max(np.abs(got[finite] - expected[finite]), initial=0.0))
    assert worst <= tolerance * scale, f"{what}: off by {worst:.3g} at scale {scale:.3g}\n{got}\nexpected\n{expected}"


@contextlib.contextmanager
def everything_is_large() -> Iterator[None]:
    """Pieces of three numbers, and the ways that only many numbers take."""
    bounds = {
        **{(_blocks, "BLOCK"): 3 * 8, (_rows, "LARGE"): 1, (linear, "LARGE"): 1},
        **{(_rows, "SMALL"): 0, (_rows, "SHORT"): 0},
    }
    before = {(module, name): getattr(module, name) for module, name in bounds}
    try:
        for (module, name), bound in bounds.items():
            setattr(module, name, bound)
        yield
    finally:
        for (module, name), bound in before.items():
            setattr(module, name, bound)


def cases(which: Callable[[Op], bool] = lambda op: True) -> list[tuple[Op, Sample]]:
    """Every (op, sample) of the table."""
    return [(op, sample) for op in OPS.values() if which(op) for sample in op.samples]


def every_sample(which: Callable[[Op], bool] = lambda op: True) -> Callable[[Function], Function]:
    """Test an op and a sample: the first sample of every op in one test, all the others in a slow one."""
    return sweep("op, sample", cases(which), ids=case_name, slow=lambda op, sample: sample is not op.samples[0])


def every_op(which: Callable[[Op], bool] = lambda op: True) -> Callable[[Function], Function]:
    """Test an op, all of them in one test."""
    return sweep("op", [op for op in OPS.values() if which(op)], ids=case_name)


def case_name(case: Any) -> str:
    return case.name if isinstance(case, Op) else " ".join(repr(case).split()) if isinstance(case, Sample) else ""


# --- the generated judgements: a planted wrong rule must fail one of them -------------------------------------


def judge_first_order(op: Op, sample: Sample) -> None:
    """The rule against finite differences, with a cotangent without equal entries."""
    f, xs = of_the_reals(*op.on(sample))
    out, pull = vjp(f, *xs)
    cotangent = uneven(np.shape(out))
    for i, (got, expected) in enumerate(zip(pull(cotangent), numeric_gradients(f, xs, cotangent), strict=True)):
        assert_close(got, expected, f"{op.name}: gradient of input {i}")


def judge_second_order(op: Op, sample: Sample) -> None:
    """The gradient of the gradient against finite differences of the gradient: of all its entries, unevenly weighed."""
    f, xs = of_the_reals(*op.on(sample))

    def weighed(u: Any, *xs: Any) -> Any:
        gradients = vjp(f, *xs)[1](u)
        return sum((g * uneven(np.shape(g), seed=7 + i)).sum() for i, g in enumerate(gradients))

    u = uneven(np.shape(vjp(f, *xs)[0]))
    _, pull = vjp(weighed, u, *xs)
    for j, (second, numeric) in enumerate(zip(pull(1.0), numeric_gradients(weighed, [u, *xs], 1.0), strict=True)):
        assert_close(second, numeric, f"{op.name}: gradient by {'u' if j == 0 else j - 1}", tolerance=1e-7)
