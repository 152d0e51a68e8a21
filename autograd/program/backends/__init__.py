"""Backends: what runs a program.

A backend is a module with one function

    def build(program: Program) -> Runner

that gets a program of core ops (`op.lower is None`) and gives a function from the data of its inputs, in the order of
`program.inputs`, to a list of its results, in the order of `program.outputs`. The inputs are Python floats, NumPy
scalars and arrays of the types that the program names; they may change after the call, and so may the results: neither
may share memory with the other, nor with what the runner keeps. A runner is called from several threads at once.
It is held to the interpreter, `interpreter.run`.

A backend may have a function `keeps(op, inputs)`, which says of an op with a lowering that it runs it as it is.
In this package: `interpreter`, the reference; `numpy`, which writes a Python function (`plan`: where each number lives,
`numpy_ops`: the lines of each op, `numpy_passes`: rewrites that pay in NumPy); `c/`; `jax`; `arrays`, for any other
array module.
A runner may have a `reader`, which does what `tracing.inputs.read_plainly` does, in less time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any

Runner = Callable[[Sequence[Any]], list[Any]]

BACKENDS = ("numpy", "c", "jax", "interpreter")
ALSO = {"python": "numpy", "jax.numpy": "jax"}  # other names for them


def backend_name(backend: Any) -> str:
    """One of BACKENDS, from its name or from the array module that it computes with: "jax", or `jax.numpy` itself."""
    name = backend.__name__ if isinstance(backend, ModuleType) else backend
    name = ALSO.get(name, name) if isinstance(name, str) else name
    if name not in BACKENDS:
        names = ", ".join(map(repr, BACKENDS))
        raise ValueError(f"backend is one of {names}, or the module numpy or jax.numpy; got {name!r}")
    return name


def backend_of(name: str) -> ModuleType:
    """The module of a backend, by name."""
    return import_module(f".{name}", __name__)
