"""What a learner wrote, as it was typed: from a dict, a CSV, a JSON or an xlsx file.

The text is kept, because 0.2500 says more than 0.25. What cannot be read as a number is missing, with its `problem`;
nothing else is lost by it.
"""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from numbers import Real
from pathlib import Path
from typing import Any

from autograd.errors import DataError
from autograd.worksheets.intervals import CONTEXT

LARGEST_FILE = 20_000_000  # bytes; of an xlsx file, unpacked
MOST_ROWS = 200_000
LONGEST_NUMBER = 60  # characters
LABELS = ("sheet", "variant", "digits", "source")  # what a file says about the sheet it belongs to
SIGNIFICANT = 12  # digits of a number beyond which nobody rounds by hand: floats carry noise there
LARGEST_EXPONENT = 300

NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d{1,4})?", re.IGNORECASE)
FRACTION = re.compile(r"([+-]?\d{1,20})\s*/\s*(\d{1,20})")
AMBIGUOUS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")
DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+(e[+-]?\d+)?", re.IGNORECASE)
POWER_OF_TEN = re.compile(r"\s*[×x*·]\s*10\s*(?:\^|\*\*)?\s*\(?([+-]?\d+)\)?$")
SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
MINUS_SIGNS = str.maketrans({"−": "-", "–": "-", "—": "-", "\u00a0": " ", "\u202f": " ", "\u2009": " "})


@dataclass(frozen=True)
class Answer:
    """One answer: its text, its value and the unit of its last place; or its problem."""

    text: str
    value: Decimal | None = None
    unit: Decimal = Decimal(0)
    problem: str = ""


@dataclass
class Answers:
    """What was handed in: answers by id; ids that were not asked for; which sheet they say they belong to."""

    by_id: dict[str, Answer] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)
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
        return _collected([(str(name), x) for name, x in source.items()])
    if isinstance(source, str | Path):
        return _from_file(Path(source))
    raise AnswersError(f"answers are a dict from blank id to number, or a path to a file; got {source!r:.60}")


def _from_file(path: Path) -> Answers:
    readers = {".csv": _from_csv, ".tsv": _from_csv, ".txt": _from_csv, ".json": _from_json, ".xlsx": _from_xlsx}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise AnswersError(f"{path.name}: answers come as .csv, .json or .xlsx, and this ends in {path.suffix!r}")
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
    raise AnswersError(f"{path.name} is no text: save it as CSV in UTF-8")


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
        raise AnswersError(f"{path.name} is no xlsx file; save it again as Excel workbook (.xlsx), or as CSV") from None
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
        book = openpyxl.load_workbook(path, read_only=True)
        page = book["Sheet"] if "Sheet" in book.sheetnames else book.worksheets[0]
        rows = ([cell.value for cell in row] for row in page.iter_rows())
        return _from_rows(path, rows)
    except AnswersError:
        raise
    except Exception as error:  # openpyxl fails in many ways on damaged files
        raise AnswersError(f"{path.name} cannot be read as a workbook: {error}") from None


def _from_rows(path: Path, rows: Iterable[list[Any]]) -> Answers:
    """A table whose header names a column `id` and a column `answer`; `sheet` and `name` may say whose it is."""
    found: list[tuple[str, Any]] = []
    columns: dict[str, int] = {}
    labels: dict[str, str] = {}
    who = ""
    try:
        for count, row in enumerate(rows):
            if count > MOST_ROWS:
                raise AnswersError(f"{path.name} has more than {MOST_ROWS:,} rows; a sheet of answers has far fewer")
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
        raise AnswersError(f"{path.name} is no table: {error}") from None
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
        raise AnswersError(f"{path.name} is no JSON: {error}") from None
    if not isinstance(data, _Pairs):
        raise AnswersError(f'{path.name}: expected {{"Q[0][1]": 0.1, ...}}, an object from id to number')
    whole = dict(data)
    pairs = whole.get("answers", data)
    if not isinstance(pairs, _Pairs):
        raise AnswersError(f'{path.name}: "answers" must be an object from id to number')
    found = _collected([(str(name), x) for name, x in pairs])
    if pairs is not data:
        found.labels = {label: str(whole.get(label) or "") for label in LABELS}
        found.who = str(whole.get("name") or "")
    return found


class _Pairs(list[tuple[str, Any]]):
    """A JSON object with its duplicates."""


# --- numbers -------------------------------------------------------------------------------------------------------


def _collected(pairs: list[tuple[str, Any]]) -> Answers:
    comma = _uses_decimal_comma([x for _, x in pairs if isinstance(x, str)])
    found: dict[str, Answer] = {}
    for name, x in pairs:
        answer = as_answer(x, comma)
        before = found.get(name)
        if before is not None and before.text != answer.text:
            found[name] = Answer(answer.text, problem=f"written twice: {before.text!r} and {answer.text!r}")
        else:
            found[name] = answer
    return Answers(found)


def _uses_decimal_comma(texts: list[str]) -> bool:
    """Decided once for a file: a comma that can only be a decimal one, and no number with a point."""
    texts = [text.strip().translate(MINUS_SIGNS) for text in texts]
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
    if x is None:
        return Answer("")
    if isinstance(x, bool):
        return Answer(str(x), problem=f"{x} is no number")
    if isinstance(x, Fraction):
        x = f"{x.numerator}/{x.denominator}"
    if isinstance(x, Decimal):
        x = str(x)
    if isinstance(x, Real) or (hasattr(x, "item") and getattr(x, "ndim", 1) == 0):
        x = repr(x.item() if hasattr(x, "item") else x)
    if not isinstance(x, str):
        return Answer(f"{x!r:.60}", problem=f"{type(x).__name__} is no number")
    return _from_text(x, comma)


def _from_text(text: str, comma: bool) -> Answer:
    short = text.strip().translate(MINUS_SIGNS)
    if not short:
        return Answer(text)
    if len(short) > LONGEST_NUMBER:
        return Answer(text[:LONGEST_NUMBER], problem=f"{len(short)} characters are more than a number has")
    if short.startswith("="):
        return Answer(text, problem=f"{short!r} is a formula: write the number that it gives")
    if fraction := FRACTION.fullmatch(short):
        return _fraction(text, *map(int, fraction.groups()))
    plain = POWER_OF_TEN.sub(r"e\1", short.translate(SUPERSCRIPTS))
    if "," in plain:
        if AMBIGUOUS.fullmatch(plain) and not comma:
            small, large = plain.replace(",", "."), plain.replace(",", "")
            return Answer(
                text, problem=f"{short!r} may be {small} or {large}: write it with a point, or without the comma"
            )
        if not DECIMAL_COMMA.fullmatch(plain) or not comma:
            return Answer(text, problem=f"{short!r} has a comma, and other numbers here have a point")
        plain = plain.replace(",", ".")
    if not NUMBER.fullmatch(plain):
        return Answer(text, problem=_why_not(short))
    try:
        value = Decimal(plain)
    except InvalidOperation:
        return Answer(text, problem=f"{short!r} is no number")
    if value and abs(value.adjusted()) > LARGEST_EXPONENT:
        return Answer(text, problem=f"{short!r} is too large or too small")
    exponent: Any = value.as_tuple().exponent
    if value:  # digits beyond the twelfth are a machine's
        exponent = max(exponent, value.adjusted() - SIGNIFICANT + 1)
    return Answer(text, value, Decimal(1).scaleb(exponent))


def _fraction(text: str, above: int, below: int) -> Answer:
    if below == 0:
        return Answer(text, problem=f"{text.strip()!r} divides by 0")
    value = CONTEXT.divide(Decimal(above), Decimal(below))
    return Answer(text, value, Decimal(1).scaleb(value.adjusted() - SIGNIFICANT + 1) if value else Decimal(0))


def _why_not(text: str) -> str:
    if text.lower().strip("+-") in ("nan", "inf", "infinity"):
        return f"{text!r} is no number that can be marked"
    if text.endswith("%"):
        return f"{text!r}: write the number itself, not per cent"
    if re.match(r"[+-]?[\d.]", text):
        return f"{text!r}: write the number alone, without units or words"
    return f"{text!r} is no number"
