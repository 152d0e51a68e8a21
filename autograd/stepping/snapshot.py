"""A graph of its own: the numbers of one moment, which later edits of the leaves do not reach.

A training loop moves `w` in place, and a stepper made before it is shown after it. So a stepper reads a copy. If a leaf
had been edited before the copy was made, its old numbers are gone: the results that used it are computed anew. The
same holds for an array that was written into, `x[0] = 5.0`: the op that read it gives another result now.

    >>> w = Value(2.0, name="w")
    >>> loss = w * w
    >>> taken = Snapshot(loss)
    >>> w.data = 3.0
    >>> taken.root.data, taken.edited
    (4.0, [Value(3.0, name='w')])
    >>> Snapshot(loss).root.data
    9.0
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from autograd.arrays.plain import copy_array
from autograd.engine import Value
from autograd.formula.numbers import agree
from autograd.formula.unfolding import with_inputs
from autograd.gradients import edited_inputs
from autograd.graph import topological
from autograd.modes import enable_grad
from autograd.op import OPS, apply

DOUBLE = 8  # bytes of a number


class Snapshot:
    """A copy of the graph of `root`: `twin(x)` is the copy of a node or array of it.

    `stale` are the leaves that were edited before it was taken, `misfits` the results of arrays that were written into;
    these results, and what was made of them, are computed anew.
    """

    @np.errstate(all="ignore")
    def __init__(self, root: Value) -> None:
        self._twins: dict[int, Any] = {}
        self.nodes = topological(root)
        self.stale = list(dict.fromkeys(x for node in self.nodes for x in edited_inputs(node)))
        self._stamps = {leaf: leaf.stamp for leaf in self.nodes if leaf.op is None}
        self.misfits: list[Value] = []
        anew = set(self.stale)
        with enable_grad():
            for node in self.nodes:
                if not anew.isdisjoint(node.parents):
                    anew.add(node)
                elif _is_misfit(node):
                    anew.add(node)
                    self.misfits.append(node)
                twin = self._twins[id(node)] = self._copied(node, node in anew)
                twin.grad = None
        self.root = self.twin(root)

    def twin(self, x: Any) -> Any:
        """The copy of a node or of a plain array of this graph; anything else is its own."""
        return self._twins.get(id(x), x)

    @property
    def edited(self) -> list[Value]:
        """The leaves that were edited since it was taken."""
        return [leaf for leaf, stamp in self._stamps.items() if leaf.stamp != stamp]

    def _copied(self, node: Value, is_new: bool) -> Value:
        if node.op is None:
            return copy.copy(node)
        inputs = tuple(map(self._operand, node.inputs))
        if not is_new:
            twin = with_inputs(node, inputs)
            if isinstance(node.data, np.ndarray) and node.data.base is not None:  # it may be a view of a leaf
                twin._data = copy_array(node.data)
            return twin
        twin = apply(node.op, inputs)
        twin = twin if isinstance(twin, Value) else Value(twin, requires_grad=False)
        twin._note = node._note
        return twin

    def _operand(self, x: Any) -> Any:
        if isinstance(x, np.ndarray):
            return self._twins.setdefault(id(x), copy_array(x))
        return self.twin(x)


def _is_misfit(node: Value) -> bool:
    """Does a node that reads arrays of the caller's not hold what its op makes of them now?"""
    read = [x.data if isinstance(x, Value) else x for x in node.inputs if not isinstance(x, Value) or x.op is None]
    if not any(isinstance(x, np.ndarray) for x in read) or node.op is None or OPS.get(node.op.name) is not node.op.base:
        return False
    found = node.op.compute(*(x.data if isinstance(x, Value) else x for x in node.inputs))
    if np.array_equal(found, node.data, equal_nan=True):
        return False
    loose = float(np.sqrt(np.finfo(np.float32 if np.asarray(node.data).itemsize < DOUBLE else float).eps))
    largest = np.max(np.abs(node.data), initial=0.0, where=np.isfinite(node.data))
    return not agree(found, node.data, loose, loose * largest)
