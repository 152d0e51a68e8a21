"""What is changed for a while and set back to what it was, also where a signal (Ctrl-C) comes: attributes of objects,
and whether Python looks for cycles.
"""

from __future__ import annotations

import functools
import gc
from collections import deque
from collections.abc import Callable, Iterable
from itertools import repeat
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])


def sets_back(name: str, objects: Iterable[Any]) -> Callable[[], Any]:
    """A function that gives this attribute of each object the value that it has now: to be called first in a `finally`.

        set_back = sets_back("training", modules)
        try:
            ...  # change them
        finally:
            set_back()

    It is one call in C. Python runs signal handlers where a Python function begins, after a call and where a loop goes
    back: so never before this call, nor halfway. The end of a context manager, if it is Python, begins as a function.
    """
    objects = list(objects)
    values = [getattr(x, name) for x in objects]
    return functools.partial(deque, map(object.__setattr__, objects, repeat(name), values), 0)


def without_collection(f: F) -> F:
    """A decorator: while the function runs, Python does not look for cycles. For one that makes many objects and no
    cycles: to look through them again and again takes as long as to make them.
    """

    @functools.wraps(f)
    def run(*args: Any, **kwargs: Any) -> Any:
        was_on = gc.isenabled()
        try:
            gc.disable()
            return f(*args, **kwargs)
        finally:
            if was_on:
                gc.enable()

    return cast(F, run)
