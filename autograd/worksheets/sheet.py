"""A worksheet: every line of a graph's forward and backward pass as a blank to fill in by hand."""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from fnmatch import fnmatchcase
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from autograd.drawing.roles import Roles
from autograd.engine import Value, reach
from autograd.errors import DataError, counted
from autograd.expr import Expr
from autograd.formula.lines import descended
from autograd.formula.scalars.program import FORWARD, scalar_program
from autograd.formula.scalars.tables import Program, Scalar, Table
from autograd.formula.writers.maths import GREEK
from autograd.formula.writers.python import python_text
from autograd.graph import topological
from autograd.saving.files import save_by_ending, write_whole
from autograd.version import __version__

from .exact import as_decimal, as_text, fraction_of
from .hints import Hints
from .marking.intervals import ONE, CannotJudge, Interval, evaluate
from .mathematics import Mathematics
from .parts import SECTIONS, UPDATE, Blank, Part, Step, as_slope, exact_text, place_in_words, shown
from .plan import Line, Plan, book_names, in_book, plain
from .prepare import constants, prepared

LEVELS = ("steps", "entries", "ops")  # of a derivation; a sheet asks entry by entry, so the first two are one
ENTRIES, MATRICES = "entries", "matrices"  # what one blank is
OPTIONS = {"level": "steps", "forward": True, "backward": True, "blanks": ENTRIES, "eta": 0.1, "only": None,
           "decimals": None, "names": None}  # which numbers are asked: a file says what differs from this
MOST_BLANKS = 20_000
MOST_TERMS = 300  # in one line
UNDECIDED = Decimal("1e-20")  # no rounding is so wide: intervals cannot say which of two equal numbers is larger
MASKED = "·"  # in place of an infinite number
LONG = 10  # characters from which a given number is too long to work with by hand
MOST_LISTED = 12  # names in a message
PLACES = re.compile(r"\[\d+\]|(?<=[a-zOP])\d(?!\w)")  # the row in scaled[1], the number of an example in ctx1
MORE_DIGITS = 2  # than the sheet asks for: of results that are given


class Worksheet:
    """A sheet: `steps` of `blanks`, what is given, and checks that a learner can do. See `worksheet`."""

    def __init__(
        self, program: Program, *, title: str = "", digits: int = 4, forward: bool = True, backward: bool = True,
        level: str = "steps", blanks: str = "entries", only: list[str] | None = None, eta: float = 0.1,
        hints: bool = True, variant: int = 0, source: str = "", options: Mapping[str, Any] | None = None,
        plan: Plan | None = None, in_book: bool = False,
    ) -> None:  # fmt: skip
        self.plan, self.in_book = plan, in_book
        self.program, self.digits, self.eta, self.eta_name = program, digits, eta, ""
        self.hints, self.variant, self.level, self.per_matrix = hints, variant, level, blanks == MATRICES
        self.quality: dict[str, float] = {}  # of a variant's numbers
        self.title, self.source, self.options = title or "Worksheet", source, dict(options or {})
        self._forward, self._backward = forward, backward
        self._only = only
        self.numbers: dict[str, Interval] = {}  # every id's exact number
        self.exprs: dict[str, Expr] = {}
        self._fractions: dict[str, Fraction] = {}  # of the numbers that are exact
        self.rounded: dict[str, Interval] = {}  # lines that are given: what their printed digits stand for
        self.not_computed: set[str] = set()  # lines that intervals cannot compute to the last digit
        self.steps: list[Step] = []
        self.givens: list[Table] = [*program.inputs, *([] if plan else constants(program.words))]
        for table in program.inputs:
            for name, value in zip(table.ids.flat, table.values.flat, strict=True):
                if not np.isfinite(value):
                    raise DataError(f"{name} is {value}: nobody can compute with it by hand. Change the inputs")
                self.numbers[name] = Interval.exactly(repr(float(value)))
                self._fractions[name] = Fraction(repr(float(value)))
        self._inline: dict[str, Expr] = {}
        self._lines: dict[str, Line] = {}  # of the plan, by table
        self._build()
        self.blanks: list[Blank] = [blank for step in self.steps for blank in step.blanks]
        self._refuse_odd_sheets()
        self.by_id: dict[str, Blank] = {blank.id: blank for blank in self.blanks}

    # --- building ------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        hints = Hints(self.program, steps=self.level == "steps")
        waiting: list[tuple[Table, list[Scalar]]] = []
        planned = {line.name for line in self.plan.lines} if self.plan else set()
        found: dict[str, list[Scalar]] = {}
        for table in [*self.program.tables, *self._updates()]:
            lines = found[table.name] = list(table.lines())
            for line in lines:
                if line.formula.op is None and not line.formula.name and not np.isfinite(line.value):
                    continue  # a masked score: nothing to write
                line.formula = self._opened(line.formula)
                self._compute(line)
            if self.plan and table.name in planned:
                continue
            if self.plan or (table.kind == "step" and self.level == "ops"):
                self._inline.update((line.id, line.formula) for line in lines)
                continue
            if not self._is_asked(table):
                self.givens.append(table)
                self._round(line.id for line in lines if line.id in self.numbers)
                continue
            waiting.append((table, lines))
            if table.kind != "step":
                self._add_step(waiting, hints)
                waiting = []
        if self.plan is not None:
            self._follow(self.plan, {table.name: table for table in self.program.tables}, found)

    def _follow(self, plan: Plan, tables: dict[str, Table], lines: dict[str, list[Scalar]]) -> None:
        """The steps of a plan, in its order and words."""
        inputs = {table.name: table for table in self.program.inputs}
        self.givens = [inputs[name] for name in plan.givens]
        for table in self.givens:
            table.label = GREEK.get(table.name, table.name)
        for passage in plan.passages:
            step = Step(
                len(self.steps) + 1, passage.phase, passage.title, passage.part, passage.says, passage.taught
            )  # fmt: skip
            for line in passage.lines:
                table = tables[line.name]
                self._lines[table.name] = line
                table.phase, table.kind = passage.phase, "value" if passage.phase == FORWARD else "step"
                if not self._is_asked(table):
                    self.givens.append(table)
                    self._round(each.id for each in lines[line.name])
                    continue
                part = Part(table, self._said(line.formula), step, self._called(table), line.decimals)
                asked = [each for each in lines[line.name] if line.asked is None or each.index in line.asked]
                part.blanks = [self._blank(each, part) for each in asked]
                step.parts.append(part)
            if step.parts:
                self.steps.append(step)

    def _said(self, text: str) -> str:
        return in_book(text, self.plan.names if self.plan else None) if self.in_book else text

    def _called(self, table: Table) -> str:
        """What stands before a table's blanks."""
        own = table.label if table.kind == "step" and self.plan is None else table.name
        return as_slope(book_names(table, self._lines.get(table.name))[0][0] if self.in_book else own)

    def _opened(self, formula: Expr) -> Expr:
        if not self._inline:
            return formula
        return formula.replaced(lambda e: self._inline.get(e.name) if e.op is None and e.name else None)

    def _compute(self, line: Scalar) -> None:
        if not np.isfinite(line.value):
            raise DataError(
                f"{line.id} = {line.text} is {line.value}: that cannot be written into a blank. Change the inputs"
            )
        _refuse_long(line)
        fraction = fraction_of(line.formula, self._fractions)
        if fraction is not None:
            self._fractions[line.id] = fraction
        exact = None if fraction is None else as_decimal(fraction)
        try:
            number = evaluate(line.formula, self.numbers, lambda x: Interval.exactly(exact_text(x)))
        except (CannotJudge, KeyError):
            number = None
        if number is None or number.width > UNDECIDED * max(number.size, ONE) or (
            exact is not None and number.middle != exact and Fraction(exact) == fraction  # 2, not 2.00…01
        ):
            number = Interval.exactly(repr(line.value) if exact is None else exact)
            self.not_computed.add(line.id)
        self.numbers[line.id] = number
        self.exprs[line.id] = line.formula

    def _round(self, names: Iterable[str]) -> None:
        for name in names:
            exact = self.numbers[name]
            value = Decimal(0) if exact.low <= 0 <= exact.high else exact.middle
            text = Decimal(shown(value, self.digits + MORE_DIGITS))
            half = Decimal(5).scaleb(value.adjusted() - self.digits - MORE_DIGITS) if value and text != value else 0
            self.rounded[name] = Interval.exactly(text).wider(Decimal(half))

    def _is_asked(self, table: Table) -> bool:
        wanted = self._forward if table.phase == FORWARD else self._backward
        if self._only is None or not wanted:
            return wanted
        name = self.program.words.name(table.owner)
        path = table.owner.scope.path if table.owner.scope is not None else ""
        stem = table.name.partition("[")[0]
        # A result without a name belongs to the module that made it.
        names = (table.name, name, f"{path}.{name}", stem, in_book(stem))
        return any(fnmatchcase(name, pattern) for name in names for pattern in self._only)

    def _add_step(self, tables: list[tuple[Table, list[Scalar]]], hints: Hints) -> None:
        last = tables[-1][0]
        step = Step(len(self.steps) + 1, last.phase, self._said(as_slope(last.name)), SECTIONS[last.phase])
        for table, lines in tables:
            part = Part(table, self._said(hints.of(table)), step, self._called(table) if self.in_book else "")
            for line in lines:
                if line.id in self.numbers:
                    part.blanks.append(self._blank(line, part))
            step.parts.append(part)
        self.steps.append(step)

    def _blank(self, line: Scalar, part: Part) -> Blank:
        exact = self.numbers[line.id]
        answer = 0.0 if exact.low <= 0 <= exact.high else float(exact.middle)
        what = f"{part.called or as_slope(part.name)} = {part.symbols}"
        what = f"{place_in_words(line.index)} of {what}" if line.index else what
        fraction = self._fractions.get(line.id)
        plain = line.formula.replaced(self._plain_rate)
        operands = tuple(dict.fromkeys(e.name for e in plain.symbols()))
        return Blank(
            line.id, what, python_text(plain), operands, answer, fraction, line.formula, exact, part, line.index
        )

    def _plain_rate(self, e: Expr) -> Expr | None:
        """η as its number: it is no entry of a table, and a formula must be computable from those alone."""
        return Expr.number(float(self.eta)) if e.is_symbol and e.name == self.eta_name else None

    def _updates(self) -> list[Table]:
        """W_new = W - η ∂L/∂W for every parameter that has a gradient."""
        if not self._backward or not self.program.gradients:
            return []
        role = Roles(topological(self.program.root), self.program.words.names)
        used = {table.name for table in (*self.program.inputs, *self.program.tables)}
        self.eta_name = next(name for name in ("eta", "lr", "rate", "step_size") if name not in used)
        found = []
        for given in self.program.inputs:
            slopes = self.program.gradients.get(given.owner)
            if slopes is None or role(given.owner) != "parameter" or given.owner is self.program.root:
                continue
            name, eta = f"{given.name}_new", Expr(self.eta_name, self.eta)
            formulas = np.empty(given.shape, object)
            for index in np.ndindex(given.shape):
                formulas[index] = descended(given.symbols[index], slopes[index], eta)
            values = np.array([e.value for e in formulas.flat], dtype=float).reshape(given.shape)
            found.append(Table(name, name, UPDATE, UPDATE, given.owner, values, formulas))
        if found:
            rate = np.asarray(self.eta, dtype=float)
            self.givens.append(Table(self.eta_name, "η", "input", FORWARD, self.program.root, rate))
            self.numbers[self.eta_name] = Interval.exactly(repr(float(self.eta)))
            self._fractions[self.eta_name] = Fraction(repr(float(self.eta)))
        return found

    def _refuse_odd_sheets(self) -> None:
        if not self.blanks and self._only is not None:
            names = [table.name for table in self.program.tables if table.kind != "step"]
            listed = ", ".join(names[:MOST_LISTED]) + (" ..." if len(names) > MOST_LISTED else "")
            raise DataError(f"only={self._only!r} leaves no blank on this sheet; it has {listed or 'no results'}")
        if not self.blanks:
            raise DataError(
                "this sheet has no blanks: the root is a leaf, or forward=False and backward=False leave nothing to "
                "work out. Give a Value that was computed from others, such as a loss"
            )
        _refuse_large(len(self.blanks))

    def given_text(self, table: Table, index: tuple[int, ...]) -> str:
        """A given number as the sheet prints it."""
        value, name = float(table.values[index]), table.ids[index]
        if not np.isfinite(value):
            return MASKED
        if name in self.rounded:
            return shown(self.rounded[name].middle, self.digits + MORE_DIGITS)
        exact = Decimal(repr(value))
        return shown(exact, max(1, len(exact.as_tuple().digits)))

    @property
    def shorter(self) -> int | None:
        """To how many decimals to round leaves that are too long for hands, so that no table becomes all 0; or None."""
        leaves = [t for t in self.givens if t.kind == "input"]
        if not any(len(self.given_text(t, i)) > LONG for t in leaves for i in np.ndindex(t.shape)):
            return None
        largest = [float(np.max(np.abs(t.values), initial=0.0)) for t in leaves]
        return max([1, *(-math.floor(math.log10(x)) for x in largest if 0 < x < math.inf)])

    # --- what is on it -------------------------------------------------------------------------------------------

    @functools.cached_property
    def checks(self) -> list[str]:
        """What a learner can check without the key: the plan's, or tables whose rows add up to a known number."""
        if self.plan is not None:
            return [self._said(check) for check in self.plan.checks]
        asked = {part.name: part for step in self.steps for part in step.parts}
        found = []
        for part in asked.values():
            node, through = part.table.owner, part.table.through
            total = None
            if part.table.kind == "value" and node.op is not None:
                total = node.op.about.total
            elif part.table.kind == "gradient" and through is not None and through.op and through.inputs[0] is node:
                total = through.op.about.slope_total
            if total is not None:
                found.append(f"{part.label}: each row adds up to {total:g}")
        return found

    @functools.cached_property
    def weights(self) -> dict[str, float]:
        """What each step counts, by its name. An idea counts 1, shared by the steps that use it: three products with
        three matrices are one idea, softmax is another, its backward rule a third."""
        ideas = Counter(step.idea for step in self.steps if step.blanks)
        return {step.name: 1 / ideas[step.idea] for step in self.steps if step.blanks}

    @functools.cached_property
    def identity(self) -> str:
        """A short hash of the sheet: its formulas, its given numbers, the digits asked for."""
        given = {table.name: [repr(float(x)) for x in table.values.flat] for table in self.givens}
        lines = [(blank.id, blank.formula) for blank in self.blanks]
        whole = json.dumps([given, lines, self.digits, repr(self.eta)], sort_keys=True)
        return hashlib.sha256(whole.encode()).hexdigest()[:10]

    @property
    def labels(self) -> dict[str, str]:
        """What every file of answers carries: which sheet it belongs to."""
        return {
            "sheet": self.identity, "variant": str(self.variant), "digits": str(self.digits), "source": self.source,
            "options": json.dumps(self.options, ensure_ascii=False) if self.options else "",
        }  # fmt: skip

    def key_text(self, blank: Blank) -> str:
        """The right number as a key prints it: 0.3333 (1/3)."""
        exact = as_text(blank.fraction) if blank.fraction is not None else ""
        return f"{blank.key_text(self.digits)}{f' ({exact})' if exact else ''}"

    @functools.cached_property
    def book(self) -> dict[str, list[str]]:
        """What the book calls each table and each blank, where that differs from our name."""
        parts = [part for step in self.steps for part in step.parts]
        found = {}
        for part in parts:
            stems, entries = book_names(part.table, self._lines.get(part.name))
            for ours, theirs in [(part.name, stems), *zip(part.table.ids.flat, entries, strict=True)]:
                if theirs != [ours] and (ours in self.by_id or ours == part.name):
                    found[ours] = theirs
        return found

    @functools.cached_property
    def read_as(self) -> dict[str, str]:
        """Our name for each name of the book, as it may be typed."""
        ours = {part.name for step in self.steps for part in step.parts} | set(self.by_id)
        return {key: name for name, theirs in self.book.items() for key in map(plain, theirs) if key not in ours}

    def called(self, name: str) -> str:
        """A blank's id as this sheet prints it."""
        return self.book.get(name, [name])[0] if self.in_book else name

    def entry_name(self, blank: Blank) -> str:
        """The name of its own that the book gives an entry, p₀ or logit(A), if it does."""
        line = self._lines.get(blank.part.name)
        return as_slope(self.book[blank.id][0]) if line is not None and line.entries else ""

    def line_of(self, blank: Blank) -> str:
        """How a blank is computed, in the names of this sheet."""
        return Mathematics().write(blank.expr.replaced(self._as_called))

    def _as_called(self, e: Expr) -> Expr | None:
        return Expr("η" if e.name == self.eta_name else self.called(e.name), e.value) if e.is_symbol else None

    def formula_of(self, blank: Blank) -> str:
        """The same; "" on a sheet without hints."""
        return self.line_of(blank) if self.hints else ""

    @property
    def names_in_words(self) -> str:
        """`ctx = context, attn = weights (entries p₀, p₁)`: what the book of a plan calls otherwise, without places and
        numbers."""
        pairs: dict[tuple[str, str], str] = {}
        for line in self.plan.lines if self.plan else ():
            single = line.entries[0] if len(line.entries) == 1 else ""
            theirs = single or PLACES.sub("", line.book or in_book(line.name))
            names = as_slope(PLACES.sub("", line.name)), as_slope(theirs)
            own = [as_slope(name) for name in line.entries if name.partition("(")[0] not in (line.name, line.book)]
            entries = f" (entries {', '.join(own)})" if own and not single else ""
            if names[0] != names[1] or entries:
                pairs.setdefault(names[::-1] if self.in_book else names, entries)
        return ", ".join(f"{a if a == b else f'{a} = {b}'}{entries}" for (a, b), entries in pairs.items())

    @property
    def sections(self) -> list[tuple[str, list[Step]]]:
        """The headings in order, and the steps below each."""
        return [(title, list(steps)) for title, steps in itertools.groupby(self.steps, lambda step: step.section)]

    @property
    def task(self) -> str:
        """What is to be done, and how exact."""
        exact = "a number that is exact may be shorter"
        if self.plan is None:
            return f"Work out every blank, in order. Write {self.digits} significant digits; {exact}."
        return f"{self.plan.task} Write as many decimals as each step says; {exact}."

    @property
    def score(self) -> str:
        """How good the numbers of a variant are, in words; "" for the graph's own."""
        return ", ".join(f"{name} {share:.0%}" for name, share in self.quality.items())

    @property
    def asked(self) -> str:
        """Which part of the graph is asked: `4 blanks: only Q`; "" where all of it is."""
        only = f"only {', '.join(self._only)}" if self._only is not None else ""
        phase = "" if self._forward and self._backward else f"the {'for' if self._forward else 'back'}ward pass"
        parts = ", ".join(filter(None, (only, phase)))
        return f"{counted(len(self.blanks), 'blank')}: {parts}" if parts else ""

    @property
    def footer(self) -> str:
        """What every file of this sheet carries."""
        return " · ".join(filter(None, (f"handgrad {__version__}", f"sheet {self.identity}", *self.kind)))

    @property
    def kind(self) -> list[str]:
        """Which variant, and how many digits, where one number says it."""
        variant = [f"variant {self.variant}"] if self.variant else []
        return variant if self.plan else [*variant, counted(self.digits, "digit")]

    def __len__(self) -> int:
        return len(self.blanks)

    def __getitem__(self, name: str) -> Blank:
        if name not in self.by_id:
            raise KeyError(f"{name!r} is not a blank of this sheet; the first is {self.blanks[0].id!r}")
        return self.by_id[name]

    def __repr__(self) -> str:
        return f"<Worksheet {self.identity}: {len(self.steps)} steps, {len(self.blanks)} blanks>"

    # --- faces ---------------------------------------------------------------------------------------------------

    def markdown(self, answers: bool = False) -> str:
        """The sheet as Markdown; with `answers`, the key."""
        from .writers.plain import markdown

        return markdown(self, answers)

    def csv(self, answers: bool = False) -> str:
        """A table to fill in: id, what it is, its formula, and an empty column `answer`."""
        from .writers.plain import csv_text

        return csv_text(self, answers)

    def html(self, answers: bool = False, check: bool = True, *, fields: bool = True, paper: str = "auto") -> str:
        """A page that prints on A4 and Letter.

        answers   the key
        check     the page marks what is typed, as `grade` does; it can then be solved from its source. With
                  check=False it holds no key and only keeps and exports what is typed
        fields    False: paper alone, with nothing to type into
        paper     "A4" or "Letter"; "auto" is the printer's own
        """
        from .writers.page import html

        return html(self, answers, check, fields, paper)

    def xlsx(self, path: str | Path, answers: bool = False) -> Path:
        """A workbook: blank, or with a formula in every cell."""
        from .writers.workbook import workbook

        write_whole(Path(path), workbook(self, answers))
        return Path(path)

    def moodle(self) -> str:
        """Moodle XML, one Cloze question a step."""
        from .writers.moodle import moodle_xml

        return moodle_xml(self)

    def save(
        self, path: str | Path, answers: bool = False, check: bool = True, *, paper: str | None = None
    ) -> Path:
        """Write the sheet, or with `answers` its key, as .html, .pdf, .md, .csv, .xlsx or .xml (Moodle).

        check and paper are those of `html`; with a paper, a page has nothing to type into.
        """
        from .writers.page import pdf
        from .writers.workbook import workbook

        contents: dict[str, Callable[[], str | bytes]] = {
            ".html": lambda: self.html(answers, check, fields=not paper, paper=paper or "auto"),
            ".pdf": lambda: pdf(self.html(answers, fields=False, paper=paper or "A4")),
            ".md": lambda: self.markdown(answers),
            ".csv": lambda: self.csv(answers).encode("utf-8-sig"),  # a spreadsheet takes other CSV for Latin-1
            ".xlsx": lambda: workbook(self, answers),
            ".xml": self.moodle,
        }
        return save_by_ending(Path(path), contents, "a sheet")


def _refuse_large(blanks: int) -> None:
    if blanks > MOST_BLANKS:
        raise DataError(
            f"{blanks:,} blanks and more are too many for hands; a sheet has at most {MOST_BLANKS:,}. Take a smaller "
            'model, or ask for part of it: only=["blocks.0.*"], on the command line --only "blocks.0.*"'
        )


def _refuse_long(line: Scalar) -> None:
    e, terms = line.formula, 1
    while e.args:  # a sum is nested to the left
        e, terms = e.args[0], terms + 1
    if terms > MOST_TERMS:
        raise DataError(
            f"{line.id} is one line of {terms:,} terms; a sheet has at most {MOST_TERMS} in one. Take fewer numbers, "
            "or add them in parts: the rows first, then their sums"
        )


MOST = 20_000  # results, up to which a sheet is made within a minute


def worksheet(
    root: Value, *, digits: int = 4, backward: bool = True, level: str = "steps", forward: bool = True,
    blanks: str = "entries", only: str | Iterable[str] | None = None, eta: float = 0.1, hints: bool = True,
    decimals: int | None = None, title: str = "", variant: int = 0, names: Mapping[str, Any] | str | None = None,
    source: str = "", plan: Plan | None = None,
) -> Worksheet:  # fmt: skip
    """A sheet to work out by hand, from any graph: the forward pass, the backward pass, one step of descent.

    digits      significant digits asked for; a number that is exact may be shorter
    backward    False: the forward pass alone. forward=False gives its numbers and asks for the gradients
    level       "steps" or "entries": fused ops as their named steps; "ops": one line a result
    blanks      "entries": one blank a number; "matrices": one blank a matrix, whose shape is then part of the question
    only        the name or pattern of what is asked, or several (["attn", "dL/d*"]); the rest is given
    eta         the learning rate of the updates
    hints       whether the sheet shows how each step is computed
    decimals    round every given number to so many decimals first: random weights have too many to work with by hand
    names       "book": the names that the worked examples' book has for ours; `grade` reads either. Or a dict of names
    plan        the steps in an order and in words of your own: see `autograd.worksheets.plan`
    source      what the sheet was made from ("example3"), which its files carry, so that `handgrad grade` finds it

    >>> x, w = Value(2.0, name="x", requires_grad=False), Value(-0.5, name="w")
    >>> sheet = worksheet((x * w).tanh())
    >>> for blank in sheet.blanks:
    ...     print(f"{blank.id:8} {blank.formula:25} {blank.answer:.4f}")
    t1       x * w                     -1.0000
    L        tanh(t1)                  -0.7616
    dL/dt1   1 - L ** 2                0.4200
    dL/dw    dL/dt1 * x                0.8399
    w_new    w - 0.1 * dL/dw           -0.5840
    """
    if not isinstance(root, Value):
        raise DataError(f"worksheet takes the Value at the end of a graph, such as a loss; got {root!r:.60}")
    if level not in LEVELS:
        raise DataError(f'worksheet: level is "steps", "entries" or "ops"; got {level!r}')
    if blanks not in (ENTRIES, MATRICES):
        raise DataError(f'worksheet: blanks is "entries" or "matrices"; got {blanks!r}')
    if decimals is not None and (isinstance(decimals, bool) or not isinstance(decimals, int) or decimals < 0):
        raise DataError(f"worksheet: decimals is an integer, 0 or more, or None; got {decimals!r}")
    if isinstance(digits, bool) or not isinstance(digits, int) or not 1 <= digits <= 12:
        raise DataError(f"worksheet: digits is an integer from 1 to 12; got {digits!r}")
    if isinstance(eta, bool) or not isinstance(eta, int | float) or not math.isfinite(eta):
        raise DataError(f"worksheet: eta, the learning rate, is a finite number; got {eta!r}")
    if plan is None and (results := len(reach(root))) > MOST:
        raise DataError(
            f"worksheet: this graph has {results:,} results, and a sheet has a line for each. Give a part of it, "
            "worksheet(part), or a smaller example; draw(root) and step(root) show it folded"
        )
    if backward and root.size != 1 and plan is None:
        raise DataError(
            f"worksheet: gradients are of a single number, and this root has shape {root.shape}. Write "
            "worksheet(root.sum()), or backward=False for the forward pass alone"
        )
    level = "steps" if level == "entries" else level
    only = only if only is None else [only] if isinstance(only, str) else list(only)
    asked = {"level": level, "forward": forward, "backward": backward, "blanks": blanks, "eta": eta,
             "only": only, "decimals": decimals, "names": names if isinstance(names, str) else None}  # fmt: skip
    options = {name: x for name, x in asked.items() if x != OPTIONS[name]}
    if isinstance(names, str) and names != "book":
        raise DataError(f'worksheet: names is "book" or a dict from names to Values; got {names!r}')
    opened, given = prepared(root, None if isinstance(names, str) else names, decimals)
    if backward and only is None:  # before a long computation: the gradients of the leaves alone may be too many
        leaves = {x for node in reach(opened) for x in node.parents if x.op is None and x.requires_grad}
        _refuse_large(sum(leaf.size for leaf in leaves))
    program = scalar_program(opened, backward=backward and root.requires_grad and plan is None, names=given)
    return Worksheet(
        program, title=title, digits=digits, forward=forward, backward=backward, level=level, blanks=blanks,
        only=only, eta=eta, hints=hints, variant=variant, source=source, options=options, plan=plan,
        in_book=names == "book",
    )  # fmt: skip
