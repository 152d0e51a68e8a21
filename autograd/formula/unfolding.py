"""A graph as people read it: an op that exists only for speed is replaced by the steps of its definition.

`self_attention` is one node to the engine. A drawing, a stepper and a sheet show its queries, keys, values, scores,
weights and heads instead. Leaves, and all that was computed before the first such op, stay the user's own nodes; what
comes after it has a twin with the same number, name and gradient.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autograd.attached import Attached, Node
from autograd.engine import Value, contributions, counter
from autograd.graph import made_from, topological
from autograd.modes import enable_grad
from autograd.op import OPS, naming


class Unfolded:
    """The graph of `root` with fused ops opened, except those for which `keep` is true. `root` is the new root,
    `twin(node)` the node that replaces `node`."""

    @np.errstate(all="ignore")
    def __init__(self, root: Value, keep: Callable[[Value], bool] = lambda node: False) -> None:
        self._twins: dict[Value, Value] = {}
        self._keep = keep
        token = naming.set(True)
        try:
            with enable_grad():
                # An opened op may contain another: self_attention contains attention.
                nodes = topological(root)
                while any(map(self._opens, nodes)):
                    for node in nodes:
                        self._add(node)
                    nodes = topological(self.twin(root))
        finally:
            naming.reset(token)
        self.root = self.twin(root)

    def __bool__(self) -> bool:
        """Was anything opened?"""
        return bool(self._twins)

    def twin(self, node: Value) -> Value:
        """The node that stands for `node`: itself, where nothing before it was opened."""
        while node in self._twins:
            node = self._twins[node]
        return node

    def _add(self, node: Value) -> None:
        inputs = tuple(self.twin(x) if isinstance(x, Value) else x for x in node.inputs)
        if self._opens(node):
            self._twins[node] = self._open(node, inputs)
        elif any(a is not b for a, b in zip(inputs, node.inputs)):
            self._twins[node] = with_inputs(node, inputs)

    def _opens(self, node: Value) -> bool:
        """Is it an op that exists only for speed, and is it to be opened?"""
        fused = node.op is not None and node.op.unfolds == "graph" and node.op.definition is not None
        return fused and not self._keep(node)

    def _open(self, node: Value, inputs: tuple[Any, ...]) -> Value:
        """The steps of the op's definition, in the module call and at the source line of the node itself."""
        op = node.op
        assert op is not None and op.definition is not None
        result = op.definition(*inputs, **op.settings)
        if not isinstance(result, Value) or any(result is x for x in inputs):  # it changes nothing here
            result = OPS["alias"](inputs[0])
        steps = made_from([result], (x for x in inputs if isinstance(x, Value)))
        for step in steps:
            named = step.name and (f"{node.scope.path}.{step.name}" if node.scope and node.scope.path else step.name)
            step._note = Attached(named or None, node.scope, node.line)
        result._note = node._note
        result._data = node._data  # the same bits as the engine's
        if node.grad is not None:
            _fill_gradients(steps, result, node.grad)
        return result


def with_inputs(node: Value, inputs: tuple[Any, ...]) -> Value:
    """The same node, computed from other nodes with the same numbers. It shares its arrays: readers change nothing."""
    twin: Value = object.__new__(type(node))
    for slot in Node.__slots__:
        setattr(twin, slot, getattr(node, slot))
    twin.stamp = next(counter)
    twin.inputs = inputs
    return twin


def _fill_gradients(steps: list[Value], result: Value, gradient: Any) -> None:
    """The gradients that a backward pass would have left in the steps."""
    inside = set(steps)
    grads: dict[Value, Any] = {result: gradient}
    for step in reversed(steps):
        step.grad = grads.get(step)
        if step.grad is not None:
            for x, dx in contributions(step, step.grad):
                if x in inside:
                    grads[x] = dx if x not in grads else grads[x] + dx
