"""The table from torch's operators to our ops, on calls recorded with torch. Runs without it."""

import json
import subprocess
import sys

import numpy as np
import pytest

import autograd as ag
from autograd.capturing.aten import ATEN, rule_for
from autograd.errors import DataError
from tests.autograd.capturing.make_recording import RECORDING, decoded
from tests.sweep import sweep

CALLS = json.loads(RECORDING.read_text())["calls"]


def test_the_recording_covers_most_of_the_table():
    names = {call["op"].partition(".")[0] for call in CALLS}
    assert len(CALLS) > 150
    assert len(names) > 80


@sweep("number", range(len(CALLS)), ids=lambda n: f"{CALLS[n]['op']}-{n}")
def test_a_recorded_call_gives_the_results_and_gradients_of_torch(number):
    call = CALLS[number]
    leaves = []

    def as_value(array):
        leaves.append(ag.Value(array))
        return leaves[-1]

    rule = rule_for(call["op"])
    args = decoded(call["args"], as_value)
    kwargs = {key: decoded(x, as_value) for key, x in call["kwargs"].items()}
    theirs = [decoded(x, lambda array: array) for x in call["results"]]
    if getattr(rule, "needs_results", False):
        kwargs["results"] = theirs
    with np.errstate(all="ignore"):
        ours = rule(*args, **kwargs)
    ours = ours if isinstance(ours, tuple) else (ours,)
    starts = iter(decoded(call["starts"], np.asarray))
    for value, array, said in zip(ours, theirs, call["results"], strict=True):
        if "value" in said:
            assert_near(value.data, array, 1e-12)
            start = next(starts)
            if value.requires_grad:  # else constant nearly everywhere: torch's gradients are zeros
                value.backward(start)
    for leaf, gradient in zip(leaves, decoded(call["gradients"], np.asarray), strict=True):
        assert_near(np.zeros(leaf.shape) if leaf.grad is None else leaf.grad, gradient, 1e-10)


def assert_near(ours, theirs, tolerance):
    assert np.shape(ours) == theirs.shape
    scale = max(float(np.max(np.abs(theirs[np.isfinite(theirs)]), initial=0.0)), 1e-3)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance * scale)


def test_torch_is_not_imported_before_a_model_of_it_comes():
    program = """if True:
        import sys, autograd
        from autograd.capturing.aten import ATEN
        assert len(ATEN) > 200 and autograd.capture
        try:
            autograd.capture(abs, 1.0)
        except autograd.errors.DataError as error:
            print(error)
        print("torch" in sys.modules, "jax" in sys.modules)
    """
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert "import torch" in out
    assert out.endswith("False False\n")


def test_what_cannot_be_called_is_refused():
    with pytest.raises(DataError, match="a module or a function"):
        ag.capture(3.0)


def test_every_rule_has_a_name_that_torch_could_have():
    assert all(name.replace(".", "_").isidentifier() for name in ATEN)
