"""Two moons: a small network learns a boundary between two interleaved half circles.

    python -m examples.two_moons           trains in a second, saves pictures to out/two_moons/

The points (x₁, x₂) go through `relu(x W₁ + b₁)`, `relu(h W₂ + b₂)` and one last linear map to a single number, the
logit of "upper or lower moon"; the loss is the binary cross-entropy.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

import nn
from autograd import no_grad, relu
from examples.pictures import save_pictures
from nn import functional as F

STEPS = 300


def moons(n: int = 200, noise: float = 0.1, rng: Any = 0) -> tuple[np.ndarray, np.ndarray]:
    """n points on two half circles, and 1.0 for those on the lower one: (n, 2) and (n, 1)."""
    rng = np.random.default_rng(rng)
    t = rng.uniform(0, math.pi, n)
    lower = np.arange(n) % 2
    x = np.where(lower, 1 - np.cos(t), np.cos(t))
    y = np.where(lower, 0.5 - np.sin(t), np.sin(t))
    points = np.stack([x, y], axis=1) + rng.normal(0, noise, (n, 2))
    return points, lower[:, None].astype(float)


def network(hidden: int = 16, rng: Any = 0) -> nn.Sequential:
    """2 → hidden → hidden → 1."""
    rng = np.random.default_rng(rng)
    return nn.Sequential(
        nn.Linear(2, hidden, rng=rng), relu, nn.Linear(hidden, hidden, rng=rng), relu, nn.Linear(hidden, 1, rng=rng)
    )


def accuracy(model: nn.Module, points: np.ndarray, lower: np.ndarray) -> float:
    """The share of points on the right side of the boundary."""
    with no_grad():
        return float(np.mean((model(points).data > 0) == (lower > 0.5)))


def run(
    *, steps: int = STEPS, n: int = 200, noise: float = 0.1, hidden: int = 16, lr: float = 0.02, seed: int = 0
) -> dict[str, Any]:
    """Train on n points; test on 1,000 others."""
    points, lower = moons(n, noise, rng=seed)
    model = network(hidden, rng=seed)

    def loss(x: Any, y: Any) -> Any:
        return F.binary_cross_entropy_with_logits(model(x), y)

    optimizer = nn.optim.AdamW(model, lr=nn.optim.cosine(lr, steps))
    history = nn.fit(model, loss, (points, lower), optimizer, steps=steps, batch_size=50, seed=seed)
    others = moons(1000, noise, rng=seed + 1)
    return {
        "model": model,
        "history": history,
        "points": points,
        "lower": lower,
        "loss": history.losses[-1],
        "accuracy": accuracy(model, points, lower),
        "test accuracy": accuracy(model, *others),
    }


def picture(found: dict[str, Any], path: Path) -> None:
    """The points, and how sure the network is everywhere between them."""
    from matplotlib.figure import Figure

    xs, ys = np.meshgrid(np.linspace(-1.6, 2.6, 200), np.linspace(-1.1, 1.6, 160))
    with no_grad():
        sure = F.sigmoid(found["model"](np.stack([xs.ravel(), ys.ravel()], axis=1)).data).reshape(xs.shape)
    figure = Figure(figsize=(6.0, 4.0), layout="constrained")
    axes = figure.subplots()
    shown = axes.contourf(xs, ys, sure, levels=np.linspace(0, 1, 11), cmap="RdBu", alpha=0.65)
    axes.contour(xs, ys, sure, levels=[0.5], colors="black", linewidths=1.2)
    for is_lower, marker, name in ((0, "o", "upper moon"), (1, "s", "lower moon")):
        chosen = found["points"][found["lower"][:, 0] == is_lower]
        axes.scatter(*chosen.T, s=16, marker=marker, c=["#8C1D18", "#0B4F8A"][is_lower], edgecolors="white",
                     linewidths=0.4, label=name)  # fmt: skip
    axes.set(title="two moons, and the boundary that was learned", xlabel="x₁", ylabel="x₂", aspect="equal")
    axes.legend(loc="upper right", fontsize=8)
    figure.colorbar(shown, label="probability of the lower moon", shrink=0.8)
    figure.savefig(path, dpi=150)


def main() -> None:
    found = run()
    print(found["model"])
    print(f"loss {found['history'].losses[0]:.4f} → {found['loss']:.4f} in {found['history'].steps} steps")
    print(f"right on {found['accuracy']:.1%} of the training points and {found['test accuracy']:.1%} of 1,000 others")
    save_pictures(Path("out/two_moons"), {
        "loss.svg": lambda path: found["history"].plot(path, title="two moons: binary cross-entropy"),
        "boundary.png": lambda path: picture(found, path),
    })  # fmt: skip


if __name__ == "__main__":
    main()
