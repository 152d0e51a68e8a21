"""Attention, as one node each: its weights, and the weighted sum of values. `heads.py` has all heads at once."""

import math

import numpy as np

from autograd.errors import DataError, ShapeError
from autograd.op import Op, let, rank_of, shape_of
from autograd.samples import Sample

from ..elementwise import where
from ..matrices.linear import product
from ._rows import number
from ._stash import Stash
from .softmax import _softmax, inner, softmax, softmax_pull

_weights = Stash()


def _scores(q, k, mask, causal):
    """q kᵀ / √d with what may not be seen at -inf. Plain arrays."""
    # In a stack of small matrices the product with a transposed view takes three times as long as with a copy.
    scores = product(q, k.mT if k.ndim == 2 else k.mT.copy())
    scores *= number(1.0 / math.sqrt(q.shape[-1]), scores.dtype)
    if causal:
        scores[..., _future(*scores.shape[-2:])] = -np.inf
    if mask is not None:
        if is_boolean(mask):
            scores = np.where(mask, scores, scores.dtype.type(-np.inf))
        else:
            scores = scores + mask
    return scores


def is_boolean(mask):
    """Whether a mask says who may attend (True) rather than what to add to the scores."""
    return getattr(mask, "dtype", None) == np.dtype(bool)


def _future(t, s):
    """True where a query may not look: beyond its own place, places counted from the end."""
    return np.triu(np.ones((t, s), bool), s - t + 1)


def _attention_weights(q, k, mask, *, causal):
    return _softmax(_scores(q, k, mask, causal), axis=(-1,))


def _attention_weights_defined(q, k, mask=None, causal=False):
    scores = let("scores", q @ k.mT)
    scaled = let("scaled", scores / math.sqrt(shape_of(q)[-1]))
    if causal:
        scaled = where(_future(*shape_of(scaled)[-2:]), -np.inf, scaled)
    if mask is not None:
        scaled = where(mask, scaled, -np.inf) if is_boolean(mask) else scaled + mask
    if causal or mask is not None:
        scaled = let("masked", scaled)
    return softmax(scaled)


def mask_and_causal(who, q, k, mask, causal):
    """A regular mask and whether there is a causal one too, for queries and keys of these shapes."""
    if isinstance(mask, str):
        if mask != "causal":
            raise ValueError(f'{who}: a mask is booleans (True: may attend), numbers to add, or "causal"; got {mask!r}')
        mask, causal = None, True
    if len(q) < 2 or len(k) < 2:
        name, shape = ("q", q) if len(q) < 2 else ("k", k)
        raise ShapeError(f"{who}: {name} needs (places, features) as its last two axes; got shape {shape}")
    if q[-1] != k[-1]:
        raise ShapeError(f"{who}: q has {q[-1]} features (shape {q}), k has {k[-1]} (shape {k}); they must be equal")
    return None if mask is None else checked_mask(who, mask, q, k), bool(causal)


def checked_mask(who, mask, q, k):
    """A mask of booleans or real numbers that broadcasts to the scores of queries and keys of these shapes."""
    if not hasattr(mask, "dtype"):
        mask = np.asarray(mask)
    if mask.dtype.kind not in "bf":
        raise DataError(f"{who}: a mask is booleans (True: may attend) or real numbers to add to the scores; got "
                        f"{mask.dtype}. Write mask.astype(bool) for zeros and ones.")
    scores = (*(q[:-2] if len(q) >= len(k) else k[:-2]), q[-2], k[-2])
    missing = len(scores) - rank_of(mask)
    if missing < 0 or any(m not in (1, n) for m, n in zip(shape_of(mask)[-2:], scores[missing:][-2:], strict=True)):
        raise ShapeError(f"{who}: a mask of shape {shape_of(mask)} does not broadcast to the scores' shape {scores}")
    return mask


def _normalize_weights(q, k, mask=None, causal=False):
    mask, causal = mask_and_causal("attention_weights", shape_of(q), shape_of(k), mask, causal)
    return (q, k, mask), {"causal": causal}


def _normalize_attention(q, k, v, mask=None, causal=False):
    keys, values = shape_of(k), shape_of(v)
    mask, causal = mask_and_causal("attention", shape_of(q), keys, mask, causal)
    if len(values) < 2 or values[-2] != keys[-2]:
        raise ShapeError(f"attention: k has {keys[-2]} places (shape {keys}); v has shape {values}")
    return (q, k, v, mask), {"causal": causal}


def _pull_scores(d, weights, q, k, mask):
    """From the gradient of the weights to those of q, k and an additive mask."""
    ds = let("dscaled", inner(softmax_pull, d, weights, axis=(-1,)))
    root = math.sqrt(shape_of(q)[-1])
    scaled = ds * (1.0 / root) if ds.__class__ is np.ndarray else let("dscores", ds / root)
    dmask = None if mask is None or is_boolean(mask) else ds
    return product(scaled, k), product(scaled.mT, q), dmask


def _attention_weights_vjp(g, out, q, k, mask, *, causal):
    return _pull_scores(g, out, q, k, mask)


_BOOL = np.array([[True, False, True], [False, False, False]])
_ADDED = np.array([[0.0, -1.0, 0.5], [0.3, 0.0, -np.inf]])

attention_weights = Op("attention_weights", "attention_weights(q, k, mask, causal=causal)",
                       normalize=_normalize_weights,
                       forward=_attention_weights,
                       vjp=_attention_weights_vjp,
                       definition=_attention_weights_defined, lower=True, unfolds="graph",
                       samples=[Sample("2,4 3,4", None), Sample("2,4 3,4", _BOOL), Sample("2,4 3,4 2,3"),
                                Sample("5,3,2 5,3,2", None, causal=True), Sample("2,4 3,4", None, causal=True),
                                Sample("2,4 3,4", _ADDED)],
                       batch="align",
                       doc="softmax(q kᵀ / √d): how much each query looks at each key. A fully masked row is zeros.")


def _attention(q, k, v, mask, *, causal):
    weights = _attention_weights(q, k, mask, causal=causal)
    out = product(weights, v)
    _weights.keep(out, weights)
    return out


def _attention_vjp(g, out, q, k, v, mask, *, causal):
    if out.__class__ is np.ndarray:
        weights = _weights.take(out, lambda: _attention_weights(q, k, mask, causal=causal))
    else:
        weights = let("weights", attention_weights(q, k, mask, causal))
    dq, dk, dmask = _pull_scores(let("dweights", product(g, v.mT)), weights, q, k, mask)
    return dq, dk, product(weights.mT, g), dmask


attention = Op("attention", "attention(q, k, v, mask, causal=causal)", normalize=_normalize_attention,
               forward=_attention,
               vjp=_attention_vjp,
               definition=lambda q, k, v, mask=None, causal=False: (
                   let("weights", attention_weights(q, k, mask, causal)) @ v),
               lower=True, unfolds="graph",
               samples=[Sample("2,4 3,4 3,2", None), Sample("2,4 3,4 3,2", _BOOL), Sample("2,4 3,4 3,2 2,3"),
                        Sample("2,3,4 2,3,4 2,3,4", None, causal=True), Sample("2,4 3,4 3,2", None, causal=True),
                        Sample("2,4 3,4 3,2", _ADDED)],
               batch="align",
               doc="softmax(q kᵀ / √d) v. Masks: True may attend, or numbers added to the scores, or \"causal\".")
