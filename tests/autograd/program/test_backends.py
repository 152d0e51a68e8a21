"""Every backend against the interpreter: every op and sample, both dtypes, NaNs and infinities; aliasing; threads."""

import functools
import itertools
import math
import sys
import threading
from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import given, settings

import autograd as ag
import nn
from autograd import compile
from autograd.errors import AxisError
from autograd.program.backends import BACKENDS, backend_of, interpreter
from autograd.program.backends.c.compiler import is_here
from autograd.program.backends.jax import with_casts
from autograd.program.passes import optimised
from autograd.program.tracing.inputs import take_apart
from autograd.program.tracing.trace import fetched_aside, trace, trace_graph
from examples import EXAMPLES
from tests.autograd.judges import every_sample
from tests.autograd.program.programs import as_dtype, assert_near, bits, weighed
from tests.autograd.programs import OURS, programs

JAX = pytest.mark.skipif(find_spec("jax") is None, reason="JAX is not installed: pip install 'handgrad[jax]'")
C = pytest.mark.skipif(not is_here(), reason="NOT TESTED: no C compiler (apt install gcc, or handgrad[native])")
OTHERS = [name for name in BACKENDS if name not in ("c", "jax", "interpreter")]  # which is what they are held to
# A compiler takes a tenth of a second and more for any program: test_c.py builds all samples of all ops at once.
compiled = [pytest.param("c", marks=[C, pytest.mark.slow]), pytest.param("jax", marks=JAX)]
backends = pytest.mark.parametrize("backend", [*OTHERS, *compiled])
on_every_op = pytest.mark.parametrize(  # XLA takes a tenth of a second to compile any program
    "backend", [*OTHERS, pytest.param("jax", marks=[JAX, pytest.mark.slow])]
)
dtypes = pytest.mark.parametrize(
    "dtype", [np.float64, pytest.param(np.float32, marks=pytest.mark.slow)], ids=["float64", "float32"]
)


def built(f, args, gradients=True):
    leaves, _ = take_apart(args)
    found = trace(f, args, leaves, gradients)
    inputs = fetched_aside(found.origins, leaves)
    return optimised(found.program, inputs), inputs


def assert_agrees(backend, program, inputs, ulps=64.0):
    run = backend_of(backend).build(program)
    with np.errstate(all="ignore"):
        want = interpreter.run(program, inputs)
        for _ in range(2):  # the second call finds the buffers full of the first
            got = run(inputs)
            assert len(got) == len(want)
            for ours, reference in zip(got, want, strict=True):
                assert_near(ours, reference, ulps)
    return got


@on_every_op
@every_sample()
@dtypes
def test_a_backend_runs_every_op(backend, op, sample, dtype):
    loss, xs = weighed(op, sample, dtype)
    if not op.differentiable:
        f, xs = op.on(sample)
        assert_agrees(backend, *built(f, [as_dtype(x, dtype) for x in xs], gradients=False))
        return
    assert_agrees(backend, *built(loss, xs))


@pytest.mark.slow
@every_sample()
def test_casts_that_are_written_out_change_nothing(op, sample):
    """Beside float32 arrays, plain numbers and float64 scalars take their dtype: for libraries that do otherwise."""
    f, xs = weighed(op, sample, np.float32) if op.differentiable else op.on(sample)
    program, inputs = built(f, xs, gradients=op.differentiable)
    written = with_casts(program)
    written.check()
    with np.errstate(all="ignore"):
        for ours, reference in zip(interpreter.run(written, inputs), interpreter.run(program, inputs), strict=True):
            assert bits(ours) == bits(reference)


@on_every_op
@every_sample()
def test_a_backend_gives_the_op_itself_too(backend, op, sample):
    """Not only its sum: a result that is a view, an input or a constant is given as an array of its own."""
    f, xs = op.on(sample)
    program, inputs = built(f, xs, gradients=False)
    (got,) = assert_agrees(backend, program, inputs)
    if isinstance(got, np.ndarray):
        assert not any(isinstance(x, np.ndarray) and np.shares_memory(got, x) for x in inputs)


@pytest.mark.slow
@on_every_op
@every_sample()
def test_a_backend_has_the_nans_and_infinities_of_the_interpreter(backend, op, sample):
    f, xs = op.on(sample)
    real = [i for i, x in enumerate(xs) if isinstance(x, np.ndarray) and x.dtype.kind == "f" and x.size]
    if not real or op.name == "cholesky":  # a huge number leaves no positive definite matrix
        pytest.skip("no real array to put one in")
    program, inputs = built(f, xs, gradients=False)
    run = backend_of(backend).build(program)
    for i, special in itertools.product(real, (math.nan, math.inf, -math.inf, 0.0, -0.0)):
        changed = [x.copy() if j == i else x for j, x in enumerate(inputs)]
        changed[i].flat[changed[i].size // 2] = special
        with np.errstate(all="ignore"):
            assert_near(run(changed)[0], interpreter.run(program, changed)[0])


@pytest.mark.slow
@on_every_op
def test_a_backend_runs_every_example(backend):
    """Their graphs with all gradients."""
    for example in EXAMPLES:
        root = getattr(example.module, "stepped", example.module.graph)()
        traced, leaves = trace_graph(root)
        inputs = [leaf.data for leaf in leaves]
        assert_agrees(backend, optimised(traced.program, inputs), inputs)


@pytest.mark.slow
@pytest.mark.parametrize("backend", [pytest.param("jax", marks=JAX)])
def test_a_backend_runs_random_graphs(backend):
    """NumPy and C have tests of their own for this: `test_graphs.py`, `test_c.py`."""

    @settings(max_examples=8, database=None, derandomize=True, deadline=None)
    @given(programs())
    def agrees(program):
        leaves = [float(x) if np.ndim(x) == 0 else x for x in program.leaves]
        compiled, inputs = built(lambda *xs: program.run(OURS, list(xs)), leaves)
        assert_agrees(backend, compiled, inputs, 4096)

    agrees()


@pytest.mark.parametrize("backend", ["jax"])
def test_a_library_that_is_not_installed_is_named(backend, monkeypatch):
    monkeypatch.setitem(sys.modules, backend, None)
    with pytest.raises(ImportError, match=rf"backend='{backend}' needs .*: pip install 'handgrad\[{backend}\]'"):
        compile(lambda x: x * 2.0, backend)(1.0)


@backends
def test_ids_out_of_range_are_refused(backend):
    g = compile(lambda table, ids: table[ids].sum(), backend)
    table = np.arange(6.0).reshape(3, 2)
    assert g(table, np.array([0, 2]))[0] == 10.0
    for wrong in (3, -1):
        with pytest.raises(AxisError, match=f"got {wrong}"):
            g(table, np.array([0, wrong]))


def attention(q, k, v, gamma):
    mixed = ag.attention(q, k, v, causal=True)
    return (ag.layer_norm(mixed, gamma, gamma * 0.0) ** 2 * q).sum()


def some_inputs(seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=shape) for shape in ((5, 4), (5, 4), (5, 4), (4,))]


@backends
def test_results_share_no_memory_with_inputs_with_each_other_or_with_the_next_call(backend):
    def f(x, y):
        return (x + y).sum() + (x.reshape(6) * 0.0).sum()

    g = compile(f, backend)
    x, y = np.ones((2, 3)), np.full((2, 3), 2.0)
    _, first = g(x, y)
    _, second = g(x, y)
    arrays = [*first, *second, x, y]
    for a, b in itertools.combinations(arrays, 2):
        assert not np.shares_memory(a, b)
    first[0][:] = 7.0
    np.testing.assert_array_equal(g(x, y)[1][0], np.ones((2, 3)))

    same = compile(lambda x: (x, x.T, x * 1.0), backend, gradients=False)
    given = np.arange(6.0).reshape(2, 3)
    results = same(given)
    for a, b in itertools.combinations([*results, given], 2):
        assert not np.shares_memory(a, b)
    for result in results:
        result[:] = 0.0
    np.testing.assert_array_equal(same(given)[1], given.T)


@backends
def test_results_may_be_the_next_inputs(backend):
    """As in a training loop: they are of the very types that were traced, so no call takes the slow way in."""

    def moved(state, x):
        return {"w": state["w"] * 0.9 + x.sum() * 0.1, "t": state["t"] + 1.0}

    g = compile(moved, backend, gradients=False)
    x, state = np.arange(3.0), {"w": np.ones((2, 2)), "t": 0.0}
    for n in range(4):
        state = g(state, x)
        assert g._last.quick_inputs((state, x)) is not None, f"after call {n + 1}"
    assert state["t"] == 4.0
    np.testing.assert_allclose(state["w"], 0.9**4 + 0.3 * (1 - 0.9**4) / 0.1, rtol=1e-15)


@backends
def test_inputs_are_not_written_to(backend):
    g = compile(attention, backend)
    inputs = some_inputs()
    for x in inputs:
        x.flags.writeable = False
    before = [x.copy() for x in inputs]
    g(*inputs)
    for x, old in zip(inputs, before, strict=True):
        np.testing.assert_array_equal(x, old)


@backends
def test_inputs_may_lie_in_memory_as_they_like(backend):
    g = compile(attention, backend)
    inputs = some_inputs()
    want, grads = g(*inputs)
    for change in (np.asfortranarray, lambda x: np.repeat(x, 2, axis=0)[::2], lambda x: x[::-1].copy()[::-1]):
        got, others = g(*map(change, inputs))
        assert_near(got, want)
        for ours, reference in zip(others, grads, strict=True):
            assert_near(ours, reference)


@backends
def test_threads_do_not_disturb_each_other(backend):
    g = compile(attention, backend)
    many = [some_inputs(seed) for seed in range(8)]
    want = [g(*inputs) for inputs in many]
    wrong = []

    def work(seed):
        for _ in range(60):
            value, grads = g(*many[seed])
            if value != want[seed][0] or any(not np.array_equal(a, b) for a, b in zip(grads, want[seed][1])):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.slow
@backends
@dtypes
def test_a_gpt_has_the_gradients_of_the_engine(backend, dtype):
    model = nn.GPT(11, 8, 16, 2, 2, rng=0, dtype=dtype)
    rng = np.random.default_rng(0)
    g = compile(lambda m, ids, targets: m.loss(ids, targets), backend)
    for _ in range(2):
        ids, targets = rng.integers(0, 11, (3, 8)), rng.integers(0, 11, (3, 8))
        value, (grads, *_) = g(model, ids, targets)
        model.zero_grad()
        loss = model.loss(ids, targets)
        loss.backward()
        assert_near(value, loss.data)
        for name, parameter in model.named_parameters():
            assert_near(grads[name], parameter.grad)


@pytest.mark.slow
@backends
@pytest.mark.parametrize("kind", ["rms rotary", "tied sinusoidal", "swiglu grouped", "ignore smoothed", "dropout"])
def test_other_kinds_of_gpt_too(backend, kind):
    options = {
        "rms rotary": {"norm": "rms", "positions": "rotary"},
        "tied sinusoidal": {"tie_weights": True, "positions": "sinusoidal", "activation": "gelu"},
        "swiglu grouped": {"activation": "swiglu", "n_kv_heads": 2},
        "dropout": {"dropout": 0.3},
    }.get(kind, {})
    loss_options = {"ignore_index": 3, "label_smoothing": 0.1} if kind == "ignore smoothed" else {}
    compiled, eager = (nn.GPT(11, 8, 16, 4, 1, rng=0, **options) for _ in range(2))
    rng = np.random.default_rng(0)
    g = compile(lambda m, ids, targets: m.loss(ids, targets, **loss_options), backend)
    for _ in range(3):
        ids, targets = rng.integers(0, 11, (2, 8)), rng.integers(0, 11, (2, 8))
        value, (grads, *_) = g(compiled, ids, targets)
        eager.zero_grad()
        loss = eager.loss(ids, targets, **loss_options)
        loss.backward()
        assert_near(value, loss.data)
        for name, parameter in eager.named_parameters():
            assert_near(grads[name], parameter.grad)


@backends
def test_second_derivatives_run_too(backend):
    inputs = some_inputs()
    direction = [np.cos(x) for x in inputs]
    f = functools.partial(attention, *inputs[:3])
    want = ag.hvp(f, inputs[3], direction[3])
    assert_near(compile(functools.partial(ag.hvp, f), backend)(inputs[3], direction[3]), want, 512)
    want = ag.hvp(lambda q: attention(q, *inputs[1:]), inputs[0], direction[0])
    got = compile(lambda q, v: ag.hvp(lambda q: attention(q, *inputs[1:]), q, v), backend, gradients=False)
    assert_near(got(inputs[0], direction[0]), want, 512)


@backends
def test_an_op_of_ones_own_runs(backend):
    cube = ag.custom_op("cube", forward=lambda x: x**3, vjp=lambda g, out, x: (3 * g * x**2,))
    value, (dx,) = compile(lambda x: cube(x).sum(), backend)(np.array([1.0, 2.0]))
    assert value == 9.0
    np.testing.assert_array_equal(dx, [3.0, 12.0])


@backends
def test_numpy_weak_numbers_leave_float32_alone(backend):
    x = np.ones((3, 2), np.float32)
    value, (dx, ds) = compile(lambda x, s: (x * s * 0.1 + x / 3.0).sum(), backend)(x, 2.0)
    assert value.dtype == dx.dtype == np.float32 and isinstance(ds, float)


def with_whole_numbers(n, w):
    """What NumPy computes in another dtype than that of n: a plain number does not always take it."""
    return [
        ag.where(n >= 1.5, w, 0.0), ag.where(n < 0.5, w, 0.0), ag.where(ag.equal(n, 1.5), w, 0.0),
        ag.where(n > 300, w, 0.0), ag.where(n > -1, w, 0.0), w * ((n > 1) * 2 - 1), w * (n // 2), w * (n % 2),
        w * (n * 2**20 if n.dtype.itemsize > 2 else n * 3), w * (1 - 1 * n), w * ag.maximum(n, 1.5), w * 2**n,
    ]  # fmt: skip


@backends
@pytest.mark.parametrize("dtype", ["int64", "int8", "uint8", "uint64", "bool"])
def test_whole_numbers_meet_plain_ones_as_in_numpy(backend, dtype):
    n, w = np.array([0, 1, 2, 3], dtype), np.array([1.0, 2.0, 3.0, 4.0])
    want = with_whole_numbers(n, ag.Value(w))
    for got, ours in zip(compile(with_whole_numbers, backend, gradients=False)(n, w), want, strict=True):
        assert_near(got, ours.data)


@pytest.mark.parametrize(("given", "name"), [("python", "numpy"), (np, "numpy")], ids=["a name", "a module"])
def test_an_array_module_is_a_backend(given, name):
    g = compile(lambda x: x * x, backend=given)
    assert g.backend == name and g(3.0) == (9.0, (6.0,))


@JAX
def test_the_modules_of_jax_are_its_backend():
    import jax
    import jax.numpy as jnp

    assert compile(ag.sin, backend=jax).backend == compile(ag.sin, backend=jnp).backend == "jax"


@pytest.mark.parametrize("backend", ["fortran", math, 3])
def test_what_is_no_backend_is_refused_at_once(backend):
    with pytest.raises(ValueError, match=r"backend is one of 'numpy', 'c', .* or the module numpy"):
        compile(ag.sin, backend=backend)


@backends
def test_a_buffer_is_kept_until_it_is_read_by_index(backend):
    """The gradient of diag reads a buffer through an index, after others were done with theirs."""

    def f(x, y, s):
        kept = [np.where(np.isnan(z), 0.0, z) for z in (x, s, np.diag(y))]
        parts = zip((kept[0], y, kept[1], x, kept[2]), (1.125, 1.25, 1.375, 1.5, 1.625))
        return sum(ag.sum(part) * weight for part, weight in parts)

    _, (dx, dy, ds) = compile(f, backend)(np.array([-1.0]), np.array([-0.25]), -1.5)
    assert (dx.tolist(), dy.tolist(), ds) == ([2.625], [2.875], 1.375)
