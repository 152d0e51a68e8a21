"""A graph as people read it: an op that exists only for speed is replaced by the steps of its definition.

`self_attention` is one node to the engine. A drawing, a stepper and a sheet show its queries, keys, values, scores,
weights and heads instead. Leaves, and all that was computed before the first such op, stay the user's own nodes; what
comes after it has a twin with the same number, name and gradient.
"""

from __future__ import annotations

import copy
from collections import Counter
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
        self.parts: dict[Value, list[tuple[Any, Value]]] = {}  # of packed leaves: (index, leaf that shows this part)
        self._unpacked = self._packed_by_linear_layers(topological(root))
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

    # --- what is packed ------------------------------------------------------------------------------------------

    def _packed_by_linear_layers(self, nodes: list[Value]) -> set[Value]:
        """The nodes whose first input is a linear layer with its own weights that nothing else uses."""
        uses = Counter(x for node in nodes for x in node.inputs if isinstance(x, Value))
        found = {node for node in nodes if self._opens(node) and self._is_packed(node, uses)}
        layers = Counter(leaf for node in found for leaf in _weights(node.inputs[0]))
        return {node for node in found if all(layers[leaf] == uses[leaf] for leaf in _weights(node.inputs[0]))}

    def _is_packed(self, node: Value, uses: Counter[Value]) -> bool:
        assert node.op is not None
        layer = node.inputs[0]
        if node.op.base.unpack is None or not isinstance(layer, Value) or layer.op is None or layer is node:
            return False
        is_linear = layer.op.base is OPS["linear"] and uses[layer] == 1
        return is_linear and all(map(_may_be_parted, _weights(layer)))

    def _unpack(self, node: Value, layer: Value) -> list[Value]:
        """The linear layer as one of its own for each part: `Q = x @ W_Q + b_Q`."""
        assert node.op is not None and node.op.base.unpack is not None
        columns = node.op.base.unpack(layer.shape[-1], **node.op.settings)
        x, weight, bias = layer.inputs
        results = []
        for name, part in columns.items():
            of_part = [None if leaf is None else self._part(leaf, (..., part), f"{letter}_{name}", node)
                       for leaf, letter in ((weight, "W"), (bias, "b"))]  # fmt: skip
            results.append(OPS["linear"](x, *of_part))
            results[-1].name = name
            if layer.grad is not None:
                results[-1].grad = layer.grad[..., part]
        return results

    def _part(self, leaf: Value, index: Any, name: str, node: Value) -> Value:
        """A leaf that shows a part of a packed one."""
        for other, part in self.parts.setdefault(leaf, []):
            if other == index:
                return part
        part = copy.copy(leaf)
        part._data = np.ascontiguousarray(leaf.data[index])
        part.grad = None if leaf.grad is None else np.ascontiguousarray(leaf.grad[index])
        part._note = Attached(_in_scope(name, node), node.scope, node.line)
        self.parts[leaf].append((index, part))
        return part

    # --- what is opened ------------------------------------------------------------------------------------------

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
        if node in self._unpacked:
            layer = inputs[0]
            inputs = (*self._unpack(node, layer), *inputs[1:])
            packed = [x for x in layer.inputs if isinstance(x, Value)]
        else:
            packed = [x for x in inputs if isinstance(x, Value)]
        result = op.definition(*inputs, **op.settings)
        if not isinstance(result, Value) or any(result is x for x in inputs):  # it changes nothing here
            result = OPS["alias"](inputs[0])
        steps = made_from([result], packed)
        for step in steps:
            step._note = Attached(_in_scope(step.name, node), node.scope, node.line)
        result._note = node._note
        result._data = node._data  # the same bits as the engine's
        if node.grad is not None:
            _fill_gradients(steps, result, node.grad)
        return result


def _in_scope(name: str | None, node: Value) -> str | None:
    """A name inside the module call that made a node."""
    return f"{node.scope.path}.{name}" if name and node.scope and node.scope.path else name or None


def _weights(layer: Value) -> list[Value]:
    """The weight of a linear layer, and its bias if it has one."""
    return [x for x in layer.inputs[1:] if x is not None]


def _may_be_parted(leaf: Any) -> bool:
    """Is it a leaf, without hooks? These are written for the whole gradient."""
    return isinstance(leaf, Value) and leaf.op is None and not (leaf._note and leaf._note.hooks)


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
