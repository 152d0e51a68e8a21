"""Reading a graph: its nodes in topological order."""

import numpy as np
import pytest

from autograd import Value, stack
from autograd.graph import leaves, topological


def test_every_input_comes_before_its_result():
    a, b = Value(1.0, name="a"), Value(2.0, name="b")
    c = a * b
    out = (c + a).exp() * c
    order = topological(out)
    place = {node: i for i, node in enumerate(order)}
    assert order[-1] is out
    assert all(place[x] < place[node] for node in order for x in node.parents)
    assert len(order) == len(set(order)) == 6


def test_an_edited_leaf_still_comes_first():
    a = Value(1.0)
    out = a * 2
    a.data = 3.0  # its stamp is now later than its result's
    assert topological(out) == [a, out]


def test_leaves_oldest_first():
    a, b, c = Value(1.0), Value(2.0), Value(3.0, requires_grad=False)
    assert leaves(stack([c, b, a]).sum()) == [a, b, c]


def test_a_leaf_alone():
    a = Value(np.ones(2))
    assert topological(a) == [a]


def test_the_order_does_not_depend_on_addresses():
    """The same program gives the same order in every run, whatever `id` and hashes say."""

    def program():
        a = [Value(float(i)) for i in range(20)]
        junk = [object() for _ in range(len(orders) * 7)]  # moves what comes next to other addresses
        out = stack([x * y for x in a for y in a[::3]]).sum() + stack(a).sum()
        first = a[0].stamp
        return [node.stamp - first for node in topological(out)], junk

    orders = []
    for _ in range(3):
        orders.append(program()[0])
    assert orders[0] == orders[1] == orders[2]


def test_stacked_diamonds_take_linear_time():
    """2**200 paths, 400 nodes."""
    node = Value(1.0)
    for _ in range(200):
        node = node + node * 0.0
    assert len(topological(node)) == 401


@pytest.mark.slow
def test_depth_does_not_matter():
    node = Value(1.0)
    for _ in range(100_000):
        node = node + 1.0
    assert len(topological(node)) == 100_001
