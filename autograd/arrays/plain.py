"""Plain data: the numbers and arrays that callers give, and the form in which the engine keeps them."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograd.errors import DataError, ShapeError

ndarray = np.ndarray


def as_data(data: Any) -> Any:
    """A caller's data as a Value keeps it: a float, or an array of its own; integers become float64."""
    if data.__class__ is float:
        return data
    if data.__class__ is ndarray and data.ndim and data.dtype.kind == "f":
        return data.copy("K")  # `p.data -= ...` must never edit the caller's array
    if hasattr(data, "__apply__"):
        raise DataError("a Value cannot hold a Value. Write v.detach() for a copy, or use v itself.")
    check_array_class(data)
    try:
        if isinstance(data, int):
            return float(data)
        array = np.array(data)
    except (TypeError, OverflowError) as error:
        raise DataError(f"a Value holds real numbers that fit into a float; {data!r:.60} does not: {error}") from None
    except ValueError:
        raise ShapeError(
            f"a Value needs a number or a rectangular array of numbers; the rows of {data!r:.60} differ in length"
        ) from None
    if array.dtype.kind in "iub":
        array = array.astype(np.float64)
    if array.dtype.kind != "f":
        raise DataError(
            f"a Value holds real numbers; got {type(data).__name__} of dtype {array.dtype}: {data!r:.60}. "
            "Write Value(2.0), or Value([[1.0, 2.0], [3.0, 4.0]])."
        )
    return array if array.ndim else as_plain(array)


def as_operand(x: Any) -> Any:
    """A plain operand beside a Value: a real number or array of them.

    NumPy's float64 and integers become Python's, so that `v * np.sqrt(2)` leaves a float32 v in float32.
    """
    if x.__class__ is not ndarray and isinstance(x, ndarray):
        check_array_class(x)
        x = np.asarray(x)  # a memory map, say
    if isinstance(x, np.ndarray | np.generic) and x.dtype.kind in "fiub":
        own_precision = x.ndim or (x.dtype.kind == "f" and x.dtype != np.float64)
        return x if own_precision else x.item()
    if x is None or isinstance(x, bool | int | float):
        return x
    if isinstance(x, list | tuple):
        return as_operand(as_data(x))
    raise DataError(f"an operand is a Value, a real number or an array of them; got {type(x).__name__}: {x!r:.60}")


def as_wide(x: Any) -> Any:
    """A plain operand beside a Python float, which stands for a float64: a float32 number becomes one too."""
    return float(x) if isinstance(x, (np.float32, np.float16)) else x


def as_operands(inputs: tuple[Any, ...]) -> tuple[tuple[Any, ...], list[Any]]:
    """The inputs of an op, Values and plain operands, as the engine keeps them; and the data of each."""
    kept = tuple(x if hasattr(x, "__apply__") else as_operand(x) for x in inputs)
    if any(hasattr(x, "__apply__") and x._data.__class__ is float for x in inputs):
        kept = tuple(map(as_wide, kept))
    return kept, [x._data if hasattr(x, "__apply__") else x for x in kept]


def is_mask(x: Any) -> bool:
    """Whether x holds truths: an op of real numbers takes them as 1.0 and 0.0, by `astype`."""
    return np.asarray(getattr(x, "_data", x)).dtype.kind == "b"


def as_array(x: Any) -> Any:
    """A caller's plain input: a list becomes an array, and arrays with arithmetic of their own are refused."""
    if isinstance(x, (list, tuple)):
        return np.asarray(x)
    if isinstance(x, np.ndarray) and x.__class__ is not np.ndarray:
        check_array_class(x)
    return x


def as_plain(data: Any) -> Any:
    """Plain data as the engine keeps it: float64 scalars as Python floats, other scalars in their own dtype."""
    if data.__class__ is np.float64:
        return float(data)
    if isinstance(data, np.ndarray):
        check_array_class(data)
        return data if data.ndim else as_plain(data[()])
    if data.__class__ is np.bool_:
        return bool(data)
    if isinstance(data, int) and not isinstance(data, bool):
        return float(data)
    if not isinstance(data, bool | np.generic):
        raise DataError(f"an op's forward function gives a number or an array; this one gave {data!r:.60}")
    return data


def copy_array(data: Any) -> Any:
    """A copy of an array; anything else as it is."""
    return data.copy() if isinstance(data, ndarray) else data


MASKED = (
    "a masked array's mask would be lost, and what is masked would count. Write x.filled(0.0) for plain numbers in "
    "place of what is masked, or where(mask, 0.0, v) to leave those entries out"
)


def check_array_class(x: Any) -> None:
    """Refuse arrays whose arithmetic is not that of arrays: `np.matrix`, whose `*` is `@`, and masked arrays; and those
    of a class that refuses itself (`program/reads.py`).
    """
    if hasattr(x, "check_as_operand"):
        x.check_as_operand()
    if isinstance(x, np.matrix):
        raise DataError("np.matrix multiplies by other rules than arrays do. Write np.asarray(x), and @ for products")
    if isinstance(x, np.ma.MaskedArray):
        raise DataError(MASKED)
