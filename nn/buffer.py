"""Buffer: numbers that a module keeps and saves, and that no optimizer moves, such as a running mean.

    self.mean = nn.Buffer(np.zeros(3))            # in __init__
    self.mean = 0.9 * self.mean + 0.1 * new.data  # in forward: it stays a buffer

A buffer is an ordinary attribute that holds an array. The module only remembers its name, shape and dtype.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from autograd import Value
from autograd.errors import DataError, ShapeError
from autograd.modes import plain_data

if TYPE_CHECKING:
    from .module import Module

__all__ = ["Buffer"]


class Buffer:
    """An array that becomes a buffer when it is set as an attribute of a module; `persistent=False`: in no file.

    >>> from nn import Module
    >>> class Counter(Module):
    ...     def __init__(self):
    ...         self.calls = Buffer(0)
    ...     def forward(self, x):
    ...         self.calls = self.calls + 1
    ...         return x
    >>> counter = Counter()
    >>> counter(1.0), counter.calls, counter.state_dict()
    (1.0, array(1), {'calls': array(1)})
    """

    def __init__(self, array: Any, persistent: bool = True) -> None:
        array = np.array(plain_data(array, "np.asarray(v)"))
        if array.dtype.kind not in "fiub":
            raise DataError(f"a buffer holds real numbers; got dtype {array.dtype}: {array!r:.60}")
        self.array, self.persistent = array, persistent


class Kind(NamedTuple):
    """What a module remembers of a buffer."""

    shape: tuple[int, ...]
    dtype: str
    persistent: bool

    def fitted(self, who: str, value: Any) -> Any:
        """What was set in place of the buffer, as an array of its own shape and dtype."""
        value = value.data if isinstance(value, Value) else value
        traced = hasattr(value, "__apply__")
        if not (traced or isinstance(value, np.ndarray | np.generic | bool | int | float | list | tuple)):
            return value
        if np.shape(value) != self.shape:
            raise ShapeError(
                f"the buffer {who} has shape {self.shape}; numbers of shape {np.shape(value)} cannot take its place"
            )
        return value.astype(self.dtype) if traced else np.array(value, self.dtype)


class Place:
    """A buffer in its module, for files: its array can be read and replaced."""

    def __init__(self, module: Module, name: str) -> None:
        self.module, self.name = module, name

    @property
    def data(self) -> np.ndarray[Any, Any]:
        """The array."""
        array: np.ndarray[Any, Any] = vars(self.module)[self.name]
        return array

    @data.setter
    def data(self, array: Any) -> None:
        vars(self.module)[self.name] = np.array(array)

    @property
    def dtype(self) -> Any:
        """The dtype of the array."""
        return self.data.dtype
