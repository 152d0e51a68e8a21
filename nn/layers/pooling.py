"""Pooling: of each window of an image or a sequence, the largest number or the mean. torch's arguments."""

from __future__ import annotations

from typing import Any

import numpy as np

from nn import functional as F
from nn.module import Module, as_input

__all__ = ["AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AvgPool1d", "AvgPool2d", "MaxPool1d", "MaxPool2d"]


def _images(x: Any) -> Any:
    return as_input(x, getattr(x, "dtype", np.dtype(np.float64)))


class MaxPool2d(Module):
    """The largest number of each window: x (batch, channels, rows, columns) → fewer rows and columns.

    - stride: how far the window moves, by default its own size; padding: a border that is never the largest.
    - dilation: how far apart its entries look; ceil_mode: also windows that begin inside and reach over the edge.

    >>> MaxPool2d(2)([[[[1.0, 2.0], [3.0, 4.0]]]]).tolist()
    [[[[4.0]]]]
    """

    axes = 2

    def __init__(
        self, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:  # fmt: skip
        if return_indices:
            raise ValueError(f"{type(self).__name__} gives no indices; write x.argmax() for places of the largest")
        self.kernel_size, self.stride, self.padding, self.dilation = kernel_size, stride, padding, dilation
        self.ceil_mode = ceil_mode

    def forward(self, x: Any) -> Any:
        """The largest of each window."""
        pool = F.max_pool1d if self.axes == 1 else F.max_pool2d
        return pool(_images(x), self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode)

    def extra(self) -> str:
        return str(self.kernel_size)


class MaxPool1d(MaxPool2d):
    """The largest number of each window of a sequence: x (batch, channels, places)."""

    axes = 1


class AvgPool2d(Module):
    """The mean of each window: x (batch, channels, rows, columns) → fewer rows and columns.

    - count_include_pad: whether the border of zeros counts in the mean; divisor_override: what the sum is divided by.

    >>> AvgPool2d(2)([[[[1.0, 2.0], [3.0, 4.0]]]]).tolist()
    [[[[2.5]]]]
    """

    def __init__(
        self, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
        count_include_pad: bool = True, divisor_override: int | None = None,
    ) -> None:  # fmt: skip
        self.kernel_size, self.stride, self.padding = kernel_size, stride, padding
        self.ceil_mode, self.count_include_pad, self.divisor_override = ceil_mode, count_include_pad, divisor_override

    def forward(self, x: Any) -> Any:
        """The mean of each window."""
        return F.avg_pool2d(_images(x), self.kernel_size, self.stride, self.padding, self.ceil_mode,
                            self.count_include_pad, self.divisor_override)  # fmt: skip

    def extra(self) -> str:
        return str(self.kernel_size)


class AvgPool1d(Module):
    """The mean of each window of a sequence: x (batch, channels, places)."""

    def __init__(
        self, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:  # fmt: skip
        self.kernel_size, self.stride, self.padding = kernel_size, stride, padding
        self.ceil_mode, self.count_include_pad = ceil_mode, count_include_pad

    def forward(self, x: Any) -> Any:
        """The mean of each window."""
        return F.avg_pool1d(
            _images(x), self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad
        )

    def extra(self) -> str:
        return str(self.kernel_size)


class AdaptiveAvgPool2d(Module):
    """The mean of each of output_size parts of an image, whatever its size; None keeps an axis as it is.

    >>> AdaptiveAvgPool2d(1)(np.ones((2, 3, 7, 5))).shape
    (2, 3, 1, 1)
    """

    def __init__(self, output_size: Any) -> None:
        self.output_size = output_size

    def forward(self, x: Any) -> Any:
        """The means of the parts."""
        return F.adaptive_avg_pool2d(_images(x), self.output_size)

    def extra(self) -> str:
        return str(self.output_size)


class AdaptiveAvgPool1d(AdaptiveAvgPool2d):
    """The mean of each of output_size parts of a sequence."""

    def forward(self, x: Any) -> Any:
        """The means of the parts."""
        return F.adaptive_avg_pool1d(_images(x), self.output_size)
