"""The steps of a graph, as data: forward op by op, then backward in the order the engine itself uses."""

from __future__ import annotations

import functools
from collections import Counter
from typing import Any

import numpy as np

from autograd.backprop import cotangent_for, reach, run_hooks, walk
from autograd.errors import BackwardError
from autograd.formula.formula import Formula
from autograd.formula.pieces import plain_text, shown
from autograd.graph import topological
from autograd.recording import Scope
from autograd.stepping.wording import Words
from autograd.value import Value

FORWARD, BACKWARD = "forward", "backward"
ORDINALS = ("first", "second", "third")


class Contribution:
    """What one step adds to the gradient of one input.

    parent      the input, a Value
    rule        in symbols, `g` being the gradient that arrives: `g * b`
    symbols     the same with every gradient's own symbol: `∂L/∂a += ∂L/∂c * b`
    numbers     the same in numbers: `0.5 × 3 = 1.5`, with `≈` where only the unrounded numbers lead there
    value       what is added
    before      the parent's gradient so far, None before the first contribution
    total       the parent's gradient with this contribution
    path, paths this is the `path`-th of `paths` contributions that meet at the parent
    """

    def __init__(self, step: Step, parent: Value, value: Any, before: Any, total: Any, path: int, paths: int) -> None:
        self.step, self.parent = step, parent
        self.value, self.before, self.total = value, before, total
        self.path, self.paths = path, paths

    @functools.cached_property
    def place(self) -> int:
        """Which operand the parent was; -1 where a whole module contributes at once."""
        if self.step.module is not None:
            return -1
        earlier = [other for other in self.step.contributions if other.parent is self.parent].index(self)
        inputs, rules = self.step.node.inputs, self.step.rules
        return [i for i, x in enumerate(inputs) if x is self.parent and rules[i] is not None][earlier]

    @functools.cached_property
    def whole_formula(self) -> Formula | None:
        """The rule as a formula; None where a whole module contributes at once."""
        return self.step.rules[self.place] if self.place >= 0 else None

    @functools.cached_property
    def _named(self) -> tuple[Formula | None, list[tuple[str, Formula]]]:
        whole = self.whole_formula
        return (None, []) if whole is None else self.step.words.named_parts(whole)

    @property
    def formula(self) -> Formula | None:
        """The rule, with the repeated parts of a long one named; `parts` says what they are."""
        return self._named[0]

    @property
    def parts(self) -> list[tuple[str, Formula]]:
        return self._named[1]

    @functools.cached_property
    def rule(self) -> str:
        if self.formula is None:
            return f"all that {self.step.name} sends"
        return ", ".join([self.formula.in_terms_of_g, *self._named_parts])

    @functools.cached_property
    def symbols(self) -> str:
        return ", ".join(self.rule_and_parts)

    @property
    def rule_and_parts(self) -> list[str]:
        """What is added to which gradient, in symbols; then the parts that have a name there: `u = w * v`."""
        right = f"all that {self.step.name} sends" if self.formula is None else self.formula.text
        return [f"{self.step.words.slope(self.parent)} += {right}", *self._named_parts]

    @property
    def _named_parts(self) -> list[str]:
        return [f"{name} = {part.text}" for name, part in self.parts]

    @functools.cached_property
    def numbers(self) -> str:
        if self.formula is None or self.formula.is_operand:
            return shown(self.value)
        return plain_text(self.formula.equation(self.value))

    @property
    def now(self) -> str:
        """The running total: `now 2 → 3.5`, or `now 1.5` at the first contribution."""
        start = "" if self.before is None else f"{shown(self.before)} → "
        return f"now {start}{shown(self.total)}"

    @property
    def via(self) -> str:
        """The path: the result that sends it, and as which operand where it sends twice."""
        return f"{self.step.name}, operand {self.place + 1}" if self._twice else self.step.name

    @property
    def operand(self) -> str:
        """The parent by its name; `first v` in `v * v`, where a partial derivative is by one of several operands."""
        name = self.step.words.name(self.parent)
        if not self._twice:
            return name
        before = sum(x is self.parent for x in self.step.node.inputs[: self.place])
        return f"{ORDINALS[before]} {name}" if before < len(ORDINALS) else f"{name}, operand {self.place + 1}"

    @property
    def _twice(self) -> bool:
        """Does the step send to the same parent more than once, as to one operand and another?"""
        return self.place >= 0 and sum(other.parent is self.parent for other in self.step.contributions) > 1

    def entry(self, *index: int) -> str:
        """The arithmetic of one entry: `0 × 0 + 0.5 × 0.1 = 0.05`."""
        value = np.asarray(self.value)
        try:
            number = value[index]
        except IndexError:
            number = None
        if number is None or np.ndim(number):
            raise IndexError(
                f"entry{index}: the contribution to {self.step.words.name(self.parent)} has shape {value.shape}; "
                f"give {value.ndim} whole numbers within it"
            )
        place = tuple(i % n for i, n in zip(index, value.shape))
        spelled = self.formula.entry(place) if self.formula else None
        result = number.item()
        return plain_text(spelled.equation(result)) if spelled is not None else f"= {shown(result)}"

    def __repr__(self) -> str:
        return f"<{self.symbols} = {self.numbers}, {self.now}>"


class Step:
    """One step: an op computed (`kind` "forward"), or one application of the chain rule ("backward").

    `incoming` is the gradient that arrives, `contributions` what goes out, in operand order; a forward step
    has neither. A folded module is one step: `nodes` are then all its nodes, and `node` its result.
    """

    contributions: tuple[Contribution, ...] = ()

    def __init__(
        self, words: Words, kind: str, node: Value, incoming: Any = None, module: Scope | None = None,
        nodes: tuple[Value, ...] = (),
    ) -> None:  # fmt: skip
        self.words, self.kind, self.node, self.incoming = words, kind, node, incoming
        self.module = module
        self.nodes = nodes or (node,)
        self.index = -1  # among all steps
        self.number = self.count = 0  # "10 of 11" among those of its kind

    @property
    def name(self) -> str:
        """What the step's card is called."""
        return (self.module.path or self.module.kind) if self.module is not None else self.words.name(self.node)

    @property
    def title(self) -> str:
        """`Backward 10 of 11`"""
        return f"{self.kind.capitalize()} {self.number} of {self.count}"

    @property
    def reading(self) -> str:
        """`K = X @ WK`"""
        if self.module is not None:
            kind = f"  {self.module.kind}" if self.module.kind != self.name else ""
            return f"{self.name}{kind}, {len(self.nodes)} operation{'s' * (len(self.nodes) != 1)}"
        return self.words.reading(self.node)

    @property
    def value(self) -> Any:
        """What the node holds."""
        return self.words.data(self.node)

    @functools.cached_property
    def formula(self) -> Formula | None:
        """How the node was made; None for a folded module."""
        return None if self.module is not None else self.words.made(self.node)

    @functools.cached_property
    def rules(self) -> list[Formula | None]:
        return self.words.rules(self.node, self.incoming)

    @property
    def numbers(self) -> str:
        """The forward step in numbers: `2 × 3 = 6`."""
        if self.formula is None or self.formula.is_operand:
            return shown(self.value)
        return plain_text(self.formula.equation(self.value))

    def __str__(self) -> str:
        from autograd.stepping.terminal import describe

        return describe(self)

    def __repr__(self) -> str:
        return f"<Step {self.index}: {self.title.lower()}, {self.reading}>"


class Walk:
    """Every number of a forward and a backward pass, computed without touching any `.grad`."""

    def __init__(self, root: Value, cotangent: Any = None, backward: bool = True) -> None:
        self.root = root
        if backward and cotangent is None:
            _refuse_array(root)
        self.seed = cotangent_for(root, cotangent) if backward else None
        self.order = reach(root) if backward else []
        self.nodes = topological(root)
        self.data = {node: np.array(node.data) for node in self.nodes if _may_change(node)}
        self.incoming: dict[Value, Any] = {root: self.seed} if backward else {}  # each node's whole gradient
        self.sent: list[tuple[Value, Value, Any, Any, Any]] = []  # node, parent, value, before, total
        self._run()
        self.paths = Counter(parent for _, parent, *_ in self.sent)

    def _run(self) -> None:
        def note(node: Value, g: Any, parent: Value, value: Any, before: Any, total: Any) -> None:
            self.sent.append((node, parent, value, before, total))

        with np.errstate(all="ignore"):
            results = walk(self.order, {self.root: self.seed}, watch=note)
        self.incoming |= {node: g for node, g in zip(self.order, results) if g is not None}
        self._finish_leaves()

    def _finish_leaves(self) -> None:
        """Hooks of leaves run last, as in `backward`."""
        for index in range(len(self.sent) - 1, -1, -1):
            node, parent, value, before, total = self.sent[index]
            if parent.op is None and parent not in self.incoming:
                if parent._note is not None and parent._note.hooks:
                    total = run_hooks(parent, total)
                    self.sent[index] = (node, parent, value, before, total)
                self.incoming[parent] = total

    def steps(self, words: Words) -> list[Step]:
        """One step an op: forward oldest first, then backward newest first."""
        forward = [Step(words, FORWARD, node) for node in self.nodes if node.op is not None]
        by_node: dict[Value, Step] = {}
        for node in self.order:
            if node in self.incoming:
                by_node[node] = Step(words, BACKWARD, node, self.incoming[node])
        seen: Counter[Value] = Counter()
        given: dict[Value, list[Contribution]] = {}
        for node, parent, value, before, total in self.sent:
            seen[parent] += 1
            made = Contribution(by_node[node], parent, value, before, total, seen[parent], self.paths[parent])
            given.setdefault(node, []).append(made)
        for node, step in by_node.items():
            step.contributions = tuple(given.get(node, ()))
        return numbered(forward + list(by_node.values()))


def numbered(steps: list[Step]) -> list[Step]:
    """Tells each step its place."""
    counts = Counter(step.kind for step in steps)
    seen: Counter[str] = Counter()
    for index, step in enumerate(steps):
        seen[step.kind] += 1
        step.index, step.number, step.count = index, seen[step.kind], counts[step.kind]
    return steps


def _refuse_array(root: Value) -> None:
    """Backprop from an array has no gradient to start from; say so in the words of `step`."""
    if isinstance(root, Value) and root.requires_grad and root.size != 1:
        name = root.name if root.name and root.name.isidentifier() else "v"
        raise BackwardError(
            f"{root._called()} is not a scalar (shape {root.shape}), so backprop has no gradient to start from. Write "
            f"step({name}.sum()), or give one: step({name}, grad=np.ones({root.shape})). The forward pass alone is "
            f"step({name}, backward=False)"
        )


def _may_change(node: Value) -> bool:
    """Numbers that an edit of a leaf could reach: the leaf's own, and views into them."""
    return isinstance(node.data, np.ndarray) and (node.op is None or node.data.base is not None)
