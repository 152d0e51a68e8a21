"""Programs as the text of one C file, and where each keeps its numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any, NamedTuple

import numpy as np

from ...program import Program
from .groups import Group, grouped, is_row_reduction
from .kernels import Kernel
from .ops import steps_of
from .places import Place
from .steps import C_TYPES, Check
from .tape import Tape, is_tape

ALIGN = 64  # bytes: a line of the cache


@dataclass
class Planned:
    """A program in a library: what Python has to bring to call it."""

    work: int  # bytes of work space
    header: int  # bytes of it before what the program itself uses
    fixed: list[Any]  # constant arrays
    checks: list[Check]


class Source:
    """The text of a library, and the programs in it."""

    def __init__(self, programs: Sequence[Program], blas_int: str | None) -> None:
        self._functions: dict[str, str] = {}  # text → name
        self.runs = [_Run(self, program, number, blas_int is not None) for number, program in enumerate(programs)]
        file = resources.files(__package__).joinpath
        real = file("real.c").read_text()
        functions = [f"static __attribute__((noinline)) void {name}{text}" for text, name in self._functions.items()]
        self.text = "\n".join([
            f"#include <stdint.h>\ntypedef {blas_int or 'int'} blas_int;", file("prelude.c").read_text(),
            _of_type(real, "double", ""), _of_type(real, "float", "f"),
            *functions, *(run.text for run in self.runs),
            "EXPORT i64 handgrad_call(i64 number, void *inputs, void *outputs, void *const *fixed, char *work) {",
            "static const Program programs[] = {", *(run.entry for run in self.runs), "};",
            "return call_program(programs + number, inputs, outputs, fixed, work);", "}", "",
        ])  # fmt: skip

    def function(self, parameters: list[str], body: list[str]) -> str:
        """The name of a function with this text, which is written once."""
        text = "\n".join([f"({', '.join(parameters)}) {{", *body, "}"])
        return self._functions.setdefault(text, f"f{len(self._functions)}")


def _of_type(text: str, real: str, ending: str) -> str:
    return re.sub(r"\breal\b", real, text).replace("_R", ending)


class _Run:
    """The function of one program: its groups in order, each a call."""

    def __init__(self, source: Source, program: Program, number: int, has_blas: bool) -> None:
        self.program = program
        self.function = source.function
        self.steps = steps = steps_of(program, has_blas)
        self.results = steps.results()
        groups = grouped(steps.steps)
        self._spans: dict[int, Span] = {}
        self._find_uses(groups)
        lines = []
        self._kernels = {g.number: self._kernel(g) for g in groups if g.call is None}
        self._find_pointers()
        for group in groups:
            lines += self._lines(group)
        self.text = "\n".join([
            f"static i64 run{number}(void *const *in, void *const *out, void *const *fixed, char *w) {{",
            "i64 found = 0;", *lines, "return found;", "}", *self._tables(number),
        ])  # fmt: skip
        count = f"{len(program.inputs)}, {len(program.outputs)}"
        self.entry = f"{{{count}, kinds{number}, bytes{number}, run{number}}},"
        self.planned = Planned(
            self._work + _header(program), _header(program), list(steps.fixed.values()), steps.checks
        )

    # --- what is used when ----------------------------------------------------------------------------------

    def _find_uses(self, groups: list[Group]) -> None:
        """For each root, the groups from the first that writes it to the last that reads it; which need memory."""
        writers: dict[int, set[int]] = {}
        readers: dict[int, set[int]] = {}
        self._called: set[int] = set()  # written by a call
        for group in groups:
            reads = group.call.reads if group.call else tuple(p for step in group.steps for p in step.reads)
            writes = group.call.writes if group.call else tuple(group.makers)
            for place in reads:
                readers.setdefault(place.root, set()).add(group.number)
            for root in writes:
                writers.setdefault(root, set()).add(group.number)
            if group.call:
                self._called.update(writes)
            for step in group.steps:  # part of a larger array
                if step.target.offset or (not step.reduce and not step.target._replace(offset=0).is_whole()):
                    self._called.add(step.target.root)
        results = set(self.results)
        self._memory = {
            root for root, written in writers.items()
            if root in results or root in self._called or len(written) > 1 or readers.get(root, set()) - written
        }  # fmt: skip
        self._memory |= {  # known only when its group has run
            step.target.root for group in groups for step in group.steps if step.reduce and not is_row_reduction(step)
        }
        for root in self._memory - results:
            used = writers[root] | readers.get(root, set())
            self._spans[root] = Span(min(used), max(used), self._bytes(root))

    def _bytes(self, root: int) -> int:
        shape, dtype = self.steps.types[root]
        return math.prod(shape) * dtype.itemsize

    def _kernel(self, group: Group) -> Kernel | Tape:
        def buffer(n: int, dtype: Any = np.float64) -> int:
            root = self.steps.fresh((n,), dtype)
            self._spans[root] = Span(group.number, group.number, self._bytes(root))
            return root

        if is_tape(group, self.steps.dtype):
            return Tape(group, self._memory.__contains__, buffer)
        return Kernel(group, self.steps.dtype, self._memory.__contains__, buffer)

    # --- the text -------------------------------------------------------------------------------------------

    def _find_pointers(self) -> None:
        """Where each root begins, in C."""
        offsets, self._work = arranged(self._spans)
        self._starts = {r: f"in[{n}]" for n, r in enumerate(self.program.inputs)}
        self._starts |= {r: f"fixed[{n}]" for n, r in enumerate(self.steps.fixed)}
        self._starts |= {r: f"(w + {offset})" for r, offset in offsets.items()}
        self._starts |= {r: f"out[{n}]" for n, r in enumerate(self.results)}

    def pointer(self, place: Place) -> str:
        kind = C_TYPES[self.steps.dtype(place.root).name]
        start = f"({kind} *){self._starts[place.root]}"
        return f"({start} + {place.offset})" if place.offset else f"({start})"

    def _lines(self, group: Group) -> list[str]:
        if group.call is not None:
            return group.call.lines(self)
        kernel = self._kernels[group.number]
        if isinstance(kernel, Tape):
            return kernel.lines(self)
        name = self.function(kernel.parameters, kernel.body)
        return [f"{name}({', '.join(map(self.pointer, kernel.arguments))});"]

    def _tables(self, number: int) -> list[str]:
        """What kind each input is of, and how many bytes it has."""
        kinds, sizes = ["ARRAY"], ["0"]
        if self.program.inputs:
            types = [self.program.types[r] for r in self.program.inputs]
            numbers = {"float64": "DOUBLE", "float32": "FLOAT"}
            kinds = [numbers.get(dtype.name, "ARRAY") if shape == () else "ARRAY" for shape, dtype in types]
            sizes = [str(self._bytes(r)) for r in self.program.inputs]
        return [
            f"static const unsigned char kinds{number}[] = {{{', '.join(kinds)}}};",
            f"static const i64 bytes{number}[] = {{{', '.join(sizes)}}};",
        ]


def _header(program: Program) -> int:
    """Bytes of pointers and plain numbers before the work space of a run."""
    return -(-(len(program.inputs) * 2 + len(program.outputs)) * 8 // ALIGN) * ALIGN


# --- one piece of memory for all arrays of a run: each is there from its first use to its last ------------------------


class Span(NamedTuple):
    """How many bytes are needed, from one group to another."""

    first: int
    last: int
    size: int


def arranged(spans: dict[int, Span]) -> tuple[dict[int, int], int]:
    """An offset for each span, so that no two overlap in time and place; and the bytes needed in all.

    The first line is left free: a failed check writes there.
    """
    offsets: dict[int, int] = {}
    live: list[tuple[int, int, int]] = []  # (offset, end, last group), by offset
    top = ALIGN
    for name, span in sorted(spans.items(), key=lambda item: (item[1].first, -item[1].size)):
        live = [piece for piece in live if piece[2] >= span.first]
        size = -(-span.size // ALIGN) * ALIGN
        best: tuple[int, int] | None = None  # (size of the gap, where it begins)
        at = ALIGN
        for offset, end, _ in live:
            if offset - at >= size and (best is None or offset - at < best[0]):
                best = offset - at, at
            at = max(at, end)
        offset = at if best is None else best[1]
        offsets[name] = offset
        live.append((offset, offset + size, span.last))
        live.sort()
        top = max(top, offset + size)
    return offsets, top
