"""Which Value each tensor stands for, also where tensors share memory and are written to.

torch's tensors are windows on memory: views, `detach()` and `.data` look at the same numbers, and writing through one
changes them all. Values never change. So each write is kept, in order, with the places in memory that it covers; a
tensor that is read after writes it has not seen gets a new Value, put together from its old one and what was written.
Only places in memory count: it does not matter how a view came about.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import autograd as ag
from autograd.engine import Value

Array = np.ndarray[Any, Any]


@dataclass
class Write:
    """New numbers at some places in memory: a Value with a gradient, or plain numbers."""

    places: Array
    data: Any  # a Value; or a plain array
    hidden: bool  # under no_grad, or through .data: torch's gradient passes as if nothing had been written


@dataclass
class Storage:
    """One piece of memory: what was written to it, and the tensors seen that look at it."""

    writes: list[Write] = field(default_factory=list)
    tensors: list[Any] = field(default_factory=list)
    tangled: bool = False


@dataclass
class Known:
    """A tensor (held, so that its id stays its own), its Value, and how many writes that Value has seen."""

    tensor: Any
    value: Any
    seen: int


class Memory:
    """The Values of all tensors that carry a gradient."""

    def __init__(self, as_array: Any) -> None:
        self._as_array = as_array
        self._known: dict[int, Known] = {}
        self._storages: dict[int, Storage] = {}

    def touched(self, tensor: Any) -> bool:
        """Whether some tensor that shares memory with this one has a Value."""
        return _key(tensor) in self._storages

    def set(self, tensor: Any, value: Any) -> None:
        """A tensor and the Value that it stands for from now on."""
        storage = self._storages.setdefault(_key(tensor), Storage())
        if id(tensor) not in self._known:
            storage.tensors.append(tensor)
        self._known[id(tensor)] = Known(tensor, value, len(storage.writes))

    def write(self, tensor: Any, data: Any, hidden: bool = False, tangles: bool = True) -> None:
        """A tensor was written to: it and all that share its memory now hold `data`, each at its own places.

        `tangles` if torch's graph has the write too.
        """
        storage = self._storages.setdefault(_key(tensor), Storage())
        storage.writes.append(Write(places(tensor), data, hidden))
        storage.tangled = storage.tangled or (tangles and any(t is not tensor for t in storage.tensors))
        if not hidden:
            self.set(tensor, data)

    def tangled(self, tensor: Any) -> bool:
        """Whether its memory was written to while several tensors looked at it.

        torch then gives each of them a new place in its graph, and shares a gradient out among them in its own way:
        the sums that reach other tensors are the same, but these cannot be compared one by one.
        """
        storage = self._storages.get(_key(tensor))
        return storage is not None and storage.tangled

    def views(self, tensor: Any) -> list[Any]:
        """The Values of all tensors that look at this one's memory as views."""
        storage = self._storages.get(_key(tensor))
        tensors = [] if storage is None else storage.tensors
        values = [self._known[id(t)].value for t in tensors if t._base is not None]
        return [v for v in values if isinstance(v, Value)]

    def get(self, tensor: Any, of: Iterable[Any] = ()) -> Any:
        """The Value of a tensor, after all that was written to its memory; None if nothing is known of it.

        Of a view that is met for the first time, `of` are the tensors it was made from: their Values come first.
        """
        storage = self._storages.get(_key(tensor))
        if storage is None:
            return None
        known = self._known.get(id(tensor)) or self._derived(tensor, storage, of)
        if known is None:
            return None
        for write in storage.writes[known.seen :]:
            known.value = overlaid(known.value, places(tensor), write)
        known.seen = len(storage.writes)
        return known.value

    def _derived(self, tensor: Any, storage: Storage, of: Iterable[Any]) -> Known | None:
        """A tensor that looks at known memory, met for the first time: part of another one, or plain but for writes."""
        own = places(tensor)
        ids = {id(x) for x in of}
        for other in sorted(storage.tensors, key=lambda x: (id(x) not in ids, x.is_leaf != tensor.is_leaf)):
            theirs = places(other)
            at = _lookup(own, theirs)
            if (at >= 0).all():
                self.set(tensor, picked(self.get(other), at, theirs.shape))
                return self._known[id(tensor)]
        if not storage.writes:
            return None
        self.set(tensor, self._as_array(tensor))
        self._known[id(tensor)].seen = 0
        return self._known[id(tensor)]


def _key(tensor: Any) -> int:
    return tensor.untyped_storage()._cdata


def places(tensor: Any) -> Array:
    """For each entry of a tensor, its place in memory."""
    out = np.full((), tensor.storage_offset())
    for size, stride in zip(tensor.shape, tensor.stride(), strict=True):
        out = out[..., None] + np.arange(size) * stride
    return out


def _lookup(own: Array, others: Array) -> Array:
    """For each place of one tensor, which entry of another has it; -1 where none has."""
    if own.shape == others.shape and np.array_equal(own, others):
        return np.arange(own.size).reshape(own.shape)
    top = max(int(own.max(initial=0)), int(others.max(initial=0))) + 1
    entry = np.full(top, -1)
    entry[others.reshape(-1)] = np.arange(others.size)
    return entry[own]


def picked(value: Any, at: Array, shape: tuple[int, ...]) -> Any:
    """The entries of a Value, numbered in order, that stand at these places."""
    if at.shape == shape and np.array_equal(at.reshape(-1), np.arange(at.size)):
        return value
    flat = ag.reshape(value, (-1,))
    return ag.reshape(flat[at.reshape(-1)], at.shape)


def overlaid(value: Any, own: Array, write: Write) -> Any:
    """What a tensor stands for after a write: the new numbers where it looks at them, its own elsewhere."""
    at = _lookup(own, write.places)
    hit = at >= 0
    if not hit.any():
        return value
    if write.hidden:
        if not isinstance(value, Value):
            return np.where(hit, np.reshape(write.data, -1)[np.maximum(at, 0)], value)
        now = np.where(hit, np.reshape(write.data, -1)[np.maximum(at, 0)], value.data)
        return value + (now - value.data)  # a constant is added: the gradient passes unchanged
    new = picked(write.data, np.maximum(at, 0), write.places.shape)
    return new if hit.all() else ag.where(hit, new, value)
