"""The numbers of a page as a program: every line of every step in scalars, small enough for JSON.

The page keeps one row of registers (`registers.py`), a float each. Run in order, the lines of all steps are the forward
and the backward pass, and the lines of the update (`stepping/update.py`) move the parameters. What is inside a closed
module shows the same registers under other names.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from autograd.drawing.cards import is_masked
from autograd.engine import Value
from autograd.errors import DataError
from autograd.expr import Expr
from autograd.formula.numbers import count, json_number
from autograd.op import OPS, Op, shape_of

from ..questions import ANY_REMEDY, name_of
from ..steps import BACKWARD, FORWARD, Contribution, Step
from ..update import Updates
from .registers import MOST_SCALARS, Block, NotLive, Registers

if TYPE_CHECKING:
    from ..stepper import Stepper

NONE = -1  # in place of a block's number
MOST_UPDATED, MOST_LINES = 6, 12  # parameters whose updates are shown, and their lines


class Live:
    """The program of one stepper's steps, and of the steppers of what is `opened` in it."""

    def __init__(self, stepper: Stepper, opened: Iterable[Stepper] = ()) -> None:
        self.stepper, self.words, self.walk = stepper, stepper.words, stepper.walk
        self._refuse_large()
        if self.walk.left:
            hooked = next(iter(self.walk.left))
            raise NotLive(f"a hook changes the gradient of {self.words.name(hooked)}, and hooks run in Python alone")
        self.registers = Registers()
        self.sends: list[list[Any]] = []  # lines, what they add, the total with it, the one before, to which value
        self.gradients: dict[Value, Block] = {}  # so far; at last the whole ones
        self.shown: dict[Contribution, tuple[Block, Block]] = {}  # what a contribution adds, and the total with it
        self._added: dict[tuple[Value, int], Block] = {}  # by the node that sends it, and its place there
        for node in self.walk.nodes:
            block = self.registers.of_value(node.data)
            self.registers.bind_node(node, block)
            if node.op is None and block.kind:  # no number that can be changed
                self.registers.keep(block, node.data)
        self.forward = [self.line(line) for step in stepper.every if step.kind != BACKWARD for line in step.lines]
        self._send_back(stepper)
        self.updates = Updates(stepper)
        self._update()
        for small in opened:
            self._open(small)

    def _refuse_large(self) -> None:
        scalars = sum(node.size * _terms(node) for node in self.walk.nodes)
        if scalars > MOST_SCALARS:
            raise NotLive(
                f"it computes some {count(scalars)} scalars; up to {count(MOST_SCALARS)} a page can be changed"
            )

    def line(self, line: Any) -> int:
        """The number of a line."""
        return self.registers.line(line)

    # --- the backward pass ---------------------------------------------------------------------------------------

    def _send_back(self, stepper: Stepper) -> None:
        for step in stepper.every:
            if step.kind == BACKWARD:
                arrived = self.gradients.get(step.twin)
                if arrived is None:
                    arrived = self.gradients[step.twin] = self.registers.constant(np.asarray(step.incoming, float))
                self.registers.bind_node(step.twin, arrived, gradient=True)
                for place, contribution in enumerate(step.contributions):
                    self._send(step, place, contribution)
        self._note_modules(stepper)

    def _send(self, step: Step, place: int, contribution: Contribution) -> None:
        if not contribution.lines:
            raise NotLive(f"the rule of {step.name} can only be run by Python")
        lines = [self.line(line) for line in contribution.lines]
        added = self._added[step.twin, place] = self.registers.block(contribution.added)
        self.shown[contribution] = added, self._sum(contribution.twin, added, lines)

    def _sum(self, parent: Value, added: Block, lines: list[int]) -> Block:
        """The gradient of a node, summed; `lines` compute what is added, if that is not known yet."""
        before = self.gradients.get(parent)
        total = self.gradients[parent] = added if before is None else self.registers.new_block(added.shape)
        if lines or before is not None:
            self.sends.append([lines, added.number, total.number, _number(before), self.value(parent).number])
        return total

    def _note_modules(self, stepper: Stepper) -> None:
        """What a closed module adds is the sum of what its parts add."""
        for step in (step for step in stepper if step.module is not None and step.kind == BACKWARD):
            inside = set(step.twins)
            parts: dict[Value, list[tuple[Block, Block]]] = {}
            for member in stepper.every:
                if member.kind == BACKWARD and member.twin in inside:
                    for sent in member.contributions:
                        parts.setdefault(sent.twin, []).append(self.shown[sent])
            for contribution in step.contributions:
                self.shown[contribution] = self._joined(parts[contribution.twin])

    def _joined(self, parts: list[tuple[Block, Block]]) -> tuple[Block, Block]:
        (added, _), *others = parts
        for more, _ in others:
            both = self.registers.new_block(added.shape)
            self.sends.append([[], more.number, both.number, added.number])
            added = both
        return added, parts[-1][1]

    # --- the update ----------------------------------------------------------------------------------------------

    def _update(self) -> None:
        """The lines that move the parameters, and which block then takes the place of which."""
        updates = self.updates.all
        lines = len(updates[0].lines) if updates else 1
        self.shown_updates = updates[: min(MOST_UPDATED, max(1, MOST_LINES // lines))]
        self.moves: list[dict[str, Any]] = []
        self._start_with(self.updates.rate)
        for update in updates:
            self.registers.bind_node(update.twin, self.gradients[update.twin], gradient=True)
            for _, before in update.replaced[1:]:
                self._start_with(before)
            is_shown = update in self.shown_updates
            self.moves.append({
                "lines": [self.registers.line(line, is_shown) for line in update.lines],
                "replaced": [_numbers(map(self.registers.block, pair)) for pair in update.replaced],
                "gradient": self.gradient_number(update.twin),
                "data": int(update.twin in self.updates.data),
            })  # fmt: skip

    def _start_with(self, e: Expr) -> None:
        block = self.registers.block(e)
        if np.any(e.value):  # a page starts with zeros
            self.registers.keep(block, e.value)

    # --- inside a module -----------------------------------------------------------------------------------------

    def _open(self, small: Stepper) -> None:
        """The nodes inside a module are copies; each number is where the program keeps that of the node itself. Only
        the gradients of what comes from outside are summed again: there they are what this module sends."""
        original = small.stands_for
        for node in small.walk.nodes:
            self.registers.bind_node(node, self.value(original[node]))
        if original[small.root] in self.gradients:
            self.gradients[small.root] = self.gradients[original[small.root]]
        for step in small.every:
            if step.kind == BACKWARD:
                self.registers.bind_node(step.twin, self.gradients[step.twin], gradient=True)
                for place, contribution in enumerate(step.contributions):
                    added = self._added[step.twin, place] = self._added[original[step.twin], place]
                    self.registers.bind(contribution.added, added)
                    self.shown[contribution] = added, self._sum(contribution.twin, added, [])
            for line in step.lines:
                self.line(line)
        self._note_modules(small)

    # --- as data -------------------------------------------------------------------------------------------------

    def data(self) -> dict[str, Any]:
        """Everything for the page."""
        leaves = [node for node in self.walk.nodes if node.op is None and np.asarray(node.data).dtype.kind == "f"]
        named = [node for node in self.walk.nodes if self._is_named(node)]
        return {
            "functions": self.registers.functions,
            "registers": self.registers.size,
            "blocks": self.registers.shapes(),
            "constants": list(self.registers.constants.items()),
            "leaves": [
                {
                    "name": self.words.name(leaf), "value": self.value(leaf).number,
                    "gradient": self.gradient_number(leaf),
                    "start": [json_number(x) for x in np.ravel(self.words.data(leaf)).tolist()],
                }
                for leaf in leaves
            ],
            "names": {self.words.name(node): [self.value(node).number, self.gradient_number(node)] for node in named},
            "root": self.value(self.stepper.root).number,
            "top": self.words.top,
            "update": {
                "by": self.updates.name, "rate": self.registers.block(self.updates.rate).start, "moves": self.moves,
                "switchable": int(self.updates.switchable),
            },
            "forward": self.forward,
            "sends": self.sends,
            "lines": self.registers.lines,
            "made": [self._made(node) for node in self.walk.nodes],
            "reasons": {op.name: op.about.small for op in self._ops() if isinstance(op.about.small, tuple)},
            "masked": [self.value(node).number for node in self.walk.nodes if is_masked(node)],
        }  # fmt: skip

    def _ops(self) -> list[Op]:
        return [node.op for node in self.walk.nodes if node.op is not None]

    def _made(self, node: Value) -> dict[str, Any]:
        """What a page says of a node whose value is a NaN or an infinity."""
        parents = [self.value(x).number for x in dict.fromkeys(node.parents)]
        known = {"name": name_of(node), "named": int(bool(node.name)), "value": self.value(node).number,
                 "called": self.words.name(node)}  # fmt: skip
        if node.op is None:
            return known | {"from": parents}
        return known | {"from": parents, "op": node.op.name, "remedy": node.op.about.bad or ANY_REMEDY}

    def _is_named(self, node: Value) -> bool:
        if node.op is None:
            return np.asarray(node.data).dtype.kind == "f"
        return node is self.stepper.root or (
            bool(self.words.names.own_name(node)) and not self.words.names.is_made_up(node)
        )

    def value(self, node: Value) -> Block:
        return self.registers.of_node(node)

    def can_switch(self, node: Value | None) -> bool:
        """May a click make it data, or a parameter?"""
        return self.updates.switchable and any(node is update.twin for update in self.updates.all)

    def gradient_number(self, node: Value) -> int:
        return _number(self.gradients.get(node))

    def ledgers(self, step: Step) -> list[Contribution]:
        """The contributions of a step of which the page shows a ledger."""
        return [one for one in step.contributions if one.paths > 1 and step.module is None]

    def step_data(self, step: Step) -> dict[str, Any]:
        """What the page needs to spell the numbers of one step."""
        is_forward = step.kind == FORWARD
        data: dict[str, Any] = {
            "lines": [self.line(line) for line in step.lines],
            "ledgers": [
                [_numbers(self.shown[entry]) for entry in contribution.ledger()] for contribution in self.ledgers(step)
            ],
            "sends": [_numbers(self.shown[contribution]) for contribution in step.contributions],
            "arrives": NONE if is_forward else self.gradient_number(step.twin),
            "gives": self.value(step.twin).number if is_forward else NONE,
        }
        if step.kind == BACKWARD:  # for "why NaN?"
            parents = dict.fromkeys(step.twin.parents)
            data["of"], data["name"] = self.value(step.twin).number, step.name
            data["to"] = [step.words.name(contribution.twin) for contribution in step.contributions]
            data["from"] = [[step.words.name(x), self.value(x).number] for x in parents]
        return data


def build(stepper: Stepper, opened: Iterable[Stepper] = ()) -> Live | str:
    """The program of a page, or why there is none."""
    if not stepper.walk.nodes:
        return "nothing is computed"
    try:
        return Live(stepper, opened)
    except (NotLive, DataError) as reason:
        return str(reason)


def _number(block: Block | None) -> int:
    return NONE if block is None else block.number


def _numbers(blocks: Iterable[Block]) -> list[int]:
    return [block.number for block in blocks]


def _terms(node: Value) -> int:
    """How many products each entry of a matrix product sums."""
    if node.op is None or node.op.base not in (OPS["matmul"], OPS["linear"], OPS["einsum"]):
        return 1
    return int(([1, *shape_of(node.inputs[0])])[-1])
