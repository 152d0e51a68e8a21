"""Settings normalized: axes as tuples of negative numbers, shapes as tuples.

Counted from the end, an axis stays right when a batch axis is put in front: that is what lets a gradient check replay a
whole graph on many perturbed inputs at once.
"""

import math
import operator

import numpy as np

from autograd.arrays.plain import as_array
from autograd.errors import AxisError, DataError, ShapeError
from autograd.modes import plain_data
from autograd.op import rank_of, shape_of


def plain_number(who, name, x):
    """A setting that is one plain number: as a Value it would lose its gradient silently."""
    if hasattr(x, "__apply__") or np.ndim(x):
        raise DataError(f"{who}: {name} is one plain number, to which no gradient flows; got {x!r:.40}. Write it with "
                        f"ops that take Values (where, maximum, minimum, * and +), or {name}.item() for a constant.")
    return float(x)


def negative_axis(who, ndim, axis):
    """One axis, counted from the end."""
    try:
        axis = operator.index(axis)
    except TypeError:
        raise AxisError(f"{who}: an axis is an integer; got {axis!r}") from None
    if not -ndim <= axis < ndim:
        raise AxisError(f"{who}: axis {axis} is outside an array of {ndim} axes; use {-ndim} to {ndim - 1}" if ndim
                        else f"{who}: a scalar has no axis {axis}")
    return axis if axis < 0 else axis - ndim


def negative_axes(who, x, axis):
    """Axes as a sorted tuple, counted from the end; None means all."""
    ndim = rank_of(x)
    if axis is None:
        return tuple(range(-ndim, 0))
    if axis.__class__ is int and -ndim <= axis < 0:
        return (axis,)
    axes = axis if isinstance(axis, tuple | list) else (axis,)
    found = tuple(sorted(negative_axis(who, ndim, a) for a in axes))
    if len(set(found)) < len(found):
        raise AxisError(f"{who}: an axis is named twice in {axis!r}")
    return found


def given(separate, together):
    """Sizes or axes said one by one, `reshape(x, 2, 3)`, or all at once, `reshape(x, shape=(2, 3))`."""
    return separate if together is None else (together,)


def as_shape(who, shape):
    """A shape given as one tuple or as separate numbers."""
    if len(shape) == 1 and isinstance(shape[0], tuple | list):
        shape = shape[0]
    try:
        return tuple(operator.index(n) for n in shape)
    except TypeError:
        raise ShapeError(f"{who}: a shape is integers; got {shape!r}") from None


def full_shape(who, x, shape):
    """A shape with its -1 worked out, checked against the size of x."""
    shape = as_shape(who, shape)
    size = math.prod(shape_of(x))
    unknown = shape.count(-1)
    known = int(np.prod([n for n in shape if n != -1]))
    if unknown == 1 and known and size % known == 0:
        shape = tuple(size // known if n == -1 else n for n in shape)
    elif unknown or known != size:
        raise ShapeError(f"{who}: {size} numbers of shape {shape_of(x)} do not fit the shape {shape}")
    return shape


def as_index(index):
    """An index without Values and lists in it: slices, integers, None, ..., and arrays of integers or booleans."""
    parts = index if isinstance(index, tuple) else (index,)
    return tuple(map(_index_part, parts))


def _index_part(part):
    if isinstance(part, np.ndarray):
        as_array(part)  # no masked array, which has a `_data` too
    elif hasattr(part, "_data"):  # a Value, such as the mask `v > 0`
        kind = "mask" if part.dtype.kind == "b" else "an array of places" if part.ndim else "an index"
        part = plain_data(part, kind)
    if part is None or part is Ellipsis or isinstance(part, slice):
        return part
    if isinstance(part, list | range):
        part = np.array(part, dtype=None if part else int)
    if isinstance(part, np.ndarray | np.generic | bool):
        part = np.asarray(part)
        if part.dtype.kind not in "iub":
            raise DataError(f"an index is of integers or booleans; got {part.dtype}: {part!r:.60}; use .astype(int)")
        return part if part.ndim or part.dtype.kind == "b" else int(part)
    try:
        return operator.index(part)
    except TypeError:
        raise DataError(f"an index is made of integers, slices or arrays of them; got {part!r}") from None
