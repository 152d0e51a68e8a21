"""The batched replay is the function: row for row the same as calling it on each input on its own."""

import numpy as np
import pytest

import autograd as ag
from autograd import OPS, Value
from autograd.program.replay import Replay
from tests.autograd.judges import every_sample, is_real, of_the_reals

ROWS = 3


def replayed(f, arrays):
    """f on each row of the arrays, by one replay of a recording at the first row."""
    sources = [Value(a[0]) for a in arrays]
    out = f(*sources)
    replay = Replay(sources, [out])
    given = {s: np.asarray(a) for s, a in zip(sources, arrays)}
    return replay.run(ROWS, given)[0]


def called(f, arrays):
    return np.stack([np.asarray(f(*(Value(row) for row in rows)).data) for rows in zip(*arrays)])


@every_sample()
def test_every_op_on_every_sample(op, sample):
    f, xs = of_the_reals(*op.on(sample))
    if not xs:
        pytest.skip("nothing real goes in")
    rng = np.random.default_rng(0)
    arrays = [np.stack([np.asarray(x) + 0.05 * rng.random(np.shape(x)) for _ in range(ROWS)]) for x in xs]
    np.testing.assert_allclose(replayed(f, arrays), called(f, arrays), rtol=1e-12, atol=1e-13)


@every_sample(lambda op: op.differentiable)
def test_only_one_input_carries_the_axis(op, sample):
    """The others have no batch axis; they must broadcast as if they had."""
    f, xs = of_the_reals(*op.on(sample))
    rng = np.random.default_rng(0)
    for k, x in enumerate(xs):
        sources = [Value(x) for x in xs]
        out = f(*sources)
        rows = np.stack([np.asarray(x) + 0.05 * rng.random(np.shape(x)) for _ in range(ROWS)])
        (got,) = Replay(sources, [out]).run(ROWS, {sources[k]: rows})
        expected = [np.asarray(f(*xs[:k], _plain(row), *xs[k + 1 :])) for row in rows]
        np.testing.assert_allclose(got, np.stack(expected), rtol=1e-12, atol=1e-13)


def _plain(row):
    return float(row) if np.ndim(row) == 0 else row


FUNCTIONS = {
    "sum over all": lambda x, w: (x @ w).sum(),
    "T": lambda x, w: w.T @ x.T,
    "axis 0": lambda x, w: (x @ w).max(axis=0),
    "reshape and index": lambda x, w: (x @ w).reshape(-1)[::-2],
    "a gradient": lambda x, w: ag.grad(lambda a: ag.tanh(a @ w).sum())(x),
    "scalars of arrays": lambda x, w: x.mean() * w.std() + x[0, 0],
    "fancy": lambda x, w: x[[0, 1, 1]] @ w,
    "joined": lambda x, w: ag.concatenate([x, (x @ w) @ w.mT], axis=-1).var(axis=1),
    "masked": lambda x, w: ag.where(x > 0, x, 0.5 * x) @ w,
    "an op that loops": lambda x, w: ag.einsum("ij,jk->ki", x, w),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_whole_functions(name):
    rng = np.random.default_rng(1)
    arrays = [rng.normal(size=(ROWS, 2, 4)), rng.normal(size=(ROWS, 4, 3))]
    np.testing.assert_allclose(
        replayed(FUNCTIONS[name], arrays), called(FUNCTIONS[name], arrays), rtol=1e-12, atol=1e-13
    )


def test_what_does_not_depend_is_not_computed_again():
    x, y = Value(2.0), Value(3.0)
    untouched, touched = ag.exp(y), x * y
    replay = Replay([x, y], [untouched, touched])
    assert [node.op.name for node in replay.nodes] == ["exp", "mul"]
    first, second = replay.run(2, {x: np.array([5.0, 7.0])})
    assert first is None
    np.testing.assert_array_equal(second, [15.0, 21.0])


def test_every_op_says_how_it_is_batched():
    """Looping is right but slow: only where nothing better is known."""
    looped = {op.name for op in OPS.values() if op.batch is None and op.differentiable}
    assert looped <= {
        "scatter", "einsum", "cross_entropy", "lstm_step", "gru_step",
        "of_target", "channel_moments",  # of readers, and of running statistics
    }


def test_the_helper_of_this_test_knows_reals():
    assert is_real(1.0) and not is_real(None)
