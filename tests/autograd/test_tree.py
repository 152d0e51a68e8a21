"""Nests of lists, tuples and dicts, taken apart and put together."""

from collections import namedtuple

import numpy as np
import pytest

from autograd.tree import flatten, unflatten

Pair = namedtuple("Pair", "left right")


@pytest.mark.parametrize("tree, leaves", [
    (1.0, [1.0]), ([1, 2], [1, 2]), ((1, [2, 3]), [1, 2, 3]), ({"w": [1, 2], "b": 3}, [1, 2, 3]), ([], []), ({}, []),
    (Pair(1, (2, 3)), [1, 2, 3]), ([[], {"a": ()}], []), (None, [None]),
])  # fmt: skip
def test_there_and_back(tree, leaves):
    flat, structure = flatten(tree)
    assert flat == leaves
    again = unflatten(structure, flat)
    assert again == tree
    assert type(again) is type(tree)


def test_an_array_is_a_leaf():
    x = np.ones((2, 3))
    assert flatten([x])[0][0] is x


def test_the_order_of_a_dict_is_its_own():
    assert flatten({"b": 1, "a": 2})[0] == [1, 2]
