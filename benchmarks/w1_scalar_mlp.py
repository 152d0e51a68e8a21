"""W1: micrograd's demo, an MLP 2-16-16-1 on 100 moons; one scalar forward + backward + SGD step, 65,000 ops.

The same model code runs on micrograd's `Value` and on ours; the rows called "arrays" compute the same step on
tensors. One contender a process, collector on: the steady state of a training loop.
"""

from __future__ import annotations

import itertools
import random
import sys
from collections.abc import Callable
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


class ScalarTraining:
    """The demo on scalars of any class that has +, *, relu() and backward()."""

    def __init__(self, Value: type, neuron: Callable[..., Any]) -> None:
        self.Value, self.neuron = Value, neuron
        self.points, self.labels = (data.tolist() for data in moons())
        self.layers = [
            [([Value(w) for w in column], Value(b)) for column, b in zip(weights.T.tolist(), bias.tolist())]
            for weights, bias in initial_weights()
        ]
        self.parameters = [p for layer in self.layers for weights, bias in layer for p in (*weights, bias)]

    def score(self, x: list[Any]) -> Any:
        for layer in self.layers:
            x = [self.neuron(weights, x, bias) for weights, bias in layer]
            if layer is not self.layers[-1]:
                x = [a.relu() for a in x]
        return x[0]

    def step(self) -> None:
        scores = [self.score([self.Value(a), self.Value(b)]) for a, b in self.points]
        losses = [(1 + -label * s).relu() for s, label in zip(scores, self.labels)]
        self.loss = sum(losses) * (1 / len(losses)) + DECAY * sum(p * p for p in self.parameters)
        for p in self.parameters:
            p.grad = 0
        self.loss.backward()
        for p in self.parameters:
            p.data -= RATE * p.grad

    def answer(self) -> list[list[float]]:
        return [[self.loss.data], [p.grad for p in self.parameters], [p.data for p in self.parameters]]


class ArrayTraining:
    """The same on tensors of any library that has @, relu() and backward()."""

    def __init__(self, leaf: Callable[[np.ndarray], Any], plain: Callable[[np.ndarray], Any]) -> None:
        points, labels = moons()
        self.points, self.labels = plain(points), plain(labels[:, None])
        self.layers = [(leaf(weights), leaf(bias)) for weights, bias in initial_weights()]
        self.parameters = [p for layer in self.layers for p in layer]

    def step(self) -> None:
        x = self.points
        for weights, bias in self.layers:
            x = x @ weights + bias
            if weights is not self.layers[-1][0]:
                x = x.relu()
        self.loss = (1 - self.labels * x).relu().mean() + DECAY * sum((p * p).sum() for p in self.parameters)
        for p in self.parameters:
            p.grad = None
        self.loss.backward()
        for p in self.parameters:
            p.data -= RATE * p.grad

    def answer(self) -> list[list[float]]:
        return [[float(self.loss.data)], self.by_neuron("grad"), self.by_neuron("data")]

    def by_neuron(self, what: str) -> list[float]:
        """Gradients or data in the order in which the scalar model lists its parameters."""
        layers = [(np.asarray(getattr(w, what)), np.asarray(getattr(b, what))) for w, b in self.layers]
        return np.concatenate([np.vstack([w, b[None]]).T.ravel() for w, b in layers]).tolist()


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
}


def main() -> None:
    harness.pin()
    harness.heading("W1: a scalar MLP 2-16-16-1 on 100 moons, one training step (65,000 ops)")
    names = harness.those_installed(CONTENDERS)
    timings, answers = harness.take_turns_in_processes("benchmarks.w1_scalar_mlp", names)
    harness.assert_same(answers)
    harness.table(("contender", "one step", f"× {US}'s time"), harness.standing(timings, of=US))
    if "micrograd" in timings:
        harness.aim("times as fast as micrograd, same code", timings.ratio("micrograd", to=US), at_least=10)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        training = CONTENDERS[sys.argv[1]]()
        harness.report_steps(training.step, training.answer)
    else:
        main()
