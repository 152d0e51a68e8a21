"""One call as a program: the same bits as the engine, and every kind of input."""

import itertools
import json
import math
import pickle
import statistics
import tracemalloc

import numpy as np
import pytest

import autograd as ag
import nn
from autograd import Value, compile, value_and_grad
from autograd.errors import AxisError, BackwardError, DataError, TraceError
from autograd.program.backends import interpreter
from autograd.program.tracing import trace as tracing
from autograd.program.tracing.inputs import take_apart
from autograd.program.tracing.trace import fetched_aside, trace
from tests.autograd.judges import every_sample, is_real
from tests.autograd.program.programs import bits, weighed
from tests.sweep import sweep


def traced(f, *args, gradients=True):
    leaves, _ = take_apart(args)
    found = trace(f, args, leaves, gradients)
    found.program.check()
    return found, interpreter.run(found.program, fetched_aside(found.origins, leaves))


@every_sample(lambda op: op.differentiable)
@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["float64", "float32"])
def test_a_trace_has_the_bits_of_the_engine(op, sample, dtype):
    loss, xs = weighed(op, sample, dtype)
    real = tuple(i for i, x in enumerate(xs) if is_real(x))
    values = [Value(x) if i in real else x for i, x in enumerate(xs)]
    want, grads = value_and_grad(loss, real)(*values)  # on Values: the walk on ops that a program repeats
    _, (value, *got) = traced(loss, *xs)
    assert bits(value) == bits(want.data)
    assert [bits(g) for g in got] == [bits(g.data) for g in grads]


def test_a_gradient_mirrors_its_input():
    g = compile(lambda p, more: p["w"] * p["b"][0] + more[0] * more[1][0])
    value, grads = g({"w": 2.0, "b": [3.0, 4.0]}, (5.0, (6.0,)))
    assert value == 36.0
    assert grads == ({"w": 3.0, "b": [2.0, 0.0]}, (6.0, (5.0,)))
    assert isinstance(grads[1], tuple) and isinstance(grads[0]["b"], list)


def test_one_input_has_a_tuple_of_one_gradient():
    assert compile(lambda x: x * x)(3.0) == (9.0, (6.0,))


def test_ids_and_targets_are_inputs():
    """A second batch has its own gradients: nothing of the first is left in the program."""
    model = nn.GPT(7, 6, 8, 2, 1, rng=0)
    rng = np.random.default_rng(0)
    g = compile(lambda m, ids, targets: m.loss(ids, targets), "interpreter")
    for _ in range(3):
        ids, targets = rng.integers(0, 7, (2, 5)), rng.integers(0, 7, (2, 5))
        value, (grads, no_ids, no_targets) = g(model, ids, targets)
        model.zero_grad()
        loss = model.loss(ids, targets)
        loss.backward()
        assert value == pytest.approx(loss.item(), rel=1e-14)
        for name, parameter in model.named_parameters():
            np.testing.assert_allclose(grads[name], parameter.grad, rtol=1e-11, atol=1e-14)
        assert no_ids is None and no_targets is None
    assert len(g._versions()) == 1


@pytest.mark.parametrize("bad", [7, -1])
def test_an_id_or_target_out_of_range_is_refused_at_each_call(bad):
    model = nn.GPT(7, 6, 8, 2, 1, rng=0)
    g = compile(lambda m, ids, targets: m.loss(ids, targets))
    good = np.zeros((1, 3), int)
    g(model, good, good)
    with pytest.raises(AxisError, match=f"got {bad}"):
        g(model, np.array([[0, bad, 0]]), good)
    with pytest.raises(AxisError, match=f"got {bad}"):
        g(model, good, np.array([[0, bad, 0]]))


def test_rows_are_taken_along_any_axis_and_by_indexing():
    table = np.arange(12.0).reshape(3, 4)
    for axis in (0, 1, None):
        f = compile(lambda t, i, axis=axis: ag.take(t, i, axis=axis), gradients=False)
        for ids in (np.array([[0, 2], [1, 1]]), np.array([[2, 2], [0, 1]])):
            np.testing.assert_array_equal(f(table, ids), np.take(table, ids, axis))
    f = compile(lambda t, i: (t[i] ** 2).sum())
    f(table, np.array([0, 0]))
    np.testing.assert_array_equal(f(table, np.array([1, 1]))[1][0], [[0] * 4, [16, 20, 24, 28], [0] * 4])


def test_ids_may_be_cut_up_first():
    table = np.arange(8.0).reshape(4, 2)
    f = compile(lambda t, ids: (t[ids[:, :-1]] * t[ids[:, 1:]]).sum())
    for ids in (np.array([[0, 1, 2]]), np.array([[3, 3, 1]])):
        value, (dt, _) = f(table, ids)
        want, grad = value_and_grad(lambda t, ids=ids: (t[ids[:, :-1]] * t[ids[:, 1:]]).sum())(table)
        assert value == want
        np.testing.assert_array_equal(dt, grad)


def test_python_ints_and_texts_are_fixed_and_traced_anew():
    calls = []

    def power(x, n, how):
        calls.append((n, how))
        return sum(x for _ in range(n)) if how == "sum" else x**n

    g = compile(power)
    assert g(2.0, 3, "sum") == (6.0, (3.0, None, None))
    assert g(2.0, 3, "power") == (8.0, (12.0, None, None))
    assert g(2.0, 2, "power") == (4.0, (4.0, None, None))
    before = len(calls)
    assert g(3.0, 2, "power") == (9.0, (6.0, None, None))
    assert len(calls) == before


def test_the_quick_door_lets_through_only_what_is_alike():
    calls = []
    g = compile(lambda p, x: (calls.append(1), (p["w"] * x).sum())[1])
    g({"w": np.ones(2)}, 3.0)
    once = len(calls)
    for other in ({"w": np.full(2, 5.0)}, 1.0), ({"w": np.ones(2)}, np.float64(2.0)):
        g(*other)
    assert len(calls) == once
    pickled = pickle.loads(pickle.dumps(np.ones(2)))  # its dtype is equal, and another object
    assert g._last.quick_inputs(({"w": pickled}, 3.0)) is not None
    for other in (
        ({"w": np.ones(2), "v": 1.0}, 3.0), ({"w": np.ones(3)}, 3.0), ({"w": np.ones(2, np.float32)}, 3.0),
        ({"w": 1.0}, 3.0), ({"w": np.ones((1, 2))}, 3.0), ({"w": np.ones(2)}, np.ones(2)),
    ):  # fmt: skip
        before = len(calls)
        value, grads = g(*other)
        assert len(calls) > before
        want = (other[0]["w"] * other[1]).sum() if np.ndim(other[0]["w"]) else other[0]["w"] * other[1]
        assert value == want and np.shape(grads[0]["w"]) == np.shape(other[0]["w"])


def test_a_new_shape_or_dtype_traces_anew_and_an_old_one_does_not():
    calls = []
    g = compile(lambda x: (calls.append(1), (x * x).sum())[1])
    g(np.ones(3)), g(np.ones(3))
    once = len(calls)
    g(np.ones(4))
    assert len(calls) == 2 * once
    assert g(np.ones(4, np.float32))[1][0].dtype == np.float32
    assert len(calls) == 3 * once
    assert len(g._versions()) == 3


def test_a_broadcastable_wrong_shape_does_not_pass():
    g = compile(lambda x, y: (x * y).sum())
    g(np.ones((2, 3)), np.ones((2, 3)))
    assert g(np.ones((2, 3)), np.full((1, 3), 2.0))[1][1].shape == (1, 3)


def test_what_a_function_knows_from_outside_is_read_at_each_call():
    weight = nn.Parameter([1.0, 2.0])
    data = np.array([3.0, 4.0])
    made = np.array([1.0, 1.0])
    g = compile(lambda x: (weight * x * data * (made + 1.0)).sum())
    assert g(1.0)[0] == 22.0
    weight.data = [2.0, 2.0]
    assert g(1.0)[0] == 28.0
    data[:] = 1.0
    assert g(1.0)[0] == 8.0


def test_a_frozen_parameter_has_no_gradient():
    layer = nn.Linear(2, 2, rng=0)
    layer.bias.requires_grad = False
    _, (grads, _) = compile(lambda layer, x: layer(x).sum())(layer, np.ones((1, 2)))
    assert grads["bias"] is None and grads["weight"].shape == (2, 2)


def test_training_mode_and_settings_of_a_module_are_part_of_the_key():
    norm = nn.LayerNorm(2)
    g = compile(lambda m, x: (m(x) * np.array([1.0, 2.0])).sum())
    x = np.array([[1.0, 3.0]])
    first = g(norm, x)[0]
    norm.eps = 10.0
    assert g(norm, x)[0] != first


def test_dropout_draws_fresh_masks_as_an_eager_run_does():
    """The losses of the compiled and the eager run are the same, call by call, from the same seed."""

    def model():
        return nn.Sequential(nn.Linear(4, 8, rng=0), nn.Dropout(0.5, rng=1), nn.Linear(8, 1, rng=2))

    x = np.random.default_rng(0).normal(size=(5, 4))
    eager, compiled = model(), model()
    g = compile(lambda m, x: m(x).sum(), "interpreter")
    losses = [g(compiled, x)[0] for _ in range(4)]
    assert len(set(losses)) == 4
    np.testing.assert_allclose(losses, [eager(x).sum().item() for _ in range(4)], rtol=1e-14)
    compiled.eval()
    assert g(compiled, x)[0] == g(compiled, x)[0]


# --- what is refused -------------------------------------------------------------------------------------------------


def branch(x):
    return x * 2 if x > 0 else x * 3


def loop(x):
    return sum(x for _ in range(int(x)))


def number(x):
    return x * float(x)


def mask(x):
    return x[x > 0].sum()


def contained(x):
    return x.sum() if 1.0 in x else x.max()


@pytest.mark.parametrize(
    "f, x, line",
    [
        (number, 2.0, "x * float(x)"),
        (mask, np.array([1.0, -1.0]), "x[x > 0]"),
    ],
)
def test_an_exit_is_refused_and_its_line_named(f, x, line):
    with pytest.raises(TraceError) as error:
        compile(f)(x)
    assert line in str(error.value) and "test_trace.py" in str(error.value)


DECIDED = {
    "a branch": (branch, [1.0, -1.0, 0.0, 5.0]), "a loop": (loop, [2.0, 3.0, 1.0, 2.5]),
    "membership": (contained, [np.array(x) for x in ([1.0, 2.0], [3.0, 2.0], [2.0, 1.0])]),
    "data": (lambda x: x * 2 if x.data > 0 else x * 3, [1.0, -1.0, np.nan]),
    "a number of data": (lambda x: (x * x.data.max()).sum(), [np.array([1.0, 2.0]), np.array([5.0, -3.0])]),
    "a comparison far away": (lambda x: x * 2 if x.data > 100 else x * 3, [2.0, 200.0]),
    "equality": (lambda x: x * 2 if x.data == 100 else x * 3, [2.0, 100.0]),
    "not": (lambda x: x * 2 if not x.data else x * 3, [2.0, 0.0, -0.0]),
    "arithmetic, then a comparison": (lambda x: x * 2 if abs(x.data) * 2 + 1 > 100 else x * 3, [2.0, -200.0, 40.0]),
    "a chain of comparisons": (lambda x: x * (2 if -1 < x.data < 1 else 3 if x.data < 7 else 4), [0.0, 5.0, -2.0, 9.0]),
}  # fmt: skip


@sweep("name", list(DECIDED))
def test_what_python_decides_is_decided_anew_at_each_call(name):
    f, points = DECIDED[name]
    g = compile(f)
    for x in [*points, *points]:
        value, (slope,) = g(x)
        want, there = value_and_grad(f)(x)
        np.testing.assert_allclose(value, want, rtol=1e-14)
        np.testing.assert_allclose(slope, there, rtol=1e-14)
    assert len(g._versions()) <= len(points)


def test_data_that_is_asked_for_its_shape_is_let_pass():
    assert compile(lambda x: (x * x.data.shape[0]).sum())(np.array([1.0, 2.0]))[0] == 6.0


def test_random_numbers_of_ones_own_are_found_out():
    rng = np.random.default_rng(0)
    with pytest.raises(TraceError, match="does not do the same at each call"):
        compile(lambda x: (x * rng.normal(size=3)).sum())(np.ones(3))


def test_a_count_of_calls_is_found_out():
    calls = []

    def f(x):
        calls.append(1)
        return x * len(calls)

    with pytest.raises(TraceError, match=r"the function changes calls\[0\], which lies outside of it"):
        compile(f)(1.0)


def test_entries_are_picked_by_ids_in_any_place():
    table = np.arange(12.0).reshape(3, 4)
    first = np.array([0, 2])
    for f in (lambda x, ids: x[:, ids].sum(), lambda x, ids: x[first, ids].sum(), lambda x, ids: x[ids, ids][0] * 2.0,
              lambda x, ids: x[:, ids, ...][1:].sum(), lambda x, ids: x[ids[0], 1:].sum()):
        g = compile(f)
        for ids in (np.array([0, 2]), np.array([1, 1]), np.array([2, 0])):
            value, (slope, _) = g(table, ids)
            want, there = value_and_grad(lambda x, f=f, ids=ids: f(x, ids))(table)
            assert value == want
            np.testing.assert_array_equal(slope, there)


def test_what_cannot_be_compiled_is_said():
    with pytest.raises(BackwardError, match="one scalar result"):
        compile(lambda x: x * 2)(np.ones(3))
    with pytest.raises(BackwardError, match=r"Write 3\.0 for 3"):
        compile(lambda x: Value(1.0) * x)(3)
    with pytest.raises(BackwardError, match="forget `return`"):
        compile(lambda x: None)(3.0)
    with pytest.raises(BackwardError, match=r"returned 'a'; it must return a Value or real numbers"):
        compile(lambda x: "a")(3.0)
    with pytest.raises(TypeError, match=r"by their places.*got y=\. .*partial\(f, y=\.\.\.\)"):
        compile(lambda x, y: x * y)(3.0, y=2.0)
    with pytest.raises(DataError, match="complex"):
        compile(lambda x: x)(np.array([1j]))
    with pytest.raises(TypeError, match="compile takes a function"):
        compile(3.0)
    with pytest.raises(ValueError, match="'numpy'"):
        compile(lambda x: x, "numpi")
    with pytest.raises(DataError, match="no program yet"):
        compile(lambda x: x).source


def test_generators_and_parameters_are_as_before_after_a_failed_trace():
    layer = nn.Dropout(0.5, rng=0)
    weight = nn.Linear(2, 1, rng=0)
    state, data = layer.rng.bit_generator.state, weight.weight.data

    def f(m, layer, x):
        y = layer(m(x).sum() * np.ones(2)).sum()
        return y * float(y)

    with pytest.raises(TraceError):
        compile(f)(weight, layer, np.ones(2))
    assert layer.rng.bit_generator.state == state
    assert weight.weight.data is data


# --- derivatives -----------------------------------------------------------------------------------------------------


def cubed(x):
    return (x**3 * np.array([1.0, 2.0])).sum()


def test_derivatives_compile_to_what_they_give():
    x, v = np.array([1.0, 2.0]), np.array([0.5, -1.0])
    from functools import partial

    np.testing.assert_allclose(compile(ag.grad(cubed))(x), ag.grad(cubed)(x), rtol=1e-15)
    value, grad = compile(ag.value_and_grad(cubed))(x)
    assert value == 17.0
    np.testing.assert_allclose(grad, [3.0, 24.0], rtol=1e-15)
    np.testing.assert_allclose(compile(ag.hessian(cubed))(x), ag.hessian(cubed)(x), rtol=1e-15)
    np.testing.assert_allclose(compile(partial(ag.hvp, cubed))(x, v), ag.hvp(cubed, x, v), rtol=1e-15)
    out, tangent = compile(partial(ag.jvp, cubed))((x,), (v,))
    assert (out, tangent) == ag.jvp(cubed, (x,), (v,))
    np.testing.assert_allclose(
        compile(lambda x: (ag.grad(cubed)(x) ** 2).sum())(x)[1][0],
        ag.grad(lambda x: (ag.grad(cubed)(x) ** 2).sum())(x), rtol=1e-15,
    )  # fmt: skip


def test_a_hook_runs_when_it_is_traced():
    def f(x):
        y = x * 2.0
        y.hook(lambda g: g * 10.0)
        return y * y

    assert compile(f)(3.0)[1] == (240.0,)


def test_a_function_that_edits_what_it_closes_over_is_refused():
    count = np.zeros(1)

    def f(x):
        count[0] += 1.0
        return (x * count).sum()

    with pytest.raises(TraceError, match="the function changes count, which lies outside of it"):
        compile(f)(np.ones(1))
    assert count.tolist() == [0.0]


def test_a_function_that_takes_other_values_from_outside_at_each_call_is_refused():
    weights = [Value(1.0 + n) for n in range(5)]
    turn = itertools.count()
    with pytest.raises(TraceError, match="other Values from outside"):
        compile(lambda x: x * weights[next(turn) % 5])(2.0)


DIFFERENTIABLE = [op for op in ag.OPS.values() if op.differentiable]


@sweep("op", DIFFERENTIABLE, ids=lambda op: op.name)
def test_a_trace_that_lets_go_of_its_gradients_is_the_same_program(op, monkeypatch):
    loss, xs = weighed(op, op.samples[-1])
    whole, _ = traced(loss, *xs)
    with monkeypatch.context() as patched:
        patched.setattr(tracing, "LARGE", 0)
        lean, _ = traced(loss, *xs)
    first, second = whole.program, lean.program
    assert [(i.op.name, i.inputs, i.out) for i in first.code] == [(i.op.name, i.inputs, i.out) for i in second.code]
    assert first.outputs == second.outputs and first.types == second.types
    assert list(map(bits, first.constants.values())) == list(map(bits, second.constants.values()))


def test_tracing_takes_little_more_memory_than_the_forward_pass():
    def deep(x):
        for _ in range(40):
            x = ag.tanh(x * 1.5)
        return x.sum()

    x = np.zeros(50_000)
    tracemalloc.start()
    try:
        trace(deep, [x], [x])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1.2 * 80 * x.nbytes  # 80 ops forward; twice as many and more come back


def test_a_hook_may_keep_its_gradient():
    kept = []

    def f(x):
        h = ag.tanh(x)
        h.hook(kept.append)
        return (h * 2.0).sum()

    compile(f)(np.zeros(5000))
    assert all((g.data == 2.0).all() for g in kept if isinstance(g, Value)) and kept


def test_a_module_that_was_changed_is_traced_anew():
    """The quick look at a module's attributes sees what its calls depend on, also inside lists."""

    class Scaled(nn.Module):
        def __init__(self):
            self.inner, self.factor, self.factors = nn.Linear(2, 2, rng=0), 2.0, [1.0, 3.0]
            self.table = np.ones(2)

        def forward(self, x):
            return self.inner(x) * self.factor * sum(self.factors) * self.table

    model, x = Scaled(), np.array([[1.0, -2.0]])
    g = compile(lambda m, x: m(x).sum())

    def agrees():
        value, (grads, _) = g(model, x)
        want, slopes = value_and_grad(lambda w: _with(model, w, x))(model.inner.weight.data)
        assert value == pytest.approx(want, rel=1e-14)
        frozen = not model.inner.weight.requires_grad
        assert frozen or np.allclose(grads["inner.weight"], slopes, rtol=1e-14)
        return len(g._versions())

    assert agrees() == agrees() == 1
    model.inner.weight.data = model.inner.weight.data * 1.5  # other numbers: the same program
    assert agrees() == 1
    model.factor = 5.0
    assert agrees() == 2
    model.factors.append(4.0)
    assert agrees() == 3
    model.table = np.array([2.0, 3.0])
    assert agrees() == 4
    model.table[0] = 7.0  # an array from outside is read at each call
    assert agrees() == 4
    model.inner.freeze()
    assert agrees() == 5
    model.inner = nn.Linear(2, 2, rng=1)
    agrees()
    model.inner.bias = None
    agrees()
    del model.factors[0]
    agrees()


def _with(model, weight, x):
    out = x @ weight if model.inner.bias is None else x @ weight + model.inner.bias.data
    return (out * model.factor * sum(model.factors) * model.table).sum()


def shifted_softmax(scores):
    largest = max(s.data for s in scores)
    powers = [(s - largest).exp() for s in scores]
    total = sum(powers)
    return [p / total for p in powers]


def test_the_largest_of_numbers_that_are_read_is_computed_at_each_call():
    """microgpt's softmax: whichever score is the largest, and where no other shift would do."""

    def f(xs):
        return sum(p * p for p in shifted_softmax([x * 2.0 for x in xs])) + min(xs[0].data, xs[1].data) * xs[2]

    g = compile(f)
    for xs in ([1.0, 2.0, 3.0], [3.0, 1.0, 2.0], [2.0, 2.0, 2.0], [-900.0, 900.0, 899.0]):
        values = [Value(x) for x in xs]
        want = f(values)
        want.backward()
        value, (grads,) = g(xs)
        np.testing.assert_allclose(value, want.data, rtol=1e-14)
        np.testing.assert_allclose(grads, [x.grad for x in values], rtol=1e-13, atol=1e-15)
    assert len(g._versions()) == 1


def test_a_detached_value_is_computed_at_each_call_and_gets_no_gradient():
    g = compile(lambda x, y: (x * y.detach()).tanh() + x * y.data - y.data / x)
    for x, y in ((2.0, 0.25), (0.5, -1.5)):
        value, (dx, dy) = g(x, y)
        assert value == pytest.approx(np.tanh(x * y) + x * y - y / x, rel=1e-14)
        assert dx == pytest.approx(y * (1 - np.tanh(x * y) ** 2) + y + y / x**2, rel=1e-14) and dy == 0.0
    array = compile(lambda x: (x * x.detach()).sum())
    np.testing.assert_array_equal(array(np.array([1.0, 3.0]))[1][0], [1.0, 3.0])


MADE = {
    "median": lambda x, y: sorted([x.data, y.data, (x * y).data])[1], "with a number": lambda x, y: max(x.data, 0.3),
    "product": lambda x, y: y.data * 2.0, "sum": lambda x, y: max(x.data, y.data) + min(x.data, y.data),
    "abs": lambda x, y: abs(y.data), "after sorting": lambda x, y: max(sorted([x.data, y.data, (x * y).data])),
    "a key": lambda x, y: max([x, y, x * y], key=lambda v: -v.data), "of Values": lambda x, y: min(x, y, 0.25),
    "in reverse": lambda x, y: sorted([x, y, x * y], reverse=True)[0],
    "by a key": lambda x, y: sorted([x, y, x * y], key=lambda v: abs(v.data))[1],
    "floor": lambda x, y: x.data // y.data,
    "rest": lambda x, y: x.data % y.data, "rounded": lambda x, y: round(x.data * 10.0) + math.floor(y.data),
    "the largest of an index": lambda x, y: max(range(2), key=lambda n: (x, y)[n].data),
}  # fmt: skip


@sweep("name", list(MADE))
def test_what_python_makes_of_numbers_it_reads_is_computed_at_each_call(name):
    f = lambda x, y: x * MADE[name](x, y)  # noqa: E731
    g = compile(f)
    for x, y in ((1.0, 2.0), (2.0, 1.0), (-3.0, 0.1), (0.5, 0.5), (-1.25, -7.0)):
        value, grads = g(x, y)
        want, there = value_and_grad(f, (0, 1))(x, y)
        np.testing.assert_allclose([value, *grads], [want, *there], rtol=1e-14)
    assert len(g._versions()) == 1


def test_the_largest_is_pythons_also_where_a_number_is_nan():
    f = lambda x, y: x * max(x.data, y.data, 1.0)  # noqa: E731
    g = compile(f)
    for x, y in ((1.0, 2.0), (2.0, np.nan), (np.nan, 2.0), (3.0, 1.0), (0.5, np.nan)):
        np.testing.assert_equal(g(x, y)[0], value_and_grad(f, (0, 1))(x, y)[0])


SCALE = 3.0


def scaled(x):
    return x * SCALE


def test_a_plain_number_from_outside_is_noticed_when_it_changes(monkeypatch):
    factor, traces = 2.0, 0

    def f(x):
        nonlocal traces
        traces += 1
        return scaled(x) * factor

    value, slope = compile(f), compile(ag.grad(f))
    for numbers in ((2.0, 3.0), (5.0, 3.0), (5.0, 4.0), (2.0, 3.0)):
        factor = numbers[0]
        monkeypatch.setitem(globals(), "SCALE", numbers[1])
        product = math.prod(numbers)
        assert value(0.5) == (0.5 * product, (product,)) and slope(0.5) == product
    before = traces
    assert value(Value(0.25))[0] == 1.5 and slope(Value(0.25)) == 6.0 and traces == before
    assert len(value._versions()) == len(slope._versions()) == 3


def test_a_helper_that_is_defined_anew_is_noticed(monkeypatch):
    g = compile(lambda x: scaled(x))
    assert g(2.0)[0] == 2.0 * SCALE
    monkeypatch.setitem(globals(), "scaled", lambda x: x * x)
    assert g(2.0) == (4.0, (4.0,))


def test_the_attributes_of_a_methods_object_are_noticed():
    class Task:
        def __init__(self):
            self.scale = 2.0

        def loss(self, x):
            return x * self.scale

    task = Task()
    g = compile(task.loss)
    assert g(3.0)[0] == 6.0
    task.scale = 5.0
    assert g(3.0)[0] == 15.0


@pytest.mark.parametrize("of", [lambda model: model, lambda model: lambda x: model(x)], ids=["itself", "outside"])
def test_the_mode_of_a_module_is_noticed_if_it_is_no_input(of):
    model = nn.Sequential(nn.Linear(3, 4, rng=0), nn.Dropout(0.5, rng=0))
    x = np.ones((2, 3))
    g = compile(of(model), gradients=False)
    assert (g(x) == 0.0).any()
    model.eval()
    np.testing.assert_allclose(g(x), model(x).data, rtol=1e-14)


def test_a_dict_is_traced_anew_when_its_keys_or_their_order_change():
    g = compile(lambda d: sum((n + 1) * x for n, x in enumerate(d.values())))
    parameters = {"a": 1.0, "b": 5.0}
    assert g(parameters)[0] == 11.0
    assert g({"b": 5.0, "a": 1.0})[0] == 7.0
    assert g(parameters)[0] == 11.0
    parameters["c"] = 10.0  # the same dict
    assert g(parameters) == (41.0, ({"a": 1.0, "b": 2.0, "c": 3.0},))


def test_a_number_in_a_list_of_a_module_is_noticed():
    model = nn.Linear(1, 1, rng=0)
    model.factors = [1.0, 2.0]
    g = compile(lambda model, x: model(x).sum() * model.factors[0])
    once = g(model, np.ones((1, 1)))[0]
    model.factors[0] = 7.0
    assert g(model, np.ones((1, 1)))[0] == pytest.approx(7 * once)


def test_numbers_that_are_only_shown_are_no_decision():
    seen = []
    value, _ = compile(lambda x: seen.append(f"{x.data:.1f} {x.data}") or x * 2)(2.0)
    assert value == 4.0 and seen[0] == "2.0 2.0"


class Running:
    """No module: what it keeps is no part of a program."""

    def __init__(self):
        self.mean, self.kept = 0.0, {"row": 1.0}

    def __call__(self, x):
        self.mean = 0.9 * self.mean + x.data.sum()
        return x.sum() * self.mean

    def keep(self, x):
        self.kept["row"] = x.data.sum()
        return x.sum()

    def share(self, x):
        Running.last = x.data.sum()
        return x.sum()


def counted(x, count=[1]):  # noqa: B006
    count[0] *= 2
    return x.sum() * count[0]


@pytest.mark.parametrize("f, line, what", [
    (Running(), "self.mean = 0.9", "mean, of class Running,"), (Running().keep, 'self.kept["row"] = ', "kept.row,"),
    (Running().share, "Running.last = ", "Running.last,"), (counted, "count[0] *= 2", "count[0],"),
])  # fmt: skip
def test_a_change_outside_is_named_with_its_line(f, line, what):
    with pytest.raises(TraceError) as caught:
        compile(f)(np.ones(3))
    first, second = str(caught.value).split("\n")
    assert first.startswith("test_trace.py:") and line in first
    assert f"the function changes {what} which lies outside of it" in second
    assert ("make Running an nn.Module" if "class" in what else "keep it on an nn.Module") in second
    assert not hasattr(Running, "last")


def test_an_error_in_the_standard_library_names_the_line_that_called_it():
    for f in (lambda x: x * len(json.dumps(x.data)), lambda x: x * statistics.fmean([x.data])):
        with pytest.raises(TraceError, match=r"^test_trace\.py:\d+: for f in \(lambda x: x \* len\(json"):
            compile(f)(2.0)


def test_a_plain_table_indexed_by_computed_places_says_what_to_write():
    table, x = np.array([1.0, 2.0, 3.0]), np.array([0.3, -1.0, 0.7])
    for places in (lambda x: np.argsort(x.data), lambda x: np.searchsorted(table, x.data), lambda x: np.argsort(x)):
        picked, taken = (lambda x, p=places: table[p(x)]), (lambda x, p=places: ag.take(table, p(x), axis=0))
        with pytest.raises(TraceError, match=r"Write ag.take\(table, ids, axis=0\) for table\[ids\]"):
            compile(lambda x, p=picked: (x * p(x)).sum())(x)
        g = compile(lambda x, t=taken: (x * t(x)).sum())
        for point in (x, -x):
            assert g(point)[0] == (point * table[np.asarray(places(Value(point)))]).sum()
