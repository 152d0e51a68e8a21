"""Memory stays flat: graphs die by reference count, without the cycle collector and without recursion."""

import gc
import sys
import threading
import weakref

import numpy as np
import pytest

import autograd as ag
import nn
from autograd import Value


def resident() -> int:
    """Bytes of memory in use by this process."""
    resource = pytest.importorskip("resource")
    try:
        with open("/proc/self/statm") as numbers:
            return int(numbers.read().split()[1]) * resource.getpagesize()
    except OSError:
        pytest.skip("this system does not say how much memory a process has")


@pytest.fixture
def no_collector():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def trainer():
    """One training step of a small model, as a function."""
    model = nn.Sequential(nn.Linear(4, 8, rng=0), nn.functional.gelu, nn.LayerNorm(8), nn.Linear(8, 1, rng=1))
    optimizer = nn.optim.Adam(model.parameters(), lr=1e-3)
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(16, 4)), rng.normal(size=(16, 1))

    def step():
        loss = nn.functional.mse(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.data

    return step


@pytest.mark.slow
def test_ten_thousand_training_steps_without_the_collector(no_collector):
    step = trainer()
    for _ in range(1000):
        step()
    before, objects = resident(), len(gc.get_objects())
    for _ in range(9000):
        step()
    assert len(gc.get_objects()) - objects < 200
    assert resident() - before < 2_000_000


@pytest.mark.slow
def test_scalar_training_without_the_collector(no_collector):
    model = nn.MLP(2, [4, 1], rng=0)

    def step():
        loss = (model([0.5, -1.0]) - 1.0) ** 2
        model.zero_grad()
        loss.backward()
        for p in model.parameters():
            p.data -= 0.01 * p.grad

    for _ in range(50):
        step()
    objects = len(gc.get_objects())
    for _ in range(500):
        step()
    assert len(gc.get_objects()) - objects < 50


def test_a_graph_is_freed_at_once(no_collector):
    class Seen(np.ndarray):
        """An array that can be watched."""

    x = Value(np.ones((3, 3)))
    y = ag.softmax(x @ x) @ x
    inner = y.inputs[0]
    watched = weakref.ref(inner._data)
    del y, inner
    assert watched() is None


@pytest.mark.slow
def test_second_order_graphs_are_freed_too(no_collector):
    f = ag.grad(ag.grad(lambda x: ag.tanh(x) * x))
    f(0.5)
    objects = len(gc.get_objects())
    for _ in range(200):
        f(0.5)
    assert len(gc.get_objects()) - objects < 50


@pytest.mark.slow
def test_checks_leave_nothing_behind(no_collector):
    def check():
        ag.check_grads(lambda x, w: ag.softmax(x @ w), np.ones((2, 3)), np.eye(3), order=2)

    for _ in range(3):
        check()
    objects = len(gc.get_objects())
    for _ in range(20):
        check()
    assert len(gc.get_objects()) - objects < 50


@pytest.mark.slow
@pytest.mark.skipif(
    sys.version_info[:3] == (3, 13, 0), reason="NOT TESTED: Python 3.13.0 crashes here on any long chain of objects"
)
def test_deep_graphs_are_freed_without_recursion_on_a_small_stack():
    freed = []

    def work():
        x = Value(1.0)
        y = x
        for _ in range(200_000):
            y = y * 1.0
        z = Value(np.ones(2))
        w = z
        for _ in range(100_000):
            w = w + 1.0
        del y, w
        freed.append(True)

    before = threading.stack_size(256 * 1024)
    try:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    assert freed == [True]
    assert sys.getrecursionlimit() <= 10_000
