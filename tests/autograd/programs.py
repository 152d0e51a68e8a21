"""Random programs: a few leaves and a list of steps, to be run by handgrad, by NumPy on complex numbers, by torch.

A program knows no library. Each library brings its own words for the steps, so that nothing of ours judges us.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

import autograd

LEAF_SHAPES = [(), (3,), (2, 3), (2, 1), (1, 3), (3, 3), (2, 2, 3)]
WIDE_SHAPES = [(4,), (5,), (6,), (4, 4), (4, 1), (3, 4)]  # up to the largest that are printed in full

SMOOTH = {  # steps of one operand
    "tanh": lambda lib, x: lib.tanh(x), "sin": lambda lib, x: lib.sin(x), "exp": lambda lib, x: lib.exp(lib.tanh(x)),
    "sqrt": lambda lib, x: lib.sqrt(1.0 + x * x), "log": lambda lib, x: lib.log(2.0 + x * x), "neg": lambda lib, x: -x,
    "square": lambda lib, x: x**2, "cube": lambda lib, x: x**3, "scaled": lambda lib, x: 0.7 * x - 0.2,
    "reciprocal": lambda lib, x: 1.5 / (2.0 + x * x), "sigmoid": lambda lib, x: lib.sigmoid(x),
}  # fmt: skip
PAIRS = {  # steps of two operands that broadcast
    "add": lambda lib, x, y: x + y, "sub": lambda lib, x, y: x - y, "mul": lambda lib, x, y: x * y,
    "div": lambda lib, x, y: x / (2.0 + y * y), "power": lambda lib, x, y: (1.5 + lib.tanh(x)) ** lib.sin(y),
}  # fmt: skip
KINKED = {"relu": lambda lib, x: lib.relu(x), "abs": lambda lib, x: lib.abs(x)}
KINKED_PAIRS = {"maximum": lambda lib, x, y: lib.maximum(x, y), "minimum": lambda lib, x, y: lib.minimum(x, y)}
ALONG = {  # steps along an axis of an array
    "sum": lambda lib, x, axis: lib.sum(x, axis), "mean": lambda lib, x, axis: lib.mean(x, axis),
    "softmax": lambda lib, x, axis: lib.softmax(x, axis), "logsumexp": lambda lib, x, axis: lib.logsumexp(x, axis),
    "max": lambda lib, x, axis: lib.max(x, axis), "cumsum": lambda lib, x, axis: lib.cumsum(x, axis),
    "centred": lambda lib, x, axis: x - lib.expand(lib.mean(x, axis), axis),
    "picked": lambda lib, x, axis: lib.take(x, [0, -1, 0], axis),
    "doubled": lambda lib, x, axis: lib.concatenate([x, x * x], axis),
}  # fmt: skip
MATRICES = {  # steps of arrays with two axes or more
    "transposed": lambda lib, x: lib.mT(x), "gram": lambda lib, x: x @ lib.mT(x),
    "flat": lambda lib, x: lib.reshape(x, (-1,)), "row": lambda lib, x: x[..., 0, :],
}  # fmt: skip


@dataclass
class Program:
    """Leaves, and steps (function, operands, axis), each of which adds a node; the result weighs the last one."""

    leaves: list[Any]
    steps: list[tuple[str, Any, tuple[int, ...], int | None]] = field(default_factory=list)
    weights: Any = 1.0

    def run(self, lib: Any, leaves: list[Any]) -> Any:
        nodes = list(leaves)
        for _, f, operands, axis in self.steps:
            inputs = [nodes[i] for i in operands]
            nodes.append(f(lib, *inputs) if axis is None else f(lib, *inputs, axis))
        return lib.sum(nodes[-1] * lib.constant(self.weights), None)

    def __repr__(self) -> str:
        lines = [f"n{i} = leaf{np.shape(x)}" for i, x in enumerate(self.leaves)]
        for i, (name, _, operands, axis) in enumerate(self.steps):
            inside = [f"n{o}" for o in operands] + ([] if axis is None else [f"axis={axis}"])
            lines.append(f"n{len(self.leaves) + i} = {name}({', '.join(inside)})")
        return "\n".join(lines)


@st.composite
def programs(draw: Any, smooth: bool = False, steps: int = 8, shapes: Any = LEAF_SHAPES) -> Program:
    """A program that runs: each step is drawn from those that fit the shapes so far."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    chosen = draw(st.lists(st.sampled_from(shapes), min_size=1, max_size=3))
    program = Program([rng.uniform(-1.5, 1.5, shape)[()] for shape in chosen])
    nodes = [np.asarray(x) for x in program.leaves]
    for _ in range(draw(st.integers(1, steps))):
        step = draw(_steps(nodes, smooth))
        _, f, operands, axis = step
        inputs = [nodes[i] for i in operands]
        out = np.asarray(f(NUMPY, *inputs) if axis is None else f(NUMPY, *inputs, axis))
        assume(out.size <= 40 and np.max(np.abs(out), initial=0.0) < 1e3)
        program.steps.append(step)
        nodes.append(out)
    program.weights = rng.uniform(0.5, 1.5, nodes[-1].shape)[()]
    return program


@st.composite
def _steps(draw: Any, nodes: list[Any], smooth: bool) -> tuple[str, Any, tuple[int, ...], int | None]:
    i = draw(st.integers(0, len(nodes) - 1))
    x = nodes[i]
    fitting = [j for j, y in enumerate(nodes) if _broadcast(x.shape, y.shape)]
    families: list[dict[str, Any]] = [SMOOTH, PAIRS]
    if not smooth:
        families += [KINKED, KINKED_PAIRS]
    if x.ndim:
        families.append(ALONG)
    if x.ndim > 1:
        families.append(MATRICES)
    family = draw(st.sampled_from(families))
    names = sorted(name for name in family if not (smooth and name == "max"))
    name = draw(st.sampled_from(names))
    axis = draw(st.integers(-x.ndim, -1)) if family is ALONG else None
    operands = (i, draw(st.sampled_from(fitting))) if family in (PAIRS, KINKED_PAIRS) else (i,)
    return name, family[name], operands, axis


def _broadcast(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    return all(n == m or 1 in (n, m) for n, m in zip(a[::-1], b[::-1], strict=False))


# --- the libraries' words -----------------------------------------------------------------------------------


def words(module: Any, same: str, **own: Any) -> SimpleNamespace:
    """A library's functions by the names that the steps use: those that it calls the same, and its own."""
    return SimpleNamespace(**{name: getattr(module, name) for name in same.split()}, **own)


def _first_maximum(x: Any, axis: int) -> Any:
    winner = np.expand_dims(np.argmax(np.real(x), axis), axis)
    return np.squeeze(np.take_along_axis(x, winner, axis), axis)


# Plain NumPy, written so that complex numbers pass through: comparisons look at the real part.
NUMPY = words(
    np, "tanh sin exp sqrt log sum mean cumsum concatenate reshape take",
    mT=np.matrix_transpose, expand=np.expand_dims, constant=np.asarray, max=_first_maximum,
    sigmoid=lambda x: 1.0 / (1.0 + np.exp(-x)),
    relu=lambda x: np.where(np.real(x) > 0, x, 0.0),
    abs=lambda x: np.where(np.real(x) > 0, x, -x),
    maximum=lambda x, y: np.where(np.real(x) > np.real(y), x, y),
    minimum=lambda x, y: np.where(np.real(x) < np.real(y), x, y),
    softmax=lambda x, axis: np.exp(x) / np.sum(np.exp(x), axis, keepdims=True),
    logsumexp=lambda x, axis: np.log(np.sum(np.exp(x), axis)),
)  # fmt: skip

OURS = words(
    autograd, "tanh sin exp sqrt log sum mean cumsum concatenate reshape take max sigmoid relu abs maximum minimum "
    "softmax logsumexp",
    mT=lambda x: x.mT, expand=autograd.expand_dims, constant=lambda x: x,
)  # fmt: skip


def torch_words() -> SimpleNamespace:
    import torch

    return words(
        torch, "tanh sin exp sqrt log mean cumsum concatenate reshape sigmoid relu abs maximum minimum "
        "softmax logsumexp",
        mT=lambda x: x.mT, expand=torch.unsqueeze, max=torch.amax,
        constant=lambda x: torch.as_tensor(np.asarray(x)),
        sum=lambda x, axis: torch.sum(x) if axis is None else torch.sum(x, axis),
        take=lambda x, places, axis: x.index_select(axis, torch.tensor([p % x.shape[axis] for p in places])),
    )  # fmt: skip


def jax_words() -> SimpleNamespace:
    import jax
    import jax.numpy as jnp

    return words(
        jnp, "tanh sin exp sqrt log sum mean cumsum concatenate reshape abs maximum minimum max",
        mT=lambda x: x.mT, expand=jnp.expand_dims, constant=jnp.asarray, sigmoid=jax.nn.sigmoid, relu=jax.nn.relu,
        softmax=jax.nn.softmax, logsumexp=jax.nn.logsumexp,
        take=lambda x, places, axis: jnp.take(x, jnp.asarray([p % x.shape[axis] for p in places]), axis),
    )  # fmt: skip
