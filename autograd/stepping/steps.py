"""Steps as data: one op computed, or one application of the chain rule, with all its lines and numbers."""

from __future__ import annotations

import functools
from collections import Counter
from typing import Any

import numpy as np

from autograd.engine import Value
from autograd.expr import Expr
from autograd.formula.digits import Digits
from autograd.formula.lines import Derivation, Line
from autograd.formula.noise import without_noise
from autograd.formula.walk import Walk
from autograd.formula.writers.arithmetic import equals, equation
from autograd.formula.writers.pieces import Number, Piece, plain_text, shown
from autograd.modes import Scope

FORWARD, BACKWARD, UPDATE = "forward", "backward", "update"
ORDINALS = ("first", "second", "third")


class Contribution:
    """What one step adds to the gradient of one input.

    parent      the input, a Value; `twin` is its copy in the stepper's snapshot
    rule        in symbols, `g` being the gradient that arrives: `g * b`; a longer rule as lines, `u = …; p * u`
    symbols     the same with every gradient's own symbol: `∂L/∂a += ∂L/∂c * b`
    numbers     the same in numbers: `0.5 × 3 = 1.5`, with `≈` where the result was rounded
    lines       the named steps of the rule and the contribution itself, as data
    value       what is added
    before      the parent's gradient so far, None before the first contribution
    total       the parent's gradient with this contribution, and after its hooks if it is the last
    left        what a hook made of the sum, if one changed it
    path, paths this is the `path`-th of `paths` contributions that meet at the parent
    """

    def __init__(
        self, step: Step, twin: Value, value: Any, total: Any, noise: tuple[Any, Any] = (0.0, 0.0), left: Any = None
    ) -> None:
        self.step, self.twin, self.value, self.noise = step, twin, value, noise
        self.sum, self.left, self.total = total, left, total if left is None else left
        self.previous: Contribution | None = None  # `numbered` says which, and counts the paths
        self.path = self.paths = 1

    @property
    def parent(self) -> Value:
        return self.step.words.original(self.twin)

    @property
    def before(self) -> Any:
        return None if self.previous is None else self.previous.total

    @functools.cached_property
    def place(self) -> int:
        """Which operand the parent was; -1 where a whole module contributes at once."""
        if self.step.module is not None:
            return -1
        earlier = [other for other in self.step.contributions if other.twin is self.twin].index(self)
        inputs, lines = self.step.twin.inputs, self.step.sent_lines
        return [i for i, x in enumerate(inputs) if x is self.twin and lines[i] is not None][earlier]

    @property
    def others(self) -> list[tuple[str, Any]]:
        """The other inputs of the op, each with its name; a plain number is called on its own."""
        inputs = [x for x in self.step.twin.inputs if x is not None and x is not self.twin]
        return [(self.step.words.name(x) if isinstance(x, Value) else shown(x), x) for x in inputs]

    # --- quantities, for lines and ledgers -----------------------------------------------------------------------

    @functools.cached_property
    def added(self) -> Expr:
        """What is added, as a quantity; where rounding errors are all there is, 0."""
        clean = without_noise(self.value, self.noise[0])
        return Expr(self.step.words.slope(self.twin), clean, is_gradient=True)

    @functools.cached_property
    def summed(self) -> Expr:
        """The total with it, before hooks, as a quantity."""
        if self.before is None:
            return self.added
        return Expr(f"{self.step.words.slope(self.twin)}, total", without_noise(self.sum, self.noise[1]),
                    is_gradient=True)  # fmt: skip

    @property
    def on_card(self) -> Any:
        """The gradient that the parent has with it, after hooks."""
        return self.summed.value if self.left is None else self.left

    @functools.cached_property
    def lines(self) -> list[Line]:
        """The named steps of the rule, then the contribution; none where a whole module contributes at once."""
        lines = self.step.sent_lines[self.place] if self.place >= 0 else None
        if not lines:
            return []
        return [*lines[:-1], Line(self.added, lines[-1].formula)]

    @property
    def line(self) -> Line | None:
        """The contribution's own line."""
        return self.lines[-1] if self.lines else None

    def ledger(self) -> list[Contribution]:
        """This contribution and those before it to the same parent, oldest first."""
        chain: list[Contribution] = []
        entry: Contribution | None = self
        while entry is not None:
            chain.append(entry)
            entry = entry.previous
        return chain[::-1]

    @functools.cached_property
    def sum_line(self) -> Line | None:
        """The running sum: total = total before + what is added; None for the first contribution."""
        return Line(self.summed, self.previous.summed + self.added) if self.previous is not None else None

    @property
    def shows_before(self) -> str:
        """How much of the ledger is shown of the paths before: the "whole" of it where every sum comes out, else their
        total if the "last" sum does, else "none"."""
        if self.sum_line is None or self in self.step._with_ledger[1]:
            return "whole"
        return "last" if self.step.shows_arithmetic(self.sum_line) else "none"

    # --- in words and numbers ------------------------------------------------------------------------------------

    @functools.cached_property
    def rule(self) -> str:
        return "; ".join(self._texts("g"))

    @functools.cached_property
    def symbols(self) -> str:
        return "; ".join([*self._texts("")[:-1], self.own_symbols])

    @property
    def own_symbols(self) -> str:
        """What is added to which gradient, without the lines before it."""
        return f"{self.step.words.slope(self.twin)} += {self._texts('')[-1]}"

    def _texts(self, gradient: str) -> list[str]:
        write = self.step.words.names.written
        if not self.lines:
            return [f"all that {self.step.name} sends"]
        texts = [write(line.formula, gradient) for line in self.lines]
        return [*(f"{line.result.name} = {text}" for line, text in zip(self.lines, texts[:-1])), texts[-1]]

    @functools.cached_property
    def numbers(self) -> str:
        return plain_text(self.pieces())

    def pieces(self) -> list[Piece]:
        """The contribution in numbers, with its result."""
        return self.step.in_numbers(self.line) if self.line is not None else [self.step.printed(self.added)]

    @property
    def now(self) -> str:
        """The running total: `now 2 + 1.5 = 3.5`, or `now 1.5` at the first contribution."""
        return plain_text(["now ", *self.sum_pieces()])

    def sum_pieces(self) -> list[Piece]:
        """The running sum in numbers, the total alone for the first contribution; what a hook then makes of it."""
        line, step = self.sum_line, self.step
        summed: list[Piece] = [step.printed(self.summed)] if line is None else step.in_numbers(line)
        return summed if self.left is None else [*summed, "; a hook makes it ", Number(self.left, is_gradient=True)]

    @property
    def via(self) -> str:
        """The path: the result that sends it, and as which operand where it sends twice."""
        return f"{self.step.name}, operand {self.place + 1}" if self._twice else self.step.name

    @property
    def operand(self) -> str:
        """The parent by its name; `first v` in `v * v`, where a partial derivative is by one of several operands."""
        name = self.step.words.name(self.twin)
        if not self._twice:
            return name
        before = sum(x is self.twin for x in self.step.twin.inputs[: self.place])
        return f"{ORDINALS[before]} {name}" if before < len(ORDINALS) else f"{name}, operand {self.place + 1}"

    @property
    def _twice(self) -> bool:
        """Does the step send to the same parent more than once, as to one operand and another?"""
        return self.place >= 0 and sum(other.twin is self.twin for other in self.step.contributions) > 1

    def entry(self, *index: int) -> str:
        """The arithmetic of one entry: `0 × 0 + 0.5 × 0.1 = 0.05`."""
        value = np.asarray(self.value)
        try:
            number = value[index]
        except IndexError:
            number = None
        if number is None or np.ndim(number):
            raise IndexError(
                f"entry{index}: the contribution to {self.step.words.name(self.twin)} has shape {value.shape}; "
                f"give {value.ndim} integers within it"
            )
        place = tuple(i % n for i, n in zip(index, value.shape))
        if self.line is None:
            return f"= {shown(number.item())}"
        return plain_text(self.step.entry_in_numbers(self.line, place))

    def __repr__(self) -> str:
        return f"<{self.symbols} = {self.numbers}, {self.now}>"


class Step:
    """One step: an op computed (`kind` "forward"), or one application of the chain rule ("backward").

    `incoming` is the gradient that arrives, `contributions` what goes out, in operand order; a forward step
    has neither. `node` is the Value that it is about, and `twin` its copy in the stepper's snapshot. A folded module is
    one step: `twins` are then all its nodes, and `node` is its result.
    """

    contributions: tuple[Contribution, ...] = ()

    def __init__(
        self, words: Derivation, kind: str, twin: Value, incoming: Any = None, module: Scope | None = None,
        twins: tuple[Value, ...] = (), noise: Any = 0.0,
    ) -> None:  # fmt: skip
        self.words, self.kind, self.twin, self.incoming = words, kind, twin, incoming
        self.module = module
        self.twins = twins or (twin,)
        self.noise = noise
        self.starts_hooked = False  # a hook changed the gradient that backprop starts from
        self.arrivals: list[Expr] = []  # of a folded module: the gradients of its exits
        self.index = -1  # among all steps
        self.number = self.count = 0  # "10 of 11" among those of its kind

    @property
    def node(self) -> Value:
        return self.words.original(self.twin)

    @property
    def name(self) -> str:
        """What the step's card is called."""
        return (self.module.path or self.module.kind) if self.module is not None else self.words.name(self.twin)

    @property
    def title(self) -> str:
        """`Backward 10 of 11`"""
        return f"{self.kind.capitalize()} {self.number} of {self.count}"

    @property
    def reading(self) -> str:
        """`K = X @ WK`"""
        if self.module is not None:
            kind = f"  {self.module.kind}" if self.module.kind != self.name else ""
            return f"{self.name}{kind}, {len(self.twins)} operation{'s' * (len(self.twins) != 1)}"
        return self.words.reading(self.twin)

    @functools.cached_property
    def exits(self) -> list[Value]:
        """What leaves a folded module: the results that are used outside, oldest first."""
        inner, users = set(self.twins), self.words.users
        left = [x for x in inner if not inner.issuperset(users[x]) or x is self.words.nodes[-1]]
        return sorted(left, key=lambda node: node.stamp)

    @property
    def value(self) -> Any:
        """What the node holds."""
        return self.words.data(self.twin)

    # --- lines ---------------------------------------------------------------------------------------------------

    @functools.cached_property
    def lines(self) -> list[Line]:
        """Every line of the step, each once; none of a folded module."""
        if self.module is not None:
            return []
        if self.kind == FORWARD:
            return self.words.forward(self.twin)
        found: dict[int, Line] = {}
        for contribution in self.contributions:
            for line in contribution.lines:
                found.setdefault(id(line.result), line)
        return list(found.values())

    @functools.cached_property
    def sent_lines(self) -> list[list[Line] | None]:
        """For each input the lines of what is sent to it, None where nothing is."""
        return self.words.backward(self.twin, self.arrives.value)

    @functools.cached_property
    def arrives(self) -> Expr:
        """The gradient that arrives, as a quantity."""
        return self.words.gradient(self.twin, without_noise(self.incoming, self.noise))

    @property
    def digits(self) -> Digits:
        """How every number of the step is written."""
        return self._with_ledger[0]

    @functools.cached_property
    def _with_ledger(self) -> tuple[Digits, set[Contribution]]:
        """How every number is written, and the contributions of whose ledger every sum comes out. In a long ledger,
        or one of large tables, not all of them do with as many digits as fit: then the last one is shown, for which
        there are enough, because no other sum needs its result. A folded module shows no sums."""
        if self.module is not None:
            return Digits([]), set()
        whole = {contribution for contribution in self.contributions if contribution.previous is not None}
        while True:
            ledgers = {c: c.ledger() if c in whole else [c] for c in self.contributions}
            sums = {c: [e.sum_line for e in ledger if e.sum_line is not None] for c, ledger in ledgers.items()}
            columns = [[q for e in ledgers[c] for q in (e.added, e.summed)] for c in self.contributions if c in whole]
            digits = Digits(self.lines, (line for lines in sums.values() for line in lines), columns)
            failed = {c for c in whole if not all(digits.confirms(line) for line in sums[c] if line.is_shown)}
            if not failed:
                return digits, whole
            whole -= failed

    def printed(self, quantity: Expr) -> Number:
        """A quantity as the step writes it."""
        return Number(quantity.value, quantity.is_gradient, written=self.digits.written(quantity))

    def in_numbers(self, line: Line) -> list[Piece]:
        """A line in numbers, with its result; only that where the numbers cannot show how."""
        return equation(line, self.digits) if self.shows_arithmetic(line) else [self.printed(line.result)]

    def shows_arithmetic(self, line: Line) -> bool:
        """Does the line in numbers say more than its result, and does it come out?"""
        if line.formula.op is None:
            return False
        return not line.is_shown or self.digits.confirms(line)

    def entry_in_numbers(self, line: Line, index: tuple[int, ...]) -> list[Piece]:
        """One entry of a line, spelled out in numbers."""
        whole, number = line.result, float(np.asarray(line.result.value)[index])
        sign, only = equals("=", Number(number, whole.is_gradient, written=self.digits.written(whole)))
        alone: list[Piece] = [f"{sign} ", only]
        if line.entries is None or line.entries[index].op is None:
            return alone
        node = whole if whole.node is None else whole.node
        entry = Line(Expr("entry", number, node=node, is_gradient=whole.is_gradient), line.entries[index])
        digits = self.digits
        if not (digits.confirms(line) and digits.confirms(entry)):  # each entry is then a quantity of its own
            own: dict[str, Expr] = {}
            entry.formula = entry.formula.replaced(
                lambda e: own.setdefault(e.name, Expr(e.name, e.value, is_gradient=e.is_gradient)) if e.name else None
            )
            digits = Digits([entry])
        return equation(entry, digits) if digits.confirms(entry) else alone

    @property
    def numbers(self) -> str:
        """The forward step in numbers: `2 × 3 = 6`; of several lines the last."""
        return plain_text(self.pieces())

    def pieces(self) -> list[Piece]:
        return self.in_numbers(self.lines[-1]) if self.lines else [Number(self.value)]

    def __str__(self) -> str:
        from .faces.terminal import describe

        return describe(self)

    def _repr_html_(self) -> str:
        from .faces.notebook import step_html

        return step_html(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/html": self._repr_html_(), "text/plain": str(self)}

    def __repr__(self) -> str:
        return f"<Step {self.index}: {self.title.lower()}, {self.reading}>"


class Ledger(tuple[Contribution, ...]):
    """Every contribution to one gradient, in the order they were added; they sum to it exactly."""

    twin: Value
    words: Derivation
    total: Any

    def __str__(self) -> str:
        slope = self.words.slope(self.twin)
        lines = [f"{slope} = {'—' if self.total is None else shown(self.total)}"]
        for entry in self:
            lines.append(f"    via {entry.via}: {entry.rule} adds {entry.step.printed(entry.added).text}, {entry.now}")
        return "\n".join(lines)


def steps_of(walk: Walk, words: Derivation) -> list[Step]:
    """One step an op: forward oldest first, then backward newest first."""
    forward = [Step(words, FORWARD, node) for node in walk.nodes if node.op is not None]
    by_node: dict[Value, Step] = {}
    for node in walk.order:
        if node in walk.incoming:
            by_node[node] = Step(words, BACKWARD, node, walk.incoming[node], noise=walk.noise.get(node, 0.0))
            by_node[node].starts_hooked = node is walk.root and node in walk.left
    for sent in walk.sent:
        step = by_node[sent.node]
        step.contributions += (Contribution(step, sent.parent, sent.value, sent.total, sent.noise, sent.left),)
    return numbered(forward + list(by_node.values()))


def numbered(steps: list[Step]) -> list[Step]:
    """Tell each step its place, and each contribution its place among those to the same gradient."""
    counts = Counter(step.kind for step in steps)
    seen: Counter[str] = Counter()
    latest: dict[Value, Contribution] = {}
    for index, step in enumerate(steps):
        seen[step.kind] += 1
        step.index, step.number, step.count = index, seen[step.kind], counts[step.kind]
        for one in step.contributions:
            one.previous = latest.get(one.twin)
            one.path = one.previous.path + 1 if one.previous else 1
            latest[one.twin] = one
    for step in steps:
        for one in step.contributions:
            one.paths = latest[one.twin].path
    return steps
