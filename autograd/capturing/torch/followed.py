"""Tensors that no gradient reaches, but whose numbers change with those of the leaves: `x > 0`, `x.detach()`.

They are nodes of the recorded run too, so that it chooses again when it is run on other numbers; and where one of them
is on the way to the loss, the way of a gradient was cut.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from autograd.arrays.plain import as_plain
from autograd.engine import Value
from autograd.op import OPS

from ..run import Cut, near
from .tensors import as_array, unit_of


class Followed:
    """The nodes of such tensors. One that is written over is followed no longer."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, Any, Value]] = {}  # a tensor (its id stays its own), its numbers, node
        self.cuts: dict[Value, Cut] = {}  # the nodes at which a gradient ends

    def get(self, tensor: Any) -> Value | None:
        """The node of a tensor, or None. Its numbers are looked at: torch counts no writes through `.data`."""
        if id(tensor) not in self._known:
            return None
        _, before, value = self._known[id(tensor)]
        return value if np.array_equal(before, as_array(tensor), equal_nan=True) else None

    def __contains__(self, number: int) -> bool:
        """Whether a tensor of this id is followed."""
        return number in self._known

    def leave(self, tensor: Any) -> Value | None:
        """Follow a tensor no longer: it has become a leaf. The node that it had."""
        return self._known.pop(id(tensor), (None, None, None))[2]

    def add(self, tensor: Any, value: Any, cut: Cut | None = None) -> None:
        """Follow a tensor, if its node has the same numbers. Integers (places, sizes) rules have to know."""
        theirs = as_array(tensor)
        if not isinstance(value, Value) or value.shape != theirs.shape or value.dtype != theirs.dtype:
            return
        if tensor.dtype is torch.bool:
            same = np.array_equal(value.data, theirs)
        else:
            same = tensor.is_floating_point() and near(value.data, theirs, unit_of(tensor.dtype))[0]
        if same:
            ends = value.requires_grad
            if ends or not np.array_equal(value.data, theirs, equal_nan=True):
                value = OPS["detached"](value)
                value._data = as_plain(theirs)
            if ends and cut is not None:
                self.cuts[value] = cut
            self._known[id(tensor)] = tensor, theirs, value
