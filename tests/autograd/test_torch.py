"""Every op against torch: its recorded answers always, torch itself where it is installed."""

import importlib.util
import json

import numpy as np
import pytest

from autograd import vjp
from tests.autograd.judges import assert_close, of_the_reals, uneven
from tests.autograd.make_fixtures import FIXTURES, keyed_cases

RECORDED = json.loads(FIXTURES.read_text())["cases"]
TABLE = {key: (op, sample) for key, op, sample in keyed_cases()}

every_case = pytest.mark.parametrize("key", sorted(RECORDED.keys() & TABLE.keys()))
needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="NOT TESTED: torch is not installed (pip install torch==2.13.0)"
)


STALE = "the samples have changed: python -m tests.autograd.make_fixtures makes the record anew"


def test_the_record_belongs_to_the_table():
    assert RECORDED.keys() <= TABLE.keys(), STALE
    assert len(RECORDED) > 300


@needs_torch
def test_every_op_that_torch_has_is_recorded():
    from tests.autograd.in_torch import TORCH

    assert {key for key, (op, _) in TABLE.items() if op.name in TORCH} == RECORDED.keys(), STALE


@every_case
def test_agrees_with_the_recorded_answer_of_torch(key):
    op, sample = TABLE[key]
    record = RECORDED[key]
    f, own = op.on(sample)
    f, like = of_the_reals(f, own)
    xs = [np.array(x, dtype=np.float64).reshape(np.shape(y))[()] for x, y in zip(record["inputs"], like, strict=True)]
    out, pull = vjp(f, *xs)
    u = np.array(record["cotangent"]).reshape(np.shape(out))
    assert_close(out, np.array(record["result"], dtype=np.float64).reshape(np.shape(out)), key, tolerance=1e-13)
    for x, got, expected in zip(xs, pull(u), record["gradients"], strict=True):
        # torch rounds too: where a gradient is 0, its terms may leave 1e-14 of their own size
        assert_close(got, np.array(expected, dtype=np.float64).reshape(np.shape(x)), key, tolerance=1e-12, floor=1.0)


@needs_torch
@every_case
def test_the_record_is_what_torch_says(key):
    from tests.autograd.in_torch import answer

    op, sample = TABLE[key]
    out, grads = answer(op.name, sample.inputs(op.name), sample.settings, uneven)
    assert_close(np.array(RECORDED[key]["result"], dtype=np.float64).reshape(out.shape), out, key, tolerance=1e-14)
    for recorded, g in zip(RECORDED[key]["gradients"], grads, strict=True):
        assert_close(np.array(recorded, dtype=np.float64).reshape(g.shape), g, key, tolerance=1e-14)


@needs_torch
@every_case
def test_second_order_agrees_with_torch(key):
    from tests.autograd.in_torch import second_answer

    op, sample = TABLE[key]
    f, xs = of_the_reals(*op.on(sample))

    def weighed_gradients(*xs):
        out, pull = vjp(f, *xs)
        return sum((g * uneven(np.shape(g), seed=7)).sum() for g in pull(uneven(np.shape(out))))

    seconds = vjp(weighed_gradients, *xs)[1](1.0)
    expected = second_answer(op.name, sample.inputs(op.name), sample.settings, uneven)
    for got, second in zip(seconds, expected, strict=True):
        assert_close(got, second, key, tolerance=1e-11, floor=1.0)
