"""Layout by Graphviz: the one bundled in pygraphviz's wheel, or the `dot` program on PATH.

The DOT text is made with the `graphviz` package; it holds only our own keys and sizes, no user text.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Sequence
from typing import Any

import graphviz

from .geometry import ARROW, Box, Curve, Placement, Point, Problem
from .measure import Size

INCH = 72.0  # Graphviz's point, which is our pixel
NODE_SEPARATION, RANK_SEPARATION = 0.28, 0.46  # inches
PATIENCE = 60  # seconds for a `dot` program


class GraphvizMissing(RuntimeError):
    """Neither pygraphviz nor a `dot` program can be used; the text says what to install."""


def solve_with_graphviz(problem: Problem, engine: str | None = None) -> Placement:
    """Lays out with "pygraphviz" or "dot", or with the first of them that is there."""
    if engine not in (None, "pygraphviz", "dot"):
        raise ValueError(f"layout engine: expected 'pygraphviz', 'dot' or 'layered', got {engine!r}")
    text = layout_dot(problem)
    for name, solved in (("pygraphviz", _by_library), ("dot", _by_program)):
        answer = solved(text) if engine in (None, name) else None
        if answer is not None:
            return _read(answer, problem, name)
    raise GraphvizMissing(
        "laid out without Graphviz; `pip install pygraphviz` (or a `dot` program on PATH) arranges cards better"
    )


def layout_dot(problem: Problem) -> str:
    """The problem as DOT: empty boxes of fixed size."""
    graph = graphviz.Digraph(
        graph_attr={
            "rankdir": problem.direction,
            "splines": "spline",
            "nodesep": str(NODE_SEPARATION),
            "ranksep": str(RANK_SEPARATION),
            **({"ordering": "in"} if problem.ordered else {}),
        },
        node_attr={"shape": "box", "fixedsize": "true", "label": ""},
        edge_attr={"arrowsize": ".8", "dir": "both"},
    )
    for key, size in problem.sizes.items():
        graph.node(key, width=f"{size.width / INCH:.4f}", height=f"{size.height / INCH:.4f}")
    ends = 2 * ARROW.width if problem.direction == "LR" else 0  # left to right, a label lies along its edge
    for arc in problem.arcs:
        room = {"label": _empty_label(arc.label.width + ends, arc.label.height)} if arc.label else {}
        held = {"constraint": "false"} if arc.free else {"weight": str(arc.weight), "minlen": str(arc.min_length)}
        graph.edge(arc.tail, arc.head, id=arc.key, **held, **room)
    _add_clusters(graph, problem)
    return str(graph.source)


class _Cluster:
    """A frame with the frames inside it, and the rows of cards that stand in it and in none of those."""

    def __init__(self, members: set[str], name: Size | None = None) -> None:
        self.members, self.name = members, name
        self.children: list[_Cluster] = []
        self.rows: list[Sequence[str]] = []

    def innermost(self, keys: set[str]) -> _Cluster:
        inside = next((child for child in self.children if keys <= child.members), None)
        return self if inside is None else inside.innermost(keys)


def _add_clusters(graph: graphviz.Digraph, problem: Problem) -> None:
    """Nested clusters, each frame inside the smallest that contains it; and each row where all its cards are."""
    whole = _Cluster(set(problem.sizes))
    for members, name in sorted(problem.clusters, key=lambda cluster: len(cluster[0]), reverse=True):
        whole.innermost(set(members)).children.append(_Cluster(set(members), name))
    for row in problem.ranks:
        home = whole.innermost(set(row))
        if not any(set(row) & child.members for child in home.children):  # no aligning across clusters
            home.rows.append(row)
    _write_cluster(graph, whole, "0")


def _write_cluster(graph: graphviz.Digraph, cluster: _Cluster, path: str) -> None:
    for row in cluster.rows:
        with graph.subgraph(graph_attr={"rank": "same"}) as rank:
            for key in row:
                rank.node(key)
    for index, child in enumerate(cluster.children):
        room = {"label": _empty_label(child.name.width, child.name.height), "labelloc": "b"} if child.name else {}
        with graph.subgraph(name=f"cluster_{path}_{index}", graph_attr={"margin": "14", **room}) as inner:
            for key in sorted(child.members):
                inner.node(key)
            _write_cluster(inner, child, f"{path}_{index}")


def _empty_label(width: float, height: float) -> str:
    """A label of known size without any text, so that no font is asked."""
    return (
        f'<<table border="0" cellborder="0" cellpadding="0" cellspacing="0" fixedsize="true" '
        f'width="{width:.0f}" height="{height:.0f}"><tr><td></td></tr></table>>'
    )


def _by_library(text: str) -> bytes | None:
    try:
        import pygraphviz
    except ImportError:
        return None
    graph = pygraphviz.AGraph(string=text)
    try:
        answer: bytes = graph.draw(format="json0", prog="dot")
        return answer
    finally:
        graph.close()


def _by_program(text: str) -> bytes | None:
    program = shutil.which("dot")
    if program is None:
        return None
    try:
        return subprocess.run(
            [program, "-Tjson0"], input=text.encode(), capture_output=True, check=True, timeout=PATIENCE
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None


def _read(answer: bytes, problem: Problem, engine: str) -> Placement:
    """Graphviz's JSON, with y turned downwards."""
    laid_out = json.loads(answer)
    _, _, width, height = map(float, laid_out["bb"].split(","))

    def point(text: str) -> Point:
        x, y = text.split(",")
        return float(x), height - float(y)

    boxes = {}
    for entry in laid_out["objects"]:
        size = problem.sizes.get(entry.get("name", ""))
        if size is not None:
            boxes[entry["name"]] = Box.centred(point(entry["pos"]), size)
    curves, labels = {}, {}
    for entry in laid_out.get("edges", ()):
        curves[entry["id"]] = _curve(entry["pos"], point)
        if "lp" in entry:
            labels[entry["id"]] = point(entry["lp"])
    in_order = {key: boxes[key] for key in problem.sizes}
    return Placement(in_order, curves, labels, width=width, height=height, engine=engine)


def _curve(text: str, point: Any) -> Curve:
    tips, points = {}, []
    for part in text.replace("\\\n", "").split():
        if part[0] in "se":
            tips[part[0]] = point(part[2:])
        else:
            points.append(point(part))
    return Curve(tuple(points), tips.get("s", points[0]), tips.get("e", points[-1]))
