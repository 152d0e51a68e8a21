"""The model of Examples 1 to 5: one attention head over two-dimensional tokens, read out at the last position.

    Q, K, V = X WQ, X WK, X WV
    score   = Q Kᵀ            scaled = score / √d_k         attn = softmax(scaled), row by row
    out     = attn V          ctx    = the last row of out
    logit   = ctx WO          P      = softmax(logit)       L    = −log P(target)

Every step is a named Value, so that a drawing, a stepper and a worksheet all speak of the same things. `WO` is printed
as a 2×2 matrix but has to give four logits: it stands for a 2×4 one over the tokens A B C D, here called `WO4`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

import nn
from autograd import Value, log, softmax, where
from autograd.graph import scope, topological
from autograd.op import OPS

TOKENS = {"A": (1.0, 0.0), "B": (0.0, 1.0), "C": (1.0, 1.0), "D": (0.0, 0.0)}
TENTH = ((0.1, 0.0), (0.0, 0.1))                          # a tenth of the identity, where every matrix starts

# Where each weight of the printed 2×2 WO sits in the 2×4 one: in the columns of A, B, A and C.
PLACES = {(0, 0): (0, 0), (0, 1): (0, 1), (1, 0): (1, 0), (1, 1): (1, 2)}

# Which of the eight weights one step of gradient descent moves; None is all of them.
UPDATES: dict[str, tuple[tuple[int, int], ...] | None] = {
    "live2": ((0, 0), (1, 2)),               # the two the worksheet updates: A's and C's
    "live3": ((0, 0), (0, 1), (1, 2)),       # the three its 2×2 mapping names: A's, B's and C's
    "full": None,
}

Tables = dict[str, Any]


class Steps(dict[str, Value]):
    """The named Values of a forward pass, in the order they were made. `n` numbers a batch's pattern: `Q2`."""

    def __init__(self, n: str = "") -> None:
        super().__init__()
        self.n = n

    def keep(self, **values: Value) -> None:
        """Keep Values under their names. The lines that made them stay as one would write them on paper, which is what
        a reader of the steps sees beside each."""
        for name, value in values.items():
            value.name = name + self.n
            self[value.name] = value

    def data(self) -> Tables:
        return {name: value.data for name, value in self.items()}


class MiniTransformer(nn.Module):
    """The weights and conventions of Examples 1 to 4; `steps` runs it on a sequence, every step named.

    tokens          embeddings that replace or join the worksheet's A B C D
    WO, WO4         the output matrix, 2×2 as printed or 2×4 as used (the sheets' inputs call that one `WO_2x4`)
    d_k             scores are divided by its root; the width of K unless given
    causal          whether a position may only attend to itself and those before it
    """

    def __init__(self, *, tokens: Mapping[str, Sequence[float]] | None = None,
                 WQ: Any = TENTH, WK: Any = TENTH, WV: Any = TENTH, WO: Any = TENTH, WO4: Any = None,
                 WO_2x4: Any = None, d_k: float | None = None, causal: bool = False) -> None:
        super().__init__()
        self.tokens = vocabulary(tokens)
        self.WQ, self.WK, self.WV = parameter("WQ", WQ), parameter("WK", WK), parameter("WV", WV)
        wide = next((given for given in (WO4, WO_2x4) if given is not None), None)
        self.WO4 = parameter("WO4", widen(WO) if wide is None else wide)
        self.d_k = self.WK.shape[-1] if d_k is None else d_k
        self.causal = causal
        self.input_gradient = True      # whether the gradient goes on to X

    def train_only(self, *names: str) -> None:
        """Hold all other weights fixed, and the embeddings too: no gradient flows to them."""
        for name, weight in self.weights.items():
            weight.requires_grad = name in names
        self.input_gradient = False

    @property
    def weights(self) -> dict[str, nn.Parameter]:
        return {"WQ": self.WQ, "WK": self.WK, "WV": self.WV, "WO4": self.WO4}

    def steps(self, sequence: Sequence[str], target: str | int | None = None, n: str = "") -> Steps:
        """A forward pass: the probabilities of the next token and, given a target, the loss."""
        steps = Steps(n)
        X = Value(embed(self.tokens, sequence), requires_grad=self.input_gradient)
        steps.keep(X=X)
        out = attend(steps, X, self.WQ, self.WK, self.WV, d_k=self.d_k, causal=self.causal)
        ctx = out[-1]
        logit = ctx @ self.WO4
        P = softmax(logit)
        steps.keep(ctx=ctx, logit=logit, P=P)
        if target is not None:
            place = self.index(target)
            L = -log(P[place])
            steps.keep(L=L)
        return steps

    def index(self, target: str | int) -> int:
        """A target as its place in the vocabulary: "C" is 2."""
        if isinstance(target, str) and target in self.tokens:
            return list(self.tokens).index(target)
        if isinstance(target, int) and 0 <= target < len(self.tokens):
            return target
        raise ValueError(f"target: expected one of {', '.join(self.tokens)} or its index "
                         f"0..{len(self.tokens) - 1}, got {target!r}")

    def givens(self) -> Tables:
        """The inputs, under the worksheets' names."""
        return ({name: np.array(vector, dtype=float) for name, vector in self.tokens.items()}
                | {name: weight.data.copy() for name, weight in self.weights.items()}
                | {"WO": narrow(self.WO4.data), "d_k": self.d_k, "scale": 1 / math.sqrt(self.d_k)})

    def by_token(self, found: Tables, *names: str) -> Tables:
        """The entries of vectors over the vocabulary, one by one: `P(A)`."""
        return {f"{name}({token})": float(entry)
                for name in names for token, entry in zip(self.tokens, found[name])}

    def descend(self, eta: float, names: Iterable[str], update: str = "full") -> None:
        """One step of gradient descent on the named weights, W − η × gradient.

        Of WO4 only the entries that `update` names are moved.
        """
        if update not in UPDATES:
            raise ValueError(f"update: expected one of {', '.join(UPDATES)}, got {update!r}")
        if (places := UPDATES[update]) is not None:
            live = np.zeros(self.WO4.shape)
            live[tuple(zip(*places))] = 1.0
            self.WO4.grad = self.WO4.grad * live
        nn.optim.SGD([self.weights[name] for name in names], lr=eta).step()


# ---- inputs -------------------------------------------------------------------------------------------------------

def parameter(name: str, table: Any) -> nn.Parameter:
    """A trainable table with a name."""
    return nn.Parameter(np.array(table, dtype=float), name=name)


def without(given: Tables, *names: str) -> Tables:
    """The keywords that are left for the model, without those an example takes itself."""
    return {name: value for name, value in given.items() if name not in names}


def vocabulary(tokens: Mapping[str, Sequence[float]] | None) -> dict[str, Sequence[float]]:
    """The worksheets' embeddings, with those in `tokens` put in their place or added."""
    return TOKENS | dict(tokens or {})


def embed(tokens: Mapping[str, Sequence[float]], sequence: Iterable[str]) -> np.ndarray:
    """One row for each token of the sequence."""
    sequence = list(sequence)
    for token in sequence:
        if token not in tokens:
            raise ValueError(f"the sequence {sequence} holds {token!r}; the tokens are {', '.join(tokens)}. "
                             f"Give its embedding: tokens={{{token!r}: [1.0, 0.0]}}")
    return np.array([tokens[token] for token in sequence], dtype=float)


def widen(WO: Any) -> np.ndarray:
    """The 2×4 matrix that a printed 2×2 one stands for.

    >>> widen([[1.0, 2.0], [3.0, 4.0]]).tolist()
    [[1.0, 2.0, 0.0, 0.0], [3.0, 0.0, 4.0, 0.0]]
    """
    small, wide = np.array(WO, dtype=float), np.zeros((2, len(TOKENS)))
    for place, wide_place in PLACES.items():
        wide[wide_place] = small[place]
    return wide


def narrow(WO4: Any) -> np.ndarray:
    """The 2×2 matrix as printed; the other four weights of the 2×4 one have no place in it."""
    small = np.zeros((2, 2))
    for place, wide_place in PLACES.items():
        small[place] = WO4[wide_place]
    return small


# ---- attention ----------------------------------------------------------------------------------------------------

def attend(steps: Steps, X: Value, WQ: Value, WK: Value, WV: Value, *, d_k: float, causal: bool = False) -> Value:
    """Attention of every position to every position (to itself and those before it, when causal)."""
    with scope("attention"):
        Q = X @ WQ
        K = X @ WK
        V = X @ WV
        score = Q @ K.mT
        scaled = score / math.sqrt(d_k)
        steps.keep(Q=Q, K=K, V=V, score=score, scaled=scaled)
        if causal:
            scaled = where(np.tri(X.shape[-2], dtype=bool), scaled, -np.inf)
            steps.keep(masked=scaled)
        attn = softmax(scaled)
        out = attn @ V
        steps.keep(attn=attn, out=out)
        return out


def softmax_steps(prefix: str, scores: Any, suffix: str = "") -> Tables:
    """The inner numbers of a softmax: maximum, shifts, exponentials and their sum."""
    inner = _inner_numbers("softmax", scores)
    return {f"{prefix}_max{suffix}": float(np.max(inner["max"])), f"{prefix}_shift{suffix}": inner["sub"],
            f"{prefix}_exp{suffix}": inner["exp"], f"{prefix}_expsum{suffix}": float(np.max(inner["sum"]))}


def softmax_dot(slope: Any, weights: Any) -> float:
    """The inner product in a softmax's rule, Σ dL/ds_j × s_j."""
    return float(np.max(_inner_numbers("softmax_pull", slope, weights)["sum"]))


def _inner_numbers(op: str, *inputs: Any) -> Tables:
    """What the nodes of an op's own definition hold, by the simpler op that made them."""
    definition = OPS[op].definition
    assert definition is not None, f"{op} names no definition in simpler ops"
    result = definition(*map(Value, inputs), axis=-1)
    return {node.op.name: node.data for node in topological(result) if node.op is not None}


# ---- reading results ------------------------------------------------------------------------------------------------

def slopes(values: Mapping[str, Value]) -> Tables:
    """The gradients that backward left: `dL/dQ` and so on. That of WO4 is called dL/dWO, as the sheets print it."""
    return {f"dL/d{'WO' if name == 'WO4' else name}": value.grad if value.grad is not None else 0.0 * value.data
            for name, value in values.items() if value.requires_grad}


def transposes(found: Tables, *names: str) -> Tables:
    """`K^T` beside `K`."""
    return {f"{name}^T": found[name].T for name in names}
