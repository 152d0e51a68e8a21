"""Ctrl-C at any moment: a backward pass is done for every node or for none, and a training goes on from its file."""

import contextlib
import os

import numpy as np
import pytest

import autograd as ag
import nn
from autograd import Value, detect_nan
from autograd.graph import topological
from tests.autograd.test_engine import mixed_graph
from tests.interrupts import at_every_moment, at_random_moments, needs_signals, press_ctrl_c

# Python drops an exception that strikes in a callback or in a generator that is being closed
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.fixture(autouse=True)
def numpy_warns_as_before():
    """A signal may strike where NumPy's own block of settings ends: no promise is made of that."""
    before = np.seterr(all="ignore")
    yield
    np.seterr(**before)


def as_bits(x):
    if x.__class__ is float:
        return x.hex()
    return None if x is None else (x.__class__, x.shape, x.tobytes())


def square():
    x = Value(2.0)
    y = x * 3
    return y * y


def diamond():
    a, b = Value(2.0), Value(np.array([1.0, -2.0]))
    shared = a * b
    return (shared * shared + b).sum()


def with_hooks():
    a, b = Value(np.array([1.0, 2.0])), Value(np.array([3.0, 4.0]))
    shared = a + b
    shared.hook(lambda g: 2 * g)
    a.hook(lambda g: g + 1.0)
    return (shared.tanh() * b).sum()


def one_leaf():
    return Value(2.0)


def many_inputs():
    x, w = Value(np.arange(6.0).reshape(2, 3) / 7), Value(np.ones((3, 3)) / 3)
    h = ag.linear(x, w, Value(np.zeros(3)))
    return ag.stack([ag.softmax(h)[0], ag.layer_norm(h)[1]]).mean()


def floats_that_raise():
    x = Value(0.0)
    return (x**2.0) ** 0.5 + x.exp()


def under_detect_nan():
    return diamond()


GRAPHS = [square, diamond, with_hooks, one_leaf, floats_that_raise, under_detect_nan]


class Watched:
    """A graph with the gradients it has before a pass, and those it has after one."""

    def __init__(self, root):
        self.root, self.nodes = root, topological(root)
        for i, node in enumerate(self.nodes):  # leaves have something to add to, results something to replace
            if node.requires_grad and i % 3:
                node.grad = 0.5 * i if node.data.__class__ is float else np.full_like(node.data, 0.5 * i)
        self.old = [node.grad for node in self.nodes]
        self.run()
        self.new = [node.grad for node in self.nodes]
        self.bits = {"old": [*map(as_bits, self.old)], "new": [*map(as_bits, self.new)]}
        assert self.bits["old"] != self.bits["new"]

    def reset(self):
        for node, g in zip(self.nodes, self.old, strict=True):
            node.grad = g if g is None or g.__class__ is float else g.copy()

    def run(self):
        self.root.backward()

    def state(self):
        """ "old" or "new" if every gradient is, bit for bit; else which of them are."""
        now = [as_bits(node.grad) for node in self.nodes]
        for name, bits in self.bits.items():
            if now == bits:
                return name
        return [(node, node.grad, a, b) for node, a, b in zip(self.nodes, self.old, self.new, strict=True)]

    def assert_usable(self):
        """Whatever the interrupt left, it is a whole, and the same call again gives the right numbers."""
        left = self.state()
        assert left in ("old", "new")
        if left == "new":
            self.reset()
        self.run()
        assert self.state() == "new"
        return left


@pytest.mark.parametrize("make", GRAPHS)
def test_interrupted_at_every_moment(make):
    graph = Watched(make())

    with detect_nan() if make is under_detect_nan else contextlib.nullcontext():
        left = [graph.assert_usable() for _ in at_every_moment(graph.run, graph.reset)]
    assert left.count("old") > 10 and left.count("new") >= 1  # also between the writing and the return


@pytest.mark.parametrize("make, every", [
    (many_inputs, 7), (lambda: mixed_graph()[1], 37), pytest.param(many_inputs, 1, marks=pytest.mark.slow),
    pytest.param(lambda: mixed_graph()[1], 1, marks=pytest.mark.slow),
])  # fmt: skip
def test_interrupted_at_many_moments_of_a_larger_graph(make, every):
    graph = Watched(make())
    left = [graph.assert_usable() for _ in at_every_moment(graph.run, graph.reset, every)]
    assert len(left) > 300 / every


@needs_signals
@pytest.mark.parametrize("times", [100, pytest.param(10_000, marks=pytest.mark.slow)])
def test_real_signals_at_random_moments(times):
    graph = Watched(mixed_graph()[1])
    hits = 0
    for hit in at_random_moments(graph.run, times, graph.reset):
        hits += hit
        graph.assert_usable()
    assert hits > times / 10


# --- optimizers ----------------------------------------------------------------------------------------------------


@needs_signals
def test_an_optimizers_step_is_done_whole():
    model = nn.Sequential(*(nn.Linear(40, 40, rng=i) for i in range(4)))
    optimizer = nn.optim.SGD(model, lr=1.0)
    for p in model.parameters():
        p.data, p.grad = np.zeros(p.shape), np.ones(p.shape)
    hits = 0
    for hit in at_random_moments(optimizer.step, 200, action=press_ctrl_c):
        hits += hit
        assert {-float(x) for p in model.parameters() for x in p.data.flat} == {optimizer.steps}
    assert hits > 20


# --- training --------------------------------------------------------------------------------------


class Training:
    """A training of a few steps that is called again and again until it has made them all; then a new one begins."""

    def __init__(self, file, steps=3):
        self.file, self.steps = file, steps
        self.x = np.random.default_rng(0).normal(size=(8, 2))
        self.begin()
        self.run()
        self.expected, self.weights = self.history.losses, self.numbers()
        self.whole = 0

    def begin(self):
        self.file.unlink(missing_ok=True)
        self.model = nn.Linear(2, 1, rng=0)
        self.optimizer = nn.optim.Adam(self.model, lr=0.1)
        self.history = None

    def run(self):
        self.history = nn.fit(
            self.model, lambda x, y: nn.functional.mse(self.model(x), y), (self.x, self.x[:, :1] * 2), self.optimizer,
            steps=self.steps, batch_size=4, checkpoint=self.file, resume=True, progress=False,
        )  # fmt: skip

    def numbers(self):
        return [p.data.tolist() for p in self.model.parameters()]

    def prepare(self):
        """Where the last call has ended the training: its numbers are those of one that nobody stopped."""
        if self.history is not None and self.history.steps == self.steps:
            assert self.numbers() == self.weights
            self.whole += 1
            self.begin()

    def assert_usable(self):
        """What has been made of it so far is right; the same call again goes on from there."""
        losses = self.history.losses if self.history is not None else []
        assert losses == self.expected[: len(losses)]


@needs_signals
@pytest.mark.parametrize("times", [40, pytest.param(10_000, marks=pytest.mark.slow)])
def test_ctrl_c_during_fit(tmp_path, monkeypatch, times):
    """The same call again goes on from the file, to the same numbers as a training that nobody stopped."""
    monkeypatch.setattr(os, "fsync", lambda number: None)  # half of the time, for moments that are all alike
    training = Training(tmp_path / "run.safetensors")
    for _ in at_random_moments(training.run, times, training.prepare, action=press_ctrl_c):
        training.assert_usable()
    training.run()
    training.prepare()
    assert training.whole > times / 20
