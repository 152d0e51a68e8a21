"""Programs that are built: a library of them, and a function to call each."""

from __future__ import annotations

import ctypes
import functools
import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...program import Program
from ...tracing.inputs import Read, Reader
from .. import Runner
from .compiler import loaded
from .source import Planned, Source

_API = ("PyList_GetItem", "PyObject_GetBuffer", "PyBuffer_Release", "PyFloat_AsDouble", "PyErr_Occurred",
        "PyList_Size", "PyEval_SaveThread", "PyEval_RestoreThread")  # fmt: skip


def library_of(programs: Sequence[Program]) -> list[Runner]:
    """One runner a program, all from one library."""
    blas = find_blas()
    source = Source([_native(program) for program in programs], blas.whole if blas else None)
    library = loaded(source.text)
    pointers = [ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value for name in _API]
    pointers += [blas.double, blas.single] if blas else [None, None]
    library.handgrad_start((ctypes.c_void_p * len(pointers))(*pointers))
    call = library.handgrad_call
    call.restype = ctypes.c_int64
    call.argtypes = [ctypes.c_int64, ctypes.py_object, ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p]
    read = library.handgrad_read
    read.argtypes = [ctypes.py_object, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.py_object]
    return [_Runner(call, read, n, program, run.planned) for n, (program, run) in enumerate(zip(programs, source.runs))]


def _native(program: Program) -> Program:
    """With all numbers in this machine's order of bytes."""
    types = tuple((shape, np.dtype(dtype.type)) for shape, dtype in program.types)
    constants = {
        r: data.astype(types[r][1]) if isinstance(data, np.ndarray) and not data.dtype.isnative else data
        for r, data in program.constants.items()
    }
    return program.but(types=types, constants=constants)


class _Runner:
    """A program in a library. A call takes a work space that nobody uses and puts it back, so threads may share it."""

    def __init__(self, call: Any, read: Any, number: int, program: Program, planned: Planned) -> None:
        self._call, self._read, self._number, self._planned = call, read, number, planned
        self._inputs, self._outputs = (
            [(shape, np.dtype(dtype.type)) for shape, dtype in (program.types[r] for r in registers)]
            for registers in (program.inputs, program.outputs)
        )
        self._foreign = any(not program.types[r][1].isnative for r in program.inputs)  # bytes in another order
        self._fixed = (ctypes.c_void_p * len(planned.fixed))(*(array.ctypes.data for array in planned.fixed))
        self._spaces: list[tuple[int, Any]] = []

    def __call__(self, inputs: Sequence[Any]) -> list[Any]:
        outputs = [_empty(shape, dtype) for shape, dtype in self._outputs]
        try:
            space = self._spaces.pop()
        except IndexError:
            space = self._new_space()
        given = inputs if inputs.__class__ is list and not self._foreign else self._laid_out(inputs)
        try:
            found = self._call(self._number, given, outputs, self._fixed, space[0])
        except (BufferError, TypeError, ValueError):  # an input whose numbers do not lie one after the other
            found = -1
        if found:
            if found < 0:
                found = self._call(self._number, self._laid_out(given), outputs, self._fixed, space[0])
            if found:
                self._fail(found, space[1])
        self._spaces.append(space)
        return outputs

    @property
    def reader(self) -> Reader | None:
        """What reads lists of floats; None in a Python without the global lock, where others may change them while they
        are read: its objects begin with more than two words.
        """
        return self._reads if object.__basicsize__ == 2 * ctypes.sizeof(ctypes.c_void_p) else None

    def _reads(self, shapes: Sequence[tuple[int, ...]]) -> Read:
        count, flat = sum(map(math.prod, shapes)), [n for shape in shapes for n in (len(shape), *shape)]
        nests, read = len(shapes), self._read
        lengths, types = (ctypes.c_int64 * len(flat))(*flat), (ctypes.c_void_p * 2)(id(float), id(list))

        def vector(numbers: list[Any]) -> Any:
            out = _empty(count)
            return out if read(numbers, nests, lengths, types, out) else None

        return vector

    def _new_space(self) -> tuple[int, Any]:
        """Its address, rounded up to a line of the cache, and the array that it is in."""
        memory = np.empty(self._planned.work + 64, np.uint8)
        start = -memory.ctypes.data % 64
        return memory.ctypes.data + start, memory[start:]

    def _laid_out(self, inputs: Sequence[Any]) -> list[Any]:
        """The inputs as C reads them: one number after the other, aligned, in this machine's order of bytes."""
        types = zip(inputs, self._inputs, strict=True)
        return [np.require(x, dtype, ["C", "A"]).reshape(shape) for x, (shape, dtype) in types]

    def _fail(self, found: int, space: Any) -> None:
        """Raise the error of a check, for the integer that failed it."""
        header = self._planned.header
        wrong = space[header : header + 8].view(np.int64)
        self._planned.checks[found - 1](wrong)
        raise AssertionError("a check failed in C and passed in Python")


_empty = np.empty


# --- the matrix product inside NumPy's own library, as an address that C can call -------------------------------------

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
