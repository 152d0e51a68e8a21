"""Variants: the same sheet with other numbers, one for each student, alike in difficulty.

A bounded search over short decimals (small integers, where the graph began with those), scored for short
intermediate numbers and for telling slips apart: symmetric numbers hide a missing transpose, zeros and ones hide most.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from autograd.drawing.roles import Roles
from autograd.engine import Value
from autograd.errors import DataError
from autograd.graph import topological

from .marking.intervals import CannotJudge, Interval, evaluate
from .marking.slips import Alternatives
from .parts import Blank
from .prepare import prepared, rebuilt
from .sheet import Worksheet, worksheet

Draft = dict[Value, Any]

TRIES = 4  # drafts for each variant, of which the best is taken
CLASS = 100  # variants in a row of which no two are alike
PATIENCE = 100  # draws, after which a graph has too few numbers for a draft of its own
LONG = 6  # digits from which on a number is long
SMALL = 100  # denominators below it are short
SAMPLED = 24  # blanks whose slips are looked at


def variants(root: Value, n: int, seed: int = 0, **options: Any) -> list[Worksheet]:
    """n sheets of the graph, numbered from 1, each with other numbers in its parameters; `options` as in `worksheet`.

    `sheet.quality` says how good the numbers are: the share of slips that give another number than the right line, and
    the share of short intermediate numbers (short decimals, and short fractions where every op is rational). The key
    and the command print it.

    >>> x, w = Value(2.0, name="x", requires_grad=False), Value(-0.5, name="w")
    >>> [sheet.variant for sheet in variants(x * w, 3)]
    [1, 2, 3]
    """
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise DataError(f"variants: n is how many sheets, at least 1; got {n!r}")
    nodes, names, changed = _opened(root, options)
    classes = itertools.chain.from_iterable(_drafts(changed, seed, first) for first in itertools.count(1, CLASS))
    return [_best(nodes, names, number, next(classes), options) for number in range(1, n + 1)]


def variant(root: Value, number: int, seed: int = 0, **options: Any) -> Worksheet:
    """Sheet `number` of the series with this seed: the best of a few drafts, always the same one."""
    nodes, names, changed = _opened(root, options)
    place = (number - 1) % CLASS
    drafts = next(itertools.islice(_drafts(changed, seed, number - place), place, None))
    return _best(nodes, names, number, drafts, options)


def _opened(root: Value, options: dict[str, Any]) -> tuple[list[Value], Any, list[Value]]:
    """The nodes of a graph, their names, and the leaves whose numbers change."""
    own = options.get("names")
    opened, names = prepared(root, None if isinstance(own, str) else options.pop("names", None))
    nodes = topological(opened)
    role = Roles(nodes, names)
    changed = [leaf for leaf in nodes if leaf.op is None and role(leaf) == "parameter"]
    if not changed:
        raise DataError("variants: this graph has no parameter to change: a leaf with requires_grad=True")
    return nodes, names, changed


def _drafts(changed: list[Value], seed: int, first: int) -> Iterator[list[Draft]]:
    """For each variant of a class its drafts: numbers for the leaves. No two share one; none is the graph's own."""
    seen = {_as_key({leaf: leaf.data for leaf in changed})}
    for number in range(first, first + CLASS):
        drafts = []
        for attempt in range(2 * TRIES):
            rng = np.random.default_rng([seed, number, attempt])
            for _ in range(PATIENCE):
                draft = {leaf: _drawn(leaf, rng, keeps_signs=attempt >= TRIES) for leaf in changed}
                if _as_key(draft) not in seen:
                    break
            seen.add(_as_key(draft))
            drafts.append(draft)
        yield drafts


def _as_key(draft: Draft) -> tuple[bytes, ...]:
    return tuple(np.asarray(data, dtype=float).tobytes() for data in draft.values())


def _best(nodes: list[Value], names: Any, number: int, drafts: list[Draft], options: dict[str, Any]) -> Worksheet:
    sheets: list[Worksheet] = []
    for attempt, draft in enumerate(drafts):
        if attempt == TRIES and sheets:  # the others keep the signs: a logarithm or a root may allow no others
            break
        try:
            sheet = worksheet(rebuilt(nodes, draft, names), variant=number, **options)
        except DataError:  # a number that cannot be written into a blank: another draft
            continue
        sheet.quality = quality(sheet)
        sheets.append(sheet)
    if not sheets:
        raise DataError(f"variants: no numbers that work were found for variant {number}")
    return max(sheets, key=lambda sheet: sum(sheet.quality.values()))


def _drawn(leaf: Value, rng: np.random.Generator, keeps_signs: bool) -> Any:
    """Other numbers of the same kind: whole ones stay whole, others are tenths; never 0."""
    data = np.asarray(leaf.data, dtype=float)
    whole = bool(np.all(data == np.round(data))) and bool(np.any(np.abs(data) > 1))
    sizes = rng.integers(1, 5, data.shape) if whole else rng.integers(1, 10, data.shape) / 10
    numbers = sizes * (np.copysign(1.0, data) if keeps_signs else rng.choice([-1.0, 1.0], data.shape))
    return numbers if data.ndim else float(numbers)


def quality(sheet: Worksheet) -> dict[str, float]:
    """The share of slips that give another number than the right line, and of short intermediate numbers."""
    told = count = 0
    every = max(1, len(sheet.blanks) // SAMPLED)
    for blank in sheet.blanks[::every]:
        for _, formula in Alternatives(sheet, blank).all():
            try:
                other = evaluate(formula, sheet.numbers, lambda x: Interval.exactly(repr(+x)))
            except (CannotJudge, KeyError):
                continue
            count += 1
            told += abs(other.middle - blank.key) > abs(blank.key) / 10 ** (sheet.digits - 1)
    short = sum(map(_is_short, sheet.blanks))
    return {"slips told apart": told / count if count else 0.0, "short numbers": short / len(sheet.blanks)}


def _is_short(blank: Blank) -> bool:
    if blank.fraction is not None and blank.fraction.denominator < SMALL:
        return True
    return len(blank.key.normalize().as_tuple().digits) < LONG
