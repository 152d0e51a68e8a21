"""W2: a GPT on single scalars, in the manner of microgpt: width 16, 4 heads, 1 layer, Adam, one name.

One training step makes some 57,000 nodes. The same model code runs on

- `TupleValue`, a scalar engine after microgpt's design (in each node a tuple of children and one of local
  gradients, a recursive sort), written here so that the comparison needs nothing that cannot be installed;
- micrograd's `Value`, which is lent `exp` and `log`;
- ours;
- ours compiled as it stands.

The rows called "arrays" compute the same step on tensors. One contender a process, collector on.

A second table has loss and gradients alone, from lists of floats to lists of floats: in a step of the compiled scalars
the arrays of Adam become lists and lists become arrays, which takes longer than the program.
"""

from __future__ import annotations

import functools
import itertools
import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import harness
from benchmarks.harness import US

NAME = "emilia"
VOCABULARY = 27  # the letters, and a mark for the beginning and end
WIDTH, HEADS, BLOCK = 16, 4, 16
EPS = 1e-5
RATE, BETA1, BETA2, ADAM_EPS = 0.01, 0.85, 0.99, 1e-8


def tokens() -> list[int]:
    edge = VOCABULARY - 1
    return [edge, *(ord(letter) - ord("a") for letter in NAME), edge]


def initial_weights() -> dict[str, np.ndarray]:
    """Weights are (out, in): a row for each output, as a list of scalars wants it."""
    rng = np.random.default_rng(0)
    d = WIDTH
    shapes = {
        "token": (VOCABULARY, d),
        "position": (BLOCK, d),
        **{name: (d, d) for name in ("query", "key", "value", "out")},
        "up": (4 * d, d),
        "down": (d, 4 * d),
        "head": (VOCABULARY, d),
    }
    return {name: rng.normal(scale=0.08, size=shape) for name, shape in shapes.items()}


# --- the model on scalars -----------------------------------------------------------------------------------


def linear(rows: list[list[Any]], x: list[Any]) -> list[Any]:
    return [sum(w * a for w, a in zip(row, x)) for row in rows]


def rms_norm(x: list[Any]) -> list[Any]:
    scale = (sum(a * a for a in x) / len(x) + EPS) ** -0.5
    return [a * scale for a in x]


def softmax(scores: list[Any]) -> list[Any]:
    largest = max(s.data for s in scores)
    powers = [(s - largest).exp() for s in scores]
    total = sum(powers)
    return [p / total for p in powers]


def add(x: list[Any], y: list[Any]) -> list[Any]:
    return [a + b for a, b in zip(x, y)]


def scalar_loss(p: dict[str, list[list[Any]]]) -> Any:
    """The mean surprise at each next letter of the name."""
    keys: list[list[Any]] = []
    values: list[list[Any]] = []
    losses = []
    name = tokens()
    for position, (token, following) in enumerate(itertools.pairwise(name)):
        x = rms_norm(add(p["token"][token], p["position"][position]))
        n = rms_norm(x)
        query = linear(p["query"], n)
        keys.append(linear(p["key"], n))
        values.append(linear(p["value"], n))
        context = []
        for first in range(0, WIDTH, WIDTH // HEADS):
            head = range(first, first + WIDTH // HEADS)
            scores = [sum(query[i] * key[i] for i in head) / math.sqrt(len(head)) for key in keys]
            weights = softmax(scores)
            context += [sum(w * value[i] for w, value in zip(weights, values)) for i in head]
        x = add(x, linear(p["out"], context))
        hidden = [a.relu() for a in linear(p["up"], rms_norm(x))]
        x = add(x, linear(p["down"], hidden))
        losses.append(-softmax(linear(p["head"], x))[following].log())
    return sum(losses) / len(losses)


class ScalarTraining:
    """Training steps with Adam, on scalars of any class."""

    def __init__(self, Value: type) -> None:
        weights = {name: a.tolist() for name, a in initial_weights().items()}
        self.p = {name: [[Value(w) for w in row] for row in rows] for name, rows in weights.items()}
        self.parameters = [w for rows in self.p.values() for row in rows for w in row]
        self.first = [0.0] * len(self.parameters)
        self.second = [0.0] * len(self.parameters)
        self.steps = 0

    def find_gradients(self) -> None:
        self.loss = scalar_loss(self.p)
        for p in self.parameters:
            p.grad = 0
        self.loss.backward()

    def step(self) -> None:
        self.find_gradients()
        self.steps += 1
        for i, p in enumerate(self.parameters):
            self.first[i] = m = BETA1 * self.first[i] + (1 - BETA1) * p.grad
            self.second[i] = v = BETA2 * self.second[i] + (1 - BETA2) * p.grad**2
            p.data -= RATE * (m / (1 - BETA1**self.steps)) / ((v / (1 - BETA2**self.steps)) ** 0.5 + ADAM_EPS)

    def answer(self) -> list[list[float]]:
        return [[self.loss.data], [p.grad for p in self.parameters], [p.data for p in self.parameters]]


class TupleValue:
    """A scalar node with a tuple of children and a tuple of local derivatives."""

    __slots__ = ("children", "data", "grad", "slopes")

    def __init__(self, data: float, children: tuple[Any, ...] = (), slopes: tuple[float, ...] = ()) -> None:
        self.data, self.grad, self.children, self.slopes = data, 0.0, children, slopes

    def __add__(self, other: Any) -> TupleValue:
        other = other if isinstance(other, TupleValue) else TupleValue(other)
        return TupleValue(self.data + other.data, (self, other), (1.0, 1.0))

    def __mul__(self, other: Any) -> TupleValue:
        other = other if isinstance(other, TupleValue) else TupleValue(other)
        return TupleValue(self.data * other.data, (self, other), (other.data, self.data))

    def __pow__(self, power: float) -> TupleValue:
        return TupleValue(self.data**power, (self,), (power * self.data ** (power - 1),))

    def exp(self) -> TupleValue:
        return TupleValue(math.exp(self.data), (self,), (math.exp(self.data),))

    def log(self) -> TupleValue:
        return TupleValue(math.log(self.data), (self,), (1 / self.data,))

    def relu(self) -> TupleValue:
        return TupleValue(max(0.0, self.data), (self,), (float(self.data > 0),))

    def __neg__(self) -> TupleValue:
        return self * -1.0

    def __sub__(self, other: Any) -> TupleValue:
        return self + -other

    def __truediv__(self, other: Any) -> TupleValue:
        return self * other**-1.0

    __radd__ = __add__
    __rmul__ = __mul__

    def backward(self) -> None:
        order: list[TupleValue] = []
        seen = set()

        def visit(node: TupleValue) -> None:
            if node not in seen:
                seen.add(node)
                for child in node.children:
                    visit(child)
                order.append(node)

        visit(self)
        self.grad = 1.0
        for node in reversed(order):
            for child, slope in zip(node.children, node.slopes):
                child.grad += slope * node.grad


def with_tuples() -> Any:
    return ScalarTraining(TupleValue)


def with_micrograd() -> Any:
    from micrograd.engine import Value

    def lend(function: Callable[[float], float], slope: Callable[..., float]) -> Callable[[Any], Any]:
        def method(self: Any) -> Any:
            out = Value(function(self.data), (self,), function.__name__)

            def backward() -> None:
                self.grad += slope(self.data, out.data) * out.grad

            out._backward = backward
            return out

        return method

    Value.exp = lend(math.exp, lambda x, y: y)
    Value.log = lend(math.log, lambda x, y: 1 / x)
    return ScalarTraining(Value)


def with_handgrad() -> Any:
    from autograd import Value

    return ScalarTraining(Value)


# --- the model on arrays ------------------------------------------------------------------------------------


class ArrayTraining:
    """The same steps on the tensors of a library, given its leaves and its loss."""

    def __init__(self, leaf: Callable[[np.ndarray], Any], loss: Callable[[dict[str, Any]], Any]) -> None:
        self.p = {name: leaf(a) for name, a in initial_weights().items()}
        self.loss_of = loss
        self.moments = {name: (np.zeros(a.shape), np.zeros(a.shape)) for name, a in initial_weights().items()}
        self.steps = 0

    def step(self) -> None:
        for p in self.p.values():
            p.grad = None
        self.loss = self.loss_of(self.p)
        self.loss.backward()
        self.move({name: np.asarray(p.grad) for name, p in self.p.items()})

    def move(self, gradients: dict[str, np.ndarray]) -> None:
        """Adam."""
        self.steps += 1
        self.gradients = gradients
        for name, p in self.p.items():
            first, second = self.moments[name]
            g = gradients[name]
            first += (1 - BETA1) * (g - first)
            second += (1 - BETA2) * (g * g - second)
            step = RATE / (1 - BETA1**self.steps) * first
            step /= np.sqrt(second / (1 - BETA2**self.steps)) + ADAM_EPS
            p.data -= self.as_data(step)

    def as_data(self, step: np.ndarray) -> Any:
        return step

    def answer(self) -> list[Any]:
        loss = [[float(getattr(self.loss, "data", self.loss))]]
        arrays = [*self.gradients.values(), *(p.data for p in self.p.values())]
        return loss + [np.ravel(a).tolist() for a in arrays]


def array_loss() -> Callable[[dict[str, Any]], Any]:
    from autograd import attention, cross_entropy, matmul, relu, rms_norm, take

    *context, _ = tokens()
    targets = np.array(tokens()[1:])
    causal = np.tril(np.ones((len(context), len(context)), dtype=bool))
    ones = np.ones(WIDTH)

    def split(x: Any) -> Any:
        return x.reshape(len(context), HEADS, WIDTH // HEADS).swapaxes(0, 1)

    def loss(p: dict[str, Any]) -> Any:
        x = take(p["token"], np.array(context), axis=0) + p["position"][: len(context)]
        x = rms_norm(x, ones, eps=EPS)
        n = rms_norm(x, ones, eps=EPS)
        q, k, v = (split(matmul(n, p[name].T)) for name in ("query", "key", "value"))
        seen = attention(q, k, v, mask=causal).swapaxes(0, 1).reshape(len(context), WIDTH)
        x = x + matmul(seen, p["out"].T)
        x = x + matmul(relu(matmul(rms_norm(x, ones, eps=EPS), p["up"].T)), p["down"].T)
        return cross_entropy(matmul(x, p["head"].T), targets)

    return loss


def with_handgrad_arrays() -> Any:
    from autograd import Value

    return ArrayTraining(Value, array_loss())


class CompiledTraining(ArrayTraining):
    """The steps on arrays with a compiled loss; on scalars, each array becomes a list of lists on its way in."""

    def __init__(self, loss: Callable[[dict[str, Any]], Any], backend: str, scalars: bool) -> None:
        from autograd import Value, compile

        super().__init__(Value, loss)
        self.program, self.scalars = compile(loss, backend), scalars
        self.given: dict[str, Any] = {}

    def find_gradients(self) -> None:
        self.given = self.given or self.parameters()
        self.loss, (self.gradients,) = self.program(self.given)

    def parameters(self) -> dict[str, Any]:
        return {name: p.data.tolist() if self.scalars else p.data for name, p in self.p.items()}

    def step(self) -> None:
        loss, (gradients,) = self.program(self.parameters())
        self.move({name: np.asarray(g) for name, g in gradients.items()})
        self.loss = loss


def with_scalars_compiled(backend: str) -> Any:
    return CompiledTraining(scalar_loss, backend, scalars=True)


def with_scalars_of_arrays_compiled(backend: str) -> Any:
    """The same scalar code, which takes the entries of arrays one by one: nothing becomes a list of numbers."""
    return CompiledTraining(scalar_loss, backend, scalars=False)


def with_arrays_compiled(backend: str) -> Any:
    return CompiledTraining(array_loss(), backend, scalars=False)


def with_torch_arrays() -> Any:
    import torch
    from torch.nn.functional import cross_entropy, linear, rms_norm, scaled_dot_product_attention

    torch.set_num_threads(1)
    *context, _ = tokens()
    length = len(context)
    seen, targets = torch.tensor(context), torch.tensor(tokens()[1:])

    def split(x: Any) -> Any:
        return x.view(length, HEADS, WIDTH // HEADS).transpose(0, 1)

    def loss(p: dict[str, Any]) -> Any:
        x = rms_norm(p["token"][seen] + p["position"][:length], (WIDTH,), eps=EPS)
        n = rms_norm(x, (WIDTH,), eps=EPS)
        q, k, v = (split(linear(n, p[name])) for name in ("query", "key", "value"))
        context = scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + linear(context.transpose(0, 1).reshape(length, WIDTH), p["out"])
        x = x + linear(torch.relu(linear(rms_norm(x, (WIDTH,), eps=EPS), p["up"])), p["down"])
        return cross_entropy(linear(x, p["head"]), targets)

    class TorchTraining(ArrayTraining):
        as_data = staticmethod(torch.from_numpy)

    return TorchTraining(lambda a: torch.tensor(a, requires_grad=True), loss)


TUPLES = "tuples, as in microgpt"
CONTENDERS = {
    TUPLES: with_tuples,
    "micrograd": with_micrograd,
    US: with_handgrad,
    f"{US}, arrays": with_handgrad_arrays,
    "torch, arrays": with_torch_arrays,
    **{
        f"{US}, {what} compiled, {backend}": functools.partial(make, backend)
        for backend in harness.backends()
        for what, make in (
            ("scalars", with_scalars_compiled),
            ("scalars of arrays", with_scalars_of_arrays_compiled),
            ("arrays", with_arrays_compiled),
        )
    },
}


def main() -> None:
    harness.pin()
    harness.heading("W2: a GPT on scalars: width 16, 4 heads, 1 layer, one name, one Adam step (57,000 nodes)")
    names = harness.those_installed(CONTENDERS)
    timings, answers = harness.take_turns_in_processes("benchmarks.w2_microgpt", names)
    harness.assert_same(answers, tolerance=1e-7)
    harness.table(("contender", "one step", f"× {US}'s time", "first step"), harness.standing(timings, of=US))
    harness.aim("times as fast as microgpt's design, same code", timings.ratio(TUPLES, to=US), at_least=2.5)
    arrays = timings.ratio(TUPLES, to=f"{US}, arrays")
    harness.aim("times as fast as microgpt's design, as arrays", arrays, at_least=250)
    of_arrays = f"{US}, scalars of arrays compiled, c"
    if of_arrays in timings:
        times = timings.ratio(TUPLES, to=of_arrays)
        harness.aim("times as fast as microgpt's design, scalars of arrays compiled, c", times, at_least=1500)
    print()

    harness.heading("W2: loss and gradients alone, from lists of floats to lists of floats")
    names = [name for name in names if name in (TUPLES, US) or ", scalars compiled" in name]
    timings, answers = harness.take_turns_in_processes("benchmarks.w2_microgpt", names, "gradients")
    harness.assert_same(answers, tolerance=1e-7)
    harness.table(("contender", "one call", f"× {US}'s time", "first call"), harness.standing(timings, of=US))
    for backend, least in (("numpy", 200), ("c", 1500)):
        if f"{US}, scalars compiled, {backend}" in timings:
            times = timings.ratio(TUPLES, to=f"{US}, scalars compiled, {backend}")
            harness.aim(f"times as fast as microgpt's design, scalars compiled, {backend}", times, at_least=least)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.setrecursionlimit(100_000)  # for the peers, whose sort is recursive
        training = CONTENDERS[sys.argv[1]]()
        harness.report_steps(training.find_gradients if "gradients" in sys.argv else training.step, training.answer)
    else:
        main()
