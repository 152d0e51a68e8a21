"""Operators that pick numbers by their place, or put them there."""

from __future__ import annotations

import numpy as np

import autograd as ag

from .table import aten, dtype_of, operands, plain, rank_of, shape_of, unless


def mesh(index, dim):
    """The index arrays that pick, for each entry of `index`, the entry at its own place but along `dim`."""
    parts = list(np.ogrid[tuple(slice(n) for n in index.shape)])
    parts[dim] = index
    return tuple(parts)


@aten("gather")
def gather(x, dim, index, sparse_grad=False):
    return x[mesh(index, dim)] if rank_of(x) else ag.reshape(x, index.shape)


@aten("take_along_dim")
def take_along_dim(x, index, dim=None):
    unless(dim is None, "places in the flattened tensor")
    index = np.broadcast_to(index, tuple(n if i == dim % x.ndim else max(n, m)
                                         for i, (n, m) in enumerate(zip(index.shape, x.shape, strict=True))))
    return gather(ag.broadcast_to(x, tuple(m if i == dim % x.ndim else max(n, m) for i, (n, m) in enumerate(
        zip(index.shape, x.shape, strict=True)))), dim, index)


@aten("index_select")
def index_select(x, dim, index):
    return ag.take(x, index, axis=dim) if rank_of(x) else x


@aten("embedding")
def embedding(weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    """Rows of a table. The row at `padding_idx` gets no gradient, so it is a plain one."""
    unless(scale_grad_by_freq, "gradients divided by how often a row was used")
    rows = ag.take(weight, indices, axis=0)
    if padding_idx < 0 or not np.any(indices == padding_idx):
        return rows
    return ag.where((indices == padding_idx)[..., None], weight.data[padding_idx], rows)


@aten("embedding_bag", "_embedding_bag", "_embedding_bag_forward_only")
def embedding_bag(weight, indices, offsets, scale_grad_by_freq=False, mode=0, sparse=False, per_sample_weights=None,
                  include_last_offset=False, padding_idx=-1):  # fmt: skip
    """The sum (mode 0) or mean (mode 1) of the rows of each bag, without `padding_idx`; a bag begins at each offset."""
    unless(mode == 2 or scale_grad_by_freq, "the largest of a bag, or gradients divided by how often a row was used")
    starts = offsets[:-1] if include_last_offset else offsets
    bags = np.repeat(np.arange(len(starts)), np.diff([*starts, len(indices)]))
    if padding_idx is not None and padding_idx >= 0:
        (kept,) = np.nonzero(indices != padding_idx)
        indices, bags = indices[kept], bags[kept]
        per_sample_weights = None if per_sample_weights is None else per_sample_weights[kept]
    sizes = np.bincount(bags, minlength=len(starts))
    rows = ag.take(weight, indices, axis=0)
    if per_sample_weights is not None:
        rows = rows * ag.expand_dims(per_sample_weights, -1)
    empty = np.zeros((len(starts), shape_of(weight)[-1]), dtype_of(rows))
    total = ag.add_at(empty, rows, (bags,))
    return (total / np.maximum(sizes, 1).astype(total.dtype)[:, None] if mode == 1 else total), None, None, None


@aten("_pack_padded_sequence")
def pack_padded_sequence(x, lengths, batch_first=False):
    """The steps of all sequences that are still going on, moment by moment: the longest sequence comes first."""
    places = [(b, t) for t in range(int(lengths[0])) for b in range(len(lengths)) if t < lengths[b]]
    sequence, moment = np.array(places).T
    return x[(sequence, moment) if batch_first else (moment, sequence)], None


@aten("index.Tensor")
def index(x, indices):
    return x[as_index(indices)]


def as_index(indices):
    """torch's list of index tensors; None takes the whole axis, and so do axes that are left out."""
    parts = tuple(slice(None) if i is None else np.asarray(i) for i in indices)
    return tuple(p.astype(bool) if isinstance(p, np.ndarray) and p.dtype == np.uint8 else p for p in parts)


@aten("masked_select")
def masked_select(x, mask):
    shape = np.broadcast_shapes(shape_of(x), mask.shape)
    x = x if shape_of(x) == shape else ag.broadcast_to(x, shape)
    return x[np.broadcast_to(mask, shape)]


# --- writing ------------------------------------------------------------------------------------------------


def placed(x, where, values, accumulate=False):
    """x with `values` at an index: in place of what was there, or added to it."""
    x, values = operands(x, values)
    if accumulate:
        return ag.add_at(x, values, where)
    taken = np.zeros(shape_of(x), bool)
    taken[where] = True
    unless(np.count_nonzero(taken) != taken[where].size, "several numbers written to one place")
    return ag.set_at(x, values, where)


@aten("index_put")
def index_put(x, indices, values, accumulate=False, unsafe=False):
    if len(indices) == 1 and not plain(indices[0]):  # h[h > 0] = 0
        unless(indices[0].shape != shape_of(x) or rank_of(values) or accumulate, "several numbers to places by a mask")
        return ag.where(indices[0], *operands(values, x))
    return placed(x, as_index(indices), values, accumulate)


@aten("scatter.src", "scatter.value")
def scatter(x, dim, index, src):
    return placed(x, mesh(index, dim), _part(src, index))


@aten("scatter_add")
def scatter_add(x, dim, index, src):
    return placed(x, mesh(index, dim), _part(src, index), accumulate=True)


def _part(src, index):
    """The part of a source that an index speaks of: it may be larger."""
    return src if not rank_of(src) or shape_of(src) == index.shape else src[tuple(slice(n) for n in index.shape)]


@aten("scatter_reduce.two")
def scatter_reduce(x, dim, index, src, reduce, include_self=True):
    """What several numbers that go to one place make there together: their sum, mean, or largest."""
    unless(reduce == "prod", "a product of those that go to one place")
    x, src = operands(x, _part(src, index))
    where = mesh(index, dim)
    if not include_self:  # a place that others come to forgets its own number
        touched = np.zeros(shape_of(x), bool)
        touched[where] = True
        x = ag.where(touched, {"amax": -np.inf, "amin": np.inf}.get(reduce, 0.0), x)
    if reduce in ("amax", "amin"):
        return _extreme(x, where, src, np.maximum if reduce == "amax" else np.minimum)
    total = ag.add_at(x, src, where)
    if reduce == "sum":
        return total
    count = np.full(shape_of(x), float(include_self))
    np.add.at(count, where, 1.0)
    return total / np.maximum(count, 1.0).astype(total.dtype)


def _extreme(x, where, src, function):
    """Those that are the largest at their place, shared out evenly: ties add up to one of them."""
    own, coming = (np.asarray(getattr(v, "data", v)) for v in (x, src))
    best = np.array(np.broadcast_to(own, shape_of(x)))
    function.at(best, where, coming)
    wins, arrives = own == best, coming == best[where]
    count = wins.astype(best.dtype)
    np.add.at(count, where, arrives.astype(best.dtype))
    kept = ag.where(wins, x / count, 0.0)
    return ag.add_at(kept, ag.where(arrives, src / count[where], 0.0), where)


@aten("index_add")
def index_add(x, dim, index, source, alpha=1):
    return placed(x, _rows(x, dim, index), source if alpha == 1 else alpha * source, accumulate=True)


@aten("index_copy")
def index_copy(x, dim, index, source):
    return placed(x, _rows(x, dim, index), source)


@aten("index_fill.int_Scalar", "index_fill.int_Tensor")
def index_fill(x, dim, index, value):
    unless(not plain(value), "a filling with a gradient")
    return placed(x, _rows(x, dim, index), value)


def _rows(x, dim, index):
    return (slice(None),) * (dim % rank_of(x)) + (np.asarray(index).reshape(-1),)


@aten("masked_scatter")
def masked_scatter(x, mask, source):
    mask = np.broadcast_to(mask, shape_of(x))
    return placed(x, mask, ag.reshape(source, (-1,))[: np.count_nonzero(mask)])


@aten("slice_scatter")
def slice_scatter(x, src, dim=0, start=None, end=None, step=1):
    part = slice(*slice(start, end, step).indices(shape_of(x)[dim]))
    return placed(x, (slice(None),) * (dim % rank_of(x)) + (part,), src)


@aten("select_scatter")
def select_scatter(x, src, dim, index):
    return placed(x, (slice(None),) * (dim % rank_of(x)) + (index,), src)


# --- order --------------------------------------------------------------------------------------------------


@aten("sort")
def sort(x, dim=-1, descending=False):
    if not rank_of(x):
        return x, None
    order = ag.argsort(-x if descending else x, axis=dim, kind="stable")
    return ag.take_along_axis(x, order, axis=dim), None


aten("sort.stable")(lambda x, stable=False, dim=-1, descending=False: sort(x, dim, descending))
aten("cummax")(lambda x, dim: _running(x, dim, np.maximum))
aten("cummin")(lambda x, dim: _running(x, dim, np.minimum))
aten("take")(ag.take)


def _running(x, dim, function):
    """The largest (smallest) number so far, and where it stands: the latest of equal ones, as in torch."""
    best = function.accumulate(x.data, axis=dim)
    places = np.arange(shape_of(x)[dim]).reshape([-1 if i == dim % x.ndim else 1 for i in range(x.ndim)])
    latest = np.maximum.accumulate(np.where(x.data == best, places, 0), axis=dim)
    return gather(x, dim, latest), None


@aten("topk")
def topk(x, k, dim=-1, largest=True, sorted=True):
    order = ag.argsort(-x if largest else x, axis=dim, kind="stable")
    return ag.take_along_axis(x, ag.take(order, np.arange(k), axis=dim), axis=dim), None
