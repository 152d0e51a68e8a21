"""Every number of a forward and a backward pass, in the engine's own order, and how far rounding may have moved it
(`noise.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby, repeat
from typing import Any

import numpy as np

from autograd.engine import Value, ask, reach, walk
from autograd.errors import BackwardError
from autograd.gradients import conform, cotangent_for, refuse_stale, run_leaf_hooks
from autograd.graph import topological

from .noise import noises_of, without_noise
from .unfolding import Unfolded

MOST_JITTERED = 50_000  # numbers in a graph up to which its rounding errors are measured
TINY = 1e-12  # a value so much smaller than the inputs of its op may be nothing but rounding errors


class Walk:
    """Every number of a forward and a backward pass, computed without touching any `.grad`.

    root, nodes     the graph as people read it (`Unfolded`); `twin(node)` is where a node went
    seed, incoming  the gradient to start from, and each node's whole gradient
    sent, paths     every contribution in order, and how many each node gets
    left            what hooks left of gradients that they changed
    noise           how far rounding may have moved each node's gradient; empty if not asked for; the seed's is given
    data, blurred   0 in place of results that are nothing but rounding errors; and how far rounding moved these
    """

    def __init__(
        self, root: Value, cotangent: Any = None, backward: bool = True, noise: bool = True, start_noise: Any = 0.0
    ) -> None:
        if backward and cotangent is None:
            _refuse_array(root)
        self.seed = cotangent_for(root, cotangent) if backward else None
        refuse_stale([node for node in reversed(topological(root)) if node.op is not None])
        unfolded = Unfolded(root)
        self._exact: dict[Value, Any] = {}  # the leaves' gradients as the engine gives them, if steps replaced its ops
        if unfolded and backward:
            self._exact[root] = self.seed
            walk(reach(root), self._exact)
        self.twin = unfolded.twin
        self.parts = unfolded.parts  # of a packed leaf: the leaves that show its parts, each with its index
        for leaf, parts in self.parts.items():
            if leaf in self._exact:
                self._exact |= {part: np.ascontiguousarray(self._exact[leaf][index]) for index, part in parts}
        self.root = root = unfolded.root
        self.order = reach(root) if backward else []
        self.nodes = topological(root)
        self.data: dict[Value, Any] = {}
        self.incoming: dict[Value, Any] = {root: self.seed} if backward else {}
        self.noise: dict[Value, Any] = {root: start_noise} if backward else {}
        self.blurred: dict[Value, Any] = {}
        self.sent: list[Sent] = []
        self._run()
        if noise and sum(node.size for node in self.nodes) <= MOST_JITTERED:
            self._measure_values()
            self._measure_noise()
        self.paths = Counter(sent.parent for sent in self.sent)

    def _run(self) -> None:
        def note(node: Value, g: Any, parent: Value, value: Any, before: Any, total: Any) -> None:
            self.sent.append(Sent(node, parent, value, total))

        results = np.errstate(all="ignore")(walk)(self.order, self.incoming, watch=note)
        self._finish_leaves()
        self.incoming |= {node: g for node, g in zip(self.order, results) if g is not None}
        last = {sent.parent: sent for sent in self.sent}
        sums = {self.root: self.seed} | {node: sent.total for node, sent in last.items()}
        hooked = [node for node in self.incoming if node._note is not None and node._note.hooks]
        self.left = {node: self.incoming[node] for node in hooked if not _equal(self.incoming[node], sums[node])}
        for node in self.left.keys() & last:
            last[node].left = self.left[node]

    def _measure_values(self) -> None:
        """Which results are nothing but rounding errors: terms that cancel, and what is computed from these."""
        for node in self.nodes:
            if node.op is not None and (_may_cancel(node) or not self.blurred.keys().isdisjoint(node.parents)):
                moved = self._noise_of_value(node)
                clean = without_noise(node.data, moved)
                if np.any((clean == 0) & (node.data != 0)):
                    self.data[node], self.blurred[node] = clean, moved

    def _noise_of_value(self, node: Value) -> Any:
        op = node.op
        assert op is not None
        return next(iter(self._noises_of(node, lambda *moved: [op.compute(*_with(node, moved))])))

    def _noises_of(self, node: Value, compute: Any, *before: tuple[Any, Any]) -> Iterable[Any]:
        """How far results move when a node's inputs move by their rounding errors, and numbers `before` these too:
        each with its noise."""
        known = [*before]
        for x in filter(_is_rounded, node.inputs):
            known.append((x.data, self.blurred.get(x, 0.0)) if isinstance(x, Value) else (x, 0.0))
        try:
            moved = noises_of(compute, [x for x, _ in known], noises=[noise for _, noise in known])
        except Exception:  # a custom rule may fail on other numbers: then the noise is unknown
            return repeat(0.0)
        return [np.where(np.isfinite(by), by, 0.0) for by in moved]

    def _measure_noise(self) -> None:
        """How far rounding may have moved each contribution and each gradient."""
        for _, all_sent in groupby(self.sent, lambda sent: id(sent.node)):  # a node sends them one after the other
            sent_by_node = [*all_sent]
            for sent, own in zip(sent_by_node, self._noise_sent(sent_by_node[0].node)):
                self.noise[sent.parent] = self.noise.get(sent.parent, 0.0) + own
                sent.noise = (own, self.noise[sent.parent])

    def _noise_sent(self, node: Value) -> Iterable[Any]:
        """How far a node's contributions move when its operands and its gradient move by their rounding errors."""

        def compute(g: Any, out: Any, *moved: Any) -> list[Any]:
            needs = [isinstance(x, Value) and x.requires_grad for x in node.inputs]
            given = zip(node.inputs, ask(node, g, out, _with(node, moved), needs), needs)
            return [conform(dx, x) for x, dx, need in given if need and dx is not None]

        arrived = self.incoming[node], self.noise.get(node, 0.0)
        return self._noises_of(node, compute, arrived, (node.data, self.blurred.get(node, 0.0)))

    def _finish_leaves(self) -> None:
        """Hooks of leaves run last, as in `backward`; with what was sent last, a leaf has what they leave."""
        leaves = self.incoming  # the walk has taken out all others
        exact = {leaf: self._exact[leaf] for leaf in leaves if leaf in self._exact}
        leaves |= exact
        for leaf, sent in {sent.parent: sent for sent in self.sent}.items():
            sent.total = exact.get(leaf, sent.total)
        leaves |= {leaf: self._exact[leaf] for leaf in self.parts if leaf in self._exact}  # whole, as the caller has it
        run_leaf_hooks(leaves)

    def gradient(self, node: Value) -> Any:
        """A node's gradient as it is shown, with 0 in place of rounding noise; None if none arrives."""
        node = self.twin(node)
        if node in self.parts:
            whole = np.zeros_like(node.data)
            for index, part in self.parts[node]:
                whole[index] = self.gradient(part)
            return whole
        g = self.incoming.get(node)
        return None if g is None else without_noise(g, self.noise.get(node, 0.0))


class Sent:
    """What a node sent to one of its inputs, and that input's gradient with it."""

    __slots__ = ("left", "node", "noise", "parent", "total", "value")

    def __init__(self, node: Value, parent: Value, value: Any, total: Any) -> None:
        self.node, self.parent, self.value, self.total = node, parent, value, total
        self.noise: tuple[Any, Any] = (0.0, 0.0)  # how far rounding may have moved the value and the total
        self.left: Any = None  # what a hook made of the total, if one changed it


def _refuse_array(root: Value) -> None:
    """Backprop from an array has no gradient to start from; say so in the words of `step`."""
    if isinstance(root, Value) and root.requires_grad and root.size != 1:
        name = root.name if root.name and root.name.isidentifier() else "v"
        raise BackwardError(
            f"{root._called()} is not a scalar (shape {root.shape}), so backprop has no gradient to start from. Write "
            f"step({name}.sum()), or give one: step({name}, grad=np.ones({root.shape})). The forward pass alone is "
            f"step({name}, backward=False)"
        )


def _equal(x: Any, y: Any) -> bool:
    return bool(np.array_equal(x, y, equal_nan=True))


def _is_rounded(x: Any) -> bool:
    """May an input of an op hold rounding errors? A plain 0.1 is exact."""
    return isinstance(x, Value) or np.ndim(x) > 0


@np.errstate(all="ignore")
def _may_cancel(node: Value) -> bool:
    """Is a number of this node, made by an op, far smaller than the numbers that it was made from?"""
    sizes = [np.abs(x.data if isinstance(x, Value) else x) for x in node.inputs if _is_rounded(x) and np.size(x)]
    if not sizes or np.asarray(node.data).dtype.kind != "f":
        return False
    small = np.abs(node.data) <= TINY * max(float(np.max(size)) for size in sizes)
    return bool(np.any(small & (node.data != 0)))


def _with(node: Value, moved: Sequence[Any]) -> list[Any]:
    """The inputs of a node's op with others in place of those."""
    others = iter(moved)
    return [next(others) if _is_rounded(x) else x for x in node.inputs]
