"""Shapes and dtypes at the edge, on every backend: one entry, none, masks as numbers, NumPy's wide rows."""

from importlib.util import find_spec

import numpy as np

import autograd as ag
from autograd import compile, value_and_grad
from autograd.program.backends.c.compiler import is_here
from tests.sweep import sweep

HERE = ["numpy", "interpreter", *["c"] * is_here(), *["jax"] * (find_spec("jax") is not None)]

ONE, NONE = np.array([0.5]), np.zeros((0, 3))
SIGNS = np.array([[1.0, -2.0], [-1.0, 0.0]])
COLUMN, TALL = np.array([[2.0]]), np.array([[2.0, 3.0, 4.0]])

ZEROS = "the larger of two zeros"  # XLA takes either
CORNERS = {
    "a row's mean times one number": (lambda x: (x.mean(axis=-1, keepdims=True) @ COLUMN).sum(), SIGNS),
    "a row's mean times a row": (lambda x: (x.mean(axis=-1, keepdims=True) @ TALL).sum(), SIGNS),
    "one entry beside a number of it": (lambda x: (np.sqrt(x.sum()) + x).sum(), ONE),
    "nothing, joined": (lambda x: np.concatenate([x, x]).sum(), NONE),
    "nothing, stacked": (lambda x: np.stack([x, x]).sum() + np.vstack([x, x]).sum(), NONE),
    "a product of nothing": (lambda x: x.prod(), NONE),
    "running sums of nothing": (lambda x: ag.logcumsumexp(x).sum(), np.zeros(0)),
    "a mask with its sign turned": (lambda x: (-(x > 0) * x).sum(), SIGNS),
    "a function of integers": (lambda x: ag.logsumexp(x.argmax(axis=-1)) * x.sum(), SIGNS),
    "a number as a condition": (lambda x: ag.where(x, x, 2 * x).sum(), SIGNS),
    ZEROS: (lambda x: 1 / x.max(), np.array([-0.0, 0.0])),
    "the larger of a float32": (lambda x: np.fmax(np.float32(0.5), ag.exp(x[0])), np.array([1.0])),
}


CASES = [(backend, corner) for backend in HERE for corner in CORNERS if backend != "jax" or corner != ZEROS]


@sweep("backend, corner", CASES, slow=lambda backend, corner: backend in ("c", "jax"))
def test_corners_are_those_of_the_engine(backend, corner):
    f, x = CORNERS[corner]
    with np.errstate(all="ignore"):
        value, (slope,) = compile(f, backend)(x)
        want, there = value_and_grad(f)(x)
    np.testing.assert_allclose(value, want, rtol=1e-6)
    np.testing.assert_allclose(slope, there, rtol=1e-6)
    assert np.shape(slope) == np.shape(there)
