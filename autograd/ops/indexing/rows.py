"""Rows picked by ids: integers that are inputs of an op, so that a compiled program can be given others."""

import numpy as np

from autograd.errors import AxisError, DataError
from autograd.modes import plain_data
from autograd.op import Op, dtype_of, nothing, rank_of, shape_of
from autograd.samples import Sample

from .._axes import negative_axis
from .._functions import function
from ..shape import _scatter, getitem, moveaxis, ravel


def is_whole(x):
    """Whether it is a Value of integers, such as token ids that a compiled program takes as an input."""
    return hasattr(x, "__apply__") and getattr(x, "dtype", np.dtype(float)).kind in "iu"


def as_value(x):
    """A Number (`program/tracing/numbers.py`) as the Value that it stands for; everything else as it is."""
    return getattr(x, "value", x) if hasattr(x, "__apply__") else x


def pick(x, index):
    """`x[index]` on a Value: `getitem`, or `take_rows` where a part of the index is a Value of integers."""
    index = tuple(map(as_value, index)) if index.__class__ is tuple else index
    if is_whole(index):
        return take(x, index, axis=0)
    if index.__class__ is not tuple or not any(is_whole(part) and part.ndim for part in index):
        return getitem(x, index)
    places = [n for n, part in enumerate(index) if is_whole(part) and part.ndim]
    if len(places) == 1 and all(isinstance(part, slice) and part == slice(None) for part in index[: places[0]]):
        rest = index[places[0] + 1 :]  # x[:, ids], x[:, ids, 1:]
        if all(part is Ellipsis or isinstance(part, slice) for part in rest):
            taken = take(x, index[places[0]], axis=places[0])
            lead = (slice(None),) * (places[0] + rank_of(index[places[0]]))
            return getitem(taken, (*lead, *rest)) if rest else taken
    arrays = [part for part in index if is_whole(part) or isinstance(part, np.ndarray | int)]
    if len(arrays) == len(index) <= rank_of(x) and all(dtype_of(part).kind in "iu" for part in arrays):
        sizes = shape_of(x)[: len(index)]  # x[np.arange(n), ids]: one place in a long row of entries
        place = 0
        for part, size in zip(arrays, sizes):
            place = place * size + within(part, 0, size - 1)
        return take_rows(x.reshape(-1, *shape_of(x)[len(index) :]), place)
    return getitem(x, index)


@function(np.take, method=True)
def take(x, indices, axis=None, mode="raise"):
    """The entries at `indices` along an axis (of all numbers in order, without one); an index may repeat.

    mode says what an index outside does: "raise" an error, "wrap" round, or "clip" to the nearest end.

    >>> take(np.array([[1.0, 2.0], [3.0, 4.0]]), [1, 1, 0], axis=0).tolist()
    [[3.0, 4.0], [3.0, 4.0], [1.0, 2.0]]
    """
    if axis is None:
        x, axis = ravel(x), 0
    axis = negative_axis("take", rank_of(x), axis)
    if is_whole(indices) and mode == "raise":
        if rank_of(x) == -axis:
            return take_rows(x, indices)
        axis += rank_of(x)
        taken = take_rows(moveaxis(x, axis, 0), indices)
        lead = tuple(range(rank_of(indices)))
        return moveaxis(taken, lead, tuple(axis + i for i in lead))
    indices = np.asarray(plain_data(indices, "mask"))
    if indices.dtype == bool or not indices.size:  # as in NumPy, True is 1 here, and no mask
        indices = indices.astype(int)
    indices = _inside_axis(indices, shape_of(x)[axis], mode)
    if rank_of(x) == -axis:  # the first axis: an embedding's rows
        return getitem(x, (indices,))
    return getitem(x, (..., indices, *(slice(None),) * (-axis - 1)))


def _inside_axis(indices, size, mode):
    """Indices along an axis of this size, those outside it moved in as the mode says."""
    if mode == "raise":
        return indices
    if mode not in ("wrap", "clip"):
        raise ValueError(f'take: mode is "raise", "wrap" or "clip"; got {mode!r}')
    return indices % size if mode == "wrap" else np.clip(indices, 0, size - 1)


def _take_rows(x, ids):
    return x[_check_rows(ids, len(x))]


def _check_rows(ids, n):
    """Integers from 0 to n - 1, as an array to index with."""
    ids = np.asarray(ids)
    if ids.dtype.kind not in "iu":
        raise DataError(f"ids are integers from 0 to {n - 1}; got {ids.dtype}: {ids!r:.60}")
    if ids.size and (ids.min() < 0 or ids.max() >= n):
        wrong = ids[(ids < 0) | (ids >= n)].flat[0]
        raise AxisError(f"ids run from 0 to {n - 1}; got {wrong}")
    return ids


def _put_rows(x, ids, *, rows):
    ids = _check_rows(ids, rows)
    return _scatter(x, index=(ids,), shape=(rows, *shape_of(x)[ids.ndim :]))


_IDS = np.array([0, 2, 2, 1])

take_rows = Op("take_rows", "take_rows(x, ids)",
               forward=_take_rows,
               vjp=lambda g, out, x, ids: (put_rows(g, ids, shape_of(x)[0]), None),
               written="def take_rows(x, ids):\n    return x[ids]",
               samples=[Sample("3,2", _IDS), Sample("3", _IDS), Sample("3,2,2", _IDS.reshape(2, 2))],
               batch=lambda op, n, x, ids: x[:, ids[0]],  # ids are never moved: all rows of the batch have the same
               doc="The rows of x at some ids, integers from 0 up: an embedding.", inner=True)

put_rows = Op("put_rows", "put_rows(x, ids, rows=rows)",
              normalize=lambda x, ids, rows: ((x, ids), {"rows": int(rows)}),
              forward=_put_rows,
              vjp=lambda g, out, x, ids, *, rows: (take_rows(g, ids), None),
              written="def put_rows(x, ids, rows):\n    out = np.zeros((rows, *x.shape[ids.ndim:]), x.dtype)\n"
                      "    np.add.at(out, ids, x)  # an id that stands there twice gets both rows\n    return out",
              samples=[Sample("4,2", _IDS, rows=3), Sample("4", _IDS, rows=4),
                       Sample("2,2,3", _IDS.reshape(2, 2), rows=3)],
              batch=lambda op, n, x, ids: np.moveaxis(_put_rows(np.moveaxis(x, 0, -1), ids[0], **op.settings), -1, 0),
              doc="Zeros, with each row of x added at its id: what undoes take_rows.", inner=True)

within = Op("within", "within(ids, low=low, high=high, also=also)",
            normalize=lambda ids, low, high, also=None: ((ids,), {"low": int(low), "high": int(high), "also": also}),
            forward=lambda ids, *, low, high, also: _check_within(ids, low, high, also), vjp=nothing,
            written="def within(ids, low, high, also):\n    wrong = ((ids < low) | (ids > high)) & (ids != also)\n"
                    "    if np.any(wrong):\n        raise IndexError(f'integers run from {low} to {high} here')\n"
                    "    return ids",
            samples=[Sample(_IDS, settings={"low": 0, "high": 2}),
                     Sample(_IDS, settings={"low": 1, "high": 2, "also": 0})],
            doc="Integers as they are, if all lie from low to high (or are `also`); else an error. For programs.",
            inner=True)


def _check_within(ids, low, high, also):
    ids = np.asarray(ids)
    wrong = (ids < low) | (ids > high)
    if also is not None:
        wrong &= ids != also
    if wrong.any():
        raise AxisError(f"integers here run from {low} to {high}; got {ids[wrong].flat[0]}")
    return ids
