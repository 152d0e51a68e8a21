"""Numbers as a learner reads them.

Four significant digits, chosen once for a whole table; a number with fewer digits prints short (`0.1`, `0`, `100`), so
trailing zeros mean "rounded" (`0.002500`). Tables of very large or small numbers have one power of ten, in their
caption. On screen the minus is a true minus; `full` gives text that pastes back into Python.

    >>> short(0.1), short(2 / 3), short(-1.7678e-4)
    ('0.1', '0.6667', '−1.768×10⁻⁴')
    >>> [[cell.text for cell in row] for row in table([[0.1, 0], [0.00707106, 1e-9]]).rows]
    [['0.1', '0'], ['0.0071', '≈0']]
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np

DIGITS = 4
ROUGH_DIGITS = 3  # norms and ranges
PLAIN_RANGE = (Decimal("0.001"), 100_000)  # here the largest entry needs no power of ten
READ_DIGITS = 13  # of a float64 that count; later ones are rounding errors, so that 0.1 * 0.1 prints 0.01
EXACT = 0.5 * 10.0 ** (1 - READ_DIGITS)  # a smaller relative difference counts as none
EXACT_ULPS = 8  # the same for smaller floats
MINUS = "−"
UNKNOWN = "—"  # in place of a gradient before backward
ALMOST_ZERO = "≈0"
THIN_SPACE = "\u2009"
LONGEST_LITERAL = 8  # characters of a number that stands in an expression with all its digits
LONGEST_ROW = 14  # and of a vector, `[0, 1, 1, 0]`
LARGEST_ROOT = 4096  # 1.4142… reads √2 for roots of integers up to this

SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
FROM_SUPERSCRIPTS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")


@dataclass(frozen=True)
class Cell:
    """One printed number. `kind` is "number", "zero" (muted), "bad" (NaN, infinity) or "differs" (underlined)."""

    text: str
    kind: str = "number"

    @functools.cached_property
    def before_point(self) -> int:
        """Characters left of the decimal point, by which columns align."""
        return len(self.text.partition(".")[0])


@dataclass(frozen=True)
class NumberTable:
    """Rows of cells that share their decimals and one power of ten."""

    rows: tuple[tuple[Cell, ...], ...]
    exponent: int = 0

    @functools.cached_property
    def columns(self) -> list[tuple[int, int]]:
        """Per column the most characters before the decimal point, and from the point on."""
        return [
            (max(cell.before_point for cell in column), max(len(cell.text) - cell.before_point for cell in column))
            for column in zip(*self.rows)
        ]

    @property
    def aligned(self) -> list[str]:
        """Each row as text, its decimal points below those of the others."""
        columns = self.columns
        return [
            "  ".join((" " * (before - cell.before_point) + cell.text).ljust(before + after)
                      for cell, (before, after) in zip(row, columns))
            for row in self.rows
        ]  # fmt: skip

    @property
    def characters(self) -> int:
        """The width of its rows, a space after each column, and of the power of ten beside them."""
        return sum(before + after + 1 for before, after in self.columns) + len(self.power)

    def within(self, room: int) -> NumberTable:
        """A single row that is wider than so many characters as two rows, the second one the rest; else itself."""
        if len(self.rows) > 1 or len(self.rows[0]) < 2 or self.characters <= room:
            return self
        row, half = self.rows[0], (len(self.rows[0]) + 1) // 2
        rest = row[half:] + (Cell(""),) * (2 * half - len(row))
        return NumberTable((row[:half], rest), self.exponent)

    @property
    def power(self) -> str:
        """What the caption adds: `×10⁻⁴`, or nothing."""
        return power(self.exponent) if self.exponent else ""

    def __str__(self) -> str:
        """Plain text: `[[0, 0], [1.768, −1.768]]×10⁻⁴`; a single row has one pair of brackets."""
        rows = ["[" + ", ".join(cell.text for cell in row) + "]" for row in self.rows]
        return (rows[0] if len(rows) == 1 else "[" + ", ".join(rows) + "]") + self.power


class Notation(NamedTuple):
    """How the numbers of one quantity are written: a power of ten taken out of all of them, and their decimals."""

    exponent: int = 0
    decimals: int = 0

    @property
    def places(self) -> int:
        """The decimals that the same digits would have without the power of ten."""
        return self.decimals - self.exponent

    @property
    def unit(self) -> float:
        """One unit of the last decimal."""
        return float(f"1e{-self.places}")


def notation(array: Any, digits: int = DIGITS) -> Notation:
    """The notation that gives the largest number so many digits."""
    numbers = np.asarray(array)
    return _notation(numbers.ravel().tolist(), digits) if numbers.dtype.kind == "f" else Notation()


class Limits(NamedTuple):
    """How much of an array is shown in full: rows and columns of a table, tables of a stack, numbers of a vector."""

    rows: int
    columns: int
    slices: int
    vector: int


LIMITS = Limits(8, 8, 4, 8)  # of every step: on cards, in panels, on slides, as text, as LaTeX
DRAWN = Limits(4, 4, 4, 6)  # of a drawing, which has a size to fit


def shows_entries(shape: tuple[int, ...], limits: Limits = LIMITS) -> bool:
    """Is an array of this shape shown entry by entry: in one table, or in a few? Else a `Window` of it is."""
    *outer, rows, columns = (1, 1, *shape)
    most = limits.vector if len(shape) == 1 else limits.columns
    return 0 < rows <= limits.rows and 0 < columns <= most and 0 < math.prod(outer) <= limits.slices


@dataclass(frozen=True)
class Window:
    """The part of a large array that is shown: some rows and columns of one of its tables.

    >>> window = Window((4, 27), (2, 19))
    >>> window.rows, window.columns, window.note
    (range(0, 4), range(16, 24), 'rows 0–3, columns 16–23 of 27')
    """

    shape: tuple[int, ...]
    around: tuple[int, ...] = ()  # the index of an entry that is in it

    @property
    def index(self) -> tuple[int, ...]:
        return self.around or (0,) * len(self.shape)

    @property
    def rows(self) -> range:
        return _some(LIMITS.rows, *self.shape[-2:-1], *self.index[-2:-1])

    @property
    def columns(self) -> range:
        return _some(LIMITS.columns, self.shape[-1], self.index[-1])

    @property
    def note(self) -> str:
        """Which part it is."""
        table = f"table [{', '.join(map(str, self.index[:-2]))}] of {dimensions(self.shape[:-2])}, "
        rows = f"{_which('row', self.rows, self.shape[-2])}, " if len(self.shape) > 1 else ""
        return f"{table if len(self.shape) > 2 else ''}{rows}{_which('column', self.columns, self.shape[-1])}"

    def of(self, array: Any) -> Any:
        """Its numbers: a matrix."""
        page = np.asarray(array)[self.index[:-2]]
        return np.atleast_2d(page)[self.rows.start : self.rows.stop, self.columns.start : self.columns.stop]


def _some(most: int, size: int = 1, place: int = 0) -> range:
    """So many indices at most, those from a multiple of that, with `place` among them."""
    start = place // most * most
    return range(start, min(start + most, size))


def _which(what: str, shown: range, size: int) -> str:
    ends = f"{what}s {shown.start}–{shown.stop - 1}" if len(shown) > 1 else f"{what} {shown.start}"
    return f"{ends} of {size}" if len(shown) < size else ends


def table(array: Any, digits: int = DIGITS, written: Notation | None = None) -> NumberTable:
    """A number, vector (one row) or matrix as printed cells; `written` says how, instead of a number of digits."""
    numbers = np.asarray(array)
    if numbers.ndim > 2:
        raise ValueError(
            f"table: expected a number, vector or matrix, got shape {numbers.shape}; show one slice of it, such as x[0]"
        )
    numbers = np.atleast_2d(numbers if numbers.dtype != np.longdouble else numbers.astype(np.float64))
    rows = numbers.tolist()
    if numbers.dtype.kind not in "fc":
        return NumberTable(tuple(tuple(_exact_cell(entry) for entry in row) for row in rows))
    if written is None:
        written = _notation((entry for row in rows for entry in row), digits)
    slack = 0.0 if numbers.dtype == np.float64 else EXACT_ULPS * float(np.finfo(numbers.dtype).eps)
    cells = tuple(tuple(_cell(entry, written, slack) for entry in row) for row in rows)
    return NumberTable(cells, written.exponent)


def cell(number: Any, digits: int = DIGITS, written: Notation | None = None) -> Cell:
    """A lone number; its power of ten, if it needs one, stays with it: `1.768×10⁻⁴`."""
    if isinstance(number, float):  # the common case, and a page has thousands
        written = written or _notation((number,), digits)
        only, exponent = _cell(float(number), written), written.exponent
    else:
        one = table(number, digits, written)
        ((only,),), exponent = one.rows, one.exponent
    if not exponent or only.kind == "zero" or only.text == ALMOST_ZERO:
        return only
    return Cell(only.text + power(exponent), only.kind)


def short(number: Any, digits: int = DIGITS) -> str:
    """A lone number as text."""
    return cell(number, digits).text


def as_printed(array: Any, digits: int = DIGITS, written: Notation | None = None) -> Any:
    """The numbers as they are printed, by `table` or by `short`.

    >>> as_printed(2 / 3), as_printed([[0.1, 2 / 3]]).tolist()
    (0.6667, [[0.1, 0.6667]])
    """
    if isinstance(array, float):  # the common case, as in `cell`
        return array.__class__(_rounded(float(array), (written or _notation((array,), digits)).places))
    numbers = np.asarray(array)
    if numbers.dtype.kind != "f":
        return array
    places = (written or notation(numbers, digits)).places
    rounded = [_rounded(x, places) for x in numbers.ravel().tolist()]
    return np.array(rounded, numbers.dtype).reshape(numbers.shape)[()]


def _rounded(number: float, places: int) -> float:
    """A number with so many decimals; with a negative number of them, rounded to tens, hundreds and so on."""
    if not math.isfinite(number):
        return number
    read = _read(number)
    return float(round(read, places) if places < 0 else f"{read:.{places}f}") + 0.0


def _read(number: float) -> Decimal:
    """A float without the digits that rounding may have changed, so that 0.12345 is a tie however it was computed."""
    return Decimal(f"{number:.{READ_DIGITS - 1}e}")


def rough(number: float) -> str:
    """A norm or the end of a range: three digits."""
    return short(float(number), ROUGH_DIGITS)


def span(low: float, high: float) -> str:
    """A range: `−0.081 … 0.079`. Its ends share one notation, as a table's entries do.

    >>> span(-8.1e-5, 7.9e-5)
    '(−8.1 … 7.9)×10⁻⁵'
    """
    ends = table([float(low), float(high)], ROUGH_DIGITS)
    text = " … ".join(cell.text for cell in ends.rows[0])
    return f"({text}){ends.power}" if ends.exponent else text


def literal(x: Any) -> str:
    """A plain operand inside an expression: `2`, `(−0.5)`, `√2`; a short vector in full, an array by its shape."""
    if isinstance(x, bool | np.bool_) or x is None:
        return str(x)
    if np.ndim(x):
        row = str(table(x)) if np.ndim(x) == 1 and 0 < np.size(x) <= LONGEST_ROW // 3 else ""
        return row if 0 < len(row) <= LONGEST_ROW else f"array({dimensions(np.shape(x))})"
    number = float(x)
    square = round(number * number) if math.isfinite(number) and abs(number) < LARGEST_ROOT else 0
    if number > 0 and 1 < square <= LARGEST_ROOT and math.sqrt(square) == number and not number.is_integer():
        return f"√{square}"
    written = repr(float(x)) if isinstance(x, float | np.floating) else repr(int(x))
    if len(written) <= LONGEST_LITERAL and "e" not in written:
        text = written.removesuffix(".0")  # as it was written: rounded, 1.0001 would read 1.000
        return f"({MINUS}{text[1:]})" if text.startswith("-") else text
    text = short(x)
    return f"({text})" if text.startswith(MINUS) else text


def count(number: int) -> str:
    """A count with thin spaces between groups of three: `793 088`."""
    return f"{number:,}".replace(",", THIN_SPACE)


def power(exponent: int) -> str:
    return "×10" + str(exponent).translate(SUPERSCRIPTS)


def dimensions(shape: Iterable[int]) -> str:
    """A shape: `128×512`, `()` for a scalar."""
    return "×".join(map(str, shape)) or "()"


def full(number: Any) -> str:
    """Every digit, with ASCII minus, so that it pastes into Python."""
    return repr(number.tolist() if isinstance(number, np.ndarray | np.generic) else number)


def _notation(entries: Iterable[float], digits: int) -> Notation:
    """The power of ten and the decimals that give the largest finite entry so many digits."""
    largest = max((abs(entry) for entry in entries if math.isfinite(entry)), default=0.0)
    if largest == 0.0:
        return Notation()
    read = _read(largest)
    leading = int(f"{read:.{digits - 1}e}".partition("e")[2])  # after rounding: 9.9996 leads at 10
    exponent = 0 if PLAIN_RANGE[0] <= read < PLAIN_RANGE[1] else leading
    return Notation(exponent, max(0, digits - 1 - (leading - exponent)))


@functools.lru_cache(10_000)  # a page prints most numbers several times
def _cell(number: float, written: Notation, slack: float = 0.0) -> Cell:
    """`slack`: the relative difference up to which a rounded number is exact; 0 for float64 (see READ_DIGITS)."""
    if number == 0.0:
        return Cell("0", "zero")
    if not math.isfinite(number):
        return Cell("NaN" if number != number else "∞" if number > 0 else MINUS + "∞", "bad")
    exact = (Decimal(number) if slack else _read(number)).scaleb(-written.exponent)
    text = f"{exact:.{written.decimals}f}"
    rounded = Decimal(text)
    if rounded == 0:
        return Cell(ALMOST_ZERO, "number")
    if written.decimals and abs(rounded - exact) <= abs(exact) * Decimal(slack):
        text = text.rstrip("0").rstrip(".")
    return Cell(text.replace("-", MINUS))


def _exact_cell(entry: Any) -> Cell:
    """Integers and booleans, which are never rounded."""
    return Cell(str(entry).replace("-", MINUS), "zero" if entry == 0 and entry is not False else "number")


def agree(x: Any, y: Any, rtol: float, atol: Any = 0.0) -> bool:
    """`allclose`, with NaN equal to NaN; at once for two lone numbers, of which a page compares thousands."""
    if isinstance(x, float) and isinstance(y, float):
        return bool(x == y or (math.isfinite(y) and abs(x - y) <= atol + rtol * abs(y)) or (x != x and y != y))
    return bool(np.allclose(x, y, rtol=rtol, atol=atol, equal_nan=True))


def json_number(x: Any) -> Any:
    """A number for JSON, which has no infinities."""
    if isinstance(x, float) and not math.isfinite(x):
        return "NaN" if math.isnan(x) else "Infinity" if x > 0 else "-Infinity"
    return int(x) if isinstance(x, bool) else x


@np.errstate(over="ignore", under="ignore")
def norm(array: Any) -> float:
    """The Euclidean norm of all entries, also where their squares overflow or underflow."""
    entries = np.ravel(array)
    size = float(np.linalg.norm(entries))
    if 0 < size < math.inf or not entries.size:
        return size
    largest = float(np.max(np.abs(entries)))
    return largest * float(np.linalg.norm(entries / largest)) if 0 < largest < math.inf else size
