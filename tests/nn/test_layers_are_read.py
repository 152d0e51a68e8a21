"""Each layer draws, steps, has a sheet, compiles and trains like those that were there before."""

from importlib.util import find_spec

import numpy as np
import pytest

import autograd as ag
import nn
from autograd import Value
from nn import functional as F
from tests.autograd.judges import assert_close
from tests.sweep import sweep

SHAPES = {"Conv1d": (2, 4, 5), "RNN": (3, 2, 4), "GRU": (3, 2, 4), "LSTM": (3, 2, 4), "LSTMCell": (2, 4),
          "GRUCell": (2, 4), "ELU": (2, 3), "Softplus": (2, 3)}  # fmt: skip
LAYERS = [
    nn.Conv1d(4, 2, 3, rng=0), nn.Conv2d(2, 3, 3, padding=1, rng=0), nn.ConvTranspose2d(2, 1, 2, stride=2, rng=0),
    nn.MaxPool2d(2), nn.AvgPool2d(2), nn.AdaptiveAvgPool2d(3), nn.BatchNorm2d(2).eval(), nn.GroupNorm(1, 2),
    nn.RNN(4, 3, rng=0), nn.GRU(4, 3, rng=0), nn.LSTM(4, 3, rng=0), nn.LSTMCell(4, 2, rng=0), nn.GRUCell(4, 2, rng=0),
    nn.Flatten(), nn.ELU(), nn.Softplus(2.0),
]  # fmt: skip


def first(result):
    return first(result[0]) if isinstance(result, tuple) else result


def against(loss, targets):
    return lambda x: loss(x, targets)


OTHERS = [
    (nn.ConvTranspose1d(2, 3, 2, rng=0), (2, 2, 4)), (nn.MaxPool1d(2), (2, 2, 4)), (nn.AvgPool1d(2), (2, 2, 4)),
    (nn.AdaptiveAvgPool1d(2), (2, 2, 4)), (nn.BatchNorm1d(3), (4, 3)), (nn.BatchNorm2d(2), (2, 2, 3, 3)),
    (nn.RNN(3, 2, 2, bidirectional=True, rng=0), (3, 2, 3)), (nn.LSTM(3, 2, batch_first=True, rng=0), (2, 3, 3)),
    (nn.RNNCell(3, 2, rng=0), (2, 3)),
    *[(kind(), (2, 3)) for kind in (
        nn.ReLU, nn.LeakyReLU, nn.GELU, nn.Hardtanh, nn.Tanh, nn.Sigmoid, nn.LogSigmoid, nn.SiLU, nn.Softmax,
        nn.LogSoftmax, nn.Identity)],
    *[(against(loss, np.array([[0.2, 0.9, 0.1], [0.3, 0.4, 0.6]])), (2, 3)) for loss in (
        nn.MSELoss(), nn.L1Loss(), nn.HuberLoss(), nn.SmoothL1Loss(), nn.BCEWithLogitsLoss())],
    (against(nn.CrossEntropyLoss(), np.array([0, 2])), (2, 3)),
]  # fmt: skip


@sweep("layer", LAYERS, ids=lambda layer: type(layer).__name__, slow=lambda layer: not isinstance(layer, nn.Conv2d))
def test_pictures_steps_sheets_and_programs(layer):
    is_read(layer, SHAPES.get(type(layer).__name__, (2, 2, 4, 4)))


@pytest.mark.nightly
@pytest.mark.parametrize("layer, shape", OTHERS)
def test_every_other_layer_too(layer, shape):
    is_read(layer, shape)


def is_read(layer, shape):
    x = np.random.default_rng(0).normal(size=shape)

    def f(x):
        return (first(layer(x)) ** 2).sum()

    out = f(Value(x, name="x"))
    assert "<svg" in ag.draw(out).svg and "<svg" in ag.draw(out, edges="rule").svg
    assert "x" in ag.step(out).html()
    assert "______" in ag.worksheet(out).markdown()
    value, slope = ag.value_and_grad(f)(x)
    assert ag.check_grads(f, x).ok
    for backend, exact in (("numpy", 1e-10), ("c", 1e-10), *((("jax", 1e-4),) if find_spec("jax") else ())):
        got, (dx,) = ag.compile(f, backend)(x)
        assert_close(got, value, backend, tolerance=exact / 10)
        assert_close(dx, slope, backend, tolerance=exact)


def test_a_gate_has_a_name_where_a_step_is_opened():
    cell = nn.LSTMCell(2, 2, rng=0)
    h, c = cell(Value([1.0, 2.0], name="x"))
    text = ag.step((h + c).sum()).html()
    for gate in ("forget gate", "input gate", "output gate", "what is new"):
        assert gate in text


def drawn_digits(rng, count):
    """Bars and crosses of 8 × 8 with noise: three classes."""
    images, kinds = np.zeros((count, 1, 8, 8)), rng.integers(0, 3, count)
    for image, kind in zip(images[:, 0], kinds, strict=True):
        at = rng.integers(1, 7)
        if kind != 1:
            image[at, :] = 1.0
        if kind != 0:
            image[:, at] = 1.0
    return images + 0.2 * rng.normal(size=images.shape), kinds


@pytest.mark.slow
def test_a_small_network_of_images_learns_and_is_saved_with_its_running_means(tmp_path):
    x, y = drawn_digits(np.random.default_rng(0), 96)

    def made(rng):
        return nn.Sequential(nn.Conv2d(1, 4, 3, padding=1, rng=rng), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2),
                             nn.Flatten(), nn.Linear(64, 3, rng=rng))  # fmt: skip

    model = made(0)
    history = nn.fit(model, lambda x, y: F.cross_entropy(model(x), y), (x, y), nn.optim.Adam(model, lr=0.02), steps=40,
                     batch_size=32)  # fmt: skip
    assert history.losses[-1] < 0.1 < history.losses[0]
    model.eval()
    tested, answers = drawn_digits(np.random.default_rng(1), 50)
    guesses = model(tested)
    assert np.mean(np.argmax(guesses, axis=1) == answers).data > 0.9
    nn.save(model, tmp_path / "model")
    twin = made(1)
    nn.load(twin, tmp_path / "model")
    np.testing.assert_array_equal(twin.eval()(tested).data, guesses.data)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [nn.RNN, nn.GRU, nn.LSTM])
def test_a_character_model_learns_its_text(kind):
    text = "hello world. hello there. "
    letters = sorted(set(text))
    codes = np.array([letters.index(c) for c in text])
    table, layer, head = nn.Embedding(len(letters), 8, rng=0), kind(8, 16, rng=1), nn.Linear(16, len(letters), rng=2)
    model = nn.ModuleList([table, layer, head])

    def loss():
        states, _ = layer(table(codes[:-1]))
        return F.cross_entropy(head(states), codes[1:])

    optimizer = nn.optim.Adam(model, lr=0.03)
    before = loss().data
    for _ in range(60):
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()
    assert loss().data < 0.4 < before


def test_containers_hold_what_they_are_given():
    parts = nn.ModuleList([nn.Linear(2, 2, rng=0)])
    parts.append(nn.Linear(2, 2, rng=1))
    parts[0] = nn.Linear(2, 3, rng=2)
    assert len(parts) == 2 and parts[1:].count() == 6 and parts.count() == 15
    heads = nn.ModuleDict({"a": nn.Linear(2, 1, rng=0)})
    heads["b"] = nn.Linear(2, 1, rng=1)
    assert "b" in heads and list(heads.keys()) == ["a", "b"] and heads.count() == 6
    assert list(nn.to_torch(heads)) == ["a.weight", "a.bias", "b.weight", "b.bias"]
    assert next(iter(nn.to_torch(parts))) == "0.weight"
    assert nn.Sequential(nn.ReLU(), nn.Tanh())[-1:](np.array([0.0]))[0] == 0.0


def test_what_does_not_fit_is_said():
    for make, said in (
        (lambda: nn.Conv2d(3, 4, 3, groups=2), "groups must divide"),
        (lambda: nn.Conv2d(3, 4, 3, stride=2, padding="same"), "keeps the places"),
        (lambda: nn.Conv2d(3, 4, 3, padding="some"), 'padding is an integer, one an axis, "same" or "valid"'),
        (lambda: nn.Conv2d(3, 4, 3, rng=0)(np.ones((2, 4, 5, 5))), r"expected an input of shape \(batch, 3"),
        (lambda: nn.BatchNorm2d(3)(np.ones((2, 3, 4))), r"expected an input of shape \(batch, 3, rows, columns\)"),
        (lambda: nn.BatchNorm1d(3)(np.ones((1, 3))), "more than one number for each channel"),
        (lambda: nn.MaxPool2d(2, padding=2)(np.ones((1, 1, 4, 4))), "at most half the window"),
        (lambda: nn.LSTM(3, 4, rng=0)(np.ones((5, 2, 2))), r"expected an input of shape \(places, batch, 3\)"),
        (lambda: nn.LSTM(3, 4, rng=0)(np.ones((5, 2, 3)), np.ones((1, 2, 4))), r"a start state \(h, c\)"),
    ):
        with pytest.raises((ValueError, TypeError), match=said):
            make()
