"""Ops that move numbers without changing them: their rules move gradients back."""

import math

import numpy as np

from autograd.about import About, picked
from autograd.arrays.numpy_calls import answers
from autograd.errors import AxisError, DataError, ShapeError
from autograd.modes import plain_data
from autograd.op import OPS, Op, nothing, rank_of, shape_of
from autograd.samples import Sample

from ._axes import as_index, as_shape, full_shape, given, negative_axes, negative_axis
from ._functions import METHODS, function
from .fused._rows import column_sums, row_sums, tall

alias = Op("alias", "x",
           forward=lambda x: x,
           vjp=lambda g, out, x: (g,),
           lower=lambda x: x,
           samples=[Sample("2,3"), Sample(".")], batch="align", view=True, look="same",
           doc="x itself, as a node of its own: where an inner derivative starts.", inner=True)

detached = Op("detached", forward=lambda x: x, vjp=nothing, lower=lambda x: x,
              samples=[Sample("2,3"), Sample(".")], batch="align", view=True, look="same",
              doc="x itself, but no gradient flows: what `detach()` is in a program.", inner=True)

copy = Op("copy", forward=lambda x: np.array(x),
          vjp=lambda g, out, x: (g,), lower=lambda x: x,
          samples=[Sample("2,3"), Sample(".")], numpy=np.copy, batch="align", look="same",
          doc="The same numbers in an array of their own.")


def _normalize_astype(x, dtype):
    dtype = np.dtype(dtype)
    if dtype.kind != "f":
        raise DataError(f"astype: a Value holds real numbers; got {dtype}. Write v.data.astype(...) for plain ones.")
    return (x,), {"dtype": dtype.name}


astype = Op("astype", "astype(x, dtype=dtype)",
            normalize=_normalize_astype,
            forward=lambda x, *, dtype: np.asarray(x, dtype=dtype),
            vjp=lambda g, out, x, *, dtype: (astype(g, x.dtype) if hasattr(x, "dtype") else g,),
            written="def astype(x, dtype):\n    return np.asarray(x, dtype)",
            definition=lambda x, dtype: alias(x),
            samples=[Sample("2,3", dtype="float64"), Sample(".", dtype="float64")], batch="align",
            doc="x in another precision.")


def as_type(x, dtype):
    """x in another precision; as integers or truths, through which no gradient flows, a plain array."""
    if np.dtype(dtype).kind not in "iub":
        return astype(x, dtype)
    plain = plain_data(x, ".astype()")
    return plain.astype(dtype) if hasattr(plain, "astype") else np.dtype(dtype).type(plain)


METHODS["astype"] = as_type

# --- shapes -------------------------------------------------------------------------------------------------

reshape = Op("reshape", "reshape(x, shape)",
             normalize=lambda x, *sizes, shape=None: ((x,), {"shape": full_shape("reshape", x, given(sizes, shape))}),
             forward=lambda x, *, shape: np.reshape(x, shape),
             vjp=lambda g, out, x, *, shape: (reshape(g, shape_of(x)),),
             samples=[Sample("2,3", settings={"shape": (3, 2)}), Sample("2,3", settings={"shape": (-1,)}),
                      Sample(".", settings={"shape": (1, 1)})],
             batch=lambda op, n, x: np.reshape(x, (n, *op.settings["shape"])), view=True, look="reshaped",
             about=About(rule="The same numbers in another shape: the gradient is put back into the first one."),
             doc="The same numbers, in the same order, in another shape; one size may be -1, for what is left.")


@answers(np.reshape)
def _numpy_reshape(a, shape, order="C"):
    if order == "C":
        return reshape(a, shape)
    if order == "F":  # the first axis changes fastest: read and write with the axes reversed
        shape = full_shape("reshape", a, (shape,))
        return transpose(reshape(transpose(a), shape[::-1]))
    raise ValueError(f'reshape: order is "C" (rows first) or "F" (columns first); got {order!r}')


@function(np.ravel, method=True)
def ravel(x, order="C"):
    """All numbers of x in one row, in order; order="F" takes column by column.

    >>> ravel(np.array([[1.0, 2.0], [3.0, 4.0]]), order="F").tolist()
    [1.0, 3.0, 2.0, 4.0]
    """
    return _numpy_reshape(x, (int(np.size(x)),), order)


METHODS["flatten"] = ravel


def _permutation(x, *order, axes=None):
    ndim = rank_of(x)
    axes = given(order, axes)
    if not axes or axes == (None,):
        order = tuple(range(-1, -ndim - 1, -1))
    else:
        axes = axes[0] if len(axes) == 1 and isinstance(axes[0], tuple | list) else axes
        order = tuple(negative_axis("transpose", ndim, a) for a in axes)
        if sorted(order) != list(range(-ndim, 0)):
            raise AxisError(f"transpose: the axes {tuple(axes)} must name each of the {ndim} axes once")
    return (x,), {"axes": order}


def inverse(axes):
    """The order of axes that undoes another."""
    return tuple(int(i) for i in np.argsort(np.add(axes, len(axes))))


def _transpose(x, *, axes):
    lead = rank_of(x) - len(axes)  # axes in front of those that were named stay where they are
    return np.transpose(x, (*range(lead), *axes))


transpose = Op("transpose", "transpose(x, axes)", normalize=_permutation,
               forward=_transpose,
               vjp=lambda g, out, x, *, axes: (transpose(g, inverse(axes)),),
               samples=[Sample("2,3"), Sample("2,3,4", settings={"axes": (1, -1, 0)}), Sample("3")],
               numpy=np.transpose, batch="align", look="transpose", view=True,
               about=About(rule="A transpose turns the gradient back."),
               doc="The axes in another order; reversed if none is named.")

swapaxes = Op("swapaxes", "swapaxes(x, a, b)",
              normalize=lambda x, a, b: ((x,), {"a": negative_axis("swapaxes", rank_of(x), a),
                                           "b": negative_axis("swapaxes", rank_of(x), b)}),
              forward=lambda x, *, a, b: np.swapaxes(x, a, b),
              vjp=lambda g, out, x, *, a, b: (swapaxes(g, a, b),),
              lower=lambda x, a, b: _moved(x, np.swapaxes, a, b),
              samples=[Sample("2,3", a=-1, b=-2), Sample("2,3,4", a=0, b=2)],
              numpy=np.swapaxes, batch="align", look="transpose", view=True,
              about=About(rule="A transpose turns the gradient back."),
              doc="x with two axes in each other's place.")

expand_dims = Op("expand_dims", "expand_dims(x, axis=axis)",
                 normalize=lambda x, axis: ((x,), {"axis": negative_axes(
                     "expand_dims", np.empty((0,) * (rank_of(x) + np.size(axis))), axis)}),
                 forward=lambda x, *, axis: np.expand_dims(x, axis),
                 vjp=lambda g, out, x, *, axis: (squeeze(g, axis),),
                 lower=lambda x, axis: reshape(x, np.expand_dims(np.empty(shape_of(x)), axis).shape),
                 samples=[Sample("2,3", axis=0), Sample("2,3", axis=(0, -1)), Sample(".", axis=0)],
                 numpy=np.expand_dims, batch="align", look="stood", view=True,
                 doc="x with a new axis of size 1, or several, at these places.")


def _normalize_squeeze(x, axis=None):
    shape = shape_of(x)
    if axis is None:
        axis = tuple(i for i, n in enumerate(shape) if n == 1)
    axis = negative_axes("squeeze", x, axis)
    if any(shape[a] != 1 for a in axis):
        raise ShapeError(f"squeeze: axes {axis} of shape {shape} are not all of size 1")
    return (x,), {"axis": axis}


squeeze = Op("squeeze", "squeeze(x, axis=axis)", normalize=_normalize_squeeze,
             forward=lambda x, *, axis: np.squeeze(x, axis),
             vjp=lambda g, out, x, *, axis: (expand_dims(g, axis),),
             lower=lambda x, axis: reshape(x, [n for i, n in enumerate(shape_of(x)) if i - rank_of(x) not in axis]),
             samples=[Sample("2,1,3", axis=1), Sample("1,3,1"), Sample("2,3")],
             numpy=np.squeeze, batch="align", look="same", view=True,
             doc="x without axes of size 1: those named, or all.")


def _broadcast(x, *, shape):
    out = np.empty(shape, dtype=getattr(x, "dtype", np.float64))
    out[...] = x
    return out


def _normalize_broadcast(x, *sizes, shape=None):
    shape = as_shape("broadcast_to", given(sizes, shape))
    lead = len(shape) - rank_of(x)
    if lead < 0 or any(n not in (1, m) for n, m in zip(shape_of(x), shape[lead:], strict=True)):
        raise ShapeError(f"broadcast_to: shape {shape_of(x)} does not broadcast to {shape}; "
                         "aligned at the right, each size must be 1 or the same")
    return (x,), {"shape": shape}


def _batched_broadcast(op, n, x):
    shape = op.settings["shape"]
    return _broadcast(np.reshape(x, (n, *(1,) * (len(shape) + 1 - x.ndim), *x.shape[1:])), shape=(n, *shape))


broadcast_to = Op("broadcast_to", "broadcast_to(x, shape)", normalize=_normalize_broadcast,
                  forward=_broadcast,
                  vjp=lambda g, out, x, *, shape: (sum_to(g, shape_of(x)),),
                  samples=[Sample("3", settings={"shape": (2, 3)}), Sample("2,1", settings={"shape": (4, 2, 3)}),
                           Sample(".", settings={"shape": (2, 2)})],
                  numpy=np.broadcast_to, batch=_batched_broadcast, look="copied", view=True,
                  about=About(rule="What was copied collects the gradients of all its copies."),
                  doc="x repeated along axes of size 1, and along new ones in front, until it has the shape.")


def _sum_to(x, *, shape):
    """Sum over the axes that broadcasting from `shape` had added or stretched."""
    if x.__class__ is np.ndarray and x.ndim > 1 and x.dtype.kind == "f":  # by a product: a third of the time
        if x.shape[-1:] == shape:  # a bias, added to every row
            return column_sums(tall(x))
        if (*x.shape[:-1], 1) == shape:  # one number for each row
            return row_sums(x)
    lead = rank_of(x) - len(shape)
    summed = tuple(i for i, n in enumerate(shape_of(x)) if i < lead or (n != 1 and shape[i - lead] == 1))
    if not summed:
        return x
    first = next(i for i in range(len(summed) + 1) if i not in summed)  # so many axes in front are summed
    if 0 < first < rank_of(x) and x.dtype.kind == "f":
        rest = shape_of(x)[first:]
        x = column_sums(x.reshape(math.prod(shape_of(x)[:first]), math.prod(rest))).reshape((1,) * first + rest)
        summed = summed[first:]
    return np.add.reduce(x, axis=summed, keepdims=True).reshape(shape)


def _sum_to_defined(x, shape):
    lead = rank_of(x) - len(shape)
    if lead:
        x = OPS["sum"](x, axis=tuple(range(lead)))
    stretched = tuple(i for i, n in enumerate(shape) if n == 1 and shape_of(x)[i] != 1)
    return OPS["sum"](x, axis=stretched, keepdims=True) if stretched else x


def _batched_sum_to(op, n, x):
    shape = op.settings["shape"]
    return _sum_to(np.moveaxis(x, 0, x.ndim - 1 - len(shape)), shape=(n, *shape))


def _sum_to_in_ops(x, shape):
    lead = rank_of(x) - len(shape)
    axis = tuple(i for i, n in enumerate(shape_of(x)) if i < lead or n != shape[i - lead])
    return reshape(OPS["sum"](x, axis), shape) if axis else x


sum_to = Op("sum_to", "sum_to(x, shape)",
            normalize=lambda x, *sizes, shape=None: ((x,), {"shape": as_shape("sum_to", given(sizes, shape))}),
            forward=_sum_to,
            vjp=lambda g, out, x, *, shape: (broadcast_to(g, shape_of(x)),),
            lower=lambda x, shape: _sum_to_in_ops(x, shape),
            samples=[Sample("2,3", settings={"shape": (3,)}), Sample("4,2,3", settings={"shape": (2, 1)}),
                     Sample("2,3", settings={"shape": ()})],
            definition=_sum_to_defined, unfolds="graph", batch=_batched_sum_to,
            doc="What undoes broadcasting: the sum over the axes it added.", inner=True)

moveaxis = Op("moveaxis", "moveaxis(x, source, destination)",
              normalize=lambda x, source, destination: ((x,), {
                  "source": _ordered_axes("moveaxis", x, source),
                  "destination": _ordered_axes("moveaxis", x, destination)}),
              forward=lambda x, *, source, destination: np.moveaxis(x, source, destination),
              vjp=lambda g, out, x, *, source, destination: (moveaxis(g, destination, source),),
              lower=lambda x, source, destination: _moved(x, np.moveaxis, source, destination),
              samples=[Sample("2,3,4", source=0, destination=-1), Sample("2,3,4", source=(0, 1), destination=(1, 2))],
              numpy=np.moveaxis, batch="align", view=True,
              doc="x with some axes moved to other places; the others keep their order.")


def _moved(x, move, a, b):
    """`move(x, a, b)`, NumPy's swapaxes or moveaxis, as a transpose."""
    places = np.arange(rank_of(x))  # moved along with the axes, by giving axis i the size i
    return transpose(x, move(np.empty(places, np.bool_), a, b).shape) if rank_of(x) else x


def _ordered_axes(who, x, axes):
    axes = axes if isinstance(axes, tuple | list) else (axes,)
    return tuple(negative_axis(who, rank_of(x), a) for a in axes)


# --- picking ------------------------------------------------------------------------------------------------


def _getitem(x, *, index):
    try:
        return (x if x.__class__ is np.ndarray else np.asarray(x))[index]
    except IndexError as error:
        if not rank_of(x):
            raise AxisError("a scalar Value cannot be indexed by numbers or slices; only by ..., None and ()") from None
        shown = index[0] if len(index) == 1 else index
        raise AxisError(f"index {shown} does not fit shape {shape_of(x)}: {error}") from None


def _scatter(g, *, index, shape):
    out = np.zeros(shape, dtype=getattr(g, "dtype", np.float64))
    if len(index) == 1 and index[0].__class__ is np.ndarray and index[0].dtype.kind in "iu" and index[0].size > 64:
        return _add_rows(out, index[0].ravel(), np.reshape(g, (index[0].size, -1)))
    if any(isinstance(part, np.ndarray) for part in index):
        np.add.at(out, index, g)  # an entry that was picked twice gets both gradients
    else:
        out[index] = g
    return out


def _add_rows(out, places, rows):
    """Add each row at its place: rows for one place are brought together and summed, which beats one by one."""
    places = places.astype(np.intp)  # a copy; ids of one byte cannot hold len(out)
    places[places < 0] += len(out)
    order = np.argsort(places, kind="stable")
    places = places[order]
    starts = np.flatnonzero(np.diff(places, prepend=-1))
    out.reshape(len(out), -1)[places[starts]] = np.add.reduceat(rows[order], starts, axis=0)
    return out


def _behind_batch(index):
    """The same index, with a batch axis in front."""
    return (slice(None), *index)


def _batched_getitem(op, n, x):
    index = op.settings["index"]
    if _arrays_apart(index):  # NumPy moves such axes to the front, past the batch
        return None
    return x[_behind_batch(index)]


def _arrays_apart(index):
    where = [i for i, part in enumerate(index) if isinstance(part, np.ndarray | int) and not isinstance(part, bool)]
    arrays = any(isinstance(index[i], np.ndarray) for i in where)
    return arrays and where != list(range(where[0], where[-1] + 1))


PICKED = [np.s_[0], np.s_[..., 1:], np.s_[::-1], np.s_[:, None, -1], np.array([0, 1, 1]),
          (slice(None), np.array([0, 0, 2])), np.array([[True, False, True], [False, True, True]])]  # fmt: skip

getitem = Op("getitem", "x[index]",
             normalize=lambda x, index: ((x,), {"index": as_index(index)}),
             forward=_getitem,
             vjp=lambda g, out, x, *, index: (scatter(g, index, shape_of(x)),),
             samples=[Sample("2,3", settings={"index": i}) for i in PICKED], batch=_batched_getitem, view=True,
             about=About(rule="The gradient goes back to the place that was picked; everything else gets 0.",
                         small=picked),
             doc="A part of x, `x[index]`: slices, integers, masks, arrays of indices, as in NumPy.")

scatter = Op("scatter", "scatter(x, index, shape)",
             normalize=lambda x, index, shape: ((x,), {"index": as_index(index), "shape": tuple(shape)}),
             forward=_scatter,
             vjp=lambda g, out, x, *, index, shape: (getitem(g, index),),
             written="def scatter(x, index, shape):\n    out = np.zeros(shape, np.asarray(x).dtype)\n"
                     "    np.add.at(out, index, x)  # an entry that was picked twice gets both\n    return out",
             samples=[Sample("3", settings={"index": 0, "shape": (2, 3)}),
                      Sample("3,3", settings={"index": np.array([0, 1, 1]), "shape": (2, 3)})],
             look="placed", doc="Zeros, with x added at the index: what undoes picking.", inner=True)
