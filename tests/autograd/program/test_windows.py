"""Large convolutions and pools run as they are on NumPy: no slower than the engine, and read in core ops."""

import numpy as np

import autograd as ag
from autograd import compile, value_and_grad
from tests.sweep import sweep

RNG = np.random.default_rng(0)
IMAGE, WEIGHT = RNG.normal(size=(4, 3, 28, 28)), RNG.normal(size=(4, 3, 3, 3))
FORMS = {
    "conv": lambda x, w: (ag.conv(x, w, padding=1) ** 2).sum(),
    "max_pool": lambda x, w: (ag.max_pool(x, 3, stride=1) ** 2).sum(),
    "avg_pool": lambda x, w: (ag.avg_pool(x, 2) ** 2).sum(),
    "interpolate": lambda x, w: (ag.interpolate(x, 56) ** 2).sum(),
}


@sweep("name", list(FORMS))
def test_large_windows_run_as_they_are(name):
    g = compile(FORMS[name])
    got, want = g(IMAGE, WEIGHT), value_and_grad(FORMS[name])(IMAGE, WEIGHT)
    np.testing.assert_allclose(got[0], want[0], rtol=1e-10)
    np.testing.assert_allclose(got[1][0], want[1], rtol=1e-9, atol=1e-12)
    assert any(i.op.base.name == name for i in g.program().code)
    space = {}
    exec(g.source, space)
    ours = space["program"](IMAGE, WEIGHT)
    np.testing.assert_allclose(ours[0], want[0], rtol=1e-10)
