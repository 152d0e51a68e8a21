"""The update after the last backward step: one step of an optimizer on each parameter, as lines.

An optimizer's `move` is run on formulas and so writes itself down, as an op's rule does. What it remembers of a
parameter (a momentum, the number of steps) goes in and comes out: a page that runs the lines again goes on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from autograd.drawing.roles import Roles
from autograd.errors import DataError
from autograd.expr import Expr
from autograd.formula.lines import Derivation, Line, clean_value, descended
from autograd.op import let
from autograd.stepping.steps import UPDATE, Step
from autograd.value import Value

if TYPE_CHECKING:
    from autograd.stepping.stepper import Stepper


class Descent:
    """Gradient descent, as an optimizer: for pages whose authors name none."""

    rate, slots = 0.1, ()

    def __init__(self, parameters: list[Value]) -> None:
        self.parameters = parameters

    def named_parameters(self) -> list[tuple[str, Value]]:
        return [("", parameter) for parameter in self.parameters]

    def state_dict(self) -> dict[str, Any]:
        return {}

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
    """The updates of all parameters, and the learning rate in them, which can be chosen."""

    def __init__(self, stepper: Stepper) -> None:
        walk, words, optimizer = stepper.walk, stepper.words, stepper.optimizer
        if optimizer is None:
            role = Roles(walk.nodes, stepper.names, stepper.inputs)
            optimizer = Descent([node for node in walk.nodes if role(node) == "parameter"])
        self.name = "gradient descent" if isinstance(optimizer, Descent) else type(optimizer).__name__
        self.rate = Expr(words.names.step_name("η"), float(optimizer.rate))
        remembered, self.all = optimizer.state_dict(), []
        for name, node in optimizer.named_parameters():
            if walk.gradient(node) is not None and node is not stepper.root:
                state = {slot: np.asarray(remembered[f"{slot}.{name}"], float) for slot in optimizer.slots}
                self.all.append(Update(words, node, walk.gradient(node), optimizer, self.rate, state))


def check(optimizer: Any, nodes: list[Value]) -> None:
    """Refuse what is no optimizer, or none of this graph."""
    if optimizer is None:
        return
    name = type(optimizer).__name__
    if not hasattr(optimizer, "move"):
        raise TypeError(f"step: expected an optimizer of nn.optim, such as nn.optim.SGD([a, b], lr=0.1); got {name}")
    if not any(node is parameter for _, parameter in optimizer.named_parameters() for node in nodes):
        raise ValueError(f"step: this {name} moves no leaf of the graph; give it those, as in nn.optim.{name}([a, b])")
