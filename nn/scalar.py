"""Neuron, Layer, MLP: micrograd's network, every weight a scalar of its own.

    from nn import MLP               # where micrograd's demo has `from micrograd.nn import MLP`

A neuron can be looked at, drawn and stepped through weight by weight. Called with lists (of numbers or
Values) the network is a scalar graph, as in micrograd; called with an array (batch, n_in), or a list of rows, it stacks
its weights into matrices and runs the whole batch at once. For networks of more than a few hundred weights, use
`Sequential(Linear(2, 16), relu, Linear(16, 1))`, whose parameters are matrices.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

import autograd as ag
from autograd import Value
from autograd.errors import DataError

from . import functional as F
from . import init
from .module import Module, Parameter, as_input, whole_size


class Neuron(Module):
    """`relu(w · x + b)`; without the relu if `nonlin=False`.

    The weights start uniform in ±1 and the bias at 0. Without `rng` they come from Python's `random`, as in
    micrograd, so that `random.seed(1337)` gives its demo's numbers.

    >>> neuron = Neuron(2, nonlin=False, rng=0)
    >>> neuron
    LinearNeuron(2)
    >>> neuron([1.0, 0.0]).data == neuron.w[0].data
    True
    """

    def __init__(self, n_in: int, nonlin: bool = True, rng: Any = None) -> None:
        n_in = whole_size("Neuron", "n_in", n_in)
        if rng is None:
            weights = [random.uniform(-1, 1) for _ in range(n_in)]
        else:
            weights = init.uniform(rng, (n_in,)).tolist()
        self.w = [Parameter(weight) for weight in weights]
        self.b = Parameter(0.0)
        self.nonlin = nonlin

    def forward(self, x: Any) -> Any:
        """One number from a list of n_in numbers or Values."""
        if len(x) != len(self.w):
            self._refuse(f"{len(self.w)} numbers", f"{len(x)}")
        total = ag.dot(self.w, x, self.b)
        return total.relu() if self.nonlin else total

    def __repr__(self) -> str:
        return f"{'ReLU' if self.nonlin else 'Linear'}Neuron({len(self.w)})"


class Layer(Module):
    """Several neurons on the same inputs. A layer of one gives a Value, of more a list of them.

    >>> Layer(2, 3, rng=0)
    Layer of [ReLUNeuron(2), ReLUNeuron(2), ReLUNeuron(2)]
    """

    def __init__(self, n_in: int, n_out: int, nonlin: bool = True, rng: Any = None) -> None:
        rng = None if rng is None else init.generator(rng)
        self.neurons = [Neuron(n_in, nonlin, rng) for _ in range(whole_size("Layer", "n_out", n_out))]

    def forward(self, x: Any) -> Any:
        """What each neuron gives: for a list, a list (or the one Value); for rows, an array of rows."""
        x = _as_rows(x)
        if _is_batch(x):
            return self._batch(x)
        out = [neuron(x) for neuron in self.neurons]
        return out[0] if len(out) == 1 else out

    def _batch(self, x: Any) -> Any:
        """The same for an array (..., n_in) → (..., n_out): the neurons' weights become the columns of a matrix."""
        n_in = len(self.neurons[0].w)
        if x.shape[-1:] != (n_in,):
            self._refuse(f"an input of shape (..., {n_in})", x)
        weights = ag.reshape(ag.stack([w for neuron in self.neurons for w in neuron.w]), (len(self.neurons), n_in))
        out = F.linear(x, weights.mT, ag.stack([neuron.b for neuron in self.neurons]))
        return out.relu() if self.neurons[0].nonlin else out

    def __repr__(self) -> str:
        return f"Layer of [{', '.join(map(str, self.neurons))}]"


class MLP(Module):
    """Layers of neurons, the last without relu: micrograd's multi-layer perceptron.

    >>> model = MLP(2, [3, 1], rng=0)
    >>> len(model.parameters())
    13
    >>> model([0.5, -1.0]).shape, model(np.array([[0.5, -1.0], [0.0, 1.0]])).shape
    ((), (2, 1))
    """

    def __init__(self, n_in: int, widths: list[int], rng: Any = None) -> None:
        if not isinstance(widths, list | tuple):
            raise DataError(f"MLP: widths is a list, one width a layer, as in MLP(2, [16, 1]); got {widths!r:.60}")
        rng = None if rng is None else init.generator(rng)
        sizes = [n_in, *widths]
        last = len(widths) - 1
        self.layers = [Layer(sizes[i], sizes[i + 1], nonlin=i != last, rng=rng) for i in range(len(widths))]

    def forward(self, x: Any) -> Any:
        """What the last layer gives, for one list of n_in numbers or for rows of them."""
        x = _as_rows(x)
        if not _is_batch(x):
            x = list(x)
        for layer in self.layers:
            x = layer(x if _is_batch(x) or isinstance(x, list) else [x])
        return x

    def __repr__(self) -> str:
        return f"MLP of [{', '.join(map(str, self.layers))}]"


def _as_rows(x: Any) -> Any:
    """Rows given as a list of lists or arrays, in one array; anything else as it is."""
    if isinstance(x, list | tuple) and any(isinstance(part, list | tuple) or getattr(part, "ndim", 0) for part in x):
        return as_input(x, np.float64)
    return x


def _is_batch(x: Any) -> bool:
    """Whether x is an array of rows, and not a list of scalars."""
    return (isinstance(x, np.ndarray) and x.ndim > 1) or (isinstance(x, Value) and x.ndim > 1)
