"""Gradient checks as HIPS autograd calls them: `check_grads(f, modes=["rev"], order=2)(x)`."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from .check import assert_grads
from .hips import elementwise_grad
from .tree import flatten, unflatten

MODES = {"rev": "reverse", "fwd": "forward"}
NEAR = {"rtol": 1e-6, "atol": 1e-6}  # theirs


def check_grads(
    f: Callable[..., Any], argnum: Any = 0, modes: Iterable[str] = ("fwd", "rev"), order: int = 2
) -> Callable[..., None]:
    """A function of f's arguments that raises GradientError, an AssertionError, where a gradient of f is wrong.

    >>> check_grads(lambda x: x**2, modes=["rev"], order=1)(3.0)
    """

    def check(*args: Any, **settings: Any) -> None:
        places = [argnum] if isinstance(argnum, int) else list(argnum)
        inputs = [_as_floats(args[place]) for place in places]

        def of_those(*given: Any) -> Any:
            filled = list(args)
            for place, x in zip(places, given, strict=True):
                filled[place] = x
            return f(*filled, **settings)

        for mode in modes:
            if order > 2:
                slope = elementwise_grad(of_those, range(len(places)))
                check_grads(slope, range(len(places)), [mode], order - 1)(*inputs)
            assert_grads(of_those, *inputs, order=min(order, 2), mode=MODES[mode], allow=("kink",), **NEAR)

    return check


def _as_floats(x: Any) -> Any:
    """The same nest with its integers as floats: an integer cannot be moved a little."""
    leaves, structure = flatten(x)
    return unflatten(structure, [x * 1.0 if np.asarray(x).dtype.kind in "iub" else x for x in leaves])


def combo_check(f: Callable[..., Any], *given: Any, **settings: Any) -> Callable[..., None]:
    """`check_grads` at every combination of the arguments in these lists."""
    check = check_grads(f, *given, **settings)

    def all_of(*choices: Any, **named: Any) -> None:
        for args in itertools.product(*choices):
            for values in itertools.product(*named.values()):
                check(*args, **dict(zip(named, values)))

    return all_of


def scalar_close(a: Any, b: Any) -> bool:
    """Whether two numbers agree to about six digits."""
    return bool(abs(a - b) < 1e-6 or abs(a - b) / abs(a + b) < 1e-6)


def check_equivalent(x: Any, y: Any) -> None:
    """Raise AssertionError unless two nests of numbers agree in their shapes and to about six digits."""
    ours, theirs = flatten(x)[0], flatten(y)[0]
    assert [np.shape(a) for a in ours] == [np.shape(b) for b in theirs], f"other shapes: {x} and {y}"
    assert all(np.allclose(getattr(a, "_data", a), getattr(b, "_data", b), 1e-6, 1e-6) for a, b in zip(ours, theirs)), (
        f"other numbers: {x} and {y}"
    )
