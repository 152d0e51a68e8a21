"""The matrix product inside NumPy's own library, as an address that C can call."""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

# As NumPy's wheels name them, and as other builds do: the first kind takes integers of 64 bits, the last of 32.
NAMES = (
    ("scipy_cblas_{}gemm64_", "int64_t"), ("cblas_{}gemm64_", "int64_t"), ("cblas_{}gemm$NEWLAPACK$ILP64", "int64_t"),
    ("scipy_cblas_{}gemm", "int"), ("cblas_{}gemm", "int"),
)  # fmt: skip


class Blas(NamedTuple):
    """Addresses of cblas_dgemm and cblas_sgemm, and the C type of their integers."""

    double: int
    single: int
    whole: str


@functools.cache
def find_blas() -> Blas | None:
    """NumPy's matrix products; None if they cannot be found, or do not multiply two matrices as they should."""
    for library in _libraries():
        for pattern, whole in NAMES:
            try:
                found = [getattr(library, pattern.format(letter)) for letter in "ds"]
            except AttributeError:
                continue
            if all(_multiplies(function, real, whole) for function, real in zip(found, "df")):
                double, single = (ctypes.cast(function, ctypes.c_void_p).value or 0 for function in found)
                return Blas(double, single, whole)
    return None


def _libraries() -> Iterator[ctypes.CDLL]:
    """NumPy's extension, which on most systems also finds what it is linked to; then the libraries in its wheel."""
    folder = Path(np.__file__).parent
    own = [str(sys.modules["numpy._core._multiarray_umath"].__file__)]
    wheels = [*folder.parent.glob("numpy.libs/*openblas*"), *folder.glob(".dylibs/*openblas*")]
    for path in (*own, *map(str, wheels)):
        try:
            yield ctypes.CDLL(path)
        except OSError:
            continue


def _multiplies(function: Any, real: str, whole: str) -> bool:
    number = ctypes.c_double if real == "d" else ctypes.c_float
    size = ctypes.c_int64 if whole == "int64_t" else ctypes.c_int
    a, b = np.arange(6.0, dtype=real).reshape(2, 3), np.arange(12.0, dtype=real).reshape(3, 4)
    c = np.full((2, 4), 7.0, real)
    function.argtypes = [ctypes.c_int] * 3 + [size] * 3 + [
        number, ctypes.c_void_p, size, ctypes.c_void_p, size, number, ctypes.c_void_p, size]  # fmt: skip
    function.restype = None
    function(101, 111, 111, 2, 4, 3, 1.0, a.ctypes.data, 3, b.ctypes.data, 4, 0.0, c.ctypes.data, 4)
    return np.array_equal(c, a @ b)
