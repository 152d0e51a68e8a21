"""Recurrent layers: RNN, LSTM and GRU, and their cells, with torch's arguments and names of weights.

A sequence is read place by place; what is kept between places is the state. Weights are (gates · hidden_size, in), one
block of rows for each gate, in torch's order.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import autograd as ag
from autograd import relu, tanh
from autograd.ops.fused.dense import linear_rows
from nn import functional as F
from nn import init
from nn.module import Module, Parameter, as_input, whole_number

NONLINEARITIES = {"tanh": tanh, "relu": relu}


# --- one step -----------------------------------------------------------------------------------------------


def rnn_step(nonlinearity: str, x: Any, h: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any) -> Any:
    """`tanh(x @ w_ihᵀ + b_ih + h @ w_hhᵀ + b_hh)`: the state after a step."""
    return NONLINEARITIES[nonlinearity](linear_rows(x, w_ih, b_ih) + linear_rows(h, w_hh, b_hh))


def lstm_step(x: Any, state: tuple[Any, Any], *weights: Any) -> tuple[Any, Any]:
    """`c' = f · c + i · n`, `h' = o · tanh(c')`: what is kept, what is new, what is shown. See the op `lstm_step`."""
    both = ag.lstm_step(x, *state, *weights)
    width = both.shape[-1] // 2
    return both[..., :width], both[..., width:]


class Recurrent(Module):
    """What cells and layers share: their sizes, weights and checks."""

    gates = 1  # blocks of rows in the weights
    nonlinearity = ""

    def _set_sizes(self, input_size: int, hidden_size: int, nonlinearity: str) -> None:
        who = type(self).__name__
        self.input_size = whole_number(f"{who}: input_size", input_size, 1)
        self.hidden_size = whole_number(f"{who}: hidden_size", hidden_size, 1)
        if nonlinearity and nonlinearity not in NONLINEARITIES:
            raise ValueError(f"{who}: nonlinearity is 'tanh' or 'relu'; got {nonlinearity!r}")
        if nonlinearity:
            self.nonlinearity = nonlinearity

    def _add_weights(self, suffix: str, n_in: int, bias: bool, rng: Any, dtype: Any) -> None:
        rows, bound = self.gates * self.hidden_size, 1.0 / math.sqrt(self.hidden_size)
        shapes: dict[str, tuple[int, ...]] = {"weight_ih": (rows, n_in), "weight_hh": (rows, self.hidden_size)}
        shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)} if bias else {}
        for name, shape in shapes.items():
            setattr(self, name + suffix, Parameter(init.uniform(rng, shape, bound, dtype)))
        if not bias:
            setattr(self, f"bias_ih{suffix}", None)
            setattr(self, f"bias_hh{suffix}", None)

    def _weights(self, suffix: str) -> list[Any]:
        return [getattr(self, name + suffix) for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]

    def _step(self, x: Any, state: Any, weights: list[Any]) -> Any:
        """The state after reading x."""
        return rnn_step(self.nonlinearity, x, state, *weights)

    def _start(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """A state of zeros."""
        return np.zeros(shape, dtype)

    @staticmethod
    def _shown(state: Any) -> Any:
        """What of a state is a result."""
        return state

    def _checked_state(self, state: Any, shape: tuple[int, ...], dtype: Any) -> Any:
        """A given start state, which must fit."""
        state = as_input(state, dtype)
        if state.shape != shape:
            self._refuse(f"a start state of shape {shape}", f"one of shape {state.shape}")
        return state

    def extra(self) -> str:
        return f"{self.input_size} → {self.hidden_size}"


class _LSTM(Recurrent):
    """A state is the pair of hidden state and cell."""

    gates = 4

    def _step(self, x: Any, state: Any, weights: list[Any]) -> Any:
        return lstm_step(x, state, *weights)

    def _start(self, shape: tuple[int, ...], dtype: Any) -> Any:
        return np.zeros(shape, dtype), np.zeros(shape, dtype)

    @staticmethod
    def _shown(state: Any) -> Any:
        return state[0]

    def _checked_state(self, state: Any, shape: tuple[int, ...], dtype: Any) -> Any:
        if not isinstance(state, tuple | list) or len(state) != 2:
            self._refuse("a start state (h, c)", f"{type(state).__name__}")
        h, c = (Recurrent._checked_state(self, part, shape, dtype) for part in state)
        return h, c


class _GRU(Recurrent):
    """A step is one op."""

    gates = 3

    def _step(self, x: Any, state: Any, weights: list[Any]) -> Any:
        return ag.gru_step(x, state, *weights)


# --- cells --------------------------------------------------------------------------------------------------


class RNNCell(Recurrent):
    """One step of an RNN: `h' = tanh(x @ weight_ihᵀ + bias_ih + h @ weight_hhᵀ + bias_hh)`.

    x (batch, input_size), h (batch, hidden_size), by default zeros; also without the batch axis.

    >>> RNNCell(3, 4, rng=0)(np.ones((2, 3))).shape
    (2, 4)
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh", *, rng: Any = None,
        dtype: Any = np.float64,
    ) -> None:  # fmt: skip
        self._set_sizes(input_size, hidden_size, nonlinearity)
        self._add_weights("", input_size, bias, init.generator(rng), dtype)

    def forward(self, x: Any, state: Any = None) -> Any:
        """The state after reading x."""
        dtype = self.weight_ih.dtype  # type: ignore[attr-defined]
        x = as_input(x, dtype)
        if x.ndim not in (1, 2) or x.shape[-1] != self.input_size:
            self._refuse(f"an input of shape (batch, {self.input_size})", x)
        shape = (*x.shape[:-1], self.hidden_size)
        state = self._start(shape, dtype) if state is None else self._checked_state(state, shape, dtype)
        return self._step(x, state, self._weights(""))


class GRUCell(_GRU, RNNCell):
    """One step of a GRU: `h' = (1 - u) · n + u · h`, by an update gate u and a reset gate r inside n.

    >>> GRUCell(3, 4, rng=0)(np.ones((2, 3))).shape
    (2, 4)
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, *, rng: Any = None, dtype: Any = np.float64
    ) -> None:
        super().__init__(input_size, hidden_size, bias, rng=rng, dtype=dtype)


class LSTMCell(_LSTM, RNNCell):
    """One step of an LSTM: (h, c) → (h', c') with `c' = f · c + i · n` and `h' = o · tanh(c')`.

    >>> h, c = LSTMCell(3, 4, rng=0)(np.ones((2, 3)))
    >>> h.shape, c.shape
    ((2, 4), (2, 4))
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, *, rng: Any = None, dtype: Any = np.float64
    ) -> None:
        super().__init__(input_size, hidden_size, bias, rng=rng, dtype=dtype)


# --- layers -------------------------------------------------------------------------------------------------


class RNN(Recurrent):
    """An RNN over whole sequences: `output, h_n = rnn(x)`, or `rnn(x, h_0)`.

    x (places, batch, input_size) → output (places, batch, hidden_size), the states of the last layer at each place;
    h_n (num_layers, batch, hidden_size), the last states of all layers. Also without the batch axis.

    - num_layers: layers on top of each other; nonlinearity: "tanh" or "relu".
    - batch_first: x and output are (batch, places, ...).
    - dropout: the part of the states that is dropped between layers while training.
    - bidirectional: each layer reads the sequence both ways; both states stand side by side in output.

    >>> output, last = RNN(3, 4, num_layers=2, rng=0)(np.ones((5, 2, 3)))
    >>> output.shape, last.shape
    ((5, 2, 4), (2, 2, 4))
    """

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, nonlinearity: str = "tanh", bias: bool = True,
        batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, *, rng: Any = None,
        dtype: Any = np.float64,
    ) -> None:  # fmt: skip
        self._set_sizes(input_size, hidden_size, nonlinearity)
        self.num_layers = whole_number(f"{type(self).__name__}: num_layers", num_layers, 1)
        if not 0.0 <= dropout < 1.0:
            raise ValueError(f"{type(self).__name__}: dropout is a probability below 1, got {dropout}")
        self.batch_first, self.dropout, self.bidirectional = batch_first, dropout, bidirectional
        self.rng = init.generator(rng)
        self._suffixes = [
            [f"_l{layer}{way}" for way in ("", "_reverse")[: 1 + bidirectional]] for layer in range(num_layers)
        ]
        for layer, suffixes in enumerate(self._suffixes):
            for suffix in suffixes:
                n_in = hidden_size * (1 + bidirectional) if layer else input_size
                self._add_weights(suffix, n_in, bias, self.rng, dtype)

    def forward(self, x: Any, state: Any = None) -> tuple[Any, Any]:
        """The states of the last layer at each place, and the last state of each layer."""
        dtype = self.weight_ih_l0.dtype  # type: ignore[attr-defined]
        x = as_input(x, dtype)
        if x.ndim not in (2, 3) or x.shape[-1] != self.input_size:
            order = "batch, places" if self.batch_first else "places, batch"
            self._refuse(f"an input of shape ({order}, {self.input_size})", x)
        first = self.batch_first and x.ndim == 3
        if first:
            x = ag.swapaxes(x, 0, 1)
        ways = 1 + self.bidirectional
        shape = (self.num_layers * ways, *x.shape[1:-1], self.hidden_size)
        state = self._start(shape, dtype) if state is None else self._checked_state(state, shape, dtype)
        places, ends = [x[t] for t in range(len(x))], []
        for layer, suffixes in enumerate(self._suffixes):
            if layer and self.dropout and self.training:
                places = [F.dropout(place, self.dropout, self.rng) for place in places]
            runs = [self._run(places, _part(state, layer * ways + way), self._weights(suffix), way)
                    for way, suffix in enumerate(suffixes)]  # fmt: skip
            ends += [end for _, end in runs]
            places = [ag.concatenate(both, axis=-1) if ways == 2 else both[0] for both in zip(*(r for r, _ in runs))]
        return ag.stack(places, axis=1 if first else 0), _stacked(ends)

    def _run(self, places: list[Any], state: Any, weights: list[Any], backwards: int) -> tuple[list[Any], Any]:
        """One layer along one way: what is shown at each place, and the last state."""
        shown = []
        for x in reversed(places) if backwards else places:
            state = self._step(x, state, weights)
            shown.append(self._shown(state))
        return shown[::-1] if backwards else shown, state

    def extra(self) -> str:
        more = [f"{self.num_layers} layers"] * (self.num_layers > 1) + ["both ways"] * self.bidirectional
        return ", ".join([super().extra(), *more])


def _part(state: Any, k: int) -> Any:
    return tuple(part[k] for part in state) if isinstance(state, tuple) else state[k]


def _stacked(states: list[Any]) -> Any:
    if isinstance(states[0], tuple):
        return tuple(ag.stack(parts) for parts in zip(*states))
    return ag.stack(states)


class GRU(_GRU, RNN):
    """A GRU over whole sequences: `output, h_n = gru(x)`; see `RNN` for the arguments and shapes.

    >>> output, last = GRU(3, 4, batch_first=True, rng=0)(np.ones((2, 5, 3)))
    >>> output.shape, last.shape
    ((2, 5, 4), (1, 2, 4))
    """

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True, batch_first: bool = False,
        dropout: float = 0.0, bidirectional: bool = False, *, rng: Any = None, dtype: Any = np.float64,
    ) -> None:  # fmt: skip
        super().__init__(input_size, hidden_size, num_layers, "tanh", bias, batch_first, dropout, bidirectional,
                         rng=rng, dtype=dtype)  # fmt: skip


class LSTM(_LSTM, RNN):
    """An LSTM over whole sequences: `output, (h_n, c_n) = lstm(x)`; see `RNN` for the arguments and shapes.

    >>> output, (h, c) = LSTM(3, 4, bidirectional=True, rng=0)(np.ones((5, 2, 3)))
    >>> output.shape, h.shape, c.shape
    ((5, 2, 8), (2, 2, 4), (2, 2, 4))
    """

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True, batch_first: bool = False,
        dropout: float = 0.0, bidirectional: bool = False, *, rng: Any = None, dtype: Any = np.float64,
    ) -> None:  # fmt: skip
        super().__init__(input_size, hidden_size, num_layers, "tanh", bias, batch_first, dropout, bidirectional,
                         rng=rng, dtype=dtype)  # fmt: skip
