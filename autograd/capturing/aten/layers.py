"""Operators that are layers: products with weights, norms, attention, cross entropy."""

from __future__ import annotations

import math

import numpy as np

import autograd as ag

from .table import aten, dtype_of, given_results, operands, plain, rank_of, shape_of, unless

aten("matmul", "mm", "bmm", "mv", "dot", "vdot")(ag.matmul)
aten("inner")(ag.inner)
aten("outer", "ger")(ag.outer)


@aten("linear")
def linear(x, weight, bias=None):
    return ag.OPS["linear_rows"](x, weight, bias)


@aten("addmm", "addmv", "baddbmm")
def addmm(bias, x, y, beta=1, alpha=1):
    return _added(bias, ag.matmul(x, y), beta, alpha)


def _added(bias, product, beta, alpha):
    product = product if alpha == 1 else alpha * product
    return product + (bias if beta == 1 else beta * bias) if beta else product


@aten("addbmm")
def addbmm(bias, x, y, beta=1, alpha=1):
    return _added(bias, ag.einsum("bij,bjk->ik", x, y), beta, alpha)


@aten("bilinear")
def bilinear(x, y, weight, bias=None):
    out = ag.einsum("...i,oij,...j->...o", x, weight, y)
    return out if bias is None else out + bias


@aten("einsum")
def einsum(equation, operands, path=None):
    return ag.einsum(equation, *operands)


# --- norms --------------------------------------------------------------------------------------------------


@aten("layer_norm")
def layer_norm(x, normalized_shape, weight=None, bias=None, eps=1e-5, cudnn_enable=True):
    return _norm_of_rows(x, normalized_shape, weight, bias, lambda rows, gamma, beta: ag.layer_norm(
        rows, 1.0 if gamma is None else gamma, 0.0 if beta is None else beta, eps=eps))


@aten("native_layer_norm")
def native_layer_norm(x, normalized_shape, weight, bias, eps):
    return layer_norm(x, normalized_shape, weight, bias, eps), None, None


@aten("rms_norm")
def rms_norm(x, normalized_shape, weight=None, eps=None):
    eps = np.finfo(dtype_of(x, weight)).eps if eps is None else eps
    return _norm_of_rows(x, normalized_shape, weight, None, lambda rows, gamma, beta: ag.rms_norm(
        rows, 1.0 if gamma is None else gamma, eps=eps))


def _norm_of_rows(x, normalized_shape, weight, bias, norm):
    """Norms over several last axes take them as one."""
    if len(normalized_shape) == 1:
        return norm(x, weight, bias)
    shape = shape_of(x)
    rows = ag.reshape(x, (*shape[: len(shape) - len(normalized_shape)], math.prod(normalized_shape)))
    weight, bias = (None if v is None else ag.reshape(v, (-1,)) for v in (weight, bias))
    return ag.reshape(norm(rows, weight, bias), shape)


# --- attention ----------------------------------------------------------------------------------------------


@aten("scaled_dot_product_attention")
def attention(q, k, v, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    """torch's causal mask counts places from the start, ours from the end: they part ways where q is shorter than k."""
    unless(dropout_p, "attention with dropout")
    mask = attn_mask
    if is_causal and shape_of(q)[-2] != shape_of(k)[-2]:
        mask, is_causal = np.tril(np.ones((shape_of(q)[-2], shape_of(k)[-2]), bool)), False
    if enable_gqa:
        from .shapes import repeat_interleave

        k, v = (repeat_interleave(x, shape_of(q)[-3] // shape_of(x)[-3], -3) for x in (k, v))
    own = 1.0 / math.sqrt(shape_of(q)[-1])
    if scale is not None and not math.isclose(scale, own, rel_tol=1e-15):
        q = q * (scale / own)
    if isinstance(mask, np.ndarray) and mask.dtype.kind == "b" and not plain(q) and mask.ndim == 0:
        mask = np.broadcast_to(mask, (1, 1))
    return ag.attention(q, k, v, mask, causal=bool(is_causal))


# --- cross entropy ------------------------------------------------------------------------------------------

REDUCTIONS = ("none", "mean", "sum")


def classes_last(x):
    """torch has the classes on axis 1, we on the last."""
    return ag.moveaxis(x, 1, -1) if rank_of(x) > 2 else x


@aten("cross_entropy_loss")
def cross_entropy(logits, targets, weight=None, reduction=1, ignore_index=-100, label_smoothing=0.0):
    unless(not plain(targets), "targets with a gradient")
    if targets.dtype.kind == "f":
        return _soft_cross_entropy(logits, targets, weight, reduction, label_smoothing)
    ignored = bool(np.any(targets == ignore_index))
    if weight is None and not (reduction == 1 and np.all(targets == ignore_index)):
        return ag.cross_entropy(classes_last(logits), targets, reduction=REDUCTIONS[reduction],
                                ignore_index=ignore_index if ignored else None, label_smoothing=label_smoothing)
    unless(label_smoothing, "smoothed labels with weights")
    return nll_loss(ag.log_softmax(logits, axis=1 if rank_of(logits) > 1 else 0), targets, weight, reduction,
                    ignore_index)


def _soft_cross_entropy(logits, goals, weight, reduction, label_smoothing):
    """Targets that are probabilities."""
    unless(weight is not None or label_smoothing, "soft targets with weights")
    axis = 1 if rank_of(logits) > 1 else 0
    losses = -ag.sum(goals.astype(logits.dtype) * ag.log_softmax(logits, axis=axis), axis=axis)
    return losses if not reduction else ag.sum(losses) if reduction == 2 else ag.mean(losses)


@aten("nll_loss", "nll_loss_nd", "nll_loss2d")
def nll_loss(logs, targets, weight=None, reduction=1, ignore_index=-100):
    """Without a target that counts the mean is 0 / 0 in torch: NaN."""
    unless(weight is not None and not plain(weight), "class weights with a gradient")
    logs, targets = classes_last(logs), np.asarray(targets)
    counted = targets != ignore_index
    places = np.where(counted, targets, 0)
    share = np.where(counted, 1.0 if weight is None else weight[places], 0.0).astype(logs.dtype)
    losses = -logs[(*np.indices(places.shape), places)] * share
    if not reduction:
        return losses
    if reduction == 2:
        return ag.sum(losses)
    total = float(share.sum())
    return ag.sum(losses) / total if total else ag.sum(losses) * np.nan


@aten("nll_loss_forward")
def nll_loss_forward(logs, targets, weight, reduction, ignore_index):
    return nll_loss(logs, targets, weight, reduction, ignore_index), None


@aten("cosine_similarity")
def cosine_similarity(x, y, dim=1, eps=1e-8):
    x, y = operands(x, y)
    lengths = [ag.norm(v, axis=dim, keepdims=True) for v in (x, y)]
    x, y = (v / (n if np.all(n.data > eps) else ag.maximum(n, eps)) for v, n in zip((x, y), lengths, strict=True))
    return ag.sum(x * y, axis=dim)


@aten("native_dropout")
@given_results
def dropout(x, p, train=True, *, results):
    """x times the mask that torch drew, which is a constant."""
    _, mask = results
    unless(not train or p >= 1, "dropout that keeps all or nothing")
    return x * (mask / (1.0 - p)).astype(x.dtype), None
