"""NumPy's floating-point warnings, off for one call and for no longer, also where a signal (Ctrl-C) ends the call."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextvars import copy_context
from typing import Any, TypeVar, cast

import numpy as np

F = TypeVar("F", bound=Callable[..., Any])


def ignoring(*kinds: str) -> Callable[[F], F]:
    """A decorator: the function runs with NumPy's warnings of these kinds off ("divide", "over", "under", "invalid").

    Why not `with np.errstate(...)`: it ends in Python, and a signal at its first instruction there would leave the
    warnings off for the rest of the process. NumPy keeps what it warns of in the context, and here the function runs in
    a copy of its caller's context, which only C code enters and leaves: nothing is changed that could be left so.

    Not for generators, whose body runs after the call.
    """
    off: Any = dict.fromkeys(kinds, "ignore")

    def decorate(f: F) -> F:
        inside = np.errstate(**off)(f) if kinds else f

        @functools.wraps(f)
        def run(*args: Any, **kwargs: Any) -> Any:
            return copy_context().run(inside, *args, **kwargs)

        return cast(F, run)

    return decorate


quiet = ignoring("all")
contained = ignoring()  # for what uses errstate itself, as np.linalg does: it warns as ever, and leaves nothing changed
allclose = contained(np.allclose)


@contained
def default_rng(seed: Any = None) -> np.random.Generator:
    """NumPy's, which imports numpy.random only when it is called."""
    return np.random.default_rng(seed)
