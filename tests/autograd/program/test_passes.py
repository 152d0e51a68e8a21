"""Each pass on its own: the same results, and what it is there for."""

import itertools
import math
from pathlib import Path

import numpy as np
import pytest

import autograd as ag
from autograd import OPS
from autograd.program.backends import interpreter
from autograd.program.backends.numpy_passes import wide_rows
from autograd.program.passes import drop_dead, fold, open_fused, optimised, share, simplify
from autograd.program.passes.core import core, is_core
from autograd.program.tracing.inputs import take_apart
from autograd.program.tracing.trace import fetched_aside, trace
from tests.autograd.judges import every_sample
from tests.autograd.program.programs import as_dtype, assert_near, bits, weighed
from tests.sweep import sweep

SPECIAL = (math.nan, math.inf, -math.inf, 0.0, -0.0, 700.0, -700.0)


def forward(f, *args):
    leaves, _ = take_apart(args)
    found = trace(f, args, leaves, gradients=False)
    return found.program, fetched_aside(found.origins, leaves)


def both(f, *args):
    leaves, _ = take_apart(args)
    found = trace(f, args, leaves)
    return found.program, fetched_aside(found.origins, leaves)


def ops_of(program):
    return [i.op.base.name for i in program.code]


def test_the_docs_list_the_core():
    """What every backend must know; another op that wants to be one of them needs a good reason."""
    text = (Path(__file__).parents[3] / "docs/compile.md").read_text()
    for family, names in core().items():
        line = f"| {family} | {len(names)} | {', '.join(names)} |"
        assert line in text, f"docs/compile.md should have the line\n{line}"
    assert sum(map(len, core().values())) == sum(is_core(op) for op in OPS.values())


LOWERED = [op for op in OPS.values() if op.pointwise and not is_core(op) and len(op.names) <= 2]


@sweep("op", LOWERED, ids=lambda op: op.name)
def test_a_lowering_keeps_its_digits_from_the_smallest_numbers_to_the_largest(op):
    sizes = [0, 1e-300, 1e-20, 1e-8, 0.1, 0.5, 1 - 1e-9, 1, 1 + 1e-9, 1.5, 3, 20, 700, 1e5, 1e10, 1e154, 1e300]
    sizes.append(math.inf)
    numbers = np.array([*sizes, *(-x for x in sizes), math.nan])
    xs = [x.ravel() for x in np.meshgrid(*[numbers] * len(op.names))]
    with np.errstate(all="ignore"):
        program, inputs = forward(op, *xs)
        got, want = (np.asarray(interpreter.run(p, inputs)[0]) for p in (open_fused(program, inputs), program))
    usual = np.isfinite(want)
    np.testing.assert_array_equal(got[~usual], want[~usual])
    np.testing.assert_allclose(got[usual], want[usual], rtol=1e-13, atol=0)


@every_sample()
@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["float64", "float32"])
def test_a_lowering_gives_what_the_op_gives(op, sample, dtype):
    f, xs = op.on(sample)
    program, inputs = forward(f, *[as_dtype(x, dtype) for x in xs])
    opened = open_fused(program, inputs)
    opened.check()
    assert all(is_core(OPS[name]) for name in ops_of(opened))
    for got, want in zip(interpreter.run(opened, inputs), interpreter.run(program, inputs), strict=True):
        assert_near(got, want)


@pytest.mark.slow
@every_sample()
def test_a_lowering_has_the_nans_and_infinities_of_the_op(op, sample):
    """Each special number in each place of each real input, in turn."""
    f, xs = op.on(sample)
    real = [i for i, x in enumerate(xs) if isinstance(x, np.ndarray) and x.dtype.kind == "f" and x.size]
    # the engine adds -inf to what is masked, so that a NaN gets through; cholesky refuses huge numbers
    if not real or op.name in ("self_attention", "cholesky"):
        pytest.skip("no real array to put one in")
    if op.name == "einsum" and len(xs) == 2 and any(1 in np.shape(x) for x in xs):
        pytest.skip("NumPy's einsum takes a stretched operand out of its sum, or not, and so inf - inf comes or goes")
    for i, special in itertools.product(real, SPECIAL):
        changed = [x.copy() if j == i else x for j, x in enumerate(xs)]
        changed[i].flat[changed[i].size // 2] = special
        with np.errstate(all="ignore"):
            program, inputs = forward(f, *changed)
            got, want = (interpreter.run(p, inputs)[0] for p in (open_fused(program, inputs), program))
            got, want = np.asarray(got), np.asarray(want)
        np.testing.assert_array_equal(np.isnan(got), np.isnan(want), err_msg=f"{special} in input {i}")
        if got.dtype.kind == "f":
            np.testing.assert_array_equal(got[np.isinf(want)], want[np.isinf(want)])
            usual = np.isfinite(want)
            np.testing.assert_allclose(got[usual], want[usual], rtol=1e-12, atol=1e-300)


@every_sample()
def test_every_pass_keeps_value_and_gradients(op, sample):
    if not op.differentiable:
        pytest.skip("no gradient flows")
    program, inputs = both(*_loss(op, sample))
    want = interpreter.run(program, inputs)
    best = optimised(program, inputs)
    best.check()
    for got, expected in zip(interpreter.run(best, inputs), want, strict=True):
        assert_near(got, expected)


def _loss(op, sample):
    loss, xs = weighed(op, sample)
    return (loss, *xs)


@pytest.mark.parametrize("change", [drop_dead, share, fold], ids=lambda p: p.__name__)
def test_these_passes_keep_every_bit(change):
    program, inputs = both(block, *block_inputs())
    changed = change(program)
    changed.check()
    assert list(map(bits, interpreter.run(changed, inputs))) == list(map(bits, interpreter.run(program, inputs)))


def block(x, w, gamma):
    h = ag.layer_norm(x @ w, gamma, gamma * 0.5)
    return (ag.softmax(h) * (h**2)).sum() * (ag.exp(np.zeros(2)) * 2.0)[0]


def block_inputs():
    rng = np.random.default_rng(0)
    return rng.normal(size=(3, 4)), rng.normal(size=(4, 2)), rng.normal(size=2)


def test_share_computes_a_thing_once():
    program, _ = forward(lambda x: ag.exp(x) * ag.exp(x) + ag.sum(x, axis=0) * ag.sum(x, axis=-1), np.ones(3))
    assert ops_of(share(program)) == ["exp", "mul", "sum", "mul", "add"]
    program, _ = forward(lambda x: ag.sum(x, axis=0) * ag.sum(x, axis=0, keepdims=True), np.ones(3))
    assert ops_of(share(program)).count("sum") == 2  # other settings, another result


def test_fold_computes_what_is_constant():
    program, _ = forward(lambda x: x + ag.exp(ag.Value(np.ones(3))) * 2.0, np.ones(3))
    assert ops_of(program) == ["exp", "mul", "add"]
    folded = fold(program)
    assert ops_of(folded) == ["add"]
    large, _ = forward(lambda x: x + ag.exp(ag.Value(np.ones(3))), np.ones(3))
    assert ops_of(fold(large, largest=2)) == ["exp", "add"]


def test_drop_dead_leaves_out_what_nobody_needs():
    program, _ = both(lambda x: (x * 2.0).sum(), np.ones(3))
    without = drop_dead(program.but(outputs=program.outputs[:1]))
    assert ops_of(without) == ["mul", "sum"]
    assert without.inputs == program.inputs


def test_drop_dead_keeps_a_check_of_ids():
    program, _ = forward(lambda i: ag.OPS["within"](i, 0, 3), np.array([1, 2]))
    kept = drop_dead(program.but(outputs=program.inputs))
    assert ops_of(kept) == ["within"]


def test_simplify_writes_powers_as_products_and_roots():
    known = [(2, ["mul"]), (0.5, ["sqrt"]), (-0.5, ["sqrt", "div"]), (-1, ["div"]), (1, []), (3, ["mul", "mul"]),
             (4, ["mul", "mul"]), (5, ["power"])]
    for exponent, ops in known:
        program, inputs = forward(lambda x, y=exponent: x**y, np.array([0.3, 2.0]))
        simpler = simplify(program)
        simpler.check()
        assert ops_of(simpler) == ops
        assert_near(interpreter.run(simpler, inputs)[0], np.array([0.3, 2.0]) ** exponent)


def test_simplify_leaves_out_what_does_nothing():
    x = np.ones((2, 3))
    program, _ = forward(lambda x: ag.reshape(ag.transpose(ag.broadcast_to(x, (2, 3)), (0, 1)), (2, 3)), x)
    assert ops_of(simplify(program)) == []
    program, inputs = forward(lambda x: ag.transpose(ag.transpose(x, (2, 0, 1)), (2, 0, 1)), np.ones((2, 3, 4)))
    simpler = drop_dead(simplify(program))
    assert [i.op.settings["axes"] for i in simpler.code] == [(-2, -1, -3)]
    assert interpreter.run(simpler, inputs)[0].shape == interpreter.run(program, inputs)[0].shape
    program, _ = forward(lambda x: x.T.T + x.reshape(6).reshape(3, 2).T * 1.0, x)
    assert ops_of(drop_dead(simplify(program))) == ["reshape", "transpose", "add"]


def test_simplify_puts_the_parts_of_a_split_side_by_side():
    def f(x):
        a, b, c = ag.split(x, [2, 3], axis=-1)
        return (a.sum(axis=-1) * b[:, 0] * c.prod(axis=-1)).sum()

    program, inputs = both(f, np.random.default_rng(0).normal(size=(2, 5)))
    opened = fold(open_fused(program, inputs))
    joined = drop_dead(simplify(opened))
    assert ops_of(opened).count("scatter") > 2 and ops_of(joined).count("scatter") == 1
    for got, want in zip(interpreter.run(joined, inputs), interpreter.run(program, inputs), strict=True):
        assert_near(got, want)


def test_simplify_leaves_alone_slices_that_overlap_or_leave_gaps():
    for cuts in ((slice(0, 2), slice(1, 3)), (slice(0, 1), slice(2, 3)), (slice(0, 2), slice(2, 3, 2), slice(2, 3))):
        program, inputs = both(lambda x, cuts=cuts: sum((x[cut] ** 2).sum() for cut in cuts), np.array([1.0, 2.0, 3.0]))
        opened = open_fused(program, inputs)
        joined = simplify(opened)
        joined.check()
        for got, want in zip(interpreter.run(joined, inputs), interpreter.run(program, inputs), strict=True):
            assert_near(got, want)


@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 4), (4, 1), (2, 600)])
def test_wide_rows_keep_the_numbers(shape):
    """Row sums in every column, where rows are short; also if they are results, or operands of other ops."""

    def f(x):
        total, mean = x.sum(axis=-1, keepdims=True), x.mean(axis=-1, keepdims=True)
        return (x / total - mean) * (total * 2.0 + mean), total, mean.reshape(-1), ag.concatenate([x, total], axis=-1)

    program, inputs = forward(f, np.random.default_rng(0).uniform(1.0, 2.0, shape))
    lowered = optimised(program, inputs)
    widened = drop_dead(wide_rows(lowered))
    widened.check()
    assert ("matmul" in ops_of(widened)) == (1 < shape[-1] < 600)
    for got, want in zip(interpreter.run(widened, inputs), interpreter.run(lowered, inputs), strict=True):
        assert_near(got, want)


def test_forward_and_backward_share_what_both_compute():
    """The row's standard form and the softmax are computed once: what the engine keeps in a stash."""
    program, inputs = both(block, *block_inputs())
    best = optimised(program, inputs)
    assert ops_of(best).count("exp") == 1
    assert ops_of(best).count("sqrt") == 1


def test_ops_of_one_name_are_kept_apart():
    """A `custom_op` that was defined again: whoever holds the first has two ops of one name."""
    first, second = (ag.custom_op("scaled", forward=lambda x, k=k: k * x, vjp=lambda g, out, x, k=k: (k * g,))
                     for k in (2.0, 3.0))  # fmt: skip
    value, (grad,) = ag.compile(lambda x: (first(x) * second(x)).sum())(np.array([1.0, 2.0]))
    assert value == 30.0
    np.testing.assert_allclose(grad, [12.0, 24.0])


def test_names_survive_opening():
    def f(x):
        h = ag.softmax(x)
        h.name = "weights"
        flat = ag.OPS["alias"](h)
        flat.name = "flat"
        return (h * flat * x).sum()

    program, inputs = both(f, np.array([1.0, 2.0]))
    assert {"x", "weights"} <= set(optimised(program, inputs).names.values())


def test_each_opened_line_says_what_it_was_opened_from():
    program, inputs = both(lambda x: ag.softmax(x)[0], np.array([1.0, 2.0]))
    opened = open_fused(program, inputs)
    assert {i.part for i in opened.code} == {"", "softmax", "softmax_pull"}
    assert all(i.of is not None for i in opened.code if i.part == "softmax_pull")
