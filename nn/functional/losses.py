"""Losses: how far predictions are from targets, as one number."""

from __future__ import annotations

from typing import Any

import numpy as np

import autograd as ag
from autograd import OPS, log_softmax
from autograd.arrays.plain import as_array
from autograd.errors import ShapeError
from autograd.modes import plain_data
from autograd.ops.indexing.rows import is_whole

from .checks import Array, as_floats, as_ids, check_probabilities, like, reduced


def cross_entropy(
    logits: Array, targets: Any, *, weight: Any = None, ignore_index: int | None = None, label_smoothing: float = 0.0,
    reduction: str = "mean",
) -> Array:  # fmt: skip
    """The surprise at the right class: `-log softmax(logits)[target]`, the classes on the last axis.

    logits (..., classes); targets (...) of integers, or (..., classes) of probabilities. Entries equal
    to `ignore_index` count for nothing; "mean" is over the others. With label smoothing s, the target is
    `(1 - s) · target + s / classes`. `weight` has one number a class, which multiplies that class's part of the loss;
    as in torch, "mean" then divides by the sum of the targets' weights, but by their number for probabilities.

    >>> cross_entropy(np.array([[0.0, 0.0], [0.0, np.log(3)]]), [0, 1], reduction="none").round(4)
    array([0.6931, 0.2877])
    >>> cross_entropy(np.array([[0.0, 0.0], [0.0, np.log(3)]]), [0, 1], weight=[1.0, 3.0], reduction="none").round(4)
    array([0.6931, 0.863 ])
    """
    logits = as_floats(logits)
    if weight is not None:
        weight = _class_weights(weight, logits)
    if not 0.0 <= label_smoothing <= 1.0:
        raise ValueError(f"cross_entropy: label_smoothing is between 0 and 1, got {label_smoothing}")
    if np.ndim(targets) != np.ndim(logits):
        if weight is not None:
            return _weighted(logits, targets, weight, ignore_index, label_smoothing, reduction)
        return ag.cross_entropy(
            logits, targets, reduction=reduction, ignore_index=ignore_index, label_smoothing=label_smoothing
        )
    if ignore_index is not None:
        raise ValueError("cross_entropy: ignore_index goes with targets that are integers, not probabilities")
    targets = like(targets, logits) * (1.0 - label_smoothing) + label_smoothing / np.shape(logits)[-1]
    if weight is not None:
        targets = targets * weight
    return reduced(-ag.sum(targets * log_softmax(logits), axis=-1), reduction)


def _weighted(
    logits: Array, targets: Any, weight: Any, ignore_index: int | None, label_smoothing: float, reduction: str
) -> Array:
    """The cross entropy of integers with a weight for each class."""
    losses = ag.cross_entropy(logits, targets, reduction="none", ignore_index=ignore_index)
    targets = targets if is_whole(targets) else np.asarray(plain_data(targets, "np.asarray(v)")).astype(np.intp)
    counted = np.ones(targets.shape, bool) if ignore_index is None else ag.not_equal(targets, ignore_index)
    weights = ag.where(counted, ag.take(weight, ag.where(counted, targets, 0)), 0.0)
    losses = weights * losses
    if label_smoothing:
        rest = -ag.sum(weight * log_softmax(logits), axis=-1) / np.shape(logits)[-1]
        losses = (1.0 - label_smoothing) * losses + label_smoothing * ag.where(counted, rest, 0.0)
    if reduction != "mean":
        return reduced(losses, reduction)
    return ag.sum(losses) / (ag.where(ag.any(counted), ag.sum(weights), 1.0))


def _class_weights(weight: Any, logits: Array) -> Any:
    """The weights of the classes, in the dtype of the logits."""
    classes = np.shape(logits)[-1:]
    if not isinstance(weight, ag.Value):
        weight = np.asarray(as_array(weight), dtype=logits.dtype)
    if np.shape(weight) != classes:
        raise ShapeError(
            f"cross_entropy: weight has one number for each class, shape {classes}; got {np.shape(weight)}"
        )
    return weight


def binary_cross_entropy(p: Array, y: Any, *, reduction: str = "mean") -> Array:
    """`-(y log p + (1-y) log(1-p))` for probabilities p; a logarithm stops at -100, so that 0 and 1 stay finite.

    >>> binary_cross_entropy(np.array([0.5, 1.0, 0.0]), np.array([1.0, 1.0, 1.0]), reduction="none").round(4)
    array([  0.6931,   0.    , 100.    ])
    """
    p = as_floats(p)
    check_probabilities(p)
    y = like(y, p)
    log = OPS["bounded_log"]
    return reduced(y * -log(p) + (1.0 - y) * -log(1.0 - p), reduction)


def binary_cross_entropy_with_logits(z: Array, y: Any, *, pos_weight: Any = None, reduction: str = "mean") -> Array:
    """`binary_cross_entropy(sigmoid(z), y)`, exact also where the sigmoid rounds to 0 or 1.

    `pos_weight` multiplies the part of the positive answers, `y log p`: 3.0 makes each count three times. It is a
    number, or an array that is broadcast to the shape of z (one number for each column, say).

    >>> float(binary_cross_entropy_with_logits(np.array([1000.0]), np.array([0.0])))
    1000.0
    """
    z = as_floats(z)
    y = like(y, z)
    positive = y * ag.softplus(-z)
    if pos_weight is not None:
        if not isinstance(pos_weight, ag.Value):
            pos_weight = np.asarray(as_array(pos_weight), dtype=z.dtype)
        if not _fits(np.shape(pos_weight), np.shape(z)):
            raise ShapeError(
                f"pos_weight of shape {np.shape(pos_weight)} cannot be broadcast to the predictions, {np.shape(z)}; "
                "give one number, or one for each column"
            )
        positive = pos_weight * positive
    return reduced(positive + (1.0 - y) * ag.softplus(z), reduction)


def _fits(shape: tuple[int, ...], into: tuple[int, ...]) -> bool:
    """Whether an array of one shape can be broadcast to another."""
    return len(shape) <= len(into) and all(n in (1, m) for n, m in zip(reversed(shape), reversed(into)))


def mse(x: Array, y: Any, *, reduction: str = "mean") -> Array:
    """The squared error `(x - y)²`.

    >>> mse(np.array([1.0, 2.0]), np.array([1.0, 4.0]))
    2.0
    """
    x = as_floats(x)
    error = x - like(y, x)
    return reduced(error * error, reduction)


mse_loss = mse  # torch's name


def l1_loss(x: Array, y: Any, *, reduction: str = "mean") -> Array:
    """The distance `|x - y|`.

    >>> l1_loss(np.array([1.0, 2.0]), np.array([1.0, 4.0]))
    1.0
    """
    x = as_floats(x)
    return reduced(abs(x - like(y, x)), reduction)


def huber_loss(x: Array, y: Any, *, reduction: str = "mean", delta: float = 1.0) -> Array:
    """Half the squared error near 0, and from `delta` on a straight line: `delta · (|x - y| - delta / 2)`.

    >>> huber_loss(np.array([0.5, 3.0]), np.zeros(2), reduction="none").tolist()
    [0.125, 2.5]
    """
    x = as_floats(x)
    error = abs(x - like(y, x))
    return reduced(ag.where(error < delta, 0.5 * error * error, delta * (error - 0.5 * delta)), reduction)


def smooth_l1_loss(x: Array, y: Any, *, reduction: str = "mean", beta: float = 1.0) -> Array:
    """`huber_loss` divided by its `beta`: the distance, with its corner rounded off.

    >>> smooth_l1_loss(np.array([0.5, 3.0]), np.zeros(2), reduction="none", beta=2.0).tolist()
    [0.0625, 2.0]
    """
    return huber_loss(x, y, reduction=reduction, delta=beta) / beta if beta else l1_loss(x, y, reduction=reduction)


def nll_loss(
    log_p: Array, targets: Any, *, weight: Any = None, ignore_index: int = -100, reduction: str = "mean"
) -> Array:
    """`-log p` of the right class, of logarithms of probabilities, the classes on the last axis.

    >>> round(float(nll_loss(np.log(np.array([[0.5, 0.5]])), [1])), 4)
    0.6931
    """
    log_p = as_floats(log_p)
    targets = np.asarray(plain_data(targets, "np.asarray(v)"))
    counted = targets != ignore_index
    ids = as_ids("nll_loss", np.where(counted, targets, 0), np.shape(log_p)[-1])
    share = counted.astype(log_p.dtype)
    if weight is not None:
        share = share * np.asarray(plain_data(weight, "np.asarray(v)"), dtype=log_p.dtype)[ids]
    losses = -ag.take_along_axis(log_p, ids[..., None], axis=-1)[..., 0] * share
    return ag.sum(losses) / (share.sum() or 1.0) if reduction == "mean" else reduced(losses, reduction)


def kl_div(log_q: Array, p: Any, *, reduction: str = "mean", log_target: bool = False) -> Array:
    """`p · (log p - log q)` of logarithms log_q, as in torch; "batchmean" is the sum divided by the rows.

    >>> kl_div(np.log(np.array([[0.5, 0.5]])), np.array([[1.0, 0.0]]), reduction="sum")
    0.6931471805599453
    """
    log_q = as_floats(log_q)
    p = like(p, log_q)
    losses = ag.exp(p) * (p - log_q) if log_target else ag.xlogy(p, p) - p * log_q
    return ag.sum(losses) / len(losses) if reduction == "batchmean" else reduced(losses, reduction)
