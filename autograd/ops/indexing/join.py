"""Ops that join arrays and cut them apart."""

import numpy as np

from autograd.about import About
from autograd.errors import AxisError, ShapeError
from autograd.op import Op, dtype_of, rank_of, shape_of
from autograd.samples import Sample

from .._axes import negative_axis
from .._functions import function
from ..shape import astype, expand_dims, getitem, moveaxis, ravel, reshape


def _check_some(who, xs):
    if getattr(xs, "ndim", None) == 0 or isinstance(xs, int | float):
        raise ShapeError(f"{who} takes a list of arrays: {who}([x, y]); got {xs!r:.40}")
    xs = tuple(xs)
    if not xs:
        raise ShapeError(f"{who} needs at least one array; got none")
    return xs


def _normalize_concatenate(xs, axis=0):
    xs = _check_some("concatenate", xs)
    if axis is None:
        xs, axis = tuple(map(ravel, xs)), 0
    shapes = [shape_of(x) for x in xs]
    if not shapes[0]:
        raise AxisError("concatenate: numbers have no axis to be joined along; write stack([x, y])")
    axis = negative_axis("concatenate", len(shapes[0]), axis)
    rest = {s[:axis] + (s[axis + 1:] if axis != -1 else ()) for s in shapes if len(s) == len(shapes[0])}
    if len(rest) != 1 or any(len(s) != len(shapes[0]) for s in shapes):
        raise ShapeError(f"concatenate: shapes {', '.join(map(str, shapes))} differ elsewhere than on axis {axis}")
    return xs, {"axis": axis}


def _split_like(g, xs, axis):
    """The parts of g that belong to each x along the axis."""
    parts, start = [], 0
    for x in xs:
        stop = start + shape_of(x)[axis]
        parts.append(getitem(g, (..., slice(start, stop), *(slice(None),) * (-axis - 1))))
        start = stop
    return tuple(parts)


concatenate = Op("concatenate", "concatenate([*xs], axis=axis)", normalize=_normalize_concatenate,
                 forward=lambda *xs, axis: np.concatenate(xs, axis=axis),
                 vjp=lambda g, out, *xs, axis: _split_like(g, xs, axis),
                 samples=[Sample("2,3 1,3", axis=0), Sample("2,3 2,1 2,2", axis=-1), Sample("3")],
                 numpy=np.concatenate, batch=lambda op, n, *xs: op.forward(*xs), pack=lambda xs: (xs,),
                 about=About(rule="Each part gets its own piece of the gradient back."),
                 doc="The arrays of a list, one after another along an axis.")


def _normalize_stack(xs, axis=0):
    xs = _check_some("stack", xs)
    shapes = {shape_of(x) for x in xs}
    if len(shapes) > 1:
        raise ShapeError(f"stack: all shapes must be equal; got {', '.join(map(str, sorted(shapes)))}")
    return xs, {"axis": negative_axis("stack", len(shapes.pop()) + 1, axis)}


stack = Op("stack", "stack([*xs], axis=axis)", normalize=_normalize_stack,
           forward=lambda *xs, axis: np.stack(xs, axis=axis),
           vjp=lambda g, out, *xs, axis: tuple(
               getitem(g, (..., i, *(slice(None),) * (-axis - 1))) for i in range(len(xs))),
           lower=lambda *xs, axis: concatenate([expand_dims(x, axis) for x in xs], axis),
           samples=[Sample(". . ."), Sample("2,3 2,3", axis=0), Sample("2,3 2,3", axis=-1)],
           numpy=np.stack, batch=lambda op, n, *xs: op.forward(*xs), pack=lambda xs: (xs,),
           about=About(rule="Each part gets its own piece of the gradient back."),
           doc="The arrays of a list, side by side along a new axis.")


@function(np.split, method=True)
def split(x, parts, axis=0):
    """x cut along an axis: into `parts` equal pieces, or before the indices in a list.

    >>> [part.tolist() for part in split(np.arange(6.0), [1, 4])]
    [[0.0], [1.0, 2.0, 3.0], [4.0, 5.0]]
    """
    axis = negative_axis("split", rank_of(x), axis)
    size = shape_of(x)[axis]
    if isinstance(parts, (int, np.integer)):
        if parts < 1 or size % parts:
            raise ShapeError(f"split: {size} along axis {axis} cannot be cut into {parts} equal parts; "
                             "write a list of the places to cut before")
        cuts = [size // parts * i for i in range(1, parts)]
    else:
        cuts = list(parts)
    edges = zip([0, *cuts], [*cuts, size], strict=True)
    return [getitem(x, (..., slice(a, b), *(slice(None),) * (-axis - 1))) for a, b in edges]


@function(np.array_split)
def array_split(x, parts, axis=0):
    """x cut along an axis as `split` does, but into pieces that may differ by one in size, the longer ones first.

    >>> [len(part) for part in array_split(np.arange(7.0), 3)]
    [3, 2, 2]
    """
    if isinstance(parts, (int, np.integer)) and parts > 0:
        size = shape_of(x)[negative_axis("array_split", rank_of(x), axis)]
        sizes = [size // parts + (i < size % parts) for i in range(parts)]
        parts = np.cumsum(sizes)[:-1].tolist()
    return split(x, parts, axis)


@function(np.hsplit)
def hsplit(x, parts):
    """x cut along its columns; a vector along its only axis."""
    return split(x, parts, axis=0 if rank_of(x) == 1 else 1)


@function(np.vsplit)
def vsplit(x, parts):
    """x, of two axes or more, cut along its rows."""
    _check_rank("vsplit", x, 2)
    return split(x, parts, axis=0)


@function(np.dsplit)
def dsplit(x, parts):
    """x, of three axes or more, cut along its third axis."""
    _check_rank("dsplit", x, 3)
    return split(x, parts, axis=2)


def _check_rank(who, x, rank):
    if rank_of(x) < rank:
        raise ShapeError(f"{who}: needs an array of {rank} axes or more; got shape {shape_of(x)}")


# --- at least so many axes ----------------------------------------------------------------------------------


def _each(f, xs):
    return f(xs[0]) if len(xs) == 1 else tuple(map(f, xs))


@function(np.atleast_1d)
def atleast_1d(*xs):
    """Each x with one axis or more: a scalar becomes a vector of one."""
    return _each(lambda x: reshape(x, (1,)) if rank_of(x) == 0 else x, xs)


@function(np.atleast_2d)
def atleast_2d(*xs):
    """Each x with two axes or more: a vector becomes a matrix of one row."""
    return _each(lambda x: reshape(x, (1, int(np.size(x)))) if rank_of(x) < 2 else x, xs)


@function(np.atleast_3d)
def atleast_3d(*xs):
    """Each x with three axes or more: a vector becomes shape (1, n, 1), a matrix (m, n, 1)."""
    return _each(lambda x: expand_dims(atleast_2d(x), -1) if rank_of(x) < 3 else x, xs)


@function(np.vstack)
def vstack(xs):
    """Arrays on top of each other; a vector counts as one row.

    >>> vstack([np.array([1.0, 2.0]), np.array([3.0, 4.0])]).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    return concatenate([atleast_2d(x) for x in _check_some("vstack", xs)])


@function(np.hstack)
def hstack(xs):
    """Arrays side by side, along their columns; vectors one after another.

    >>> hstack([np.array([1.0, 2.0]), np.array([3.0, 4.0])]).tolist()
    [1.0, 2.0, 3.0, 4.0]
    """
    xs = [atleast_1d(x) for x in _check_some("hstack", xs)]
    return concatenate(xs, axis=0 if rank_of(xs[0]) == 1 else 1)


@function(np.dstack)
def dstack(xs):
    """Arrays behind each other, along a third axis."""
    return concatenate([atleast_3d(x) for x in _check_some("dstack", xs)], axis=2)


@function(np.column_stack)
def column_stack(xs):
    """Vectors as the columns of a matrix, and matrices side by side.

    >>> column_stack([np.array([1.0, 2.0]), np.array([3.0, 4.0])]).tolist()
    [[1.0, 3.0], [2.0, 4.0]]
    """
    xs = _check_some("column_stack", xs)
    return concatenate([x if rank_of(x) > 1 else reshape(x, (int(np.size(x)), 1)) for x in xs], axis=1)


@function(np.append)
def append(x, values, axis=None):
    """x with `values` joined to its end along an axis; without one, all numbers in order."""
    return concatenate([x, values], axis=axis)


@function(np.linspace)
def linspace(start, stop, num=50, endpoint=True, dtype=None, axis=0):
    """`num` numbers at equal distances from start to stop, with stop unless endpoint=False; along a new axis.

    >>> linspace(0.0, 1.0, 5).tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    rank = max(rank_of(start), rank_of(stop))
    shares = np.arange(num).reshape((num,) + (1,) * rank) / max(num - bool(endpoint), 1)
    length = stop - start
    out = start + length * shares.astype(np.result_type(dtype_of(length), np.float16))  # float32 stays float32
    out = out if dtype is None else astype(out, dtype)
    return moveaxis(out, 0, axis) if rank and axis not in (0, -rank - 1) else out
