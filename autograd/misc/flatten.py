"""flatten: nested lists, tuples and dicts of numbers as one vector, and the way back.

>>> flat, back = flatten({"w": [1.0, 2.0], "b": 3.0})
>>> flat, back(flat * 2)
(array([3., 1., 2.]), {'b': 6.0, 'w': [2.0, 4.0]})
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autograd import tree
from autograd.op import OPS, shape_of


def flatten(value: Any) -> tuple[Any, Callable[[Any], Any]]:
    """The numbers as one vector, dicts by sorted keys; and the function that puts a vector back into the nest."""
    leaves, structure = tree.flatten(_sorted(value))
    shapes = [shape_of(x) for x in leaves]
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes]).tolist()

    def unflatten(vector: Any) -> Any:
        parts = [vector[start:end].reshape(shape) for start, end, shape in zip([0, *ends], ends, shapes)]
        return tree.unflatten(structure, [part if hasattr(part, "op") or part.ndim else float(part) for part in parts])

    return OPS["concatenate"]([OPS["reshape"](x, -1) for x in leaves]) if leaves else np.zeros(0), unflatten


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return type(value)(map(_sorted, value))
    return value


def flatten_func(func: Callable[..., Any], example: Any) -> tuple[Callable[..., Any], Callable[[Any], Any], Any]:
    """func as a function of vectors; the way back from a vector; and the example as one."""
    flat, unflatten = flatten(example)
    return (lambda vector, *args: flatten(func(unflatten(vector), *args))[0]), unflatten, flat
