"""W13: each op at the sizes of a first course, value and gradients: compiled beside eager.

Compiled is never to be slower, on NumPy or in C. A small CNN (32 images of 28×28, 8 and 16 channels, 3×3, pools) is
measured beside torch too. Two float dtypes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import autograd as ag
import nn.functional as F
from autograd import OPS, compile, value_and_grad
from benchmarks import harness
from benchmarks.harness import US
from nn import Conv2d, Linear, Module

Case = tuple[Callable[..., Any], tuple[Any, ...]]


def cases(dtype: Any) -> Iterator[tuple[str, Case]]:
    """Functions of arrays with one number as result, and their inputs."""
    rng = np.random.default_rng(0)

    def some(*shape: int) -> Any:
        return rng.uniform(0.1, 0.9, shape).astype(dtype)

    batch, image, features = some(32, 256), some(32, 8, 28, 28), some(32, 8, 14, 14)
    ids = rng.integers(0, 10, 32)
    for name, op in OPS.items():
        if op.pointwise and op.differentiable and not op.inner and not op.variadic:
            least = 1.0 * (name == "arccosh")
            yield name, (lambda *xs, op=op: op(*xs).sum(), tuple(some(32, 256) + dtype(least) for _ in op.names))
    for power in (2, 3, 4, 0.5, -1):
        yield f"x ** {power}", (lambda x, power=power: (x**power).sum(), (batch,))
    for name in ("sum", "mean", "var", "std", "max", "min", "prod", "logsumexp", "norm", "cumsum", "argmax"):
        for axis in (-1, 0):
            op = functools.partial(OPS[name], axis=axis)
            yield f"{name}, axis={axis}", (lambda x, op=op: (op(x) * 2.0).sum() + x.sum(), (batch,))
    yield "matmul", (lambda x, w: (x @ w).sum(), (batch, some(256, 128)))
    yield "relu of a layer", (lambda x, w, b: ag.relu(x @ w + b).sum(), (batch, some(256, 128), some(128)))
    yield "softmax", (lambda x: (ag.softmax(x) * x).sum(), (batch,))
    yield "cross_entropy", (lambda x: F.cross_entropy(x, ids), (some(32, 10),))
    yield "layer_norm", (lambda x, a, b: (ag.layer_norm(x, a, b) * x).sum(), (batch, some(256), some(256)))
    yield "embedding", (lambda table: (table[ids] * 2.0).sum(), (some(100, 32),))
    yield "concatenate", (lambda x, y: (ag.concatenate([x, y], axis=-1) ** 2).sum(), (batch, some(32, 64)))
    yield "x.T", (lambda x: (x.T * 2.0).sum(), (batch,))
    yield "slices", (lambda x: (x[:, 1:] * x[:, :-1]).sum(), (batch,))
    heads = tuple(some(4, 16, 32) for _ in "qkv")
    yield "attention", (lambda q, k, v: ag.attention(q, k, v, causal=True).sum(), heads)
    yield "conv2d, 1 to 8", (lambda x, w: F.conv2d(x, w, padding=1).sum(), (some(32, 1, 28, 28), some(8, 1, 3, 3)))
    yield "conv2d, 8 to 16", (lambda x, w: F.conv2d(x, w, padding=1).sum(), (features, some(16, 8, 3, 3)))
    yield "max_pool2d", (lambda x: F.max_pool2d(x, 2).sum(), (image,))
    yield "avg_pool2d", (lambda x: F.avg_pool2d(x, 2).sum(), (image,))


class CNN(Module):
    """Two convolutions with pools, and a layer that says which of ten."""

    def __init__(self) -> None:
        self.first, self.second = Conv2d(1, 8, 3, padding=1, rng=0), Conv2d(8, 16, 3, padding=1, rng=1)
        self.last = Linear(16 * 49, 10, rng=2)

    def forward(self, x: Any) -> Any:
        x = F.max_pool2d(ag.relu(self.first(x)), 2)
        x = F.max_pool2d(ag.relu(self.second(x)), 2)
        return self.last(x.reshape(x.shape[0], -1))


def of_the_cnn(dtype: Any) -> dict[str, Callable[[], Any]]:
    """The loss and gradients of the CNN, by contender."""
    rng = np.random.default_rng(0)
    images, ids, model = rng.normal(size=(32, 1, 28, 28)).astype(dtype), rng.integers(0, 10, 32), CNN().to(dtype)

    def eager() -> Any:
        model.zero_grad()
        loss = F.cross_entropy(model(images), ids)
        loss.backward()
        return [loss.item(), *(p.grad for p in model.parameters())]

    def compiled(backend: str) -> Callable[[], Any]:
        g = compile(lambda model: F.cross_entropy(model(images), ids), backend)

        def call() -> Any:
            loss, (grads,) = g(model)
            return [loss, *grads.values()]

        return call

    found = {f"{US}, eager": eager, **{f"{US}, {name}": compiled(name) for name in harness.backends() if name != "jax"}}
    if harness.those_installed(["torch"]):
        found["torch"] = in_torch(model, images, ids)
    return found


def in_torch(model: CNN, images: Any, ids: Any) -> Callable[[], Any]:
    import torch
    from torch.nn import functional as T

    torch.set_num_threads(1)
    w1, b1, w2, b2, w3, b3 = ps = [torch.tensor(p.data, requires_grad=True) for p in model.parameters()]
    x, targets = torch.tensor(images), torch.tensor(ids)

    def call() -> Any:
        for p in ps:
            p.grad = None
        h = T.max_pool2d(T.relu(T.conv2d(x, w1, b1, padding=1)), 2)
        h = T.max_pool2d(T.relu(T.conv2d(h, w2, b2, padding=1)), 2)
        loss = T.cross_entropy(h.flatten(1) @ w3 + b3, targets)
        loss.backward()
        return [loss.item(), *(p.grad.numpy() for p in ps)]

    return call


def measured(f: Callable[..., Any], xs: tuple[Any, ...], rounds: int) -> harness.Timings:
    """Eager and compiled calls that take turns."""
    eager = value_and_grad(f, tuple(range(len(xs))))
    contenders: dict[str, Callable[[], Any]] = {"eager": lambda: eager(*xs)}
    answers = {"eager": [np.asarray(x) for part in eager(*xs) for x in (part if isinstance(part, tuple) else (part,))]}
    for backend in ("numpy", "c"):
        if backend in harness.backends():
            g = compile(f, backend)
            value, grads = g(*xs)
            answers[backend] = [value, *grads]
            contenders[backend] = lambda g=g: g(*xs)  # type: ignore[misc]
    harness.assert_same(answers, 1e-9 if xs[0].dtype == np.float64 else 1e-4)
    return harness.take_turns(contenders, rounds, turn=0.005)


def main() -> None:
    harness.pin()
    for dtype in (np.float64, np.float32):
        kind = np.dtype(dtype).name
        harness.heading(f"W13: ops at sizes of a first course, {kind}: compiled time in multiples of eager")
        rows, worst = [], {"numpy": 0.0, "c": 0.0}
        for name, (f, xs) in cases(dtype):
            timings = measured(f, xs, rounds=5)
            ratios = {b: timings.ratio(b, to="eager") for b in ("numpy", "c") if b in timings}
            worst |= {b: max(worst[b], ratio) for b, ratio in ratios.items()}
            rows.append((name, timings.median("eager"), *ratios.values()))
        rows.sort(key=lambda row: -row[2])
        shown = [(row[0], harness.show_time(row[1]), *(f"{ratio:.2f}" for ratio in row[2:])) for row in rows]
        harness.table(("op", "eager", "numpy", "c")[: len(shown[0])], shown)
        for backend, ratio in worst.items():
            harness.aim(f"the slowest op of {backend}, in multiples of eager, {kind}", ratio, at_most=1.0)
        print()
        harness.heading(f"W13: a CNN, {kind}")
        contenders = of_the_cnn(dtype)
        harness.assert_same({name: call() for name, call in contenders.items()}, 1e-9 if dtype == np.float64 else 1e-4)
        timings = harness.take_turns(contenders)
        harness.table(("contender", "loss and gradients", "× eager"), harness.standing(timings, of=f"{US}, eager"))
        if "torch" in timings:
            harness.aim(f"the CNN on NumPy, in multiples of torch, {kind}", timings.ratio(f"{US}, numpy", to="torch"),
                        at_most=1.5)  # fmt: skip
        print()


if __name__ == "__main__":
    main()
