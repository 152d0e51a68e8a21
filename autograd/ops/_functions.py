"""Functions of ops: public names that need no rule, because they are written with ops that have one."""

import inspect
from collections.abc import Callable
from typing import Any

from autograd.arrays.numpy_calls import answers
from autograd.names import by_other_names

FUNCTIONS: dict[str, Callable[..., Any]] = {}  # by public name; one with the name of an op takes its place and calls it
METHODS: dict[str, Callable[..., Any]] = {}  # those that are methods of Value too


def function(*numpy, method=False):
    """Make a function public: `autograd.vstack`, the answer to these NumPy functions, a method of Value if asked."""

    def register(f):
        name = f.__name__.rstrip("_")  # sum_ is called sum outside: here the name is Python's
        f = FUNCTIONS[name] = answers(*numpy)(by_other_names(f))
        if method:
            METHODS[name] = f
        return f

    return register


def as_written(f, name):
    """A forward function that needs nothing but NumPy and math, as text under the op's name, for printed programs."""
    return inspect.getsource(f).replace(f"def {f.__name__}(", f"def {name}(").rstrip()
