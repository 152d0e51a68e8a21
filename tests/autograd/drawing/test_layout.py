"""Where things go: nothing overlaps, arrows end at their cards, and every engine answers the same question."""

import itertools
import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograd.drawing.layout import graphviz as graphviz_layout
from autograd.drawing.layout import layered
from autograd.drawing.layout.arrange import GRAPHVIZ_MOST, LABEL_HEIGHT, LABEL_SIZE, arrange, name_patch
from autograd.drawing.layout.geometry import Arc, Box, Curve, Problem, crossings
from autograd.drawing.layout.measure import Size, measure
from autograd.drawing.scene import Card, Edge, Frame, Row, Scene
from autograd.formula.text import mono_width

ENGINES = ("pygraphviz", "layered")


def card(key, role="result", name=None):
    return Card(
        key, role, name or key, rows=(Row("value", "1.234", strong=True), Row("grad", "0.5", "grad", strong=True))
    )


def scene(edges, roles=None, **more):
    keys = list(dict.fromkeys(itertools.chain.from_iterable(edges)))
    cards = tuple(card(key, (roles or {}).get(key, "result")) for key in keys)
    return Scene(cards, tuple(Edge(f"e{i}", *edge) for i, edge in enumerate(edges)), **more)


DIAMOND = [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"), ("a", "d")]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("direction", ["TB", "LR"])
def test_no_two_cards_touch_and_results_come_later(engine, direction):
    placed = arrange(scene(DIAMOND, direction=direction), engine=engine)
    for one, other in itertools.combinations(placed.boxes.values(), 2):
        assert not one.touches(other)
    for tail, head in DIAMOND:
        a, b = placed.boxes[tail], placed.boxes[head]
        assert (a.bottom <= b.y) if direction == "TB" else (a.right <= b.x)


@pytest.mark.parametrize("engine", ENGINES)
def test_every_edge_runs_from_card_to_card(engine):
    picture = scene(DIAMOND)
    placed = arrange(picture, engine=engine)
    for edge in picture.edges:
        curve = placed.curves[edge.key]
        assert len(curve.points) % 3 == 1
        for tip, key in ((curve.tail, edge.tail), (curve.head, edge.head)):
            x, y = tip
            box = placed.boxes[key].grown(3)
            assert box.x <= x <= box.right and box.y <= y <= box.bottom


@pytest.mark.parametrize("engine", ENGINES)
def test_the_same_operand_twice_has_two_curves(engine):
    placed = arrange(scene([("a", "b"), ("a", "b")]), engine=engine)
    assert placed.curves["e0"].points != placed.curves["e1"].points


def distance_to(curve, place):
    return min(math.dist(point, place) for point in curve.samples())


@pytest.mark.parametrize("direction", ["TB", "LR"])
def test_a_label_sits_on_its_own_edge(direction):
    edges = [*DIAMOND, ("d", "f"), ("e", "f")]
    picture = scene(edges, direction=direction)
    named = tuple(replace(edge, label=f"g * {edge.head}") for edge in picture.edges)
    placed = arrange(replace(picture, edges=named), engine="pygraphviz")
    for key, centre in placed.labels.items():
        assert distance_to(placed.curves[key], centre) < 1.0
        assert not any(Box.centred(centre, Size(30, 10)).touches(box) for box in placed.boxes.values())
        assert math.dist(placed.curves[key].head, centre) > 10  # the arrowhead stays visible
    for one, other in itertools.combinations(placed.labels.values(), 2):
        assert abs(one[0] - other[0]) > 20 or abs(one[1] - other[1]) > 10


def test_labels_of_two_edges_side_by_side_both_sit_on_their_lines():
    picture = scene([("u", "loss"), ("u", "loss")], direction="LR")
    named = tuple(replace(edge, label="1 × (−10) = −10") for edge in picture.edges)
    placed = arrange(replace(picture, edges=named), engine="pygraphviz")
    for key, centre in placed.labels.items():
        assert distance_to(placed.curves[key], centre) < 1.0
        room = mono_width("1 × (−10) = −10", LABEL_SIZE)  # and the line shows at both ends of its label
        assert placed.boxes["u"].right + 10 < centre[0] - room / 2 < centre[0] + room / 2 < placed.boxes["loss"].x - 10


@pytest.mark.parametrize("direction", ["TB", "LR"])
def test_layers_make_room_for_labels(direction):
    text = "A * (g − sum(g * A, axis=1))"
    picture = scene([*DIAMOND, ("d", "f"), ("a", "f")], direction=direction)
    named = tuple(replace(edge, label=text) for edge in picture.edges)
    placed = arrange(replace(picture, edges=named), engine="layered")
    room = Size(mono_width(text, LABEL_SIZE), LABEL_HEIGHT)
    for centre in placed.labels.values():
        assert not any(Box.centred(centre, room).touches(box) for box in placed.boxes.values())


def test_a_label_leaves_the_name_of_a_frame_free():
    scope = Frame("s", "feed_forward", "FeedForward", ("b", "c"))
    picture = scene([("a", "b"), ("b", "c"), ("c", "d")], frames=(scope,))
    named = tuple(replace(edge, label="g * (out > 0)") for edge in picture.edges)
    placed = arrange(replace(picture, edges=named), engine="pygraphviz")
    name = name_patch(scope, placed.frames["s"])
    for centre in placed.labels.values():
        assert not name.touches(Box.centred(centre, Size(mono_width("g * (out > 0)", LABEL_SIZE), LABEL_HEIGHT)))


def test_a_parameter_that_several_share_stands_above_those_each_owns():
    pairs = [(leaf, head) for head in ("Q", "K", "V") for leaf in ("X", f"W{head}")] + [("Q", "out"), ("K", "out")]
    roles = dict.fromkeys(("X", "WQ", "WK", "WV"), "parameter")
    boxes = arrange(scene(pairs, roles)).boxes
    assert all(boxes["X"].bottom < boxes[f"W{head}"].y for head in "QKV")


def curve(*points):
    return Curve(points, points[0], points[-1])


def test_crossings_are_counted():
    across = curve((0.0, 0.0), (1.0, 1.0), (2.0, 2.0), (3.0, 3.0))
    down = curve((0.0, 3.0), (1.0, 2.0), (2.0, 1.0), (3.0, 0.0))
    beside = curve((0.0, 1.0), (1.0, 2.0), (2.0, 3.0), (3.0, 4.0))
    assert crossings([across, down]) == 1 and crossings([across, beside]) == 0
    assert crossings([across, across]) == 0 and crossings([across, down, beside]) == 2 and crossings([]) == 0


def test_operands_leave_their_order_where_it_costs_more_crossings_than_it_keeps():
    pairs = [("a", "e"), ("a", "d"), ("c", "e"), ("d", "f"), ("e", "f"), ("b", "c"), ("a", "c"), ("b", "e")]
    picture = scene(pairs, direction="LR")
    sizes = {one.key: measure(one) for one in picture.cards}
    in_order = graphviz_layout.solve_with_graphviz(Problem(sizes, [Arc(*edge) for edge in links(picture)], "LR"))
    assert crossings(in_order.curves.values()) > 2  # else this test shows nothing
    assert crossings(arrange(picture).curves.values()) == 0


def links(picture):
    return [(edge.key, edge.tail, edge.head, 8) for edge in picture.edges]


@pytest.mark.parametrize("text", ["", "g * b", "0.07065 × (−3) ≈ −0.2120"])
def test_labelled_edges_go_straight_and_round_no_card(text):
    """a·b + a², left to right: a is used twice, b once."""
    pairs = [("a", "ab"), ("b", "ab"), ("a", "aa"), ("ab", "sum"), ("aa", "sum")]
    edges = tuple(Edge(f"e{index}", *pair, text) for index, pair in enumerate(pairs))
    roles = {"a": "parameter", "b": "parameter"}
    placed = arrange(replace(scene(pairs, roles, direction="LR"), edges=edges))
    assert placed.boxes["a"].y < placed.boxes["b"].y
    for curve in placed.curves.values():
        length = sum(itertools.starmap(math.dist, itertools.pairwise((curve.tail, *curve.points, curve.head))))
        assert length < 1.1 * math.dist(curve.tail, curve.head)


def test_everything_lies_inside_the_picture():
    placed = arrange(scene(DIAMOND, frames=(Frame("s", "module", "Kind", ("b", "c")),)))
    for box in (*placed.boxes.values(), *placed.frames.values()):
        assert box.x >= 0 and box.y >= 0 and box.right <= placed.width and box.bottom <= placed.height


def test_a_frame_goes_round_its_members_and_nobody_else():
    picture = scene(DIAMOND, frames=(Frame("s", "pair", "", ("b", "c")),))
    placed = arrange(picture)
    frame = placed.frames["s"]
    assert all(frame.touches(placed.boxes[key]) for key in "bc")
    assert not any(frame.touches(placed.boxes[key]) for key in "ad")


def test_more_room_than_needed_is_granted():
    picture = scene(DIAMOND)
    placed = arrange(picture, sizes={"a": Size(300, 200)})
    assert (placed.boxes["a"].width, placed.boxes["a"].height) == (300, 200)


def test_without_graphviz_the_layers_stand_in_and_say_so(monkeypatch):
    monkeypatch.setattr(graphviz_layout, "_by_library", lambda text: None)
    monkeypatch.setattr(graphviz_layout, "_by_program", lambda text: None)
    placed = arrange(scene(DIAMOND))
    assert placed.engine == "layered" and "pip install pygraphviz" in placed.hint


def test_the_program_is_used_where_the_library_is_missing(monkeypatch):
    answered = graphviz_layout._by_library
    monkeypatch.setattr(graphviz_layout, "_by_program", answered)  # the same JSON, as `dot -Tjson0` gives
    monkeypatch.setattr(graphviz_layout, "_by_library", lambda text: None)
    assert arrange(scene(DIAMOND)).engine == "dot"


def test_a_large_graph_goes_to_the_layers_at_once():
    chain = [(f"n{i}", f"n{i + 1}") for i in range(GRAPHVIZ_MOST + 1)]
    placed = arrange(scene(chain))
    assert placed.engine == "layered" and not placed.hint


def test_so_does_a_graph_of_long_edges():
    """A leaf that is used all along a chain: its edges pass all ranks between, where Graphviz would take minutes."""
    chain = [(f"n{i}", f"n{i + 1}") for i in range(100)] + [("n0", f"n{i}") for i in range(2, 101)]
    assert arrange(scene(chain)).engine == "layered"
    assert arrange(scene(chain[:40] + chain[100:139])).engine == "pygraphviz"


def test_an_unknown_engine_is_refused():
    with pytest.raises(ValueError, match="'pygraphviz', 'dot' or 'layered', got 'neato'"):
        arrange(scene(DIAMOND), engine="neato")


def test_layout_dot_holds_no_user_text():
    picture = Scene((card("n0", name='"];evil'), card("n1")), (Edge("e0", "n0", "n1", label="<script>"),))
    problem = Problem({one.key: measure(one) for one in picture.cards}, [Arc("e0", "n0", "n1", label=Size(40, 16))])
    assert "evil" not in graphviz_layout.layout_dot(problem)


@st.composite
def graphs(draw):
    size = draw(st.integers(2, 25))
    edges = [(draw(st.integers(0, head - 1)), head) for head in range(1, size) for _ in range(draw(st.integers(1, 3)))]
    return [(f"n{tail}", f"n{head}") for tail, head in edges]


@given(graphs())
def test_layers_never_overlap_whatever_the_graph(edges):
    sizes = {key: Size(60 + 7 * int(key[1:]) % 90, 40) for edge in edges for key in edge}
    placed = layered.solve(Problem(sizes, [Arc(f"e{i}", *edge) for i, edge in enumerate(edges)]))
    for one, other in itertools.combinations(placed.boxes.values(), 2):
        assert not one.grown(-0.01).touches(other)
    for box in placed.boxes.values():
        assert math.isfinite(box.x) and math.isfinite(box.y)


def test_a_cycle_does_not_hang_the_layers():
    """Folded modules may take and give: a picture with a cycle is still a picture."""
    placed = layered.solve(Problem({"a": Size(9, 9), "b": Size(9, 9)}, [Arc("e0", "a", "b"), Arc("e1", "b", "a")]))
    assert set(placed.boxes) == {"a", "b"}
