"""What the tests of programs share: functions of an op's sample, and comparison to the bit."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograd import sum as total
from tests.autograd.judges import uneven


def weighed(op: Any, sample: Any, dtype: Any = np.float64) -> tuple[Any, list[Any]]:
    """A scalar function of an op's real inputs whose gradient is of the op itself, and the inputs in a dtype."""
    f, xs = op.on(sample)
    xs = [as_dtype(x, dtype) for x in xs]

    def loss(*inputs: Any) -> Any:
        out = f(*inputs)
        return total(out * uneven(np.shape(out)).astype(dtype))

    return loss, xs


def as_dtype(x: Any, dtype: Any) -> Any:
    """Real numbers in a dtype; integers, masks and None as they are."""
    if isinstance(x, np.ndarray) and x.dtype.kind == "f":
        return x.astype(dtype)
    return np.dtype(dtype).type(x) if isinstance(x, float) and dtype != np.float64 else x


def bits(x: Any) -> Any:
    """Numbers to the bit, one NaN like another."""
    array = np.asarray(x)
    if array.dtype.kind == "f":
        array = np.where(np.isnan(array), np.nan, array).astype(array.dtype)
    return array.shape, array.dtype.str, array.tobytes()


def assert_near(got: Any, want: Any, ulps: float = 64.0) -> None:
    """Equal shapes, dtypes, NaNs and infinities; numbers that agree to a few units of the largest's last place."""
    got, want = np.asarray(got), np.asarray(want)
    assert got.shape == want.shape and got.dtype == want.dtype, (got.shape, got.dtype, want.shape, want.dtype)
    if want.dtype.kind != "f":
        np.testing.assert_array_equal(got, want)
        return
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    finite = np.isfinite(want)
    np.testing.assert_array_equal(got[~finite], want[~finite])
    scale = max(1.0, float(np.abs(want[finite]).max(initial=0.0)))
    worst = float(np.abs(got[finite].astype(float) - want[finite]).max(initial=0.0))
    assert worst <= ulps * float(np.finfo(want.dtype).eps) * scale, f"{worst:.3g} apart at a scale of {scale:.3g}"
