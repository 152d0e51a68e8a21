"""Programs that are built: a library of them, and a function to call each."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...inputs import Read, Reader
from ...program import Program
from .. import Runner
from .blas import find_blas
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
