"""Gradient checkers beside each other: `python -m tools.checkers` prints the tables of docs/checks.md.

The backward pass of every op of the table is spoilt in some ways. Each checker gets the same forward and backward pass,
in NumPy, at the same point, and its own tolerances: who notices? And who calls the right ones wrong? Tools that are not
installed are left out. The checker of HIPS autograd is there by its formula (its package and ours have one import
name): one random direction, step 1e-6, tolerances 1e-6.
"""

from __future__ import annotations

import functools
import importlib.util
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import autograd
from autograd import OPS, check_layer

Array = np.ndarray[Any, Any]
LARGE = 10_000


@dataclass
class Layer:
    """The forward and backward pass of a function of one array. `spoil` is what is done to the gradient."""

    name: str
    f: Callable[[Any], Any]
    x: Array
    spoil: Callable[[Array], Array] = np.asarray

    def forward(self, x: Array) -> Any:
        self.now = x
        return self.f(x)

    def backward(self, dout: Any) -> Array:
        return self.spoil(np.array(autograd.vjp(self.f, self.now)[1](dout)[0], dtype=self.now.dtype))

    @functools.cached_property
    def right(self) -> Array:
        """Its gradient at the point, for ones."""
        return np.asarray(Layer(self.name, self.f, self.x).at(self.x))

    def at(self, x: Array) -> Array:
        return self.backward(np.ones(np.shape(self.forward(x))))

    def spoilt(self, spoil: Callable[[Array], Array]) -> Layer | None:
        """The same with an error in its gradient; None where it is none, such as a sign turned in a zero."""
        layer, right = Layer(self.name, self.f, self.x, spoil), self.right
        gap = np.abs(layer.at(self.x) - right)
        return layer if np.isfinite(gap).all() and np.any(gap > 5e-7 * np.abs(right)) else None


def _one_entry(by: float) -> Callable[[Array], Array]:
    def spoil(d: Array) -> Array:
        d = np.array(d)
        d.flat[d.size // 3] *= 1 + by
        return d

    return spoil


# Ways to spoil a gradient.
SPOILT: dict[str, Callable[[Array], Array]] = {
    "twice too large": lambda d: 2 * d, "the sign": lambda d: -d, "nothing at all": lambda d: 0 * d,
    "in another order": lambda d: np.ascontiguousarray(d.ravel()[::-1]).reshape(d.shape),
    "a factor 1.001": lambda d: 1.001 * d, "a factor 1.00001": lambda d: 1.00001 * d,
    "a factor 1.000001": lambda d: 1.000001 * d, "1e-4 added": lambda d: d + 1e-4,
    "one entry, 1 %": _one_entry(1e-2), "one entry, 1e-4": _one_entry(1e-4), "one entry, 1e-6": _one_entry(1e-6),
}  # fmt: skip


def functions() -> Iterator[Layer]:
    """Every op of the table that gives one array, as a function of its first real input."""
    for op in OPS.values():
        if not op.differentiable or not op.samples:
            continue
        f, xs = op.on(op.samples[-1])
        at = next((i for i, x in enumerate(xs) if isinstance(x, np.ndarray) and x.dtype == np.float64 and x.size), None)
        if at is not None:
            def one(x: Any, f: Any = f, xs: Any = tuple(xs), at: int = at) -> Any:
                return f(*xs[:at], x, *xs[at + 1 :])

            layer = Layer(op.name, one, np.array(xs[at]))
            out = one(layer.x)
            if isinstance(out, np.ndarray | float) and np.size(out) and np.isfinite(layer.right).all():
                yield layer


def large() -> Iterator[Layer]:
    """Functions of many entries."""
    x = np.random.default_rng(0).normal(size=LARGE)
    yield Layer("tanh", autograd.tanh, x)
    yield Layer("the sum of squares", lambda x: (x * x).sum(), x)
    yield Layer("layer norm", lambda x: (x - x.mean()) / np.sqrt(x.var() + 1e-5), x)
    yield Layer("logsumexp", autograd.logsumexp, x)


# --- the checkers: each says whether it finds fault -------------------------------------------------------------------


def handgrad(layer: Layer) -> bool:
    return check_layer(layer, layer.x).verdict == "wrong"


def one_direction(layer: Layer) -> bool:
    """HIPS autograd's `check_vjp`: one random direction and one random cotangent."""
    rng, step, tolerance = np.random.default_rng(0), 1e-6, 1e-6
    v, x = rng.normal(size=layer.x.shape), layer.x
    u = rng.normal(size=np.shape(layer.forward(x)))
    measured = float(np.sum(u * (layer.f(x + v * step / 2) - layer.f(x - v * step / 2)))) / step
    given = float(np.sum(v * layer.backward(u)))
    gap = abs(measured - given)
    return not (gap < tolerance or gap / abs(measured + given) < tolerance)


def jax_check(layer: Layer) -> bool:
    import jax
    from jax.test_util import check_vjp

    def f_vjp(x: Any) -> Any:
        return np.asarray(layer.forward(np.asarray(x))), lambda dout: (layer.backward(np.asarray(dout)),)

    jax.config.update("jax_enable_x64", True)
    try:
        check_vjp(lambda x: np.asarray(layer.f(np.asarray(x))), f_vjp, (layer.x,))
    except AssertionError:
        return True
    return False


def torch_check(layer: Layer, fast: bool = False) -> bool:
    import torch

    class Function(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return torch.tensor(np.array(layer.forward(x.detach().numpy()), order="C"))

        @staticmethod
        def backward(ctx: Any, dout: Any) -> Any:
            return torch.tensor(np.array(layer.backward(dout.numpy()), order="C"))

    layer.forward(layer.x)
    x = torch.tensor(layer.x, requires_grad=True)
    return not torch.autograd.gradcheck(Function.apply, x, fast_mode=fast, raise_exception=False)


CHECKERS: dict[str, tuple[str, Callable[[Layer], bool]]] = {
    "handgrad": ("autograd", handgrad), "torch": ("torch", torch_check),
    "torch, fast": ("torch", functools.partial(torch_check, fast=True)), "JAX": ("jax", jax_check),
    "HIPS's formula": ("numpy", one_direction),
}  # fmt: skip


def installed() -> dict[str, Callable[[Layer], bool]]:
    return {name: check for name, (module, check) in CHECKERS.items() if importlib.util.find_spec(module)}


def found(check: Callable[[Layer], bool], layer: Layer) -> bool:
    with np.errstate(all="ignore"):
        return check(layer)


def table(layers: list[Layer], checkers: dict[str, Callable[[Layer], bool]]) -> str:
    """How many of the spoilt gradients each checker finds, and how many right ones it refuses."""
    rows = [f"| what is wrong | planted | {' | '.join(checkers)} |", f"| --- | ---: |{' ---: |' * len(checkers)}"]
    total = dict.fromkeys(checkers, 0)
    count = 0
    for what, spoil in SPOILT.items():
        spoilt = [layer for each in layers if (layer := each.spoilt(spoil)) is not None]
        hits = {name: sum(found(check, layer) for layer in spoilt) for name, check in checkers.items()}
        rows.append(f"| {what} | {len(spoilt)} | {' | '.join(map(str, hits.values()))} |")
        count += len(spoilt)
        total = {name: total[name] + hits[name] for name in checkers}
    rows.append(f"| **found** | {count:,} | {' | '.join(f'{n:,}' for n in total.values())} |")
    took, alarms = [], []
    for check in checkers.values():
        begun = time.process_time()
        alarms.append(sum(found(check, layer) for layer in layers))
        took.append(f"{(time.process_time() - begun) / len(layers) * 1e3:.1f} ms")
    rows.append(f"| right ones called wrong | {len(layers)} | {' | '.join(map(str, alarms))} |")
    rows.append(f"| one check | | {' | '.join(took)} |")
    return "\n".join(rows)


def main() -> None:
    checkers = installed()
    print(table(list(functions()), checkers))
    for name in ("torch", "torch, fast"):  # it computes the whole Jacobian, the fast mode where it finds a fault
        checkers.pop(name, None)
    print(f"\nOf {LARGE:,} entries:\n\n{table(list(large()), checkers)}")


if __name__ == "__main__":
    main()
