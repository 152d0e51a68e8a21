"""Self-attention: all heads in one node, on queries, keys and values side by side in one array."""

import functools
import math

import numpy as np

from autograd.errors import ShapeError
from autograd.expr.rules import by_definition
from autograd.op import Op, let, rank_of, shape_of
from autograd.samples import Sample

from ..elementwise import where
from ..indexing.join import concatenate, split
from ..shape import broadcast_to, expand_dims, reshape, swapaxes
from ._blocks import pieces
from ._rows import are_small, limits, number, ones
from ._stash import Stash
from .attention import _future, attention, checked_mask, is_boolean, mask_and_causal
from .softmax import softmax


def _places(x, heads, kv_heads):
    """Views of the queries, keys and values in one packed array: (..., heads, tokens, d).

    Where several query heads share a key/value head, the views are (..., kv heads, group, tokens, d) and
    (..., kv heads, 1, tokens, d). One head needs no axis for it.
    """
    tokens, width = x.shape[-2:]
    d = width // (heads + 2 * kv_heads)
    parts = x[..., : heads * d], x[..., heads * d : -kv_heads * d], x[..., -kv_heads * d :]
    if heads == 1:
        return parts
    q, k, v = (part.reshape(*x.shape[:-1], part.shape[-1] // d, d).swapaxes(-3, -2) for part in parts)
    if heads == kv_heads:
        return q, k, v
    shape = (*x.shape[:-2], kv_heads, heads // kv_heads, tokens, d)
    return q.reshape(shape), k[..., None, :, :], v[..., None, :, :]


def _grouped(heads, kv_heads):
    """The axes of the heads in such views."""
    if heads == kv_heads:
        return (heads,) if heads > 1 else ()
    return kv_heads, heads // kv_heads


def _by_head(x, heads, kv_heads):
    """A view of an array like the result: (..., tokens, heads · d) as (..., heads, tokens, d), or in groups."""
    if heads == 1:
        return x
    d = x.shape[-1] // heads
    if heads == kv_heads:
        return x.reshape(*x.shape[:-1], heads, d).swapaxes(-3, -2)
    return np.moveaxis(x.reshape(*x.shape[:-1], kv_heads, heads // kv_heads, d), -4, -2)


@functools.lru_cache(maxsize=64)
def _ban(t, dtype):
    """What is added to the transposed scores: -inf where a key (row) comes after the query (column)."""
    ban = np.where(np.tri(t, t, -1, dtype=bool), -np.inf, 0.0).astype(dtype)
    ban.flags.writeable = False
    return ban


def _turned(x, factor, shape):
    """A copy of (..., tokens, width), times a number, with its axes turned: (..., width, tokens), in another shape.

    A product with it takes half the time of one with a transposed view.
    """
    copy = np.empty((*x.shape[:-2], x.shape[-1], x.shape[-2]), x.dtype)
    np.copyto(copy, x.mT)
    copy *= factor
    return copy.reshape(shape)


def _pieces(qkv, mask, scores):
    """Parts of a batch to take one after another, so that the scores of each stay in the processor's cache."""
    if qkv.ndim == 2 or mask.__class__ is np.ndarray:
        return (...,)
    return pieces(len(qkv), scores[:1].nbytes)


def _self_attention(qkv, mask, *, heads, kv_heads, causal):
    out, weights = _mixed_and_weights(qkv, mask, heads, kv_heads, causal)
    _packed.keep(out, weights)
    return out


def _mixed_and_weights(qkv, mask, heads, kv_heads, causal):
    *lead, tokens, width = qkv.shape
    if mask.__class__ is np.ndarray:
        mask = _by_group(mask, heads, kv_heads).mT
    # The scores lie transposed, (..., keys, queries): sums and maxima down the columns are where NumPy is fast.
    if heads == 1 and not lead:
        q, k, v = _places(qkv, heads, kv_heads)
        weights = k.dot(q.T)
        weights *= number(1.0 / math.sqrt(q.shape[-1]), weights.dtype)
        _weigh(weights, mask, causal)
        out = weights.T.dot(v)
    else:
        out = np.empty((*lead, tokens, width // (heads + 2 * kv_heads) * heads), qkv.dtype)
        weights = np.empty((*lead, *_grouped(heads, kv_heads), tokens, tokens), qkv.dtype)
        for piece in _pieces(qkv, mask, weights):
            _attend(qkv[piece], mask, heads, kv_heads, causal, out[piece], weights[piece])
    return out, weights


def _attend(qkv, mask, heads, kv_heads, causal, out, weights):
    """Fill in the result and the weights of some sequences."""
    q, k, v = _places(qkv, heads, kv_heads)
    d = q.shape[-1]
    np.matmul(k, _turned(qkv[..., : heads * d], number(1.0 / math.sqrt(d), qkv.dtype), q.mT.shape), out=weights)
    _weigh(weights, mask, causal)
    np.matmul(weights.mT, v, out=_by_head(out, heads, kv_heads))


def _weigh(scores, mask, causal):
    """Turn scores (..., keys, queries) into weights, in place: a softmax down each column."""
    least, tiny = limits(scores.dtype)  # a column of -inf becomes zeros, not NaN
    shifted = mask.__class__ is np.ndarray or not are_small(scores)
    if causal:
        scores += _ban(scores.shape[-1], scores.dtype.str)
    if mask.__class__ is np.ndarray:
        if is_boolean(mask):
            np.copyto(scores, -np.inf, where=~mask)
        else:
            scores += mask
    if shifted:
        scores -= np.maximum.reduce(scores, axis=-2, keepdims=True, initial=least)
    np.exp(scores, out=scores)
    total = _column_totals(scores)
    total += tiny
    scores /= total


_packed = Stash()


def _by_group(mask, heads, kv_heads):
    """A mask (..., heads or 1, tokens, keys) in the shape of the scores: no axis for one head, two for groups."""
    if mask.ndim < 3 or 1 < heads == kv_heads:
        return mask
    if heads == 1:
        return mask[..., 0, :, :]
    if mask.shape[-3] == 1:
        return mask[..., None, :, :]
    return mask.reshape(*mask.shape[:-3], kv_heads, -1, *mask.shape[-2:])


def _self_attention_pull(g, out, qkv, mask, heads, kv_heads, causal):
    """The rule on arrays: the gradients of qkv and of a mask of numbers."""
    weights = _packed.take(out, lambda: _mixed_and_weights(qkv, mask, heads, kv_heads, causal)[1])
    added = None
    masked = mask.__class__ is np.ndarray and not is_boolean(mask)
    if weights.ndim == 2:
        q, k, v = _places(qkv, heads, kv_heads)
        scores = v.dot(g.T)
        _pull_softmax(scores, weights)
        if masked:
            added = _ungrouped(scores, heads, kv_heads).mT.copy()
        scores *= number(1.0 / math.sqrt(q.shape[-1]), scores.dtype)
        return np.concatenate((scores.T.dot(k), scores.dot(q), weights.dot(g)), axis=1), added
    packed = np.empty_like(qkv)
    for piece in _pieces(qkv, mask, weights):
        scores = _pull_heads(g[piece], qkv[piece], weights[piece], heads, kv_heads, packed[piece])
    if masked:  # then there was one piece
        added = _ungrouped(scores, heads, kv_heads).mT * math.sqrt(qkv.shape[-1] // (heads + 2 * kv_heads))
    return packed, added


def _pull_softmax(g, weights):
    """Turn the gradient of the weights (..., keys, queries) into that of the scores, in place.

    The sum down a column, Σ weights · g, is also that of g · out over the d numbers of a head, which are fewer. But
    where one weight is 1 and the others 0, only this one is g itself, so that the difference is 0 and not rounding.
    """
    g -= _column_totals(weights * g)
    g *= weights


def _column_totals(x):
    """The sums over the rows of each matrix, one row of them."""
    if x.ndim == 2:
        return ones(len(x), x.dtype).dot(x)
    return np.matmul(ones(x.shape[-2], x.dtype)[None, :], x)


def _pull_heads(g, qkv, weights, heads, kv_heads, packed):
    """Write every product straight into its place in the packed gradient; give the gradient of the scores q · k."""
    q, k, v = _places(qkv, heads, kv_heads)
    dq, dk, dv = _places(packed, heads, kv_heads)
    above = _by_head(g, heads, kv_heads)
    scale = number(1.0 / math.sqrt(q.shape[-1]), qkv.dtype)
    scores = np.matmul(v, _turned(g, scale, above.mT.shape))
    _pull_softmax(scores, weights)
    np.matmul(scores.mT, k, out=dq)
    if heads == kv_heads:
        np.matmul(scores, q, out=dk)
        np.matmul(weights, above, out=dv)
    else:  # a key/value head gets the sum over the query heads that share it
        np.add.reduce(np.matmul(scores, q), axis=-3, keepdims=True, out=dk)
        np.add.reduce(np.matmul(weights, above), axis=-3, keepdims=True, out=dv)
    return scores


def _ungrouped(scores, heads, kv_heads):
    """Scores with one axis for the heads."""
    if heads == 1:
        return scores[..., None, :, :]
    if heads == kv_heads:
        return scores
    return scores.reshape(*scores.shape[:-4], heads, *scores.shape[-2:])


def _in_steps(qkv, mask, *, heads, kv_heads, causal):
    """The same in steps: split into heads, attend, merge."""
    *lead, tokens, width = shape_of(qkv)
    d = width // (heads + 2 * kv_heads)
    parts = split(qkv, [heads * d, (heads + kv_heads) * d], axis=-1)
    if heads == kv_heads == 1 and rank_of(mask) <= 2:  # one head needs no axis for it
        parts = [let(name, part) for name, part in zip("qkv", parts, strict=True)]
        return attention(*parts, None if mask.__class__ is float else mask, causal)
    q, k, v = (let(name, swapaxes(reshape(part, (*lead, tokens, -1, d)), -3, -2), "one matrix a head")
               for name, part in zip("qkv", parts, strict=True))
    if kv_heads != heads:
        group = heads // kv_heads
        k, v = (broadcast_to(expand_dims(x, -3), (*lead, kv_heads, group, tokens, d)) for x in (k, v))
        k, v = (reshape(x, (*lead, heads, tokens, d)) for x in (k, v))
    mixed = let("heads", attention(q, k, v, None if mask.__class__ is float else mask, causal))
    return reshape(swapaxes(mixed, -3, -2), (*lead, tokens, heads * d))


def _columns(width, *, heads, kv_heads, causal):
    """Which columns of a packed array are the queries, keys and values."""
    d = width // (heads + 2 * kv_heads)
    return {"Q": slice(0, heads * d), "K": slice(heads * d, (heads + kv_heads) * d),
            "V": slice((heads + kv_heads) * d, width)}


def _head_by_head(Q, K, V, mask, *, heads, kv_heads, causal):
    """The same as a book explains it: each head has its own columns, scores and weights; the results side by side."""
    d, tokens = shape_of(Q)[-1] // heads, shape_of(Q)[-2]
    shared = {}  # the keys and values of a head, which several heads of queries may share
    outs = []
    for head in range(heads):
        mark = f"_{head + 1}" if heads > 1 else ""
        kv = head // (heads // kv_heads)
        q = let(f"Q{mark}", Q[..., head * d : (head + 1) * d]) if heads > 1 else Q
        if kv not in shared:
            part = (..., slice(kv * d, (kv + 1) * d))
            of_kv = f"_{kv + 1}" if kv_heads > 1 else mark
            shared[kv] = tuple(let(name + of_kv, x[part]) if kv_heads > 1 else x for name, x in (("K", K), ("V", V)))
        k, v = shared[kv]
        scores = let(f"scores{mark}", q @ k.mT)
        scaled = let(f"scaled{mark}", scores / math.sqrt(d))
        if causal or mask.__class__ is not float:
            if causal:
                scaled = where(_future(tokens, tokens), -np.inf, scaled)
            scaled = let(f"masked{mark}", _masked(scaled, mask, head))
        attn = let(f"attn{mark}", softmax(scaled))
        outs.append(let(f"out{mark}", attn @ v) if heads > 1 else attn @ v)
    return concatenate(outs, axis=-1) if heads > 1 else outs[0]


def _masked(scores, mask, head):
    """The scores of a head with its mask: an array of places that may be seen, or what is added."""
    if mask.__class__ is float:
        return scores
    if rank_of(mask) > 2:
        mask = mask[..., head if shape_of(mask)[-3] > 1 else 0, :, :]
    return where(mask, scores, -np.inf) if is_boolean(mask) else scores + mask


def _explained(*inputs, heads=1, kv_heads=None, causal=False):
    """The steps for people, of a packed array or of queries, keys and values."""
    settings = {"heads": heads, "kv_heads": kv_heads or heads, "causal": causal}
    if len(inputs) < 3:
        qkv, *mask = inputs
        columns = _columns(shape_of(qkv)[-1], **settings)
        inputs = *(let(name, qkv[..., part]) for name, part in columns.items()), *mask
    return _head_by_head(*inputs[:3], *(inputs[3:] or (0.0,)), **settings)


def _in_steps_unmasked(qkv, **settings):
    return _in_steps(qkv, 0.0, **settings)


_step_by_step, _step_by_step_unmasked = by_definition(_in_steps), by_definition(_in_steps_unmasked)


def _self_attention_vjp(g, out, qkv, mask, *, heads, kv_heads, causal):
    if g.__class__ is np.ndarray and out.__class__ is np.ndarray:
        return _self_attention_pull(g, out, qkv, mask, heads, kv_heads, causal)
    settings = {"heads": heads, "kv_heads": kv_heads, "causal": causal}
    if mask.__class__ is float:
        return *_step_by_step_unmasked(g, out, qkv, **settings), None
    return _step_by_step(g, out, qkv, mask, **settings)


def _normalize_self_attention(qkv, mask=None, heads=1, kv_heads=None, causal=False):
    """Without a mask, 0.0 is what is added to the scores."""
    kv_heads = heads if kv_heads is None else kv_heads
    shape = shape_of(qkv)
    if heads < 1 or kv_heads < 1 or heads % kv_heads:
        raise ShapeError(f"self_attention: {heads} heads cannot share {kv_heads} key/value heads evenly")
    if len(shape) < 2 or shape[-1] % (heads + 2 * kv_heads):
        raise ShapeError(
            f"self_attention: qkv is (..., tokens, width) with queries for {heads} heads, then keys and "
            f"values for {kv_heads} side by side, so its width is a multiple of {heads + 2 * kv_heads}; "
            f"got shape {shape}"
        )
    if isinstance(mask, str):
        mask, causal = mask_and_causal("self_attention", shape, shape, mask, causal)
    elif mask is not None and mask.__class__ is not float:
        scores = (*shape[:-2], heads, *shape[-2:])
        mask = checked_mask("self_attention", mask, scores, scores)
        own = (*shape[:-2], heads, shape[-2], shape[-2])[-rank_of(mask) :]
        if any(m not in (1, n) for m, n in zip(shape_of(mask), own, strict=True)):
            raise ShapeError(f"self_attention: a mask of shape {shape_of(mask)} does not broadcast to (..., heads, "
                             f"tokens, tokens) = {own}. Write mask[:, None] for one mask a sequence.")
    settings = {"heads": int(heads), "kv_heads": int(kv_heads), "causal": bool(causal)}
    return (qkv, 0.0 if mask is None else mask), settings


_SQUARE = np.array([[True, False, True], [False, False, False], [True, True, False]])

self_attention = Op("self_attention", "self_attention(qkv, mask, heads=heads, kv_heads=kv_heads, causal=causal)",
                    normalize=_normalize_self_attention,
                    forward=_self_attention,
                    vjp=_self_attention_vjp,
                    definition=_explained,
                    lower=lambda qkv, mask=0.0, heads=1, kv_heads=None, causal=False: _in_steps(
                        qkv, mask, heads=heads, kv_heads=kv_heads or heads, causal=causal),
                    unfolds="graph", unpack=_columns,
                    samples=[Sample("3,6"), Sample("3,12", heads=2), Sample("2,3,12", heads=2, causal=True),
                             Sample("3,16", heads=4, kv_heads=2, causal=True), Sample("2,3,8", heads=2, kv_heads=1),
                             Sample("3,6", _SQUARE), Sample("3,12", _SQUARE, heads=2), Sample("2,12 2,2", heads=2),
                             Sample("2,16 4,2,2", heads=4, kv_heads=2), Sample("2,2,6 2,1,2,2"), Sample("3,6 3,3")],
                    batch=lambda op, n, qkv, mask: op.forward(qkv, 0.0) if mask.ndim == 1 else None,
                    doc="Attention of tokens to each other in several heads; queries, keys and values lie side by "
                        "side in qkv.")
