"""scipy.signal.convolve on Values, along chosen axes."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_letters
from typing import Any

import numpy as np

Axes = Sequence[Sequence[int]]


def convolve(A: Any, B: Any, axes: Axes | None = None, dot_axes: Axes = ((), ()), mode: str = "full") -> Any:
    """The convolution of A and B along pairs of axes, and the sum over the pairs `dot_axes`.

    Axes of the result: those of A that are in no pair, those of B, then the convolved ones.

    >>> convolve(np.array([1.0, 2.0, 3.0]), np.array([1.0, 10.0])).tolist()
    [1.0, 12.0, 23.0, 30.0]
    """
    along_a, along_b = (range(np.ndim(A)), range(np.ndim(B))) if axes is None else axes
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"convolve: mode is 'full', 'same' or 'valid'; got {mode!r}")
    letters = iter(ascii_letters)
    of_a, of_b = [next(letters) for _ in A.shape], [next(letters) for _ in B.shape]
    for i, j in zip(*dot_axes, strict=True):
        of_b[j] = of_a[i]
    free = [of[i] for of, used in ((of_a, (*along_a, *dot_axes[0])), (of_b, (*along_b, *dot_axes[1])))
            for i in range(len(of)) if i not in used]  # fmt: skip
    kept = "".join(of_b[j] for j in range(B.ndim) if j not in along_b)
    spec = f"{''.join(of_a)},{kept}->{''.join(free)}{''.join(of_a[i] for i in along_a)}"
    kernel = [B.shape[j] for j in along_b]
    around = [[0, 0] for _ in A.shape]
    for i, k in zip(along_a, kernel) if mode != "valid" else ():
        around[i] = [k - 1, k - 1] if mode == "full" else [k // 2, (k - 1) // 2]
    A = np.pad(A, around)
    total: Any = 0.0
    for offset in np.ndindex(*kernel):
        window: list[Any] = [slice(None)] * A.ndim
        entry: list[Any] = [slice(None)] * B.ndim
        for i, j, k, o in zip(along_a, along_b, kernel, offset):
            window[i] = slice(k - 1 - o, A.shape[i] - o)
            entry[j] = o
        total = total + np.einsum(spec, A[tuple(window)], B[tuple(entry)])
    return total
