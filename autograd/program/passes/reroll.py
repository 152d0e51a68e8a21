"""Re-roll: code that was written scalar by scalar, as ops on arrays.

A loop over neurons, samples or tokens records one scalar op at a time. This pass groups the ones that do the same:
chains of additions become sums of many terms, and sums of products dot products; then all scalars that come from the
same op, at the same depth, out of the same arrays, become one array. Where the places that they read from follow a
pattern, they are read through views, and dot products that pair every row with every other are one matrix product; else
they are gathered by index. What comes out is a function of ops of the table, which is traced and differentiated as any
other.
Sums are added up in another order than the code's, so the last digits may differ.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograd.op import OPS, Op

from ..program import Instruction, Program, is_weak, settings_key
from .views import Array, Pick, grid_of, picked

LEAST = 256  # scalar instructions, from which on it is tried
MOST_VECTORS = 32  # of scalar inputs; if there are more kinds, like code has unlike inputs, and all are one vector
_EXTREMES = {op.pairwise.name: op for op in OPS.values() if op.pairwise is not None}  # of many, by that of two
CONSTANT = -1  # stands for a group where an operand is a plain number

Arrays = list[Any]  # the arrays computed so far, by group


@dataclass
class Rolled:
    """A program as a function of vectors.

    packs     for each vector, the places of the program's inputs that it is made of; an array is a pack of one
    call      the function: the vectors in, the program's results out
    groups    how many arrays the scalars became
    gathered  how many scalars are read by index, not through a view
    """

    packs: list[list[int]]
    call: Callable[..., list[Any]]
    groups: int
    scalars: int
    gathered: int

    def __str__(self) -> str:
        return f"{self.scalars:,} scalars as {self.groups} arrays; {self.gathered:,} reads by index, others by views"


def reroll(program: Program, kinds: Sequence[Any] = ()) -> tuple[Rolled | None, str]:
    """The program as array ops, and what there is to say about it. None if it is short, is no scalar code, or has
    hardly any two ops alike.

    kinds   for each input, what it is one of: scalars of one kind are one vector. Those without are of one kind
    """
    scalar = sum(program.types[i.out][0] == () for i in program.code)
    if scalar < LEAST:
        return None, ""
    other = next((i for i in program.code if not _is_scalar(program, i)), None)
    if other is not None:
        shape = program.types[other.out][0]
        return None, (
            f"{scalar:,} ops are on scalars and stay so: {other.op.name}, which gives shape {shape}, is among them"
        )
    roll = _Roll(program, kinds)
    if len(roll.levels) * 8 > scalar or roll.grouped() * 8 > scalar:  # there are more groups than levels
        return None, f"{scalar:,} ops are on scalars and stay so: hardly any two of them are alike"
    rolled = roll.rolled()
    return rolled, str(rolled)


def _is_scalar(program: Program, i: Instruction) -> bool:
    if i.op.base.name in ("getitem", "reshape"):  # of an input that is an array
        return program.types[i.inputs[0]][1] == np.float64
    types = program.types
    scalar = types[i.out][0] == () and all([types[r][0] == () for r in i.inputs])
    return scalar and (not i.op.variadic or i.op.base.name == "dot") and program.types[i.out][1].kind in "fb"


class _Roll:
    def __init__(self, program: Program, kinds: Sequence[Any]) -> None:
        self.program = program
        self.made = {i.out: i for i in program.code}
        self.group_of: dict[int, int] = dict.fromkeys(program.constants, CONSTANT)
        self.place_of: dict[int, int] = {}
        self.shapes: list[tuple[int, ...]] = []  # of each group's array
        self.makers: list[Callable[[Arrays], Any]] = []
        self.packs: list[list[int]] = []
        self.views: dict[int, tuple[int, Array]] = {}  # registers that are arrays: places in a group
        self.gathered = 0
        self._take_inputs(kinds)
        self._absorb()
        self.levels = self._leveled()

    # --- reading the code -----------------------------------------------------------------------------------

    def _take_inputs(self, kinds: Sequence[Any]) -> None:
        """The scalar inputs of each kind as one vector; each array as it is."""
        kinds = kinds if len(set(kinds)) <= MOST_VECTORS else [()] * len(kinds)
        vectors: dict[Any, list[int]] = {}
        arrays = []
        for n, r in enumerate(self.program.inputs):
            if self.program.types[r][0] == ():
                vectors.setdefault(kinds[n] if n < len(kinds) else None, []).append(n)
            else:
                arrays.append(n)
        scalars = list(vectors.values())
        self.packs = scalars + [[n] for n in arrays]
        for number, pack in enumerate(self.packs):
            registers = [self.program.inputs[n] for n in pack]
            shape = self.program.types[registers[0]][0] or (len(pack),)
            self.shapes.append(shape)
            if number < len(scalars):
                for place, r in enumerate(registers):
                    self.group_of[r], self.place_of[r] = number, place
            else:
                self.views[registers[0]] = number, np.arange(int(np.prod(shape))).reshape(shape)

    def _absorb(self) -> None:
        """Chains of additions as lists of terms, and the products among these as pairs."""
        readers = self.program.readers()
        terms: dict[int, list[int]] = {}
        self.pairs: dict[int, list[tuple[int, int]]] = {}
        zero = {r for r, data in self.program.constants.items() if is_weak(data) and data == 0}
        for i in self.program.code:
            name = i.op.base.name
            if name == "add":
                own: list[int] = []
                for x in i.inputs:
                    if x in terms and readers[x] == 1:
                        other = terms.pop(x)
                        if len(other) > len(own):
                            own, other = other, own
                        own.extend(other)
                    elif x not in zero:
                        own.append(x)
                terms[i.out] = own
            elif name == "dot":
                half = len(i.inputs) // 2
                self.pairs[i.out] = list(zip(i.inputs[:half], i.inputs[half : 2 * half]))
                terms[i.out] = list(i.inputs[2 * half :])
        self.terms = terms
        self.absorbed: set[int] = set()
        for r, own in terms.items():
            products = [t for t in own if t in self.made and self.made[t].op.base.name == "mul" and readers[t] == 1]
            if len(products) > 1:
                self.absorbed.update(products)
                inside = set(products)
                self.pairs.setdefault(r, []).extend(self.made[t].inputs for t in products)  # type: ignore[misc]
                self.terms[r] = [t for t in own if t not in inside]
        self._absorb_extremes(readers)
        kept = set(terms)
        self.nodes = [
            i for i in self.program.code
            if i.out not in self.absorbed and (i.op.base.name not in ("add", "dot") or i.out in kept)
        ]  # fmt: skip

    def _absorb_extremes(self, readers: Sequence[int]) -> None:
        """The largest (or smallest) of some scalars, through which no gradient flows, as a list of these.

        With a gradient, `maximum` of three equal scalars gives other shares than `max` does. One scalar alone is
        the largest of a list of one, so that it comes together with those of longer lists.
        """
        self.extremes: dict[int, tuple[str, list[int]]] = {}
        for i in self.program.code:
            if i.op.base.name != "detached":
                continue
            top = self.made.get(i.inputs[0])
            kind = top.op.base.name if top is not None and top.op.base.name in _EXTREMES else "maximum"
            found, waiting = [], [i.inputs[0]]
            while waiting:
                r = waiting.pop()
                if r in self.made and readers[r] == 1 and self.made[r].op.base.name == kind:
                    self.absorbed.add(r)
                    waiting += self.made[r].inputs
                else:
                    found.append(r)
            self.extremes[i.out] = kind, found[::-1]

    def _reads(self, i: Instruction) -> list[int]:
        if i.out in self.extremes:
            return self.extremes[i.out][1]
        if i.out in self.terms:
            return [*self.terms[i.out], *(x for pair in self.pairs.get(i.out, ()) for x in pair)]
        return list(i.inputs)

    def _leveled(self) -> list[list[Instruction]]:
        """The nodes by their depth: none reads another of its own level."""
        level: dict[int, int] = {}
        levels: list[list[Instruction]] = []
        for i in self.nodes:
            if i.op.base.name in ("getitem", "reshape"):
                self._view(i, level)
                continue
            depth = max((level.get(x, 0) for x in self._reads(i)), default=0)
            level[i.out] = depth + 1
            while len(levels) <= depth:
                levels.append([])
            levels[depth].append(i)
        return levels

    def grouped(self) -> int:
        """Level by level, bring together what is alike; then each group's array can be made. How many there are."""
        for nodes in self.levels:
            found: dict[Any, list[int]] = {}
            for i in nodes:
                found.setdefault(self._key(i), []).append(i.out)
            for key, registers in found.items():
                self._add(key, registers)
        return len(self.makers)

    def _view(self, i: Instruction, level: dict[int, int]) -> None:
        """An entry or a part of an input array: places in it, and no op."""
        number, places = self.views[i.inputs[0]] if i.inputs[0] in self.views else (
            self.group_of[i.inputs[0]], np.array(self.place_of[i.inputs[0]]))
        part = np.asarray(i.op.compute(places.astype(np.float64))).astype(np.int64)
        level[i.out] = 0
        if part.ndim:
            self.views[i.out] = number, part
        else:
            self.group_of[i.out], self.place_of[i.out] = number, int(part)

    def _key(self, i: Instruction) -> Any:
        group = self.group_of
        if i.out in self.extremes:
            kind, found = self.extremes[i.out]
            return ("extreme", kind, frozenset(group[r] for r in found))
        if i.out in self.terms:
            pairs = {self._ordered(pair)[:2] for pair in self.pairs.get(i.out, ())}
            return ("sum", frozenset(pairs), frozenset(group[t] for t in self.terms[i.out]))
        return ("op", settings_key(i.op), tuple(group[x] for x in i.inputs))

    def _ordered(self, pair: tuple[int, int]) -> tuple[int, int, int, int]:
        """The groups and the registers of a product, the older group first."""
        a, b = pair
        ga, gb = self.group_of[a], self.group_of[b]
        return (ga, gb, a, b) if ga <= gb else (gb, ga, b, a)

    # --- making arrays --------------------------------------------------------------------------------------

    def _add(self, key: Any, registers: list[int]) -> None:
        number = len(self.shapes)
        if key[0] == "op":
            make, shape = self._op(registers)
        else:
            make, shape = self._sum(key, registers) if key[0] == "sum" else self._extreme(key, registers)
        self.shapes.append(shape)
        self.makers.append(make)
        for place, r in enumerate(registers):
            self.group_of[r], self.place_of[r] = number, place

    def _places(self, registers: Sequence[int]) -> Array:
        return np.array([self.place_of[r] for r in registers])

    def _numbers(self, registers: Sequence[int]) -> Array:
        return np.array([float(self.program.constants[r]) for r in registers])

    def _op(self, registers: list[int]) -> tuple[Callable[[Arrays], Any], tuple[int, ...]]:
        """An elementwise op on arrays read from its operands' groups."""
        op: Op = self.made[registers[0]].op
        columns = list(zip(*(self.made[r].inputs for r in registers)))
        slots = [(self.group_of[column[0]], column) for column in columns]
        places = [self._places(column) for number, column in slots if number != CONSTANT]
        grid = grid_of(len(registers), places, [self.shapes[n] for n, _ in slots if n != CONSTANT])
        operands = [self._operand(number, column, grid) for number, column in slots]

        def make(arrays: Arrays) -> Any:
            return op(*(operand(arrays) for operand in operands))

        return make, grid

    def _operand(self, number: int, column: Sequence[int], grid: tuple[int, ...]) -> Callable[[Arrays], Any]:
        if number == CONSTANT:
            numbers = self._numbers(column)
            if (numbers == numbers[0]).all():
                plain = self.program.constants[column[0]]
                return lambda arrays: plain
            table = numbers.reshape(grid)
            return lambda arrays: table
        return self._pick(number, self._places(column).reshape(grid))

    def _pick(self, number: int, places: Array) -> Callable[[Arrays], Any]:
        pick: Pick = picked(self.shapes[number], places)
        self.gathered += 0 if pick.is_view else places.size
        return lambda arrays: pick.take(arrays[number])

    def _extreme(self, key: Any, registers: list[int]) -> tuple[Callable[[Arrays], Any], tuple[int, ...]]:
        """The largest or smallest of each row of scalars, without a gradient."""
        _, kind, groups = key
        parts = []
        for number in sorted(groups):
            rows = [[r for r in self.extremes[of][1] if self.group_of[r] == number] for of in registers]
            widest = max(map(len, rows))
            table, _ = self._table(number, [row + row[:1] * (widest - len(row)) for row in rows])  # itself once more
            parts.append(self._read(number, table))

        def make(arrays: Arrays) -> Any:
            total = None
            for part in parts:
                value = _EXTREMES[kind](part(arrays), axis=-1)
                total = value if total is None else OPS[kind](total, value)
            return OPS["detached"](total)

        return make, (len(registers),)

    def _sum(self, key: Any, registers: list[int]) -> tuple[Callable[[Arrays], Any], tuple[int, ...]]:
        """Sums of terms and of products, by the groups that these come from."""
        m = len(registers)
        parts: list[Callable[[Arrays], Any]] = []
        grid: tuple[int, ...] = (m,)
        ordered = {r: [self._ordered(p) for p in self.pairs.get(r, ())] for r in registers} if key[1] else {}
        for ga, gb in sorted(key[1]):
            rows = [[(a, b) for x, y, a, b in ordered[r] if (x, y) == (ga, gb)] for r in registers]
            part, made = self._dots(ga, gb, rows)
            parts.append(part)
            grid = made if len(made) > 1 else grid
        for number in sorted(key[2]):
            terms = [[t for t in self.terms[r] if self.group_of[t] == number] for r in registers]
            parts.append(self._sums(number, terms, grid))
        shape = grid

        def make(arrays: Arrays) -> Any:
            total = None
            for part in parts:
                value = OPS["reshape"](part(arrays), shape)
                total = value if total is None else total + value
            return total

        return make, shape

    def _sums(self, number: int, rows: list[list[int]], grid: tuple[int, ...]) -> Callable[[Arrays], Any]:
        """The sum of each row of terms from one group."""
        if number == CONSTANT:
            table = np.array([sum(float(self.program.constants[t]) for t in row) for row in rows]).reshape(grid)
            return lambda arrays: table
        if all(len(row) == 1 for row in rows):
            return self._pick(number, self._places([row[0] for row in rows]).reshape(grid))
        places, mask = _padded([[self.place_of[t] for t in row] for row in rows])
        pick = self._pick(number, places)
        if mask.all():
            return lambda arrays: OPS["sum"](pick(arrays), axis=-1)
        return lambda arrays: OPS["sum"](OPS["where"](mask, pick(arrays), 0.0), axis=-1)

    def _dots(
        self, ga: int, gb: int, rows: list[list[tuple[int, int]]]
    ) -> tuple[Callable[[Arrays], Any], tuple[int, ...]]:
        """The dot product of each row of pairs: one matrix product if every left row meets every right row."""
        m = len(rows)
        left, mask = self._table(ga, [[a for a, _ in row] for row in rows])
        right, _ = self._table(gb, [[b for _, b in row] for row in rows])
        if mask.all():
            (first, of_first), (second, of_second) = _distinct(left), _distinct(right)
            u, v = len(first), len(second)
            in_order = np.arange(m)
            if u * v == m and (of_first * v + of_second == in_order).all():
                return self._product((ga, first), (gb, second)), (u, v)
            if u * v == m and (of_second * u + of_first == in_order).all():
                return self._product((gb, second), (ga, first)), (v, u)
        a, b = self._read(ga, left), self._read(gb, right)
        if mask.all():
            return (lambda arrays: OPS["sum"](a(arrays) * b(arrays), axis=-1)), (m,)
        return (lambda arrays: OPS["sum"](OPS["where"](mask, a(arrays) * b(arrays), 0.0), axis=-1)), (m,)

    def _product(self, rows: tuple[int, Array], columns: tuple[int, Array]) -> Callable[[Arrays], Any]:
        """Every row of one table times every row of another."""
        a, b = self._read(*rows), self._read(*columns)
        return lambda arrays: a(arrays) @ OPS["swapaxes"](b(arrays), -1, -2)

    def _table(self, number: int, rows: list[list[int]]) -> tuple[Array, Array]:
        if number == CONSTANT:
            return _padded([[float(self.program.constants[r]) for r in row] for row in rows])
        return _padded([[self.place_of[r] for r in row] for row in rows])

    def _read(self, number: int, table: Array) -> Callable[[Arrays], Any]:
        if number == CONSTANT:
            return lambda arrays: table
        return self._pick(number, table)

    # --- the function ---------------------------------------------------------------------------------------

    def rolled(self) -> Rolled:
        results = [self._result(r) for r in self.program.outputs]
        makers = self.makers

        def call(*vectors: Any) -> list[Any]:
            arrays = list(vectors)
            for make in makers:
                arrays.append(make(arrays))
            return [result(arrays) for result in results]

        return Rolled(self.packs, call, len(makers), len(self.program.code), self.gathered)

    def _result(self, r: int) -> Callable[[Arrays], Any]:
        if r in self.program.constants:
            plain = self.program.constants[r]
            return lambda arrays: plain
        number, place = self.group_of[r], self.place_of[r]
        index = tuple(int(n) for n in np.unravel_index(place, self.shapes[number]))
        return lambda arrays: arrays[number][index]


def _padded(rows: list[list[Any]]) -> tuple[Array, Array]:
    """Rows of any length as a table, and where it holds what was given."""
    widest = max(map(len, rows))
    if all(len(row) == widest for row in rows):
        table = np.array(rows)
        return table, np.ones(table.shape, bool)
    mask = np.array([[j < len(row) for j in range(widest)] for row in rows])
    filler = next(row[0] for row in rows if row)
    return np.array([row + [filler] * (widest - len(row)) for row in rows]), mask


def _distinct(table: Array) -> tuple[Array, Array]:
    """The distinct rows of a table in the order in which they appear, and which of them each row is."""
    known: dict[bytes, int] = {}
    which = np.array([known.setdefault(row.tobytes(), len(known)) for row in np.ascontiguousarray(table)])
    first = np.unique(which, return_index=True)[1]
    return table[first], which
