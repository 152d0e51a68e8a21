"""Classic slips, as alternative lines on the same graph: which of them gives the number that was written?

A slip changes the formula of one entry (a term forgotten, a sign turned, a factor dropped, a table not transposed), the
rule of an op (its block says which: `About.slips`), or the digits of the number. It is named only if it alone gives the
number; if several do, they are listed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from autograd.about import Slip
from autograd.engine import Value
from autograd.expr import Expr
from autograd.expr.expr import terms_of
from autograd.formula.scalars.formulas import Entries, Opener
from autograd.formula.writers.python import python_text
from autograd.op import OPS

from ..hints import outline
from ..parts import UPDATE, Blank, as_slope
from ..sheet import Worksheet
from .answers import Answer
from .intervals import CannotJudge, Interval, evaluate

TOO_WIDE = Decimal("0.02")  # of its size: an alternative that vague proves nothing
LONGEST_SUM = 40  # terms up to which a forgotten one is looked for: among more of them, one fits nearly any number


class Mistake(str):
    """A slip's name, with the sentence that `teaches`; `names` are all that give this number."""

    teaches: str
    names: tuple[str, ...]

    def __new__(cls, name: str, teaches: str = "", names: tuple[str, ...] = ()) -> Mistake:
        found = super().__new__(cls, name)
        found.teaches, found.names = teaches, names
        return found


@dataclass
class Found:
    """The slips that give a number; and the other number of the sheet that it is a copy of."""

    slips: dict[str, Slip]
    copied: str = ""

    def mistake(self) -> Mistake | None:
        """In words; None if there is no slip."""
        wrote = COPIED.format(as_slope(self.copied)) if self.copied else ""
        if len(self.slips) == 1:
            ((name, slip),) = self.slips.items()
            return Mistake(name, wrote + slip.teaches, (name,))
        return Mistake(SEVERAL + "; ".join(self.slips), wrote + WHICH, tuple(self.slips)) if self.slips else None


def agreed(found: list[Found]) -> None:
    """Of several slips that each give a number of a table, the one that gives all its wrong numbers."""
    common = [name for name in (found[0].slips if found else ()) if all(name in each.slips for each in found)]
    if len(common) == 1:
        for each in found:
            each.slips = {common[0]: each.slips[common[0]]}


UNKNOWN_SLIP = Mistake("no known slip", "Work this line out once more, one operation at a time.")

FORGOTTEN = Slip("a path forgotten", "A gradient is the sum over all paths: every use of a number sends its part back.")
TWICE = Slip("a path counted twice", "Each path adds its part once.")
OVERWRITTEN = Slip("overwritten instead of added", "When a second path arrives, add its part to what is there.")
TERM = Slip("a term of the sum forgotten", "Count the terms: a row times a column has one for each place.")
SIDE = Slip("one side of the subtraction forgotten", "This line subtracts one number from another.")
TURNED = Slip("the sign of a subtraction", "Look again at what is subtracted from what.")
PLUS = Slip("+ for − in the update", "The gradient points uphill; to make the loss smaller, go against it.")
NO_ETA = Slip("η forgotten", "The step is the learning rate times the gradient.")
INPUT = Slip("the input used for the output", "This rule is written in the result: the slope of tanh is 1 − tanh², "
             "that of exp is exp itself.")  # fmt: skip
OUTPUT = Slip("the output used for the input", "This rule is written in what went in, not in what came out.")
UNDIVIDED = Slip("not normalised", "Divide by the sum, so that the row adds up to 1.")
NO_ROOT = Slip("1/√d forgotten", "Scores are divided by the root of the width, and so are their gradients.")
NO_SQUARE_ROOT = Slip("divided by d, not by √d", "Scores are divided by the root of the width, not by the width.")
NO_MEAN = Slip("1/N forgotten: a sum for a mean", "A mean divides by how many there are, forward and backward.")
NO_DIVISION = Slip("the division forgotten", "This line divides.")
TRANSPOSED = Slip("a transpose missing", "Back through a product, one factor is transposed; the shapes tell which.")
ROW_COLUMN = Slip("row for column", "The first index is the row.")
TARGET = Slip("the wrong target index", "Only the target's place differs from the others.")
AT_TARGET = Slip("the target not subtracted", "At the target's place 1 is subtracted: P − 1 there, P elsewhere.")
CHAIN = Slip("the incoming gradient forgotten", "The chain rule multiplies the slope by the gradient that arrives.")
FACTOR = Slip("a factor of the chain rule dropped", "The chain rule multiplies: no factor may be left out.")
CONSTANT = Slip("a constant factor forgotten", "A number in front stays in front: the 2 of 2x, the 1/N of a mean.")
LOG10 = Slip("the logarithm to base 10", "log is the natural logarithm here, to base e: the key ln.")
SIGN = Slip("a sign lost", "The size is right; the sign is not.")
DIGITS = Slip("two digits swapped", "The digits are right, but two have changed places.")
POINT = Slip("the decimal point one place off", "The digits are right; count the places.")
PEN = {"sign": SIGN, "point": POINT, "swapped": DIGITS}  # slips of the pen
SEVERAL = "one of these: "
COPIED = "You wrote {0}. "
WHICH = "Each of them gives this number; work the line out once more and see which it was."


@dataclass
class Slips:
    """Which slips give a number: computed on a sheet from the learner's own numbers."""

    sheet: Worksheet
    numbers: Mapping[str, Interval]
    constant: Callable[[Any], Interval]

    def expected(self, e: Expr) -> Interval | None:
        """What a line gives, unless that is too vague to prove anything."""
        try:
            interval = evaluate(e, self.numbers, self.constant)
        except (CannotJudge, KeyError):
            return None
        return interval if interval.width <= interval.size * TOO_WIDE else None

    def find(self, blank: Blank, answer: Answer, tolerance: Decimal) -> Found:
        """The slips that give a wrong number, by name; and the number of the sheet that was written in its place."""
        assert answer.value is not None
        found: dict[str, Slip] = {}
        copied = ""
        for slip, formula in Alternatives(self.sheet, blank).all():
            interval = self.expected(formula)
            if interval is not None and answer.value in interval.wider(tolerance):
                found.setdefault(slip.name, slip)
                copied = copied or (formula.name if formula.is_symbol else "")
        right = self.expected(blank.expr)
        if right is not None and right.size and answer.value:
            for slip, number in _other_digits(answer):
                if number in right.wider(tolerance):
                    found.setdefault(slip.name, slip)
        of_ops = {name: slip for name, slip in found.items() if slip.rule is not None}
        return Found(of_ops or found, self.sheet.called(copied))

    def is_idea(self, blank: Blank, mistake: Mistake, right: list[Blank]) -> bool:
        """Was the idea of the step missed, not one number? So it was if the slip was made wherever it makes a
        difference: none of the table's `right` numbers is one that this slip would have spoilt."""
        if not mistake.names or any(slip.name in mistake.names for slip in PEN.values()):
            return False
        return not any(
            self._differs(other.expr, formula)
            for other in right for slip, formula in Alternatives(self.sheet, other).all() if slip.name in mistake.names
        )  # fmt: skip

    def _differs(self, line: Expr, other: Expr) -> bool:
        first, second = self.expected(line), self.expected(other)
        return first is not None and second is not None and (first.high < second.low or second.high < first.low)


def _other_digits(answer: Answer) -> Iterator[tuple[Slip, Decimal]]:
    """The numbers of which the one written is a slip of the pen."""
    value = answer.value
    assert value is not None
    yield SIGN, -value
    yield POINT, value * 10
    yield POINT, value / 10
    if "/" in answer.text:
        return
    sign, digits, exponent = value.as_tuple()
    for i in range(len(digits) - 1):
        leads = i == 0 and digits[1] == 0 and value.adjusted() > 0  # 40 is no slip of the pen for 04
        if digits[i] != digits[i + 1] and not leads:
            swapped = (*digits[:i], digits[i + 1], digits[i], *digits[i + 2 :])
            yield DIGITS, Decimal((sign, swapped, exponent))  # type: ignore[arg-type]


@dataclass
class Alternatives:
    """What the line of one blank becomes if somebody slips."""

    sheet: Worksheet
    blank: Blank

    def all(self) -> Iterator[tuple[Slip, Expr]]:
        table, e = self.blank.part.table, self.blank.expr
        if table.phase == UPDATE:
            yield from self._update(e)
        elif table.kind == "gradient" and table.through is None:
            yield from self._paths(e)
        else:
            yield from self._terms(e)
            yield from self._signs(e)
            yield from self._divisions(e)
            yield from self._factors(e)
            yield from self._other_places(e)
            yield from self._rules()
        yield from self._logarithms(e)

    # --- sums and signs ------------------------------------------------------------------------------------------

    def _update(self, e: Expr) -> Iterator[tuple[Slip, Expr]]:
        if e.op is not None and e.op.name == "sub":
            weight, change = e.args
            yield PLUS, weight + change
            if change.op is not None and change.op.name == "mul":
                yield NO_ETA, weight - change.args[1]

    def _paths(self, e: Expr) -> Iterator[tuple[Slip, Expr]]:
        terms = _terms(e)
        if len(terms) < 2:
            return
        for i, term in enumerate(terms):
            yield FORGOTTEN, _sum(terms[:i] + terms[i + 1 :])
            yield TWICE, e + term
        if len(terms) > 2:
            yield OVERWRITTEN, terms[-1]

    def _terms(self, e: Expr) -> Iterator[tuple[Slip, Expr]]:
        known = [outline(rest) for rest in self._without_target(e)]
        for part, put in _whole_sums(e):
            terms = _terms(part)
            is_difference = part.op is not None and part.op.name == "sub" and len(terms) == 2
            for i in range(len(terms) if len(terms) <= LONGEST_SUM else 0):
                rest = put(_sum(terms[:i] + terms[i + 1 :]))
                if not known or outline(rest) not in known:
                    yield (SIDE if is_difference else TERM), rest

    def _signs(self, e: Expr) -> Iterator[tuple[Slip, Expr]]:
        for part, put in _places(e):
            if part.op is not None and part.op.name == "sub":
                x, y = part.args
                yield TURNED, put(x + y)
                yield TURNED, put(y - x)

    # --- factors -------------------------------------------------------------------------------------------------

    def _divisions(self, e: Expr) -> Iterator[tuple[Slip, Expr]]:
        for part, put in _places(e):
            if part.op is not None and part.op.name == "div":
                above, below = part.args
                slip = self._whose_division(above, below)
                yield slip, put(above)
                if slip is NO_ROOT:
                    yield NO_SQUARE_ROOT, put(above / round(float(below.value) ** 2))
            elif part.op is not None and part.op.name == "mul" and self.blank.part.table.phase == "forward":
                for above, scale in (part.args, part.args[::-1]):  # × 1/√d
                    if scale.is_constant and scale.value and _is_root(1 / float(scale.value)):
                        yield NO_ROOT, put(above)
                        yield NO_SQUARE_ROOT, put(above / round(1 / float(scale.value) ** 2))

    def _whose_division(self, above: Expr, below: Expr) -> Slip:
        if not below.is_constant:
            total = _terms(self.sheet.exprs.get(below.name, below))
            return UNDIVIDED if len(total) > 1 and python_text(above) in map(python_text, total) else NO_DIVISION
        if float(below.value).is_integer():
            return NO_MEAN
        return NO_ROOT if _is_root(float(below.value)) else NO_DIVISION

    def _factors(self, e: Expr) -> Iterator[tuple[Slip, Expr]]:
        if self.blank.part.table.kind not in ("gradient", "contribution", "step"):
            return
        terms = _terms(e)
        if len(terms) > 1:  # a whole sum of products: the same factor left out of each
            products = [_factors_of(term) for term in terms]
            if all(len(product) == 2 for product in products):
                for k in (0, 1):
                    yield _whose_factor(products[0][k]), _sum([product[1 - k] for product in products])
            return
        factors = _factors_of(e)
        for i, factor in enumerate(factors):
            if len(factors) > 1:
                yield _whose_factor(factor), _product(factors[:i] + factors[i + 1 :])

    def _logarithms(self, e: Expr) -> Iterator[tuple[Slip, Expr]]:
        for part, put in _places(e):
            if part.op is not None and part.op.name == "log":
                yield LOG10, put(part / math.log(10.0))

    # --- other places --------------------------------------------------------------------------------------------

    def _other_places(self, e: Expr) -> Iterator[tuple[Slip, Expr]]:
        part, index = self.blank.part, self.blank.index
        by_index = {other.index: other for other in part.blanks}
        if len(index) == 2 and index[0] != index[1] and index[::-1] in by_index:
            yield ROW_COLUMN, by_index[index[::-1]].expr
        for table in self._square_tables(e):
            if self.sheet.program.words.name(table.owner) and part.table.phase != "forward":
                other = {table.ids[i]: table.symbols[i[::-1]] for i in np.ndindex(table.shape) if i[0] != i[1]}
                yield TRANSPOSED, e.replaced(_renamed(other))
        known = [outline(e)]
        for rest in self._without_target(e):
            known.append(outline(rest))
            yield AT_TARGET, rest
        for neighbour in self._row():  # the line of another place of the same row, here
            if outline(neighbour.expr) not in known:
                yield TARGET, neighbour.expr.replaced(self._moved(neighbour.index, index))
        yield from self._other_picks(e)

    def _without_target(self, e: Expr) -> list[Expr]:
        """The line without the number that only the target's place has: P of P − 1. Empty at other places."""
        others = [outline(other.expr) for other in self._row()]
        shorter = [put(part.args[0]) for part, put in _places(e)
                   if part.op is not None and part.op.name in ("add", "sub") and part.args[1].is_constant]  # fmt: skip
        return [rest for rest in shorter if outline(rest) in others]

    def _row(self) -> list[Blank]:
        """The blanks of the same row."""
        return [other for other in self.blank.part.blanks if other.index[:-1] == self.blank.index[:-1]]

    def _square_tables(self, e: Expr) -> list[Any]:
        """The square matrices that the line reads."""
        names = {symbol.name.partition("[")[0] for symbol in e.symbols()}
        tables = [*self.sheet.program.inputs, *self.sheet.program.tables]
        return [t for t in tables if t.name in names and len(t.shape) == 2 and t.shape[0] == t.shape[1] > 1]

    def _moved(self, old: tuple[int, ...], new: tuple[int, ...]) -> Callable[[Expr], Expr | None]:
        """Names of one place as those of another: P[2] as P[0]."""
        before, after = ("".join(f"[{i}]" for i in index) for index in (old, new))

        def move(e: Expr) -> Expr | None:
            if e.op is None and e.name and e.name.endswith(before):
                return Expr(e.name.removesuffix(before) + after, e.value)
            return None

        return move

    def _other_picks(self, e: Expr) -> Iterator[tuple[Slip, Expr]]:
        """One entry picked out of a row, as the loss does: another entry of that row."""
        symbols = list({symbol.name: symbol for symbol in e.symbols()}.values())
        if len(symbols) != 1 or self.blank.index or "[" not in symbols[0].name:
            return
        stem, _, place = symbols[0].name.rpartition("[")
        for other in range(64):
            name = f"{stem}[{other}]"
            if name not in self.sheet.numbers:
                break
            if f"{other}]" != place:
                yield TARGET, e.replaced(_renamed({symbols[0].name: Expr(name, 0.0)}))

    # --- rules ---------------------------------------------------------------------------------------------------

    def _rules(self) -> Iterator[tuple[Slip, Expr]]:
        """The rule with input and output exchanged, and the slips that the op's block lists."""
        table, program = self.blank.part.table, self.sheet.program
        node = table.through
        if node is None or node.op is None or table.kind == "step":
            return
        inputs = [program.values[x] if isinstance(x, Value) else x for x in node.inputs]
        out = program.values[node]
        yield from self._exchanged(inputs[0], out)
        if node.inputs[0] is not table.owner:
            return
        g = program.gradients[node]
        for slip in node.op.about.slips:
            assert slip.rule is not None
            carriers = [Entries(x) if isinstance(x, np.ndarray) and x.dtype == object else x for x in inputs]
            sent = slip.rule(Entries(g), Entries(out), *carriers, **node.op.settings)
            if isinstance(sent, Entries) and sent.shape == table.shape:
                yield slip, Opener()(sent.array[self.blank.index])

    def _exchanged(self, x: Any, out: Any) -> Iterator[tuple[Slip, Expr]]:
        if not isinstance(x, np.ndarray) or x.dtype != object or x.shape != out.shape:
            return
        pairs = [(a, b) for a, b in zip(x.flat, out.flat, strict=True) if a.name and b.name]
        e = self.blank.expr
        used = {symbol.name for symbol in e.symbols()}
        if any(b.name in used for _, b in pairs):
            yield INPUT, e.replaced(_renamed({b.name: a for a, b in pairs}))
        if any(a.name in used for a, _ in pairs):
            yield OUTPUT, e.replaced(_renamed({a.name: b for a, b in pairs}))


# --- formulas taken apart --------------------------------------------------------------------------------------------


def _terms(e: Expr) -> list[Expr]:
    return [term if sign > 0 else OPS["neg"](term) for sign, term in terms_of(e)]


def _is_root(x: float) -> bool:
    """Is it √2, √3, √5, …?"""
    square = round(x * x)
    return square > 1 and abs(x * x - square) < 1e-9 and math.isqrt(square) ** 2 != square


def _factors_of(e: Expr) -> list[Expr]:
    if e.op is not None and e.op.name == "mul":
        return [factor for part in e.args for factor in _factors_of(part)]
    return [e]


def _sum(terms: list[Expr]) -> Expr:
    whole = terms[0]
    for term in terms[1:]:
        whole = whole + term
    return whole


def _product(factors: list[Expr]) -> Expr:
    whole = factors[0]
    for factor in factors[1:]:
        whole = whole * factor
    return whole


def _places(e: Expr, put: Callable[[Expr], Expr] = lambda e: e) -> Iterator[tuple[Expr, Callable[[Expr], Expr]]]:
    """Every part of a formula, with the function that puts another in its place."""
    yield e, put
    for i, part in enumerate(e.args):

        def put_here(new: Expr, e: Expr = e, i: int = i) -> Expr:
            assert e.op is not None
            return put(Expr.applied(e.op, (*e.args[:i], new, *e.args[i + 1 :])))

        yield from _places(part, put_here)


def _whole_sums(e: Expr) -> Iterator[tuple[Expr, Callable[[Expr], Expr]]]:
    """Every sum in a formula that is no part of a longer one."""
    sums = [(part, put) for part, put in _places(e) if part.op is not None and part.op.name in ("add", "sub")]
    parts = {id(x) for whole, _ in sums for x in whole.args}
    yield from ((part, put) for part, put in sums if id(part) not in parts)


def _renamed(names: Mapping[str, Expr]) -> Callable[[Expr], Expr | None]:
    return lambda e: names.get(e.name) if e.op is None and e.name else None


def _whose_factor(factor: Expr) -> Slip:
    if factor.is_constant:
        return CONSTANT
    return CHAIN if factor.name.startswith("d") and "/d" in factor.name else FACTOR
