"""A group of steps as the text of one C function.

For each row, in phases: what is known of the row, then a loop over its numbers; a phase ends where a sum over the row
is needed to go on. Numbers that only one loop needs are variables of it; those that a later loop of the same row needs
wait in a buffer of one row.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from .groups import Group, is_row_reduction
from .places import Place
from .steps import C_TYPES, Dtype, Loop

BLOCK = 256  # numbers of a long row that are added up before they join the others, so that few digits are lost

_START = {"sum": "0", "prod": "1"}
_SIGN = {"sum": "+", "prod": "*", "max": "largest", "min": "smallest"}


@dataclass
class _RowLoop:
    """A loop over the n numbers of a row, and what stands around it; a long row is added up in blocks."""

    n: int
    before: list[str] = field(default_factory=list)
    block_before: list[str] = field(default_factory=list)
    inner: list[str] = field(default_factory=list)
    block_after: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)
    clauses: list[str] = field(default_factory=list)

    @property
    def is_long(self) -> bool:
        return self.n > 2 * BLOCK

    def lines(self) -> list[str]:
        if not self.inner:
            return []
        if self.n == 1:
            return [*self.before, "{", "const i64 j = 0;", *self.inner, "}", *self.after]
        pragma = " ".join(["#pragma omp simd", *self.clauses])
        if not self.block_before:
            return [*self.before, pragma, f"for (i64 j = 0; j < {self.n}; j++) {{", *self.inner, "}", *self.after]
        return [
            *self.before, f"for (i64 b = 0; b < {self.n}; b += {BLOCK}) {{", *self.block_before,
            f"const i64 end = b + {BLOCK} < {self.n} ? b + {BLOCK} : {self.n};", pragma,
            "for (i64 j = b; j < end; j++) {", *self.inner, "}", *self.block_after, "}", *self.after,
        ]  # fmt: skip


class Kernel:
    """The function of a group: its parameters, each with the place whose pointer it gets, and its body."""

    def __init__(
        self, group: Group, dtype: Callable[[int], Dtype], in_memory: Callable[[int], bool],
        buffer: Callable[[int, Dtype], int],
    ) -> None:  # fmt: skip
        self.group, self._dtype, self._in_memory = group, dtype, in_memory
        self.arguments: list[Place] = []
        self.parameters: list[str] = []
        self._names: dict[tuple[int, int], str] = {}  # pointers
        self._variables: dict[int, str] = {}  # roots that are made here
        self._count = 0
        self._phase = _phases(group)
        self._buffers = self._row_buffers(buffer)
        self._axes = self._merged_axes()
        self.body = self._written()

    # --- places and axes ------------------------------------------------------------------------------------

    def _row_buffers(self, make: Callable[[int, Dtype], int]) -> dict[int, Place]:
        """Buffers for what a later loop of the row reads and nothing outside of it."""
        n = self.group.domain[-1] if self.group.domain else 1
        buffers: dict[int, Place] = {}
        for step in self.group.steps:
            for place in step.reads:
                maker = self.group.makers.get(place.root)
                wide = maker is not None and not maker.reduce and maker.domain == self.group.domain
                later = wide and self._phase[step.target.root] > self._phase[place.root]
                if later and place.root not in buffers and not self._in_memory(place.root):
                    root = make(n, self._dtype(place.root))
                    strides = (0,) * (len(self.group.domain) - 1) + (1 if n > 1 else 0,)
                    buffers[place.root] = Place(root, 0, self.group.domain, strides)
        return buffers

    def _merged_axes(self) -> list[tuple[int, int]]:
        """The loops: for each, how many rounds, and the axis of the domain whose strides it has."""
        domain = self.group.domain or (1,)
        steps = self.group.steps
        by_row = len(set(self._phase.values())) > 1 or any(
            step.domain != self.group.domain or (step.reduce and is_row_reduction(step)) for step in steps
        )
        strides = [place.over(domain) for step in steps for place in (*step.reads, step.target)]
        axes: list[tuple[int, int]] = []
        for axis, size in enumerate(domain):
            last = axis == len(domain) - 1
            if size == 1 and not last:
                continue
            merges = axes and not (by_row and last) and all(s[axes[-1][1]] == s[axis] * size for s in strides)
            if merges:
                axes[-1] = (axes[-1][0] * size, axis)
            elif size == 1 and axes and not by_row:
                continue
            else:
                axes.append((size, axis))
        return axes

    def _strides(self, place: Place) -> list[int]:
        """Along the loops, the last one of which runs along a row."""
        over = place.over(self.group.domain or (1,))
        return [over[axis] for _, axis in self._axes]

    def _index(self, place: Place) -> str:
        names = [*(f"i{n}" for n in range(len(self._axes) - 1)), "j"]
        terms = [name if s == 1 else f"{name} * {s}" for name, s in zip(names, self._strides(place)) if s]
        return f"{self._pointer(place)}[{' + '.join(terms) or '0'}]"

    def _pointer(self, place: Place) -> str:
        key = place.root, place.offset
        if key not in self._names:
            self._names[key] = f"p{len(self._names)}"
            kind = C_TYPES[self._dtype(place.root).name]
            made = place.root in self.group.makers or place.root in {b.root for b in self._buffers.values()}
            self.parameters.append(f"{'' if made else 'const '}{kind} *{self._names[key]}")
            self.arguments.append(place)
        return self._names[key]

    def _new(self) -> str:
        self._count += 1
        return f"v{self._count}"

    # --- the text -------------------------------------------------------------------------------------------

    def _written(self) -> list[str]:
        self._top: list[str] = []  # before all loops
        self._rows: list[str] = []  # for each row
        self._loaded: dict[Place, str] = {}
        for step in self.group.steps:
            if step.reduce and not is_row_reduction(step):
                start = _start(step.reduce, self._dtype(step.target.root))
                size = math.prod(n for n, s in zip(step.domain, step.target.strides) if s)
                self._top.append(f"for (i64 q = 0; q < {size}; q++) {self._pointer(step.target)}[q] = {start};")
        for phase in range(max(self._phase.values()) + 1):
            self._write_phase(phase)
        loops = [f"for (i64 i{n} = 0; i{n} < {size}; i{n}++) {{" for n, (size, _) in enumerate(self._axes[:-1])]
        return [*self._top, *loops, *self._rows, *["}"] * len(loops)]

    def _write_phase(self, phase: int) -> None:
        self._loop = loop = _RowLoop(self._axes[-1][0])
        self._loaded_here: dict[Place, str] = {}
        for step in self.group.steps:
            if self._phase[step.target.root] != phase:
                continue
            if step.domain != self.group.domain:  # a number of the row
                self._write_point(step, self._rows)
            elif not step.reduce:
                self._write_point(step, loop.inner)
            elif self._strides(step.target)[-1] or (loop.n == 1 and not is_row_reduction(step)):
                loop.inner.append(_combined(step.reduce, self._index(step.target), self._value(step)))
            else:
                self._write_row_reduction(step, loop)
        self._rows += loop.lines()

    def _write_point(self, step: Loop, lines: list[str]) -> None:
        root = step.target.root
        value = self._value(step)
        self._variables[root] = name = self._new()
        lines.append(f"const {C_TYPES[self._dtype(root).name]} {name} = {value};")
        if self._in_memory(root):
            lines.append(f"{self._index(step.target)} = {name};")
        elif root in self._buffers:
            lines.append(f"{self._index(self._buffers[root])} = {name};")

    def _write_row_reduction(self, step: Loop, loop: _RowLoop) -> None:
        root = step.target.root
        dtype = self._dtype(root)
        kind, start = C_TYPES[dtype.name], _start(step.reduce, dtype)
        total = name = self._new()
        wide = "double" if loop.is_long and step.reduce == "sum" and dtype.kind == "f" else kind
        loop.before.append(f"{wide} {total} = {start};")
        if loop.is_long:
            name = self._new()
            loop.block_before.append(f"{kind} {name} = {start};")
            loop.block_after.append(_combined(step.reduce, total, name))
        sign = _SIGN[step.reduce] if dtype.kind == "f" or step.reduce in _START else step.reduce
        loop.clauses.append(f"reduction({sign} : {name})")
        loop.inner.append(_combined(step.reduce, name, self._value(step)))
        if not is_row_reduction(step):
            loop.after.append(_combined(step.reduce, self._index(step.target), total))
            return
        if wide != kind:
            exact, total = total, self._new()
            loop.after.append(f"const {kind} {total} = {exact};")
        self._variables[root] = total
        if self._in_memory(root):
            loop.after.append(f"{self._index(step.target)} = {total};")

    def _value(self, step: Loop) -> str:
        """The expression of a step, its operands loaded."""
        wide = step.domain == self.group.domain
        names = []
        for x in step.operands:
            if isinstance(x, str):
                names.append(x)
                continue
            name = self._load(x, self._phase[step.target.root], wide)
            dtype = self._dtype(x.root)
            cast = dtype != step.kind and dtype.kind != "b"
            names.append(f"({C_TYPES[step.kind.name]}){name}" if cast else name)
        return step.c.format(*names)

    def _load(self, place: Place, phase: int, wide: bool) -> str:
        """The name of a variable with the number at a place."""
        maker = self.group.makers.get(place.root)
        if maker is not None:
            same_loop = self._phase[place.root] == phase or maker.reduce or maker.domain != self.group.domain
            if same_loop:
                return self._variables[place.root]
            place = self._buffers.get(place.root, maker.target)
        strides = self._strides(place)
        along = wide and (strides[-1] != 0 or maker is not None)
        known = self._loaded_here if along else self._loaded
        if place not in known:
            known[place] = name = self._new()
            lines = self._loop.inner if along else self._rows if any(strides) else self._top
            kind = C_TYPES[self._dtype(place.root).name]
            lines.append(f"const {kind} {name} = {self._index(place)};")
        return known[place]


def _phases(group: Group) -> dict[int, int]:
    """For each root that is made here, the loop of the row in which it is made."""
    phase: dict[int, int] = {}
    for step in group.steps:
        made_here = [p.root for p in step.reads if p.root in phase]
        phase[step.target.root] = max((phase[r] + bool(group.makers[r].reduce) for r in made_here), default=0)
    return phase


def _start(reduce: str, dtype: Dtype) -> str:
    if reduce in _START:
        return _START[reduce]
    if dtype.kind == "f":
        return "-INFINITY" if reduce == "max" else "INFINITY"
    if dtype.kind == "b":
        return "0" if reduce == "max" else "1"
    limits = np.iinfo(dtype)
    bound = limits.min if reduce == "max" else limits.max
    return "INT64_MIN" if bound == -(2**63) else f"{bound}{'u' if bound > 2**63 - 1 else ''}"


def _combined(reduce: str, total: str, value: str) -> str:
    if reduce in ("max", "min"):
        sign = ">=" if reduce == "max" else "<="  # of 0.0 and -0.0 the later one, as in NumPy
        return f"{{ const __typeof__({total}) y = {value}; {total} = (y {sign} {total}) | (y != y) ? y : {total}; }}"
    return f"{total} {_SIGN[reduce]}= {value};"
