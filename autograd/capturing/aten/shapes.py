"""Operators that move numbers without changing them: views, joins and cuts."""

from __future__ import annotations

import math

import numpy as np

import autograd as ag

from .table import along, aten, dtype_of, plain, rank_of, shape_of, unless


@aten("alias", "clone", "contiguous", "lift_fresh", "positive", "view_as_real_copy", "resolve_conj", "resolve_neg",
      "_reshape_alias", "detach")  # fmt: skip
def same(x, *args, **kwargs):
    """The tensor itself: what differs (memory, strides) is nothing to a gradient."""
    return x


@aten("view.dtype")
def other_bits(x, dtype):
    unless(True, "the same bits read as other numbers")


@aten("view", "reshape", "_unsafe_view", "view_as", "reshape_as")
def reshape(x, shape):
    shape = tuple(shape) if isinstance(shape, list | tuple) else shape_of(shape)
    return ag.reshape(x, shape)


@aten("flatten.using_ints")
def flatten(x, start_dim=0, end_dim=-1):
    rank = rank_of(x)
    if not rank:
        return ag.reshape(x, (1,))
    start, end = start_dim % rank, end_dim % rank
    shape = shape_of(x)
    together = math.prod(shape[start : end + 1])
    return x if start == end else ag.reshape(x, (*shape[:start], together, *shape[end + 1 :]))


@aten("unflatten.int")
def unflatten(x, dim, sizes):
    shape = shape_of(x)
    dim %= len(shape)
    known = -int(np.prod(sizes)) if -1 in sizes else 1
    sizes = [shape[dim] // known if n == -1 else n for n in sizes]
    return ag.reshape(x, (*shape[:dim], *sizes, *shape[dim + 1 :]))


aten("unsqueeze")(ag.expand_dims)
aten("permute")(lambda x, dims: ag.transpose(x, tuple(dims)))
aten("tril")(lambda x, diagonal=0: ag.tril(x, k=diagonal))
aten("triu")(lambda x, diagonal=0: ag.triu(x, k=diagonal))


@aten("squeeze")
def squeeze(x, dim=None):
    shape = shape_of(x)
    dims = range(len(shape)) if dim is None else dim if isinstance(dim, list | tuple) else [dim]
    dims = tuple(d % len(shape) for d in dims if shape and shape[d] == 1)
    return ag.squeeze(x, axis=dims) if dims else x


@aten("expand", "broadcast_to", "expand_as")
def expand(x, shape, implicit=False):
    shape = list(shape) if isinstance(shape, list | tuple) else list(shape_of(shape))
    own = shape_of(x)
    lead = len(shape) - len(own)
    full = tuple(own[i - lead] if n == -1 else n for i, n in enumerate(shape))
    return x if full == own else ag.broadcast_to(x, full)


@aten("transpose", "swapaxes", "swapdims")
def transpose(x, a, b):
    return ag.swapaxes(x, a, b) if rank_of(x) else x


@aten("t", "numpy_T", "mT", "matrix_H", "mH", "adjoint")
def turned(x):
    return x if rank_of(x) < 2 else ag.swapaxes(x, -1, -2)


@aten("movedim.intlist", "movedim.int", "moveaxis.intlist", "moveaxis.int")
def movedim(x, source, destination):
    source, destination = (tuple(d) if isinstance(d, list) else d for d in (source, destination))
    return ag.moveaxis(x, source, destination)


@aten("unfold")
def unfold(x, dim, size, step):
    """Windows along an axis: their number takes its place, what they show comes last."""
    if not rank_of(x):
        return ag.reshape(x, (size,))
    starts = np.arange(0, shape_of(x)[dim] - size + 1, step)
    windows = x[along(dim, rank_of(x), starts[:, None] + np.arange(size))]
    return ag.moveaxis(windows, dim % rank_of(x) + 1, -1)


@aten("flip")
def flip(x, dims):
    return ag.flip(x, axis=tuple(dims)) if dims else x


@aten("roll")
def roll(x, shifts, dims=()):
    shifts = shifts if isinstance(shifts, list | tuple) else [shifts]
    dims = dims if isinstance(dims, list | tuple) else [dims]
    if not dims:
        return ag.reshape(roll(ag.reshape(x, (-1,)), shifts, [0]), shape_of(x))
    for shift, dim in zip(shifts, dims, strict=True):
        size = shape_of(x)[dim]
        cut = -shift % size if size else 0
        if cut:
            parts = [x[along(dim, rank_of(x), slice(cut, None))], x[along(dim, rank_of(x), slice(0, cut))]]
            x = ag.concatenate(parts, axis=dim)
    return x


@aten("repeat")
def repeat(x, sizes):
    """Tiled: one copy after another along each axis, new axes in front."""
    shape = (1,) * (len(sizes) - rank_of(x)) + shape_of(x)
    apart = ag.reshape(x, tuple(n for size in shape for n in (1, size)))
    spread = ag.broadcast_to(apart, tuple(n for times, size in zip(sizes, shape, strict=True) for n in (times, size)))
    return ag.reshape(spread, tuple(times * size for times, size in zip(sizes, shape, strict=True)))


@aten("repeat_interleave.self_int")
def repeat_interleave(x, repeats, dim=None, output_size=None):
    if dim is None:
        x, dim = ag.reshape(x, (-1,)), 0
    dim %= rank_of(x)
    shape = shape_of(x)
    wide = ag.broadcast_to(ag.expand_dims(x, dim + 1), (*shape[: dim + 1], repeats, *shape[dim + 1 :]))
    return ag.reshape(wide, (*shape[:dim], shape[dim] * repeats, *shape[dim + 1 :]))


@aten("cat", "concat", "concatenate")
def cat(tensors, dim=0):
    dtype = dtype_of(*tensors)
    tensors = [x if not plain(x) else x.astype(dtype) for x in tensors if shape_of(x) != (0,)]  # torch skips empty ones
    return tensors[0] if len(tensors) == 1 else ag.concatenate(tensors, axis=dim)


@aten("stack")
def stack(tensors, dim=0):
    dtype = dtype_of(*tensors)
    return ag.stack([x if not plain(x) else x.astype(dtype) for x in tensors], axis=dim)


@aten("split_with_sizes", "split.sizes", "unsafe_split_with_sizes")
def pieces(x, sizes, dim=0):
    """x cut along an axis into parts of these sizes."""
    stops = np.cumsum(sizes)
    return tuple(x[along(dim, rank_of(x), slice(int(b - n), int(b)))] for n, b in zip(sizes, stops, strict=True))


@aten("split.Tensor", "unsafe_split.Tensor")
def split(x, size, dim=0):
    total = shape_of(x)[dim]
    full, rest = divmod(total, size) if size else (1, 0)
    return pieces(x, [size] * full + [rest] * bool(rest), dim)


@aten("chunk", "unsafe_chunk")
def chunk(x, chunks, dim=0):
    return split(x, -(-shape_of(x)[dim] // chunks), dim)


@aten("unbind")
def unbind(x, dim=0):
    return tuple(x[along(dim, rank_of(x), i)] for i in range(shape_of(x)[dim]))


@aten("select")
def select(x, dim, index):
    return x[along(dim, rank_of(x), index)]


@aten("slice.Tensor")
def slice_(x, dim=0, start=None, end=None, step=1):
    size = shape_of(x)[dim]
    part = slice(*slice(start, end, step).indices(size))
    return x if part == slice(0, size, 1) else x[along(dim, rank_of(x), part)]


@aten("narrow")
def narrow(x, dim, start, length):
    unless(not plain(start) or isinstance(start, np.ndarray), "a cut whose place is a tensor")
    start %= max(shape_of(x)[dim], 1)
    return x[along(dim, rank_of(x), slice(start, start + length))]


@aten("diagonal")
def diagonal(x, offset=0, dim1=0, dim2=1):
    x = ag.moveaxis(x, (dim1, dim2), (-2, -1))
    rows, columns = shape_of(x)[-2:]
    n = min(rows + min(offset, 0), columns - max(offset, 0))
    places = np.arange(max(n, 0))
    return x[..., places - min(offset, 0), places + max(offset, 0)]


@aten("constant_pad_nd")
def constant_pad(x, pad, value=0.0):
    """torch counts the borders from the last axis on; a negative one cuts."""
    pairs = [(pad[i], pad[i + 1]) for i in range(0, len(pad), 2)][::-1]
    lead = rank_of(x) - len(pairs)
    cuts = (slice(None),) * lead + tuple(slice(max(-a, 0), None if b >= 0 else b) for a, b in pairs)
    if any(a < 0 or b < 0 for a, b in pairs):
        x = x[cuts]
    width = ((0, 0),) * lead + tuple((max(a, 0), max(b, 0)) for a, b in pairs)
    return ag.pad(x, width, constant_values=value)


@aten("pad")
def pad(x, pad, mode="constant", value=None):
    unless(mode != "constant", f"a border by {mode}")
    return constant_pad(x, pad, 0.0 if value is None else value)


@aten("_to_copy", "to.dtype", "to.dtype_layout", "to.other")
def to(x, *args, dtype=None, **kwargs):
    kinds = [a for a in (dtype, *args) if isinstance(a, str)]
    kinds += [str(a.dtype) for a in args if hasattr(a, "dtype")]
    unless(kinds and np.dtype(kinds[0]).kind != "f", "a cast to integers, where a gradient ends")
    return x if not kinds or np.dtype(kinds[0]) == x.dtype else ag.astype(x, kinds[0])


@aten("copy")
def copy(x, source, non_blocking=False):
    """`x.copy_(source)`, which is what `x[...] = source` does."""
    dtype = x.dtype if hasattr(x, "dtype") else np.float64
    if plain(source):
        return np.broadcast_to(source, shape_of(x)).astype(dtype)
    source = source if source.dtype == dtype else ag.astype(source, dtype)
    return expand(source, shape_of(x))


@aten("zero")
def zero(x):
    return np.zeros(shape_of(x), x.dtype)


@aten("fill")
def fill(x, value):
    return expand(value, shape_of(x)) if not plain(value) else np.full(shape_of(x), value, x.dtype)
