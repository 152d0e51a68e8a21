"""Tensors that no gradient reaches, but whose numbers change with those of the leaves: `x > 0`, `x.detach()`.

They are nodes of the recorded run too, so that it chooses anew when it is run on other numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ..engine import Value
from ..op import OPS
from .run import SAME_NUMBERS, gap_between
from .tensors import as_array


class Followed:
    """The nodes of such tensors. One that is written over is followed no longer."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, Any, Value]] = {}  # a tensor (its id stays its own), its numbers, node

    def get(self, tensor: Any) -> Value | None:
        """The node of a tensor, or None. Its numbers are looked at: torch counts no writes through `.data`."""
        if id(tensor) not in self._known:
            return None
        _, before, value = self._known[id(tensor)]
        return value if np.array_equal(before, as_array(tensor), equal_nan=True) else None

    def add(self, tensor: Any, value: Any) -> None:
        """Follow a tensor, if its node has the same numbers. Whole numbers (places, sizes) rules have to know."""
        theirs = as_array(tensor)
        if not isinstance(value, Value) or value.shape != theirs.shape or value.dtype != theirs.dtype:
            return
        if tensor.dtype is torch.bool:
            same = np.array_equal(value.data, theirs)
        else:
            same = tensor.is_floating_point() and gap_between(value.data, theirs) <= SAME_NUMBERS
        if same:
            value = OPS["detached"](value) if value.requires_grad else value
            self._known[id(tensor)] = tensor, theirs, value
