"""Every op of the table on arrays that lie in memory in another order: the numbers and gradients are the same."""

import numpy as np
import pytest

from autograd import OPS, Value
from autograd.samples import Sample
from tests.sweep import sweep

DEEPER = {  # shapes of rank 3, where flattening the rows of such an array makes a copy
    "softmax": ["3,4,5"], "log_softmax": ["3,4,5"], "layer_norm": ["3,4,5 5 5"], "rms_norm": ["3,4,5 5"],
    "linear": ["3,4,5 5,2 2"], "attention": ["2,3,4,5 2,3,4,5 2,3,4,5"],
}  # fmt: skip
TARGETS = np.array([[0, 1, 3], [2, 0, 0]])
CROSS_ENTROPY = [
    Sample("2,3,4", TARGETS, **settings)
    for settings in ({}, {"reduction": "sum"}, {"reduction": "none"}, {"ignore_index": 0}, {"label_smoothing": 0.1})
]


def last_two_exchanged(a):
    return np.ascontiguousarray(a.swapaxes(-1, -2)).swapaxes(-1, -2) if a.ndim > 1 else a


def every_second(a):
    wide = np.zeros([2 * n for n in a.shape], a.dtype)[tuple(slice(None, None, 2) for _ in a.shape)]
    wide[...] = a
    return wide


LAYOUTS = {"columns first": np.asfortranarray, "last two exchanged": last_two_exchanged, "every second": every_second}


def gradients(op, sample, lay):
    """The result and the gradients, with each array of the inputs and of the cotangent laid out so."""
    f, xs = op.on(sample)
    inputs = []
    for x in xs:
        real = isinstance(x, float) or (isinstance(x, np.ndarray) and x.dtype.kind == "f")
        inputs.append(Value(x) if real else x)
        if real and np.ndim(x):
            inputs[-1]._data = lay(x)
    out = f(*inputs)
    cotangent = np.random.default_rng(0).normal(size=out.shape)
    out.backward(lay(cotangent) if out.shape else 1.5)
    return [out.data, *(x.grad for x in inputs if isinstance(x, Value))]


@pytest.mark.slow
@sweep("name", [name for name, op in OPS.items() if op.differentiable])
def test_the_order_in_memory_changes_nothing(name):
    op = OPS[name]
    more = CROSS_ENTROPY if name == "cross_entropy" else [Sample(s) for s in DEEPER.get(name, ())]
    for sample in (*op.samples, *more):
        usual = gradients(op, sample, np.asarray)
        for layout, lay in LAYOUTS.items():
            for got, expected in zip(gradients(op, sample, lay), usual, strict=True):
                assert (got is None) == (expected is None), f"{sample}, {layout}"
                if got is not None:
                    np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-12, err_msg=f"{sample}, {layout}")
