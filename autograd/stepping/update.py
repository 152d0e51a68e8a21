"""The update after the last backward step: one step of an optimizer on each parameter, as lines.

An optimizer's `move` is run on formulas and so writes itself down, as an op's rule does. What it remembers of a
parameter (a momentum, the number of steps) goes in and comes out: a page that runs the lines again goes on.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from autograd.drawing.roles import is_parameter, moving_leaves
from autograd.engine import Value
from autograd.errors import DataError
from autograd.expr import Expr
from autograd.formula.lines import Derivation, Line, clean_value, descended
from autograd.op import let

from .steps import UPDATE, Step

if TYPE_CHECKING:
    from .stepper import Stepper


class Descent:
    """Gradient descent, as an optimizer: for pages whose authors name none."""

    rate, slots = 0.1, ()

    def __init__(self, parameters: list[Value]) -> None:
        self.parameters = parameters

    def named_parameters(self) -> list[tuple[str, Value]]:
        return [("", parameter) for parameter in self.parameters]

    def move(self, p: Any, g: Any, state: dict[str, Any], t: Any, rate: Any) -> tuple[Any, dict[str, Any]]:
        return descended(p, g, rate), state


class Update(Step):
    """The update of one parameter. `replaced` are the quantities that it computes, and those they take the place of:
    the parameter itself, and what the optimizer remembers."""

    def __init__(self, words: Derivation, node: Value, gradient: Any, optimizer: Any, rate: Expr, state: Any) -> None:
        super().__init__(words, UPDATE, node, gradient)
        before = {slot: Expr(slot, x) for slot, x in state.items()}
        after = {"steps": let("t", before["steps"] + 1.0)} if "steps" in before else {}
        kept = {slot: e for slot, e in before.items() if slot != "steps"}
        try:
            moved, state = optimizer.move(words.symbol(node), self.arrives, kept, after.get("steps", 1), rate)
        except Exception as error:  # somebody's own optimizer may need the numbers
            raise DataError(
                f"a step of {type(optimizer).__name__} can only be run, not written down: {error}"
            ) from error
        after |= {slot: let(slot, e) for slot, e in state.items()}
        lines = words.steps(*after.values(), moved)
        new = Expr(words.name(node), clean_value(moved))
        self.lines = [*lines, Line(new, moved)]
        self.replaced = [(new, words.symbol(node)), *((after[slot], e) for slot, e in before.items())]
        for slot, e in before.items():
            e.name = after[slot].name
        for line in self.lines:
            line.sign = "←" if any(line.result is e for e, _ in self.replaced) else "="


class Updates:
    """The updates of all leaves that may move, which of them are `data` for now, and the learning rate, which can be
    chosen. Where nobody says which leaves are parameters, each leaf's role can be switched: `switchable`."""

    def __init__(self, stepper: Stepper) -> None:
        walk, words, optimizer = stepper.walk, stepper.words, stepper.optimizer
        moving = moving_leaves(walk.nodes, stepper.names, stepper.parameters, stepper.inputs)
        leaves = [node for node in walk.nodes if node.op is None and node.requires_grad]
        self.switchable = stepper.parameters is None and not any(map(is_parameter, leaves))
        self.data = set(leaves) - set(moving) if self.switchable else set()
        optimizer = Descent(leaves if self.switchable else moving) if optimizer is None else optimizer
        self.name = "gradient descent" if isinstance(optimizer, Descent) else type(optimizer).__name__
        rate, state = stepper.remembered if stepper.remembered is not None else (optimizer.rate, {})
        self.rate, self.all = Expr(words.names.step_name("η"), rate), []
        shown = self.data | set(moving)
        for name, parameter in optimizer.named_parameters():
            mover = mover_of(optimizer, parameter)
            whole = stepper.twin(parameter)
            for index, node in walk.parts.get(whole, [(..., whole)]):
                if node in shown and walk.gradient(node) is not None and node is not stepper.root:
                    slots = {slot: np.asarray(state[f"{slot}.{name}"], float) for slot in optimizer.slots}
                    own = {slot: x[index] if x.shape == whole.shape else x for slot, x in slots.items()}
                    self.all.append(Update(words, node, walk.gradient(node), mover, self.rate, own))


def mover_of(optimizer: Any, parameter: Value) -> Any:
    """The optimizer, with the settings of the parameter's group."""
    options = optimizer.options_of(parameter) if hasattr(optimizer, "options_of") else {}
    if "lr" in options:
        raise DataError("a stepper has one learning rate; these groups of parameters have several")
    return optimizer.mover(options) if options else optimizer


def remembered(optimizer: Any) -> tuple[float, dict[str, Any]] | None:
    """An optimizer's learning rate and what it remembers at this moment."""
    return (float(optimizer.rate), copy.deepcopy(optimizer.state_dict())) if hasattr(optimizer, "move") else None


def check(optimizer: Any, stepper: Stepper) -> None:
    """Refuse what is no optimizer, or none of this graph."""
    if optimizer is None:
        return
    name = type(optimizer).__name__
    if not hasattr(optimizer, "move"):
        raise TypeError(f"step: expected an optimizer of nn.optim, such as nn.optim.SGD([a, b], lr=0.1); got {name}")
    known = {*stepper.walk.nodes, *stepper.walk.parts}
    if not any(stepper.twin(parameter) in known for _, parameter in optimizer.named_parameters()):
        raise ValueError(f"step: this {name} moves no leaf of the graph; give it those, as in nn.optim.{name}([a, b])")
