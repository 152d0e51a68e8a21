"""What a learner wrote, as it was typed: from a dict, a CSV, a JSON or an xlsx file.

The text is kept, because 0.2500 says more than 0.25. An answer that is not a number counts as missing, with its
`problem`; the others are marked.
"""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from autograd.engine import Value
from autograd.errors import DataError

from .intervals import CONTEXT

LARGEST_FILE = 20_000_000  # bytes; of an xlsx file, unpacked
MOST_ROWS = 200_000
LONGEST_NUMBER = 60  # characters
LABELS = ("sheet", "variant", "digits", "source", "options")  # what a file says about the sheet it belongs to
SIGNIFICANT = 12  # digits that are read of a number: beyond them floats carry noise
LARGEST_EXPONENT = 300

PATTERNS = {  # of what is typed; the page reads numbers with the same ones
    "number": r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d{1,4})?",
    "fraction": r"([+-]?\d{1,20}) */ *(\d{1,20})",
    "ambiguous": r"[+-]?[1-9]\d{0,2},\d{3}",
    "comma": r"[+-]?\d*,\d+(e[+-]?\d+)?",
    "power of ten": r" *[×x*·] *10 *(?:\^|\*\*)? *\(?([+-]?\d+)\)?$",
    "not finite": r"[+-]*(nan|inf|infinity)",
    "with more": r"[+-]?[\d.].*",
}
NUMBER, FRACTION, AMBIGUOUS, DECIMAL_COMMA, POWER_OF_TEN, NOT_FINITE, WITH_MORE = (
    re.compile(pattern, re.IGNORECASE | re.ASCII | re.DOTALL) for pattern in PATTERNS.values()
)
SPELLINGS = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺−–—\u00a0\u202f\u2009", "0123456789-+---   ", strict=True))
_RESPELL = str.maketrans(SPELLINGS)
SPACES = " \t\r\n\v\f"
ABOUT = "≈"  # may stand before a number
ROW_ENDS = r"[;\n]"
SHOWN_CELL = re.compile(r'=IF\(Sheet!\$([A-Z]+)\$(\d+)="","",Sheet!\$\1\$\2\)')
PROBLEMS = {  # why what was typed is not a number: {0} is what was typed
    "long": "{0} characters are more than a number has",
    "formula": "'{0}' is a formula: write the number that it gives",
    "zero": "'{0}' divides by 0",
    "ambiguous": "'{0}' may be {1} or {2}: write it with a point, or without the comma",
    "comma": "'{0}': write one number, with one decimal point",
    "size": "'{0}' is too large or too small",
    "not finite": "'{0}' is not a number that can be marked",
    "per cent": "'{0}': write the number itself, not per cent",
    "with more": "'{0}': write the number alone, without units or words",
    "none": "'{0}' is not a number",
    "shape": "{0} has {1}; this has {2}",
}


@dataclass(frozen=True)
class Answer:
    """One answer: its text, its value and the unit of its last place; or its problem."""

    text: str
    value: Decimal | None = None
    unit: Decimal = Decimal(0)
    problem: str = ""


@dataclass
class Answers:
    """What was handed in: answers by id, whole tables by name; the sheet they say they belong to, and who wrote it."""

    by_id: dict[str, Answer] = field(default_factory=dict)
    tables: dict[str, list[list[Answer]]] = field(default_factory=dict)  # what may be a whole table, in rows
    labels: dict[str, str] = field(default_factory=dict)
    who: str = ""

    @property
    def sheet(self) -> str:
        return self.labels.get("sheet", "")


class AnswersError(DataError):
    """A file of answers that cannot be marked at all: not readable, too large, or of another sheet."""


def read(source: Any) -> Answers:
    """Answers from a dict from id to text or number, or from a path that ends in .csv, .json or .xlsx."""
    if isinstance(source, Answers):
        return source
    if isinstance(source, Mapping):
        return _collected([(str(name), x.data if isinstance(x, Value) else x) for name, x in source.items()])
    if isinstance(source, str | Path):
        return _from_file(Path(source))
    raise AnswersError(f"answers are a dict from blank id to number, or a path to a file; got {source!r:.60}")


def _from_file(path: Path) -> Answers:
    readers = {".csv": _from_csv, ".tsv": _from_csv, ".txt": _from_csv, ".json": _from_json, ".xlsx": _from_xlsx}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        page = ". On the page itself, the button \"export answers\" writes them" if "htm" in path.suffix.lower() else ""
        raise AnswersError(f"{path.name}: answers come as .csv, .json or .xlsx, and this ends in {path.suffix!r}{page}")
    try:
        size = path.stat().st_size
    except OSError as error:
        raise AnswersError(f"{path}: {error.strerror}") from None
    if size > LARGEST_FILE:
        raise AnswersError(f"{path.name} has {size:,} bytes; a sheet of answers has at most {LARGEST_FILE:,}")
    found = reader(path)
    found.who = found.who or path.stem
    return found


# --- files ---------------------------------------------------------------------------------------------------------


def _text_of(path: Path) -> str:
    raw = path.read_bytes()
    for encoding in ("utf-16",) if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else ("utf-8-sig", "cp1252"):
        try:
            return raw.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise AnswersError(f"{path.name} is not a text file; save it as UTF-8")


def _from_csv(path: Path) -> Answers:
    text = _text_of(path)
    head = text.partition("\n")[0]
    delimiter = max(";\t,", key=head.count)
    return _from_rows(path, csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))


def _from_xlsx(path: Path) -> Answers:
    try:
        with zipfile.ZipFile(path) as packed:
            unpacked = sum(info.file_size for info in packed.infolist())
    except (zipfile.BadZipFile, OSError):
        raise AnswersError(f"{path.name} is not an xlsx file; save it as Excel workbook (.xlsx), or as CSV") from None
    if unpacked > LARGEST_FILE:
        raise AnswersError(
            f"{path.name} unpacks to {unpacked:,} bytes; a sheet of answers has at most {LARGEST_FILE:,}. Copy the "
            "answers into the file you were given"
        )
    try:
        import openpyxl
    except ImportError:
        raise AnswersError('reading xlsx needs openpyxl: pip install "handgrad[sheets]"') from None
    try:
        content = path.read_bytes()  # given the path, openpyxl would keep the file open
        _refuse_more_rows(path, _rows_in(content))
        typed, computed = (
            openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=values) for values in (False, True)
        )
        rows: Iterable[list[Any]] = map(_as_shown, _rows_of(typed), _rows_of(computed))
        if "Answers" in typed.sheetnames:
            rows = _with_cells_of("Sheet", rows, typed, computed)
        return _from_rows(path, rows)
    except AnswersError:
        raise
    except Exception as error:  # openpyxl fails in many ways on damaged files
        raise AnswersError(f"{path.name} cannot be read as a workbook: {error}") from None


def _rows_in(content: bytes) -> int:
    """The rows of the longest page, counted without openpyxl, which reads all of them before it gives the first."""
    with zipfile.ZipFile(io.BytesIO(content)) as packed:
        pages = [name for name in packed.namelist() if name.startswith("xl/worksheets/")]
        return max((packed.read(name).count(b"<row") for name in pages), default=0)


def _refuse_more_rows(path: Path, count: int) -> None:
    if count > MOST_ROWS:
        raise AnswersError(f"{path.name} has more than {MOST_ROWS:,} rows; a sheet of answers has far fewer")


def _rows_of(book: Any) -> Iterator[tuple[Any, ...]]:
    page = next((book[name] for name in ("Answers", "Sheet") if name in book.sheetnames), book.worksheets[0])
    return page.iter_rows(values_only=True)


def _as_shown(typed: tuple[Any, ...], computed: tuple[Any, ...]) -> list[Any]:
    """A row as a person sees it: of a formula the number that it gave, where the spreadsheet stored one. A cell that
    shows another is left as it is."""
    return [x if y is None or (isinstance(x, str) and SHOWN_CELL.fullmatch(x)) else y
            for x, y in zip(typed, computed, strict=True)]  # fmt: skip


def _with_cells_of(name: str, rows: Iterable[list[Any]], typed: Any, computed: Any) -> Iterator[list[Any]]:
    """Rows whose cells show others, `=IF(Sheet!$C$5="","",Sheet!$C$5)`: with what stands there, so that it does not
    matter whether a spreadsheet has computed the workbook since."""
    cells: dict[str, Any] = {}
    for book in (typed, computed):  # of a formula the number that it gave
        for row in book[name].iter_rows():
            cells |= {cell.coordinate: cell.value for cell in row if cell.value is not None}
    for values in rows:
        shown = [SHOWN_CELL.fullmatch(x) if isinstance(x, str) else None for x in values]
        yield [x if place is None else cells.get(place[1] + place[2]) for x, place in zip(values, shown, strict=True)]


def _from_rows(path: Path, rows: Iterable[list[Any]]) -> Answers:
    """A table whose header names a column `id` and a column `answer`; `sheet` and `name` may say whose it is."""
    found: list[tuple[str, Any]] = []
    columns: dict[str, int] = {}
    labels: dict[str, str] = {}
    who = ""
    try:
        for count, row in enumerate(rows):
            _refuse_more_rows(path, count)
            if not columns:
                heads = [str(cell or "").strip().lower() for cell in row]
                if "id" in heads and "answer" in heads:
                    columns = {name: heads.index(name) for name in heads if name}
                continue
            cell = {name: row[place] if place < len(row) else "" for name, place in columns.items()}
            name = str(cell["id"] or "").strip().removeprefix("'")
            if not name:
                continue
            if name == "name":
                who = str(cell["answer"] or "")
                continue
            labels = labels or {label: str(cell.get(label) or "").strip() for label in LABELS}
            found.append((name, cell["answer"]))
    except csv.Error as error:
        raise AnswersError(f"{path.name} is not a table: {error}") from None
    if not columns:
        raise AnswersError(f'{path.name} has no header with the columns "id" and "answer"; keep the first row')
    result = _collected(found)
    result.labels, result.who = labels, who
    return result


class _Typed(str):
    """A number of a JSON file, as it was typed."""


def _from_json(path: Path) -> Answers:
    try:
        data = json.loads(_text_of(path), parse_float=_Typed, parse_int=_Typed, object_pairs_hook=_Pairs)
    except (json.JSONDecodeError, RecursionError) as error:
        raise AnswersError(f"{path.name} is not JSON: {error}") from None
    if not isinstance(data, _Pairs):
        raise AnswersError(f'{path.name}: expected {{"Q[0][1]": 0.1, ...}}, an object from id to number')
    whole = dict(data)
    pairs = whole.get("answers", data)
    if not isinstance(pairs, _Pairs):
        raise AnswersError(f'{path.name}: "answers" must be an object from id to number')
    if len(pairs) > MOST_ROWS:
        raise AnswersError(f"{path.name} has more than {MOST_ROWS:,} answers; a sheet has far fewer")
    found = _collected([(str(name), x) for name, x in pairs])
    if pairs is not data:
        found.labels = {label: str(whole.get(label) or "") for label in LABELS}
        found.who = str(whole.get("name") or "")
    return found


class _Pairs(list[tuple[str, Any]]):
    """A JSON object with its duplicates."""


# --- numbers -------------------------------------------------------------------------------------------------------


def _collected(pairs: list[tuple[str, Any]]) -> Answers:
    rows = {name: rows_of(x) for name, x in pairs}
    texts = [x for _, x in pairs if isinstance(x, str)]
    texts += [cell for table in rows.values() for row in table for cell in row if isinstance(cell, str)]
    comma = _uses_decimal_comma(texts)
    tables = {name: [[as_answer(x, comma) for x in row] for row in table] for name, table in rows.items() if table}
    found: dict[str, Answer] = {}
    for name, x in pairs:
        answer = as_answer(x, comma)
        before = found.get(name)
        if before is not None and before.text != answer.text:
            found[name] = Answer(answer.text, problem=f"written twice: {before.text!r} and {answer.text!r}")
        else:
            found[name] = answer
    return Answers(found, tables)


def rows_of(x: Any) -> list[list[Any]]:
    """What may be a whole table, in rows; else none. Text has a row on a line or before a semicolon.

    >>> rows_of("0.1 0; 0 0.2"), rows_of([0.1, 0.2]), rows_of("0.1")
    ([['0.1', '0'], ['0', '0.2']], [[0.1, 0.2]], [])
    """
    if isinstance(x, str):
        if NUMBER.fullmatch(x):  # as most are
            return []
        rows = [cells for row in re.split(ROW_ENDS, x.strip(SPACES + "[]")) if (cells := row.split())]
        return rows if len(rows) > 1 or any(len(row) > 1 for row in rows) else []
    if isinstance(x, _Pairs) or not (isinstance(x, list | tuple) or (isinstance(x, np.ndarray) and x.ndim)):
        return []
    array = x if isinstance(x, np.ndarray) else np.array(x, dtype=object)  # which leaves float32 what it is
    return [list(row) for row in array.reshape(-1, array.shape[-1])] if array.size else []


def _uses_decimal_comma(texts: list[str]) -> bool:
    """Decided once for a file: a comma that can only be a decimal one, and no number with a point."""
    texts = [_respelled(text) for text in texts]
    commas = any(DECIMAL_COMMA.fullmatch(text) and not AMBIGUOUS.fullmatch(text) for text in texts)
    points = any(NUMBER.fullmatch(text) and "." in text for text in texts)
    return commas and not points


def as_answer(x: Any, comma: bool = False) -> Answer:
    """One answer as it was given: a text, a number, None.

    >>> as_answer("0.250").unit, as_answer("−1.5×10⁻³").value
    (Decimal('0.001'), Decimal('-0.0015'))
    >>> as_answer("1,234").problem
    "'1,234' may be 1.234 or 1234: write it with a point, or without the comma"
    """
    if isinstance(x, str):
        return _from_text(x, comma)
    if x is None:
        return Answer("")
    if isinstance(x, bool):
        return Answer(str(x), problem=f"{x} is not a number")
    if isinstance(x, Fraction):
        x = f"{x.numerator}/{x.denominator}"
    if isinstance(x, Decimal):
        x = str(x if x.is_nan() else CONTEXT.plus(x))
    if isinstance(x, Real) or (hasattr(x, "item") and getattr(x, "ndim", 1) == 0):
        x = _digits_of(x)
    if not isinstance(x, str):
        return Answer(f"{x!r:.60}", problem=f"{type(x).__name__} is not a number")
    return _from_text(x, comma)


def _digits_of(x: Any) -> str:
    """The digits of a number that a machine gave: of float32 six, since the others are not to be relied on."""
    number = x.item() if hasattr(x, "item") else x
    sure = {"float32": 6, "float16": 3}.get(str(getattr(x, "dtype", "")).rpartition(".")[2])
    return f"{number:.{sure}g}" if sure else str(number)


def _respelled(text: str) -> str:
    """With plain digits, signs and spaces, and without ≈ before the number."""
    if text.isascii():
        return text.strip(SPACES)
    return text.translate(_RESPELL).strip(SPACES).removeprefix(ABOUT).lstrip(SPACES)


def _from_text(text: str, comma: bool) -> Answer:
    """`answers.js` does the same in the page."""
    short = _respelled(text)
    if not short:
        return Answer(text)
    if len(short) > LONGEST_NUMBER:
        return Answer(text[:LONGEST_NUMBER], problem=PROBLEMS["long"].format(len(short)))
    if NUMBER.fullmatch(short):
        return _number(text, short)
    if short.startswith("="):
        return Answer(text, problem=PROBLEMS["formula"].format(short))
    if fraction := FRACTION.fullmatch(short):
        return _fraction(text, *map(int, fraction.groups()))
    plain = POWER_OF_TEN.sub(r"e\1", short)
    if "," in plain:
        if AMBIGUOUS.fullmatch(plain) and not comma:
            small, large = plain.replace(",", "."), plain.replace(",", "")
            return Answer(text, problem=PROBLEMS["ambiguous"].format(short, small, large))
        if not DECIMAL_COMMA.fullmatch(plain):
            return Answer(text, problem=PROBLEMS["comma"].format(short))
        plain = plain.replace(",", ".")
    if not NUMBER.fullmatch(plain):
        return Answer(text, problem=PROBLEMS[_why_not(short)].format(short))
    return _number(text, plain)


def _number(text: str, plain: str) -> Answer:
    exact = Decimal(plain)
    if exact and abs(exact.adjusted()) > LARGEST_EXPONENT:
        return Answer(text, problem=PROBLEMS["size"].format(_respelled(text)))
    value = CONTEXT.plus(exact)
    exponent: Any = exact.as_tuple().exponent
    if value:  # digits beyond the twelfth are a machine's
        exponent = max(exponent, value.adjusted() - SIGNIFICANT + 1)
    return Answer(text, value, Decimal(1).scaleb(exponent, CONTEXT))


def _fraction(text: str, above: int, below: int) -> Answer:
    if below == 0:
        return Answer(text, problem=PROBLEMS["zero"].format(_respelled(text)))
    value = CONTEXT.divide(Decimal(above), Decimal(below))
    unit = Decimal(1).scaleb(value.adjusted() - SIGNIFICANT + 1, CONTEXT) if value else Decimal(0)
    return Answer(text, value, unit)


def _why_not(text: str) -> str:
    """Why a text is not a number: a key of `PROBLEMS`."""
    if NOT_FINITE.fullmatch(text):
        return "not finite"
    if text.endswith("%"):
        return "per cent"
    return "with more" if WITH_MORE.fullmatch(text) else "none"
