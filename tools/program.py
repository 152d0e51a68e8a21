"""A random graph as data: leaves, and steps that apply ops to them. It runs on any engine that has the ops' names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Leaf:
    """An input of a graph."""

    data: Any  # a float or an array


@dataclass(frozen=True)
class Step:
    """One op applied to earlier nodes. Operands are numbers of nodes, or plain constants wrapped in a tuple."""

    op: str
    operands: tuple[Any, ...]
    settings: tuple[tuple[str, Any], ...] = ()

    @property
    def reads(self) -> list[int]:
        """The nodes it uses."""
        return [i for i in self.operands if isinstance(i, int)]


@dataclass(frozen=True)
class Program:
    """Nodes in order: leaves and steps. What no step uses is a result, weighted and summed to the loss."""

    nodes: tuple[Leaf | Step, ...]
    seed: int = 0

    @property
    def leaves(self) -> list[int]:
        return [i for i, node in enumerate(self.nodes) if isinstance(node, Leaf)]

    @property
    def steps(self) -> list[Step]:
        return [node for node in self.nodes if isinstance(node, Step)]

    def run(self, leaves: list[Any], apply: Callable[[str, list[Any], dict[str, Any]], Any]) -> list[Any]:
        """The value of every node, on an engine's own leaves; `apply(op, operands, settings)` runs one op there."""
        given = iter(leaves)
        values: list[Any] = []
        for node in self.nodes:
            if isinstance(node, Leaf):
                values.append(next(given))
            else:
                operands = [values[i] if isinstance(i, int) else i[0] for i in node.operands]
                values.append(apply(node.op, operands, dict(node.settings)))
        return values

    def results(self, values: list[Any]) -> list[tuple[int, Any]]:
        """The real nodes that nothing uses, each with its weights: fixed, different from entry to entry."""
        used = {i for step in self.steps for i in step.reads}
        found = []
        for i, value in enumerate(values):
            if i not in used and not is_boolean(value) and isinstance(self.nodes[i], Step):
                shape = tuple(value.shape) if hasattr(value, "shape") else ()
                weights = np.random.default_rng((self.seed, i)).uniform(0.5, 1.5, shape)
                found.append((i, weights))
        return found

    # --- smaller programs that may still fail ---------------------------------------------------------------

    def smaller(self) -> list[Program]:
        """Programs with less in them: cut short, with a step skipped, with rounder numbers."""
        found = []
        last = len(self.nodes) - 1
        if isinstance(self.nodes[last], Step):
            found.append(self._without(last, None))
        for i in range(last, -1, -1):
            node = self.nodes[i]
            if isinstance(node, Step):
                found += [self._without(i, j) for j in dict.fromkeys(node.reads)]
            else:
                users = sum(i in step.reads for step in self.steps)
                if not users:
                    found.append(self._without(i, None))
                for digits in (0, 1, 3):
                    rounded = np.round(node.data, digits)
                    if not np.array_equal(rounded, node.data, equal_nan=True):
                        new = Leaf(float(rounded) if isinstance(node.data, float) else rounded)
                        found.append(replace(self, nodes=(*self.nodes[:i], new, *self.nodes[i + 1 :])))
                        break
        return [p for p in found if p is not None and p.steps]

    def _without(self, gone: int, instead: int | None) -> Program | None:
        """The program without one node; its users use `instead`."""
        place = {i: i - (i > gone) for i in range(len(self.nodes)) if i != gone}
        if instead is not None:
            place[gone] = place[instead]
        nodes: list[Leaf | Step] = []
        for i, node in enumerate(self.nodes):
            if i == gone:
                continue
            if isinstance(node, Step):
                if instead is None and gone in node.reads:
                    return None
                operands = tuple(place[x] if isinstance(x, int) else x for x in node.operands)
                node = replace(node, operands=operands)
            nodes.append(node)
        return replace(self, nodes=tuple(nodes))

    # --- as code --------------------------------------------------------------------------------------------

    def code(self, call: Callable[[str, list[str], dict[str, Any]], str]) -> str:
        """Python that builds the graph; `call(op, operands, settings)` writes one op."""
        lines = [
            "import numpy as np",
            "from numpy import array, float32, inf, nan, s_  # noqa",
            "import autograd as ag",
            "",
        ]
        for i, node in enumerate(self.nodes):
            if isinstance(node, Leaf):
                lines.append(f"v{i} = ag.Value({literal(node.data)}, name='v{i}')")
            else:
                names = [f"v{x}" if isinstance(x, int) else literal(x[0]) for x in node.operands]
                lines.append(f"v{i} = {call(node.op, names, dict(node.settings))}")
        return "\n".join(lines)


def literal(x: Any) -> str:
    """A number, array or setting as Python that makes it again, to the last bit."""
    if isinstance(x, np.ndarray):
        if x.size == 0:
            return f"np.empty({x.shape}, dtype={x.dtype.name!r})"
        return f"np.array({x.tolist()!r}, dtype={x.dtype.name!r})"
    if isinstance(x, tuple):
        return "(" + "".join(f"{literal(part)}, " for part in x) + ")"
    return repr(x)


def is_boolean(value: Any) -> bool:
    return isinstance(value, bool) or "bool" in str(getattr(value, "dtype", ""))
