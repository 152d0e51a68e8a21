"""Buffers: attributes that files, state dicts and torch's exchange hold, and that no optimizer moves."""

import copy
import warnings

import numpy as np
import pytest

import nn
from autograd import Value
from autograd.errors import DataError, NonFiniteError, ShapeError
from autograd.program.backends.c import compiler
from nn.train import Batches

needs_c = pytest.mark.skipif(not compiler.is_here(), reason="NOT TESTED: no C compiler")


class Norm(nn.Module):
    """Subtracts a running mean, and counts its calls."""

    def __init__(self, width=3):
        self.scale = nn.Parameter(np.ones(width))
        self.mean = nn.Buffer(np.zeros(width))
        self.register_buffer("calls", 0)
        self.register_buffer("cache", np.zeros(2), persistent=False)
        self.register_buffer("nothing", None)

    def forward(self, x):
        if self.training:
            mean = x.mean(axis=0)
            self.mean = 0.5 * self.mean + 0.5 * mean
            self.calls += 1
            return (x - mean) * self.scale
        return (x - self.mean) * self.scale


X = np.random.default_rng(0).normal(size=(6, 3)) + 2.0


def trained():
    model = nn.Sequential(Norm(), nn.Linear(3, 1, rng=0))
    model(Value(X)).sum().backward()
    return model


def test_it_is_an_attribute_that_holds_an_array():
    norm = Norm()
    assert type(norm.mean) is np.ndarray and norm.calls == 0 and norm.nothing is None
    norm(Value(X))
    np.testing.assert_allclose(norm.mean, 0.5 * X.mean(axis=0))
    assert norm.calls == 1 and norm.calls.dtype == np.int64
    with pytest.raises(ShapeError, match=r"the buffer mean has shape \(3,\)"):
        norm.mean = np.zeros(4)
    with pytest.raises(DataError, match="real numbers"):
        nn.Buffer("text")
    assert [name for name, _ in norm.named_buffers()] == ["mean", "calls", "cache"]
    assert [p.name for p in norm.parameters()] == ["scale"]


def test_a_graph_keeps_the_numbers_it_was_made_with():
    norm, x = Norm(), Value(X)
    norm.eval()
    out = norm(x)
    norm.mean = norm.mean + 1.0  # used before, replaced now
    out.sum().backward()
    np.testing.assert_allclose(norm.scale.grad, X.sum(axis=0))


def test_files_state_dicts_and_torch_hold_it(tmp_path):
    model = trained()
    expected = model.eval()(Value(X)).data
    nn.save(model, tmp_path / "model.safetensors")
    nn.save(model, tmp_path / "again.safetensors")
    for fill in (lambda twin: nn.load(twin, tmp_path / "model.safetensors"),
                 lambda twin: twin.load_state_dict(model.state_dict()),
                 lambda twin: nn.from_torch(twin, nn.to_torch(model))):  # fmt: skip
        twin = nn.Sequential(Norm(), nn.Linear(3, 1, rng=5))
        fill(twin)
        np.testing.assert_array_equal(twin.eval()(Value(X)).data, expected)
        assert twin.layers[0].calls == 1
    assert copy.deepcopy(model).layers[0].mean.tolist() == model.layers[0].mean.tolist()
    assert "layers.0.cache" not in model.state_dict()
    with pytest.raises(ShapeError, match=r"missing: layers.0.mean \(3,\)"):
        state = model.state_dict()
        del state["layers.0.mean"]
        model.load_state_dict(state)
    state = model.state_dict()
    state["layers.0.mean"][:] = 99.0
    assert model.layers[0].mean.max() < 10


def test_no_optimizer_moves_it_and_a_checkpoint_restores_it(tmp_path):
    def run(path, steps, resume=False):
        model = nn.Sequential(Norm(), nn.Linear(3, 1, rng=0))

        def loss(x):
            return (model(Value(x)) ** 2).mean()

        settings = dict(batch_size=2, checkpoint=path, resume=resume)
        nn.fit(model, loss, (X,), nn.optim.Adam(model, lr=0.1), steps=steps, **settings)
        return model

    once = run(tmp_path / "once", 7)
    run(tmp_path / "twice", 4)
    twice = run(tmp_path / "twice", 7, resume=True)
    for name, array in once.state_dict().items():
        np.testing.assert_array_equal(array, twice.state_dict()[name])
    assert once.layers[0].calls == 7


def test_what_forward_changes_and_no_file_holds_is_named(tmp_path):
    class Careless(nn.Module):
        def __init__(self):
            self.scale, self.mean, self.steps = nn.Parameter(1.0), np.zeros(3), 0
            self.name = "a"

        def forward(self, x):
            self.mean = 0.9 * self.mean + 0.1 * x.mean(axis=0).data
            self.steps += 1
            self.name = "b"
            return x * self.scale

    model = nn.Sequential(Careless())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nn.save(model, tmp_path / "before")
    model(Value(X))
    model.layers[0].name = "c"
    with pytest.warns(UserWarning, match=r"does not hold layers.0.mean, layers.0.steps.*self.mean = nn.Buffer"):
        nn.save(model, tmp_path / "after")


def test_numbers_of_the_data_that_are_not_finite_are_named():
    x = X.copy()
    x[4, 2] = np.nan
    model = nn.Linear(3, 1, rng=0)
    with pytest.raises(NonFiniteError, match=r"the batch holds nan at \[\d, 2\] of its part 1"):
        nn.fit(model, lambda x, y: nn.functional.mse(model(x), y), (x, np.ones((6, 1))), nn.optim.SGD(model), steps=1)
    import autograd

    with autograd.detect_nan(), pytest.raises(NonFiniteError, match=r"linear was given nan at \[4, 2\]"):
        model(Value(x))


@pytest.mark.parametrize("change", [{"batch_size": 3}, {"seed": 1}, {"x": X + 1}, {"accumulated": 2}])
def test_a_run_goes_on_with_its_own_batches_only(tmp_path, change):
    def run(steps, resume=False, x=X, **settings):
        model = nn.Linear(3, 1, rng=0)
        settings = {"batch_size": 2, "checkpoint": tmp_path / "run", "resume": resume} | settings
        return nn.fit(model, lambda x: (model(x) ** 2).mean(), (x,), nn.optim.SGD(model), steps=steps, **settings)

    run(2)
    with pytest.raises(DataError, match="fit cannot go on from"):
        run(4, resume=True, **change)
    assert run(4, resume=True).steps == 4


def test_patience_is_the_same_in_one_go_and_in_two(tmp_path):
    def run(path, steps, resume=False):
        model = nn.Linear(3, 1, rng=0)

        def evaluate():
            return 1.0  # no better after the first

        return nn.fit(model, lambda x: (model(x) ** 2).mean(), (X,), nn.optim.SGD(model), steps=steps, every=10,
                      evaluate=evaluate, patience=3, checkpoint=path, resume=resume)  # fmt: skip

    once = run(tmp_path / "once", 100)
    run(tmp_path / "twice", 15)
    twice = run(tmp_path / "twice", 100, resume=True)
    assert once.evaluations == twice.evaluations and once.steps == twice.steps == 40


def test_a_file_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    import os

    def full(file):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"No space left on device; nothing was written: '.*model'"):
        nn.save(nn.Linear(2, 2, rng=0), tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_batches_know_their_numbers():
    assert Batches((X,)).fingerprint() == Batches((X.copy(),)).fingerprint() != Batches((X + 1,)).fingerprint()


@pytest.mark.parametrize("backend", ["numpy", pytest.param("c", marks=needs_c)])
@pytest.mark.parametrize("momentum", [0.1, None])
def test_a_compiled_run_moves_running_statistics_as_an_eager_one_does(backend, momentum):
    def trained(compiled, dtype):
        nn.seed(0)
        model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4, momentum=momentum), nn.Linear(4, 1)).to(dtype)
        x = np.random.default_rng(0).normal(size=(16, 3)).astype(dtype)
        loss, optimizer = lambda x, y: nn.functional.mse(model(x), y), nn.optim.SGD(model, lr=0.1)
        history = nn.fit(model, loss, (x, x[:, :1] * 2), optimizer, steps=6, batch_size=8, progress=False,
                         compile=compiled)  # fmt: skip
        return model.state_dict(), history.losses

    for dtype, tolerance in ((np.float64, 1e-12), (np.float32, 1e-5)):
        (expected, losses), (got, compiled) = trained(False, dtype), trained(backend, dtype)
        assert expected["layers.1.num_batches_tracked"] == got["layers.1.num_batches_tracked"] == 6
        for name, array in expected.items():
            assert got[name].dtype == array.dtype
            np.testing.assert_allclose(got[name], array, rtol=tolerance, atol=tolerance, err_msg=name)
        np.testing.assert_allclose(compiled, losses, rtol=tolerance)
