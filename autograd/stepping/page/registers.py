"""Lines as code over one row of registers, and as the pieces that they are shown as; small enough for JSON.

A block of registers holds the numbers of one quantity: a node's value, what a step adds to a gradient, the total, a
line that a rule names. A line is code that fills its own block from others. Run on the printed numbers, it is what a
reader works out by hand.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograd.errors import HandgradError
from autograd.expr import UNKNOWN, Expr
from autograd.formula.lines import Line, quantity, summed
from autograd.formula.numbers import count, json_number
from autograd.formula.scalars import ALL_DIGITS, Entries, Opener, in_order, spelled
from autograd.formula.writers.arithmetic import Slots
from autograd.value import Value

MOST_SCALARS = 20_000  # of a page whose numbers can be changed
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
        self.lines: list[dict[str, Any]] = []
        self.constants: dict[int, Any] = {}  # by register
        self._by_value: dict[Any, Block] = {}  # of plain numbers
        self._of: dict[Any, Block] = {}  # by quantity
        self._line_of: dict[int, int] = {}  # by the id of its result
        self._kept: list[Any] = []  # kept alive, so that no other object gets its id
        self._open = Opener(ALL_DIGITS, shorten=False)

    # --- registers -----------------------------------------------------------------------------------------------

    def _function(self, name: str) -> int:
        if name not in self.functions:
            self.functions.append(name)
        return self.functions.index(name)

    def _new_register(self) -> int:
        self.size += 1
        if self.size > 20 * MOST_SCALARS:
            raise NotLive(f"its steps take more than {count(20 * MOST_SCALARS)} operations")
        return self.size - 1

    def new_block(self, shape: tuple[int, ...], kind: str = "") -> Block:
        block = Block(len(self.blocks), self.size, tuple(map(int, shape)), kind)
        self.size += block.size
        self.blocks.append(block)
        return block

    def of_value(self, value: Any) -> Block:
        """A block for the numbers of a node."""
        return self.new_block(np.shape(value), _kind(value))

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

    def _operand(self, e: Expr) -> int:
        """The register of a scalar without an op."""
        return e.node.number if isinstance(e.node, Register) else self.constant(e.value).start

    def entries(self, symbol: Expr, first: bool = False) -> Any:
        """The entries of a symbol, or the first alone: Exprs that know their register. Whole numbers that never change
        stay as they are."""
        block, value = self.block(symbol), np.asarray(symbol.value)
        if self._is_fixed(block):
            return value
        array = np.empty(() if first else block.shape, object)
        for offset, index in enumerate(np.ndindex(array.shape)):
            register = Register(block, offset)
            array[index] = Expr("x", value.item(offset), node=register, is_gradient=symbol.is_gradient)
        return Entries(array)

    def _is_fixed(self, block: Block) -> bool:
        return bool(block.kind) and block.start in self.constants

    # --- lines ---------------------------------------------------------------------------------------------------

    def line(self, line: Line, shown: bool = True) -> int:
        """The number of a line, written if it is new: how to run it and, if it is ever `shown`, how to show it.

        Where all entries are computed alike, the code is that of the first, with the places in it that move `along`,
        and how many `times` to run it.
        """
        found = self._line_of.get(id(line.result))
        if found is None:
            self._kept.append(line)
            result = self.block(line.result)
            alike = result.size > 1 and self._is_alike(line.formula, result.shape)
            spelled = self._spelled(line.formula, alike and not (shown and line.is_spelled)).ravel()
            data: dict[str, Any] = {"result": result.number}
            if alike:
                starts = {block.start for block in self.blocks if block.shape == result.shape}
                data |= self._code({result.start: spelled[0]}, starts) | {"times": result.size}
            else:
                data |= self._code({result.start + offset: e for offset, e in enumerate(spelled)})
            if shown:
                data |= self._as_shown(line, spelled)
            found = self._line_of[id(line.result)] = len(self.lines)
            self.lines.append(data)
        return found

    def _is_alike(self, e: Expr, shape: tuple[int, ...]) -> bool:
        """Is each entry of a formula of this shape computed from the same entry of its operands?"""
        if e.op is not None:
            return e.op.pointwise and all(self._is_alike(part, shape) for part in e.args)
        if e.is_constant:
            return np.ndim(e.value) == 0
        block = self.block(e)
        return not block.shape or (block.shape == shape and not self._is_fixed(block))

    def _as_shown(self, line: Line, spelled: Any) -> dict[str, Any]:
        data: dict[str, Any] = {"gradient": int(line.result.is_gradient)}
        data["uses"] = [self.block(e).number for e in line.quantities]
        data["named"] = [self.block(e).number for e in line.formula.symbols()]
        data["terms"] = [self.block(e).number for e in summed(line)]
        data["shown"] = int(line.is_shown)
        if line.formula.op is not None:
            data["pieces"] = Slots(self.block, line.is_shown).pieces(line.formula)
        if line.is_spelled:
            data["entries"] = [self._entry(e) for e in spelled]
        return data

    def _entry(self, e: Expr) -> dict[str, Any] | None:
        """How one entry is shown, and the code that works it out."""
        if e.op is None:
            return None
        operands = list(Line(e, e).quantities)
        pieces = Slots(self._scalar, True).pieces(e)
        target = self._new_register()
        uses = [[register.block.number, register.offset] for register in map(self._scalar, operands)]
        terms = [self._scalar(t) for t in summed(Line(e, e))[:-1]]
        return {
            "pieces": pieces, "uses": uses, **self._code({target: e}), "result": target,
            "terms": [[register.block.number, register.offset] for register in terms],
        }  # fmt: skip

    def _scalar(self, e: Expr) -> Register:
        """The register of an operand of one entry."""
        return e.node if isinstance(e.node, Register) else Register(self.constant(e.value), 0)

    def _spelled(self, formula: Expr, first: bool) -> Any:
        """Every entry of a formula, or the first alone, as a formula of scalars."""
        try:
            return spelled(formula, lambda symbol: self.entries(symbol, first))
        except HandgradError as error:
            raise NotLive(str(error)) from error

    def _code(self, formulas: dict[int, Expr], moving: Collection[int] = ()) -> dict[str, list[int]]:
        """Instructions that fill registers with formulas of scalars, flat: function, target, operands; and the places
        in them of the registers that are `moving`."""
        code: list[int] = []
        along: list[int] = []
        registers: dict[int, int] = {}  # by the id of the formula that they hold

        def emit(function: str, target: int, *operands: int) -> int:
            registers_used = (target, *operands)
            along.extend(len(code) + place for place, number in enumerate(registers_used, 1) if number in moving)
            code.extend((self._function(function), *registers_used))
            return target

        for target, formula in formulas.items():
            try:
                formula = self._open(formula)
            except HandgradError as error:
                raise NotLive(str(error)) from error
            for e in in_order(formula):
                if id(e) not in registers:
                    registers[id(e)] = self._operand(e) if e.op is None else emit(
                        e.op.base.name, self._new_register(), *(registers[id(x)] for x in e.args)
                    )  # fmt: skip
            emit("alias", target, registers[id(formula)])
        return {"code": code, "along": along} if moving else {"code": code}


def _kind(data: Any) -> str:
    dtype = np.asarray(data).dtype
    if dtype.kind not in KINDS or (dtype.kind == "f" and dtype != np.float64):
        raise NotLive(f"its numbers are {dtype}, and a page computes in float64")
    return KINDS[dtype.kind]
