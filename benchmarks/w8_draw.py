"""W8: drawing 100, 1,000 and 10,000 scalars, beside what Graphviz makes of the same graph; and a folded GPT."""

from __future__ import annotations

import functools
import operator
import statistics
import time
from collections.abc import Callable
from typing import Any

import graphviz
import numpy as np

from autograd import Value, draw
from autograd.graph import topological
from benchmarks import harness
from benchmarks.harness import US

WIDTH = 4  # neurons in a layer
GRAPHVIZ_UP_TO = 1000  # beyond it Graphviz takes minutes


def graph(size: int) -> Value:
    """A scalar network of about `size` values: layers of neurons, each tanh(Σ wᵢxᵢ + b)."""
    rng = np.random.default_rng(size)

    def leaf() -> Value:
        return Value(float(rng.uniform(-1, 1)))

    layer = [leaf() for _ in range(WIDTH)]
    for _ in range(round(size / (WIDTH * (3 * WIDTH + 2)))):  # a weight, product and sum per input; bias and tanh
        layer = [functools.reduce(operator.add, (leaf() * x for x in layer), leaf()).tanh() for _ in range(WIDTH)]
    return functools.reduce(operator.add, layer)


def by_us(root: Value, everything: int) -> str:
    return draw(root, max_nodes=everything).svg


def by_graphviz(root: Value) -> str:
    """One box a value, its label in the node: Graphviz lays out and paints."""
    import pygraphviz

    dot = graphviz.Digraph(node_attr={"shape": "box"})
    nodes = topological(root)
    place = {node: str(index) for index, node in enumerate(nodes)}
    for node, key in place.items():
        dot.node(key, f"{node.op.name if node.op else node.name}\n{node.data:.4f}")
        for parent in node.parents:
            dot.edge(place[parent], key)
    picture = pygraphviz.AGraph(string=dot.source)
    try:
        return str(picture.draw(format="svg", prog="dot").decode())
    finally:
        picture.close()


def seconds_of(call: Callable[[], Any], rounds: int = 5) -> float:
    spent = []
    for _ in range(rounds):
        begin = time.perf_counter()
        call()
        spent.append(time.perf_counter() - begin)
    return statistics.median(spent)


def folded_gpt() -> float:
    """Seconds to draw one training step of the GPT of W4, each outermost module one card."""
    import nn

    rng = np.random.default_rng(0)
    model = nn.GPT(65, 64, 128, 4, 4, rng=rng)
    ids, targets = rng.integers(0, 65, (2, 16, 64))
    loss = nn.functional.cross_entropy(model(ids), targets)
    loss.backward()
    return seconds_of(lambda: draw(loss, collapse=1, flow=True).svg)


def main() -> None:
    harness.pin()
    harness.heading("W8: drawing a graph of scalars to SVG")
    by_us(graph(100), 1000)  # imports and caches
    rows, per_node = [], {}
    for size in (100, 1000, 10_000):
        root = graph(size)
        size = len(topological(root))
        ours = seconds_of(lambda root=root, size=size: by_us(root, size))  # type: ignore[misc]
        ours_bytes = len(by_us(root, size).encode()) / size
        theirs, theirs_bytes = "—", "—"
        if size <= 1.2 * GRAPHVIZ_UP_TO:
            theirs = harness.show_time(seconds_of(lambda root=root: by_graphviz(root), 3))  # type: ignore[misc]
            per_node["graphviz"] = len(by_graphviz(root).encode()) / size
            theirs_bytes = f"{per_node['graphviz']:.0f}"
        rows.append((f"{size:,}", harness.show_time(ours), f"{ours_bytes:.0f}", theirs, theirs_bytes))
        per_node[US], slowest = ours_bytes, ours
    harness.table(("values", US, "bytes a value", "Graphviz", "bytes a value"), rows)
    harness.aim("seconds for 10,000 values", slowest, at_most=1.0)
    harness.aim("bytes a value, as a share of Graphviz's", per_node[US] / per_node["graphviz"], at_most=0.25)
    harness.aim("seconds for a folded GPT training step", folded_gpt(), at_most=0.5)


if __name__ == "__main__":
    main()
