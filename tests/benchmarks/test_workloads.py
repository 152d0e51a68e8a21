"""The benchmarks still run, and their contenders still compute the same; how fast, no test says."""

import subprocess
import sys

import numpy as np
import pytest

from autograd.program.backends.c.compiler import is_here
from benchmarks import harness, w1_scalar_mlp, w2_microgpt, w3_block, w6_deep, w10_layers
from benchmarks.__main__ import workloads
from benchmarks.harness import US

NOT_HERE = ("jax",) if is_here() else ("jax", ", c")  # peers have their own tests; C needs a compiler


def answer_after(training, steps=2):
    for _ in range(steps):
        training.step()
    return training.answer()


@pytest.mark.slow
def test_scalars_and_arrays_train_the_same_network():
    ours = {
        name: make for name, make in w1_scalar_mlp.CONTENDERS.items()
        if name.startswith(US) and not name.endswith(NOT_HERE)
    }  # fmt: skip
    assert len(ours) == 5 + 2 * is_here()
    harness.assert_same({name: answer_after(make()) for name, make in ours.items()})


@pytest.mark.slow
def test_the_scalar_gpt_is_the_one_on_arrays_and_on_another_engine(monkeypatch):
    for name, smaller in {"WIDTH": 8, "HEADS": 2, "NAME": "ada"}.items():
        monkeypatch.setattr(w2_microgpt, name, smaller)
    contenders = {
        name: make for name, make in w2_microgpt.CONTENDERS.items()
        if not name.startswith(("micrograd", "torch")) and not name.endswith(NOT_HERE)
    }  # fmt: skip
    assert len(contenders) == 6 + 3 * is_here()
    harness.assert_same({name: answer_after(make()) for name, make in contenders.items()})


@pytest.mark.slow
@pytest.mark.parametrize("tokens, width", w3_block.SIZES)
def test_every_way_to_write_the_block_is_the_hand_written_one(tokens, width):
    arrays, cotangent = w3_block.inputs(tokens, width)
    contenders = w3_block.hand_written(arrays, cotangent) | w3_block.handgrad_blocks(arrays, cotangent)
    harness.assert_same({name: contender.answer() for name, contender in contenders.items()})


@pytest.mark.slow
@pytest.mark.parametrize("name", ["BatchNorm1d", w10_layers.LSTM])
def test_a_layer_and_its_program_send_the_same_back(name):
    found = w10_layers.contenders(name, np.float64, ["numpy", "c"] if is_here() else ["numpy"], with_torch=False)
    harness.assert_same(w10_layers.answers(found))


@pytest.mark.slow
def test_the_deep_chain_is_measured():
    row = w6_deep.measure(US, 1000)
    assert set(row) == set(w6_deep.KEYS)
    assert all(value >= 0 for value in row.values())


def test_different_answers_are_refused():
    with pytest.raises(AssertionError, match=r"b and a do not agree: the largest difference is 0\.1"):
        harness.assert_same({"a": [[1.0, 2.0]], "b": [[1.0, 2.1]]})


def test_ratios_are_taken_within_each_round():
    timings = harness.Timings({"a": [1.0, 10.0, 3.0], "b": [2.0, 5.0, 6.0]})
    assert timings.ratio("b", to="a") == 2.0
    assert timings.median("a") == 3.0
    assert timings.fastest(["a", "b", "not measured"]) == "a"


def test_workloads_are_found_by_name():
    assert workloads(["w10", "w1", "import"]) == ["w1_scalar_mlp", "w10_layers", "import_time"]
    assert len(workloads([])) >= 8


def test_an_unknown_workload_is_refused_with_the_list():
    done = subprocess.run([sys.executable, "-m", "benchmarks", "w99"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "no workload is called w99; there are: w1_scalar_mlp" in done.stderr
