"""How many digits to print, so that each line of arithmetic, done with the digits shown, gives the digits shown.

The last line of a panel has the digits of a card. Each quantity above it gets as many more as the lines that use it
need: walk the lines backwards, add a digit to the operands of any line that is not confirmed, and repeat. A quantity
has one notation in all lines, and a longer one rounds to the shorter one that the card shows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from autograd.errors import HandgradError
from autograd.expr import Expr

from .lines import Line, quantity, summed
from .numbers import DIGITS, EXACT, Notation, agree, as_printed, notation, table
from .writers.pieces import pages

MOST_DIGITS = 12  # a line that needs more is not written out
MOST_IN_COLUMNS = 8  # of the numbers of a ledger that is shown whole
MARGIN = 1e-6  # of a unit in the last place: nearer to a tie than this counts as not confirmed
JUST = 1e-10  # of a unit in the last place: a smaller difference counts as none
SURE = 1e-14  # relative; tanh(16.07) is not 1
ROUNDS = 80
COLUMN_GROWTH = 3  # decimals that the numbers of a ledger may gain to be confirmed with equal decimals
WIDEST, WIDEST_IN_LEDGER = 44, 48  # characters of a table that a panel has room for; a wider row is broken in two
ROOM = 11  # of a column of a table that is wider than that, which then scrolls


def width(value: Any, written: Notation | None) -> int:
    """How many characters the widest row of a table takes, as a panel breaks it."""
    printed = [table(page, written=written).within(WIDEST) for page in pages(value)] if np.ndim(value) else []
    return max((one.characters for one in printed), default=0)


class Digits:
    """The notation of each quantity in some lines that are shown together.

    >>> tanh = Expr("L", -0.9640275800758169)
    >>> g = Line(Expr("g", 0.07065082485316443), Expr.number(1.0) - tanh**2)
    >>> digits = Digits([g])
    >>> digits.confirms(g), digits.written(tanh).decimals
    (True, 5)
    """

    def __init__(
        self, lines: Iterable[Line], sums: Iterable[Line] = (), columns: Iterable[Sequence[Expr]] = (),
        digits: int = DIGITS,
    ) -> None:  # fmt: skip
        """`sums` are the lines of ledgers; `columns`: quantities that stand in one ledger, below one another."""
        sums = list(sums)
        lines = [*lines, *sums]
        self.lines = [line for line in lines if line.is_shown]
        self.values: dict[Any, Any] = {}
        self.shortest: dict[Any, Notation] = {}
        self._kept = lines  # kept alive, so that no other object gets their ids
        self._keys: dict[int, list[Any]] = {}  # of each line, by its id: the quantities in it
        for line in self.lines:
            used = (line.result, *line.quantities)
            self._keys[id(line)] = [*map(quantity, used)]
            for e, key in zip(used, self._keys[id(line)]):
                if key not in self.values:
                    self.values[key] = np.asarray(e.value, dtype=float)[()]
                    self.shortest[key] = notation(self.values[key], digits)
        self.notations = dict(self.shortest)
        self.left_out: set[int] = set()  # ids of lines that no number of digits confirms
        self._read: dict[tuple[Any, Notation], Any] = {}  # a quantity's numbers as a notation prints them
        self._exact: dict[tuple[Any, Notation], bool] = {}  # whether these are all its digits
        self._widths: dict[tuple[Any, Notation], int] = {}  # how wide they are
        self._held: dict[tuple[Any, ...], bool] = {}  # whether a line is confirmed in some notations
        groups = [*((column, True) for column in columns), *((summed(line), False) for line in self.lines)]
        self.groups = [([quantity(e) for e in group if quantity(e) in self.values], column) for group, column in groups]
        self._in_ledgers = {quantity(e) for line in sums for e in (line.result, *line.quantities)}
        self._in_columns = {key for group, in_columns in self.groups if in_columns for key in group}
        self._even_out()
        self._at_first = dict(self.notations)
        while True:
            self._solve()
            failed = [line for line in self._asked() if not self._holds(line)]
            if not self._loosen(failed):
                if not failed:
                    break
                self.left_out.update(map(id, failed))
            self.notations = dict(self.shortest)  # without them the others need fewer digits

    def _loosen(self, failed: Iterable[Line]) -> bool:
        """Give up equal decimals in a ledger where they fail, or need many more digits: rounded to the same decimals,
        two halves may not add up to the whole. 0.27 + 0.27 = 0.54, but not 0.3 + 0.3 = 0.5."""
        stuck = {quantity(line.result) for line in failed}
        stuck |= {key for key, now in self.notations.items() if now.places > self._at_first[key].places + COLUMN_GROWTH}
        loosened = [in_columns and not stuck.isdisjoint(group) for group, in_columns in self.groups]
        self.groups = [(group, in_columns and not out) for (group, in_columns), out in zip(self.groups, loosened)]
        return any(loosened)

    def _asked(self) -> list[Line]:
        """The lines that must be confirmed."""
        return [line for line in self.lines if id(line) not in self.left_out]

    def written(self, e: Expr) -> Notation | None:
        """The notation of a symbol's numbers; None if no line uses it."""
        return self.notations.get(quantity(e))

    def printed(self, e: Expr) -> Any:
        """A symbol's numbers as they are printed; of one that no line shows whole, with the digits of a card."""
        written = self.written(e)
        if np.asarray(e.value).dtype.kind != "f":  # integers are printed as they are
            return e.value
        if written is None:
            return np.round(e.value, notation(e.value).places)
        if np.shape(e.value) != np.shape(self.values[quantity(e)]):  # one entry of it
            return as_printed(e.value, written=written)
        return self._seen(quantity(e), written)

    def _seen(self, key: Any, written: Notation) -> Any:
        found = self._read.get((key, written))
        if found is None:
            found = self._read[key, written] = as_printed(self.values[key], written=written)
        return found

    def by_hand(self, line: Line) -> Any:
        """The result of a line, computed with the numbers as they are printed."""
        return line.formula.replaced(self._constant).run(self.printed)

    def _constant(self, e: Expr) -> Expr | None:
        if e.op is None and not e.name and isinstance(e.value, float):
            return Expr.number(as_printed(e.value, written=self.notations.get(e.value) or notation(e.value)))
        return None

    def confirms(self, line: Line) -> bool:
        """Does the line, done by hand, round to the digits printed of its result?"""
        return self._holds(line) if id(line) in self._keys else self._comes_out(line)

    @np.errstate(all="ignore")  # infinities are compared below
    def _comes_out(self, line: Line) -> bool:
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
        same = np.abs(found - printed) < (0.5 - MARGIN) * written.unit
        alike = (found == printed) | (np.isnan(found) & np.isnan(printed))  # infinities and NaN
        return bool(np.all(same | alike))

    @np.errstate(all="ignore")
    def sign(self, line: Line) -> str:
        """`=` where the printed numbers give exactly the printed result, else `≈`."""
        found, printed, written = self.by_hand(line), self.printed(line.result), self.written(line.result)
        sizes = np.abs(printed)
        unit = np.max(sizes, initial=0.0, where=np.isfinite(sizes)) if written is None else written.unit
        cancels = bool(summed(line)) | (np.asarray(line.result.value) == 0)  # terms that cancel leave rounding errors
        return "=" if agree(found, printed, SURE, JUST * unit * cancels) else "≈"

    # --- the search ----------------------------------------------------------------------------------------------

    def _solve(self) -> None:
        self._even_out()
        for _ in range(ROUNDS):
            changed = False
            for line in reversed(self._asked()):
                if not self._holds(line):  # where no operand has more digits, another digit of the result may do
                    grown = any([self._grow(quantity(e)) for e in line.quantities])
                    changed |= grown or self._grow(quantity(line.result))
            changed |= self._round_to_cards()
            if not changed:
                return
            self._even_out()

    def _holds(self, line: Line) -> bool:
        """Is one of our lines confirmed? Remembered, because the search often repeats the question."""
        asked = (id(line), *(self.notations[key] for key in self._keys[id(line)]))
        found = self._held.get(asked)
        if found is None:
            found = self._held[asked] = self._comes_out(line)
        return found

    def _grow(self, key: Any) -> bool:
        """One more decimal for a quantity that is not exact already."""
        if self._is_exact(key):
            return False
        now, value = self.notations[key], self.values[key]
        longest = notation(value, MOST_IN_COLUMNS if key in self._in_columns else MOST_DIGITS)
        longer = Notation(now.exponent, now.decimals + 1)
        if now.decimals + (longest.exponent - now.exponent) >= longest.decimals or not self._fits(key, longer):
            return False
        self.notations[key] = longer
        return True

    def _fits(self, key: Any, written: Notation) -> bool:
        room = self._widths.get((key, written))
        if room is None:
            room = self._widths[key, written] = width(self.values[key], written)
        columns = np.shape(self.values[key])[-1] if np.ndim(self.values[key]) > 1 else 0
        return room <= max(ROOM * columns, WIDEST_IN_LEDGER if key in self._in_ledgers else WIDEST)

    def _is_exact(self, key: Any) -> bool:
        written = self.notations[key]
        found = self._exact.get((key, written))
        if found is None:
            found = self._exact[key, written] = agree(self._seen(key, written), self.values[key], EXACT)
        return found

    @np.errstate(all="ignore")  # infinities are what they are
    def _round_to_cards(self) -> bool:
        """A longer notation must round to the shorter one that a card shows: −0.379949, not −0.37995."""
        changed = False
        for key, now in self.notations.items():
            short = self.shortest[key]
            if now == short or self._is_exact(key):
                continue
            longer, on_card = self._seen(key, now), self._seen(key, short)
            if np.any(np.abs(longer - on_card) >= (0.5 - MARGIN) * short.unit):
                changed |= self._grow(key)
        return changed

    def _even_out(self) -> None:
        """The terms of a sum share their power of ten, and in a ledger also their decimals, if that fits."""
        for group, in_columns in self.groups:
            rounded = [key for key in group if not self._is_exact(key)]
            if len(rounded) < 2:
                continue
            exponent = max(self.notations[key].exponent for key in rounded)
            decimals = {key: self.notations[key].decimals + exponent - self.notations[key].exponent for key in rounded}
            most = max(decimals.values())
            evened = {key: Notation(exponent, max(0, most if in_columns else decimals[key])) for key in rounded}
            if all(written == self.notations[key] or self._fits(key, written) for key, written in evened.items()):
                self.notations |= evened
