"""Every number of a forward and a backward pass, in the engine's own order, and how far rounding may have moved it."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from autograd.backprop import conform, cotangent_for, reach, refuse_stale, run_hooks, walk
from autograd.errors import BackwardError
from autograd.formula.unfolding import Unfolded
from autograd.graph import topological
from autograd.rules import pulled
from autograd.value import Value

MOST_JITTERED = 50_000  # numbers in a graph up to which its rounding errors are measured
NOISE = 8.0  # a number no larger than so many times its own rounding error is 0
JITTERS = 3
FURTHER = 64.0  # times as far, to tell a jump from rounding errors
SHAKES = (-3.0, -2.0, -1.0, 1.0, 2.0, 3.0)  # rounding errors to move by; several sizes, so that they rarely cancel


class Walk:
    """Every number of a forward and a backward pass, computed without touching any `.grad`.

    root, nodes     the graph as people read it (`Unfolded`); `twin(node)` is where a node went
    seed, incoming  the gradient to start from, and each node's whole gradient
    sent, paths     every contribution in order, and how many each node gets
    noise           how far rounding may have moved each node's gradient; empty if not asked for; the seed's is given
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
        self.root = root = unfolded.root
        self.order = reach(root) if backward else []
        self.nodes = topological(root)
        self.data = {node: copy.copy(node.data) for node in self.nodes if _may_change(node)}
        self.incoming: dict[Value, Any] = {root: self.seed} if backward else {}
        self.noise: dict[Value, Any] = {root: start_noise} if backward else {}
        self.sent: list[Sent] = []
        self._run()
        if noise and sum(node.size for node in self.nodes) <= MOST_JITTERED:
            self._measure_noise()
        self.paths = Counter(sent.parent for sent in self.sent)

    def _run(self) -> None:
        def note(node: Value, g: Any, parent: Value, value: Any, before: Any, total: Any) -> None:
            self.sent.append(Sent(node, parent, value, total))

        with np.errstate(all="ignore"):
            results = walk(self.order, {self.root: self.seed}, watch=note)
        self.incoming |= {node: g for node, g in zip(self.order, results) if g is not None}
        self._finish_leaves()

    def _measure_noise(self) -> None:
        """How far rounding may have moved each contribution and each gradient."""
        places: Counter[Value] = Counter()
        for sent in self.sent:
            own = self._noise_sent(sent.node, places[sent.node])
            places[sent.node] += 1
            self.noise[sent.parent] = self.noise.get(sent.parent, 0.0) + own
            sent.noise = (own, self.noise[sent.parent])

    def _noise_sent(self, node: Value, place: int) -> Any:
        """How far a node's contribution moves when its operands and its gradient move by their rounding errors."""
        op = node.op
        assert op is not None
        g = self.incoming[node]
        plain = [x.data if isinstance(x, Value) else x for x in node.inputs]
        rounded = [i for i, x in enumerate(node.inputs) if isinstance(x, Value) or np.ndim(x)]  # a plain 0.1 is exact

        def compute(g: Any, out: Any, *moved: Any) -> Any:
            data = list(plain)
            for i, x in zip(rounded, moved, strict=True):
                data[i] = x
            parts = zip(pulled(op, g, out, data), node.inputs)
            sent = [(dx, x) for dx, x in parts if dx is not None and isinstance(x, Value) and x.requires_grad]
            return conform(*sent[place])

        values = [g, node.data, *(plain[i] for i in rounded)]
        try:
            moved = noise_of(compute, values, [self.noise.get(node, 0.0), *[0.0] * (len(values) - 1)])
        except Exception:  # a custom rule may fail on other numbers: then the noise is unknown
            return 0.0
        return np.nan_to_num(moved, nan=0.0, posinf=0.0)

    def _finish_leaves(self) -> None:
        """Hooks of leaves run last, as in `backward`."""
        for sent in reversed(self.sent):
            if sent.parent.op is None and sent.parent not in self.incoming:
                if sent.parent._note is not None and sent.parent._note.hooks:
                    sent.total = run_hooks(sent.parent, sent.total)
                sent.total = self._exact.get(sent.parent, sent.total)
                self.incoming[sent.parent] = sent.total

    def gradient(self, node: Value) -> Any:
        """A node's gradient as it is shown, with 0 in place of rounding noise; None if none arrives."""
        node = self.twin(node)
        g = self.incoming.get(node)
        return None if g is None else without_noise(g, self.noise.get(node, 0.0))


class Sent:
    """What a node sent to one of its inputs, and that input's gradient with it."""

    __slots__ = ("node", "noise", "parent", "total", "value")

    def __init__(self, node: Value, parent: Value, value: Any, total: Any) -> None:
        self.node, self.parent, self.value, self.total = node, parent, value, total
        self.noise: tuple[Any, Any] = (0.0, 0.0)  # how far rounding may have moved the value and the total


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
    """Could an edit of a leaf change these numbers? Those of the leaf itself, and views of them."""
    return node.op is None or (isinstance(node.data, np.ndarray) and node.data.base is not None)


# --- rounding noise ---------------------------------------------------------------------------------------------------


def without_noise(value: Any, noise: Any) -> Any:
    """The value with 0 in place of rounding noise."""
    if np.ndim(value) == 0:
        return 0.0 if value != 0 and np.abs(value) <= NOISE * noise else value
    return np.where(np.abs(value) <= NOISE * noise, 0.0, value)


def noise_of(compute: Any, values: Sequence[Any], noises: Sequence[Any] | None = None) -> Any:
    """How much a result moves when its inputs move by their rounding errors: `noises`, or the last digit of a float.

    A comparison of two equal numbers may flip then, which is a jump and no rounding error: moved further, a result with
    rounding errors moves further too, and a jump stays as large as before, or leads to a NaN. Then each input is moved
    alone, and those that make it jump are left out: of what arrives at a tie, the rounding errors still count.
    """
    with np.errstate(all="ignore"):
        result = compute(*values)

        def move(times: float, only: Any = None) -> Any:
            moved = np.zeros(np.shape(result))
            for turn in range(JITTERS):
                shaken = [
                    x if only is not None and x is not only
                    else _shaken(x, None if noises is None else noises[i], turn, times)
                    for i, x in enumerate(values)
                ]  # fmt: skip
                by = np.abs(np.asarray(compute(*shaken), dtype=float) - result)
                moved = np.fmax(moved, np.where(np.isnan(by) & np.isfinite(result), np.inf, by))
            return moved

        def jumps(moved: Any, only: Any = None) -> Any:
            small = (result != 0) & (np.abs(result) <= NOISE * moved)
            return np.isinf(moved) | (small & (move(FURTHER, only) < FURTHER / 8 * moved) if np.any(small) else False)

        moved = move(1.0)
        jumped = jumps(moved)
        if np.any(jumped):
            alone = [(move(1.0, x), x) for x in {id(x): x for x in values}.values()]
            moved = np.where(jumped, sum(np.where(jumps(one, x), 0.0, one) for one, x in alone), moved)
    return moved


def _shaken(x: Any, noise: Any, turn: int, times: float) -> Any:
    array = np.asarray(x)
    if array.dtype.kind != "f":
        return x
    size = np.abs(array) * 2.3e-16
    if noise is not None:  # which was measured with the largest shake: moved so again, it would grow with every step
        size = np.fmax(size, noise / SHAKES[-1])
    shaken = array + times * size * _shakes(array, turn)
    return shaken if array.ndim else float(shaken)


def _shakes(array: Any, turn: int) -> Any:
    """By how many rounding errors to move each number: pseudo-random, but computed from its leading digits and its
    place, so that a page (stepping/page/assets/program.js) moves it by as many, in any order."""
    bits = np.abs(array).astype(np.float32).ravel().view(np.uint32)
    mixed = bits + np.arange(bits.size, dtype=np.uint32) * np.uint32(0x9E3779B1) + np.uint32(turn * 0x61C88647 % 2**32)
    for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B)):
        mixed = (mixed ^ mixed >> np.uint32(shift)) * np.uint32(factor)
    return np.array(SHAKES)[mixed % np.uint32(len(SHAKES))].reshape(np.shape(array))
