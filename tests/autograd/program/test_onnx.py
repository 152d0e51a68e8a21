"""Files of ONNX: accepted by its checker, and run by onnxruntime to the engine's numbers."""

import sys
from importlib.util import find_spec

import numpy as np
import pytest

import autograd as ag
import nn
from autograd import OPS, to_onnx
from autograd.errors import DataError, TraceError
from autograd.program.passes.core import core
from tests.autograd.program.programs import as_dtype, assert_near

if find_spec("onnx") is None or find_spec("onnxruntime") is None:
    pytest.skip("onnx is not installed: pip install 'handgrad[onnx]'", allow_module_level=True)

import onnx
import onnxruntime

dtypes = pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["float64", "float32"])


def session_of(path, optimised=False):
    options = onnxruntime.SessionOptions()
    if not optimised:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options)


def run(session, *arrays):
    return session.run(None, {given.name: np.asarray(x) for given, x in zip(session.get_inputs(), arrays, strict=True)})


@pytest.mark.slow
@dtypes
def test_every_op_that_has_a_counterpart(tmp_path, dtype):
    """All in one file: the first sample of each op, and its last."""
    lacking = {*core()["series and decompositions"], *(["arctan", "arctan2"] if dtype == np.float64 else [])}
    calls, given = [], []
    for op in OPS.values():
        for sample in {id(s): s for s in (op.samples[:1] + op.samples[-1:])}.values():
            f, xs = op.on(sample)
            if op.name in lacking or uses(f, xs, lacking):
                continue
            xs = [as_dtype(x, dtype) for x in xs]
            arrays = [k for k, x in enumerate(xs) if isinstance(x, (float, np.ndarray, np.generic))]
            calls.append((op.name, f, xs, [(k, len(given) + n) for n, k in enumerate(arrays)]))
            given += [xs[k] for k in arrays]

    def everything(*inputs):
        results = []
        for _, f, xs, places in calls:
            own = list(xs)
            for k, place in places:
                own[k] = inputs[place]
            results.append(f(*own))
        return results

    to_onnx(everything, *given, path=tmp_path / "ops.onnx")
    got = run(session_of(tmp_path / "ops.onnx"), *given)
    assert len({name for name, *_ in calls}) > 130
    for (name, *_), ours, want in zip(calls, got, everything(*given), strict=True):
        try:
            assert_near(ours, want)
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from None


def uses(f, xs, names):
    """Whether a lowering leads to one of these ops."""
    return any(i.op.base.name in names for i in ag.compile(f, "interpreter", gradients=False).program(*xs).code)


X = np.random.default_rng(0).normal(size=(2, 5, 8))
LAYERS = {
    "linear": lambda d: nn.Linear(8, 3, rng=0, dtype=d),
    "layer norm": lambda d: nn.LayerNorm(8, dtype=d),
    "rms norm": lambda d: nn.RMSNorm(8, dtype=d),
    "dropout": lambda d: nn.Dropout(0.5, rng=0).eval(),
    "learned positions": lambda d: nn.LearnedPositions(6, 8, rng=0, dtype=d),
    "sinusoidal positions": lambda d: nn.SinusoidalPositions(8),
    "rotary positions": lambda d: nn.RotaryPositions(),
    "attention": lambda d: nn.MultiHeadAttention(8, 2, rng=0, dtype=d),
    "causal attention": lambda d: nn.MultiHeadAttention(8, 4, n_kv_heads=2, causal=True, rotary=True, rng=0, dtype=d),
    **{f"feed-forward, {name}": lambda d, name=name: nn.FeedForward(8, 16, name, rng=0, dtype=d)
       for name in ("relu", "gelu", "tanh", "swiglu")},
    "block": lambda d: nn.TransformerBlock(8, 2, rng=0, dtype=d),
    "sequential": lambda d: nn.Sequential(nn.Linear(8, 4, rng=0, dtype=d), nn.functional.relu),
}  # fmt: skip


@pytest.mark.slow
@dtypes
def test_every_layer(tmp_path, dtype):
    for name, make in LAYERS.items():
        layer, x = make(dtype), X.astype(dtype)
        to_onnx(layer, x, path=tmp_path / "layer.onnx")
        onnx.checker.check_model(tmp_path / "layer.onnx", full_check=True)
        (got,) = run(session_of(tmp_path / "layer.onnx"), x)
        assert got.dtype == dtype, name
        assert_near(got, layer(x).data)
        held = {tensor.name for tensor in onnx.load(tmp_path / "layer.onnx").graph.initializer}
        assert held.issuperset(path for path, _ in layer.named_parameters()), name


def test_layers_that_take_something_else(tmp_path):
    table = nn.Embedding(7, 3, rng=0)
    to_onnx(table, np.array([[1, 2], [6, 0]]), path=tmp_path / "a.onnx")
    (got,) = run(session_of(tmp_path / "a.onnx"), np.array([[6, 6], [3, 1]]))  # other ids: they are an input
    np.testing.assert_array_equal(got, table(np.array([[6, 6], [3, 1]])).data)

    crossed = nn.MultiHeadAttention(8, 2, d_context=6, rng=0)
    context, mask = np.ones((2, 3, 6)) * np.arange(3.0)[:, None], np.array([True, False, True])
    f = lambda x, context: crossed(x, context, mask=mask)  # noqa: E731
    to_onnx(f, X, context, path=tmp_path / "b.onnx")
    (got,) = run(session_of(tmp_path / "b.onnx"), X, context)
    assert_near(got, f(X, context).data)

    scalars = nn.MLP(2, [3, 1], rng=0)
    to_onnx(scalars, [0.5, -1.0], path=tmp_path / "c.onnx")
    assert_near(run(session_of(tmp_path / "c.onnx"), 0.5, -1.0)[0], scalars([0.5, -1.0]).data)


@pytest.mark.slow
@dtypes
@pytest.mark.parametrize("options", [
    {}, {"norm": "rms", "positions": "rotary"}, {"tie_weights": True, "positions": "sinusoidal", "activation": "gelu"},
    {"activation": "swiglu", "n_kv_heads": 2},
], ids=lambda options: " ".join(options) or "plain")  # fmt: skip
def test_a_gpt_with_ids_as_inputs(tmp_path, options, dtype):
    model = nn.GPT(11, 8, 16, 4, 2, rng=0, dtype=dtype, **options)
    rng = np.random.default_rng(0)
    ids = rng.integers(0, 11, (3, 8))
    to_onnx(model, ids, path=tmp_path / "gpt.onnx")
    exact, quick = session_of(tmp_path / "gpt.onnx"), session_of(tmp_path / "gpt.onnx", optimised=True)
    assert [given.name for given in exact.get_inputs()] == ["ids"]
    for _ in range(2):
        assert_near(run(exact, ids)[0], model(ids).data)
        want, apart = model(ids).data, 1e-6 if dtype == np.float32 else 1e-9
        np.testing.assert_allclose(run(quick, ids)[0], want, rtol=0, atol=apart * np.abs(want).max())
        ids = rng.integers(0, 11, (3, 8))
    to_onnx(lambda model, ids, targets: model.loss(ids, targets), model, ids, ids[::-1], path=tmp_path / "loss.onnx")
    assert_near(run(session_of(tmp_path / "loss.onnx"), ids, ids[::-1])[0], model.loss(ids, ids[::-1]).data)


def test_what_cannot_be_written_is_refused_and_no_file_is_left(tmp_path):
    path = tmp_path / "no.onnx"
    model = nn.Sequential(nn.Linear(2, 2, rng=0), nn.Dropout(0.5, rng=0))
    with pytest.raises(DataError, match=r"draws random numbers.*model.eval\(\)"):
        to_onnx(model, np.ones((1, 2)), path=path)
    with pytest.raises(DataError, match="solve has no counterpart in ONNX"):
        to_onnx(lambda a: ag.inv(a), np.eye(2), path=path)
    with pytest.raises(TraceError):
        to_onnx(lambda x: x * 2.0 if x > 0 else x, 3.0, path=path)
    with pytest.raises(TypeError, match="takes a function or a module"):
        to_onnx(np.ones(2), path=path)
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        to_onnx(lambda x: x * 2.0, 3.0, path=tmp_path / "missing" / "a.onnx")
    assert not path.exists()


def test_without_onnx_it_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"pip install 'handgrad\[onnx\]'"):
        to_onnx(lambda x: x, 1.0, path=tmp_path / "a.onnx")


def test_results_may_be_several_constants_or_inputs(tmp_path):
    def f(x):
        return {"same": x, "twice": [x * 2.0, x * 2.0], "three": 3.0 * ag.sum(np.ones(2))}

    to_onnx(f, np.arange(3.0), path=tmp_path / "a.onnx")
    session = session_of(tmp_path / "a.onnx")
    assert [result.name for result in session.get_outputs()] == ["output_0", "output_1", "output_2", "output_3"]
    got = run(session, np.arange(3.0))
    np.testing.assert_array_equal(got[0], np.arange(3.0))
    np.testing.assert_array_equal(got[2], [0.0, 2.0, 4.0])
    assert got[3] == 6.0
