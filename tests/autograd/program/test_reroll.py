"""Scalar code as array ops: the same numbers, and what is found in it."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import autograd as ag
from autograd import Value, compile, value_and_grad
from autograd.errors import DataError
from autograd.program.passes.reroll import LEAST
from autograd.program.passes.views import picked

SIZES = (3, 5, 4, 1)


def mlp(params, points):
    """micrograd's demo, neuron by neuron."""
    rest = iter(params)
    layers = [
        [([next(rest) for _ in range(n)], next(rest)) for _ in range(m)] for n, m in itertools.pairwise(SIZES)
    ]  # fmt: skip
    scores = []
    for x in points:
        for layer in layers:
            x = [sum((w * a for w, a in zip(weights, x)), bias) for weights, bias in layer]
            x = x if layer is layers[-1] else [a.relu() for a in x]
        scores.append(x[0])
    losses = [(1 + -(-1) ** n * s).relu() for n, s in enumerate(scores)]
    return sum(losses) * (1 / len(losses)) + 1e-4 * sum(p * p for p in params)


def some(count, seed=0):
    return np.random.default_rng(seed).normal(size=count).tolist()


def points_and_params():
    count = sum(m * (n + 1) for n, m in itertools.pairwise(SIZES))
    return some(count), [some(SIZES[0], seed) for seed in range(20)]


def assert_rolled(f, *args, groups):
    """f compiles to few arrays, and they give what the engine gives, also for other numbers."""
    g = compile(f)
    real = tuple(range(len(args)))
    for scale in (1.0, 0.7):
        args = [_scaled(x, scale) for x in args]
        value, grads = g(*args)
        want, others = value_and_grad(f, real)(*args)
        assert value == pytest.approx(want, rel=1e-12)
        for ours, theirs in zip(_flat(grads), _flat(others), strict=True):
            assert ours == pytest.approx(theirs, rel=1e-10, abs=1e-13)
    assert g._last.rolled is not None and g._last.rolled.groups <= groups, g._last.rolled
    return g


def _scaled(x, scale):
    return [_scaled(part, scale) for part in x] if isinstance(x, list) else x * scale


def _flat(x):
    if isinstance(x, (list, tuple)):
        return [number for part in x for number in _flat(part)]
    return np.ravel(x).tolist()


def test_a_scalar_mlp_becomes_matrix_products():
    params, points = points_and_params()
    g = assert_rolled(lambda params: mlp(params, points), params, groups=12)
    assert g._last.rolled.gathered == 0
    assert sum(i.op.base.name == "matmul" for i in g.program().code) >= 7
    value, (grads,) = g(params)
    assert isinstance(value, float) and isinstance(grads, list) and all(isinstance(x, float) for x in grads)


def test_data_may_be_given_too():
    params, points = points_and_params()
    assert_rolled(mlp, params, points, groups=12)


def test_entries_of_arrays_are_read_in_place():
    def f(w, x):
        return sum((sum(a * b for a, b in zip(row, x)) ** 2).tanh() for row in w)

    w, x = np.array(some(40 * 12)).reshape(40, 12), np.array(some(12, 1))
    g = assert_rolled(f, w, x, groups=6)
    assert g._last.rolled.gathered == 0
    assert g(w, x)[1][0].shape == (40, 12)


def test_rows_by_ids_are_gathered():
    table, ids = np.array(some(10 * 8)).reshape(10, 8), [3, 1, 1, 7, 0, 3, 2, 9]

    def f(table):
        chosen = [list(table[i]) for i in ids]
        return sum((sum(a * b for a, b in zip(x, y)) * 0.1).exp() for x in chosen for y in chosen)

    assert_rolled(f, table, groups=6)


def test_sums_of_different_lengths():
    x = some(40)

    def f(x):
        return sum(sum(x[: n + 1]) ** 2 + sum(a * b for a, b in zip(x[: n + 1], x[n:])) for n in range(len(x) - 2))

    assert_rolled(f, x, groups=30)


def test_a_softmax_over_scalars():
    rows = [some(7, seed) for seed in range(20)]

    def f(rows):
        losses = []
        for n, row in enumerate(rows):
            powers = [s.exp() for s in row]
            total = sum(powers)
            losses.append(-(powers[n % 7] / total).log())
        return sum(losses) / len(losses)

    assert_rolled(f, rows, groups=10)


def stable_softmax(row):
    largest = max(s.data for s in row)
    powers = [(s - largest).exp() for s in row]
    total = sum(powers)
    return [p / total for p in powers]


def test_softmaxes_of_different_lengths_stay_together():
    """The largest of 7 is found in as many steps as the largest of 1, or all that follows would be apart."""
    rows = [some(7, seed) for seed in range(20)]
    f = lambda rows: sum(stable_softmax(row[: 1 + n % 7])[0].log() for n, row in enumerate(rows))  # noqa: E731
    g = assert_rolled(f, rows, groups=9)  # one for a guard: none of the numbers is NaN
    assert [i.op.base.name for i in g.program().code].count("max") == 2


def test_the_smallest_and_extremes_of_several_groups():
    xs = some(90)

    def f(xs):
        parts = [(x * x, x.tanh(), x) for x in xs]
        return sum((a * min(a.data, b.data, c.data) + b * max(s.data for s in (b, c))).exp() for a, b, c in parts)

    assert_rolled(f, xs, groups=10)


def test_equals_share_the_gradient_as_maximum_says():
    """Of three equal ones `maximum` of `maximum` gives 1/4, 1/4 and 1/2: with a gradient it is no `max` of three."""
    rows = [[1.0, 1.0, 1.0]] * 100
    f = lambda rows: sum(ag.maximum(ag.maximum(a, b), c) * 2.0 for a, b, c in rows)  # noqa: E731
    g = assert_rolled(f, rows, groups=4)
    assert g(rows)[1][0][0] == [0.5, 0.5, 1.0]


def test_what_has_names_of_its_own_is_a_vector_of_its_own():
    p = {"w": [some(8, seed) for seed in range(20)], "b": some(20), "points": [{"x": n, "y": -n} for n in some(30)]}

    def f(p, scale):
        hidden = [sum(w * a for w, a in zip(row, p["b"])) for row in p["w"]]
        return sum((h * scale).tanh() for h in hidden) + sum(point["x"] * point["y"] for point in p["points"])

    g = compile(f)
    want, others = value_and_grad(f, (0, 1))(p, 0.5)
    for _ in range(2):
        value, grads = g(p, 0.5)
        assert value == pytest.approx(want, rel=1e-12)
        assert grads[1] == pytest.approx(others[1], rel=1e-12)
        assert grads[0]["points"][3] == pytest.approx(others[0]["points"][3], rel=1e-12)
        np.testing.assert_allclose(grads[0]["w"], others[0]["w"], rtol=1e-12)
    assert [len(pack) for pack in g._last.rolled.packs] == [160, 20, 30, 30, 1]


def test_many_names_are_one_vector():
    p = {f"w{n}": x for n, x in enumerate(some(100))}
    f = lambda p: sum((x * x).tanh() for x in p.values())  # noqa: E731
    g = compile(f)
    for _ in range(2):
        value, (grads,) = g(p)
        assert value == pytest.approx(value_and_grad(f)(p)[0], rel=1e-12)
        assert grads == pytest.approx(value_and_grad(f)(p)[1], rel=1e-12)
    assert [len(pack) for pack in g._last.rolled.packs] == [100]


def test_dot_counts_as_products():
    w = [some(6, seed) for seed in range(60)]
    x = some(6, 99)
    f = lambda w, x: sum(ag.dot(row, x, row[0]).relu() for row in w for _ in range(5))  # noqa: E731
    assert_rolled(f, w, x, groups=8)


def test_what_has_no_pattern_stays_as_it_is():
    def f(x):
        for n in range(400):
            x = (x * 1.001).sin() if n % 2 else x + 0.1
        return x

    g = compile(f)
    assert g(0.3)[0] == pytest.approx(value_and_grad(f)(0.3)[0], rel=1e-14)
    assert g._last.rolled is None
    assert g.notes[1] == "600 ops are on scalars and stay so: hardly any two of them are alike"


def test_scalar_code_with_an_array_op_in_it_says_why_it_stays():
    def f(xs, w):
        return sum((x * 2.0).tanh() for x in xs) + (w * w).sum()

    g = compile(f)
    g(some(200), np.ones(3))
    assert "stay so: mul, which gives shape (3,), is among them" in g.notes[1]


def test_notes_tell_what_is_read_from_outside():
    w = Value(np.ones(3))
    g = compile(lambda x: (w * x).sum())
    with pytest.raises(DataError, match="there is no program yet"):
        g.notes
    g(np.ones(3))
    assert len(g.notes) == 2 and "instructions" in g.notes[0]
    assert g.notes[1] == "1 arrays or numbers are read from outside, at each call"


def test_short_code_and_arrays_stay_as_they_are():
    g = compile(lambda x: (x * 2.0).sum())
    g(np.ones(3))
    assert g._last.rolled is None
    assert LEAST > 1


def test_infinities_and_nans_go_the_same_way():
    params, points = points_and_params()
    g = compile(lambda params: mlp(params, points))
    for special in (math.inf, math.nan):
        changed = [special, *params[1:]]
        with np.errstate(all="ignore"):
            want = value_and_grad(lambda params: mlp(params, points))(changed)[0]
            got = g(changed)[0]
        assert got == want or (math.isnan(got) and math.isnan(want))


def test_captured_scalars_are_read_at_each_call():
    weights = [Value(w) for w in some(40)]
    xs = [some(40, seed) for seed in range(10)]

    def f(s):
        return sum((sum(w * x for w, x in zip(weights, row)) * s).tanh() for row in xs)

    g = compile(f)
    first = g(1.0)[0]
    assert g._last.rolled is not None
    weights[0].data = 5.0
    assert g(1.0)[0] != first
    assert g(1.0)[0] == pytest.approx(value_and_grad(f)(1.0)[0], rel=1e-12)


def test_the_source_of_rolled_code_runs():
    params, points = points_and_params()
    g = compile(lambda params: mlp(params, points))
    value, (grads,) = g(params)
    namespace = {}
    exec(g.source, namespace)
    got, (vector,) = namespace["program"](np.array(params))
    assert got == pytest.approx(value, rel=1e-13)
    np.testing.assert_allclose(vector, grads, rtol=1e-11, atol=1e-14)


@given(
    size=st.integers(4, 60),
    base=st.integers(0, 5),
    shape=st.lists(st.integers(1, 5), min_size=1, max_size=3),
    steps=st.lists(st.integers(0, 7), min_size=3, max_size=3),
    noise=st.booleans(),
)
def test_places_are_read_where_they_are(size, base, shape, steps, noise):
    """By a view or by index: the numbers at the places, whatever the pattern."""
    grids = np.meshgrid(*(np.arange(n) for n in shape), indexing="ij")
    places = base + sum(step * grid for step, grid in zip(steps, grids))
    if noise:
        places.flat[-1] = 0
    if places.max() >= size:
        places %= size
    x = np.arange(size) * 1.5
    got = picked((size,), places).take(Value(x))
    np.testing.assert_array_equal(got.data, x[places])
    if size % 2 == 0:
        got = picked((2, size // 2), places).take(Value(x.reshape(2, -1)))
        np.testing.assert_array_equal(got.data, x[places])
