"""What a run of a torch model may change, kept and put back: buffers, parameters, modes, flags, random numbers."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np


class KeptState:
    """The state of some modules before a run; `restore` puts it back, whatever happened in between."""

    def __init__(self, torch: Any, modules: Iterable[Any]) -> None:
        self._torch = torch
        self._modules = list(dict.fromkeys(modules))
        self._modes = [(m, m.training) for m in self._modules]
        self._tables = [(table, dict(table)) for m in self._modules for table in (m._buffers, m._parameters)]
        tensors = {id(t): t for _, table in self._tables for t in table.values() if t is not None}
        self._flags = [(t, t.requires_grad) for t in tensors.values()]
        self._buffers = [(t, t.detach().clone()) for m in self._modules for t in m._buffers.values() if t is not None]
        self._written: dict[int, tuple[Any, Any]] = {}
        self._left: list[tuple[Any, Any]] = []
        self._random = self._random_left = self._generators()
        self._parameters = {
            t.untyped_storage()._cdata: t for m in self._modules for t in m._parameters.values() if t is not None
        }

    def before_write(self, tensor: Any) -> None:
        """A tensor is about to be written to: if it is (part of) a parameter, keep that parameter's numbers."""
        whole = self._parameters.get(tensor.untyped_storage()._cdata)
        if whole is not None and id(whole) not in self._written:
            self._written[id(whole)] = whole, whole.detach().clone()

    def restore(self) -> None:
        """Put everything back."""
        self._random_left = self._generators()
        for table, before in self._tables:
            table.clear()
            table.update(before)
        for tensor, before in (*self._buffers, *self._written.values()):
            if not same_numbers(tensor, before):
                self._left.append((tensor, tensor.detach().clone()))
                tensor.data.copy_(before)  # .data: the version that torch's backward pass looks at stays as it is
        for tensor, flag in self._flags:
            if tensor.requires_grad != flag:
                tensor.requires_grad_(flag)
        for module, training in self._modes:
            module.training = training
        self._set_generators(self._random)

    def rewind(self) -> None:
        """The random generators as they were before the run."""
        self._set_generators(self._random)

    def _generators(self) -> tuple[Any, ...]:
        """The states of the random generators of Python, NumPy and torch."""
        return random.getstate(), np.random.get_state(), self._torch.get_rng_state()  # noqa: NPY002

    def _set_generators(self, states: tuple[Any, ...]) -> None:
        theirs, numpys, torchs = states
        random.setstate(theirs)
        np.random.set_state(numpys)  # noqa: NPY002
        self._torch.set_rng_state(torchs)

    @contextlib.contextmanager
    def as_left(self) -> Iterator[None]:
        """The numbers that the run left in what it wrote to, and the random generators as it left them: torch's
        backward pass reads both. Then those of now."""
        generators = self._generators()
        now = [(tensor, tensor.detach().clone()) for tensor, _ in self._left]
        try:
            for tensor, left in self._left:
                tensor.data.copy_(left)
            self._set_generators(self._random_left)
            yield
        finally:
            self._set_generators(generators)
            for tensor, before in now:
                tensor.data.copy_(before)


def same_numbers(a: Any, b: Any) -> bool:
    """Equal to the bit, NaN included."""
    return a.shape == b.shape and bool(((a == b) | ((a != a) & (b != b))).all())
