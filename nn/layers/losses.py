"""Losses as modules: `nn.CrossEntropyLoss()(logits, targets)` is `nn.functional.cross_entropy(logits, targets)`.

The classes stand on the last axis, as everywhere here (torch has them on axis 1 of images).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nn import functional as F
from nn.module import Module


class CrossEntropyLoss(Module):
    """The surprise at the right class, of logits: `-log softmax(logits)[target]`.

    >>> round(float(CrossEntropyLoss()([[0.0, 0.0]], [1])), 4)
    0.6931
    """

    def __init__(
        self, weight: Any = None, ignore_index: int | None = -100, reduction: str = "mean", label_smoothing: float = 0.0
    ) -> None:
        self.weight, self.ignore_index = weight, ignore_index
        self.reduction, self.label_smoothing = reduction, label_smoothing

    def forward(self, logits: Any, targets: Any) -> Any:
        """The loss of logits (..., classes) for targets (...), or (..., classes) of probabilities."""
        classes = np.ndim(targets) != np.ndim(logits)
        return F.cross_entropy(
            logits, targets, weight=self.weight, ignore_index=self.ignore_index if classes else None,
            reduction=self.reduction, label_smoothing=self.label_smoothing,
        )  # fmt: skip


class NLLLoss(Module):
    """`-log p` of the right class, of logarithms of probabilities."""

    def __init__(self, weight: Any = None, ignore_index: int = -100, reduction: str = "mean") -> None:
        self.weight, self.ignore_index, self.reduction = weight, ignore_index, reduction

    def forward(self, log_p: Any, targets: Any) -> Any:
        """The loss of log_p (..., classes) for targets (...)."""
        return F.nll_loss(
            log_p, targets, weight=self.weight, ignore_index=self.ignore_index, reduction=self.reduction
        )


class MSELoss(Module):
    """The squared error `(x - y)²`.

    >>> MSELoss()([1.0, 2.0], [1.0, 4.0])
    2.0
    """

    def __init__(self, reduction: str = "mean") -> None:
        self.reduction = reduction

    def forward(self, x: Any, y: Any) -> Any:
        """The loss of predictions x for targets y."""
        return F.mse(x, y, reduction=self.reduction)


class L1Loss(MSELoss):
    """The distance `|x - y|`."""

    def forward(self, x: Any, y: Any) -> Any:
        """The loss of predictions x for targets y."""
        return F.l1_loss(x, y, reduction=self.reduction)


class HuberLoss(Module):
    """Half the squared error near 0, and from delta on a straight line."""

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        self.reduction, self.delta = reduction, delta

    def forward(self, x: Any, y: Any) -> Any:
        """The loss of predictions x for targets y."""
        return F.huber_loss(x, y, reduction=self.reduction, delta=self.delta)


class SmoothL1Loss(Module):
    """The distance, with its corner rounded off below beta."""

    def __init__(self, reduction: str = "mean", beta: float = 1.0) -> None:
        self.reduction, self.beta = reduction, beta

    def forward(self, x: Any, y: Any) -> Any:
        """The loss of predictions x for targets y."""
        return F.smooth_l1_loss(x, y, reduction=self.reduction, beta=self.beta)


class BCELoss(MSELoss):
    """The cross entropy of probabilities for answers 0 and 1."""

    def forward(self, x: Any, y: Any) -> Any:
        """The loss of probabilities x for answers y."""
        return F.binary_cross_entropy(x, y, reduction=self.reduction)


class BCEWithLogitsLoss(Module):
    """The same of logits; pos_weight multiplies the part of the positive answers."""

    def __init__(self, reduction: str = "mean", pos_weight: Any = None) -> None:
        self.reduction, self.pos_weight = reduction, pos_weight

    def forward(self, z: Any, y: Any) -> Any:
        """The loss of logits z for answers y."""
        return F.binary_cross_entropy_with_logits(z, y, pos_weight=self.pos_weight, reduction=self.reduction)


class KLDivLoss(Module):
    """`p · (log p - log q)`, of log q; "batchmean" divides the sum by the rows."""

    def __init__(self, reduction: str = "mean", log_target: bool = False) -> None:
        self.reduction, self.log_target = reduction, log_target

    def forward(self, log_q: Any, p: Any) -> Any:
        """The loss of log_q for the distribution p."""
        return F.kl_div(log_q, p, reduction=self.reduction, log_target=self.log_target)
