"""Registers of a page's program, and the instructions that fill them (see `live`)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Protocol

from autograd.expr import Expr

PRIMITIVE = (  # the functions that the page knows; what is missing here is computed by its definition
    "add", "sub", "mul", "div", "neg", "power", "less", "less_equal", "greater", "greater_equal", "equal", "not_equal",
    "exp", "expm1", "log", "log1p", "sqrt", "sin", "cos", "tan", "arctan", "sinh", "cosh", "tanh", "sigmoid", "relu",
    "erf", "sign", "abs", "maximum", "minimum", "where", "alias",
)  # fmt: skip


class Registers(Protocol):
    """What code is written for: where operands are, new registers, and the numbers of functions."""

    def operand(self, e: Expr) -> int: ...
    def new_register(self) -> int: ...
    def function(self, name: str) -> int: ...


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


@dataclass
class Code:
    """The instructions of one line, flat: function, target, operands."""

    live: Registers
    numbers: list[int] = field(default_factory=list)
    _done: dict[int, int] = field(default_factory=dict)
    _kept: list[Expr] = field(default_factory=list)

    def scalar(self, e: Expr) -> int:
        """The register of a formula of scalars, computed if it is not yet. Sums are deep, so no recursion."""
        stack = [e]
        while stack:
            part = stack[-1]
            if id(part) in self._done:
                stack.pop()
            elif part.op is None and part.node is None and part.formula is not None:  # a line of a definition
                if id(part.formula) in self._done:
                    self._done[id(stack.pop())] = self._done[id(part.formula)]
                    self._kept.append(part)
                else:
                    stack.append(part.formula)
            elif part.op is None:
                self._done[id(stack.pop())] = self.live.operand(part)
                self._kept.append(part)
            elif waiting := [x for x in part.args if id(x) not in self._done]:
                stack += waiting
            else:
                self._done[id(stack.pop())] = self._applied(part, [self._done[id(x)] for x in part.args])
                self._kept.append(part)
        return self._done[id(e)]

    def _applied(self, e: Expr, operands: list[int]) -> int:
        assert e.op is not None
        if e.op.name in PRIMITIVE and not e.op.settings:
            return self.emit(e.op.name, self.live.new_register(), *operands)
        if e.op.definition is None:
            raise NotLive(f"the page does not know {e.op.name}")
        stand_ins = [Expr(f"r{r}", x.value, node=r) for r, x in zip(operands, e.args)]
        return self.scalar(e.op.definition(*stand_ins, **e.op.settings))

    def emit(self, function: str, target: int, *operands: int) -> int:
        self.numbers += [self.live.function(function), target, *operands]
        return target
