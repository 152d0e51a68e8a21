"""What a sheet is made of: steps, their tables, the blanks of a table; and how its ids and numbers are written."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field
from decimal import ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from typing import Any

from autograd.expr import Expr
from autograd.formula.scalars.program import BACKWARD, FORWARD
from autograd.formula.scalars.tables import Table

from .marking.intervals import Interval

UPDATE = "update"  # the phase after forward and backward
SECTIONS = {FORWARD: "Forward", BACKWARD: "Backward", UPDATE: "Update"}  # the headings of a sheet without a plan
SMALLEST_PLAIN = -7  # power of ten below which a number is written as 1.2e-9


@dataclass
class Blank:
    """One number to work out.

    id        `Q[0][1]`, `L`, `dL/dQ[0][1]`, `WQ_new[0][1]`, or a step's `P.e[0]`
    what      the same in words
    formula   arithmetic over the ids of its operands, in Python's notation
    operands  those ids
    answer    the number
    fraction  the number exactly, where only + - * / and choices were used on the way to it; else None
    """

    id: str
    what: str
    formula: str
    operands: tuple[str, ...]
    answer: float
    fraction: Fraction | None
    expr: Expr = field(repr=False)
    exact: Interval = field(repr=False)
    part: Part = field(repr=False)
    index: tuple[int, ...] = field(repr=False)

    @functools.cached_property
    def key(self) -> Decimal:
        """The answer in decimal, to some 35 digits."""
        return Decimal(0) if self.exact.low <= 0 <= self.exact.high else self.exact.middle

    def unit(self, value: Decimal, digits: int) -> Decimal:
        """The unit of the last digit that is asked for, of a number this large on a sheet with so many digits."""
        return Decimal(1).scaleb(value.adjusted() - digits + 1 if self.part.decimals is None else -self.part.decimals)

    def key_text(self, digits: int) -> str:
        """The answer as it is asked for."""
        return shown(self.key, digits) if self.part.decimals is None else f"{round(self.key, self.part.decimals) + 0:f}"


@dataclass
class Part:
    """One table of blanks within a step: softmax's e, say. `symbols` says how it is computed, `called` what it is
    called on paper; with `decimals`, so many decimals are asked for, not the sheet's digits."""

    table: Table
    symbols: str
    step: Step = field(repr=False)
    called: str = ""
    decimals: int | None = None
    blanks: list[Blank] = field(default_factory=list, repr=False)

    @property
    def name(self) -> str:
        return self.table.name

    @functools.cached_property
    def size(self) -> Decimal:
        """The largest number of it in magnitude."""
        found = max((blank.key.copy_abs() for blank in self.blanks), default=Decimal(0))
        return found if math.isfinite(found) else Decimal(0)

    @property
    def is_matrix(self) -> bool:
        return bool(self.table.shape)

    @property
    def label(self) -> str:
        """What stands before its blanks: the short name inside a step, `∂L/∂Q` for a gradient."""
        return self.called or (self.table.label if self.table.kind == "step" else as_slope(self.table.name))


@dataclass
class Step:
    """What is worked out at once, and counts once: a result with the named steps on the way to it. It stands under the
    heading `section`; `says` what is computed and why, and `taught` names the idea, if a plan does."""

    number: int
    phase: str
    title: str
    section: str
    says: str = ""
    taught: str = ""
    parts: list[Part] = field(default_factory=list, repr=False)

    @property
    def blanks(self) -> list[Blank]:
        return [blank for part in self.parts for blank in part.blanks]

    @property
    def name(self) -> str:
        """The table that it ends with: `Q`, `dL/dQ`, `WQ_new`."""
        return self.parts[-1].name

    @property
    def idea(self) -> tuple[Any, ...]:
        """What one must have understood for it: the op in the forward pass, its rule for this input in the backward
        pass, summing over paths, the update."""
        if self.taught:
            return (self.phase, self.taught)
        table = self.parts[-1].table
        if table.through is None or table.through.op is None:
            op = table.owner.op if table.kind == "value" else None
            return (self.phase, op.base.name if op is not None else table.kind)
        place = next((i for i, x in enumerate(table.through.inputs) if x is table.owner), 0)
        return (self.phase, table.through.op.base.name, place)


def shown(x: Decimal, digits: int) -> str:
    """A number with so many significant digits; an exact one as short as it is.

    >>> shown(Decimal("0.25062056827"), 4), shown(Decimal("0.10"), 4), shown(Decimal("-1.768E-5"), 4)
    ('0.2506', '0.1', '-0.00001768')
    """
    if not x:
        return "0"
    unit = Decimal(1).scaleb(x.adjusted() - digits + 1)
    rounded = x.quantize(unit, rounding=ROUND_HALF_EVEN)
    if rounded == x:
        rounded = rounded.normalize()
    return f"{rounded:f}" if rounded.adjusted() >= SMALLEST_PLAIN and rounded.adjusted() < 15 else f"{rounded:e}"


def as_slope(name: str) -> str:
    """`dL/dQ` as people write it: ∂L/∂Q."""
    top, slash, rest = name.partition("/d")
    return f"∂{top[1:]}/∂{rest}" if slash and top.startswith("d") else name


def exact_text(x: Any) -> str:
    """A plain number of a formula, exactly as a person would read it."""
    return str(int(x)) if isinstance(x, bool) else repr(x)


def place_in_words(index: tuple[int, ...]) -> str:
    """`row 0, column 1` of a matrix, `entry 2` of a vector."""
    if len(index) == 2:
        return f"row {index[0]}, column {index[1]}"
    return f"entry {', '.join(map(str, index))}"
