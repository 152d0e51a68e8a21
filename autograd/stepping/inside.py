"""A step opened up: a fused op by its definition, a closed module by its own nodes, as a stepper of its own."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from autograd.graph import leaves
from autograd.op import apply
from autograd.recording import enable_grad
from autograd.stepping.walk import Step
from autograd.value import Value

if TYPE_CHECKING:
    from autograd.stepping.stepper import Stepper

# Their definition says no more than their rule.
NOT_SHOWN = {
    "expm1", "log1p", "xlogy", "mean", "linear", "tanh", "sigmoid", "tan", "sinh", "cosh", "clip", "leaky_relu", "silu",
}  # fmt: skip


def can_open(step: Step) -> bool:
    """Is there something smaller inside?"""
    if step.module is not None:
        return _has_one_exit(step)
    op = step.node.op
    return op is not None and op.definition is not None and op.name not in NOT_SHOWN


def inside(step: Step) -> Stepper | None:
    """The stepper of what a step does inside, on copies: gradients start at what arrives at the step."""
    from autograd.stepping.stepper import Stepper

    with enable_grad(), np.errstate(all="ignore"):
        root = _replayed(step) if step.module is not None else _defined(step)
    if not isinstance(root, Value) or root.op is None or not root.requires_grad:
        return None
    backward = step.incoming is not None
    grad = step.incoming if backward else None
    made = [leaf for leaf in leaves(root) if type(leaf) is Value]
    title = f"inside {step.name}"
    opened = Stepper(root, grad=grad, backward=backward, inputs=made, title=title, top=step.words.top)
    return opened if len(opened) > (2 if backward else 1) else None


def _defined(step: Step) -> Any:
    op = step.node.op
    assert op is not None and op.definition is not None
    inputs = tuple(_leaf(step, x) for x in step.node.inputs)
    given = op.pack(inputs) if op.pack else inputs
    result = op.definition(*given, **op.settings)
    if isinstance(result, Value):
        result.name = step.words.name(step.node)
    return result


def _replayed(step: Step) -> Any:
    """The module's nodes computed again, from leaves that stand for what came from outside."""
    twins: dict[Value, Value] = {}
    nodes = sorted(step.nodes, key=lambda node: node.stamp)
    members = set(nodes)
    for node in nodes:
        for x in node.parents:
            if x not in members and x not in twins:
                twins[x] = _leaf(step, x)
    for node in nodes:
        assert node.op is not None
        twin = apply(node.op, tuple(twins[x] if isinstance(x, Value) else x for x in node.inputs))
        if isinstance(twin, Value):
            twin._note = node._note
            twins[node] = twin
    return twins.get(step.node)


def _leaf(step: Step, x: Any) -> Any:
    """A fresh leaf with an operand's numbers and name."""
    if not isinstance(x, Value):
        return x
    if x.op is None:
        twin = copy.copy(x)
        twin.grad = None
        return twin
    return Value(x.data, name=step.words.name(x), requires_grad=x.requires_grad)


def _has_one_exit(step: Step) -> bool:
    """Does only the module's result leave it?"""
    inner = set(step.nodes) - {step.node}
    return not any(
        x in inner for node in step.words.nodes if node not in inner and node is not step.node for x in node.parents
    )
