"""The network of neurons: micrograd's demo runs unchanged and prints micrograd's numbers."""

import random

import numpy as np
import pytest

from autograd import Value
from autograd.errors import DataError
from autograd.graph import topological
from nn import MLP, Layer, Neuron


def moons():
    """The demo's data: scikit-learn's make_moons(n_samples=100, noise=0.1), after np.random.seed(1337)."""
    t = np.linspace(0, np.pi, 50)
    X = np.vstack([np.append(np.cos(t), 1 - np.cos(t)), np.append(np.sin(t), 0.5 - np.sin(t))]).T
    y = np.repeat([0, 1], 50)
    order = np.arange(100)
    np.random.shuffle(order)  # noqa: NPY002
    X, y = X[order], y[order]
    return X + np.random.normal(scale=0.1, size=X.shape), y * 2 - 1  # noqa: NPY002


@pytest.fixture
def demo():
    np.random.seed(1337)  # noqa: NPY002
    random.seed(1337)
    X, y = moons()
    return X, y, MLP(2, [16, 16, 1])


@pytest.mark.slow
def test_the_demo_of_micrograd_prints_its_numbers(demo):
    """The losses that micrograd's notebook prints for its first steps."""
    X, y, model = demo
    assert len(model.parameters()) == 337

    def loss():
        inputs = [list(map(Value, xrow)) for xrow in X]
        scores = list(map(model, inputs))
        losses = [(1 + -yi * scorei).relu() for yi, scorei in zip(y, scores)]
        data_loss = sum(losses) * (1.0 / len(losses))
        alpha = 1e-4
        reg_loss = alpha * sum(p * p for p in model.parameters())
        accuracy = [(yi > 0) == (scorei.data > 0) for yi, scorei in zip(y, scores)]
        return data_loss + reg_loss, sum(accuracy) / len(accuracy)

    printed = [(0.8958441028683222, 0.50), (1.7235905336972022, 0.81), (0.7429006313851131, 0.77)]
    for k, (expected, right) in enumerate(printed):
        total_loss, acc = loss()
        model.zero_grad()
        total_loss.backward()
        learning_rate = 1.0 - 0.9 * k / 100
        for p in model.parameters():
            p.data -= learning_rate * p.grad
        assert total_loss.data == pytest.approx(expected, rel=1e-12)
        assert acc == pytest.approx(right)


def test_a_batch_gives_the_same_as_its_rows(demo):
    X, _, model = demo
    together = model(X)
    assert together.shape == (100, 1)
    alone = [model(list(row)) for row in X]
    np.testing.assert_allclose(together.data[:, 0], [score.data for score in alone], rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(together.data, model(X.tolist()).data)
    np.testing.assert_array_equal(together.data, model([Value(X[0]), [Value(x) for x in X[1]], *X[2:]]).data)
    together.sum().backward()
    gradients = [p.grad for p in model.parameters()]
    model.zero_grad()
    sum(alone).backward()
    np.testing.assert_allclose(gradients, [p.grad for p in model.parameters()], rtol=1e-9, atol=1e-11)


def test_every_parameter_is_a_scalar_value():
    model = MLP(2, [3, 1], rng=0)
    assert all(type(p.data) is float and p.shape == () for p in model.parameters())
    assert [name for name, _ in model.named_parameters()][:4] == [
        "layers.0.neurons.0.w.0", "layers.0.neurons.0.w.1", "layers.0.neurons.0.b", "layers.0.neurons.1.w.0",
    ]  # fmt: skip


def test_outputs_are_a_value_or_a_list_of_them():
    assert isinstance(MLP(2, [1], rng=0)([1.0, 2.0]), Value)
    several = MLP(2, [3, 2], rng=0)([Value(1.0), 2.0])
    assert isinstance(several, list) and len(several) == 2
    assert MLP(2, [1, 1, 1], rng=0)(np.array([1.0, 2.0])).shape == ()
    assert len(Layer(2, 3, rng=0)([1.0, 2.0])) == 3


def test_a_neuron_by_hand():
    neuron = Neuron(2, rng=0)
    neuron.w[0].data, neuron.w[1].data, neuron.b.data = 2.0, -3.0, 0.5
    x = [Value(1.0), Value(0.25)]
    out = neuron(x)
    assert out.data == 2.0 - 0.75 + 0.5
    out.backward()
    assert [v.grad for v in x] == [2.0, -3.0] and [w.grad for w in neuron.w] == [1.0, 0.25] and neuron.b.grad == 1.0
    neuron.b.data = -9.0
    assert neuron(x).data == 0.0


def test_how_it_prints():
    assert repr(MLP(2, [2, 1])) == "MLP of [Layer of [ReLUNeuron(2), ReLUNeuron(2)], Layer of [LinearNeuron(2)]]"


def test_widths_that_are_no_list_are_refused():
    with pytest.raises(DataError, match=r"widths is a list, one width a layer, as in MLP\(2, \[16, 1\]\); got 16"):
        MLP(2, 16)


def test_seeds():
    assert MLP(2, [3], rng=1).state_dict() == MLP(2, [3], rng=1).state_dict()
    random.seed(5)
    first = [w.data for w in Neuron(3).w]
    random.seed(5)
    assert first == [random.uniform(-1, 1) for _ in range(3)]


def test_the_graph_is_made_of_scalars():
    out = MLP(2, [2, 1], rng=0)([Value(1.0), Value(2.0)])
    assert all(node.shape == () for node in topological(out))
