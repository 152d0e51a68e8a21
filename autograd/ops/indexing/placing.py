"""x with other numbers at an index: written there, or added to what is there. NumPy's indices, as in `x[index]`."""

import numpy as np

from autograd.errors import AxisError, ShapeError
from autograd.op import Op, shape_of
from autograd.samples import Sample

from .._axes import as_index
from ..elementwise import where
from ..shape import _arrays_apart, _behind_batch, broadcast_to, getitem, scatter


def _normalize(who):
    def take(x, values, index):
        index = as_index(index)
        try:
            picked = np.empty(shape_of(x), bool)[index].shape
        except IndexError as error:
            raise AxisError(f"{who}: an index that does not fit shape {shape_of(x)}: {error}") from None
        try:
            fits = np.broadcast_shapes(shape_of(values), picked) == picked
        except ValueError:
            fits = False
        if not fits:
            raise ShapeError(f"{who}: the index picks numbers of shape {picked}; values of shape {shape_of(values)} do "
                             "not broadcast to it")
        return (x, values), {"index": index}

    return take


def _add_at(x, values, *, index):
    out = np.array(x)
    np.add.at(out, index, values)
    return out


def _set_at(x, values, *, index):
    out = np.array(x)
    out[index] = values
    return out


def _spread_out(x, values, index):
    """The values in the shape that the index picks, put at their places among zeros."""
    picked = np.empty(shape_of(x), bool)[as_index(index)].shape
    return scatter(values if shape_of(values) == picked else broadcast_to(values, picked), index, shape_of(x))


def _taken(x, index):
    taken = np.zeros(shape_of(x), bool)
    taken[as_index(index)] = True
    return taken


def _batched(op, n, x, values):
    index = op.settings["index"]
    if _arrays_apart(index):
        return None
    picked = x[0][index].shape
    values = values.reshape(n, *(1,) * (len(picked) + 1 - values.ndim), *values.shape[1:])
    return op.base.forward(x, values, index=_behind_batch(index))


ROWS = np.array([0, 2, 2])
PLACED = [Sample("3,2 2", settings={"index": 1}), Sample("3,4 3,2", settings={"index": np.s_[:, 1:3]}),
          Sample("3,4 2,1", settings={"index": (np.array([0, 2]), slice(None, 3))})]

add_at = Op("add_at", "add_at(x, values, index)", normalize=_normalize("add_at"),
            forward=_add_at,
            vjp=lambda g, out, x, values, *, index: (g, getitem(g, index)),
            definition=lambda x, values, index: x + _spread_out(x, values, index), lower=True, batch=_batched,
            samples=(*PLACED, Sample("3,2 3,2", settings={"index": ROWS})),
            doc="x with values added at an index; a place that is named twice gets both.")

set_at = Op("set_at", "set_at(x, values, index)", normalize=_normalize("set_at"),
            forward=_set_at,
            vjp=lambda g, out, x, values, *, index: (set_at(g, 0.0, index), getitem(g, index)),
            definition=lambda x, values, index: where(_taken(x, index), _spread_out(x, values, index), x),
            lower=True, batch=_batched,
            samples=PLACED,
            doc="x with values written at an index, each place once: what stood there no longer counts.")
