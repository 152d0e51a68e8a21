"""A long list of ops on single numbers as data: a compiler would take minutes for as many lines of C.

The numbers lie in slots. Each line of the tape is an op and the slots that it writes and reads; one loop runs them all.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .groups import Group
from .places import Place, whole
from .steps import Dtype, Writer

LONG = 200  # steps, from which on a group of single numbers becomes a tape
_WIDTH = 5  # integers in a line: the op, where it writes, and up to three places to read

_PLAIN = (np.dtype(np.float64), np.dtype(bool))


def is_tape(group: Group, dtype: Callable[[int], Dtype]) -> bool:
    """Whether a group is a long list of ops on single float64s and truth values."""
    return group.domain == () and len(group.steps) > LONG and all(
        not step.reduce and step.kind == np.float64 and dtype(step.target.root) in _PLAIN and len(step.operands) <= 3
        and all(dtype(place.root) in _PLAIN for place in step.reads) for step in group.steps
    )  # fmt: skip


class Tape:
    """The tape of a group."""

    def __init__(self, group: Group, in_memory: Callable[[int], bool], fresh: Callable[[int], int]) -> None:
        self._slots: dict[Place | str | int, int] = {}  # a place from outside, a plain number, or a root made here
        self._cases: dict[str, int] = {}  # the C of each op
        self._lines: list[int] = []
        self._results: list[tuple[Place, int]] = []
        for step in group.steps:
            made = [isinstance(x, Place) and x.root in group.makers for x in step.operands]
            reads = [self._slot(x.root if here else x) for x, here in zip(step.operands, made)]  # type: ignore[union-attr]
            op = self._cases.setdefault(step.c, len(self._cases))
            out = self._slot(step.target.root)
            self._lines += [op, out, *reads, *(0,) * (_WIDTH - 2 - len(reads))]
            if in_memory(step.target.root):
                self._results.append((step.target, out))
        self._root = fresh(len(self._slots))

    def _slot(self, x: Place | str | int) -> int:
        return self._slots.setdefault(x, len(self._slots))

    def lines(self, writer: Writer) -> list[str]:
        """The C of the tape."""
        s = writer.pointer(whole(self._root, (len(self._slots),)))
        numbers = {x: slot for x, slot in self._slots.items() if isinstance(x, str)}
        outside = {x: slot for x, slot in self._slots.items() if isinstance(x, Place)}
        reads = [f"s[t[{n}]]" for n in range(2, _WIDTH)]
        cases = [f"case {number}: s[t[1]] = {c.format(*reads)}; break;" for c, number in self._cases.items()]
        run = writer.function(
            ["const int32_t *t", "double *s", "i64 n"],
            [f"for (i64 i = 0; i < n; i++, t += {_WIDTH}) switch (t[0]) {{", *cases, "}"],
        )
        return [
            "{", f"double *s = {s};",
            f"static const int32_t tape[] = {{{', '.join(map(str, self._lines))}}};",
            *(f"s[{slot}] = {number};" for number, slot in numbers.items()),
            *(f"s[{slot}] = *{writer.pointer(place)};" for place, slot in outside.items()),
            f"{run}(tape, s, {len(self._lines) // _WIDTH});",
            *(f"*{writer.pointer(target)} = s[{slot}];" for target, slot in self._results), "}",
        ]  # fmt: skip
