"""Every op of the table, on every one of its samples: an op is tested because it exists."""

import copy
import functools

import numpy as np
import pytest

from autograd import Value, jvp, vjp
from autograd.expr import rule
from autograd.expr.rules import own_names, pulled
from autograd.graph import leaves
from autograd.op import OPS, Op
from autograd.ops import POINTWISE
from autograd.program.replay import Replay
from tests.autograd.judges import (
    assert_close,
    case_name,
    every_op,
    every_sample,
    everything_is_large,
    is_real,
    judge_first_order,
    judge_second_order,
    numeric_gradients,
    of_the_reals,
    plain,
    uneven,
)
from tests.sweep import slow_but, sweep


def inputs_and_op(op, sample):
    """What a call stores: the normalized inputs, as plain data, and the op bound to its settings."""
    f, xs = op.on(sample)
    node = f(*[Value(x) if is_real(x) else x for x in xs])
    return [plain(x) for x in node.inputs], node.op, node.data


@every_op()
def test_an_op_has_samples(op):
    assert op.samples, f"{op.name} says nowhere how to test it: give it samples"


@every_sample(lambda op: op.differentiable)
def test_the_gradient_agrees_with_finite_differences(op, sample):
    judge_first_order(op, sample)


@pytest.mark.slow
@every_sample(lambda op: op.differentiable)
def test_the_gradient_of_the_gradient_agrees_with_finite_differences(op, sample):
    judge_second_order(op, sample)


@every_sample(lambda op: op.differentiable)
def test_forward_mode_agrees_with_finite_differences(op, sample):
    f, xs = of_the_reals(*op.on(sample))
    directions = [uneven(np.shape(x), seed=i) for i, x in enumerate(xs)]
    out, tangent = jvp(f, tuple(xs), tuple(directions))

    def moved(t):
        return f(*(x + t * d if np.ndim(x) else float(x + t * d) for x, d in zip(xs, directions, strict=True)))

    u = uneven(np.shape(out), seed=3)
    (slope,) = numeric_gradients(moved, [0.0], u)
    assert np.shape(tangent) == np.shape(out)
    assert_close(np.sum(u * tangent), slope, op.name)


@every_sample(lambda op: not op.differentiable)
def test_an_op_without_gradient_stops_the_flow(op, sample):
    f, xs = op.on(sample)
    out = f(*[Value(x) if is_real(x) else x for x in xs])
    if isinstance(out, Value):
        assert not out.requires_grad


@every_sample()
def test_values_arrays_and_floats_give_the_same_numbers(op, sample):
    f, xs = op.on(sample)
    numbers = f(*xs)
    recorded = f(*[Value(x) if is_real(x) else x for x in xs])
    assert not isinstance(numbers, Value)
    np.testing.assert_array_equal(plain(recorded), numbers)
    if all(type(x) is float for x in xs):  # the same numbers, as arrays of one
        arrays = f(*(np.array([x]) for x in xs))
        assert_close(np.ravel(arrays), np.ravel(numbers), op.name, tolerance=1e-15)


@every_sample()
def test_a_scalar_result_is_no_array(op, sample):
    """A float64 scalar is a Python float, another one a NumPy scalar: never an array of no axes."""
    for dtype in (np.float64, np.float32):
        f, xs = op.on(sample)
        xs = [np.asarray(x, dtype)[()] if is_real(x) else x for x in xs]
        for out in (f(*xs), plain(f(*[Value(x) if is_real(x) else x for x in xs]))):
            assert isinstance(out, np.ndarray) == bool(np.ndim(out))
            assert not isinstance(out, np.float64)


@every_sample(lambda op: op.differentiable)
def test_float32_stays_float32(op, sample):
    f, xs = of_the_reals(*op.on(sample))
    narrow = [np.asarray(x, np.float32)[()] for x in xs]
    out, pull = vjp(f, *narrow)
    assert np.asarray(out).dtype == sample.settings.get("dtype", np.float32)
    u = uneven(np.shape(out)).astype(np.float32)
    wide = vjp(f, *(np.asarray(x, np.float64)[()] for x in narrow))[1](u)
    for x, got, expected in zip(narrow, pull(u), wide, strict=True):
        assert type(got) is type(x)
        assert got.dtype == np.float32
        assert got.shape == x.shape
        assert_close(got, expected, op.name, tolerance=1e-5)


@every_sample(lambda op: op.differentiable)
def test_a_copied_graph_gives_the_same_gradients(op, sample):
    """A copy has none of what a fused forward function kept for its rule."""
    f, xs = op.on(sample)
    root = f(*[Value(x) if is_real(x) else x for x in xs])
    twin = copy.deepcopy(root)
    u = uneven(root.shape)
    for node in (root, twin):
        node.backward(u)
    for own, copied in zip(leaves(root), leaves(twin), strict=True):
        assert own is not copied
        if own.requires_grad and own.grad is not None:
            assert_close(copied.grad, own.grad, op.name, tolerance=1e-14)


@every_sample(lambda op: op.definition is not None)
def test_a_fused_op_equals_its_definition(op, sample):
    assert_equals_its_definition(op, sample)


@every_sample(lambda op: op.definition is not None)
def test_a_fused_op_on_a_large_array_equals_its_definition(op, sample):
    with everything_is_large():
        assert_equals_its_definition(op, sample)


def assert_equals_its_definition(op, sample):
    fused, xs = of_the_reals(*op.on(sample))
    parts, _ = of_the_reals(lambda *xs: op.definition(*xs, **sample.settings), op.on(sample)[1])
    out, pull = vjp(fused, *xs)
    parts_out, parts_pull = vjp(parts, *xs)
    assert_close(out, parts_out, f"{op.name} forward", tolerance=1e-13)
    u = uneven(np.shape(out))
    for got, expected in zip(pull(u), parts_pull(u), strict=True):
        assert_close(got, expected, f"{op.name} gradient", tolerance=1e-12)


@every_sample(lambda op: op.differentiable)
def test_the_printed_rule_is_the_rule(op, sample):
    inputs, bound, out = inputs_and_op(op, sample)
    g = uneven(np.shape(out)) if np.ndim(out) else 1.7
    names = dict(zip(own_names(bound, len(inputs)), inputs, strict=False))
    lists = {bound.names[-1]: inputs[len(bound.names) - 1 :]} if bound.variadic else {}
    table = {**OPS, "array": np.array, "s_": np.s_, "inf": np.inf, "nan": np.nan, "g": g, "out": out, **names, **lists}
    numbers = pulled(bound, g, out, inputs)
    for formula, number, x in zip(rule(bound, tuple(inputs), g, out), numbers, inputs, strict=True):
        if number is None or x is None:  # an absent bias
            continue
        assert formula is not None
        expected = OPS["sum_to"](number, np.shape(x)) if np.shape(number) != np.shape(x) else number
        *lines, last = formula.code.split("\n")
        namespace = {"__builtins__": {}, **table}
        exec("\n".join(lines), namespace)
        assert_close(eval(last, namespace), expected, f"{op.name}: {formula.code}", 1e-12)
        assert_close(formula.value, expected, f"{op.name}: {formula}", 1e-12)
        assert_close(formula.run({"g": g, "out": out, **names}), expected, f"{op.name}, run again: {formula}", 1e-12)


ELEMENTWISE = [
    op for family in POINTWISE for op in vars(family).values()
    if isinstance(op, Op) and op.names == ("x",) and op.base is op
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("dtype", slow_but([np.float64, np.float32], [np.float64]))
@sweep("op", ELEMENTWISE, ids=case_name)
def test_a_large_array_gives_what_its_pieces_give(op, dtype):
    """Large arrays are worked on in blocks; a stride is another path again."""
    low, high = op.samples[0].low, op.samples[0].high
    x = np.random.default_rng(0).uniform(low, high, 150_001).astype(dtype)
    eps = np.finfo(dtype).eps  # NumPy's own loops may round the last bit otherwise
    same = functools.partial(np.testing.assert_allclose, rtol=8 * eps, atol=eps)
    whole, strided = op(x), op(x[::3])
    for start in (0, 65_530, 131_066, 149_990):
        same(whole[start : start + 11], op(x[start : start + 11].copy()))
    same(strided, whole[::3])
    if op.differentiable:
        (gradient,) = vjp(op, x)[1](np.ones_like(x))
        (piece,) = vjp(op, x[65_530:65_541])[1](np.ones(11, dtype))
        same(gradient[65_530:65_541], piece)


@every_sample()
def test_the_batched_replay_equals_a_loop(op, sample):
    """All real inputs perturbed at once, and each one alone: rows of one replay, and as many single runs."""
    f, xs = op.on(sample)
    sources = [Value(x) if is_real(x) else x for x in xs]
    node = f(*sources)
    sources = [s for s in sources if isinstance(s, Value)]
    if not sources or not isinstance(node, Value):
        return
    rows = 3
    replay = Replay(sources, [node])
    shifts = np.random.default_rng(5).uniform(0.0, 0.1, rows)
    for moved in [sources, *([s] for s in sources)]:
        stacked = {s: np.stack([np.asarray(s.data + shift) for shift in shifts]) for s in moved}
        (got,) = replay.run(rows, stacked)
        for row, shift in enumerate(shifts):
            again = iter([s.data + shift if s in set(moved) else s.data for s in sources])
            expected = f(*(next(again) if is_real(x) else x for x in xs))
            assert_close(got[row], expected, op.name, tolerance=1e-13)
