"""The edges of a drawing: between which cards they run, what stands on them, and how much gradient went along."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from autograd.engine import Value, contributions
from autograd.expr import Expr
from autograd.formula.digits import Digits
from autograd.formula.lines import Line
from autograd.formula.name_sources import name_in_op, operands_of
from autograd.formula.names import Label, Names
from autograd.formula.numbers import norm, rough, short
from autograd.formula.text import PRIME
from autograd.formula.writers.arithmetic import equation
from autograd.formula.writers.pieces import plain_text, shown
from autograd.gradients import edited_inputs
from autograd.repeats import Repeat

from .folding.words import accumulates
from .groups import Folded
from .options import Options
from .scene import Edge, Legend

WIDEST, DECADE, THINNEST = 10.0, 1.7, 1.5  # pixels: the largest norm, one power of ten less, the least
NO_GRADIENT = "no gradient yet: call backward() first"


class Edges:
    """The edges of one graph, in order of computation.

    edges    as plain data, with labels, and widths if a flow of gradients is asked for
    notes    what the picture says about them
    legend   of their widths
    arrays   the plain arrays that are operands, by the key of their card; `parts` are what their ops call them
    """

    def __init__(self, nodes: Sequence[Value], folded: Folded, names: Names, options: Options, tooltips: bool) -> None:
        self._folded, self._names, self._options, self._tooltips = folded, names, options, tooltips
        self._nodes = nodes
        self._pieces: dict[Repeat, dict[Value, int]] = {}  # the nodes of each repeat, with the numbers of their pieces
        self._sums: dict[Value, bool] = {}  # does a node that stands for several stand for a running sum?
        self.arrays: dict[str, Any] = {}
        self.parts: dict[str, str] = {}
        self._keys: dict[int, str] = {}  # of the arrays, by their id
        self._drawn: dict[tuple[str, str, int], Edge] = {}
        self._labels: list[Label] = []  # those that are drawn
        self._sizes: dict[str, float | None] = {}  # by edge, the norm of what went along; None: not known any more
        for node in nodes:
            if node.op is not None:
                self._add(node)
        self.edges = list(self._drawn.values())
        self.legend: Legend | None = None
        if options.flow is not False and self._sizes:
            self._widen(float(options.flow) if options.flow is not True else _largest(self._sizes.values()))
        self.notes = self._notes()

    def tail(self, node: Value, x: Any) -> str | None:
        """The card an operand comes from; None for a literal, which stands in the expression, and for a parameter that
        modules share, which stands in the first of them."""
        if isinstance(x, Value):
            key = self._folded.key_of[x]
            return None if x.op is None and key in self._folded.groups and key != self._folded.key_of[node] else key
        if x is None or not np.ndim(x):
            return None
        key = self._key_of(x)
        if self._folded.key_of[node] in self._folded.groups and self.is_private(x):
            return None
        if key not in self.arrays:
            self.arrays[key], self.parts[key] = x, name_in_op(node, x)
        return key

    def _key_of(self, array: Any) -> str:
        """The key of a plain array: the same, whatever is folded."""
        return self._keys.setdefault(id(array), f"c{len(self._keys)}")

    def is_private(self, array: Any) -> bool:
        """Does a plain array belong to the module that uses it, such as a mask? Named arrays and indices do not."""
        named = self._names.own_name(array) and not self._names.is_made_up(array)
        return not named and np.asarray(array).dtype.kind not in "iu"

    def _add(self, node: Value) -> None:
        """One edge per operand; between folded cards one for all, whose flow is that of all together."""
        head = self._folded.key_of[node]
        if not self._folded.stands(node):
            self._add_copy(node, head)
            return
        tails = [self.tail(node, x) for x in operands_of(node)]
        if all(tail in (None, head) for tail in tails):
            return
        stale = bool(edited_inputs(node))  # from edited data the rule would compute what never flowed
        sent = _contributions(node, node.grad if self._options.wants_numbers and not stale else None)
        labels = self._labels_of(node, sent)
        whole = self._names.rule(node) if self._options.edges == "rule" else [label and label.text for label in labels]
        for index, (x, tail) in enumerate(zip(operands_of(node), tails)):
            if tail is None or tail == head:
                continue
            is_input = index < len(node.inputs)  # an index array is none: no gradient flows, no rule is written
            folded = head in self._folded.groups or tail in self._folded.groups
            place = (tail, head, -1 if folded else index)
            if place not in self._drawn:
                label = labels[index] if is_input and not folded else None
                title = self._title(node, x, whole[index] if label else "") if self._tooltips else ""
                self._drawn[place] = Edge(f"e{len(self._drawn)}", tail, head, label.text if label else "", title=title)
                self._labels += [label] if label else []
            if is_input and isinstance(x, Value):
                self._add_size(self._drawn[place].key, sent[index], stale and node.grad is not None and x.requires_grad)

    def _add_size(self, key: str, sent: Any, unknown: bool) -> None:
        """What went along an edge: together with all that went along it before."""
        if unknown:
            self._sizes[key] = None
        elif sent is not None and (so_far := self._sizes.get(key, 0.0)) is not None:
            self._sizes[key] = math.hypot(so_far, norm(sent))

    def _add_copy(self, node: Value, head: str) -> None:
        """The edges of a node that another stands for: only those that the other does not have, such as what comes from
        the piece before."""
        for array in operands_of(node):
            if not isinstance(array, Value) and np.ndim(array):
                self._key_of(array)
        stale = bool(edited_inputs(node))
        sent = _contributions(node, node.grad if self._options.wants_numbers and not stale else None)
        for index, x in enumerate(node.inputs):
            if not isinstance(x, Value):
                continue
            tail = self._folded.key_of[x]
            folded = head in self._folded.groups or tail in self._folded.groups
            place = (tail, head, -1 if folded else index)
            if tail == head and not self._comes_back(node, x) and (folded or place not in self._drawn):
                continue
            if place not in self._drawn:
                back = any(x in self._piece_of(run) for run in self._folded.runs_around(self._standing(node)))
                style = "round" if back else "plain"
                title = self._title(self._standing(node), self._standing(x), "") if self._tooltips else ""
                self._drawn[place] = Edge(f"e{len(self._drawn)}", tail, head, style=style, title=title)
            self._add_size(self._drawn[place].key, sent[index], stale and node.grad is not None and x.requires_grad)

    def _standing(self, node: Value) -> Value:
        return self._folded.fold.representative[node]

    def _piece_of(self, run: Repeat) -> dict[Value, int]:
        if run not in self._pieces:
            self._pieces[run] = {node: number for number, row in enumerate(run.rows) for node in row}
        return self._pieces[run]

    def _comes_back(self, node: Value, x: Value) -> bool:
        """Does a card that is one piece, or part of one, read what the same card of an earlier piece made? Of a running
        sum its Σ says so."""
        key, first = self._folded.key_of[node], self._standing(node)
        group = self._folded.groups.get(key)
        members = [first] if group is None else (group.copies or [group])[0].members
        for run in self._folded.runs_around(first):
            pieces = self._piece_of(run)
            apart = node in pieces and x in pieces and pieces[node] != pieces[x]
            if apart and all(pieces.get(member) == 0 for member in members):
                return not (self._standing(x) is first and self._is_running_sum(first))
        return False

    def _is_running_sum(self, first: Value) -> bool:
        if first not in self._sums:
            self._sums[first] = accumulates(self._folded, self._folded.members(first)) is not None
        return self._sums[first]

    def _labels_of(self, node: Value, sent: list[Any]) -> list[Label | None]:
        if self._options.edges == "rule" and node.requires_grad:
            parts = zip(self._names.rule_on_edges(node), node.inputs)
            return [part if isinstance(x, Value) and x.requires_grad else None for part, x in parts]
        if self._options.edges == "numbers" and len(self._folded.members(node)) == 1:
            return [
                None if part is None else Label(_arithmetic(node, index, part, self._options.digits))
                for index, part in enumerate(sent)
            ]
        return [None] * len(node.inputs)

    def _title(self, node: Value, x: Any, sent: str | None) -> str:
        result = self._names.own_name(node) or self._names.expression(node)
        unnamed = (self._names.expression(x) or "leaf") if isinstance(x, Value) else "constant"
        title = f"{self._names.own_name(x) or unnamed} → {result}"
        return f"{title}: {sent}" if sent else title

    def _widen(self, largest: float) -> None:
        """Edges as wide as the gradient that went along them."""
        self.edges = [self._widened(edge, largest) for edge in self.edges]
        if largest:
            entries = [(_width(largest / 10**step, largest), short(largest / 10**step, 2)) for step in range(5)]
            self.legend = Legend(tuple(entries), any(edge.style == "none" for edge in self.edges))

    def _widened(self, edge: Edge, largest: float) -> Edge:
        size = self._sizes.get(edge.key)
        if size is None:
            return edge if edge.key in self._sizes or edge.style == "round" else replace(edge, style="none")
        if not math.isfinite(size):
            return replace(edge, style="bad", label=edge.label or ("NaN" if size != size else "∞"))
        if size == 0.0 or largest == 0.0:
            return replace(edge, style="zero")
        title = f"{edge.title}: gradient norm {rough(size)}"
        style = edge.style if edge.style == "round" else "flow"
        return replace(edge, style=style, flow=_width(size, largest), title=title)

    def _notes(self) -> tuple[str, ...]:
        if self._options.flow is not False and not self._sizes:
            return (NO_GRADIENT,)
        if self._options.edges == "numbers" and all(node.grad is None for node in self._nodes):
            return (NO_GRADIENT,)
        if self._options.edges != "rule" or not self._labels:
            return ()
        g, out = self._names.gradient_word, self._names.result_word
        notes = ["on each edge: what flows back along it, in the shape of the card it reaches",
                 f"{g} is the gradient of the card at the arrowhead"]  # fmt: skip
        if any(label.says_result for label in self._labels):
            notes[1] += f", {out} that card's value"
        if any(label.is_named for label in self._labels):
            notes.append(f"f{PRIME}({g}) is a rule of f too long for an edge: step() writes it out")
        return tuple(notes)


@np.errstate(all="ignore")  # what went wrong in the backward pass is shown, not warned of again
def _contributions(node: Value, gradient: Any) -> list[Any]:
    """What each operand gets when `gradient` arrives, in order; None where nothing flows, or has arrived yet."""
    if gradient is None:
        return [None] * len(node.inputs)
    sent = contributions(node, gradient)
    return [sent.pop(0)[1] if sent and sent[0][0] is x else None for x in node.inputs]


def _arithmetic(node: Value, index: int, contribution: Any, digits: int) -> str:
    """The edge's step in numbers: `40 × (−3) = −120`, with `≈` where the printed numbers do not give just that; of
    matrices the contribution's norm."""
    if np.ndim(contribution) or np.ndim(node.data):
        return f"‖·‖ {rough(norm(contribution))}"
    slope = _contributions(node, 1.0)[index]
    line = Line(Expr("sent", contribution), Expr("g", node.grad) * Expr("slope", slope))
    spelling = Digits([line], digits=digits)
    if not spelling.confirms(line):
        return shown(contribution, written=spelling.written(line.result))
    return plain_text(equation(line, spelling))


def _width(size: float, largest: float) -> float:
    """The under-stroke of a gradient: one decade is always 1.7 px, so pictures compare."""
    return max(THINNEST, WIDEST - DECADE * math.log10(largest / size))


def _largest(sizes: Any) -> float:
    return max((size for size in sizes if size is not None and math.isfinite(size)), default=0.0)
