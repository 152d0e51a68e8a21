"""What repeats in a graph: all that does is found, and nothing that does not."""

import time

import numpy as np
import pytest

import autograd as ag
from autograd import Value, scope
from autograd.graph import topological
from autograd.repeats import Repeat, Section, Structure, pattern
from tests.autograd.zoo import ZOO, euler, rnn, tangle


def shape_of(items):
    """Items as text: `mul {sin add}×5→ sum`; an arrow where a value is carried."""
    texts = []
    for item in items:
        if isinstance(item, Section):
            texts.append(f"<{shape_of(item.items)}>")
        elif isinstance(item, Repeat):
            texts.append(f"{{{shape_of(item.pieces[0])}}}×{len(item)}{'→' if item.in_a_row else ''}")
        else:
            texts.append(item.op.name)
    return " ".join(texts)


def every_repeat(items):
    """All of them, in every piece."""
    for item in items:
        if isinstance(item, Repeat):
            yield item
            for piece in item.pieces:
                yield from every_repeat(piece)
        elif isinstance(item, Section):
            yield from every_repeat(item.items)


def assert_isomorphic(repeat):
    """Piece r reads what piece 0 reads, moved by r pieces; or what no piece made."""
    place = {node: (r, p) for r, row in enumerate(repeat.rows) for p, node in enumerate(row)}
    assert len(place) == len(repeat.rows) * len(repeat.rows[0]), "a node in two pieces"
    carried = set()
    for column in zip(*repeat.rows):
        first = column[0]
        for node in column:
            assert (node.op.name, node.shape) == (first.op.name, first.shape)
            assert len(node.inputs) == len(first.inputs)
        assert len({pattern(node.name) for node in column if node.name}) <= 1
        for operands in zip(*(node.inputs for node in column)):
            back = [r - place[x][0] if x in place else None for r, x in enumerate(operands)]
            known = [distance for distance in back if distance is not None]
            if not known:
                assert len({np.shape(getattr(x, "data", x)) for x in operands}) == 1
                continue
            distance = max(known)
            assert min(known) == distance, "pieces that read from different distances"
            assert back[:distance] == [None] * distance and None not in back[distance:]
            assert distance <= 1 or len(known) >= 2
            places = {place[x][1] for x in operands if x in place}
            assert len(places) == 1, "pieces that read different places"
            if distance:
                carried |= places
    assert carried == set(repeat.carried)


def assert_folded_truly(nodes, fold):
    """Each node is in one class, and every edge of the graph is an edge between classes, at the same operand."""
    assert sorted(map(id, nodes)) == sorted(id(node) for members in fold.members.values() for node in members)
    for first, members in fold.members.items():
        assert first is members[0]
        assert all(fold.representative[node] is first for node in members)
        assert len({(node.op and node.op.name, node.shape, len(node.inputs)) for node in members}) == 1
    for run in fold.runs:
        assert all(fold.representative[node] in set(nodes) for node in run.rows[0])


@pytest.mark.parametrize("name", [name for name in ZOO if name not in ("nodes_100_000", "tangle_of_1000")])
def test_none_wrong(name):
    nodes = topological(ZOO[name]())
    found = Structure(nodes)
    for repeat in every_repeat(found.items):
        assert_isomorphic(repeat)
    assert_folded_truly(nodes, found.folded())
    unfolded = found.folded(lambda repeat: False)
    assert all(members == [first] or first.op is None for first, members in unfolded.members.items())


@pytest.mark.parametrize("seed", range(40))
def test_none_wrong_in_graphs_that_hang_together_in_no_way(seed):
    nodes = topological(tangle(120, seed, shapes=seed % 2 == 1))
    found = Structure(nodes)
    for repeat in every_repeat(found.items):
        assert_isomorphic(repeat)
    assert_folded_truly(nodes, found.folded())


FOUND = {
    "neuron": "mul mul add add tanh",
    "euler_50": "{neg mul mul mul add}×50→",
    "newton": "{mul sub mul div sub}×6→",
    "nested_loops": "{mul {sin mul add}×5→ add}×6→",
    "branches_in_a_loop": "{exp mul mul sin add}×5→",
    "chain": "{sin}×30→",
    "varied_factors": "{mul add}×10→",
    "line_of_8_points": "{mul add sub power add}×8→ div",
    "polynomial": "{mul add}×7→",
    "scoped_steps": "{<mul sin mul add>}×20→",
    "rnn_5": "{matmul matmul add add tanh}×5→ power sum",
    "attention": "matmul matmul matmul transpose matmul div softmax matmul sum",
    "attention_of_4_heads": "{matmul matmul matmul transpose matmul div softmax matmul}×4 concatenate matmul sum",
    "word_to_vec": "{getitem getitem mul sum sigmoid log sub}×21→",
    "residual_blocks": "{<layer_norm matmul relu matmul add>}×3→ power sum",
    "mlp_on_3": "{<<{<dot relu>}×16> <{<dot relu>}×16> <<dot>>>}×3 {sub power add}×3→",
    "own_mlp": "{{{mul add}×3→ tanh}×4 {{mul add}×4→ tanh}×4 {mul add}×4→ tanh sub power add}×4→",
    "deep_mlp": "{matmul add relu}×12→ sum",
    "u_net": "matmul relu matmul relu matmul relu matmul relu concatenate matmul relu concatenate matmul relu "
             "concatenate matmul relu sub power mean",
}  # fmt: skip


@pytest.mark.parametrize("name", FOUND)
def test_what_is_found(name):
    assert shape_of(Structure(topological(ZOO[name]())).items) == FOUND[name]


def test_more_steps_are_the_same_picture():
    sizes = {len(Structure(topological(euler(steps))).folded().members) for steps in (3, 50, 51, 400)}
    assert sizes == {7}


def test_a_second_function_called_in_a_loop_is_one_period():
    x, ops = Value(0.5, name="x"), [ag.sin, ag.cos]
    for i in range(12):
        x = ops[i % 2](x) * 0.9
    assert shape_of(Structure(topological(x)).items) == "{sin mul cos mul}×6→"


def test_a_loop_whose_ops_are_all_alike_has_the_period_of_its_wiring():
    a, b, x = Value(1.1, name="a"), Value(0.9, name="b"), Value(0.5, name="x")
    for _ in range(6):
        y = x * a
        z = y * y
        x = z * b
    assert shape_of(Structure(topological(x)).items) == "{mul mul mul}×6→"


def test_what_differs_is_no_repeat():
    x = Value(np.ones((2, 2)), name="x")
    assert shape_of(Structure(topological(((x**2) + (x**3)) + ((x**4) + (x**5)))).items).count("{") == 0
    sums = [x.sum(axis=axis, keepdims=True) * 1.0 for axis in (0, 1, 0)]
    assert "{" not in shape_of(Structure(topological(sums[0] + sums[1] + sums[2])).items)
    a, b, c = (ag.tanh(x @ Value(np.ones((2, 2)), name=name)) * 2 for name in ("encoder", "decoder", "head"))
    assert "{" not in shape_of(Structure(topological(a + b + c)).items)  # other names, other things


def test_a_tree_is_no_chain():
    leaves = [Value(0.1 * i) for i in range(16)]
    while len(leaves) > 1:
        leaves = [ag.tanh(one * other) for one, other in zip(leaves[::2], leaves[1::2])]
    for repeat in Structure(topological(leaves[0])).repeats:
        assert not repeat.in_a_row


def test_calls_of_a_module_are_not_cut():
    x = Value(0.5, name="x")
    for i in range(4):
        with scope(f"layers.{i}"):
            x = ag.sin(x) * 2.0
        x = ag.tanh(x)
    assert shape_of(Structure(topological(x)).items) == "{<sin mul> tanh}×4→"


def test_leaves_that_fill_one_place_are_one_class():
    nodes = topological(rnn(5))
    fold = Structure(nodes).folded()
    classes = {members[0].name: len(members) for members in fold.members.values() if members[0].op is None}
    assert classes == {"Wx": 1, "Wh": 1, "b": 1, "h0": 1, "x0": 5}


def test_time():
    """Linear in practice: a thousand nodes in milliseconds, a hundred thousand in a second or two."""
    nodes = topological(tangle(1000, 5))
    best = min(_seconds(nodes) for _ in range(5))
    assert best < 0.03, f"{best * 1000:.0f} ms for {len(nodes)} nodes"


def _seconds(nodes):
    start = time.process_time()
    Structure(nodes).folded()
    return time.process_time() - start
