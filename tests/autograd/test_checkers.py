"""Hundreds of right and of planted wrong backward passes: none of the right ones is refused, and no error is missed."""

import numpy as np
import pytest

from autograd import check_layer
from tools.checkers import SPOILT, Layer, functions, handgrad, installed, large

FEW = 4  # one function of so many is tried in each run, all in a nightly one


def try_all(layers):
    """How many errors were planted."""
    planted = 0
    for layer in layers:
        report = check_layer(layer, layer.x)
        assert report.ok, report
        for what, spoil in SPOILT.items():
            wrong = layer.spoilt(spoil)
            if wrong is not None:
                planted += 1
                assert handgrad(wrong), (layer.name, what)
    return planted


@pytest.mark.slow
def test_right_backward_passes_pass_and_spoilt_ones_do_not():
    assert try_all(list(functions())[::FEW]) >= 200


@pytest.mark.nightly
def test_all_of_them():
    assert try_all([*functions(), *large()]) >= 1000


def test_errors_in_one_of_thousands_of_entries_are_found():
    layer = next(layer for layer in large() if layer.name == "the sum of squares")
    for what in ("a factor 1.000001", "one entry, 1e-6"):
        assert handgrad(layer.spoilt(SPOILT[what])), what


@pytest.mark.slow
def test_every_checker_tells_right_from_wrong():
    layer = Layer("cube", lambda x: x**3, np.array([1.0, 2.0, -1.5]))
    for name, check in installed().items():
        assert not check(layer) and check(layer.spoilt(SPOILT["twice too large"])), name
