"""Operators that pick numbers by their place, or put them there."""

from __future__ import annotations

import numpy as np

import autograd as ag

from .table import aten, operands, plain, rank_of, shape_of, unless


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


@aten("take")
def take(x, index):
    return ag.take(x, index)


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
    return _sorted(x, dim, descending)


@aten("sort.stable")
def stable_sort(x, stable=False, dim=-1, descending=False):
    return _sorted(x, dim, descending)


def _sorted(x, dim, descending):
    if not rank_of(x):
        return x, None
    order = np.argsort(-x.data if descending else x.data, axis=dim, kind="stable")
    return gather(x, dim, order), None


@aten("topk")
def topk(x, k, dim=-1, largest=True, sorted=True):
    order = np.argsort(-x.data if largest else x.data, axis=dim, kind="stable")
    return gather(x, dim, np.take(order, np.arange(k), axis=dim)), None
