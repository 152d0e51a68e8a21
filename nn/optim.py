"""Optimizers: SGD, Adam, AdamW, RMSprop; gradient clipping and accumulation; and the schedules of `schedules.py`.

A step moves the parameters in place, through buffers made once: it builds no graph and allocates nothing large. It
looks at every gradient first; if one is missing, has another shape or is not finite, it says which and changes nothing.
Gradients stay as they were: forget them with `zero_grad()` before the next backward pass.

Each optimizer is one function, `move`. It is written with `*=`, `+=` and `out=`, which work in place on arrays; on
Values, for which `out` is None, the same lines give new ones, and so a compiled step records them. On text they write
themselves down, with the names that `let` gives, and so a stepper's page shows and runs them.
"""

from __future__ import annotations

import contextlib
import copy
import math
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from autograd import Value, names, where
from autograd.arrays.plain import as_data
from autograd.errors import DataError, NonFiniteError, counted
from autograd.op import let

from ._cells import Cell, Parameters, cells_of, length_of, named_leaves
from .module import check_same, is_number
from .schedules import Schedule, cosine, exponential, linear, plateau, step_decay, warmup

__all__ = [
    "accumulate",
    "Adam",
    "AdamW",
    "clip_grad_norm",
    "cosine",
    "exponential",
    "linear",
    "Optimizer",
    "plateau",
    "RMSprop",
    "SGD",
    "step_decay",
    "warmup",
]


def __getattr__(name: str) -> NoReturn:
    raise names.missing(__name__, name, names.OPTIM)


FOR_ALL = {"momentum", "amsgrad", "dampening", "nesterov", "centered"}  # settings that say what is remembered


def groups_of(params: Any) -> list[Any]:
    """Parameters as torch's groups: dicts of `params` and of settings that are theirs alone."""
    groups = list(params) if isinstance(params, list | tuple) else [params]
    if groups and all(isinstance(group, dict) and "params" in group for group in groups):
        return groups
    return [{"params": params}]


@contextlib.contextmanager
def _ctrl_c_waits() -> Iterator[None]:
    """Inside, Ctrl-C is only noted; it is raised when the block has ended."""
    before = signal.getsignal(signal.SIGINT)
    if not callable(before) or threading.current_thread() is not threading.main_thread():
        yield  # only the main thread gets signals
        return
    pressed: list[Any] = []
    signal.signal(signal.SIGINT, lambda *given: pressed.append(given))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if pressed:
            before(*pressed[0])


class Optimizer:
    """The base of the optimizers: what it moves, the learning rate (a number, or a function of the step), its state.

    `params` is a module, its `parameters()`, (name, parameter) pairs, or groups of them with settings of their own,
    `[{"params": weights, "weight_decay": 0.1}, {"params": biases}]`. Frozen parameters are left alone. One training
    step is `optimizer.zero_grad()`, `loss.backward()`, `optimizer.step()`.
    """

    def __init_subclass__(cls) -> None:
        names.take_other_names(cls)

    slots: tuple[str, ...] = ()  # what is kept for each parameter, such as a momentum; "steps": how often it moved

    def __init__(self, params: Parameters, lr: float | Schedule) -> None:
        who = type(self).__name__
        if not callable(lr) and not (is_number(lr) and 0 <= lr < math.inf):
            raise ValueError(f"{who}: the learning rate is a number from 0 up, or a schedule; got {lr!r:.60}")
        self.lr = lr
        self.steps = 0
        self._named: list[tuple[str, Value]] = []
        self._cells: list[Cell] = []
        for group in groups_of(params):
            options = {name: x for name, x in group.items() if name != "params"}
            if unknown := options.keys() - (self.settings().keys() - FOR_ALL | {"lr"}):
                raise TypeError(f"{who}: a group of parameters has no setting {', '.join(sorted(unknown))} of its own")
            named = named_leaves(group["params"], who)
            if twice := {id(p) for _, p in named} & {id(p) for _, p in self._named}:
                raise ValueError(f"{who}: {counted(len(twice), 'parameter')} in two groups; each belongs to one")
            taken = {name: i for i, (name, _) in enumerate(self._named)}
            named = [(f"{name}#{len(taken) + i}" if name in taken else name, p) for i, (name, p) in enumerate(named)]
            self._named += named
            for cell in cells_of(named, self.slots):
                cell.options = options
                self._cells.append(cell)

    @property
    def rate(self) -> float:
        """The learning rate of the next step."""
        return float(self.lr(self.steps)) if callable(self.lr) else self.lr

    def mover(self, options: Mapping[str, Any]) -> Optimizer:
        """This optimizer with the settings of a group of parameters."""
        if not options:
            return self
        of_group = copy.copy(self)
        vars(of_group).update(options)
        return of_group

    def options_of(self, parameter: Value) -> Mapping[str, Any]:
        """The settings of a parameter's group."""
        return next((cell.options for cell in self._cells if any(p is parameter for p in cell.parameters())), {})

    def cells(self) -> list[Cell]:
        """The arrays that it moves."""
        return [cell for cell in self._cells if cell.trains]

    def settings(self) -> dict[str, Any]:
        """Its settings but for the learning rate."""
        return {name: x for name, x in vars(self).items() if name not in ("lr", "steps", "slots", "_named", "_cells")}

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={x!r}" for name, x in {"lr": self.rate, **self.settings()}.items())
        moves = counted(sum(parameter.size for _, parameter in self._named), "number")
        return f"<{type(self).__name__} of {moves}: {settings}; {counted(self.steps, 'step')} so far>"

    def step(self, grads: Any = None) -> None:
        """Move every parameter that trains, each by its gradient: all of them, or on an error none. Ctrl-C waits.

        `grads` are gradients from elsewhere, in the order of the parameters or by name; else each one's `grad`.
        """
        if grads is not None:
            self._take(grads)
        cells = self.cells()
        gradients = [cell.gradient() for cell in cells]  # raises, if at all, before anything has moved
        movers = [self.mover(cell.options) for cell in cells]
        rates = [mover.rate for mover in movers]
        with _ctrl_c_waits():
            self.steps += 1
            for cell, g, mover, rate in zip(cells, gradients, movers, rates, strict=True):
                cell.write(*mover.move(cell.read(), g, cell.remembered, cell.step(), rate, cell.spare, cell.spare2))

    def _take(self, grads: Any) -> None:
        """Set the gradients of the parameters that train."""
        named = [(name, p) for name, p in self._named if p.requires_grad]
        if isinstance(grads, Mapping):
            grads = [grads.get(name) for name, _ in named]
        if len(grads) != len(named):
            raise ValueError(f"step: {counted(len(named), 'parameter')} to move; got {counted(len(grads), 'gradient')}")
        for (_, p), g in zip(named, grads):
            p.grad = g if g is None else as_data(g)

    def move(
        self, p: Any, g: Any, state: dict[str, Any], t: Any, rate: Any, spare: Any = None, spare2: Any = None
    ) -> tuple[Any, dict[str, Any]]:
        """Parameters p and their state after a step of gradient g, their step number t.

        On arrays it works in place, in two more arrays of their shape; on Values it gives others. Small parameters are
        moved together, as one vector, so it must move each number on its own.
        """
        raise NotImplementedError

    def named_parameters(self) -> list[tuple[str, Value]]:
        """What it moves, by name."""
        return list(self._named)

    def zero_grad(self) -> None:
        """Forget all gradients: each is None until the next backward pass."""
        for _, parameter in self._named:
            parameter.grad = None

    def state_dict(self) -> dict[str, np.ndarray]:
        """The number of steps and, by slot and parameter name, what it remembers; copies."""
        slots = {(slot, name): part for cell in self._cells for slot in self.slots for name, part in cell.parts(slot)}
        remembered = {f"{slot}.{name}": slots[slot, name].copy() for name, _ in self._named for slot in self.slots}
        return {"steps": np.array(self.steps), **remembered}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on where another optimizer of the same kind stopped. If it does not fit, change nothing."""
        arrays = {name: np.asarray(array) for name, array in state.items()}
        expected = self.state_dict()
        for name in expected:  # files from when all were counted together have one number
            if name.startswith("steps.") and "steps" in arrays:
                arrays.setdefault(name, arrays["steps"])
        check_same(type(self).__name__, expected, arrays)
        self.steps = int(arrays["steps"])
        for cell in self._cells:
            for slot in self.slots:
                for name, array in cell.parts(slot):
                    array[...] = arrays[f"{slot}.{name}"]


class SGD(Optimizer):
    """Gradient descent: `p -= lr · g`, with momentum `b = momentum · b + (1-dampening) · g` in g's place if asked for.

    The first step starts with `b = g`, as in torch. Nesterov's form moves by `g + momentum · b`; weight decay adds
    `weight_decay · p` to g.

    >>> p = Value([1.0, 2.0])
    >>> (p * p).sum().backward()
    >>> SGD([p], lr=0.1).step()
    >>> p.data
    array([0.8, 1.6])
    """

    def __init__(
        self, params: Parameters, lr: float | Schedule = 1e-3, momentum: float = 0.0, nesterov: bool = False,
        weight_decay: float = 0.0, dampening: float = 0.0,
    ) -> None:  # fmt: skip
        if nesterov and (momentum <= 0 or dampening):
            raise ValueError(
                "SGD: Nesterov's form needs a momentum above 0 and no dampening, such as momentum=0.9; got "
                f"momentum={momentum}, dampening={dampening}"
            )
        self.momentum, self.nesterov, self.weight_decay, self.dampening = momentum, nesterov, weight_decay, dampening
        self.slots = () if not momentum else ("momentum", "steps") if dampening else ("momentum",)
        super().__init__(params, lr)

    def move(
        self, p: Any, g: Any, state: dict[str, Any], t: Any, rate: Any, spare: Any = None, spare2: Any = None
    ) -> tuple[Any, dict[str, Any]]:
        if self.weight_decay:
            g = let("g", np.add(g, np.multiply(self.weight_decay, p, out=spare), out=spare), "with weight decay")
        if not self.momentum:
            p -= np.multiply(rate, g, out=spare)
            return p, state
        momentum = state["momentum"]
        momentum *= self.momentum
        if self.dampening:
            g = np.multiply(_beside(g, where(np.equal(t, 1), 1.0, 1.0 - self.dampening)), g, out=spare2)
        momentum += g
        momentum = let("momentum", momentum)
        if self.nesterov:
            p -= np.multiply(rate, g, out=spare)
            p -= np.multiply(rate * self.momentum, momentum, out=spare)
        else:
            p -= np.multiply(rate, momentum, out=spare)
        return p, state | {"momentum": momentum}


class Adam(Optimizer):
    """Adam: each number moves by its mean gradient over the root of its mean squared gradient.

    `m = β₁ m + (1-β₁) g`, `v = β₂ v + (1-β₂) g²`, `p -= lr · m̂ / (√v̂ + eps)` with `m̂ = m / (1-β₁ᵗ)` and
    `v̂ = v / (1-β₂ᵗ)`, where t counts the steps of each parameter on its own. Weight decay adds `weight_decay · p` to g;
    with `amsgrad`, the largest v so far takes the place of v in v̂.

    >>> p = Value([1.0, -2.0])
    >>> (p * p).sum().backward()
    >>> Adam([p], lr=0.1).step()
    >>> p.data.round(6)
    array([ 0.9, -1.9])
    """

    decoupled = False

    def __init__(
        self, params: Parameters, lr: float | Schedule = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8, weight_decay: float = 0.0, amsgrad: bool = False,
    ) -> None:  # fmt: skip
        if np.shape(betas) != (2,) or not all(is_number(beta) and 0.0 <= beta < 1.0 for beta in betas):
            raise ValueError(f"{type(self).__name__}: betas are two numbers from 0 up to below 1; got {betas!r:.60}")
        self.betas, self.eps, self.weight_decay, self.amsgrad = betas, eps, weight_decay, amsgrad
        self.slots = ("m", "v", "steps", "largest_v") if amsgrad else ("m", "v", "steps")
        super().__init__(params, lr)

    def move(
        self, p: Any, g: Any, state: dict[str, Any], t: Any, rate: Any, spare: Any = None, spare2: Any = None
    ) -> tuple[Any, dict[str, Any]]:
        m, v = state["m"], state["v"]
        beta1, beta2 = self.betas
        if self.weight_decay:
            if self.decoupled:
                p *= 1.0 - rate * self.weight_decay
            else:
                weighted = np.multiply(self.weight_decay, p, out=spare2)
                g = let("g", np.add(g, weighted, out=spare2), "with weight decay")
        m *= beta1
        m += np.multiply(1.0 - beta1, g, out=spare)
        m = let("m", m, "mean gradient")
        v *= beta2
        square = np.square(g, out=spare)
        square *= 1.0 - beta2
        v += square
        v = let("v", v, "mean square")
        state = state | {"m": m, "v": v}
        if self.amsgrad:
            largest = state["largest_v"]
            v = np.maximum(v, largest, out=None if spare is None else largest)
            v = state["largest_v"] = let("v_max", v, "the largest v so far")
        length = let("v̂", np.divide(v, _beside(p, _weight(beta2, t)), out=spare))
        length = np.sqrt(length, out=spare)
        length += self.eps
        way = let("m̂", np.divide(m, _beside(p, _weight(beta1, t)), out=spare2))
        way *= rate
        way /= length
        p -= way
        return p, state


class AdamW(Adam):
    """Adam with decoupled weight decay: `p *= 1 - lr · weight_decay` before each move.

    >>> p = Value([1.0, -2.0])
    >>> (p * p).sum().backward()
    >>> AdamW([p], lr=0.1, weight_decay=0.5).step()
    >>> p.data.round(6)
    array([ 0.85, -1.8 ])
    """

    decoupled = True

    def __init__(
        self, params: Parameters, lr: float | Schedule = 1e-3, weight_decay: float = 0.01,
        betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, amsgrad: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad)


class RMSprop(Optimizer):
    """Each number moves by its gradient over the root of its mean squared gradient, `v = alpha · v + (1-alpha) · g²`.

    `centered` subtracts the square of the mean gradient from v; with a momentum, `b = momentum · b + g / (√v + eps)` is
    what moves. Weight decay adds `weight_decay · p` to g.

    >>> p = Value([1.0, -2.0])
    >>> (p * p).sum().backward()
    >>> RMSprop([p], lr=0.01).step()
    >>> p.data.round(6)
    array([ 0.9, -1.9])
    """

    def __init__(
        self, params: Parameters, lr: float | Schedule = 0.01, alpha: float = 0.99, eps: float = 1e-8,
        weight_decay: float = 0.0, momentum: float = 0.0, centered: bool = False,
    ) -> None:  # fmt: skip
        if not (is_number(alpha) and 0.0 <= alpha < 1.0):
            raise ValueError(f"RMSprop: alpha is a number from 0 up to below 1; got {alpha!r:.60}")
        self.alpha, self.eps, self.weight_decay, self.momentum, self.centered = (
            alpha, eps, weight_decay, momentum, centered)  # fmt: skip
        self.slots = ("v", *(("momentum",) if momentum else ()), *(("m",) if centered else ()))
        super().__init__(params, lr)

    def move(
        self, p: Any, g: Any, state: dict[str, Any], t: Any, rate: Any, spare: Any = None, spare2: Any = None
    ) -> tuple[Any, dict[str, Any]]:
        if self.weight_decay:
            g = let("g", np.add(g, np.multiply(self.weight_decay, p, out=spare2), out=spare2), "with weight decay")
        v = state["v"]
        v *= self.alpha
        square = np.square(g, out=spare)
        square *= 1.0 - self.alpha
        v += square
        v = let("v", v, "mean square")
        state = state | {"v": v}
        if self.centered:
            m = state["m"]
            m *= self.alpha
            m += np.multiply(1.0 - self.alpha, g, out=spare)
            state["m"] = m = let("m", m, "mean gradient")
            v = let("variance", np.subtract(v, np.square(m, out=spare), out=spare))
        length = np.sqrt(v, out=spare)
        length += self.eps
        way = np.divide(g, length, out=spare2)
        if self.momentum:
            b = state["momentum"]
            b *= self.momentum
            b += way
            state["momentum"] = b = let("momentum", b)
            way = np.multiply(rate, b, out=spare)
        else:
            way *= rate
        p -= way
        return p, state


def _beside(x: Any, factor: Any) -> Any:
    """A factor for x in x's dtype, which a plain number takes on its own; where step numbers differ, there are many."""
    return factor.astype(x.dtype) if hasattr(factor, "astype") else factor


def _weight(beta: float, t: Any) -> Any:
    """What the weights of a mean over t steps add up to, 1 - betaᵗ; of many step numbers each as of one on its own,
    since NumPy's power of an array may differ from Python's in the last digit."""
    if not isinstance(t, np.ndarray):
        return 1.0 - beta**t
    kinds, places = np.unique(t, return_inverse=True)
    return np.array([1.0 - beta**steps for steps in kinds.tolist()])[places]


# --- gradients ----------------------------------------------------------------------------------------------


def clip_grad_norm(params: Parameters, max_norm: float) -> float:
    """Scale all gradients so that together, as one vector, they are no longer than `max_norm`; give the length it was.

    >>> p = Value([3.0, 4.0])
    >>> (p * p / 2).sum().backward()
    >>> clip_grad_norm([p], 1.0), p.grad.round(3)
    (5.0, array([0.6, 0.8]))
    """
    named = [(name, p) for name, p in named_leaves(params, "clip_grad_norm") if p.requires_grad and p.grad is not None]
    norm = math.hypot(*(length_of(name, p.grad) for name, p in named))
    if norm == math.inf:
        raise NonFiniteError("clip_grad_norm: the gradients together are longer than the largest number there is")
    factor = clip_factor(norm, max_norm)
    if factor < 1.0:
        for _, p in named:
            p.grad *= factor
    return norm


def clip_factor(norm: Any, max_norm: float) -> Any:
    """What gradients of this length are scaled by, if it is less than 1."""
    if not max_norm > 0.0:
        raise ValueError(f"clip_grad_norm: max_norm is a number above 0, a length; got {max_norm}")
    return max_norm / (norm + 1e-6)


def accumulate(loss: Callable[[Any], Value], batches: Sequence[Any]) -> float:
    """Backward through `loss(batch)` for each of several batches; gradients and result are those of their mean.

    One large batch in parts that fit into memory: parts of equal size give the gradient of the whole.

    >>> p = Value([2.0])
    >>> accumulate(lambda x: (p * x).sum(), [1.0, 3.0]), p.grad
    (4.0, array([2.]))
    """
    if not len(batches):
        raise ValueError("accumulate: expected at least one batch, as in accumulate(loss, [batch]); got none")
    total = 0.0
    for batch in batches:
        part = loss(batch)
        check_loss(part)
        part = part / len(batches)
        part.backward()
        total += part.item()
    return total


def check_loss(part: Any) -> None:
    """Refuse what cannot be a loss: a number that has forgotten where it came from."""
    if not isinstance(part, Value):
        raise DataError(
            f"the loss must be a Value, computed from the parameters; got {part!r:.60} ({type(part).__name__}). "
            "Leave out float(...), .data and .item() on its way."
        )
