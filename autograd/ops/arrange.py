"""Ops that rearrange numbers: borders, triangles, orders, repetitions."""

import numpy as np

from autograd.arrays.numpy_calls import answers
from autograd.errors import ShapeError
from autograd.modes import plain_data
from autograd.op import OPS, Op, nothing, rank_of, shape_of
from autograd.samples import Sample

from ._axes import negative_axes, negative_axis, plain_number
from ._functions import as_written, function
from .indexing.rows import put_rows, take, take_rows
from .shape import broadcast_to, getitem, moveaxis, ravel, reshape, scatter, swapaxes


def _widths(x, width):
    """How wide the border is: (before, after) for each axis."""
    try:
        pairs = np.broadcast_to(np.asarray(width), (rank_of(x), 2))
    except ValueError:
        raise ShapeError(f"pad: width is one number, (before, after), or one such pair for each of {rank_of(x)} axes; "
                         f"got {width!r}") from None
    if pairs.min(initial=0) < 0:
        raise ShapeError(f"pad: a border cannot be narrower than 0; got width {width!r}. Index with a slice to cut.")
    return tuple((int(a), int(b)) for a, b in pairs)


def _normalize_pad(x, width, constant_values=0.0):
    value = plain_number("pad", "constant_values", constant_values)
    return (x,), {"width": _widths(x, width), "constant_values": value}


def _pad(x, *, width, constant_values):
    lead = ((0, 0),) * (rank_of(x) - len(width))
    return np.pad(x, lead + width, constant_values=constant_values)


def _inside(g, width):
    return getitem(g, (..., *(slice(a, -b if b else None) for a, b in width)))


def _pad_in_ops(x, width, constant_values):
    """x in the middle of zeros, plus a border of the constant."""
    shape = tuple(n + a + b for n, (a, b) in zip(shape_of(x), width, strict=True))
    inside = scatter(x, tuple(slice(a, a + n) for n, (a, _) in zip(shape_of(x), width, strict=True)), shape)
    return inside + np.pad(np.zeros(shape_of(x), x.dtype), width, constant_values=constant_values) if (
        constant_values) else inside


pad_ = Op("pad", "pad(x, width, constant_values=constant_values)", normalize=_normalize_pad,
          forward=_pad,
          vjp=lambda g, out, x, *, width, constant_values: (_inside(g, width),),
          lower=lambda x, width, constant_values: _pad_in_ops(x, width, constant_values),
          samples=[Sample("2,3", settings={"width": ((1, 0), (0, 2))}), Sample("3", settings={"width": 1})],
          batch="align", doc="x with a border of a constant, `width` wide (before, after) on each axis.")

PICKING = ("edge", "reflect", "symmetric", "wrap")  # how to fill a border with numbers of x itself


@function(np.pad, method=True)
def pad(x, width, mode="constant", constant_values=0.0, reflect_type="even"):
    """x with a border, `width` wide (before, after) on each axis.

    mode "constant" fills it with one number; "edge", "reflect", "symmetric" and "wrap" with numbers of x, as in NumPy.

    >>> pad(np.array([1.0, 2.0, 3.0]), 2, mode="reflect").tolist()
    [3.0, 2.0, 1.0, 2.0, 3.0, 2.0, 1.0]
    """
    if mode == "constant":
        return pad_(x, width, constant_values)
    if mode not in PICKING or reflect_type != "even":
        raise ValueError(f'pad: mode is "constant", {", ".join(map(repr, PICKING))}, and reflect_type "even"; '
                         f"got mode={mode!r}, reflect_type={reflect_type!r}")
    for axis, border in enumerate(_widths(x, width)):
        if any(border):
            x = take(x, np.pad(np.arange(shape_of(x)[axis]), border, mode=mode), axis=axis)
    return x


def _normalize_triangle(x, k=0):
    if rank_of(x) < 2:
        raise ShapeError(f"tril and triu need a matrix; got shape {shape_of(x)}")
    return (x,), {"k": int(k)}


def _triangle(x, k):
    """True on and below the k-th diagonal of a matrix of x."""
    n, m = shape_of(x)[-2:]
    return np.tri(n, m, k, dtype=bool)


TRIANGLES = [Sample("3,3"), Sample("2,3,4", k=1), Sample("3,4", k=-1)]

tril = Op("tril", "tril(x, k=k)", normalize=_normalize_triangle,
          forward=lambda x, *, k: np.tril(x, k),
          vjp=lambda g, out, x, *, k: (tril(g, k),),
          lower=lambda x, k: OPS["where"](_triangle(x, k), x, 0.0),
          samples=TRIANGLES, numpy=np.tril, batch="align", doc="The lower triangle, zeros above.")

triu = Op("triu", "triu(x, k=k)", normalize=_normalize_triangle,
          forward=lambda x, *, k: np.triu(x, k),
          vjp=lambda g, out, x, *, k: (triu(g, k),),
          lower=lambda x, k: OPS["where"](_triangle(x, k - 1), 0.0, x),
          samples=TRIANGLES, numpy=np.triu, batch="align", doc="The upper triangle, zeros below.")

flip = Op("flip", "flip(x, axis=axis)",
          normalize=lambda x, axis=None: ((x,), {"axis": negative_axes("flip", x, axis)}),
          forward=lambda x, *, axis: np.flip(x, axis),
          vjp=lambda g, out, x, *, axis: (flip(g, axis),),
          lower=lambda x, axis: getitem(x, tuple(
              slice(None, None, -1 if i - rank_of(x) in axis else None) for i in range(rank_of(x)))),
          samples=[Sample("2,3"), Sample("2,3", axis=0), Sample("2,3", axis=(0, 1))], view=True,
          numpy=np.flip, batch="align",
          doc="x with the order along an axis turned round; along all, if none is named.")


@function(np.fliplr)
def fliplr(x):
    """x with the order of its columns turned round."""
    _check_matrix("fliplr", x)
    return flip(x, 1)


@function(np.flipud)
def flipud(x):
    """x with the order of its rows turned round."""
    return flip(x, 0)


@answers(np.rollaxis)
def rollaxis(x, axis, start=0):
    """x with an axis moved in front of the axis `start`."""
    axis = axis % rank_of(x)
    start = start + rank_of(x) if start < 0 else start
    return moveaxis(x, axis, start - (start > axis))


@function(np.rot90)
def rot90(x, k=1, axes=(0, 1)):
    """x turned by 90 degrees k times in the plane of two axes, from the first towards the second.

    >>> rot90(np.array([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [[2.0, 4.0], [1.0, 3.0]]
    """
    _check_matrix("rot90", x)
    first, second = (negative_axis("rot90", rank_of(x), a) for a in axes)
    if first == second:
        raise ShapeError(f"rot90: a plane has two different axes; got {axes}")
    if k % 4 == 2:
        return flip(x, (first, second))
    if k % 4 == 1:
        return swapaxes(flip(x, second), first, second)
    return flip(swapaxes(x, first, second), second) if k % 4 else x


def _check_matrix(who, x):
    if rank_of(x) < 2:
        raise ShapeError(f"{who}: needs an array of 2 axes or more; got shape {shape_of(x)}")


def _normalize_roll(x, shift, axis=None):
    if axis is None:
        return (x,), {"shift": int(np.sum(shift)), "axis": None}
    axes = axis if isinstance(axis, tuple | list) else (axis,)
    axes = tuple(negative_axis("roll", rank_of(x), a) for a in axes)
    pairs = [(int(n), int(a)) for n, a in np.broadcast(shift, axes)]
    return (x,), {"shift": tuple(n for n, _ in pairs), "axis": tuple(a for _, a in pairs)}


def _roll_lowered(x, shift, axis):
    """The last `shift` numbers along each axis, then the others."""
    if axis is None:
        return reshape(_roll_lowered(ravel(x), (shift,), (-1,)), shape_of(x))
    for n, a in zip(shift, axis, strict=True):
        size, behind = shape_of(x)[a], (slice(None),) * (-a - 1)
        if size and n % size:
            cut = size - n % size
            parts = (getitem(x, (..., slice(cut, None), *behind)), getitem(x, (..., slice(0, cut), *behind)))
            x = OPS["concatenate"](parts, axis=a)
    return x


roll = Op("roll", "roll(x, shift, axis)", normalize=_normalize_roll,
          forward=lambda x, *, shift, axis: np.roll(x, shift, axis),
          vjp=lambda g, out, x, *, shift, axis: (roll(g, tuple(-n for n in shift) if axis else -shift, axis),),
          lower=_roll_lowered,
          samples=[Sample("2,3", shift=1), Sample("2,3", shift=-2, axis=1), Sample("2,3", shift=(1, 4), axis=(0, -1))],
          numpy=np.roll, view=True,
          batch=lambda op, n, x: None if op.settings["axis"] is None else op.forward(x),
          doc="x with its numbers moved on by `shift` places along an axis; those that leave come in at the other end.")


@function(np.repeat, method=True)
def repeat(x, repeats, axis=None):
    """Each number of x so many times in a row, along an axis; without one, all numbers in order.

    >>> repeat(np.array([1.0, 2.0, 3.0]), [1, 0, 2]).tolist()
    [1.0, 3.0, 3.0]
    """
    if axis is None:
        x, axis = ravel(x), 0
    size = shape_of(x)[negative_axis("repeat", rank_of(x), axis)]
    return take(x, np.repeat(np.arange(size), repeats), axis=axis)


@function(np.tile)
def tile(x, reps):
    """Copies of x side by side: so many along each axis.

    >>> tile(np.array([1.0, 2.0]), (2, 2)).tolist()
    [[1.0, 2.0, 1.0, 2.0], [1.0, 2.0, 1.0, 2.0]]
    """
    reps = tuple(int(n) for n in np.atleast_1d(reps))
    shape = (1,) * (len(reps) - rank_of(x)) + shape_of(x)
    reps = (1,) * (len(shape) - len(reps)) + reps
    pairs = list(zip(reps, shape, strict=True))
    x = reshape(x, tuple(n for _, size in pairs for n in (1, size)))
    x = broadcast_to(x, tuple(n for pair in pairs for n in pair))
    return reshape(x, tuple(count * size for count, size in pairs))


# --- diagonals ----------------------------------------------------------------------------------------------


@function(np.diagonal, method=True)
def diagonal(x, offset=0, axis1=0, axis2=1):
    """The diagonal of a matrix, or of each matrix in two axes of x, as the last axis; `offset` moves it up or down.

    >>> diagonal(np.array([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [1.0, 4.0]
    """
    _check_matrix("diagonal", x)
    first, second = (negative_axis("diagonal", rank_of(x), a) for a in (axis1, axis2))
    if first == second:
        raise ShapeError(f"diagonal: a matrix has two different axes; got {axis1} and {axis2}")
    x = moveaxis(x, (first, second), (-2, -1))
    rows, columns = shape_of(x)[-2:]
    return getitem(x, (..., *_diagonal_index(rows, columns, offset)))


def _diagonal_index(rows, columns, k):
    """The places of a diagonal: an array of row numbers, and one of column numbers."""
    i = np.arange(max(0, min(rows + min(k, 0), columns - max(k, 0))))
    return i - min(k, 0), i + max(k, 0)


@function(np.diag)
def diag(x, k=0):
    """A vector as the diagonal of a square matrix of zeros; of a matrix, its diagonal.

    >>> diag(np.array([1.0, 2.0])).tolist()
    [[1.0, 0.0], [0.0, 2.0]]
    """
    if rank_of(x) == 2:
        return diagonal(x, k)
    if rank_of(x) != 1:
        raise ShapeError(f"diag: takes a vector or a matrix; got shape {shape_of(x)}")
    n = shape_of(x)[0] + abs(k)
    return scatter(x, _diagonal_index(n, n, k), (n, n))


# --- orders -------------------------------------------------------------------------------------------------


def _normalize_argsort(x, axis=-1, kind=None, stable=None):
    if axis is None:
        x, axis = ravel(x), -1
    kind = ("stable" if stable else None) if kind is None else str(kind)
    return (x,), {"axis": negative_axis("argsort", rank_of(x), axis), "kind": kind}


argsort = Op("argsort", "argsort(x, axis=axis, kind=kind)", normalize=_normalize_argsort,
             forward=lambda x, *, axis, kind: np.argsort(x, axis=axis, kind=kind),
             vjp=nothing, samples=[Sample("5"), Sample("2,3", axis=0)], numpy=np.argsort, batch="align",
             doc="Where the smallest number is along an axis, the next one, and so on; no gradient flows.")


def _normalize_along_axis(x, indices, axis=-1):
    if axis is None:
        x, axis = ravel(x), -1
    axis = negative_axis("take_along_axis", rank_of(x), axis)
    if rank_of(indices) != rank_of(x):
        raise ShapeError(f"take_along_axis: indices need as many axes as x; got {shape_of(indices)} and {shape_of(x)}")
    return (x, indices), {"axis": axis}


_ORDER = np.array([[2, 0], [1, 1]])


def _flat_places(indices, shape, size, axis):
    """Where indices along an axis point to in an array of this shape, of so many along the axis, laid out flat."""
    whole = list(shape)
    whole[axis] = size
    steps = [int(np.prod(whole[a + 1 :], dtype=int)) for a in range(len(whole))]
    places = np.indices(shape, sparse=True)
    start = sum((n * p for a, (n, p) in enumerate(zip(steps, places)) if a - len(shape) != axis), np.zeros(shape, int))
    return start + OPS["where"](indices < 0, indices + size, indices) * steps[axis]


def _take_along_lowered(x, indices, axis):
    shape = list(np.broadcast_shapes(*(_without(shape_of(a), axis) for a in (x, indices))))
    x = broadcast_to(x, tuple(shape[:axis] + [shape_of(x)[axis]] + shape[len(shape) + axis + 1 :]))
    shape[axis] = shape_of(indices)[axis]
    return take_rows(ravel(x), _flat_places(indices, tuple(shape), shape_of(x)[axis], axis))


def _without(shape, axis):
    """A shape with one along an axis."""
    return tuple(1 if a - len(shape) == axis else n for a, n in enumerate(shape))


def _put_along_lowered(x, indices, size, axis):
    shape = np.broadcast_shapes(shape_of(x), shape_of(indices))
    whole = list(shape)
    whole[axis] = size
    places = _flat_places(indices, shape, size, axis)
    return reshape(put_rows(broadcast_to(x, shape), places, int(np.prod(whole, dtype=int))), tuple(whole))


take_along_axis = Op("take_along_axis", "take_along_axis(x, indices, axis=axis)", normalize=_normalize_along_axis,
                     forward=lambda x, indices, *, axis: np.take_along_axis(x, indices, axis),
                     vjp=lambda g, out, x, indices, *, axis: (
                         put_along_axis(g, indices, shape_of(x)[axis], axis=axis), None),
                     lower=_take_along_lowered,
                     samples=[Sample("2,3", _ORDER), Sample("3,2", _ORDER, axis=0), Sample("3,3", _ORDER[:1])],
                     numpy=np.take_along_axis, batch="align",
                     doc="For each place, the number of x that an index along the axis names.")


def _put_along_axis(x, indices, *, size, axis):
    shape = list(np.broadcast_shapes(np.shape(x), np.shape(indices)))
    x, indices = (np.broadcast_to(a, shape) for a in (x, indices))
    shape[axis] = size
    out = np.zeros(shape, dtype=x.dtype)
    places = list(np.indices(x.shape, sparse=True))
    places[axis] = indices
    np.add.at(out, tuple(places), x)  # an entry that was taken twice gets both
    return out


put_along_axis = Op("put_along_axis", "put_along_axis(x, indices, size=size, axis=axis)",
                    normalize=lambda x, indices, size, axis=-1: ((x, indices), {
                        "size": int(size), "axis": negative_axis("put_along_axis", rank_of(x), axis)}),
                    forward=_put_along_axis,
                    vjp=lambda g, out, x, indices, *, size, axis: (take_along_axis(g, indices, axis=axis), None),
                    lower=_put_along_lowered,
                    written=as_written(_put_along_axis, "put_along_axis"),
                    samples=[Sample("2,2", _ORDER, size=3), Sample("2,2", _ORDER, size=3, axis=0)], batch="align",
                    doc="Zeros, `size` of them along the axis, with x added at the indices; undoes take_along_axis.",
                    inner=True)


@answers(np.partition)
def partition(x, kth, axis=-1):
    """x in an order in which the number at place `kth` is the one that sorting would put there, smaller ones before."""
    return take_along_axis(x, np.argpartition(plain_data(x, "an array of places"), kth, axis), axis=axis)


@function(np.sort, method=True)
def sort(x, axis=-1, kind=None, stable=None):
    """x with the numbers along an axis in order, the smallest first; without an axis, all numbers.

    >>> sort(np.array([3.0, 1.0, 2.0])).tolist()
    [1.0, 2.0, 3.0]
    """
    if axis is None:
        x, axis = ravel(x), -1
    return take_along_axis(x, argsort(x, axis, kind, stable), axis=axis)
