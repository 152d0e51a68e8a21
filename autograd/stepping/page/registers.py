"""Lines as code over one row of registers, and as the pieces that they are shown as; small enough for JSON.

A block of registers holds the numbers of one quantity: a node's value, what a step adds to a gradient, the total, a
line that a rule names. A line is code that fills its own block from others. Run on the printed numbers, it is what a
reader works out by hand.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograd.engine import Value
from autograd.errors import HandgradError
from autograd.expr import UNKNOWN, Expr
from autograd.formula.lines import Line, quantity, summed
from autograd.formula.numbers import count, json_number
from autograd.formula.scalars.formulas import ALL_DIGITS, Entries, Opener, in_order, spelled
from autograd.formula.writers.arithmetic import Slots

from .alike import NotAlike, Places, alike, leaves, replaced

MOST_SCALARS = 250_000  # of a page whose numbers can be changed
MOST_SPELLED = 4096  # entries of a line that are computed each in its own way
KINDS = {"f": "", "i": "whole", "u": "whole", "b": "truth"}


class NotLive(Exception):
    """Why the numbers of a page cannot be changed."""


@dataclass(frozen=True)
class Block:
    """Some registers in a row: the numbers of one quantity."""

    number: int
    start: int
    shape: tuple[int, ...]
    kind: str = ""  # "whole" and "truth" are never rounded

    @property
    def size(self) -> int:
        return math.prod(self.shape)


@dataclass(frozen=True)
class Register:
    """One register of a block."""

    block: Block
    offset: int

    @property
    def number(self) -> int:
        return self.block.start + self.offset


class Registers:
    """All blocks, and the lines that fill them."""

    def __init__(self) -> None:
        self.functions: list[str] = []
        self.blocks: list[Block] = []
        self.size = 0
        self.lines: list[dict[str, Any] | list[int]] = []  # one like another is that one's number, then its own blocks
        self.constants: dict[int, Any] = {}  # by register
        self._by_value: dict[Any, Block] = {}  # of plain numbers
        self._of: dict[Any, Block] = {}  # by quantity
        self._line_of: dict[int, int] = {}  # by the id of its result
        self._first_like: dict[Any, int] = {}  # line by how scalars are computed
        self._kept: list[Any] = []  # kept alive, so that no other object gets its id
        self._open = Opener(ALL_DIGITS, shorten=False)

    # --- registers -----------------------------------------------------------------------------------------------

    def _function(self, name: str) -> int:
        if name not in self.functions:
            self.functions.append(name)
        return self.functions.index(name)

    def new_block(self, shape: tuple[int, ...], kind: str = "") -> Block:
        block = Block(len(self.blocks), self.size, tuple(map(int, shape)), kind)
        self.size += block.size
        self.blocks.append(block)
        return block

    def of_value(self, value: Any) -> Block:
        """A block for the numbers of a node."""
        return self.new_block(np.shape(value), _kind(value))

    def shapes(self) -> list[Any]:
        """The shape and kind of every block, in order; a number is so many plain scalars in a row."""
        found: list[Any] = []
        for is_scalar, run in itertools.groupby(self.blocks, lambda block: not (block.shape or block.kind)):
            blocks = list(run)
            found += [len(blocks)] if is_scalar else [[list(block.shape), block.kind] for block in blocks]
        return found

    def keep(self, block: Block, values: Any) -> None:
        """The numbers of a block that never change."""
        self.constants |= {block.start + i: json_number(x) for i, x in enumerate(np.ravel(values).tolist())}

    def constant(self, value: Any) -> Block:
        """The block of a plain number or array."""
        array = np.asarray(value)
        key = (array.dtype.kind, array.shape, array.tobytes())
        if key not in self._by_value:
            block = self._by_value[key] = self.of_value(array)
            self.keep(block, array)
        return self._by_value[key]

    def bind(self, e: Expr, block: Block) -> None:
        """A symbol's numbers are those of this block."""
        self._of[quantity(e)] = block
        self._kept.append(e)

    def bind_node(self, node: Value, block: Block, gradient: bool = False) -> None:
        """A node's value, or its whole gradient, is this block."""
        self._of[id(node), gradient] = block
        self._kept.append(node)

    def of_node(self, node: Value) -> Block:
        return self._of[id(node), False]

    def block(self, e: Expr) -> Block:
        """The block of a symbol or a plain number."""
        if e.op is None and not e.name:
            return self.constant(e.value)
        found = self._of.get(quantity(e))
        if found is None and isinstance(e.node, np.ndarray):  # a plain array by its name
            found = self._of[quantity(e)] = self.constant(e.node)
        if found is None and e.value is not UNKNOWN:
            found = self.of_value(e.value)
            self.bind(e, found)
        if found is None:
            raise NotLive(f"{e.name} can only be run by Python")
        return found

    def entries(self, symbol: Expr) -> Any:
        """The entries of a symbol: Exprs that know their register. Integers that never change stay as they are."""
        block, value = self.block(symbol), np.asarray(symbol.value)
        if self._is_fixed(block):
            return value
        array = np.empty(block.shape, object)
        for offset, index in enumerate(np.ndindex(array.shape)):
            places = Places(block.start + offset)
            array[index] = Expr("x", value.item(offset), node=places, is_gradient=symbol.is_gradient)
        return Entries(array)

    def _is_fixed(self, block: Block) -> bool:
        return bool(block.kind) and block.start in self.constants

    # --- lines ---------------------------------------------------------------------------------------------------

    def line(self, line: Line, shown: bool = True) -> int:
        """The number of a line, written if it is new: how to run it and, if it is ever `shown`, how to show it."""
        found = self._line_of.get(id(line.result))
        if found is None:
            self._kept.append(line)
            self.lines.append(self._like_another(line, shown) or self._as_data(line, shown))
            found = self._line_of[id(line.result)] = len(self.lines) - 1
        return found

    def _as_data(self, line: Line, shown: bool) -> dict[str, Any]:
        data: dict[str, Any] = {"result": self.block(line.result).number}
        is_computed = shown and line.formula.op is not None
        data["groups"] = [self._group(e, offsets, is_computed) for e, offsets in self._groups(line)]
        return data | self._as_shown(line) if shown else data

    def _like_another(self, line: Line, shown: bool) -> dict[str, Any] | list[int] | None:
        """A line of scalars as one before that is computed alike; the first of its kind says which blocks it has."""
        blocks = {self.block(line.result): 0}
        found: list[Any] = [shown, line.result.is_gradient, np.shape(line.result.value)]
        known: dict[int, Any] = {}
        for part in in_order(line.formula):
            if part.op is not None:
                known[id(part)] = len(known)
                found.append((id(part.op), *(known[id(x)] for x in part.args)))
            elif part.name or isinstance(part.node, np.ndarray):
                block = self.block(part)
                if block.kind or part.value is UNKNOWN:
                    return None
                known[id(part)] = "block", blocks.setdefault(block, len(blocks)), part.is_gradient
            else:
                known[id(part)] = repr(part.value)
            if np.ndim(part.value):
                return None
        numbers = [block.number for block in blocks]
        first = self._first_like.setdefault((*found, *known.values()), len(self.lines))
        return [first, *numbers] if first < len(self.lines) else self._as_data(line, shown) | {"blocks": numbers}

    def whole(self, number: int) -> dict[str, Any]:
        """The data of a line, also of one that is written as another with its own blocks in place of that one's."""
        data = self.lines[number]
        if isinstance(data, dict):
            return data
        first, *others = data
        data = self.lines[first]
        assert isinstance(data, dict)
        numbers = dict(zip(data["blocks"], others, strict=True))
        starts = {self.blocks[old].start: self.blocks[new].start for old, new in numbers.items()}
        moved = data | {"result": numbers[data["result"]]}
        moved["groups"] = [
            group | {"places": [[starts.get(x, x) for x in place] for place in group["places"]]}
            for group in data["groups"]
        ]
        for key in {"uses", "named", "terms"} & data.keys():
            moved[key] = [numbers.get(x, x) for x in data[key]]
        if "pieces" in data:
            pieces = data["pieces"]
            moved["pieces"] = [x if isinstance(x, str) else [numbers.get(x[0], x[0]), *x[1:]] for x in pieces]
        return moved

    def _as_shown(self, line: Line) -> dict[str, Any]:
        data: dict[str, Any] = {"gradient": int(line.result.is_gradient)}
        data["uses"] = [self.block(e).number for e in line.quantities]
        data["named"] = [self.block(e).number for e in line.formula.symbols()]
        data["terms"] = [self.block(e).number for e in summed(line)]
        data["shown"] = int(line.is_shown)
        if line.formula.op is not None:
            data["pieces"] = Slots(self.block, line.is_shown).pieces(line.formula)
        return data

    # --- entries: those that are computed alike are written once --------------------------------------------------

    def _groups(self, line: Line) -> list[tuple[Expr, list[int]]]:
        """The formulas of all entries of a line, each with the entries that it computes; [] for all of them."""
        try:
            return [(alike(line.formula, self._places), [])]
        except NotAlike:
            groups: dict[Any, tuple[Expr, list[int], list[list[int]]]] = {}
            for offset, e in enumerate(self._spelled(line.formula).ravel()):
                places = [int(leaf.node.numbers) for leaf in leaves(e)]
                _, offsets, rows = groups.setdefault(_pattern(e), (e, [], []))
                offsets.append(offset)
                rows.append(places)
            found = []
            for e, offsets, rows in groups.values():
                columns = dict(zip(map(id, leaves(e)), np.reshape(rows, (len(offsets), -1)).T, strict=True))
                found.append((replaced(e, columns), offsets))
            return found

    def _places(self, symbol: Expr) -> Places:
        block = self.block(symbol)
        if self._is_fixed(block):
            raise NotAlike
        return Places(block.start + np.arange(block.size).reshape(block.shape))

    def _spelled(self, formula: Expr) -> Any:
        """Every entry of a formula as a formula of scalars."""
        if (entries := np.size(formula.value)) > MOST_SPELLED:
            raise NotLive(f"each of the {count(entries)} entries of {formula} is computed in its own way")
        try:
            return spelled(formula, self.entries)
        except HandgradError as error:
            raise NotLive(str(error)) from error

    def _group(self, e: Expr, offsets: list[int], shown: bool) -> dict[str, Any]:
        """Some entries of a line: code in which 0, 1, … are `places` in the registers, then what the code computes on
        its way; its last result is the entry. And how they are shown."""
        places: dict[Any, int] = {}
        written: list[Any] = []

        def place(leaf: Expr) -> int:
            is_placed = isinstance(leaf.node, Places)
            numbers = leaf.node.numbers if is_placed else np.asarray(self.constant(leaf.value).start)
            key = numbers.tobytes()
            if key not in places:
                places[key] = len(places)
                written.append(_strided(numbers))
            return places[key]

        data: dict[str, Any] = {}
        if shown:
            data["pieces"] = Slots(lambda leaf: Register(Block(place(leaf), 0, ()), 0), True).pieces(e)
            data["uses"] = sorted({place(leaf) for leaf in Line(e, e).quantities})
            data["terms"] = [place(term) for term in summed(Line(e, e))[:-1]]
        try:
            opened = self._open(e)
        except HandgradError as error:
            raise NotLive(str(error)) from error
        parts = list(in_order(opened))
        numbers = {id(part): place(part) for part in parts if part.op is None}
        code: list[int] = []
        fresh = itertools.count(len(places))
        for part in parts:
            if part.op is not None:
                number = numbers[id(part)] = next(fresh)
                code += [self._function(part.op.base.name), number, *(numbers[id(x)] for x in part.args)]
        if not code:
            code = [self._function("alias"), len(places), numbers[id(opened)]]
        data |= {"code": code, "places": written}
        return data | ({"at": offsets} if offsets else {})


def _pattern(e: Expr) -> Any:
    """How a formula of scalars is computed, whatever it is computed from."""
    known: dict[int, int] = {}
    found: list[Any] = []
    for part in in_order(e):
        known[id(part)] = len(known)
        if part.op is not None:
            found.append((id(part.op), *(known[id(x)] for x in part.args)))
        else:
            found.append("x" if isinstance(part.node, Places) else repr(part.value))
    return tuple(found)


def _strided(numbers: Any) -> list[Any]:
    """Registers for each entry, small: the first and how far it is to the next along each axis; else all of them, or
    the first of each row and how far it is to the next in it, as in a table of which rows are picked."""
    first = int(numbers.flat[0])
    seconds = [numbers[(0,) * axis + (1,)].flat[0] if size > 1 else first for axis, size in enumerate(numbers.shape)]
    steps = [int(second) - first for second in seconds]
    grid = first + sum((step * index for step, index in zip(steps, np.indices(numbers.shape, np.int64))), np.int64(0))
    if np.array_equal(numbers, grid):
        return [first, *steps]
    rows = numbers.reshape(-1, numbers.shape[-1])
    if np.array_equal(rows, rows[:, :1] + steps[-1] * np.arange(rows.shape[1])):
        return [rows[:, 0].tolist(), steps[-1]]
    return [numbers.ravel().tolist()]


def _kind(data: Any) -> str:
    dtype = np.asarray(data).dtype
    if dtype.kind not in KINDS or (dtype.kind == "f" and dtype != np.float64):
        raise NotLive(f"its numbers are {dtype}, and a page computes in float64")
    return KINDS[dtype.kind]
