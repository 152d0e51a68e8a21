"""A program as steps: loops over numbers, which can be fused, and calls, which cannot. Views are places, not steps."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ...program import Program, is_weak
from .places import Place, Shape, whole

Dtype = np.dtype[Any]
Check = Callable[[Any], Any]

C_TYPES = {
    "float64": "double", "float32": "float", "bool": "uint8_t",
    **{f"{sign}int{bits}": f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)},
}  # fmt: skip
REDUCTIONS = ("sum", "prod", "max", "min")


@dataclass
class Loop:
    """`target = c`, number by number over a domain; or a reduction of that, where the target repeats along an axis.

    c         a C expression; {0} and {1} are the operands
    kind      the dtype that the operands meet in; truth values are left as they are
    operands  places, or numbers as C writes them
    reduce    one of REDUCTIONS, or "" for none
    """

    c: str
    kind: Dtype
    operands: tuple[Place | str, ...]
    target: Place
    domain: Shape
    reduce: str = ""

    @property
    def reads(self) -> tuple[Place, ...]:
        return tuple(x for x in self.operands if isinstance(x, Place))


class Writer(Protocol):
    """What lines of C are made with."""

    def pointer(self, place: Place) -> str:
        """A typed pointer to the first number of a place."""

    def function(self, parameters: list[str], body: list[str]) -> str:
        """The name of a function with this text, which is written once."""


@dataclass
class Call:
    """Lines of C that stand by themselves."""

    lines: Callable[[Writer], list[str]]
    reads: tuple[Place, ...]
    writes: tuple[int, ...]


@np.errstate(all="ignore")
def literal(data: Any, dtype: Dtype) -> str:
    """A number of a dtype as C writes it, to the bit."""
    number = np.asarray(data).astype(dtype).item()
    if dtype.kind != "f":
        return f"((int64_t){int(number)})" if number != -(2**63) else "INT64_MIN"
    if math.isnan(number):
        return "NAN"
    if math.isinf(number):
        return "INFINITY" if number > 0 else "(-INFINITY)"
    return f"({number.hex()}{'f' if dtype == np.float32 else ''})"


class Steps:
    """Steps in the making: the places of a program's registers, and the registers that had to be added."""

    def __init__(self, program: Program, has_blas: bool) -> None:
        self.program, self.has_blas = program, has_blas
        self.types = list(program.types)
        self.steps: list[Loop | Call] = []
        self.places: dict[int, Place] = {}
        self.fixed: dict[int, Any] = {}  # roots that are constant arrays
        self.checks: list[Check] = []  # for an integer that C found wrong: what raises the error
        for r in program.inputs:
            self.places[r] = whole(r, self.types[r][0])
        for r, data in program.constants.items():
            if isinstance(data, np.ndarray) and data.ndim:
                self.places[r] = self._constant(r, data)

    # --- registers ------------------------------------------------------------------------------------------

    def shape(self, r: int) -> Shape:
        return self.types[r][0]

    def dtype(self, r: int) -> Dtype:
        return self.types[r][1]

    def fresh(self, shape: Shape, dtype: Any) -> int:
        self.types.append((shape, np.dtype(dtype)))
        return len(self.types) - 1

    def table(self, data: Any) -> Place:
        """A constant array that the program did not have."""
        return self._constant(self.fresh(data.shape, data.dtype), data)

    def _constant(self, r: int, data: Any) -> Place:
        self.fixed[r] = np.array(data, order="C")
        return whole(r, data.shape)

    def made(self, r: int) -> Place:
        """The place of a register that a step is about to fill."""
        self.places[r] = whole(r, self.shape(r))
        return self.places[r]

    def operand(self, r: int, dtype: Dtype) -> Place | str:
        """A register as an operand: its place, or the number that it is, in the dtype of what it meets."""
        if r in self.places:
            return self.places[r]
        data = self.program.constants[r]
        return literal(data, dtype if is_weak(data) or dtype.kind == "f" else self.dtype(r))

    def in_memory(self, r: int, dtype: Dtype | None = None) -> Place:
        """The place of a register, with numbers of this dtype; made if it has none yet."""
        dtype = dtype or self.dtype(r)
        x = self.operand(r, dtype)
        if isinstance(x, Place) and self.dtype(x.root) == dtype:
            return x
        return self.copied(x, dtype, self.shape(r))

    def side_by_side(self, place: Place) -> Place:
        """The same numbers one after the other, copied only if they are not."""
        start = place._replace(offset=0)
        return place if start.is_whole() else self.copied(place, self.dtype(place.root), place.shape)

    def copied(self, x: Place | str, dtype: Dtype, shape: Shape) -> Place:
        target = whole(self.fresh(shape, dtype), shape)
        self.copy(x, target)
        return target

    def copy(self, x: Place | str, target: Place) -> None:
        dtype = self.dtype(target.root)
        c = "{0} != 0" if dtype.kind == "b" else "{0}"
        kind = dtype if isinstance(x, str) or dtype.kind != "b" else self.dtype(x.root)
        self.steps.append(Loop(c, kind, (x,), target, target.shape))

    # --- results --------------------------------------------------------------------------------------------

    def results(self) -> list[int]:
        """The root of each result: its own, so that it can be written straight to where it is returned."""
        written = {step.target.root for step in self.steps if isinstance(step, Loop)}
        written |= {r for step in self.steps if isinstance(step, Call) for r in step.writes}
        roots: list[int] = []
        for r in self.program.outputs:
            shape, dtype = self.program.types[r]
            x = self.operand(r, dtype)
            own = isinstance(x, Place) and x.root in written and x.root not in roots and x.is_whole()
            if isinstance(x, Place) and own and self.types[x.root] == (shape, dtype):
                roots.append(x.root)
            else:
                roots.append(self.copied(x, dtype, shape).root)
        return roots
