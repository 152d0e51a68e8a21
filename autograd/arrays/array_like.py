"""ArrayLike: a Value as Python and NumPy read it, as a number or an array."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from opcode import opmap
from types import FrameType
from typing import TYPE_CHECKING, Any

import numpy as np

from autograd import names
from autograd.errors import DataError, ShapeError
from autograd.modes import check_attached, modes, notice_read
from autograd.op import OPS

from .numpy_calls import BY_NUMPY, answer_to, called
from .plain import MASKED, as_operand

ndarray = np.ndarray
_STORES = {opmap["STORE_SUBSCR"], opmap.get("STORE_SLICE")}  # the instruction of `array[i] = v`


class ArrayLike:
    """What Python and NumPy ask of a number or an array, answered from `_data`. Value is the one class that has it."""

    __slots__ = ()
    __array_priority__ = 1000.0

    _data: Any

    if TYPE_CHECKING:  # Value has them; in truth no `__getattr__`, with which Python reads every attribute slowly

        def __getattr__(self, name: str) -> Any: ...
        def __getitem__(self, index: Any) -> Any: ...

    # --- its size ---------------------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """The size along each axis: `(2, 3)`; `()` for a scalar."""
        data = self._data
        return data.shape if data.__class__ is ndarray else np.shape(data)

    @property
    def ndim(self) -> int:
        """The number of axes; 0 for a scalar."""
        data = self._data
        return data.ndim if data.__class__ is ndarray else np.ndim(data)

    @property
    def size(self) -> int:
        """How many numbers it holds."""
        data = self._data
        return names.Count(data.size if data.__class__ is ndarray else 1)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The kind of number it holds: float64, unless the data came in another precision."""
        return np.asarray(self._data).dtype

    @property
    def T(self) -> Any:
        """All axes reversed."""
        return self.transpose()

    @property
    def mT(self) -> Any:
        """The last two axes swapped: the transpose of each matrix in a batch."""
        return self.swapaxes(-1, -2)

    def __pos__(self) -> Any:
        return self

    # --- as a Python number or sequence ---------------------------------------------------------------------

    def item(self, *index: Any) -> float:
        """The one number it holds, as a Python float; or the one at an index, or at a place in order."""
        if not index:
            found = self._only("item()")
            return found if hasattr(found, "__apply__") else float(found)
        found = self.numpy().item(*index)
        return found if hasattr(found, "__apply__") else float(found)

    def numpy(self) -> np.ndarray[Any, Any]:
        """The data as an array, copied."""
        traced = notice_read(self, ".numpy()")
        return np.array(self._data) if traced is None else traced

    def tolist(self) -> Any:
        """The data as nested lists of Python floats; a scalar as one float."""
        traced = notice_read(self, ".tolist()")
        return traced if traced is not None else np.asarray(self._data).tolist()

    def __float__(self) -> float:
        number = float(self._only("float(v)"))
        if self.requires_grad:
            self._check_written(sys._getframe(1))
            check_attached(self)
        return number

    def __int__(self) -> int:
        number = int(self._only("int(v)"))
        if self.requires_grad:
            self._check_written(sys._getframe(1))
        return number

    def __index__(self) -> int:
        """An integer where Python wants one: `names[v.argmax()]`, `range(n)`."""
        number = self._only("an index")
        if not isinstance(number, bool) and number == int(number):
            return int(number)
        raise TypeError(f"an index is an integer; {self._called()} holds {number}. Write int(v)")

    def __divmod__(self, other: Any) -> tuple[Any, Any]:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> tuple[Any, Any]:
        return other // self, other % self

    def __bool__(self) -> bool:
        return bool(self._only("bool(v)"))

    def _only(self, who: str) -> Any:
        """The one number it holds."""
        if np.size(self._data) != 1:
            raise ShapeError(
                f"{who} needs exactly one number; {self._called()} has shape {self.shape}. Pick one, v[i], or write "
                "v.data for all of them, (v.data > 0).all() for a truth."
            )
        traced = notice_read(self, who)
        return np.asarray(self._data).item() if traced is None else traced

    def __contains__(self, item: Any) -> bool:
        if modes.tracer is not None:
            return bool(OPS["any"](OPS["equal"](self, item)))
        notice_read(self, "in")
        return getattr(item, "_data", item) in np.asarray(self._data)

    def __len__(self) -> int:
        if np.ndim(self._data) == 0:
            raise TypeError("a scalar Value has no len()")
        return len(self._data)

    def __iter__(self) -> Iterator[Any]:
        if np.ndim(self._data) == 0:
            raise TypeError("a scalar Value cannot be iterated over")
        return (self[i] for i in range(len(self._data)))

    def __setitem__(self, index: Any, new: Any) -> None:
        raise TypeError(
            f"{self._called()} cannot be changed in place: the graph that used it would be wrong. "
            "Write where(mask, new, v) or concatenate([...]) to build a new Value, or set a leaf's .data as a whole."
        )

    def __repr__(self) -> str:
        shown = notice_read(self, "text") or str  # of text that comes back, a program knows
        data = self._data
        if isinstance(data, ndarray):
            text = np.array2string(data, precision=4, separator=", ", threshold=24, prefix="Value(")
            if data.size > 24 or not data.size:
                text += f", shape={data.shape}"
            if data.dtype != np.float64:
                text += f", dtype={data.dtype}"
        else:
            text = repr(data) if data.__class__ in (float, bool) else f"{data}, dtype={data.dtype}"
        if self.name is not None:
            text += f", name={self.name!r}"
        if self.op is not None:
            text += f", op={self.op.name!r}"
        if self.grad is not None and np.ndim(self.grad) == 0:
            text += f", grad={self.grad}"
        return shown(f"{type(self).__name__}({text})")

    def __format__(self, spec: str) -> str:
        if not spec:
            return str(self)
        shown = notice_read(self, "text")
        return format(self._only("format(v)"), spec) if shown is None else shown(format(float(self._data), spec))

    def _check_written(self, frame: FrameType) -> None:
        """Refuse `array[i] = v`. NumPy only asks for `float(v)` there, so the caller's instruction has to tell."""
        if frame.f_code.co_code[frame.f_lasti] in _STORES:
            raise DataError(
                f"{self._called()} cannot be written into a plain array: its gradient would be lost silently. "
                "Make the array from its entries, stack([...]).reshape(shape), or write array[i] = v.data for the "
                "number alone."
            )

    # --- NumPy's functions ----------------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """`np.exp(v)`, and an array on the left of an operator."""
        answer = answer_to(ufunc)
        if answer is None or method != "__call__":
            raise no_gradient(called(ufunc) if method == "__call__" else f"{called(ufunc)}.{method}")
        if "out" in kwargs:
            raise TypeError(
                f"np.{ufunc.__name__} cannot write a Value into an array (`array -= v` does): its gradient would be "
                "lost silently. Write `array = array - v`, or use v.data."
            )
        return answer(*(x if hasattr(x, "__apply__") else as_operand(x) for x in inputs), **kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """`np.sum(v, axis=0)`, `np.concatenate([...])`: NumPy's functions become ops of the same meaning."""
        answer = BY_NUMPY.get(func)
        if answer is None:
            raise no_gradient(called(func))
        return answer(*args, **kwargs)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        if not self.requires_grad and self.dtype.kind in "iub":  # places and truths: `np.eye(3)[v.argmax(axis=1)]`
            traced = notice_read(self, "an index of an array")
            return np.array(self._data if traced is None else traced, dtype)
        raise DataError(
            f"{self._called()} cannot become a plain array on its own: its gradient would be lost silently. "
            "Write v.data (or v.detach().data) if that is what you want; for a list of Values, autograd.stack([...])."
        )

    @property
    def _mask(self) -> Any:
        """Read by `masked_array * v` before it takes `v._data`, which would lose the graph."""
        raise DataError(MASKED)


def no_gradient(function: str) -> TypeError:
    """The error for a NumPy function (or its operator) that no op stands for."""
    return TypeError(
        f"{function} of a Value has no gradient here. Write it with autograd's ops, or use v.data for plain numbers."
    )
