"""How many digits to print, so that each line of arithmetic, done with the digits shown, gives the digits shown.

The last line of a panel has the digits of a card. Each quantity above it gets as many more as the lines that use it
need: walk the lines backwards, add a digit to the operands of any line that does not come out, and repeat. A quantity
has one spelling in all lines, and a longer spelling rounds to the shorter one that the card shows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograd.errors import HandgradError
from autograd.expr import UNKNOWN, Expr, terms_of
from autograd.formula.arithmetic import has_numbers, pages
from autograd.formula.numbers import DIGITS, EXACT, Notation, as_printed, notation, table

MOST_DIGITS = 12  # what takes more is not written out: nobody would check it
MARGIN = 1e-6  # of a unit in the last place: nearer to a tie than this counts as not confirmed
JUST = 1e-10  # of a unit in the last place: nearer than this is just what is printed
NOISE = 8.0  # a number no larger than so many times its own rounding error is 0
JITTERS = 3
FURTHER = 64.0  # times as far, to tell rounding errors from a jump
SHAKES = (-3.0, -2.0, -1.0, 1.0, 2.0, 3.0)  # rounding errors to move by: of several sizes, so that they rarely cancel
ROUNDS = 80
COLUMN_GROWTH = 3  # decimals that the numbers of a ledger may grow by to come out with equal decimals
MOST_SPELLED = 24  # entries of a table that are spelled out one by one
WIDEST, WIDEST_IN_LEDGER = 44, 48  # characters of a table that a panel has room for


@dataclass
class Line:
    """One line: `name = formula`, and what it comes to. `result` is the symbol on its left, with its value."""

    result: Expr
    formula: Expr
    says: str = ""

    @property
    def quantities(self) -> list[Expr]:
        """The symbols and the constants with many digits that the line is computed from."""
        return list(_operands(self.formula))

    @property
    def is_shown(self) -> bool:
        """Are all its numbers small enough to be printed?"""
        return all(e.value is not UNKNOWN and has_numbers(e.value) for e in (self.result, *self.quantities))

    @property
    def is_spelled(self) -> bool:
        """Are the entries of its result few enough to be spelled out, and is there something to spell?"""
        shape, op = np.shape(self.result.value), self.formula.op
        return len(shape) > 0 and np.prod(shape) <= MOST_SPELLED and self.is_shown and op is not None and not op.view


def _operands(e: Expr) -> Iterator[Expr]:
    if e.op is not None:
        for part in e.args:
            yield from _operands(part)
    elif e.name or isinstance(e.value, float):
        yield e


def summed(line: Line) -> list[Expr]:
    """The quantities that a line adds up, and what they come to; [] for a line that is no sum."""
    terms = [term for _, term in terms_of(line.formula) if term.op is None]
    return [*terms, line.result] if len(terms) > 1 else []


def quantity(e: Expr) -> Any:
    """What tells quantities apart: the node and whether it is its gradient, the line, or the constant's number."""
    if e.op is None and not e.name:
        return e.value
    return id(e if e.node is None else e.node), e.is_gradient


def width(value: Any, written: Notation | None) -> int:
    """How many characters the widest row of a table takes, a space after each column."""
    printed = [table(page, written=written) for page in pages(value)] if np.ndim(value) else []
    return max((sum(before + after + 1 for before, after in one.columns) for one in printed), default=0)


class Digits:
    """The notation of each quantity in some lines that are shown together.

    >>> tanh = Expr("L", -0.9640275800758169)
    >>> g = Line(Expr("g", 0.07065082485316443), Expr.number(1.0) - tanh**2)
    >>> digits = Digits([g])
    >>> digits.confirms(g), digits.written(tanh).decimals
    (True, 5)
    """

    def __init__(self, lines: Iterable[Line], ledgers: Iterable[Sequence[Expr]] = (), digits: int = DIGITS) -> None:
        lines = list(lines)
        self.lines = [line for line in lines if line.is_shown]
        self.values: dict[Any, Any] = {}
        self.shortest: dict[Any, Notation] = {}
        self._kept = lines  # kept alive, so that no other object gets its id
        for line in self.lines:
            for e in (line.result, *line.quantities):
                key = quantity(e)
                if key not in self.values:
                    self.values[key] = np.asarray(e.value, dtype=float)
                    self.shortest[key] = notation(self.values[key], digits)
        self.notations = dict(self.shortest)
        self.left_out: set[int] = set()  # ids of lines that no number of digits confirms
        self._read: dict[tuple[Any, Notation], Any] = {}  # what a reader sees of a quantity in a notation
        groups = [*((ledger, True) for ledger in ledgers), *((summed(line), False) for line in self.lines)]
        self.groups = [([quantity(e) for e in group if quantity(e) in self.values], told) for group, told in groups]
        self._in_ledgers = {key for group, in_columns in self.groups if in_columns for key in group}
        self._even_out()
        self._at_first = dict(self.notations)
        while True:
            self._solve()
            failed = [line for line in self._asked() if not self.confirms(line)]
            if not self._loosen(failed):
                if not failed:
                    break
                self.left_out.update(map(id, failed))
            self.notations = dict(self.shortest)  # without them the others need fewer digits

    def _loosen(self, failed: Iterable[Line]) -> bool:
        """Gives up the equal decimals of a ledger that does not come out, or only with many more digits: rounded to the
        same decimals, two halves need not add up to the whole. 0.27 + 0.27 = 0.54, but not 0.3 + 0.3 = 0.5."""
        stuck = {quantity(line.result) for line in failed}
        stuck |= {key for key, now in self.notations.items() if now.places > self._at_first[key].places + COLUMN_GROWTH}
        loosened = [in_columns and not stuck.isdisjoint(group) for group, in_columns in self.groups]
        self.groups = [(group, in_columns and not out) for (group, in_columns), out in zip(self.groups, loosened)]
        return any(loosened)

    def _asked(self) -> list[Line]:
        """The lines that are to come out."""
        return [line for line in self.lines if id(line) not in self.left_out]

    def written(self, e: Expr) -> Notation | None:
        """How a symbol's numbers are spelled; None for one that no line speaks of."""
        return self.notations.get(quantity(e))

    def printed(self, e: Expr) -> Any:
        """The numbers that a reader sees of a symbol."""
        written = self.written(e)
        if written is None or np.asarray(e.value).dtype.kind != "f":  # whole numbers are printed as they are
            return e.value
        if np.shape(e.value) != np.shape(self.values[quantity(e)]):  # one entry of it
            return as_printed(e.value, written=written)
        return self._seen(quantity(e), written)

    def _seen(self, key: Any, written: Notation) -> Any:
        found = self._read.get((key, written))
        if found is None:
            found = self._read[key, written] = as_printed(self.values[key], written=written)
        return found

    def by_hand(self, line: Line) -> Any:
        """What a line comes to, computed with the numbers as they are printed."""
        with np.errstate(all="ignore"):
            return line.formula.replaced(self._constant).run(self.printed)

    def _constant(self, e: Expr) -> Expr | None:
        if e.op is None and not e.name and isinstance(e.value, float) and e.value in self.notations:
            return Expr.number(as_printed(e.value, written=self.notations[e.value]))
        return None

    def confirms(self, line: Line) -> bool:
        """Does the line, done by hand, round to the digits printed of its result?"""
        written = self.written(line.result)
        if written is None:
            return False
        try:
            found = np.asarray(self.by_hand(line), dtype=float)
        except (HandgradError, TypeError, ValueError):
            return False
        printed = np.asarray(self.printed(line.result), dtype=float)
        if found.shape != printed.shape:
            return False
        with np.errstate(invalid="ignore"):  # infinities are compared below
            same = np.abs(found - printed) < (0.5 - MARGIN) * written.unit
        alike = (found == printed) | (np.isnan(found) & np.isnan(printed))  # infinities and NaN
        return bool(np.all(same | alike))

    def sign(self, line: Line) -> str:
        """`=` where the printed numbers come to just what is printed, else `≈`."""
        found, printed, written = self.by_hand(line), self.printed(line.result), self.written(line.result)
        slack = 0.0 if written is None else JUST * written.unit  # of an entry whose terms cancel
        exact = np.allclose(found, printed, rtol=0.1 * EXACT, atol=slack, equal_nan=True)  # of up to 12 digits, not 13
        return "=" if exact else "≈"

    # --- the search ----------------------------------------------------------------------------------------------

    def _solve(self) -> None:
        self._even_out()
        for _ in range(ROUNDS):
            changed = False
            for line in reversed(self._asked()):
                if not self.confirms(line):
                    changed |= any([self._grow(quantity(e)) for e in line.quantities])
            changed |= self._round_to_cards()
            if not changed:
                return
            self._even_out()

    def _grow(self, key: Any) -> bool:
        """One more decimal for a quantity that is not exact already."""
        if self._is_exact(key):
            return False
        now, value = self.notations[key], self.values[key]
        longest = notation(value, MOST_DIGITS)
        longer = Notation(now.exponent, now.decimals + 1)
        widest = WIDEST_IN_LEDGER if key in self._in_ledgers else WIDEST
        if now.decimals + (longest.exponent - now.exponent) >= longest.decimals or width(value, longer) > widest:
            return False
        self.notations[key] = longer
        return True

    def _is_exact(self, key: Any) -> bool:
        value, printed = self.values[key], self._seen(key, self.notations[key])
        return bool(np.allclose(printed, value, rtol=EXACT, atol=0.0, equal_nan=True))

    def _round_to_cards(self) -> bool:
        """A longer spelling must round to the shorter one that a card shows: −0.379949, not −0.37995."""
        changed = False
        for key, now in self.notations.items():
            short = self.shortest[key]
            if now == short or self._is_exact(key):
                continue
            longer, on_card = self._seen(key, now), self._seen(key, short)
            with np.errstate(invalid="ignore"):  # infinities are what they are
                if np.any(np.abs(longer - on_card) >= (0.5 - MARGIN) * short.unit):
                    changed |= self._grow(key)
        return changed

    def _even_out(self) -> None:
        """The terms of a sum share their power of ten, and in a ledger also their decimals."""
        for group, in_columns in self.groups:
            rounded = [key for key in group if not self._is_exact(key)]
            if len(rounded) < 2:
                continue
            exponent = max(self.notations[key].exponent for key in rounded)
            decimals = {key: self.notations[key].decimals + exponent - self.notations[key].exponent for key in rounded}
            most = max(decimals.values())
            for key in rounded:
                self.notations[key] = Notation(exponent, max(0, most if in_columns else decimals[key]))


# --- rounding noise ---------------------------------------------------------------------------------------------------


def without_noise(value: Any, noise: Any) -> Any:
    """The value with 0 where rounding errors are all there is."""
    if np.ndim(value) == 0:
        return 0.0 if value != 0 and np.abs(value) <= NOISE * noise else value
    return np.where(np.abs(value) <= NOISE * noise, 0.0, value)


def noise_of(compute: Any, values: Sequence[Any], noises: Sequence[Any] | None = None) -> Any:
    """How much a result moves when its inputs move by their rounding errors: `noises`, or the last digit of a float.

    A comparison may jump then, of two numbers that are equal. That is no rounding error: moved further, a result with
    rounding errors moves further too, and a jump is as large as before.
    """
    with np.errstate(all="ignore"):
        result = compute(*values)
        moved = _moved(compute, values, noises, result, 1.0)
        small = (result != 0) & (np.abs(result) <= NOISE * moved)
        if np.any(small):
            jumps = _moved(compute, values, noises, result, FURTHER) < FURTHER / 8 * moved
            moved = np.where(small & jumps, 0.0, moved)
    return moved


def _moved(compute: Any, values: Sequence[Any], noises: Sequence[Any] | None, result: Any, times: float) -> Any:
    moved = np.zeros(np.shape(result))
    for turn in range(JITTERS):
        shaken = [_shaken(x, None if noises is None else noises[i], turn, times) for i, x in enumerate(values)]
        moved = np.fmax(moved, np.abs(np.asarray(compute(*shaken), dtype=float) - result))
    return moved


def _shaken(x: Any, noise: Any, turn: int, times: float) -> Any:
    array = np.asarray(x)
    if array.dtype.kind != "f":
        return x
    size = np.abs(array) * 2.3e-16 if noise is None else np.fmax(noise, np.abs(array) * 2.3e-16)
    shaken = array + times * size * _shakes(array, turn)
    return shaken if array.ndim else float(shaken)


def _shakes(array: Any, turn: int) -> Any:
    """By how many rounding errors to move each number: as if at random, but told by its first digits and its place, so
    that a page (stepping/assets/program.js) moves it by as many, in whatever order it computes."""
    bits = np.abs(array).astype(np.float32).ravel().view(np.uint32)
    mixed = bits + np.arange(bits.size, dtype=np.uint32) * np.uint32(0x9E3779B1) + np.uint32(turn * 0x61C88647 % 2**32)
    for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B)):
        mixed = (mixed ^ mixed >> np.uint32(shift)) * np.uint32(factor)
    return np.array(SHAKES)[mixed % np.uint32(len(SHAKES))].reshape(np.shape(array))
