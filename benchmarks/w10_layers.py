"""W10: layers of a first course in deep learning, forward and backward: convolutions, pools, norms, recurrent layers.

Each layer is ours and torch's with the same weights and input, one thread, in both precisions. All contenders give the
output, and the gradients of the input and of every weight.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import harness
from benchmarks.harness import US

EAGER_MARK, C_MARK = 1.5, 1.0
BATCH = 32
CNN, LSTM = "small CNN", "LSTM, 20 steps"
IMAGES = (BATCH, 8, 28, 28)

# name: how it is built from a library's layers, and the shape of its input
LAYERS: dict[str, tuple[Callable[[Any], Any], tuple[int, ...]]] = {
    CNN: (lambda nn: nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(),
        nn.MaxPool2d(2)), (BATCH, 1, 28, 28)),
    "Conv2d 1 → 8, 28×28": (lambda nn: nn.Conv2d(1, 8, 3, padding=1), (BATCH, 1, 28, 28)),
    "Conv2d 8 → 16, 14×14": (lambda nn: nn.Conv2d(8, 16, 3, padding=1), (BATCH, 8, 14, 14)),
    "MaxPool2d": (lambda nn: nn.MaxPool2d(2), IMAGES),
    "AvgPool2d": (lambda nn: nn.AvgPool2d(2), IMAGES),
    "BatchNorm2d": (lambda nn: nn.BatchNorm2d(8), IMAGES),
    "GroupNorm": (lambda nn: nn.GroupNorm(2, 8), IMAGES),
    "BatchNorm1d": (lambda nn: nn.BatchNorm1d(64), (BATCH, 64)),
    "RNN, 20 steps": (lambda nn: nn.RNN(64, 64), (20, BATCH, 64)),
    "GRU, 20 steps": (lambda nn: nn.GRU(64, 64), (20, BATCH, 64)),
    LSTM: (lambda nn: nn.LSTM(64, 64), (20, BATCH, 64)),
}  # fmt: skip


class Eager:
    """A layer of either library, forward and backward."""

    def __init__(self, layer: Any, x: Any, above: Any) -> None:
        self.layer, self.x, self.above = layer, x, above
        self.leaves = [x, *layer.parameters()]

    def __call__(self) -> None:
        for leaf in self.leaves:
            leaf.grad = None
        out = self.layer(self.x)
        self.out = out[0] if isinstance(out, tuple) else out
        self.out.backward(self.above)

    def answer(self) -> list[Any]:
        self()
        return [np.asarray(self.out.data), *(np.asarray(leaf.grad) for leaf in self.leaves)]


class Compiled:
    """A layer of ours, its pull included, as one program."""

    def __init__(self, layer: Any, x: np.ndarray, above: np.ndarray, backend: str) -> None:
        from autograd import compile

        def weighted(layer: Any, x: Any, above: Any) -> Any:
            out = layer(x)
            return ((out[0] if isinstance(out, tuple) else out) * above).sum()

        self.program, self.layer, self.x, self.above = compile(weighted, backend, wrt=(0, 1)), layer, x, above

    def __call__(self) -> None:
        _, (self.weights, self.slope, _) = self.program(self.layer, self.x, self.above)

    def answer(self) -> list[Any]:
        self()
        return [self.slope, *self.weights.values()]


def contenders(name: str, dtype: type, backends: list[str], with_torch: bool) -> dict[str, Any]:
    """Ours, eager and compiled, and torch's, with the same weights."""
    import nn
    from autograd import Value

    make, shape = LAYERS[name]
    rng = np.random.default_rng(0)
    x = rng.normal(size=shape).astype(dtype)
    nn.seed(0)
    ours = make(nn).to(dtype)
    out = ours(x)
    above = rng.normal(size=(out[0] if isinstance(out, tuple) else out).shape).astype(dtype)
    found: dict[str, Any] = {US: Eager(ours, Value(x), above)}
    found |= {f"{US}, compiled, {backend}": Compiled(ours, x, above, backend) for backend in backends}
    if with_torch:
        import torch

        torch.set_num_threads(1)
        theirs = make(torch.nn).to(torch.tensor(x).dtype)
        theirs.load_state_dict({key: torch.tensor(array) for key, array in nn.to_torch(ours).items()})
        found["torch"] = Eager(theirs, torch.tensor(x, requires_grad=True), torch.tensor(above))
    return found


def answers(found: dict[str, Any]) -> dict[str, list[Any]]:
    """The gradients of all; a compiled program gives no output."""
    return {name: got.answer()[isinstance(got, Eager) :] for name, got in found.items()}


def main() -> None:
    harness.pin()
    with_torch = "torch" in harness.those_installed(["torch"])
    backends = [backend for backend in harness.backends() if backend != "jax"]
    wanted = [name for name in LAYERS if not sys.argv[1:] or name.startswith(tuple(sys.argv[1:]))]
    for dtype, tolerance in ((np.float32, 1e-4), (np.float64, 1e-10)):
        harness.heading(f"W10: layers of a first course, forward + backward, {np.dtype(dtype)}")
        rows, missed = [], []
        for name in wanted:
            found = contenders(name, dtype, backends, with_torch)
            harness.assert_same(answers(found), tolerance)
            mark = "torch" if with_torch else US
            timings = harness.take_turns(found, rounds=9)
            shares = {who: timings.ratio(who, to=mark) for who in found}
            rows.append((name, harness.show_time(timings.median(mark)), *(f"{s:.3g}" for s in shares.values())))
            missed += [(name, who, share) for who, share in shares.items()]
        harness.table(("layer", f"{mark}, one pass", *(f"{who} ×" for who in found)), rows)
        for name, who, share in missed:
            if with_torch and who in (US, f"{US}, compiled, c"):
                harness.aim(f"{name}: {who}, of torch", share, at_most=EAGER_MARK if who == US else C_MARK)
        print()


if __name__ == "__main__":
    main()
