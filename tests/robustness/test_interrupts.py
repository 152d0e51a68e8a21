"""Ctrl-C at any moment: a pass is done for every node or for none, and the next one is right."""

import contextlib
import gc
import itertools
import os
import warnings

import numpy as np
import pytest

import autograd as ag
import nn
from autograd import Value, detect_nan, no_grad, record_lines, scope
from autograd.check import complex_step
from autograd.errors import TraceError
from autograd.graph import topological
from autograd.quiet import quiet
from autograd.recording import USUAL, enable_grad, modes, modes_in_use
from tests.autograd.test_engine import mixed_graph
from tests.interrupts import ROOT, at_every_moment, at_random_moments, needs_signals, press_ctrl_c

# Python drops an exception that strikes in a callback or in a generator that is being closed
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


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

    @quiet  # NumPy's own `with` block could be left undone by the signals that are sent here
    def run(self):
        self.root.backward()

    def state(self):
        """"old" or "new" if every gradient is, bit for bit; else which of them are."""
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


# --- what is recorded -------------------------------------------------------------------------------------------


def blocks():
    with no_grad():
        Value(1.0) * 2.0


def nested_blocks():
    with scope("outer"), record_lines():
        (Value(1.0) * 2.0).tanh()
        with no_grad(), scope("inner", kind="Part"):
            Value(1.0) * 2.0
        with enable_grad(), detect_nan():
            Value(1.0) * 2.0


def decorated():
    @no_grad()
    def f(x):
        return x * 2.0

    f(Value(1.0))


BLOCK = nn.TransformerBlock(4, 1, rng=0)


def modules():
    BLOCK(np.ones((2, 4)))


def derivatives():
    with no_grad():
        ag.grad(lambda x: ag.grad(lambda y: x * y)(1.0))(3.0)


def square_of(x):
    return x * x


@pytest.mark.parametrize("work, every", [
    (blocks, 1), (nested_blocks, 1), (decorated, 1), (modules, 7), (derivatives, 7),
    pytest.param(modules, 1, marks=pytest.mark.slow), pytest.param(derivatives, 1, marks=pytest.mark.slow),
])  # fmt: skip
def test_no_mode_outlives_its_block(work, every):
    """Whatever is interrupted, the next node is recorded, and belongs to no module."""
    work()
    count = 0
    for _ in at_every_moment(work, every=every):
        count += 1
        assert modes.now() is USUAL and not modes_in_use
        x = Value(3.0)
        y = x * x
        assert (y.scope, y.line, modes.finite) == (None, None, False)
        y.backward()
        assert x.grad == 6.0
        assert type(ag.grad(square_of)(2.0)) is float
    assert count > 20 / every


@needs_signals
def test_a_block_that_ends_in_a_long_call_of_numpy():
    """A signal that comes during it is seen when Python next looks: as the block is being left."""
    big = np.ones((300, 300))

    def work():
        with no_grad():
            for _ in range(3):
                big @ big

    for _ in at_random_moments(work, 50):
        assert (Value(1.0) * 2.0).requires_grad


# --- checks -----------------------------------------------------------------------------------------------------


class Checked:
    """A check of a function that reaches a Value from outside, as a model reaches its parameters."""

    def __init__(self, order=1):
        self.w, self.order = Value(np.array([0.3, -0.7]), name="w"), order
        self.x, self.data = np.array([1.0, 2.0]), self.w.data
        self.kept = self.data.copy()
        self.report = str(self.run())

    def run(self):
        return ag.check_grads(lambda w, x: (w * x).tanh() * self.w, self.w, self.x, order=self.order)

    def assert_usable(self):
        assert self.w.data is self.data and self.data.flags.writeable and self.x.flags.writeable
        assert np.array_equal(self.data, self.kept)
        assert self.w.grad is None
        assert str(self.run()) == self.report


@pytest.mark.parametrize("order, every", [
    (1, 53), pytest.param(1, 3, marks=pytest.mark.slow),
    pytest.param(2, 11 if os.environ.get("HANDGRAD_LONG") else 29, marks=pytest.mark.slow),
])  # fmt: skip
def test_a_check_that_is_interrupted_gives_everything_back(order, every):
    check = Checked(order)
    count = 0
    for _ in at_every_moment(check.run, every=every):
        check.assert_usable()
        count += 1
    assert count > 1000 / every


@needs_signals
@pytest.mark.parametrize("times", [100, pytest.param(10_000, marks=pytest.mark.slow)])
def test_a_check_under_real_signals(times):
    check = Checked()
    for _ in at_random_moments(check.run, times):
        check.assert_usable()


# --- training and stepping --------------------------------------------------------------------------------------


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


class Stepped:
    """A graph that is stepped through: every number of every step, or the text of every step."""

    def __init__(self, read, make=square):
        self.graph, self.read = Watched(make()), read
        self.graph.reset()
        self.expected = self.run()

    def run(self):
        return [self.read(each) for each in ag.step(self.graph.root)]

    def assert_usable(self):
        assert self.graph.state() == "old"
        assert self.run() == self.expected


def numbers_of(each):
    return each.kind, each.value, [(c.value, c.before, c.total) for c in each.contributions]


@pytest.mark.parametrize("read, every", [
    (numbers_of, 101), (str, 4001),
    pytest.param(numbers_of, 7, marks=pytest.mark.slow), pytest.param(str, 251, marks=pytest.mark.slow),
])  # fmt: skip
def test_a_stepper_that_is_interrupted(read, every):
    stepped = Stepped(read)
    assert len(stepped.expected) == 4
    count = 0
    for _ in at_every_moment(stepped.run, every=every):
        stepped.assert_usable()
        count += 1
    assert count > 1000 / every


@needs_signals
@pytest.mark.parametrize("times", [50, pytest.param(10_000, marks=pytest.mark.slow)])
def test_a_stepper_under_real_signals(times):
    stepped = Stepped(numbers_of, lambda: square_of(Value(2.0)))  # half as many steps as above, all of the same kinds
    for _ in at_random_moments(stepped.run, times):
        stepped.assert_usable()


# --- what NumPy and Python keep ---------------------------------------------------------------------------------

NUMPYS = np.errstate.__init__.__code__.co_filename  # where NumPy changes what it warns of, and changes it back


@quiet
def a_quiet_call():
    np.log(np.zeros(2))


def ops():
    ag.gelu(Value(np.array([-50.0, 1.0])), approximate="tanh")
    ag.logsumexp(Value(np.array([-np.inf, -np.inf])))
    ag.digamma(Value(0.0))
    ag.inv(Value(np.eye(2)))


def checks():
    ag.check_grads(lambda x: x.exp() * x.abs(), 2.0)


def drawings():
    ag.draw(square(), edges="rule").svg


def steppers():
    for each in ag.step(square()):
        str(each)


def programs():
    ag.compile(lambda x: ag.logsumexp(x * x))(np.ones(3))


def training():
    model = nn.Linear(2, 1, rng=0)
    data = np.ones((4, 2)), np.ones((4, 1))
    nn.fit(
        model, lambda x, y: nn.functional.mse(model(x), y), data, nn.optim.AdamW(model, lr=0.1), steps=2, batch_size=4,
        clip=1.0, compile=True, progress=False,
    )  # fmt: skip


@pytest.mark.parametrize("work, every", [
    (a_quiet_call, 1), (ops, 1), (checks, 1), (drawings, 7), (steppers, 7), (programs, 7), (training, 31),
    pytest.param(drawings, 1, marks=pytest.mark.slow), pytest.param(steppers, 1, marks=pytest.mark.slow),
    pytest.param(programs, 1, marks=pytest.mark.slow), pytest.param(training, 1, marks=pytest.mark.slow),
])  # fmt: skip
def test_numpy_warns_as_before(work, every):
    """Also if the signal comes at the end of the block that turns NumPy's warnings off."""
    before = np.geterr(), np.geterrcall()
    work()
    count = 0
    for _ in at_every_moment(work, every=every, where=NUMPYS):
        assert (np.geterr(), np.geterrcall()) == before
        count += 1
    assert count >= 3


@needs_signals
@pytest.mark.parametrize("work, times", [(ops, 1000), pytest.param(steppers, 1000, marks=pytest.mark.slow)])
def test_numpy_warns_as_before_under_real_signals(work, times):
    before = np.geterr(), np.geterrcall()
    for _ in at_random_moments(work, times):
        assert (np.geterr(), np.geterrcall()) == before


CALLS = itertools.count()
DROPPING = nn.Sequential(nn.Linear(2, 2, rng=0), nn.Dropout(0.5, rng=0))


def compiling():
    """A function that is refused after a few calls with other numbers; so no program draws from the generator."""

    def changes(model, x):
        return (model(x) * model[0].weight.data.ndim).sum() * next(CALLS)

    with pytest.raises(TraceError, match="does not do the same at each call"):
        ag.compile(changes)(DROPPING, np.ones(2))


def evaluating():
    nn.train.evaluated(DROPPING, lambda: DROPPING(np.ones(2)).sum())


def trying_complex_numbers():
    complex_step._found.clear()
    complex_step.takes_complex(ag.OPS["exp"])


def kept():
    """What is Python's, or the caller's."""
    modes = [module.training for _, module in DROPPING.named_modules()]
    arrays = [(id(p.data), p.data.flags.writeable, p.data.tobytes()) for p in DROPPING.parameters()]
    return gc.isenabled(), [*warnings.filters], DROPPING[1].rng.bit_generator.state, modes, arrays


@pytest.mark.parametrize("work, every, files", [
    (compiling, 3, ("autograd/program/faithful.py", "autograd/program/trace.py", "autograd/set_back.py")),
    (drawings, 1, ("autograd/set_back.py", "autograd/drawing/drawing.py")), (evaluating, 5, ("nn",)),
    (trying_complex_numbers, 3, ("autograd/check/complex_step.py",)),
    pytest.param(compiling, 5, ("autograd/program", "autograd/set_back.py"), marks=pytest.mark.slow),
    pytest.param(evaluating, 1, ("autograd", "nn"), marks=pytest.mark.slow),
])  # fmt: skip
def test_what_is_changed_for_a_while_is_as_it_was(work, every, files):
    """Python's collector and its warnings; a model's mode, its parameters, the generator that it draws from."""
    work()
    before = kept()
    count = 0
    where = (*(str(ROOT / file) for file in files), contextlib.__file__, warnings.__file__)
    for _ in at_every_moment(work, every=every, where=where):
        assert kept() == before
        count += 1
    assert count > 20
