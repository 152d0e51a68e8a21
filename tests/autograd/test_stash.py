"""What a fused op's forward keeps for its rule: handed over once, and computed again for whoever comes back."""

import gc
import weakref

import numpy as np
import pytest

from autograd import OPS, Value, vjp
from autograd.ops.fused._stash import Stash
from tests.autograd.judges import uneven


def never():
    raise AssertionError("there was no need to compute it")


def test_the_first_to_ask_gets_it_for_himself():
    stash, out, saved = Stash(), np.zeros(3), np.ones(3)
    stash.keep(out, saved)
    left = weakref.ref(saved)
    del saved
    assert stash.take(out, never).tolist() == [1.0, 1.0, 1.0]
    gc.collect()
    assert left() is None


def test_from_the_second_time_on_it_stays():
    stash, out, again = Stash(), np.zeros(3), np.ones(3)
    stash.keep(out, np.ones(3))
    stash.take(out, never)
    assert stash.take(out, lambda: again) is again
    assert stash.take(out, never) is again


def test_beside_an_array_that_is_gone_nothing_is_kept():
    stash, saved = Stash(), np.ones(3)
    out = np.zeros(3)
    stash.keep(out, saved)
    del out
    gc.collect()
    assert stash.take(np.zeros(3), lambda: "computed") == "computed"
    assert not stash._kept


FUSED = {
    "gelu": lambda x: OPS["gelu"](x, approximate="tanh"),
    "layer_norm": lambda x: OPS["layer_norm"](x, np.arange(6.0), np.ones(6)),
    "rms_norm": lambda x: OPS["rms_norm"](x, np.arange(6.0)),
    "attention": lambda x: OPS["attention"](x, 2.0 * x, x + 1.0),
    "self_attention": lambda x: OPS["self_attention"](x, heads=2, causal=True),
}


@pytest.mark.parametrize("name", FUSED)
def test_a_graph_pulled_through_again_gives_the_same(name):
    x = np.random.default_rng(0).normal(size=(2, 3, 6))
    out, pull = vjp(FUSED[name], x)
    first, second, third = (pull(uneven(out.shape))[0] for _ in range(3))
    np.testing.assert_allclose(second, first, rtol=1e-14, atol=1e-14)
    np.testing.assert_array_equal(third, second)


def test_two_results_of_one_op_share_nothing():
    """Two results of one op, pulled through in turn: each has its own."""
    x, y = (Value(uneven((2, 6), seed=seed)) for seed in (1, 2))
    gelu = FUSED["gelu"]
    both = gelu(x).sum() + gelu(y).sum()
    both.backward()
    for v in (x, y):
        (alone,) = vjp(lambda v: gelu(v).sum(), v.data)[1](1.0)
        np.testing.assert_array_equal(v.grad, alone)
