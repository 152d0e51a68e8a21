"""Every op against torch: its recorded answers always, torch itself where it is installed."""

import importlib.util
import json

import numpy as np
import pytest

from autograd import vjp
from tests.autograd.judges import assert_close, of_the_reals, uneven
from tests.autograd.make_fixtures import FIXTURES, keyed_cases
from tests.sweep import sweep

RECORDED = json.loads(FIXTURES.read_text())["cases"]
TABLE = {key: (op, sample) for key, op, sample in keyed_cases()}

every_op = sweep("name", sorted({TABLE[key][0].name for key in RECORDED.keys() & TABLE.keys()}))
needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="NOT TESTED: torch is not installed (pip install torch==2.13.0)"
)


STALE = "the samples have changed: python -m tests.autograd.make_fixtures makes the record again"


def recorded_cases(name):
    """What torch was asked about one op: a key, the op and the sample, for each of its samples."""
    return [(key, *TABLE[key]) for key in sorted(RECORDED.keys() & TABLE.keys()) if TABLE[key][0].name == name]


def test_the_record_belongs_to_the_table():
    assert RECORDED.keys() <= TABLE.keys(), STALE
    assert len(RECORDED) > 300


@needs_torch
def test_every_op_that_torch_has_is_recorded():
    from tests.autograd.in_torch import TORCH

    assert {key for key, (op, _) in TABLE.items() if op.name in TORCH} == RECORDED.keys(), STALE


@every_op
def test_agrees_with_the_recorded_answer_of_torch(name):
    for key, op, sample in recorded_cases(name):
        record = RECORDED[key]
        f, like = of_the_reals(*op.on(sample))
        inputs = zip(record["inputs"], like, strict=True)
        xs = [np.array(x, dtype=np.float64).reshape(np.shape(y))[()] for x, y in inputs]
        out, pull = vjp(f, *xs)
        u = np.array(record["cotangent"]).reshape(np.shape(out))
        assert_close(out, np.array(record["result"], dtype=np.float64).reshape(np.shape(out)), key, tolerance=1e-13)
        for x, got, expected in zip(xs, pull(u), record["gradients"], strict=True):
            # torch rounds too: where a gradient is 0, its terms may leave 1e-14 of their own size
            expected = np.array(expected, dtype=np.float64).reshape(np.shape(x))
            assert_close(got, expected, key, tolerance=1e-12, floor=1.0)


@needs_torch
@every_op
def test_the_record_is_what_torch_says(name):
    from tests.autograd.in_torch import answer

    for key, op, sample in recorded_cases(name):
        out, grads = answer(op.name, sample.inputs(op.name), sample.settings, uneven)
        assert_close(np.array(RECORDED[key]["result"], dtype=np.float64).reshape(out.shape), out, key, tolerance=1e-14)
        for recorded, g in zip(RECORDED[key]["gradients"], grads, strict=True):
            assert_close(np.array(recorded, dtype=np.float64).reshape(g.shape), g, key, tolerance=1e-14)


@needs_torch
@every_op
def test_second_order_agrees_with_torch(name):
    from tests.autograd.in_torch import second_answer

    for key, op, sample in recorded_cases(name):
        f, xs = of_the_reals(*op.on(sample))
        seconds = vjp(lambda *xs, f=f: weighted_gradients(f, xs), *xs)[1](1.0)
        expected = second_answer(op.name, sample.inputs(op.name), sample.settings, uneven)
        for got, second in zip(seconds, expected, strict=True):
            assert_close(got, second, key, tolerance=1e-11, floor=1.0)


def weighted_gradients(f, xs):
    out, pull = vjp(f, *xs)
    return sum((g * uneven(np.shape(g), seed=7)).sum() for g in pull(uneven(np.shape(out))))
