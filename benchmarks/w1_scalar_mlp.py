"""W1: micrograd's demo, an MLP 2-16-16-1 on 100 moons; one scalar forward + backward + SGD step, 65,000 ops.

The same model code runs on micrograd's `Value` and on ours, and is compiled as it stands; the rows called "arrays"
compute the same step on tensors. One contender a process, collector on: the steady state of a training loop.
"""

from __future__ import annotations

import functools
import itertools
import random
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks import harness
from benchmarks.harness import US

SIZES = (2, 16, 16, 1)
DECAY = 1e-4
RATE = 0.05


def moons(n: int = 100) -> tuple[np.ndarray, np.ndarray]:
    """Two interleaved half circles with noise, and their labels -1 and +1."""
    rng = np.random.default_rng(0)
    angle = np.linspace(0, np.pi, n // 2)
    upper = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    lower = np.stack([1 - np.cos(angle), 0.5 - np.sin(angle)], axis=1)
    points = np.concatenate([upper, lower]) + 0.1 * rng.normal(size=(n, 2))
    return points, np.repeat([-1.0, 1.0], n // 2)


def initial_weights() -> list[tuple[np.ndarray, np.ndarray]]:
    """A weight matrix (in, out) and a bias for each layer."""
    uniform = random.Random(1).uniform
    return [
        (np.array([[uniform(-1, 1) for _ in range(n_out)] for _ in range(n_in)]), np.zeros(n_out))
        for n_in, n_out in itertools.pairwise(SIZES)
    ]


def sum_of_products(weights: list[Any], x: list[Any], bias: Any) -> Any:
    """A neuron, as micrograd writes it."""
    return sum((w * a for w, a in zip(weights, x)), bias)


Layers = list[list[tuple[list[Any], Any]]]


def scalar_loss(layers: Layers, points: list[list[Any]], labels: list[float], neuron: Callable[..., Any]) -> Any:
    """The demo's loss: the mean of the margins that are missed, and a little of the weights' squares."""
    scores = []
    for x in points:
        for layer in layers:
            x = [neuron(weights, x, bias) for weights, bias in layer]
            if layer is not layers[-1]:
                x = [a.relu() for a in x]
        scores.append(x[0])
    losses = [(1 + -label * s).relu() for s, label in zip(scores, labels)]
    return sum(losses) * (1 / len(losses)) + DECAY * sum(p * p for p in flat(layers))


def flat(layers: Layers) -> list[Any]:
    """The parameters, neuron by neuron."""
    return [p for layer in layers for weights, bias in layer for p in (*weights, bias)]


class ScalarTraining:
    """The demo on scalars of any class that has +, *, relu() and backward()."""

    def __init__(self, Value: type, neuron: Callable[..., Any]) -> None:
        self.Value, self.neuron = Value, neuron
        self.points, self.labels = (data.tolist() for data in moons())
        self.layers = [
            [([Value(w) for w in column], Value(b)) for column, b in zip(weights.T.tolist(), bias.tolist())]
            for weights, bias in initial_weights()
        ]
        self.parameters = flat(self.layers)

    def step(self) -> None:
        points = [[self.Value(a), self.Value(b)] for a, b in self.points]
        self.loss = scalar_loss(self.layers, points, self.labels, self.neuron)
        for p in self.parameters:
            p.grad = 0
        self.loss.backward()
        for p in self.parameters:
            p.data -= RATE * p.grad

    def answer(self) -> list[list[float]]:
        return [[self.loss.data], [p.grad for p in self.parameters], [p.data for p in self.parameters]]


class CompiledScalarTraining:
    """The same code compiled: the parameters are plain floats in lists, and so are their gradients."""

    def __init__(self, backend: str) -> None:
        from autograd import compile

        points, labels = (data.tolist() for data in moons())
        self.layers: Layers = [
            [(column, b) for column, b in zip(weights.T.tolist(), bias.tolist())] for weights, bias in initial_weights()
        ]
        self.program = compile(lambda layers: scalar_loss(layers, points, labels, sum_of_products), backend)

    def step(self) -> None:
        self.loss, (self.gradients,) = self.program(self.layers)
        self.layers = [
            [([w - RATE * g for w, g in zip(ws, gs)], b - RATE * gb) for (ws, b), (gs, gb) in zip(layer, gradients)]
            for layer, gradients in zip(self.layers, self.gradients)
        ]

    def answer(self) -> list[list[float]]:
        return [[self.loss], flat(self.gradients), flat(self.layers)]


class ArrayTraining:
    """The same on tensors of any library that has @, relu() and backward()."""

    def __init__(self, leaf: Callable[[np.ndarray], Any], plain: Callable[[np.ndarray], Any]) -> None:
        points, labels = moons()
        self.points, self.labels = plain(points), plain(labels[:, None])
        self.layers = [(leaf(weights), leaf(bias)) for weights, bias in initial_weights()]
        self.parameters = [p for layer in self.layers for p in layer]

    def loss_of(self, layers: Sequence[tuple[Any, Any]]) -> Any:
        x = self.points
        for number, (weights, bias) in enumerate(layers, start=1):
            x = x @ weights + bias
            if number < len(layers):
                x = x.relu()
        return (1 - self.labels * x).relu().mean() + DECAY * sum((p * p).sum() for layer in layers for p in layer)

    def step(self) -> None:
        self.loss = self.loss_of(self.layers)
        for p in self.parameters:
            p.grad = None
        self.loss.backward()
        for p in self.parameters:
            p.data -= RATE * p.grad

    def answer(self) -> list[list[float]]:
        return [[float(getattr(self.loss, "data", self.loss))], self.by_neuron("grad"), self.by_neuron("data")]

    def by_neuron(self, what: str) -> list[float]:
        """Gradients or data in the order in which the scalar model lists its parameters."""
        layers = [(np.asarray(getattr(w, what)), np.asarray(getattr(b, what))) for w, b in self.layers]
        return np.concatenate([np.vstack([w, b[None]]).T.ravel() for w, b in layers]).tolist()


class CompiledArrayTraining(ArrayTraining):
    """The same compiled: the parameters are NumPy's arrays."""

    def __init__(self, backend: str) -> None:
        from autograd import Value, compile

        super().__init__(Value, np.asarray)
        self.program = compile(self.loss_of, backend)
        self.arrays = [(w.data, b.data) for w, b in self.layers]

    def step(self) -> None:
        loss, (gradients,) = self.program(self.arrays)
        for layer, arrays, slopes in zip(self.layers, self.arrays, gradients):
            for p, array, slope in zip(layer, arrays, slopes):
                array -= RATE * slope
                p.grad = slope
        self.loss = loss


def with_micrograd() -> Any:
    from micrograd.engine import Value

    return ScalarTraining(Value, sum_of_products)


def with_handgrad() -> Any:
    from autograd import Value

    return ScalarTraining(Value, sum_of_products)


def with_handgrad_dot() -> Any:
    from autograd import Value, dot

    return ScalarTraining(Value, dot)


def with_handgrad_arrays() -> Any:
    from autograd import Value

    return ArrayTraining(Value, np.asarray)


def with_torch_arrays() -> Any:
    import torch

    torch.set_num_threads(1)
    return ArrayTraining(lambda a: torch.tensor(a, requires_grad=True), torch.tensor)


CONTENDERS = {
    "micrograd": with_micrograd,
    US: with_handgrad,
    f"{US}, a neuron as one dot": with_handgrad_dot,
    f"{US}, arrays": with_handgrad_arrays,
    "torch, arrays": with_torch_arrays,
    **{
        f"{US}, {what} compiled, {backend}": functools.partial(training, backend)
        for backend in harness.backends()
        for what, training in (("scalars", CompiledScalarTraining), ("arrays", CompiledArrayTraining))
    },
}


def main() -> None:
    harness.pin()
    harness.heading("W1: a scalar MLP 2-16-16-1 on 100 moons, one training step (65,000 ops)")
    names = harness.those_installed(CONTENDERS)
    timings, answers = harness.take_turns_in_processes("benchmarks.w1_scalar_mlp", names)
    harness.assert_same(answers)
    harness.table(("contender", "one step", f"× {US}'s time", "first step"), harness.standing(timings, of=US))
    if "micrograd" in timings:
        harness.aim("times as fast as micrograd, same code", timings.ratio("micrograd", to=US), at_least=10)
    for backend, least in (("numpy", 500), ("c", 2000)):
        if f"{US}, scalars compiled, {backend}" in timings:
            times = timings.ratio(US, to=f"{US}, scalars compiled, {backend}")
            harness.aim(f"compiled, {backend}, times as fast as not, same code", times, at_least=least)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        training = CONTENDERS[sys.argv[1]]()
        harness.report_steps(training.step, training.answer)
    else:
        main()
