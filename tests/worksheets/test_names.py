"""The names of the worksheets: `P(A)`, `dL/dWO[0][2]`, and small expressions of them."""

from __future__ import annotations

import numpy as np
import pytest

from examples.checking.names import value_of
from examples.checking.sheet import load, names

QUANTITIES = {"P": np.array([0.25, 0.75]), "P(A)": 0.25, "P_new": 2.0, "eta": 0.1, "K": np.eye(2), "K^T": 2 * np.eye(2),
              "dL/dW": np.array([[1.0, 2.0], [3.0, 4.0]]), "dL/dW1": 7.0, "L": 5.0, "L_mean": 6.0}


@pytest.mark.parametrize(("what", "value"), [
    ("P(A)", 0.25), ("P[1]", 0.75), ("P_new", 2.0), ("K^T[1][1]", 2.0), ("K[1][1]", 1.0),
    ("dL/dW[1][0]", 3.0), ("dL/dW1", 7.0), ("L_mean", 6.0), ("L", 5.0),
    ("100*P(A)", 25.0), ("sum(P)", 1.0), ("-eta*dL/dW[0][1]", -0.2), ("P_new-P(A)", 1.75),
    ("dL/dW[0][0]*P[1]", 0.75), ("-dL/dW[1][1]*P[0]", -1.0), ("P_new-L*2+1", -7.0),
])
def test_value_of(what, value):
    assert value_of(what, QUANTITIES) == pytest.approx(value)


@pytest.mark.parametrize("what", ["Q[0]", "P(A)P(A)", "P(A)+", "sum(P", ""])
def test_what_cannot_be_read_is_refused(what):
    with pytest.raises(KeyError, match="expected"):
        value_of(what, QUANTITIES)


@pytest.mark.parametrize("name", names())
def test_plain_names_are_keys_of_run(name, quantities):
    """`run()` has a matrix whole under its name, and a vector over the tokens also entry by entry."""
    found = quantities(name)
    for entry in load(name).entries:
        if not any(mark in entry.what for mark in "*-") and not entry.what.startswith("sum("):
            whole = entry.what.partition("[")[0]
            assert whole in found, entry.what


def test_shapes(quantities):
    found = quantities("example3")
    shapes = {"dL/dWO": (2, 4), "WO": (2, 2), "WO_new": (2, 2), "WO4": (2, 4), "WO4_new": (2, 4),
              "P": (4,), "ctx": (2,), "logit": (4,)}
    assert {name: np.shape(found[name]) for name in shapes} == shapes
    assert found["WO_new"][1, 1] == found["WO4_new"][1, 2]
    assert np.shape(quantities("cat_sleeps")["p"]) == np.shape(quantities("cat_sleeps")["y"]) == (3,)
