"""The C backend: every op and sample against the interpreter, from one library; its compiler, its cache, its checks."""

import itertools
import math
import re
import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import given, settings

import autograd as ag
import nn
from autograd import compile
from autograd.errors import AxisError, CompilerError
from autograd.op import OPS
from autograd.program.backends import c, interpreter
from autograd.program.backends.c import compiler
from autograd.program.backends.c.ops import EMIT
from autograd.program.backends.c.source import Source
from autograd.program.passes import optimised
from autograd.program.passes.core import core
from autograd.program.tracing.trace import trace_graph
from examples import EXAMPLES
from tests.autograd.judges import cases
from tests.autograd.program.programs import as_dtype, assert_near, weighed
from tests.autograd.program.test_backends import built
from tests.autograd.program.test_graphs import gradients_of_the_engine
from tests.autograd.programs import OURS, programs

pytestmark = pytest.mark.skipif(
    not compiler.is_here(), reason="NOT TESTED: no C compiler (apt install gcc, or pip install 'handgrad[native]')"
)
DTYPES = (np.float64, np.float32)


@pytest.fixture
def quickly(monkeypatch):
    """Built without optimisation: for thousands of loops that each run once."""
    monkeypatch.setattr(compiler, "FLAGS", (*compiler.FLAGS, "-O0"))
    monkeypatch.setattr(compiler, "NATIVE", "-O0")


def every_program():
    """(name, program, inputs) of each op's value and gradients at each sample, in both dtypes."""
    for (op, sample), dtype in itertools.product(cases(), DTYPES):
        name = f"{op.name} {sample} {np.dtype(dtype).name}"
        if op.differentiable:
            yield name, *built(*weighed(op, sample, dtype))
        else:
            f, xs = op.on(sample)
            yield name, *built(f, [as_dtype(x, dtype) for x in xs], gradients=False)


def disagreement(run, program, inputs, ulps=64.0):
    """What is wrong with the results of two calls; "" if nothing is."""
    with np.errstate(all="ignore"):
        want = interpreter.run(program, inputs)
        for _ in range(2):  # the second call finds the work space full of the first
            got = run(inputs)
            try:
                for ours, reference in zip(got, want, strict=True):
                    assert_near(ours, reference, ulps)
            except AssertionError as error:
                return str(error)
    for a, b in itertools.combinations([*got, *(x for x in inputs if isinstance(x, np.ndarray))], 2):
        if np.may_share_memory(a, b) and not (any(a is x for x in inputs) and any(b is x for x in inputs)):
            return "results share memory"
    return ""


@pytest.mark.slow
def test_every_op_and_sample_in_both_dtypes(quickly):
    all_of_them = list(every_program())
    runs = c.built([program for _, program, _ in all_of_them])
    wrong = {name: disagreement(run, p, xs) for (name, p, xs), run in zip(all_of_them, runs, strict=True)}
    assert not {name: what for name, what in wrong.items() if what}


@pytest.mark.slow
def test_nans_and_infinities_are_those_of_the_interpreter(quickly):
    tried = [(f"{op.name} {sample}", *built(*op.on(sample), gradients=False)) for op, sample in cases()
             if op.name != "cholesky"]  # fmt: skip  # a huge number leaves no positive definite matrix
    runs = c.built([program for _, program, _ in tried])
    wrong = {}
    for (name, program, inputs), run in zip(tried, runs, strict=True):
        real = [i for i, x in enumerate(inputs) if isinstance(x, np.ndarray) and x.dtype.kind == "f" and x.size]
        for i, special in itertools.product(real, (math.nan, math.inf, -math.inf, 0.0, -0.0)):
            changed = [x.copy() if j == i else x for j, x in enumerate(inputs)]
            changed[i].flat[changed[i].size // 2] = special
            wrong[name, i, special] = disagreement(run, program, changed)
    assert not {name: what for name, what in wrong.items() if what}


@pytest.mark.slow
def test_every_example():
    """Their graphs with all gradients, built as people would build them."""
    made = []
    for example in EXAMPLES:
        root = getattr(example.module, "stepped", example.module.graph)()
        traced, leaves = trace_graph(root)
        inputs = [leaf.data for leaf in leaves]
        made.append((example.name, optimised(traced.program, inputs), inputs))
    runs = c.built([program for _, program, _ in made])
    wrong = {name: disagreement(run, p, xs) for (name, p, xs), run in zip(made, runs, strict=True)}
    assert not {name: what for name, what in wrong.items() if what}


def test_the_whole_core_is_in_c_but_for_what_libraries_do():
    left = {name for names in core().values() for name in names if not OPS[name].c and name not in EMIT}
    assert left == {"argsort", *core()["series and decompositions"]} - {"gammaln", "erfc"}


SPECIAL = [0.0, -0.0, 1e-320, -1e-320, 1e-9, 0.5, -0.5, 1.0, 20.0, -20.0, 88.0, 89.0, -87.0, -104.0, 709.0, 710.0,
           -708.0, -740.0, -746.0, -1e6, 1e6, math.inf, -math.inf, math.nan]  # fmt: skip


@pytest.mark.slow
def test_exp_is_within_one_unit_of_the_last_place_and_tanh_within_two_and_a_half():
    rng = np.random.default_rng(0)
    spread = np.concatenate(
        [rng.normal(size=20_000), rng.uniform(-750, 750, 20_000), 10.0 ** rng.uniform(-20, 0, 9000)]
    )
    both = [built(f, [np.zeros(spread.size + len(SPECIAL), dtype)], gradients=False)[0]
            for f in (ag.exp, ag.tanh) for dtype in DTYPES]  # fmt: skip
    with np.errstate(all="ignore"):
        for run, (exact, dtype) in zip(c.built(both), itertools.product((np.exp, np.tanh), DTYPES), strict=True):
            x = np.concatenate([spread, SPECIAL]).astype(dtype)
            (got,), want = run([x]), exact(x.astype(np.longdouble))
            unit = np.spacing(np.abs(want.astype(dtype)))
            near = np.abs(got.astype(np.longdouble) - want) <= (1.0 if exact is np.exp else 2.5) * unit
            same = (got == want.astype(dtype)) | (np.isnan(got) & np.isnan(want))
            assert (near | same).all(), x[~(near | same)][:5]


@pytest.mark.slow
def test_random_graphs(quickly):
    """Collected first, so that one library holds them all."""
    collected = []

    @settings(max_examples=40, database=None, derandomize=True)
    @given(programs())
    def collect(program):
        leaves = [float(x) if np.ndim(x) == 0 else x for x in program.leaves]
        collected.append((program, leaves, *built(lambda *xs: program.run(OURS, list(xs)), leaves)))

    collect()
    for (program, leaves, compiled, inputs), run in zip(collected, c.built([x[2] for x in collected]), strict=True):
        want, expected = gradients_of_the_engine(program, leaves)
        largest = max([1.0, abs(float(want)), *(float(np.max(np.abs(x), initial=0.0)) for x in expected)])
        value, *grads = run(inputs)
        assert_near(value / largest, np.asarray(want) / largest, 512)
        for ours, theirs in zip(grads, expected, strict=True):
            assert_near(ours / largest, theirs / largest, 512)
        assert disagreement(run, compiled, inputs, 4096 * largest) == ""


# --- results, and what they must not be --------------------------------------------------------------------------


def block(q, k, v, gamma):
    mixed = ag.attention(q, k, v, causal=True)
    return (ag.layer_norm(mixed, gamma, gamma * 0.0) ** 2 * q).sum()


def some_inputs(seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=shape) for shape in ((5, 4), (5, 4), (5, 4), (4,))]


@pytest.mark.slow
def test_a_new_shape_and_another_dtype_are_built_anew():
    g = compile(lambda x: (x * x).sum(), "c")
    for x in (np.arange(3.0), np.arange(4.0), np.arange(3.0).astype(np.float32), np.arange(3.0)):
        value, (dx,) = g(x)
        assert value == (x * x).sum() and dx.dtype == x.dtype
        np.testing.assert_array_equal(dx, 2 * x)
    assert "3 program(s)" in repr(g)


@pytest.mark.slow
def test_many_threads_at_once():
    g = compile(block, "c")
    many = [some_inputs(seed) for seed in range(6)]
    want = [g(*inputs) for inputs in many]
    wrong = []

    def work(seed):
        for _ in range(200):
            value, grads = g(*many[seed])
            if value != want[seed][0] or any(not np.array_equal(a, b) for a, b in zip(grads, want[seed][1])):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.slow
def test_ids_out_of_range_are_refused_as_by_numpy(quickly):
    def f(table, ids):
        return (ag.take(table, ids, axis=0) ** 2).sum()

    g, table = compile(f, "c"), np.arange(6.0).reshape(3, 2)
    assert g(table, np.array([0, 2]))[0] == 0 + 1 + 16 + 25
    for wrong in (-1, 3, 2**40, -(2**63)):
        with pytest.raises(AxisError, match=f"ids run from 0 to 2; got {wrong}"):
            g(table, np.array([0, wrong]))
    assert g(table, np.array([1, 1]))[0] == 2 * (4 + 9)  # and goes on
    np.testing.assert_array_equal(g(table, np.array([1, 1]))[1][0], [[0, 0], [8, 12], [0, 0]])

    targets = compile(lambda x, t: ag.cross_entropy(x, t, ignore_index=-1), "c")
    logits = np.zeros((2, 3))
    assert targets(logits, np.array([0, -1]))[0] == pytest.approx(math.log(3))
    with pytest.raises(AxisError, match="got 3"):
        targets(logits, np.array([0, 3]))


@pytest.mark.slow
def test_what_c_cannot_do_numpy_does_in_between(quickly):
    cube = ag.custom_op("cube_in_c", forward=lambda x: x**3, vjp=lambda g, out, x: (3 * g * x**2,))
    a = np.array([[2.0, 1.0], [1.0, 3.0]])
    f = lambda a: (cube(ag.inv(a * 2.0).tanh()) + a).sum()  # noqa: E731
    value, (da,) = compile(f, "c")(a)
    want, (expected,) = compile(f, "interpreter")(a)
    assert_near(value, want)
    assert_near(da, expected)


def test_numbers_of_each_kind_go_in_and_out(quickly):
    def f(x, s, t, whole, mask):
        y = ag.where(mask, x, -x) * s + t * whole
        return y, ag.greater(y, 0.0), whole * 2, mask, x.T, s, ag.argmax(y)

    inputs = [np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3), 2.0, np.float32(0.5),
              np.arange(6, dtype=np.int32).reshape(2, 3), np.array([True, False, True])]  # fmt: skip
    program, given = built(f, inputs, gradients=False)
    assert disagreement(c.build(program), program, given) == ""


@pytest.mark.slow
def test_bytes_in_another_order_and_numbers_at_odd_addresses(quickly):
    swapped, ids = np.arange(1.0, 4.0).astype(">f8"), np.array([2, 0]).astype(">i4")
    g = compile(lambda x, ids: (ag.take(x, ids, axis=0) * x[1:]).sum(), "c")
    value, (dx, _) = g(swapped, ids)
    assert value == 3.0 * 2.0 + 1.0 * 3.0
    np.testing.assert_array_equal(dx, [3.0, 3.0, 3.0])
    odd = np.zeros(25, np.uint8)[1:].view(np.float64)
    odd[:] = swapped
    assert g(odd, ids.astype(np.int64))[0] == value


def test_long_rows_are_added_up_in_blocks(quickly):
    x = np.full(300_000, 0.1, np.float32)
    run = c.build(built(lambda x: (x.sum(), x.reshape(3, 100_000).sum(axis=1)), [x], gradients=False)[0])
    total, rows = run([x])
    exact = float(np.float32(0.1)) * 300_000
    bound = 256 * 2.0**-24 * exact  # of a block; one chain of additions is 0.01 of it all away
    assert abs(total - exact) < bound and np.abs(rows - exact / 3).max() < bound


@pytest.mark.slow
def test_many_ops_on_single_numbers_are_a_tape(quickly):
    def f(x, y):
        for n in range(1, 60):  # no two alike, so that nothing is re-rolled
            x, y = ag.where(x > y, x - 0.01 * n, (x * y).tanh()), y * 0.9 + x / (n + y * y)
        return x * y

    program, inputs = built(f, [0.3, 0.7])
    text = Source([program], "int64_t").text
    assert "static const int32_t tape[]" in text and text.count("noinline)) void f") < 5
    assert disagreement(c.build(program), program, inputs) == ""


@pytest.mark.parametrize("make, clip", [(nn.optim.SGD, None), (nn.optim.AdamW, 0.1)])
def test_fit_trains_through_c(quickly, make, clip):
    """The optimizer is in C too."""

    def trained(compiled):
        rng = np.random.default_rng(0)
        x, y = rng.normal(size=(20, 3)), rng.normal(size=(20, 3))
        model = nn.FeedForward(3, 4, rng=0)
        loss = lambda x, y: ((model(x) - y) ** 2).mean()  # noqa: E731
        history = nn.fit(model, loss, (x, y), make(model, lr=0.1), steps=8, clip=clip, compile=compiled)
        return [*history.losses, *(number for p in model.parameters() for number in p.data.flat)]

    np.testing.assert_allclose(trained("c"), trained(False), rtol=1e-12)


# --- the text ----------------------------------------------------------------------------------------------------


def test_no_text_of_a_user_comes_into_c():
    def f(evil_name, other):
        evil_result = evil_name * other
        return evil_result.sum()

    f.__name__ = "*/ system(0); /*"
    program, _ = built(f, [np.ones(3), np.ones(3)])
    named = program.but(names=dict.fromkeys(range(len(program.types)), '"; */ evil'))
    text = Source([named], "int64_t").text
    assert "evil" not in text and "system" not in text
    assert text == Source([program], "int64_t").text


def test_equal_loops_are_written_once():
    def layers(x, gamma):
        for _ in range(6):
            x = x + ag.layer_norm(x @ x.T @ x, gamma, gamma)
        return x.sum()

    program, _ = built(layers, [np.eye(4), np.ones(4)])
    text = Source([program], "int64_t").text
    run = text[text.index("static i64 run0") :]
    calls = re.findall(r"^(f\d+)\(", run, re.MULTILINE)
    assert len(calls) > 2 * len(set(calls))


@pytest.mark.slow
def test_large_products_go_to_the_blas_of_numpy_and_work_without_it(quickly, monkeypatch):
    from autograd.program.backends.c import library

    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(3, 70, 50)), rng.normal(size=(3, 50, 40))
    products = lambda a, b: (a @ b, b.mT @ a.mT, a[:, ::2] @ b[0], a[..., ::-1] @ b)  # noqa: E731
    program, inputs = built(products, [a, b], gradients=False)
    if library.find_blas() is not None:
        assert "given.gemm(" in Source([program], "int64_t").text.split("static i64 run0")[0].split("f0(")[1]
        assert disagreement(c.build(program), program, inputs, 1024) == ""
    monkeypatch.setattr(library, "find_blas", lambda: None)
    assert disagreement(c.build(program), program, inputs, 1024) == ""


# --- the compiler and the cache ----------------------------------------------------------------------------------


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "handgrad"


def square():
    return compile(lambda x: (x * x).sum(), "c")(np.arange(4.0))[0]


def test_a_library_is_built_once_and_found_again(cache, monkeypatch, quickly):
    assert square() == 14.0
    (library,) = cache.iterdir()
    monkeypatch.setattr(compiler, "_compile", None)
    assert square() == 14.0
    assert list(cache.iterdir()) == [library]


@pytest.mark.slow
@pytest.mark.parametrize("damage", [
    lambda whole: b"", lambda whole: whole[: len(whole) // 2],
    lambda whole: whole[:-500] + bytes([whole[-500] ^ 1]) + whole[-499:],
], ids=["empty", "cut short", "one bit"])  # fmt: skip
def test_a_damaged_library_is_built_again(cache, damage, quickly):
    square()
    (library,) = cache.iterdir()
    whole = library.read_bytes()
    library.unlink()  # this process has it loaded
    library.write_bytes(damage(whole))
    assert square() == 14.0
    assert library.read_bytes() == whole


def test_a_cache_that_cannot_be_written_to(cache, monkeypatch, quickly):
    made = compiler.tempfile.TemporaryDirectory

    def refused(*args, dir=None, **options):  # as the system does; root, as whom tests may run, is never refused
        if dir == cache:
            raise PermissionError("read-only")
        return made(*args, dir=dir, **options)

    monkeypatch.setattr(compiler.tempfile, "TemporaryDirectory", refused)
    assert square() == 14.0
    assert not any(cache.iterdir())


def test_a_cache_that_is_a_file(cache, quickly):
    cache.write_text("in the way")
    assert square() == 14.0
    assert cache.read_text() == "in the way"


def test_no_compiler_is_said_in_one_line(cache, monkeypatch):
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(compiler.shutil, "which", lambda name: None)
    monkeypatch.setattr(compiler, "find_spec", lambda name: None)
    compiler.compiler.cache_clear()
    with pytest.raises(CompilerError, match=r"needs a C compiler.*pip install 'handgrad\[native\]'"):
        square()
    monkeypatch.undo()
    compiler.compiler.cache_clear()


def test_a_compiler_that_fails_is_quoted(cache, monkeypatch, tmp_path):
    script = tmp_path / "broken-cc"
    script.write_text("#!/bin/sh\necho 'no space left on the moon' >&2\nexit 1\n")
    script.chmod(0o755)
    monkeypatch.setenv("CC", str(script))
    with pytest.raises(CompilerError, match="no space left on the moon"):
        square()
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(CompilerError, match="CC is 'no-such-compiler'"):
        square()
    assert not cache.exists() or not any(cache.iterdir())


@pytest.mark.parametrize("does, words", [
    ("", "wrote no library"), ('while [ "$1" != -o ]; do shift; done; echo nonsense > "$2"', "cannot be loaded"),
], ids=["nothing", "nonsense"])  # fmt: skip
def test_a_compiler_that_ends_well_and_builds_nothing_is_named(cache, monkeypatch, tmp_path, does, words):
    script = tmp_path / "odd-cc"
    script.write_text(f'#!/bin/sh\nif [ "$1" = --version ]; then exit; fi\n{does}\n')
    script.chmod(0o755)
    monkeypatch.setenv("CC", str(script))
    with pytest.raises(CompilerError, match=words):
        square()
    assert not any(cache.iterdir())


def test_constants_that_c_has_no_type_for():
    half = np.array([0.5, 0.25], np.float16)
    for f in (lambda x: [x, half * 2], lambda x: [x * 2.0, half * 2], lambda x: [np.rint(bool(x[0])), x]):
        for got, want in zip(compile(f, "c", gradients=False)(np.ones(2)), f(np.ones(2)), strict=True):
            assert np.asarray(got).dtype == np.asarray(want).dtype and np.array_equal(got, want)


@pytest.mark.slow
def test_two_processes_build_at_once(cache):
    code = (
        "import numpy as np; from autograd import compile\n"
        "print(compile(lambda x: (x * x).sum(), 'c')(np.arange(4.0))[0])"
    )
    started = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert [process.communicate(timeout=60)[0].strip() for process in started] == ["14.0"] * 3
    assert len(list(cache.iterdir())) == 1


@pytest.mark.slow
@pytest.mark.skipif(
    compiler.find_spec("ziglang") is None, reason="NOT TESTED: no ziglang (pip install 'handgrad[native]')"
)
def test_the_compiler_that_pip_installs(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("CC", f"{sys.executable} -m ziglang cc")
    inputs = some_inputs()
    value, grads = compile(block, "c")(*inputs)
    want, expected = compile(block, "interpreter")(*inputs)
    assert_near(value, want)
    for ours, reference in zip(grads, expected, strict=True):
        assert_near(ours, reference)
